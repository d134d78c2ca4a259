"""A player as a program of its own: it sells where it can, then buys, else acts at random. See docs/external.md.

Play it with `bombay arena "exec:command=python exec_player.py" planner-v1`. It needs Python alone, no package.
"""

import json
import random
import sys
from typing import Any


def choose(question: dict[str, Any]) -> str:
    """The name of the action to play."""
    names = [legal["name"] for legal in question["legal"]]
    for start in ("sell:", "buy"):
        for name in names:
            if name.startswith(start):
                return name
    return random.Random(question["random"]).choice(names)


def main() -> None:
    """Answer every question until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "start":
            print(json.dumps({"type": "ready", "wants": []}), flush=True)
        elif message["type"] == "act":
            print(json.dumps({"id": message["id"], "action": choose(message)}), flush=True)


if __name__ == "__main__":
    main()
