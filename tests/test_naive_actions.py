"""The reference implementation by itself: the actions of a turn, checked against RULES.md by hand."""

import pytest

from helpers.naive_games import SITES, assert_refused, new_game, put
from naive import COLOURS

# RULES 4: the turn


def test_action_names() -> None:
    names = new_game().action_names()
    assert names[:24] == [f"move:{site}" for site in SITES]
    assert names[24:] == [
        "buy",
        *(f"{verb}:{colour}" for verb in ("sell", "build", "take") for colour in COLOURS),
        "consolidate",
        "end_turn",
    ]


def test_moves_cost_one_and_hilltops_two() -> None:
    game = new_game()
    assert game.legal_actions() == [*(f"move:{s}" for s in ("E1", "E3", "E4", "G3", "H1")), "consolidate", "end_turn"]
    game.step("move:G3")
    assert game.state()["actions_left"] == 2
    assert "move:B" in game.legal_actions()
    assert_refused(game, "consolidate")
    assert_refused(game, "move:G3")
    assert_refused(game, "move:E2")
    assert_refused(game, "fly:B")
    game.step("move:Indore")
    game.step("move:G3")
    put(game, 1, "H2")
    for action in ("move:Indore", "move:G3"):
        game.step(action)
    assert game.state()["position"] == ["G3", "G3"]
    assert game.legal_actions() == ["move:Indore", "end_turn"]  # both hilltops are adjacent and cost 2


def test_changed_move_costs() -> None:
    game = new_game(move_cost=2, hill_cost=4)
    game.step("move:G3")
    assert game.state()["actions_left"] == 1
    assert game.legal_actions() == ["end_turn"]
    put(game, 0, "E2")
    game.step("end_turn")
    put(game, 1, "G3")
    assert game.legal_actions() == ["move:Indore", "consolidate", "end_turn"]


@pytest.mark.parametrize(("site", "actions", "rupees"), [("E1", 1, 1), ("E2", 1, 1), ("E3", 2, 1), ("E4", 2, 2)])
def test_market_prices(site: str, actions: int, rupees: int) -> None:
    game = new_game()
    put(game, 0, site)
    game.step("buy")
    assert game.state()["actions_left"] == 3 - actions
    assert game.state()["rupees"][0] == 2 - rupees
    assert game.ledger[0]["purchases"] == -rupees
    assert sum(game.state()["basket"][0]) == game.state()["buys"] == 1
    assert "buy" not in game.legal_actions()


def test_buying_needs_room_rupees_and_actions() -> None:
    game = new_game()
    put(game, 0, "E1", "blue", "orange")
    assert_refused(game, "buy")
    poor = new_game(starting_rupees=[1, 1])
    put(poor, 0, "E4")
    assert_refused(poor, "buy")
    tired = new_game()
    put(tired, 0, "G8")
    for action in ("move:E4", "move:G8", "end_turn"):
        tired.step(action)
    put(tired, 1, "G8")
    tired.step("move:E4")
    assert "buy" in tired.legal_actions()
    tired.actions_left = 1
    assert_refused(tired, "buy")


def test_buys_per_turn_and_basket_are_rules() -> None:
    game = new_game(buys_per_turn=2, basket=3)
    put(game, 0, "E1", "blue")
    game.step("buy")
    game.step("buy")
    assert game.state()["basket"][0] == [2, 0, 1, 0]
    assert "buy" not in game.legal_actions()


def test_selling_example() -> None:
    game = new_game()
    put(game, 0, "Bombay", "purple")
    game.step("sell:purple")
    state = game.state()
    assert state["demand"]["Bombay"] == ["blue", "orange", "purple"]
    assert (state["rupees"][0], state["clients"][0], state["client_supply"]) == (5, 1, 15)
    assert state["bag"] == [0, 1, 3, 4]
    assert state["city_tokens"] == [["Bombay"], []]
    assert state["city_piles"]["Bombay"] == 0
    assert (game.ledger[0]["sales"], game.ledger[0]["bonuses"]) == (3, 0)


@pytest.mark.parametrize(
    ("city", "colour", "sales", "bonus", "clients", "column"),
    [
        ("Bombay", "blue", 4, 0, 0, ["purple", "orange", "blue"]),
        ("Bombay", "orange", 1, 0, 1, ["blue", "purple", "orange"]),
        ("Hyderabad", "yellow", 4, 1, 0, ["blue", "purple", "yellow"]),
        ("Indore", "yellow", 1, 1, 1, ["purple", "orange", "yellow"]),
        ("Hyderabad", "purple", 1, 0, 2, ["yellow", "blue", "purple"]),
    ],
)
def test_sales(city: str, colour: str, sales: int, bonus: int, clients: int, column: list[str]) -> None:
    game = new_game(2, [1, 1, 3, 4])
    put(game, 0, city, colour)
    game.step(f"sell:{colour}")
    assert (game.ledger[0]["sales"], game.ledger[0]["bonuses"]) == (sales, bonus)
    assert game.state()["clients"] == [clients, 0]
    assert game.state()["demand"][city] == column


def test_selling_needs_demand_and_a_bale() -> None:
    game = new_game(2, [1, 1, 3, 4])
    put(game, 0, "Bombay", "yellow")
    assert_refused(game, "sell:yellow")
    assert_refused(game, "sell:blue")
    put(game, 0, "H1", "blue")
    assert_refused(game, "sell:blue")


def test_a_player_gets_one_token_of_each_city() -> None:
    game = new_game(3)
    put(game, 0, "Bombay", "blue", "blue")
    game.step("sell:blue")
    game.step("sell:blue")
    assert game.state()["city_tokens"] == [["Bombay"], [], []]
    assert game.state()["city_piles"]["Bombay"] == 1
    game.step("end_turn")
    put(game, 1, "Bombay", "orange")
    game.step("sell:orange")
    game.step("end_turn")
    put(game, 2, "Bombay", "orange")
    game.step("sell:orange")
    assert game.state()["city_tokens"] == [["Bombay"], ["Bombay"], []]
    assert game.state()["city_piles"]["Bombay"] == 0


@pytest.mark.parametrize(("supply", "taken", "left"), [(1, 1, 0), (0, 0, 0), (None, 2, None)])
def test_client_supply(supply: int | None, taken: int, left: int | None) -> None:
    game = new_game(client_supply=supply)
    put(game, 0, "Hyderabad", "purple")
    game.step("sell:purple")
    assert game.state()["clients"][0] == taken
    assert game.state()["client_supply"] == left


@pytest.mark.parametrize("site", ["A", "B", "H1", "F1", "G1"])
def test_sites_without_a_building(site: str) -> None:
    game = new_game(3)
    put(game, 0, site, "orange")
    game.step("build:orange")
    assert game.state()["palaces"] == {site: 0}
    assert game.state()["palaces_left"] == [4, 5, 5]
    assert game.state()["bag"] == [0, 1, 3, 4]


def test_sites_with_a_building() -> None:
    game = new_game(4)
    put(game, 0, "F1", "orange", "orange")
    assert_refused(game, "build:orange")
    put(game, 0, "Bombay")
    assert_refused(game, "build:orange")
    put(game, 0, "H1")
    game.step("build:orange")
    assert_refused(game, "build:orange")
    put(game, 0, "H2")
    assert_refused(game, "build:blue")
    game.palaces_left[0] = 0
    assert_refused(game, "build:orange")


def test_toll() -> None:
    game = new_game()
    put(game, 0, "H1", "orange")
    put(game, 1, "H1")
    for action in ("build:orange", "move:E1", "move:H1"):
        game.step(action)
    assert game.state()["rupees"] == [2, 2]  # no toll at the player's own palace, or where the palace was built later
    for action in ("move:Bombay", "move:H1", "move:Bombay"):
        game.step(action)
    assert game.state()["rupees"] == [3, 2]  # the bank pays one toll for each entry
    assert game.ledger[0]["tolls"] == 1


def test_consolidate() -> None:
    game = new_game()
    game.step("consolidate")
    assert game.state()["rupees"] == [3, 2]
    assert game.state()["current_player"] == 1
    assert game.ledger[0]["consolidation"] == 1


def test_a_turn_lasts_while_an_action_is_left() -> None:
    game = new_game()
    put(game, 0, "F1", "orange")  # with 2 players there is no post here
    game.step("build:orange")
    game.step("move:G1")
    assert game.state()["current_player"] == 0
    game.step("move:F1")
    assert game.state()["current_player"] == 1
    game.step("end_turn")
    assert game.state()["current_player"] == 0
    assert game.state()["actions_left"] == 3


@pytest.mark.parametrize(("site", "field"), [("G1", "client_palace_tokens"), ("G2", "city_palace_tokens")])
def test_palace_tokens_kept(site: str, field: str) -> None:
    game = new_game()
    put(game, 0, site, "orange")
    game.step("build:orange")
    state = game.state()
    assert state[field] == [1, 0]
    assert site not in state["palace_tokens"]
    assert (state["clients"], state["client_supply"]) == ([0, 0], 16)


def test_rupees_token() -> None:
    game = new_game()
    put(game, 0, "G3", "orange")
    game.step("build:orange")
    assert game.state()["rupees"] == [4, 2]
    assert game.ledger[0]["tokens"] == 2


def test_a_bale_token_gives_a_take() -> None:
    game = new_game()
    put(game, 0, "G4", "orange", "orange")
    game.step("build:orange")
    assert game.state()["take_pending"]
    assert game.legal_actions() == ["take:yellow", "take:purple"]
    assert_refused(game, "take:blue")
    assert_refused(game, "end_turn")
    game.step("take:purple")
    state = game.state()
    assert (state["take_pending"], state["actions_left"], state["buys"]) == (False, 2, 0)
    assert state["basket"][0] == [0, 1, 0, 1]
    assert state["rupees"] == [2, 2]
    assert state["markets"][0] == [3, 2, 0, 0]


def test_take_from_the_leftmost_market_that_holds_a_bale() -> None:
    game = new_game()
    game.bag["yellow"] += game.markets["left"]["yellow"]
    game.bag["purple"] += game.markets["left"]["purple"]
    game.markets["left"] = dict.fromkeys(COLOURS, 0)
    put(game, 0, "G4", "orange")
    game.step("build:orange")
    assert game.legal_actions() == ["take:blue"]
    game.step("take:blue")
    assert game.state()["actions_left"] == 2


def test_empty_markets_give_no_take() -> None:
    game = new_game(2, [0, 0, 0, 0], restock_draw=0)
    put(game, 0, "G4", "orange")
    game.step("build:orange")
    assert not game.state()["take_pending"]
    assert "G4" not in game.state()["palace_tokens"]
    assert game.state()["basket"][0] == [0, 0, 0, 0]


def test_turn_and_set_end_after_a_last_take() -> None:
    game = new_game(turns_per_set=1, build_cost=3)
    game.step("end_turn")
    put(game, 1, "G4", "orange")
    game.step("build:orange")  # no restock is needed yet
    assert (game.state()["actions_left"], game.state()["current_player"]) == (0, 1)
    assert_refused(game, "take:purple")
    assert_refused(game, "take:purple", [0, 4, 0, 5])
    game.step("take:purple", [0, 3, 1, 5])
    assert game.state()["set"] == 1
    assert game.state()["basket"][1] == [0, 1, 0, 0]


def test_costs_beyond_a_turn_are_never_legal() -> None:
    game = new_game(2, [1, 1, 3, 4], sell_cost=4, build_cost=4, market_actions=[4, 4, 4])
    put(game, 0, "Bombay", "blue")
    assert_refused(game, "sell:blue")
    put(game, 0, "H1")
    assert_refused(game, "build:blue")
    put(game, 0, "E3")
    assert_refused(game, "buy")
