"""Which starting rupees would make the game fair: at most so many vectors are tried, and the choice is confirmed on other deals.

A vector says how many rupees more or less each seat starts with. First every change of one seat is played. Their effects are
added up to predict the others, and the most promising of these are played too. The choice is the vector whose largest deviation
from par, over seats and agents, is smallest; among vectors within one standard error of it the one with the least change.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from bombay_env import Rules
from bombay_training.reports.balance.verdicts import deviations

STEPS: Final = (-1, 0, 1, 2)  # rupees more that a seat may start with

Vector = tuple[int, ...]
Shares = Sequence[np.ndarray]  # win shares (G, n) of each agent


def vectors(rules: Rules) -> list[Vector]:
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


def first_vectors(rules: Rules) -> list[Vector]:
    """Those that change one seat at most."""
    return [vector for vector in vectors(rules) if sum(map(bool, vector)) <= 1]


def further_vectors(rules: Rules, played: Mapping[Vector, Shares], most: int) -> list[Vector]:
    """The vectors that are expected to be fairest, if the effects of single changes add up.

    Args:
        rules: without a change.
        played: the results of `first_vectors`.
        most: how many vectors are played in all.
    """
    none = (0,) * rules.num_players
    base = np.array([deviations(shares) for shares in played[none]])  # (agents, n)
    effect = {vector: np.array([deviations(shares) for shares in results]) - base for vector, results in played.items()}

    def expected(vector: Vector) -> float:
        single = [(*none[:seat], step, *none[seat + 1 :]) for seat, step in enumerate(vector) if step]
        return float(np.abs(base + sum(effect[one] for one in single)).max())

    others = [vector for vector in vectors(rules) if vector not in played]
    return sorted(others, key=expected)[: max(0, most - len(played))]


def largest_deviation(results: Shares) -> float:
    """The largest deviation from par of any seat for any agent."""
    return max(float(np.abs(deviations(shares)).max()) for shares in results)


def choose(played: Mapping[Vector, Shares]) -> Vector:
    """The fairest vector, and among those within a standard error of it the one with the least change."""
    found = {vector: largest_deviation(results) for vector, results in played.items()}
    fairest = min(found, key=found.__getitem__)
    error = max(float((shares.std(axis=0) / len(shares) ** 0.5).max() * shares.shape[1]) for shares in played[fairest])
    near = [vector for vector, deviation in found.items() if deviation <= found[fairest] + error]
    return min(near, key=lambda vector: (size(vector), found[vector]))
