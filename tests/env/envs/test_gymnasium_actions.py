"""The Gymnasium environments: illegal actions and opponents."""

import functools
import pickle

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from bombay_agents.random import RandomAgent
from bombay_env import IllegalActionError
from bombay_env.agent import AgentFault
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.record import History
from helpers.gym_envs import LANES, STEPS, Keyed, Stubborn, each_count, pick, play, same, single, vector
from helpers.position import position
from helpers.refusal import refusal

# --- illegal actions ---


@pytest.mark.filterwarnings("ignore:.*actions in a game were illegal")
@pytest.mark.parametrize("action", [-1, 39, 2**70, "some move"], ids=str)
def test_a_legal_action_is_played_for_an_illegal_one_and_it_is_counted(action):
    env = single()
    env.reset(seed=3)
    if action == "some move":
        action = int(np.flatnonzero(~env.action_masks())[0])
    *_, over, _, info = env.step(action)
    assert info["illegal_actions"] == 1
    if not over:
        still_illegal = not (0 <= action < env.game.num_actions and env.action_masks()[action])
        assert env.step(action)[-1]["illegal_actions"] == 1 + still_illegal
    _, info = env.reset()
    assert info["illegal_actions"] == 0
    assert env.step(int(info["action_mask"].argmax()))[-1]["illegal_actions"] == 0


def test_while_a_take_is_pending_only_a_take_is_played():
    """`end_turn` is itself an illegal action then."""
    taken = set()
    for seed in range(20):
        env = single(2, seat=0, short=False)
        env.reset(seed=seed)
        state = position(env.game, at="G4", basket=["blue"])
        state["seed"] = seed
        env._games.states[:] = state
        env._games.history = History(env.game, env._games.states, None)
        env._games.advance()
        _, _, _, _, info = env.step(env.game.action_index("build:blue"))
        legal = [env.game.action_name(number) for number in np.flatnonzero(info["action_mask"])]
        assert all(name.startswith("take:") for name in legal)
        _, _, _, _, info = env.step(env.game.action_index("end_turn"))
        taken.add(next(event for event in env.record()["events"] if event.startswith("0 take:")))
        assert info["illegal_actions"] == 1
    assert taken == {f"0 {name}" for name in legal}


def test_illegal_action_raise_names_the_lanes_and_changes_nothing():
    env = vector(illegal_action="raise")
    env.reset(seed=1)
    before = pickle.dumps(env._games)
    actions = env.action_masks().argmax(axis=1)
    actions[[1, 2]] = -1, 99
    with pytest.raises(IllegalActionError, match="lane 1") as caught:
        env.step(actions)
    assert caught.value.lanes == (1, 2)
    assert pickle.dumps(env._games) == before
    one = single(illegal_action="raise")
    one.reset(seed=1)
    before = pickle.dumps(one._games)
    refusal(lambda: one.step(-1), "illegal", "legal are", error=IllegalActionError)
    assert pickle.dumps(one._games) == before
    one.step(int(one.action_masks().argmax()))


# --- opponents ---


@pytest.mark.parametrize("opponents", ["greedy", RandomAgent(), ["greedy", RandomAgent(), "random"]])
def test_opponents_may_be_specs_agents_or_a_list(opponents):
    env = single(seat=0, opponents=opponents)
    env.reset(seed=1)
    names = [getattr(one, "name", one) for one in (opponents if isinstance(opponents, list) else [opponents] * 3)]
    assert env.record()["agents"] == ["learner", *names]


def test_the_environment_does_not_need_the_agents_package(monkeypatch):
    """Specs are found through entry points; without these, agents can still be given as objects."""
    monkeypatch.setattr("bombay_env.registry._entries", dict)
    refusal(lambda: BombaySingleEnv(), "random", "bombay_env.agents")
    BombaySingleEnv(opponents=Keyed()).reset(seed=1)


@each_count
def test_a_list_of_opponents_follows_the_learners_seat(n):
    agents = [Keyed(f"next {k + 1}") for k in range(n - 1)]
    for seat in range(n):
        env = single(n, seat=seat, opponents=agents)
        env.reset(seed=seat)
        play(env)
        names = env.record()["agents"]
        assert names[seat] == "learner"
        for k, agent in enumerate(agents, 1):
            assert names[(seat + k) % n] == agent.name
            assert {int(mover) for call in agent.calls for mover in call["current_player"]} == {(seat + k) % n}
            agent.calls.clear()


def test_one_call_of_an_agent_covers_all_of_its_lanes():
    agent = Keyed()
    env = vector(2, lanes=8, seat=1, opponents=agent, short=False)
    env.reset(seed=1)
    assert len(agent.calls[0]) == 8
    assert len(agent.calls) <= 2 * 3 + 1  # the longest first turns, not the sum over all lanes
    assert [len(call) for call in agent.calls] == sorted((len(call) for call in agent.calls), reverse=True)


@pytest.mark.parametrize("make", [single, vector])
def test_opponents_get_copies(make):
    """Changes of a copy do not change the game. That copies have seeds of their own is in `test_random_streams`."""

    class Spoiler(Keyed):
        def act(self, game, states, rng):
            actions = super().act(game, states, rng)
            assert isinstance(rng, np.random.Generator)
            assert states.dtype == game.state_dtype
            states["rupees"] = 99
            return actions

    env, twin, rng = make(opponents=Spoiler()), make(), np.random.default_rng(1)
    assert same(env.reset(seed=5), twin.reset(seed=5))
    over = False
    for _ in range(STEPS // 2):
        if not over:
            actions = pick(env.action_masks(), rng)
            returned = env.step(actions)
            assert same(returned, twin.step(actions))
            over = make is single and returned[2]


def failing(answer):
    """Environments whose opponents answer this, after a reset, with actions that end the learner's turn."""
    one, many = (make(2, seat=0, opponents=Stubborn(answer)) for make in (single, vector))
    end_turn = one.game.action_index("end_turn")
    for env, actions in ((one, end_turn), (many, np.full(LANES, end_turn))):
        env.reset(seed=1)
        yield env, actions


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (-1, ("illegal", "legal are")),
        (np.nan, ("actions", "float")),
        (lambda game, states: np.zeros(len(states) + 1, int), ("actions", "shape")),
        (lambda game, states: None, ("actions",)),
    ],
    ids=["negative", "float", "too many", "nothing"],
)
def test_the_error_of_an_opponents_illegal_action_names_it(answer, words):
    for env, actions in failing(answer):
        step = functools.partial(env.step, actions)
        message = refusal(step, "opponent 'stubborn'", *words, error=IllegalActionError)
        assert ("lane 0" in message) == ("legal are" in message)
        refusal(step, "reset", error=ResetNeeded)
        if isinstance(env, BombayVectorEnv):
            some = {"reset_mask": np.arange(LANES) == 0}
            refusal(lambda env=env, some=some: env.reset(options=some), "all lanes", error=ResetNeeded)
        env._games.agents = [Keyed()]
        env.reset(seed=1)
        env.step(actions)


def test_the_error_of_an_opponents_illegal_action_has_its_lanes():
    many = vector(2, seat=0, opponents=Stubborn(-1))
    many.reset(seed=1)
    actions = many.action_masks().argmax(axis=1)
    actions[LANES - 1] = many.game.action_index("end_turn")
    with pytest.raises(IllegalActionError) as caught:
        many.step(actions)
    assert caught.value.lanes == (LANES - 1,)


def test_an_opponents_exception_names_it():
    def raising(game, states):
        raise OSError("no file")

    for env, actions in failing(raising):
        with pytest.raises(AgentFault, match=r"^opponent 'stubborn': it raised OSError: no file \(") as caught:
            env.step(actions)
        assert isinstance(caught.value.__cause__, OSError)
        refusal(functools.partial(env.step, actions), "reset", error=ResetNeeded)
