"""The card of agents: where they would stand in the league, how long they take, whether they play fair, as data and as a page.

Each agent plays the line-ups of the league that have `among`, in place of the agent that is named there. Its rating follows from
these games, those of the other agents of the card and those of the league together.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bombay_env.registry import knowledge
from bombay_training.evaluation.audit import AuditReport
from bombay_training.evaluation.ratings import Ratings, rate
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.match import Match
from bombay_training.matches.statistics import FaultCount, fault_note
from bombay_training.matches.study import Study, lineups
from bombay_training.rich_tables import format_ms, interval, markdown_table

NEAR: Final = 2  # ranks above and below, with which an agent is compared
BETTER: Final = "P(better than)"


def card_lineups(
    league: Study, folder: Path, agent: str, counts: Sequence[int], deals: int | None = None
) -> list[Lineup]:
    """What an agent plays for its card: the line-ups of the league that have `among`, with this agent in place of `agent`.

    Line-ups in which it is already one of `among` are left out.

    Args:
        league: the study.
        folder: in which paths of the study begin.
        agent: its spec.
        counts: numbers of players; those that the league does not have are left out.
        deals: of each line-up, in place of those of the league.

    Raises:
        ValueError: the study has no anchors, or the agent is one of them.
    """
    if not league.anchors:
        raise ValueError("the league has no line-ups with `among`, so there are no anchors to play with")
    if agent in league.anchors:
        raise ValueError(f"{agent} is an anchor of the league; its place is in the leaderboard")
    groups = [
        group.model_copy(update={"agent": agent, "players": mine})
        for group in league.lineups
        if group.among and agent not in group.among
        if (mine := [count for count in group.players or league.players if count in counts])
    ]
    alone = [league.model_copy(update={"lineups": [group]}) for group in groups]
    found = {lineup.id: lineup for study in alone for lineup in lineups(study, folder, deals)}
    if not found:
        raise ValueError(f"the league has no line-ups with anchors at {', '.join(map(str, counts))} players")
    return list(found.values())


def card_data(
    agents: Sequence[str],
    league: Sequence[Match],
    played: Sequence[Match],
    audits: Mapping[str, AuditReport],
    anchors: Sequence[str],
) -> dict[str, Any]:
    """What a card says, as plain JSON types.

    Args:
        agents: their specs.
        league: the matches of the league.
        played: those of `card_lineups` of all agents, complete.
        audits: whether each agent uses what players may not see.
        anchors: of the league; the mean of their ratings is 0.
    """
    counts = sorted({match.game.num_players for match in played})
    return {
        "agents": [
            {"agent": agent, "knowledge": knowledge(agent), "audit": dataclasses.asdict(audits[agent])}
            for agent in agents
        ],
        "counts": [_count_data(agents, count, league, played, anchors) for count in counts],
    }


def _count_data(
    agents: Sequence[str], count: int, league: Sequence[Match], played: Sequence[Match], anchors: Sequence[str]
) -> dict[str, Any]:
    own = [match for match in played if match.game.num_players == count]
    others = [
        match
        for match in league
        if match.game == own[0].game and len(match.agents) == count and not set(agents) & set(match.agents)
    ]
    ratings = rate([*others, *own], reference=anchors)
    ranked = {row["agent"]: row for row in ratings.to_dict()["agents"]}
    return {
        "players": count,
        "agents": len(ranked),
        "zero": list(ratings.zero),
        "rows": [_row(agent, agents, ratings, ranked, own) for agent in agents],
    }


def _row(
    agent: str, agents: Sequence[str], ratings: Ratings, ranked: Mapping[str, Any], played: Sequence[Match]
) -> dict[str, Any]:
    """What a card says of an agent at one number of players. Its rank and rating are None if it is not rated."""
    timings = [match.timings[match.agents.index(agent)] for match in played if agent in match.agents]
    turns, ranks = sum(timing.turns for timing in timings), {name: row["rank"] for name, row in ranked.items()}
    near = [
        name
        for name in ranks
        if agent in ranks and name != agent and (name in agents or abs(ranks[name] - ranks[agent]) <= NEAR)
    ]
    return {
        "agent": agent,
        **{name: ranked[agent][name] if agent in ranked else None for name in ("rank", "rating", "share")},
        "better_than": [{"agent": name, "probability": ratings.best(agent, [name])} for name in near],
        **dataclasses.asdict((ratings.faults | ratings.unrated)[agent]),
        "ms_per_turn": 1000 * sum(timing.seconds for timing in timings) / turns if turns else None,
    }


def card_page(data: dict[str, Any], league: str) -> str:
    """A card as Markdown; `league` says which league it is about, in words."""
    both = [(count, row) for count in data["counts"] for row in count["rows"]]
    rows = [
        {
            "players": count["players"],
            "agent": f"`{row['agent']}`",
            "rank": "not rated" if row["rank"] is None else f"{row['rank']} of {count['agents']}",
            "rating [95 %]": "–" if row["rating"] is None else interval(row["rating"], "{:+.2f}"),
            "win share [95 %]": "–" if row["share"] is None else interval(row["share"], "{:.3f}"),
            BETTER: ", ".join(f"`{one['agent']}` {one['probability']:.2f}" for one in row["better_than"]),
            "games": f"{row['games']:,}",
            "faults": row["faults"],
            "ms/turn": format_ms(row["ms_per_turn"]),
        }
        for count, row in both
    ]
    failing = {
        f"`{row['agent']}` at {count['players']} players": FaultCount(row["games"], row["faults"])
        for count, row in both
    }
    about = [
        f"- Audit of `{one['agent']}`: {AuditReport(**one['audit'])}\n"
        f"- Scripted knowledge of `{one['agent']}`: {one['knowledge']}"
        for one in data["agents"]
    ]
    parts = [
        heading([one["agent"] for one in data["agents"]]),
        "\n".join([*about, f"- Rated with the games of {league}"]),
        _table(rows),
        fault_note(failing, "not rated."),
    ]
    if "best_response" in data:
        rows = [
            {
                "players": row["players"],
                "response": row["response"],
                "win share [95 %] against copies of the agent": interval(row["win_share"], "{:.3f}"),
                "par": f"{row['par']:.2f}",
                "games": row["games"],
            }
            for row in data["best_response"]
        ]
        parts += [f"A best response that learned for {data['response_minutes']:g} minutes:", _table(rows)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(rows: Sequence[dict[str, Any]]) -> str:
    return markdown_table(list(rows[0]), [list(row.values()) for row in rows], {"agent", BETTER, "response"})


def heading(agents: Sequence[str]) -> str:
    """The first line of the agents' card."""
    return f"# {', '.join(f'`{agent}`' for agent in agents)}"
