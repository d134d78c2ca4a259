"""Models of who wins a game and in which order, and their fit to matches of any line-ups of one number of players.

Each agent has a strength θ and each seat an effect γ. An agent in seat s has the weight v = exp(θ + γ[s]). Two models use them:

    wins    P(s wins) = v[s] / Σ v. A shared win counts in parts. The fit reproduces the mean win share of every agent and seat.
    orders  Plackett and Luce: the first place goes by these odds, the next one by the odds among the seats left, and so on. The
            probability of a tie is the sum over all orders that it leaves open.

The likeliest θ of an agent that always wins is infinite. So every θ and γ plays a pseudo-game against a phantom of strength 0,
half won and half lost: Haldane's and Anscombe's correction of the logit of a proportion. It moves a θ with G games by an order of
1/G, while the standard error is of order 1/√G. It moves θ towards 0, from which the likeliest one is on average too far, by the
same order. The pseudo-game also chooses among all θ and γ that differ by constants. `ratings.py` centres them and turns the fit
into ratings.

Sources: R. D. Luce, "Individual choice behavior" (1959); R. L. Plackett, "The analysis of permutations", Applied Statistics 24
(1975); K. Train, "Discrete choice methods with simulation" (2009), chapters 3 and 8; F. J. Anscombe, "On estimating binomial
response relations", Biometrika 43 (1956).
"""

import dataclasses
import enum
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from scipy import optimize, sparse, special
from scipy.sparse import csgraph

from bombay_env import checks
from bombay_training.matches.results import Match
from bombay_training.matches.statistics import fault_note, unreliable

MAX_STEPS: Final = 100  # of the trust region

Terms = tuple[np.ndarray, np.ndarray, np.ndarray]  # log-likelihoods (U,), gradients (U, n) and information (U, n, n)
Likelihood = Callable[[np.ndarray], Terms]  # of results, by the seats' log weights (U, n)


class Model(enum.StrEnum):
    """What of a game is explained."""

    WINS = "wins"  # the win shares
    ORDERS = "orders"  # the places; after a fault the offender's seats are last, and the order of the others is open


# --- games ---


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
    def likelihood(self) -> Likelihood:
        """That of the model."""
        return (_wins if self.model is Model.WINS else _orders)(self.values)

    @functools.cached_property
    def design(self) -> np.ndarray:
        """(U, n, K) float64, as `design`."""
        return design(self.seats, len(self.agents))

    def terms(self, strengths: np.ndarray) -> Terms:
        """The log-likelihoods (U,) of the results, their gradients (U, K) and information (U, K, K) by the parameters (K,)."""
        value, gradient, information = self.likelihood(self.design @ strengths)
        return value, np.einsum("uik,ui->uk", self.design, gradient), self._by_parameter(information)

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
    rows = [np.hstack([seats_of(match, agents), match.win_share if wins else _places(match)]) for match in matches]
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
    failing = unreliable(matches)
    kept = [match for match in matches if not failing.keys() & set(match.agents)]
    if matches and not kept:
        raise ValueError(checks.message(fault_note(failing, "no games are left to rate")))
    return kept


def _places(match: Match) -> np.ndarray:
    """The places (G, n), also of games that ended by a fault: the offender's seats come last, the others share the first."""
    return np.where(match.played_out[:, None], match.place, 1 + (match.win_share == 0))


def seats_of(match: Match, agents: Sequence[str]) -> np.ndarray:
    """The match's seats (G, n) as indices into these agents."""
    return np.asarray(np.array([agents.index(name) for name in match.agents])[match.seats])


# --- models ---


def design(seats: np.ndarray, agents: int) -> np.ndarray:
    """Which parameters add up to the log weight of each of the seats (U, n), (U, n, K) float64."""
    n = seats.shape[1]
    return np.concatenate([np.eye(agents)[seats], np.tile(np.eye(n), (len(seats), 1, 1))], axis=2)


def _covariance(odds: np.ndarray) -> np.ndarray:
    """The covariance (…, n, n) of a choice of one seat by these odds (…, n)."""
    return np.asarray(odds[..., None] * np.eye(odds.shape[-1]) - odds[..., None] * odds[..., None, :])


def _wins(shares: np.ndarray) -> Likelihood:
    """The conditional logit of win shares (U, n)."""

    def terms(weights: np.ndarray) -> Terms:
        odds = special.softmax(weights, axis=1)
        value = (shares * weights).sum(axis=1) - special.logsumexp(weights, axis=1)
        return value, shares - odds, _covariance(odds)

    return terms


def _orders(places: np.ndarray) -> Likelihood:
    """Plackett and Luce's model of places (U, n). Each result is expanded to the R orders without ties that it leaves open.

    Its log-likelihood is concave, also with ties: a result is a convex set of the seats' Gumbel-distributed luck.

    Source: A. Prékopa, "On logarithmic concave measures and functions", Acta Scientiarum Mathematicarum 34 (1973).
    """
    n = places.shape[1]
    permutations = np.array(list(itertools.permutations(range(n))))
    result, which = np.nonzero((np.diff(places[:, permutations], axis=2) >= 0).all(axis=2))
    order = permutations[which]
    back, first = np.argsort(order, axis=1), np.searchsorted(result, np.arange(len(places)))
    square = np.arange(len(back))[:, None, None], back[:, :, None], back[:, None]
    placeless = np.triu(np.ones((n, n), np.bool_))  # (stage, seat): still without a place

    def terms(weights: np.ndarray) -> Terms:
        ordered = np.take_along_axis(weights[result], order, axis=1)
        left = np.where(placeless, ordered[:, None], -np.inf)
        odds = special.softmax(left, axis=2)
        value = (ordered - special.logsumexp(left, axis=2)).sum(axis=1)
        gradient = np.take_along_axis(1 - odds.sum(axis=1), back, axis=1)
        information = _covariance(odds).sum(axis=1)[square]
        total = np.logaddexp.reduceat(value, first)
        part = np.exp(value - total[result])  # of each order in the probability of its result
        mean = np.add.reduceat(part[:, None] * gradient, first)
        information -= gradient[:, :, None] * gradient[:, None]
        information = np.add.reduceat(part[:, None, None] * information, first) + mean[:, :, None] * mean[:, None]
        return total, mean, information

    return terms


# --- fit ---


@dataclasses.dataclass(frozen=True, eq=False)
class Estimates:
    """The fit of a league.

    Args:
        strengths: (K,) the parameters.
        scores: (D, K) the gradient by deal.
        information: (D, K, K) by deal.
        pseudo: the log-likelihood, gradient (K,) and information (K, K) of the pseudo-games.
    """

    strengths: np.ndarray
    scores: np.ndarray
    information: np.ndarray
    pseudo: Terms

    @functools.cached_property
    def total(self) -> np.ndarray:
        """All information, (K, K)."""
        return np.asarray(self.information.sum(axis=0) + self.pseudo[2])

    def influence(self) -> np.ndarray:
        """How much each deal moves the parameters, (D, K): the last of Newton's steps from the fit without the deal."""
        moves = np.linalg.solve(self.total - self.information, self.scores[:, :, None])[:, :, 0]
        return np.asarray(moves - moves.mean(axis=0))

    def resampled(self, weights: np.ndarray) -> np.ndarray:
        """The parameters (B, K) if deals have these weights (B, D): one of Newton's steps from the fit."""
        information = np.tensordot(weights, self.information, 1) + self.pseudo[2]
        scores = weights @ self.scores + self.pseudo[1]
        return np.asarray(self.strengths + np.linalg.solve(information, scores[:, :, None])[:, :, 0])


def estimates_of(league: League, pseudo_games: float) -> Estimates:
    """Fit a league. Raises as `fitted`."""
    strengths = fitted(league, league.counts.sum(axis=0), pseudo_games)
    _, gradient, information = league.terms(strengths)
    by_deal = (league.counts @ information.reshape(len(gradient), -1)).reshape(-1, *information.shape[1:])
    return Estimates(strengths, league.counts @ gradient, by_deal, _pseudo(strengths, pseudo_games))


def fitted(league: League, counts: np.ndarray, pseudo_games: float) -> np.ndarray:
    """The likeliest parameters (K,) if results occur so often (U,).

    The trust region ends where the likelihood's rounding hides a gain. From there Newton's steps need the gradient only.

    Raises:
        ValueError: `pseudo_games` is not above 0.
        ArithmeticError: no convergence.
    """
    if not pseudo_games > 0:
        raise ValueError(f"pseudo_games is {pseudo_games:g}; it must be above 0")
    likelihood = functools.partial(log_likelihood, league, counts, pseudo_games)
    rounding, start = 1e-8 * counts.sum(), np.zeros(league.design.shape[2])

    def loss(strengths: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, _ = likelihood(strengths)
        return -float(value), -gradient

    options = {"gtol": rounding, "maxiter": MAX_STEPS}
    found = optimize.minimize(
        loss, start, jac=True, hess=lambda at: likelihood(at)[2], method="trust-exact", options=options
    )
    strengths = found.x
    for _ in range(2):
        _, gradient, information = likelihood(strengths)
        strengths = strengths + (step := np.linalg.solve(information, gradient))
    if gradient @ step > rounding:
        raise ArithmeticError(f"the ratings did not converge in {MAX_STEPS} steps")
    return np.asarray(strengths)


def log_likelihood(league: League, counts: np.ndarray, pseudo_games: float, strengths: np.ndarray) -> Terms:
    """The log-likelihood, its gradient (K,) and information (K, K), of results that occur so often (U,) and pseudo-games."""
    parts = zip(league.terms(strengths), _pseudo(strengths, pseudo_games), strict=True)
    value, gradient, information = (np.tensordot(counts, played, 1) + pseudo for played, pseudo in parts)
    return value, gradient, information


def _pseudo(strengths: np.ndarray, games: float) -> Terms:
    """The terms of half a win and half a loss for every parameter, times `games`."""
    slope = np.tanh(strengths / 2)
    value = -games * np.logaddexp(strengths / 2, -strengths / 2).sum()
    return value, -games / 2 * slope, np.diag(games / 4 * (1 - slope**2))
