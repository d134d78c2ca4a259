"""`FlatMonteCarloAgent`: the turns that the planner's value ranks highest, compared by rollouts from their outcomes.

There is no tree. After a candidate turn all seats play some rounds as planners that draw among the outcomes of their turns by a
softmax of the mover's value. The planner evaluates the position reached, and the shares of the win are averaged. Candidates share
random numbers, and sequential halving (`halving.py`) distributes the rollouts.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import evaluator as scripted_evaluator
from bombay_agents.scripted import planner
from bombay_agents.scripted.evaluator import PlannerEvaluator
from bombay_agents.scripted.planner import PlannerWorkspace
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_agents.search import budget
from bombay_agents.search.halving import best_by_halving
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game, batch, chance, streams
from bombay_env.checks import whole_number
from bombay_env.jit.kernels import kernel, long_kernel
from bombay_env.registry import described
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

DEFAULT_MS: Final = 20.0
MAX_K: Final = 12
MAX_ROUNDS: Final = 100
TEMPERATURE: Final = 0.1  # rupees, of the softmax over outcomes
TO_UNIT: Final = 2.0**-64
HALF_UNIT: Final = 2.0**-65


class FlatSearch(NamedTuple):
    """Memory for the candidates of one turn and their rollouts; for one thread at a time. K is MAX_K, P is MAX_PLAYERS."""

    planner: PlannerWorkspace  # for the turns in rollouts
    evaluator: PlannerEvaluator
    rounds: int  # turns of each seat in a rollout
    candidates: np.ndarray  # (K,) int64: nodes of the turn to choose, best first
    outcomes: np.ndarray  # (K,) records, after the turn and before any restock
    due: np.ndarray  # (K,) int8
    total: np.ndarray  # (K, P) float64, sum of the seats' shares
    num_rollouts: np.ndarray  # (K,) int64
    state: np.ndarray  # (1,) record: where the rollout stands
    drawn: np.ndarray  # (4,) int64, bales of a restock


@described("all", least="rollouts=1")
class FlatMonteCarloAgent(TurnAgent):
    """The turn with the best mean result of rollouts.

    Args:
        ms: milliseconds a turn, above 0, up to 60000; by default 20. Not with `rollouts`.
        rollouts: rollouts a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of candidate turns, from 2 to 12; by default 8.
        rounds: turns that each seat plays in a rollout before the position is evaluated, from 0 to 100; by default 4. 100 plays
            to the end of the game.
    """

    memory = (*TurnAgent.memory, "search", "root")

    def __init__(self, ms: float | None = None, rollouts: int | None = None, k: int = 8, rounds: int = 4) -> None:
        super().__init__()
        self.name = "flat-mc"
        self.ms, self.rollouts = budget.check("flat-mc", ms, rollouts, DEFAULT_MS, name="rollouts")
        self.k = whole_number(k, "flat-mc: k", 2, MAX_K)
        self.rounds = whole_number(rounds, "flat-mc: rounds", 0, MAX_ROUNDS)

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the memory for the turn to choose, for candidates and for rollouts.

        With a budget in ms, also run rollouts once, which compiles or loads the kernels.
        """
        self.root = planner.new_workspace(game)
        self.search = FlatSearch(
            planner.new_workspace(game),
            scripted_evaluator.new_evaluator(game, WEIGHTS_V1[game.num_players]),
            self.rounds,
            np.zeros(MAX_K, np.int64),
            np.zeros(MAX_K, game.state_dtype),
            np.zeros(MAX_K, np.int8),
            np.zeros((MAX_K, MAX_PLAYERS), np.float64),
            np.zeros(MAX_K, np.int64),
            np.zeros(1, game.state_dtype),
            np.zeros(NUM_COLOURS, np.int64),
        )
        if self.ms is not None:
            self.best_candidate(game, game.check_states(game.new_states([0]))[0], np.uint64(0), rollouts=1)
        return self.root.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """The node of the candidate that is best by rollouts."""
        return int(self.search.candidates[self.best_candidate(game, state, key, self.rollouts)])

    def best_candidate(self, game: Game, state: Any, key: np.uint64, rollouts: int | None) -> int:
        """Run rollouts of the candidates from `state`. Returns the index of the best.

        Args:
            game: that of the state.
            state: a record.
            key: decides all random choices.
            rollouts: their number; None for as many as `ms` allows.
        """
        tables, search, mover = game.tables[0], self.search, int(state.current_player)
        number = turns.check_count(propose(state, tables, self.root, search, self.k))
        return best_by_halving(
            number,
            lambda chosen, each: turns.check_count(simulate(tables, search, chosen, key, each)),
            lambda chosen: search.total[chosen, mover] / search.num_rollouts[chosen],
            rollouts,
            (self.ms or 0) / 1000,
        )


@kernel
def propose(state, tables, root, search, most):
    """Lay out the mover's turn in `root` and take its best outcomes by the planner's value, at most `most`, as candidates.

    Returns their number or `turns.TOO_MANY`.
    """
    count = planner.lay_out_and_value(state, tables, search.evaluator.weights, root)
    if count == turns.TOO_MANY:
        return np.int64(turns.TOO_MANY)
    number = turns.best_outcomes(root.turn.memory[0], root.values, count, most, search.candidates)
    for place in range(number):
        search.outcomes[place] = root.turn.states[search.candidates[place]]
        search.due[place] = root.turn.due[search.candidates[place]]
        search.total[place] = 0.0
        search.num_rollouts[place] = 0
    return np.int64(number)


@long_kernel
def simulate(tables, search, chosen, key, each):
    """Run `each` rollouts of every candidate in `chosen`, (k,) int64; the i-th rollout of each uses the same random numbers.

    Returns their number, or `turns.TOO_MANY` if a turn has no room.
    """
    shares = search.evaluator.outputs[1]
    for place in range(len(chosen)):
        candidate = chosen[place]
        for _ in range(each):
            rollout_key = chance.random_word(key, streams.ROLLOUT_KEYS, np.uint64(search.num_rollouts[candidate]))
            if not rollout(tables, search, rollout_key, candidate):
                return turns.TOO_MANY
            for seat in range(tables.num_players):
                search.total[candidate, seat] += shares[seat]
            search.num_rollouts[candidate] += 1
    return len(chosen) * each


@kernel
def rollout(tables, search, key, candidate):
    """Play on from a candidate's outcome with the chance of `key`, and let the evaluator value the position reached.

    Returns False if a turn has no room.
    """
    plan, state = search.planner, search.state[0]
    search.state[0] = search.outcomes[candidate]
    state.seed = key
    due = search.due[candidate]
    turn = 0
    while True:
        if due == turns.RESTOCK_DUE:
            batch.restock(state, tables, search.drawn)
        if turn == search.rounds * tables.num_players or state.current_player == NOBODY:
            break
        count = planner.lay_out_and_value(state, tables, search.evaluator.weights, plan)
        if count == turns.TOO_MANY:
            return False
        chosen = draw_outcome(plan, count, TEMPERATURE, key, turn)
        search.state[0] = plan.turn.states[chosen]
        due = plan.turn.due[chosen]
        turn += 1
    node = plan.turn.memory[0].node[0]
    node.state = state
    scripted_evaluator.value_position(node, tables, search.evaluator)
    return True


@kernel
def draw_outcome(workspace, count, temperature, key, turn):
    """Draw an outcome among the first `count` nodes of the turn, with probability proportional to exp(value / temperature).

    `key` and the number `turn` decide the draw.
    """
    best = -np.inf
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            best = max(best, workspace.values[node])
    total = 0.0
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            total += np.exp((workspace.values[node] - best) / temperature)
    random = np.float64(chance.random_word(key, streams.ROLLOUT_CHOICES, np.uint64(turn)))
    rest = (random * TO_UNIT + HALF_UNIT) * total
    chosen = -1
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            chosen = node
            rest -= np.exp((workspace.values[node] - best) / temperature)
            if rest <= 0.0:
                break
    return chosen
