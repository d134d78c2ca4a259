"""Random numbers: Philox's published test vectors, uniform and independent draws, and equal results without the compiler."""

import hashlib
import os
import subprocess
import sys
from itertools import combinations, permutations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bombay_env import Game, Rules, chance, streams
from helpers.position import assert_fits

SLOW = bool(numba.config.DISABLE_JIT)
DRAWS = 2_000 if SLOW else 40_000
GAMES = ("DEMAND", "POSTS", "PALACE_TOKENS", "RESTOCK", "EPISODE", "SEAT", "SCRUB", "OPPONENTS", "POLICY")
STREAMS = {name: getattr(streams, name) for name in GAMES}
MASK = 2**32 - 1
word64 = st.integers(0, 2**64 - 1)

# Known answers of Philox4x32 with 10 rounds from the Random123 distribution: counter, key, output.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return [np.uint64(int(word, 16)) for word in text.split()]


def slow_philox(key, counter):
    """Philox4x32-10 with Python's integers, written from the paper."""
    key, counter = list(key), list(counter)
    for _ in range(10):
        high_0, low_0 = divmod(0xD2511F53 * counter[0], 2**32)
        high_1, low_1 = divmod(0xCD9E8D57 * counter[2], 2**32)
        counter = [high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def word(seed, stream, index):
    return int(chance.random_word(np.uint64(seed), np.uint64(stream), np.uint64(index)))


def shuffled(seed, stream, length, dtype=np.int64):
    out = np.empty(length, dtype)
    chance.permutation(np.uint64(seed), stream, out)
    return out.tolist()


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_numbers(counter, key, expected):
    assert chance.philox(*words(key), *words(counter)) == tuple(words(expected))


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_slow_philox_gives_the_published_numbers(counter, key, expected):
    assert slow_philox(map(int, words(key)), map(int, words(counter))) == list(map(int, words(expected)))


@settings(max_examples=100, deadline=None)
@given(word64, st.integers(0, MASK), word64)
def test_random_word_is_philox_of_seed_stream_and_index(seed, stream, index):
    low, high, *_ = slow_philox([seed & MASK, seed >> 32], [index & MASK, index >> 32, stream, 0])
    assert word(seed, stream, index) == low | high << 32


@settings(max_examples=50, deadline=None)
@given(word64, st.sampled_from(sorted(STREAMS)), st.integers(0, 12))
def test_a_permutation_sorts_the_entries_by_their_words(seed, name, length):
    stream = STREAMS[name]
    by_word = sorted(range(length), key=lambda entry: word(seed, stream, entry))
    assert shuffled(seed, stream, length) == by_word
    assert shuffled(seed, stream, length) == by_word  # the same when called again


@pytest.mark.parametrize("name", STREAMS)
def test_permutations_are_uniform(name):
    outcomes = [tuple(shuffled(seed, STREAMS[name], 4)) for seed in range(DRAWS)]
    assert_fits(outcomes, dict.fromkeys(permutations(range(4)), 1 / 24))


@pytest.mark.parametrize("top_bits", [False, True])
def test_every_bit_of_a_word_is_uniform(top_bits):
    """Over the indices 0, 1, 2 … of a seed, for seeds that use the low or the high half of the key."""
    seed = 2**63 + 2**40 if top_bits else 1
    drawn = np.array([word(seed, streams.RESTOCK, index) for index in range(DRAWS)], np.uint64)
    for bit in range(64):
        ones = int((drawn >> np.uint64(bit) & np.uint64(1)).sum())
        assert abs(ones - DRAWS / 2) < 5 * np.sqrt(DRAWS / 4)


@pytest.mark.parametrize(("one", "other"), list(combinations(STREAMS, 2)))
def test_streams_are_independent(one, other):
    """Two streams of the same seed are independent: all 36 pairs of permutations of three are equally likely."""
    orders = list(permutations(range(3)))
    pairs = [
        (tuple(shuffled(seed, STREAMS[one], 3)), tuple(shuffled(seed, STREAMS[other], 3))) for seed in range(DRAWS // 4)
    ]
    assert_fits(pairs, {(a, b): 1 / 36 for a in orders for b in orders})


@pytest.mark.parametrize("step", [1, 2**32, 2**63])
def test_adjacent_seeds_are_independent(step):
    """For seeds that differ in the lowest, a middle or the highest bit, permutations agree only as often as at random."""
    orders = list(permutations(range(3)))
    pairs = [
        (tuple(shuffled(seed, streams.DEMAND, 3)), tuple(shuffled(seed ^ step, streams.DEMAND, 3)))
        for seed in range(0, DRAWS // 2, 2)
    ]
    assert_fits(pairs, {(a, b): 1 / 36 for a in orders for b in orders})


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1])
def test_every_seed_gives_other_random_numbers(seed):
    others = [seed ^ 1, seed ^ 1 << 31, seed ^ 1 << 32, seed ^ 1 << 63]
    assert len({word(value, streams.DEMAND, 0) for value in (seed, *others)}) == 5


def test_indices_above_32_bits_are_distinct():
    assert len({word(7, streams.RESTOCK, index) for index in (5, 5 + 2**32, 5 + 2**33)}) == 3


def test_a_seed_gives_the_same_deal_alone_and_in_any_batch():
    game = Game(Rules.official(4))
    seeds = [0, 1, 2**63, 2**64 - 1]
    together = game.new_states(seeds)
    for lane, seed in enumerate(seeds):
        assert together[lane].tobytes() == game.new_states([seed])[0].tobytes()
    backwards = game.new_states(seeds[::-1])
    assert backwards[::-1].tobytes() == together.tobytes()


def digest_of_games():
    """A digest of random numbers, deals and whole games for every number of players, to compare processes."""
    digest = hashlib.sha256()
    for seed in (0, 1, 2**32 - 1, 2**63 + 12345, 2**64 - 1):
        for stream in STREAMS.values():
            digest.update(repr([word(seed, stream, index) for index in (0, 1, 2**32, 2**64 - 1)]).encode())
            digest.update(repr(shuffled(seed, stream, 8)).encode())
    for num_players in (2, 3, 4, 5):
        game = Game(Rules(num_players, sets=2, turns_per_set=2))
        states = game.new_states([num_players, 2**64 - num_players])
        turn = 0
        while not game.is_terminal(states).all():
            masks = game.legal_actions(states)
            legal = [np.flatnonzero(mask) for mask in masks]
            actions = [row[(5 * turn + 3) % len(row)] if len(row) else 0 for row in legal]
            game.step(states, np.array(actions))
            digest.update(states.tobytes() + masks.tobytes())
            digest.update(game.observe(states).tobytes() + game.observe(states, screened=True).tobytes())
            turn += 1
        digest.update(game.results(states).tobytes())
    return digest.hexdigest()


def digest_elsewhere(**environment):
    """The same digest from another process, run in this folder."""
    done = subprocess.run(
        [sys.executable, "-c", "from test_chance import digest_of_games; print(digest_of_games())"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_compiled_and_plain_code_give_equal_numbers():
    here = digest_of_games()
    assert here == digest_elsewhere(NUMBA_DISABLE_JIT="0" if SLOW else "1", PYTHONHASHSEED="0")


def test_the_hash_seed_does_not_matter():
    assert digest_of_games() == digest_elsewhere(PYTHONHASHSEED="4242")
