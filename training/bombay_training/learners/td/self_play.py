"""Self-play for TD: in whole games every seat takes the outcome of its turn that a net values most; positions become samples.

    samples of a game:  end of a turn, end of a turn, …, end of a set, the same after the restock, end of a turn, …
    training targets:   λ-returns, computed backwards from the result: each mixes what the net expects later in the game

The sample of a turn is the leaf that looking ahead one round leads to (`scripted/lookahead.py`), from the mover's perspective; if
the game is over at the leaf there is no sample, because there is nothing to learn. The sample of a restock is the position after
it, from the perspective of the seat to move. Every sample has a target for each seat. Where a mover explores, earlier samples
learn from the best outcome instead of the one played. A game is a function of the run's key, its number and the net; the number
of threads changes nothing. `optimizer.py` learns from the samples, `run.py` does both in turn.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net_turns
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import kernel, piece_kernel, record_dtype
from bombay_env.jit.records import composed_dtype, new_records
from bombay_env.observation.layout import FeatureLayout
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS, Rules
from bombay_env.state import NOBODY
from bombay_training.learners import lambda_returns

GAMES: Final = np.uint64(3000)  # streams of keyed chance: seeds of games, and what movers do
EXPLORES: Final = np.uint64(3001)
CHOICE: Final = np.uint64(3002)
TO_UNIT: Final = 2.0**-64
CHUNKS: Final = 8  # pieces of work, whatever the number of threads


class PlayOptions(NamedTuple):
    """How games are played and how targets are made, typed as kernels take it."""

    blend: np.float32  # weight of the share of the win in the choice of an outcome; the margin has the rest
    epsilon: float  # probability that a turn explores: any proposed outcome is taken
    td_lambda: np.float32  # λ


def sample_dtype(num_features: int) -> np.dtype[Any]:
    """A sample: a position between turns and its targets; entries of seats are in seat order from the viewer."""
    by_seat = (np.float32, (MAX_PLAYERS,))
    return record_dtype(
        [
            ("features", np.int8, (num_features,)),
            ("seat", np.int8),  # the viewer
            ("num_players", np.int8),
            ("explored", np.int8),
            ("turns_left", np.int32),
            ("expected", *by_seat),  # rupees at the end, by the planner's value
            ("margin", *by_seat),  # what the net expected, later the target
            ("share", *by_seat),
            ("best_margin", *by_seat),  # what it expected of the best outcome, where the mover explored
            ("best_share", *by_seat),
        ]
    )


def workspace_dtype(layout: FeatureLayout, hidden: int) -> np.dtype[Any]:
    """Memory for playing a game, for one thread at a time."""
    return composed_dtype(
        {
            "current": turns.memory_dtype(layout.num_sites)["node"].base,  # where the game stands
            "turn": value_net_turns.turn_dtype(layout, hidden),
        }
    )


def new_workspaces(game: Game, hidden: int, count: int) -> np.ndarray:
    """Memory for playing `game`, (count,) of `workspace_dtype`. Samples look ahead one round, whatever the agent does later."""
    workspaces = new_records(workspace_dtype(game.feature_layout, hidden), count)
    value_features.set_constants(workspaces["turn"]["evaluation"]["features"], game, rounds=1)
    return workspaces


def max_samples(rules: Rules) -> int:
    """The most samples that a game can give."""
    return rules.sets * (rules.turns_per_set * rules.num_players + 1)


class SelfPlay:
    """Plays games in which one net has all seats, and holds their samples.

    Args:
        games: one for each player count.
        each: games that are played at a time, of each player count.
        hidden: width of the net.
    """

    def __init__(self, games: Sequence[Game], each: int, hidden: int) -> None:
        self.games, self.each = games, each
        layout = games[0].feature_layout
        self.num_features = value_features.num_features(layout)
        self.scales = value_features.scales(layout)
        most = max(max_samples(game.rules) for game in games)
        self.samples = np.zeros((len(games), each, most), sample_dtype(self.num_features))
        self.counts = np.zeros((len(games), each), np.int64)
        self.workspaces = [new_workspaces(game, hidden, CHUNKS) for game in games]

    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play the games numbered from `first` on, `each` of each player count.

        Args:
            net: (1,) of `value_net.net_dtype`.
            key: of all chance.
            first: number of the first game.
            blend: weight of the share of the win in the choice of an outcome; the margin has the rest.
            epsilon: ε, the probability that a turn explores.
            td_lambda: λ.

        Returns:
            Indices of the samples, into the flattened `samples`.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        options = PlayOptions(np.float32(blend), epsilon, np.float32(td_lambda))
        for number, game in enumerate(self.games):
            play_piece(
                CHUNKS, self.workspaces[number], game.tables, game.lookups, net, options, np.uint64(key), first,
                self.samples[number], self.counts[number],
            )  # fmt: skip
            turns.check_count(self.counts[number].min())
        most = self.samples.shape[-1]
        return np.flatnonzero((np.arange(most) < self.counts[..., None]).reshape(-1))


@piece_kernel
def play_piece(chunk, workspaces, tables, lookups, net, options, key, first, samples, counts):
    """Play the games of a chunk, of as many as there are `counts`, in the workspace with the chunk's number."""
    for number in batch.lanes_of(chunk, len(workspaces), len(counts)):
        index = np.uint64(first + number) * np.uint64(MAX_PLAYERS) + np.uint64(tables[0].num_players - 1)
        seed = chance.random_word(key, GAMES, index)
        counts[number] = play_game(
            seed, tables[0], lookups[0], net[0], options, workspaces[chunk], samples[number]
        )  # fmt: skip


@kernel
def play_game(seed, tables, lookups, net, options, workspace, samples):
    """Play a game and store its samples. Returns their number, or `turns.TOO_MANY`."""
    state = workspace.current.state
    batch.start(state, tables, seed, np.empty(NUM_COLOURS, np.int64))
    count, move = np.int64(0), np.uint64(0)
    while state.current_player != NOBODY:
        count = play_turn(seed, move, tables, lookups, net, options, workspace, samples, count)
        if count == turns.TOO_MANY:
            return count
        move += np.uint64(1)
    lambda_returns.set_final_targets(tables, options.td_lambda, workspace, samples, count)
    return count


@kernel
def play_turn(seed, move, tables, lookups, net, options, workspace, samples, count):
    """Play the turn of `workspace.current` and store its samples after the first `count`.

    `move` is the number of the turn for keyed chance. Returns the number of samples then, or `turns.TOO_MANY`.
    """
    turn, evaluation = workspace.turn, workspace.turn.evaluation
    memory, features, forward = turn.memory, evaluation.features, evaluation.forward
    seat = np.int64(workspace.current.state.current_player)
    memory.node[0].state = workspace.current.state
    num_nodes = value_net_turns.value_turn(tables, lookups, net, options.blend, turn)
    if num_nodes == turns.TOO_MANY:
        return num_nodes
    best = turns.best_outcome(memory, turn.values, num_nodes)
    chosen = best
    value_net_turns.evaluate_after(memory.node[best], tables, lookups, seat, net, evaluation)
    is_last = value_features.leaf_is_over(features)  # the seat's last turn: exploring would teach nothing
    if not is_last and np.float64(chance.random_word(seed, EXPLORES, move)) * TO_UNIT < options.epsilon:
        chosen = draw_proposal(memory, turn.values, num_nodes, chance.random_word(seed, CHOICE, move))
    if chosen != best:
        samples[count].best_margin[:] = forward.margin
        samples[count].best_share[:] = forward.share
        value_net_turns.evaluate_after(memory.node[chosen], tables, lookups, seat, net, evaluation)
    return finish_turn(memory.node[chosen], chosen != best, tables, lookups, net, workspace, samples, count)


@kernel
def finish_turn(after, explored, tables, lookups, net, workspace, samples, count):
    """Move the game to `after`, the end of a turn that was evaluated last, and store samples: of it, and of a restock.

    Returns the number of samples then.
    """
    evaluation, current = workspace.turn.evaluation, workspace.current
    seat = np.int64(current.state.current_player)
    if not value_features.leaf_is_over(evaluation.features):
        store_sample(tables, seat, explored, evaluation, samples[count])
        count += 1
    current.state = after.state
    if after.due == turns.RESTOCK_DUE:
        batch.restock(current.state, tables, np.empty(NUM_COLOURS, np.int64))
        mover = np.int64(current.state.current_player)
        value_net_turns.evaluate(current.reading, tables, lookups, mover, net, evaluation)
        store_sample(tables, mover, False, evaluation, samples[count])
        count += 1
    return count


@kernel
def draw_proposal(memory, values, num_nodes, word):
    """The node of one of the proposed outcomes, chosen by a random word, uint64."""
    proposed = 0
    for node in range(1, num_nodes):
        proposed += memory.node[node].due != turns.TURN_GOES_ON and values[node] > -np.inf
    left = np.int64(word % np.uint64(proposed))
    for node in range(1, num_nodes):
        if memory.node[node].due != turns.TURN_GOES_ON and values[node] > -np.inf:
            if left == 0:
                return node
            left -= 1
    return -1


@kernel
def store_sample(tables, seat, explored, evaluation, sample):
    """Overwrite a sample with the position that was evaluated last, from the perspective of `seat`."""
    features, forward = evaluation.features, evaluation.forward
    sample.seat = seat
    sample.num_players = tables.num_players
    sample.explored = explored
    sample.features[:] = features.bytes
    sample.expected[:] = features.expected
    sample.turns_left = features.raw.all_left[0]
    sample.margin[:] = forward.margin
    sample.share[:] = forward.share
