"""The game of choosing an agent: do some beat each other in a cycle, and is there a mixture that no agent beats?

Its data are the line-ups of some agents with copies, all of one number of players. An agent's payoff against others is its mean
win share beside them. This module needs no SciPy.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_training.matches.intervals import Estimate
from bombay_training.matches.results import Match
from bombay_training.matches.statistics import share_with_interval

STEPS: Final = 20_000  # of the replicator
RATE: Final = 0.2
SMALL: Final = 1e-3  # a smaller part of a mixture counts as none


def meta_game(matches: Sequence[Match]) -> dict[str, Any] | None:
    """The game among the agents of which every line-up with copies was played; None if there are not three of them.

    Args:
        matches: of one number of players.

    Returns:
        As plain JSON types, of A agents:

        agents: their names.
        players: number of seats.
        against: of each agent (row), alone among copies of another one (column): its win share. None on the diagonal.
        cycles: agents each of which wins more than par among copies of the next, and the last among copies of the first, by
            intervals of 95 %; cycles of three.
        resting: mixtures at which the replicator comes to rest, A numbers each: no agent wins more than the mixture.
        unsettled: from how many starts it comes to no rest.
        games: how many were played.
    """
    played = {tuple(sorted(match.lineup)): match for match in matches if not match.teams}
    copied = [lineup for lineup in played if len(set(lineup)) < len(lineup)]
    agents = list(dict.fromkeys(name for lineup in copied for name in lineup))
    if len(agents) < 3:
        return None
    seats = len(copied[0])
    lineups = [tuple(sorted(lineup)) for lineup in itertools.combinations_with_replacement(agents, seats)]
    if any(lineup not in played for lineup in lineups):
        return None
    resting, unsettled = _resting(agents, played, seats)
    against = [
        [None if one == other else _share(played, (one, *[other] * (seats - 1)), one) for other in agents]
        for one in agents
    ]
    return {
        "agents": agents,
        "players": seats,
        "against": [[share and share.to_dict() for share in row] for row in against],
        "cycles": _cycles(agents, against, 1 / seats),
        "resting": [mixture.tolist() for mixture in resting],
        "unsettled": unsettled,
        "games": sum(played[lineup].num_games for lineup in lineups),
    }


def _share(played: dict[tuple[str, ...], Match], lineup: Sequence[str], agent: str) -> Estimate:
    return share_with_interval(played[tuple(sorted(lineup))], agent)


def _cycles(agents: list[str], against: list[list[Estimate | None]], par: float) -> list[list[str]]:
    """Each cycle of three once, from its first agent on."""
    wins = np.array([[share is not None and share.low > par for share in row] for row in against])
    return [
        [agents[one], agents[two], agents[three]]
        for one, two, three in itertools.permutations(range(len(agents)), 3)
        if one < min(two, three) and wins[one, two] and wins[two, three] and wins[three, one]
    ]


def _resting(agents: list[str], played: dict[tuple[str, ...], Match], seats: int) -> tuple[list[np.ndarray], int]:
    """Where the replicator rests that starts near each agent, and from all in equal parts; and how often it does not rest."""
    others = list(itertools.combinations_with_replacement(range(len(agents)), seats - 1))
    counts = np.array([[chosen.count(agent) for agent in range(len(agents))] for chosen in others])
    ways = np.array([math.factorial(seats - 1) / math.prod(map(math.factorial, row)) for row in counts.tolist()])
    payoff = np.array(
        [[_share(played, (one, *(agents[place] for place in chosen)), one).mean for chosen in others] for one in agents]
    )
    starts = 0.9 * np.eye(len(agents)) + 0.1 / len(agents)
    found: list[np.ndarray] = []
    unsettled = 0

    def gains(mixtures: np.ndarray) -> np.ndarray:
        """How much more than the mixture (starts, agents) each agent wins, of the same shape."""
        chance = ways * np.prod(mixtures[:, None] ** counts, axis=2)  # of each selection of the others
        fitness = chance @ payoff.T
        return np.asarray(fitness - (fitness * mixtures).sum(axis=1, keepdims=True))

    mixtures = np.vstack([np.full(len(agents), 1 / len(agents)), starts])
    for _ in range(STEPS):
        mixtures = mixtures * np.exp(RATE * gains(mixtures))
        mixtures /= mixtures.sum(axis=1, keepdims=True)
    mixtures = np.where(mixtures < SMALL, 0, mixtures)
    for mixture, gain in zip(mixtures, gains(mixtures), strict=True):
        if gain.max() > SMALL:
            unsettled += 1
        elif not any(np.allclose(mixture, other, atol=0.01) for other in found):
            found.append(mixture)
    return found, unsettled


def mixture_in_words(agents: Sequence[str], mixture: Sequence[float]) -> str:
    """`90 % a, 10 % b`."""
    parts = Counter(dict(zip(agents, mixture, strict=True))).most_common()
    return ", ".join(f"{100 * part:.0f} % `{agent}`" for agent, part in parts if part)
