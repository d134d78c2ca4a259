"""The engine and the reference implementation `naive.py` play the same random games, compared after every step."""

import random

import numba
import numpy as np
import pytest

from bombay_env import Game
from bombay_env.record import result_to_dict
from bombay_env.state import check_invariants, state_to_dict
from helpers.variants import random_game
from naive import NaiveGame

QUICK = bool(numba.config.DISABLE_JIT)  # without the compiler every step takes milliseconds
GAMES = 40 if QUICK else 1_200
SLOW_GAMES = 50_000
CHUNKS = 4 if QUICK else 12


def engine_facts(game: Game, states: np.ndarray) -> dict:
    """The engine's state in the form of the reference implementation, which has no seed."""
    facts = state_to_dict(states[0], game.rules, game.board)
    del facts["seed"]
    return facts


def twin_facts(twin: NaiveGame) -> dict:
    """The reference implementation's state in the engine's form.

    After the end, it says that all posts are open, and the engine that none are. RULES 3 allows both for empty markets.
    """
    facts = twin.state()
    return facts | {"open_posts": []} if facts["over"] else facts


def drawn(states: np.ndarray) -> list[int]:
    """The bales by colour of the restock of a set that has just started."""
    return states[0]["market"].sum(axis=0).tolist()


def assert_invariants(game: Game, states: np.ndarray, twin: NaiveGame, facts: dict) -> None:
    check_invariants(states[0], game.rules, game.board)
    seen = np.array(facts["bag"]) + np.sum(facts["markets"], axis=0) + np.sum(facts["basket"], axis=0)
    assert seen.tolist() == list(game.rules.bales)
    assert facts["rupees"] == [sum(sources.values()) for sources in twin.ledger]
    assert len(facts["palaces"]) == sum(game.rules.palaces - left for left in facts["palaces_left"])


def play_both(seed: int) -> int:
    """Play one random game on both. Returns the number of decisions."""
    rng = random.Random(seed)
    game = random_game(rng, 2 + seed % 4)
    states = game.new_states([rng.randrange(2**64)])
    facts = engine_facts(game, states)
    setup = {key: facts[key] for key in ("demand", "posts", "palace_tokens")}
    twin = NaiveGame(game.rules.to_dict(), game.board.to_dict(), setup, drawn(states))
    decisions = 0
    while True:
        facts = engine_facts(game, states)
        assert facts == twin_facts(twin)
        assert_invariants(game, states, twin, facts)
        mask = game.legal_actions(states)[0]
        legal = [game.action_names[action] for action in np.flatnonzero(mask)]
        assert legal == twin.legal_actions()
        if facts["over"]:
            break
        assert legal
        # Turns that end early test little, so `end_turn` is chosen less often than uniformly.
        choices = [name for name in legal if name != "end_turn" or rng.random() < 0.2] or legal
        name = rng.choice(choices)
        game.step(states, [game.action_index(name)])
        twin.step(name, drawn(states))
        decisions += 1
    assert result_to_dict(game.results(states)[0]) == twin.result()
    return decisions


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_engine_and_reference_agree_after_every_step(chunk: int) -> None:
    for seed in range(chunk, GAMES, CHUNKS):
        assert play_both(seed) > 0


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(100))
def test_engine_and_reference_agree_over_fifty_thousand_games(chunk: int) -> None:
    for seed in range(GAMES + chunk, GAMES + SLOW_GAMES, 100):
        assert play_both(seed) > 0


def test_action_names_are_the_same_in_both() -> None:
    game = random_game(random.Random(1), 3)
    states = game.new_states([1])
    facts = engine_facts(game, states)
    setup = {key: facts[key] for key in ("demand", "posts", "palace_tokens")}
    twin = NaiveGame(game.rules.to_dict(), game.board.to_dict(), setup, drawn(states))
    assert tuple(twin.action_names()) == game.action_names
