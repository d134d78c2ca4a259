"""Keyed random numbers: every draw is a pure function of (seed, stream, index).

The function is Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011). The seed is
its key; stream and index form its counter. There is no generator state, so the random numbers of a game do not depend on the
order in which they are drawn. `streams.py` names the streams.
"""

import numpy as np

from bombay_env.jit.kernels import kernel

# Compiled code converts uint64 to a signed type where it meets an untyped literal, so all constants are typed here. Factors stay
# below 2**32, so products do not overflow, not even with the compiler off.
_MULTIPLY_0 = np.uint64(0xD2511F53)
_MULTIPLY_1 = np.uint64(0xCD9E8D57)
_WEYL_0 = np.uint64(0x9E3779B9)
_WEYL_1 = np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ROUNDS = 10


@kernel
def philox(key_0, key_1, counter_0, counter_1, counter_2, counter_3):
    """Philox4x32-10: maps six uint64 below 2**32 to four uint64 below 2**32."""
    for _ in range(_ROUNDS):
        product_0 = _MULTIPLY_0 * counter_0
        product_1 = _MULTIPLY_1 * counter_2
        counter_0 = (product_1 >> _HALF) ^ counter_1 ^ key_0
        counter_2 = (product_0 >> _HALF) ^ counter_3 ^ key_1
        counter_1 = product_1 & _LOW
        counter_3 = product_0 & _LOW
        key_0 = (key_0 + _WEYL_0) & _LOW
        key_1 = (key_1 + _WEYL_1) & _LOW
    return counter_0, counter_1, counter_2, counter_3


@kernel
def random_word(seed, stream, index):
    """A uniform uint64 for (seed, stream, index). All three are uint64; `stream` is below 2**32."""
    low, high, _, _ = philox(seed & _LOW, seed >> _HALF, index & _LOW, index >> _HALF, stream, np.uint64(0))
    return (high << _HALF) | low


@kernel
def random_words(seeds, stream, indices, out):
    """Write `random_word(seeds[i], stream, indices[i])` into `out[i]`; all arrays are (batch,) uint64."""
    for lane in range(len(out)):
        out[lane] = random_word(seeds[lane], stream, indices[lane])


def lane_words(seeds: np.ndarray, stream: np.uint64, indices: np.ndarray) -> np.ndarray:
    """`random_word` for each lane, (batch,) uint64, of seeds and indices, (batch,) uint64 each."""
    words = np.empty(len(seeds), np.uint64)
    random_words(np.ascontiguousarray(seeds), stream, indices, words)
    return words


@kernel
def permutation(seed, stream, out):
    """Overwrite `out`, an integer array, with a random permutation of 0 … len(out)−1: the entries sorted by random words."""
    words = np.empty(len(out), np.uint64)
    for entry in range(len(out)):
        word = random_word(seed, stream, np.uint64(entry))
        place = entry
        while place > 0 and words[place - 1] > word:
            words[place] = words[place - 1]
            out[place] = out[place - 1]
            place -= 1
        words[place] = word
        out[place] = entry
