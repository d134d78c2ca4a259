"""Games on a Ray cluster of this machine: the same results, also where processes of the cluster are killed."""

import contextlib
import os
import signal

import numba
import psutil
import pytest

from bombay_env import Game, Rules
from bombay_training.matches.engines.ray import RayEngine
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.run import run
from bombay_training.matches.store import digest

pytest.importorskip("ray", reason="needs the extra `ray`")
pytestmark = [
    pytest.mark.slow,  # a cluster takes half a minute to start and to notice a killed process
    pytest.mark.skipif(numba.config.DISABLE_JIT, reason="each worker would play with the compiler off, for minutes"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
TINY = Game(Rules(3, sets=1, turns_per_set=2))


def test_a_cluster_plays_what_this_process_plays():
    lineups = [
        Lineup(TINY, ("random", "greedy", "random-turn"), 40, 5, chunk_games=20),
        Lineup(TINY, ("greedy", "random", "random"), 30, 5, Seating.ROTATE, "1vrest", accounts=True),
        Lineup(TINY, ("random", "helpers.failing_agents:Raises", "greedy"), 5, 5),
    ]
    games, killed = [], []

    def count(number):
        games.append(number)
        if not killed:  # a process that plays for the cluster
            killed.extend(players()[:1])
            os.kill(killed[0], signal.SIGKILL)

    with RayEngine(processes=2) as engine:
        found = run(lineups, engine=engine, progress=count)
    assert sum(games) == sum(lineup.num_games for lineup in lineups)
    assert digest(found) == digest(run(lineups))
    assert killed


def players():
    """The processes that play for the cluster."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.cmdline() and process.cmdline()[0].startswith(("ray::play_chunk", "ray::IDLE")):
                found.append(process.pid)
    return found
