"""Rollouts: all seats play on from a position for some rounds, then the position reached is evaluated.

The seats play as planners or as `greedy`. Planners draw among the outcomes of their turns by a softmax of the mover's value. All
chance comes from a key, so that several candidates can be tried with the same random numbers. Knows nothing of trees and of
budgets.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import greedy, planner
from bombay_agents.scripted.greedy import GreedyWorkspace
from bombay_agents.scripted.planner import PlannerWorkspace
from bombay_agents.search import evaluation
from bombay_agents.search.evaluation import Evaluator
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

CHOICES: Final = np.uint64(2002)  # stream of keyed chance: the turns that seats choose; those below 1000 are the game's
TEMPERATURE: Final = 0.1  # rupees, of the softmax over outcomes
TO_UNIT: Final = 2.0**-64
HALF_UNIT: Final = 2.0**-65
POLICIES: Final = ("planner", "greedy")


class RolloutWorkspace(NamedTuple):
    """What a rollout needs; for one thread at a time. P is MAX_PLAYERS."""

    planner: PlannerWorkspace
    evaluator: Evaluator
    rounds: int  # turns of each seat before the position is evaluated
    restock: bool  # whether rollouts continue in the next set; if not, they end with the set
    greedy: GreedyWorkspace | None  # if there is one, seats play as `greedy` does
    state: np.ndarray  # (1,) record: where the rollout starts, then where it ends
    shares: np.ndarray  # (P,) float64: the share of the win that each seat may expect at its end
    drawn: np.ndarray  # (4,) int64, bales of a restock


def new_workspace(
    game: Game,
    planner_workspace: PlannerWorkspace,
    evaluator: Evaluator,
    rounds: int,
    restock: bool = True,
    policy: str = "planner",
) -> RolloutWorkspace:
    """Memory for rollouts in `game` by one of `POLICIES`; they overwrite `planner_workspace`."""
    return RolloutWorkspace(
        planner_workspace,
        evaluator,
        rounds,
        restock,
        greedy.new_workspace(game) if policy == "greedy" else None,
        np.zeros(1, game.state_dtype),
        np.zeros(MAX_PLAYERS, np.float64),
        np.zeros(NUM_COLOURS, np.int64),
    )


@kernel
def rollout(tables, workspace, key, due):
    """Play from `workspace.state`, in place, with the chance of `key`, and overwrite `workspace.shares` with the value there.

    `due` is what is due at the start, `turns.TURN_OVER` or `turns.RESTOCK_DUE`. Returns False if a turn has no room.
    """
    state = workspace.state[0]
    state.seed = key
    due = begin_set(tables, workspace, due)
    for turn in range(workspace.rounds * tables.num_players):
        if due == turns.RESTOCK_DUE or state.current_player == NOBODY:
            break
        after = take_turn(tables, workspace, workspace.greedy, key, turn)
        if after == turns.TOO_MANY:
            return False
        due = begin_set(tables, workspace, after)
    return evaluation.evaluate(state, due, tables, workspace.evaluator, workspace.shares)


@inlined
def take_turn(tables, workspace, greedy_workspace, key, turn):
    """Play the turn of `workspace.state`. Returns what is due then, or `turns.TOO_MANY`."""
    if greedy_workspace is not None:  # decided when this is compiled, by the type of the argument
        return greedy.play_turn(workspace.state, tables, greedy_workspace, key, turn)
    plan = workspace.planner
    count = planner.value_turn(workspace.state[0], tables, workspace.evaluator.scripted.weights, plan)
    if count == turns.TOO_MANY:
        return turns.TOO_MANY
    chosen = draw_outcome(plan, count, TEMPERATURE, key, turn)
    workspace.state[0] = plan.turn.states[chosen]
    return np.int64(plan.turn.due[chosen])


@kernel
def begin_set(tables, workspace, due):
    """Draw the restock if one is due and rollouts continue in the next set. Returns what is due then."""
    if due != turns.RESTOCK_DUE or not workspace.restock:
        return np.int64(due)
    batch.restock(workspace.state[0], tables, workspace.drawn)
    return np.int64(turns.TURN_OVER)


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
    rest = (np.float64(chance.random_word(key, CHOICES, np.uint64(turn))) * TO_UNIT + HALF_UNIT) * total
    chosen = -1
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            chosen = node
            rest -= np.exp((workspace.values[node] - best) / temperature)
            if rest <= 0.0:
                break
    return chosen
