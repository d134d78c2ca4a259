"""RULES 5, "End of the game": results, empires, fame and winners; then one test for each field of `Rules`."""

import dataclasses
from itertools import product

import numpy as np
import pytest

from bombay_env import Rules
from helpers.position import (
    CITIES,
    COLOURS,
    GAME,
    bales,
    facts,
    last_turn,
    legal,
    official,
    outcome,
    play,
    position,
    variant,
)

each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])
MAJORITY = {2: (4, 0), 3: (6, 2, 0), 4: (8, 4, 2, 0), 5: (8, 6, 4, 2, 0)}
EMPTY = [0, 0, 0, 0]


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


def test_results_of_a_running_game_stay_zero_next_to_a_finished_game():
    states = np.concatenate([last_turn(clients=[3]), position(clients=[3])])
    result = GAME.results(play(GAME, states, "end_turn"))
    assert result.final.tolist() == [[2 + 4, 2], [0, 0]]
    assert result.win_share.tolist() == [[1, 0], [0, 0]]


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


def test_all_five_palaces_count():
    result = outcome(palaces=dict.fromkeys(["A", "H1", "H2", "G3", "G4"], 1))
    assert result["empire"] == [0, 5]


@each_count
def test_ranks_earn_their_rupees(n):
    totals = list(range(n, 0, -1))
    assert awards(totals) == list(MAJORITY[n])
    assert awards(totals[::-1]) == list(MAJORITY[n])[::-1]


@pytest.mark.parametrize(
    ("totals", "rupees"),
    [
        # the examples of RULES 5
        ([6, 6, 4, 2], [6, 6, 2, 0]),
        ([5, 0, 0, 0], [8, 2, 2, 2]),
        ([3, 3, 3, 1], [4, 4, 4, 0]),
        ([3, 3], [2, 2]),
        # three players
        ([3, 3, 1], [4, 4, 0]),
        ([3, 1, 1], [6, 1, 1]),
        ([2, 2, 2], [2, 2, 2]),
        # four players
        ([9, 5, 5, 1], [8, 3, 3, 0]),
        ([9, 5, 1, 1], [8, 4, 1, 1]),
        ([5, 5, 1, 1], [6, 6, 1, 1]),
        ([4, 4, 4, 4], [3, 3, 3, 3]),
        # five players
        ([9, 9, 3, 2, 1], [7, 7, 4, 2, 0]),
        ([9, 5, 5, 2, 1], [8, 5, 5, 2, 0]),
        ([9, 5, 3, 3, 1], [8, 6, 3, 3, 0]),
        ([9, 5, 3, 1, 1], [8, 6, 4, 1, 1]),
        ([9, 9, 3, 3, 1], [7, 7, 3, 3, 0]),
        ([9, 9, 3, 1, 1], [7, 7, 4, 1, 1]),
        ([9, 5, 5, 1, 1], [8, 5, 5, 1, 1]),
        ([5, 5, 5, 2, 1], [6, 6, 6, 2, 0]),
        ([9, 5, 5, 5, 1], [8, 4, 4, 4, 0]),
        ([9, 5, 1, 1, 1], [8, 6, 2, 2, 2]),
        ([9, 9, 1, 1, 1], [7, 7, 2, 2, 2]),
        ([5, 5, 5, 1, 1], [6, 6, 6, 1, 1]),
        ([5, 5, 5, 5, 1], [5, 5, 5, 5, 0]),
        ([9, 1, 1, 1, 1], [8, 3, 3, 3, 3]),
        ([4, 4, 4, 4, 4], [4, 4, 4, 4, 4]),
    ],
    ids=str,
)
def test_tied_players_share_the_sum_of_their_ranks(totals, rupees):
    assert awards(totals) == rupees
    assert awards(totals[::-1]) == rupees[::-1]
    assert awards(totals[1:] + totals[:1]) == rupees[1:] + rupees[:1]


@pytest.mark.parametrize(
    ("totals", "share"),
    [([7, 7, 7], 8 // 3), ([7, 7, 7, 1], 14 // 3), ([7, 7, 7, 7], 14 // 4)],
    ids=["three of three", "three of four", "four of four"],
)
def test_shares_of_tied_ranks_are_rounded_down(totals, share):
    """RULES 5: only these ties have a remainder, and nobody gets it."""
    tied = totals.count(7)
    assert awards(totals) == [share] * tied + [0] * (len(totals) - tied)


@each_count
def test_shares_are_rounded_down_for_every_pattern_of_ties(n):
    """All orders of n totals with and without ties (541 for five players), as games of one batch."""
    game = unlimited(n)
    patterns = [totals for totals in product(range(n), repeat=n) if max(totals) + 1 == len(set(totals))]
    states = np.tile(last_turn(game), len(patterns)).view(np.recarray)
    states.clients[:, :n] = patterns
    result = game.results(play(game, states, "end_turn"))
    for totals, found in zip(patterns, result.majority.tolist(), strict=True):
        descending = sorted(totals, reverse=True)
        ranks = [[rank for rank, total in enumerate(descending) if total == mine] for mine in totals]
        assert found == [sum(MAJORITY[n][rank] for rank in tied) // len(tied) for tied in ranks]


@each_count
def test_a_total_of_zero_ranks_like_any_other(n):
    totals = list(range(n - 1, -1, -1))
    assert awards(totals) == list(MAJORITY[n])
    assert awards([0] * n) == awards([7] * n)


@pytest.mark.parametrize(
    ("totals", "rupees"),
    [([0, 0], [2, 2]), ([1, 0, 0], [6, 1, 1]), ([1, 0, 0, 0], [8, 2, 2, 2]), ([2, 1, 0, 0, 0], [8, 6, 2, 2, 2])],
)
def test_a_tie_that_includes_last_place_shares_too(totals, rupees):
    assert awards(totals) == rupees


# --- Fame ---


@each_count
@pytest.mark.parametrize(("tokens", "rupees"), [(0, 0), (1, 0), (2, 0), (3, 4), (4, 8), (5, 8), (6, 8)])
def test_three_city_tokens_earn_four_rupees_and_four_or_more_eight(n, tokens, rupees):
    game = official(n)
    for from_palaces in range(max(0, tokens - 4), min(tokens, 2) + 1):
        cities = CITIES[: tokens - from_palaces]
        palaces = dict.fromkeys(["G2", "G6"][:from_palaces], 1)
        result = outcome(game, city_tokens={1: cities}, palaces=palaces)
        assert result["city_tokens"] == [0, tokens] + [0] * (n - 2)
        assert result["fame"] == [0, rupees] + [0] * (n - 2)


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


def test_the_majority_award_can_decide_the_game():
    result = outcome(rupees=[10, 7], clients=[0, 1])
    assert result["final"] == [10, 11]
    assert result["winners"] == [False, True]


def test_the_fame_award_can_decide_the_game():
    result = outcome(rupees=[10, 7], city_tokens={1: CITIES})
    assert result["final"] == [10 + 2, 7 + 2 + 8]
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


def test_field_num_players():
    states = [play(official(n), official(n).new_states([1]), *["end_turn"] * 2) for n in (2, 3)]
    assert [int(state.current_player[0]) for state in states] == [0, 2]


def test_field_sets():
    game = variant(2, sets=2)
    states = play(game, game.new_states([1]), *["end_turn"] * 15)
    assert not game.is_terminal(states)[0]
    assert game.is_terminal(play(game, states, "end_turn"))[0]


def test_field_turns_per_set():
    game = variant(2, turns_per_set=1)
    states = play(game, game.new_states([1]), *["end_turn"] * 2)
    assert facts(game, states)["set"] == 1
    assert game.is_terminal(play(game, states, *["end_turn"] * 6))[0]


def test_field_rotate_first_player():
    firsts = {}
    for rotate in (True, False):
        game = variant(3, rotate_first_player=rotate)
        after = play(game, last_turn(game, set=0), "end_turn")
        firsts[rotate] = facts(game, after)["first_player"], int(game.current_player(after)[0])
    assert firsts == {True: (1, 1), False: (0, 0)}


def test_field_actions_per_turn():
    game = variant(2, actions_per_turn=4)
    after = play(game, game.new_states([1]), "move:E1", "move:H1", "move:E1")
    assert int(after.current_player[0]) == 0
    assert "consolidate" not in legal(game, after)
    assert "consolidate" not in legal(game, position(game, actions_left=3))
    after = play(game, after, "move:H1")
    assert (int(after.current_player[0]), int(after.actions_left[0])) == (1, 4)
    assert int(play(game, after, "consolidate").current_player[0]) == 0


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


@pytest.mark.parametrize("limit", [1, 3])
def test_field_basket(limit):
    game = variant(2, basket=limit)
    for load in range(limit + 1):
        states = position(game, at="E3", basket=["orange", "orange", "yellow"][:load])
        assert ("buy" in legal(game, states)) == (load < limit)


def test_field_buys_per_turn():
    none, two = variant(2, buys_per_turn=0), variant(2, buys_per_turn=2)
    assert "buy" not in legal(none, position(none, at="E3", rupees=[9]))
    after = play(two, position(two, at="E3", rupees=[9], markets=[{"blue": 5}, {}, {}]), "buy")
    assert "buy" in legal(two, after)
    assert facts(two, play(two, after, "buy"))["basket"][0] == bales(blue=2)
    more = variant(2, buys_per_turn=2, basket=3, actions_per_turn=4)
    after = play(more, position(more, at="E3", rupees=[9], markets=[{"blue": 5}, {}, {}]), "buy", "buy")
    assert "buy" not in legal(more, after)


def test_field_move_cost():
    game = variant(2, move_cost=2, hill_cost=1)
    after = play(game, game.new_states([1]), "move:E4")
    assert int(after.actions_left[0]) == 1
    assert legal(game, after) & {"move:G8", "move:A", "move:B"} == {"move:A", "move:B"}


def test_field_hill_cost():
    game = variant(2, hill_cost=3)
    states = position(game, at="E4")
    assert int(play(game, states, "move:B").current_player[0]) == 1
    assert int(play(game, states, "move:G8").actions_left[0]) == 2
    assert "move:B" not in legal(game, position(game, at="E4", actions_left=2))


@pytest.mark.parametrize(("site", "rupees"), [("E3", 4), ("E2", 0), ("E1", 7)])
def test_field_market_rupees(site, rupees):
    """Blue (E3) is in the left market, purple (E2) in the centre, yellow (E1) in the right one."""
    game = variant(2, market_rupees=(4, 0, 7))
    after = play(game, position(game, at=site, rupees=[rupees]), "buy")
    assert facts(game, after)["rupees"][0] == 0
    if rupees:
        assert "buy" not in legal(game, position(game, at=site, rupees=[rupees - 1]))


@pytest.mark.parametrize(("site", "actions"), [("E3", 3), ("E2", 1), ("E1", 2)])
def test_field_market_actions(site, actions):
    game = variant(2, market_actions=(3, 1, 2))
    for left in (1, 2, 3):
        assert ("buy" in legal(game, position(game, at=site, actions_left=left))) == (left >= actions)
    after = play(game, position(game, at=site), "buy")
    assert (int(after.current_player[0]), int(after.actions_left[0])) == ((0, 3 - actions) if actions < 3 else (1, 3))


def test_field_sell_cost():
    game = variant(2, sell_cost=2)
    after = play(game, position(game, at="Bombay", basket=["blue", "orange"]), "sell:blue")
    assert int(after.actions_left[0]) == 1
    assert "sell:orange" not in legal(game, after)


def test_field_build_cost():
    game = variant(2, build_cost=2)
    after = play(game, position(game, at="H1", basket=["blue"]), "build:blue")
    assert int(after.actions_left[0]) == 1
    assert "build:blue" not in legal(game, position(game, at="H1", basket=["blue"], actions_left=1))


@pytest.mark.parametrize(("colour", "rupees"), [("blue", 10), ("purple", 20), ("orange", 30)])
def test_field_sale_rupees(colour, rupees):
    game = variant(2, sale_rupees=(10, 20, 30))
    after = play(game, position(game, at="Bombay", basket=[colour], rupees=[0]), f"sell:{colour}")
    assert facts(game, after)["rupees"][0] == rupees


@pytest.mark.parametrize(("colour", "clients"), [("orange", 3), ("yellow", 2), ("blue", 4)])
def test_field_sale_clients(colour, clients):
    game = variant(2, sale_clients=(3, 2, 4))
    after = play(game, position(game, at="Nagpur", basket=[colour]), f"sell:{colour}")
    assert facts(game, after)["clients"][0] == clients


@pytest.mark.parametrize(("colour", "rupees"), [("blue", 4 + 6), ("purple", 3 + 5), ("orange", 1 + 7)])
def test_field_colour_rupees(colour, rupees):
    game = variant(2, colour_rupees=(0, 5, 6, 7))
    after = play(game, position(game, at="Bombay", basket=[colour], rupees=[0]), f"sell:{colour}")
    assert facts(game, after)["rupees"][0] == rupees


@pytest.mark.parametrize(("colour", "clients"), [("orange", 3), ("yellow", 5), ("blue", 1 + 2)])
def test_field_colour_clients(colour, clients):
    game = variant(2, colour_clients=(5, 0, 2, 3))
    after = play(game, position(game, at="Nagpur", basket=[colour]), f"sell:{colour}")
    assert facts(game, after)["clients"][0] == clients


@pytest.mark.parametrize("count", [0, 1, 7])
def test_field_palaces(count):
    game = variant(2, palaces=count)
    built = dict.fromkeys(["A", "B", "G1", "G2", "G3", "G5", "G6"][:count], 0)
    assert "build:blue" not in legal(game, position(game, at="H1", basket=["blue"], palaces=built))
    if count:
        one_less = dict(list(built.items())[1:])
        assert "build:blue" in legal(game, position(game, at="H1", basket=["blue"], palaces=one_less))


@pytest.mark.parametrize("toll", [0, 3])
def test_field_toll(toll):
    game = variant(2, toll=toll)
    after = play(game, position(game, palaces={"H1": 1}, rupees=[0, 0]), "move:H1")
    assert facts(game, after)["rupees"] == [0, toll]


@pytest.mark.parametrize("rupees", [0, 4])
def test_field_consolidate_rupees(rupees):
    game = variant(2, consolidate_rupees=rupees)
    assert facts(game, play(game, position(game, rupees=[0]), "consolidate"))["rupees"][0] == rupees


def test_field_palace_tokens():
    game = variant(2, palace_tokens=(1, 0, 7, 0))
    kinds = list(facts(game, game.new_states([1]))["palace_tokens"].values())
    assert sorted(kinds) == ["client"] + ["rupees"] * 7


@pytest.mark.parametrize("rupees", [0, 9])
def test_field_palace_token_rupees(rupees):
    game = variant(2, palace_token_rupees=rupees)
    after = play(game, position(game, at="G3", basket=["blue"], rupees=[0]), "build:blue")
    assert facts(game, after)["rupees"][0] == rupees


def test_field_city_tokens():
    none, more = variant(2, city_tokens=0), variant(2, city_tokens=5)
    after = facts(none, play(none, position(none, at="Bombay", basket=["blue"]), "sell:blue"))
    assert after["city_tokens"] == [[], []]
    after = facts(more, play(more, position(more, at="Bombay", basket=["blue", "blue"]), "sell:blue", "sell:blue"))
    assert after["city_tokens"] == [["Bombay"], []]
    assert after["city_piles"] == dict.fromkeys(CITIES, 5) | {"Bombay": 4}


@pytest.mark.parametrize(("supply", "clients"), [(0, 0), (1, 1), (2, 2), (16, 2), (None, 2)])
def test_field_client_supply(supply, clients):
    game = variant(2, client_supply=supply)
    after = facts(game, play(game, position(game, at="Hyderabad", basket=["purple"]), "sell:purple"))
    assert after["clients"][0] == clients
    assert after["client_supply"] == (None if supply is None else supply - clients)


def test_field_majority():
    game = variant(3, majority=(9, 5, 1), client_supply=None)
    assert awards([3, 2, 1], game) == [9, 5, 1]
    assert awards([3, 3, 1], game) == [7, 7, 1]
    assert awards([3, 1, 1], game) == [9, 3, 3]
    assert awards([1, 1, 1], game) == [5, 5, 5]


def test_ties_are_shared_the_same_way_if_the_last_rank_earns_more():
    game = variant(2, majority=(0, 7), client_supply=None)
    assert awards([2, 1], game) == [0, 7]
    assert awards([2, 2], game) == [3, 3]


def test_field_fame():
    game = variant(3, fame=(1, 2, 6))
    result = outcome(game, city_tokens={1: ["Bombay"], 2: ["Bombay", "Indore"]})
    assert result["fame"] == [1, 2, 6]
    result = outcome(game, city_tokens={0: CITIES}, palaces={"G2": 0, "G6": 1})
    assert result["fame"] == [6, 2, 1]
    assert outcome(variant(2, fame=(3,)), city_tokens={0: CITIES})["fame"] == [3, 3]


@pytest.mark.parametrize("n", [2, 3])
def test_field_outer_posts(n):
    game = variant(n, outer_posts=True)
    seen = facts(game, game.new_states([1]))
    assert sorted(seen["posts"].values()) == sorted(COLOURS * 2)
    assert "build:blue" not in legal(game, position(game, at="F1", basket=["blue"]))
    assert "buy" in legal(game, position(game, at="F1"))


@pytest.mark.parametrize("n", [4, 5])
def test_outer_posts_can_be_left_out_with_four_or_five_players(n):
    game = variant(n, outer_posts=False)
    seen = facts(game, game.new_states([1]))
    assert seen["posts"].keys() == {"E1", "E2", "E3", "E4"}
    assert set(seen["posts"].values()) == set(COLOURS)
    assert "build:blue" in legal(game, position(game, at="F1", basket=["blue"]))


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
    assert tested == {field.name for field in dataclasses.fields(Rules)}
