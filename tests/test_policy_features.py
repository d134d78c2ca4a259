"""What policy nets read, compared with a slow computation: losses of actions, perspectives, and nothing that is hidden."""

import numba
import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.nets import policy_features, value_features
from bombay_agents.nets.policy_features import Reader
from bombay_agents.nets.policy_net import LOOKAHEAD
from bombay_agents.scripted import outcome_values, planner, potential
from bombay_agents.scripted.planner_weights import WEIGHTS_V1
from bombay_env import Game, Rules, engine
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS

SLOW = bool(numba.config.DISABLE_JIT)
GAMES = [Game(Rules(n, sets=2, turns_per_set=1)) for n in ((3,) if SLOW else (2, 3, 5))]


def some_states(game, count):
    """States of random games, running."""
    states, rng, found = game.new_states([1, 2]), np.random.default_rng(0), []
    while len(found) < count and not game.is_terminal(states).any():
        found += [states[lane : lane + 1].copy() for lane in range(2)]
        game.step(states, (rng.random((2, game.num_actions)) * game.legal_actions(states)).argmax(axis=1))
    return np.concatenate(found[:count])


def expected(game, states):
    """Rupees that each seat expects at the end, (k, n)."""
    rupees = np.empty((len(states), game.num_players), np.float32)
    records = np.ascontiguousarray(states).view(game.state_dtype, np.ndarray)
    potential.expect_all(records, game.tables, potential.new_workspace(game), rupees)
    return rupees


def outcomes_of(game, record):
    """The planner's value of every outcome of the turn, by the bytes of its state."""
    workspace = planner.new_workspace(game)
    count = planner.value_turn(record, game.tables[0], WEIGHTS_V1[game.num_players], workspace)
    over = np.flatnonzero(workspace.turn.due[:count])
    return {workspace.turn.states[node].tobytes(): workspace.values[node] for node in over}


@pytest.mark.parametrize("game", GAMES, ids=lambda game: str(game.num_players))
def test_the_loss_of_an_action_is_against_the_best_turn_of_all(game):
    states, reader, inside = some_states(game, 8 if SLOW else 20), Reader(game, LOOKAHEAD), 0
    losses = reader.read(states)[:, -game.num_actions :]
    for lane, found in enumerate(losses):
        state = states[lane : lane + 1].view(game.state_dtype, np.ndarray)
        legal, worth = game.legal_actions(state)[0], outcomes_of(game, state[0])
        assert not found[~legal].any()
        assert found[legal].max() == 0
        for action in np.flatnonzero(legal):
            after = state.copy()
            engine.apply(after[0], game.tables[0], action)
            within = {after.tobytes()} if after.tobytes() in worth else set(outcomes_of(game, after[0]))
            loss = max(worth[outcome] for outcome in within) - max(worth.values())
            assert found[action] == pytest.approx(max(-policy_features.LARGEST, loss), abs=1e-5), game.action_name(
                action
            )
            inside += len(within) > 1
    assert inside > 10


@kernel
def look_back(memory, values, count):
    """`outcome_values.back_up_values` for a record in an array."""
    outcome_values.back_up_values(memory[0], values, count)


def test_values_reach_the_first_node_in_any_order_of_edges():
    memory, values = turns.new_workspace(GAMES[0]).memory, np.array([9.0, 9.0, 9.0, 5.0])
    memory["node"]["due"][0, :4] = [turns.TURN_GOES_ON] * 3 + [turns.TURN_OVER]
    memory["edge"]["before"][0, :3], memory["edge"]["after"][0, :3] = (2, 1, 0), (3, 2, 1)
    memory["num_edges"] = 3
    look_back(memory, values, 4)
    assert values.tolist() == [5.0] * 4


def test_a_turn_that_does_not_fit_in_memory_is_reported():
    game = Game(Rules(4, actions_per_turn=9, buys_per_turn=9, basket=9, market_rupees=(0, 0, 0)))
    reader, states = Reader(game, LOOKAHEAD), game.new_states(range(1, 2 if SLOW else 201))
    with pytest.raises(OverflowError, match="too many to plan it as a whole"):
        reader.read(states)
    states["actions_left"] = 1
    assert reader.read(states[:1]).any(), "it reads on after the error"


def test_a_turn_that_has_not_started_counts_once():
    game = Game(Rules(3, sets=2, turns_per_set=1))
    states, workspace = game.new_states([1]), potential.new_workspace(game)
    whole = 2 * game.rules.actions_per_turn

    def time_of(seat):
        potential.survey_seat(
            states.view(game.state_dtype, np.ndarray)[0], game.tables[0], np.int64(seat), workspace[0]
        )
        return int(workspace["survey"]["time"][0])

    assert [time_of(seat) for seat in range(3)] == [whole] * 3
    game.step(states, [int(game.legal_actions(states)[0].argmax())])
    assert [time_of(seat) for seat in range(3)] == [whole - 3 + states["actions_left"][0], whole, whole]


@pytest.mark.parametrize("game", GAMES, ids=lambda game: str(game.num_players))
def test_every_seat_sees_itself_first_and_only_the_mover_sees_losses(game):
    states, n = some_states(game, 4), game.num_players
    ahead = expected(game, states)
    ahead -= ahead.mean(axis=1, keepdims=True)
    first = value_features.num_features(game.feature_layout)
    for seat in range(n):
        rows = Reader(game, LOOKAHEAD).read(states, np.full(len(states), seat))
        shown = rows[:, first : first + MAX_PLAYERS] * policy_features.LEAD_SCALE
        np.testing.assert_allclose(shown[:, :n], np.roll(ahead, -seat, axis=1), atol=1e-4)
        assert not shown[:, n:].any()
        movers = states["current_player"] == seat
        assert (rows[:, -game.num_actions :].any(axis=1) <= movers).all()


def test_nothing_is_read_of_what_is_hidden():
    game = GAMES[0]
    states, reader = some_states(game, 6), Reader(game, LOOKAHEAD)
    np.testing.assert_array_equal(reader.read(states), reader.read(game.scrub(states, np.arange(6))))


def test_modes_have_different_digests():
    game = GAMES[0]
    assert policy_features.digest(game, "screened") == game.feature_layout.digest
    assert policy_features.digest(game, LOOKAHEAD) not in (
        game.feature_layout.digest,
        value_features.digest(game.feature_layout),
    )
    states = some_states(game, 3)
    np.testing.assert_array_equal(Reader(game, "screened").read(states), game.observe(states, screened=True))
    assert Reader(game, LOOKAHEAD).read(states).shape == (3, policy_features.num_features(game, LOOKAHEAD))


def test_potentials_are_zero_sum_and_equal_the_reward_at_the_end():
    game = GAMES[0]
    states = game.new_states([1, 2, 3])
    for blend in (0.0, 0.5, 1.0):
        np.testing.assert_allclose(potential.potentials(game, states, blend).sum(axis=1), 0, atol=1e-5)
    game.rollout(states, keys=[7, 8, 9])
    for blend in (0.0, 0.5, 1.0):
        paid = potential.blended(game.results(states), blend)
        np.testing.assert_allclose(potential.potentials(game, states, blend), paid, atol=1e-6)
