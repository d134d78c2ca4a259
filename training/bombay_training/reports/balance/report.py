"""What the verdicts and changed rules of a study show: estimates by seat with simultaneous intervals, and tests, as plain JSON.

A family of intervals is all seats of one setting for one quantity. Its intervals hold simultaneously with 95 %, by Bonferroni's
inequality. Games are independent, because each has its own deal, so intervals are over games. The effect of a changed rule is
estimated by the differences within deals. Sentences about seats are tested over the whole study, because one of many tables
shows a difference by chance. Needs SciPy (extra `analysis`), so only the command that uses it imports this module.
`plan.py` says what is played, `study.py` adds the other parts of a study, and `page.py` writes.
"""

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from scipy import stats

from bombay_env import Rules, __version__, checks
from bombay_training.matches.accounts import SOURCES, SPENDING, USES
from bombay_training.matches.intervals import (
    CONFIDENCE,
    Bounds,
    Estimate,
    Moments,
    change_bounds,
    estimates,
    holm,
    mean_bounds,
    mean_change_bounds,
    p_value,
    share_bounds,
)
from bombay_training.matches.results import Match
from bombay_training.matches.statistics import FaultCount
from bombay_training.reports.balance import verdicts
from bombay_training.reports.balance.plan import Setting

FORMAT: Final = "bombay-balance/4"
METHOD: Final = (
    "One agent plays all seats, one game per deal, with the same deals for every agent and every variant of the rules. Intervals "
    "are over deals and simultaneous: 95 % holds for all seats of a table together, for one quantity (Bonferroni). Win shares "
    "and their changes have Wilson's interval at the effective sample size, rupees have Student's t. Hotelling's T² "
    "tests whether all seats are equal (p, for shares and for margins). The effect of a changed rule is the mean difference "
    "within deals. Its p is the smallest error rate at which the interval of some seat excludes zero. The words “more” and "
    "“less” (than par) are tested over all seats and tables of the study (Holm). If every seat is fair, the probability that one "
    "of these words appears is at most 5 %. So a seat whose interval excludes par may have no word. The accounts of these games "
    "were checked: the sources add up to each seat's final rupees, and the actions spent add up to the actions of its turns. "
    "Each changed game has a verdict of its own. The verdicts on all changed games are corrected together (Holm), apart from "
    "those on the unchanged game, so they do not depend on the changes tried. The interval of the largest deviation "
    "follows from the intervals of all seats. Games that the agent lost by a fault are left out. An agent that lost more than "
    "1 % of its games by faults has no verdict, and none on changed games if it exceeded 1 % by the unchanged rules. In the "
    "other parts of a study any fault ends the command."
)
Judged = tuple[dict[str, Any], np.ndarray]  # a row of the report, and the win shares (G, n) of its games


# --- estimates ---


def comparisons(num_seats: int) -> int:
    """The number of independent intervals of a family: one for two seats, whose shares and margins mirror each other."""
    return 1 if num_seats == 2 else num_seats


def share_intervals(shares: np.ndarray, confidence: float = CONFIDENCE) -> list[Estimate]:
    """Mean win shares by seat of `shares` (G, n), with simultaneous intervals."""
    moments = Moments.of(shares)
    return estimates(moments, share_bounds(moments, _each(confidence, comparisons(shares.shape[1]))))


def mean_intervals(values: np.ndarray, family: int, confidence: float = CONFIDENCE) -> list[Estimate]:
    """Means by seat of `values` (G, n), with Student's intervals that are simultaneous for a family of this size."""
    moments = Moments.of(values)
    return estimates(moments, mean_bounds(moments, _each(confidence, family)))


def share_changes(
    before: np.ndarray, after: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[list[Estimate], float]:
    """Mean changes of win shares by seat on the same deals, with simultaneous intervals.

    Args:
        before, after: (G, n) win shares.
        confidence: of the intervals.

    Returns:
        The estimates, and the p value of the test that no seat's share changes.
    """
    moments, family = Moments.of(after - before), comparisons(before.shape[1])
    return _changes(moments, lambda level: change_bounds(moments, _each(level, family)), confidence)


def mean_changes(
    before: np.ndarray, after: np.ndarray, family: int, confidence: float = CONFIDENCE
) -> tuple[list[Estimate], float]:
    """Mean changes of rupees by seat, for a family of this size; otherwise as `share_changes`."""
    moments = Moments.of(after - before)
    unrelated = Moments.of(before).variance + Moments.of(after).variance
    return _changes(moments, lambda level: mean_change_bounds(moments, unrelated, _each(level, family)), confidence)


def _changes(moments: Moments, bounds: Callable[[float], Bounds], confidence: float) -> tuple[list[Estimate], float]:
    def excludes_zero(level: float) -> bool:
        low, high = bounds(level)
        return bool(((low > 0) | (high < 0)).any())

    return estimates(moments, bounds(confidence)), p_value(excludes_zero)


def _each(confidence: float, family: int) -> float:
    """The confidence of each interval of a family, by Bonferroni's inequality."""
    return 1 - (1 - confidence) / family


def par_tests(shares: np.ndarray) -> list[float]:
    """The p values by seat of the tests that the mean of `shares` (G, n) is par; one for two seats, which mirror each other."""
    moments, seats = Moments.of(shares), shares.shape[1]

    def excludes_par(seat: int, confidence: float) -> bool:
        low, high = share_bounds(moments, confidence)
        return not low[seat] <= 1 / seats <= high[seat]

    return [p_value(functools.partial(excludes_par, seat)) for seat in range(comparisons(seats))]


def equality_test(values: np.ndarray) -> dict[str, Any] | None:
    """Hotelling's T² test that all means by seat of `values` (G, n) are zero, where each game's values sum to zero.

    The last seat is left out, because it follows from the others; which one is left out changes nothing. None if there are
    too few games or their covariance is singular.

    Source: H. Hotelling, "The generalization of Student's ratio", Annals of Mathematical Statistics 2 (1931).
    """
    games, free = len(values), values.shape[1] - 1
    if games <= free:
        return None
    means, spread = values[:, :-1].mean(axis=0), np.atleast_2d(np.cov(values[:, :-1], rowvar=False))
    if np.linalg.matrix_rank(spread, hermitian=True) < free:
        return None
    statistic = float(games * means @ np.linalg.solve(spread, means)) * (games - free) / (free * (games - 1))
    return {"f": statistic, "degrees": [free, games - free], "p": float(stats.f.sf(statistic, free, games - free))}


def largest_deviation(shares: Sequence[Estimate]) -> Estimate:
    """The largest deviation of a seat from par, relative and without its sign; `shares` have simultaneous intervals."""
    off = [Estimate(*(len(shares) * share - 1 for share in dataclasses.astuple(one))) for one in shares]
    return Estimate(
        max(abs(one.mean) for one in off),
        max(0.0, *(max(one.low, -one.high) for one in off)),
        max(max(one.high, -one.low) for one in off),
    )


# --- the report as plain JSON types ---


def make_report(
    settings: Sequence[Setting],
    matches: Sequence[Match],
    seed: int,
    notes: Sequence[str],
    confidence: float = CONFIDENCE,
) -> dict[str, Any]:
    """The results of a study as plain JSON types.

    Args:
        settings: from `plan`, in its order.
        matches: of each setting, with accounts.
        seed: the study's seed.
        notes: lines to print below the tables.
        confidence: of the intervals.
    """
    found, excluded = list[dict[str, Any]](), list[dict[str, Any]]()
    given, changed = list[Judged](), list[Judged]()
    base = matches[0]
    for setting, match in zip(settings, matches, strict=True):
        if not setting.change:
            base = match
        row = _about(setting, match)
        if _too_faulty(match) or _too_faulty(base):
            word = "none: too many faults" + ("" if _too_faulty(match) else " by the unchanged rules")
            excluded.append(row | {"verdict": {"word": word, "reading": word}})
            continue
        kept = match.take(match.played_out)
        row |= _summary(setting, kept, confidence)
        if setting.change:
            _enter_effect(row, base, match, confidence)
            found[-1]["what_ifs"].append(row)
        else:
            row["what_ifs"] = []
            found.append(row)
        (changed if setting.change else given).append((row, kept.win_share))
    decided = [*_judge(given, 1 - confidence), *_judge(changed, 1 - confidence)]
    _adjust(found)
    return {
        "command": "balance",
        "format": FORMAT,
        "version": __version__,
        "seed": seed,
        "confidence": confidence,
        "method": METHOD,
        "games": sum(played.num_games for played in matches),
        "notes": [*_own_game(settings), *notes],
        "headlines": _headlines(settings, decided),
        "tables": found,
        "excluded": excluded,
    }


def _own_game(settings: Sequence[Setting]) -> Iterator[str]:
    """A line for each number of players whose given rules are not the official ones, and for another board."""
    games = {setting.game.num_players: setting.game for setting in settings if not setting.change}
    for players, game in games.items():
        official = Rules.official(players).to_dict()
        own = {name: value for name, value in game.rules.to_dict().items() if value != official[name]}
        if own:
            yield f"The unchanged rules with {players} players differ from the official ones: {json.dumps(own)}"
    if not game.board.is_packaged:
        yield f"The board is {checks.one_line(game.board.name)}, not the packaged one."


def _about(setting: Setting, match: Match) -> dict[str, Any]:
    """What was played."""
    return {
        "players": setting.game.num_players,
        "agent": setting.agent,
        "change": setting.change,
        "games": match.num_games,
        "faults": len(match.faults),
        "board": setting.game.board.name,
        "rules": setting.game.rules.to_dict(),
    }


def _too_faulty(match: Match) -> bool:
    return FaultCount(match.num_games, len(match.faults)).unreliable


def _judge(family: Sequence[Judged], error: float) -> list[tuple[dict[str, Any], verdicts.Verdict]]:
    """Enter the verdict of each row, and compare its seats with par. Both are corrected for the number of rows.

    Returns:
        The rows with their verdicts.
    """
    rows, shares = [row for row, _ in family], [won for _, won in family]
    decided = verdicts.decide(shares)
    for row, verdict in zip(rows, decided, strict=True):
        row["verdict"] = verdict.to_dict() | {"reading": verdicts.reading(verdict)}
    _compare_with_par(rows, [par_tests(won) for won in shares], error)
    return list(zip(rows, decided, strict=True))


def _headlines(
    settings: Sequence[Setting], decided: Sequence[tuple[dict[str, Any], verdicts.Verdict]]
) -> list[dict[str, Any]]:
    """What all agents together show of each number of players and change."""
    strong = {setting.agent for setting in settings if setting.tier.strong}
    variants = dict.fromkeys((setting.game.num_players, setting.change) for setting in settings)
    lines = []
    for players, change in sorted(variants, key=lambda variant: variant[0]):
        mine = [(row, found) for row, found in decided if (row["players"], row["change"]) == (players, change)]
        headline, label = verdicts.label([found for _, found in mine], [row["agent"] in strong for row, _ in mine])
        lines.append({"players": players, "change": change, "headline": headline, "label": label})
    return lines


def _adjust(found: Sequence[dict[str, Any]]) -> None:
    """Enter the q value of each changed rule: the share of false ones among those with a q value as small or smaller.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57
    (1995).
    """
    tried = [what_if for table in found for what_if in table["what_ifs"]]
    if tried:
        found_q = stats.false_discovery_control([one["nothing_changes"]["win_share"]["p"] for one in tried])
        for one, q in zip(tried, found_q.tolist(), strict=True):
            one["q"] = q


def _compare_with_par(found: list[dict[str, Any]], tests: Sequence[Sequence[float]], error: float) -> None:
    """Enter for each seat of each table whether it wins `more` or `less` than par, or None, and the p value of its test.

    Over all seats and tables, any is told from par wrongly with a probability of at most `error`.
    """
    told = iter(holm(list(itertools.chain.from_iterable(tests)), error))
    for table, p_values in zip(found, tests, strict=True):
        answers = [next(told) for _ in p_values]
        for row in table["seats"]:
            place = min(row["seat"], len(answers) - 1)  # of two seats, which mirror each other, one is tested
            way = "more" if row["win_share"]["mean"] > table["par"] else "less"
            row["par_p"], row["than_par"] = p_values[place], way if answers[place] else None


def _summary(setting: Setting, match: Match, confidence: float) -> dict[str, Any]:
    """What the games of a setting show by themselves."""
    players, found = setting.game.num_players, _estimates(match, confidence)
    return {
        "par": 1 / players,
        "intervals_in_a_family": comparisons(players),
        "largest_deviation": largest_deviation(found["win_share"]).to_dict(),
        "all_seats_equal": {
            "win_share": equality_test(match.win_share - 1 / players),
            "margin": equality_test(match.margin),
        },
        "seats": _seats(found, match),
    }


def _enter_effect(row: dict[str, Any], base: Match, match: Match, confidence: float) -> None:
    """Enter the effect of a changed rule: the differences of its games from those of `base`, the same deals unchanged."""
    seats = match.final.shape[1]
    both = base.played_out[: match.num_games] & match.played_out
    base, match = base.take(np.flatnonzero(both)), match.take(both)
    shares, no_shares = share_changes(base.win_share, match.win_share, confidence)
    margins, no_margins = mean_changes(base.margin, match.margin, comparisons(seats), confidence)
    finals, _ = mean_changes(base.final, match.final, seats, confidence)
    for name, changes in (("win_share_change", shares), ("margin_change", margins), ("final_change", finals)):
        for seat, change in zip(row["seats"], changes, strict=True):
            seat[name] = change.to_dict()
    row |= {  # in place
        "deals_compared": int(both.sum()),
        "pairing_gain": _pairing_gain(base.win_share, match.win_share),
        "deviation_before": float(np.abs(verdicts.deviations(base.win_share)).max()),
        "deviation_after": float(np.abs(verdicts.deviations(match.win_share)).max()),
        "nothing_changes": {"win_share": {"p": no_shares}, "margin": {"p": no_margins}},
    }


def _pairing_gain(before: np.ndarray, after: np.ndarray) -> float | None:
    """How many times the games two separate studies would need; None if no game changes."""
    change = (after - before).var(axis=0).sum()
    return float((before.var(axis=0).sum() + after.var(axis=0).sum()) / change) if change else None


def _estimates(match: Match, confidence: float) -> dict[str, list[Estimate]]:
    seats = match.final.shape[1]
    return {
        "win_share": share_intervals(match.win_share, confidence),
        "margin": mean_intervals(match.margin, comparisons(seats), confidence),
        "final": mean_intervals(match.final, seats, confidence),
    }


def _seats(estimates: dict[str, list[Estimate]], match: Match) -> list[dict[str, Any]]:
    accounts = (("rupees", SOURCES), ("uses", USES), ("spent", SPENDING))
    rows = []
    for seat in range(match.final.shape[1]):
        row: dict[str, Any] = {"seat": seat}
        row |= {name: found[seat].to_dict() for name, found in estimates.items()}
        for account, names in accounts:
            assert match.accounts is not None
            row[account] = dict(zip(names, match.accounts[account][:, seat].mean(axis=0).tolist(), strict=True))
        rows.append(row)
    return rows
