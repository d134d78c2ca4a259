"""The peers of the benchmark: each plays if its packages are installed, and counts only decisions of players."""

import sys

import numpy as np
import pytest

from benchmarks import peers
from bombay_env import bombay_v0


class Counting:
    """An environment that counts the actions other than None and checks that they are legal."""

    def __init__(self, env):
        self.env, self.made = env, 0

    def __getattr__(self, name):
        return getattr(self.env, name)

    def step(self, action):
        if action is not None:
            assert self.env.observe(self.env.agent_selection)["action_mask"][action] == 1
            self.made += 1
        self.env.step(action)


def test_the_aec_loop_counts_the_decisions_of_players():
    env = Counting(bombay_v0.env(num_players=3))
    play = peers.aec_loop(env, np.random.default_rng(1))
    assert next(play) + next(play) == env.made > 0


@pytest.mark.parametrize(
    ("name", "package"),
    [("PettingZoo", "pygame"), ("OpenSpiel", "pyspiel"), ("Pgx connect", "pgx"), ("Pgx sparrow", "pgx")],
)
def test_a_peer_is_measured_in_a_process_of_its_own(name, package):
    pytest.importorskip(package, reason="needs the extra `peers`")
    number = next(number for number, peer in enumerate(peers.PEERS) if peer.name.startswith(name))
    row = peers.measure(number, threads=1, repeats=2, seconds=0.1)
    assert (row["name"], row["threads"]) == (peers.PEERS[number].name, 1)
    assert 0 < row["rate"]["low"] <= row["rate"]["high"]
    assert row["cores"] < 1.5
    assert "jax" not in sys.modules


def test_openspiel_counts_actions_of_players(monkeypatch):
    """Both ways of play, by the histories of the games: choices of seats count, deals do not."""
    pyspiel = pytest.importorskip("pyspiel", reason="needs the extra `peers`")
    load, states = pyspiel.load_game, []

    class Game:
        def __init__(self, name):
            self.game = load(name)
            self.num_players = self.game.num_players

        def new_initial_state(self):
            states.append(self.game.new_initial_state())
            return states[-1]

    monkeypatch.setattr(pyspiel, "load_game", Game)
    for play in (peers.openspiel_bots(), peers.openspiel_python()):
        for _ in range(10):
            count = next(play)
            history = states[-1].full_history()
            made = count() if callable(count) else count
            assert states[-1].is_terminal()
            assert 0 < made == sum(action.player >= 0 for action in history) < len(history)
