"""Kingmaking against brute force by `Game.step`, and in last turns that a person can judge."""

import dataclasses
import json
import random
from types import SimpleNamespace

import numba
import numpy as np
import pytest

from bombay_agents.search import last_round
from bombay_agents.search.last_round import AIMS
from bombay_env import Game
from bombay_env.state import NOBODY
from bombay_training.evaluation.kingmaking import counts, differ, kingmaking, leaders, seats_of, verdict
from bombay_training.evaluation.tension import turn_starts
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.run import run
from bombay_training.reports.balance import study
from helpers.position import each_count, last_turn, official, position, variant
from helpers.records import play_record

SLOW = numba.config.DISABLE_JIT


# --- Brute force ---


def outcomes(game, states):
    """The (1,) states in which the mover's turn can end, each once, in the order of breadth-first search."""
    level, seen, ended = states, set(), []
    while len(level):
        lanes, actions = np.nonzero(game.legal_actions(level))
        after, going = level[lanes], []
        game.step(after, actions)
        for record in np.split(after, len(after)):
            if record.tobytes() not in seen:
                seen.add(record.tobytes())
                (going if record["current_player"] == states["current_player"] else ended).append(record)
        level = np.concatenate(going) if going else level[:0]
    return ended


def brute_force(game, states, leader, known):
    """Shares of the win and finals by aim, if each mover chooses its best outcome; `known` caches results."""
    mover, key = int(states["current_player"][0]), states.tobytes()
    if mover == NOBODY:
        results = game.results(states)
        return dict.fromkeys(AIMS, (results["win_share"][0].tolist(), results["final"][0].tolist()))
    if key not in known:
        after = [brute_force(game, outcome, leader, known) for outcome in outcomes(game, states)]
        known[key] = {aim: max((one[aim] for one in after), key=utility_of(mover, leader, aim)) for aim in AIMS}
    return known[key]  # `max` takes the first of equals


def utility_of(mover, leader, aim):
    """What the mover wants: its share, then what the leader's share is to it, then its margin."""
    wish = {"plain": 0, "help": 1, "hurt": -1}[aim]
    return lambda found: (found[0][mover], wish * found[0][leader], len(found[1]) * found[1][mover] - sum(found[1]))


def brute_verdict(game, states, leader, known):
    """Whether the mover is settled, and whether it is a kingmaker."""
    mover = int(states["current_player"][0])
    after = {tuple(brute_force(game, outcome, leader, known)["plain"][0]) for outcome in outcomes(game, states)}
    settled = len({shares[mover] for shares in after}) == 1
    return settled, settled and len(after) > 1


def brute_leaders(game, states):
    """The seats that would win if the game ended now, from the mover on."""
    ended, n = states.copy(), game.num_players
    ended["current_player"] = NOBODY
    return [seat for seat in (np.arange(n) + states["current_player"]) % n if game.results(ended)["winners"][0][seat]]


def assert_as_brute_force(game, state):
    """Compare all that is told of a position. Returns whether the mover is settled, and whether it is a kingmaker."""
    states, known, n = np.asarray(state).view(game.state_dtype, np.ndarray), {}, game.num_players
    lead = brute_leaders(game, states)
    assert leaders(game, state) == lead
    found, best = last_round.solve(game, state, leader=lead[0]), brute_force(game, states, lead[0], known)
    assert seats_of(found.winners, n).tolist() == [[share > 0 for share in best[aim][0]] for aim in AIMS]
    expected = brute_verdict(game, states, lead[0], known)
    assert verdict(found.after, int(states["current_player"][0]), n) == expected
    return expected


# --- Positions of games ---


def records_of(game, count):
    """Games among greedy players, of which many are close at the end."""
    lineup = ("greedy",) * game.num_players
    (match,) = run([Lineup(game, lineup, count, seed=2, records=True, seating=Seating.FIXED)])
    return match.records


def with_turns_of(actions, game, state):
    """The same position under rules with fewer actions a turn."""
    rules = dataclasses.replace(game.rules, actions_per_turn=actions)
    after = state.copy()
    after["actions_left"] = actions
    return Game(rules, game.board), after


def kingmakers(n, actions, most, count):
    """Compare the positions of `count` games with at most `most` turns left, under rules with fewer actions a turn.

    Returns the number of positions and of kingmakers among them.
    """
    states = turn_starts(records_of(official(n), count))[:, -most:]
    starts = np.split(states.ravel(), states.size)
    found = [assert_as_brute_force(*with_turns_of(actions, official(n), state)) for state in starts]
    return len(found), sum(kingmaker for _, kingmaker in found)


# Players, actions, turns left, games.
QUICK = [(3, 2, 2, 5), (4, 1, 4, 2), (5, 3, 1, 12)]
LONG = [(2, 3, 2, 5), (3, 2, 3, 20), (3, 3, 2, 10), (4, 1, 4, 10), (4, 3, 2, 40), (5, 1, 5, 4), (5, 3, 1, 100)]
compiled = pytest.mark.skipif(SLOW, reason="games among greedy players are slow with the compiler off")


@compiled
def test_kingmakers_are_those_of_brute_force():
    positions, found = np.sum([kingmakers(*case) for case in QUICK], axis=0)
    assert positions == 30
    assert found > 0


@compiled
@pytest.mark.slow
def test_kingmakers_are_those_of_brute_force_in_200_positions():
    positions, found = np.sum([kingmakers(*case) for case in LONG], axis=0)
    assert positions > 200
    assert found >= 20


SCARCE = {"client_supply": 4, "palaces": 1, "city_tokens": 1, "toll": 2, "market_rupees": (2, 3, 3), "fame": (1, 0, 3)}


@each_count
def test_nothing_is_forgotten_that_matters(n):
    """The brute force forgets nothing. In random games of these rules stocks are nearly used up."""
    game, rng = variant(n, actions_per_turn=2 if n == 2 else 1, **SCARCE), random.Random(1)
    for seed in range(1 if SLOW else 12):
        for state in np.split(turn_starts([play_record(game, seed, rng)])[0, -2:], 2):
            assert_as_brute_force(game, state)


# --- Positions that a person can judge ---

#  Seat 1 has the last turn: one action, which can take it from A to H1. The palace there makes seat 2 first in the empire.
#  Finals: 9 + 1 = 10, 0 + 1 = 1, 4 + 6 = 10; the toll would be the eleventh rupee of seat 2.
TOLL = {"at": "A", "actions_left": 1, "rupees": [9, 0, 4], "palaces": {"H1": 2}}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (TOLL, (True, True)),
        (TOLL | {"at": "B"}, (True, False)),  # H1 is too far away
        (TOLL | {"rupees": [9, 20, 4]}, (True, False)),  # it wins
        (TOLL | {"rupees": [9, 9, 4]}, (False, False)),  # it shares the win, unless it pays the toll
    ],
)
def test_a_toll_can_decide_who_wins(facts, expected):
    game = official(3)
    states = last_turn(game, **facts)
    assert assert_as_brute_force(game, states) == expected
    if expected == (True, True):
        shared, alone = [0, 2], [2]
        for leader, winners in ((0, [shared, shared, alone]), (2, [shared, alone, shared])):
            found = seats_of(last_round.solve(game, states, leader=leader).winners, 3)
            assert [np.flatnonzero(row).tolist() for row in found] == winners


def test_a_toll_can_be_paid_with_the_last_action():
    #  Seat 0 draws level by consolidating: 8 + 1 + 1 = 10, 4 + 6 = 10. H2 is three moves from A, where seat 1 is.
    game = official(3)
    states = position(game, set=2, turn=4, player=0, rupees=[8, 0, 4], elephants={1: "A"}, palaces={"H2": 2})
    assert_as_brute_force(game, states)
    found = seats_of(last_round.solve(game, states, leader=2).winners, 3)
    assert [np.flatnonzero(row).tolist() for row in found] == [[0, 2], [2], [0, 2]]  # by aim: plain, help, hurt


def test_a_sale_can_spoil_the_next_one():
    #  Bombay: blue, purple, orange. Seat 2 is first in the empire: 6 + 6 = 12. Seat 1 sells its blue last.
    #  If seat 0 has sold blue before: 8 + 1 + 2 = 11; if not: 8 + 4 + 1 = 13. By its margin seat 0 sells.
    elephants, baskets = {0: "Bombay", 1: "Bombay"}, {0: ["blue"], 1: ["blue"]}
    facts = {"elephants": elephants, "baskets": baskets, "rupees": [0, 8, 6], "clients": [0, 0, 5]}
    game = official(3)
    states = position(game, set=2, turn=4, player=0, actions_left=1, **facts)
    assert assert_as_brute_force(game, states) == (True, True)
    assert leaders(game, states) == [2]
    found = seats_of(last_round.solve(game, states, leader=2).winners, 3)
    assert [np.flatnonzero(row).tolist() for row in found] == [[2], [2], [1]]


# --- Whole games ---


def test_a_game_is_judged_by_the_positions_that_were_reached():
    game, rng = variant(3, sets=2, turns_per_set=2, actions_per_turn=1), random.Random(1)
    records = [play_record(game, seed, rng) for seed in range(3)]
    found = kingmaking(records)
    assert len(found) == 3
    for number, record in enumerate(records):
        starts = {}  # by place in the round: seat 1 moves first
        for _, state in record.replay():
            if (state["set"], state["turn"]) == (1, 1):
                starts.setdefault((state["current_player"][0] - 1) % 3, state)
        verdicts = [assert_as_brute_force(game, starts[place]) for place in range(3)]
        both = zip(found["settled"][number].tolist(), found["kingmaker"][number].tolist(), strict=True)
        assert list(both) == verdicts
        lead = leaders(game, starts[0])
        assert found["tied"][number] == (len(lead) > 1)
        solution = last_round.solve(game, starts[0], leader=lead[0])
        assert (found["winners"][number] == seats_of(solution.winners, 3)).all()


def test_the_report_on_fairness_counts_games_that_could_not_be_solved():
    records = [play_record(variant(2, sets=1, turns_per_set=1, actions_per_turn=1), 1, random.Random(1))] * 3
    row = study._kingmaking(SimpleNamespace(records=records, num_games=4))
    assert (row["games"], row["unsolved"]) == (3, 1)


def test_games_are_counted():
    winners = np.array([[[1, 0], [1, 0], [0, 1]], [[1, 1], [1, 1], [1, 1]], [[0, 1], [1, 0], [1, 0]]], bool)
    settled, kingmaker = np.array([[1, 1], [1, 0], [0, 1]], bool), np.array([[1, 0], [0, 0], [0, 1]], bool)
    found = kingmaking([play_record(variant(2, sets=1, turns_per_set=1, actions_per_turn=1), 1, random.Random(1))] * 3)
    found["tied"], found["settled"], found["kingmaker"] = [True, False, False], settled, kingmaker
    found["winners"] = winners
    assert differ(found, "help", "hurt").tolist() == [True, False, False]
    assert json.loads(json.dumps(counts(found))) == {
        "players": 2,
        "games": 3,
        "tied_leads": 1,
        "places": [
            {"turns_left": 2, "positions": 3, "settled": 2, "kingmakers": 1},
            {"turns_left": 1, "positions": 3, "settled": 2, "kingmakers": 1},
        ],
        "winners_differ": {"help_hurt": 1, "plain_help": 1, "plain_hurt": 2},
    }


def test_a_round_that_is_too_large_is_left_out_and_a_leader_is_a_seat():
    record = play_record(variant(2, sets=1, turns_per_set=1, actions_per_turn=1), 1, random.Random(1))
    found = kingmaking([record], limit=1)
    assert (found["winners"].shape, found["settled"].shape) == ((0, 3, 2), (0, 2))
    assert len(kingmaking([record], limit=1000)) == 1
    with pytest.raises(ValueError, match=r"^leader is 3; it must be a whole number from 0 to 2$"):
        last_round.solve(official(3), last_turn(official(3)), leader=3)
