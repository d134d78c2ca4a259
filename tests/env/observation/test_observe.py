"""Observations: each piece against facts computed without the encoder, and what must stay hidden."""

import heapq
import itertools

import numpy as np
import pytest

from bombay_env import Game, Rules
from helpers.position import COLOURS, each_count, official, position
from helpers.views import (
    COMPARED,
    HIDDEN,
    HILLS,
    KINDS,
    SLOW,
    close,
    each_mode,
    facts_of,
    one_hot,
    passed_through,
    seen,
)

# --- each piece against the facts ---


def dijkstra(board, rules, start):
    """The minimum number of actions from a site to every site, by name; entering a hilltop has its own cost."""
    near = {site.name: [] for site in board.sites}
    for one, other in board.trails:
        near[one].append(other)
        near[other].append(one)
    price = {site.name: rules.hill_cost if site.kind.label in HILLS else rules.move_cost for site in board.sites}
    best, queue = {start: 0}, [(0, start)]
    while queue:
        spent, name = heapq.heappop(queue)
        for other in near[name]:
            cost = spent + price[other]
            if cost < best.get(other, 10**6):
                best[other] = cost
                heapq.heappush(queue, (cost, other))
    return best


def capped(value, scale, high=2.0):
    return min(value / scale, high)


def empire(game, facts, seat):
    built = sum(owner == seat for owner in facts["palaces"].values())
    return built + facts["clients"][seat] + facts["client_palace_tokens"][seat]


def expected_view(game, facts, viewer):
    """Every piece that `screened` does not change, computed from the facts in plain Python."""
    rules, board, n = game.rules, game.board, game.num_players
    sites = [site.name for site in board.sites]
    of_kind = {
        kind: [site.name for site in board.sites if site.kind.label == kind]
        for kind in ("city", "inner_post", "outer_post", "palace_site")
    }
    posts = of_kind["inner_post"] + of_kind["outer_post"]
    away = dijkstra(board, rules, facts["position"][viewer])
    around = [(viewer + step) % n for step in range(n)]  # the viewer, then clockwise
    over, markets = facts["over"], np.array(facts["markets"])
    market = [next((m for m in range(3) if markets[m, c]), None) for c in range(4)]

    def by_seat(values, empty):
        return [values[seat] for seat in around] + [empty] * (5 - n)

    def relative(seat):
        return (seat - viewer) % n

    def sale(city, colour):
        column = facts["demand"][city]
        if COLOURS[colour] not in column:
            return 0, 0
        place = column.index(COLOURS[colour])
        return (
            rules.sale_rupees[place] + rules.colour_rupees[colour],
            rules.sale_clients[place] + rules.colour_clients[colour],
        )

    here = facts["position"][viewer]
    left = 0 if over else rules.turns_per_set - facts["turn"]
    all_left = 0 if over else (rules.sets - 1 - facts["set"]) * rules.turns_per_set + left
    bags = [rules.bales[c] - markets[:, c].sum() - sum(held[c] for held in facts["basket"]) for c in range(4)]
    post_colour = [COLOURS.index(facts["posts"][site]) if site in facts["posts"] else None for site in posts]
    return {
        "num_players": one_hot(n - 2, 4),
        "mover": [0.0] * 5 if over else one_hot(relative(facts["current_player"]), 5),
        "first_player": one_hot(relative(facts["first_player"]), 5),
        "game_left": [all_left / (rules.sets * rules.turns_per_set)],
        "set_left": [left / rules.turns_per_set],
        "actions_left": [facts["actions_left"] / rules.actions_per_turn],
        "action_in_hand": [float(facts["actions_left"] >= count) for count in (1, 2, 3)],
        "can_still_buy": [float(not over and facts["buys"] < rules.buys_per_turn)],
        "take_pending": [float(facts["take_pending"])],
        "market": [[capped(bales, 5) for bales in row] for row in markets],
        "bag": [capped(bales, 5) for bales in bags],
        "price": [0.0 if m is None else capped(rules.market_rupees[m], 5) for m in market],
        "buy_actions": [0.0 if m is None else capped(rules.market_actions[m], 5) for m in market],
        "post_colour": [one_hot(colour, 4) for colour in post_colour],
        "post_market": [
            one_hot(None if colour is None else 3 if market[colour] is None else market[colour], 4)
            for colour in post_colour
        ],
        "demand": [[one_hot(COLOURS.index(c), 4) for c in facts["demand"][city]] for city in of_kind["city"]],
        "sale_rupees": [[capped(sale(city, c)[0], 5) for c in range(4)] for city in of_kind["city"]],
        "sale_clients": [[capped(sale(city, c)[1], 8) for c in range(4)] for city in of_kind["city"]],
        "city_pile": [capped(facts["city_piles"][city], 8) for city in of_kind["city"]],
        "client_supply": [2.0 if facts["client_supply"] is None else capped(facts["client_supply"], 8)],
        "palace": [
            one_hot(relative(facts["palaces"][site]) if site in facts["palaces"] else None, 5) for site in sites
        ],
        "palace_token": [
            one_hot(KINDS.index(facts["palace_tokens"][site]) if site in facts["palace_tokens"] else None, 4)
            for site in of_kind["palace_site"]
        ],
        "position": by_seat([one_hot(sites.index(site), len(sites)) for site in facts["position"]], [0.0] * len(sites)),
        "distance": [capped(away[site], 6) for site in sites],
        "city_distance": [capped(away[city], 6) for city in of_kind["city"]],
        "sale_here": [capped(sale(here, c)[0], 5) if here in of_kind["city"] else 0.0 for c in range(4)],
        "basket": by_seat([[capped(bales, 2) for bales in held] for held in facts["basket"]], [0.0] * 4),
        "palaces_left": by_seat([capped(left, 8) for left in facts["palaces_left"]], 0.0),
    }


def expected_holdings(game, facts, result, viewer):
    """The pieces behind the screens, with nothing hidden; the awards are those of `Game.provisional_results`."""
    rules, n = game.rules, game.num_players
    cities = [site.name for site in game.board.sites if site.kind.label == "city"]
    around = [(viewer + step) % n for step in range(n)]
    totals = [empire(game, facts, seat) for seat in range(n)]
    ranks = [
        sum(1.0 if other < mine else 0.5 for at, other in enumerate(totals) if at != seat and other <= mine) / (n - 1)
        for seat, mine in enumerate(totals)
    ]
    cards = [len(held) + kept for held, kept in zip(facts["city_tokens"], facts["city_palace_tokens"], strict=True)]
    fame = [rules.fame[min(count, len(rules.fame) - 1)] for count in cards]
    final = [facts["rupees"][seat] + result["majority"][seat] + fame[seat] for seat in range(n)]
    mean = sum(final) / n
    by_seat = {
        "rupees": [capped(rupees, 20) for rupees in facts["rupees"]],
        "clients": [capped(facts["clients"][s] + facts["client_palace_tokens"][s], 8) for s in range(n)],
        "city_tokens": [[float(city in held) for city in cities] for held in facts["city_tokens"]],
        "city_palace_tokens": [capped(kept, 8, 1.0) for kept in facts["city_palace_tokens"]],
        "empire": [capped(total, 8) for total in totals],
        "fame": [capped(award, 8) for award in fame],
        "empire_rank": ranks,
        "majority": [capped(award, 8) for award in result["majority"]],
        "margin": [max(-1.0, min(1.0, (rupees - mean) / 20)) for rupees in final],
    }
    empty = {"city_tokens": [0.0] * 4}
    return {
        name: [values[seat] for seat in around] + [empty.get(name, 0.0)] * (5 - n) for name, values in by_seat.items()
    }


@each_count
def test_every_piece_matches_the_facts(n):
    for game, states in passed_through(n, games=1 if SLOW else 6, lanes=1, every=29 if SLOW else 11):
        facts = facts_of(game, states)
        result = game.provisional_results(states)[0]
        for viewer in range(n):
            wanted = expected_view(game, facts, viewer) | expected_holdings(game, facts, result, viewer)
            found = seen(game, states, viewer)
            assert set(wanted) == set(found)
            for name, piece in wanted.items():
                assert close(found[name], piece), (name, viewer, found[name], piece)


@each_count
def test_a_screened_observation_differs_only_in_hidden_pieces(n):
    for game, states in passed_through(n, games=1 if SLOW else 6, lanes=1, every=29 if SLOW else 11):
        for viewer in range(n):
            full, screened = seen(game, states, viewer), seen(game, states, viewer, screened=True)
            for name, piece in full.items():
                wanted = np.array(piece)
                if name in HIDDEN:
                    wanted[1:] = 0  # the viewer's own stays visible
                if name in COMPARED:
                    wanted[:] = 0
                assert (np.array(screened[name]) == wanted).all(), name


@pytest.mark.parametrize("amount", [40, 127, 128, 256, 2**24 - 1])
def test_large_holdings_show_as_the_upper_bound(amount):
    """They do not wrap around to small numbers: a byte of the encoder holds at most 127."""
    game = Game(Rules(2, client_supply=None))
    usual, rich = position(game), position(game, rupees=[amount, 2], clients=[0, amount])
    for viewer in (0, 1):
        before, after = (seen(game, states, viewer) for states in (usual, rich))
        first, second = viewer, 1 - viewer  # where seats 0 and 1 are in the view
        assert after["rupees"][first] == after["clients"][second] == after["empire"][second] == 2.0
        assert after["rupees"][second] == before["rupees"][second]
        assert after["clients"][first] == after["empire"][first] == 0.0
        assert after["margin"][first] == (1.0 if amount > 40 else after["margin"][first])
        assert after["margin"][second] == -after["margin"][first]


@pytest.mark.parametrize("supply", [0, 128, 10_000])
def test_a_supply_of_clients_shows_at_most_as_the_upper_bound(supply):
    game = Game(Rules(2, client_supply=supply))
    assert seen(game, position(game))["client_supply"] == [2.0 if supply else 0.0]


# --- hidden facts ---


def change_holdings(game, states, seat):
    """Copies of the states, each with one changed holding that `seat` keeps behind its screen."""
    for name in ("rupees", "clients", "client_palace_tokens", "city_palace_tokens"):
        for value in (0, 1, 5, 8):
            other = states.copy()
            other[name][:, seat] = value
            yield f"{name} {value}", other
    for city in range(4):
        other = states.copy()
        other["city_tokens"][:, seat, city] ^= 1
        yield f"city token {city}", other


@each_count
def test_screened_does_not_depend_on_opponents_holdings(n):
    for game, states in itertools.islice(passed_through(n, games=4, lanes=1, every=15), 1 if SLOW else None):
        for seat in range(n):
            names, others = zip(*change_holdings(game, states, seat), strict=True)
            for viewer in set(range(n)) - {seat}:
                before = game.observe(states, seats=viewer, screened=True)
                same = (game.observe(np.concatenate(others), seats=viewer, screened=True) == before).all(axis=1)
                assert same.all(), [name for name, as_before in zip(names, same, strict=True) if not as_before]


@each_count
@each_mode
def test_observations_do_not_depend_on_the_seed(n, screened):
    for game, states in passed_through(n, games=1 if SLOW else 4, lanes=2, every=90 if SLOW else 15):
        for seeds in ([0, 1], [2**64 - 1, 2**63]):
            other = game.scrub(states, seeds)
            for seat in (None, *range(n)):
                same = game.observe(other, seats=seat, screened=screened)
                assert (same == game.observe(states, seats=seat, screened=screened)).all()
            assert (game.legal_actions(other) == game.legal_actions(states)).all()


def test_old_contents_of_out_do_not_matter():
    game = official(3)
    states = position(game)
    for screened in (False, True):
        out = np.full((1, game.num_features), np.nan, np.float32)
        for seat in (0, 1, 2, 0):
            game.observe(states, seats=seat, screened=screened, out=out)
            assert np.isfinite(out).all()
            assert (out == game.observe(states, seats=seat, screened=screened)).all()
