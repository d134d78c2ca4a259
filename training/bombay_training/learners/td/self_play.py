"""Self-play for TD: whole games in which every seat takes the outcome of its turn that a net likes best, and what they teach.

    samples of a game:  end of a turn, end of a turn, …, end of a set, the same after the restock, end of a turn, …
    to be learned:      λ-returns, from the result back: each a mean of what the net expects further on

The end of a turn is the position a round of turns later, as foreseen (`lookahead.py`), from its mover's eyes; where that is the
end of the game, there is nothing to learn. After a restock it is the position itself, from the eyes of the seat to move. Each
teaches a value for every seat. Where a mover explores, what went before is judged by what would have been best. A game is a
function of the run's key, its number and the net; nothing depends on threads.
"""

import abc
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net
from bombay_agents.scripted import outcome_values
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import kernel, piece_kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS, Rules
from bombay_env.state import NOBODY

GAMES: Final = np.uint64(3000)  # streams of keyed chance: seeds of games, and what movers do
EXPLORES: Final = np.uint64(3001)
CHOICE: Final = np.uint64(3002)
TO_UNIT: Final = 2.0**-64
CHUNKS: Final = 8  # pieces of work, whatever the number of threads


def sample_dtype(num_features: int) -> np.dtype[Any]:
    """What is learned from: a position between turns, and what came of it."""
    by_place = (np.float32, (MAX_PLAYERS,))
    return record_dtype(
        [
            ("features", np.int8, (num_features,)),
            ("seat", np.int8),  # whose eyes it is seen with
            ("num_players", np.int8),
            ("explored", np.int8),
            ("turns_left", np.int32),
            ("expected", *by_place),  # rupees at the end, by the planner's value
            ("margin", *by_place),  # what was expected, then what is to be learned
            ("share", *by_place),
            ("best_margin", *by_place),  # of the outcome not taken, where the mover explored
            ("best_share", *by_place),
        ]
    )


def most_samples(rules: Rules) -> int:
    """Of a game."""
    return rules.sets * (rules.turns_per_set * rules.num_players + 1)


class GameGenerator(abc.ABC):
    """What games teach, and room for it.

    Args:
        games: by number of players.
        each: games that are played at a time, of each number of players.
    """

    def __init__(self, games: Sequence[Game], each: int) -> None:
        self.games, self.each = games, each
        layout = games[0].feature_layout
        self.num_features = value_features.num_features(layout)
        self.scales = value_features.scales(layout)
        most = max(most_samples(game.rules) for game in games)
        self.samples = np.zeros((len(games), each, most), sample_dtype(self.num_features))
        self.counts = np.zeros((len(games), each), np.int64)

    @abc.abstractmethod
    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play games `first` and on of each number of players.

        Args:
            net: (1,) of `value_net.net_dtype`.
            blend: how much the share of the win counts, and not the margin.
            epsilon: probability of any outcome at all.
            td_lambda: λ.

        Returns:
            Places in `samples`, flat, that hold what was learned.

        Raises:
            OverflowError: a turn has too many states; see `turns.distinct_turns`.
        """

    def written(self) -> np.ndarray:
        """Places in `samples`, flat, that hold something."""
        most = self.samples.shape[-1]
        return np.flatnonzero((np.arange(most) < self.counts[..., None]).reshape(-1))


class SelfPlay(GameGenerator):
    """Games in which a net plays all seats, and the memory that takes.

    Args:
        games: by number of players.
        each: games that are played at a time, of each number of players.
        hidden: width of the net.
    """

    def __init__(self, games: Sequence[Game], each: int, hidden: int) -> None:
        super().__init__(games, each)
        self.states = np.zeros(CHUNKS, games[0].state_dtype)
        self.turns = np.zeros(CHUNKS, turns.memory_dtype(games[0].board.num_sites))
        self.readers = [value_features.new_readers(game, CHUNKS) for game in games]
        self.work = np.zeros(CHUNKS, value_net.work_dtype(self.num_features, hidden))
        self.values = np.zeros((CHUNKS, turns.MAX_NODES), np.float32)

    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play games `first` and on of each number of players; see `GameGenerator`."""
        for number, game in enumerate(self.games):
            raw, reader = self.readers[number]
            play_piece(
                CHUNKS, self.states, game.as_readings(self.states), game.tables, game.lookups, net, self.scales,
                np.float32(blend), epsilon, np.float32(td_lambda), np.uint64(key), first,
                self.turns, self.turns["node"]["state"], raw, reader, self.work, self.values,
                self.samples[number], self.counts[number],
            )  # fmt: skip
            turns.check_count(self.counts[number].min())
        return self.written()


@piece_kernel
def play_piece(
    chunk, states, readings, tables, lookups, net, scales, blend, epsilon, td_lambda, key, first,
    memory, nodes, raw, reader, work, values, samples, counts,
):  # fmt: skip
    """Play a chunk of as many games as `counts` has room for, all in the one of `states` that has its number."""
    drawn = np.empty(NUM_COLOURS, np.int64)
    for number in batch.lanes_of(chunk, len(states), len(counts)):
        index = np.uint64(first + number) * np.uint64(MAX_PLAYERS) + np.uint64(tables[0].num_players - 1)
        seed = chance.random_word(key, GAMES, index)
        counts[number] = play_game(
            seed, states, readings, chunk, tables[0], lookups[0], net[0], scales, blend, epsilon, td_lambda,
            memory[chunk], nodes, raw[chunk], reader[chunk], work[chunk], values[chunk], drawn, samples[number],
        )  # fmt: skip


@kernel
def play_game(
    seed, states, readings, chunk, tables, lookups, net, scales, blend, epsilon, td_lambda,
    memory, nodes, raw, reader, work, values, drawn, samples,
):  # fmt: skip
    """Play a game and write down what it teaches. Returns the number of samples, or `turns.TOO_MANY`."""
    batch.start(states[chunk], tables, seed, drawn)
    count, moves = np.int64(0), np.uint64(0)
    while states[chunk].current_player != NOBODY:
        count = take_turn(
            states, readings, chunk, seed, moves, tables, lookups, net, scales, blend, epsilon,
            memory, nodes, chunk, raw, reader, work, values, drawn, samples, count,
        )  # fmt: skip
        if count == turns.TOO_MANY:
            return count
        moves += np.uint64(1)
    value_net.answer_over(states[chunk], tables, np.int64(0), work)
    set_targets(np.int64(tables.num_players), td_lambda, work, samples, count)
    return count


@kernel
def take_turn(
    states, readings, place, seed, moves, tables, lookups, net, scales, blend, epsilon,
    memory, nodes, chunk, raw, reader, work, values, drawn, samples, count,
):  # fmt: skip
    """Play the turn at `states[place]`, the mover's number `moves` of the game, and write its end down behind `count` samples.

    `nodes[chunk]` are the states in `memory`. Returns the number of samples then, or `turns.TOO_MANY`.
    """
    n, seat = np.int64(tables.num_players), np.int64(states[place].current_player)
    nodes[chunk, 0] = states[place]
    laid = value_net.value_turn(tables, lookups, net, scales, blend, memory, raw, reader, work, values)
    if laid == turns.TOO_MANY:
        return laid
    best = outcome_values.best_outcome(memory, values, laid)
    chosen = best
    sample = samples[count]
    value_net.ask_ahead(memory.node[best], tables, lookups, seat, net, scales, raw, reader, work)
    last = value_features.end_ahead(reader)  # of the seat's turns: there is nothing to find out about
    if not last and np.float64(chance.random_word(seed, EXPLORES, moves)) * TO_UNIT < epsilon:
        chosen = any_proposed(memory, values, laid, chance.random_word(seed, CHOICE, moves))
    after = memory.node[chosen]
    if chosen != best:
        sample.best_margin[:] = work.margin
        sample.best_share[:] = work.share
        value_net.ask_ahead(after, tables, lookups, seat, net, scales, raw, reader, work)
    if not value_features.end_ahead(reader):
        write_down(sample, n, seat, chosen != best, raw, reader, work)
        count += 1
    restock_due = after.due == turns.RESTOCK_DUE
    states[place] = nodes[chunk, chosen]
    if restock_due:
        note_restock(
            states, readings, place, tables, lookups, net, scales, raw, reader, work, drawn, samples[count]
        )  # fmt: skip
        count += 1
    return count


@kernel
def note_restock(states, readings, place, tables, lookups, net, scales, raw, reader, work, drawn, sample):
    """Draw the restock that is due at `states[place]`, and make a sample of the position after it."""
    batch.restock(states[place], tables, drawn)
    mover = np.int64(states[place].current_player)
    value_net.ask(readings[place], tables, lookups, mover, net, scales, raw, reader, work)
    write_down(sample, np.int64(tables.num_players), mover, False, raw, reader, work)


@kernel
def any_proposed(memory, values, laid, word):
    """The node of one of the outcomes proposed, told by a random word, uint64."""
    proposed = 0
    for node in range(1, laid):
        proposed += memory.node[node].due != turns.TURN_GOES_ON and values[node] > -np.inf
    left = np.int64(word % np.uint64(proposed))
    for node in range(1, laid):
        if memory.node[node].due != turns.TURN_GOES_ON and values[node] > -np.inf:
            if left == 0:
                return node
            left -= 1
    return -1


@kernel
def write_down(sample, n, seat, explored, raw, reader, work):
    """Make a sample of the position that was asked about last."""
    sample.seat = seat
    sample.num_players = n
    sample.explored = explored
    sample.features[:] = reader.bytes
    sample.expected[:] = reader.expected
    sample.turns_left = raw.all_left[0]
    sample.margin[:] = work.margin
    sample.share[:] = work.share


@kernel
def set_targets(n, td_lambda, work, samples, count):
    """Overwrite what samples expected with what they teach; `work` holds the result, from the eyes of seat 0."""
    margin, share = np.empty(MAX_PLAYERS, np.float32), np.empty(MAX_PLAYERS, np.float32)  # by seat, from here on
    margin[:] = work.margin
    share[:] = work.share
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
