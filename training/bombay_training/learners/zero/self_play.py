"""Self-play for `zero`: in whole games every seat takes the outcome of its turn that a net values most; outcomes become samples.

    samples of a game:  end of a turn, end of a turn, …                    from the mover's perspective, before any restock
    training targets:   λ-returns, computed backwards from the result: each mixes what the net expects later in the game

Every sample has a target for each seat. If a turn ends the game there is no sample, because there is nothing to learn. Where a
mover explores, earlier samples learn from the best outcome instead of the one played. A game is a function of the run's key, its
number and the net; the number of threads changes nothing. Nothing here is scripted: the only judgement is the net's.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets.value import evaluator, features
from bombay_agents.nets.value.net import net_dtype, quantize
from bombay_agents.turns.evaluator import turn_dtype, value_result
from bombay_env import Game, batch, chance, streams
from bombay_env.jit.kernels import kernel, piece_kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY, composed_dtype, new_records

TO_UNIT: Final = 2.0**-64
CHUNKS: Final = 16  # pieces of work, whatever the number of threads


class PlayOptions(NamedTuple):
    """How games are played and how targets are made, typed as kernels take it."""

    share_weight: np.float32  # weight of the share of the win beside the margin in the choice of an outcome
    epsilon: float  # probability that a turn explores: any outcome is taken
    td_lambda: np.float32  # λ


def sample_dtype(num_sites: int) -> np.dtype[Any]:
    """A sample: the end of a turn and its targets; entries of seats are in seat order from the viewer."""
    by_seat = (np.float32, (MAX_PLAYERS,))
    return record_dtype(
        [
            ("rows", np.int16, (features.num_shared_features(num_sites) + features.num_own_features(),)),
            ("final", np.int16, (MAX_PLAYERS,)),  # rupees if the game ended now
            ("turns_left", np.int16),  # of the viewer
            ("seat", np.int8),  # the viewer
            ("num_players", np.int8),
            ("explored", np.int8),
            ("margin", *by_seat),  # what the net expected, later the target
            ("share", *by_seat),
            ("best_margin", *by_seat),  # what it expected of the best outcome, where the mover explored
            ("best_share", *by_seat),
        ]
    )


def workspace_dtype(num_sites: int, hidden: int, second: int) -> np.dtype[Any]:
    """Memory for playing a game, for one thread at a time."""
    return composed_dtype(
        {
            "current": turns.memory_dtype(num_sites)["node"].base,  # where the game stands
            "turn": turn_dtype(num_sites),
            "memory": evaluator.memory_dtype(num_sites, hidden, second),
            "decisions": np.dtype((np.int64, (1,))),  # in the last games
        }
    )


class SelfPlay:
    """Plays games in which one net has all seats, and holds their samples.

    Args:
        games: one for each player count.
        each: games that are played at a time, of each player count.
        hidden: width of the net.
        second: width of its second hidden layer.

    Attributes:
        samples: (player counts, each, most) of `sample_dtype`.
        counts: (player counts, each) int64, samples of each game.
    """

    def __init__(self, games: Sequence[Game], each: int, hidden: int, second: int) -> None:
        self.games, self.each = games, each
        num_sites = games[0].board.num_sites
        most = max(game.rules.sets * game.rules.turns_per_set * game.num_players for game in games)  # turns of a game
        self.samples = np.zeros((len(games), each, most), sample_dtype(num_sites))
        self.counts = np.zeros((len(games), each), np.int64)
        self.workspaces = np.asarray(new_records(CHUNKS, workspace_dtype(num_sites, hidden, second)))
        evaluator.set_constants(self.workspaces["memory"], num_sites)
        self._first_rows = features.first_rows(num_sites)
        self._quantized = np.asarray(new_records(1, net_dtype(features.num_rows(num_sites), hidden, second, np.int16)))

    @property
    def evaluated(self) -> int:
        """Number of outcomes of turns that the net has valued in the last games."""
        return int(self.workspaces["memory"]["evaluated"].sum())

    @property
    def decisions(self) -> int:
        """Number of decisions of all seats in the last games."""
        return int(self.workspaces["decisions"].sum())

    def play(self, net: np.ndarray, key: int, first: int, options: PlayOptions) -> np.ndarray:
        """Play the games numbered from `first` on, `each` of each player count.

        Args:
            net: (1,) of `net.net_dtype`.
            key: of all chance.
            first: number of the first game.
            options: how to play.

        Returns:
            Indices of the samples, into the flattened `samples`.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """
        self.workspaces["decisions"] = self.workspaces["memory"]["evaluated"] = 0
        quantized = self.quantized(net)
        for number in range(len(self.games)):
            self.play_games(number, quantized, key, first, options)
        return self.sample_indices()

    def play_games(self, number: int, net: np.ndarray, key: int, first: int, options: PlayOptions) -> None:
        """Play the games of one player count, the `number`-th, and overwrite their samples and counts."""
        seeds = self.seeds(number, key, first, streams.SELF_PLAY_DEALS)
        counts = self.counts[number]
        play_piece(
            CHUNKS, self.workspaces, self.games[number].tables, net, options, seeds, self.samples[number], counts
        )
        turns.check_count(counts.min())

    def seeds(self, number: int, key: int, first: int, stream: np.uint64) -> np.ndarray:
        """(each,) uint64: the seeds of the games numbered from `first` on, of one player count."""
        index = np.arange(first, first + self.each) * MAX_PLAYERS + self.games[number].num_players - 1
        return chance.lane_words(np.full(self.each, key, np.uint64), stream, index.astype(np.uint64))

    def quantized(self, net: np.ndarray) -> np.ndarray:
        """`net` as players take it, (1,) of `net.net_dtype` with int16; the next call overwrites it."""
        quantize(net, self._first_rows, self._quantized)
        return self._quantized

    def sample_indices(self) -> np.ndarray:
        """Indices of the samples of the last games, into the flattened `samples`."""
        most = self.samples.shape[-1]
        return np.flatnonzero((np.arange(most) < self.counts[..., None]).reshape(-1))


@piece_kernel
def play_piece(chunk, workspaces, tables, net, options, seeds, samples, counts):
    """Play the games of a chunk, of as many as there are `seeds`, in the workspace with the chunk's number."""
    for number in batch.lanes_of(chunk, len(workspaces), len(seeds)):
        counts[number] = play_game(seeds[number], tables[0], net[0], options, workspaces[chunk], samples[number])


@kernel
def play_game(seed, tables, net, options, workspace, samples):
    """Play a game and store its samples. Returns their number, or `turns.TOO_MANY`."""
    state = workspace.current.state
    drawn = np.empty(NUM_COLOURS, np.int64)
    batch.start(state, tables, seed, drawn)
    count, move = np.int64(0), np.uint64(0)
    while state.current_player != NOBODY:
        if not play_turn(seed, move, tables, net, options, workspace, samples[count], drawn):
            return np.int64(turns.TOO_MANY)
        count += state.current_player != NOBODY
        move += np.uint64(1)
    set_final_targets(tables, options.td_lambda, workspace, samples, count)
    return count


@kernel
def play_turn(seed, move, tables, net, options, workspace, sample, drawn):
    """Play the turn of `workspace.current`: choose its outcome, store the sample, draw the restock that is due.

    `move` is the number of the turn for keyed chance. Returns False, and plays nothing, if the turn has too many states.
    """
    turn, memory = workspace.turn, workspace.memory
    nodes, forward = turn.memory, memory.forward
    seat = np.int64(workspace.current.state.current_player)
    nodes.node[0].state = workspace.current.state
    num_nodes = evaluator.value_turn_by_net(tables, net, options.share_weight, memory, turn)
    if num_nodes == turns.TOO_MANY:
        return False
    best = turns.best_outcome(nodes, turn.values, num_nodes)
    chosen = best
    is_last = nodes.node[best].state.current_player == NOBODY  # of the game: exploring would teach nothing
    if not is_last and np.float64(chance.random_word(seed, streams.EXPLORES, move)) * TO_UNIT < options.epsilon:
        chosen = draw_outcome(nodes, num_nodes, chance.random_word(seed, streams.EXPLORED, move))
    sample.explored = chosen != best
    if chosen != best:
        evaluator.value_position(nodes.node[best], tables, seat, net, memory)
        sample.best_margin[:] = forward.margin
        sample.best_share[:] = forward.share
    place = evaluator.value_position(nodes.node[chosen], tables, seat, net, memory)
    if place >= 0:  # the game is not over
        store_sample(tables, seat, place, memory, sample)
    finish_turn(chosen, tables, workspace, drawn)
    return True


@kernel
def finish_turn(chosen, tables, workspace, drawn):
    """Move the game of `workspace.current` to node `chosen` of its turn; count decisions, draw the restock that is due."""
    place = chosen
    while workspace.turn.memory.node[place].parent != turns.NO_NODE:
        workspace.decisions[0] += 1
        place = workspace.turn.memory.node[place].parent
    state, after = workspace.current.state, workspace.turn.memory.node[chosen]
    workspace.current.state = after.state
    if after.due == turns.RESTOCK_DUE:
        batch.restock(state, tables, drawn)


@kernel
def draw_outcome(memory, num_nodes, word):
    """The node of one of the outcomes, chosen by a random word, uint64."""
    count = 0
    for node in range(1, num_nodes):
        count += memory.node[node].due != turns.TURN_GOES_ON
    left = np.int64(word % np.uint64(count))
    for node in range(1, num_nodes):
        if memory.node[node].due != turns.TURN_GOES_ON:
            if left == 0:
                return node
            left -= 1
    return -1


@kernel
def store_sample(tables, seat, place, memory, sample):
    """Overwrite a sample with the position that was valued last, from the perspective of `seat`.

    `place` is that of its entry in the accumulator cache.
    """
    encoded, forward = memory.encoding, memory.forward
    rows = encoded.entry[place].rows
    width = len(rows)
    for feature in range(width):
        sample.rows[feature] = rows[feature]
    for feature in range(len(encoded.own)):
        sample.rows[width + feature] = encoded.own[feature]
    for seat_place in range(MAX_PLAYERS):
        sample.final[seat_place] = encoded.final[seat_place]
    sample.turns_left = encoded.turns_left
    sample.seat = seat
    sample.num_players = tables.num_players
    sample.margin[:] = forward.margin
    sample.share[:] = forward.share


# --- Targets ---


@kernel
def set_final_targets(tables, td_lambda, workspace, samples, count):
    """Replace what the first `count` samples expected by their targets; the game of `workspace.current` is over."""
    forward = workspace.memory.forward
    value_result(workspace.current.state, tables, np.int64(0), forward.result, forward.margin, forward.share)
    set_targets(np.int64(tables.num_players), td_lambda, forward, samples, count)


@kernel
def set_targets(n, td_lambda, forward, samples, count):
    """Replace what the first `count` samples expected by λ-returns; `forward` holds the result, seat 0 first."""
    margin, share = np.empty(MAX_PLAYERS, np.float32), np.empty(MAX_PLAYERS, np.float32)  # λ-returns so far, by seat
    margin[:] = forward.margin
    share[:] = forward.share
    rest = np.float32(1) - td_lambda
    for index in range(count - 1, -1, -1):
        sample = samples[index]
        for place in range(n):
            seat = (np.int64(sample.seat) + place) % n
            own_margin, own_share = sample.margin[place], sample.share[place]
            sample.margin[place], sample.share[place] = margin[seat], share[seat]
            if sample.explored:
                margin[seat], share[seat] = sample.best_margin[place], sample.best_share[place]
            else:
                margin[seat] = rest * own_margin + td_lambda * margin[seat]
                share[seat] = rest * own_share + td_lambda * share[seat]
