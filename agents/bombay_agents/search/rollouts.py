"""Games played on from a position by planners, or by greedy players, for some turns, until a value is asked.

Planners take the outcomes of their turns the more likely the better they are for themselves, by a temperature; all chance is
keyed, so that candidates can be tried against the same luck.
"""

from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import greedy, planner
from bombay_agents.scripted.greedy import GreedyWorkspace
from bombay_agents.scripted.planner import PlannerWorkspace
from bombay_agents.search import evaluation
from bombay_agents.search.evaluation import Evaluator, PositionEvaluator
from bombay_env import Game, batch, chance
from bombay_env.agent import Agent
from bombay_env.jit.kernels import inlined, kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY

CHOICES: Final = np.uint64(2002)  # stream of keyed chance: what seats do; those below 1000 are the game's
TEMPERATURE: Final = 0.1  # rupees: how far seats stray from the planner's choice
TO_UNIT: Final = 2.0**-64
HALF_UNIT: Final = 2.0**-65
POLICIES: Final = ("planner", "greedy")


class Playout(NamedTuple):
    """What playing on takes, with its memory; for one thread at a time. P is MAX_PLAYERS."""

    planner: PlannerWorkspace
    evaluator: Evaluator
    rounds: int  # turns of each seat before the value is asked
    restock: bool  # whether to go on into the next set, instead of asking the value where one ends
    greedy: GreedyWorkspace | None  # if there is one, seats play as `greedy` does
    state: np.ndarray  # (1,) record, where it is played
    shares: np.ndarray  # (P,) float64: what every seat may expect at the end
    drawn: np.ndarray  # (4,) int64


def new_playout(
    game: Game,
    workspace: PlannerWorkspace,
    evaluator: Evaluator,
    rounds: int,
    restock: bool = True,
    policy: str = "planner",
) -> Playout:
    """Memory for playing on in `game` by one of `POLICIES`; `workspace` is overwritten by it."""
    return Playout(
        workspace,
        evaluator,
        rounds,
        restock,
        greedy.new_workspace(game) if policy == "greedy" else None,
        np.zeros(1, game.state_dtype),
        np.zeros(MAX_PLAYERS, np.float64),
        np.zeros(NUM_COLOURS, np.int64),
    )


def values_of(value: Agent | None, who: str) -> PositionEvaluator:
    """What positions are valued by: `value`, or the planner's own if it is None.

    Raises:
        ValueError: `value` is an agent that values no positions.
    """
    chosen = planner.make_planner_v1() if value is None else value
    if not isinstance(chosen, PositionEvaluator):
        raise ValueError(f"{who}: {chosen.name!r} values no positions; take one that does, such as planner")
    return chosen


@kernel
def play_on(tables, playout, luck, due):
    """Play on from `playout.state` by the key `luck`; what every seat may expect then is left in `playout.shares`.

    `due` is what is due there, `turns.TURN_OVER` or `turns.RESTOCK_DUE`. Returns False if a turn has no room.
    """
    state = playout.state[0]
    state.seed = luck
    due = begin_set(tables, playout, due)
    for turn in range(playout.rounds * tables.num_players):
        if due == turns.RESTOCK_DUE or state.current_player == NOBODY:
            break
        after = take_turn(tables, playout, playout.greedy, luck, turn)
        if after == turns.TOO_MANY:
            return False
        due = begin_set(tables, playout, after)
    return evaluation.evaluate(state, due, tables, playout.evaluator, playout.shares)


@inlined
def take_turn(tables, playout, greedy_workspace, luck, turn):
    """Play the turn of `playout.state`. Returns what is due then, or `turns.TOO_MANY`."""
    if greedy_workspace is not None:  # decided when this is compiled, by the type of an argument
        return greedy.play_turn(playout.state, tables, greedy_workspace, luck, turn)
    workspace = playout.planner
    count = planner.value_turn(playout.state[0], tables, playout.evaluator.weights, workspace)
    if count == turns.TOO_MANY:
        return turns.TOO_MANY
    chosen = draw_outcome(workspace, count, TEMPERATURE, luck, turn)
    playout.state[0] = workspace.turn.states[chosen]
    return np.int64(workspace.turn.due[chosen])


@kernel
def begin_set(tables, playout, due):
    """Draw the restock if one is due, unless none is to be drawn. Returns what is due then."""
    if due != turns.RESTOCK_DUE or not playout.restock:
        return np.int64(due)
    batch.restock(playout.state[0], tables, playout.drawn)
    return np.int64(turns.TURN_OVER)


@kernel
def draw_outcome(workspace, count, temperature, luck, turn):
    """An outcome of the turn laid out, with probability proportional to exp(value / temperature)."""
    best = -np.inf
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            best = max(best, workspace.values[node])
    total = 0.0
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            total += np.exp((workspace.values[node] - best) / temperature)
    rest = (np.float64(chance.random_word(luck, CHOICES, np.uint64(turn))) * TO_UNIT + HALF_UNIT) * total
    chosen = -1
    for node in range(count):
        if workspace.turn.due[node] != turns.TURN_GOES_ON:
            chosen = node
            rest -= np.exp((workspace.values[node] - best) / temperature)
            if rest <= 0.0:
                break
    return chosen
