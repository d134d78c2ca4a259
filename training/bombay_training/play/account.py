"""The account of a finished game: where every rupee of every seat came from and went to (RULES 4 and 5)."""

from typing import Any, Final

import numpy as np

from bombay_env.record import RESTOCK, Record

# What changes the rupees of a seat, by the kind of action; a toll is paid to another seat than the mover.
SOURCES: Final = {
    "sell": "sales",
    "move": "tolls",
    "consolidate": "consolidating",
    "build": "palace tokens",
    "buy": "purchases",
}
CLIENTS: Final = "Client tokens"
COLUMNS: Final = ("start", *SOURCES.values(), "in hand", "empire", "fame", "final")


def account(record: Record) -> list[dict[str, int | str]]:
    """A row for each seat with the entries `COLUMNS`, in rupees, its Client tokens, and in words whether it `wins` and by what.

    `start` to `purchases` add up to `in hand`; that and the two awards add up to `final`.

    Args:
        record: of a game that is over, which follows the rules.
    """
    game = record.game
    before, after = None, None
    rows: list[dict[str, Any]] = []
    for number, states in record.replay():
        before, after = after, states
        if before is None:
            empty = dict.fromkeys(SOURCES.values(), 0)
            rows = [{"start": int(states["rupees"][0, seat]), **empty} for seat in range(game.num_players)]
        elif not record.events[number].startswith(RESTOCK):
            source = SOURCES.get(record.events[number].partition(" ")[2].partition(":")[0], "")
            for seat in np.flatnonzero(after["rupees"][0] != before["rupees"][0]).tolist():
                rows[seat][source] += int(after["rupees"][0, seat]) - int(before["rupees"][0, seat])
    result = game.results(after)[0]
    for seat, row in enumerate(rows):
        row |= {"in hand": int(result["rupees"][seat]), "empire": int(result["majority"][seat])}
        row |= {"fame": int(result["fame"][seat]), "final": int(result["final"][seat])}
        row |= {CLIENTS: int(result["clients"][seat]), "wins": _wins(result, seat)}
    return rows


def _wins(result: Any, seat: int) -> str:
    """How a seat wins, "" if it does not. Client tokens decide between those who have most rupees (RULES 5)."""
    if not result["winners"][seat]:
        return ""
    if result["winners"].sum() > 1:
        return "shares the win"
    return "wins by Client tokens" if (result["final"] == result["final"].max()).sum() > 1 else "wins"
