"""The reference implementation by itself: set-up, course and end of the game, checked against RULES.md by hand."""

import random
from typing import Any

import pytest

from helpers.naive_games import (
    BOARD,
    CITIES,
    DRAW,
    assert_refused,
    bag_after,
    draw_from,
    new_game,
    official,
    put,
    setup_for,
)
from naive import COLOURS, NaiveError, NaiveGame, fame_award, majority_awards, stock_markets, winning_seats

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
def test_impossible_setups_are_rejected(part: str, place: str, piece: Any) -> None:
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
def test_impossible_restocks_are_rejected(drawn: Any) -> None:
    with pytest.raises(NaiveError):
        NaiveGame(official(2), BOARD, setup_for(official(2)), drawn)


def test_colour_not_drawn_closes_its_posts() -> None:
    game = new_game(4, [3, 4, 2, 0])
    assert game.state()["open_posts"] == ["E1", "E2", "E3", "F1", "F2", "F3"]
    put(game, 0, "E4")
    assert_refused(game, "buy")


def test_last_bale_bought_closes_the_post_and_nothing_moves_left() -> None:
    game = new_game(2, [1, 4, 2, 2])  # purple is left, blue and orange centre, yellow right
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


def test_all_bales_are_drawn_from_a_bag_with_too_few() -> None:
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
    game.step("build:orange")  # gains a palace and a client token
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
    """The totals of bales, tokens, palaces and rupees are right."""
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
def test_random_games_conserve_all_pieces(n: int) -> None:
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
