"""What an action does, in words: what its mover gains and pays, and the toll that another seat takes.

Words are made from two positions, before and after, so that no price stands here.
"""

import numpy as np

from bombay_env import Game
from bombay_env.render.view import plural
from bombay_env.rules import COLOUR_NAMES

COUNTS = (("rupees", "rupee"), ("clients", "Client token"), ("client_palace_tokens", "Client token"))


def action_words(name: str) -> str:
    """An action's name in words, as a button shows it."""
    kind, _, what = name.partition(":")
    return {
        "move": f"Move to {what}",
        "buy": "Buy a bale",
        "sell": f"Sell {what}",
        "build": f"Build a palace with {what}",
        "take": f"Take {what}",
        "consolidate": "Consolidate",
        "end_turn": "End the turn",
    }[kind]


def effect_words(game: Game, before: np.ndarray, after: np.ndarray, action: int) -> str:
    """What an action changed, in words.

    Args:
        game: that of the states.
        before: (1,) the position before it.
        after: (1,) the position after it, before the turn ends.
        action: its number.
    """
    mover = int(before["current_player"][0])
    said = [*_gains(game, before[0], after[0], mover)]
    for seat in range(game.num_players):
        toll = int(after["rupees"][0, seat]) - int(before["rupees"][0, seat])
        if seat != mover and toll:
            said.append(f"seat {seat} takes {plural(toll, 'rupee')} of toll from the bank")
    return ", ".join(said)


def _gains(game, before, after, mover):  # type: ignore[no-untyped-def]
    for field, noun in COUNTS:
        change = int(after[field][mover]) - int(before[field][mover])
        if change:
            yield f"{'+' if change > 0 else '−'}{plural(abs(change), noun)}"
    change = int(after["city_tokens"][mover].sum()) - int(before["city_tokens"][mover].sum())
    change += int(after["city_palace_tokens"][mover]) - int(before["city_palace_tokens"][mover])
    if change:
        yield f"+{plural(change, 'City token')}"
    for colour, name in enumerate(COLOUR_NAMES):
        change = int(after["basket"][mover, colour]) - int(before["basket"][mover, colour])
        if change > 0:
            yield f"loads a {name} bale"
