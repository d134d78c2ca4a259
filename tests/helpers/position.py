"""Positions, built directly: `position(rupees=[3, 0], at="E1")`, not twenty moves.

A position is the fixed deal below on the packaged board with some of its facts changed. It must pass `check_invariants`,
so an impossible position is an error of the test. Sites, colours and tokens go by name; seats count from 0.

    demand    Bombay   Indore   Nagpur   Hyderabad        posts      E1 yellow   E2 purple   E3 blue     E4 orange
    top       blue     purple   orange   yellow           (4–5 players: F1 … F4 the same)
    middle    purple   orange   yellow   blue             tokens     G1 client   G2 city     G3 rupees   G4 bale
    bottom    orange   yellow   blue     purple                      G5 client   G6 city     G7 rupees   G8 bale

    markets   left 3 blue and 3 orange, centre 2 purple, right 1 yellow; the bag holds 2 of each colour
"""

import math
from collections import Counter
from functools import cache

import numba
import numpy as np

from bombay_env import Game, Rules
from bombay_env.rules import COLOUR_NAMES, TOKEN_NAMES
from bombay_env.state import check_invariants, state_to_dict

COLOURS = COLOUR_NAMES
CITIES = ("Bombay", "Indore", "Nagpur", "Hyderabad")
DRAW = (1, 2, 3, 3)  # the first restock of the fixed deal
MANY = 300 if numba.config.DISABLE_JIT else 20_000  # deals in a test of chance
LANES = 4 if numba.config.DISABLE_JIT else 16  # random games in a test of what always holds


@cache
def official(n):
    """The printed game for n players on the packaged board."""
    return Game(Rules.official(n))


@cache
def variant(n=2, **changes):
    """The printed game for n players with some fields of its rules changed."""
    return Game(Rules(n, **changes))


GAME = official(2)


def setup_of(game):
    """The fixed deal, as far as the game's rules have it."""
    sites = [f"{letter}{i}" for letter in ("EF" if game.rules.outer_posts else "E") for i in (1, 2, 3, 4)]
    tokens = [
        kind for i in range(8) for kind, count in zip(TOKEN_NAMES, game.rules.palace_tokens, strict=True) if i < count
    ]
    return {
        "demand": dict(zip(CITIES, game.rules.demand_columns, strict=True)),
        "posts": {site: COLOURS[int(site[1]) - 1] for site in sites},
        "palace_tokens": {f"G{i}": kind for i, kind in enumerate(tokens, 1)},
    }


@cache
def dealt(game):
    """The fixed deal as a (1,) array; the restock is drawn where the rules have other bales."""
    usual = game.rules.bales == (3, 4, 5, 5) and game.rules.restock_draw == 9
    return game.new_states([1], setup_of(game), np.array([DRAW]) if usual else None)


def position(
    game=GAME,
    *,
    player=0,
    at=None,
    elephants=None,
    rupees=(),
    basket=(),
    baskets=None,
    markets=None,
    posts=None,
    demand=None,
    palaces=None,
    tokens=None,
    clients=(),
    city_tokens=None,
    actions_left=None,
    turn=0,
    set=0,
    check=True,
):
    """A (1,) array: the fixed deal with these facts changed, and what follows from them.

    Args:
        game: whose rules and board; the printed game for two unless given.
        player: the seat to move.
        at: the site of the mover's elephant; `elephants`: {seat: site} for any.
        rupees, clients: by seat; seats left out keep what they are dealt.
        basket: the mover's bales, a list of colours; `baskets`: {seat: colours} for any. They come from the bag.
        markets: left, centre and right, each {colour: bales}; all bales elsewhere are in the bag.
        posts, tokens: {site: colour or kind}, None for none; other sites keep theirs.
        demand: {city: colours from the top}.
        palaces: {site: seat}; the builder has kept the site's palace token, if it is one to keep.
        city_tokens: {seat: cities}, taken from their piles.
        actions_left, turn, set: of the mover's turn, of the set, of the game. The set's first player follows.
        check: whether the position must be one that the rules allow.
    """
    states = dealt(game).copy()
    state, site_of = states[0], game.board.site_index
    state.current_player, state.turn, state.set = player, turn, set
    state.first_player = set % game.num_players if game.rules.rotate_first_player else 0
    if actions_left is not None:
        state.actions_left = actions_left
    for seat, site in (({player: at} if at else {}) | (elephants or {})).items():
        state.position[seat] = site_of(site)
    for seat, colours in ({player: basket} | (baskets or {})).items():
        state.basket[seat] = _counts(Counter(colours))
    state.rupees[: len(rupees)] = rupees
    state.clients[: len(clients)] = clients
    if game.rules.client_supply is not None:
        state.client_supply -= state.clients.sum()
    if markets is not None:
        state.market[:] = [_counts(market) for market in markets]
    for site, colour in (posts or {}).items():
        state.post[site_of(site)] = 0 if colour is None else 1 + COLOURS.index(colour)
    for site, kind in (tokens or {}).items():
        state.palace_token[site_of(site)] = 0 if kind is None else 1 + TOKEN_NAMES.index(kind)
    for city, column in (demand or {}).items():
        state.demand[CITIES.index(city)] = [COLOURS.index(colour) for colour in column]
    for site, seat in (palaces or {}).items():
        kind = state.palace_token[site_of(site)]
        state.client_palace_tokens[seat] += kind == 1 + TOKEN_NAMES.index("client")
        state.city_palace_tokens[seat] += kind == 1 + TOKEN_NAMES.index("city")
        state.palace_token[site_of(site)] = 0
        state.palace[site_of(site)] = 1 + seat
        state.palaces_left[seat] -= 1
    for seat, cities in (city_tokens or {}).items():
        for city in cities:
            state.city_tokens[seat, CITIES.index(city)] = 1
            state.city_piles[CITIES.index(city)] -= 1
    if check:
        check_invariants(state, game.rules, game.board)
    return states


def _counts(bales):
    assert bales.keys() <= {*COLOURS}
    return [bales.get(colour, 0) for colour in COLOURS]


def last_turn(game=GAME, set=None, **facts):
    """The position in which the last player turn of a set begins: of the last set unless given."""
    set = game.rules.sets - 1 if set is None else set
    first = set % game.num_players if game.rules.rotate_first_player else 0
    return position(game, set=set, turn=game.rules.turns_per_set - 1, player=(first - 1) % game.num_players, **facts)


def play(game, states, *actions, restock=None):
    """A copy of `states` after these actions, by name; `restock`: the draw to use where a set ends."""
    after = states.copy()
    for name in actions:
        number = np.full(len(after), game.action_index(name))
        game.step(after, number, None if restock is None else np.tile(restock, (len(after), 1)))
    return after


def legal(game, states):
    """The names of the actions that the mover may take."""
    return {game.action_name(number) for number in np.flatnonzero(game.legal_actions(states)[0])}


def random_play(game, lanes=LANES, seed=0):
    """Copies of the states of `lanes` random games: as dealt, then after every action, until all are over.

    Buying, selling and building are the likeliest, so that even a few games see all of them.
    """
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    yield states.copy()
    while not game.is_terminal(states).all():
        likes = rng.random((lanes, game.num_actions)) * game.legal_actions(states)
        likes[:, game.board.num_sites : -2] *= 2
        game.step(states, likes.argmax(axis=1))
        yield states.copy()


def facts(game, states):
    """The first state under names, as `state_to_dict` gives it."""
    return state_to_dict(states[0], game.rules, game.board)


def changed(game, before, after):
    """The facts of `after` that were different in `before`: all that an action has done."""
    old = facts(game, before)
    return {name: fact for name, fact in facts(game, after).items() if fact != old[name]}


def bales(**counts):
    """Counts by colour in colour order: `bales(blue=2)` is [0, 0, 2, 0]."""
    return _counts(counts)


def outcome(game=GAME, **facts):
    """The result of the game whose last turn is passed in this position: {field: list by seat}."""
    over = play(game, last_turn(game, **facts), "end_turn")
    assert game.is_terminal(over).all()
    result = game.results(over)
    return {name: result[name][0].tolist() for name in result.dtype.names}


def assert_fits(outcomes, law):
    """That outcomes, any sequence, follow the law {outcome: probability}, as far as so many can tell.

    Pearson's statistic must lie within five of its standard deviations of its mean, both exact for any number of
    outcomes: too far is another law, too near is no chance. Seeds are fixed, so the answer never changes.
    """
    counts, total, kinds = Counter(outcomes), len(outcomes), len(law)
    assert math.isclose(sum(law.values()), 1)
    assert counts.keys() <= law.keys()
    statistic = sum((counts[outcome] - total * p) ** 2 / (total * p) for outcome, p in law.items())
    variance = 2 * (kinds - 1) + (sum(1 / p for p in law.values()) - kinds**2 - 2 * kinds + 2) / total
    assert abs(statistic - (kinds - 1)) < 5 * math.sqrt(variance)
