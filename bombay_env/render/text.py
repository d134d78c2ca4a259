"""A position as plain text, for terminals and logs. Reads a state, changes nothing."""

from typing import Any

import numpy as np

from bombay_env.game import Game
from bombay_env.rules import COLOUR_NAMES, NUM_COLOURS
from bombay_env.state import state_to_dict

MARKETS = ("left", "centre", "right")


def draw(game: Game, states: np.ndarray) -> str:
    """The (1,) state in a dozen lines: whose turn it is, markets, cities, posts, palaces and what each seat has."""
    facts = state_to_dict(states[0], game.rules, game.board)
    lines = [_turn(game, facts)]
    lines.append(
        "markets   " + "   ".join(f"{name}: {_bales(row)}" for name, row in zip(MARKETS, facts["markets"], strict=True))
    )
    lines.append(f"bag       {_bales(facts['bag'])}")
    for city, column in facts["demand"].items():
        lines.append(f"{city:<10}{' > '.join(column)}   City tokens {facts['city_piles'][city]}")
    posts = (
        f"{site} {colour}{'' if site in facts['open_posts'] else ' (closed)'}"
        for site, colour in facts["posts"].items()
    )
    lines.append(f"posts     {', '.join(posts)}")
    lines.append(f"tokens    {', '.join(f'{site} {kind}' for site, kind in facts['palace_tokens'].items()) or 'none'}")
    lines.append(f"palaces   {', '.join(f'{site} seat {seat}' for site, seat in facts['palaces'].items()) or 'none'}")
    lines += [_seat(facts, seat) for seat in range(game.num_players)]
    return "\n".join(lines)


def _turn(game: Game, facts: dict[str, Any]) -> str:
    if facts["over"]:
        return "game over"
    where = f"set {facts['set'] + 1} of {game.rules.sets}, turn {facts['turn'] + 1} of {game.rules.turns_per_set}"
    todo = "must take a bale" if facts["take_pending"] else f"has {facts['actions_left']} actions left"
    return f"{where}: seat {facts['current_player']} {todo}"


def _bales(counts: list[int]) -> str:
    held = [
        f"{count} {COLOUR_NAMES[colour]}" for colour, count in zip(range(NUM_COLOURS), counts, strict=True) if count
    ]
    return ", ".join(held) or "empty"


def _seat(facts: dict[str, Any], seat: int) -> str:
    cities = len(facts["city_tokens"][seat]) + facts["city_palace_tokens"][seat]
    clients = facts["clients"][seat] + facts["client_palace_tokens"][seat]
    return (
        f"seat {seat}    at {facts['position'][seat]}, {facts['rupees'][seat]} rupees, {_bales(facts['basket'][seat])}, "
        f"{clients} Clients, {cities} City tokens, {facts['palaces_left'][seat]} palaces left"
    )
