"""`FlatMonteCarloAgent`: the turns that the scripted value ranks highest, compared by rollouts from their outcomes.

There is no tree. After a candidate turn all seats play some rounds (`rollouts.py`), the position reached is evaluated
(`evaluation.py`), and the shares of the win are averaged. Candidates share random numbers, and sequential halving
(`halving.py`) distributes the rollouts.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_agents.search import budget, proposals, rollouts
from bombay_agents.search.evaluation import new_evaluator, position_evaluator
from bombay_agents.search.halving import best_by_halving
from bombay_agents.search.proposals import MAX_PROPOSALS
from bombay_agents.search.rollouts import POLICIES, RolloutWorkspace
from bombay_agents.turns.agent import TurnAgent, spec_of
from bombay_env import Game, chance
from bombay_env.agent import Agent
from bombay_env.checks import whole_number
from bombay_env.jit.kernels import kernel, long_kernel
from bombay_env.rules import MAX_PLAYERS

DEFAULT_MS: Final = 20.0
MAX_K: Final = MAX_PROPOSALS
MAX_ROUNDS: Final = 100
ROLLOUT_KEYS: Final = np.uint64(2003)  # stream of keyed chance


class Candidates(NamedTuple):
    """Memory for the candidates of one turn and their rollouts; for one thread at a time. K is MAX_K, P is MAX_PLAYERS."""

    rollout: RolloutWorkspace
    outcomes: np.ndarray  # (K,) records, after the turn and before any restock
    due: np.ndarray  # (K,) int8
    total: np.ndarray  # (K, P) float64, sum of the seats' shares
    num_rollouts: np.ndarray  # (K,) int64


class FlatMonteCarloAgent(TurnAgent):
    """The turn with the best mean result of rollouts.

    Args:
        ms: milliseconds a turn, above 0, up to 60000; by default 20. Not with `rollouts`.
        rollouts: rollouts a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of candidate turns, from 2 to 12; by default 8.
        rounds: turns that each seat plays in a rollout before the position is evaluated, from 0 to 100; by default 4. 100 plays
            to the end of the game.
        restock: whether rollouts continue in the next set, by default true; false evaluates the position where the set ends.
        policy: who plays the rollouts, `planner` (the default) or `greedy`.
        value: an agent in brackets whose value evaluates positions, such as `[td]`; by default `planner-v1`.
    """

    memory = (*TurnAgent.memory, "turn", "candidates")

    def __init__(
        self,
        ms: float | None = None,
        rollouts: int | None = None,
        k: int = 8,
        rounds: int = 4,
        restock: bool = True,
        policy: str = "planner",
        value: Agent | None = None,
    ) -> None:
        super().__init__()
        self.ms, self.rollouts = budget.check("flat-mc", ms, rollouts, DEFAULT_MS, name="rollouts")
        self.k = whole_number(k, "flat-mc: k", 2, MAX_K)
        self.rounds = whole_number(rounds, "flat-mc: rounds", 0, MAX_ROUNDS)
        if policy not in POLICIES:
            raise ValueError(f"flat-mc: policy is {policy!r}; it must be {' or '.join(POLICIES)}")
        self.restock, self.policy = restock, policy
        self.value = position_evaluator(value, "flat-mc")
        self.name = spec_of(self, "flat-mc", ("ms", "rollouts", "k", "rounds", "restock", "policy"), value=value)

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Allocate the memory for candidates.

        Raises:
            ValueError: `value` cannot value positions of this game.
        """
        workspace, evaluator = planner.new_workspace(game), new_evaluator(game, self.value)
        self.turn = turns.new_workspace(game)
        self.candidates = Candidates(
            rollouts.new_workspace(game, workspace, evaluator, self.rounds, self.restock, self.policy),
            np.zeros(MAX_K, game.state_dtype),
            np.zeros(MAX_K, np.int8),
            np.zeros((MAX_K, MAX_PLAYERS), np.float64),
            np.zeros(MAX_K, np.int64),
        )
        return self.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Compare the candidates, then enumerate the turn again to find the node of the best."""
        best = self.best_candidate(game, state, key)
        count = turns.enumerate_turn(state, game.tables[0], self.turn)
        return turns.find_state(self.turn, count, self.candidates.outcomes[best])

    def best_candidate(self, game: Game, state: Any, key: np.uint64) -> int:
        """Run rollouts of `num_candidates` turns from `state`, a record. Returns the index in `candidates` of the best."""
        tables = game.tables[0]
        candidates, mover = self.candidates, int(state.current_player)
        self.num_candidates = turns.check_count(propose(state, tables, candidates, self.k))
        return best_by_halving(
            self.num_candidates,
            lambda chosen, each: turns.check_count(simulate(tables, candidates, chosen, key, each)),
            lambda chosen: candidates.total[chosen, mover] / candidates.num_rollouts[chosen],
            self.rollouts,
            (self.ms or 0) / 1000,
        )


@kernel
def propose(state, tables, candidates, most):
    """Overwrite `candidates` with the best outcomes of the mover's turn, at most `most`, without rollouts.

    Returns their number or `turns.TOO_MANY`.
    """
    workspace = candidates.rollout.planner
    number = proposals.propose(state, tables, candidates.rollout.evaluator.scripted.weights, workspace, most)
    for place in range(number):
        candidates.outcomes[place] = workspace.turn.states[workspace.ranked[place]]
        candidates.due[place] = workspace.turn.due[workspace.ranked[place]]
        candidates.total[place] = 0.0
        candidates.num_rollouts[place] = 0
    return number


@long_kernel
def simulate(tables, candidates, chosen, key, each):
    """Run `each` rollouts of every candidate in `chosen`, (k,) int64; the i-th rollout of each uses the same random numbers.

    Returns their number, or `turns.TOO_MANY` if a turn has no room.
    """
    workspace = candidates.rollout
    for place in range(len(chosen)):
        candidate = chosen[place]
        for _ in range(each):
            number = candidates.num_rollouts[candidate]
            rollout_key = chance.random_word(key, ROLLOUT_KEYS, np.uint64(number))
            workspace.state[0] = candidates.outcomes[candidate]
            if not rollouts.rollout(tables, workspace, rollout_key, candidates.due[candidate]):
                return turns.TOO_MANY
            for seat in range(tables.num_players):
                candidates.total[candidate, seat] += workspace.shares[seat]
            candidates.num_rollouts[candidate] += 1
    return len(chosen) * each
