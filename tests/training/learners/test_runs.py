"""What all runs share, on a learner that learns nothing: folder, loop, resuming, signals, clock and settings."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from importlib import resources
from typing import ClassVar

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from bombay_agents.random import RandomAgent
from bombay_env import Game, Rules, streams
from bombay_env.agent import AgentFault
from bombay_env.chance import lane_words
from bombay_env.files import atomic
from bombay_training.evaluation import arena
from bombay_training.learners.runs import Progress, Run, run_files
from bombay_training.learners.runs import run as runs
from bombay_training.learners.runs.run_files import AGAINST, AGENT, CHECKPOINT, LOCK, METRICS, SETTINGS
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.train import SETTINGS as LEARNERS
from bombay_training.learners.train import open_run
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from bombay_training.locks import InUseError
from helpers.failing_agents import Raises
from helpers.refusal import refusal
from helpers.variants import random_board


@dataclasses.dataclass(frozen=True)
class WalkSettings(RunSettings):
    learner: ClassVar[str] = "walk"
    run: ClassVar[str] = "test_runs:WalkRun"

    size: int = 3


class Weights:
    def __init__(self, values):
        self.values = values

    def save(self, path):
        atomic.write_bytes(path, save({"values": self.values}))


class WalkRun(Run):
    """Its weights take a random step in each update."""

    settings_class = WalkSettings
    checkpoint_format = "walk/1"

    def __init__(self, settings):
        super().__init__(settings)
        self.weights = np.zeros(settings.size)
        self.steps = 0
        self.lines = []

    def start(self, folder, progress=None):
        self.create(folder)
        return self.loop(progress)

    def update(self, done):
        rng = np.random.default_rng((self.settings.seed, self.updates_done))
        self.weights += rng.normal(size=len(self.weights))
        self.steps += 1
        return {"norm": float(np.linalg.norm(self.weights))}

    def totals(self):
        return {"positions": 10 * self.updates_done, "decisions": 30 * self.updates_done}

    def net(self):
        return Weights(self.weights)

    def player(self):
        return RandomAgent()

    def tensors(self):
        return {"weights": self.weights}

    def counters(self):
        return {"steps": self.steps}

    def restore(self, counters):
        self.steps = counters["steps"]

    def identity_parts(self):
        return ["walk"]

    def references(self):
        return ()

    def log(self, line):
        self.lines.append(line)


SETTINGS_OF_6 = WalkSettings(updates=6, players=(2,), seed=4)
RAISES = "helpers.failing_agents:Raises"
PATIENCE = 300  # seconds


class Recorder(Progress):
    def __init__(self):
        self.calls = []

    def update(self, fraction, metrics):
        self.calls.append((round(fraction, 3), metrics.get("update"), metrics.get("positions")))


class SendSignal(Progress):
    """Sends this process a signal after an update, or before the first one if `at` is None."""

    def __init__(self, number, at):
        self.number, self.at = number, at

    def update(self, fraction, metrics):
        if metrics.get("update") == self.at:
            signal.raise_signal(self.number)


def weights(folder):
    return load_file(folder / AGENT)["values"]


def lines(folder):
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk") / "run"
    WalkRun(SETTINGS_OF_6).start(folder)
    return folder


def test_a_run_leaves_its_files(whole):
    assert sorted(path.name for path in whole.iterdir()) == sorted([AGENT, CHECKPOINT, LOCK, METRICS, SETTINGS])
    description = json.loads((whole / SETTINGS).read_text())
    assert (description["learner"], description["seed"]) == ("walk", 4)
    assert WalkSettings(**description["settings"]) == SETTINGS_OF_6
    assert description["versions"]["numpy"] == np.__version__
    assert [line["update"] for line in lines(whole)] == [1, 2, 3, 4, 5, 6]
    assert [line["positions"] for line in lines(whole)] == [10, 20, 30, 40, 50, 60]
    assert lines(whole)[-1]["norm"] == np.linalg.norm(weights(whole))


def test_a_run_that_was_killed_before_its_first_checkpoint_begins(whole, tmp_path):
    (tmp_path / SETTINGS).write_bytes((whole / SETTINGS).read_bytes())
    assert WalkRun.open(tmp_path).updates_done == 0


def test_progress_hears_of_updates(tmp_path):
    recorder = Recorder()
    run = WalkRun(dataclasses.replace(SETTINGS_OF_6, updates=2))
    run.start(tmp_path, recorder)
    assert recorder.calls == [(0, None, None), (0.5, 1, 10), (1.0, 2, 20)]
    assert run.lines == lines(tmp_path)
    recorder.calls.clear()
    WalkRun.open(tmp_path).loop(recorder)
    assert recorder.calls == [(1.0, None, 20)], "a complete run does not learn"


def test_a_run_is_initialised_once(tmp_path, monkeypatch):
    made, init = [], WalkRun.__init__
    monkeypatch.setattr(WalkRun, "__init__", lambda run, settings: made.append(run) or init(run, settings))
    WalkRun(SETTINGS_OF_6).start(tmp_path)
    assert len(made) == 1


def test_a_finished_run_is_not_written_again(tmp_path):
    WalkRun(SETTINGS_OF_6).start(tmp_path)
    (tmp_path / AGENT).write_bytes(b"")  # a study knows the agent by its bytes, which hold the version that wrote them
    WalkRun.open(tmp_path).loop()
    assert (tmp_path / AGENT).read_bytes() == b""
    (tmp_path / AGENT).unlink()
    assert WalkRun.open(tmp_path).loop().exists(), "an agent that is missing is written from the checkpoint"


def test_a_new_run_removes_the_old_one(whole, tmp_path):
    WalkRun(SETTINGS_OF_6).start(tmp_path)
    for name in ("events.out.tfevents.1", "evaluation.json", "learning_curve.png", "notes.txt"):
        (tmp_path / name).write_text("")
    run = WalkRun(dataclasses.replace(SETTINGS_OF_6, seed=5))
    run.create(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([AGENT, CHECKPOINT, LOCK, SETTINGS, "notes.txt"])
    run.loop()
    assert not np.array_equal(weights(tmp_path), weights(whole))


def test_a_minutes_run_ends_by_its_clock(tmp_path):
    WalkRun(WalkSettings(minutes=0.002, players=(2,))).start(tmp_path)
    assert lines(tmp_path)[-1]["seconds"] == pytest.approx(0.12, abs=0.2)
    assert lines(tmp_path)[-1]["update"] > 1


def test_a_run_with_a_number_of_decisions_ends_with_the_update_that_reaches_it(tmp_path):
    settings = WalkSettings(decisions=61, players=(2,))
    run = WalkRun(settings)
    run.create(tmp_path)
    run.step()
    run.save()
    run.close()
    resumed = WalkRun.open(tmp_path)
    assert resumed.fraction == 30 / 61
    resumed.loop()
    assert resumed.updates_done == 3
    with pytest.raises(ValueError, match=r"^decisions is 5; it must be none if the number of updates is given$"):
        WalkSettings(decisions=5, updates=5)


class Kill(Progress):
    """Kills its process after update `number`, before that is saved; never if it is 0. Every second update is saved."""

    def __init__(self, number):
        self.number, save, runs.SAVE_SECONDS = number, WalkRun.save, 0
        WalkRun.save = lambda run: save(run) if run.updates_done % 2 == 0 else None

    def update(self, fraction, metrics):
        if metrics.get("update") == self.number > 0:
            os.kill(os.getpid(), signal.SIGKILL)


def launch(folder, code, number=0):
    """A process that runs the code, which finds the folder and the number in `sys.argv`."""
    code = f"import sys; from test_runs import *; {code}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, str(folder), str(number)], env=environment)


def test_killed_at_any_time_and_resumed_it_ends_in_the_same_weights(whole, tmp_path):
    """After its first update, after its third, and at a random moment."""

    def run(number):
        begun = (tmp_path / CHECKPOINT).exists()
        call = "WalkRun.open(sys.argv[1]).loop" if begun else "WalkRun(SETTINGS_OF_6).start"
        progress = "Kill(int(sys.argv[2]))"
        return launch(tmp_path, f"{call}({progress if begun else f'sys.argv[1], {progress}'})", number)

    def written():
        """When the metrics were last written; a process that resumes the run rewrites them at once."""
        return (tmp_path / METRICS).stat().st_mtime_ns

    for number in (1, 3):
        assert run(number).wait(PATIENCE) == -signal.SIGKILL
        # The checkpoint is one update older: this line must be dropped, and its update repeated.
        assert len(lines(tmp_path)) == number
    before, process, end = written(), run(0), time.monotonic() + PATIENCE
    while process.poll() is None and written() == before and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(np.random.default_rng(0).uniform(0, 0.1))
    process.kill()
    process.wait()
    assert run(0).wait(PATIENCE) == 0
    assert np.array_equal(weights(tmp_path), weights(whole))
    assert [line["norm"] for line in lines(tmp_path)] == [line["norm"] for line in lines(whole)]


def test_a_folder_that_is_in_use_is_neither_created_nor_opened(tmp_path):
    run = WalkRun(SETTINGS_OF_6)
    run.create(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for use in (lambda: WalkRun.open(tmp_path), lambda: WalkRun(SETTINGS_OF_6).create(tmp_path)):
        with pytest.raises(InUseError, match="is in use by another process"):
            use()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    run.close()
    resumed = WalkRun.open(tmp_path)
    resumed.loop()
    WalkRun.open(tmp_path).close()  # the loop of `resumed` gave the folder back


def test_learning_time_adds_up(tmp_path):
    run = WalkRun(SETTINGS_OF_6)
    run.elapsed, run.updates_done = 100.0, 4
    run.create(tmp_path)
    run.close()
    time.sleep(0.05)  # no learning time
    resumed = WalkRun.open(tmp_path)
    assert resumed.elapsed == 100.0
    resumed.loop()
    assert 100 <= lines(tmp_path)[0]["seconds"] < 105


def test_a_checkpoint_of_another_run_is_refused(whole, tmp_path):
    WalkRun(SETTINGS_OF_6).create(tmp_path)
    run_files.write_json(
        tmp_path / SETTINGS, run_files.describe(dataclasses.replace(SETTINGS_OF_6, seed=5), run_files.DISTRIBUTIONS)
    )
    refusal(lambda: WalkRun.open(tmp_path), CHECKPOINT, "it belongs to another run")
    run_files.write_json(tmp_path / SETTINGS, {"settings": {"size": 3, "pace": 2}})
    refusal(lambda: WalkRun.open(tmp_path), f"{SETTINGS} holds no settings of walk", "pace")


def test_a_run_is_told_by_its_board_and_its_parts_but_not_by_the_boards_path(tmp_path):
    run = WalkRun(SETTINGS_OF_6)
    copy = tmp_path / "copy.toml"
    copy.write_bytes(resources.files("bombay_env").joinpath("data", "reconstruction.toml").read_bytes())
    assert WalkRun(dataclasses.replace(SETTINGS_OF_6, board=str(copy))).identity == run.identity
    elsewhere = WalkRun(SETTINGS_OF_6)
    elsewhere.games = [Game(game.rules, random_board(1)) for game in run.games]
    changed = WalkRun(SETTINGS_OF_6)
    changed.identity_parts = lambda: ["run"]
    assert len({one.identity for one in (run, elsewhere, changed)}) == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_the_run_after_the_update(whole, tmp_path, number):
    code = f"WalkRun(SETTINGS_OF_6).start(sys.argv[1], SendSignal({int(number)}, 2))"
    assert launch(tmp_path, code).wait(PATIENCE) == -number
    assert WalkRun.open(tmp_path).updates_done == 2
    WalkRun.open(tmp_path).loop()
    assert np.array_equal(weights(tmp_path), weights(whole))


def test_in_the_first_update_while_kernels_compile_a_signal_acts_at_once(whole, tmp_path):
    code = (
        "WalkRun.update = lambda run, done: SendSignal(15, None).update(done, {}) or open(f'{sys.argv[1]}/late', 'w'); "
        "WalkRun(SETTINGS_OF_6).start(sys.argv[1])"
    )
    assert launch(tmp_path, code).wait(PATIENCE) == -signal.SIGTERM
    assert not (tmp_path / "late").exists()
    assert not (tmp_path / METRICS).exists()
    WalkRun.open(tmp_path).loop()
    assert np.array_equal(weights(tmp_path), weights(whole))


def test_a_second_ctrl_c_does_not_wait_for_the_update(tmp_path):
    class Slow(WalkRun):
        def update(self, done):
            if self.updates_done == 1:
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                raise AssertionError("the second Ctrl-C came too late")
            return super().update(done)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        Slow(SETTINGS_OF_6).start(tmp_path)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(lines(tmp_path)) == 1


def test_a_run_works_outside_the_main_thread(whole, tmp_path):
    thread = threading.Thread(target=WalkRun(SETTINGS_OF_6).start, args=(tmp_path,))
    thread.start()
    thread.join()
    assert np.array_equal(weights(tmp_path), weights(whole))


def test_quick_matches_take_no_learning_time(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "quick_matches", lambda *_: time.sleep(0.3) or {AGAINST + "greedy": 0.5})
    WalkRun(SETTINGS_OF_6).start(tmp_path)
    evaluated = [line["update"] for line in lines(tmp_path) if AGAINST + "greedy" in line]
    assert evaluated == [1, 6], "after the first update and the last"
    assert lines(tmp_path)[-1]["seconds"] < 0.3
    assert np.array_equal(weights(tmp_path), weights(whole))


def test_quick_matches_play_the_same_deals_and_use_no_global_randomness(monkeypatch):
    """They are the first ones of the arena with the seed `DEALS`, half of the blocks for each of two games, in all seatings."""
    games = [Game(Rules(n, sets=1, turns_per_set=1, actions_per_turn=1)) for n in (2, 3)]
    deal, dealt = Game.new_states, []

    def share(game, spec):
        match = arena.one_vs_rest(game, "planner-v1", spec, 4, runs.DEALS)
        return match.of_agent(match.win_share).mean()

    expected = {f"{AGAINST}{spec}": np.mean([share(game, spec) for game in games]) for spec in ("random", "greedy")}

    def new_states(self, seeds, *given, **named):
        dealt.extend(np.asarray(seeds).tolist())
        return deal(self, seeds, *given, **named)

    monkeypatch.setattr(Game, "new_states", new_states)
    monkeypatch.setattr(runs, "BLOCKS", 8)
    before = np.random.get_state()[1].tolist()
    said = lane_words(np.full(4, runs.DEALS, np.uint64), streams.DEALS, np.arange(4, dtype=np.uint64)).tolist()
    for _ in range(2):
        assert runs.quick_matches("planner-v1", games, ["random", "greedy"]) == expected
        assert set(dealt) == set(said)
        dealt.clear()
    assert np.random.get_state()[1].tolist() == before


def test_quick_matches_with_an_agent_that_fails_are_refused():
    games = [Game(Rules(2, sets=1, turns_per_set=1, actions_per_turn=1))]
    for player, reference, name in ((Raises(), "random", "first"), ("random", RAISES, RAISES)):
        with pytest.raises(AgentFault, match=rf"^agent '{name}' with 2 players: .*never"):
            runs.quick_matches(player, games, [reference])


@pytest.mark.parametrize(
    ("took", "expected"),
    [(1000.0, [0, 10, 20, 40, 50]), (4.0, [0, 10, 20, 36, 50]), (0.5, [*range(0, 51, 2)])],
)
def test_quick_matches_are_at_doubling_times_or_take_a_quarter_of_the_time(took, expected, tmp_path, monkeypatch):
    now = 0.0

    def passes(seconds):
        nonlocal now
        now += seconds
        return {}

    monkeypatch.setattr(runs.time, "monotonic", lambda: now)
    monkeypatch.setattr(runs, "TIME_SHARE", 0.25)
    monkeypatch.setattr(WalkRun, "update", lambda run, done: passes(1.0))
    monkeypatch.setattr(runs, "quick_matches", lambda *_: passes(took) or {AGAINST + "greedy": 0.5})
    WalkRun(WalkSettings(updates=50, players=(2,))).start(tmp_path)
    assert [line["seconds"] for line in lines(tmp_path) if AGAINST + "greedy" in line] == expected


def test_the_second_update_of_a_process_stands_for_the_first_in_learning_time(tmp_path, monkeypatch):
    """Kernels are compiled or loaded in the first."""
    walk = WalkRun.update
    monkeypatch.setattr(WalkRun, "update", lambda run, done: time.sleep(0.1) or walk(run, done))
    WalkRun(dataclasses.replace(SETTINGS_OF_6, updates=3)).start(tmp_path)
    first, second, third = (line["seconds"] for line in lines(tmp_path))
    assert (first, second >= 0.2, third >= 0.3) == (0, True, True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"minutes": float("nan")}, "minutes is nan; it must be above 0, at most 10000000"),
        ({"updates": True}, "updates is True; it must be a whole number from 1 to 1000000000"),
        ({"players": ()}, r"players is \(\); it must be one or more of 2, 3, 4, 5, each once"),
        ({"players": "23"}, "players is '23'; it must be one or more of 2, 3, 4, 5, each once"),
        ({"seed": 2**63}, "seed is 9223372036854775808; it must be a whole number from 0 to 9223372036854775807"),
        ({"board": 3}, "board is 3; it must be a path"),
        ({"size": "x" * 1000}, "size is 'x+…; it must be a whole number"),
    ],
)
def test_settings_out_of_range_are_refused(changes, reason):
    with pytest.raises(ValueError, match=f"^{reason}$"):
        WalkSettings(**changes)


def test_settings_with_numbers_of_numpy_survive_json():
    settings = WalkSettings(minutes=np.float32(0.5), updates=np.int64(3), players=[np.int64(2), 5], seed=np.uint64(7))
    assert WalkSettings(**json.loads(json.dumps(dataclasses.asdict(settings)))) == settings
    plain = WalkSettings(minutes=0.5, updates=3, players=(2, 5), seed=7)
    assert WalkRun(settings).identity == WalkRun(plain).identity


def test_a_whole_number_stays_one_where_a_fraction_is_allowed():
    """3 and 3.0 are different text in JSON, by which a checkpoint knows its run."""
    assert json.dumps(WalkSettings(minutes=3).minutes) == "3"
    digests = [run_files.identity(ZeroSettings(minutes=minutes), ZeroRun.neutral_settings) for minutes in (3, 3.0)]
    assert digests == ["c517e4c4c1e5089c", "7d4c6ab8a9d0369d"], "checkpoints of earlier versions cannot be resumed"


def test_an_unknown_learner_is_refused(tmp_path):
    (tmp_path / SETTINGS).write_text('{"learner": "sarsa"}', encoding="utf-8")
    with pytest.raises(ValueError, match=f"^there is no learner 'sarsa'; the learners are {', '.join(LEARNERS)}$"):
        open_run(tmp_path)
