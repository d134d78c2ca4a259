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
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypedDict

import numpy as np
from scipy.special import ndtr, ndtri

from bombay_training.matches.intervals import Bounds, Moments, holm, p_value, share_bounds

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


class Verdict(TypedDict):
    """What the games of a cell show, as plain JSON types."""

    word: str  # one of `WORDS`, or `UNDECIDED`
    above: list[int]  # the seats that surely deviate by more than `NEARLY_FAIR`, if the cell is biased
    below: list[int]
    deviation: float  # the largest one of a seat from par, without its sign
    tests: dict[str, float]  # p values: that it is not fair, not nearly fair, and not biased
    games_needed: int | None  # of an undecided cell; None if they are more than `MOST_GAMES`
    reading: str  # the verdict in words


def comparisons(seats: int) -> int:
    """How many seats are compared with par: one of two, whose shares and margins mirror each other."""
    return 1 if seats == 2 else seats


def deviations(shares: np.ndarray) -> np.ndarray:
    """By how much each seat's mean of the win shares (G, n) is above par, relative, (n,) float64."""
    return np.asarray(shares.mean(axis=0) * shares.shape[1] - 1)


def p_of(bounds: Callable[[float], Bounds], claim: Callable[[np.ndarray, np.ndarray], Any]) -> float:
    """The smallest error rate at which the bounds (n,), which follow from the confidence, prove a claim about both of them."""
    return p_value(lambda confidence: bool(claim(*bounds(confidence))))


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
