"""`zero`: the training targets of a game, the gradient, that a run repeats bit for bit, and that it learns."""

import dataclasses
import itertools
import json

import numba
import numpy as np
import pytest

from bombay_agents import turns
from bombay_agents.nets.value import evaluator as value_evaluator
from bombay_agents.nets.value import features
from bombay_agents.nets.value import net as value_net
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.nets.value.net import ValueNet
from bombay_agents.turns.evaluator import MARGIN_UNIT, NUM_OUTPUTS
from bombay_env import Game, Rules, batch, chance, streams
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY
from bombay_training.evaluation import arena
from bombay_training.learners import best_response
from bombay_training.learners.runs.run_files import METRICS
from bombay_training.learners.train import open_run, train
from bombay_training.learners.zero import ZeroRun, ZeroSettings, optimizer, self_play
from bombay_training.learners.zero.self_play import PlayOptions
from helpers.nets import HIDDEN, SECOND, SLOW, outcomes_of, random_net, rows_of, value_of
from helpers.runs import agent, shorten_quick_matches, without_time

shorten_quick_matches()
TINY = ZeroSettings(
    players=(2, 3),
    games=2 if SLOW else 6,
    hidden=HIDDEN,
    second=SECOND,
    batch_size=16,
    epochs=2,
    updates=1 if SLOW else 4,
    epsilon=0.2,
)
needs_jit = pytest.mark.skipif(SLOW, reason="whole games by the official rules take half a minute without the compiler")


def short_games():
    return [Game(Rules(n, sets=1, turns_per_set=2, actions_per_turn=2)) for n in (2, 3)]


def played(epsilon=0.3, td_lambda=0.6):
    """A `SelfPlay` after a few short games, the net that played them, and the indices of the samples."""
    games = short_games()
    play, num_sites = self_play.SelfPlay(games, 2, HIDDEN, SECOND), games[0].board.num_sites
    trainer = optimizer.Trainer(features.first_rows(num_sites), features.num_rows(num_sites), HIDDEN, SECOND, seed=1)
    options = PlayOptions(np.float32(2), epsilon, np.float32(td_lambda))
    return play, trainer, play.play(trainer.net, 5, 0, options)


def test_every_decision_of_all_seats_is_counted():
    """The same games are played again, decision by decision, by an agent with the same net."""
    play, trainer, _ = played(epsilon=0.0)
    about = {"rules": None, "board": None}
    num_sites, count = short_games()[0].board.num_sites, 0
    net = ValueNet.of_record(trainer.net, features.digest(num_sites), 2.0, about)
    for game in short_games():
        agent = ValueNetAgent(net, rounds=0, force=True)
        index = (np.arange(2) * MAX_PLAYERS + game.num_players - 1).astype(np.uint64)
        states = game.new_states(chance.lane_words(np.full(2, 5, np.uint64), streams.SELF_PLAY_DEALS, index))
        while not game.is_terminal(states).all():
            running = ~game.is_terminal(states)
            count += int(running.sum())
            going = states[running]
            game.step(going, agent.act(game, going, np.random.default_rng(0)))
            states[running] = going
    assert play.decisions == count
    play.play(trainer.net, 5, 2, PlayOptions(np.float32(2), 1.0, np.float32(0.6)))
    assert play.decisions >= 2 * (2 + 3) * 2, "at least one for each turn of the last games"


# --- The training targets of a game ---


def hand_made(expected, explored=(), best=0.0):
    """A game of two seats that alternate; each mover expects `expected` for itself, and the opposite for the other."""
    samples = np.zeros(len(expected), self_play.sample_dtype(24))
    for index, value in enumerate(expected):
        samples[index]["seat"] = index % 2
        samples[index]["margin"][:2] = samples[index]["share"][:2] = value, -value
        samples[index]["explored"] = index in explored
        samples[index]["best_margin"][:2] = samples[index]["best_share"][:2] = best, -best
    return samples


def targets(samples, td_lambda, result=1.0):
    """The targets of the movers if seat 0 has `result` at the end and seat 1 the opposite."""
    workspace = np.zeros(1, value_net.workspace_dtype(4, 4))
    workspace["margin"][0, :2] = workspace["share"][0, :2] = result, -result
    self_play.set_targets(2, np.float32(td_lambda), workspace[0], samples, len(samples))
    assert np.array_equal(samples["margin"], samples["share"])
    assert np.allclose(samples["margin"][:, 1], -samples["margin"][:, 0])
    return samples["margin"][:, 0].tolist()


def test_lambda_mixes_later_values_with_the_result():
    assert targets(hand_made([0.3, -0.2, 0.5]), 1) == [1, -1, 1]
    assert targets(hand_made([0.25, -0.5, 0.75]), 0) == [0.5, -0.75, 1]
    first = 0.5 * 0.5 + 0.5 * (0.5 * 0.75 + 0.5 * 1)
    assert targets(hand_made([0.25, -0.5, 0.75]), 0.5) == [first, -0.5 * 0.75 - 0.5, 1]


def test_targets_before_an_exploring_turn_use_the_best_outcome():
    """Seat 1 explored: the target of seat 0 is the value of seat 1's best outcome; what followed has no effect."""
    assert targets(hand_made([0.25, -0.5, 0.75], explored=(1,), best=-0.125), 0.9)[0] == 0.125


def test_samples_hold_the_ends_of_turns_with_the_results_of_all_seats():
    play, _, indices = played(td_lambda=1.0, epsilon=0.0)
    samples = play.samples.reshape(-1)[indices]
    assert set(samples["num_players"].tolist()) == {2, 3}
    for n in (2, 3):
        some = samples[samples["num_players"] == n]
        assert len(some) == 2 * (2 * n - 1)  # the last turn of a game ends it, and gives none
        assert np.allclose(some["margin"][:, :n].sum(axis=1), 0, atol=1e-5)
        assert np.allclose(some["share"][:, :n].sum(axis=1), 1, atol=1e-5)
        assert set(some["seat"].tolist()) == set(range(n))
    finals = {tuple(np.roll(sample["margin"][:2], sample["seat"])) for sample in samples[samples["num_players"] == 2]}
    assert len(finals) <= 2  # of two games


def expected_of(net, sample, workspace):
    """Margins and shares that a net expects of a sample, as the optimizer computes them."""
    accumulator = net["first_bias"][0].copy()
    value_net.add_rows(net[0], accumulator, sample["rows"])
    n = int(sample["num_players"])
    value_net.forward(net[0], n, accumulator, sample["final"], sample["turns_left"], workspace[0])
    return workspace["margin"][0].copy(), workspace["share"][0].copy()


def test_the_optimizer_expects_of_a_sample_what_play_expected():
    """With λ = 0 a seat's target is what the next sample expects for it: by the same rows, baseline and temperature."""
    play, trainer, _ = played(epsilon=0.0, td_lambda=0.0)
    compared = 0
    for number, game in enumerate(play.games):
        n = game.num_players
        for samples, count in zip(play.samples[number], play.counts[number], strict=True):
            for before, after in itertools.pairwise(samples[:count]):
                margin, share = expected_of(trainer.net, after, trainer.workspaces[:1])
                seats = (before["seat"] + np.arange(n)) % n  # of the entries of `before`
                places = (seats - after["seat"]) % n
                assert before["margin"][:n] == pytest.approx(margin[places], abs=1e-3)  # play rounds the first layer
                assert before["share"][:n] == pytest.approx(share[places], abs=1e-3)
                compared += 1
    assert compared > 10


@pytest.mark.parametrize("tensor", ["first", "last_bias"])
def test_games_are_played_by_the_net_as_it_is_now(tensor):
    play, trainer, indices = played(epsilon=0.0)
    before = play.samples.reshape(-1)[indices].copy()
    trainer.net[tensor][0].flat[::7] += 1
    changed = play.samples.reshape(-1)[play.play(trainer.net, 5, 0, PlayOptions(np.float32(2), 0.0, np.float32(0.6)))]
    assert not np.array_equal(before["margin"], changed["margin"])


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_game_is_marked_and_learned_from_turn_by_turn(epsilon):
    """Games of several sets are played again by hand: who explores, what is drawn, what is kept of the best, and the targets.

    The turns that end a set or the game are among them.
    """
    games, td_lambda = [Game(Rules(n, sets=3, turns_per_set=1, actions_per_turn=1)) for n in (2, 3)], 0.6
    num_sites = games[0].board.num_sites
    trainer = optimizer.Trainer(features.first_rows(num_sites), features.num_rows(num_sites), HIDDEN, SECOND, seed=1)
    play = self_play.SelfPlay(games, 3, HIDDEN, SECOND)
    play.play(trainer.net, 5, 7, PlayOptions(np.float32(2), epsilon, np.float32(td_lambda)))
    marks = []
    for place, game in enumerate(games):
        n, evaluator = game.num_players, value_evaluator.new_evaluator(game, random_net(game))
        evaluator = evaluator._replace(net=play.quantized(trainer.net))
        for number in range(3):
            index, samples = np.uint64((7 + number) * MAX_PLAYERS + n - 1), play.samples[place, number]
            seed = np.uint64(chance.random_word(np.uint64(5), streams.SELF_PLAY_DEALS, index))
            states, move, expected = np.asarray(game.new_states([int(seed)])), 0, []
            while not game.is_terminal(states)[0]:
                found = outcomes_of(game, evaluator, states[0])
                chosen = best = int(found.values.argmax())
                word = np.uint64(move)
                explores = int(chance.random_word(seed, streams.EXPLORES, word)) < epsilon * 2**64
                if explores and found.states[best]["current_player"] != NOBODY:
                    chosen = int(chance.random_word(seed, streams.EXPLORED, word)) % len(found.nodes)
                expected.append(
                    (int(states[0]["current_player"]), found.outputs[chosen], found.outputs[best], chosen != best)
                )
                ends_set = found.due[chosen] == turns.RESTOCK_DUE
                if not (over := found.states[chosen]["current_player"] == NOBODY):
                    sample = samples[move]
                    assert (sample["seat"], sample["explored"]) == (expected[-1][0], chosen != best)
                    value_of(game, evaluator, found.states[chosen], int(sample["seat"]))
                    assert sample["rows"].tolist() == rows_of(evaluator).tolist()
                    marks.append((bool(sample["explored"]), bool(ends_set)))
                states = found.states[chosen : chosen + 1].copy()
                if ends_set:
                    batch.restock(states[0], game.tables[0], np.zeros(4, np.int64))
                move += 1
            assert over
            assert play.counts[place, number] == move - 1 == n * 3 - 1
            assert_targets(samples, expected[:-1], game.results(states)[0], td_lambda)
    assert set(marks) == {(explored, ends) for explored in (True, False) for ends in (True, False)}


def assert_targets(samples, expected, result, td_lambda):
    """Assert that these are λ-returns towards a result; where the mover explored, they begin anew with its best outcome."""
    n = len(result["final"])
    later = np.stack([(result["final"] - result["final"].mean()) / MARGIN_UNIT, result["win_share"]])  # by seat
    for (seat, outputs, best, explored), sample in reversed(list(zip(expected, samples, strict=False))):
        seats = (seat + np.arange(n)) % n  # of the entries of a sample
        assert np.stack([sample["margin"][:n], sample["share"][:n]]) == pytest.approx(later[:, seats], abs=1e-4)
        own, most = (np.stack([part[:n], part[MAX_PLAYERS : MAX_PLAYERS + n]]) for part in (outputs, best))
        before = later.copy()
        later[:, seats] = most if explored else (1 - td_lambda) * own + td_lambda * before[:, seats]


# --- Learning ---


def loss_of(samples, net, weight, workspace):
    """The loss, summed over samples."""
    total = 0.0
    for sample in samples:
        n = sample["num_players"]
        margin, share = (part[:n].astype(float) for part in expected_of(net, sample, workspace))
        total += weight / 2 * ((margin - sample["margin"][:n]) ** 2).sum() - (sample["share"][:n] * np.log(share)).sum()
    return total


def test_the_gradient_is_that_of_the_loss():
    """Compared with finite differences, for some weights of each part of the net."""
    play, trainer, indices = played()
    samples, some, weight = play.samples.reshape(-1), indices[:3], 0.7
    trainer.net["last"] *= 40
    workspace = np.zeros(1, value_net.workspace_dtype(HIDDEN, SECOND))
    before = trainer.net.copy()
    trainer.step(samples, some, 0.0, weight, 0.0)
    assert trainer.net.tobytes() == before.tobytes()  # a rate of 0 changes nothing
    tail = {name: trainer.tails[name].sum(axis=0) for name in trainer.tails.dtype.names}
    found = {**tail, "first": trainer.arrays["first"][4]}
    step, checked = 5e-3, 0
    for name in value_net.TENSORS:
        for first, last in ((0, 5), (5, 10)) if name.startswith("last") else ((0, None),):
            steep = np.abs(found[name][..., first:last])
            where = list(np.unravel_index(steep.argmax(), steep.shape))
            where[-1] += first
            up, down = trainer.net.copy(), trainer.net.copy()
            up[name][0][tuple(where)] += step
            down[name][0][tuple(where)] -= step
            higher, lower = (loss_of(samples[some], net, weight, workspace) for net in (up, down))
            slope = (higher - lower) / (2 * step)
            assert abs(slope) > 0.005, "the slope is too small for a comparison"
            assert found[name][tuple(where)] == pytest.approx(slope, rel=0.08), (name, where)
            checked += 1
    assert checked == 8


def flat(record):
    return record.view(np.float32).reshape(-1).astype(np.float64)


def gradient_of(net, samples, batch, weight):
    """The mean gradient of a batch, (P,), by an optimizer of its own that takes no step."""
    num_sites = 24
    probe = optimizer.Trainer(features.first_rows(num_sites), features.num_rows(num_sites), HIDDEN, SECOND, seed=0)
    probe.net[:] = net
    probe.step(samples, batch, 0.0, weight, 0.0)
    gradient = np.zeros(1, net.dtype)
    gradient["first"] = probe.arrays["first"][4]
    for name in probe.tails.dtype.names:
        gradient[name] = probe.tails[name].sum(axis=0)
    return flat(gradient) / len(batch)


def test_steps_are_those_of_adam_and_the_average_follows():
    """Compared with the formulas in double precision, for batches of different sizes."""
    play, trainer, indices = played()
    samples, rate, weight, decay = play.samples.reshape(-1), 1e-2, 0.7, 0.7
    weights = flat(trainer.net)
    average, first, second = weights.copy(), np.zeros_like(weights), np.zeros_like(weights)
    known = np.ones(len(weights), bool)  # gradients next to zero have the sign of a rounding error
    for step, some in enumerate((indices[:2], indices[2:7], indices[1:4]), 1):
        mean = gradient_of(trainer.net, samples, some, weight)
        known &= (mean == 0) | (abs(mean) > 1e-4)
        trainer.step(samples, some, rate, weight, decay)
        first += 0.1 * (mean - first)
        second += 0.001 * (mean**2 - second)
        weights -= rate * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        average += max(1 - decay, 1 / (step + 1)) * (weights - average)
        np.testing.assert_allclose(trainer.weights[known], weights[known], atol=2e-4)
        np.testing.assert_allclose(trainer.averages[known], average[known], atol=2e-4)
    tail = trainer.tails.dtype.itemsize // 4
    assert known[-tail:].mean() > 0.5
    assert (first[:-tail] != 0).sum() > 100


# --- Runs ---


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(TINY, folder)
    return folder


def test_the_learning_rate_exploring_and_lambda_follow_the_run(monkeypatch):
    rates = {"learning_rate": 1.0, "lr_warmup": 0.2, "lr_hold": 0.5}
    play = {"epsilon": 0.3, "final_epsilon": 0.1, "td_lambda": 0.5, "final_td_lambda": 0.9}
    run, played_by = ZeroRun(dataclasses.replace(TINY, updates=10, **rates, **play)), []
    firsts: list[int] = []
    monkeypatch.setattr(run.learner, "step", lambda *_: np.zeros(2))
    monkeypatch.setattr(
        run.generator,
        "play",
        lambda net, key, first, options: firsts.append(first) or played_by.append(options) or np.arange(4),
    )
    rates = [run.step()["learning_rate"] for _ in range(10)]
    assert rates == pytest.approx([0.05, 0.525, *[1.0] * 4, *(1 - 0.95 * np.arange(1, 5) / 5)])
    assert firsts == [run.games_each * number for number in range(10)]  # other games in each update
    assert [options.epsilon for options in played_by] == pytest.approx(0.3 - 0.02 * np.arange(10))
    assert [options.td_lambda for options in played_by] == pytest.approx(0.5 + 0.04 * np.arange(10))


def test_the_agent_is_the_average_of_the_weights():
    run = ZeroRun(TINY)
    run.learner.averages += 1
    net = run.net()
    assert np.array_equal(net.first, run.learner.average["first"][0])
    assert np.array_equal(net.last, run.learner.average["last"][0, :, :NUM_OUTPUTS])
    assert not np.array_equal(net.first, run.learner.net["first"][0])


def test_a_run_starts_from_the_net_of_an_agent(whole):
    run = ZeroRun(dataclasses.replace(TINY, start=f"net:path={whole / 'agent.safetensors'},force=true"))
    run.initialize()
    assert run.learner.net.tobytes() == run.learner.average.tobytes() == run.net().record().tobytes()
    assert run.learner.net.tobytes() == ValueNet.load(whole / "agent.safetensors").record().tobytes()
    assert run.net().about["training"]["start"] == run.settings.start
    assert "start" not in ZeroRun(TINY).net().about["training"]


def test_a_run_needs_the_net_that_it_starts_from_only_at_the_beginning(whole, tmp_path):
    net = tmp_path / "start.safetensors"
    net.write_bytes((whole / "agent.safetensors").read_bytes())
    settings = dataclasses.replace(TINY, start=f"net:path={net},force=true")
    run = ZeroRun(settings)
    run.create(tmp_path / "run")
    begun = run.learner.net.tobytes()
    run.close()
    net.unlink()
    resumed = open_run(tmp_path / "run")
    assert resumed.learner.net.tobytes() == begun
    resumed.step()
    resumed.close()
    with pytest.raises(ValueError, match="No such file"):
        ZeroRun(settings).create(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert best_response.games_of(f"net:path={tmp_path / 'run' / 'agent.safetensors'},force=true") is None


@needs_jit
@pytest.mark.skipif(numba.get_num_threads() < 2, reason="with one thread there is nothing to compare")
def test_a_run_repeats_bit_for_bit_with_any_number_of_threads(whole, tmp_path):
    train(dataclasses.replace(TINY, threads=1), tmp_path)
    assert agent(tmp_path) == agent(whole)
    assert without_time(tmp_path) == without_time(whole)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hidden": 6}, "hidden is 6; it must be a whole number from 4 to 1024, a multiple of 4"),
        ({"games": 1}, "games is 1; it must be at least 2, one for each number of players"),
        ({"final_epsilon": 1.5}, "final_epsilon is 1.5; it must be from 0 to 1"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast'; it must be above 0"),
    ],
)
def test_settings_out_of_range_are_refused(changes, reason):
    with pytest.raises(ValueError, match=f"^{reason}"):
        dataclasses.replace(TINY, **changes)


@needs_jit
def test_it_learns_from_the_rules_alone(tmp_path):
    """After some seconds it beats `greedy` now and then. An untrained net hardly ever does; see `test_value_net.py`."""
    settings = ZeroSettings(players=(2,), games=64, updates=60, epsilon=0.1)
    net = ValueNet.load(train(settings, tmp_path))
    last = json.loads((tmp_path / METRICS).read_text().splitlines()[-1])
    assert (net.about["training"]["games"], net.about["training"]["decisions"]) == (60 * 64, last["decisions"])
    match = arena.one_vs_rest(Game(Rules.official(2)), ValueNetAgent(net, rounds=0), "greedy", 50, 1)
    assert match.of_agent(match.win_share).mean() > 0.2
