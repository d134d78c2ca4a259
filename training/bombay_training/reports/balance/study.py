"""Plays the parts of a study of balance, and gathers what each part shows as plain JSON types.

All games go through the one runner, so a study that was stopped goes on. Deals follow from the release: those of the report, on
which nothing is chosen, and development deals, on which starting rupees are chosen.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from scipy import stats

from bombay_env import Board, Game, Rules
from bombay_training.evaluation import kingmaking as kingmakers
from bombay_training.evaluation import tension as tensions
from bombay_training.evaluation.luck import REDRAWS, variance_shares
from bombay_training.learners.runs.run import without_faults
from bombay_training.matches.intervals import Moments, estimates, share_bounds
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.match import Match
from bombay_training.matches.study import games_with, seed_from
from bombay_training.reports.balance.plan import Boards, Part, Play, Repair, Study, lineup_of, lineups, plan
from bombay_training.reports.balance.report import Row, decide, deviations, make_report, share_intervals

STEPS: Final = (-1, 0, 1, 2)  # rupees more that a seat may start with
LEAST_PLAYERS: Final = 3  # for a kingmaker

Vector = tuple[int, ...]  # how many rupees more or less each seat starts with
Tried = Mapping[Vector, Sequence[np.ndarray]]  # win shares (G, n) of each agent


def play_study(
    study: Study, games: Sequence[Game], play: Play, seed: int | None = None, notes: Sequence[str] = ()
) -> Row:
    """Play a study.

    Args:
        study: the study.
        games: one for each number of players.
        play: plays line-ups, and gives the match of each.
        seed: of the deals of the report, in place of the study's.
        notes: lines for the report.

    Returns:
        The report as `make_report` gives it, with the games of all parts and a key for each further part of the study.

    Raises:
        AgentFault: an agent of a further part did not answer with a legal action.
        ValueError: an agent, a rule or a board is not valid.
    """
    seed = study.seed() if seed is None else seed
    counts = dict[str, int]()  # of games by line-up; parts may share one

    def counted(part: str, wanted: Sequence[Lineup]) -> list[Match]:
        for lineup in wanted:
            counts[lineup.id] = max(counts.get(lineup.id, 0), lineup.num_games)
        return play(part, wanted)

    def faultless(part: str, wanted: Sequence[Lineup]) -> list[Match]:
        return [without_faults(match) for match in counted(part, wanted)]

    settings, left_out = plan(study, games)
    matches = counted("verdicts", lineups(settings, seed))
    for setting, match in zip(settings, matches, strict=True):
        if setting.tier.agent in study.others:
            without_faults(match)
    data = make_report(settings, matches, seed, [*notes, *left_out])

    def rows(parts: Sequence[Part], show: Callable[..., Row]) -> list[Row]:
        return [
            {"players": game.num_players, "agent": agent} | show(study, part, game, agent, faultless, seed)
            for game, part in itertools.product(games, parts)
            for agent in part.agents
        ]

    if study.boards:
        data["boards"] = rows([study.boards], _boards)
    if study.repair:
        data["repair"] = _repair(study, study.repair, games, faultless, seed)
    if study.luck:
        data["luck"] = rows([study.luck], _luck)
    if study.recorded:
        data["recorded"] = rows(study.recorded, _recorded)
    return data | {"games": sum(counts.values())}


# --- boards ---


def _boards(study: Study, part: Boards, game: Game, agent: str, play: Play, seed: int) -> Row:
    """How the shares of seats vary between random boards."""
    tier = next(tier for tier in study.tiers if tier.agent == agent)
    wanted = [lineup_of(game, agent, games_with(tier.games, game.num_players), seed, accounts=True)]
    for board in map(Board.random, range(part.boards)):
        deals = seed_from(f"{seed} {board.name}")
        wanted.append(lineup_of(Game(game.rules, board), tier.elsewhere, part.games, deals))
    packaged, *found = (match.win_share for match in play("boards", wanted))
    best = times_best(found)
    seats = [row | {"best": times} for row, times in zip(spread(found, packaged), best, strict=True)]
    return {"boards": part.boards, "games": part.games, "best_seat": best, "seats": seats}


def times_best(boards: Sequence[np.ndarray]) -> list[float]:
    """On how many boards each seat has the highest mean win share; equal seats share the board. Win shares (G, n) of each."""
    means = np.array([shares.mean(axis=0) for shares in boards])
    best = np.isclose(means, means.max(axis=1, keepdims=True), rtol=1e-9)  # sums of thirds are rounded
    found: list[float] = (best / best.sum(axis=1, keepdims=True)).sum(axis=0).tolist()
    return found


def spread(boards: Sequence[np.ndarray], packaged: np.ndarray) -> list[Row]:
    """The distribution of true win shares over boards, by seat.

    Args:
        boards: win shares (G, n) of each of at least two boards, which were drawn at random.
        packaged: win shares (G', n) on the packaged board.

    Returns:
        For each seat as plain JSON types: `mean` over boards with its 95 % interval `mean_low`, `mean_high`; `sd`, the standard
        deviation of true win shares between boards, which is that of the boards' means with the expected noise of their games
        removed (method of moments); `new_low`, `new_high`, the 90 % interval for the true share on a new board, which allows for
        the error of `sd`; `packaged`, the share on the packaged board; and `percentile`, its place among boards, None without
        spread.
    """
    moments, free, rows = [Moments.of(shares) for shares in boards], len(boards) - 1, list[Row]()
    means = np.array([part.mean for part in moments])
    noise = np.array([part.variance / part.blocks for part in moments]).mean(axis=0)
    columns = means.mean(axis=0).tolist(), means.var(axis=0, ddof=1), noise, packaged.mean(axis=0).tolist()
    for seat, (mean, total, error, here) in enumerate(zip(*columns, strict=True)):
        sd, of_mean = math.sqrt(max(0.0, total - error)), math.sqrt(total / len(boards))
        of_new = math.sqrt(_expected_variance(total - error, total * math.sqrt(2 / free)) + of_mean**2)
        half, new = float(stats.t.ppf(0.975, free)) * of_mean, float(stats.t.ppf(0.95, free)) * of_new
        row = {"seat": seat, "mean": mean, "mean_low": mean - half, "mean_high": mean + half, "sd": sd}
        row |= {"new_low": mean - new, "new_high": mean + new, "packaged": here}
        rows.append(row | {"percentile": 100 * float(stats.norm.cdf((here - mean) / sd)) if sd else None})
    return rows


def _expected_variance(estimate: float, error: float) -> float:
    """The mean of a variance whose estimate, which may be negative, has this standard error, given that none is negative.

    The estimate alone is 0 wherever the noise of games hides the spread, and an interval from it then is too narrow.
    """
    if error == 0:
        return max(0.0, estimate)
    return float(stats.truncnorm.mean(-estimate / error, math.inf, loc=estimate, scale=error))


# --- starting rupees ---


def _repair(study: Study, part: Repair, games: Sequence[Game], play: Play, seed: int) -> list[Row]:
    """Which starting rupees would make the game fair: at most so many vectors are tried, and other deals confirm the choice.

    First every change of one seat is played on development deals. Their effects are added up to predict the others, and the most
    promising of these are played too. The deals of `seed` say how fair the choice is.
    """
    rows, wanted = list[Row](), list[Lineup]()
    for game in games:
        tried = _try_vectors(study, part, game, play)
        found = {
            vector: {
                "starting_rupees": list(changed(game.rules, vector).starting_rupees),
                "deviation": largest(shares),
            }
            for vector, shares in sorted(tried.items(), key=lambda item: largest(item[1]))
        }
        chosen, official = choose(tried), found[(0,) * game.num_players]
        about = {"players": game.num_players, "official": official["starting_rupees"], "games": part.games}
        about |= {"official_deviation": official["deviation"], "vectors": list(found.values())}
        rows.append(about | {"chosen": found[chosen], "confirmed": []})
        repaired, deals = Game(changed(game.rules, chosen)), games_with(part.confirm, game.num_players)
        wanted += [lineup_of(repaired, study.elsewhere(name), deals, seed, accounts=True) for name in part.agents]
    matches = play("repair, confirmation", wanted)
    verdicts = decide([match.win_share for match in matches])
    for (row, agent), match, verdict in zip(itertools.product(rows, part.agents), matches, verdicts, strict=True):
        seats = [{"seat": seat} | one.to_dict() for seat, one in enumerate(share_intervals(match.win_share))]
        row["confirmed"].append({"agent": agent, "games": match.num_games, "seats": seats, "verdict": verdict})
    for row in rows:
        row["exists"] = all(one["verdict"]["word"] in ("fair", "nearly fair") for one in row["confirmed"])
    return rows


def _try_vectors(study: Study, part: Repair, game: Game, play: Play) -> Tried:
    """The results of the vectors that are played on development deals for one number of players."""
    seed, tried = study.seed("balance development"), dict[Vector, Sequence[np.ndarray]]()
    for _ in ("single changes", "the most promising ones"):
        vectors = next_vectors(game.rules, tried, part.vectors)
        wanted = [
            lineup_of(Game(changed(game.rules, vector)), study.elsewhere(agent), part.games, seed)
            for vector, agent in itertools.product(vectors, part.agents)
        ]
        matches = iter(play("repair", wanted))
        tried |= {vector: [next(matches).win_share for _ in part.agents] for vector in vectors}
    return tried


def all_vectors(rules: Rules) -> list[Vector]:
    """All vectors under which no seat starts with less than nothing; the first one changes nothing."""
    steps = [[step for step in STEPS if rupees + step >= 0] for rupees in rules.starting_rupees]
    return sorted(itertools.product(*steps), key=lambda vector: (size(vector), vector))


def size(vector: Vector) -> int:
    """How much a vector changes."""
    return sum(map(abs, vector))


def changed(rules: Rules, vector: Vector) -> Rules:
    """The rules under a vector."""
    rupees = tuple(rupee + step for rupee, step in zip(rules.starting_rupees, vector, strict=True))
    return dataclasses.replace(rules, starting_rupees=rupees)


def next_vectors(rules: Rules, played: Tried, most: int) -> list[Vector]:
    """First those that change one seat at most, then those that are expected to be fairest if the effects of these add up.

    Args:
        rules: without a change.
        played: the results of the first ones; none if they are not played yet.
        most: how many vectors are played in all.
    """
    none, vectors = (0,) * rules.num_players, all_vectors(rules)
    if not played:
        return [vector for vector in vectors if sum(map(bool, vector)) <= 1]
    off = {vector: np.array([deviations(shares) for shares in results]) for vector, results in played.items()}

    def expected(vector: Vector) -> float:
        single = [(*none[:seat], step, *none[seat + 1 :]) for seat, step in enumerate(vector) if step]
        return float(np.abs(off[none] + sum(off[one] - off[none] for one in single)).max())

    return sorted((vector for vector in vectors if vector not in played), key=expected)[: max(0, most - len(played))]


def largest(results: Sequence[np.ndarray]) -> float:
    """The largest deviation from par of any seat for any agent."""
    return max(float(np.abs(deviations(shares)).max()) for shares in results)


def choose(played: Tried) -> Vector:
    """The vector whose largest deviation is smallest; of those within a standard error of it, the one with the least change."""
    found = {vector: largest(results) for vector, results in played.items()}
    fairest = min(found, key=found.__getitem__)
    error = max(float((shares.std(axis=0) / len(shares) ** 0.5).max() * shares.shape[1]) for shares in played[fairest])
    near = [vector for vector, deviation in found.items() if deviation <= found[fairest] + error]
    return min(near, key=lambda vector: (size(vector), found[vector]))


# --- the course of games ---


def _luck(study: Study, part: Part, game: Game, agent: str, play: Play, seed: int) -> Row:
    """The shares of set-up, restocks and play in the variance."""
    plain = lineup_of(game, agent, part.games, seed)
    matches = play("luck", [dataclasses.replace(plain, redraw=redraw) for redraw in REDRAWS])
    row: Row = {"games": matches[0].num_blocks}
    for quantity in ("margin", "win_share"):
        values = (getattr(match, quantity) for match in matches)
        row[quantity] = {
            name: {kind: estimate.to_dict() for kind, estimate in found.items()}
            for name, found in variance_shares(dict(zip(REDRAWS, values, strict=True))).items()
        }
    return row


def _recorded(study: Study, part: Part, game: Game, agent: str, play: Play, seed: int) -> Row:
    """What recorded games show."""
    lineup = dataclasses.replace(lineup_of(game, agent, part.games, seed, accounts=True), records=True)
    (match,) = play("recorded games", [lineup])
    kings = _kingmaking(match) if game.num_players >= LEAST_PLAYERS else None
    return {"games": match.num_games, "tension": _tension(match), "kingmaking": kings}


def _tension(match: Match) -> Row:
    """Beliefs are calibrated on the first half of the games, and the figures are those of the second."""
    half, beliefs = match.num_games // 2, tensions.beliefs(match.records)
    fitted, held_out = (
        tensions.Beliefs(beliefs.share[games], beliefs.win_share[games]) for games in (slice(half), slice(half, None))
    )
    found = tensions.tension(fitted, held_out)
    kept = {name: found[name] for name in ("games", "calibration_error", "lead_changes", "decided")}
    winner = found["winner"]
    return kept | {"half_time": winner[len(winner) // 2]["mean"] if winner else None}


def _kingmaking(match: Match) -> Row:
    """Numbers of games and positions, with shares of them, and the interval of the share of games with a choice of winner."""
    found = kingmakers.kingmaking(match.records)
    row = kingmakers.counts(found) | {"unsolved": match.num_games - len(found)}
    if len(found):
        row["settled"], row["kingmakers"] = float(found["settled"].mean()), float(found["kingmaker"].mean())
        row |= {name: count / row["games"] for name, count in row["winners_differ"].items()}
        row["could_choose"] = estimates(kingmakers.differ(found, "help", "hurt"), share_bounds)[0].to_dict()
    return row
