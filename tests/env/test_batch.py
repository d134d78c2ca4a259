"""Many games at once are the same games: whatever the batch, the order of its lanes, the threads, the process or the path."""

import itertools
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from bombay_env import Board, Game, IllegalActionError, Rules, batch
from bombay_env.envs.autoreset_games import AutoresetGames, lane_seeds
from bombay_env.state import rows
from helpers.position import each_count
from helpers.refusal import refusal

QUICK = bool(numba.config.DISABLE_JIT)
GAMES = 3 if QUICK else 600  # of each number of players; several threads play from 512 lanes
SHORT = {"sets": 2, "turns_per_set": 1}

needs_jit = pytest.mark.skipif(QUICK, reason="only compiled kernels run on threads")


def game_for(n):
    return Game(Rules(n, **(SHORT if QUICK else {})))


def row_words(array):
    """A word a row that depends on every byte of it, (rows,) uint64."""
    data = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)
    data = data.view(np.uint32) if data.shape[1] % 4 == 0 else data
    weights = np.random.default_rng(data.shape[1]).integers(1, 2**63, data.shape[1], dtype=np.uint64) | np.uint64(1)
    return np.einsum("ij,j->i", data, weights)


def traced(game, seeds):
    """Games played at random to the end: a word for each game of all that its players saw, might do and did."""
    states = game.new_states(seeds)
    words = np.zeros(len(seeds), np.uint64)
    index = 0
    while True:
        masks = game.legal_actions(states)
        running = masks.any(axis=1)
        if not running.any():
            break
        actions = game.sample_actions(states, seeds, index)
        views = game.observe(states), game.observe(states, seats=index % game.num_players, screened=True)
        step = row_words(masks) + row_words(actions) + row_words(views[0]) + np.uint64(3) * row_words(views[1])
        words[running] = words[running] * np.uint64(0x9E3779B97F4A7C15) + step[running]
        game.step(states, actions)
        index += 1
    return words + row_words(states) + row_words(game.results(states)["final"])


def in_batches(function, seeds, size):
    return np.concatenate([function(seeds[start : start + size]) for start in range(0, len(seeds), size)])


@each_count
def test_a_game_is_the_same_in_every_batch(n):
    game, seeds = game_for(n), np.arange(GAMES, dtype=np.uint64) * np.uint64(7919)

    def played(some):
        states = game.new_states(some)
        taken = game.rollout(states, some)
        return np.column_stack([rows(states).view(np.uint8).reshape(len(some), -1), taken])

    whole = played(seeds)
    for size in (1, 7, 64, 550):
        assert np.array_equal(in_batches(played, seeds, size), whole), size


@each_count
def test_what_players_see_is_the_same_in_every_batch_and_order(n):
    game, seeds = Game(Rules(n, **SHORT)), np.arange(GAMES, dtype=np.uint64) + np.uint64(2**63)
    whole = traced(game, seeds)
    assert len(set(whole.tolist())) == len(seeds)
    order = np.random.default_rng(n).permutation(len(seeds))
    for size, games in ((1, 20), (7, 50), (64, 300)):
        some = order[:games]
        assert np.array_equal(in_batches(lambda part: traced(game, part), seeds[some], size), whole[some]), size


@each_count
def test_rollouts_steps_and_single_decisions_are_one_game(n):
    """The kernel that plays on, `step` with sampled actions, and rollouts in pieces come to the same states."""
    game, seeds = game_for(n), np.arange(5, dtype=np.uint64)
    at_once, stepped, pieces = (game.new_states(seeds) for _ in range(3))
    taken = game.rollout(at_once, seeds)
    assert game.is_terminal(at_once).all()
    index = 0
    while not game.is_terminal(stepped).all():
        game.step(stepped, game.sample_actions(stepped, seeds, index))
        index += 1
    assert taken.max() == index
    done = np.zeros(len(seeds), np.int64)
    for start in range(0, index, 4):
        done += game.rollout(pieces, seeds, max_decisions=4, index=start)
    assert at_once.tobytes() == stepped.tobytes() == pieces.tobytes()
    assert done.tolist() == taken.tolist()
    assert game.rollout(at_once, seeds).tolist() == [0] * len(seeds)


def test_sampled_actions_are_legal_and_uniform():
    game = Game(Rules.official(3))
    states = np.repeat(game.new_states([5]), 400 if QUICK else 20_000)
    actions = game.sample_actions(states, np.arange(len(states), dtype=np.uint64))
    legal = np.flatnonzero(game.legal_actions(states[:1])[0])
    counts = np.bincount(actions, minlength=game.num_actions)
    assert set(np.flatnonzero(counts)) == set(legal)
    expected = len(states) / len(legal)
    assert ((counts[legal] - expected) ** 2 / expected).sum() < 3 * len(legal) + 10  # chi squared, generously


def test_sampled_actions_depend_on_key_and_index_and_not_on_the_seed():
    game = Game(Rules.official(3))
    states, keys = game.new_states(range(50)), np.arange(50, dtype=np.uint64)
    first = game.sample_actions(states, keys)
    assert (game.sample_actions(game.scrub(states, range(100, 150)), keys) == first).all()
    assert (game.sample_actions(states, keys, 1) != first).any()
    assert (game.sample_actions(states, keys + np.uint64(1)) != first).any()
    game.rollout(states, keys)
    assert (game.sample_actions(states, keys) == -1).all()


def lowest_legal(state, tables, moves, others, random):
    """A policy of a user's: the legal action of the lowest number."""
    if moves:
        return batch.place_of_bit(moves, 0)
    return tables.num_sites + batch.place_of_bit(others, 0)


def reads_an_unknown_field(state, tables, moves, others, random):
    return state.nofield


@each_count
def test_a_deal_leaves_nothing_of_the_game_before(n):
    game, seeds = Game(Rules(n)), np.arange(4, dtype=np.uint64)
    used = game.new_states(seeds)
    for name in used.dtype.names:
        used[name] = 1
    batch.deal_all(np.asarray(used), game.tables, seeds)
    assert used.tobytes() == game.new_states(seeds).tobytes()


def test_a_policy_given_plays_the_rollout():
    game = Game(Rules(2, sets=1, turns_per_set=2))
    policy = numba.njit(lowest_legal)
    states = game.new_states([1, 2, 3])
    by_hand = states.copy()
    taken = game.rollout(states, [0, 0, 0], policy=policy)
    count = 0
    while not game.is_terminal(by_hand).all():
        game.step(by_hand, game.legal_actions(by_hand).argmax(axis=1))
        count += 1
    assert states.tobytes() == by_hand.tobytes()
    assert taken.max() == count


def test_a_rollout_by_a_policy_in_pieces_is_one_rollout_also_of_every_other_state():
    game = Game(Rules(2, sets=1))
    states = game.new_states([1, 1, 2, 2])
    expected = states[::2].copy()
    game.rollout(expected, [3, 4], 9, policy=batch.uniform)
    for decisions, index in ((4, 0), (5, 4)):
        game.rollout(states[::2], [3, 4], decisions, policy=batch.uniform, index=index)
    assert states[::2].tobytes() == expected.tobytes()
    assert states[1::2].tobytes() == game.new_states([1, 2]).tobytes()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("random", ("policy must be a function compiled with numba.njit",)),
        pytest.param(abs, ("policy must be a function compiled with numba.njit",), marks=needs_jit),
        pytest.param(numba.njit(lambda state: 0), ("policy cannot be compiled as policy",), marks=needs_jit),
        pytest.param(
            numba.njit(reads_an_unknown_field), ("policy cannot be compiled as policy", "nofield"), marks=needs_jit
        ),
    ],
    ids=["name", "function", "parameters", "field"],
)
def test_what_is_no_compiled_policy_is_refused_with_the_cause(policy, words):
    game = game_for(2)
    states = game.new_states([1])
    before = states.tobytes()
    refusal(lambda: game.rollout(states, [1], policy=policy), *words)
    assert states.tobytes() == before


# --- masks as words ---


@each_count
def test_words_and_masks_say_the_same(n):
    game = game_for(n)
    states, keys = game.new_states(range(40)), np.arange(40, dtype=np.uint64)
    for index in range(40):
        words = game.legal_words(states)
        bits = (words[:, None] >> np.arange(game.num_actions, dtype=np.uint64)) & np.uint64(1)
        assert np.array_equal(bits.astype(bool), game.legal_actions(states))
        out = np.zeros_like(words)
        assert game.legal_words(states, out=out) is out
        assert (out == words).all()
        game.step(states, game.sample_actions(states, keys, index))


# With more than 49 sites a mask takes two words, and all kernels are compiled anew for each number of sites.
TWO_WORDS = [*(pytest.param(sites, marks=() if QUICK else pytest.mark.slow) for sites in (50, 56, 57)), 64]


@pytest.mark.parametrize("num_sites", TWO_WORDS)
def test_games_on_boards_too_large_for_a_word(num_sites):
    """A chain of hilltops hung on the packaged board: moves are along trails, and distances as tables have them."""
    data = Board.load().to_dict()
    chain = [f"X{number}" for number in range(num_sites - len(data["sites"]))]
    hill = next(site["kind"] for site in data["sites"] if site["name"] == "H1")
    ends = [data["sites"][0]["name"], *chain]
    data["name"] = f"board-of-{num_sites}"
    data["sites"] = [{"name": name, "kind": hill, "x": 0.5, "y": 1 + y} for y, name in enumerate(chain)] + data["sites"]
    data["trails"] += [[a, b] for a, b in itertools.pairwise(ends)]
    board = Board.from_dict(data, "test")
    game = Game(Rules(2, sets=1, turns_per_set=2), board)
    trails = {(board.site_index(a), board.site_index(b)) for a, b in board.trails}
    near = trails | {(b, a) for a, b in trails}
    states, keys = game.new_states([2**64 - 1, 3, 4]), [1, 2, 3]
    states["position"][:, :2] = board.site_index(chain[-2])
    for index in range(8):
        masks, views = game.legal_actions(states), game.feature_layout.split(game.observe(states))
        for lane, state in enumerate(states):
            here = int(state["position"][max(state["current_player"], 0)])
            if state["current_player"] >= 0:
                costs = [game.tables[0].enter_cost[site] <= state["actions_left"] for site in range(num_sites)]
                allowed = [(here, site) in near and bool(costs[site]) for site in range(num_sites)]
                assert masks[lane, :num_sites].tolist() == allowed
                assert masks[lane, game.action_index("end_turn")]
            expected = np.minimum(game.tables[0].distance[here] / 6, 2)
            np.testing.assert_allclose(views["distance"][lane], expected, rtol=1e-6)
        game.step(states, game.sample_actions(states, keys, index))
    with pytest.raises(ValueError, match=f"at most 49 sites; this one has {num_sites}"):
        game.legal_words(states)


# --- lanes ---


@each_count
def test_lanes_deal_their_own_streams_of_games(n):
    """What each lane plays is what it plays alone, and its games are those of its seed and then of its stream."""
    game, steps = game_for(n), 60 if QUICK else 400
    many = AutoresetGames(game, 5, seed=11)
    keys = np.arange(5, dtype=np.uint64)
    alone = [AutoresetGames(game, 1, seed=11 + lane) for lane in range(5)]
    assert many.states.tobytes() == game.new_states(range(11, 16)).tobytes()
    ends = 0
    for index in range(steps):
        many.step(game.sample_actions(many.states, keys, index))
        for lane, single in enumerate(alone):
            single.step(game.sample_actions(single.states, keys[lane : lane + 1], index))
            assert single.states.tobytes() == many.states[lane : lane + 1].tobytes()
            assert single.ended[0] == many.ended[lane]
            if single.ended[0]:
                assert single.finals.tobytes() == many.finals[lane : lane + 1].tobytes()
                assert game.is_terminal(single.finals)[0]
        ends += many.ended.sum()
        assert not game.is_terminal(many.states).any()
    assert ends > 5
    assert many.episodes.sum() == ends
    rolled = AutoresetGames(game, 5, seed=11)
    rolled.rollout(steps - 7, keys)
    rolled.rollout(7, keys, index=steps - 7)
    assert rolled.states.tobytes() == many.states.tobytes()
    assert (rolled.episodes == many.episodes).all()


@pytest.mark.parametrize(("screened", "first"), [(False, 0), (True, 0), (False, 1000)])
def test_collect_writes_down_what_steps_would_see(screened, first):
    game, count = game_for(3), 25 if QUICK else 250
    written, stepped = AutoresetGames(game, 4, seed=3), AutoresetGames(game, 4, seed=3)
    keys = np.arange(4, dtype=np.uint64)
    observations = np.empty((count, 4, game.num_features), np.float32)
    masks = np.empty((count, 4, game.num_actions), np.bool_)
    actions, ended = written.collect(keys, first, observations, masks, screened=screened)
    for index in range(count):
        assert np.array_equal(observations[index], game.observe(stepped.states, screened=screened))
        assert np.array_equal(masks[index], game.legal_actions(stepped.states))
        assert np.array_equal(actions[index], game.sample_actions(stepped.states, keys, first + index))
        stepped.step(actions[index])
        assert np.array_equal(ended[index], stepped.ended)
    assert written.states.tobytes() == stepped.states.tobytes()
    assert ended.any()


def test_a_reset_without_a_seed_deals_the_next_games():
    game, seeds = game_for(2), np.array([5, 6, 7], np.uint64)
    lanes = AutoresetGames(game, 3, seed=1)
    first = lanes.states.copy()
    lanes.reset()
    assert (rows(first) != rows(lanes.states)).all()
    lanes.reset(1)
    assert lanes.states.tobytes() == first.tobytes()
    lanes.reset(seeds)
    assert lanes.states.tobytes() == game.new_states([5, 6, 7]).tobytes()
    seeds[:] = 0  # the caller's array; the lanes have a copy
    lanes.reset()
    others = AutoresetGames(game, 3, [5, 6, 7])
    others.reset()
    assert lanes.states.tobytes() == others.states.tobytes()
    assert lane_seeds(2**64 - 1, 3).tolist() == [2**64 - 1, 0, 1]


def test_no_game_has_just_ended_after_a_reset():
    game = Game(Rules(2, sets=1, turns_per_set=1))
    lanes = AutoresetGames(game, 3)
    for seed in (None, 5):
        while not lanes.ended.all():
            lanes.step([game.action_index("end_turn")] * 3)
        lanes.reset(seed)
        assert not lanes.ended.any()


def test_one_illegal_action_among_many_changes_nothing():
    game, size = game_for(4), 20 if QUICK else 1000
    lanes = AutoresetGames(game, size)
    actions = game.sample_actions(lanes.states, lanes.seeds)
    actions[size - 3] = game.action_index("take:blue")
    before = lanes.states.tobytes(), lanes.finals.tobytes(), lanes.episodes.tobytes(), lanes.ended.tobytes()
    with pytest.raises(IllegalActionError, match=f"lane {size - 3}: action .*take:blue") as caught:
        lanes.step(actions)
    assert caught.value.lanes == (size - 3,)
    assert before == (lanes.states.tobytes(), lanes.finals.tobytes(), lanes.episodes.tobytes(), lanes.ended.tobytes())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda lanes: AutoresetGames(lanes.game, 0), "num_lanes is 0"),
        (lambda lanes: AutoresetGames(lanes.game, True), "num_lanes is True; it must be a whole number of at least 1"),
        (lambda lanes: AutoresetGames(lanes.game, 2, True), "seed is True; it must be a whole number"),
        (lambda lanes: lanes.reset([1]), "seeds has 1 entries; it must have 2"),
        (lambda lanes: lanes.reset([1.5, 2]), "an entry of seeds is 1.5"),
        (lambda lanes: lanes.step([1]), "shape (2,)"),
        (lambda lanes: lanes.rollout(-1, 0), "decisions is -1"),
        (lambda lanes: lanes.rollout(1, [1, 2, 3]), "seeds has 3 entries; it must have 2"),
        (lambda lanes: lanes.rollout(1, 0, index=2**63), "index is"),
        (lambda lanes: collect(lanes, dtype=np.float64), "observations must be a writable C-contiguous float32"),
        (lambda lanes: collect(lanes, masks=np.zeros((1, 2, 3), bool)), "action_masks must be a writable"),
        (lambda lanes: lanes.collect(0, 0, None, None), "observations must be a writable"),
        (lambda lanes: lanes.game.rollout(lanes.states, [1]), "keys has 1 entries; it must have 2"),
        (lambda lanes: lanes.game.rollout(lanes.states, [1, 2], max_decisions=-1), "max_decisions is -1"),
        # Without the check the first would fail in the compiler, and the second after the games were played.
        (lambda lanes: lanes.game.rollout(read_only(lanes.states), [1, 2]), "states are read-only but would be"),
        (lambda lanes: lanes.game.rollout(read_only(lanes.states)[::-1], [1, 2]), "states are read-only but would be"),
        (lambda lanes: lanes.game.sample_actions(lanes.states, [1, 2, 3]), "keys has 3 entries; it must have 2"),
        (lambda lanes: lanes.game.sample_actions(lanes.states, [1, 2], out=np.zeros(2, np.int32)), "int64"),
        (lambda lanes: lanes.game.scrub(lanes.states, [1, 2, 3]), "seeds has 3 entries; it must have 2"),
        (lambda lanes: lanes.game.legal_words(lanes.states, out=np.zeros(2, np.int64)), "uint64"),
    ],
)
def test_wrong_arguments_are_refused_and_change_nothing(call, words):
    lanes = AutoresetGames(game_for(2), 2, seed=4)
    before = lanes.states.tobytes(), lanes.seeds.tobytes(), lanes.episodes.tobytes()
    refusal(lambda: call(lanes), words)
    assert before == (lanes.states.tobytes(), lanes.seeds.tobytes(), lanes.episodes.tobytes())


def collect(lanes, dtype=np.float32, masks=None):
    observations = np.zeros((1, 2, lanes.game.num_features), dtype)
    lanes.collect(0, 0, observations, np.zeros((1, 2, lanes.game.num_actions), bool) if masks is None else masks)


def read_only(states):
    copy = states.copy()
    copy.setflags(write=False)
    return copy


# --- threads and processes ---

DIGEST = """
import hashlib
import numba, numpy as np
from bombay_env import Game, Rules
from bombay_env.envs.autoreset_games import AutoresetGames
digests = set()
for threads in (1, 4):
    numba.set_num_threads(threads)
    digest = hashlib.sha256()
    game = Game(Rules.official(3))
    lanes = AutoresetGames(game, 600, seed=3)
    keys = np.arange(600, dtype=np.uint64)
    observations = np.empty((6, 600, game.num_features), np.float32)
    masks = np.empty((6, 600, game.num_actions), np.bool_)
    lanes.rollout(200, keys)
    for array in (*lanes.collect(keys, 200, observations, masks), observations, masks, lanes.states):
        digest.update(array.tobytes())
    for index in range(206, 212):
        lanes.step(game.sample_actions(lanes.states, keys, index))
    digest.update(lanes.states.tobytes() + lanes.finals.tobytes())
    digests.add(digest.hexdigest())
print(numba.threading_layer(), *digests)
"""


@needs_jit
def test_one_digest_for_any_threads_layer_and_process():
    found = []
    for layer in ("omp", "workqueue"):
        environment = {
            "NUMBA_THREADING_LAYER": layer,
            "NUMBA_NUM_THREADS": "4",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], env=os.environ | environment, capture_output=True, text=True, check=False
        )
        if layer == "omp" and "No threading layer could be loaded" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        used, *digests = done.stdout.split()
        assert used == layer
        assert len(digests) == 1, "the digest depends on the number of threads"
        found += digests
    assert len(set(found)) == 1


@needs_jit
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="with one thread, kernels do not run in parallel")
def test_python_threads_may_observe_large_and_small_batches_of_a_game_at_once():
    """Kernels on several threads let go of the interpreter, so a small batch can be observed in their midst."""
    game = game_for(4)
    large, small = game.new_states(range(8192)), game.new_states(range(200))
    game.rollout(large, range(8192), max_decisions=80)
    game.rollout(small, range(200), max_decisions=60)
    seen, out = game.observe(small), game.observe(large)

    def observe_large():
        for _ in range(100):
            game.observe(large, out=out)

    thread = threading.Thread(target=observe_large)
    thread.start()
    count = 0
    while thread.is_alive():
        assert np.array_equal(game.observe(small), seen)
        count += 1
    thread.join()
    assert count > 1
