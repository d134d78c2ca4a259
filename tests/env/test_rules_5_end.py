"""RULES 5, "End of the game": results, empires, fame and winners; then the effect of each field of `Rules`."""

import dataclasses
from itertools import product

import numpy as np
import pytest

from bombay_env import Rules
from helpers import position as on_engine
from helpers.position import (
    CITIES,
    COLOURS,
    GAME,
    bales,
    each_count,
    facts,
    last_turn,
    official,
    position,
    variant,
)
from helpers.rules import EMPTY, legal, outcome, play

MAJORITY = {2: (4, 0), 3: (6, 2, 0), 4: (8, 4, 2, 0), 5: (8, 6, 4, 2, 0)}


def unlimited(n):
    """The printed game without a limit of Client tokens, so that these alone can give any totals."""
    return variant(n, client_supply=None)


def awards(totals, game=None):
    """The rupees of the majority award for these empire totals."""
    game = game or unlimited(len(totals))
    result = outcome(game, clients=totals)
    assert result["empire"] == list(totals)
    return result["majority"]


# --- After the last set ---


@each_count
def test_results_are_zero_before_the_last_set_ends(n):
    game = official(n)
    for states in (game.new_states([1]), last_turn(game, clients=[3]), last_turn(game, set=0, clients=[3])):
        result = game.results(states)
        assert all(not result[name].any() for name in result.dtype.names)


@each_count
def test_awards_do_not_change_the_rupees_in_the_state(n):
    result = outcome(official(n), rupees=[7] * n, clients=[1])
    assert result["rupees"] == [7] * n
    assert result["final"] == [a + b for a, b in zip(result["rupees"], result["majority"], strict=True)]


def test_a_toll_of_the_last_turn_still_counts():
    before = last_turn(palaces={"H1": 1}, rupees=[0, 0])
    over = play(GAME, before, "move:H1", "end_turn")
    assert GAME.results(over).rupees[0].tolist() == [0, 1]


# --- Empire ---


@each_count
def test_an_empire_counts_palaces_client_tokens_and_client_palace_tokens(n):
    palaces = {"H1": 0, "A": 0, "G1": 0, "G5": 0, "G2": 1}  # seat 0 has both `client` tokens
    result = outcome(official(n), palaces=palaces, clients=[4, 5])
    assert result["empire"] == [4 + 4 + 2, 1 + 5] + [0] * (n - 2)
    assert result["clients"] == [4 + 2, 5] + [0] * (n - 2)


def test_an_empire_does_not_count_city_tokens_rupees_or_bales():
    palaces = {"G2": 0, "G6": 0}  # the two `city` tokens
    result = outcome(rupees=[50, 0], city_tokens={0: CITIES}, palaces=palaces, basket=["blue", "blue"])
    assert result["empire"] == [2, 0]


@pytest.mark.parametrize(
    ("totals", "rupees"),
    [
        # the examples of RULES 5
        ([6, 6, 4, 2], [6, 6, 2, 0]),
        ([5, 0, 0, 0], [8, 2, 2, 2]),
        ([3, 3, 3, 1], [4, 4, 4, 0]),
        ([3, 3], [2, 2]),
        # a tie of zeros that includes last place, and a remainder, which nobody gets: 14 by 4
        ([2, 1, 0, 0, 0], [8, 6, 2, 2, 2]),
        ([7, 7, 7, 7], [3, 3, 3, 3]),
    ],
    ids=str,
)
def test_tied_players_share_the_sum_of_their_ranks_rounded_down(totals, rupees):
    assert awards(totals) == rupees
    assert awards(totals[::-1]) == rupees[::-1]


@each_count
def test_every_pattern_of_ties_is_shared(n):
    """All orders of n totals with and without ties (541 for five players), as games of one batch."""
    game = unlimited(n)
    patterns = [totals for totals in product(range(n), repeat=n) if max(totals) + 1 == len(set(totals))]
    states = np.tile(last_turn(game), len(patterns)).view(np.recarray)
    states.clients[:, :n] = patterns
    result = game.results(on_engine.play(game, states, "end_turn"))
    for totals, found in zip(patterns, result.majority.tolist(), strict=True):
        descending = sorted(totals, reverse=True)
        ranks = [[rank for rank, total in enumerate(descending) if total == mine] for mine in totals]
        assert found == [sum(MAJORITY[n][rank] for rank in tied) // len(tied) for tied in ranks]


# --- Fame ---


@pytest.mark.parametrize(("tokens", "rupees"), [(0, 0), (1, 0), (2, 0), (3, 4), (4, 8), (5, 8), (6, 8)])
def test_three_city_tokens_earn_four_rupees_and_four_or_more_eight(tokens, rupees):
    """Palace tokens that count as City tokens included."""
    for from_palaces in range(max(0, tokens - 4), min(tokens, 2) + 1):
        cities = CITIES[: tokens - from_palaces]
        palaces = dict.fromkeys(["G2", "G6"][:from_palaces], 1)
        result = outcome(official(3), city_tokens={1: cities}, palaces=palaces)
        assert result["city_tokens"] == [0, tokens, 0]
        assert result["fame"] == [0, rupees, 0]


def test_the_fame_award_is_not_shared():
    result = outcome(official(3), city_tokens={0: CITIES, 1: CITIES}, palaces={"G2": 2, "G6": 2})
    assert result["fame"] == [8, 8, 0]


# --- The winner ---


@each_count
def test_the_most_rupees_including_both_awards_win(n):
    game = official(n)
    result = outcome(game, rupees=[5] * n, clients=[0, 1], city_tokens={1: ["Bombay", "Indore", "Nagpur"]})
    assert result["final"][1] == 5 + MAJORITY[n][0] + 4
    assert result["winners"] == [False, True] + [False] * (n - 2)
    assert result["win_share"] == [0, 1] + [0] * (n - 2)


@pytest.mark.parametrize(
    ("tokens", "final"),
    [({"clients": [0, 1]}, [10, 11]), ({"city_tokens": {1: CITIES}}, [10 + 2, 7 + 2 + 8])],
    ids=["majority", "fame"],
)
def test_an_award_can_decide_the_game(tokens, final):
    result = outcome(rupees=[10, 7], **tokens)
    assert result["final"] == final
    assert result["winners"] == [False, True]


def test_bales_on_elephants_are_worth_nothing():
    bare, loaded = outcome(rupees=[5, 5]), outcome(rupees=[5, 5], baskets={0: ["yellow", "purple"], 1: []})
    assert bare == loaded
    assert loaded["winners"] == [True, True]


def test_client_tokens_break_a_tie():
    result = outcome(rupees=[5, 9], clients=[3, 1])
    assert result["final"] == [9, 9]
    assert result["winners"] == [True, False]
    assert result["win_share"] == [1, 0]


def test_client_palace_tokens_count_in_the_tie_break():
    """2 Client tokens and 2 `client` palace tokens beat 3 Client tokens; both empires are 6."""
    result = outcome(rupees=[5, 5], clients=[2, 3], palaces={"G1": 0, "G5": 0, "A": 1, "H1": 1, "G3": 1})
    assert result["empire"] == [6, 6]
    assert result["final"] == [7, 7]
    assert result["winners"] == [True, False]


def test_palaces_do_not_count_in_the_tie_break():
    """An empire of 3 palaces and an empire of 3 Client tokens tie in rupees; the Client tokens win."""
    result = outcome(rupees=[5, 5], clients=[0, 3], palaces={"A": 0, "H1": 0, "G3": 0})
    assert result["empire"] == [3, 3]
    assert result["winners"] == [False, True]


def test_city_tokens_do_not_count_in_the_tie_break():
    result = outcome(rupees=[5, 5], city_tokens={0: ["Bombay", "Indore"]}, palaces={"H1": 0, "G2": 1})
    assert result["city_tokens"] == [2, 1]
    assert result["winners"] == [True, True]


def test_client_tokens_do_not_help_players_who_are_not_tied():
    result = outcome(official(3), rupees=[9, 9, 0], palaces={"A": 0, "H1": 0, "G3": 1, "G4": 1}, clients=[0, 0, 1])
    assert result["final"] == [9 + 4, 9 + 4, 0]
    assert result["clients"] == [0, 0, 1]
    assert result["winners"] == [True, True, False]


@each_count
def test_players_still_tied_share_the_win(n):
    result = outcome(official(n), rupees=[5] * n)
    assert result["winners"] == [True] * n
    assert result["win_share"] == [1 / n] * n


def test_some_of_the_tied_players_can_share_the_win():
    """Seats 1 and 3 have most rupees and most Client tokens, seat 2 has most rupees only, seat 0 has neither."""
    palaces = {"A": 2, "H1": 2, "G3": 2}
    result = outcome(official(4), rupees=[0, 5, 5, 5], clients=[0, 3, 0, 3], palaces=palaces)
    assert result["final"] == [0, 9, 9, 9]
    assert result["winners"] == [False, True, False, True]
    assert result["win_share"] == [0, 0.5, 0, 0.5]


# --- Fields of `Rules`: each has an effect ---

NO_RUPEES = {"rupees": [0, 0]}
AT_BOMBAY = NO_RUPEES | {"at": "Bombay"}  # which demands blue, purple, orange
AT_NAGPUR = NO_RUPEES | {"at": "Nagpur"}  # which demands orange, yellow, blue
WITH_BLUE = {"at": "H1", "basket": ["blue"]}

EFFECTS = [  # a field, its value, facts of the position, actions, and facts after them
    ("turns_per_set", 1, {}, ["end_turn", "end_turn"], {"set": 1}),
    ("actions_per_turn", 4, {}, ["move:E1", "move:H1", "move:E1"], {"current_player": 0, "actions_left": 1}),
    ("buys_per_turn", 2, {"at": "E3", "rupees": [9]}, ["buy", "buy"], {"basket": [bales(blue=2), EMPTY]}),
    ("move_cost", 2, {}, ["move:E4"], {"actions_left": 1}),
    ("hill_cost", 1, {"at": "E4"}, ["move:B"], {"actions_left": 2}),
    ("market_rupees", (4, 0, 7), {"at": "E1", "rupees": [9]}, ["buy"], {"rupees": [2, 2]}),
    ("market_actions", (3, 1, 2), {"at": "E1"}, ["buy"], {"actions_left": 1}),
    ("sell_cost", 2, AT_BOMBAY | {"basket": ["blue"]}, ["sell:blue"], {"actions_left": 1}),
    ("build_cost", 2, WITH_BLUE, ["build:blue"], {"actions_left": 1}),
    ("sale_rupees", (10, 20, 30), AT_BOMBAY | {"basket": ["orange"]}, ["sell:orange"], {"rupees": [30, 0]}),
    ("sale_clients", (3, 2, 4), AT_NAGPUR | {"basket": ["blue"]}, ["sell:blue"], {"clients": [4, 0]}),
    ("colour_rupees", (8, 5, 6, 7), AT_NAGPUR | {"basket": ["yellow"]}, ["sell:yellow"], {"rupees": [3 + 8, 0]}),
    ("colour_clients", (5, 4, 2, 3), AT_NAGPUR | {"basket": ["blue"]}, ["sell:blue"], {"clients": [1 + 2, 0]}),
    ("palaces", 7, WITH_BLUE, ["build:blue"], {"palaces_left": [6, 7]}),
    ("toll", 3, NO_RUPEES | {"palaces": {"H1": 1}}, ["move:H1"], {"rupees": [0, 3]}),
    ("consolidate_rupees", 4, NO_RUPEES, ["consolidate"], {"rupees": [4, 0]}),
    ("palace_token_rupees", 9, NO_RUPEES | {"at": "G3", "basket": ["blue"]}, ["build:blue"], {"rupees": [9, 0]}),
    ("city_tokens", 0, AT_BOMBAY | {"basket": ["blue"]}, ["sell:blue"], {"city_tokens": [[], []]}),
    ("city_tokens", 5, {}, [], {"city_piles": dict.fromkeys(CITIES, 5)}),
    ("client_supply", 0, AT_BOMBAY | {"basket": ["purple"]}, ["sell:purple"], {"clients": [0, 0], "client_supply": 0}),
    ("client_supply", 2, AT_BOMBAY | {"basket": ["purple"]}, ["sell:purple"], {"clients": [1, 0], "client_supply": 1}),
]


@pytest.mark.parametrize(("field", "value", "before", "actions", "after"), EFFECTS)
def test_effect_of_a_field(field, value, before, actions, after):
    game = variant(2, **{field: value})
    found = facts(game, play(game, position(game, **before), *actions))
    assert after.items() <= found.items()


LIMITS = [  # a field, its value, facts of a position where the action is legal, and facts that make it illegal
    ("actions_per_turn", 4, {}, {"actions_left": 3}, "consolidate"),
    ("basket", 1, {"at": "E3"}, {"basket": ["orange"]}, "buy"),
    ("basket", 3, {"at": "E3", "basket": ["orange"] * 2}, {"basket": ["orange", "orange", "yellow"]}, "buy"),
    ("move_cost", 2, {"actions_left": 2}, {"actions_left": 1}, "move:H1"),
    ("hill_cost", 3, {"at": "E4"}, {"actions_left": 2}, "move:B"),
    ("market_rupees", (4, 0, 7), {"at": "E3", "rupees": [4]}, {"rupees": [3]}, "buy"),
    ("market_actions", (3, 1, 2), {"at": "E3"}, {"actions_left": 2}, "buy"),
    ("sell_cost", 2, {"at": "Bombay", "basket": ["blue"], "actions_left": 2}, {"actions_left": 1}, "sell:blue"),
    ("build_cost", 2, WITH_BLUE | {"actions_left": 2}, {"actions_left": 1}, "build:blue"),
    ("palaces", 1, WITH_BLUE, {"palaces": {"A": 0}}, "build:blue"),
]


@pytest.mark.parametrize(("field", "value", "before", "change", "action"), LIMITS)
def test_limit_of_a_field(field, value, before, change, action):
    game = variant(2, **{field: value})
    assert action in legal(game, position(game, **before))
    assert action not in legal(game, position(game, **before | change))


def test_field_sets():
    game = variant(2, sets=2)
    states = play(game, game.new_states([1]), *["end_turn"] * 15)
    assert not game.is_terminal(states)[0]
    assert game.is_terminal(play(game, states, "end_turn"))[0]


@pytest.mark.parametrize(("rotate", "first"), [(True, 1), (False, 0)])
def test_field_rotate_first_player(rotate, first):
    game = variant(3, rotate_first_player=rotate)
    after = facts(game, play(game, last_turn(game, set=0), "end_turn"))
    assert (after["first_player"], after["current_player"]) == (first, first)


def test_field_starting_rupees():
    game = variant(3, starting_rupees=(0, 7, 11))
    assert facts(game, game.new_states([1]))["rupees"] == [0, 7, 11]


def test_field_bales():
    game = variant(2, bales=(0, 0, 6, 7))
    draws, _ = game.restock_outcomes(game.new_states([1]))
    assert draws.tolist() == [[0, 0, blue, 9 - blue] for blue in range(2, 7)]
    assert (game.new_states(range(50)).market[:, :, :2] == 0).all()


def test_field_restock_draw():
    game = variant(2, restock_draw=17)
    seen = facts(game, game.new_states([1]))
    assert seen["markets"] == [bales(blue=5, orange=5), bales(purple=4), bales(yellow=3)]
    assert seen["bag"] == EMPTY
    assert (variant(2, restock_draw=4).new_states(range(50)).market.sum(axis=(1, 2)) == 4).all()


def test_field_buys_per_turn():
    none = variant(2, buys_per_turn=0)
    assert "buy" not in legal(none, position(none, at="E3", rupees=[9]))
    two = variant(2, buys_per_turn=2, basket=3, actions_per_turn=4)
    after = play(two, position(two, at="E3", rupees=[9], markets=[{"blue": 5}, {}, {}]), "buy", "buy")
    assert "buy" not in legal(two, after)


def test_field_palace_tokens():
    game = variant(2, palace_tokens=(1, 0, 7, 0))
    kinds = list(facts(game, game.new_states([1]))["palace_tokens"].values())
    assert sorted(kinds) == ["client"] + ["rupees"] * 7


@pytest.mark.parametrize(("totals", "rupees"), [([3, 2, 1], [9, 5, 1]), ([3, 3, 1], [7, 7, 1]), ([1, 1, 1], [5, 5, 5])])
def test_field_majority(totals, rupees):
    assert awards(totals, variant(3, majority=(9, 5, 1), client_supply=None)) == rupees


def test_ties_are_shared_the_same_way_if_the_last_rank_earns_more():
    game = variant(2, majority=(0, 7), client_supply=None)
    assert awards([2, 1], game) == [0, 7]
    assert awards([2, 2], game) == [3, 3]


def test_field_fame():
    game = variant(3, fame=(1, 2, 6))
    result = outcome(game, city_tokens={1: ["Bombay"], 2: ["Bombay", "Indore"]})
    assert result["fame"] == [1, 2, 6]
    assert outcome(game, city_tokens={0: CITIES}, palaces={"G2": 0, "G6": 1})["fame"] == [6, 2, 1]
    assert outcome(variant(2, fame=(3,)), city_tokens={0: CITIES})["fame"] == [3, 3]


@each_count
@pytest.mark.parametrize("outer", [True, False])
def test_field_outer_posts(n, outer):
    game = variant(n, outer_posts=outer)
    posts = facts(game, game.new_states([1]))["posts"]
    assert {site[0] for site in posts} == ({"E", "F"} if outer else {"E"})
    assert sorted(posts.values()) == sorted(COLOURS * (1 + outer))
    at_post = legal(game, position(game, at="F1", basket=["blue"]))
    assert ("buy" in at_post, "build:blue" in at_post) == (outer, not outer)


def test_field_demand_columns():
    """No column has yellow, so nobody can sell it. Two columns are equal, which is allowed."""
    twice, other, third = ("orange", "blue", "purple"), ("purple", "blue", "orange"), ("blue", "orange", "purple")
    game = variant(2, demand_columns=(twice, twice, other, third))
    states = game.new_states(range(20))
    for lane in range(20):
        columns = [tuple(column) for column in facts(game, states[lane : lane + 1])["demand"].values()]
        assert sorted(columns) == sorted([twice, twice, other, third])
    for city in CITIES:
        assert "sell:yellow" not in legal(game, position(game, at=city, basket=["yellow"]))
    after = play(game, position(game, at="Bombay", basket=["orange"], rupees=[0]), "sell:orange")
    assert facts(game, after)["rupees"][0] == 4


def test_every_field_of_rules_has_a_test():
    tested = {name.removeprefix("test_field_") for name in globals() if name.startswith("test_field_")}
    tested |= {field for field, *_ in EFFECTS + LIMITS}
    assert tested == {field.name for field in dataclasses.fields(Rules)} - {"num_players"}
