"""RULES 3, "Course": sets and turns, first players, restocks and their distribution, markets and posts, the end of a set."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy import stats

from helpers import position as on_engine
from helpers.position import (
    DRAW,
    GAME,
    MANY,
    assert_fits,
    bales,
    changed,
    each_count,
    facts,
    last_turn,
    official,
    position,
    variant,
)
from helpers.rules import EMPTY, legal, play

BALES = (3, 4, 5, 5)


def law(held, number):
    """Every draw of `number` bales from a bag with `held` bales by colour, and its probability."""
    draws = [draw for draw in product(*(range(count + 1) for count in held)) if sum(draw) == number]
    return {draw: math.prod(map(math.comb, held, draw)) / math.comb(sum(held), number) for draw in draws}


def stocked(draw, game=GAME):
    """The three markets after a restock of `draw`."""
    return facts(game, play(game, last_turn(game, set=0), "end_turn", restock=draw))["markets"]


def drawn(states):
    """The bales in the markets by colour, one tuple for each state."""
    return [tuple(row) for row in states.market.sum(axis=1).tolist()]


# --- Sets and turns ---


@pytest.mark.parametrize(("n", "sets", "turns", "total"), [(2, 4, 4, 32), (3, 3, 5, 45), (4, 4, 4, 64), (5, 5, 3, 75)])
@pytest.mark.parametrize("action", ["end_turn", "consolidate"])
def test_each_set_starts_one_seat_further_left_and_turns_go_clockwise(n, sets, turns, total, action):
    """In every game turn each player takes one turn. The next seat starts the next set."""
    game = official(n)
    states, seen = game.new_states([3]), []
    while not game.is_terminal(states)[0]:
        seen.append((int(states.set[0]), int(states.turn[0]), int(states.current_player[0])))
        states = play(game, states, action)
    assert len(seen) == total
    assert seen == [(s, turn, (s + k) % n) for s in range(sets) for turn in range(turns) for k in range(n)]


@each_count
def test_the_game_is_over_after_the_last_set(n):
    game = official(n)
    before = last_turn(game)
    assert not game.is_terminal(before).any()
    after = play(game, before, "end_turn")
    assert game.is_terminal(after).all()
    assert game.current_player(after).tolist() == [-1]
    assert legal(game, after) == set()


# --- The restock ---


@each_count
def test_a_set_starts_with_a_restock_of_nine_bales(n):
    """Before anyone acts. Nobody buys, so the markets stay the same until the end of the set."""
    game = official(n)
    states, restocks = game.new_states([11]), 0
    at_start = facts(game, states)["markets"]
    while not game.is_terminal(states)[0]:
        seen = facts(game, states)
        if seen["turn"] == 0 and seen["current_player"] == seen["first_player"]:
            restocks, at_start = restocks + 1, seen["markets"]
        assert seen["markets"] == at_start
        assert sum(map(sum, seen["markets"])) == 9
        states = play(game, states, "end_turn")
    assert restocks == game.rules.sets


@pytest.mark.parametrize(
    ("loads", "left"),
    [
        ([["blue", "blue"], ["blue", "orange"], ["orange", "orange"], ["purple", "purple"], ["purple"]], (3, 1, 2, 2)),
        ([["blue", "blue"], ["blue", "blue"], ["blue", "orange"], ["orange"] * 2, ["orange"] * 2], (3, 4, 0, 0)),
    ],
)
def test_a_bag_with_fewer_than_nine_bales_gives_all_of_them(loads, left):
    """With five players it can hold as few as seven."""
    game = official(5)
    before = last_turn(game, set=0, baskets=dict(enumerate(loads)), markets=[{}, {}, {}])
    draws, chances = game.restock_outcomes(before)
    assert (draws.tolist(), chances.tolist()) == ([list(left)], [1])
    after = play(game, before, "end_turn")
    assert drawn(after) == [left]
    assert facts(game, after)["bag"] == EMPTY


def test_bales_return_from_the_markets_to_the_bag_before_the_draw():
    """With 8 bales in the bag and 1 in a market, all 9 are drawn."""
    loads = [["blue", "blue"], ["blue", "blue"], ["orange", "orange"], ["orange", "orange"]]
    before = last_turn(official(5), set=0, baskets=dict(enumerate(loads)), markets=[{"blue": 1}, {}, {}])
    assert drawn(play(official(5), before, "end_turn")) == [(3, 4, 1, 1)]


# --- The distribution of restocks; `test_game_chance.py` has all exact probabilities ---


def test_probabilities_of_the_first_set_by_hand():
    draws, chances = GAME.restock_outcomes(GAME.new_states([1]))
    by_hand = {(1, 2, 3, 3): 3 * 6 * 10 * 10, (3, 3, 2, 1): 1 * 4 * 10 * 5, (0, 0, 4, 5): 5, (3, 4, 2, 0): 10}
    for draw, ways in by_hand.items():
        assert chances[draws.tolist().index(list(draw))] == ways / 24310  # 17 over 9


@each_count
def test_the_first_restock_follows_the_multivariate_hypergeometric_law(n):
    assert_fits(drawn(official(n).new_states(range(MANY))), law(BALES, 9))


@pytest.mark.parametrize("set_", [0, 1, 2])
def test_later_restocks_follow_that_law(set_):
    loads = {0: ["orange", "orange"], 1: ["yellow", "purple"]}
    before = np.tile(last_turn(GAME, set=set_, baskets=loads, markets=[{"blue": 4}, {}, {}]), MANY)
    after = on_engine.play(GAME, GAME.scrub(before, range(MANY)), "end_turn")
    assert_fits(drawn(after), law((2, 3, 5, 3), 9))


# What five players carry, from nothing to all that they can, and the bales left in the bag: 17, 12, 10, 9 and 7.
LOADS = [
    ([], (3, 4, 5, 5)),
    ([["blue"] * 2, ["orange", "purple"], ["yellow"]], (2, 3, 3, 4)),
    ([["blue", "orange"], ["blue", "orange"], ["purple"] * 2, ["yellow"]], (2, 2, 3, 3)),
    ([["yellow"] * 2, ["yellow", "blue"], ["blue"] * 2, ["orange"] * 2], (0, 4, 2, 3)),
    ([["blue"] * 2, ["blue"] * 2, ["orange"] * 2, ["orange"] * 2, ["purple", "yellow"]], (2, 3, 1, 1)),
]


@pytest.mark.slow
def test_a_million_restocks_follow_that_law():
    """Pearson's test of all bags together. A bag of nine bales or fewer is emptied."""
    game, each, statistic, freedom = official(5), 1_000_000 // len(LOADS), 0.0, 0
    for number, (loads, left) in enumerate(LOADS):
        before = last_turn(game, set=number % 4, baskets=dict(enumerate(loads)), markets=[{}, {}, {}])
        seeds = np.arange(number * each, (number + 1) * each)
        after = on_engine.play(game, game.scrub(np.tile(before, each), seeds), "end_turn")
        expected = {draw: each * p for draw, p in law(left, min(9, sum(left))).items()}
        counts = Counter(drawn(after))
        assert counts.keys() <= expected.keys()
        assert min(expected.values()) > 5  # so no cells need to be pooled
        statistic += sum((counts[draw] - mean) ** 2 / mean for draw, mean in expected.items())
        freedom += len(expected) - 1
    assert stats.chi2.sf(statistic, freedom) > 0.001


def test_restocks_are_independent_of_each_other_and_of_the_deal():
    states = GAME.new_states(range(MANY))
    top = states.demand[:, 0, 0].tolist()
    yellow = [[draw[0] for draw in drawn(states)]]
    for _ in range(3):
        states = on_engine.play(GAME, states, *["end_turn"] * 8)
        yellow.append([draw[0] for draw in drawn(states)])
    one = [sum(p for draw, p in law(BALES, 9).items() if draw[0] == count) for count in range(4)]
    both = {(a, b): one[a] * one[b] for a in range(4) for b in range(4)}
    for first, second in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert_fits(list(zip(yellow[first], yellow[second], strict=True)), both)
    with_deal = {(count, colour): one[count] / 4 for count in range(4) for colour in range(4)}
    assert_fits(list(zip(yellow[0], top, strict=True)), with_deal)


# --- Markets ---


@pytest.mark.parametrize(
    ("draw", "markets", "rules"),
    [
        ((3, 3, 2, 1), [[3, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]], {}),  # the examples of RULES 3
        ((3, 2, 2, 2), [[3, 0, 0, 0], [0, 2, 2, 2], EMPTY], {}),
        ((1, 1, 2, 5), [[0, 0, 0, 5], [0, 0, 2, 0], [1, 1, 0, 0]], {}),
        ((0, 0, 4, 5), [[0, 0, 0, 5], [0, 0, 4, 0], EMPTY], {}),
        ((0, 3, 3, 3), [[0, 3, 3, 3], EMPTY, EMPTY], {}),
        ((9, 0, 0, 0), [[9, 0, 0, 0], EMPTY, EMPTY], {"bales": (9, 5, 0, 0)}),
        ((2, 2, 2, 2), [[2, 2, 2, 2], EMPTY, EMPTY], {"restock_draw": 8}),
        ((1, 2, 3, 4), [[0, 0, 0, 4], [0, 0, 3, 0], [1, 2, 0, 0]], {"restock_draw": 10}),
    ],
)
def test_colours_tied_for_most_go_left_then_the_next_most_centre_then_the_rest_right(draw, markets, rules):
    assert stocked(draw, variant(2, **rules)) == markets


def test_every_draw_is_sorted_into_markets_by_rank():
    """A colour is in one market at most, and one that was not drawn in none."""
    for draw in law(BALES, 9):
        ranks = sorted({count for count in draw if count}, reverse=True)
        expected = [[0, 0, 0, 0] for _ in range(3)]
        for colour, count in enumerate(draw):
            if count:
                expected[min(ranks.index(count), 2)][colour] = count
        assert stocked(draw) == expected


def test_nothing_moves_left_into_an_emptied_market():
    before = position(at="E3", markets=[{"blue": 1}, {"purple": 2}, {"yellow": 1}])
    after = play(GAME, before, "buy", *["end_turn"] * 6)
    assert facts(GAME, after)["markets"] == [EMPTY, [0, 2, 0, 0], [1, 0, 0, 0]]


def test_a_colour_keeps_its_market_until_the_end_of_the_set():
    """With 1 blue bale left, fewer than purple bales, blue has the price of the left market even in the last turn."""
    markets = [{"blue": 1, "orange": 1}, {"purple": 2}, {"yellow": 3}]
    before = last_turn(GAME, set=0, at="E3", rupees=[2, 2], markets=markets)
    bought = play(GAME, before, "buy")
    assert facts(GAME, bought)["rupees"] == [2, 1]
    assert facts(GAME, bought)["markets"] == [bales(orange=1), bales(purple=2), bales(yellow=3)]
    restocked = play(GAME, bought, "end_turn", restock=(3, 4, 1, 1))
    assert facts(GAME, restocked)["markets"] == [bales(purple=4), bales(yellow=3), bales(blue=1, orange=1)]


# --- Closed posts ---


@each_count
def test_posts_are_open_after_a_restock_with_their_colour_only(n):
    """With four or five players both posts of a colour."""
    game = official(n)
    before = last_turn(game, set=0, markets=[{"blue": 1}, {}, {}], elephants={0: "E1", 1: "E1"}, rupees=[9] * n)
    letters = "EF" if n >= 4 else "E"
    for draw, colours in ((DRAW, "1234"), ((0, 4, 5, 0), "23")):
        after = play(game, before, "end_turn", restock=draw)
        assert facts(game, after)["open_posts"] == [letter + colour for letter in letters for colour in colours]
        assert ("buy" in legal(game, after)) == (draw == DRAW)


def test_a_post_is_closed_by_the_purchase_of_the_last_bale_of_its_colour():
    before = position(at="E1", elephants={1: "E1"}, rupees=[9, 9], markets=[{"blue": 3}, {}, {"yellow": 1}])
    after = play(GAME, before, "buy", "end_turn")
    assert facts(GAME, after)["open_posts"] == ["E3"]
    assert GAME.current_player(after) == 1
    assert "buy" not in legal(GAME, after)


def test_a_post_is_closed_by_a_bale_token_that_takes_the_last_bale_of_its_colour():
    before = position(
        at="G4", basket=["purple"], elephants={1: "E3"}, rupees=[9, 9], markets=[{"blue": 1}, {"yellow": 1}, {}]
    )
    assert facts(GAME, before)["open_posts"] == ["E1", "E3"]
    after = play(GAME, before, "build:purple", "take:blue")
    assert facts(GAME, after)["open_posts"] == ["E1"]
    assert "buy" not in legal(GAME, play(GAME, after, "end_turn"))


def test_a_closed_post_stays_closed_until_the_next_restock():
    """Also while the bag has bales of its colour."""
    before = position(at="Hyderabad", basket=["yellow"], elephants={1: "E1"}, markets=[{"blue": 1}, {}, {}])
    sold = play(GAME, before, "sell:yellow", *["end_turn"] * 6)
    assert facts(GAME, sold)["bag"][0] == 3
    assert facts(GAME, sold)["open_posts"] == ["E3"]
    assert "buy" not in legal(GAME, play(GAME, sold, "end_turn"))


# --- The end of a set ---


@each_count
def test_bales_left_in_the_markets_return_to_the_bag(n):
    """Only 9 of the 17 bales are drawn, so no bale stays in a market."""
    game = official(n)
    before = last_turn(game, set=0, markets=[{"orange": 5}, {"purple": 4}, {}])
    after = facts(game, play(game, before, "end_turn", restock=(3, 0, 5, 1)))
    assert after["markets"] == [bales(blue=5), bales(yellow=3), bales(orange=1)]
    assert after["bag"] == bales(purple=4, orange=4)


def test_bales_left_return_to_the_bag_after_the_last_set_too():
    after = facts(GAME, play(GAME, last_turn(GAME, baskets={0: ["blue"]}), "end_turn"))
    assert after["markets"] == [EMPTY, EMPTY, EMPTY]
    assert after["bag"] == [3, 4, 4, 5]


@each_count
def test_elephants_keep_their_bales_at_the_end_of_a_set(n):
    game = official(n)
    loads = {0: ["blue", "orange"], 1: ["purple"]}
    before = last_turn(game, set=0, baskets=loads, markets=[{"blue": 4}, {}, {}])
    after = facts(game, play(game, before, "end_turn", restock=(3, 3, 2, 1)))
    assert after["basket"] == [[0, 0, 1, 1], [0, 1, 0, 0], *[EMPTY] * (n - 2)]
    assert after["bag"] == [0, 0, 2, 3]


def test_the_end_of_a_set_changes_nothing_else():
    """Elephants, palaces, tokens, demand and rupees stay. Seat 1 ends the first set and starts the second."""
    before = last_turn(GAME, set=0, elephants={0: "H1", 1: "G3"}, palaces={"H1": 0, "G1": 1}, clients=[1, 2])
    after = play(GAME, before, "end_turn", restock=(3, 3, 2, 1))
    assert changed(GAME, before, after).keys() == {"first_player", "set", "turn", "markets", "bag"}
