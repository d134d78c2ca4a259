"""What an action does, in words: what its mover gains and pays, and the toll that another seat takes.

Words are made from two positions, before and after, so that no price stands here.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from bombay_env import Game
from bombay_env.render.view import YOU, plural
from bombay_env.rules import COLOUR_NAMES
from bombay_env.state import turn_of

COUNTS: Final = (("rupees", "rupee"), ("clients", "Client token"), ("client_palace_tokens", "Client token"))


def preview(game: Game, states: np.ndarray, action: int) -> tuple[np.ndarray, bool]:
    """The position after a legal action, before its turn ends: nobody else is to move and nothing is drawn.

    Args:
        game: that of the state.
        states: (1,) a game that is not over, unchanged.
        action: its number.

    Returns:
        The position, (1,), and whether the turn is over; then it has no action left.
    """
    after = states.copy()
    after["seed"] = 0
    game.step(after, [action])
    over = turn_of(after) != turn_of(states)
    if over:
        mover = int(states["current_player"][0])
        for field in ("current_player", "first_player", "set", "turn", "buys", "market"):
            after[field] = states[field]
        after["actions_left"] = 0
        gained = np.maximum(after["basket"][0, mover] - states["basket"][0, mover], 0)
        after["market"][0] -= np.where(states["market"][0] > 0, gained, 0).astype(after["market"].dtype)
    after["seed"] = states["seed"]
    return after, over


def effect_words(game: Game, before: np.ndarray, after: np.ndarray, names: Sequence[str] = ()) -> str:
    """What the mover of `before` has changed, in words.

    Args:
        game: that of the states.
        before: (1,) the position before.
        after: (1,) the position after one or several actions, before the turn ends.
        names: what the seats are called; empty: by their numbers.
    """
    mover = int(before["current_player"][0])
    said = [*_gains(before[0], after[0], mover)]
    for seat in range(game.num_players):
        toll = int(after["rupees"][0, seat]) - int(before["rupees"][0, seat])
        if seat != mover and toll:
            taker = names[seat] if names else f"seat {seat}"
            said.append(f"{taker} {'take' if taker == YOU else 'takes'} {plural(toll, 'rupee')} of toll from the bank")
    return ", ".join(said)


def _gains(before: Any, after: Any, mover: int) -> Iterator[str]:
    for field, noun in COUNTS:
        change = int(after[field][mover]) - int(before[field][mover])
        if change:
            yield f"{'+' if change > 0 else '−'}{plural(abs(change), noun)}"
    change = int(after["city_tokens"][mover].sum()) - int(before["city_tokens"][mover].sum())
    change += int(after["city_palace_tokens"][mover]) - int(before["city_palace_tokens"][mover])
    if change:
        yield f"+{plural(change, 'City token')}"
    if built := int(before["palaces_left"][mover]) - int(after["palaces_left"][mover]):
        yield f"+{plural(built, 'palace')}"
    for colour, name in enumerate(COLOUR_NAMES):
        if after["basket"][mover, colour] > before["basket"][mover, colour]:
            yield f"loads {name}"
