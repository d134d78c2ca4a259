"""Plays a study of balance part by part, and gathers what each part shows as plain JSON types.

All games go through the one runner, so a study that was stopped goes on. Deals follow from the release: those of the report, on
which nothing is chosen, and development deals, on which starting rupees are chosen.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bombay_env import Board, Game, Rules
from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.matches.spec import games_with, seed_from
from bombay_training.reports.balance import boards, repair, stories, verdicts
from bombay_training.reports.balance.plan import (
    Play,
    Tier,
    cell_of,
    cells,
    check_no_faults,
    parse_changes,
    plan,
    played,
)
from bombay_training.reports.balance.report import make_report, share_intervals
from bombay_training.reports.balance.spec import BalanceSpec


def study(spec: BalanceSpec, play: Play, players: Sequence[int] | None = None) -> dict[str, Any]:
    """Play a study.

    Args:
        spec: the study.
        play: plays cells, and gives the match of each.
        players: numbers of players, in place of those of the study.

    Returns:
        The report as `make_report` gives it, with the games of all parts and a key for each further part of the study.

    Raises:
        AgentFault: an agent did not answer with a legal action.
        ValueError: an agent, a rule or a board is not valid.
    """
    games = [Game(Rules.official(count)) for count in players or spec.players]
    counts = dict[str, int]()  # of games by cell; a part may ask for the games of another

    def counted(part: str, wanted: Sequence[Cell]) -> list[Match]:
        for cell in wanted:
            counts[cell.id] = max(counts.get(cell.id, 0), cell.num_games)
        return play(part, wanted)

    data = _parts(spec, games, counted)
    return data | {"games": sum(counts.values())}


def _parts(spec: BalanceSpec, games: Sequence[Game], play: Play) -> dict[str, Any]:
    """The report of all parts of a study."""
    data = _tables(spec, games, play)
    if spec.boards:
        data["boards"] = _boards(spec, games, play)
    if spec.repair:
        data["repair"] = _repair(spec, games, play)
    if spec.luck:
        data["luck"] = stories.luck(spec.luck, games, report_seed(spec), play)
    if spec.stories:
        favoured = {(table["players"], table["agent"]): table["verdict"]["favoured"] for table in data["tables"]}
        rows = [row for part in spec.stories for row in stories.stories(part, games, report_seed(spec), play, favoured)]
        data["stories"] = sorted(rows, key=lambda row: row["players"])
        data["map"] = Board.load().to_dict()
    return data


def report_seed(spec: BalanceSpec) -> int:
    """The seed of the deals of the report."""
    return seed_from(f"bombay_env {spec.release} balance")


def development_seed(spec: BalanceSpec) -> int:
    """The seed of the deals on which starting rupees are chosen."""
    return seed_from(f"bombay_env {spec.release} balance development")


def _tables(spec: BalanceSpec, games: Sequence[Game], play: Play) -> dict[str, Any]:
    """The verdicts and the changed rules."""
    what_ifs = spec.what_ifs
    changes = [change for text in what_ifs.changes for change in parse_changes(text)] if what_ifs else []
    settings, notes = [], []
    for change in changes:
        if all(change.applied(game.rules) is None for game in games):
            notes.append(f"{change.label} is left out: there is no such entry")
    for game in games:
        tiers = []
        for tier in spec.tiers:
            count = games_with(tier.games, game.num_players)
            changed = min(what_ifs.games, count) if what_ifs and tier.agent in what_ifs.agents else 0
            tiers.append(Tier(tier.agent, count, changed, tier.strong, tier.elsewhere))
        more, left_out = plan([game], tiers, [change for change in changes if change.applied(game.rules)])
        settings += more
        notes += left_out
    matches = play("verdicts", cells(settings, report_seed(spec)))
    others = {agent for part in (spec.boards, spec.repair, spec.luck, *spec.stories) if part for agent in part.agents}
    for setting, match in zip(settings, matches, strict=True):
        if setting.tier.spec in others:
            check_no_faults(match)
    return make_report(settings, matches, report_seed(spec), notes)


def _boards(spec: BalanceSpec, games: Sequence[Game], play: Play) -> list[dict[str, Any]]:
    """How much the shares of seats vary between random boards, for each number of players and agent."""
    assert spec.boards is not None
    part, seed = spec.boards, report_seed(spec)
    drawn = [Board.random(number) for number in range(part.boards)]
    rows = []
    for game in games:
        for agent in part.agents:
            tier = spec.tier(agent)
            wanted = [
                cell_of(Game(game.rules, board), tier.spec_elsewhere, part.games, seed_from(f"{seed} {board.name}"))
                for board in drawn
            ]
            here = cell_of(game, agent, games_with(tier.games, game.num_players), seed, accounts=True)
            *found, packaged = played(play, "boards", [*wanted, here])
            seats = boards.spread([match.win_share for match in found], packaged.win_share)
            means = np.array([match.win_share.mean(axis=0) for match in found])
            rows.append(
                {
                    "players": game.num_players,
                    "agent": agent,
                    "boards": part.boards,
                    "games": part.games,
                    "best_seat": times_best(means).tolist(),
                    "seats": seats,
                }
            )
    return rows


def times_best(means: np.ndarray) -> np.ndarray:
    """On how many boards each seat has the highest mean, (n,) float64, of the means (boards, n); equal ones share the board."""
    best = np.isclose(means, means.max(axis=1, keepdims=True), rtol=1e-9)  # sums of thirds are rounded
    return np.asarray((best / best.sum(axis=1, keepdims=True)).sum(axis=0))


def _repair(spec: BalanceSpec, games: Sequence[Game], play: Play) -> list[dict[str, Any]]:
    """The starting rupees that are fairest on development deals, and what other deals say of them."""
    assert spec.repair is not None
    chosen = [_choose(spec, game, play) for game in games]
    wanted = []
    for game, (_, repaired) in zip(games, chosen, strict=True):
        count = games_with(spec.repair.confirm, game.num_players)
        for agent in spec.repair.agents:
            elsewhere = spec.tier(agent).spec_elsewhere
            wanted.append(cell_of(Game(repaired), elsewhere, count, report_seed(spec), accounts=True))
    matches = played(play, "repair, confirmation", wanted)
    confirmed = iter(zip(matches, verdicts.decide([match.win_share for match in matches]), strict=True))
    for row, _ in chosen:
        row["confirmed"] = []
        for agent in spec.repair.agents:
            match, verdict = next(confirmed)
            row["confirmed"].append(
                {
                    "agent": agent,
                    "games": match.num_games,
                    "seats": [estimate.to_dict() for estimate in share_intervals(match.win_share)],
                    "verdict": verdict.to_dict() | {"reading": verdicts.reading(verdict)},
                }
            )
        row["exists"] = all(one["verdict"]["word"] in ("fair", "nearly fair") for one in row["confirmed"])
    return [row for row, _ in chosen]


def _choose(spec: BalanceSpec, game: Game, play: Play) -> tuple[dict[str, Any], Rules]:
    """The vector that is chosen for one number of players, as plain JSON types and as rules."""
    assert spec.repair is not None
    part, seed, results = spec.repair, development_seed(spec), dict[repair.Vector, repair.Shares]()

    def add(vectors: Sequence[repair.Vector]) -> None:
        wanted = [
            cell_of(Game(repair.changed(game.rules, vector)), spec.tier(agent).spec_elsewhere, part.games, seed)
            for vector in vectors
            for agent in part.agents
        ]
        matches = iter(played(play, "repair", wanted))
        results.update({vector: [next(matches).win_share for _ in part.agents] for vector in vectors})

    add(repair.first_vectors(game.rules)[: part.vectors])
    add(repair.further_vectors(game.rules, results, part.vectors))
    vector = repair.choose(results)
    rules = repair.changed(game.rules, vector)
    tried = sorted(results, key=lambda one: repair.largest_deviation(results[one]))
    row = {
        "players": game.num_players,
        "official": list(game.rules.starting_rupees),
        "games": part.games,
        "vectors": [_vector_row(game.rules, one, results[one]) for one in tried],
        "official_deviation": repair.largest_deviation(results[(0,) * game.num_players]),
        "chosen": _vector_row(game.rules, vector, results[vector]),
    }
    return row, rules


def _vector_row(rules: Rules, vector: repair.Vector, results: repair.Shares) -> dict[str, Any]:
    return {
        "starting_rupees": list(repair.changed(rules, vector).starting_rupees),
        "deviation": repair.largest_deviation(results),
        "win_shares": [shares.mean(axis=0).tolist() for shares in results],
    }
