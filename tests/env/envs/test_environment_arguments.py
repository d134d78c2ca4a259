"""What the environments take as rules, board and opponents, and what they do with actions that are illegal."""

import inspect
import json
import warnings
from importlib import resources

import gymnasium
import numpy as np
import pytest

import bombay_agents
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.shipped import make_ppo
from bombay_env import Board, Game, Rules, bombay_v0
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from helpers.gym_envs import SHORT, each_count, same
from helpers.refusal import refusal

CHANGES = {"toll": 2, "sets": 1}
MAKERS = {"pettingzoo": bombay_v0.env, "single": BombaySingleEnv, "vector": BombayVectorEnv}
each_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


# --- rules and boards ---


@each_maker
def test_rules_may_be_changed_fields_or_a_file_with_them(make, tmp_path):
    path = tmp_path / "rules.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(CHANGES).encode())  # with a byte order mark
    expected = Game(Rules(3, **CHANGES))
    for rules in (CHANGES, path, str(path), Rules(3, **CHANGES)):
        assert make(num_players=3, rules=rules).unwrapped.game == expected
    assert make(rules=CHANGES).unwrapped.game.num_players == 4
    assert make(rules=Rules.official(5)).unwrapped.game.num_players == 5


@each_maker
def test_a_board_may_be_an_object_or_a_file(make, tmp_path):
    other, path = Board.random(3), tmp_path / "board.toml"
    assert make(board=other.to_dict()).unwrapped.game.board == other
    packaged = resources.files("bombay_env").joinpath("data", "reconstruction.toml").read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + packaged.replace(b"reconstruction", b"mine"))
    assert make(board=path).unwrapped.game.board.name == "mine"


@each_maker
def test_rules_that_contradict_the_number_of_players_are_refused(make):
    refusal(lambda: make(num_players=4, rules=Rules.official(5)), "num_players is 4, but the rules are for 5")
    refusal(lambda: make(rules={"fee": 1}), "unknown field 'fee'")
    refusal(lambda: make(rules=3), "rules must be Rules, a dict of changed fields or the path of one, not int")


def test_a_spec_with_changed_rules_goes_through_json():
    spec = gymnasium.make("bombay_env:bombay/Bombay-v0", num_players=3, rules=CHANGES).spec
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert again.unwrapped.game == Game(Rules(3, **CHANGES))


# --- illegal actions ---


def illegal_action(env):
    return int(np.flatnonzero(~env.action_masks())[0])


def events_with(env, seed):
    """The events of a game in which every action of the learner is illegal."""
    env.reset(seed=seed)
    over = False
    while not over:
        *_, over, _, info = env.step(illegal_action(env))
    return env.record()["events"], int(info["illegal_actions"])


def test_a_random_legal_action_is_played_for_an_illegal_one():
    env = BombaySingleEnv(2, SHORT, seat=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        games = [events_with(env, seed) for seed in range(40)]
        assert events_with(BombaySingleEnv(2, SHORT, seat=0), 7) == games[7]
    firsts = {events[1] for events, _ in games}
    assert len(firsts) > 3
    for events, count in games:
        assert count == sum(event.startswith("0 ") for event in events)


@pytest.mark.parametrize("make", [BombaySingleEnv, BombayVectorEnv])
def test_a_warning_says_once_that_most_actions_were_illegal(make):
    env = make(num_players=2, rules=SHORT, seat=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for seed in range(2):
            env.reset(seed=seed)
            over = False
            while not over:
                mask = np.atleast_2d(env.action_masks())
                wrong = (~mask).argmax(axis=1)
                *_, over, _, _ = env.step(wrong if make is BombayVectorEnv else int(wrong[0]))
    (warning,) = [str(one.message) for one in caught if "illegal" in str(one.message)]
    assert "actions in a game were illegal" in warning
    assert "action_mask" in warning


def test_in_pettingzoo_an_illegal_action_ends_the_game_unless_it_is_raw():
    assert bombay_v0.env().unwrapped.illegal_action == "terminate"
    assert bombay_v0.env(illegal_action="raise").unwrapped.illegal_action == "raise"
    assert bombay_v0.raw_env().illegal_action == "raise"
    assert inspect.signature(bombay_v0.env).parameters["illegal_action"].default == "terminate"
    with pytest.raises(TypeError, match="num_seats"):
        bombay_v0.env(num_seats=3)


# --- lanes and returned arrays ---


def sampling():
    net = make_ppo()
    return PolicyNetAgent(net.net, sample=True)


@each_count
@pytest.mark.parametrize("opponent", ["random", "greedy", "greedy:epsilon=0.5", "random-turn", sampling])
def test_a_lane_plays_the_game_of_the_single_environment_whatever_the_others_do(n, opponent):
    def agent():
        return bombay_agents.make(opponent) if isinstance(opponent, str) else opponent()

    single = BombaySingleEnv(n, opponents=agent())
    vector = BombayVectorEnv(3, n, opponents=agent())
    seen, info = single.reset(seed=5)
    others, infos = vector.reset(seed=5)
    rng = np.random.default_rng(n)
    for _ in range(12):
        assert same(seen, others[0])
        assert (info["action_mask"] == infos["action_mask"][0]).all()
        actions = (rng.random(infos["action_mask"].shape) * infos["action_mask"]).argmax(axis=1)
        others, *_, infos = vector.step(actions)
        seen, *_, info = single.step(int(actions[0]))


def test_an_opponent_may_pass_some_of_its_lanes_on_to_another_agent():
    class Half:
        def act(self, game, states, rng):
            first, second = np.array_split(np.arange(len(states)), 2)
            other = bombay_agents.make("random")
            return np.concatenate([other.act(game, states[part], rng) for part in (first, second)])

    env = BombayVectorEnv(5, 2, SHORT, opponents=Half())
    _, infos = env.reset(seed=1)
    for _ in range(6):
        *_, infos = env.step(infos["action_mask"].argmax(axis=1))


def test_what_pettingzoo_returns_is_not_its_memory():
    env = bombay_v0.env(2)
    env.reset(seed=1)
    observation, *_, info = env.last()
    legal = observation["action_mask"].copy()
    for array in (*observation.values(), info["action_mask"], env.infos["player_0"]["action_mask"]):
        array[...] = 1
    assert (env.last()[0]["action_mask"] == legal).all()
    assert (env.observe("player_0")["action_mask"] == legal).all()


# --- opponents ---


@pytest.mark.parametrize("make", [BombaySingleEnv, BombayVectorEnv])
@pytest.mark.parametrize("spec", ["zero", "zero-search:nodes=8", "ppo"])
def test_an_opponent_that_cannot_play_the_rules_is_refused_at_once(make, spec):
    refusal(lambda: make(rules={"toll": 2}, opponents=spec), "not trained on these rules", "force=true")
    make(rules={"toll": 2}, opponents=f"{spec}{',' if ':' in spec else ':'}force=true")
