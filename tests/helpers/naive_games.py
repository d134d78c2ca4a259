"""Games of the reference implementation `naive.py`, in a fixed deal."""

import copy
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest

from naive import COLOURS, KINDS, NaiveError, NaiveGame

BOARD = tomllib.loads((Path(__file__).parents[2] / "bombay_env/data/reconstruction.toml").read_text())
SITES = [site["name"] for site in BOARD["sites"]]
CITIES = ["Bombay", "Indore", "Nagpur", "Hyderabad"]
COLUMNS = [
    ["blue", "purple", "orange"],
    ["purple", "orange", "yellow"],
    ["orange", "yellow", "blue"],
    ["yellow", "blue", "purple"],
]
TOKENS = list(KINDS) * 2  # G1..G4, then G5..G8
DRAW = [3, 3, 2, 1]  # yellow and purple are left at 1 rupee, blue centre, orange right


def official(n: int) -> dict[str, Any]:
    """The official rules for n players: every field of RULES 5, with the numbers of RULES 2, 3 and 5."""
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
    """The fixed deal, or a deal shuffled by `rng`."""
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
    """A game with the fixed deal and some rules changed."""
    rules = official(n) | changes
    return NaiveGame(rules, BOARD, setup_for(rules), draw or DRAW)


def put(game: NaiveGame, seat: int, site: str, *bales: str) -> None:
    """Put a seat's elephant on a site, and bales from the bag on the elephant."""
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
    """The bales in the bag if this action ended the set: all bales that are not on elephants then."""
    state, seat = game.state(), game.current_player()
    carried = [sum(basket[c] for basket in state["basket"]) for c in range(4)]
    verb, _, colour = action.partition(":")
    if verb == "buy":
        carried[COLOURS.index(game.posts[game.position[seat]])] += 1
    elif verb in ("sell", "build", "take"):
        carried[COLOURS.index(colour)] += 1 if verb == "take" else -1
    return [game.rules["bales"][c] - carried[c] for c in range(4)]


def assert_refused(game: NaiveGame, action: str, restock: list[int] | None = None) -> None:
    """Assert that the action raises an error and changes nothing."""
    before = game.state(), copy.deepcopy(game.ledger), game.legal_actions()
    with pytest.raises(NaiveError):
        game.step(action, restock)
    assert (game.state(), game.ledger, game.legal_actions()) == before
