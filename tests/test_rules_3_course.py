"""RULES 3, "Course": sets and turns, first players, restocks and their distribution, markets and posts, the end of a set."""

import math
from itertools import product

import numpy as np
import pytest

from helpers.position import (
    DRAW,
    GAME,
    MANY,
    assert_fits,
    bales,
    changed,
    facts,
    last_turn,
    legal,
    official,
    play,
    position,
    random_play,
    variant,
)

each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])
BALES = (3, 4, 5, 5)
EMPTY = [0, 0, 0, 0]


def course(game, action="end_turn"):
    """(set, turn, seat) of every player turn of a game in which each turn has one action."""
    states, seen = game.new_states([3]), []
    while not game.is_terminal(states)[0]:
        seen.append((states.set[0], states.turn[0], states.current_player[0]))
        states = play(game, states, action)
    return [tuple(map(int, turn)) for turn in seen]


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


def heavy_elephants(*loads):
    """The last turn of the first set for five players, with these bales on the elephants."""
    return last_turn(official(5), set=0, baskets=dict(enumerate(loads)), markets=[{}, {}, {}])


# --- Sets and turns ---


@pytest.mark.parametrize(("n", "sets", "turns", "total"), [(2, 4, 4, 32), (3, 3, 5, 45), (4, 4, 4, 64), (5, 5, 3, 75)])
@pytest.mark.parametrize("action", ["end_turn", "consolidate"])
def test_sets_game_turns_and_player_turns_of_a_game(n, sets, turns, total, action):
    seen = course(official(n), action)
    assert len(seen) == total
    assert sorted({(set_, turn) for set_, turn, _ in seen}) == list(product(range(sets), range(turns)))


@each_count
def test_in_a_game_turn_each_player_takes_one_turn(n):
    seen = course(official(n))
    for set_, turn, _ in seen:
        assert sorted(seat for s, t, seat in seen if (s, t) == (set_, turn)) == list(range(n))


@each_count
def test_turns_go_clockwise_from_the_sets_first_player(n):
    seen = course(official(n))
    for set_ in {s for s, _, _ in seen}:
        seats = [seat for s, _, seat in seen if s == set_]
        assert seats == [(seats[0] + k) % n for k in range(len(seats))]


@each_count
def test_seat_zero_starts_the_first_set(n):
    assert course(official(n))[0] == (0, 0, 0)


@pytest.mark.parametrize(("n", "firsts"), [(2, [0, 1, 0, 1]), (3, [0, 1, 2]), (4, [0, 1, 2, 3]), (5, [0, 1, 2, 3, 4])])
def test_the_next_seat_starts_the_next_set(n, firsts):
    """With two players, each is the first player twice."""
    seen = course(official(n))
    assert [next(seat for s, _, seat in seen if s == set_) for set_ in range(len(firsts))] == firsts


@each_count
def test_the_first_player_can_stay_the_same(n):
    seen = course(variant(n, rotate_first_player=False))
    assert {seat for _, turn, seat in seen[::n]} == {0}
    assert len(seen) == len(course(official(n)))


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
def test_a_set_starts_with_a_restock(n):
    game = official(n)
    states, restocks = game.new_states([11]), 0
    at_start = facts(game, states)["markets"]
    while not game.is_terminal(states)[0]:
        seen = facts(game, states)
        if seen["turn"] == 0 and seen["current_player"] == seen["first_player"]:
            restocks, at_start = restocks + 1, seen["markets"]
        assert seen["markets"] == at_start  # nobody buys
        assert sum(map(sum, seen["markets"])) == 9
        states = play(game, states, "end_turn")
    assert restocks == game.rules.sets


@each_count
def test_the_first_restock_comes_before_anyone_acts(n):
    states = official(n).new_states(range(100))
    assert (states.market.sum(axis=(1, 2)) == 9).all()


@each_count
def test_a_restock_takes_no_action(n):
    game = official(n)
    before = last_turn(game, set=0, markets=[{}, {}, {}])
    after = play(game, before, "end_turn")
    seen = facts(game, after)
    assert sum(map(sum, seen["markets"])) == 9
    assert (seen["set"], seen["turn"], seen["current_player"], seen["actions_left"]) == (1, 0, 1, 3)


def test_every_restock_draws_nine_bales():
    states = GAME.new_states(range(50))
    for _ in range(4):
        assert (states.market.sum(axis=(1, 2)) == 9).all()
        states = play(GAME, states, *["end_turn"] * 8)
    assert GAME.is_terminal(states).all()


@pytest.mark.parametrize(
    ("loads", "left"),
    [
        ([["blue", "blue"], ["blue", "orange"], ["orange", "orange"], ["purple", "purple"], ["purple"]], [3, 1, 2, 2]),
        (
            [["blue", "blue"], ["blue", "orange"], ["orange", "orange"], ["purple", "purple"], ["yellow"] * 2],
            [1, 2, 2, 2],
        ),
        ([["blue", "blue"], ["blue", "blue"], ["blue", "orange"], ["orange"] * 2, ["orange"] * 2], [3, 4, 0, 0]),
    ],
)
def test_a_bag_with_fewer_than_nine_bales_gives_all_of_them(loads, left):
    game = official(5)
    after = play(game, heavy_elephants(*loads), "end_turn")
    assert drawn(after) == [tuple(left)]
    assert facts(game, after)["bag"] == EMPTY


def test_with_five_players_the_bag_holds_at_least_seven_bales():
    before = heavy_elephants(["blue"] * 2, ["blue"] * 2, ["orange"] * 2, ["orange"] * 2, ["purple"] * 2)
    draws, chances = official(5).restock_outcomes(before)
    assert draws.tolist() == [[3, 2, 1, 1]]
    assert chances.tolist() == [1.0]


def test_bales_return_from_the_markets_to_the_bag_before_the_draw():
    """With 8 bales in the bag and 1 in a market, all 9 are drawn."""
    loads = [["blue", "blue"], ["blue", "blue"], ["orange", "orange"], ["orange", "orange"]]
    before = last_turn(official(5), set=0, baskets=dict(enumerate(loads)), markets=[{"blue": 1}, {}, {}])
    assert drawn(play(official(5), before, "end_turn")) == [(3, 4, 1, 1)]


# --- The distribution of restocks ---


def test_probabilities_of_the_first_set_by_hand():
    draws, chances = GAME.restock_outcomes(GAME.new_states([1]))
    by_hand = {(1, 2, 3, 3): 3 * 6 * 10 * 10, (3, 3, 2, 1): 1 * 4 * 10 * 5, (0, 0, 4, 5): 5, (3, 4, 2, 0): 10}
    for draw, ways in by_hand.items():
        assert chances[draws.tolist().index(list(draw))] == ways / 24310  # 17 over 9


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize(
    "loads",
    [
        [],
        [["yellow", "yellow"], ["yellow"]],
        [["blue", "orange"], ["purple", "purple"]],
        [["orange"] * 2, ["orange"] * 2],
    ],
)
def test_counts_by_colour_follow_the_multivariate_hypergeometric_distribution(n, loads):
    game = official(n)
    before = last_turn(game, set=0, baskets=dict(enumerate(loads)), markets=[{}, {"blue": 1}, {}])
    carried = [sum(load.count(colour) for load in loads) for colour in ("yellow", "purple", "blue", "orange")]
    held = [total - out for total, out in zip(BALES, carried, strict=True)]
    draws, chances = game.restock_outcomes(before)
    expected = law(held, 9)
    assert [tuple(draw) for draw in draws.tolist()] == sorted(expected)
    assert chances.tolist() == pytest.approx([expected[draw] for draw in sorted(expected)], rel=1e-14)
    assert chances.sum() == pytest.approx(1, abs=1e-12)


def test_no_restock_follows_the_last_set():
    for states in (last_turn(GAME), play(GAME, last_turn(GAME), "end_turn")):
        draws, chances = GAME.restock_outcomes(states)
        assert draws.shape == (0, 4)
        assert chances.shape == (0,)


@each_count
def test_the_first_restock_follows_that_distribution(n):
    assert_fits(drawn(official(n).new_states(range(MANY))), law(BALES, 9))


@pytest.mark.parametrize("set_", [0, 1, 2])
def test_later_restocks_follow_that_distribution(set_):
    loads = {0: ["orange", "orange"], 1: ["yellow", "purple"]}
    before = np.tile(last_turn(GAME, set=set_, baskets=loads, markets=[{"blue": 4}, {}, {}]), MANY)
    after = play(GAME, GAME.scrub(before, range(MANY)), "end_turn")
    assert_fits(drawn(after), law((2, 3, 5, 3), 9))


def test_restocks_of_one_game_are_independent():
    states = GAME.new_states(range(MANY))
    yellow = [[draw[0] for draw in drawn(states)]]
    for _ in range(3):
        states = play(GAME, states, *["end_turn"] * 8)
        yellow.append([draw[0] for draw in drawn(states)])
    one = [sum(p for draw, p in law(BALES, 9).items() if draw[0] == count) for count in range(4)]
    both = {(a, b): one[a] * one[b] for a in range(4) for b in range(4)}
    for first, second in ((0, 1), (1, 2), (2, 3), (0, 3)):
        assert_fits(list(zip(yellow[first], yellow[second], strict=True)), both)


def test_the_restock_is_independent_of_the_deal():
    states = GAME.new_states(range(MANY))
    yellow = [sum(p for draw, p in law(BALES, 9).items() if draw[0] == count) for count in range(4)]
    top = states.demand[:, 0, 0].tolist()
    both = {(count, colour): yellow[count] / 4 for count in range(4) for colour in range(4)}
    assert_fits(list(zip([draw[0] for draw in drawn(states)], top, strict=True)), both)


@pytest.mark.parametrize(
    "draw", [(3, 3, 2, 0), (3, 3, 2, 2), (4, 2, 2, 1), (-1, 4, 3, 3), (0, 0, 0, 9)], ids=lambda draw: str(draw)
)
def test_an_impossible_restock_is_rejected(draw):
    with pytest.raises(ValueError, match="restock"):
        play(GAME, last_turn(GAME, set=0), "end_turn", restock=draw)
    with pytest.raises(ValueError, match="restock"):
        GAME.new_states([1], restocks=np.array([draw]))


# --- Markets ---


def test_colours_tied_for_most_go_left_then_the_next_most_centre_then_the_rest_right():
    """Counts of 3, 3, 2, 1 go to the left, left, centre and right market."""
    assert stocked((3, 3, 2, 1)) == [[3, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]


def test_three_colours_tied_for_second_leave_the_right_market_empty():
    """Counts of 3, 2, 2, 2 go to the left market and three times to the centre."""
    assert stocked((3, 2, 2, 2)) == [[3, 0, 0, 0], [0, 2, 2, 2], EMPTY]


@pytest.mark.parametrize(
    ("draw", "markets"),
    [
        ((1, 2, 3, 3), [[0, 0, 3, 3], [0, 2, 0, 0], [1, 0, 0, 0]]),
        ((2, 2, 2, 3), [[0, 0, 0, 3], [2, 2, 2, 0], EMPTY]),
        ((2, 1, 4, 2), [[0, 0, 4, 0], [2, 0, 0, 2], [0, 1, 0, 0]]),
        ((1, 1, 2, 5), [[0, 0, 0, 5], [0, 0, 2, 0], [1, 1, 0, 0]]),
        ((1, 2, 5, 1), [[0, 0, 5, 0], [0, 2, 0, 0], [1, 0, 0, 1]]),
        ((3, 4, 1, 1), [[0, 4, 0, 0], [3, 0, 0, 0], [0, 0, 1, 1]]),
        ((2, 3, 4, 0), [[0, 0, 4, 0], [0, 3, 0, 0], [2, 0, 0, 0]]),
        ((0, 2, 2, 5), [[0, 0, 0, 5], [0, 2, 2, 0], EMPTY]),
        ((1, 4, 0, 4), [[0, 4, 0, 4], [1, 0, 0, 0], EMPTY]),
        ((0, 4, 5, 0), [[0, 0, 5, 0], [0, 4, 0, 0], EMPTY]),
        ((0, 0, 4, 5), [[0, 0, 0, 5], [0, 0, 4, 0], EMPTY]),
        ((0, 3, 3, 3), [[0, 3, 3, 3], EMPTY, EMPTY]),
    ],
    ids=lambda value: str(value) if isinstance(value, tuple) else "",
)
def test_shapes_of_a_restock(draw, markets):
    assert stocked(draw) == markets


@pytest.mark.parametrize("draw", sorted(law(BALES, 9)), ids=str)
def test_every_draw_is_sorted_into_markets_by_rank(draw):
    ranks = sorted({count for count in draw if count}, reverse=True)
    expected = [[0, 0, 0, 0] for _ in range(3)]
    for colour, count in enumerate(draw):
        if count:
            expected[min(ranks.index(count), 2)][colour] = count
    found = np.array(stocked(draw))
    assert found.tolist() == expected
    assert ((found > 0).sum(axis=0) <= 1).all()  # a colour is in at most one market
    assert tuple(found.sum(axis=0)) == draw  # all drawn bales are placed


def test_one_colour_alone_goes_left():
    assert stocked((9, 0, 0, 0), variant(2, bales=(9, 5, 0, 0))) == [[9, 0, 0, 0], EMPTY, EMPTY]


def test_four_tied_colours_all_go_left():
    assert stocked((2, 2, 2, 2), variant(2, restock_draw=8)) == [[2, 2, 2, 2], EMPTY, EMPTY]


def test_four_different_counts_leave_the_two_smallest_right():
    assert stocked((0, 1, 2, 4), variant(2, restock_draw=7)) == [[0, 0, 0, 4], [0, 0, 2, 0], [0, 1, 0, 0]]
    assert stocked((1, 2, 3, 4), variant(2, restock_draw=10)) == [[0, 0, 0, 4], [0, 0, 3, 0], [1, 2, 0, 0]]


def test_a_colour_not_drawn_is_in_no_market():
    after = facts(GAME, play(GAME, last_turn(GAME, set=0), "end_turn", restock=(0, 4, 5, 0)))
    assert [market[0] for market in after["markets"]] == [market[3] for market in after["markets"]] == [0, 0, 0]


def test_a_colour_stays_in_its_market_while_bales_are_sold():
    """With 1 blue bale left, fewer than purple bales, blue still has the price of the left market."""
    before = position(
        at="E3", rupees=[1], actions_left=1, markets=[{"blue": 1, "orange": 1}, {"purple": 2}, {"yellow": 3}]
    )
    after = play(GAME, before, "buy")
    assert facts(GAME, after)["markets"] == [[0, 0, 0, 1], [0, 2, 0, 0], [3, 0, 0, 0]]
    assert facts(GAME, after)["rupees"][0] == 0


def test_nothing_moves_left_into_an_emptied_market():
    before = position(at="E3", markets=[{"blue": 1}, {"purple": 2}, {"yellow": 1}])
    after = play(GAME, before, "buy")
    assert facts(GAME, after)["markets"] == [EMPTY, [0, 2, 0, 0], [1, 0, 0, 0]]
    again = play(GAME, after, "end_turn", *["end_turn"] * 5)
    assert facts(GAME, again)["markets"] == [EMPTY, [0, 2, 0, 0], [1, 0, 0, 0]]


def test_a_colour_keeps_its_market_until_the_end_of_the_set():
    markets = [{"blue": 1, "orange": 1}, {"purple": 2}, {"yellow": 3}]
    before = last_turn(GAME, set=0, at="E3", rupees=[2, 2], markets=markets)
    bought = play(GAME, before, "buy")
    assert facts(GAME, bought)["rupees"] == [2, 1]  # the price of the left market, even in the last turn
    restocked = play(GAME, bought, "end_turn", restock=(3, 4, 1, 1))
    assert facts(GAME, restocked)["markets"] == [bales(purple=4), bales(yellow=3), bales(blue=1, orange=1)]


@each_count
def test_in_random_games_no_colour_changes_its_market_within_a_set(n):
    before = None
    for states in random_play(official(n)):
        if before is not None:
            same_set = (states.set == before.set)[:, None, None]
            assert not (same_set & (states.market > before.market)).any()
        before = states


# --- Closed posts ---


def test_a_post_is_closed_after_a_restock_without_its_colour():
    before = last_turn(GAME, set=0, elephants={0: "E1", 1: "E1"}, rupees=[9, 9])
    after = play(GAME, before, "end_turn", restock=(0, 4, 5, 0))
    assert facts(GAME, after)["open_posts"] == ["E2", "E3"]
    assert "buy" not in legal(GAME, after)


@pytest.mark.parametrize("n", [4, 5])
def test_both_posts_of_a_colour_are_closed_together(n):
    game = official(n)
    after = facts(game, play(game, last_turn(game, set=0), "end_turn", restock=(0, 4, 5, 0)))
    assert after["open_posts"] == ["E2", "E3", "F2", "F3"]


def test_a_post_is_closed_by_the_purchase_of_the_last_bale_of_its_colour():
    before = position(at="E1", elephants={1: "E1"}, rupees=[9, 9], markets=[{"blue": 3}, {}, {"yellow": 1}])
    assert "buy" in legal(GAME, before)
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


def test_a_post_is_open_while_one_bale_of_its_colour_is_left():
    before = position(at="E3", markets=[{"blue": 2}, {}, {}])
    assert "E3" in facts(GAME, play(GAME, before, "buy"))["open_posts"]


def test_bales_in_the_bag_do_not_open_a_post():
    before = position(at="E1", rupees=[9], markets=[{"blue": 1}, {}, {}])
    assert facts(GAME, before)["bag"][0] == 3
    assert "buy" not in legal(GAME, before)


def test_a_closed_post_stays_closed_until_the_next_restock():
    before = position(at="E1", rupees=[9], basket=["yellow"], markets=[{"blue": 1}, {}, {}])
    sold = play(GAME, position(at="Hyderabad", basket=["yellow"], markets=[{"blue": 1}, {}, {}]), "sell:yellow")
    assert facts(GAME, sold)["bag"][0] == 3  # in the bag, not in a market
    assert facts(GAME, sold)["open_posts"] == ["E3"]
    assert facts(GAME, play(GAME, before, *["end_turn"] * 7))["open_posts"] == ["E3"]


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


def test_posts_reopen_at_the_next_restock():
    before = last_turn(GAME, set=0, markets=[{"blue": 1}, {}, {}])
    assert facts(GAME, before)["open_posts"] == ["E3"]
    after = play(GAME, before, "end_turn", restock=DRAW)
    assert facts(GAME, after)["open_posts"] == ["E1", "E2", "E3", "E4"]


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
