"""A model of MaskablePPO as a player of its own, in the Python environment in which it was trained. See docs/external.md.

    bombay card "exec:command=[/path/to/python exec_sb3.py model.zip],memory=0"

It needs sb3-contrib and not bombay_env. The model must read the observations of `bombay/Bombay-v0` as they are by default.
Loading a model runs code in its file, so load only your own.
"""

from __future__ import annotations

import json
import sys

import numpy as np
import torch
from sb3_contrib import MaskablePPO


def main(path: str) -> None:
    """Answer every question by the model's likeliest legal action, until the input ends."""
    torch.set_num_threads(1)
    model = MaskablePPO.load(path, device="cpu")
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "start":
            print(json.dumps({"type": "ready", "wants": ["observation"]}), flush=True)
        elif message["type"] == "act":
            mask = np.zeros(model.action_space.n, np.bool_)
            mask[[legal["action"] for legal in message["legal"]]] = True
            observation = np.array(message["observation"], np.float32)
            action, _ = model.predict(observation, action_masks=mask, deterministic=True)
            print(json.dumps({"id": message["id"], "action": int(action)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
