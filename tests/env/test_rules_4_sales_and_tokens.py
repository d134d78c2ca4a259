"""RULES 4: what a sale gains, City tokens, palace tokens and the bank."""

import pytest

from helpers.position import (
    COLOURS,
    GAME,
    bales,
    changed,
    each_count,
    facts,
    last_turn,
    official,
    position,
    variant,
)
from helpers.rules import EMPTY, SITES, kinds_of, legal, mover, neighbours, play

# --- Sale ---

SALES = [  # city, colour, rupees, Client tokens, the column after the sale: each colour from the top, the middle and the bottom
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
    """It costs one action and moves the cube to the bottom. The bale returns to the bag, and the player takes a City token."""
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


@pytest.mark.parametrize(
    "markets",
    [[{"blue": 3}, {}, {}], [{}, {}, {"blue": 3}], [{}, {}, {}]],
    ids=["left", "right", "none"],
)
def test_market_prices_do_not_affect_a_sale(markets):
    after = play(GAME, position(at="Bombay", basket=["blue"], rupees=[0], markets=markets), "sell:blue")
    assert facts(GAME, after)["rupees"] == [4, 2]


@pytest.mark.parametrize(("second", "rupees", "clients"), [("blue", 4 + 1, 1), ("orange", 4 + 3, 0)])
def test_a_second_sale_gains_the_price_of_the_cubes_new_place(second, rupees, clients):
    """The blue cube is at the bottom now, and the orange one moved up to the middle."""
    states = position(at="Bombay", basket=["blue", second], rupees=[0])
    after = facts(GAME, play(GAME, states, "sell:blue", f"sell:{second}"))
    assert (after["rupees"][0], after["clients"][0]) == (rupees, clients)


# --- Sale: the City token ---


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
def test_no_city_token_is_left_for_the_last_player_but_rupees_are(n):
    game = official(n)
    elephants, loads = dict.fromkeys(range(n), "Bombay"), {seat: ["orange"] for seat in range(n)}
    states = position(game, elephants=elephants, baskets=loads, rupees=[0] * n, markets=[{}, {}, {}])
    for _ in range(n):
        states = play(game, states, "sell:orange", "end_turn")
    after = facts(game, states)
    assert after["city_tokens"] == [["Bombay"]] * (n - 1) + [[]]
    assert after["city_piles"]["Bombay"] == 0
    assert after["rupees"][-1] == 1


# --- Palace tokens ---


@pytest.mark.parametrize(
    ("site", "gains"),
    [
        ("G1", {"client_palace_tokens": [1, 0]}),  # the bank and the piles lose no token
        ("G5", {"client_palace_tokens": [1, 0]}),
        ("G2", {"city_palace_tokens": [1, 0]}),
        ("G6", {"city_palace_tokens": [1, 0]}),
        ("G3", {"rupees": [4, 2]}),
        ("G7", {"rupees": [4, 2]}),
        ("G4", {"take_pending": True}),
        ("G8", {"take_pending": True}),
        ("H1", {}),
        ("A", {}),
    ],
)
@pytest.mark.parametrize("colour", ["purple", "orange"])
def test_a_palace_gains_the_sites_palace_token_which_leaves_the_board(site, gains, colour):
    """Whatever the colour of the bale."""
    before = position(at=site, basket=[colour])
    old = facts(GAME, before)
    tokens = {name: kind for name, kind in old["palace_tokens"].items() if name != site}
    assert changed(GAME, before, play(GAME, before, f"build:{colour}")) == gains | {
        "palaces": {site: 0},
        "palaces_left": [4, 5],
        "basket": [EMPTY, EMPTY],
        "bag": [count + (name == colour) for name, count in zip(COLOURS, old["bag"], strict=True)],
        "actions_left": 2,
    } | ({"palace_tokens": tokens} if tokens != old["palace_tokens"] else {})


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
        ([{"yellow": 1, "purple": 1, "blue": 1, "orange": 1}, {}, {}], set(COLOURS)),
        ([{}, {"orange": 2, "purple": 2}, {"yellow": 1}], {"orange", "purple"}),
        ([{}, {}, {"yellow": 1}], {"yellow"}),
    ],
)
def test_a_take_is_from_the_leftmost_market_that_holds_a_bale_and_costs_nothing(markets, colours):
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
            "take_pending": False,
        } | ({"open_posts": facts(GAME, after)["open_posts"]} if markets[place][colour] == 1 else {})


def test_a_take_is_illegal_without_a_bale_token():
    for site in SITES:
        assert "take" not in kinds_of(legal(GAME, position(at=site, basket=["blue"])))


def test_a_take_does_not_use_up_the_turns_purchase():
    """G8 is adjacent to E4, which has an orange post."""
    states = position(at="G8", basket=["purple"], rupees=[2], markets=[{"orange": 3}, {}, {}])
    after = play(GAME, states, "build:purple", "take:orange", "move:E4", "buy")
    assert facts(GAME, after)["basket"][0] == bales(orange=2)
    assert mover(after) == (1, 3)


def test_a_take_does_not_need_the_turns_purchase_and_there_is_always_room():
    states = position(at="E4", basket=["purple"], markets=[{"orange": 3}, {}, {}])
    after = play(GAME, states, "buy", "move:G8", "build:purple")
    assert legal(GAME, after) == {"take:orange"}
    assert facts(GAME, play(GAME, after, "take:orange"))["basket"][0] == bales(orange=2)


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


@pytest.mark.parametrize("left", [1, 2])
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
    ("city", "colour", "due", "rupees"),
    [("Bombay", "orange", 1, 1), ("Bombay", "purple", 1, 3), ("Hyderabad", "purple", 2, 1)],
)
@pytest.mark.parametrize("left", [0, 1, 2, 16])
def test_a_player_gets_the_remaining_client_tokens_if_too_few_are_left(city, colour, due, rupees, left):
    """And everything else that the sale gains."""
    before = position(at=city, basket=[colour], rupees=[0], clients=[0, 16 - left])
    after = facts(GAME, play(GAME, before, f"sell:{colour}"))
    assert after["clients"] == [min(due, left), 16 - left]
    assert after["client_supply"] == left - min(due, left)
    assert after["rupees"][0] == rupees
    assert after["city_tokens"][0] == [city]


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
