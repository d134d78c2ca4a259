"""The benchmark: what it counts and compares, and the signature of the rules. No test here depends on speed."""

import dataclasses
import functools
import json

import numba
import pytest

from benchmarks import cases, learning, peers, report
from benchmarks.__main__ import app
from bombay_env import Game, Rules
from bombay_training.cli.main import main
from bombay_training.learners.zero import ZeroSettings
from helpers.command import in_this_process
from helpers.refusal import refusal

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
    assert cases.signature(n) == SIGNATURES[n]


@pytest.mark.skipif(not QUICK, reason="the compiled signatures are pinned above")
def test_the_signature_is_the_same_without_the_compiler():
    """A few games; the digest was printed by the compiled code."""
    assert cases.signature(3, games=2) == "b98d64b555297fdc6e18402175c0799d03bcaf96cc66ba6ce31b8ad450c708c7"


def game():
    return Game(Rules(2, sets=1, turns_per_set=1)) if QUICK else Game()


def fast_cases():
    return [case for case in cases.cases(game()) if case.name != "MaskablePPO.train" and not (QUICK and case.games > 1)]


@pytest.mark.parametrize("case", fast_cases(), ids=lambda case: case.name)
def test_every_case_makes_at_least_as_many_decisions_as_required(case):
    play = case.make(game())
    for decisions in (1, 20 if case.name == "frame" else 300):  # a drawing takes long
        assert play(decisions)() >= decisions


def test_step_counts_only_decisions_of_running_games(monkeypatch):
    """Two batches to the end: games that are over are not counted."""
    monkeypatch.setattr(cases, "BATCH", 6)
    small, running = Game(Rules(2, sets=1, turns_per_set=1)), []
    play, step = cases._step(small), small.step

    def counted(states, actions):
        running.append((~small.is_terminal(states)).sum())
        step(states, actions)

    monkeypatch.setattr(small, "step", counted)
    assert play(50)() == sum(running) >= 50


def test_a_row_is_measured_with_its_limit():
    before = numba.get_num_threads()
    case = cases.Case("nothing", "", 4, game().num_actions, lambda _: cases._batches(lambda number: None, 4))
    row = cases.measure(case, game(), threads=1, repeats=3, seconds=0.01)
    assert numba.get_num_threads() == before
    assert row.rate.low <= row.rate.median <= row.rate.high
    assert row.limit is not None
    assert row.ratio == pytest.approx(row.rate.median / row.limit.median)


def test_reports_are_compared_row_by_row():
    def made(rate, ratio):
        row = {"name": "collect", "threads": 1, "rate": {"median": rate}, "ratio": ratio}
        return {"rows": [row, {**row, "threads": 7, "rate": {"median": rate}}]}

    old, new = made(100.0, 0.2), made(150.0, 0.1)
    new["rows"].pop()
    (line,) = report.compare(old, new)
    assert (line["change"], line["change_of_ratio"]) == (1.5, 0.5)
    learning = [{"name": "net", "threads": 1, "rate": {"median": 30.0}, "ratio": None}]
    assert report.compare(old, {**new, "learning": learning}) == [line]
    also = report.compare({**old, "learning": learning}, {**new, "learning": learning})
    assert [(row["name"], row["change"], row["change_of_ratio"]) for row in also[1:]] == [("net", 1, None)]


def test_a_report_of_another_format_is_refused(tmp_path):
    file = tmp_path / "old.json"
    for other in ([], {"format": "bombay-bench/0", "players": 4, "rows": []}):
        file.write_text(json.dumps(other), encoding="utf-8")
        words = f"not a report of python -m benchmarks --json: {file}: its format is not"
        refusal(lambda: report.read_report(file), words)


def test_missing_peers_are_reported(monkeypatch):
    monkeypatch.setattr(peers, "missing", lambda peer: "not installed: it (extra `peers`)")
    rows, absent = cases.measure_peers(1, 0.01, lambda _: None)
    assert rows == []
    assert len(absent) == len(peers.PEERS)
    assert all("not installed" in line for line in absent)


def check_learning(row):
    assert 0 < row.rate.low <= row.rate.median <= row.rate.high
    assert row.rate.median < min(row.collected.median, row.learned.median)
    assert list(row.shares) == ["engine", "net", "learning", "other"]
    assert sum(row.shares.values()) == pytest.approx(1)
    assert all(share >= 0 for share in row.shares.values())
    for part in ("engine", "learning"):  # the net's part is a difference of times, which noise can hide
        assert row.shares[part] > 0
    data = json.loads(json.dumps({**dataclasses.asdict(row), "ratio": None}))
    assert report._learning_table([data]).row_count == 1


@needs_jit
def test_zero_is_measured_on_one_thread_and_on_two():
    before, on_two = numba.get_num_threads(), numba.config.NUMBA_NUM_THREADS >= 2
    settings = ZeroSettings(players=(2,), games=6, batch_size=64)  # widths of the shipped net: its kernels are compiled
    rows = learning.measure_zero(Game(Rules.official(2)), on_two, 2, 0.0, settings)
    assert numba.get_num_threads() == before
    assert [(row.name, row.threads) for row in rows] == [("zero", 1), ("zero", 2)][: len(rows)]
    assert len(rows) == 1 + on_two
    for row in rows:
        check_learning(row)
        assert list(row.rates) == ["games", "evaluations", "learning steps"]
        steps, games, evaluations = (row.rates[name].median for name in ("learning steps", "games", "evaluations"))
        assert 0 < steps < games < row.rate.median < evaluations
        assert row.gain == (pytest.approx(row.rate.median / rows[0].rate.median) if row.threads > 1 else None)


@pytest.mark.slow
@needs_jit
def test_the_time_of_ppo_is_divided_into_parts():
    pytest.importorskip("sb3_contrib", reason="needs the extra `ppo`")
    few = {"num_envs": 16, "num_steps": 64, "batch_size": 64}
    check_learning(learning.measure_ppo(Game(Rules.official(2)), 2, 0.0, **few))


@pytest.fixture
def bench(tmp_path, monkeypatch, capfd):
    return in_this_process(tmp_path, monkeypatch, capfd, functools.partial(main, app))


@needs_jit
def test_the_command_reports_all_of_it(bench, monkeypatch, tmp_path):
    # The processes whose start is measured would compile for half a minute.
    monkeypatch.setattr(cases, "START_UP", f"import numba\nnumba.config.DISABLE_JIT = 1\n{cases.START_UP}")
    small = {"num_envs": 16, "num_steps": 64, "batch_size": 64}
    monkeypatch.setattr(cases, "ppo_model", functools.partial(cases.ppo_model, **small))
    done = bench("--seconds", "0.02", "--repeats", "2", "--threads", "1", "--no-learners", "--no-peers", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = [row["name"] for row in found["rows"]]
    assert names == [case.name for case in cases.cases(Game())]
    assert all(row["rate"]["low"] > 0 for row in found["rows"])
    unlimited = [case.name for case in cases.cases(Game()) if not case.written]
    assert [row["name"] for row in found["rows"] if row["limit"] is None] == unlimited
    known = found["facts"]
    assert known["state_bytes"] == Game().state_dtype.itemsize
    assert known["bytes_of_65536_games"] == 65_536 * known["bytes_of_1_game"]
    file = tmp_path / "old.json"
    file.write_text(done.stdout, encoding="utf-8")
    assert report.read_report(file) == found
    shown = "\n".join(str(table.title) for table in report.tables({**found, "comparison": []}))
    assert "compared with the older report" in shown


@pytest.mark.slow
@needs_jit
def test_the_first_step_takes_longer_where_nothing_is_compiled():
    cold, warm = cases.start_up()
    assert 0 < warm["first_step"] < cold["first_step"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--threads", "two"), "from 1 to"),
        (("--players", "6"), "less than or equal to 5"),
        (("--compare", "none.json"), "a report of python -m benchmarks --json: none.json: cannot be read"),
    ],
)
def test_wrong_arguments_end_in_one_line(arguments, words, bench):
    done = bench(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
