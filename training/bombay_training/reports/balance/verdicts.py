"""Is a game fair to every seat: a verdict on each cell, which is one agent in all seats, and what agents together show.

A seat deviates by its mean win share over par, less 1. A cell is *fair* if every seat surely deviates by less than `FAIR`,
*nearly fair* if by less than `NEARLY_FAIR`, *biased* if some seat surely deviates by more than `NEARLY_FAIR`, else *undecided*.
Surely means a one-sided test at 5 %, with the interval of win shares. All seats must pass for *fair*, so their tests need no
correction within a cell (an intersection-union test). For *biased* one seat is enough, so Bonferroni's correction applies. Over
the cells of a study each of the three words is corrected by Holm: the probability that any cell gets it wrongly is at most 5 %.

Source: R. L. Berger and J. C. Hsu, "Bioequivalence trials, intersection-union tests and equivalence confidence sets",
Statistical Science 11 (1996).
"""

import bisect
import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from bombay_training.matches.intervals import Moments, holm, p_value, share_bounds

FAIR: Final = 0.04  # largest deviation from par, relative
NEARLY_FAIR: Final = 0.10
ERROR: Final = 0.05  # of each word over all cells
POWER: Final = 0.9  # of the games that an undecided cell needs
MOST_GAMES: Final = 10_000_000  # that are worth naming
NO_SPREAD: Final = 1e-9
WORDS: Final = ("fair", "nearly fair", "biased", "undecided")


@dataclasses.dataclass(frozen=True)
class Tests:
    """The p values of one cell: that it is not fair, not nearly fair, and not biased."""

    fair: float
    nearly_fair: float
    biased: float


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What the games of a cell show.

    Args:
        word: one of `WORDS`.
        above, below: the seats that surely deviate by more than `NEARLY_FAIR`, if the cell is biased.
        favoured: the seat with the highest mean win share.
        deviation: the largest deviation of a seat from par, without its sign.
        tests: the p values behind the word.
        games_needed: an estimate of the games that would decide an undecided cell with a probability of `POWER`; None for a
            decided one, and if they are more than `MOST_GAMES`.
    """

    word: str
    above: tuple[int, ...]
    below: tuple[int, ...]
    favoured: int
    deviation: float
    tests: Tests
    games_needed: int | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dataclasses.asdict(self) | {"above": list(self.above), "below": list(self.below)}


def deviations(shares: np.ndarray) -> np.ndarray:
    """By how much each seat's mean of the win shares (G, n) is above par, relative, (n,) float64."""
    return np.asarray(shares.mean(axis=0) * shares.shape[1] - 1)


def test_cell(shares: np.ndarray) -> Tests:
    """The tests of the win shares (G, n) of one cell."""
    moments, par = Moments.of(shares), 1 / shares.shape[1]

    def one_sided(holds: Callable[[np.ndarray, np.ndarray], bool]) -> float:
        """The smallest error rate of one bound at which the claim about both bounds holds."""
        return p_value(lambda confidence: holds(*share_bounds(moments, confidence))) / 2

    def within(margin: float) -> Callable[[np.ndarray, np.ndarray], bool]:
        return lambda low, high: bool((low > par * (1 - margin)).all() and (high < par * (1 + margin)).all())

    def beyond(low: np.ndarray, high: np.ndarray) -> bool:
        return bool((low > par * (1 + NEARLY_FAIR)).any() or (high < par * (1 - NEARLY_FAIR)).any())

    return Tests(one_sided(within(FAIR)), one_sided(within(NEARLY_FAIR)), min(1.0, _seats(shares) * one_sided(beyond)))


def _seats(shares: np.ndarray) -> int:
    """How many seats are tested: two mirror each other."""
    return 1 if shares.shape[1] == 2 else shares.shape[1]


def biased_seats(shares: np.ndarray, error: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The seats of a cell that surely deviate by more than `NEARLY_FAIR`: those above par, and those below.

    The probability that any of them does not is at most `error`.
    """
    low, high = share_bounds(Moments.of(shares), 1 - 2 * error / _seats(shares))
    par = 1 / shares.shape[1]
    above, below = np.flatnonzero(low > par * (1 + NEARLY_FAIR)), np.flatnonzero(high < par * (1 - NEARLY_FAIR))
    return tuple(above.tolist()), tuple(below.tolist())


def decide(cells: Sequence[np.ndarray]) -> list[Verdict]:
    """The verdicts on cells, which are corrected together; win shares (G, n) of each."""
    tests = [test_cell(shares) for shares in cells]
    rejected = {
        word: holm([getattr(test, name) for test in tests], ERROR)
        for word, name in (("fair", "fair"), ("nearly fair", "nearly_fair"), ("biased", "biased"))
    }
    found = []
    for index, (shares, test) in enumerate(zip(cells, tests, strict=True)):
        word = next((word for word in WORDS[:-1] if rejected[word][index]), WORDS[-1])
        needed = games_needed(shares, ERROR / len(cells)) if word == WORDS[-1] else None
        off = deviations(shares)
        above, below = biased_seats(shares, ERROR / len(cells)) if word == "biased" else ((), ())
        found.append(Verdict(word, above, below, int(off.argmax()), float(np.abs(off).max()), test, needed))
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
    off, spread, normal = deviations(shares), shares.std(axis=0) * shares.shape[1], statistics.NormalDist()
    if np.abs(off).max() > NEARLY_FAIR:
        error = error / _seats(shares)
        seat = np.abs(off).argmax()
        distance, spread = np.abs(off[[seat]]) - NEARLY_FAIR, spread[[seat]]
    else:
        seats = 1 if shares.shape[1] == 2 else None
        distance = np.concatenate([NEARLY_FAIR - off[:seats], NEARLY_FAIR + off[:seats]])
        spread = np.tile(spread[:seats], 2)

    def fails(games: int) -> float:
        errors = distance * math.sqrt(games) / np.maximum(spread, NO_SPREAD)
        return sum(normal.cdf(normal.inv_cdf(1 - error) - each) for each in errors.tolist())

    games = bisect.bisect_left(range(1, MOST_GAMES + 1), POWER - 1, key=lambda games: -fails(games)) + 1
    return games if games <= MOST_GAMES else None


def label(verdicts: Sequence[Verdict], strong: Sequence[bool]) -> tuple[str, str]:
    """What several agents together show of one number of players.

    Args:
        verdicts: one of each agent that has one.
        strong: whether the agent is a strong one.

    Returns:
        The headline and its label. *all agents*: each has the same word, and the headline names the seats on which they agree.
        *strong agents*: that holds for the strong ones. *depends on the agent*: two decided words differ. *undecided*: none of
        these. *no agent*: there are no verdicts.
    """
    if not verdicts:
        return "no verdict", "no agent"
    best = [verdict for verdict, is_strong in zip(verdicts, strong, strict=True) if is_strong]
    for name, group in (("all agents", verdicts), ("strong agents", best)):
        if len({verdict.word for verdict in group}) == 1 and group[0].word != WORDS[-1]:
            above, below = (
                tuple(sorted(set.intersection(*(set(getattr(verdict, side)) for verdict in group))))
                for side in ("above", "below")
            )
            return in_words(group[0].word, above, below), name
    decided = {verdict.word for verdict in verdicts} - {WORDS[-1]}
    return (WORDS[-1], "undecided") if len(decided) < 2 else ("no single verdict", "depends on the agent")


def in_words(word: str, above: Sequence[int], below: Sequence[int]) -> str:
    """A verdict in words: `fair`, `biased towards seat 0 and against seats 2, 3`."""
    sides = [
        f"{side} seat{'s' if len(seats) > 1 else ''} {', '.join(map(str, seats))}"
        for side, seats in (("towards", above), ("against", below))
        if seats
    ]
    return " ".join([word, " and ".join(sides)]).strip()


def reading(verdict: Verdict) -> str:
    """A verdict in words, as `in_words`."""
    return in_words(verdict.word, verdict.above, verdict.below)
