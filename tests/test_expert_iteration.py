"""Expert iteration: targets come from rollouts, the expert does not see the seed, and runs repeat."""

import dataclasses
from pathlib import Path

import numba
import numpy as np
import pytest

from bombay_agents.nets.value_net import ValueNet
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_env import Game, Rules
from bombay_training.learners import expert_iteration
from bombay_training.learners.expert_iteration import (
    ExpertIterationRun,
    ExpertIterationSettings,
    ExpertPlay,
    SelfPlayWorker,
)
from bombay_training.learners.run_files import AGENT
from bombay_training.learners.td import TDRun, TDSettings
from bombay_training.learners.train import open_run, resume, train
from helpers.nets import HIDDEN

SLOW = numba.config.DISABLE_JIT
EACH = 2 if SLOW else 4  # games for each player count
ROLLOUTS = 8 if SLOW else 24


def short_games():
    return [Game(Rules(n, sets=2, turns_per_set=1, actions_per_turn=2)) for n in ((2,) if SLOW else (2, 3))]


def student(seed=1):
    """The player of an untrained net."""
    run = TDRun(TDSettings(players=(2, 3), games=2, hidden=HIDDEN, updates=1, seed=seed))
    net = run.net()
    return ValueNetAgent(dataclasses.replace(net, about={**net.about, "training": {"games": 1000}}), force=True)


@pytest.fixture
def start(tmp_path):
    """The spec of that net."""
    student().net.save(tmp_path / "start.safetensors")
    return f"net:path={tmp_path / 'start.safetensors'}"


def played(td_lambda=0.7, epsilon=0.3, first=0):
    """The samples of a few short games."""
    agent = student()
    play = ExpertPlay(short_games(), EACH, agent, ROLLOUTS)
    indices = play.play(agent.net.record(), 5, first, 0.0, epsilon, td_lambda)
    return play, play.samples.reshape(-1)[indices]


def test_with_lambda_1_positions_learn_the_result():
    play, samples = played(td_lambda=1.0, epsilon=0.0)
    for number, game in enumerate(play.games):
        n = game.num_players
        for lane, count in enumerate(play.counts[number]):
            mine = play.samples[number, lane, :count]
            assert count == n + 1, (
                "a turn of each seat, and the restock; in the last turns the game is over at the leaf"
            )
            by_seat = [np.roll(sample["margin"][:n], sample["seat"]) for sample in mine]
            assert (np.ptp(by_seat, axis=0) < 1e-6).all()
    assert np.allclose(samples["share"].sum(axis=1), 1, atol=1e-5)


def test_the_mean_of_the_rollouts_is_the_target_of_the_turn_before():
    """With λ = 0 a position learns what is expected at the next one: the mean of its rollouts, from its own perspective."""
    game, agent = short_games()[0], student()
    n = game.num_players
    worker = SelfPlayWorker(game, agent, ROLLOUTS)
    found, inner = [], worker.choose

    def choose(*args):
        place, best = inner(*args)
        candidates, seat = worker.expert.candidates, int(worker.state["current_player"][0])
        found.append(np.roll(candidates.total[place, :n] / candidates.num_rollouts[place], -seat))
        return place, best

    worker.choose = choose
    samples = np.zeros(9, ExpertPlay([game], 1, agent, ROLLOUTS).samples.dtype)
    count = worker.play(np.uint64(3), 0.0, 0.0, samples)
    assert count == n + 1
    for index in range(n - 1):  # the last turn of the set is followed by a restock, which has no rollouts
        shift = (int(samples[index]["seat"]) - int(samples[index + 1]["seat"])) % n
        assert samples[index]["share"][:n] == pytest.approx(np.roll(found[index + 1], -shift), abs=1e-6)
    assert [len(shares) for shares in found] == [n] * 2 * n


@pytest.mark.parametrize("rounds", [1, 2])
def test_samples_look_ahead_one_round_however_far_the_student_does(rounds):
    worker = SelfPlayWorker(short_games()[0], ValueNetAgent(student().net, force=True, rounds=rounds), ROLLOUTS)
    assert worker.workspace["turn"]["evaluation"]["features"]["lookahead"]["rounds"].tolist() == [1]


def test_exploring_turns_learn_from_the_best_candidate_and_the_last_turn_does_not_explore():
    game, agent = short_games()[-1], student()
    n = game.num_players
    worker = SelfPlayWorker(game, agent, ROLLOUTS)
    turns_taken, inner = [], worker.choose

    def choose(*args):
        before = worker.state[0].copy()
        place, best = inner(*args)
        candidates, seat = worker.expert.candidates, int(before["current_player"])
        found = np.roll(candidates.total[best, :n] / candidates.num_rollouts[best], -seat)
        turns_taken.append((before, place != best, found, candidates.outcomes[best].copy()))
        return place, best

    worker.choose = choose
    samples = np.zeros(9, ExpertPlay([game], 1, agent, ROLLOUTS).samples.dtype)
    explored = 0
    for seed in range(1 if SLOW else 4):
        turns_taken.clear()
        assert worker.play(np.uint64(seed), 1.0, 0.5, samples) == n + 1
        assert len(turns_taken) == 2 * n
        for index in range(n):
            assert samples[index]["explored"] == turns_taken[index][1]
            if turns_taken[index][1]:
                explored += 1
                assert samples[index]["best_share"][:n] == pytest.approx(turns_taken[index][2], abs=1e-6)
        states = [before for before, *_ in turns_taken[n + 1 :]] + [worker.state[0].copy()]
        for state, (_, _, _, outcome) in zip(states, turns_taken[n:], strict=True):
            state["seed"] = 0
            assert state.tobytes() == outcome.tobytes(), "nobody explores in its last turn"
    assert explored > 0


@pytest.mark.skipif(SLOW, reason="so many games by rollouts take the compiler; the tests above play fewer")
@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="it compares one thread with two, and there is one")
def test_games_repeat_on_any_number_of_threads_and_later_games_differ():
    _, samples = played()
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        _, again = played()
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(samples, again)
    _, others = played(first=EACH)
    assert not np.array_equal(samples["expected"][:3], others["expected"][:3])


def test_the_expert_sees_no_seed():
    game = short_games()[0]
    worker = SelfPlayWorker(game, student(), ROLLOUTS)
    for seed in (1, 2):
        worker.state[:] = game.new_states([1])
        worker.state["seed"] = seed
        asked = []
        worker.expert.best_candidate = lambda game, state, key, asked=asked: asked.append(state.copy()) or 0
        worker.choose(np.uint64(3), np.uint64(0), 0.0)
        assert asked[0]["seed"] == 0


@pytest.mark.skipif(SLOW, reason="whole games by the official rules are slow without the compiler")
def test_a_run_starts_from_the_net_and_repeats_bit_for_bit_when_resumed(start, tmp_path):
    settings = expert_iteration.settings_for(start, players=(2,), games=2, rollouts=8, updates=2, epochs=1)
    assert settings.hidden == HIDDEN
    first = ExpertIterationRun(settings)
    assert np.array_equal(first.net().first, student().net.first)
    whole = ValueNet.load(train(settings, tmp_path / "whole"))
    assert not np.array_equal(whole.first, student().net.first)
    assert whole.about["training"]["games"] == 1000 + 4
    run = ExpertIterationRun(settings)
    run.step()
    run.create(tmp_path / "cut")
    Path(start.removeprefix("net:path=")).rename(tmp_path / "elsewhere")
    run.save(tmp_path / "cut")
    with pytest.raises(ValueError, match=r"cannot be made: FileNotFoundError: .*start\.safetensors"):
        open_run(tmp_path / "cut")
    student(seed=2).net.save(tmp_path / "start.safetensors")
    with pytest.raises(ValueError, match=r"is not a checkpoint of the run that settings\.json beside it describes"):
        open_run(tmp_path / "cut")
    (tmp_path / "elsewhere").rename(tmp_path / "start.safetensors")
    resume(tmp_path / "cut")
    resumed = ValueNet.load(tmp_path / "cut" / AGENT)
    for name in ("first", "first_bias", "last", "last_bias"):
        assert np.array_equal(getattr(whole, name), getattr(resumed, name))


def test_unsuitable_settings_are_refused(start):
    with pytest.raises(ValueError, match=r"^rollouts is 0; it must be a whole number from 1 to \d+$"):
        expert_iteration.settings_for(start, rollouts=0)
    with pytest.raises(ValueError, match=r"^start is 'greedy'; it must be a value-net agent, such as td or net:path="):
        expert_iteration.settings_for("greedy")
    with pytest.raises(ValueError, match=rf"^hidden is 16; the net of net:path=.* has {HIDDEN}$"):
        ExpertIterationRun(ExpertIterationSettings(start=start, hidden=16))
    with pytest.raises(ValueError, match="was not trained on these rules"):
        ExpertIterationRun(expert_iteration.settings_for(start, players=(4,)))
