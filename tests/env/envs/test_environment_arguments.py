"""What the environments take as rules, board and opponents, and what they do with actions that are illegal."""

import copy
import inspect
import json
import pickle
import warnings
from importlib import resources

import gymnasium
import numpy as np
import pytest

import bombay_agents
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.shipped import make_ppo
from bombay_env import Board, Game, Rules, bombay_v0
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.envs.vector import BombayVectorEnv
from helpers.aec_envs import snapshot, started
from helpers.gym_envs import LANES, SHORT, each_count, same, single, vector
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


WRONG = [  # in every interface
    ({"num_players": 6}, ("num_players", "6", "2", "5")),
    ({"num_players": "4"}, ("num_players", "'4'", "2", "5")),
    ({"num_players": 4, "rules": Rules.official(5)}, ("num_players is 4, but the rules are for 5",)),
    ({"rules": {"fee": 1}}, ("unknown field 'fee'",)),
    ({"rules": 3}, ("rules must be Rules, a dict of changed fields or the path of one, not int",)),
    ({"board": "reconstruction"}, ("reconstruction", "cannot be read")),
    ({"board": 3}, ("board", "Board", "int")),
    ({"observation_mode": "full"}, ("observation_mode", "'full'", "perfect_recall", "screened")),
    ({"reward": "money"}, ("reward", "'money'", "win", "rank", "margin")),
    ({"illegal_action": "ignore"}, ("illegal_action", "'ignore'", "raise")),
    ({"render_mode": "human2"}, ("render_mode", "'human2'", "None", "ansi", "svg")),
]
WRONG_OF_LEARNERS = [  # where a learner has opponents
    ({"illegal_action": "terminate"}, ("illegal_action", "'terminate'", "random", "raise")),
    ({"seat": 4}, ("seat", "4", "random", "0 to 3")),
    ({"seat": "first"}, ("seat", "'first'", "random", "0 to 3")),
    ({"seat": True}, ("seat", "True", "0 to 3")),
    ({"opponents": "clever"}, ("clever", "greedy", "random")),
    ({"opponents": "greedy:depth=3"}, ("greedy", "depth")),
    ({"opponents": ["greedy"]}, ("opponents", "1", "3")),
    ({"opponents": ["greedy", 5, "greedy"]}, ("opponents", "int", "act")),
    ({"opponents": None}, ("opponents", "NoneType", "act")),
    ({"opponents": GreedyAgent}, ("opponents", "ABCMeta", "act")),
    ({"seat": "all", "opponents": "greedy"}, ("opponents", "'all'", "every")),
    ({"seat": "all", "opponents": []}, ("opponents", "'all'", "every")),
]
WRONG_OF_LANES = [
    ({"num_envs": 0}, ("num_envs", "0", "1")),
    ({"num_envs": 2.0}, ("num_envs", "2.0")),
    ({"autoreset_mode": "Never"}, ("autoreset_mode", "'Never'", "NextStep", "SameStep", "Disabled")),
    ({"copy": "no"}, ("copy", "'no'", "True", "False")),
    ({"max_episode_steps": 0}, ("max_episode_steps", "at least 1")),
    ({"max_episode_steps": -2}, ("max_episode_steps", "at least 1")),
    ({"max_episode_steps": True}, ("max_episode_steps", "at least 1")),
    ({"disable_env_checker": False}, ("disable_env_checker", "True")),
]


@pytest.mark.parametrize(
    ("makers", "wrong", "words"),
    [
        *((tuple(MAKERS.values()), *row) for row in WRONG),
        *(((BombaySingleEnv, BombayVectorEnv), *row) for row in WRONG_OF_LEARNERS),
        *(((BombayVectorEnv,), *row) for row in WRONG_OF_LANES),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_the_message_names_a_wrong_argument_and_what_is_allowed(makers, wrong, words):
    for make in makers:
        refusal(lambda make=make: make(**wrong), *words)


def running():
    """An environment of each kind in the middle of a game, and a function that gives all that it holds."""
    yield started(), snapshot
    for make in (single, vector):
        env = make()
        env.reset(seed=1)
        yield env, lambda env: pickle.dumps(env._games)


@pytest.mark.parametrize(
    "given",
    [
        *({"seed": seed} for seed in (-1, 2**64, 1.5, "7")),
        *({"options": {"setup": setup}} for setup in ([], 5, {"posts": {}})),
        *({"options": {"record": record}} for record in (5, {}, "file.jsonl")),
        {"seed": 3, "options": {"setup": 5}},
        {"options": 5},
    ],
    ids=repr,
)
def test_a_wrong_seed_or_option_is_refused_and_the_games_continue(given):
    """A reset that fails uses no seed."""
    for env, kept in running():
        before, twin = kept(env), copy.deepcopy(env)
        refusal(lambda env=env: env.reset(**given))
        assert kept(env) == before
        for other in (env, twin):
            other.reset()
        assert kept(env) == kept(twin)


NOT_AN_ACTION = (
    None,
    1.0,
    True,
    "buy",
    "x" * 300_000,
    [1],
    np.array([1, 2]),
    np.float64(2),
    {"action": 1},
    np.array(None),
)
NOT_ACTIONS = (  # for lanes
    *(None, 1.0, "x" * 300_000, {"action": 1}, np.array(None), 0, 2**70, [2**70] * 4, [0, None, 0, 0]),
    *([0.0, np.nan, 0.0, 0.0], [[0], 1, 2, 3], np.zeros((4, 1), int), np.zeros(9, int), Game().new_states(range(4))),
)


@pytest.mark.parametrize("mode", ["raise", "other"])
@pytest.mark.parametrize("make", [started, single, vector])
def test_what_is_not_a_whole_number_is_refused_in_both_modes(make, mode):
    """It is an error of the program, not an illegal move."""
    env = make(illegal_action="raise" if mode == "raise" else "terminate" if make is started else "random")
    if make is not started:
        env.reset(seed=1)
    kept = snapshot if make is started else lambda env: pickle.dumps(env._games)
    before = kept(env)
    for action in NOT_ACTIONS if make is vector else NOT_AN_ACTION:
        words = ("actions must be integers", str(LANES)) if make is vector else ("whole number",)
        refusal(lambda action=action: env.step(action), *words)
        assert kept(env) == before


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


# --- lanes ---


def sampling():
    net = make_ppo()
    return PolicyNetAgent(net.net, sample=True)


@each_count
@pytest.mark.parametrize("opponent", ["random", "greedy", "greedy:epsilon=0.5", "random-turn", sampling])
def test_a_lane_plays_the_game_of_the_single_environment_whatever_the_others_do(n, opponent):
    def agent():
        return bombay_agents.make(opponent) if isinstance(opponent, str) else opponent()

    one, many = BombaySingleEnv(n, opponents=agent()), BombayVectorEnv(3, n, opponents=agent())
    seen, info = one.reset(seed=5)
    others, infos = many.reset(seed=5)
    rng = np.random.default_rng(n)
    for _ in range(12):
        assert same(seen, others[0])
        assert (info["action_mask"] == infos["action_mask"][0]).all()
        actions = (rng.random(infos["action_mask"].shape) * infos["action_mask"]).argmax(axis=1)
        others, *_, infos = many.step(actions)
        seen, *_, info = one.step(int(actions[0]))


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


# --- opponents ---


@pytest.mark.parametrize("make", [BombaySingleEnv, BombayVectorEnv])
@pytest.mark.parametrize("spec", ["zero", "zero-search:nodes=8", "ppo"])
def test_an_opponent_that_cannot_play_the_rules_is_refused_at_once(make, spec):
    refusal(lambda: make(rules={"toll": 2}, opponents=spec), "not trained on these rules", "force=true")
    make(rules={"toll": 2}, opponents=f"{spec}{',' if ':' in spec else ':'}force=true")
