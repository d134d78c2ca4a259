"""Random numbers: Philox's published test vectors, what is drawn from it, and equal results without the compiler."""

import hashlib
import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bombay_env import Game, Rules, chance, streams

SLOW = bool(numba.config.DISABLE_JIT)
STREAMS = [number for name, number in vars(streams).items() if name.isupper()]
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


def word(seed, stream, index):
    return int(chance.random_word(np.uint64(seed), np.uint64(stream), np.uint64(index)))


def shuffled(seed, stream, length):
    out = np.empty(length, np.int64)
    chance.permutation(np.uint64(seed), stream, out)
    return out.tolist()


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_numbers(counter, key, expected):
    assert chance.philox(*words(key), *words(counter)) == tuple(words(expected))


@settings(max_examples=100, deadline=None)
@given(word64, st.integers(0, MASK), word64)
def test_random_word_is_philox_of_seed_stream_and_index(seed, stream, index):
    key, counter = (seed & MASK, seed >> 32), (index & MASK, index >> 32, stream, 0)
    low, high, *_ = map(int, chance.philox(*map(np.uint64, (*key, *counter))))
    assert word(seed, stream, index) == low | high << 32


@settings(max_examples=50, deadline=None)
@given(word64, st.sampled_from(STREAMS), st.integers(0, 12))
def test_a_permutation_sorts_the_entries_by_their_words(seed, stream, length):
    by_word = sorted(range(length), key=lambda entry: word(seed, stream, entry))
    assert shuffled(seed, stream, length) == by_word
    assert shuffled(seed, stream, length) == by_word  # the same when called again


def digest_of_games():
    """A digest of random numbers, deals and whole games for every number of players, to compare processes."""
    digest = hashlib.sha256()
    for seed in (0, 1, 2**32 - 1, 2**63 + 12345, 2**64 - 1):
        for stream in STREAMS:
            digest.update(repr([word(seed, stream, index) for index in (0, 1, 2**32, 2**64 - 1)]).encode())
            digest.update(repr(shuffled(seed, stream, 8)).encode())
    for num_players in (2, 5):
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


def test_compiled_and_plain_code_give_equal_numbers_for_any_hash_seed():
    code = "from test_chance import digest_of_games; print(digest_of_games())"
    other = {"NUMBA_DISABLE_JIT": "0" if SLOW else "1", "PYTHONHASHSEED": "4242"}
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | other
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == digest_of_games()
