"""Statistics of a match: estimates with confidence intervals over blocks, as tables and as JSON.

The games of one block are not independent, so every interval is over blocks. A game that ended by a fault counts in the win share
as `Match` defines. It has no rupees, so margins and finals are means of the other games: where an agent has faults, compare win
shares only. This module reads a match's arrays (`matches/match.py`) and does not know how games are played.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from rich.table import Table

from bombay_training.matches.intervals import CONFIDENCE, Estimate, estimates, mean_bounds, share_bounds
from bombay_training.matches.match import Match
from bombay_training.rich_tables import cell, fitting_table, format_ms, interval

MAX_FAULTS: Final = 20  # in a summary
ONE_AGAINST_REST: Final = "each row: the strength of one agent against copies of the other; at par they are equal"
MAX_FAULT_SHARE: Final = 0.01  # of an agent's games; with more, it is not rated
# Columns that a narrow table leaves out, in this order.
OPTIONAL_COLUMNS: Final = ("effective games", "final", "ms/turn", "margin ± 95 %", "games", "faults", "players")


# --- estimates ---


def share_with_interval(match: Match, agent: int | str = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean win share of one agent over its seats (their sum in a match of teams), with an interval over blocks."""
    return estimates(match.of_agent(match.win_share, agent) * _weight(match, agent), share_bounds, confidence)[0]


def margin_with_interval(match: Match, agent: int | str = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean margin of one agent in rupees over its seats, with Student's interval over blocks.

    Games that ended by a fault are left out. NaN if no game is left. The interval is infinite if all blocks agree.
    """
    return _rupees(match, match.margin, agent, confidence)


def final_with_interval(match: Match, agent: int | str = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean final rupees of one agent, estimated like the margin."""
    return _rupees(match, match.final, agent, confidence)


def _rupees(match: Match, values: np.ndarray, agent: int | str, confidence: float) -> Estimate:
    means = match.of_agent(values, agent, match.played_out)
    return estimates(means, mean_bounds, confidence)[0] if means.size else Estimate(math.nan, -math.inf, math.inf)


def design_effect(match: Match, agent: int | str = 0) -> float:
    """The variance of an agent's mean win share, divided by that of as many independent games.

    It is 1 if every deal is played once. NaN for a single block, and if all games are equal.
    """
    games, blocks = match.of_agent(match.win_share, agent, by_game=True), match.of_agent(match.win_share, agent)
    if len(blocks) < 2 or not games.var():
        return math.nan
    return float(len(games) / len(blocks) * blocks.var(ddof=1) / games.var(ddof=1))


def par(match: Match, agent: int | str = 0) -> float:
    """The expected win share of an agent as strong as the others."""
    return _weight(match, agent) / match.game.num_players


def _weight(match: Match, agent: int | str) -> int:
    """The number of seats whose win shares are added: all of an agent's in a match of teams, else 1."""
    return match.seats_of(agent) if match.format == "2v2" else 1


# --- faults ---


@dataclasses.dataclass(frozen=True)
class FaultCount:
    """How many games an agent played, and how many of them it lost by a fault."""

    games: int
    faults: int

    @property
    def unreliable(self) -> bool:
        """Whether it lost so many that its results, and those of others against it, say little about strength."""
        return self.faults > MAX_FAULT_SHARE * self.games


def fault_counts(matches: Sequence[Match]) -> dict[str, FaultCount]:
    """The games and faults of each agent, by its name, in the order in which the matches name them."""
    games, faults = Counter[str](), Counter[str]()
    for match in matches:
        games.update(dict.fromkeys(match.agents, match.num_games))
        faults.update(fault.name for fault in match.faults)
    return {name: FaultCount(count, faults[name]) for name, count in games.items()}


def fault_note(counts: dict[str, FaultCount], consequence: str) -> str:
    """A sentence on unreliable agents, as `A (60 of 200) lost more than 1 % of its games by faults: …`; empty if none is."""
    names = [f"{name} ({count.faults:,} of {count.games:,})" for name, count in counts.items() if count.unreliable]
    share = f"more than {100 * MAX_FAULT_SHARE:g} % of the games by faults"
    return f"{', '.join(names)} lost {share}: {consequence}" if names else ""


def unrated_note(counts: dict[str, FaultCount]) -> str:
    """Why agents have no rating, in one line; empty if there are none. Those that seldom fail met only agents that often do."""
    others = [name for name, count in counts.items() if not count.unreliable]
    note = fault_note(counts, "not rated, and games with such an agent are left out")
    return f"{note}; not rated, because no games are left: {', '.join(others)}" if others else note


# --- tables and JSON ---


def summary(match: Match) -> dict[str, Any]:
    """A match as plain JSON types: the games played and, for each agent, its estimates and times."""
    return {
        "players": match.game.num_players,
        "board": match.game.board.name,
        "rules": match.game.rules.to_dict(),
        "format": match.format,
        "lineup": list(match.lineup),
        "seed": match.seed,
        "blocks": match.num_blocks,
        "games": match.num_games,
        "confidence": CONFIDENCE,
        "agents": [_agent(match, index) for index in range(len(match.agents))],
        "faults": [str(fault) for fault in match.faults[:MAX_FAULTS]],
    }


def _agent(match: Match, index: int) -> dict[str, Any]:
    """One agent's estimates and times."""
    effect, timing = design_effect(match, index), match.timings[index]
    return {
        "agent": match.agents[index],
        "seats": match.seats_of(index),
        "par": par(match, index),
        "win_share": share_with_interval(match, index).to_dict(),
        "design_effect": None if math.isnan(effect) else effect,
        "margin": margin_with_interval(match, index).to_dict(),
        "final": final_with_interval(match, index).to_dict(),
        "faults": sum(fault.agent == index for fault in match.faults),
        **{name: getattr(timing, name) for name in ("ms_per_turn", "decisions", "turns", "seconds")},
    }


def seat_rows(match: Match) -> list[dict[str, Any]]:
    """The results of each seat in a match with fixed seats, as plain JSON types; rupees are means of games without faults."""
    final = match.final[match.played_out]
    return [
        {
            "seat": seat,
            "agent": match.lineup[seat],
            "games": match.num_games,
            "win_share": float(match.win_share[:, seat].mean()),
            "final": float(final[:, seat].mean()) if len(final) else None,
            "faults": sum(fault.seat == seat for fault in match.faults),
        }
        for seat in range(match.game.num_players)
    ]


def results_table(matches: Sequence[Match], title: str | None = None, width: int | None = None) -> Table:
    """Matches as a table with a row for each agent of each line-up, or only for the first agent of one against the rest.

    If all matches are one against the rest, the second column names the rest only. In these rows, faults are the agent's own /
    those of the rest. In a terminal of a small `width`, names are folded and `OPTIONAL_COLUMNS` left out, which the caption says.
    """
    one = all(match.format == "1vrest" for match in matches)
    rows = [
        _cells(match, index, one)
        for match in matches
        for index in range(1 if match.format == "1vrest" else len(match.agents))
    ]
    columns = {heading: [row[heading] for row in rows] for heading in rows[0]}
    table = fitting_table(title, columns, list(columns)[:2], OPTIONAL_COLUMNS, width)
    faults = fault_note(fault_counts(matches), "these games count as lost by it, and as won by the others")
    notes = [str(table.caption or ""), ONE_AGAINST_REST if one else "", faults]
    table.caption = cell("; ".join(filter(None, notes)))
    return table


def _cells(match: Match, index: int, one: bool) -> dict[str, str]:
    """The row of an agent, names first; `one` whether all matches of the table are one against the rest."""
    row = _agent(match, index)
    margin, final, effect = row["margin"], row["final"]["mean"], row["design_effect"]
    half = "–" if margin["high"] is None else f"{margin['high'] - margin['mean']:.1f}"
    others = f" / {len(match.faults) - row['faults']}" if match.format == "1vrest" else ""  # of the rest
    seats = Counter(match.lineup[1:] if one else match.lineup).items()
    return {
        "agent": row["agent"],
        "against" if one else "lineup": ", ".join(f"{count} × {name}" if count > 1 else name for name, count in seats),
        "players": str(match.game.num_players),
        "games": str(match.num_games),
        "effective games": f"{match.num_games / effect:,.0f}" if effect else "–",
        "win share [95 %]": interval(row["win_share"], "{:.3f}"),
        "par": f"{row['par']:.2f}",
        "margin ± 95 %": "–" if margin["mean"] is None else f"{margin['mean']:+.1f} ± {half}",
        "final": "–" if final is None else f"{final:.1f}",
        "ms/turn": format_ms(row["ms_per_turn"]),
        "faults": f"{row['faults']}{others}",
    }
