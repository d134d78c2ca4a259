"""An agent of another revision of this project as a program, so that two revisions play each other.

It runs in that revision's own environment; docs/external.md has the commands. It plays by the official rules on the packaged
board. The revision needs `bombay_agents.make`, `state_from_dict`, and the same numbers of actions as this one.
"""

import json
import sys
from typing import Any

import numpy as np

import bombay_agents
from bombay_env import Board, Game, Rules
from bombay_env.state import state_from_dict

OFFICIAL = {players: Game(Rules.official(players), Board.load()) for players in range(2, 6)}


def main(spec: str) -> None:
    """Answer every question until the input ends."""
    agent, game = bombay_agents.make(spec), OFFICIAL[4]
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        if message["type"] == "start":
            print(json.dumps({"type": "ready", "wants": ["state"]}), flush=True)
        elif message["type"] == "game":
            game = OFFICIAL[message["players"]]
        elif message["type"] == "act":
            facts = {"seed": 0, **message["state"]}  # a question does not have the seed, which is hidden
            states = np.atleast_1d(state_from_dict(facts, game.rules, game.board))
            (action,) = agent.act(game, states, np.random.default_rng(message["random"]))
            print(json.dumps({"id": message["id"], "action": int(action)}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
