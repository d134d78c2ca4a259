"""The ladder: a run that was stopped and resumed gives the same table as one that was not."""

import contextlib
import dataclasses
import itertools
import json

import numpy as np
import pytest

from bombay_agents import make
from bombay_agents.random import RandomAgent
from bombay_training.cli.errors import UserError
from bombay_training.cli.evaluate import ladder as command
from bombay_training.evaluation import ladder
from bombay_training.evaluation.arena import one_vs_rest, run_blocks
from bombay_training.evaluation.ladder import Row
from bombay_training.matches import statistics
from bombay_training.matches.results import LostGame
from helpers.position import official

WHIM = "test_ladder:Whim"


class Whim:
    """Chooses the first legal action, or the last one if its class says so."""

    name = "whim"
    last = False

    def act(self, game, states, rng):
        mask = game.legal_actions(states)
        return game.num_actions - 1 - mask[:, ::-1].argmax(axis=1) if self.last else mask.argmax(axis=1)


class Searches(RandomAgent):
    """An agent with a budget: the arena plays its games one by one."""

    name = "searches"
    nodes = 1


class Stopped(Exception):  # noqa: N818 - no error
    """A user's interruption."""


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Plays at most `most` parts of a small ladder in this process; returns the printed rows and the parts played."""
    monkeypatch.setattr(command, "WorkerPool", lambda processes: contextlib.nullcontext())
    monkeypatch.setattr(ladder, "rows", lambda counts: [Row(2, WHIM, "random", 5, 2), Row(2, "random", WHIM, 2, 1)])
    monkeypatch.setattr(ladder, "ms_per_turn", lambda parts, agent: 1.0)
    monkeypatch.setattr(ladder, "POSITIONS", 3)
    monkeypatch.setattr(ladder, "DEPTH", 1)
    play_part = ladder.play_part

    def run(name, most=99, blocks=None, show=False, only=""):
        played = []

        def play(row, game, first, blocks, **options):
            if len(played) == most:
                raise Stopped
            played.append((row.agent, first, blocks))
            return play_part(row, game, first, blocks, **options)

        monkeypatch.setattr(ladder, "play_part", play)
        with contextlib.suppress(Stopped):
            command.ladder(out=tmp_path / name, players="2", blocks=blocks, show=show, only=only, as_json=True)
        printed = capsys.readouterr().out
        return json.loads(printed)["rows"] if printed else None, played

    return run


ALL = [(WHIM, 0, 2), (WHIM, 2, 2), (WHIM, 4, 1), ("random", 0, 1), ("random", 1, 1)]


def test_a_stopped_run_ends_with_the_same_table(run, tmp_path):
    whole, played = run("whole")
    assert played == ALL
    assert [(row["agent"], row["games"]) for row in whole] == [(WHIM, 10), ("random", 4)]
    assert run("cut", most=2)[1] == ALL[:2]
    file = tmp_path / "cut"
    file.write_bytes(file.read_bytes()[:-30])  # the second part's line is incomplete
    assert run("cut", most=2)[1] == ALL[1:3]
    table, played = run("cut")
    assert (table, played) == (whole, ALL[3:])
    assert run("cut") == (whole, [])
    assert run("cut", show=True) == (whole, [])
    broken = [line for line in file.read_text().splitlines() if not line.endswith("}")]
    assert len(broken) == 1
    assert len(ladder.read_parts(file)) == len(ALL)


def test_after_a_run_of_few_blocks_the_rest_is_played(run):
    assert run("looked", blocks=1)[1] == [(WHIM, 0, 1), ("random", 0, 1)]
    table, played = run("looked")
    assert played == [(WHIM, 1, 2), (WHIM, 3, 2), ("random", 1, 1)]
    assert [row["games"] for row in table] == [10, 4]


def test_a_gap_is_played_again(run, tmp_path):
    run("gap")
    file = tmp_path / "gap"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:1] + lines[2:]))
    assert run("gap")[1] == ALL[1:3]


def test_parts_of_an_agent_that_has_changed_do_not_count(run, monkeypatch):
    before = run("file")[0]
    monkeypatch.setattr(Whim, "last", True)
    after, played = run("file")
    assert played == ALL
    assert after != before
    monkeypatch.setattr(Whim, "last", False)
    assert run("file") == (before, [])


def test_lines_that_are_no_parts_are_skipped(run, tmp_path):
    table = run("file")[0]
    file = tmp_path / "file"
    file.write_bytes(b'3\n[1]\n{}\n{"row":{}}\n\xff\xfe{\n' + b"[" * 100_000 + b"\n" + file.read_bytes())
    assert run("file") == (table, [])


@pytest.mark.parametrize(("name", "show"), [(".", True), (".", False), ("file/new", False)])
def test_a_file_that_cannot_be_written_is_an_error_in_one_line(run, tmp_path, name, show):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"^--out: .*(directory|exists)") as refused:
        run(name, show=show)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("only", ["nobody", "rand", "random:"])
def test_an_unknown_agent_is_an_error_that_lists_the_agents(run, only):
    with pytest.raises(UserError, match=f"^--only: no row has the agent '{only}'; the agents are {WHIM}, random$"):
        run("file", only=only)
    assert run("file", only="random")[1] == ALL[3:]


def test_another_seed_is_another_row(run, tmp_path):
    rows = ladder.select([2], seed=7)
    assert {row.seed for row in rows} == {7}
    run("file")
    assert not ladder.parts_of(rows[0], ladder.read_parts(tmp_path / "file"))


@pytest.mark.usefixtures("run")
def test_digests_are_those_of_existing_files():
    digests = ladder.Digests(official(2))
    assert digests.of([WHIM]) == "434ed8ceacf769ac"
    assert digests.of(["greedy", WHIM]) == "9f8138161bc64cb1"


def test_show_prints_what_was_played(run, tmp_path):
    assert run("folder/file", show=True)[1] == []
    assert not list(tmp_path.iterdir())
    run("file", most=1)
    table, played = run("file", show=True)
    assert played == []
    assert [row["agent"] for row in table] == [WHIM]


def test_rows_have_enough_games_and_valid_agents():
    rows = list(ladder.rows([2, 3, 4, 5]))
    assert len(set(rows)) == len(rows)
    for row in rows:
        cheap = not {"rollouts", "nodes"} & {*vars(make(row.agent)), *vars(make(row.rest))}
        assert row.blocks * row.players >= (2_000 if cheap else 400)
        assert getattr(make(row.agent), "ms", None) is getattr(make(row.rest), "ms", None) is None
    assert {row.players for row in ladder.rows([3])} == {3}


ESTIMATES = {
    "share": statistics.share_with_interval,
    "margin": statistics.margin_with_interval,
    "final": statistics.final_with_interval,
}


def kept_of(match):
    """What the file of a ladder keeps of a match."""
    return json.loads(json.dumps({"kept": ladder.sums(match)}))


def assert_same_estimates(parts, match, *names):
    for name in names:
        found, whole = ladder.estimate(parts, name), ESTIMATES[name](match)
        assert (found.mean, found.low, found.high) == pytest.approx((whole.mean, whole.low, whole.high))


def play(blocks, first=0):
    return one_vs_rest(official(2), Whim(), Searches(), blocks, ladder.SEED, first=first)


def test_estimates_of_parts_equal_those_of_the_match():
    match, parts = play(4), [kept_of(play(1)), kept_of(play(3, first=1))]
    assert_same_estimates(parts, match, *ESTIMATES)
    assert sum(part["kept"]["games"] for part in parts) == match.num_games


def test_games_that_ended_by_faults_are_not_in_means_of_rupees():
    match = play(4)
    lost = match.block < 1
    fault = LostGame(agent=0, name="whim", seat=0, game=0, block=0, seating=0, action="none", reason="")
    faults = tuple(dataclasses.replace(fault, game=int(number)) for number in np.flatnonzero(lost))
    match = dataclasses.replace(match, faults=faults, final=np.where(lost[:, None], 0, match.final))
    part = kept_of(match)
    assert_same_estimates([part], match, "margin", "final")
    assert part["kept"]["margin"][2] == part["kept"]["final"][2] == 3


def test_recorded_parts_are_those_of_the_agents_last_digest(run, tmp_path, monkeypatch):
    run("file")
    monkeypatch.setattr(Whim, "last", True)
    run("file", most=1)
    parts = ladder.parts_of(Row(2, WHIM, "random", 5, 2), ladder.read_parts(tmp_path / "file"))
    assert sum(part["kept"]["blocks"] for part in parts) == 2


@pytest.mark.parametrize(
    ("agents", "chunk", "cuts"),
    [((RandomAgent, Whim), 4, (0, 2, 6)), ((Searches, Whim), None, (0, 1, 3))],
    ids=["no chunk is cut", "game by game"],
)
def test_a_match_in_parts_is_the_whole_match(agents, chunk, cuts):
    game, lineup = official(2), [agent() for agent in agents]
    whole = run_blocks(game, lineup, cuts[-1], 5, chunk_games=chunk)
    parts = [
        run_blocks(game, lineup, end - first, 5, chunk_games=chunk, first=first)
        for first, end in itertools.pairwise(cuts)
    ]
    for name in ("deal", "block", "seating", "seats", "final", "win_share"):
        assert (np.concatenate([getattr(part, name) for part in parts]) == getattr(whole, name)).all()
    assert len(np.unique(whole.final, axis=0)) > 1


def test_rows_are_selected_by_an_agents_name_or_whole_spec_and_by_the_others():
    assert {row.agent for row in ladder.select([4], "zero")} == {"zero", "zero:rounds=0"}
    assert {row.agent for row in ladder.select([4], "zero:rounds=0")} == {"zero:rounds=0"}
    rows = ladder.select([2, 4], "zero", rest="ppo")
    assert [(row.players, row.agent, row.rest) for row in rows] == [(2, "zero", "ppo"), (4, "zero", "ppo")]


def test_the_selection_leaves_out_the_reference_opponent_and_the_deals_of_the_ladder():
    rows = ladder.select([4], selection=True)
    assert {row.seed for row in rows} == {ladder.SELECTION_SEED} != {ladder.SEED}
    assert {(row.agent, row.rest) for row in rows} == set(itertools.product(ladder.CANDIDATES, ladder.PANEL))
    assert not [row for row in rows if "planner" in row.rest]
    assert not {row.rest for row in ladder.select([4], "champion")} & set(ladder.PANEL)
