"""Tension: how often the lead changes, when a game is decided, and what the later winner could expect on the way.

Beliefs are the shares of the win that a value net expects for each seat at the start of every turn. The net learned from games
between copies of `zero`, so its beliefs are too bold or too timid about games between others. One number a number of players, the
temperature, corrects this: each share is raised to 1 / temperature, and the shares of a position are scaled to sum to 1. It is
fitted on some games. Others tell how far beliefs are still off, and give the figures, if beliefs are good enough.

A belief supposes that the mover takes the turn that the net likes best, so it favours the mover, by .01 to .02 in games between
`planner-v1`. In a round every seat moves once. Lead changes are therefore counted from round to round, by mean beliefs.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from scipy import optimize, special

from bombay_agents.shipped import make_zero
from bombay_env.record import RESTOCK, Record
from bombay_training.matches.intervals import estimates, mean_bounds, share_bounds

MAX_ERROR: Final = 0.02  # of calibration, beyond which beliefs tell nothing
BINS: Final = 10
LEAST_SHARE: Final = 1e-6  # of a belief, so that its logarithm is finite
TEMPERATURES: Final = (0.1, 10.0)


@dataclasses.dataclass(frozen=True)
class Beliefs:
    """What could be expected at the start of every turn of games of one variant. G games, T turns, n seats.

    Args:
        share: (G, T, n) float64 the expected shares of the win, which sum to 1 over seats.
        win_share: (G, n) float64 the true ones.
    """

    share: np.ndarray
    win_share: np.ndarray

    def at(self, temperature: float) -> Self:
        """The beliefs corrected by a temperature; 1 changes nothing."""
        logarithms = np.log(np.maximum(self.share, LEAST_SHARE))
        return dataclasses.replace(self, share=special.softmax(logarithms / temperature, axis=2))

    @property
    def cross_entropy(self) -> float:
        """The mean over games and turns of −Σ true share · log belief."""
        return float(-special.xlogy(self.win_share[:, None], np.maximum(self.share, LEAST_SHARE)).sum(axis=2).mean())

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: the mean over beliefs of how far the truth is off, on average, among similar beliefs.

        Similar are those of one of `BINS` ranges of equal width. With few games chance alone makes an error.
        """
        places = np.minimum((self.share * BINS).astype(np.int64), BINS - 1).ravel()
        true = np.broadcast_to(self.win_share[:, None], self.share.shape)
        sums = np.bincount(places, (true - self.share).ravel(), BINS)
        return float(np.abs(sums).sum() / places.size)

    @property
    def by_round(self) -> Self:
        """Their means in each round, in which every seat moves once."""
        games, _, n = self.share.shape
        return dataclasses.replace(self, share=self.share.reshape(games, -1, n, n).mean(axis=2))

    @property
    def winner(self) -> np.ndarray:
        """(G, T) float64 what the later winner could expect; the mean over winners if they share the win."""
        return np.asarray((self.share * self.win_share[:, None]).sum(axis=2))

    @property
    def lead_changes(self) -> np.ndarray:
        """(G,) int64 how often the highest belief is about another seat than just before."""
        return np.asarray((np.diff(self.share.argmax(axis=2), axis=1) != 0).sum(axis=1))

    @property
    def decided(self) -> np.ndarray:
        """(G,) float64 the part of each game after which the belief in the winner stays above ½; 1 for a shared win."""
        stays = np.logical_and.accumulate(self.winner[:, ::-1] > 0.5, axis=1).sum(axis=1)
        return np.asarray(1 - stays / self.share.shape[1])


def beliefs(records: Sequence[Record]) -> Beliefs:
    """What `zero` expects in recorded games, as `turn_starts` takes them.

    Raises:
        ValueError: the net was not trained on these rules and this board.
    """
    starts = turn_starts(records)
    share = make_zero().win_shares(records[0].game, starts.ravel()).reshape(*starts.shape, -1)
    return Beliefs(share, np.array([record.result["win_share"] for record in records if record.result]))


def turn_starts(records: Sequence[Record]) -> np.ndarray:
    """The states in which turns begin, (G, T) records in the order of play.

    Args:
        records: of finished games of one variant and board, whose chance follows from their seeds. They are played together.
    """
    game, rules, n = records[0].game, records[0].game.rules, records[0].game.num_players
    starts = np.zeros((len(records), rules.sets * rules.turns_per_set * n), game.state_dtype)
    actions = [
        iter([game.action_index(event.partition(" ")[2]) for event in record.events if not event.startswith(RESTOCK)])
        for record in records
    ]
    running, states = np.arange(len(records)), game.new_states([record.seed for record in records])
    last = np.full(len(records), -1)  # the turn of each of the games still running
    while running.size:
        rounds = states["set"].astype(np.int64) * rules.turns_per_set + states["turn"]
        turns = rounds * n + (states["current_player"] - states["first_player"]) % n
        new = turns != last
        starts[running[new], turns[new]] = states[new]
        game.step(states, np.array([next(actions[index]) for index in running]))
        left = ~game.is_terminal(states)
        running, states, last = running[left], states[left], turns[left]
    return starts


def fit_temperature(given: Beliefs) -> float:
    """The temperature, within `TEMPERATURES`, at which the cross-entropy of beliefs is least."""
    found = optimize.minimize_scalar(
        lambda logarithm: given.at(np.exp(logarithm)).cross_entropy, bounds=np.log(TEMPERATURES)
    )
    return float(np.exp(found.x))


def tension(fitted: Beliefs, held_out: Beliefs) -> dict[str, Any]:
    """The tension of the games of `held_out`, by beliefs whose temperature is fitted on those of `fitted`.

    Returns:
        As plain JSON types: the number of `games`, the `temperature` of the beliefs and the `calibration_error` of the corrected
        ones. If that is at most `MAX_ERROR`, also estimates over games: `lead_changes`, how often another seat than in the round
        before has the highest mean belief; `decided`, the part of the game after which the belief in the winner stays above ½;
        and `winner`, what the later winner could expect, by round. If not, they are None, None and empty.
    """
    temperature = fit_temperature(fitted)
    given = held_out.at(temperature)
    error = given.calibration_error
    found = {"games": len(given.share), "temperature": temperature, "calibration_error": error}
    if error > MAX_ERROR:
        return found | {"lead_changes": None, "decided": None, "winner": []}
    return found | {
        "lead_changes": estimates(given.by_round.lead_changes, mean_bounds)[0].to_dict(),
        "decided": estimates(given.decided, share_bounds)[0].to_dict(),
        "winner": [estimate.to_dict() for estimate in estimates(given.by_round.winner, share_bounds)],
    }
