"""RULES 2, "Set-up": random draws are uniform; then points 1 to 5 in order.

Given set-ups are in `test_game_chance.py`, and the numbers of the printed game in `test_rules_object.py`.
"""

from collections import Counter
from functools import cache
from itertools import permutations

import pytest

from bombay_env import Game, Rules
from helpers.position import CITIES, COLOURS, MANY, assert_fits, each_count, facts, official, variant
from helpers.rules import E_SITES, F_SITES, G_SITES

DEALS = 50 if MANY < 1000 else 200
KINDS = ("client", "city", "rupees", "bale")
COLUMNS = {
    ("blue", "purple", "orange"),
    ("purple", "orange", "yellow"),
    ("orange", "yellow", "blue"),
    ("yellow", "blue", "purple"),
}


@cache
def deals(game):
    """The facts of games that were just dealt."""
    states = game.new_states(range(DEALS))
    return [facts(game, states[lane : lane + 1]) for lane in range(DEALS)]


def rows(array):
    return [tuple(row) for row in array.tolist()]


def on_sites(game, field, sites):
    """What lies on these sites after many deals."""
    states = game.new_states(range(MANY))
    return rows(states[field][:, [game.board.site_index(site) for site in sites]])


def uniform(outcomes):
    outcomes = set(outcomes)
    return dict.fromkeys(outcomes, 1 / len(outcomes))


# --- Random parts are drawn uniformly ---


@each_count
def test_demand_columns_are_dealt_uniformly(n):
    states = official(n).new_states(range(MANY))
    tops = states.demand[:, :, 0]  # the four columns have different colours at the top
    assert_fits(rows(tops), uniform(permutations(range(4))))


@pytest.mark.parametrize(("n", "sites"), [(2, E_SITES), (3, E_SITES), (4, E_SITES + F_SITES), (5, E_SITES + F_SITES)])
def test_posts_are_dealt_uniformly(n, sites):
    tokens = [1, 2, 3, 4] * (len(sites) // 4)
    assert_fits(on_sites(official(n), "post", sites), uniform(permutations(tokens)))


@pytest.mark.parametrize("tokens", [(2, 2, 2, 2), (5, 1, 0, 2)])
def test_palace_tokens_are_dealt_uniformly(tokens):
    bag = [1 + kind for kind, count in enumerate(tokens) for _ in range(count)]
    dealt = on_sites(variant(2, palace_tokens=tokens), "palace_token", G_SITES)
    assert_fits(dealt, uniform(permutations(bag)))


def test_parts_of_the_deal_are_independent():
    game = official(2)
    demand = rows(game.new_states(range(MANY)).demand[:, :, 0])
    posts, token = on_sites(game, "post", E_SITES), on_sites(game, "palace_token", ["G1"])
    orders, places, kinds = list(permutations(range(4))), list(permutations([1, 2, 3, 4])), [(1,), (2,), (3,), (4,)]
    assert_fits(list(zip(demand, posts, strict=True)), uniform((d, p) for d in orders for p in places))
    assert_fits(list(zip(demand, token, strict=True)), uniform((d, t) for d in orders for t in kinds))
    assert_fits(list(zip(posts, token, strict=True)), uniform((p, t) for p in places for t in kinds))


# --- 1. Elephants and rupees ---


@each_count
def test_games_start_on_a_without_bales_palaces_or_tokens(n):
    for deal in deals(official(n)):
        assert deal["position"] == ["A"] * n
        assert deal["basket"] == [[0, 0, 0, 0]] * n
        assert deal["palaces"] == {}
        assert deal["palaces_left"] == [5] * n
        assert deal["clients"] == deal["client_palace_tokens"] == deal["city_palace_tokens"] == [0] * n
        assert deal["city_tokens"] == [[]] * n
        assert deal["client_supply"] == 16


@each_count
def test_players_start_with_two_rupees_and_the_fifth_with_three(n):
    assert all(deal["rupees"] == [2, 2, 2, 2, 3][:n] for deal in deals(official(n)))


def test_bga_gives_every_seat_two_rupees():
    assert all(deal["rupees"] == [2] * 5 for deal in deals(Game(Rules.bga(5))))


# --- 2. Demand ---


@each_count
def test_each_city_gets_one_of_the_four_columns(n):
    for deal in deals(official(n)):
        assert set(deal["demand"]) == set(CITIES)
        assert {tuple(column) for column in deal["demand"].values()} == COLUMNS


# --- 3. Trading posts ---


@each_count
def test_e_and_with_four_or_five_players_f_have_posts_of_all_colours(n):
    """With F, two posts of each colour in all."""
    for deal in deals(official(n)):
        assert set(deal["posts"]) == {*E_SITES, *(F_SITES if n >= 4 else ())}
        assert Counter(deal["posts"].values()) == dict.fromkeys(COLOURS, 2 if n >= 4 else 1)


# --- 4. Palace tokens ---


@each_count
def test_the_g_sites_have_two_palace_tokens_of_each_kind(n):
    for deal in deals(official(n)):
        assert set(deal["palace_tokens"]) == set(G_SITES)
        assert Counter(deal["palace_tokens"].values()) == dict.fromkeys(KINDS, 2)


# --- 5. City tokens ---


@each_count
def test_each_city_has_one_city_token_less_than_players(n):
    assert all(deal["city_piles"] == dict.fromkeys(CITIES, n - 1) for deal in deals(official(n)))
