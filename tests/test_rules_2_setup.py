"""RULES 2, "Set-up": random draws are uniform; then points 1 to 5 in order, each with its field of `Rules`."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

from bombay_env import Game, Rules
from helpers.position import CITIES, COLOURS, MANY, assert_fits, facts, official, setup_of, variant

each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])
DEALS = 50 if MANY < 1000 else 500
KINDS = ("client", "city", "rupees", "bale")
COLUMNS = {
    ("blue", "purple", "orange"),
    ("purple", "orange", "yellow"),
    ("orange", "yellow", "blue"),
    ("yellow", "blue", "purple"),
}


def deals(game, count=DEALS):
    """The facts of games that were just dealt."""
    states = game.new_states(range(count))
    return [facts(game, states[lane : lane + 1]) for lane in range(count)]


def sites(letter, count):
    return [f"{letter}{i}" for i in range(1, count + 1)]


def rows(array):
    return [tuple(row) for row in array.tolist()]


def uniform(outcomes):
    outcomes = set(outcomes)
    return dict.fromkeys(outcomes, 1 / len(outcomes))


# --- Random parts are drawn uniformly ---


@each_count
def test_demand_columns_are_dealt_uniformly(n):
    states = official(n).new_states(range(MANY))
    tops = states.demand[:, :, 0]  # the four columns have different colours at the top
    assert_fits(rows(tops), uniform(permutations(range(4))))


@each_count
def test_posts_are_dealt_uniformly(n):
    game = official(n)
    states = game.new_states(range(MANY))
    on = [game.board.site_index(name) for name in (sites("E", 4) + sites("F", 4) if n >= 4 else sites("E", 4))]
    tokens = [1, 2, 3, 4] * (len(on) // 4)
    assert_fits(rows(states.post[:, on]), uniform(permutations(tokens)))


@each_count
def test_palace_tokens_are_dealt_uniformly(n):
    game = official(n)
    states = game.new_states(range(MANY))
    on = [game.board.site_index(name) for name in sites("G", 8)]
    assert_fits(rows(states.palace_token[:, on]), uniform(permutations([1, 1, 2, 2, 3, 3, 4, 4])))


def test_unequal_palace_tokens_are_dealt_uniformly():
    game = variant(2, palace_tokens=(5, 1, 0, 2))
    states = game.new_states(range(MANY))
    on = [game.board.site_index(name) for name in sites("G", 8)]
    assert_fits(rows(states.palace_token[:, on]), uniform(permutations([1, 1, 1, 1, 1, 2, 4, 4])))


def test_parts_of_the_deal_are_independent():
    game = official(2)
    states = game.new_states(range(MANY))
    demand = rows(states.demand[:, :, 0])
    posts = rows(states.post[:, [game.board.site_index(name) for name in sites("E", 4)]])
    token = states.palace_token[:, game.board.site_index("G1")].tolist()
    orders, places = list(permutations(range(4))), list(permutations([1, 2, 3, 4]))
    assert_fits(list(zip(demand, posts, strict=True)), uniform((d, p) for d in orders for p in places))
    assert_fits(list(zip(demand, token, strict=True)), uniform((d, t) for d in orders for t in (1, 2, 3, 4)))
    assert_fits(list(zip(posts, token, strict=True)), uniform((p, t) for p in places for t in (1, 2, 3, 4)))


def test_distant_seeds_are_as_random_as_adjacent_ones():
    states = official(2).new_states(np.arange(MANY, dtype=np.uint64) << np.uint64(40))
    assert_fits(rows(states.demand[:, :, 0]), uniform(permutations(range(4))))


# --- 1. Elephants and rupees ---


@each_count
def test_every_elephant_starts_on_a(n):
    assert all(deal["position"] == ["A"] * n for deal in deals(official(n)))


@each_count
def test_games_start_without_bales_palaces_or_tokens(n):
    for deal in deals(official(n), 20):
        assert deal["basket"] == [[0, 0, 0, 0]] * n
        assert deal["palaces"] == {}
        assert deal["palaces_left"] == [5] * n
        assert deal["clients"] == deal["client_palace_tokens"] == deal["city_palace_tokens"] == [0] * n
        assert deal["city_tokens"] == [[]] * n
        assert deal["client_supply"] == 16


@pytest.mark.parametrize("n", [2, 3, 4])
def test_each_player_starts_with_two_rupees(n):
    assert all(deal["rupees"] == [2] * n for deal in deals(official(n)))


def test_with_five_players_seat_four_starts_with_three_rupees():
    assert all(deal["rupees"] == [2, 2, 2, 2, 3] for deal in deals(official(5)))


@each_count
def test_bga_gives_every_seat_two_rupees(n):
    assert all(deal["rupees"] == [2] * n for deal in deals(Game(Rules.bga(n))))


@each_count
def test_bga_has_no_other_differences_from_the_printed_game(n):
    assert Rules.bga(n).to_dict() | {"starting_rupees": None} == Rules.official(n).to_dict() | {"starting_rupees": None}


def test_starting_rupees_has_one_number_for_each_seat():
    assert deals(variant(4, starting_rupees=(0, 1, 5, 9)), 1)[0]["rupees"] == [0, 1, 5, 9]


# --- 2. Demand ---


@each_count
def test_each_city_gets_one_of_the_four_columns(n):
    for deal in deals(official(n)):
        assert set(deal["demand"]) == set(CITIES)
        assert {tuple(column) for column in deal["demand"].values()} == COLUMNS


@each_count
def test_a_column_has_three_different_colours(n):
    for deal in deals(official(n)):
        assert all(len(column) == len(set(column)) == 3 for column in deal["demand"].values())


@each_count
def test_each_colour_appears_three_times_once_at_each_height(n):
    columns = Rules.official(n).demand_columns
    assert Counter(colour for column in columns for colour in column) == dict.fromkeys(COLOURS, 3)
    for height in range(3):
        assert {column[height] for column in columns} == set(COLOURS)


@each_count
def test_the_first_column_is_blue_purple_orange(n):
    assert Rules.official(n).demand_columns[0] == ("blue", "purple", "orange")
    assert set(Rules.official(n).demand_columns) == COLUMNS


# --- 3. Trading posts ---


@pytest.mark.parametrize("n", [4, 5])
def test_with_four_or_five_players_e_and_f_have_two_posts_of_each_colour(n):
    for deal in deals(official(n)):
        assert set(deal["posts"]) == set(sites("E", 4) + sites("F", 4))
        assert Counter(deal["posts"].values()) == dict.fromkeys(COLOURS, 2)


@pytest.mark.parametrize("n", [4, 5])
def test_with_four_or_five_players_a_colour_may_have_both_posts_on_e(n):
    assert any(max(Counter(deal["posts"][site] for site in sites("E", 4)).values()) == 2 for deal in deals(official(n)))


@pytest.mark.parametrize("n", [2, 3])
def test_with_two_or_three_players_e_has_one_post_of_each_colour(n):
    for deal in deals(official(n)):
        assert set(deal["posts"]) == set(sites("E", 4))
        assert Counter(deal["posts"].values()) == dict.fromkeys(COLOURS, 1)


@pytest.mark.parametrize("n", [2, 3])
def test_with_two_or_three_players_f_sites_have_no_building(n):
    for deal in deals(official(n)):
        assert not set(sites("F", 4)) & (set(deal["posts"]) | set(deal["palaces"]))


# --- 4. Palace tokens ---


@each_count
def test_each_g_site_has_a_palace_token(n):
    assert all(set(deal["palace_tokens"]) == set(sites("G", 8)) for deal in deals(official(n)))


@each_count
def test_both_faces_have_two_palace_tokens_of_each_kind(n):
    assert Rules.official(n).palace_tokens == (2, 2, 2, 2)
    assert all(Counter(deal["palace_tokens"].values()) == dict.fromkeys(KINDS, 2) for deal in deals(official(n)))


# --- 5. City tokens ---


@pytest.mark.parametrize(("n", "each"), [(2, 1), (3, 2), (4, 3), (5, 4)])
def test_each_city_has_one_city_token_less_than_players(n, each):
    assert all(deal["city_piles"] == dict.fromkeys(CITIES, each) for deal in deals(official(n), 20))


# --- Given set-ups ---


@each_count
def test_a_given_setup_is_used_unchanged(n):
    game = official(n)
    setup = setup_of(game)
    deal = facts(game, game.new_states([7], setup))
    assert {city: tuple(column) for city, column in deal["demand"].items()} == setup["demand"]
    assert deal["posts"] == setup["posts"]
    assert deal["palace_tokens"] == setup["palace_tokens"]


@each_count
@pytest.mark.parametrize("key", ["demand", "posts", "palace_tokens"])
def test_an_impossible_setup_is_rejected(n, key):
    """RULES 8: two cities with the same column, or too many tokens of a kind."""
    game = official(n)
    setup = setup_of(game)
    names = list(setup[key])
    setup[key] = setup[key] | {names[0]: setup[key][names[1]]}
    with pytest.raises(ValueError, match=key):
        game.new_states([7], setup)
