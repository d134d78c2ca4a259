"""An agent's card: where it would stand in the league, how long it takes, whether it is fair play, as plain data and as a page.

The agent plays at the tables of the league's searches, each time with a selection of the anchors, on the same deals. Its rating
follows from these games and those of the league together. Needs SciPy (extra `analysis`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bombay_env.registry import knowledge
from bombay_training.evaluation.audit import AuditReport
from bombay_training.evaluation.ratings import rate
from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.matches.spec import Study, cells
from bombay_training.rich_tables import format_ms, interval, markdown_table


def card_cells(league: Study, folder: Path, agent: str, counts: Sequence[int], deals: int | None = None) -> list[Cell]:
    """What an agent plays for its card: the line-ups of the league that have anchors, with this agent in place of the others.

    Args:
        league: the study.
        folder: in which paths of the study begin.
        agent: its spec.
        counts: numbers of players; those that the league does not have are left out.
        deals: of each line-up, in place of those of the league.

    Raises:
        ValueError: the study has no anchors, or the agent is one of them.
    """
    groups = [group for group in league.lineups if group.among is not None]
    if not groups:
        raise ValueError("the league has no line-ups with `among`, so there are no anchors to play with")
    if agent in league.anchors:
        raise ValueError(f"{agent} is an anchor of the league; its place is in the leaderboard")
    found: dict[str, Cell] = {}
    for group in groups:
        mine = [count for count in group.players or league.players if count in counts]
        if mine:
            alone = group.model_copy(update={"agent": agent, "players": mine})
            played = cells(league.model_copy(update={"lineups": [alone]}), folder, deals)
            found |= {cell.id: cell for cell in played}
    if not found:
        raise ValueError(f"the league has no line-ups with anchors at {', '.join(map(str, counts))} players")
    return list(found.values())


def card_data(
    agent: str, league: Sequence[Match], played: Sequence[Match], audit: AuditReport, anchors: Sequence[str]
) -> dict[str, Any]:
    """What a card says, as plain JSON types.

    Args:
        agent: its spec.
        league: the matches of the league.
        played: those of `card_cells`, complete.
        audit: whether it uses what players may not see.
        anchors: of the league; the mean of their ratings is 0.
    """
    counts = sorted({match.game.num_players for match in played})
    return {
        "agent": agent,
        "knowledge": knowledge(agent),
        "audit": audit.to_dict(),
        "counts": [_count_data(agent, count, league, played, anchors) for count in counts],
    }


def _count_data(
    agent: str, count: int, league: Sequence[Match], played: Sequence[Match], anchors: Sequence[str]
) -> dict[str, Any]:
    own = [match for match in played if match.game.num_players == count]
    others = [
        match
        for match in league
        if match.game == own[0].game and len(match.agents) == count and agent not in match.agents
    ]
    ratings = rate([*others, *own], reference=anchors)
    place = ratings.agents.index(agent)
    ranked = [row["agent"] for row in ratings.rows()]
    rank = ranked.index(agent)
    timings = [match.timings[match.agents.index(agent)] for match in own]
    turns = sum(timing.turns for timing in timings)
    return {
        "players": count,
        "rank": rank + 1,
        "agents": len(ranked),
        "zero": list(ratings.zero),
        "rating": ratings.rating[place].to_dict(),
        "share": ratings.share[place].to_dict(),
        "better_than": [
            {"agent": name, "probability": float(ratings.higher[place, ratings.agents.index(name)])}
            for name in ranked[max(0, rank - 2) : rank + 3]
            if name != agent
        ],
        "games": sum(match.num_games for match in own),
        "faults": sum(fault.name == agent for match in own for fault in match.faults),
        "ms_per_turn": 1000 * sum(timing.seconds for timing in timings) / turns if turns else None,
    }


def card_page(data: dict[str, Any], release: str | None) -> str:
    """A card as Markdown."""
    audit = data["audit"]
    verdict = audit["verdict"] + (f": {audit['reason']}" if audit["reason"] else f" in {audit['states']} positions")
    rows = [
        [
            row["players"],
            f"{row['rank']} of {row['agents']}",
            interval(row["rating"], "{:+.2f}"),
            interval(row["share"], "{:.3f}"),
            ", ".join(f"`{one['agent']}` {one['probability']:.2f}" for one in row["better_than"]),
            f"{row['games']:,}",
            row["faults"],
            format_ms(row["ms_per_turn"]),
        ]
        for row in data["counts"]
    ]
    columns = [
        "players",
        "rank",
        "rating [95 %]",
        "win share [95 %]",
        "probability to be better than",
        "games",
        "faults",
    ]
    parts = [
        f"# `{data['agent']}`",
        f"- Audit: {verdict}\n- Scripted knowledge: {data['knowledge']}\n"
        f"- Rated with the games of the league{f' of release {release}' if release else ''}, on its deals",
        markdown_table([*columns, "ms/turn"], rows, {"probability to be better than"}),
    ]
    if "best_response" in data:
        rows = [
            [row["players"], row["response"], interval(row["win_share"], "{:.3f}"), f"{row['par']:.2f}", row["games"]]
            for row in data["best_response"]
        ]
        columns = ["players", "response", "win share [95 %] against copies of the agent", "par", "games"]
        parts += [
            f"A best response that learned for {data['response_minutes']:g} minutes:",
            markdown_table(columns, rows, {"response"}),
        ]
    return "\n\n".join(parts) + "\n"
