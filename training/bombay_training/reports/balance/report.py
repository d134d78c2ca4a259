"""The report of a study as plain JSON types: verdicts, estimates by seat, accounts, and the effects of changed rules.

One agent plays all seats of a cell. A seat's deviation is its mean win share divided by par, minus 1. A cell is *fair* if every
seat surely deviates by less than `FAIR`, *nearly fair* if by less than `NEARLY_FAIR`, *biased* if some seat surely deviates by
more than `NEARLY_FAIR`, else *undecided*. Surely means a one-sided test at 5 %, with the interval of win shares. All seats must
pass for *fair*, so their tests need no correction within a cell (an intersection-union test). For *biased* one seat is enough,
so Bonferroni's correction applies. Over the cells of a study each of the three words is corrected by Holm: the probability that
any cell gets it wrongly is at most 5 %.

Games are independent, because each has its own deal, so intervals are over games. The intervals of all seats of a cell hold
simultaneously with 95 %, for one quantity, by Bonferroni's inequality. `plan.py` says what is played, and `study.py` adds the
other parts. Needs SciPy's statistics, which take a second to import, so only the command that uses it imports this module.

Source: R. L. Berger and J. C. Hsu, "Bioequivalence trials, intersection-union tests and equivalence confidence sets",
Statistical Science 11 (1996).
"""

import bisect
import dataclasses
import functools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypedDict

import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri

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
    p_value,
    share_bounds,
)
from bombay_training.matches.match import Match
from bombay_training.matches.statistics import FaultCount
from bombay_training.reports.balance.plan import Setting

FORMAT: Final = "bombay-balance/6"
ACCOUNTS: Final = {"rupees": SOURCES, "uses": USES, "spent": SPENDING}
QUANTITIES: Final = ("win_share", "margin", "final")  # what a match has for each game and seat, (G, n)

Row = dict[str, Any]
Judged = tuple[Row, np.ndarray]  # a row of the report, and the win shares (G, n) of its games
FAIR: Final = 0.04  # largest deviation from par, relative
NEARLY_FAIR: Final = 0.10
ERROR: Final = 0.05  # of each word over all cells
POWER: Final = 0.9  # of the games that an undecided cell needs
MOST_GAMES: Final = 10_000_000  # that are worth naming
NO_SPREAD: Final = 1e-9
WORDS: Final = {"fair": "fair", "nearly fair": "nearly_fair", "biased": "biased"}  # with the names of their tests
UNDECIDED: Final = "undecided"
LABELS: Final = {  # of what several agents together show
    "all agents": "every agent's verdict includes this",
    "strong agents": "every strong agent's verdict includes this",
    "depends on the agent": "agents give different verdicts",
    "undecided": "there are too few games for a verdict that all agents, or all strong agents, share",
    "no agent": "no agent has a verdict, because of games lost by faults",
}


# --- estimates and tests ---


def comparisons(seats: int) -> int:
    """How many seats are compared with par: one of two, whose shares and margins mirror each other."""
    return 1 if seats == 2 else seats


def deviations(shares: np.ndarray) -> np.ndarray:
    """By how much each seat's mean of the win shares (G, n) is above par, relative, (n,) float64."""
    return np.asarray(shares.mean(axis=0) * shares.shape[1] - 1)


def p_of(bounds: Callable[[float], Bounds], claim: Callable[[np.ndarray, np.ndarray], Any]) -> float:
    """The smallest error rate at which the bounds (n,), which follow from the confidence, prove a claim about both of them."""
    return p_value(lambda confidence: bool(claim(*bounds(confidence))))


def intervals(quantity: str, values: np.ndarray) -> list[Estimate]:
    """Means by seat of one of `QUANTITIES`, (G, n), with simultaneous intervals."""
    return estimates(values, functools.partial(_bounds, quantity), CONFIDENCE)


def changes(quantity: str, before: np.ndarray, after: np.ndarray) -> tuple[list[Estimate], float]:
    """Mean changes by seat within deals, with simultaneous intervals, and the p value of the test that no seat's mean changes."""
    unrelated = Moments.of(before).variance + Moments.of(after).variance
    bounds = functools.partial(_bounds, quantity, unrelated=unrelated)
    p = p_of(functools.partial(bounds, Moments.of(after - before)), lambda low, high: ((low > 0) | (high < 0)).any())
    return estimates(after - before, bounds, CONFIDENCE), p


def _bounds(quantity: str, moments: Moments, confidence: float, unrelated: np.ndarray | None = None) -> Bounds:
    """Simultaneous intervals by seat; of changes if `unrelated` is given, as for `mean_bounds`."""
    seats = len(moments.mean)
    compared = seats if quantity == "final" else comparisons(seats)  # only final rupees have no fixed sum
    level = 1 - (1 - confidence) / compared
    if quantity == "win_share":
        return share_bounds(moments, level, least=0 if unrelated is None else -1)
    return mean_bounds(moments, level, 0 if unrelated is None else unrelated)


share_intervals: Final = functools.partial(intervals, "win_share")
share_changes: Final = functools.partial(changes, "win_share")


def equality_test(values: np.ndarray) -> float | None:
    """The p value of Hotelling's T² test that all means by seat of `values` (G, n) are zero, where each game's sum to zero.

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
    return float(stats.f.sf(statistic, free, games - free))


def largest_deviation(shares: Sequence[Estimate]) -> Estimate:
    """The largest deviation of a seat from par, relative and without its sign; `shares` have simultaneous intervals."""
    mean, low, high = len(shares) * np.array([dataclasses.astuple(share) for share in shares]).T - 1
    found = abs(mean).max(), np.maximum(low, -high).max(), np.maximum(high, -low).max()
    return Estimate(float(found[0]), max(0.0, float(found[1])), float(found[2]))


# --- verdicts ---


class Verdict(TypedDict):
    """What the games of a cell show, as plain JSON types."""

    word: str  # one of `WORDS`, or `UNDECIDED`
    above: list[int]  # the seats that surely deviate by more than `NEARLY_FAIR`, if the cell is biased
    below: list[int]
    deviation: float  # the largest one of a seat from par, without its sign
    tests: dict[str, float]  # p values: that it is not fair, not nearly fair, and not biased
    games_needed: int | None  # of an undecided cell; None if they are more than `MOST_GAMES`
    reading: str  # the verdict in words


def test_cell(shares: np.ndarray) -> dict[str, float]:
    """The p values of the win shares (G, n) of one cell."""
    bounds, par = functools.partial(share_bounds, Moments.of(shares)), 1 / shares.shape[1]

    def within(margin: float) -> float:
        least, most = par * (1 - margin), par * (1 + margin)
        return p_of(bounds, lambda low, high: (low > least).all() and (high < most).all())

    least, most = par * (1 - NEARLY_FAIR), par * (1 + NEARLY_FAIR)
    beyond = p_of(bounds, lambda low, high: (low > most).any() or (high < least).any())
    # Half the error rate of two bounds is that of one.
    return {
        "fair": within(FAIR) / 2,
        "nearly_fair": within(NEARLY_FAIR) / 2,
        "biased": min(1.0, comparisons(shares.shape[1]) * beyond / 2),
    }


def decide(cells: Sequence[np.ndarray]) -> list[Verdict]:
    """The verdicts on cells, which are corrected together; win shares (G, n) of each."""
    tests, found = [test_cell(shares) for shares in cells], list[Verdict]()
    rejected = {word: holm([test[name] for test in tests], ERROR) for word, name in WORDS.items()}
    for index, (shares, test) in enumerate(zip(cells, tests, strict=True)):
        word = next((word for word in WORDS if rejected[word][index]), UNDECIDED)
        seats, error, above, below = shares.shape[1], ERROR / len(cells), list[int](), list[int]()
        if word == "biased":  # the probability that any seat is named wrongly is at most `error`
            low, high = share_bounds(Moments.of(shares), 1 - 2 * error / comparisons(seats))
            above = np.flatnonzero(low * seats - 1 > NEARLY_FAIR).tolist()
            below = np.flatnonzero(high * seats - 1 < -NEARLY_FAIR).tolist()
        found.append(
            Verdict(
                word=word,
                above=above,
                below=below,
                deviation=float(np.abs(deviations(shares)).max()),
                tests=test,
                games_needed=games_needed(shares, error) if word == UNDECIDED else None,
                reading=in_words(word, above, below),
            )
        )
    return found


def games_needed(shares: np.ndarray, error: float) -> int | None:
    """How many games would decide the cell with a probability of `POWER`, if its means are the true ones.

    For *biased*, those for the seat that deviates most. For *nearly fair*, every seat must pass both of its tests; the
    probabilities that they fail are added up.

    Args:
        shares: (G, n) win shares.
        error: of one test.

    Returns:
        None if they are more than `MOST_GAMES`.
    """
    off, spread, compared = deviations(shares), shares.std(axis=0) * shares.shape[1], comparisons(shares.shape[1])
    worst = np.abs(off).argmax()
    if abs(off[worst]) > NEARLY_FAIR:
        error, distance, spread = error / compared, abs(off[[worst]]) - NEARLY_FAIR, spread[[worst]]
    else:
        distance = NEARLY_FAIR + np.concatenate([-off[:compared], off[:compared]])
        spread = np.tile(spread[:compared], 2)

    def fails(games: int) -> float:
        return float(ndtr(ndtri(1 - error) - distance * math.sqrt(games) / np.maximum(spread, NO_SPREAD)).sum())

    games = 1 + bisect.bisect_left(range(1, MOST_GAMES + 1), POWER - 1, key=lambda games: -fails(games))
    return games if games <= MOST_GAMES else None


def label(verdicts: Sequence[Verdict], strong: Sequence[bool]) -> tuple[str, str]:
    """What several agents together show of one number of players.

    Args:
        verdicts: one of each agent that has one.
        strong: whether the agent is a strong one.

    Returns:
        The headline, which names the seats on which the agents agree, and its label, one of `LABELS`.
    """
    if not verdicts:
        return "no verdict", "no agent"
    best = [verdict for verdict, is_strong in zip(verdicts, strong, strict=True) if is_strong]
    for name, group in (("all agents", verdicts), ("strong agents", best)):
        words = {verdict["word"] for verdict in group}
        if len(words) == 1 and words != {UNDECIDED}:
            above = set.intersection(*(set(verdict["above"]) for verdict in group))
            below = set.intersection(*(set(verdict["below"]) for verdict in group))
            return in_words(group[0]["word"], sorted(above), sorted(below)), name
    decided = {verdict["word"] for verdict in verdicts} - {UNDECIDED}
    return (UNDECIDED, UNDECIDED) if len(decided) < 2 else ("no single verdict", "depends on the agent")


def in_words(word: str, above: Sequence[int], below: Sequence[int]) -> str:
    """A verdict in words: `fair`, `biased towards seat 0 and against seats 2, 3`."""
    sides = [
        f"{side} seat{'s' if len(seats) > 1 else ''} {', '.join(map(str, seats))}"
        for side, seats in (("towards", above), ("against", below))
        if seats
    ]
    return " ".join([word, " and ".join(sides)]).strip()


# --- the tables ---


def make_report(settings: Sequence[Setting], matches: Sequence[Match], seed: int, notes: Sequence[str]) -> Row:
    """The tables as plain JSON types, with these lines below them: the match of each setting of `plan`, with accounts."""
    tables, excluded, judged = list[Row](), list[Row](), (list[Judged](), list[Judged]())
    base = matches[0]
    for setting, match in zip(settings, matches, strict=True):
        row: Row = {"players": match.game.num_players, "agent": setting.agent, "change": setting.change}
        row |= {"games": match.num_games, "faults": len(match.faults)}
        row |= {"board": match.game.board.name, "rules": match.game.rules.to_dict()}
        base = base if setting.change else match
        if _too_faulty(match) or _too_faulty(base):
            word = "none: too many faults" + ("" if _too_faulty(match) else " by the unchanged rules")
            excluded.append(row | {"verdict": {"word": word, "reading": word}})
            continue
        row |= _summary(match)
        if setting.change:
            row |= _effect(row["seats"], base, match)
            tables[-1]["what_ifs"].append(row)
        else:
            row["what_ifs"] = []
            tables.append(row)
        judged[bool(setting.change)].append((row, match.win_share[match.played_out]))
    for family in judged:
        _judge(family)
    return {
        "command": "balance",
        "format": FORMAT,
        "version": __version__,
        "seed": seed,
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
        "largest_deviation": largest_deviation(share_intervals(shares)).to_dict(),
        "all_seats_equal": {"win_share": equality_test(shares - 1 / n), "margin": equality_test(match.margin[kept])},
        "seats": seats,
    }


def _effect(seats: Sequence[Row], base: Match, match: Match) -> Row:
    """The effect of a changed rule: the differences of its games from those of `base`, the same deals unchanged.

    Those by seat are entered into `seats`.
    """
    both, tests = np.flatnonzero(base.played_out[: match.num_games] & match.played_out), dict[str, float]()
    for quantity in QUANTITIES:
        found, tests[quantity] = changes(quantity, getattr(base, quantity)[both], getattr(match, quantity)[both])
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
    """Enter what follows from all rows together: the verdicts, and q of changed rules.

    Of the changes with a q as small as this one or smaller, q is the expected share that changes nothing.

    Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B 57
    (1995).
    """
    for (row, _), verdict in zip(family, decide([shares for _, shares in family]), strict=True):
        row["verdict"] = verdict
    if changed := [row for row, _ in family if row["change"]]:
        found = stats.false_discovery_control([row["nothing_changes"]["win_share"] for row in changed])
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
        headline, who = label([row["verdict"] for row in mine], [row["agent"] in strong for row in mine])
        others = [f"{agent} ({word})" for agent, word in words.items() if not headline.startswith(word)]
        meaning = LABELS[who]
        if others and who in ("all agents", "strong agents"):
            meaning += f"; not shared by {', '.join(others)}"
        if len(words) < sum((setting.game.num_players, setting.change) == (players, "") for setting in settings):
            meaning += f"; played by {', '.join(words)} only"
        yield {"players": players, "change": change, "headline": headline, "label": who, "meaning": meaning}
