"""The tables of a study as plain JSON types: verdicts, estimates by seat, accounts, and the effects of changed rules.

Games are independent, because each has its own deal, so intervals are over games. The intervals of all seats of a setting hold
simultaneously with 95 %, for one quantity, by Bonferroni's inequality. `plan.py` says what is played, and `study.py` adds the
other parts. Needs SciPy (extra `analysis`), so only the command that uses it imports this module.
"""

import dataclasses
import functools
import itertools
import json
from collections.abc import Iterator, Sequence
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
    estimates,
    holm,
    mean_bounds,
    share_bounds,
)
from bombay_training.matches.match import Match
from bombay_training.matches.statistics import FaultCount
from bombay_training.reports.balance import verdicts
from bombay_training.reports.balance.plan import Setting
from bombay_training.reports.balance.verdicts import comparisons, deviations, p_of

FORMAT: Final = "bombay-balance/5"
ACCOUNTS: Final = {"rupees": SOURCES, "uses": USES, "spent": SPENDING}
QUANTITIES: Final = ("win_share", "margin", "final")  # what a match has for each game and seat, (G, n)

Row = dict[str, Any]
Judged = tuple[Row, np.ndarray]  # a row of the report, and the win shares (G, n) of its games


# --- estimates ---


def intervals(quantity: str, values: np.ndarray) -> list[Estimate]:
    """Means by seat of one of `QUANTITIES`, (G, n), with simultaneous intervals."""
    bounds = share_bounds if quantity == "win_share" else mean_bounds
    return estimates(values, bounds, _level(quantity, values.shape[1], CONFIDENCE))


def changes(quantity: str, before: np.ndarray, after: np.ndarray) -> tuple[list[Estimate], float]:
    """Mean changes by seat within deals, with simultaneous intervals, and the p value of the test that no seat's mean changes."""
    unrelated = Moments.of(before).variance + Moments.of(after).variance

    def bounds(moments: Moments, confidence: float) -> Bounds:
        level = _level(quantity, before.shape[1], confidence)
        if quantity == "win_share":
            return share_bounds(moments, level, least=-1)
        return mean_bounds(moments, level, unrelated)

    moments = Moments.of(after - before)
    p = p_of(lambda confidence: bounds(moments, confidence), lambda low, high: ((low > 0) | (high < 0)).any())
    return estimates(after - before, bounds, CONFIDENCE), p


def _level(quantity: str, seats: int, confidence: float) -> float:
    """The confidence of each seat's interval, so that all hold together. Only final rupees have no fixed sum."""
    return 1 - (1 - confidence) / (seats if quantity == "final" else comparisons(seats))


share_intervals: Final = functools.partial(intervals, "win_share")
share_changes: Final = functools.partial(changes, "win_share")


def par_tests(shares: np.ndarray) -> list[float]:
    """The p values by seat of the tests that the mean of `shares` (G, n) is par; one for two seats, which mirror each other."""
    bounds, par = functools.partial(share_bounds, Moments.of(shares)), 1 / shares.shape[1]

    def apart(seat: int) -> float:
        return p_of(bounds, lambda low, high: not low[seat] <= par <= high[seat])

    return [apart(seat) for seat in range(comparisons(shares.shape[1]))]


def equality_test(values: np.ndarray) -> Row | None:
    """Hotelling's T² test that all means by seat of `values` (G, n) are zero, where each game's values sum to zero.

    The last seat follows from the others and is left out. None if there are too few games or their covariance is singular.

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
    mean, low, high = len(shares) * np.array([dataclasses.astuple(share) for share in shares]).T - 1
    found = abs(mean).max(), np.maximum(low, -high).max(), np.maximum(high, -low).max()
    return Estimate(float(found[0]), max(0.0, float(found[1])), float(found[2]))


# --- the tables ---


def make_report(settings: Sequence[Setting], matches: Sequence[Match], seed: int, notes: Sequence[str]) -> Row:
    """The tables as plain JSON types, with these lines below them: the match of each setting of `plan`, with accounts."""
    tables, excluded, judged = list[Row](), list[Row](), (list[Judged](), list[Judged]())
    base = matches[0]
    for setting, match in zip(settings, matches, strict=True):
        about: Row = {"players": match.game.num_players, "agent": setting.agent, "change": setting.change}
        about |= {"games": match.num_games, "faults": len(match.faults)}
        about |= {"board": match.game.board.name, "rules": match.game.rules.to_dict()}
        base = base if setting.change else match
        if _too_faulty(match) or _too_faulty(base):
            word = "none: too many faults" + ("" if _too_faulty(match) else " by the unchanged rules")
            excluded.append(about | {"verdict": {"word": word, "reading": word}})
            continue
        row = about | _summary(match)
        if setting.change:
            row |= _effect(row["seats"], base, match)
            tables[-1]["what_ifs"].append(row)
        else:
            row["what_ifs"] = []
            tables.append(row)
        judged[bool(setting.change)].append((row, match.win_share[match.played_out]))
    for family in judged:
        _judge(family)
    _enter_q([row for row, _ in judged[True]])
    return {
        "command": "balance",
        "format": FORMAT,
        "version": __version__,
        "seed": seed,
        "confidence": CONFIDENCE,
        "games": sum(match.num_games for match in matches),
        "notes": [*_own_game(settings), *notes],
        "headlines": list(_headlines(settings, [row for family in judged for row, _ in family], excluded)),
        "tables": tables,
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


def _too_faulty(match: Match) -> bool:
    return FaultCount(match.num_games, len(match.faults)).unreliable


def _summary(match: Match) -> Row:
    """What the games of a setting show by themselves; those that ended by a fault are left out."""
    kept, n = match.played_out, match.game.num_players
    assert match.accounts is not None
    seats: list[Row] = [{"seat": seat} for seat in range(n)]
    for quantity in QUANTITIES:
        for seat, estimate in zip(seats, intervals(quantity, getattr(match, quantity)[kept]), strict=True):
            seat[quantity] = estimate.to_dict()
    for account, entries in ACCOUNTS.items():
        for seat, means in zip(seats, match.accounts[account][kept].mean(axis=0).tolist(), strict=True):
            seat[account] = dict(zip(entries, means, strict=True))
    shares = match.win_share[kept]
    return {
        "par": 1 / n,
        "intervals_in_a_family": comparisons(n),
        "largest_deviation": largest_deviation(share_intervals(shares)).to_dict(),
        "all_seats_equal": {"win_share": equality_test(shares - 1 / n), "margin": equality_test(match.margin[kept])},
        "seats": seats,
    }


def _effect(seats: Sequence[Row], base: Match, match: Match) -> Row:
    """The effect of a changed rule: the differences of its games from those of `base`, the same deals unchanged.

    Those by seat are entered into `seats`.
    """
    both, tests = np.flatnonzero(base.played_out[: match.num_games] & match.played_out), dict[str, Row]()
    for quantity in QUANTITIES:
        found, p = changes(quantity, getattr(base, quantity)[both], getattr(match, quantity)[both])
        tests[quantity] = {"p": p}
        for seat, estimate in zip(seats, found, strict=True):
            seat[f"{quantity}_change"] = estimate.to_dict()
    before, after = base.win_share[both], match.win_share[both]
    paired, apart = (after - before).var(axis=0).sum(), before.var(axis=0).sum() + after.var(axis=0).sum()
    return {
        "deals_compared": len(both),
        "pairing_gain": float(apart / paired) if paired else None,
        "deviation_before": float(np.abs(deviations(before)).max()),
        "deviation_after": float(np.abs(deviations(after)).max()),
        "nothing_changes": tests,
    }


def _judge(family: Sequence[Judged]) -> None:
    """Enter the verdict of each row, and whether each seat wins `more` or `less` than par, with the p value of its test.

    The words about seats are tested over all rows together (Holm): any is wrong with a probability of at most 5 %.
    """
    tests = [par_tests(shares) for _, shares in family]
    told = iter(holm(list(itertools.chain.from_iterable(tests))))
    decided = verdicts.decide([shares for _, shares in family])
    for (row, _), verdict, p_values in zip(family, decided, tests, strict=True):
        row["verdict"], answers = verdict, [next(told) for _ in p_values]
        for seat in row["seats"]:
            place = min(seat["seat"], len(answers) - 1)  # of two seats, which mirror each other, one is tested
            way = "more" if seat["win_share"]["mean"] > row["par"] else "less"
            seat["par_p"], seat["than_par"] = p_values[place], way if answers[place] else None


def _enter_q(changed: Sequence[Row]) -> None:
    """Enter the q value of each changed rule: the share of false ones among those with a q value as small or smaller.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57
    (1995).
    """
    if changed:
        found = stats.false_discovery_control([row["nothing_changes"]["win_share"]["p"] for row in changed])
        for row, q in zip(changed, found.tolist(), strict=True):
            row["q"] = q


def _headlines(settings: Sequence[Setting], rows: Sequence[Row], excluded: Sequence[Row]) -> Iterator[Row]:
    """What all agents together show of each number of players and change, and which agents differ or did not play."""
    strong = {setting.agent for setting in settings if setting.tier.strong}
    variants = dict.fromkeys((setting.game.num_players, setting.change) for setting in settings)
    for players, change in sorted(variants, key=lambda variant: variant[0]):
        found = [row for row in (*rows, *excluded) if (row["players"], row["change"]) == (players, change)]
        words = {row["agent"]: row["verdict"]["word"] for row in found}
        mine = [row for row in found if "tests" in row["verdict"]]
        headline, label = verdicts.label([row["verdict"] for row in mine], [row["agent"] in strong for row in mine])
        others = [f"{agent} ({word})" for agent, word in words.items() if not headline.startswith(word)]
        meaning = verdicts.LABELS[label]
        if others and label in ("all agents", "strong agents"):
            meaning += f"; not shared by {', '.join(others)}"
        if len(words) < sum((setting.game.num_players, setting.change) == (players, "") for setting in settings):
            meaning += f"; played by {', '.join(words)} only"
        yield {"players": players, "change": change, "headline": headline, "label": label, "meaning": meaning}
