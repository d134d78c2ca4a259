"""On a board of 64 sites there are 79 actions, more than a word has bits: none is lost on the way to those who choose.

The interfaces' masks are in `test_conformance`, the engine's in `test_twin`, those of datasets in `test_datasets`.
"""

import numba
import numpy as np
import pytest

from bombay_agents import make
from bombay_env import AutoresetGames, Game, IllegalActionError, Rules
from bombay_env.envs.single import BombaySingleEnv
from helpers.rules import drawn, new_twin
from helpers.variants import largest_board

GAME = Game(Rules.official(2), largest_board())
SLOW = bool(numba.config.DISABLE_JIT)
COUNT = 80 if SLOW else 400  # decisions, enough that each legal action is among them
LAST = slice(64, None)  # the actions whose bits are not in the first word


@pytest.fixture(scope="module")
def states():
    """Positions of random games, and the legal actions of the slow twin in them, (batch, 79) bool."""
    found, legal, rng = [], [], np.random.default_rng(1)
    for seed in range(3 if SLOW else 20):
        states = GAME.new_states([seed])
        twin = new_twin(GAME, states)
        while names := twin.legal_actions():
            if rng.random() < 0.1:
                found.append(states.copy())
                legal.append([name in names for name in GAME.action_names])
            trades = [name for name in names if not name.startswith(("move", "end_turn"))]
            name = rng.choice(trades if trades and rng.random() < 0.5 else names)
            GAME.step(states, [GAME.action_index(name)])
            twin.step(name, drawn(states))
    return np.concatenate(found), np.array(legal)


def test_exactly_the_legal_actions_are_accepted(states):
    states, legal = states
    assert SLOW or legal[:, LAST].any(axis=0).sum() > 5
    for action in range(GAME.num_actions):
        refused = np.zeros(len(states), bool)
        try:
            GAME.check_actions(states, np.full(len(states), action))
        except IllegalActionError as error:
            refused[list(error.lanes)] = True
        assert (refused == ~legal[:, action]).all(), GAME.action_names[action]


@pytest.mark.parametrize("way", ["sample_actions", "random"])
def test_a_random_player_takes_every_legal_action(states, way):
    states, legal = states
    for state, mask in zip(np.split(states, len(states)), legal, strict=True):
        many = state.repeat(COUNT)
        if way == "random":
            actions = make("random").act(GAME, many, np.random.default_rng(1))
        else:
            actions = GAME.sample_actions(many, np.arange(COUNT))
        assert set(actions.tolist()) == set(np.flatnonzero(mask).tolist())


def test_a_random_action_in_place_of_an_illegal_one_is_any_legal_one():
    env = BombaySingleEnv(board=GAME.board, num_players=2, seat=0)
    played, legal = set(), set()
    for seed in range(150):
        _, info = env.reset(seed=seed)
        mask = info["action_mask"].astype(bool)
        if env.game_state["first_player"][0] == 0:
            legal |= {f"0 {GAME.action_names[action]}" for action in np.flatnonzero(mask)}
            env.step(int(mask.argmin()))
            played.add(env.record()["events"][1])
    assert played == legal
    assert {"0 consolidate", "0 end_turn"} <= played


def test_recorded_masks_are_those_of_the_positions():
    lanes, twin, count = AutoresetGames(GAME, 8, seed=3), AutoresetGames(GAME, 8, seed=3), 200
    masks = np.zeros((count, 8, GAME.num_actions), bool)
    actions, _ = lanes.collect(5, 0, np.empty((count, 8, GAME.num_features), np.float32), masks)
    assert (actions >= LAST.start).any()
    for mask, chosen in zip(masks, actions, strict=True):
        assert (mask == GAME.legal_actions(twin.states)).all()
        twin.step(chosen)
