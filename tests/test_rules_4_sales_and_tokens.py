"""RULES 4: what a sale gains, City tokens, palace tokens and the bank."""

import numpy as np
import pytest

from helpers.position import (
    CITIES,
    COLOURS,
    GAME,
    bales,
    changed,
    facts,
    last_turn,
    legal,
    official,
    play,
    position,
    random_play,
    variant,
)
from helpers.turns import EMPTY, SITES, each_count, kinds_of, mover, neighbours

# --- Sale ---

SALES = [  # city, colour, rupees, Client tokens, the column after the sale
    ("Bombay", "blue", 4, 0, ["purple", "orange", "blue"]),
    ("Bombay", "purple", 3, 1, ["blue", "orange", "purple"]),
    ("Bombay", "orange", 1, 1, ["blue", "purple", "orange"]),
    ("Indore", "purple", 4, 1, ["orange", "yellow", "purple"]),
    ("Indore", "orange", 3, 0, ["purple", "yellow", "orange"]),
    ("Indore", "yellow", 2, 1, ["purple", "orange", "yellow"]),
    ("Nagpur", "orange", 4, 0, ["yellow", "blue", "orange"]),
    ("Nagpur", "yellow", 4, 0, ["orange", "blue", "yellow"]),
    ("Nagpur", "blue", 1, 1, ["orange", "yellow", "blue"]),
    ("Hyderabad", "yellow", 5, 0, ["blue", "purple", "yellow"]),
    ("Hyderabad", "blue", 3, 0, ["yellow", "purple", "blue"]),
    ("Hyderabad", "purple", 1, 2, ["yellow", "blue", "purple"]),
]


@each_count
@pytest.mark.parametrize(("city", "colour", "rupees", "clients", "column"), SALES)
def test_all_effects_of_a_sale(n, city, colour, rupees, clients, column):
    game = official(n)
    before = position(game, at=city, basket=[colour], rupees=[0] * n)
    old = facts(game, before)
    expected = {
        "rupees": [rupees] + [0] * (n - 1),
        "clients": [clients] + [0] * (n - 1),
        "client_supply": 16 - clients,
        "basket": [EMPTY] * n,
        "bag": [count + (name == colour) for name, count in zip(COLOURS, old["bag"], strict=True)],
        "demand": old["demand"] | {city: column},
        "city_tokens": [[city]] + [[]] * (n - 1),
        "city_piles": old["city_piles"] | {city: n - 2},
        "actions_left": 2,
    }
    found = changed(game, before, play(game, before, f"sell:{colour}"))
    assert found == {name: fact for name, fact in expected.items() if fact != old[name]}


@pytest.mark.parametrize(("place", "rupees", "clients"), [(0, 4, 0), (1, 3, 0), (2, 1, 1)])
@pytest.mark.parametrize("colour", ["blue", "orange"])
def test_the_place_in_the_column_sets_the_price(place, rupees, clients, colour):
    column = ["yellow", "purple"]
    column.insert(place, colour)
    after = facts(
        GAME,
        play(GAME, position(at="Nagpur", basket=[colour], rupees=[0], demand={"Nagpur": column}), f"sell:{colour}"),
    )
    assert (after["rupees"][0], after["clients"][0]) == (rupees, clients)


@pytest.mark.parametrize(("place", "rupees", "clients"), [(0, 5, 0), (1, 4, 0), (2, 2, 1)])
def test_a_yellow_bale_gains_one_more_rupee(place, rupees, clients):
    column = ["blue", "purple"]
    column.insert(place, "yellow")
    after = facts(
        GAME, play(GAME, position(at="Indore", basket=["yellow"], rupees=[0], demand={"Indore": column}), "sell:yellow")
    )
    assert (after["rupees"][0], after["clients"][0]) == (rupees, clients)


@pytest.mark.parametrize(("place", "rupees", "clients"), [(0, 4, 1), (1, 3, 1), (2, 1, 2)])
def test_a_purple_bale_gains_one_more_client_token(place, rupees, clients):
    column = ["blue", "yellow"]
    column.insert(place, "purple")
    after = facts(
        GAME, play(GAME, position(at="Indore", basket=["purple"], rupees=[0], demand={"Indore": column}), "sell:purple")
    )
    assert (after["rupees"][0], after["clients"][0]) == (rupees, clients)


@pytest.mark.parametrize(
    "markets",
    [[{"blue": 3}, {}, {}], [{}, {"blue": 3}, {}], [{}, {}, {"blue": 3}], [{}, {}, {}]],
    ids=["left", "centre", "right", "none"],
)
def test_market_prices_do_not_affect_a_sale(markets):
    after = play(GAME, position(at="Bombay", basket=["blue"], rupees=[0], markets=markets), "sell:blue")
    assert facts(GAME, after)["rupees"] == [4, 2]


def test_a_sold_bale_returns_to_the_bag_not_to_a_market():
    before = position(at="Bombay", basket=["blue"])
    after = facts(GAME, play(GAME, before, "sell:blue"))
    assert after["bag"] == [2, 2, 2, 2]
    assert after["markets"] == facts(GAME, before)["markets"]


@pytest.mark.parametrize(
    ("colour", "column"),
    [
        ("blue", ["purple", "orange", "blue"]),
        ("purple", ["blue", "orange", "purple"]),
        ("orange", ["blue", "purple", "orange"]),
    ],
    ids=["top", "middle", "bottom"],
)
def test_the_sold_cube_moves_to_the_bottom_and_the_cubes_below_it_move_up(colour, column):
    before = position(at="Bombay", basket=[colour])
    after = facts(GAME, play(GAME, before, f"sell:{colour}"))
    assert after["demand"] == facts(GAME, before)["demand"] | {"Bombay": column}


def test_a_second_bale_of_the_colour_is_sold_at_the_bottom():
    after = facts(
        GAME, play(GAME, position(at="Bombay", basket=["blue", "blue"], rupees=[0]), "sell:blue", "sell:blue")
    )
    assert (after["rupees"][0], after["clients"][0]) == (4 + 1, 1)


def test_a_cube_that_moved_up_has_the_price_of_its_new_place():
    states = position(at="Bombay", basket=["blue", "orange"], rupees=[0])
    after = facts(GAME, play(GAME, states, "sell:blue", "sell:orange"))
    assert (after["rupees"][0], after["clients"][0]) == (4 + 3, 0)


@each_count
def test_a_column_always_demands_the_same_three_colours(n):
    start = None
    for states in random_play(official(n)):
        start = states.demand if start is None else start
        assert (np.sort(states.demand) == np.sort(start)).all()
    assert (states.demand != start).any()


# --- Sale: the City token ---


@each_count
@pytest.mark.parametrize("city", CITIES)
def test_the_first_sale_in_a_city_takes_its_city_token(n, city):
    game = official(n)
    colour = next(colour for name, colour, *_ in SALES if name == city)
    after = facts(game, play(game, position(game, at=city, basket=[colour]), f"sell:{colour}"))
    assert after["city_tokens"][0] == [city]
    assert after["city_piles"] == dict.fromkeys(CITIES, n - 1) | {city: n - 2}


@each_count
def test_a_player_gets_at_most_one_token_of_a_city(n):
    game = official(n)
    before = position(game, at="Bombay", basket=["blue"], city_tokens={0: ["Bombay"]})
    after = facts(game, play(game, before, "sell:blue"))
    assert after["city_tokens"][0] == ["Bombay"]
    assert after["city_piles"]["Bombay"] == n - 2


def test_a_token_of_another_city_does_not_count():
    before = position(at="Bombay", basket=["blue"], city_tokens={0: ["Indore", "Nagpur"]}, palaces={"G2": 0, "G6": 0})
    assert facts(GAME, play(GAME, before, "sell:blue"))["city_tokens"][0] == ["Bombay", "Indore", "Nagpur"]


@each_count
def test_no_city_token_is_left_for_the_last_player(n):
    game = official(n)
    others = {seat: ["Bombay"] for seat in range(1, n)}
    before = position(game, at="Bombay", basket=["blue"], city_tokens=others, rupees=[0])
    after = facts(game, play(game, before, "sell:blue"))
    assert after["city_tokens"][0] == []
    assert after["city_piles"]["Bombay"] == 0
    assert after["rupees"][0] == 4


@each_count
def test_all_but_one_player_can_hold_a_citys_token(n):
    game = official(n)
    loads = dict.fromkeys(range(n), ["blue"] if n < 3 else ["orange"])
    states = position(
        game, elephants=dict.fromkeys(range(n), "Bombay"), basket=loads[0], baskets=loads, markets=[{}, {}, {}]
    )
    for _ in range(n):
        states = play(game, states, f"sell:{loads[0][0]}", "end_turn")
    assert facts(game, states)["city_tokens"] == [["Bombay"]] * (n - 1) + [[]]


@pytest.mark.parametrize("colour", ["blue", "purple", "orange"])
def test_a_sale_at_any_place_of_the_column_gains_the_city_token(colour):
    after = play(GAME, position(at="Bombay", basket=[colour]), f"sell:{colour}")
    assert facts(GAME, after)["city_tokens"][0] == ["Bombay"]


# --- Palace tokens ---


def built(site, **changes):
    """The facts, other than the palace itself, that change when a player builds on `site` with a purple bale."""
    before = position(at=site, basket=["purple"], **changes)
    found = changed(GAME, before, play(GAME, before, "build:purple"))
    always = {"palaces": {site: 0}, "palaces_left": [4, 5], "basket": [EMPTY, EMPTY], "actions_left": 2}
    assert always.items() <= found.items()
    assert found.pop("bag") == [a + b for a, b in zip(facts(GAME, before)["bag"], bales(purple=1), strict=True)]
    return {name: fact for name, fact in found.items() if name not in always}


def left_on(site):
    tokens = facts(GAME, position())["palace_tokens"]
    return {name: kind for name, kind in tokens.items() if name != site}


@pytest.mark.parametrize("site", ["G1", "G5"])
def test_a_client_palace_token_is_kept_and_does_not_come_from_the_bank(site):
    assert built(site) == {"palace_tokens": left_on(site), "client_palace_tokens": [1, 0]}


@pytest.mark.parametrize("site", ["G2", "G6"])
def test_a_city_palace_token_is_kept_and_does_not_come_from_a_pile(site):
    assert built(site) == {"palace_tokens": left_on(site), "city_palace_tokens": [1, 0]}


@pytest.mark.parametrize("site", ["G3", "G7"])
def test_a_rupees_palace_token_gains_two_rupees_immediately(site):
    assert built(site) == {"palace_tokens": left_on(site), "rupees": [4, 2]}


@pytest.mark.parametrize("site", ["G4", "G8"])
def test_a_bale_palace_token_waits_for_the_choice_of_a_bale(site):
    assert built(site) == {"palace_tokens": left_on(site), "take_pending": 1}


@each_count
@pytest.mark.parametrize("site", ["G1", "G2", "G3", "G4"])
def test_a_palace_token_leaves_the_board(n, site):
    game = official(n)
    after = play(game, position(game, at=site, basket=["purple"]), "build:purple")
    assert set(facts(game, after)["palace_tokens"]) == {f"G{i}" for i in range(1, 9)} - {site}


def test_building_on_a_site_without_a_token_gains_only_the_palace():
    assert built("H1") == {}
    assert built("A") == {}


@pytest.mark.parametrize("colour", COLOURS)
def test_a_palace_token_does_not_depend_on_the_colour_of_the_bale(colour):
    after = play(GAME, position(at="G3", basket=[colour], rupees=[0]), f"build:{colour}")
    assert facts(GAME, after)["rupees"][0] == 2


def test_moving_to_a_site_does_not_take_its_palace_token():
    before = position(at="A", rupees=[0])
    assert changed(GAME, before, play(GAME, before, "move:G3")) == {"position": ["G3", "A"], "actions_left": 2}


# --- Palace tokens: the `bale` token's take ---


def taking(markets, **changes):
    """The state after a player built with a purple bale on G4, which has a `bale` token."""
    return play(GAME, position(at="G4", **({"basket": ["purple"]} | changes), markets=markets), "build:purple")


@pytest.mark.parametrize(
    ("markets", "colours"),
    [
        ([{"blue": 3}, {"orange": 2}, {"yellow": 1}], {"blue"}),
        ([{"blue": 3, "orange": 3}, {"purple": 2}, {"yellow": 1}], {"blue", "orange"}),
        ([{"yellow": 3, "orange": 3, "blue": 3}, {}, {}], {"yellow", "blue", "orange"}),
        ([{"yellow": 1, "purple": 1, "blue": 1, "orange": 1}, {}, {}], set(COLOURS)),
        ([{}, {"orange": 2}, {"yellow": 1}], {"orange"}),
        ([{}, {"orange": 2, "purple": 2}, {"yellow": 1}], {"orange", "purple"}),
        ([{}, {}, {"yellow": 1}], {"yellow"}),
        ([{}, {}, {"yellow": 1, "purple": 3}], {"yellow", "purple"}),
    ],
)
def test_a_take_is_from_the_leftmost_market_that_holds_a_bale(markets, colours):
    """Even if there is only one colour; no other action is legal then."""
    states = taking(markets)
    assert legal(GAME, states) == {f"take:{colour}" for colour in colours}
    for colour in colours:
        after = play(GAME, states, f"take:{colour}")
        old = facts(GAME, states)["markets"]
        place = next(place for place, market in enumerate(markets) if market)
        old[place][COLOURS.index(colour)] -= 1
        assert changed(GAME, states, after) == {
            "markets": old,
            "basket": [bales(**{colour: 1}), EMPTY],
            "take_pending": 0,
        } | ({"open_posts": facts(GAME, after)["open_posts"]} if markets[place][colour] == 1 else {})


def test_a_take_is_illegal_without_a_bale_token():
    for site in SITES:
        assert "take" not in kinds_of(legal(GAME, position(at=site, basket=["blue"])))


def test_a_take_costs_nothing():
    states = taking([{"blue": 3}, {}, {}], rupees=[0, 0])
    assert mover(states) == (0, 2)
    after = play(GAME, states, "take:blue")
    assert mover(after) == (0, 2)
    assert facts(GAME, after)["rupees"] == [0, 0]


def test_a_take_does_not_use_up_the_turns_purchase():
    """G8 is adjacent to E4, which has an orange post."""
    states = position(at="G8", basket=["purple"], rupees=[2], markets=[{"orange": 3}, {}, {}])
    after = play(GAME, states, "build:purple", "take:orange", "move:E4", "buy")
    assert facts(GAME, after)["basket"][0] == bales(orange=2)
    assert mover(after) == (1, 3)


def test_a_take_does_not_need_the_turns_purchase():
    states = position(at="E4", basket=["purple"], markets=[{"orange": 3}, {}, {}])
    after = play(GAME, states, "buy", "move:G8", "build:purple")
    assert legal(GAME, after) == {"take:orange"}
    assert facts(GAME, play(GAME, after, "take:orange"))["basket"][0] == bales(orange=2)


def test_there_is_always_room_for_a_take():
    states = taking([{"blue": 3}, {}, {}], basket=["purple", "orange"])
    assert facts(GAME, play(GAME, states, "take:blue"))["basket"][0] == bales(blue=1, orange=1)


def test_the_bale_that_was_just_spent_is_in_the_bag_and_cannot_be_taken():
    assert legal(GAME, taking([{"blue": 3}, {}, {}])) == {"take:blue"}


def test_actions_left_can_still_be_used_after_a_take():
    after = play(GAME, taking([{"blue": 3}, {}, {}]), "take:blue")
    assert legal(GAME, after) == {f"move:{site}" for site in neighbours("G4")} | {"end_turn"}
    assert mover(play(GAME, after, "move:E2", "move:H2")) == (1, 3)


def test_with_no_action_left_the_turn_ends_after_the_take():
    states = taking([{"blue": 3}, {}, {}], actions_left=1)
    assert mover(states) == (0, 0)
    assert legal(GAME, states) == {"take:blue"}
    after = play(GAME, states, "take:blue")
    assert mover(after) == (1, 3)
    assert facts(GAME, after)["basket"] == [bales(blue=1), EMPTY]


def test_a_set_ends_only_after_a_pending_take():
    before = last_turn(GAME, set=0, at="G4", basket=["purple"], actions_left=1, markets=[{"blue": 2}, {}, {}])
    waiting = play(GAME, before, "build:purple")
    assert facts(GAME, waiting)["set"] == 0
    after = facts(GAME, play(GAME, waiting, "take:blue", restock=(3, 4, 2, 0)))
    assert (after["set"], after["basket"][1]) == (1, bales(blue=1))
    assert after["bag"] == bales(blue=2, orange=5)


def test_the_game_ends_only_after_a_pending_take():
    waiting = play(GAME, last_turn(GAME, at="G4", basket=["purple"], actions_left=1), "build:purple")
    assert not GAME.is_terminal(waiting)[0]
    assert GAME.is_terminal(play(GAME, waiting, "take:blue"))[0]


@pytest.mark.parametrize("left", [1, 2, 3])
def test_a_bale_token_gives_nothing_if_all_markets_are_empty(left):
    after = taking([{}, {}, {}], actions_left=left)
    seen = facts(GAME, after)
    assert seen["basket"][0] == EMPTY
    assert "G4" not in seen["palace_tokens"]
    assert mover(after) == ((0, left - 1) if left > 1 else (1, 3))
    assert "end_turn" in legal(GAME, after)


def test_two_bale_tokens_in_one_turn_give_two_bales():
    game = variant(2, actions_per_turn=9)
    states = position(game, at="G4", basket=["purple", "purple"], tokens={"G2": "bale", "G8": "city"})
    after = play(game, states, "build:purple", "take:blue", "move:Nagpur", "move:G2", "build:purple", "take:orange")
    assert facts(game, after)["basket"][0] == bales(blue=1, orange=1)


# --- Bank ---


@pytest.mark.parametrize(
    ("city", "colour", "due"),
    [("Bombay", "orange", 1), ("Bombay", "purple", 1), ("Hyderabad", "purple", 2), ("Bombay", "blue", 0)],
)
@pytest.mark.parametrize("left", [0, 1, 2, 3, 16])
def test_a_player_gets_the_remaining_client_tokens_if_too_few_are_left(city, colour, due, left):
    before = position(at=city, basket=[colour], clients=[0, 16 - left])
    after = facts(GAME, play(GAME, before, f"sell:{colour}"))
    assert after["clients"] == [min(due, left), 16 - left]
    assert after["client_supply"] == left - min(due, left)


def test_a_sale_gains_its_rupees_even_if_the_bank_has_no_client_tokens():
    before = position(at="Hyderabad", basket=["purple"], rupees=[0], clients=[0, 16])
    after = facts(GAME, play(GAME, before, "sell:purple"))
    assert after["rupees"][0] == 1
    assert after["demand"]["Hyderabad"] == ["yellow", "blue", "purple"]
    assert after["city_tokens"][0] == ["Hyderabad"]


def test_without_a_limit_client_tokens_never_run_out():
    game = variant(2, client_supply=None)
    before = position(game, at="Hyderabad", basket=["purple"], clients=[40, 40])
    after = facts(game, play(game, before, "sell:purple"))
    assert after["clients"] == [42, 40]
    assert after["client_supply"] is None


def test_client_palace_tokens_do_not_count_against_the_bank():
    before = position(at="G1", basket=["blue"], clients=[0, 16])
    after = facts(GAME, play(GAME, before, "build:blue"))
    assert after["client_palace_tokens"] == [1, 0]
    assert after["client_supply"] == 0


def test_rupees_never_run_out():
    before = position(at="Bombay", basket=["blue"], rupees=[100_000, 100_000])
    assert facts(GAME, play(GAME, before, "sell:blue"))["rupees"] == [100_004, 100_000]
