"""The leaderboard, and the README's table of strength, from the games of the league."""

import functools
from typing import Any, Final

from bombay_training.matches.store import LEAGUE
from bombay_training.reports import leaderboard
from bombay_training.reports.pages import table

CHART: Final = "leaderboard.png"  # `bombay leaderboard` writes it together with the page
PLAYERS: Final = 4  # of the README's table
STRONGEST: Final = 9  # agents in it


@functools.cache
def page() -> str:
    """The text of leaderboard.md."""
    return leaderboard.page(data(), LEAGUE, CHART)


@functools.cache
def data() -> dict[str, Any]:
    """What the league shows."""
    return leaderboard.league_data(LEAGUE)


def strength() -> str:
    """The README's table: the strongest agents at one number of players, best first."""
    (count,) = (count for count in data()["counts"] if count["players"] == PLAYERS)
    columns = "agent | scripted knowledge | win share [95 %] | ms/turn"
    return table(count["agents"][:STRONGEST], columns, "{agent:code} | {knowledge} | {share:.3f} | {ms:ms}").rstrip()
