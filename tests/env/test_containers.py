"""Objects and lists of other libraries are as good as dicts and lists, wherever data enters."""

import types
from collections import UserDict, UserList

import numpy as np
import pytest

from bombay_env import AgentContext, AutoresetGames, Board, Game, Record, Rules, ask, bombay_v0
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from bombay_env.state import state_from_dict, state_to_dict
from bombay_training.learners.zero import ZeroSettings
from helpers.refusal import refusal

CHANGES = {"fame": [0, 1, 2], "sets": 2, "turns_per_set": 1, "demand_columns": [*Rules.official(2).demand_columns]}
RULES = Rules(2, **CHANGES)
BOARD = Board.random(3)
GAME = Game(RULES, BOARD)


def array(entries):
    return np.array(entries, None if all(isinstance(entry, int) for entry in entries) else object)


KINDS = {
    "tuples": (types.MappingProxyType, tuple),
    "of collections": (UserDict, UserList),
    "arrays": (dict, array),
}


def converted(value, mapping, sequence):
    if isinstance(value, dict):
        return mapping({key: converted(entry, mapping, sequence) for key, entry in value.items()})
    return sequence([converted(entry, mapping, sequence) for entry in value]) if isinstance(value, list) else value


@pytest.fixture(params=[*KINDS, "OmegaConf"])
def foreign(request):
    """A function that makes another library's object or list of Python's."""
    if request.param == "OmegaConf":
        return pytest.importorskip("omegaconf").OmegaConf.create
    return lambda value: converted(value, *KINDS[request.param])


def a_record():
    env = bombay_v0.raw_env(rules=RULES, board=BOARD)
    env.reset(seed=99)
    for _ in range(4):
        env.step(int(env.infos[env.agent_selection]["action_mask"].argmax()))
    return env.record()


def test_what_describes_a_game_may_be_of_another_library(foreign):
    changes, board, record = foreign(CHANGES), foreign(BOARD.to_dict()), a_record()
    assert Rules.from_dict(foreign(RULES.to_dict())) == RULES
    assert Rules(2, **changes) == RULES
    assert Board.from_dict(board) == BOARD
    for make in (bombay_v0.env, BombaySingleEnv, BombayVectorEnv):
        assert make(num_players=2, rules=changes, board=board).unwrapped.game == GAME
    assert Record.from_dict(foreign(record)) == Record.from_dict(record)
    (state,) = states = GAME.new_states([5])
    data = state_to_dict(state, RULES, BOARD)
    assert state_from_dict(foreign(data), RULES, BOARD).tobytes() == states.tobytes()


def test_options_of_a_reset_may_be_of_another_library(foreign):
    record = a_record()
    setup = record["setup"]
    for make in (bombay_v0.raw_env, BombaySingleEnv, BombayVectorEnv):
        for options in ({"setup": setup}, {"record": record}, {"setup": {}}):
            dealt = []
            for given in (options, foreign(options), {key: foreign(value) for key, value in options.items()}):
                env = make(rules=RULES, board=BOARD)
                env.reset(seed=7, options=given)
                dealt.append((env.game_states if make is BombayVectorEnv else env.game_state).tobytes())
            assert len(set(dealt)) == 1
    expected = GAME.new_states([1, 2], setup=setup).tobytes()
    for given in (setup, [setup, setup]):
        assert GAME.new_states([1, 2], setup=foreign(given)).tobytes() == expected


def test_lists_may_be_of_another_library(foreign):
    env = BombayVectorEnv(2, 3, opponents=foreign(["greedy", "random"]))
    assert [agent.name for agent in env._games.opponents] == ["greedy", "random"]
    env.reset(seed=foreign([7, 3]))
    assert env.game_states["seed"].tolist() == [7, 3]
    env.set_attr("render_mode", foreign(["ansi", "ansi"]))
    assert AutoresetGames(GAME, 2, foreign([7, 3])).seeds.tolist() == [7, 3]
    states = GAME.new_states(foreign([7, 3]))
    assert states["seed"].tolist() == [7, 3]
    legal = GAME.legal_actions(states).argmax(axis=1).tolist()

    class Answers:
        name = "answers"

        def act(self, game, states, rng):
            return foreign(legal)

    assert ask(Answers(), GAME, states, AgentContext(np.random.default_rng(0), [1, 2]), "it").tolist() == legal
    GAME.step(states, foreign(legal))
    assert ZeroSettings(players=foreign([2, 3])).players == (2, 3)


def test_texts_are_no_lists_and_endless_lists_are_refused():
    endless = []
    endless.append(endless)
    refusal(lambda: Board.from_dict({"name": "a", "sites": "abc", "trails": []}), "sites is 'abc'")
    refusal(lambda: Board.from_dict({"name": "a", "sites": endless, "trails": []}), "not in themselves")
    refusal(lambda: GAME.new_states([1], setup="E1"), "setup must be one object, or a list", "not str")
    refusal(lambda: GAME.new_states([1], setup={"posts": {"E1": endless}}), "not in themselves")
    refusal(lambda: GAME.new_states("12"), "seeds must be a list or an array")
