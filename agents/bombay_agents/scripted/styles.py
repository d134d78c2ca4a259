"""Four planners, each with a clear bias: a cheap and varied panel of opponents.

    seller        lives on sales and spends hardly a bale on palaces
    builder       builds its palaces before it cares for money, away from the usual paths
    toll-keeper   builds early where the others will pass
    hoarder       deals in one colour, and in another only where little else is left

A bias is a number of rupees added to the scripted value of `planner_value.py`: for each sale, for each palace, for each bale of
another colour than the player's favourite. It applies to the actions of the turn and to the plans that the value makes for later
turns, so that a player heads for what it prefers. Everything else, the search for the best turn included, is the planner's.

Decisions depend on the visible position only: the players keep nothing between turns and use no chance.
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.memory import WithMemory
from bombay_agents.scripted import outcome_values, planner, planner_survey, planner_value
from bombay_agents.scripted.planner import PlannerWorkspace
from bombay_agents.scripted.planner_weights import PlannerWeights
from bombay_env import Game, engine
from bombay_env.actions import BUILD, BUY, CONSOLIDATE, SELL, TAKE
from bombay_env.jit.kernels import kernel
from bombay_env.registry import described
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS

NO_FAVOURITE: Final = -1  # the favourite colour of a player who has none

PANEL_WEIGHTS: Final = PlannerWeights(  # set by hand
    action=0.45,
    idle=5.0,
    doubt=0.3,
    doubt_per_turn=0.25,
    fame=0.6,
    traffic=0.7,
    rivals=0.3,
    crowd=0.3,
    second=1.0,
    unknown=0.5,
    scarce=0.3,
)


class Bias(NamedTuple):
    """What a player adds to the scripted value, in rupees, and the weights of that value."""

    weights: PlannerWeights = PANEL_WEIGHTS
    sale: float = 0.0  # for each sale
    palace: float = 0.0  # for each palace
    palace_per_turn: float = 0.0  # more for each palace and turn still to come
    off_colour: float = 0.0  # off for each bale of another colour than the favourite; 0 for a player without one


class StyleWorkspace(NamedTuple):
    """The memory for planning a turn with a bias; for one thread at a time."""

    plan: PlannerWorkspace
    bias: np.ndarray  # (MAX_NODES,) float64, rupees for the actions on the path to each node


class StyleAgent(WithMemory):
    """The turn whose outcome a planner with this bias values most; ties go to the outcome found first."""

    name: str
    bias: ClassVar[Bias]
    memory = ("_game", "_workspace")

    def __init__(self) -> None:
        super().__init__()
        self._game: Game | None = None  # that `_workspace` is for
        self._workspace: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        records = game.check_states(states)
        actions = np.empty(len(records), np.int64)
        with self.lock:
            if game != self._game:
                self._workspace = StyleWorkspace(planner.new_workspace(game), np.zeros(turns.MAX_NODES, np.float64))
                self._game = game
            turns.check_count(choose_all(records, game.tables, self.bias, self._workspace, actions))
        return actions


@described("all")
class SellerAgent(StyleAgent):
    """A planner that lives on sales and hardly builds."""

    name = "seller"
    bias = Bias(sale=1.0, palace=-8.0)


@described("all")
class BuilderAgent(StyleAgent):
    """A planner that builds its palaces first, away from the usual paths."""

    name = "builder"
    bias = Bias(weights=PANEL_WEIGHTS._replace(action=0.8, traffic=-1.5), palace=3.0, palace_per_turn=0.8)


@described("all")
class TollKeeperAgent(StyleAgent):
    """A planner that builds where the others pass."""

    name = "toll-keeper"
    bias = Bias(weights=PANEL_WEIGHTS._replace(traffic=6.0), palace=1.0)


@described("all")
class HoarderAgent(StyleAgent):
    """A planner that deals in one colour, its `favourite_colour`."""

    name = "hoarder"
    bias = Bias(off_colour=3.0)


# --- Choosing a turn ---


@kernel
def choose_all(states, tables, bias, workspace, actions):
    """Overwrite `actions` (batch,) int64 with the first action of each state's best turn.

    Returns the number of states, or TOO_MANY if a turn has no room.
    """
    for lane in range(len(states)):
        best = choose_turn(states[lane], tables[0], bias, workspace)
        if best < 0:
            return turns.TOO_MANY
        turns.way_to(workspace.plan.turn, best, workspace.plan.actions)
        actions[lane] = workspace.plan.actions[0]
    return len(states)


@kernel
def choose_turn(state, tables, bias, workspace):
    """The node of the outcome that the mover values most; TOO_MANY if the turn has no room."""
    turn, survey = workspace.plan.turn, workspace.plan.survey[0]
    count = turns.enumerate_turn(state, tables, turn)
    if count == turns.TOO_MANY:
        return count
    player = np.int64(state.current_player)
    favourite = favourite_colour(state, tables) if bias.off_colour > 0.0 else NO_FAVOURITE
    game_turns = engine.game_turns_left(state, tables)
    outcome_values.group_by_site(tables, turn.memory[0], count)
    workspace.bias[0] = 0.0
    for node in range(1, count):
        parent = turn.parent[node]
        other = turn.action[node] - tables.num_sites
        workspace.bias[node] = workspace.bias[parent] + action_bias(
            turn.states[parent], other, bias, favourite, game_turns
        )
    for first in range(count):
        if turn.group[first] == first:
            surveyed = False
            for node in range(first, count):
                if turn.group[node] == first and turn.due[node] != turns.TURN_GOES_ON:
                    after = turn.states[node]
                    if not surveyed:
                        survey_with_bias(after, tables, player, bias, favourite, workspace.plan.traffic, survey)
                        surveyed = True
                    worth = planner_value.value(after, tables, player, survey, bias.weights)
                    workspace.plan.values[node] = worth + workspace.bias[node]
    return turns.best_outcome(turn.memory[0], workspace.plan.values, count)


# --- The bias ---


@kernel
def action_bias(before, other, bias, favourite, game_turns):
    """Rupees for one action, whose number `other` counts from the first action that is not a move."""
    player = before.current_player
    if other == BUY:
        return -colour_penalty(before.post[before.position[player]] - 1, bias, favourite)
    if SELL <= other < BUILD:
        return bias.sale
    if BUILD <= other < TAKE:
        return bias.palace + bias.palace_per_turn * game_turns
    if TAKE <= other < CONSOLIDATE:
        return -colour_penalty(other - TAKE, bias, favourite)
    return 0.0


@kernel
def colour_penalty(colour, bias, favourite):
    """Rupees off for a bale that is not of the favourite colour."""
    return 0.0 if favourite in (NO_FAVOURITE, colour) else bias.off_colour


@kernel
def survey_with_bias(state, tables, player, bias, favourite, traffic, survey):
    """`planner_value.survey_seat` with the bias added to what plans bring."""
    planner_survey.survey_position(state, tables, player, bias.weights, traffic, survey)
    for place in range(COLUMN_HEIGHT):
        for sold in range(NUM_COLOURS):
            survey.sale[place, sold] += bias.sale
    for lot in range(survey.num_lots):
        survey.lot_gain[lot] += bias.palace + bias.palace_per_turn * survey.turns
    for post in range(survey.num_posts):
        survey.doubt[post] += colour_penalty(np.int64(survey.post_colour[post]), bias, favourite)
    planner_value.survey_plans(state, tables, player, survey, bias.weights)


@kernel
def favourite_colour(state, tables):
    """The colour that is best to deal in with these posts and cities; it never changes during a game.

    A colour scores the number of its bales, plus the rupees and Clients that the middle of a column gives for one, less the mean
    distance from its posts to the cities that demand it. Ties go to the first colour.
    """
    best = NO_FAVOURITE
    most = 0.0
    for colour in range(NUM_COLOURS):
        worth = tables.bales[colour] + tables.sale_rupees[1, colour] + tables.sale_clients[1, colour]
        worth -= mean_distance(state, tables, colour)
        if best == NO_FAVOURITE or worth > most:
            best, most = colour, worth
    return best


@kernel
def mean_distance(state, tables, colour):
    """Mean actions from a post of the colour to a city that demands it; the number of sites if there is no such pair."""
    pairs = 0
    total = 0.0
    for number in range(NUM_POSTS):
        post = tables.post_sites[number]
        for city in range(NUM_CITIES):
            for place in range(COLUMN_HEIGHT):
                if state.post[post] == colour + 1 and state.demand[city, place] == colour:
                    total += tables.distance[post, tables.city_sites[city]]
                    pairs += 1
    return total / pairs if pairs > 0 else 1.0 * tables.num_sites
