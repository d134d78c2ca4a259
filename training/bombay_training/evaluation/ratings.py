"""Ratings of agents from matches of any line-ups of one number of players, with intervals over deals.

A rating is the strength θ of a model in `choice_models.py`, which also says how an agent that always wins gets a finite one.

*Zero.* Ratings have the mean 0 over the largest set of agents in which each has beaten each, at least through others (Hunter), or
over those of them that `reference` names. The set is everyone, unless an agent never loses or never wins. The rating of such an
agent depends on the pseudo-game, so it must not move the others. Its interval is infinite on the side that no game bounds. An
agent with a single win is in the set, and its uncertainty widens all intervals; so leagues give a `reference`.

*Intervals.* A shuffle may suit an agent in all line-ups that play it, so deals are the independent units, whatever the line-up.
Intervals are Student's, with the standard error of the jackknife by deal and the degrees of freedom of Satterthwaite, from the
kurtosis of the deals' influences. In simulated leagues of 35 line-ups they covered the truth in 94 to 96 % with 8 deals, where
percentiles of a bootstrap covered 87 %; and for an agent with 8 of 100 deals in 96 %, where the sandwich estimate covered 90 %.
Probabilities of ranks are from resamples of the deals, whose spread is made that of Student's t: of two equal agents, one was
called better with 95 % or more in 3 to 10 % of 200 simulated leagues of 2 to 40 deals (expected: 10 %).

Sources: D. R. Hunter, "MM algorithms for generalized Bradley–Terry models", Annals of Statistics 32 (2004); C. A. Field and A. H.
Welsh, "Bootstrapping clustered data", JRSS B 69 (2007); R. M. Bell and D. F. McCaffrey, "Bias reduction in standard errors for
linear regression with multi-stage samples", Survey Methodology 28 (2002).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import special

from bombay_env import checks
from bombay_training.evaluation.choice_models import (
    Estimates,
    League,
    Model,
    design,
    estimates_of,
    league_of,
    rated,
    seats_of,
)
from bombay_training.matches.intervals import CONFIDENCE, Estimate, resampled
from bombay_training.matches.results import Match
from bombay_training.matches.statistics import FaultCount, fault_counts

RESAMPLES: Final = 1000
PSEUDO_GAMES: Final = 1.0  # of every agent and seat
# A result that D deals do not show has a probability of up to this / D.
UNSEEN_DEALS: Final = -math.log((1 - CONFIDENCE) / 2)


@dataclasses.dataclass(frozen=True, eq=False)
class Ratings:
    """Strengths of A agents at one number of players, in the order in which the matches name them.

    Args:
        model: what they explain.
        agents: names.
        zero: those whose mean rating is 0.
        rating: θ with its interval of 95 %.
        share: expected win share against agents of rating 0, averaged over seats; with the bounds of the rating.
        rank: (A,) int64 from 1, by rating.
        rank_probability: (A, A) float64, of each agent (row) to have each rank.
        drawn: (R, A) float64, ratings in resamples of the deals, from which these probabilities are.
        differences: (A, A, 3) float64, row's rating minus column's, with its lower and upper bound.
        seat_effect: (n,) float64, γ, adding up to 0.
        deals, games: how many there are.
        faults: the games of each agent that are counted, and those of them that it lost by faults.
        unrated: likewise the games of agents without a rating: those that lost more than 1 % of their games by faults, and those
            that met only such agents. No game of theirs is counted.
    """

    model: Model
    agents: tuple[str, ...]
    zero: tuple[str, ...]
    rating: tuple[Estimate, ...]
    share: tuple[Estimate, ...]
    rank: np.ndarray
    rank_probability: np.ndarray
    drawn: np.ndarray
    differences: np.ndarray
    seat_effect: np.ndarray
    deals: int
    games: int
    faults: dict[str, FaultCount]
    unrated: dict[str, FaultCount]

    def difference(self, agent: str, other: str) -> Estimate:
        """The first agent's rating minus the second's. Raises ValueError if an agent has no rating."""
        return Estimate(*self.differences[_index(self.agents, agent), _index(self.agents, other)].tolist())

    def best(self, agent: str, others: Sequence[str]) -> float:
        """The probability that the agent is the best of itself and these others."""
        places = [_index(self.agents, name) for name in (agent, *others)]
        return float((self.drawn[:, places].argmax(axis=1) == 0).mean())

    def rows(self) -> list[dict[str, Any]]:
        """The agents by rank, as plain JSON types."""
        return [
            {
                "rank": int(self.rank[index]),
                "agent": self.agents[index],
                "rating": self.rating[index].to_dict(),
                "share": self.share[index].to_dict(),
                "faults": self.faults[self.agents[index]].faults,
                "rank_probability": self.rank_probability[index].tolist(),
            }
            for index in np.argsort(self.rank, kind="stable")
        ]


@dataclasses.dataclass(frozen=True)
class CellFit:
    """How one agent did in one line-up: its raw win share, the predicted one, and their difference in standard errors."""

    lineup: tuple[str, ...]
    agent: str
    games: int
    raw: float
    predicted: float
    residual: float


@dataclasses.dataclass(frozen=True)
class Fit:
    """How well one rating per agent explains all line-ups. Cycles, where A beats B, B beats C and C beats A, show up here.

    Args:
        cells: one for each match and agent, in their order.
        statistic: the sum of squared residuals.
        p_value: the probability of a larger one if the model holds.
    """

    cells: tuple[CellFit, ...]
    statistic: float
    p_value: float


# --- intervals ---


def _half_width(influence: np.ndarray) -> np.ndarray:
    """Half of Student's interval of numbers (…) that deals (D, …) move by so much; infinite for a single deal."""
    deals = len(influence)
    if deals < 2:
        return np.full(influence.shape[1:], np.inf)
    square, fourth = (influence**2).sum(axis=0), (influence**4).sum(axis=0)
    with np.errstate(over="ignore"):  # without kurtosis they are infinite
        degrees = 2 * square**2 / np.maximum(fourth - square**2 / deals, np.finfo(np.float64).tiny)
    quantile = special.stdtrit(np.clip(degrees, 1, deals - 1), (1 + CONFIDENCE) / 2)
    return np.asarray(quantile * np.sqrt(square * (deals - 1) / deals))


def _unseen(league: League, expected: np.ndarray) -> np.ndarray:
    """How far below its θ an agent may be that never lost, or above it if it never won, (A,).

    The fit expects so many (A,) of these results, which are those of the pseudo-game, in all its games. But a result that D deals
    do not show has a probability of up to `UNSEEN_DEALS` / D, if all games of a deal may have it.
    """
    counts = league.counts @ (league.design[:, :, : len(expected)].any(axis=1))  # (D, A) games
    deals, games = (counts > 0).sum(axis=0), counts.sum(axis=0)
    return np.asarray(special.logit(np.minimum(UNSEEN_DEALS / deals, 1)) - special.logit(expected / games))


def _differences(points: np.ndarray, influence: np.ndarray, unseen: np.ndarray, beaten: np.ndarray) -> np.ndarray:
    """Differences of numbers (m,) with their bounds, (m, m, 3). `beaten` (m, m): which differences are bounded from below."""
    half = np.array([_half_width(column[:, None] - influence) for column in influence.T])
    half += np.where(beaten & beaten.T, 0, unseen[:, None] + unseen)
    difference = points[:, None] - points
    low, high = np.where(beaten, difference - half, -np.inf), np.where(beaten.T, difference + half, np.inf)
    return np.stack([difference, low, high], axis=2)


def rate(
    matches: Sequence[Match],
    model: Model = Model.WINS,
    reference: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
    pseudo_games: float = PSEUDO_GAMES,
) -> Ratings:
    """Rate agents by their matches. An agent that lost more than 1 % of its games by faults is not rated.

    Args:
        matches: of any line-ups of one number of players. Agents with equal names are one agent, and equal seeds one deal.
        model: what to explain.
        reference: names of agents whose mean rating is 0, as far as they are in the set that is described above; if none is, the
            whole set is taken.
        resamples: for the probabilities of ranks.
        seed: of the resamples.
        pseudo_games: how many every agent and seat plays, above 0.

    Raises:
        ValueError: `pseudo_games` is not above 0, or as `league_of`.
        ArithmeticError: the fit did not converge.
    """
    kept, everyone = rated(matches), fault_counts(matches)
    league = league_of(kept, model)
    fit, count = estimates_of(league, pseudo_games), len(league.agents)
    beaten = league.beaten()
    mutual = beaten & beaten.T
    main = mutual[np.lexsort((fit.strengths[:count], -mutual.sum(axis=1)))[0]]  # of equally large sets, the weakest
    league.check_strengths(main)
    base = main & np.isin(league.agents, reference)
    base = base if base.any() else main
    relative = np.vstack([np.eye(count) - base / base.sum(), np.zeros(count)])  # the last row is the zero
    points, influence = relative @ fit.strengths[:count], fit.influence()[:, :count] @ relative.T
    unseen = np.where(main, 0, _unseen(league, abs(fit.pseudo[1][:count])))
    rows = [*range(count), int(base.argmax())]  # the zero is bounded as an agent of the set is
    differences = _differences(points, influence, unseen[rows], beaten[np.ix_(rows, rows)])
    rating, effect = differences[:-1, -1], fit.strengths[count:] - fit.strengths[count:].mean()
    others = np.log(np.exp(effect).sum() - np.exp(effect))
    share = special.expit(rating[:, :, None] + effect - others).mean(axis=2)
    drawn = _drawn(fit, len(league.deals), resamples, np.random.default_rng(seed))[:, :count]
    ranks = np.argsort(np.argsort(-drawn, axis=1), axis=1)
    return Ratings(
        model=model,
        agents=league.agents,
        zero=tuple(np.array(league.agents)[base].tolist()),
        rating=tuple(Estimate(*row) for row in rating.tolist()),
        share=tuple(Estimate(*row) for row in share.tolist()),
        rank=1 + (points[:-1] > points[:-1, None]).sum(axis=1),
        rank_probability=np.array([(ranks == rank).mean(axis=0) for rank in range(count)]).T,
        drawn=drawn,
        differences=differences[:-1, :-1],
        seat_effect=effect,
        deals=len(league.deals),
        games=int(league.counts.sum()),
        faults=fault_counts(kept),
        unrated={name: found for name, found in everyone.items() if name not in league.agents},
    )


def _drawn(fit: Estimates, deals: int, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Parameters (R, K) in resamples of the deals. They vary as Student's t does, and exact ties are broken at random."""
    noise = rng.normal(scale=1e-9, size=(resamples, len(fit.strengths)))
    if deals == 1:  # says nothing about luck
        return noise
    drawn = fit.resampled(resampled(deals, resamples, rng))
    spread = np.sqrt((deals + 1) / rng.chisquare(deals - 1, resamples))
    return np.asarray(fit.strengths + (drawn - fit.strengths) * spread[:, None] + noise)


# --- fit of cells ---


def check_cells(
    matches: Sequence[Match], resamples: int = RESAMPLES, seed: int = 0, pseudo_games: float = PSEUDO_GAMES
) -> Fit:
    """Compare the win shares that ratings predict with the raw ones, line-up by line-up.

    A standard error is over deals and takes into account that the ratings were fitted to the same games. One game is added to
    its square, for cells in which one agent wins every game. The p value is from a test that flips the signs of deals.

    Args, Raises: as those of `rate`.

    Source: A. C. Cameron, J. B. Gelbach and D. L. Miller, "Bootstrap-based improvements for inference with clustered errors",
    Review of Economics and Statistics 90 (2008).
    """
    matches = rated(matches)
    league = league_of(matches, Model.WINS)
    fit, deals = estimates_of(league, pseudo_games), len(league.deals)
    moves = np.linalg.solve(fit.total, fit.scores.T).T  # (D, K) of the parameters, by deal
    means, surpluses, slopes = [], [], []
    for match in matches:
        seats, deal = seats_of(match, league.agents), np.searchsorted(league.deals, match.deal)
        parameters = design(seats, len(league.agents))
        odds = special.softmax(parameters @ fit.strengths, axis=1)
        for index, agent in enumerate(match.agents):
            mine = match.seats == index
            slope = odds * (mine - (odds * mine).sum(axis=1, keepdims=True))
            surpluses.append(np.bincount(deal, ((match.win_share - odds) * mine).sum(axis=1), deals))
            slopes.append(np.tensordot(slope, parameters, 2))
            raw, predicted = float(match.win_share[mine].mean()), float(odds[mine].mean())
            means.append((match.lineup, agent, match.num_games, raw, predicted))
    table = np.array(surpluses) - np.array(slopes) @ moves.T  # (cells, D)
    table /= np.sqrt(1 + (table**2).sum(axis=1, keepdims=True))
    cells = [CellFit(*mean, float(residual)) for mean, residual in zip(means, table.sum(axis=1), strict=True)]
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (deals, resamples))
    drawn, statistic = ((table @ signs) ** 2).sum(axis=0), sum(cell.residual**2 for cell in cells)
    return Fit(tuple(cells), statistic, float((1 + (drawn >= statistic).sum()) / (1 + resamples)))


def _index(agents: Sequence[str], agent: str) -> int:
    if agent not in agents:
        known = checks.one_line(", ".join(agents), 300)
        raise ValueError(f"agent {checks.shown(agent)} has no rating; there are {known}")
    return agents.index(agent)
