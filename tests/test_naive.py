"""The slow twin by itself: facts read off RULES.md by hand, and random games that must lose nothing. A fixed deal
(`SETUP`) and a fixed restock keep the positions readable; bales are put on an elephant straight from the bag."""

import copy
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from naive import COLOURS, KINDS, NaiveError, NaiveGame, fame_award, majority_awards, stock_markets, winning_seats

BOARD = tomllib.loads((Path(__file__).parent.parent / "bombay_env/data/reconstruction.toml").read_text())
SITES = [site["name"] for site in BOARD["sites"]]
CITIES = ["Bombay", "Indore", "Nagpur", "Hyderabad"]
COLUMNS = [
    ["blue", "purple", "orange"],
    ["purple", "orange", "yellow"],
    ["orange", "yellow", "blue"],
    ["yellow", "blue", "purple"],
]
TOKENS = list(KINDS) * 2  # G1..G4, then G5..G8
DRAW = [3, 3, 2, 1]  # yellow and purple left at 1 rupee, blue centre, orange right


def official(n: int) -> dict[str, Any]:
    """The official rules for n players, every field of RULES 5, numbers from RULES 2, 3 and 5."""
    return {
        "num_players": n,
        "sets": {2: 4, 3: 3, 4: 4, 5: 5}[n],
        "turns_per_set": {2: 4, 3: 5, 4: 4, 5: 3}[n],
        "rotate_first_player": True,
        "actions_per_turn": 3,
        "starting_rupees": [2, 2, 2, 2, 3][:n],
        "bales": [3, 4, 5, 5],
        "restock_draw": 9,
        "basket": 2,
        "buys_per_turn": 1,
        "move_cost": 1,
        "hill_cost": 2,
        "market_rupees": [1, 1, 2],
        "market_actions": [1, 2, 2],
        "sell_cost": 1,
        "build_cost": 1,
        "sale_rupees": [4, 3, 1],
        "sale_clients": [0, 0, 1],
        "colour_rupees": [1, 0, 0, 0],
        "colour_clients": [0, 1, 0, 0],
        "palaces": 5,
        "toll": 1,
        "consolidate_rupees": 1,
        "palace_tokens": [2, 2, 2, 2],
        "palace_token_rupees": 2,
        "city_tokens": n - 1,
        "client_supply": 16,
        "majority": {2: [4, 0], 3: [6, 2, 0], 4: [8, 4, 2, 0], 5: [8, 6, 4, 2, 0]}[n],
        "fame": [0, 0, 0, 4, 8],
        "outer_posts": n >= 4,
        "demand_columns": copy.deepcopy(COLUMNS),
    }


def setup_for(rules: dict[str, Any], rng: random.Random | None = None) -> dict[str, Any]:
    """The fixed deal, or one shuffled by `rng`."""
    columns, tokens = copy.deepcopy(rules["demand_columns"]), list(TOKENS)
    post_sites = [f"E{i}" for i in (1, 2, 3, 4)] + ([f"F{i}" for i in (1, 2, 3, 4)] if rules["outer_posts"] else [])
    posts = list(COLOURS) * (len(post_sites) // 4)
    if rng:
        for pieces in (columns, tokens, posts):
            rng.shuffle(pieces)
    return {
        "demand": dict(zip(CITIES, columns, strict=True)),
        "posts": dict(zip(post_sites, posts, strict=True)),
        "palace_tokens": dict(zip([f"G{i}" for i in range(1, 9)], tokens, strict=True)),
    }


def new_game(n: int = 2, draw: list[int] | None = None, **changes: Any) -> NaiveGame:
    """A game in its fixed deal, with some rules changed."""
    rules = official(n) | changes
    return NaiveGame(rules, BOARD, setup_for(rules), draw or DRAW)


def put(game: NaiveGame, seat: int, site: str, *bales: str) -> None:
    """Stand a seat's elephant on a site and load bales from the bag."""
    game.position[seat] = site
    for colour in bales:
        game.bag[colour] -= 1
        game.basket[seat][colour] += 1


def draw_from(bag: list[int], number: int, rng: random.Random) -> list[int]:
    """Bales drawn without replacement, counted by colour."""
    bales = [colour for colour, held in enumerate(bag) for _ in range(held)]
    drawn = rng.sample(bales, min(number, len(bales)))
    return [drawn.count(colour) for colour in range(4)]


def bag_after(game: NaiveGame, action: str) -> list[int]:
    """What the bag would hold if this action ended the set: all bales but those still on elephants."""
    state, seat = game.state(), game.current_player()
    carried = [sum(basket[c] for basket in state["basket"]) for c in range(4)]
    verb, _, colour = action.partition(":")
    if verb == "buy":
        carried[COLOURS.index(game.posts[game.position[seat]])] += 1
    elif verb in ("sell", "build", "take"):
        carried[COLOURS.index(colour)] += 1 if verb == "take" else -1
    return [game.rules["bales"][c] - carried[c] for c in range(4)]


def assert_refused(game: NaiveGame, action: str, restock: list[int] | None = None) -> None:
    """The action is refused and nothing changes."""
    before = game.state(), copy.deepcopy(game.ledger), game.legal_actions()
    with pytest.raises(NaiveError):
        game.step(action, restock)
    assert (game.state(), game.ledger, game.legal_actions()) == before


# RULES 2: set-up


def test_first_state() -> None:
    state = new_game(2).state()
    assert state["position"] == ["A", "A"]
    assert state["rupees"] == [2, 2]
    assert state["bag"] == [0, 1, 3, 4]
    assert state["city_piles"] == dict.fromkeys(CITIES, 1)
    assert (state["current_player"], state["first_player"], state["set"], state["turn"]) == (0, 0, 0, 0)
    assert (state["actions_left"], state["buys"], state["take_pending"], state["over"]) == (3, 0, False, False)
    assert new_game(5).state()["rupees"] == [2, 2, 2, 2, 3]
    assert len(new_game(3).state()["posts"]) == 4
    assert len(new_game(4).state()["posts"]) == 8


@pytest.mark.parametrize(
    ("part", "place", "piece"),
    [
        ("demand", "Bombay", ["purple", "blue", "orange"]),
        ("demand", "E1", ["blue", "purple", "orange"]),
        ("posts", "E1", "purple"),
        ("posts", "F1", "yellow"),
        ("palace_tokens", "G1", "bale"),
        ("palace_tokens", "H1", "client"),
    ],
)
def test_impossible_setups_are_refused(part: str, place: str, piece: Any) -> None:
    setup = setup_for(official(2))
    setup[part][place] = piece
    with pytest.raises(NaiveError):
        NaiveGame(official(2), BOARD, setup, DRAW)


def test_post_sites_follow_outer_posts() -> None:
    with pytest.raises(NaiveError):
        NaiveGame(official(4), BOARD, setup_for(official(3)), DRAW)
    with pytest.raises(NaiveError):
        NaiveGame(official(3), BOARD, setup_for(official(4)), DRAW)


# RULES 3: restock, closed posts, course of the game


@pytest.mark.parametrize(
    ("drawn", "markets"),
    [
        ([3, 3, 2, 1], [[3, 3, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]),
        ([3, 2, 2, 2], [[3, 0, 0, 0], [0, 2, 2, 2], [0, 0, 0, 0]]),
        ([1, 3, 3, 2], [[0, 3, 3, 0], [0, 0, 0, 2], [1, 0, 0, 0]]),
        ([0, 0, 4, 5], [[0, 0, 0, 5], [0, 0, 4, 0], [0, 0, 0, 0]]),
        ([1, 1, 2, 5], [[0, 0, 0, 5], [0, 0, 2, 0], [1, 1, 0, 0]]),
        ([3, 4, 5, 5], [[0, 0, 5, 5], [0, 4, 0, 0], [3, 0, 0, 0]]),
        ([1, 2, 3, 4], [[0, 0, 0, 4], [0, 0, 3, 0], [1, 2, 0, 0]]),
    ],
)
def test_restock_examples(drawn: list[int], markets: list[list[int]]) -> None:
    assert new_game(2, drawn, restock_draw=sum(drawn)).state()["markets"] == markets
    assert stock_markets(dict(zip(COLOURS, drawn, strict=True)))["left"] == dict(zip(COLOURS, markets[0], strict=True))


@pytest.mark.parametrize("drawn", [[3, 3, 2, 2], [2, 2, 2, 2], [4, 2, 2, 1], [-1, 4, 3, 3], [3, 3, 3], None])
def test_impossible_restocks_are_refused(drawn: Any) -> None:
    with pytest.raises(NaiveError):
        NaiveGame(official(2), BOARD, setup_for(official(2)), drawn)


def test_colour_not_drawn_closes_its_posts() -> None:
    game = new_game(4, [3, 4, 2, 0])
    assert game.state()["open_posts"] == ["E1", "E2", "E3", "F1", "F2", "F3"]
    put(game, 0, "E4")
    assert_refused(game, "buy")


def test_last_bale_bought_closes_the_post_and_nothing_moves_left() -> None:
    game = new_game(2, [1, 4, 2, 2])  # purple left, blue and orange centre, yellow right
    put(game, 0, "E1")
    game.step("buy")
    assert game.state()["rupees"] == [0, 2]
    assert game.state()["actions_left"] == 1
    assert game.state()["open_posts"] == ["E2", "E3", "E4"]
    assert game.state()["markets"] == [[0, 4, 0, 0], [0, 0, 2, 2], [0, 0, 0, 0]]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_player_turns_and_first_players(n: int) -> None:
    game, turns, firsts = new_game(n), 0, []
    while not game.over:
        if game.state()["turn"] == 0 and game.state()["current_player"] == game.state()["first_player"]:
            firsts.append(game.state()["first_player"])
        game.step("end_turn", DRAW)
        turns += 1
    assert turns == {2: 32, 3: 45, 4: 64, 5: 75}[n]
    assert firsts == [number % n for number in range(official(n)["sets"])]
    assert game.legal_actions() == []
    with pytest.raises(NaiveError):
        game.step("end_turn")


def test_first_player_may_stay() -> None:
    game = new_game(2, rotate_first_player=False, turns_per_set=1)
    game.step("end_turn")
    game.step("end_turn", DRAW)
    assert (game.state()["set"], game.state()["first_player"], game.state()["current_player"]) == (1, 0, 0)


def test_end_of_a_set_refills_the_bag_and_keeps_baskets() -> None:
    game = new_game(2, turns_per_set=1, sets=2)
    put(game, 0, "E1")
    for action in ("buy", "end_turn"):
        game.step(action)
    for impossible in (None, [3, 3, 2, 1], [0, 0, 4, 4]):
        assert_refused(game, "end_turn", impossible)
    game.step("end_turn", [2, 0, 2, 5])
    state = game.state()
    assert state["basket"] == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert state["bag"] == [0, 4, 3, 0]
    assert state["markets"] == [[0, 0, 0, 5], [2, 0, 2, 0], [0, 0, 0, 0]]
    assert (state["set"], state["current_player"], state["turn"]) == (1, 1, 0)
    game.step("end_turn")
    game.step("end_turn")
    state = game.state()
    assert (state["over"], state["set"], state["turn"], state["current_player"]) == (True, 2, 0, -1)
    assert (state["first_player"], state["actions_left"], state["buys"], state["take_pending"]) == (1, 0, 0, False)
    assert state["markets"] == [[0] * 4] * 3
    assert state["bag"] == [2, 4, 5, 5]
    assert state["open_posts"] == ["E1", "E2", "E3", "E4"]


def test_short_bag_is_drawn_whole() -> None:
    game = new_game(5, sets=2, turns_per_set=1)
    for seat, bales in enumerate(
        [("blue", "blue"), ("blue", "orange"), ("orange", "orange"), ("orange",), ("purple",)]
    ):
        put(game, seat, "A", *bales)
    for seat in (3, 4):
        game.markets["left"]["purple"] -= 1
        game.basket[seat]["purple"] += 1
    assert bag_after(game, "end_turn") == [3, 1, 2, 1]
    for _ in range(4):
        game.step("end_turn")
    assert_refused(game, "end_turn", [3, 1, 2, 0])
    game.step("end_turn", [3, 1, 2, 1])
    assert game.state()["markets"] == [[3, 0, 0, 0], [0, 0, 2, 0], [0, 1, 0, 1]]
    assert game.state()["bag"] == [0, 0, 0, 0]


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


def test_one_city_token_a_player_and_city() -> None:
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
    assert game.state()["rupees"] == [2, 2]  # one's own palace, and one entered before it stood, pay nothing
    for action in ("move:Bombay", "move:H1", "move:Bombay"):
        game.step(action)
    assert game.state()["rupees"] == [3, 2]  # the bank pays, once an entry
    assert game.ledger[0]["tolls"] == 1


def test_consolidate() -> None:
    game = new_game()
    game.step("consolidate")
    assert game.state()["rupees"] == [3, 2]
    assert game.state()["current_player"] == 1
    assert game.ledger[0]["consolidation"] == 1


def test_a_turn_lasts_while_an_action_is_left() -> None:
    game = new_game()
    put(game, 0, "F1", "orange")  # with 2 players no post stands here
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


def test_bale_token_gives_a_take_of_its_own() -> None:
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


# RULES 5: end of the game


@pytest.mark.parametrize(
    ("totals", "awards"),
    [
        ([6, 6, 4, 2], [6, 6, 2, 0]),
        ([5, 0, 0, 0], [8, 2, 2, 2]),
        ([3, 3, 3, 1], [4, 4, 4, 0]),
        ([2, 2, 2, 2], [3, 3, 3, 3]),
        ([1, 2, 3, 4], [0, 2, 4, 8]),
        ([2, 2, 2], [2, 2, 2]),
        ([0, 4, 0], [1, 6, 1]),
        ([0, 0], [2, 2]),
        ([1, 0], [4, 0]),
        ([0, 0, 0, 0, 0], [4, 4, 4, 4, 4]),
        ([3, 1, 3, 1, 0], [7, 3, 7, 3, 0]),
    ],
)
def test_majority_examples(totals: list[int], awards: list[int]) -> None:
    assert majority_awards(totals, official(len(totals))["majority"]) == awards


def test_fame() -> None:
    assert [fame_award(number, official(4)["fame"]) for number in range(7)] == [0, 0, 0, 4, 8, 8, 8]


def test_winners() -> None:
    assert winning_seats([9, 12, 12], [9, 1, 2]) == [2]
    assert winning_seats([12, 9, 12], [2, 9, 2]) == [0, 2]


def test_result() -> None:
    game = new_game(3, sets=1, turns_per_set=1)
    put(game, 0, "G1", "orange")
    game.step("build:orange")  # a palace and a client token
    game.step("end_turn")
    put(game, 1, "Hyderabad", "purple")
    game.step("sell:purple")  # 1 rupee and 2 Client tokens
    game.city_tokens[1] |= {"Bombay"}
    game.city_palace_tokens[1] = 1
    game.step("end_turn")
    assert game.result() is None
    game.step("end_turn")
    assert game.result() == {
        "rupees": [2, 3, 2],
        "clients": [1, 2, 0],
        "empire": [2, 2, 0],
        "majority": [4, 4, 0],
        "city_tokens": [0, 3, 0],
        "fame": [0, 4, 0],
        "final": [6, 11, 2],
        "winners": [1],
        "win_share": [0, 1, 0],
    }


def test_shared_win() -> None:
    game = new_game(2, sets=1, turns_per_set=1)
    game.step("end_turn")
    game.step("end_turn")
    result = game.result()
    assert result is not None
    assert (result["winners"], result["win_share"]) == ([0, 1], [0.5, 0.5])


# Random games


def assert_nothing_lost(game: NaiveGame, rules: dict[str, Any]) -> None:
    """Bales, tokens, palaces and rupees all add up."""
    state, seats = game.state(), range(rules["num_players"])
    heaps = [state["bag"], *state["markets"], *state["basket"]]
    assert [sum(heap[c] for heap in heaps) for c in range(4)] == rules["bales"]
    assert all(sum(basket) <= rules["basket"] for basket in state["basket"])
    assert [sum(entries.values()) for entries in game.ledger] == state["rupees"]
    assert min(state["rupees"]) >= 0
    assert [state["palaces_left"][s] + list(state["palaces"].values()).count(s) for s in seats] == [5 for _ in seats]
    assert state["palaces"].keys().isdisjoint([*state["palace_tokens"], *state["posts"], *CITIES])
    assert sum(state["clients"]) + state["client_supply"] == rules["client_supply"]
    for city in CITIES:
        assert state["city_piles"][city] + sum(city in held for held in state["city_tokens"]) == rules["city_tokens"]
        assert len(set(state["demand"][city])) == 3
    assert (game.legal_actions() == []) == state["over"]


def likely(action: str) -> int:
    """Weights that let random games trade and build."""
    return {"end_turn": 1, "consolidate": 1, "move": 6}.get(action.partition(":")[0], 40)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_random_games_lose_nothing(n: int) -> None:
    rules, played = official(n), set()
    for seed in range(10):
        rng = random.Random(seed)
        game = NaiveGame(rules, BOARD, setup_for(rules, rng), draw_from(rules["bales"], 9, rng))
        while not game.over:
            assert_nothing_lost(game, rules)
            legal = game.legal_actions()
            action = rng.choices(legal, [likely(name) for name in legal])[0]
            game.step(action, draw_from(bag_after(game, action), rules["restock_draw"], rng))
            played.add(action.partition(":")[0])
        assert_nothing_lost(game, rules)
        result = game.result()
        assert result is not None
        assert sum(result["win_share"]) == pytest.approx(1)
    assert played == {"move", "buy", "sell", "build", "take", "consolidate", "end_turn"}
