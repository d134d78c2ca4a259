"""Four players of clear character, each a planner with a taste: a cheap, varied panel to be judged against.

    seller        lives on sales and spends hardly a bale on palaces
    builder       puts up its palaces before it cares for money, off the road rather than on it
    toll-keeper   builds where the others will pass, and early
    hoarder       deals in one colour, and in another only where little else is left

A taste is rupees on top of what a deed is worth in the scripted value of `planner_value.py`: on a sale, on a palace, on dealing
in the colour one has chosen. It counts for the deeds of the turn and, alike, for those that the value plans beyond it, so that a
player heads for what it likes. Everything else, the search for the best turn included, is the planner's.

A decision follows from what lies open on the table: nothing is kept between turns, and chance has no part in it.
"""

from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import outcome_values, planner, planner_value
from bombay_agents.scripted.planner import PlannerWorkspace
from bombay_agents.scripted.planner_value import Weights
from bombay_env import Game
from bombay_env.actions import BUILD, BUY, CONSOLIDATE, SELL, TAKE
from bombay_env.jit.kernels import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_CITIES, NUM_COLOURS, NUM_POSTS

EVERY_COLOUR: Final = -1  # the favourite of a player who has none

JUDGEMENT: Final = Weights(  # of the panel: made by hand, and not to move when a planner's is tuned
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


class Taste(NamedTuple):
    """What a player likes, in rupees on top of what it is worth, and how it values the rest."""

    weights: Weights = JUDGEMENT
    sale: float = 0.0
    palace: float = 0.0
    haste: float = 0.0  # on a palace for every turn that is still to come
    loyalty: float = 0.0  # off a bale of another colour than the favourite; 0 for a player without one


class StyleWorkspace(NamedTuple):
    """What planning a turn by taste needs besides the position; for one thread at a time."""

    plan: PlannerWorkspace
    liking: np.ndarray  # (MAX_NODES,) float64, of the deeds on the way to each node


class StyleAgent:
    """The turn whose outcome a planner with this taste likes best; of equals, the one with the fewest decisions."""

    name: str
    taste: ClassVar[Taste]

    def __init__(self) -> None:
        self._game: Game | None = None  # that `_workspace` is for
        self._workspace: Any = None

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for each state, (batch,) int64."""
        if game is not self._game:
            self._workspace = StyleWorkspace(planner.new_workspace(game), np.zeros(turns.MAX_NODES, np.float64))
            self._game = game
        records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
        actions = np.empty(len(records), np.int64)
        turns.check_count(choose_all(records, game.tables, self.taste, self._workspace, actions))
        return actions


class SellerAgent(StyleAgent):
    """Lives on sales."""

    name = "seller"
    taste = Taste(sale=1.0, palace=-8.0)


class BuilderAgent(StyleAgent):
    """Builds its palaces first, off the road."""

    name = "builder"
    taste = Taste(weights=JUDGEMENT._replace(action=0.8, traffic=-1.5), palace=3.0, haste=0.8)


class TollKeeperAgent(StyleAgent):
    """Builds where the others pass."""

    name = "toll-keeper"
    taste = Taste(weights=JUDGEMENT._replace(traffic=6.0), palace=1.0)


class HoarderAgent(StyleAgent):
    """Deals in one colour: `favourite`."""

    name = "hoarder"
    taste = Taste(loyalty=3.0)


# --- Choosing a turn ---


@kernel
def choose_all(states, tables, taste, workspace, actions):
    """Overwrite `actions` (batch,) int64 with the first of each state's best turn. Returns TOO_MANY if a turn is too long."""
    for lane in range(len(states)):
        best = choose_turn(states[lane], tables[0], taste, workspace)
        if best < 0:
            return turns.TOO_MANY
        turns.way_to(workspace.plan.turn, best, workspace.plan.actions)
        actions[lane] = workspace.plan.actions[0]
    return len(states)


@kernel
def choose_turn(state, tables, taste, workspace):
    """The node of the outcome that the mover likes best; TOO_MANY if there is no room to lay the turn out."""
    turn, survey = workspace.plan.turn, workspace.plan.survey[0]
    count = turns.enumerate_turn(state, tables, turn)
    if count == turns.TOO_MANY:
        return count
    player = np.int64(state.current_player)
    colour = favourite(state, tables) if taste.loyalty > 0.0 else EVERY_COLOUR
    rounds = rounds_left(state, tables)
    outcome_values.group_by_site(tables, turn.memory[0], count)
    workspace.liking[0] = 0.0
    for node in range(1, count):
        parent = turn.parent[node]
        other = turn.action[node] - tables.num_sites
        workspace.liking[node] = workspace.liking[parent] + liking(
            turn.states[parent], tables, other, taste, colour, rounds
        )
    for first in range(count):
        if turn.group[first] == first:
            surveyed = False
            for node in range(first, count):
                if turn.group[node] == first and turn.due[node] != turns.TURN_GOES_ON:
                    after = turn.states[node]
                    if not surveyed:
                        survey_by_taste(after, tables, player, taste, colour, workspace.plan.traffic, survey)
                        surveyed = True
                    worth = planner_value.value(after, tables, player, survey, taste.weights)
                    workspace.plan.values[node] = worth + workspace.liking[node]
    return outcome_values.best_outcome(turn.memory[0], workspace.plan.values, count)


# --- Taste ---


@kernel
def rounds_left(state, tables):
    """Game turns that are not over yet, the present one included."""
    return np.int64(tables.sets - state.set) * tables.turns_per_set - state.turn


@kernel
def liking(before, tables, other, taste, colour, rounds):
    """Rupees by taste for one action, counted from the first that is not a move."""
    player = before.current_player
    if other == BUY:
        return -estrangement(before.post[before.position[player]] - 1, taste, colour)
    if SELL <= other < BUILD:
        return taste.sale
    if BUILD <= other < TAKE:
        return taste.palace + taste.haste * rounds
    if TAKE <= other < CONSOLIDATE:
        return -estrangement(other - TAKE, taste, colour)
    return 0.0


@kernel
def estrangement(bale, taste, colour):
    """What a bale of this colour loses for not being the favourite."""
    return 0.0 if colour in (EVERY_COLOUR, bale) else taste.loyalty


@kernel
def survey_by_taste(state, tables, player, taste, colour, traffic, survey):
    """`planner_value.survey_seat`, with the taste in what plans bring."""
    planner_value.survey_table(state, tables, player, taste.weights, traffic, survey)
    for place in range(COLUMN_HEIGHT):
        for sold in range(NUM_COLOURS):
            survey.sale[place, sold] += taste.sale
    for lot in range(survey.num_lots):
        survey.lot_gain[lot] += taste.palace + taste.haste * survey.turns
    for post in range(survey.num_posts):
        survey.doubt[post] += estrangement(np.int64(survey.post_colour[post]), taste, colour)
    planner_value.survey_plans(state, tables, player, survey, taste.weights)


@kernel
def favourite(state, tables):
    """The colour that is best dealt in with these posts and cities: the same all game long, as posts and columns keep theirs.

    A colour counts by the bales there are of it and what the middle of a column gives for one, rupees and Clients, less the mean
    way from its posts to the cities that demand it. Of equals it is the first.
    """
    best = EVERY_COLOUR
    most = 0.0
    for colour in range(NUM_COLOURS):
        worth = tables.bales[colour] + tables.sale_rupees[1, colour] + tables.sale_clients[1, colour]
        worth -= mean_way(state, tables, colour)
        if best == EVERY_COLOUR or worth > most:
            best, most = colour, worth
    return best


@kernel
def mean_way(state, tables, colour):
    """Actions from a post of the colour to a city that demands it, on average; as many as there are sites if it has neither."""
    ways = 0
    total = 0.0
    for number in range(NUM_POSTS):
        post = tables.post_sites[number]
        for city in range(NUM_CITIES):
            for place in range(COLUMN_HEIGHT):
                if state.post[post] == colour + 1 and state.demand[city, place] == colour:
                    total += tables.distance[post, tables.city_sites[city]]
                    ways += 1
    return total / ways if ways > 0 else 1.0 * tables.num_sites
