"""TD: the training targets of a game, the gradient, and that a run repeats bit for bit however it was interrupted."""

import dataclasses
import json
import shutil
import time

import numba
import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.nets import value_features, value_net, value_net_turns
from bombay_agents.nets.value_net_agent import ValueNet, ValueNetAgent
from bombay_env import Game, Rules, chance
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS
from bombay_training.evaluation import arena
from bombay_training.learners import lambda_returns
from bombay_training.learners.runs import periodic_eval, run_files
from bombay_training.learners.runs.run_files import AGAINST, AGENT, CHECKPOINT, METRICS, SETTINGS
from bombay_training.learners.td import TDRun, TDSettings, optimizer, self_play
from bombay_training.learners.train import open_run, train
from helpers import killed
from helpers.nets import HIDDEN
from helpers.runs import shorten_quick_matches, updates_done

shorten_quick_matches()
SLOW = numba.config.DISABLE_JIT  # a game takes seconds then
TINY = TDSettings(
    players=(2, 3),
    games=2 if SLOW else 6,
    hidden=HIDDEN,
    batch_size=16,
    epochs=2,
    updates=1 if SLOW else 4,
    epsilon=0.2,
)


def short_games():
    return [Game(Rules(n, sets=1, turns_per_set=2, actions_per_turn=2)) for n in (2, 3)]


def played(hidden=HIDDEN, epsilon=0.3, td_lambda=0.6):
    """A `SelfPlay` after a few short games, and the net that played them."""
    games = short_games()
    play = self_play.SelfPlay(games, 2, hidden)
    trainer = optimizer.Trainer(play.scales, hidden, seed=1)
    indices = play.play(trainer.net, 5, 0, 0.5, epsilon, td_lambda)
    return play, trainer, indices


# --- The training targets of a game ---


def hand_made(expected, explored=(), best=0.0):
    """A game of two seats that alternate; each mover expects `expected` for itself, and its opposite for the other seat."""
    samples = np.zeros(len(expected), self_play.sample_dtype(8))
    for index, value in enumerate(expected):
        samples[index]["seat"] = index % 2
        samples[index]["margin"][:2] = samples[index]["share"][:2] = value, -value
        samples[index]["explored"] = index in explored
        samples[index]["best_margin"][:2] = samples[index]["best_share"][:2] = best, -best
    return samples


def targets(samples, td_lambda, result=1.0):
    """The targets of the movers if seat 0 has `result` at the end and seat 1 the opposite."""
    workspace = np.zeros(1, value_net.workspace_dtype(8, 1))
    workspace["margin"][0, :2] = workspace["share"][0, :2] = result, -result
    lambda_returns.set_targets(2, np.float32(td_lambda), workspace[0], samples, len(samples))
    assert np.array_equal(samples["margin"], samples["share"])
    assert np.allclose(samples["margin"][:, 1], -samples["margin"][:, 0])
    return samples["margin"][:, 0].tolist()


def test_with_lambda_1_the_target_is_the_result():
    assert targets(hand_made([0.3, -0.2, 0.5]), 1) == [1, -1, 1]


def test_with_lambda_0_the_target_is_the_next_movers_value():
    assert targets(hand_made([0.25, -0.5, 0.75]), 0) == [0.5, -0.75, 1]


def test_lambda_mixes_later_values():
    first = 0.5 * 0.5 + 0.5 * (0.5 * 0.75 + 0.5 * 1)
    assert targets(hand_made([0.25, -0.5, 0.75]), 0.5) == [first, -0.5 * 0.75 - 0.5, 1]


def test_targets_before_an_exploring_turn_use_the_best_outcome():
    """Seat 1 explored: the target of seat 0 is the value of seat 1's best outcome; what followed has no effect."""
    assert targets(hand_made([0.25, -0.5, 0.75], explored=(1,), best=-0.125), 0.9)[0] == 0.125


def test_samples_hold_positions_with_the_results_of_all_seats():
    play, _, indices = played(td_lambda=1.0, epsilon=0.0)
    samples = play.samples.reshape(-1)[indices]
    assert set(samples["num_players"].tolist()) == {2, 3}
    for n in (2, 3):
        some = samples[samples["num_players"] == n]
        assert np.allclose(some["margin"][:, :n].sum(axis=1), 0, atol=1e-5)
        assert np.allclose(some["share"][:, :n].sum(axis=1), 1, atol=1e-5)
        assert set(some["seat"].tolist()) == set(range(n))
    finals = {tuple(np.roll(sample["margin"][:2], sample["seat"])) for sample in samples[samples["num_players"] == 2]}
    assert len(finals) <= 2  # of two games


@kernel
def value_first(state, tables, lookups, net, blend, workspaces):
    workspaces[0].memory.node[0].state = state
    return value_net_turns.value_turn(tables[0], lookups[0], net[0], blend, workspaces[0])


@kernel
def evaluate_node(node, tables, lookups, net, workspaces):
    """Evaluate an outcome of the turn laid out last."""
    turn = workspaces[0]
    seat = np.int64(turn.memory.node[0].state.current_player)
    value_features.clear_cache(turn.evaluation.features)
    value_net_turns.evaluate_after(turn.memory.node[node], tables[0], lookups[0], seat, net[0], turn.evaluation)


def test_an_exploring_turn_gives_the_outcome_drawn_and_the_values_of_the_best():
    """In the first turns of games in which every turn explores, with the draw repeated by hand."""
    game = short_games()[1]
    play, trainer, _ = played(epsilon=1.0)
    workspace, explored = value_net_turns.new_turn_workspaces(game, HIDDEN, 1), 0
    forward, features = workspace["evaluation"]["forward"], workspace["evaluation"]["features"]
    for number in range(2):
        seed = np.uint64(chance.random_word(np.uint64(5), self_play.GAMES, np.uint64(number * MAX_PLAYERS + 2)))
        state, sample = np.asarray(game.new_states([int(seed)]))[0], play.samples[1, number, 0]
        count = value_first(state, game.tables, game.lookups, trainer.net, np.float32(0.5), workspace)
        ends = workspace["memory"]["node"]["due"][0, :count] != turns.TURN_GOES_ON
        nodes = np.flatnonzero(ends & (workspace["values"][0, :count] > -np.inf))
        best = nodes[workspace["values"][0, nodes].argmax()]
        drawn = nodes[int(chance.random_word(seed, self_play.CHOICE, np.uint64(0))) % len(nodes)]
        assert sample["explored"] == (drawn != best)
        explored += sample["explored"]
        evaluate_node(best, game.tables, game.lookups, trainer.net, workspace)
        assert sample["best_margin"][:3] == pytest.approx(forward["margin"][0, :3], abs=1e-5)
        assert sample["best_share"][:3] == pytest.approx(forward["share"][0, :3], abs=1e-5)
        evaluate_node(drawn, game.tables, game.lookups, trainer.net, workspace)
        assert np.array_equal(sample["features"], features["bytes"][0])
    assert explored


# --- The gradient ---


def test_the_gradient_is_that_of_the_loss():
    """Compared with finite differences, for some weights of each part of the net."""
    play, trainer, indices = played()
    samples = play.samples.reshape(-1)
    trainer.net["last"] *= 40
    weight = 0.7

    def loss(net):
        workspace = np.zeros(1, value_net.workspace_dtype(samples["features"].shape[1], HIDDEN))
        total = 0.0
        for index in indices[:3]:
            sample = samples[index]
            n = int(sample["num_players"])
            value_net.refresh_accumulator(net, play.scales, sample["features"], workspace[0]["accumulator"])
            value_net.forward_output(net, n, sample["expected"], sample["turns_left"], workspace[0])
            margin = workspace[0]["margin"][:n].astype(float) - sample["margin"][:n]
            total += weight / 2 * (margin**2).sum()
            total -= (sample["share"][:n] * np.log(workspace[0]["share"][:n].astype(float))).sum()
        return total

    gradient = np.zeros_like(trainer.net)
    workspace = np.zeros(1, value_net.workspace_dtype(samples["features"].shape[1], HIDDEN))
    for index in indices[:3]:
        optimizer.add_gradient(
            samples[index], trainer.net[0], play.scales, np.float32(weight), workspace[0], gradient[0]
        )
    step, checked = 1e-2, 0
    for name, first in (("first", 0), ("first_bias", 0), ("last", 0), ("last", 5), ("last_bias", 0), ("last_bias", 5)):
        found = gradient[name][0]
        steep = np.abs(found[..., first : first + 5] if name.startswith("last") else found)
        where = list(np.unravel_index(steep.argmax(), steep.shape))
        where[-1] += first
        up, down = trainer.net.copy(), trainer.net.copy()
        up[name][0][tuple(where)] += step
        down[name][0][tuple(where)] -= step
        slope = (loss(up[0]) - loss(down[0])) / (2 * step)
        assert abs(slope) > 0.01, "the slope is too small for a comparison"
        assert found[tuple(where)] == pytest.approx(slope, rel=0.05), (name, where)
        checked += 1
    assert checked == 6


def test_steps_are_those_of_adam_and_the_average_follows():
    """Compared with the formulas in double precision, for batches of different sizes."""
    play, trainer, indices = played()
    samples, rate, weight, decay = play.samples.reshape(-1), 1e-2, 0.7, 0.7
    workspace = np.zeros(1, value_net.workspace_dtype(samples["features"].shape[1], HIDDEN))
    weights = trainer.weights.astype(np.float64)
    average, first, second = weights.copy(), np.zeros_like(weights), np.zeros_like(weights)
    known = np.ones(len(weights), bool)  # gradients next to zero have the sign of a rounding error
    for step, batch in enumerate((indices[:2], indices[2:7], indices[1:4]), 1):
        gradient = np.zeros_like(trainer.net)
        for index in batch:
            optimizer.add_gradient(
                samples[index], trainer.net[0], play.scales, np.float32(weight), workspace[0], gradient[0]
            )
        mean = gradient.view(np.float32).astype(np.float64) / len(batch)
        known &= (mean == 0) | (abs(mean) > 1e-4)
        trainer.step(samples, batch, rate, weight, decay)
        first += 0.1 * (mean - first)
        second += 0.001 * (mean**2 - second)
        weights -= rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        average += max(1 - decay, 1 / (step + 1)) * (weights - average)
        np.testing.assert_allclose(trainer.weights[known], weights[known], atol=2e-4)
        np.testing.assert_allclose(trainer.averages[known], average[known], atol=2e-4)
    assert known.mean() > 0.5
    assert (first != 0).sum() > 100


def test_learning_from_the_same_positions_lowers_the_loss():
    play, trainer, indices = played()
    samples = play.samples.reshape(-1)
    losses = [trainer.step(samples, indices, 3e-3, 1.0, 0.9).sum() for _ in range(5 if SLOW else 40)]
    assert losses[-1] < losses[0]


# --- Runs ---


def metrics(folder):
    return [json.loads(line) for line in (folder / METRICS).read_text().splitlines()]


def without_time(folder):
    """The metrics without times, and without the periodic evaluation, which depends on time."""
    timed = ("seconds", AGAINST)
    return [
        {key: value for key, value in line.items() if not any(part in key for part in timed)}
        for line in metrics(folder)
    ]


def agent(folder):
    return (folder / AGENT).read_bytes()


needs_jit = pytest.mark.skipif(SLOW, reason="whole games by the official rules take half a minute without the compiler")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(TINY, folder)
    return folder


def test_the_learning_rate_and_the_blend_follow_the_run(monkeypatch):
    run, blends = TDRun(dataclasses.replace(TINY, updates=10, learning_rate=1.0, lr_hold=0.5, blend=0.5)), []
    monkeypatch.setattr(run.learner, "step", lambda *_: np.zeros(2))
    monkeypatch.setattr(run.generator, "play", lambda net, key, first, blend, *_: blends.append(blend) or np.arange(4))
    rates = [run.step()["learning_rate"] for _ in range(10)]
    assert rates == pytest.approx([*[1.0] * 6, *(1 - 0.95 * np.arange(1, 5) / 5)])
    assert blends == pytest.approx(0.05 * np.arange(10))


def test_the_agent_is_the_average_of_the_weights():
    run = TDRun(TINY)
    run.learner.averages += 1
    net, average = run.net(), run.learner.average[0]
    for name in value_net.TENSORS:
        held = getattr(net, name)
        assert np.array_equal(held, average[name][..., : held.shape[-1]])
        assert not np.array_equal(held, run.learner.net[0][name][..., : held.shape[-1]])


@needs_jit
def test_a_run_repeats_bit_for_bit(whole, tmp_path):
    train(TINY, tmp_path)
    assert agent(tmp_path) == agent(whole)
    assert without_time(tmp_path) == without_time(whole)
    assert [line["update"] for line in without_time(whole)] == list(range(1, TINY.updates + 1))


@needs_jit
def test_periodic_evaluation_changes_nothing_and_takes_no_learning_time(whole, tmp_path, monkeypatch):
    shares = [f"{AGAINST}{spec}" for spec in periodic_eval.REFERENCES]
    ends = metrics(whole)[0], metrics(whole)[-1]  # always with an evaluation
    assert all(0 <= line[name] <= 1 for line in ends for name in shares)
    evaluate, slept = periodic_eval.PeriodicEvaluator.evaluate, 0.5
    monkeypatch.setattr(periodic_eval.PeriodicEvaluator, "due", lambda _: True)
    monkeypatch.setattr(
        periodic_eval.PeriodicEvaluator, "evaluate", lambda *given: time.sleep(slept) or evaluate(*given)
    )
    start = time.monotonic()
    train(TINY, tmp_path)
    passed = time.monotonic() - start
    assert agent(tmp_path) == agent(whole)
    assert without_time(tmp_path) == without_time(whole)
    assert all(set(shares) <= set(line) for line in metrics(tmp_path))
    assert metrics(tmp_path)[-1]["seconds"] < passed - 3 * slept


@needs_jit
def test_threads_change_nothing(whole, tmp_path):
    train(dataclasses.replace(TINY, threads=1), tmp_path)
    assert agent(tmp_path) == agent(whole)


@needs_jit
def test_killed_between_saves_and_resumed_it_ends_in_the_same_weights(whole, tmp_path):
    code = (
        "import sys; from helpers import killed; from test_td import TINY, TDRun; "
        "from bombay_training.learners.train import resume, train; "
        "killed.save_every_second_update(TDRun); kill = killed.Kill(int(sys.argv[2]));"
    )
    folder = tmp_path / "run"
    start, resume = f"{code} train(TINY, sys.argv[1], kill)", f"{code} resume(sys.argv[1], kill)"
    killed.finish(folder, start, resume, np.random.default_rng(3))
    assert agent(folder) == agent(whole)
    assert without_time(folder) == without_time(whole)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"minutes": 0}, "minutes is 0; it must be above 0, at most 1e"),
        ({"players": (6,)}, r"players is \(6,\); it must be one or more of 2, 3, 4, 5, each once"),
        ({"players": (2, 2)}, r"players is \(2, 2\); it must be one or more of 2, 3, 4, 5, each once"),
        ({"hidden": 1025}, "hidden is 1025; it must be a whole number from 1 to 1024"),
        ({"games": 10**9}, "games is 1000000000; it must be a whole number from 1 to 16384"),
        ({"games": 1}, "games is 1; it must be at least 2, one for each player count"),
        ({"td_lambda": 1.5}, "td_lambda is 1.5; it must be from 0 to 1"),
        ({"minutes": "three"}, "minutes is 'three'; it must be above 0"),
        ({"minutes": True}, "minutes is True; it must be above 0"),
        ({"minutes": 10**400}, "minutes is 1000.*; it must be above 0"),
        ({"updates": 1.5}, "updates is 1.5; it must be a whole number from 1 to 1000000000"),
        ({"seed": 1.5}, "seed is 1.5; it must be a whole number from 0"),
        ({"players": 4}, "players is 4; it must be a list"),
        ({"players": "24"}, "players is '24'; it must be a list"),
        ({"board": 0}, "board is 0; it must be a path, or null"),
        ({"ema_decay": 1}, "ema_decay is 1; it must be below 1"),
        ({"epochs": 10**7}, "epochs is 10000000; it must be a whole number from 1 to 1000000"),
        ({"seed": -1}, "seed is -1; it must be a whole number from 0 to 9223372036854775807"),
        ({"threads": -1}, "threads is -1; it must be a whole number from 0 to 1000000"),
    ],
)
def test_settings_out_of_range_are_refused(changes, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        dataclasses.replace(TINY, **changes)


@needs_jit
def test_a_new_run_in_a_folder_replaces_the_old_one(whole, tmp_path):
    """Also if it is killed before it saves anything else; and a checkpoint fits only its own settings."""
    shutil.copytree(whole, tmp_path / "run")
    other = dataclasses.replace(TINY, seed=5, updates=1)
    train(other, tmp_path / "run")
    assert [line["update"] for line in without_time(tmp_path / "run")] == [1]
    assert agent(tmp_path / "run") != agent(whole)
    (tmp_path / "run" / SETTINGS).write_bytes((whole / SETTINGS).read_bytes())
    with pytest.raises(ValueError, match=r"it belongs to another run"):
        open_run(tmp_path / "run")


def test_metrics_newer_than_the_checkpoint_are_dropped(tmp_path):
    file = tmp_path / "metrics.jsonl"
    file.write_text('{"update": 1}\n{"update": 2}\n{"upd\n{"update": 5}\n{"update": 3}', encoding="utf-8")
    run_files.truncate_metrics(file, 3)
    assert file.read_text() == '{"update": 1}\n{"update": 2}\n{"update": 3}\n'


@needs_jit
def test_a_folder_without_a_run_cannot_be_resumed(whole, tmp_path):
    with pytest.raises(ValueError, match=r"the folder holds no run: .*settings.json: cannot be read"):
        open_run(tmp_path)
    (tmp_path / SETTINGS).write_bytes((whole / SETTINGS).read_bytes())
    assert updates_done(tmp_path) == 0  # killed before its first checkpoint
    (tmp_path / CHECKPOINT).write_bytes(b"torn")
    with pytest.raises(ValueError, match=r"checkpoint.safetensors: not a safetensors file"):
        open_run(tmp_path)
    (tmp_path / CHECKPOINT).write_bytes(agent(whole))
    with pytest.raises(ValueError, match=r"checkpoint.safetensors: its format is None; this program reads 'bombay-td-"):
        open_run(tmp_path)


@needs_jit
def test_some_seconds_of_learning_beat_an_untrained_net(tmp_path):
    """The untrained net plays about as well as the planner."""
    settings = TDSettings(players=(2,), games=64, hidden=HIDDEN, updates=30)
    beginner = TDRun(settings).net()
    net = ValueNet.load(train(settings, tmp_path))
    assert net.about["training"]["games"] == 30 * 64
    match = arena.one_vs_rest(Game(Rules.official(2)), ValueNetAgent(net), ValueNetAgent(beginner), 100, 1)
    assert match.of_agent(match.win_share).mean() > 0.57
