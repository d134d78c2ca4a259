"""`PolicyNetAgent`: plays a policy net (`net.py`) action by action. Needs no PyTorch."""

from __future__ import annotations

import os

import numpy as np

from bombay_agents.memory import WithMemory
from bombay_agents.nets import files
from bombay_agents.nets.policy.net import PolicyNet
from bombay_env import chance, streams
from bombay_env.agent import lane_keys
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
        super().__init__()
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
            self.check_game(game)
            self._checked = game
        logits, _ = self.net.forward(game.observe(states, screened=self.net.observation_mode == "screened"))
        if self.sample:
            logits = logits + _gumbel(lane_keys(rng, len(logits)), logits.shape[1])
        return np.asarray(np.where(game.legal_actions(states), logits, -np.inf).argmax(axis=1), np.int64)

    def check_game(self, game: Game) -> None:
        """Raise ValueError if the net cannot play the game, as `act` does."""
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


def _gumbel(keys: np.ndarray, count: int) -> np.ndarray:
    """Gumbel noise, (batch, count) float64, a function of the keys, (batch,). The largest sum with logits is a sample."""
    words = np.empty(len(keys) * count, np.uint64)
    indices = np.tile(np.arange(count, dtype=np.uint64), len(keys))
    chance.random_words(keys.repeat(count), streams.SAMPLED_ACTIONS, indices, words)
    uniforms = ((words >> np.uint64(12)) + 0.5) * 2.0**-52  # strictly between 0 and 1
    return np.asarray(-np.log(-np.log(uniforms))).reshape(len(keys), count)
