"""Positions that are built directly, such as `position(rupees=[3, 0], at="E1")`, instead of by twenty moves.

A position is the fixed deal below, on the packaged board, with some facts changed. It must pass `check_invariants`, so an
impossible position is an error of the test. Sites, colours and tokens are given by name; seats count from 0.

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
import pytest

from bombay_env import Game, Rules
from bombay_env.rules import COLOUR_NAMES, TOKEN_NAMES
from bombay_env.state import check_invariants, state_ranges, state_to_dict

COLOURS = COLOUR_NAMES
CITIES = ("Bombay", "Indore", "Nagpur", "Hyderabad")
DRAW = (1, 2, 3, 3)  # the first restock of the fixed deal
MANY = 300 if numba.config.DISABLE_JIT else 20_000  # deals in a statistical test
LANES = 4 if numba.config.DISABLE_JIT else 16  # random games in a test of an invariant
each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])


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
    """The fixed deal; only the sites and tokens that the game's rules have."""
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
    """The fixed deal as a (1,) array. The restock is random if the rules change the number of bales."""
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
):
    """The fixed deal with these facts changed, and all facts that follow from them: a (1,) array.

    Args:
        game: the rules and the board; the printed game for two players by default.
        player: the seat to act.
        at: the site of the elephant of `player`. `elephants`: {seat: site}, for any seats.
        rupees, clients: by seat. Omitted seats keep their initial numbers.
        basket: the bales of `player`, a list of colours. `baskets`: {seat: colours}, for any seats. They come from the bag.
        markets: left, centre and right, each {colour: bales}. All other bales are in the bag.
        posts, tokens: {site: colour or kind}, or None for no post or token. Other sites do not change.
        demand: {city: colours from top to bottom}.
        palaces: {site: seat}. The seat gets the site's palace token if it is a client or city token.
        city_tokens: {seat: cities}. The tokens come from the piles of these cities.
        actions_left, turn, set: actions left in the turn, turn within the set, set within the game. The first player of the set
            follows from `set`.
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
    check_invariants(state, game.rules, game.board)
    return states


def _counts(bales):
    assert bales.keys() <= {*COLOURS}
    return [bales.get(colour, 0) for colour in COLOURS]


def last_turn(game=GAME, set=None, **facts):
    """The position at the start of the last player turn of a set; of the last set by default."""
    set = game.rules.sets - 1 if set is None else set
    first = set % game.num_players if game.rules.rotate_first_player else 0
    return position(game, set=set, turn=game.rules.turns_per_set - 1, player=(first - 1) % game.num_players, **facts)


def neighbours(game, state):
    """Each field but the seed, by name, with (1,) copies of a record that differ in one entry of it, within its range."""
    ranges = state_ranges(game.rules, game.board)
    lowest, spans = np.array(ranges).view(np.uint8).reshape(2, -1)
    lowest, highest = np.stack([lowest, lowest + spans]).view(ranges.dtype)[:, 0]
    for name in state.dtype.names:
        for entry in np.ndindex(state.dtype[name].shape) if name != "seed" else ():
            low, value, high = (int(np.asarray(record[name])[entry]) for record in (lowest, state, highest))
            if low < high:
                other = np.array([state])
                other[name][(0, *entry)] = value + 1 if value < high else value - 1
                yield name, other


def play(game, states, *actions, restock=None):
    """A copy of `states` after these actions, given by name. `restock` is the draw if a set ends."""
    after = states.copy()
    for name in actions:
        number = np.full(len(after), game.action_index(name))
        game.step(after, number, None if restock is None else np.tile(restock, (len(after), 1)))
    return after


def legal(game, states):
    """The names of the legal actions."""
    return {game.action_name(number) for number in np.flatnonzero(game.legal_actions(states)[0])}


def random_play(game, lanes=LANES, seed=0):
    """Copies of the states of `lanes` random games: after the deal, then after every action, until all games are over.

    Buying, selling and building have higher probabilities, so that even a few games contain all of them.
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
    """The first state in the form of `state_to_dict`."""
    return state_to_dict(states[0], game.rules, game.board)


def changed(game, before, after):
    """The facts of `after` that differ from `before`: all effects of an action."""
    old = facts(game, before)
    return {name: fact for name, fact in facts(game, after).items() if fact != old[name]}


def bales(**counts):
    """Counts by colour in colour order: `bales(blue=2)` is [0, 0, 2, 0]."""
    return _counts(counts)


def outcome(game=GAME, **facts):
    """The result if the game ends with `end_turn` in this position: {field: list by seat}."""
    over = play(game, last_turn(game, **facts), "end_turn")
    assert game.is_terminal(over).all()
    result = game.results(over)
    return {name: result[name][0].tolist() for name in result.dtype.names}


def assert_fits(outcomes, law):
    """Assert that the outcomes, any sequence, follow the distribution `law`, {outcome: probability}.

    Pearson's statistic must be within five standard deviations of its mean. Both moments are exact for any number of outcomes.
    A value that is too large means another distribution; a value that is too small means that the outcomes are not random. Seeds
    are fixed, so the test always has the same result.
    """
    counts, total, kinds = Counter(outcomes), len(outcomes), len(law)
    assert math.isclose(sum(law.values()), 1)
    assert counts.keys() <= law.keys()
    statistic = sum((counts[outcome] - total * p) ** 2 / (total * p) for outcome, p in law.items())
    variance = 2 * (kinds - 1) + (sum(1 / p for p in law.values()) - kinds**2 - 2 * kinds + 2) / total
    assert abs(statistic - (kinds - 1)) < 5 * math.sqrt(variance)
