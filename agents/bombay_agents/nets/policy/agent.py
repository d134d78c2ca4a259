"""`PolicyNetAgent`: plays a policy net (`net.py`) action by action. Needs no PyTorch."""

from __future__ import annotations

import os

import numpy as np

from bombay_agents.memory import WithMemory
from bombay_agents.nets import files
from bombay_agents.nets.policy.net import PolicyNet
from bombay_env.game import Game


class PolicyNetAgent(WithMemory):
    """A policy net as a player.

    Args:
        path: the file to load (errors as `PolicyNet.load`), or a net.
        sample: draw actions from the net's policy instead of playing the likeliest one, ties to the lowest number.
        force: also play under rules and on boards that the net was not trained on.
    """

    memory = ("_checked",)

    def __init__(self, path: str | os.PathLike[str] | PolicyNet, sample: bool = False, force: bool = False) -> None:
        self.net = path if isinstance(path, PolicyNet) else PolicyNet.load(path)
        self.sample, self.force = sample, force
        self.name = "policy net"
        self._checked: Game | None = None  # the last game that the net fits

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """An action for the player to move in each state, (batch,) int64.

        Raises:
            ValueError: the net reads other features or has other actions than this game, or, without `force`, was not trained on
                its rules and board.
        """
        if game is not self._checked:
            self._check(game)
            self._checked = game
        logits, _ = self.net.forward(game.observe(states, screened=self.net.observation_mode == "screened"))
        if self.sample:
            logits = logits + rng.gumbel(size=logits.shape)
        return np.asarray(np.where(game.legal_actions(states), logits, -np.inf).argmax(axis=1), np.int64)

    def _check(self, game: Game) -> None:
        net = self.net
        files.check_fits(
            self.name,
            (
                ("features", net.features, game.feature_layout.digest),
                ("actions", net.num_actions, game.num_actions),
                ("feature count", net.num_features, game.num_features),
            ),
        )
        if not self.force:
            files.check_trained_on(self.name, net.about, game)
