"""The benchmark: what it counts and compares, and the signature of the rules. No test here depends on speed."""

import functools
import itertools
import json

import numba
import pytest

from benchmarks import cases, cold_start, measuring, report
from benchmarks.__main__ import app
from benchmarks.signature import signature
from bombay_env import Game, Rules
from bombay_training.cli.main import main
from helpers.command import in_this_process

QUICK = bool(numba.config.DISABLE_JIT)

# Digests of 10,000 games with seeds 0 to 9,999. They change with the rules, with chance, or with the meaning of an action. Then
# docs/changelog.md says why, and `python -m benchmarks --signature` prints the new ones.
SIGNATURES = {
    2: "759e8d5c80dcb5f93ffed1d0efad170725fb7debf4ba1809d749c0831c1782f0",
    3: "0eba67d47a80c5738f246c42e7ea36aa20d1a6310df7d7c81bf41972181c30fe",
    4: "67e0294287212eb5c491be14f136acd674ff70ed5d707051d7b6cb49eb903dcd",
    5: "4468c25e5d0faec03fc609bc6fcb94b6068a82bfc237cb93320f213b8ef1d156",
}

needs_jit = pytest.mark.skipif(QUICK, reason="hours without the compiler")


@needs_jit
@pytest.mark.parametrize("n", SIGNATURES)
def test_the_signature_is_pinned(n):
    assert signature(n) == SIGNATURES[n]


@pytest.mark.skipif(not QUICK, reason="the compiled signatures are pinned above")
def test_the_signature_is_the_same_without_the_compiler():
    """A few games; the digest was printed by the compiled code."""
    assert signature(3, games=2) == "b98d64b555297fdc6e18402175c0799d03bcaf96cc66ba6ce31b8ad450c708c7"


FAST = [case for case in cases.CASES if not case.name.startswith("MaskablePPO")]  # whose update takes many seconds


@needs_jit
@pytest.mark.parametrize("case", FAST, ids=lambda case: case.name)
def test_every_case_goes_on_making_decisions(case, monkeypatch):
    monkeypatch.setattr(cases, "ZeroSettings", functools.partial(cases.ZeroSettings, games=8))
    made = list(itertools.islice(case.play(cases.Interfaces(Game())), 3))
    assert all(count > 0 for count in made)


def test_step_counts_only_decisions_of_running_games(monkeypatch):
    """A batch to the end: games that are over are not counted."""
    monkeypatch.setattr(cases, "BATCH", 6)
    small, running = Game(Rules(2, sets=1, turns_per_set=1)), []
    ours, step = cases.Interfaces(small), small.step

    def counted(states, actions):
        running.append((~small.is_terminal(states)).sum())
        step(states, actions)

    monkeypatch.setattr(small, "step", counted)
    (case,) = (case for case in cases.CASES if case.name == "Game.step")
    assert list(itertools.islice(case.play(ours), 40)) == running
    assert {*running} > {6}


def test_the_time_excludes_counting():
    made, clock = [], iter([0.0, 1.0, 2.5])

    class Time:
        process_time, perf_counter = staticmethod(lambda: 0.0), staticmethod(lambda: next(clock))

    def play():
        while True:
            yield lambda: made.append(1) or 50

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "time", Time)
        run = measuring.clock(play(), 2.0)
    assert (run.decisions, run.seconds, len(made)) == (100, 2.5, 2)


def test_reports_are_compared_row_by_row():
    def made(rate, ratio):
        row = {"name": "collect", "threads": 1, "rate": {"median": rate}, "ratio": ratio}
        return {"rows": [row, {**row, "threads": 7}]}

    old, new = made(100.0, 0.2), made(150.0, 0.1)
    new["rows"].pop()
    *_, line = report.comparison(old, new).splitlines()
    assert line == "| collect | 1 | 100 | 150 | 1.50 | 0.50 |"


@pytest.fixture
def bench(tmp_path, monkeypatch, capfd):
    return in_this_process(tmp_path, monkeypatch, capfd, functools.partial(main, app))


@needs_jit
def test_the_command_reports_what_it_can_measure(bench, monkeypatch, tmp_path):
    chosen = [case for case in cases.CASES if case.name in ("collect", "zero's tree")]

    def absent():
        raise ImportError("No module named 'it'")

    monkeypatch.setattr(cases, "CASES", [*chosen, measuring.Case("else", "", lambda _: absent(), games=1)])
    before = numba.get_num_threads()
    done = bench("--seconds", "0.02", "--repeats", "2", "--parts", "rows", "--json")
    assert done.returncode == 0, done.stderr
    assert numba.get_num_threads() == before
    found = json.loads(done.stdout)
    assert found["absent"] == ["else: No module named 'it'"]
    assert [row["name"] for row in found["rows"] if row["threads"] == 1] == [case.name for case in chosen]
    for row in found["rows"]:
        assert 0 < row["rate"]["low"] <= row["rate"]["median"] <= row["rate"]["high"]
    collect, *_, tree = found["rows"]
    assert collect["ratio"] == pytest.approx(collect["rate"]["median"] / collect["limit"]["median"])
    assert (collect["written"], tree["limit"]) == (584 * 4 + 39 + 8 + 1, None)
    (tmp_path / "old.json").write_text(done.stdout, encoding="utf-8")
    shown = bench("--seconds", "0.02", "--repeats", "2", "--parts", "rows", "--compare", "old.json").stdout
    assert "| collect | policy, mask, observation, autoreset | 4096 | 1 |" in shown
    assert "new / old of limit" in shown


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--players", "6"), "less than or equal to 5"),
        (("--compare", "none.json"), "none.json: cannot be read"),
        (("--compare", "other.json"), "is no report of python -m benchmarks --json for 4 players"),
    ],
)
def test_wrong_arguments_end_in_one_line(arguments, words, bench, tmp_path):
    (tmp_path / "other.json").write_text(json.dumps({"format": report.FORMAT, "players": 3}), encoding="utf-8")
    done = bench(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("how", cold_start.ENVIRONMENTS.values())
def test_a_program_tells_the_seconds_of_a_first_use(how, capsys):
    """With what is compiled here."""
    exec(cold_start.PROGRAM.format(how=how), {})
    assert float(capsys.readouterr().out) > 0
