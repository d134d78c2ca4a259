"""Worker processes: the same results for any number of them, and agents that hang or end their process."""

import math
import os
import signal
import threading
from contextlib import nullcontext

import numba
import numpy as np
import pytest
from test_arena import same

from bombay_env import Game, Rules
from bombay_training.evaluation.arena import run_blocks, run_fixed_seats
from bombay_training.matches.engines import local as pool_module
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.lineup import Lineup
from helpers.command import python

TINY = Game(Rules(3, sets=1, turns_per_set=2))  # a short game


def test_results_do_not_depend_on_the_number_of_processes():
    specs, kept = ["random", "greedy", "helpers.failing_agents:Raises"], {}
    for count in (0, 2):  # one process is below, where it is killed
        records, moved = [], []
        with WorkerPool(count) if count else nullcontext() as pool:
            options = {"records": records, "pool": pool}
            first = run_blocks(TINY, ["random", "greedy", "random"], 4, 3, moved.append, chunk_games=5, **options)
            second = run_blocks(TINY, specs, 2, 3, **options)
            if count:
                check_that_a_stopped_match_leaves_nothing(pool)
        kept[count] = (first, second, records)
        assert sum(moved) == pytest.approx(12)
    assert same(kept[0][0], kept[2][0])
    assert same(kept[0][1], kept[2][1])
    assert kept[0][1].faults == kept[2][1].faults
    assert kept[0][2] == kept[2][2]
    assert len(kept[0][1].faults) == 6


def check_that_a_stopped_match_leaves_nothing(pool):
    """To the next match of the pool."""

    def stop(games):
        raise KeyboardInterrupt

    lineup = ["random", "greedy", "greedy"]
    with pytest.raises(KeyboardInterrupt):
        run_fixed_seats(TINY, ["greedy"] * 3, 8, seed=3, progress=stop, chunk_games=2, pool=pool)
    assert not pool.playing
    found = run_fixed_seats(TINY, lineup, 8, seed=5, chunk_games=2, pool=pool)
    assert same(found, run_fixed_seats(TINY, lineup, 8, seed=5, chunk_games=2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the agent forks, which Windows cannot")
def test_nobody_waits_for_a_process_that_an_agent_leaves_behind(tmp_path, monkeypatch):
    """It has the pipe of the process that was killed."""
    monkeypatch.setenv("FORKED", str(tmp_path))

    def stop(games):
        if len(list(tmp_path.iterdir())) == 2:
            raise KeyboardInterrupt

    specs = ["helpers.failing_agents:Forks", "random", "random"]
    with WorkerPool(2) as pool, pytest.raises(KeyboardInterrupt):
        run_fixed_seats(TINY, specs, 10_000, progress=stop, chunk_games=1, pool=pool)
    left = [int(path.name) for path in tmp_path.iterdir()]
    assert len(left) == 2
    for number in left:
        os.kill(number, signal.SIGKILL)


def test_a_match_that_is_not_played_to_its_end_leaves_no_process():
    lineup = Lineup(TINY, ("random", "random", "random"), 20, chunk_games=1)
    with WorkerPool(2) as pool:
        games = pool.play([(lineup, chunk) for chunk in lineup.chunks([])])
        next(games)
        workers = [*pool.idle, *(worker for worker, _ in pool.playing.values())]
    for worker in workers:
        worker.process.join(10)
        assert not worker.process.is_alive()


def test_a_killed_worker_changes_no_result(monkeypatch):
    """Its chunk is played again with the same key; after a second kill game by game."""
    monkeypatch.setattr(pool_module, "ATTEMPTS", 2)  # each costs a process
    killed = []

    def kill():
        while len(killed) < 3 and not done.wait(0.001):
            for worker, _ in list(pool.playing.values()):
                if worker.started and worker.process.pid not in killed:
                    killed.append(worker.process.pid)
                    os.kill(killed[-1], signal.SIGKILL)

    lineup, done = ["random", "greedy", "random-turn"], threading.Event()
    wanted = run_blocks(TINY, lineup, 6, seed=5, chunk_games=9)
    with WorkerPool(1) as pool:
        killer = threading.Thread(target=kill)
        killer.start()
        found = run_blocks(TINY, lineup, 6, seed=5, chunk_games=9, pool=pool)
        done.set()
        killer.join()
    assert len(killed) == 3
    assert same(found, wanted)
    assert not found.faults


def test_an_agent_that_hangs_or_ends_its_process_loses_that_game(monkeypatch):
    monkeypatch.setattr(pool_module, "FIRST_CALL_SECONDS", 20.0)
    monkeypatch.setattr(pool_module, "ATTEMPTS", 2)
    records = []
    lineup = ["helpers.failing_agents:Hangs", "greedy", "greedy"]
    with WorkerPool(1, turn_limit=0.5 if numba.config.DISABLE_JIT else 0.2) as pool:
        match = run_fixed_seats(TINY, lineup, 4, seed=1, pool=pool, records=records, chunk_games=2)
        dead = run_fixed_seats(TINY, ["greedy", "helpers.failing_agents:Dies", "greedy"], 1, pool=pool)
    lost = TINY.new_states(match.deal)["demand"][:, 0, 0] == 1
    assert 0 < lost.sum() < 4
    assert [fault.game for fault in match.faults] == np.flatnonzero(lost).tolist()
    for fault in match.faults:
        assert "it took longer than" in fault.reason
        assert records[fault.game].fault == {"seat": 0, "action": "none", "reason": fault.reason}
        assert records[fault.game].verify()["turn"].tolist() == [1]
    assert [fault.reason for fault in dead.faults] == ["its process ended (exit code 7)"]
    assert pool.idle == []


def test_an_agent_that_raises_system_exit_or_keyboard_interrupt_does_not_end_its_process():
    processes = []
    with WorkerPool(1, turn_limit=pool_module.MAX_TURN_LIMIT) as pool:
        for spec, reason in (("Leaves", "it raised SystemExit: 3 ("), ("Interrupts", "it raised KeyboardInterrupt (")):
            match = run_fixed_seats(TINY, ["random", f"helpers.failing_agents:{spec}", "random"], 2, pool=pool)
            assert [fault.reason.startswith(reason) for fault in match.faults] == [True, True]
            processes.append(pool.idle[0].process.pid)
        assert len(set(processes)) == 1
        match = run_fixed_seats(TINY, ["random"] * 3, 30, pool=pool)  # a call may take longer than the longest wait
    assert (match.num_games, match.faults) == (30, ())


UNGUARDED = """
from bombay_env import Game, Rules
from bombay_training import Lineup, WorkerPool, run
with WorkerPool(1) as pool:
    run([Lineup(Game(Rules(2, sets=1, turns_per_set=1)), ("random", "greedy"), 1)], engine=pool)
"""


def test_a_program_without_a_guard_is_told_what_it_needs(tmp_path):
    (tmp_path / "mine.py").write_text(UNGUARDED)
    done = python(tmp_path / "mine.py")
    assert done.returncode == 1
    assert "could not start (exit code 1); a program that uses processes needs its main part under" in done.stderr


def test_a_pool_needs_valid_arguments():
    limits = [
        ({"turn_limit": limit}, f"turn_limit is {limit}.*at most 86400") for limit in (0.0, 1e12, math.inf, math.nan)
    ]
    for options, message in [({"processes": 0}, "processes is 0"), *limits]:
        with pytest.raises(ValueError, match=message):
            WorkerPool(**options)
