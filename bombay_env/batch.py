"""The engine over arrays of states: one loop a job over the kernels of `engine.py`, on all cores.

Each function here takes arrays that `game.py` has checked, and neither checks nor allocates for the caller. Lanes are
independent: the result for a lane never depends on the others, nor on how they are shared among threads. Records come in plain
arrays, the tables too, as an array of one: Numba recognises those at a tenth of the cost of a recarray or a single record.
"""

import functools
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import prange, types
from numba.core import cgutils
from numba.extending import intrinsic

from bombay_env import chance, engine, streams
from bombay_env.jit.kernels import CONFIG, batch_kernel, kernel
from bombay_env.observation import encode
from bombay_env.observation.layout import FeatureLayout
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY, new_records

ILLEGAL = -2  # no seat, and not NOBODY either
CHUNK = 64  # lanes that a thread takes at a time, or more in large batches
MAX_CHUNKS = 64
WIDTH = 64  # bytes compared at once; LLVM splits them where the processor's vectors are shorter
MIN_PARALLEL_CHECKS = 16_384  # lanes: checking one takes 2 ns, and starting the threads tens of microseconds


@kernel
def num_chunks(states):
    """Pieces of work in an array of lanes."""
    return min((len(states) + CHUNK - 1) // CHUNK, MAX_CHUNKS)


@kernel
def chunk_lanes(states, chunk):
    """The lanes of a chunk, as a range."""
    return lanes_of(chunk, num_chunks(states), len(states))


@kernel
def lanes_of(chunk, chunks, lanes):
    """The range of lanes in one of the chunks that they are divided into."""
    return range(lanes * chunk // chunks, lanes * (chunk + 1) // chunks)


@kernel
def restock(state, tables, drawn):
    """Draw the restock that is due and fill the markets. `drawn` (4,) is overwritten."""
    engine.draw_restock(state, tables, drawn)
    engine.stock_markets(state, drawn)


@kernel
def start(state, tables, seed, drawn):
    """Set a game up from its seed, first restock included. `drawn` (4,) is overwritten."""
    engine.deal(state, tables, seed)
    restock(state, tables, drawn)


@kernel
def play(state, tables, action, drawn):
    """Take a legal action, and draw the restock that falls due. `drawn` (4,) is overwritten."""
    if engine.apply(state, tables, action):
        restock(state, tables, drawn)


@batch_kernel
def deal_all(states, tables, seeds):
    """Set every lane up from its seed, first restock included."""
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            start(states[lane], tables[0], seeds[lane], drawn)


@batch_kernel
def force_restocks(states, restocks):
    """Stock the markets of every lane with the bales given, (batch, 4) int64."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            engine.stock_markets(states[lane], restocks[lane])


@batch_kernel
def legal_all(states, tables, masks):
    """Overwrite `masks` (batch,), records of `mask_dtype`."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            engine.legal(states[lane], tables[0], masks[lane])


@batch_kernel
def legal_words(states, tables, words):
    """Overwrite `words` (batch,) uint64: action a is bit a."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            words[lane] = engine.legal_word(states[lane], tables[0])


@batch_kernel
def observe_all(states, tables, lookups, seats, screened, raw, features):
    """Overwrite `features` (batch,), records, with what `seats` (batch,) see; without seats, (0,), with what each mover sees.

    `states` are of `reading_dtype`. `raw` is what `make_scratch` made, kept for one `screened`.
    """
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            seat = seats[lane] if len(seats) else encode.mover_of(states[lane])
            encode.encode(states[lane], tables[0], lookups[0], seat, screened, raw[chunk])
            encode.scale(raw[chunk], lookups[0], features[lane])


def make_scratch(layout: FeatureLayout) -> np.ndarray:
    """`raw` for a batch of any size: zeroed records, one a chunk, that begin on cache lines."""
    return np.asarray(new_records(MAX_CHUNKS, layout.raw_dtype))


def _has_byte_outside(typing_context: Any, record: Any, lowest: Any, span: Any) -> Any:
    """Numba's form of `has_byte_outside`: the types of the call, and a function that generates its code.

    A loop over the bytes would do the same, but LLVM does not vectorise it well: it takes two to ten times as long.
    """
    size = record.size
    if size < WIDTH or not size == lowest.size == span.size:
        raise TypeError(f"records must have the same size, at least {WIDTH} bytes")
    vector = ir.VectorType(ir.IntType(8), WIDTH)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        two_vectors = ir.FunctionType(vector, [vector, vector])
        subtract_to_zero = cgutils.get_or_insert_function(builder.module, two_vectors, f"llvm.usub.sat.v{WIDTH}i8")

        def load(address: Any, offset: int) -> Any:
            first = builder.bitcast(address, ir.IntType(8).as_pointer())
            place = builder.gep(first, [ir.Constant(ir.IntType(64), offset)])
            return builder.load(builder.bitcast(place, vector.as_pointer()), align=1)

        excess = ir.Constant(vector, [0] * WIDTH)
        for offset in [*range(0, size - WIDTH, WIDTH), size - WIDTH]:  # the last vector may overlap the one before
            found, low, most = (load(address, offset) for address in arguments)
            above_lowest = builder.sub(found, low)  # wraps around, so a byte below its lowest value is far above it
            excess = builder.or_(excess, builder.call(subtract_to_zero, [above_lowest, most]))
        whole = ir.IntType(8 * WIDTH)
        return builder.icmp_unsigned("!=", builder.bitcast(excess, whole), ir.Constant(whole, 0))

    return types.boolean(record, lowest, span), generate


def _compare_bytes(record: Any, lowest: Any, span: Any) -> bool:
    """`has_byte_outside` with the compiler off."""
    found, low, most = (np.frombuffer(each.tobytes(), np.uint8) for each in (record, lowest, span))
    return bool((found - low > most).any())


# Whether any byte of `record` is outside its range: the byte of `lowest` in the same place is the lowest value, and the byte of
# `span` is the number of further values, counted upwards modulo 256. All three are records of the same size. For kernels.
has_byte_outside: Any = _compare_bytes if CONFIG.DISABLE_JIT else intrinsic(_has_byte_outside)


@kernel
def is_sound(state, ranges):
    """Whether kernels can safely play from `state`, whoever made it: they stay inside their tables, and the game comes to an end.

    Every field must be inside `ranges` (`state.state_ranges`), and a pending `take` needs a bale to take: without one there would
    be no legal action. A sound state may still be impossible under the rules; `state.check_invariants` decides that.
    """
    if has_byte_outside(state, ranges[0], ranges[1]):
        return False
    return state.take_pending == 0 or engine.leftmost_market(state) != engine.NO_MARKET


@kernel
def count_unsound_among(states, ranges, lanes):
    """The number of `lanes`, a range, that are not sound. A loop that does nothing else keeps `ranges` in registers."""
    count = 0
    for lane in lanes:
        count += not is_sound(states[lane], ranges)
    return count


def _count_unsound(states, ranges):
    """The number of lanes that are not sound."""
    count = 0
    for chunk in prange(num_chunks(states)):
        count += count_unsound_among(states, ranges, chunk_lanes(states, chunk))
    return count


count_unsound = batch_kernel(_count_unsound, MIN_PARALLEL_CHECKS)


@kernel
def find_illegal_among(states, ranges, tables, actions, illegal, lanes):
    """`find_illegal` for `lanes`, a range."""
    unsound = count_unsound_among(states, ranges, lanes)
    if unsound:
        return unsound, 0
    count = 0
    for lane in lanes:
        state = states[lane]
        wrong = state.current_player != NOBODY and not engine.is_legal(state, tables[0], actions[lane])
        illegal[lane] = wrong
        count += wrong
    return 0, count


@batch_kernel
def find_illegal(states, ranges, tables, actions, illegal):
    """Mark in `illegal` (batch,) bool the lanes still running whose action is illegal.

    Returns the number of lanes that are not sound, and the number of illegal actions. Where the first is not 0, `illegal` and the
    second mean nothing.
    """
    unsound = 0
    count = 0
    for chunk in prange(num_chunks(states)):
        # Numba adds up what several threads count only if the sums stand in the loop itself, not in an inner loop or a branch.
        found = find_illegal_among(states, ranges, tables, actions, illegal, chunk_lanes(states, chunk))
        unsound += found[0]
        count += found[1]
    return unsound, count


@batch_kernel
def step_all(states, tables, actions):
    """Play a legal action in every lane not yet over, and draw the restocks that fall due."""
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            if states[lane].current_player != NOBODY:
                play(states[lane], tables[0], actions[lane], drawn)


@kernel
def play_one(states, tables, action, masks):
    """In a batch of one, play `action` if it is legal and overwrite its record in `masks`.

    Returns the seat then to act, NOBODY after the end; ILLEGAL if the action is illegal and nothing was done.
    """
    state = states[0]
    if not engine.is_legal(state, tables[0], action):
        return ILLEGAL
    play(state, tables[0], action, np.empty(NUM_COLOURS, np.int64))
    engine.legal(state, tables[0], masks[0])
    return np.int64(state.current_player)


@batch_kernel
def apply_all(states, tables, actions, due):
    """Play a legal action in every lane not yet over, without any restock; `due` (batch,) bool marks where one follows."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            state = states[lane]
            due[lane] = state.current_player != NOBODY and engine.apply(state, tables[0], actions[lane])


@batch_kernel
def settle_all(states, tables, provisional, results):
    """Overwrite `results` of finished lanes, and of running ones as if they ended now if `provisional`."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            if provisional or states[lane].current_player == NOBODY:
                engine.settle(states[lane], tables[0], results[lane])


# --- Autoreset: each lane deals its first game from its own seed, the later ones from the stream keyed by that seed ---


@kernel
def start_next(state, tables, seed, episodes, lane, drawn):
    """Deal the lane's next game and count it in `episodes`."""
    episodes[lane] += np.uint64(1)
    start(state, tables, chance.random_word(seed, streams.EPISODE, episodes[lane]), drawn)


@batch_kernel
def deal_next(states, tables, seeds, episodes):
    """Deal every lane the game that follows in its stream, and count it in `episodes`."""
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            start_next(states[lane], tables[0], seeds[lane], episodes, lane, drawn)


@batch_kernel
def advance_all(states, tables, actions, seeds, episodes, ended, finals):
    """Play a legal action in every lane, and deal the next game at once where one ends.

    Args:
        states: (batch,) records, all running, before and after.
        seeds: (batch,) uint64, of each lane's stream of games; unchanged.
        episodes: (batch,) uint64, games dealt in each lane before the present one; counted on.
        ended: (batch,) bool, overwritten: where a game ended with this action.
        finals: (batch,) records, overwritten there with the state at the end.
    """
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            state = states[lane]
            play(state, tables[0], actions[lane], drawn)
            ended[lane] = state.current_player == NOBODY
            if ended[lane]:
                finals[lane] = state
                start_next(state, tables[0], seeds[lane], episodes, lane, drawn)


# --- Random and other policies, played out inside one kernel ---


@kernel
def num_bits(word):
    """Bits set in a uint64."""
    count = 0
    while word != engine.NO_BITS:  # the compiler knows this loop: it becomes one instruction
        word &= word - engine.ONE
        count += 1
    return count


@kernel
def place_of_bit(word, number):
    """The position of the set bit with index `number`, counted from the lowest; more than `number` bits are set."""
    for _ in range(number):
        word &= word - engine.ONE
    return num_bits((word & (~word + engine.ONE)) - engine.ONE)


@kernel
def uniform(state, tables, moves, others, random):
    """A policy, as `Game.rollout` takes them: each legal action as likely as any other."""
    num_moves = num_bits(moves)
    count = num_moves + num_bits(others)
    chosen = np.int64(((random >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
    other = chosen >= num_moves  # no branch on it: no processor could guess it
    word = others if other else moves
    return other * np.int64(tables.num_sites) + place_of_bit(word, chosen - other * num_moves)


@kernel
def choose_uniform(state, tables, key, index):
    """The action that `uniform` draws by (key, index); the state is running."""
    random = chance.random_word(key, streams.POLICY, index)
    return uniform(state, tables, engine.legal_moves(state, tables), engine.legal_others(state, tables), random)


@batch_kernel
def sample_all(states, tables, keys, index, actions):
    """Overwrite `actions` (batch,) int64 with a random legal action drawn by (key of the lane, index); -1 after the end."""
    for chunk in prange(num_chunks(states)):
        for lane in chunk_lanes(states, chunk):
            running = states[lane].current_player != NOBODY
            actions[lane] = choose_uniform(states[lane], tables[0], keys[lane], index) if running else -1


@kernel
def play_uniform(state, tables, most, key, index, drawn):
    """Play on by `uniform` until the game is over or `most` decisions are taken. Returns their number."""
    taken = 0
    while taken < most and state.current_player != NOBODY:
        play(state, tables, choose_uniform(state, tables, key, np.uint64(index + taken)), drawn)
        taken += 1
    return taken


@batch_kernel
def rollout_uniform(states, tables, most, keys, index, taken):
    """Play every lane on at random for up to `most` decisions; `taken` (batch,) int64 is overwritten with their number."""
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            taken[lane] = play_uniform(states[lane], tables[0], most, keys[lane], index, drawn)


@functools.lru_cache(maxsize=16)
def rollout_with(policy):
    """`rollout_uniform` by another policy, a function compiled by Numba. Compiled again in each process: Numba cannot
    cache a closure.
    """

    @kernel
    def play_policy(state, tables, most, key, index, drawn):
        taken = 0
        while taken < most and state.current_player != NOBODY:
            random = chance.random_word(key, streams.POLICY, np.uint64(index + taken))
            moves, others = engine.legal_moves(state, tables), engine.legal_others(state, tables)
            play(state, tables, policy(state, tables, moves, others, random), drawn)
            taken += 1
        return taken

    @batch_kernel
    def rollout_all(states, tables, most, keys, index, taken):
        for chunk in prange(num_chunks(states)):
            drawn = np.empty(NUM_COLOURS, np.int64)
            for lane in chunk_lanes(states, chunk):
                taken[lane] = play_policy(states[lane], tables[0], most, keys[lane], index, drawn)

    return rollout_all


@batch_kernel
def endless_uniform(states, tables, count, keys, index, seeds, episodes):
    """Play `count` random decisions in every lane, which deals its next game whenever one ends."""
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            state = states[lane]
            taken = 0
            while taken < count:
                taken += play_uniform(state, tables[0], count - taken, keys[lane], index + taken, drawn)
                if state.current_player == NOBODY:
                    start_next(state, tables[0], seeds[lane], episodes, lane, drawn)


class Streams(NamedTuple):
    """What keys the decisions and the games of each lane."""

    keys: np.ndarray  # (batch,) uint64, of decisions
    first: int  # position in these streams to begin at
    seeds: np.ndarray  # (batch,) uint64, of games
    episodes: np.ndarray  # (batch,) uint64, games dealt before the current one; counted on


class Observer(NamedTuple):
    """What observing takes besides the states."""

    readings: np.ndarray  # the states again, as records of `reading_dtype`
    lookups: np.ndarray  # (1,) of `make_lookups`
    screened: bool
    raw: np.ndarray  # of `make_scratch`


class Decisions(NamedTuple):
    """Recorded decisions, all overwritten."""

    features: np.ndarray  # (count · batch,) records, decision by decision: what the movers saw
    masks: np.ndarray  # (count · batch,) records: their legal actions
    actions: np.ndarray  # (count, batch) int64
    ended: np.ndarray  # (count, batch) bool: whether the action ended a game


@batch_kernel
def collect_uniform(states, tables, lane_streams, observer, decisions):
    """`endless_uniform`, recording each decision in `decisions`."""
    batch = len(states)
    # Numba's parallel loops crash on named tuples, so their entries are taken out of them first.
    keys, first, seeds, episodes = lane_streams
    readings, lookups, screened, raw = observer
    features, masks, actions, ended = decisions
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for taken in range(len(actions)):
            for lane in chunk_lanes(states, chunk):
                row, state = taken * batch + lane, states[lane]
                viewer = encode.mover_of(state)
                encode.encode(readings[lane], tables[0], lookups[0], viewer, screened, raw[chunk])
                moves, others = engine.legal_moves(state, tables[0]), engine.legal_others(state, tables[0])
                engine.write_flags(moves, others, tables[0], masks[row])
                random = chance.random_word(keys[lane], streams.POLICY, np.uint64(first + taken))
                actions[taken, lane] = uniform(state, tables[0], moves, others, random)
                encode.scale(raw[chunk], lookups[0], features[row])
                play(state, tables[0], actions[taken, lane], drawn)
                ended[taken, lane] = state.current_player == NOBODY
                if ended[taken, lane]:
                    start_next(state, tables[0], seeds[lane], episodes, lane, drawn)
