"""The peers of the benchmark: each plays if its packages are installed, and counts only decisions of players."""

import random
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks import peers
from bombay_env import bombay_v0

KEYS = [peer.key for peer in peers.PEERS]


def peer(key):
    found = next(peer for peer in peers.PEERS if peer.key == key)
    if reason := peers.missing(found):
        pytest.skip(reason)
    return found


class Counting:
    """An environment that counts the actions other than None and checks that they are legal."""

    def __init__(self, env):
        self.env, self.made, self.games = env, 0, 0

    def __getattr__(self, name):
        return getattr(self.env, name)

    def reset(self, seed=None):
        self.games += 1
        self.env.reset(seed=seed)

    def step(self, action):
        if action is not None:
            assert self.env.observe(self.env.agent_selection)["action_mask"][action] == 1
            self.made += 1
        self.env.step(action)


def connect_four():
    peer("pettingzoo-connect-four")
    from pettingzoo.classic.connect_four.connect_four import env

    return env()


@pytest.mark.parametrize("make", [connect_four, lambda: bombay_v0.env(num_players=3)], ids=["connect_four", "bombay"])
@pytest.mark.parametrize("decisions", [1, 300])
def test_the_aec_loop_counts_the_decisions_of_players(make, decisions):
    env = Counting(make())
    assert peers.aec_loop(env, np.random.default_rng(1), decisions) == decisions == env.made
    assert env.games > 1 or decisions < 300


@pytest.mark.parametrize("key", KEYS)
def test_a_peer_is_measured_in_a_process_of_its_own(key):
    # Threads of other libraries may be busy for the first 10 ms of a process, so a run takes longer than that.
    runs = peers.measure(peer(key), repeats=2, seconds=0.1, threads=1)
    assert len(runs) == 2
    assert all(run.decisions > 0 and run.seconds > 0 and 0 <= run.cores < 1.5 for run in runs)
    if key.startswith("pgx"):  # with autoreset every lane decides in each step
        assert all(run.decisions % peers.PGX_BATCH == 0 for run in runs)
    assert "jax" not in sys.modules


def test_openspiel_counts_actions_of_players():
    """Replays the history of a game: choices of seats count, deals do not."""
    peer("openspiel-bots")
    import pyspiel

    game = pyspiel.load_game(peers.OPENSPIEL_GAME)
    assert game.num_players() == 5
    bots = [pyspiel.make_uniform_random_bot(seat, seat) for seat in range(5)]
    for seed in range(20):
        played = game.new_initial_state()
        pyspiel.evaluate_bots(played, bots, seed)
        state, chosen = game.new_initial_state(), 0
        for action in played.history():
            chosen += not state.is_chance_node()
            state.apply_action(action)
        assert state.is_terminal()
        assert 0 < peers.player_actions(played) == chosen < len(played.history())


def test_openspiel_from_python_counts_the_same():
    peer("openspiel-python")
    import pyspiel

    rng = random.Random(3)
    for _ in range(20):
        state = pyspiel.load_game(peers.OPENSPIEL_GAME).new_initial_state()
        assert peers.openspiel_game(state, rng) == peers.player_actions(state) > 0
        assert state.is_terminal()


def test_the_time_excludes_counting():
    def play(decisions):
        return lambda: time.sleep(0.2) or decisions

    run = peers.clock(play, 1000)
    assert run.decisions == 1000
    assert run.seconds < 0.1


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(peers, "_version", lambda package: None if package in ("pgx", "jax") else "1.0")
    reasons = {peer.key: reason for peer, reason in peers.available()}
    assert list(reasons) == KEYS
    assert reasons["openspiel-bots"] is None
    assert reasons["pgx-connect-four"] == "not installed: pgx, jax (extra `peers`)"
    found = next(peer for peer in peers.PEERS if peer.key == "pgx-connect-four")
    assert peers.versions(found) == {"pgx": None, "jax": None, "jaxlib": "1.0"}
    with pytest.raises(peers.PeerError, match="not installed: pgx, jax"):
        peers.measure(found)


def test_a_peer_that_fails_or_hangs_gives_a_one_line_error(monkeypatch):
    broken = peers.Peer("no-such-peer", "A broken one", "", (), 1, lambda seed: None)
    with pytest.raises(peers.PeerError, match=r"A broken one: .*no-such-peer") as raised:
        peers.measure(broken)
    assert "\n" not in str(raised.value)

    def hangs(command, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(peers.subprocess, "run", hangs)
    with pytest.raises(peers.PeerError, match="took longer than 3 s"):
        peers.measure(broken, timeout=3)
