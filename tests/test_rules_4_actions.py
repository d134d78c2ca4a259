"""RULES 4, "A player's turn": the turn, each action, and how a turn ends."""

from itertools import permutations

import pytest

from bombay_env import Board, Game, Rules
from helpers.position import (
    CITIES,
    COLOURS,
    GAME,
    bales,
    changed,
    facts,
    legal,
    official,
    play,
    position,
    random_play,
    variant,
)
from helpers.turns import (
    BOARD,
    E_SITES,
    EMPTY,
    F_SITES,
    HILLS,
    OPEN_SITES,
    POSTS,
    SITES,
    each_colour,
    each_count,
    kinds_of,
    mover,
    neighbours,
    refused,
)

# --- The turn ---


@each_count
def test_a_turn_has_three_actions(n):
    game = official(n)
    states = game.new_states([1])
    assert mover(states) == (0, 3)
    states = play(game, states, "move:E1")
    assert mover(states) == (0, 2)
    states = play(game, states, "move:H1")
    assert mover(states) == (0, 1)
    states = play(game, states, "move:E1")
    assert mover(states) == (1, 3)


@pytest.mark.parametrize("order", list(permutations(["sell:blue", "sell:orange", "move:H1"])), ids=str)
def test_actions_may_be_spent_in_any_order(order):
    states = position(at="Bombay", basket=["blue", "orange"])
    if order[2] == "move:H1":
        assert mover(play(GAME, states, *order)) == (1, 3)
    else:  # a sale needs the city
        assert refused(GAME, play(GAME, states, *order[: order.index("move:H1") + 1]), order[-1])


@pytest.mark.parametrize(
    "order",
    [
        ("sell:blue", "move:H1", "build:orange"),
        ("move:H1", "build:orange", "move:Bombay"),
        ("move:H1", "move:Bombay", "sell:orange"),
    ],
    ids=str,
)
def test_a_turn_may_have_different_kinds_of_actions(order):
    assert mover(play(GAME, position(at="Bombay", basket=["blue", "orange"]), *order)) == (1, 3)


@pytest.mark.parametrize(
    ("at", "basket", "actions"),
    [
        ("A", [], ["move:E1", "move:H1", "move:E1"]),
        ("Bombay", ["blue", "blue"], ["sell:blue", "sell:blue"]),
        ("F1", ["blue", "blue"], ["build:blue", "move:G1", "build:blue"]),
    ],
    ids=["move", "sell", "build"],
)
def test_an_action_may_be_repeated(at, basket, actions):
    after = play(GAME, position(at=at, basket=basket), *actions)
    assert facts(GAME, after)["basket"][0] == EMPTY


def test_unused_actions_are_lost():
    after = play(GAME, GAME.new_states([1]), "move:E1", "end_turn")
    assert mover(after) == (1, 3)
    assert mover(play(GAME, after, "end_turn")) == (0, 3)


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
def test_a_move_goes_to_an_adjacent_site(site):
    states = position(at=site)
    assert legal(GAME, states) & {f"move:{name}" for name in SITES} == {f"move:{name}" for name in neighbours(site)}


def test_trails_are_two_way():
    for a, b in BOARD.trails:
        assert f"move:{b}" in legal(GAME, position(at=a))
        assert f"move:{a}" in legal(GAME, position(at=b))


def test_a_move_costs_one_action_and_nothing_else():
    before = position(at="H1", rupees=[0, 0])
    assert changed(GAME, before, play(GAME, before, "move:Bombay")) == {"position": ["Bombay", "A"], "actions_left": 2}


@pytest.mark.parametrize("hill", HILLS)
def test_a_move_to_a_hilltop_costs_two_actions(hill):
    before = position(at="E4")
    after = play(GAME, before, f"move:{hill}")
    assert changed(GAME, before, after) == {"position": [hill, "A"], "actions_left": 1}


@pytest.mark.parametrize("hill", HILLS)
def test_a_move_to_a_hilltop_needs_two_actions_in_hand(hill):
    assert f"move:{hill}" in legal(GAME, position(at="E4", actions_left=2))
    assert refused(GAME, position(at="E4", actions_left=1), f"move:{hill}")
    assert "move:G8" in legal(GAME, position(at="E4", actions_left=1))


@pytest.mark.parametrize(("hill", "site"), [("A", "H1"), ("B", "H2")])
def test_leaving_a_hilltop_costs_one_action(hill, site):
    assert mover(play(GAME, position(at=hill), f"move:{site}")) == (0, 2)


def test_every_other_site_costs_one_action_to_enter():
    for site in set(SITES) - set(HILLS):
        start = min(neighbours(site))
        assert mover(play(GAME, position(at=start), f"move:{site}")) == (0, 2)


@each_count
def test_several_elephants_may_share_a_site(n):
    game = official(n)
    states = game.new_states([1])
    for _ in range(n):
        states = play(game, states, "move:H1", "end_turn")
    assert facts(game, states)["position"] == ["H1"] * n
    assert "move:E1" in legal(game, states)


def test_several_players_may_act_on_the_same_site():
    for at, action in (("E3", "buy"), ("Bombay", "sell:blue"), ("H1", "build:blue")):
        assert action in legal(GAME, position(at=at, basket=["blue"], elephants={1: at}))


# --- move: tolls ---


@each_count
def test_an_opponent_who_enters_causes_a_toll_for_the_owner(n):
    game = official(n)
    before = position(game, palaces={"H1": 1}, rupees=[2] * n)
    after = play(game, before, "move:H1")
    assert facts(game, after)["rupees"] == [2, 3] + [2] * (n - 2)


def test_a_toll_is_paid_by_the_bank():
    before = position(palaces={"H1": 1}, rupees=[0, 0])
    after = play(GAME, before, "move:H1")
    assert changed(GAME, before, after) == {"rupees": [0, 1], "position": ["H1", "A"], "actions_left": 2}


@each_count
def test_a_toll_goes_to_the_owner_only(n):
    game = official(n)
    for owner in range(1, n):
        after = play(game, position(game, palaces={"H1": owner, "G3": n - owner}, rupees=[0] * n), "move:H1")
        assert facts(game, after)["rupees"] == [int(seat == owner) for seat in range(n)]


@each_count
def test_every_opponent_causes_a_toll(n):
    game = official(n)
    states = position(game, palaces={"H1": 0}, rupees=[0] * n)
    for _ in range(n):
        states = play(game, states, "move:H1", "end_turn")
    assert facts(game, states)["rupees"] == [n - 1] + [0] * (n - 1)


def test_there_is_no_toll_at_a_players_own_palace():
    after = play(GAME, position(palaces={"H1": 0}, rupees=[0, 0]), "move:H1")
    assert facts(GAME, after)["rupees"] == [0, 0]


def test_every_entry_causes_a_toll():
    after = play(GAME, position(at="E1", palaces={"H1": 1}, rupees=[0, 0]), "move:H1", "move:E3", "move:H1")
    assert facts(GAME, after)["rupees"] == [0, 2]


def test_leaving_a_palace_causes_no_toll():
    after = play(GAME, position(at="H1", palaces={"H1": 1}, rupees=[0, 0]), "move:E1")
    assert facts(GAME, after)["rupees"] == [0, 0]


def test_staying_causes_no_toll():
    states = position(at="H1", palaces={"H1": 1}, rupees=[0, 0])
    states = play(GAME, states, "end_turn", "end_turn")
    assert facts(GAME, states)["rupees"] == [0, 0]
    assert facts(GAME, play(GAME, states, "consolidate"))["rupees"] == [1, 0]


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
    markets = [{}, {}, {}]
    markets[market] = {colour: 2}
    before = position(at=site, rupees=[5], markets=markets)
    loaded = bales(**{colour: 1})
    markets[market] = {colour: 1}
    assert changed(GAME, before, play(GAME, before, "buy")) == {
        "rupees": [5 - rupees, 2],
        "basket": [loaded, EMPTY],
        "markets": [bales(**held) for held in markets],
        "actions_left": 3 - actions,
        "buys": 1,
    }


def test_an_empty_market_to_the_left_does_not_lower_the_price():
    for markets, cost in (([{}, {"blue": 1}, {}], (1, 2)), ([{}, {}, {"blue": 1}], (2, 2))):
        after = play(GAME, position(at="E3", rupees=[4], markets=markets), "buy")
        assert facts(GAME, after)["rupees"][0] == 4 - cost[0]
        assert mover(after) == (0, 3 - cost[1])


def test_a_purchase_takes_the_bale_from_its_market_not_from_the_bag():
    before = position(at="E3")
    after = play(GAME, before, "buy")
    assert facts(GAME, after)["markets"][0] == bales(blue=2, orange=3)
    assert facts(GAME, after)["bag"] == facts(GAME, before)["bag"]


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


def test_a_purchase_gives_the_posts_colour():
    states = position(at="E1", rupees=[9], posts={"E1": "purple", "E2": "yellow"})
    assert facts(GAME, play(GAME, states, "buy"))["basket"][0] == bales(purple=1)


def test_a_purchase_needs_fewer_than_two_bales_in_the_basket():
    assert "buy" in legal(GAME, position(at="E3", basket=["orange"]))
    assert refused(GAME, position(at="E3", basket=["orange", "orange"]), "buy")
    assert refused(GAME, position(at="E3", basket=["blue", "yellow"]), "buy")


def test_only_the_players_own_basket_counts():
    assert "buy" in legal(GAME, position(at="E3", baskets={1: ["orange", "orange"]}))


def test_a_turn_has_one_purchase():
    after = play(GAME, position(at="E3", rupees=[9]), "buy")
    assert mover(after) == (0, 2)
    assert refused(GAME, after, "buy")


def test_a_second_purchase_is_illegal_at_another_post_too():
    game = variant(2, actions_per_turn=9)
    assert refused(game, play(game, position(game, at="E3", rupees=[9]), "buy", "move:H1", "move:E1"), "buy")


def test_the_next_turn_has_its_own_purchase():
    after = play(GAME, position(at="E3", rupees=[9, 9], elephants={1: "E3"}), "buy", "end_turn")
    assert "buy" in legal(GAME, after)  # it is the other player's turn
    assert "buy" in legal(GAME, play(GAME, after, "buy", "end_turn"))


# --- sell ---


def test_a_sale_costs_one_action():
    assert mover(play(GAME, position(at="Bombay", basket=["blue"]), "sell:blue")) == (0, 2)


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
@pytest.mark.parametrize("site", OPEN_SITES)
def test_a_palace_can_be_built_on_a_site_without_a_building(n, site):
    """On hilltops, open sites, and G sites with their tokens."""
    game = official(n)
    after = play(game, position(game, at=site, basket=["blue"]), "build:blue")
    assert facts(game, after)["palaces"] == {site: 0}


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("site", F_SITES)
def test_with_two_or_three_players_a_palace_can_be_built_on_an_f_site(n, site):
    after = play(official(n), position(official(n), at=site, basket=["blue"]), "build:blue")
    assert facts(official(n), after)["palaces"] == {site: 0}


@each_count
def test_no_palace_on_a_post(n):
    game = official(n)
    for site in E_SITES + (F_SITES if n >= 4 else ()):
        assert refused(game, position(game, at=site, basket=["blue"]), "build:blue")


@pytest.mark.parametrize("site", E_SITES)
def test_no_palace_on_a_closed_post(site):
    assert refused(GAME, position(at=site, basket=["blue"], markets=[{}, {}, {}]), "build:blue")


@each_count
@pytest.mark.parametrize("city", CITIES)
def test_no_palace_in_a_city(n, city):
    assert refused(official(n), position(official(n), at=city, basket=["blue"]), "build:blue")


@pytest.mark.parametrize("owner", [0, 1])
@pytest.mark.parametrize("site", ["A", "H1", "G1", "F1"])
def test_a_site_has_at_most_one_palace(owner, site):
    assert refused(GAME, position(at=site, basket=["blue"], palaces={site: owner}), "build:blue")


def test_a_second_palace_on_the_same_site_is_illegal():
    assert refused(GAME, play(GAME, position(at="H1", basket=["blue", "blue"]), "build:blue"), "build:blue")


def test_a_player_has_five_palaces():
    four = {"G1": 0, "G2": 0, "G5": 0, "G6": 0}
    after = play(GAME, position(at="F1", basket=["blue", "blue"], palaces=four), "build:blue")
    assert facts(GAME, after)["palaces_left"] == [0, 5]
    after = play(GAME, after, "move:G1", "move:F2", "end_turn")
    assert refused(GAME, after, "build:blue")
    assert "build:blue" in legal(
        GAME, position(at="F1", basket=["blue"], palaces=dict.fromkeys(["G1", "G2", "G5", "G6", "H1"], 1))
    )


@each_count
def test_in_random_games_palaces_are_never_removed(n):
    before = None
    for states in random_play(official(n)):
        if before is not None:
            assert ((before.palace == 0) | (before.palace == states.palace)).all()
        before = states
    assert before.palace.any()


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
    states = position(at=at, basket=basket)
    assert "consolidate" in legal(GAME, states)
    assert refused(GAME, play(GAME, states, action), "consolidate")


@pytest.mark.parametrize("left", [1, 2])
def test_consolidating_needs_all_three_actions(left):
    assert refused(GAME, position(actions_left=left), "consolidate")


def test_consolidating_needs_no_rupees_and_no_particular_site():
    for site in SITES:
        assert "consolidate" in legal(GAME, position(at=site, rupees=[0, 0]))


# --- end turn, and how turns end ---


@pytest.mark.parametrize("left", [1, 2, 3])
def test_end_turn_gives_up_the_remaining_actions(left):
    before = position(actions_left=left)
    after = play(GAME, before, "end_turn")
    assert changed(GAME, before, after) == {"current_player": 1} | ({"actions_left": 3} if left < 3 else {})


def test_end_turn_without_any_action_gains_nothing():
    before = position()
    assert changed(GAME, before, play(GAME, before, "end_turn")) == {"current_player": 1}


@each_count
def test_end_turn_is_legal_whenever_no_take_is_pending(n):
    game = official(n)
    end = game.action_index("end_turn")
    for states in random_play(game):
        running = ~game.is_terminal(states)
        assert (game.legal_actions(states)[:, end] == (running & (states.take_pending == 0))).all()


def test_a_turn_ends_after_its_last_action():
    states = position(at="E2", rupees=[1], actions_left=2)
    assert mover(play(GAME, states, "buy")) == (1, 3)
    assert mover(play(GAME, position(at="H1", basket=["blue"], actions_left=1), "build:blue")) == (1, 3)
    assert mover(play(GAME, position(at="Bombay", basket=["blue"], actions_left=1), "sell:blue")) == (1, 3)
    assert mover(play(GAME, position(at="E4", actions_left=2), "move:A")) == (1, 3)


def test_a_turn_does_not_end_while_an_action_is_left():
    """On a board where only the hilltop A is adjacent to E3, nothing but `end_turn` is legal there with one action left."""
    data = BOARD.to_dict()
    trails = [trail for trail in data["trails"] if "E3" not in trail or "A" in trail]
    game = Game(Rules.official(2), Board.from_dict(data | {"name": "dead_end", "trails": trails}))
    before = position(
        game, at="E3", posts={"E3": "purple", "E2": "blue"}
    )  # in the centre market a bale costs 2 actions
    after = play(game, before, "buy")
    assert mover(after) == (0, 1)
    assert legal(game, after) == {"end_turn"}
    assert mover(play(game, after, "end_turn")) == (1, 3)
