"""`FlatMonteCarloAgent`: the turns that its own value ranks highest, each tried out in games played on from there.

No tree: every candidate is a turn of the mover, after which all seats play by the planner's value, each outcome of a turn being
drawn the more likely the better it is for its mover, for some rounds; then the shares of the win that `evaluation.py` gives are
added up. Candidates are tried against the same luck (common random numbers), and half of them drop out again and again
(sequential halving: Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", 2013).
"""

import time
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import planner, playouts, tree, turns
from bombay_agents.playouts import Playout
from bombay_agents.turn_agent import TurnAgent
from bombay_env import Game, batch, chance
from bombay_env.compile import kernel

DEFAULT_MS: Final = 20.0
MAX_MS: Final = 60_000.0
MAX_ROLLOUTS: Final = 1_000_000
MAX_K: Final = tree.MAX_EDGES
MAX_ROUNDS: Final = 100
SLICE: Final = 4  # rollouts of a candidate between two looks at the clock
LUCK: Final = np.uint64(2003)  # stream of keyed chance, of the keys of rollouts


class Trials(NamedTuple):
    """Memory for the candidates of one turn and their rollouts; for one thread at a time. K is MAX_K."""

    playout: Playout
    outcomes: np.ndarray  # (K,) records, after the turn and before any restock
    due: np.ndarray  # (K,) int8
    total: np.ndarray  # (K,) float64, the mover's shares added up
    tried: np.ndarray  # (K,) int64, rollouts


class FlatMonteCarloAgent(TurnAgent):
    """The turn that does best in rollouts.

    Args:
        ms: milliseconds a turn. Not with `rollouts`; 20 if neither is given.
        rollouts: rollouts a turn instead; the same position, key and number give the same turn.
        k: candidates.
        rounds: turns that each seat takes in a rollout before the value is asked; a large number: to the end of the game.
    """

    def __init__(self, ms: float | None = None, rollouts: int | None = None, k: int = 8, rounds: int = 2) -> None:
        super().__init__()
        if ms is not None and rollouts is not None:
            raise ValueError("flat-mc takes ms or rollouts, not both")
        if rollouts is None:
            ms = DEFAULT_MS if ms is None else ms
        for name, number, low, high in (
            ("ms", ms, 0.001, MAX_MS),
            ("rollouts", rollouts, 1, MAX_ROLLOUTS),
            ("k", k, 2, MAX_K),
            ("rounds", rounds, 1, MAX_ROUNDS),
        ):
            if number is not None and not low <= number <= high:
                raise ValueError(f"flat-mc: {name} is {number}; it must be from {low} to {high:g}")
        self.ms, self.rollouts, self.k, self.rounds = ms, rollouts, k, rounds
        self.name = f"flat-mc:rollouts={rollouts}" if rollouts is not None else f"flat-mc:ms={ms:g}"

    def prepare(self, game: Game) -> turns.TurnSpace:
        """Make the memory for trials."""
        space = planner.new_space(game)
        self.turn = turns.new_space(game)
        self.trials = Trials(
            playouts.new_playout(game, space, self.rounds),
            np.zeros(MAX_K, game.state_dtype),
            np.zeros(MAX_K, np.int8),
            np.zeros(MAX_K, np.float64),
            np.zeros(MAX_K, np.int64),
        )
        return self.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Try the candidates out, and lay out the turn again for the one that did best."""
        start = time.perf_counter()
        tables = game.tables[0]
        left = turns.check_count(propose(state, tables, self.trials, self.k))
        mover = int(state.current_player)
        if left > 1:
            stages = int(np.ceil(np.log2(left)))
            candidates = np.arange(left)
            for stage in range(stages):
                self._try(tables, mover, key, candidates, stage, stages, start)
                means = self.trials.total[candidates] / np.maximum(1, self.trials.tried[candidates])
                order = np.argsort(-means, kind="stable")
                candidates = np.sort(candidates[order[: (len(candidates) + 1) // 2]])
            means = self.trials.total[candidates] / np.maximum(1, self.trials.tried[candidates])
            best = int(candidates[np.argmax(means)])
        else:
            best = 0
        count = turns.enumerate_turn(state, tables, self.turn)
        wanted = self.trials.outcomes[best].tobytes()
        return next(node for node in range(count) if self.turn.states[node].tobytes() == wanted)

    def _try(
        self, tables: Any, mover: int, key: np.uint64, candidates: np.ndarray, stage: int, stages: int, start: float
    ) -> None:
        """Give each of the candidates still left its rollouts of one stage."""
        if self.rollouts is not None:
            each = max(1, self.rollouts // (stages * len(candidates)))
            try_all(tables, self.trials, candidates, mover, key, each)
            return
        end = start + (stage + 1) * (self.ms or 0) / 1000 / stages
        while True:
            try_all(tables, self.trials, candidates, mover, key, SLICE)
            if time.perf_counter() >= end:
                return


@kernel
def propose(state, tables, trials, most):
    """Write the best outcomes of the mover's turn, at most `most`, into `trials`. Returns their number or `turns.TOO_MANY`."""
    space = trials.playout.planner
    count = planner.value_turn(state, tables, trials.playout.evaluator.weights, space)
    if count == turns.TOO_MANY:
        return count
    number = 0
    for outcome in range(count):
        if space.turn.due[outcome] != turns.TURN_GOES_ON:
            number = tree.rank_outcome(space, outcome, number)
    number = min(number, most)
    for place in range(number):
        trials.outcomes[place] = space.turn.states[space.ranked[place]]
        trials.due[place] = space.turn.due[space.ranked[place]]
        trials.total[place] = 0.0
        trials.tried[place] = 0
    return number


@kernel
def try_all(tables, trials, candidates, mover, key, each):
    """Play `each` rollouts of every candidate, with the same luck for all that have had as many."""
    playout = trials.playout
    for place in range(len(candidates)):
        candidate = candidates[place]
        for _ in range(each):
            luck = chance.random_word(key, LUCK, np.uint64(trials.tried[candidate]))
            playout.state[0] = trials.outcomes[candidate]
            if trials.due[candidate] == turns.RESTOCK_DUE:
                playout.state[0].seed = luck
                batch.restock(playout.state[0], tables, playout.drawn)
            playouts.play_on(tables, playout, luck)
            trials.total[candidate] += playout.shares[mover]
            trials.tried[candidate] += 1
