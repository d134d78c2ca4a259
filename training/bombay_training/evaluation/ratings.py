"""Ratings of agents from matches of any line-ups of one number of players, with intervals over deals.

Each agent has a strength θ and each seat an effect γ. An agent in seat s has the weight v = exp(θ + γ[s]). Two models use them::

    wins    P(s wins) = v[s] / Σ v. A shared win counts in parts. The fit reproduces the mean win share of every agent and seat.
    orders  Plackett and Luce: the first place goes by these odds, the next one by the odds among the seats left, and so on. The
            probability of a tie is the sum over all orders that it leaves open.

*Pseudo-games.* The likeliest θ of an agent that always wins is infinite. So every θ and γ plays a pseudo-game against a phantom
of strength 0, half won and half lost: Haldane's and Anscombe's correction of the logit of a proportion. It moves a θ with G games
towards 0 by an order of 1/G; the likeliest one is on average too far from 0 by the same order, and its standard error is of order
1/√G. It also chooses among all θ and γ that differ by constants.

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

Sources: R. D. Luce, "Individual choice behavior" (1959); R. L. Plackett, "The analysis of permutations", Applied Statistics 24
(1975); K. Train, "Discrete choice methods with simulation" (2009), chapters 3 and 8; F. J. Anscombe, "On estimating binomial
response relations", Biometrika 43 (1956); D. R. Hunter, "MM algorithms for generalized Bradley–Terry models", Annals of
Statistics 32 (2004); C. A. Field and A. H. Welsh, "Bootstrapping clustered data", JRSS B 69 (2007); R. M. Bell and D. F.
McCaffrey, "Bias reduction in standard errors for linear regression with multi-stage samples", Survey Methodology 28 (2002).
"""

import dataclasses
import enum
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from scipy import optimize, sparse, special
from scipy.sparse import csgraph

from bombay_env import checks
from bombay_training.matches.intervals import CONFIDENCE, Estimate, resampled
from bombay_training.matches.match import Match
from bombay_training.matches.statistics import FaultCount, fault_counts, fault_note

RESAMPLES: Final = 1000
PSEUDO_GAMES: Final = 1.0  # of every agent and seat
MAX_STEPS: Final = 100  # of the fit
# A result that D deals do not show has a probability of up to this / D.
UNSEEN_DEALS: Final = -math.log((1 - CONFIDENCE) / 2)

Terms = tuple[
    np.ndarray, np.ndarray, np.ndarray
]  # a log-likelihood, its gradient (K,) and information (K, K), or (U, …) of them


class Model(enum.StrEnum):
    """What of a game is explained."""

    WINS = "wins"  # the win shares
    ORDERS = "orders"  # the places; after a fault the offender's seats are last, and the order of the others is open


# --- games and their likelihood ---


@dataclasses.dataclass(frozen=True, eq=False)
class League:
    """The games of D deals with A agents and n seats, by their U different results. Parameters are the K = A + n θ and γ.

    Args:
        agents: names.
        seats: (U, n) int64 indices into `agents`.
        values: (U, n) float64 win shares or places.
        counts: (D, U) sparse, how often each deal had each result.
        deals: (D,) uint64 their seeds, ascending.
        model: what is explained.
    """

    agents: tuple[str, ...]
    seats: np.ndarray
    values: np.ndarray
    counts: Any
    deals: np.ndarray
    model: Model

    @functools.cached_property
    def design(self) -> np.ndarray:
        """Which parameters add up to the log weight of each seat, (U, n, K) float64."""
        return _design(self.seats, len(self.agents))

    @functools.cached_property
    def orders(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The R orders that results leave open, each a number of choices; in the model of wins, a result is one choice.

        Returns:
            (R,) int64 the result of each order, ascending; (R, n) float64 how often it chooses each seat; (R, choices, n) bool
            from which seats.
        """
        n = self.seats.shape[1]
        if self.model is Model.WINS:
            return np.arange(len(self.values)), self.values, np.ones((len(self.values), 1, n), np.bool_)
        every = np.array(list(itertools.permutations(range(n))))
        result, order = np.nonzero((np.diff(self.values[:, every], axis=2) >= 0).all(axis=2))
        place = np.argsort(every, axis=1)[order]
        return result, np.ones(place.shape), place[:, None] >= np.arange(n)[:, None]

    def terms(self, strengths: np.ndarray) -> Terms:
        """The log-likelihoods (U,) of the results, their gradients (U, K) and information (U, K, K) by the parameters (K,).

        They are concave, also with ties: a result is a convex set of the seats' Gumbel-distributed luck.

        Source: A. Prékopa, "On logarithmic concave measures and functions", Acta Scientiarum Mathematicarum 34 (1973).
        """
        result, chosen, left = self.orders
        first = np.searchsorted(result, np.arange(len(self.values)))
        weights = (self.design @ strengths)[result]
        open_weights = np.where(left, weights[:, None], -np.inf)
        odds = special.softmax(open_weights, axis=2)
        value = (chosen * weights).sum(axis=1) - special.logsumexp(open_weights, axis=2).sum(axis=1)
        gradient = chosen - odds.sum(axis=1)
        total = np.logaddexp.reduceat(value, first)
        part = np.exp(value - total[result])  # of each order in the probability of its result
        mean = np.add.reduceat(part[:, None] * gradient, first)
        information = _covariance(odds).sum(axis=1) - gradient[:, :, None] * gradient[:, None]
        information = np.add.reduceat(part[:, None, None] * information, first) + mean[:, :, None] * mean[:, None]
        return total, np.einsum("uik,ui->uk", self.design, mean), self._by_parameter(information)

    def _by_parameter(self, information: np.ndarray) -> np.ndarray:
        return np.asarray(self.design.swapaxes(1, 2) @ information @ self.design)

    def beaten(self) -> np.ndarray:
        """(A, A) bool: whether the agent in the row has beaten that in the column, itself or through others."""
        ahead = self.values[:, :, None] > 0
        if self.model is Model.ORDERS:
            ahead = self.values[:, :, None] < self.values[:, None]
        row, one, other = np.nonzero(ahead & ~np.eye(self.seats.shape[1], dtype=np.bool_))
        direct = np.zeros((len(self.agents), len(self.agents)))
        direct[self.seats[row, one], self.seats[row, other]] = 1
        return np.asarray(np.isfinite(csgraph.shortest_path(direct, unweighted=True)))

    def check_strengths(self, among: np.ndarray) -> None:
        """Raise ValueError if the strengths of these agents, (A,) bool, cannot be told from each other and from effects of seats.

        Results against other agents, whose strengths no game bounds, do not tell them apart.
        """
        mine = among[self.seats].astype(float)
        odds = mine / np.maximum(mine.sum(axis=1, keepdims=True), 1)
        values, vectors = np.linalg.eigh(self._by_parameter(_covariance(odds)).sum(axis=0))
        free = vectors[: len(among)][among][:, values < 1e-9 * max(values.max(), 1)]
        if (np.ptp(free, axis=0) > 1e-6).any():
            raise ValueError(
                "these line-ups cannot be rated: some agents never meet others, or agents that beat each other never change "
                "their seats"
            )


def league_of(matches: Sequence[Match], model: Model) -> League:
    """The games of `rated` matches. Agents with equal names are one agent, and equal seeds one deal.

    Raises:
        ValueError: the numbers of players differ, or the line-ups leave parameters open: some agents never meet others, even
            through third ones, or agents never change their seats.
    """
    players = sorted({match.game.num_players for match in matches})
    if len(players) != 1:
        raise ValueError(f"ratings need matches of one number of players, not {players}")
    agents = tuple(dict.fromkeys(name for match in matches for name in match.agents))
    wins = model is Model.WINS
    rows = [np.hstack([_seats(match, agents), match.win_share if wins else _places(match)]) for match in matches]
    results, result = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    deals, deal = np.unique(np.concatenate([match.deal for match in matches]), return_inverse=True)
    counts = sparse.coo_array((np.ones(len(deal)), (deal, result.ravel()))).tocsr()
    seats, values = np.hsplit(results, 2)
    league = League(agents, seats.astype(np.int64), values, counts, deals, model)
    league.check_strengths(np.ones(len(agents), np.bool_))
    return league


def rated(matches: Sequence[Match]) -> list[Match]:
    """The matches without an agent that lost more than 1 % of its games by faults: such games say little about strength.

    Raises:
        ValueError: none is left.
    """
    counts = fault_counts(matches)
    kept = [match for match in matches if not any(counts[name].unreliable for name in match.agents)]
    if matches and not kept:
        raise ValueError(checks.message(fault_note(counts, "no games are left to rate")))
    return kept


def _places(match: Match) -> np.ndarray:
    """The places (G, n), also of games that ended by a fault: the offender's seats come last, the others share the first."""
    return np.where(match.played_out[:, None], match.place, 1 + (match.win_share == 0))


def _seats(match: Match, agents: Sequence[str]) -> np.ndarray:
    """The match's seats (G, n) as indices into these agents."""
    return np.asarray(np.array([agents.index(name) for name in match.agents])[match.seats])


def _design(seats: np.ndarray, agents: int) -> np.ndarray:
    """Which parameters add up to the log weight of each seat, (G, n, K) float64."""
    games, n = seats.shape
    return np.concatenate([np.eye(agents)[seats], np.tile(np.eye(n), (games, 1, 1))], axis=2)


def _covariance(odds: np.ndarray) -> np.ndarray:
    """The covariance (…, n, n) of a choice of one seat by these odds (…, n)."""
    return np.asarray(odds[..., None] * np.eye(odds.shape[-1]) - odds[..., None] * odds[..., None, :])


# --- fit ---


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """The likeliest parameters of a league with pseudo-games.

    Args:
        strengths: (K,) the parameters.
        scores: (D, K) the gradient by deal. Their sum is the negative gradient of the pseudo-games.
        information: (D, K, K) by deal.
        total: (K, K) all information, with that of the pseudo-games.
    """

    strengths: np.ndarray
    scores: np.ndarray
    information: np.ndarray
    total: np.ndarray

    def influence(self) -> np.ndarray:
        """How much each deal moves the parameters, (D, K): the last of Newton's steps from the fit without the deal."""
        moves = np.linalg.solve(self.total - self.information, self.scores[:, :, None])[:, :, 0]
        return np.asarray(moves - moves.mean(axis=0))

    def moves(self, weights: np.ndarray) -> np.ndarray:
        """How the parameters move if deals have these weights (B, D) instead of 1, (B, K): by one of Newton's steps."""
        information = self.total + np.tensordot(weights - 1, self.information, 1)
        return np.asarray(np.linalg.solve(information, ((weights - 1) @ self.scores)[:, :, None])[:, :, 0])


def fit(league: League, pseudo_games: float = PSEUDO_GAMES) -> Fitted:
    """Fit the parameters.

    The trust region ends where the likelihood's rounding hides a gain. From there Newton's steps need the gradient only.

    Raises:
        ValueError: `pseudo_games` is not above 0.
        ArithmeticError: no convergence.
    """
    if not pseudo_games > 0:
        raise ValueError(f"pseudo_games is {pseudo_games:g}; it must be above 0")

    @functools.lru_cache(maxsize=2)  # SciPy asks for the terms one by one
    def terms(strengths: bytes) -> Terms:
        return log_likelihood(league, pseudo_games, np.frombuffer(strengths))

    rounding = 1e-8 * league.counts.sum()
    strengths = optimize.minimize(
        lambda at: -terms(at.tobytes())[0],
        np.zeros(league.design.shape[2]),
        jac=lambda at: -terms(at.tobytes())[1],
        hess=lambda at: terms(at.tobytes())[2],
        method="trust-exact",
        options={"gtol": rounding, "maxiter": MAX_STEPS},
    ).x
    for _ in range(2):
        _, gradient, information = terms(strengths.tobytes())
        strengths = strengths + (step := np.linalg.solve(information, gradient))
    if gradient @ step > rounding:
        raise ArithmeticError(f"the ratings did not converge in {MAX_STEPS} steps")
    _, gradient, information = league.terms(strengths)
    by_deal = (league.counts @ information.reshape(len(gradient), -1)).reshape(-1, *information.shape[1:])
    return Fitted(strengths, league.counts @ gradient, by_deal, terms(strengths.tobytes())[2])


def log_likelihood(league: League, pseudo_games: float, strengths: np.ndarray) -> Terms:
    """The terms of all games and of pseudo-games: half a win and half a loss for every parameter, times `pseudo_games`."""
    slope = np.tanh(strengths / 2)
    value = -pseudo_games * np.logaddexp(strengths / 2, -strengths / 2).sum()
    pseudo = value, -pseudo_games / 2 * slope, np.diag(pseudo_games / 4 * (1 - slope**2))
    counts = league.counts.sum(axis=0)
    value, gradient, information = (
        np.tensordot(counts, played, 1) + more for played, more in zip(league.terms(strengths), pseudo, strict=True)
    )
    return value, gradient, information


# --- ratings ---


@dataclasses.dataclass(frozen=True, eq=False)
class Ratings:
    """Strengths of A agents at one number of players, in the order in which the matches name them.

    Args:
        agents: names.
        zero: those whose mean rating is 0.
        rating: θ with its interval of 95 %.
        share: expected win share against agents of rating 0, averaged over seats; with the bounds of the rating.
        rank: (A,) int64 from 1, by rating.
        drawn: (R, A) float64, ratings in resamples of the deals.
        differences: (A, A, 3) float64, row's rating minus column's, with its lower and upper bound.
        seat_effect: (n,) float64, γ, adding up to 0.
        deals, games: how many there are.
        faults: the games of each agent that are counted, and those of them that it lost by faults.
        unrated: likewise the games of agents without a rating: those that lost more than 1 % of their games by faults, and those
            that met only such agents. No game of theirs is counted.
    """

    agents: tuple[str, ...]
    zero: tuple[str, ...]
    rating: tuple[Estimate, ...]
    share: tuple[Estimate, ...]
    rank: np.ndarray
    drawn: np.ndarray
    differences: np.ndarray
    seat_effect: np.ndarray
    deals: int
    games: int
    faults: dict[str, FaultCount]
    unrated: dict[str, FaultCount]

    @functools.cached_property
    def rank_probability(self) -> np.ndarray:
        """(A, A) float64, of each agent (row) to have each rank."""
        ranks = np.argsort(np.argsort(-self.drawn, axis=1), axis=1)
        return np.array([(ranks == rank).mean(axis=0) for rank in range(len(self.agents))]).T

    def difference(self, agent: str, other: str) -> Estimate:
        """The first agent's rating minus the second's. Raises ValueError if an agent has no rating."""
        return Estimate(*self.differences[self._index(agent), self._index(other)].tolist())

    def best(self, agent: str, others: Sequence[str]) -> float:
        """The probability that the agent is the best of itself and these others. Raises ValueError as `difference`."""
        places = [self._index(name) for name in (agent, *others)]
        return float((self.drawn[:, places].argmax(axis=1) == 0).mean())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, with the agents by rank."""
        agents = [
            {
                "rank": int(self.rank[index]),
                "agent": self.agents[index],
                "rating": self.rating[index].to_dict(),
                "share": self.share[index].to_dict(),
                **dataclasses.asdict(self.faults[self.agents[index]]),
                "rank_probability": self.rank_probability[index].tolist(),
            }
            for index in np.argsort(self.rank, kind="stable")
        ]
        return {
            "games": self.games,
            "deals": self.deals,
            "zero": list(self.zero),
            "agents": agents,
            "unrated": {name: dataclasses.asdict(count) for name, count in self.unrated.items()},
            "seat_effect": self.seat_effect.tolist(),
        }

    def _index(self, agent: str) -> int:
        if agent not in self.agents:
            known = checks.one_line(", ".join(self.agents), 300)
            raise ValueError(f"agent {checks.shown(agent)} has no rating; there are {known}")
        return self.agents.index(agent)


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
        ValueError: `pseudo_games` is not above 0, or as `rated` and `league_of`.
        ArithmeticError: the fit did not converge.
    """
    kept = rated(matches)
    league = league_of(kept, model)
    found, count = fit(league, pseudo_games), len(league.agents)
    beaten = league.beaten()
    mutual = beaten & beaten.T
    main = mutual[np.lexsort((found.strengths[:count], -mutual.sum(axis=1)))[0]]  # of equally large sets, the weakest
    league.check_strengths(main)
    base = main & np.isin(league.agents, reference)
    base = base if base.any() else main
    relative = np.vstack([np.eye(count) - base / base.sum(), np.zeros(count)])  # the last row is the zero
    points, influence = relative @ found.strengths[:count], found.influence()[:, :count] @ relative.T
    lost = pseudo_games / 2 * np.tanh(abs(found.strengths[:count]) / 2)  # of the pseudo-games, beyond half of them
    unseen = np.where(main, 0, _unseen(league, lost))
    rows = [*range(count), int(base.argmax())]  # the zero is bounded as an agent of the set is
    differences = _differences(points, influence, unseen[rows], beaten[np.ix_(rows, rows)])
    rating, effect = differences[:-1, -1], found.strengths[count:] - found.strengths[count:].mean()
    others = np.log(np.exp(effect).sum() - np.exp(effect))
    share = special.expit(rating[:, :, None] + effect - others).mean(axis=2)
    return Ratings(
        agents=league.agents,
        zero=tuple(np.array(league.agents)[base].tolist()),
        rating=tuple(Estimate(*row) for row in rating.tolist()),
        share=tuple(Estimate(*row) for row in share.tolist()),
        rank=1 + (points[:-1] > points[:-1, None]).sum(axis=1),
        drawn=_drawn(found, resamples, np.random.default_rng(seed))[:, :count],
        differences=differences[:-1, :-1],
        seat_effect=effect,
        deals=len(league.deals),
        games=int(league.counts.sum()),
        faults=fault_counts(kept),
        unrated={name: count for name, count in fault_counts(matches).items() if name not in league.agents},
    )


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


def _drawn(found: Fitted, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Parameters (R, K) in resamples of the deals. They vary as Student's t does, and exact ties are broken at random."""
    deals, noise = len(found.scores), rng.normal(scale=1e-9, size=(resamples, len(found.strengths)))
    if deals == 1:  # says nothing about luck
        return noise
    moves = found.moves(resampled(deals, resamples, rng))
    spread = np.sqrt((deals + 1) / rng.chisquare(deals - 1, resamples))
    return np.asarray(found.strengths + moves * spread[:, None] + noise)


# --- does one rating explain all line-ups? ---


@dataclasses.dataclass(frozen=True)
class Fit:
    """How well one rating per agent explains all line-ups. Cycles, where A beats B, B beats C and C beats A, show up here.

    Args:
        rows: plain JSON types for each match and agent, in their order: `agent`, the `others` of its line-up, `games`, its `raw`
            and its `predicted` win share, and `residual`, their difference in standard errors.
        statistic: the sum of squared residuals.
        p_value: the probability of one at least as large if the model holds.
    """

    rows: list[dict[str, Any]]
    statistic: float
    p_value: float


def check_lineups(
    matches: Sequence[Match], resamples: int = RESAMPLES, seed: int = 0, pseudo_games: float = PSEUDO_GAMES
) -> Fit:
    """Compare the win shares that ratings predict with the raw ones, line-up by line-up.

    A standard error is over deals and takes into account that the ratings were fitted to the same games. The variance of one game
    is added to its square, so that it is not 0 where one agent wins every game. The p value is from a test that flips the signs
    of deals.

    Args, Raises: as those of `rate`.

    Source: A. C. Cameron, J. B. Gelbach and D. L. Miller, "Bootstrap-based improvements for inference with clustered errors",
    Review of Economics and Statistics 90 (2008).
    """
    matches = rated(matches)
    league = league_of(matches, Model.WINS)
    found, first = fit(league, pseudo_games), np.cumsum([0, *(len(match.agents) for match in matches)])
    games = [
        (_seats(match, league.agents), match.seats + row, match.win_share)
        for match, row in zip(matches, first[:-1], strict=True)
    ]
    seats, row, share = map(np.concatenate, zip(*games, strict=True))  # (G, n) each
    deal = np.searchsorted(league.deals, np.concatenate([match.deal for match in matches]))
    design, entries = _design(seats, len(league.agents)), np.arange(seats.size)
    odds = special.softmax(design @ found.strengths, axis=1)
    of_rows = sparse.coo_array((np.ones(seats.size), (row.ravel(), entries))).tocsr()  # sums over the games of a row
    of_deals = sparse.coo_array(((share - odds).ravel(), (entries, deal.repeat(seats.shape[1])))).tocsr()
    raw, predicted = (of_rows @ part.ravel() / of_rows.sum(axis=1) for part in (share, odds))
    surplus, slopes = of_rows @ of_deals, of_rows @ (_covariance(odds) @ design).reshape(seats.size, -1)
    moves = np.linalg.solve(found.total, found.scores.T)  # (K, D) of the parameters, by deal
    # The residual of a row in a deal is surplus - slopes @ moves; an array of all rows and deals would be too large.
    square = surplus.power(2).sum(axis=1) + (slopes * (slopes @ (moves @ moves.T) - 2 * surplus @ moves.T)).sum(axis=1)

    def residuals(signs: np.ndarray) -> np.ndarray:
        """Those of each row (rows, …) where deals count with these signs (D, …)."""
        return np.asarray(((surplus @ signs - slopes @ (moves @ signs)).T / np.sqrt(1 + square)).T)

    residual = residuals(np.ones(len(league.deals)))
    drawn = (residuals(np.random.default_rng(seed).choice([-1.0, 1.0], (len(league.deals), resamples))) ** 2).sum(
        axis=0
    )
    names = [(match, agent) for match in matches for agent in match.agents]
    rows = [
        {"agent": agent, "others": [name for name in match.lineup if name != agent], "games": match.num_games}
        | dict(zip(("raw", "predicted", "residual"), numbers, strict=True))
        for (match, agent), numbers in zip(names, np.stack([raw, predicted, residual], axis=1).tolist(), strict=True)
    ]
    statistic = float((residual**2).sum())
    larger = drawn >= (1 - 1e-9) * statistic  # of few deals equal sums are often drawn, up to rounding errors
    return Fit(rows, statistic, float((1 + larger.sum()) / (1 + resamples)))
