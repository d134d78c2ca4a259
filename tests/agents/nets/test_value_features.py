"""Every feature of the value net against a slow second reading, written from the descriptions and the rules."""

import random
import re
from collections import defaultdict
from functools import cache
from math import prod

import numpy as np
import pytest

from bombay_agents.nets.value import features as net
from bombay_agents.nets.value.encoding import NO_ROW
from bombay_agents.nets.value.evaluator import new_evaluator
from bombay_env import Game, Rules
from bombay_env.board import SiteKind
from bombay_env.rules import COLOUR_NAMES, MAX_PLAYERS, NUM_CITIES, NUM_COLOURS, NUM_MARKETS, TOKEN_NAMES
from bombay_env.state import NOBODY, state_to_dict
from helpers.nets import SLOW, random_net, rows_of, value_of
from helpers.position import random_play, variant
from helpers.variants import random_board, random_game

COLOURS = range(NUM_COLOURS)
BASKETS = [[], *([a] for a in COLOURS), *([a, b] for a in COLOURS for b in COLOURS[a:])]
GAMES = {
    **{f"{n} players": variant(n) for n in range(2, 6)},
    "large numbers": variant(3, sets=3, turns_per_set=7, bales=(30, 12, 9, 8), restock_draw=50, client_supply=19),
    "long ways": variant(2, move_cost=2, hill_cost=3, palaces=7, city_tokens=6, client_supply=None),
    "full baskets": variant(5, basket=4, buys_per_turn=3, actions_per_turn=6, rotate_first_player=False),
    "another board": Game(Rules(4, market_rupees=(0, 1, 9), sale_rupees=(3, 1, 9), palaces=1), random_board(4)),
    **{f"random rules for {n}": random_game(random.Random(n), n) for n in (3, 4)},
}


@cache
def positions(game):
    """Positions between turns of a random game and before its restocks; the same with other holdings."""
    found, before_restocks, rng = [], [], np.random.default_rng(1)
    for state in random_play(game, 1, 7):
        if state["actions_left"] == game.rules.actions_per_turn and state["current_player"] != NOBODY:
            found.append(state)
            if state["set"] and not state["turn"] and state["current_player"] == state["first_player"]:
                before_restocks.append(state.copy())
                before_restocks[-1]["market"] = 0
    found = found[:: max(1, len(found) // (3 if SLOW else 12))] + before_restocks[: 1 if SLOW else None]
    return found + [with_other_holdings(game, state, rng) for state in found]


def with_other_holdings(game, state, rng):
    """The position with elephants, demand and all that players hold but bales and palaces drawn at random."""
    state, n, supply = state.copy(), game.num_players, game.rules.client_supply
    state["demand"] = rng.permuted(state["demand"], axis=2)
    state["city_piles"] = rng.integers(game.rules.city_tokens + 1, size=NUM_CITIES)
    state["client_supply"] = state["client_supply"] if supply is None else rng.integers(supply + 1)
    state["city_tokens"][0, :n] = rng.integers(2, size=(n, NUM_CITIES))
    for name, most in {"position": 23, "rupees": 30, "clients": 12, "city_palace_tokens": 4}.items():
        state[name][0, :n] = rng.integers(most + 1, size=n)
    return state


@cache
def all_ways(game):
    """The fewest actions from each site to each."""
    rules, hills = game.rules, (SiteKind.START_HILL, SiteKind.HILL)
    cost = {site.name: rules.hill_cost if site.kind in hills else rules.move_cost for site in game.board.sites}
    found, trails = {start: {start: 0} for start in cost}, game.board.trails
    for far in found.values():
        for here, there in [*trails, *((there, here) for here, there in trails)] * len(cost):
            if here in far:
                far[there] = min(far.get(there, 999), far[here] + cost[there])
    return found


class Plain:
    """The features of a position between turns: parts (value, number of values), the most significant first."""

    def __init__(self, game, state):
        self.rules, self.n, self.sites = game.rules, game.num_players, game.board.sites
        self.ways, self.facts = all_ways(game), state_to_dict(state[0], game.rules, game.board)
        index, markets = COLOUR_NAMES.index, enumerate(self.facts["markets"])
        self.columns = {city: [index(name) for name in column] for city, column in self.facts["demand"].items()}
        self.market = {colour: (i, row[colour]) for i, row in markets for colour in COLOURS if row[colour]}
        self.posts = {site: index(name) for site, name in self.facts["posts"].items()}
        self.result = game.provisional_results(state)[0]
        self.seats = [dict(self.seat(seat)) for seat in range(self.n)]

    def seen_by(self, viewer):
        found = dict(self.shared(viewer)) | {f"own {name}": parts for name, parts in self.seats[viewer].items()}
        for place in range(1, self.n):
            seat = (viewer + place) % self.n
            found |= {f"{name}, place {place}": parts for name, parts in self.seats[seat].items()}
            for name, field, most in (("empire gap", "empire", net.MAX_EMPIRE_GAP), ("lead", "final", net.MAX_LEAD)):
                difference = self.result[field][viewer] - self.result[field][seat]
                value = max(-most, min(most, int(difference))) + most
                found[f"{name}, place {place}"] = [(value, 2 * most + 1), self.bucket(viewer)]
        return found

    def shared(self, viewer):
        facts, count, most = self.facts, (self.n - 2, net.NUM_COUNTS), net.MAX_SUPPLY
        place, supply = (viewer - facts["first_player"]) % self.n, facts["client_supply"]
        yield "time", [count, capped(self.turns(viewer), net.MAX_TURNS)]
        yield "phase", [count, (place, MAX_PLAYERS), capped(self.turns(viewer, False), net.MAX_SET_TURNS)]
        yield "supply", [(most + 1 if supply is None else min(supply, most), most + 2)]
        for i, (city, column) in enumerate(self.columns.items()):
            yield f"demand {i}", [(colour, NUM_COLOURS) for colour in column]
            yield f"pile {i}", [capped(facts["city_piles"][city], net.MAX_PILE)]
        for colour in COLOURS:
            market, bales = self.market.get(colour, (0, 0))
            value = market * net.MAX_OFFER + min(bales, net.MAX_OFFER)
            yield f"colour {colour}", [(value, 1 + NUM_MARKETS * net.MAX_OFFER)]
            yield f"bag {colour}", [capped(facts["bag"][colour], net.MAX_BAG)]
        posts = (SiteKind.INNER_POST, SiteKind.OUTER_POST)
        for i, site in enumerate(site.name for site in self.sites if site.kind in posts):
            colour = self.posts.get(site)
            market = 1 + self.market.get(colour, (-1,))[0]
            value = 0 if colour is None else 1 + colour * (1 + NUM_MARKETS) + market
            yield f"post {i}", [(value, 1 + NUM_COLOURS * (1 + NUM_MARKETS))]
        for i, site in enumerate(self.sites):
            token, owner = facts["palace_tokens"].get(site.name), facts["palaces"].get(site.name)
            value = 0 if owner is None else net.NUM_TOKENS + (owner - viewer) % self.n
            yield f"site {i}", [(1 + TOKEN_NAMES.index(token) if token else value, net.NUM_TOKENS + MAX_PLAYERS)]

    def seat(self, seat):
        facts, here = self.facts, self.facts["position"][seat]
        bales = [colour for colour in COLOURS for _ in range(facts["basket"][seat][colour])]
        held, tokens = facts["city_tokens"][seat], facts["city_palace_tokens"][seat]
        yield "site", [([site.name for site in self.sites].index(here), len(self.sites))]
        yield "basket", [(BASKETS.index(bales[:2]), net.NUM_BASKETS)]
        yield "rupees", [capped(facts["rupees"][seat], net.MAX_RUPEES)]
        yield "cities", [(sum(2 ** [*self.columns].index(city) for city in held), 2**NUM_CITIES), capped(tokens, 2)]
        yield "fame", [capped(len(held) + tokens, net.MAX_CITY_TOTAL), capped(self.turns(seat), net.MAX_TURNS)]
        yield "palaces", [capped(facts["palaces_left"][seat], net.MAX_PALACES_LEFT), self.bucket(seat)]
        yield from self.routes_to_sales(seat, bales[:2])
        yield from self.routes_to_posts(seat, (int(len(bales) < self.rules.basket), 2))
        free = [site.name for site in self.sites if site.kind != SiteKind.CITY and facts["palaces_left"][seat]]
        far = {site: self.ways[here][site] for site in free if site not in self.posts | facts["palaces"]}
        yield "build way", [capped(len(bales), net.LOADS - 1), capped(min(far.values(), default=99), net.MAX_BUILD_WAY)]
        for kind in TOKEN_NAMES:
            ways = [way for site, way in far.items() if facts["palace_tokens"].get(site) == kind]
            yield f"{kind} token way", [capped(len(bales), 1), capped(min(ways, default=99), net.MAX_BUILD_WAY)]

    def routes_to_sales(self, seat, bales):
        facts, rules, far = self.facts, self.rules, self.ways[self.facts["position"][seat]]
        for steps in net.SALE_STEPS:
            sold = [self.sold(x, bales, (steps - far[city]) // rules.sell_cost) for city, x in self.columns.items()]
            yield f"sale {steps}", [capped(max(sold), net.MAX_SALE)]
        ways, clients, new = [], [], []
        for city, colour in [
            (city, colour) for city in self.columns for colour in bales if colour in self.columns[city]
        ]:
            way, place = far[city] + rules.sell_cost, self.columns[city].index(colour)
            ways.append(way)
            clients += [way] * (rules.sale_clients[place] + rules.colour_clients[colour] > 0)
            new += [way] * (facts["city_piles"][city] > 0 and city not in facts["city_tokens"][seat])
        yield "client way", [shortest(clients, net.MAX_WAY)]
        yield "new city way", [shortest(new, net.MAX_WAY)]
        load = capped(len(bales), net.LOADS - 1)
        yield "sale way", [self.bucket(seat), load, shortest(ways, net.MAX_SALE_WAY)]

    def routes_to_posts(self, seat, room):
        far, rules, trades, size = self.ways[self.facts["position"][seat]], self.rules, [], net.MAX_POST_WAY + 1
        for colour in COLOURS:
            ways = [min(far[site], net.MAX_POST_WAY) for site, post in self.posts.items() if post == colour]
            value = 1 + self.market[colour][0] * size + min(ways) if ways and colour in self.market else 0
            yield f"post way {colour}", [room, (value, 1 + NUM_MARKETS * size)]
        for post, colour in self.posts.items():
            market = self.market.get(colour, (None,))[0]
            if market is not None and rules.market_rupees[market] <= self.facts["rupees"][seat]:
                for city in [city for city, column in self.columns.items() if colour in column]:
                    spent = far[post] + rules.market_actions[market] + self.ways[post][city] + rules.sell_cost
                    trades.append((spent, self.price(self.columns[city], colour) - rules.market_rupees[market]))
        for steps in net.TRADE_STEPS:
            profits = [profit for spent, profit in trades if spent <= steps]
            value = 2 + max(-1, min(net.MAX_PROFIT, max(profits))) if profits else 0
            yield f"trade {steps}", [room, (value, net.MAX_PROFIT + 3)]

    def turns(self, seat, in_the_game=True):
        """Turns of a seat to come, in the game or in this set."""
        first, mover, rules = self.facts["first_player"], self.facts["current_player"], self.rules
        moved = (seat - first) % self.n < (mover - first) % self.n
        later_sets = (rules.sets - 1 - self.facts["set"]) if in_the_game else 0
        return rules.turns_per_set * (1 + later_sets) - self.facts["turn"] - moved

    def bucket(self, seat):
        return sum(self.turns(seat) >= least for least in (1, 2, 3, 5, 9)), net.BUCKETS

    def price(self, column, colour):
        return self.rules.sale_rupees[column.index(colour)] + self.rules.colour_rupees[colour]

    def sold(self, column, bales, sales):
        """The most rupees in a city of one sale, or of two of which the upper colour is the first."""
        demanded = sorted((colour for colour in bales if colour in column), key=column.index)
        found = [self.price(column, colour) for colour in demanded]
        if sales > 1 and len(demanded) == 2:
            after = [colour for colour in column if colour != demanded[0]] + [demanded[0]]
            found.append(found[0] + self.price(after, demanded[1]))
        return max(found, default=0) if sales > 0 else 0


def capped(number, most):
    return min(number, most), most + 1


def shortest(ways, most):
    return min((way for way in ways if way <= most), default=0), most + 1


@cache
def readings(game):
    plain = [(state, Plain(game, state)) for state in positions(game)]
    return [(state, viewer, one.seen_by(viewer)) for state, one in plain for viewer in range(game.num_players)]


@pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
def test_each_feature_has_the_value_that_its_description_and_the_rules_give(game):
    described = net.all_features(game.board.num_sites)
    sizes = {feature.name: feature.size for feature in described}
    first = dict(zip(sizes, net.first_rows(game.board.num_sites), strict=True))
    evaluator = new_evaluator(game, random_net(game))
    for state, viewer, plain in readings(game):
        assert {name: prod(size for _, size in parts) for name, parts in plain.items()}.items() <= sizes.items()
        expected = dict.fromkeys(sizes, NO_ROW)  # for seats that are not in the game
        for name, parts in plain.items():
            expected[name] = first[name] + np.ravel_multi_index(*zip(*parts, strict=True))
        value_of(game, evaluator, state, viewer)
        assert dict(zip(sizes, rows_of(evaluator).tolist(), strict=True)) == expected


@pytest.mark.skipif(SLOW, reason="it needs many positions, which take minutes with the compiler off")
def test_the_positions_show_the_values_of_features():
    """Of each part of a feature at least two in three values, the first and the last among them."""
    seen = defaultdict(set)
    for _, _, plain in (reading for game in GAMES.values() for reading in readings(game)):
        for name, parts in plain.items():
            for i, (value, size) in enumerate(parts):
                seen[re.sub(r"\d", "", name), i, size].add(value)
    poor = [key for key, values in seen.items() if {0, key[-1] - 1} - values or 3 * len(values) < 2 * key[-1]]
    assert poor == []
