"""`FlatMonteCarloAgent`: the turns that its own value ranks highest, each tried out in games played on from there.

No tree: every candidate is a turn of the mover, after which all seats play by the planner's value, each outcome of a turn being
drawn the more likely the better it is for its mover, or as `greedy` does, for some rounds; then the shares of the win that
`evaluation.py` gives are added up. Candidates are tried against the same luck (common random numbers), and half of them drop out
again and again (`halving.py`).
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_agents.search import rollouts, tree
from bombay_agents.search.halving import best_by_halving
from bombay_agents.search.rollouts import POLICIES, Playout, values_of
from bombay_agents.turns.agent import TurnAgent, name_of
from bombay_env import Game, chance
from bombay_env.agent import Agent
from bombay_env.jit.kernels import kernel, long_kernel
from bombay_env.rules import MAX_PLAYERS

DEFAULT_MS: Final = 20.0
MAX_MS: Final = 60_000.0
MAX_ROLLOUTS: Final = 1_000_000
MAX_K: Final = tree.EDGES_PER_NODE
MAX_ROUNDS: Final = 100
LUCK: Final = np.uint64(2003)  # stream of keyed chance, of the keys of rollouts


class Trials(NamedTuple):
    """Memory for the candidates of one turn and their rollouts; for one thread at a time. K is MAX_K, P MAX_PLAYERS."""

    playout: Playout
    outcomes: np.ndarray  # (K,) records, after the turn and before any restock
    due: np.ndarray  # (K,) int8
    total: np.ndarray  # (K, P) float64, the seats' shares added up
    tried: np.ndarray  # (K,) int64, rollouts


class FlatMonteCarloAgent(TurnAgent):
    """The turn that does best in rollouts.

    Args:
        ms: milliseconds a turn. Not with `rollouts`; 20 if neither is given.
        rollouts: rollouts a turn instead; the same position, key and number give the same turn.
        k: candidates.
        rounds: turns that each seat takes in a rollout before the value is asked; a large number: to the end of the game.
        restock: whether rollouts go on into the next set; if not, the value is asked where a set ends.
        policy: who plays the rollouts, `planner` or `greedy`.
        value: an agent that values positions, `planner-v1` unless given.
    """

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
        if ms is not None and rollouts is not None:
            raise ValueError("flat-mc takes ms or rollouts, not both")
        if rollouts is None:
            ms = DEFAULT_MS if ms is None else ms
        for name, number, low, high in (
            ("ms", ms, 0.001, MAX_MS),
            ("rollouts", rollouts, 1, MAX_ROLLOUTS),
            ("k", k, 2, MAX_K),
            ("rounds", rounds, 0, MAX_ROUNDS),
        ):
            if number is not None and not low <= number <= high:
                raise ValueError(f"flat-mc: {name} is {number}; it must be from {low} to {high:.0f}")
        if policy not in POLICIES:
            raise ValueError(f"flat-mc: policy is {policy!r}; it must be {' or '.join(POLICIES)}")
        self.ms, self.rollouts, self.k, self.rounds, self.restock = ms, rollouts, k, rounds, restock
        self.policy = policy
        self.values = values_of(value, "flat-mc")
        self.name = name_of(self, "flat-mc", ("ms", "rollouts", "k", "rounds", "restock", "policy"), value=value)

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make the memory for trials."""
        workspace = planner.new_workspace(game)
        self.turn = turns.new_workspace(game)
        self.trials = Trials(
            rollouts.new_playout(game, workspace, self.values.evaluator(game), self.rounds, self.restock, self.policy),
            np.zeros(MAX_K, game.state_dtype),
            np.zeros(MAX_K, np.int8),
            np.zeros((MAX_K, MAX_PLAYERS), np.float64),
            np.zeros(MAX_K, np.int64),
        )
        return self.turn

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """Try the candidates out, and lay out the turn again for the one that did best."""
        best = self.try_out(game, state, key)
        return turns.find_state(
            self.turn, turns.enumerate_turn(state, game.tables[0], self.turn), self.trials.outcomes[best]
        )

    def try_out(self, game: Game, state: Any, key: np.uint64) -> int:
        """Play rollouts of `candidates` turns from `state`, a record. Returns the place in `trials` of the one that did best."""
        tables = game.tables[0]
        trials, mover = self.trials, int(state.current_player)
        self.candidates = turns.check_count(propose(state, tables, trials, self.k))
        return best_by_halving(
            self.candidates,
            lambda candidates, each: turns.check_count(try_all(tables, trials, candidates, key, each)),
            lambda candidates: trials.total[candidates, mover] / trials.tried[candidates],
            self.rollouts,
            (self.ms or 0) / 1000,
        )


@kernel
def propose(state, tables, trials, most):
    """Write the best outcomes of the mover's turn, at most `most`, into `trials`. Returns their number or `turns.TOO_MANY`."""
    workspace = trials.playout.planner
    count = planner.value_turn(state, tables, trials.playout.evaluator.weights, workspace)
    if count == turns.TOO_MANY:
        return count
    number = 0
    for outcome in range(count):
        if workspace.turn.due[outcome] != turns.TURN_GOES_ON:
            number = tree.rank_outcome(workspace, outcome, number)
    number = min(number, most)
    for place in range(number):
        trials.outcomes[place] = workspace.turn.states[workspace.ranked[place]]
        trials.due[place] = workspace.turn.due[workspace.ranked[place]]
        trials.total[place] = 0.0
        trials.tried[place] = 0
    return number


@long_kernel
def try_all(tables, trials, candidates, key, each):
    """Play `each` rollouts of every candidate, with the same luck for all that have had as many.

    Returns their number, or `turns.TOO_MANY`.
    """
    playout = trials.playout
    for place in range(len(candidates)):
        candidate = candidates[place]
        for _ in range(each):
            luck = chance.random_word(key, LUCK, np.uint64(trials.tried[candidate]))
            playout.state[0] = trials.outcomes[candidate]
            if not rollouts.play_on(tables, playout, luck, trials.due[candidate]):
                return turns.TOO_MANY
            for seat in range(tables.num_players):
                trials.total[candidate, seat] += playout.shares[seat]
            trials.tried[candidate] += 1
    return len(candidates) * each
