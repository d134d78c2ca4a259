"""Spies at the places where randomness enters: keyed draws, agents' generators, and the seeds in the copies that agents get."""

import sys

import numba
import numpy as np
import pytest

from bombay_env import chance
from bombay_env.agent import LaneGenerator
from helpers.failing_agents import First

interpreted = pytest.mark.skipif(
    not numba.config.DISABLE_JIT, reason="kernels' draws are seen with the compiler off: `make interpreted`"
)


def keyed_draws(monkeypatch):
    """A list to which every keyed draw from now on is added, as (seed, stream, index). With the compiler on, it stays empty."""
    real, draws = chance.random_word, []
    if not numba.config.DISABLE_JIT:  # kernels that call a replaced function do not compile
        return draws

    def random_word(seed, stream, index):
        draws.append((int(seed), int(stream), int(index)))
        return real(seed, stream, index)

    for module in list(sys.modules.values()):
        if getattr(module, "random_word", None) is real:
            monkeypatch.setattr(module, "random_word", random_word)
    return draws


def repeated(draws):
    """The draws that occur more than once."""
    seen = set()
    return {draw for draw in draws if draw in seen or seen.add(draw)}


def assert_disjoint(parts):
    """Assert that no entry of a part, any iterable, is in another part, and that no part is empty."""
    seen = set()
    for part in map(set, parts):
        assert part
        assert not part & seen
        seen |= part


class Listener(First):
    """Plays the lowest legal action; keeps what it hears: a draw from the generator of each call, the seeds in the copies, and
    the lanes' keys and games if the generator has them.
    """

    def __init__(self, name="listener"):
        super().__init__(name)
        self.draws, self.seeds, self.keys, self.games = [], [], [], []

    def act(self, game, states, rng):
        if isinstance(rng, LaneGenerator):
            self.keys += rng.keys.tolist()
            self.games += rng.games.tolist()
        self.draws.append(int(rng.integers(1 << 64, dtype=np.uint64)))  # a whole word
        self.seeds += states["seed"].tolist()
        return super().act(game, states, rng)

    def take(self):
        """The draws and the seeds since the last call."""
        taken = self.draws, self.seeds
        self.draws, self.seeds = [], []
        return taken


class Moody(Listener):
    """Plays another action each time it is asked, so that its play depends on what it was asked before."""

    def __init__(self):
        super().__init__("moody")
        self.calls = 0

    def act(self, game, states, rng):
        super().act(game, states, rng)
        self.calls += 1
        masks = game.legal_actions(states)
        return (masks.cumsum(axis=1) > (self.calls % masks.sum(axis=1))[:, None]).argmax(axis=1)
