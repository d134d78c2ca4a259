"""`Game`: set-ups and restocks that the caller gives, and the probabilities of restocks."""

import itertools
import json
import math
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from bombay_env.state import state_to_dict
from helpers.game_states import GAME, SLOW, finished, foreign, pick, plain, played
from helpers.position import COLOURS, each_count, official, position, setup_of, variant
from helpers.refusal import refusal
from helpers.variants import random_game

# --- given set-ups and restocks ---


def parts(game, states):
    """The set-up of the first state, in the form of RULES 8."""
    facts = state_to_dict(states[0], game.rules, game.board)
    return {key: facts[key] for key in ("demand", "posts", "palace_tokens")}


@each_count
def test_any_deal_can_be_given_as_a_setup(n):
    rng = random.Random(n)
    for _ in range(5 if SLOW else 20):
        game = random_game(rng, n)
        dealt, other = game.new_states([rng.randrange(2**64)]), game.new_states([99])
        setup = parts(game, dealt)
        again = json.dumps(setup)
        drawn = dealt["market"].sum(axis=1)
        forced = game.new_states([99], setup, drawn)
        assert json.dumps(setup) == again
        assert forced["seed"] == 99
        forced["seed"] = dealt["seed"]
        assert forced.tobytes() == dealt.tobytes()
        for key in setup:  # omitted parts are drawn from the seed
            partly = parts(game, game.new_states([99], setup={key: setup[key]}))
            assert partly == parts(game, other) | {key: setup[key]}
        assert game.new_states([99], setup={}).tobytes() == other.tobytes()


SETUP = setup_of(GAME)
DEMAND, POSTS, TOKENS = SETUP["demand"], SETUP["posts"], SETUP["palace_tokens"]
WRONG_SETUPS = [  # what is given, and the part that is wrong
    (5, ""),
    ([SETUP], ""),  # for two games
    ([1, 2], ""),
    (SETUP | {"market": []}, ""),
    ({"demand": None}, "demand"),
    ({"demand": {city: column for city, column in DEMAND.items() if city != "Indore"}}, "demand"),
    ({"demand": DEMAND | {"Delhi": DEMAND["Indore"]}}, "demand"),
    ({"demand": DEMAND | {"Indore": DEMAND["Bombay"]}}, "demand"),
    ({"demand": {city: column[::-1] for city, column in DEMAND.items()}}, "demand"),
    ({"demand": DEMAND | {"Indore": ["green", "blue", "orange"]}}, "demand"),
    ({"demand": {city: str(tuple(column)) for city, column in DEMAND.items()}}, "demand"),
    ({"posts": {}}, "posts"),
    ({"posts": POSTS | {"G1": POSTS["F1"]}}, "posts"),
    ({"posts": POSTS | {"F1": "blue"}}, "posts"),  # a third of this colour
    ({"posts": POSTS | {"F1": 0}}, "posts"),
    ({"palace_tokens": TOKENS | {"E1": "client"}}, "palace_tokens"),
    ({"palace_tokens": TOKENS | {"G1": "bale"}}, "palace_tokens"),  # a third of this kind
    ({"palace_tokens": TOKENS | {"G1": float("nan")}}, "palace_tokens"),
]


@pytest.mark.parametrize(("setup", "key"), WRONG_SETUPS)
def test_a_setup_that_cannot_be_dealt_is_rejected(setup, key):
    refusal(lambda: GAME.new_states([1, 2], setup=setup), "setup", key)


def test_outer_posts_are_rejected_if_the_rules_have_none():
    inner = {site: colour for site, colour in POSTS.items() if site[0] == "E"}
    refusal(lambda: official(3).new_states([1], setup={"posts": POSTS}), "setup", "posts", "E1")
    refusal(lambda: GAME.new_states([1], setup={"posts": inner}), "setup", "posts", "F1")


def test_each_game_may_have_its_own_setup():
    setups = [parts(GAME, GAME.new_states([seed])) for seed in (1, 2)]
    for given in (setups, setups[0]):
        forced = GAME.new_states([8, 9], setup=given)
        found = [parts(GAME, forced[lane : lane + 1]) for lane in (0, 1)]
        assert found == (setups if given is setups else [given] * 2)


WRONG_DRAWS = [
    [[1, 2, 3, 4]],  # too many
    [[4, 0, 5, 0]],  # more than there are
    [[-1, 0, 5, 5]],
    [[0.0, 0.0, 4.0, 5.0]],
    [0, 0, 4, 5],
    [[0, 0, 4, 5]] * 2,
    [[0, 0, 4, 5], [1]],
    np.array([[2**64 - 1, 0, 5, 5]], np.uint64),
    [[2**64, 0, 4, 5]],
]


@pytest.mark.parametrize("draws", WRONG_DRAWS)
def test_a_restock_that_cannot_be_drawn_is_rejected(draws):
    refusal(lambda: GAME.new_states([1], restocks=draws), "restocks")
    states = position(GAME, player=3, turn=3)
    before = states.tobytes()
    refusal(lambda: GAME.step(states, [GAME.action_index("end_turn")], draws), "restocks")
    assert states.tobytes() == before


@each_count
def test_a_game_with_its_own_restocks_given_is_the_same(n):
    """A game played twice. The second gets the restocks of the first, and arbitrary numbers where no restock is due."""
    rng = random.Random(100 + n)
    game = random_game(rng, n)
    dice = np.random.default_rng(n)
    states = game.new_states([rng.randrange(2**64) for _ in range(3)])
    told = states.copy()
    while not game.is_terminal(states).all():
        actions, before = pick(game, states, dice), states["set"].copy()
        game.step(states, actions)
        ended = (states["set"] != before) & ~game.is_terminal(states)
        restocks = np.where(ended[:, None], states["market"].sum(axis=1), -7)
        game.step(told, actions, restocks)
        assert told.tobytes() == states.tobytes()


def test_one_wrong_restock_among_many_changes_nothing():
    states = np.concatenate([position(GAME, player=3, turn=3), position(GAME), position(GAME, player=3, turn=3)])
    before = states.tobytes()
    end = [GAME.action_index("end_turn")] * 3
    refusal(lambda: GAME.step(states, end, [[0, 0, 4, 5], [9, 9, 9, 9], [9, 0, 0, 0]]), "restocks[2]")
    assert states.tobytes() == before
    GAME.step(states, end, [[0, 0, 4, 5], [9, 9, 9, 9], [1, 1, 3, 4]])
    assert states["market"].sum(axis=1).tolist() == [[0, 0, 4, 5], [1, 2, 3, 3], [1, 1, 3, 4]]


# --- probabilities of restocks ---


def brute_force_draws(held, count):
    """The number of ways to draw each count by colour, by enumerating all sets of distinct bales."""
    bales = [colour for colour, number in enumerate(held) for _ in range(number)]
    outcomes = Counter(
        tuple(chosen.count(colour) for colour in range(4)) for chosen in itertools.combinations(bales, count)
    )
    total = math.comb(len(bales), count)
    return {draw: Fraction(ways, total) for draw, ways in outcomes.items()}


@pytest.mark.parametrize(
    ("bales", "draw", "basket"),
    [
        ((3, 4, 5, 5), 9, []),
        ((3, 4, 5, 5), 9, ["yellow", "blue"]),
        ((2, 0, 1, 3), 4, []),
        ((1, 1, 1, 1), 4, ["orange"]),
        ((0, 0, 0, 7), 3, ["orange", "orange"]),
    ],
)
def test_restock_outcomes_are_every_draw_with_its_exact_probability(bales, draw, basket):
    game = variant(2, bales=bales, restock_draw=draw)
    states = game.new_states([3])
    states["market"] = 0  # these bales return to the bag when the set ends
    states["basket"][0, 0] = [basket.count(colour) for colour in COLOURS]
    draws, chances = game.restock_outcomes(states[0])
    held = [count - basket.count(colour) for count, colour in zip(bales, COLOURS, strict=True)]
    expected = brute_force_draws(held, min(draw, sum(held)))
    assert (draws.dtype, chances.dtype) == (np.int64, np.float64)
    assert draws.tolist() == sorted(map(list, expected))
    assert chances.tolist() == [float(expected[tuple(outcome)]) for outcome in draws.tolist()]
    assert math.fsum(chances) == pytest.approx(1, abs=1e-12)


def test_restock_outcomes_are_exactly_what_a_step_accepts():
    states = position(GAME, player=3, turn=3, baskets={0: ["yellow", "yellow"], 2: ["blue"]})
    draws, _ = GAME.restock_outcomes(states)
    possible = set(map(tuple, draws.tolist()))
    end = [GAME.action_index("end_turn")]
    every = [draw for draw in itertools.product(range(4), range(5), range(6), range(6)) if sum(draw) == 9]
    assert possible < set(every)
    for draw in every:
        after = states.copy()
        if draw in possible:
            GAME.step(after, end, [draw])
            assert after[0].market.sum(axis=0).tolist() == list(draw)
        else:
            refusal(lambda after=after, draw=draw: GAME.step(after, end, [draw]), "restocks[0]")


def test_restock_outcomes_take_a_record_or_an_array_of_one():
    states, arrays = played(lanes=2), foreign()
    expected = GAME.restock_outcomes(states[:1])
    for state in (states[0], plain(states)[0], plain(states)[:1], states[:1].reshape(()), np.asarray(states)[0]):
        assert all((one == other).all() for one, other in zip(GAME.restock_outcomes(state), expected, strict=True))
    for kind in ("list", "none", "bytes", "matrix", "fewer fields", "three players", "results"):
        refusal(lambda kind=kind: GAME.restock_outcomes(arrays[kind]), "state")
    for array in (arrays["three players"], arrays["results"]):
        refusal(lambda array=array: GAME.restock_outcomes(array[0]), "states")


def test_no_restock_follows_the_last_set():
    for states in (position(GAME, set=3), finished(lanes=1)):
        draws, chances = GAME.restock_outcomes(states)
        assert (draws.shape, chances.shape) == ((0, 4), (0,))
