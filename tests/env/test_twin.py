"""The engine and the reference implementation `naive.py` play the same random games, compared after every step."""

import random

import numba
import numpy as np
import pytest

from bombay_env import Game
from bombay_env.record import result_to_dict
from bombay_env.state import check_invariants
from helpers.rules import drawn, engine_facts, new_twin, twin_facts
from helpers.variants import largest_board, random_game, random_rules

QUICK = bool(numba.config.DISABLE_JIT)  # without the compiler every step takes milliseconds
GAMES = 40 if QUICK else 300
SLOW_GAMES = 50_000
CHUNKS = 4 if QUICK else 3


def assert_invariants(game, states, facts, before):
    """What RULES 1 to 4 say of every step; `before` has the facts of the step before."""
    check_invariants(states[0], game.rules, game.board)
    seen = np.array(facts["bag"]) + np.sum(facts["markets"], axis=0) + np.sum(facts["basket"], axis=0)
    assert seen.tolist() == list(game.rules.bales)
    assert len(facts["palaces"]) == sum(game.rules.palaces - left for left in facts["palaces_left"])
    assert before["palaces"].items() <= facts["palaces"].items(), "palaces are never removed"
    for city, column in facts["demand"].items():
        assert sorted(column) == sorted(before["demand"][city]), "a city always demands the same three colours"
    if facts["set"] == before["set"]:
        assert (np.array(facts["markets"]) <= before["markets"]).all(), (
            "a colour keeps its market until the end of the set"
        )


def play_both(seed, board=None):
    """Play one random game on both, on a random board unless one is given. Returns the number of decisions."""
    rng = random.Random(seed)
    game = random_game(rng, 2 + seed % 4) if board is None else Game(random_rules(rng, 2 + seed % 4), board)
    states = game.new_states([rng.randrange(2**64)])
    twin = new_twin(game, states)
    facts = engine_facts(game, states)
    decisions = 0
    while True:
        before, facts = facts, engine_facts(game, states)
        assert facts == twin_facts(twin)
        assert_invariants(game, states, facts, before)
        mask = game.legal_actions(states)[0]
        legal = [game.action_names[action] for action in np.flatnonzero(mask)]
        assert legal == twin.legal_actions()
        if facts["over"]:
            break
        assert ("end_turn" in legal) == (not facts["take_pending"])
        # Turns that end early test little, so `end_turn` is chosen less often than uniformly.
        choices = [name for name in legal if name != "end_turn" or rng.random() < 0.2] or legal
        name = rng.choice(choices)
        game.step(states, [game.action_index(name)])
        twin.step(name, drawn(states))
        decisions += 1
    assert result_to_dict(game.results(states)[0]) == twin.result()
    return decisions


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_engine_and_reference_agree_after_every_step(chunk):
    for seed in range(chunk, GAMES, CHUNKS):
        assert play_both(seed) > 0


@pytest.mark.parametrize("seed", range(4))
def test_engine_and_reference_agree_on_the_largest_board(seed):
    assert play_both(seed, largest_board()) > 0


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(100))
def test_engine_and_reference_agree_over_fifty_thousand_games(chunk):
    for seed in range(GAMES + chunk, GAMES + SLOW_GAMES, 100):
        assert play_both(seed) > 0


def test_action_names_are_the_same_in_both():
    game = random_game(random.Random(1), 3)
    assert tuple(new_twin(game, game.new_states([1])).action_names()) == game.action_names
