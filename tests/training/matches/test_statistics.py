"""Statistics of matches: intervals, and what tables and JSON show."""

import dataclasses
import io
import json
import math

import numba
import numpy as np
import pytest
from rich.console import Console

from bombay_agents.random import RandomAgent
from bombay_env import Game, Rules
from bombay_training.evaluation.arena import one_vs_rest, run_blocks
from bombay_training.matches.intervals import Estimate, Moments, share_bounds
from bombay_training.matches.lineup import Seating
from bombay_training.matches.statistics import (
    design_effect,
    final_with_interval,
    margin_with_interval,
    results_table,
    seat_rows,
    share_with_interval,
    summary,
)
from bombay_training.matches.table import LostGame
from bombay_training.rich_tables import new_table
from helpers import matches
from helpers.failing_agents import First
from helpers.position import official

BLOCKS = 2 if numba.config.DISABLE_JIT else 12
TINY = Game(Rules(3, sets=1, turns_per_set=2))  # a short game
STUDENT = 12.706204736432095  # of 95 % with one degree of freedom


def made_match(shares, finals=None):
    """A match of `a` against `b` with these win shares (blocks, games, 2) by seat; `a` has seat 0 in a block's even games."""
    shares = np.array(shares, float)
    block, seating = (part.ravel() for part in np.indices(shares.shape[:2]))
    seats = np.stack([seating % 2, 1 - seating % 2], axis=1)
    columns = {"seating": seating, "final": 0 * seats if finals is None else finals, "win_share": shares.reshape(-1, 2)}
    return matches.made_match(official(2), "ab", seats, block, **columns)


def test_the_interval_is_that_of_block_means():
    # Block means of a: 1, ½, ½, 0.
    win, loss = [1, 0], [0, 1]
    match = made_match([[win, loss], [win, win], [loss, loss], [loss, win]])
    for confidence in (0.95, 0.99):
        low, high = share_bounds(Moments.of(np.array([1, 0.5, 0.5, 0])), confidence)
        assert share_with_interval(match, confidence=confidence) == Estimate(0.5, low, high)


def test_margin_and_final_have_intervals_over_blocks():
    # Block 0: 10 against 6, then, in seat 1, 6 against 10; block 1: 9 against 3, 9 against 5. Margins 2, −2 and 3, 2.
    match = made_match([[[1, 0], [1, 0]], [[1, 0], [0, 1]]], finals=[[10, 6], [10, 6], [9, 3], [5, 9]])
    margin, final = margin_with_interval(match), final_with_interval(match)
    half = STUDENT * math.sqrt(((0 - 1.25) ** 2 + (2.5 - 1.25) ** 2) / 1 / 2)
    assert margin.mean == 1.25
    assert margin.low == pytest.approx(1.25 - half)
    assert margin.high == pytest.approx(1.25 + half)
    assert final.mean == 8.5
    assert margin_with_interval(match, "b").mean == -1.25


def test_games_that_ended_by_faults_are_not_in_means_of_rupees():
    # Block 0: 10 against 6, and a fault; block 1: two faults.
    match = made_match([[[1, 0], [0, 1]], [[0, 1], [1, 0]]], finals=[[10, 6], [0, 0], [0, 0], [0, 0]])
    faults = tuple(LostGame(0, "a", 0, game, game // 2, game % 2, "none", "it is lost") for game in range(4))
    some, all_lost = matches.edited(match, faults=faults[1:]), matches.edited(match, faults=faults)
    assert [share_with_interval(one).mean for one in (match, some, all_lost)] == [0.5] * 3
    assert (margin_with_interval(some).mean, final_with_interval(some).mean) == (2, 10)
    assert margin_with_interval(some, "b").mean == -2
    assert [(row["final"], row["faults"]) for row in seat_rows(some)] == [(10, 3), (6, 0)]
    assert [row["final"] for row in seat_rows(all_lost)] == [None, None]
    for row in summary(all_lost)["agents"]:
        assert row["margin"] == row["final"] == {"mean": None, "low": None, "high": None}
    assert shown(results_table([all_lost]), 200).count("– │     – │") == 2


def test_an_agent_not_in_the_match_is_refused():
    match = made_match([[[1, 0], [0, 1]]])
    for agent in ("c", 2, -1):
        with pytest.raises(ValueError, match="there are a, b"):
            share_with_interval(match, agent)


def shown(table, width):
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_a_match_as_json_and_as_a_table():
    match = one_vs_rest(TINY, First(), RandomAgent(), BLOCKS, seed=1)
    text = json.loads(json.dumps(summary(match), allow_nan=False))
    assert (text["players"], text["blocks"], text["games"]) == (3, BLOCKS, 3 * BLOCKS)
    assert text["lineup"] == ["first", "random", "random"]
    assert text["rules"] == TINY.rules.to_dict()
    assert [row["agent"] for row in text["agents"]] == ["first", "random"]
    assert [row["seats"] for row in text["agents"]] == [1, 2]
    share = share_with_interval(match)
    assert text["agents"][0]["win_share"] == dataclasses.asdict(share)
    for everyone, rows in ((False, 2), (True, 3)):
        other = matches.edited(match, format="mixed") if everyone else match
        table = results_table([match, other], "title")
        assert table.row_count == rows
        text = shown(table, 200)
        assert f"{share.mean:.3f} [{share.low:.3f}, {share.high:.3f}]" in text
        assert ("lineup" in text, "first, 2 × random" in text) == (everyone, everyone)
        assert ("against" in text, "│ 2 × random" in text) == (not everyone, not everyone)


@pytest.mark.parametrize("faults", [0, 1200])
@pytest.mark.parametrize(
    ("width", "left_out"),
    [(80, "final, ms/turn, margin ± 95 %"), (100, "final, ms/turn"), (200, "")],
)
def test_a_narrow_table_never_cuts_names_and_shares(width, left_out, faults):
    names = ("champion:nodes=4500,a=1", "net:path=runs/zero-20280101-120000/agent.safetensors")
    lost = (LostGame(1, names[1], 1 - game % 2, game, 0, 0, "none", "it is lost") for game in range(faults))
    match = matches.edited(made_match([[[1, 0], [0, 1]]] * 600), lost, names, "1vrest")
    text = shown(results_table([match], width=width), width)
    rows = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    folded = ["".join(cell.strip() for cell in column) for column in zip(*rows, strict=True)]
    assert folded[:2] == list(names)
    assert all(len(row[0]) >= 12 and len(row[1]) >= 12 for row in rows)  # ten letters and space on both sides
    assert str(share_with_interval(match)) in folded
    assert "0.50" in folded
    assert f"0 / {faults}" in folded
    assert left_out in text
    assert ("no room for" in text) == bool(left_out)


def test_a_table_of_any_columns_never_cuts_names_and_numbers():
    row = ("flat-mc:rollouts=125", "20,000", "0.250 [0.240, 0.260]")
    text = shown(new_table("by seat", ("agent", "games", "win share [95 %]"), [row]), 32)
    lines = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    assert ["".join(column).replace(" ", "") for column in zip(*lines, strict=True)] == [
        cell.replace(" ", "") for cell in row
    ]


@pytest.mark.parametrize(
    ("shares", "effect"),
    [
        ([[[1, 0], [1, 0]], [[0, 1], [0, 1]]] * 9, 0.0),  # the better seat wins each game: blocks agree
        (
            [[[1, 0], [0, 1]], [[0, 1], [1, 0]]] * 9,
            2 * 35 / 36 * 18 / 17,
        ),  # the better agent of a deal wins both its games
    ],
)
def test_the_design_effect_compares_blocks_with_independent_games(shares, effect):
    match = made_match(shares)
    assert design_effect(match) == pytest.approx(effect)
    (row, _) = summary(match)["agents"]
    assert row["design_effect"] == pytest.approx(effect)


def test_a_deal_that_is_played_once_has_no_design_effect():
    match = run_blocks(TINY, ["random", "random-turn", "random"], 12, seating=Seating.ROTATE)
    assert design_effect(match) == 1
    assert math.isnan(design_effect(made_match([[[1, 0], [0, 1]]])))
