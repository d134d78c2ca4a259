"""`NetAgent`: plays a policy net action by action. The net may read an observation, or look ahead (`policy_features.py`).

`policy_net.py` holds the net; `policy_turn_agent.py` plays whole turns by its value head. Needs no PyTorch.
"""

from __future__ import annotations

import os

import numpy as np

from bombay_agents.copying import WithoutMemory
from bombay_agents.nets import files, policy_features
from bombay_agents.nets.policy_features import Reader
from bombay_agents.nets.policy_net import Net
from bombay_env.game import Game


class NetAgent(WithoutMemory):
    """A policy net as a player.

    Args:
        path: the file to load (errors as `Net.load`), or a net.
        sample: draw actions from the net's policy instead of playing the likeliest one, ties to the lowest number.
        force: also play under rules and on boards that the net was not trained on.
    """

    memory = ("_reader",)

    def __init__(self, path: str | os.PathLike[str] | Net, sample: bool = False, force: bool = False) -> None:
        self.net = path if isinstance(path, Net) else Net.load(path)
        self.sample, self.force = sample, force
        self.name = files.spec_of(None if isinstance(path, Net) else path, sample=sample, force=force)
        self._reader: Reader | None = None  # for the game that was checked last

    @classmethod
    def load(cls, path: str | os.PathLike[str], sample: bool = False, force: bool = False) -> NetAgent:
        """The net in the file at `path`; errors as `Net.load`."""
        return cls(path, sample, force)

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """An action for the player to move in each state, (batch,) int64.

        Raises:
            ValueError: as `new_reader`.
            OverflowError: the net reads `lookahead`, and a turn has too many states; see `turns.distinct_turns`.
        """
        if self._reader is None or game is not self._reader.game:
            self._reader = new_reader(self.name, self.net, game, self.force)
        logits, _ = self.net.forward(self._reader.read(states))
        if self.sample:
            logits = logits + rng.gumbel(size=logits.shape)
        return np.where(game.legal_actions(states), logits, -np.inf).argmax(axis=1).astype(np.int64)


def new_reader(name: str, net: Net, game: Game, force: bool) -> Reader:
    """Makes what the net reads of `game`; errors call the net `name`.

    Raises:
        ValueError: the net reads other features or has other actions than this game, or, without `force`, was not trained on its
            rules and board.
    """
    mode = net.observation_mode
    files.check_fits(
        name,
        (
            ("features", net.features, policy_features.digest(game, mode)),
            ("actions", net.num_actions, game.num_actions),
            ("feature count", net.num_features, policy_features.num_features(game, mode)),
        ),
    )
    if not force:
        files.check_trained_on(name, net.about, game)
    return Reader(game, mode)
