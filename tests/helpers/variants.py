"""Random variants of the rules, within the ranges that `Rules` allows, for tests of properties that hold for all variants."""

import functools
import itertools
import random
from importlib import resources

from bombay_env import Board, Game, Rules
from bombay_env.rules import COLOUR_NAMES


def random_rules(rng: random.Random, num_players: int) -> Rules:
    """Rules with about half of the fields changed."""
    bales = tuple(rng.randint(2, 6) for _ in range(4))
    tokens = [rng.randint(0, 8) for _ in range(3)]
    cuts = [0, *sorted(tokens), 8]
    changes = {
        "sets": rng.randint(1, 5),
        "turns_per_set": rng.randint(1, 5),
        "rotate_first_player": rng.random() < 0.5,
        "actions_per_turn": rng.randint(1, 5),
        "starting_rupees": tuple(rng.randint(0, 5) for _ in range(num_players)),
        "bales": bales,
        "basket": rng.randint(1, 4),
        "buys_per_turn": rng.randint(0, 3),
        "move_cost": rng.randint(1, 2),
        "hill_cost": rng.randint(1, 4),
        "market_rupees": tuple(rng.randint(0, 3) for _ in range(3)),
        "market_actions": tuple(rng.randint(1, 3) for _ in range(3)),
        "sell_cost": rng.randint(1, 2),
        "build_cost": rng.randint(1, 2),
        "sale_rupees": tuple(rng.randint(0, 6) for _ in range(3)),
        "sale_clients": tuple(rng.randint(0, 2) for _ in range(3)),
        "colour_rupees": tuple(rng.randint(0, 2) for _ in range(4)),
        "colour_clients": tuple(rng.randint(0, 2) for _ in range(4)),
        "palaces": rng.randint(0, 7),
        "toll": rng.randint(0, 3),
        "consolidate_rupees": rng.randint(0, 3),
        "palace_tokens": tuple(high - low for low, high in itertools.pairwise(cuts)),
        "palace_token_rupees": rng.randint(0, 4),
        "city_tokens": rng.randint(0, 5),
        "client_supply": rng.choice([None, 0, 1, 5, 16]),
        "majority": tuple(rng.randint(0, 9) for _ in range(num_players)),
        "fame": tuple(rng.randint(0, 9) for _ in range(rng.randint(1, 7))),
        "outer_posts": rng.random() < 0.5,
        "demand_columns": tuple(tuple(rng.sample(COLOUR_NAMES, 3)) for _ in range(4)),
    }
    chosen = {name: value for name, value in changes.items() if rng.random() < 0.5}
    chosen["restock_draw"] = rng.randint(1, sum(chosen.get("bales", (3, 4, 5, 5))))
    return Rules(num_players, **chosen)


random_board = functools.cache(Board.random)  # drawing a board takes longer than playing a game


def larger_board() -> str:
    """The packaged board as a file, with one more site."""
    packaged = (resources.files("bombay_env") / "data" / "reconstruction.toml").read_text(encoding="utf-8")
    site, trail = '  { name = "H3", kind = "open_site", x = 90, y = 90 },', '  ["H3", "G8"],'
    return packaged.replace("\n]\n", f"\n{site}\n]\n", 1).removesuffix("]\n") + f"{trail}\n]\n"


@functools.cache
def largest_board() -> Board:
    """64 sites, and so 79 actions, more than a word has bits: at random in a wide rectangle, each joined to the two nearest."""
    rng, name = random.Random(2), "Chhatrapati-Sambhajinagar{}"
    kinds = (
        ["start_hill", "hill", "hill"] + ["city"] * 4 + ["inner_post"] * 4 + ["outer_post"] * 4 + ["palace_site"] * 8
    )
    kinds += ["open_site"] * (64 - len(kinds))
    places = [(300 * rng.random(), 100 * rng.random()) for _ in kinds]
    sites = [
        {"name": name.format(i), "kind": kind, "x": x, "y": y}
        for i, (kind, (x, y)) in enumerate(zip(kinds, places, strict=True))
    ]
    trails = [
        [name.format(i), name.format(j)]
        for i in range(1, 64)
        for j in sorted(range(i), key=lambda j: abs(complex(*places[i]) - complex(*places[j])))[:2]
    ]
    return Board.from_dict({"name": "big", "sites": sites, "trails": trails})


def random_game(rng: random.Random, num_players: int) -> Game:
    """With probability 1/4 the official game on the packaged board, else a variant, a random board, or both."""
    kind = rng.randrange(4)
    rules = random_rules(rng, num_players) if kind & 1 else Rules.official(num_players)
    return Game(rules, random_board(rng.randrange(40)) if kind & 2 else Board.load())
