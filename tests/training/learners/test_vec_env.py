"""PPO's vector environment compared with `Game` stepped by hand, and a short training run from settings to a playing agent."""

import dataclasses
import functools
import json
import signal

import numba
import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="self-play PPO needs the `ppo` extra (stable-baselines3, sb3-contrib)")

import torch
from scipy import special
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from bombay_agents.nets import files
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.nets.policy.net import PolicyNet
from bombay_env import Board, Game, IllegalActionError, Rules
from bombay_env.chance import random_word
from bombay_env.rewards import seat_rewards
from bombay_env.state import NOBODY
from bombay_env.streams import EPISODE
from bombay_training.learners.ppo.run import PPORun
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.ppo.vec_env import BombayVecEnv
from bombay_training.learners.runs import Progress
from bombay_training.learners.runs import run as runs
from bombay_training.learners.runs.run_files import METRICS, SETTINGS
from bombay_training.learners.train import resume, train
from helpers.nets import rewritten
from helpers.refusal import refusal
from helpers.runs import shorten_quick_matches, updates_done, without_time

shorten_quick_matches()
SLOW = bool(numba.config.DISABLE_JIT)
SHORT = {"sets": 2, "turns_per_set": 1 if SLOW else 2}  # so that many games end
STEPS = 24 if SLOW else 150


def short_games(*players: int) -> list[Game]:
    board = Board.load()
    return [Game(Rules(num_players=count, **SHORT), board) for count in players]


def random_actions(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(masks.shape) * masks).argmax(axis=1)


def potential(game: Game, states: np.ndarray, blend: float) -> np.ndarray:
    """What each seat would be paid by margin if the game ended now, (k, n); for finished games, the reward."""
    stopped = states.copy()
    stopped["current_player"] = NOBODY
    results = game.results(stopped)
    final = results["final"].astype(np.float64)
    margin = (final - final.mean(axis=1, keepdims=True)) / 10
    reward = (1 - blend) * margin + blend * seat_rewards(results, "win")
    return np.where(game.is_terminal(states)[:, None], reward, margin)


# --- the environment ---


@pytest.mark.parametrize(
    ("players", "shaping_weight", "mode"),
    [(3, 0.5, "screened")] if SLOW else [(2, 0.0, "perfect_recall"), (3, 0.5, "screened"), (5, 1.0, "perfect_recall")],
)
def test_environments_are_games_stepped_by_hand(players, shaping_weight, mode):
    """Compared with one game each: deals, views, masks, movers, rewards of all seats, and what follows the end of a game."""
    (game,) = short_games(players)
    options = {"blend": 0.25, "shaping_weight": shaping_weight, "observation_mode": mode}
    env = BombayVecEnv([game], num_envs=3, seed=11, **options)
    keys = BombayVecEnv([game], num_envs=3, seed=0).seed(11)
    observe = functools.partial(game.observe, screened=mode == "screened")
    observations, rng = env.reset(), np.random.default_rng(0)
    states = game.new_states(keys)
    dealt, counted, ends = [1, 1, 1], potential(game, states, 0.25), 0
    for _ in range(STEPS):
        np.testing.assert_array_equal(observations, observe(states))
        views = np.stack([observe(states, seat) for seat in range(players)], axis=1)
        np.testing.assert_array_equal(env.seat_views()[:, :players], views)
        masks = env.action_masks()
        np.testing.assert_array_equal(masks, game.legal_actions(states))
        actions = random_actions(masks, rng)
        movers = game.current_player(states)
        game.step(states, actions)
        now = potential(game, states, 0.25)
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
            expected[lane] += (1 - shaping_weight) * now[lane]
            np.testing.assert_array_equal(infos[lane]["terminal_observation"], observe(ended)[0])
            np.testing.assert_array_equal(infos[lane]["final_rupees"], game.results(ended)["final"][0])
            states[lane] = game.new_states([int(random_word(np.uint64(keys[lane]), EPISODE, np.uint64(dealt[lane])))])[
                0
            ]
            dealt[lane] += 1
            counted[lane] = potential(game, states[lane : lane + 1], 0.25)[0]
        np.testing.assert_array_equal(env.last_seats, movers)
        np.testing.assert_array_equal(env.last_dones, dones)
        np.testing.assert_allclose(env.last_seat_rewards[:, :players], expected, atol=1e-5)
        assert not env.last_seat_rewards[:, players:].any()
        np.testing.assert_allclose(rewards, expected[np.arange(3), movers], atol=1e-5)
    assert ends > 0


def test_player_counts_share_the_environments():
    env = BombayVecEnv(short_games(2, 3, 4, 5), num_envs=10, seed=0)
    assert np.bincount(env.num_seats, minlength=6).tolist() == [0, 0, 2, 3, 2, 3]
    observations = env.reset()
    players = env.groups[0][1].game.feature_layout.split(observations)["num_players"]
    np.testing.assert_array_equal(players.argmax(axis=1) + 2, env.num_seats)
    assert env.observation_space.contains(observations[0])


def test_games_in_progress_continue_in_another_environment():
    envs = [BombayVecEnv(short_games(2, 3), num_envs=4, seed=seed, shaping_weight=1.0) for seed in (1, 2)]
    rng = np.random.default_rng(3)
    observations, episodes = envs[0].reset(), 0
    for _ in range(14 if SLOW else 60):  # so that some lanes are in their second game
        observations, _, dones, _ = envs[0].step(random_actions(envs[0].action_masks(), rng))
        episodes += int(dones.sum())
    assert episodes
    envs[1].reset()
    for name, memory in envs[1].tensors().items():
        memory[...] = envs[0].tensors()[name]
    np.testing.assert_array_equal(envs[1].refresh(), observations)
    ended = 0
    for _ in range(STEPS // 3 + 12):
        actions = random_actions(envs[0].action_masks(), rng)
        (*arrays, infos), (*others, other_infos) = (env.step(actions) for env in envs)
        for one, other in zip(arrays, others, strict=True):
            np.testing.assert_array_equal(one, other)
        for info, other in zip(infos, other_infos, strict=True):
            assert info.keys() == other.keys()
            ended += len(info) > 0
    assert ended


def test_returned_arrays_are_new():
    env = BombayVecEnv(short_games(2, 4), num_envs=6, seed=0, shaping_weight=1.0)
    rng, held = np.random.default_rng(0), [env.reset()]
    copies = [held[0].copy()]
    for _ in range(STEPS // 3):
        masks = env.action_masks()
        observations, rewards, dones, _ = env.step(random_actions(masks, rng))
        held += [masks, observations, rewards, dones, env.last_seats, env.last_seat_rewards, env.last_dones]
        copies += [array.copy() for array in held[-7:]]
        assert not np.shares_memory(dones, env.last_dones)
    for array, copy in zip(held, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_seeds_share_no_games():
    """Neither neighbouring seeds, as of runs and of workers, nor a seed and the keys of its own lanes."""
    deals = []
    for seed in (0, 1, 2, 2**64 - 1):
        env = BombayVecEnv(short_games(2, 3), num_envs=6, seed=0)
        keys = env.seed(seed)
        for _ in range(3):
            env.reset()
            deals += [deal for _, games in env.groups for deal in games.states["seed"].tolist()]
        assert sorted(deals[-18:-12]) == sorted(keys)
        deals.append(seed)
    assert len(set(deals)) == len(deals)


def test_fewer_environments_than_games_are_refused():
    with pytest.raises(ValueError, match="num_envs is 2; it must be at least 1 for each of the 3 games"):
        BombayVecEnv(short_games(2, 3, 4), num_envs=2, seed=0)


@pytest.mark.parametrize("actions", ["illegal", None, [0.0, np.nan, 0.0, 0.0], np.zeros((4, 1), int), np.zeros(9, int)])
def test_actions_that_cannot_be_played_change_no_game(actions):
    env = BombayVecEnv(short_games(2, 3), num_envs=4, seed=0)
    env.reset()
    legal, before = env.action_masks().argmax(axis=1), [array.tobytes() for array in env.tensors().values()]
    if isinstance(actions, str):
        with pytest.raises(IllegalActionError):
            env.step(np.append(legal[:3], env.action_masks()[3].argmin()))
    else:
        refusal(lambda: env.step(actions), "actions must be integers of shape (4,)")
    assert [array.tobytes() for array in env.tensors().values()] == before
    env.step(legal.tolist())
    assert [array.tobytes() for array in env.tensors().values()] != before


# --- a run, from settings to a player ---

if SLOW:
    runs.REFERENCES = ()  # here and not in a fixture: some tests run this module in another process

TINY = PPOSettings(
    updates=2,
    num_envs=4,
    num_steps=8 if SLOW else 24,
    batch_size=32,
    epochs=2,
    trunk=(16,),
    policy=(8,),
    value=(8,),
    seed=4,
)


class Watcher(Progress):
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
    """What all runs leave is in `test_runs.py`."""
    agent, watcher = run
    about = PolicyNet.load(agent).about
    assert (about["training"]["updates"], about["training"]["decisions"]) == (2, 8 * TINY.num_steps)
    files.check_trained_on("net", about, Game(Rules.official(TINY.players[0])))
    settings = json.loads((agent.parent / SETTINGS).read_text())
    assert (settings["learner"], PPOSettings(**settings["settings"])) == ("ppo", TINY)
    assert settings["versions"]["torch"].startswith("2.")
    lines = [json.loads(line) for line in (agent.parent / METRICS).read_text().splitlines()]
    assert [line["decisions"] for line in lines] == [4 * TINY.num_steps, 8 * TINY.num_steps]
    assert all(np.isfinite(value) for line in lines for value in line.values())
    assert all(line["entropy_loss"] < 0 for line in lines)
    assert watcher.fractions == sorted(watcher.fractions)
    assert watcher.fractions[-1] == 1.0
    events = EventAccumulator(str(agent.parent)).Reload()
    assert [event.step for event in events.Scalars("value_loss")] == [1, 2]


def test_equal_settings_give_equal_files_whatever_the_references(run, tmp_path, monkeypatch):
    references = () if SLOW else ("random",)
    monkeypatch.setattr(runs, "REFERENCES", references)
    again = train(TINY, tmp_path / "again")
    line = json.loads((again.parent / METRICS).read_text().splitlines()[0])
    assert all(f"against_{spec}" in line for spec in references)
    assert again.read_bytes() == run[0].read_bytes()
    other = train(dataclasses.replace(TINY, seed=5), tmp_path / "other")
    assert other.read_bytes() != run[0].read_bytes()


def test_updates_follow_the_run_and_count_the_games_that_ended(monkeypatch, tmp_path):
    """The blend grows, entropy and learning rate fall; final rupees are the mean of the games that ended in the rollout."""
    short = tmp_path / "rules.json"
    short.write_text(json.dumps({"sets": 1, "turns_per_set": 2}))
    sizes = {"num_envs": 2, "num_steps": 4, "batch_size": 8, "epochs": 1, "trunk": (4,), "policy": (4,), "value": (4,)}
    weights = {"blend": 0.8, "entropy": 0.4, "learning_rate": 1e-3}
    run, found = PPORun(PPOSettings(updates=4, players=(2,), rules=str(short), **sizes, **weights)), []
    step, ended, seen = run.env.step_wait, [], set()

    def watched():
        result = step()
        ended.extend(info["final_rupees"] for info in result[3] if info)
        return result

    monkeypatch.setattr(run.env, "step_wait", watched)
    for _ in range(4):
        ended.clear()
        line = run.step()
        found.append((line["blend"], run.env.blend, run.model.ent_coef, line["learning_rate"]))
        seen.add(bool(ended))
        assert line["games"] == len(ended)
        assert ("final_rupees" in line) == bool(ended)
        assert line.get("final_rupees", 0) == pytest.approx(np.mean(ended) if ended else 0)
    done = np.arange(4)[:, None] / 4
    assert np.array(found) == pytest.approx(np.hstack([0.8 * done, 0.8 * done, 0.4 * (1 - done), 1e-3 * (1 - done)]))
    assert seen == {False, True}


def test_the_net_of_a_run_is_the_one_in_training():
    run = PPORun(TINY)
    observations = run.env.reset()
    logits, values = run.net().forward(observations)
    np.testing.assert_allclose(values, run.model.values(observations), atol=1e-6)
    with torch.no_grad():
        trained = run.model.policy.get_distribution(torch.from_numpy(observations)).distribution.logits
    np.testing.assert_allclose(special.log_softmax(logits, axis=1), trained, atol=1e-6)
    assert np.ptp(logits, axis=1).min() > 1e-3


class Interrupt(Progress):
    """Presses Ctrl-C after the first update."""

    def update(self, fraction, metrics):
        if metrics:
            signal.raise_signal(signal.SIGINT)


def test_stopped_by_ctrl_c_and_resumed_it_ends_in_the_same_weights(run, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(TINY, tmp_path, Interrupt())
    assert updates_done(tmp_path) == 1
    agent = resume(tmp_path)
    assert agent.read_bytes() == run[0].read_bytes()
    assert without_time(tmp_path) == without_time(run[0].parent)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"blend": 1.5}, "blend"),
        ({"num_envs": 3}, "num_envs"),
        ({"batch_size": 1}, "batch_size"),
        ({"batch_size": 16383}, "batch_size"),  # one less than a rollout: a batch of one decision would be left
        ({"num_envs": 16_385}, "num_envs"),
        ({"gamma": 1.5}, "gamma"),
        ({"trunk": (0,)}, "trunk"),
        ({"activation": "sine"}, "activation"),
        ({"observation_mode": "x-ray"}, "observation_mode"),
        ({"threads": 1000}, "threads"),
        ({"seed": 2**32}, "seed"),
        ({"players": (2,), "num_envs": 1, "num_steps": 1}, "num_steps is 1; it must be at least 2 with one game$"),
        (
            {"players": (2,), "num_envs": 2, "num_steps": 3, "batch_size": 4},
            "batch_size is 4; it must be a divisor of the 6 decisions of a rollout$",
        ),
    ],
)
def test_settings_out_of_range_are_refused(settings, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        PPOSettings(**settings)


def test_the_least_run_learns_from_one_batch():
    least = PPOSettings(**PPOSettings.least)
    assert least.num_envs * least.num_steps == least.batch_size


# --- the file ---


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda header, tensors: header.update(layers={"trunk": 10000000}), "number of layers"),
        (lambda header, tensors: header.update(activation="sine"), "activation"),
        (lambda header, tensors: header.update(features=3), "features"),
        (lambda header, tensors: header.update(num_actions=40), "num_actions"),
        (lambda header, tensors: header.update(format="bombay-net/2"), "its format is 'bombay-net/2'"),
        (lambda header, tensors: tensors.pop("trunk.0.bias"), "missing: trunk.0.bias"),
        (lambda header, tensors: tensors.update(extra=np.zeros(1, np.float32)), "unknown tensors: extra"),
        (lambda header, tensors: tensors.update({"trunk.0.bias": np.zeros(3, np.float32)}), r"trunk.0 has weight"),
        (lambda header, tensors: tensors.update({"value.1.bias": np.zeros(1)}), "float64"),
        (lambda header, tensors: tensors["policy.0.weight"].fill(np.nan), "not finite"),
    ],
)
def test_a_file_that_is_no_net_is_refused(run, tmp_path, change, complaint):
    path = rewritten(run[0], tmp_path / "changed.safetensors", change)
    with pytest.raises(ValueError, match=complaint) as error:
        PolicyNetAgent(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
