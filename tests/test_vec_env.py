"""The native vector environment against `Game` stepped by hand, and a short training run from settings to a playing agent."""

import dataclasses
import json
import os
import signal
import subprocess
import sys

import numba
import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="self-play PPO needs the `ppo` extra (stable-baselines3, sb3-contrib)")

from safetensors import safe_open
from safetensors.numpy import save_file
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from bombay_agents import net_files
from bombay_agents.net import Net, NetAgent
from bombay_agents.net_files import HEADER
from bombay_agents.net_outcomes import NetOutcomeAgent
from bombay_env import Board, Game, IllegalActionError, Rules
from bombay_env.board import SiteKind
from bombay_env.chance import EPISODE, random_word
from bombay_env.rewards import seat_rewards
from bombay_training.ppo import PPOSettings, train
from bombay_training.seat_buffer import MAX_SEATS
from bombay_training.vec_env import BombayVecEnv

pytestmark = pytest.mark.layer

SLOW = bool(numba.config.DISABLE_JIT)
SHORT = {"sets": 2, "turns_per_set": 1 if SLOW else 2}  # so that many games end
STEPS = 50 if SLOW else 150


def short_games(*players: int) -> list[Game]:
    board = Board.load()
    return [Game(Rules(num_players=count, **SHORT), board) for count in players]


def random_actions(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(masks.shape) * masks).argmax(axis=1)


def prospects(game: Game, states: np.ndarray) -> np.ndarray:
    """What shaping counts, seat by seat: rupees, 3 a bale, 2 a City token up to four, 1 a palace or Client; at the end all."""
    standing = game.provisional_results(states)
    wealth = np.zeros((len(states), game.num_players))
    for lane, state in enumerate(states):
        for seat in range(game.num_players):
            result = standing[lane]
            if state["current_player"] < 0:
                wealth[lane, seat] = result["final"][seat]
                continue
            wealth[lane, seat] = result["rupees"][seat] + 3 * int(state["basket"][seat].sum())
            wealth[lane, seat] += 2 * min(result["city_tokens"][seat], 4) + result["empire"][seat]
    return (wealth - wealth.mean(axis=1, keepdims=True)) / 10


# --- lanes ---


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("shaping_weight", [0.0, 0.5])
def test_lanes_are_games_stepped_by_hand(players, shaping_weight):
    """Each lane against one game at a time: deals, views, masks, movers, everybody's rewards, what follows an end."""
    (game,) = short_games(players)
    env = BombayVecEnv([game], num_envs=3, seed=11, reward="rank", shaping_weight=shaping_weight)
    observations, rng = env.reset(), np.random.default_rng(0)
    states = game.new_states([11, 12, 13])
    dealt, counted, ends = [1, 1, 1], prospects(game, states), 0
    for _ in range(STEPS):
        np.testing.assert_array_equal(observations, game.observe(states))
        masks = env.action_masks()
        np.testing.assert_array_equal(masks, game.legal_actions(states))
        actions = random_actions(masks, rng)
        movers = game.current_player(states)
        game.step(states, actions)
        now = prospects(game, states)
        expected = shaping_weight * (now - counted)
        counted = now
        observations, rewards, dones, infos = env.step(actions)
        np.testing.assert_array_equal(dones, game.is_terminal(states))
        for lane in range(3):
            if not dones[lane]:
                assert infos[lane] == {}
                continue
            ends += 1
            ended = states[lane : lane + 1]
            expected[lane] += seat_rewards(game.results(ended), "rank")[0]
            np.testing.assert_array_equal(infos[lane]["terminal_observation"], game.observe(ended)[0])
            states[lane] = game.new_states([int(random_word(np.uint64(11 + lane), EPISODE, np.uint64(dealt[lane])))])[0]
            dealt[lane] += 1
            counted[lane] = prospects(game, states[lane : lane + 1])[0]
        np.testing.assert_array_equal(env.last_seats, movers)
        np.testing.assert_array_equal(env.last_dones, dones)
        np.testing.assert_allclose(env.last_seat_rewards[:, :players], expected, atol=1e-5)
        np.testing.assert_allclose(rewards, expected[np.arange(3), movers], atol=1e-5)
    assert ends > 1


def test_mixed_tables_share_the_lanes():
    env = BombayVecEnv(short_games(2, 3, 4, 5), num_envs=10, seed=0)
    assert np.bincount(env.num_seats, minlength=6).tolist() == [0, 0, 2, 3, 2, 3]
    observations = env.reset()
    players = env.tables[0].game.feature_layout.split(observations)["num_players"]
    np.testing.assert_array_equal(players.argmax(axis=1) + 2, env.num_seats)
    assert env.observation_space.contains(observations[0])


@pytest.mark.parametrize("reward", ["win", "rank", "margin"])
def test_rewards_sum_to_zero_at_each_table(reward):
    env = BombayVecEnv(short_games(2, 3, 4, 5), num_envs=8, seed=3, reward=reward, shaping_weight=1.0)
    env.reset()
    rng, totals, ended = np.random.default_rng(1), np.zeros((8, MAX_SEATS)), 0
    for _ in range(STEPS):
        env.step(random_actions(env.action_masks(), rng))
        np.testing.assert_allclose(env.last_seat_rewards.sum(axis=1), 0, atol=1e-5)
        assert not env.last_seat_rewards[np.arange(MAX_SEATS) >= env.num_seats[:, None]].any()
        totals += env.last_seat_rewards
        ended += env.last_dones.sum()
    assert ended
    assert totals.any()
    assert env.take_tally().games == ended
    assert env.take_tally().games == 0


def test_shaping_sums_to_the_margin_gained():
    """Over a game shaping pays the final margin less what was dealt, whatever it counted on the way; the end comes on top."""
    (game,) = short_games(5)  # seat 4 is dealt a rupee more
    env = BombayVecEnv([game], num_envs=1, seed=5, reward="margin", shaping_weight=1.0)
    env.reset()
    rng, total = np.random.default_rng(2), np.zeros(MAX_SEATS)
    states = game.new_states([5])
    while True:
        actions = random_actions(env.action_masks(), rng)
        game.step(states, actions)
        *_, dones, infos = env.step(actions)
        total += env.last_seat_rewards[0]
        if dones[0]:
            break
    margin, dealt = seat_rewards(game.results(states), "margin")[0], np.array([-0.02, -0.02, -0.02, -0.02, 0.08])
    np.testing.assert_allclose(total, 2 * margin - dealt, atol=1e-4)
    assert infos[0]["episode"]["r"] == pytest.approx(total[0], abs=1e-4)
    assert infos[0]["episode"]["l"] >= 5 * SHORT["turns_per_set"]


def test_seat_views_are_each_seats_own():
    env = BombayVecEnv(short_games(3, 5), num_envs=4, seed=0, observation_mode="screened")
    env.reset()
    views = env.seat_views()
    assert views.shape == (4, MAX_SEATS, env.num_features)
    three, five = env.tables
    for seat in range(3):
        np.testing.assert_array_equal(
            views[:2, seat], three.game.observe(three.games.states, seats=seat, screened=True)
        )
    for seat in range(5):
        np.testing.assert_array_equal(views[2:, seat], five.game.observe(five.games.states, seats=seat, screened=True))


def test_masks_reach_maskable_ppo():
    env = BombayVecEnv(short_games(2, 4), num_envs=6, seed=0)
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (6, env.num_actions)
    assert masks.dtype == bool
    np.testing.assert_array_equal(masks, env.action_masks())
    np.testing.assert_array_equal(env.env_method("action_masks", indices=[4])[0], masks[4])
    assert not env.has_attr("no_such_thing")
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.env_method("no_such_thing")


def test_no_array_is_returned_twice():
    env = BombayVecEnv(short_games(2, 4), num_envs=6, seed=0, shaping_weight=1.0)
    rng, held = np.random.default_rng(0), [env.reset()]
    copies = [held[0].copy()]
    for _ in range(60):
        masks = env.action_masks()
        observations, rewards, dones, _ = env.step(random_actions(masks, rng))
        held += [masks, observations, rewards, dones, env.last_seats, env.last_seat_rewards, env.last_dones]
        copies += [array.copy() for array in held[-7:]]
        assert not np.shares_memory(dones, env.last_dones)
    for array, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def trace(seed: int, reseed: bool = False) -> bytes:
    env = BombayVecEnv(short_games(2, 3), num_envs=5, seed=seed if not reseed else 999, shaping_weight=1.0)
    if reseed:
        env.seed(seed)
    parts, rng = [env.reset()], np.random.default_rng(0)
    for _ in range(STEPS // 3):
        observations, rewards, dones, _ = env.step(random_actions(env.action_masks(), rng))
        parts += [observations, rewards, dones]
    return b"".join(part.tobytes() for part in parts)


def test_the_seed_decides_everything():
    assert trace(7) == trace(7) == trace(7, reseed=True)
    assert trace(7) != trace(8)


def test_a_second_reset_deals_other_games():
    env = BombayVecEnv(short_games(2), num_envs=2, seed=2**64 - 1)
    assert env.seed(2**64 - 1) == [2**64 - 1, 0]
    first, second = env.reset(), env.reset()
    assert (first != second).any(axis=1).all()


def test_games_that_one_net_cannot_serve_are_refused():
    board = Board.load()
    sites = tuple(site for site in board.sites if site.kind is not SiteKind.OPEN_SITE)
    names = {site.name for site in sites}
    trails = tuple(trail for trail in board.trails if set(trail) <= names)
    smaller = Board(name="smaller", sites=sites, trails=trails)
    with pytest.raises(ValueError, match="num_features"):
        BombayVecEnv([Game(board=board), Game(board=smaller)], num_envs=4, seed=0)


def test_lanes_and_reward_must_make_sense():
    with pytest.raises(ValueError, match="at least one lane a game"):
        BombayVecEnv(short_games(2, 3, 4), num_envs=2, seed=0)
    with pytest.raises(ValueError, match="win, rank, margin"):
        BombayVecEnv(short_games(2), num_envs=2, seed=0, reward="glory")


def test_an_illegal_action_is_an_error():
    env = BombayVecEnv(short_games(2), num_envs=2, seed=0)
    env.reset()
    with pytest.raises(IllegalActionError):
        env.step(env.action_masks().argmin(axis=1))


# --- a run, from settings to a player ---

TINY = PPOSettings(
    updates=2, num_envs=4, num_steps=24, batch_size=32, epochs=2, trunk=(16,), policy=(8,), value=(8,), seed=4
)


class Watcher:
    def __init__(self) -> None:
        self.fractions: list[float] = []

    def update(self, fraction, metrics):
        self.fractions.append(fraction)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    watcher = Watcher()
    return train(TINY, folder, watcher), watcher


def test_a_run_leaves_agent_settings_and_metrics(run):
    agent, watcher = run
    assert sorted(path.name for path in agent.parent.iterdir()) == [
        "agent.safetensors",
        "metrics.jsonl",
        "settings.json",
    ]
    settings = json.loads((agent.parent / "settings.json").read_text())
    assert PPOSettings(**settings["settings"]) == TINY
    assert settings["versions"]["torch"].startswith("2.")
    lines = [json.loads(line) for line in (agent.parent / "metrics.jsonl").read_text().splitlines()]
    assert [line["decisions"] for line in lines] == [96, 192]
    assert all(np.isfinite(value) for line in lines for value in line.values())
    assert all(line["seat_reward_std"] > 0 for line in lines)
    assert watcher.fractions == sorted(watcher.fractions)
    assert watcher.fractions[-1] == 1.0


def test_equal_settings_give_equal_files(run, tmp_path):
    again = train(TINY, tmp_path / "again")
    assert again.read_bytes() == run[0].read_bytes()
    other = train(dataclasses.replace(TINY, seed=5), tmp_path / "other")
    assert other.read_bytes() != run[0].read_bytes()


def test_the_agent_computes_what_was_trained(run):
    """The NumPy net and the PyTorch one are the same function."""
    import torch
    from torch.nn.functional import linear, relu

    net = Net.load(run[0])
    observations = np.random.default_rng(0).random((5, net.num_features), np.float32)

    def layers(part):
        return [tuple(map(torch.from_numpy, layer)) for layer in net.parts[part]]

    x = torch.from_numpy(observations)
    for weight, bias in layers("trunk"):
        x = relu(linear(x, weight, bias))
    outputs = []
    for part in ("policy", "value"):
        (hidden_weight, hidden_bias), (weight, bias) = layers(part)
        outputs.append(linear(relu(linear(x, hidden_weight, hidden_bias)), weight, bias).numpy())
    logits, values = net.forward(observations)
    np.testing.assert_allclose(logits, outputs[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values, outputs[1][:, 0], rtol=1e-4, atol=1e-5)


def test_the_agent_plays_without_torch(run):
    code = """
import sys
import numpy as np
from bombay_agents.net import NetAgent
from bombay_env import Game, Rules

rng = np.random.default_rng(0)
for sample in (False, True):
    agent = NetAgent.load(sys.argv[1], sample=sample, force=True)
    for players in (2, 5):
        game = Game(Rules(num_players=players, sets=2, turns_per_set=1))
        states = game.new_states([1, 2, 3])
        while not game.is_terminal(states).any():
            actions = agent.act(game, states, rng)
            assert actions.dtype == np.int64 and actions.shape == (3,)
            game.step(states, actions)
assert "torch" not in sys.modules and "stable_baselines3" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code, str(run[0])], check=True, timeout=300)


def test_an_agent_refuses_other_games(run):
    net = Net.load(run[0])
    foreign = NetAgent(dataclasses.replace(net, features="0123456789abcdef"))
    game = Game()
    with pytest.raises(ValueError, match=f"0123456789abcdef; this game's are {game.feature_layout.digest}"):
        foreign.act(game, game.new_states([1]), np.random.default_rng(0))


def test_a_net_says_what_it_was_trained_on(run):
    agent = NetOutcomeAgent(run[0])
    assert (agent.reward, agent.shaping_weight) == (TINY.reward, TINY.shaping_weight)
    net_files.check_trained_on("net", agent.net.about, Game(Rules.official(TINY.players[0])))


class Interrupt:
    """Sends this process a signal after the first update."""

    def __init__(self, number: int) -> None:
        self.number = number

    def update(self, fraction, metrics):
        if metrics:
            os.kill(os.getpid(), self.number)


ENDLESS = dataclasses.replace(TINY, updates=None, minutes=60)


def test_ctrl_c_saves_what_there_is(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(ENDLESS, tmp_path, Interrupt(signal.SIGINT))
    assert Net.load(tmp_path / "agent.safetensors").about["training"]["updates"] == 1
    assert not list(tmp_path.glob("*.tmp"))


def test_sigterm_saves_what_there_is_and_then_kills(tmp_path):
    code = "import signal, sys; from test_vec_env import *; train(ENDLESS, sys.argv[1], Interrupt(signal.SIGTERM))"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], timeout=300, cwd=os.path.dirname(__file__))
    assert done.returncode == -signal.SIGTERM
    assert Net.load(tmp_path / "agent.safetensors").about["training"]["updates"] == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("minutes", 0),
        ("updates", 0),
        ("players", ()),
        ("players", (4, 6)),
        ("reward", "glory"),
        ("num_envs", 3),
        ("batch_size", 1),
        ("gamma", 1.5),
        ("trunk", (0,)),
        ("activation", "sine"),
        ("observation_mode", "x-ray"),
        ("threads", 0),
        ("seed", -1),
    ],
)
def test_settings_that_cannot_be_learned_with_are_refused(field, value):
    with pytest.raises(ValueError, match=field):
        PPOSettings(**{field: value})


# --- the file ---


def rewritten(path, target, change):
    """A copy of the net at `path`, its header and tensors changed by `change`."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()[HEADER])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, the file is no mapping
    change(header, tensors)
    save_file(tensors, target, metadata={HEADER: json.dumps(header)})
    return target


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda header, tensors: header.update(format="bombay-net/9"), "its format is 'bombay-net/9'"),
        (lambda header, tensors: header.clear(), "its format is None"),
        (lambda header, tensors: header.update(layers={"trunk": 10000000}), "number of layers"),
        (lambda header, tensors: header.update(activation="sine"), "activation"),
        (lambda header, tensors: header.update(features=3), "features"),
        (lambda header, tensors: header.update(num_actions=40), "num_actions"),
        (lambda header, tensors: tensors.pop("trunk.0.bias"), "missing: trunk.0.bias"),
        (lambda header, tensors: tensors.update(extra=np.zeros(1, np.float32)), "unknown tensors: extra"),
        (lambda header, tensors: tensors.update({"trunk.0.bias": np.zeros(3, np.float32)}), r"trunk.0 has weight"),
        (lambda header, tensors: tensors.update({"value.1.bias": np.zeros(1)}), "F64"),
        (lambda header, tensors: tensors["policy.0.weight"].fill(np.nan), "not finite"),
    ],
)
def test_a_file_that_is_no_net_is_refused(run, tmp_path, change, complaint):
    path = rewritten(run[0], tmp_path / "changed.safetensors", change)
    with pytest.raises(ValueError, match=complaint) as error:
        NetAgent.load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("header", [None, {}, {HEADER: "{"}, {HEADER: "[]"}, {HEADER: "{}"}])
def test_a_safetensors_file_of_another_kind_is_refused(tmp_path, header):
    path = tmp_path / "agent.safetensors"
    save_file({"w": np.zeros(1, np.float32)}, path, metadata=header)
    with pytest.raises(ValueError, match=r"agent\.safetensors: its (header|format) is"):
        Net.load(path)


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "agent.safetensors"
    path.write_bytes(b"a pickle, perhaps")
    with pytest.raises(ValueError, match="not a safetensors file"):
        Net.load(path)
    with pytest.raises(FileNotFoundError):
        Net.load(tmp_path / "nowhere.safetensors")
