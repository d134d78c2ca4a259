"""What a seat sees: the layout, each piece against facts worked out apart from the encoder, and what must not be seen."""

import dataclasses
import heapq
import itertools
import random

import numba
import numpy as np
import pytest

from bombay_agents.nets import value_features
from bombay_env import Board, Game, Rules
from bombay_env.batch import make_scratch
from bombay_env.observation import layout as layouts
from bombay_env.observation.layout import FeatureLayout
from bombay_env.state import reading_dtype, state_dtype, state_to_dict
from helpers.position import CITIES, COLOURS, official, play, position, variant
from helpers.variants import random_game

SLOW = bool(numba.config.DISABLE_JIT)
KINDS = ("client", "city", "rupees", "bale")
HILLS = ("start_hill", "hill")
HIDDEN = ("rupees", "clients", "city_tokens", "city_palace_tokens", "empire", "fame")
BY_SEAT = [name for name in official(2).state_dtype.names if official(2).state_dtype[name].shape[:1] == (5,)]
COMPARED = ("empire_rank", "majority", "margin")  # what tells of the others even where it stands for oneself
each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])
each_mode = pytest.mark.parametrize("screened", [False, True], ids=["perfect_recall", "screened"])


def pick(game, states, rng):
    return (rng.random((len(states), game.num_actions)) * game.legal_actions(states)).argmax(axis=1)


def passed_through(n, games, lanes=3, every=28 if SLOW else 7):
    """Games and states of random variants on random boards: dealt, under way and over."""
    rng, dice = random.Random(n), np.random.default_rng(n)
    for _ in range(games):
        game = random_game(rng, n)
        states, step = game.new_states([rng.randrange(2**64) for _ in range(lanes)]), 0
        while True:
            over = game.is_terminal(states).all()
            if over or step % every == 0:
                yield game, states.copy()
            if over:
                break
            game.step(states, pick(game, states, dice))
            step += 1


def seen(game, states, seat=None, screened=False):
    """The pieces of the first state's view by name."""
    pieces = game.feature_layout.split(game.observe(states[:1], seats=seat, screened=screened)[0])
    return {name: piece.tolist() for name, piece in pieces.items()}


def facts_of(game, states):
    return state_to_dict(states[0], game.rules, game.board)


def one_hot(index, length):
    return [float(place == index) for place in range(length)]


def close(found, wanted):
    return np.allclose(found, wanted, rtol=0, atol=1e-6)


# --- the layout ---


@pytest.mark.parametrize("num_sites", [21, 24, 40, 64])
def test_slices_partition_the_vector(num_sites):
    layout = FeatureLayout(num_sites)
    names = [piece.name for piece in layout.pieces]
    assert len(set(names)) == len(names)
    assert list(layout.slices) == names
    at = 0
    for piece in layout.pieces:
        assert layout[piece.name] == slice(at, at + int(np.prod(piece.shape))), piece.name
        at += int(np.prod(piece.shape))
    assert at == layout.num_features == len(layout.low) == len(layout.high)


@pytest.mark.parametrize("num_sites", [24, 64])
def test_split_gives_views_of_every_piece(num_sites):
    layout = FeatureLayout(num_sites)
    flat = np.arange(2 * 3 * layout.num_features, dtype=np.float32).reshape(2, 3, -1)
    pieces = layout.split(flat)
    for piece in layout.pieces:
        assert pieces[piece.name].shape == (2, 3, *piece.shape)
        assert np.shares_memory(pieces[piece.name], flat)
    assert (np.concatenate([part.reshape(2, 3, -1) for part in pieces.values()], axis=-1) == flat).all()
    single = layout.split(flat[0, 0])
    assert single["market"].shape == (3, 4)


def test_every_feature_has_finite_bounds_near_one():
    layout = official(4).feature_layout
    assert (layout.low.dtype, layout.high.dtype) == (np.float32, np.float32)
    assert np.isfinite(layout.low).all()
    assert np.isfinite(layout.high).all()
    assert (layout.low >= -1).all()
    assert (layout.high <= 2).all()
    assert (layout.low < layout.high).all()


def test_the_table_tells_of_every_piece():
    layout = official(4).feature_layout
    rows = layout.table().splitlines()
    assert len(rows) == 2 + len(layout.pieces)
    for row, piece in zip(rows[2:], layout.pieces, strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        where = layout[piece.name]
        shape = "×".join(map(str, piece.shape))
        bounds = f"{piece.low:g} … {piece.high:g}"
        assert cells == [f"{where.start}–{where.stop - 1}", f"`{piece.name}`", shape, bounds, piece.description]
        assert piece.description


def test_the_digest_names_the_layout():
    layout = FeatureLayout(24)
    assert layout.digest == FeatureLayout(24).digest == official(2).feature_layout.digest
    assert layout.digest != FeatureLayout(25).digest
    assert len(layout.digest) == 16
    assert int(layout.digest, 16) >= 0


def with_piece(which, /, **changes):
    """The layout with one piece changed."""
    layout = FeatureLayout(24)
    pieces = tuple(dataclasses.replace(p, **changes) if p.name == which else p for p in layout.pieces)
    layout.__dict__["pieces"] = pieces
    return layout


def test_the_digest_ignores_descriptions():
    reworded = with_piece("rupees", description="said in other words")
    assert reworded.table() != FeatureLayout(24).table()
    assert reworded.digest == FeatureLayout(24).digest
    assert value_features.digest(reworded) == value_features.digest(FeatureLayout(24))


@pytest.mark.parametrize(
    "changes", [{"per": 10}, {"high": 3}, {"low": -1.0}, {"shape": (4,)}, {"name": "money"}, {"hidden": False}]
)
def test_the_digest_changes_with_name_shape_bounds_scale_and_visibility(changes):
    assert with_piece("rupees", **changes).digest != FeatureLayout(24).digest


def test_the_digest_changes_with_the_version(monkeypatch):
    before = FeatureLayout(24).digest
    monkeypatch.setattr(layouts, "LAYOUT_VERSION", layouts.LAYOUT_VERSION + 1)
    assert FeatureLayout(24).digest != before


def test_the_digest_of_a_nets_features_changes_with_a_scale(monkeypatch):
    layout = FeatureLayout(24)
    before = value_features.digest(layout)
    assert value_features.digest(with_piece("rupees", per=10)) != before
    scales = value_features.scales
    monkeypatch.setattr(value_features, "scales", lambda layout: scales(layout) * np.float32(2))
    assert value_features.digest(layout) != before


def test_the_layout_is_the_boards_and_not_the_rules():
    assert official(2).num_features == official(5).num_features == variant(3, palaces=40).num_features
    assert Game(Rules.official(2), Board.random(5)).feature_layout == official(4).feature_layout


def test_hidden_pieces_are_marked_so():
    hidden = {piece.name for piece in official(4).feature_layout.pieces if piece.hidden}
    assert hidden == {*HIDDEN, *COMPARED}


# --- bounds ---


@each_count
def test_every_value_is_finite_and_within_its_bounds(n):
    for game, states in passed_through(n, games=1 if SLOW else 15, every=29 if SLOW else 4):
        low, high = game.feature_layout.low, game.feature_layout.high
        for seat in range(n):
            for screened in (False, True):
                obs = game.observe(states, seats=seat, screened=screened)
                assert np.isfinite(obs).all()
                assert (obs >= low).all()
                assert (obs <= high).all()


def test_the_largest_numbers_of_all_stay_within_the_bounds():
    rules = Rules(
        2,
        starting_rupees=(1000, 0),
        bales=(30, 30, 30, 30),
        restock_draw=120,
        basket=9,
        actions_per_turn=9,
        palaces=60,
        city_tokens=100,
        client_supply=10_000,
        majority=(1000, 0),
        fame=(1000,),
        market_rupees=(100, 100, 100),
        market_actions=(9, 9, 9),
        sale_rupees=(100, 100, 100),
        sale_clients=(100, 100, 100),
        colour_rupees=(100, 100, 100, 100),
        colour_clients=(100, 100, 100, 100),
        hill_cost=9,
        move_cost=9,
        palace_tokens=(0, 8, 0, 0),
    )
    game = Game(rules)
    states = game.new_states([1])
    states["market"] = [[20] * 4, [0] * 4, [0] * 4]
    states["clients"][0, :2] = 10_000, 0
    states["city_palace_tokens"][0, :2] = 8, 0
    states["basket"][0, :2] = [[9, 0, 0, 0], [0, 0, 0, 9]]
    for seat in (0, 1):
        for screened in (False, True):
            obs = game.observe(states, seats=seat, screened=screened)
            assert (obs >= game.feature_layout.low).all()
            assert (obs <= game.feature_layout.high).all()


def test_numbers_beyond_a_byte_are_told_apart():
    game = variant(3, sets=20, turns_per_set=20, client_supply=None, majority=(1000, 600, 0))
    states = position(game, set=2, turn=3, rupees=(300, 20, 0), clients=(300, 200, 300))
    view = seen(game, states, seat=0)
    assert close(view["game_left"], [(17 * 20 + 17) / 400])
    assert close(view["set_left"], [17 / 20])
    assert close(view["rupees"], [2, 1, 0, 0, 0])
    assert view["clients"][:3] == view["empire"][:3] == [2, 2, 2]
    assert close(view["empire_rank"], [0.75, 0, 0.75, 0, 0])
    assert view["majority"] == [2, 0, 2, 0, 0]
    assert view["margin"] == [1, -1, 1, 0, 0]


@pytest.mark.parametrize("num_sites", [21, 24, 64])
def test_a_state_is_read_where_it_is_written(num_sites):
    written, read = state_dtype(num_sites), reading_dtype(num_sites)
    assert written.itemsize == read.itemsize
    for name in written.names:
        (kind, offset), (other, place) = written.fields[name][:2], read.fields[name][:2]
        assert (kind.shape, kind.itemsize, offset) == (other.shape, other.itemsize, place), name
    for name in set(read.names) - set(written.names):
        kind, offset = read.fields[name][:2]
        whole, start = written.fields[name.removesuffix("_words")][:2]
        assert (kind.itemsize, offset) == (whole.itemsize, start), name


@pytest.mark.parametrize("num_sites", [21, 24, 64])
def test_flags_begin_a_cache_line(num_sites):
    raw = FeatureLayout(num_sites).raw_dtype
    assert raw.fields["all_flags"][1] % 64 == raw.itemsize % 64 == 0
    assert make_scratch(FeatureLayout(num_sites)).ctypes.data % 64 == 0


# --- each piece against the facts ---


def dijkstra(board, rules, start):
    """Fewest actions from a site to every site, by name: entering a hilltop has a price of its own."""
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
    """Every piece that `screened` does not touch, worked out from the named facts in plain Python."""
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
    """What stands behind the screens, with nothing hidden; awards as `Game.provisional_results` has them."""
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
def test_every_piece_is_what_the_facts_say(n):
    for game, states in passed_through(n, games=1 if SLOW else 6, lanes=1, every=29 if SLOW else 5):
        facts = facts_of(game, states)
        result = game.provisional_results(states)[0]
        for viewer in range(n):
            wanted = expected_view(game, facts, viewer) | expected_holdings(game, facts, result, viewer)
            found = seen(game, states, viewer)
            assert set(wanted) == set(found)
            for name, piece in wanted.items():
                assert close(found[name], piece), (name, viewer, found[name], piece)


@each_count
def test_a_screened_view_is_the_same_less_what_is_hidden(n):
    for game, states in passed_through(n, games=1 if SLOW else 6, lanes=1, every=29 if SLOW else 5):
        for viewer in range(n):
            full, screened = seen(game, states, viewer), seen(game, states, viewer, screened=True)
            for name, piece in full.items():
                wanted = np.array(piece)
                if name in HIDDEN:
                    wanted[1:] = 0  # one's own stays in sight
                if name in COMPARED:
                    wanted[:] = 0
                assert (np.array(screened[name]) == wanted).all(), name


@each_count
def test_seats_are_rotated_so_that_the_viewer_comes_first(n):
    """The same position with every seat's things handed one seat on looks to the next seat as it did to this one."""
    game = official(n)
    for _, states in zip(range(4), _official_states(n), strict=False):
        turned = states.copy()
        for name in BY_SEAT:
            turned[name][:, :n] = np.roll(states[name][:, :n], 1, axis=1)
        owned = states["palace"] > 0
        turned["palace"][owned] = states["palace"][owned] % n + 1
        for name in ("current_player", "first_player"):
            turned[name] = (states[name] + 1) % n
        for viewer in range(n):
            here = game.observe(states, seats=viewer)
            assert (game.observe(turned, seats=(viewer + 1) % n) == here).all()
        assert (game.observe(turned) == game.observe(states)).all()


def _official_states(n):
    dice = np.random.default_rng(n)
    states = official(n).new_states(range(4))
    for _ in range(4):
        for _ in range(15):
            official(n).step(states, pick(official(n), states, dice))
        yield states


def test_seats_that_do_not_play_are_zero():
    game = official(2)
    states = position(game, palaces={"G1": 0, "H1": 1}, rupees=[9, 9], city_tokens={1: ["Indore"]})
    for seat in (0, 1):
        for screened in (False, True):
            view = seen(game, states, seat, screened)
            for piece in game.feature_layout.pieces:
                if piece.shape[0] == 5:
                    assert not np.array(view[piece.name])[2:].any(), piece.name
            assert not np.array(view["palace"])[:, 2:].any()


def test_one_net_sees_two_and_five_players_in_the_same_places():
    for n in (2, 3, 4, 5):
        view = seen(official(n), position(official(n), rupees=[7], at="E1"))
        assert view["num_players"] == one_hot(n - 2, 4)
        assert view["rupees"][0] == pytest.approx(7 / 20)
        assert view["position"][0] == one_hot(official(n).board.site_index("E1"), 24)


def test_a_game_that_is_over_has_no_mover_and_nothing_left():
    game = official(3)
    view = seen(game, play(game, position(game, set=2, turn=4, player=1), "end_turn"))
    for name in ("mover", "game_left", "set_left", "actions_left", "action_in_hand", "can_still_buy", "market"):
        assert not np.array(view[name]).any(), name


# --- values a small net cannot work out, against what stepping does ---


@pytest.mark.parametrize("city", CITIES)
@pytest.mark.parametrize("colour", COLOURS)
def test_sale_values_are_what_a_sale_pays(city, colour):
    game = official(2)
    states = position(game, at=city, basket=[colour])
    view, at, which = seen(game, states), CITIES.index(city), COLOURS.index(colour)
    demanded = game.legal_actions(states)[0, game.action_index(f"sell:{colour}")]
    if not demanded:
        assert view["sale_rupees"][at][which] == view["sale_clients"][at][which] == view["sale_here"][which] == 0
        return
    after = play(game, states, f"sell:{colour}")
    rupees, clients = (int(after[name][0, 0] - states[name][0, 0]) for name in ("rupees", "clients"))
    assert close(view["sale_rupees"][at][which] * 5, rupees)
    assert close(view["sale_here"][which] * 5, rupees)
    assert close(view["sale_clients"][at][which] * 8, clients)


@pytest.mark.parametrize("post", ["E1", "E2", "E3", "E4"])
def test_price_class_is_what_a_purchase_costs(post):
    game = official(2)
    states = position(game, at=post, rupees=[9])
    view, colour = seen(game, states), COLOURS.index(facts_of(game, states)["posts"][post])
    after = play(game, states, "buy")
    assert close(view["price"][colour] * 5, states["rupees"][0, 0] - after["rupees"][0, 0])
    spent = 3 - (after["actions_left"][0] if after["current_player"][0] == 0 else 0)
    assert close(view["buy_actions"][colour] * 5, spent)
    place = int(post[1]) - 1
    assert view["post_market"][place] == one_hot(np.array(view["market"])[:, colour].argmax(), 4)


def test_a_closed_post_shows_its_colour_but_no_price():
    game = official(2)
    view = seen(game, position(game, markets=[{"blue": 1}, {}, {}]))
    assert [row[3] for row in view["post_market"]] == [1, 1, 0, 1, 0, 0, 0, 0]  # no post on the outer sites
    assert view["price"] == pytest.approx([0, 0, 0.2, 0])
    assert view["post_colour"][0] == one_hot(0, 4)
    assert view["post_market"][0] == one_hot(3, 4)
    assert view["post_market"][2] == one_hot(0, 4)


@pytest.mark.parametrize("site", ["A", "B", "E1", "F3", "G5", "H2", "Bombay", "Nagpur"])
def test_distances_are_reached_by_walking_and_not_sooner(site):
    """Breadth first through the moves that the mask allows, an action point at a time."""
    game = Game(Rules(2, actions_per_turn=9))
    states = position(game, at=site)
    view, sites = seen(game, states), [s.name for s in game.board.sites]
    best, frontier = {}, [(0, states)]
    while frontier:
        frontier.sort(key=lambda entry: entry[0])
        spent, here = frontier.pop(0)
        name = sites[here["position"][0, 0]]
        if name in best:
            continue
        best[name] = spent
        for action in np.flatnonzero(game.legal_actions(here)[0, :24]):
            after = here.copy()
            game.step(after, [action])
            if after["current_player"][0] == 0:  # the turn goes on
                frontier.append((9 - int(after["actions_left"][0]), after))
    assert len(best) >= 12
    for name, spent in best.items():
        assert close(view["distance"][sites.index(name)], min(spent / 6, 2)), name
    assert view["city_distance"] == [view["distance"][sites.index(city)] for city in CITIES]


def test_a_rank_is_shared_by_those_who_tie():
    game = official(4)
    view = seen(game, position(game, clients=[3, 5, 3, 0]), seat=0)
    assert view["empire_rank"][:4] == pytest.approx([0.5, 1, 0.5, 0])
    assert seen(game, position(game), seat=0)["empire_rank"][:4] == pytest.approx([0.5] * 4)


# --- what must not be seen ---


def change_holdings(game, states, seat):
    """Copies of the states in each of which one thing that `seat` keeps behind its screen is another."""
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
def test_screened_tells_nothing_of_what_an_opponent_holds(n):
    for game, states in itertools.islice(passed_through(n, games=4, lanes=1, every=15), 1 if SLOW else None):
        for seat in range(n):
            names, others = zip(*change_holdings(game, states, seat), strict=True)
            for viewer in set(range(n)) - {seat}:
                before = game.observe(states, seats=viewer, screened=True)
                same = (game.observe(np.concatenate(others), seats=viewer, screened=True) == before).all(axis=1)
                assert same.all(), [name for name, as_before in zip(names, same, strict=True) if not as_before]


@each_count
def test_screened_shows_ones_own_holdings(n):
    game = official(n)
    states = position(game)
    for seat in range(n):
        for what, other in change_holdings(game, states, seat):
            if other.tobytes() == states.tobytes():
                continue
            before = game.observe(states, seats=seat, screened=True)
            assert not (game.observe(other, seats=seat, screened=True) == before).all(), what


@each_count
def test_perfect_recall_shows_every_holding_of_every_seat(n):
    game = official(n)
    states = position(game)
    for seat in range(2 if SLOW else n):
        for what, other in change_holdings(game, states, seat):
            if other.tobytes() == states.tobytes():
                continue
            for viewer in {seat, (seat + 1) % n} if SLOW else range(n):
                before = game.observe(states, seats=viewer)
                assert not (game.observe(other, seats=viewer) == before).all(), what


def test_screened_sees_what_lies_open():
    """Palaces, baskets, piles, the Client tokens left and the markets are everybody's to see."""
    game = official(3)
    states = position(game)
    changes = [
        position(game, baskets={2: ["blue"]}),
        position(game, palaces={"H1": 2}),
        position(game, city_tokens={2: ["Indore"]}),
        position(game, clients=[0, 0, 3]),
        position(game, markets=[{"blue": 2}, {}, {}]),
        position(game, elephants={2: "E2"}),
    ]
    for other in changes:
        assert not (game.observe(other, seats=0, screened=True) == game.observe(states, seats=0, screened=True)).all()


@each_count
@each_mode
def test_the_seed_is_never_seen(n, screened):
    for game, states in passed_through(n, games=1 if SLOW else 4, lanes=2, every=90 if SLOW else 15):
        for seeds in ([0, 1], [2**64 - 1, 2**63]):
            other = game.scrub(states, seeds)
            for seat in (None, *range(n)):
                same = game.observe(other, seats=seat, screened=screened)
                assert (same == game.observe(states, seats=seat, screened=screened)).all()
            assert (game.legal_actions(other) == game.legal_actions(states)).all()


def test_old_contents_of_out_are_not_seen():
    game = official(3)
    states = position(game)
    for screened in (False, True):
        out = np.full((1, game.num_features), np.nan, np.float32)
        for seat in (0, 1, 2, 0):
            game.observe(states, seats=seat, screened=screened, out=out)
            assert np.isfinite(out).all()
            assert (out == game.observe(states, seats=seat, screened=screened)).all()
