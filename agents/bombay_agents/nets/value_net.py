"""A net that tells what every seat may expect of a position between turns, and the kernels that ask it.

    features (F,) ── sparse ── hidden (H,) ── relu ── outputs (2 P,)        seats by place: the one whose eyes it has comes first

It reads what `value_features.py` reads, from the eyes of one seat, and answers in one pass for all seats:
`margin`, tens of rupees above the table's mean at the end, and `share` of the win. Both start from what the planner's value
expects of each seat: the net says what it adds to that. Of the outcomes of a turn it is asked about those that the planner ranks
highest, and there about the position some turns later, which are foreseen (`lookahead.py`), unless the game is over by then: its
result needs no net. These positions differ in few features, so the hidden layer is worked out once a turn and then changed by
what differs.

Knows nothing of files (`value_net_agent.py`), nor of how nets are trained.
"""

from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import value_features
from bombay_agents.nets.value_features import WORD
from bombay_agents.scripted import outcome_values
from bombay_env import engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY, result_dtype

NUM_OUTPUTS: Final = 2 * MAX_PLAYERS
WIDTH: Final = 16  # of the row of outputs in memory: whole vectors
# Another of these numbers is another format of files.
RUPEES: Final = 10.0  # of margin that count as 1
# Rupees of expected margin that weigh 1 in the logarithm of a share: at the end, and more for each game turn to come.
TEMPERATURE: Final = 1.5
TEMPERATURE_PER_TURN: Final = 0.5
PROPOSALS: Final = 12  # outcomes of a turn that the net is asked about: those of most worth by `planner-v1`'s value
ZERO: Final = np.float32(0)


def net_dtype(num_features: int, hidden: int) -> np.dtype[Any]:
    """The weights of a net as one record; outputs are margins by place, then shares by place, then nothing."""
    return record_dtype(
        [
            ("first", np.float32, (num_features, hidden)),
            ("first_bias", np.float32, (hidden,)),
            ("last", np.float32, (hidden, WIDTH)),
            ("last_bias", np.float32, (WIDTH,)),
        ]
    )


def work_dtype(num_features: int, hidden: int) -> np.dtype[Any]:
    """What asking takes: the turn's first outcome, and the answer."""
    return record_dtype(
        [
            ("first_words", np.uint64, (num_features // WORD,)),  # features of the turn's first outcome
            ("first_hidden", np.float32, (hidden,)),
            ("hidden", np.float32, (hidden,)),
            ("outputs", np.float32, (WIDTH,)),
            ("margin", np.float32, (MAX_PLAYERS,)),  # by place, in tens of rupees
            ("share", np.float32, (MAX_PLAYERS,)),  # by place
            ("result", result_dtype(MAX_PLAYERS, np.int8)),
            ("worth", np.float64, (turns.MAX_NODES,)),  # of outcomes by the planner's value
            ("most", np.float64, (PROPOSALS,)),  # of them the largest
        ]
    )


@kernel
def add_feature(net, hidden, feature, amount):
    """Add `amount` of a feature to a hidden layer."""
    for unit in range(len(hidden)):
        hidden[unit] += amount * net.first[feature, unit]


@kernel
def add_all(net, scales, features, hidden):
    """Overwrite a hidden layer with that of `features`, (F,) int8."""
    hidden[:] = net.first_bias
    for feature in range(len(features)):
        if features[feature] != 0:
            add_feature(net, hidden, feature, np.float32(features[feature]) * scales[feature])


@kernel
def begin(net, scales, reader, work):
    """Take what has been read as the turn's first outcome."""
    work.first_words[:] = reader.words
    add_all(net, scales, reader.bytes, work.first_hidden)


@kernel
def change(net, scales, reader, work):
    """Overwrite `hidden` with that of what has been read, by what differs from the turn's first outcome."""
    work.hidden[:] = work.first_hidden
    for word in range(len(work.first_words)):
        differ = (reader.words[word] ^ work.first_words[word]) & reader.used[word]
        if differ != np.uint64(0):
            for place in range(WORD):
                shift = np.uint64(8 * place)
                if (differ >> shift) & np.uint64(255) != np.uint64(0):
                    feature = WORD * word + place
                    before = np.int8((work.first_words[word] >> shift) & np.uint64(255))
                    difference = np.float32(reader.bytes[feature]) - np.float32(before)
                    add_feature(net, work.hidden, feature, difference * scales[feature])


@kernel
def finish(net, n, expected, turns_left, work):
    """From `hidden` to `margin` and `share` of a position in which the planner expects `expected` rupees, by place."""
    work.outputs[:] = net.last_bias
    for unit in range(len(work.hidden)):
        active = max(work.hidden[unit], ZERO)
        for output in range(WIDTH):
            work.outputs[output] += active * net.last[unit, output]
    mean, total = ZERO, ZERO
    for place in range(n):
        mean += expected[place]
        total += work.outputs[place]
    mean /= np.float32(n)
    total /= np.float32(n)
    temperature = np.float32(TEMPERATURE) + np.float32(TEMPERATURE_PER_TURN) * np.float32(turns_left)
    for place in range(n):
        ahead = expected[place] - mean
        work.margin[place] = ahead / np.float32(RUPEES) + work.outputs[place] - total
        work.share[place] = ahead / temperature + work.outputs[MAX_PLAYERS + place]
    share_out(work.share, n)


@kernel
def share_out(share, n):
    """Turn the first `n` numbers, logarithms of weights, into shares."""
    most, total = np.float32(-np.inf), ZERO
    for place in range(n):
        most = max(most, share[place])
    for place in range(n):
        share[place] = np.exp(share[place] - most)
        total += share[place]
    for place in range(n):
        share[place] /= total


@kernel
def answer_over(state, tables, seat, work):
    """Overwrite `margin` and `share` with the result of a game that is over, seen from `seat`."""
    n = np.int64(tables.num_players)
    engine.settle(state, tables, work.result)
    mean = ZERO
    for player in range(n):
        mean += np.float32(work.result.final[player])
    mean /= np.float32(n)
    for place in range(n):
        player = (seat + place) % n
        work.margin[place] = (np.float32(work.result.final[player]) - mean) / np.float32(RUPEES)
        work.share[place] = work.result.win_share[player]


@kernel
def answer_end(after, tables, seat, reader, work):
    """The same of the end that is foreseen of `after`, a node; unless it is over itself, the winner is in doubt."""
    answer_over(reader.lookahead[0].seen[0].state, tables, seat, work)
    if after.state.current_player != NOBODY:
        n = np.int64(tables.num_players)
        for place in range(n):
            work.share[place] = work.margin[place] * np.float32(RUPEES / TEMPERATURE)
        share_out(work.share, n)


@kernel
def ask(state, tables, lookups, seat, net, scales, raw, reader, work):
    """Overwrite `margin` and `share` with those of a position, a record of `reading_dtype`, from the eyes of `seat`."""
    value_features.clear_cache(reader)
    value_features.read(state, tables, lookups, seat, raw, reader)
    answer(tables, net, scales, raw, reader, work)


@kernel
def ask_ahead(after, tables, lookups, seat, net, scales, raw, reader, work):
    """The same of what is likely to become of an outcome of the seat's turn, a node. Returns False if a turn has no room."""
    if not value_features.read_ahead(after, tables, lookups, seat, raw, reader):
        return False
    if value_features.end_ahead(reader):
        answer_end(after, tables, seat, reader, work)
    else:
        answer(tables, net, scales, raw, reader, work)
    return True


@kernel
def answer(tables, net, scales, raw, reader, work):
    """The same of what has been read last."""
    add_all(net, scales, reader.bytes, work.hidden)
    finish(net, np.int64(tables.num_players), reader.expected, raw.all_left[0], work)


@kernel
def propose(tables, memory, reader, work, count):
    """Overwrite `worth` of the outcomes among the first `count` nodes. Returns the least that a proposed one is worth."""
    survey = reader.survey[value_features.SURVEYS]
    outcome_values.value_outcomes(tables, reader.weights[0], reader.site_traffic, memory, survey, work.worth, count)
    work.most[:] = -np.inf
    for node in range(1, count):
        if memory.node[node].due != turns.TURN_GOES_ON and work.worth[node] > work.most[PROPOSALS - 1]:
            place = PROPOSALS - 1
            while place > 0 and work.worth[node] > work.most[place - 1]:
                work.most[place] = work.most[place - 1]
                place -= 1
            work.most[place] = work.worth[node]
    return work.most[PROPOSALS - 1]


@kernel
def value_turn(tables, lookups, net, scales, blend, memory, raw, reader, work, values):
    """Lay out the turn of the state at node 0 and overwrite `values` of its outcomes with what the mover may expect.

    That is `blend` parts share of the win and the rest margin; −∞ for outcomes that are not proposed. Returns the number of
    nodes, or TOO_MANY.
    """
    count = turns.lay_out(tables, memory)
    if count == turns.TOO_MANY:
        return count
    least = propose(tables, memory, reader, work, count)
    n = np.int64(tables.num_players)
    seat = np.int64(memory.node[0].state.current_player)
    value_features.clear_cache(reader)
    begun = False
    for node in range(1, count):
        after = memory.node[node]
        if after.due != turns.TURN_GOES_ON:
            if work.worth[node] < least:
                values[node] = -np.inf
                continue
            if not value_features.read_ahead(after, tables, lookups, seat, raw, reader):
                return turns.TOO_MANY
            if value_features.end_ahead(reader):
                answer_end(after, tables, seat, reader, work)
            else:
                if not begun:
                    begin(net, scales, reader, work)
                    begun = True
                change(net, scales, reader, work)
                finish(net, n, reader.expected, raw.all_left[0], work)
            values[node] = (np.float32(1) - blend) * work.margin[0] + blend * work.share[0]
    return count
