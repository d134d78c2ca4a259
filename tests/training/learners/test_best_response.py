"""Best response: what is learned from, that threads change nothing, where it starts, and that runs repeat."""

import dataclasses
import io

import numba
import numpy as np
import pytest
from rich.console import Console

from bombay_agents import make
from bombay_agents.nets.value import features
from bombay_agents.nets.value.net import ValueNet
from bombay_env import Game, Rules, streams
from bombay_env.agent import AgentFault
from bombay_training import rich_tables
from bombay_training.cli.training import learn
from bombay_training.learners import best_response
from bombay_training.learners.best_response import (
    BestResponseRun,
    BestResponseSettings,
    FrozenOpponent,
    ResponsePlay,
)
from bombay_training.learners.runs.run_files import AGENT
from bombay_training.learners.train import open_run, resume, train
from bombay_training.learners.zero import ZeroRun, ZeroSettings, optimizer
from bombay_training.learners.zero.self_play import PlayOptions, SelfPlay
from helpers.nets import HIDDEN, SECOND, SLOW
from helpers.runs import agent, shorten_quick_matches, updates_done
from helpers.variants import larger_board

shorten_quick_matches()
EACH = 2 if SLOW else 6  # games for each player count
WIDTHS = {"hidden": HIDDEN, "second": SECOND}
TINY = BestResponseSettings(
    players=(2, 3), games=4, batch_size=16, updates=3, epsilon=0.2, victim="random-turn", **WIDTHS
)
needs_jit = pytest.mark.skipif(SLOW, reason="whole games by the official rules take half a minute without the compiler")


def short_games():
    return [Game(Rules(n, sets=2, turns_per_set=1, actions_per_turn=2)) for n in (2, 3)]


def net(seed=1):
    """An untrained net whose file claims that it learned from 1000 games."""
    run = ZeroRun(ZeroSettings(players=(2, 3), games=2, updates=1, seed=seed, **WIDTHS))
    made = run.net()
    return dataclasses.replace(made, about={**made.about, "training": {"games": 1000}})


@pytest.fixture
def victim(tmp_path):
    """The spec of that net."""
    net().save(tmp_path / "victim.safetensors")
    return f"net:path={tmp_path / 'victim.safetensors'},force=true"


def played(victim, games, td_lambda=1.0, epsilon=0.0, first=0):
    """The samples of a few short games."""
    play, num_sites = ResponsePlay(games, EACH, HIDDEN, SECOND, FrozenOpponent(victim)), games[0].board.num_sites
    trainer = optimizer.Trainer(features.first_rows(num_sites), features.num_rows(num_sites), HIDDEN, SECOND, seed=1)
    indices = play.play(trainer.net, 5, first, PlayOptions(np.float32(2), epsilon, np.float32(td_lambda)))
    return play, play.samples.reshape(-1)[indices]


def test_all_turns_are_learned_from():
    games = short_games()
    play, samples = played("random", games)
    for number, game in enumerate(games):
        n = game.num_players
        for lane, count in enumerate(play.counts[number]):
            some = play.samples[number, lane, :count]
            assert np.array_equal(some["seat"][:n], np.arange(n)), "the first game turn begins with seat 0"
            assert 2 * n - 1 == count, "two turns a seat, of which the last ends the game"
            by_seat = [np.roll(sample["margin"][:n], sample["seat"]) for sample in some]
            assert (np.ptp(by_seat, axis=0) < 1e-6).all(), "with λ = 1 all targets are the result"
    assert np.allclose(samples["margin"].sum(axis=1), 0, atol=1e-5)
    assert np.allclose(samples["share"].sum(axis=1), 1, atol=1e-5)


def test_the_learner_has_every_seat_in_turn_and_alone_explores():
    games = short_games()
    play, _ = played("random", games, epsilon=1.0)
    explored = set()
    for number, game in enumerate(games):
        for lane, count in enumerate(play.counts[number]):
            some = play.samples[number, lane, :count]
            seats = set(some["seat"][some["explored"] != 0].tolist())
            assert seats <= {lane % game.num_players}
            explored |= seats
    assert len(explored) > 1


def test_against_itself_a_net_learns_from_the_same_samples_as_in_self_play(victim, monkeypatch):
    monkeypatch.setattr(streams, "RESPONSE_DEALS", streams.SELF_PLAY_DEALS)
    games, options = short_games(), PlayOptions(np.float32(2), 0.0, np.float32(0.5))
    record = make(victim).net.record()
    found = []
    for play in (
        SelfPlay(games, EACH, HIDDEN, SECOND),
        ResponsePlay(games, EACH, HIDDEN, SECOND, FrozenOpponent(f"{victim},rounds=0")),
    ):
        found.append(play.samples.reshape(-1)[play.play(record, 5, 0, options)])
    alone, against_itself = found
    for name in ("rows", "final", "turns_left", "seat", "num_players", "explored", "margin", "share"):
        assert np.array_equal(alone[name], against_itself[name]), name


@needs_jit
@pytest.mark.skipif(numba.get_num_threads() < 2, reason="with one thread there is nothing to compare")
def test_threads_change_nothing(victim):
    """Neither do other copies of the victim: each decides for its own lanes."""
    before, found = numba.get_num_threads(), []
    for threads in (1, before):
        numba.set_num_threads(threads)
        try:
            found.append(played(victim, short_games(), epsilon=0.3)[1])
        finally:
            numba.set_num_threads(before)
    assert np.array_equal(*found)


class Raising:
    name = "raising"

    def act(self, game, states, rng):
        raise ZeroDivisionError("it divided\nby zero")


def test_a_failing_victim_is_reported_in_one_line_and_before_there_is_a_folder(tmp_path):
    spec, reason = "test_best_response:Raising", "it raised ZeroDivisionError: it divided by zero "
    settings = dataclasses.replace(TINY, victim=spec)
    for start, name in (
        (lambda: played(spec, short_games()), f"victim '{spec}'"),
        (lambda: train(settings, tmp_path / "run"), f"agent '{spec}' with . players"),
        (lambda: learn(BestResponseRun(settings), tmp_path / "run"), f"agent '{spec}' with . players"),
    ):
        with pytest.raises(AgentFault, match=rf"^{name}: {reason}\([^\n]*$"):
            start()
    assert not (tmp_path / "run").exists()


def test_the_closing_table_shows_a_victim_in_brackets():
    table = rich_tables.fitting_table("against [/victim]", {"agent": ["[/victim]"]}, ["agent"], [], None)
    page = io.StringIO()
    Console(file=page, width=80).print(table)
    assert page.getvalue().count("[/victim]") == 2


# --- Settings ---


def test_the_response_takes_widths_and_games_from_a_net(victim):
    settings = best_response.settings_for(victim, players=(2, 3), games=101)
    assert (settings.hidden, settings.second, settings.updates) == (HIDDEN, SECOND, 10)  # of 100 games
    assert settings.start == victim
    assert best_response.settings_for(victim, players=(2, 3), minutes=2.0).updates is None
    other = best_response.settings_for("greedy")
    assert (other.start, other.updates) == ("zero", None)
    fresh = best_response.settings_for("greedy", "")
    assert (fresh.hidden, fresh.learning_rate) == (ZeroSettings.hidden, ZeroSettings.learning_rate)
    assert other.learning_rate < fresh.learning_rate


def initialized(settings):
    """The net in training of a new run."""
    run = BestResponseRun(settings)
    run.initialize()
    return run.learner


def test_a_response_starts_from_the_weights_of_a_net(victim):
    settings = best_response.settings_for(victim, players=(2, 3), updates=1)
    begun = initialized(settings)
    held = ValueNet.load(victim.removeprefix("net:path=").removesuffix(",force=true")).record()
    assert begun.net.tobytes() == begun.average.tobytes() == held.tobytes()
    other = initialized(dataclasses.replace(settings, start=""))
    assert not np.array_equal(other.net, begun.net)
    with pytest.raises(ValueError, match=f"has other widths; give hidden={HIDDEN}, second={SECOND}$"):
        initialized(dataclasses.replace(settings, hidden=16))


def test_a_net_for_another_number_of_sites_is_not_started_from(tmp_path):
    larger = tmp_path / "larger.toml"
    larger.write_text(larger_board(), encoding="utf-8")
    settings = best_response.settings_for("greedy", players=(2,), board=str(larger), updates=1)
    with pytest.raises(ValueError, match=r"^the net of start, 'zero', is not for boards with 25 sites$"):
        initialized(settings)


def test_a_victim_that_has_not_learned_the_rules_is_refused(victim, tmp_path):
    """Other unsuitable victims and starts are in `test_cli.py`."""
    with pytest.raises(ValueError, match=r"^victim is ''; it must be the spec of an agent"):
        BestResponseSettings()
    four = dataclasses.replace(TINY, players=(4,), victim=victim.removesuffix(",force=true"))
    with pytest.raises(ValueError, match="was not trained on these rules for 4 players"):
        train(four, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# --- Runs ---


@needs_jit
def test_a_resumed_response_ends_in_the_same_weights(tmp_path):
    train(TINY, tmp_path / "whole")
    run = BestResponseRun(TINY)
    run.create(tmp_path / "cut")
    run.step()
    run.save()
    run.close()
    assert updates_done(tmp_path / "cut") == 1
    resume(tmp_path / "cut")
    assert agent(tmp_path / "cut") == agent(tmp_path / "whole")
    about = ValueNet.load(tmp_path / "whole" / AGENT).about["training"]
    assert (about["victim"], about["games"]) == ("random-turn", 12)


@needs_jit
def test_another_victim_with_the_same_spec_makes_another_run(victim, tmp_path):
    run = BestResponseRun(dataclasses.replace(TINY, victim=victim))
    run.create(tmp_path / "run")
    run.close()
    assert updates_done(tmp_path / "run") == 0
    net(seed=2).save(tmp_path / "victim.safetensors")
    with pytest.raises(ValueError, match=r"it belongs to another run"):
        open_run(tmp_path / "run")
