"""`FlatMonteCarloAgent`: the turns that its own value ranks highest, each tried out in games played on from there.

No tree: every candidate is a turn of the mover, after which all seats play by the planner's value, each outcome of a turn being
drawn the more likely the better it is for its mover, for some rounds; then the shares of the win that `evaluation.py` gives are
added up. Candidates are tried against the same luck (common random numbers), and half of them drop out again and again
(sequential halving: Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", 2013).
"""

import time
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import evaluation, planner, tree, turns
from bombay_agents.evaluation import Evaluator
from bombay_agents.planner import PlannerSpace
from bombay_agents.turn_agent import TurnAgent
from bombay_env import Game, batch, chance
from bombay_env.compile import kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

DEFAULT_MS: Final = 20.0
MAX_MS: Final = 60_000.0
MAX_ROLLOUTS: Final = 1_000_000
MAX_K: Final = tree.MAX_EDGES
MAX_ROUNDS: Final = 100
SLICE: Final = 4  # rollouts of a candidate between two looks at the clock
NOISE: Final = np.uint64(2002)  # streams of keyed chance: what seats do in a rollout,
LUCK: Final = np.uint64(2003)  # and the restocks
TO_UNIT: Final = 2.0**-64
HALF_UNIT: Final = 2.0**-65


class Trials(NamedTuple):
    """Memory for the candidates of one turn and their rollouts; for one thread at a time. K is MAX_K, P is MAX_PLAYERS."""

    planner: PlannerSpace
    evaluator: Evaluator
    temperature: float  # rupees: how far seats stray from the planner's choice
    rounds: int  # turns of each seat before the value is asked; 0: none, played to the end where more than the game has
    outcomes: np.ndarray  # (K,) records, after the turn and before any restock
    due: np.ndarray  # (K,) int8
    total: np.ndarray  # (K,) float64, the mover's shares added up
    tried: np.ndarray  # (K,) int64, rollouts
    state: np.ndarray  # (1,) record, of the rollout
    shares: np.ndarray  # (P,) float64
    drawn: np.ndarray  # (4,) int64


class FlatMonteCarloAgent(TurnAgent):
    """The turn that does best in rollouts.

    Args:
        ms: milliseconds a turn. Not with `rollouts`; 20 if neither is given.
        rollouts: rollouts a turn instead; the same position, key and number give the same turn.
        k: candidates.
        rounds: turns that each seat takes in a rollout before the value is asked; a large number: to the end of the game.
    """

    def __init__(self, ms: float | None = None, rollouts: int | None = None, k: int = 8, rounds: int = 1) -> None:
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
        self.temperature = 0.3

    def prepare(self, game: Game) -> turns.TurnSpace:
        """Make the memory for trials."""
        space = planner.new_space(game)
        self.turn = turns.new_space(game)
        self.trials = Trials(
            space,
            evaluation.new_evaluator(game, planner.WEIGHTS_V1),
            self.temperature,
            self.rounds,
            np.zeros(MAX_K, game.state_dtype),
            np.zeros(MAX_K, np.int8),
            np.zeros(MAX_K, np.float64),
            np.zeros(MAX_K, np.int64),
            np.zeros(1, game.state_dtype),
            np.zeros(MAX_PLAYERS, np.float64),
            np.zeros(NUM_COLOURS, np.int64),
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
    space = trials.planner
    count = planner.value_turn(state, tables, trials.evaluator.weights, space)
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
    for place in range(len(candidates)):
        candidate = candidates[place]
        for _ in range(each):
            number = np.uint64(trials.tried[candidate])
            roll_out(tables, trials, candidate, chance.random_word(key, LUCK, number))
            trials.total[candidate] += trials.shares[mover]
            trials.tried[candidate] += 1


@kernel
def roll_out(tables, trials, candidate, luck):
    """Play on from a candidate for the rounds there are; what every seat may expect then is left in `trials.shares`."""
    state = trials.state[0]
    trials.state[0] = trials.outcomes[candidate]
    state.seed = luck
    if trials.due[candidate] == turns.RESTOCK_DUE:
        batch.restock(state, tables, trials.drawn)
    space = trials.planner
    for turn in range(trials.rounds * tables.num_players):
        if state.current_player == NOBODY:
            break
        count = planner.value_turn(state, tables, trials.evaluator.weights, space)
        chosen = draw_outcome(space, count, trials.temperature, luck, turn)
        trials.state[0] = space.turn.states[chosen]
        if space.turn.due[chosen] == turns.RESTOCK_DUE:
            batch.restock(state, tables, trials.drawn)
    evaluation.evaluate(state, tables, trials.evaluator, trials.shares)


@kernel
def draw_outcome(space, count, temperature, luck, turn):
    """An outcome of the turn laid out, with probability proportional to exp(value / temperature)."""
    best = -np.inf
    for node in range(count):
        if space.turn.due[node] != turns.TURN_GOES_ON:
            best = max(best, space.values[node])
    total = 0.0
    for node in range(count):
        if space.turn.due[node] != turns.TURN_GOES_ON:
            total += np.exp((space.values[node] - best) / temperature)
    rest = (np.float64(chance.random_word(luck, NOISE, np.uint64(turn))) * TO_UNIT + HALF_UNIT) * total
    chosen = -1
    for node in range(count):
        if space.turn.due[node] != turns.TURN_GOES_ON:
            chosen = node
            rest -= np.exp((space.values[node] - best) / temperature)
            if rest <= 0.0:
                break
    return chosen
