"""RULES 4, "A player's turn": the turn, each action, and how a turn ends."""

import pytest

from bombay_env import Board, Game, Rules
from helpers.position import CITIES, COLOURS, GAME, bales, changed, each_count, facts, official, position, variant
from helpers.rules import (
    BOARD,
    E_SITES,
    EMPTY,
    F_SITES,
    G_SITES,
    HILLS,
    POSTS,
    SITES,
    kinds_of,
    legal,
    mover,
    neighbours,
    play,
    refused,
)

each_colour = pytest.mark.parametrize("colour", COLOURS)

# --- The turn ---


@each_count
def test_a_turn_has_three_actions(n):
    game = official(n)
    states = game.new_states([1])
    assert mover(states) == (0, 3)
    for action, after in (("move:E1", (0, 2)), ("move:H1", (0, 1)), ("move:E1", (1, 3))):
        states = play(game, states, action)
        assert mover(states) == after


@pytest.mark.parametrize(
    "actions",
    [
        ("sell:blue", "sell:orange", "move:H1"),
        ("sell:orange", "sell:blue", "move:H1"),
        ("sell:blue", "move:H1", "build:orange"),
        ("move:H1", "build:orange", "move:Bombay"),
        ("move:H1", "move:Bombay", "sell:orange"),
        ("move:H1", "move:E1", "move:H1"),
    ],
    ids=str,
)
def test_actions_may_be_spent_in_any_order_and_repeated(actions):
    assert mover(play(GAME, position(at="Bombay", basket=["blue", "orange"]), *actions)) == (1, 3)


def test_building_may_be_repeated():
    after = play(GAME, position(at="F1", basket=["blue", "blue"]), "build:blue", "move:G1", "build:blue")
    assert facts(GAME, after)["palaces"] == {"F1": 0, "G1": 0}


def test_in_a_new_game_moves_consolidate_and_end_turn_are_legal():
    moves = {"move:E1", "move:E3", "move:E4", "move:G3", "move:H1"}
    assert legal(GAME, position()) == moves | {"consolidate", "end_turn"}


def test_an_illegal_action_raises_and_changes_nothing_in_the_state():
    states = position(at="E3", basket=["blue"])
    offered = legal(GAME, states)
    for action in GAME.action_names:
        assert action in offered or refused(GAME, states, action)


# --- move ---


@pytest.mark.parametrize("site", SITES)
def test_a_move_goes_to_an_adjacent_site_in_either_direction(site):
    states = position(at=site)
    assert legal(GAME, states) & {f"move:{name}" for name in SITES} == {f"move:{name}" for name in neighbours(site)}


def test_a_move_costs_one_action_and_nothing_else():
    before = position(at="H1", rupees=[0, 0])
    assert changed(GAME, before, play(GAME, before, "move:Bombay")) == {"position": ["Bombay", "A"], "actions_left": 2}


@pytest.mark.parametrize("hill", HILLS)
def test_a_move_to_a_hilltop_costs_two_actions(hill):
    before = position(at="E4")
    after = play(GAME, before, f"move:{hill}")
    assert changed(GAME, before, after) == {"position": [hill, "A"], "actions_left": 1}
    assert f"move:{hill}" in legal(GAME, position(at="E4", actions_left=2))
    assert refused(GAME, position(at="E4", actions_left=1), f"move:{hill}")


@pytest.mark.parametrize("site", sorted(set(SITES) - set(HILLS)))
def test_every_other_site_costs_one_action_to_enter_from_any_site(site):
    for start in neighbours(site):
        assert mover(play(GAME, position(at=start, actions_left=2), f"move:{site}")) == (0, 1)


@each_count
def test_several_elephants_may_share_a_site(n):
    game = official(n)
    states = play(game, game.new_states([1]), *["move:H1", "end_turn"] * n)
    assert facts(game, states)["position"] == ["H1"] * n
    assert "move:E1" in legal(game, states)


def test_several_players_may_act_on_the_same_site():
    for at, action in (("E3", "buy"), ("Bombay", "sell:blue"), ("H1", "build:blue")):
        assert action in legal(GAME, position(at=at, basket=["blue"], elephants={1: at}))


# --- move: tolls ---


@each_count
def test_a_toll_goes_from_the_bank_to_the_owner_only(n):
    game = official(n)
    for owner in range(1, n):
        before = position(game, palaces={"H1": owner, "G3": n - owner}, rupees=[0] * n)
        assert changed(game, before, play(game, before, "move:H1")) == {
            "rupees": [int(seat == owner) for seat in range(n)],
            "position": ["H1"] + ["A"] * (n - 1),
            "actions_left": 2,
        }


@each_count
def test_every_opponent_causes_a_toll_and_the_owner_none(n):
    game = official(n)
    states = position(game, palaces={"H1": 0}, rupees=[0] * n)
    for _ in range(n):
        states = play(game, states, "move:H1", "end_turn")
    assert facts(game, states)["rupees"] == [n - 1] + [0] * (n - 1)


def test_every_entry_causes_a_toll():
    after = play(GAME, position(at="E1", palaces={"H1": 1}, rupees=[0, 0]), "move:H1", "move:E3", "move:H1")
    assert facts(GAME, after)["rupees"] == [0, 2]


@pytest.mark.parametrize("actions", [("move:E1",), ("end_turn", "end_turn")], ids=["leaving", "staying"])
def test_only_entering_causes_a_toll(actions):
    after = play(GAME, position(at="H1", palaces={"H1": 1}, rupees=[0, 0]), *actions)
    assert facts(GAME, after)["rupees"] == [0, 0]


def test_building_a_palace_under_an_elephant_causes_no_toll():
    before = position(at="H1", basket=["blue"], elephants={1: "H1"}, rupees=[0, 0])
    assert facts(GAME, play(GAME, before, "build:blue", "end_turn", "end_turn"))["rupees"] == [0, 0]


def test_entering_a_palace_on_a_hilltop_causes_a_toll_and_costs_two_actions():
    before = position(at="E4", palaces={"A": 1}, rupees=[0, 0])
    after = play(GAME, before, "move:A")
    assert changed(GAME, before, after) == {"rupees": [0, 1], "position": ["A", "A"], "actions_left": 1}


# --- buy ---


@pytest.mark.parametrize(
    ("site", "rupees", "actions"),
    [("E3", 1, 1), ("E4", 1, 1), ("E2", 1, 2), ("E1", 2, 2)],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("purse", [0, 1, 2, 3])
@pytest.mark.parametrize("left", [1, 2, 3])
def test_the_market_of_the_colour_sets_the_price(site, rupees, actions, purse, left):
    """Left: 1 rupee and 1 action; centre: 1 and 2; right: 2 and 2. Legal only if the player can pay all of it."""
    states = position(at=site, rupees=[purse], actions_left=left)
    if purse < rupees or left < actions:
        assert refused(GAME, states, "buy")
        return
    after = play(GAME, states, "buy")
    assert facts(GAME, after)["rupees"] == [purse - rupees, 2]
    assert mover(after) == ((0, left - actions) if left > actions else (1, 3))


@pytest.mark.parametrize(("market", "rupees", "actions"), [(0, 1, 1), (1, 1, 2), (2, 2, 2)])
@pytest.mark.parametrize(("site", "colour"), POSTS)
def test_the_price_depends_on_the_market_and_not_on_the_colour(market, rupees, actions, site, colour):
    """Nor on empty markets to the left. The bale comes from the market."""
    markets = [{}, {}, {}]
    markets[market] = {colour: 2}
    before = position(at=site, rupees=[5], markets=markets)
    markets[market] = {colour: 1}
    assert changed(GAME, before, play(GAME, before, "buy")) == {
        "rupees": [5 - rupees, 2],
        "basket": [bales(**{colour: 1}), EMPTY],
        "markets": [bales(**held) for held in markets],
        "actions_left": 3 - actions,
        "buys": 1,
    }


@pytest.mark.parametrize("site", sorted(set(SITES) - set(E_SITES)))
def test_a_purchase_needs_a_post(site):
    assert refused(GAME, position(at=site, rupees=[9]), "buy")


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("site", F_SITES)
def test_with_four_or_five_players_outer_posts_sell_too(n, site):
    after = play(official(n), position(official(n), at=site, rupees=[9]), "buy")
    assert facts(official(n), after)["basket"][0] == bales(**{COLOURS[F_SITES.index(site)]: 1})


@pytest.mark.parametrize(("site", "colour"), POSTS)
def test_a_purchase_needs_an_open_post(site, colour):
    markets = [{other: 1 for other in COLOURS if other != colour}, {}, {}]
    assert refused(GAME, position(at=site, rupees=[9], markets=markets), "buy")


def test_a_purchase_needs_fewer_than_two_bales_in_the_players_own_basket():
    assert "buy" in legal(GAME, position(at="E3", basket=["orange"], baskets={1: ["orange", "blue"]}))
    assert refused(GAME, position(at="E3", basket=["orange", "orange"]), "buy")
    assert refused(GAME, position(at="E3", basket=["blue", "yellow"]), "buy")


def test_a_turn_has_one_purchase_also_at_another_post():
    game = variant(2, actions_per_turn=9)
    after = play(game, position(game, at="E3", rupees=[9]), "buy")
    assert refused(game, after, "buy")
    assert refused(game, play(game, after, "move:H1", "move:E1"), "buy")


def test_the_next_turn_has_its_own_purchase():
    after = play(GAME, position(at="E3", rupees=[9, 9], elephants={1: "E3"}), "buy", "end_turn")
    assert "buy" in legal(GAME, after)  # it is the other player's turn
    assert "buy" in legal(GAME, play(GAME, after, "buy", "end_turn"))


# --- sell; `test_rules_4_sales_and_tokens.py` has what a sale costs and gains ---


@pytest.mark.parametrize("city", CITIES)
def test_a_sale_needs_a_city_that_demands_the_colour(city):
    missing = {"Bombay": "yellow", "Indore": "blue", "Nagpur": "purple", "Hyderabad": "orange"}[city]
    for colour in COLOURS:
        states = position(at=city, basket=[colour])
        if colour == missing:
            assert refused(GAME, states, f"sell:{colour}")
        else:
            assert {name for name in legal(GAME, states) if name.startswith("sell")} == {f"sell:{colour}"}


@pytest.mark.parametrize("site", sorted(set(SITES) - set(CITIES)))
def test_a_sale_needs_a_city(site):
    assert "sell" not in kinds_of(legal(GAME, position(at=site, basket=["blue", "orange"])))


@each_colour
def test_a_sale_needs_a_bale_of_the_colour(colour):
    """A bale of another colour or of another player does not count."""
    others = [other for other in COLOURS if other != colour]
    for city in CITIES:
        states = position(at=city, basket=others[:2], baskets={1: [colour]}, elephants={1: city})
        assert refused(GAME, states, f"sell:{colour}")


# --- build ---


@each_colour
def test_a_palace_costs_one_action_and_a_bale_of_any_colour(colour):
    before = position(at="H1", basket=[colour])
    after = play(GAME, before, f"build:{colour}")
    held = facts(GAME, before)["bag"]
    assert changed(GAME, before, after) == {
        "palaces": {"H1": 0},
        "palaces_left": [4, 5],
        "basket": [EMPTY, EMPTY],
        "bag": [count + (name == colour) for name, count in zip(COLOURS, held, strict=True)],
        "actions_left": 2,
    }


def test_the_player_chooses_the_bale_that_a_palace_costs():
    states = position(at="H1", basket=["blue", "orange"])
    assert {"build:blue", "build:orange"} == {name for name in legal(GAME, states) if name.startswith("build")}
    assert facts(GAME, play(GAME, states, "build:orange"))["basket"][0] == bales(blue=1)
    assert facts(GAME, play(GAME, states, "build:blue"))["basket"][0] == bales(orange=1)


def test_a_palace_needs_the_players_own_bale():
    assert "build" not in kinds_of(legal(GAME, position(at="H1", elephants={1: "H1"}, baskets={1: ["blue"]})))


@each_count
def test_a_palace_can_be_built_on_a_site_without_a_building(n):
    """On hilltops, open sites, G sites with their tokens and, with two or three players, F sites."""
    game = official(n)
    for site in (*HILLS, "H1", "H2", *G_SITES, *(F_SITES if n < 4 else ())):
        after = play(game, position(game, at=site, basket=["blue"]), "build:blue")
        assert facts(game, after)["palaces"] == {site: 0}


@each_count
def test_no_palace_on_a_post_or_in_a_city(n):
    """Nor on a closed post."""
    game = official(n)
    for site in (*E_SITES, *CITIES, *(F_SITES if n >= 4 else ())):
        for more in ({}, {"markets": [{}, {}, {}]}):
            assert refused(game, position(game, at=site, basket=["blue"], **more), "build:blue")


@pytest.mark.parametrize("owner", [0, 1])
@pytest.mark.parametrize("site", ["A", "H1", "G1", "F1"])
def test_a_site_has_at_most_one_palace(owner, site):
    assert refused(GAME, position(at=site, basket=["blue"], palaces={site: owner}), "build:blue")


def test_a_player_has_five_palaces():
    four = {"G1": 0, "G2": 0, "G5": 0, "G6": 0}
    after = play(GAME, position(at="F1", basket=["blue", "blue"], palaces=four), "build:blue")
    assert facts(GAME, after)["palaces_left"] == [0, 5]
    assert refused(GAME, play(GAME, after, "move:G1", "move:F2", "end_turn"), "build:blue")
    opponents = dict.fromkeys(["G1", "G2", "G5", "G6", "H1"], 1)
    assert "build:blue" in legal(GAME, position(at="F1", basket=["blue"], palaces=opponents))


# --- consolidate ---


@each_count
def test_consolidating_costs_the_whole_turn_and_gains_a_rupee(n):
    game = official(n)
    before = position(game)
    assert changed(game, before, play(game, before, "consolidate")) == {
        "rupees": [3, *facts(game, before)["rupees"][1:]],
        "current_player": 1,
    }


@pytest.mark.parametrize(
    ("at", "basket", "action"),
    [("A", [], "move:E1"), ("E3", [], "buy"), ("Bombay", ["blue"], "sell:blue"), ("H1", ["blue"], "build:blue")],
)
def test_consolidating_is_illegal_after_another_action(at, basket, action):
    states = position(at=at, basket=basket, rupees=[1])
    assert "consolidate" in legal(GAME, states)
    assert refused(GAME, play(GAME, states, action), "consolidate")


def test_consolidating_needs_no_rupees_and_no_particular_site():
    for site in SITES:
        assert "consolidate" in legal(GAME, position(at=site, rupees=[0, 0]))


# --- end turn, and how turns end ---


@pytest.mark.parametrize("left", [1, 2, 3])
def test_end_turn_gives_up_the_remaining_actions_and_gains_nothing(left):
    before = position(actions_left=left)
    after = play(GAME, before, "end_turn")
    assert changed(GAME, before, after) == {"current_player": 1} | ({"actions_left": 3} if left < 3 else {})


@pytest.mark.parametrize(
    ("at", "left", "action"),
    [("E2", 2, "buy"), ("H1", 1, "build:blue"), ("Bombay", 1, "sell:blue"), ("E4", 2, "move:A")],
)
def test_a_turn_ends_after_its_last_action(at, left, action):
    assert mover(play(GAME, position(at=at, basket=["blue"], actions_left=left), action)) == (1, 3)


def test_a_turn_does_not_end_while_an_action_is_left():
    """On a board where only the hilltop A is adjacent to E3, nothing but `end_turn` is legal there with one action left."""
    data = BOARD.to_dict()
    trails = [trail for trail in data["trails"] if "E3" not in trail or "A" in trail]
    game = Game(Rules.official(2), Board.from_dict(data | {"name": "dead_end", "trails": trails}))
    before = position(game, at="E3", posts={"E3": "purple", "E2": "blue"})  # in the centre market: 2 actions
    after = play(game, before, "buy")
    assert mover(after) == (0, 1)
    assert legal(game, after) == {"end_turn"}
    assert mover(play(game, after, "end_turn")) == (1, 3)
