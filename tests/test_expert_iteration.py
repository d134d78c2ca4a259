"""Expert iteration: targets come from searches and results, the expert does not see the seed, and runs repeat."""

import dataclasses
from pathlib import Path

import numba
import numpy as np
import pytest

from bombay_agents.nets.zero.net import ZeroNet
from bombay_env import Game, Rules, chance
from bombay_env.rules import MAX_PLAYERS
from bombay_training.learners import expert_iteration
from bombay_training.learners.expert_iteration import ExpertIterationRun, ExpertIterationSettings
from bombay_training.learners.runs.run_files import AGENT
from bombay_training.learners.train import resume, train
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from bombay_training.learners.zero.self_play import CHOICE, GAMES, PlayOptions
from bombay_training.learners.zero.tree_play import SEARCHES, TreePlay, best_edge, search_turn
from helpers.runs import shorten_quick_matches

shorten_quick_matches()
SLOW = numba.config.DISABLE_JIT
HIDDEN, SECOND = (8, 4) if SLOW else (128, 32)  # of the shipped net, so that kernels are compiled once
EACH = 2 if SLOW else 4  # games for each player count
NODES = 6 if SLOW else 24
MIN_VISITS = 2 if SLOW else 3
SHARE_WEIGHT = np.float32(2)


def short_games():
    return [Game(Rules(n, sets=2, turns_per_set=1, actions_per_turn=2)) for n in ((2,) if SLOW else (2, 3))]


def untrained(seed=1):
    settings = ZeroSettings(players=(2, 3), games=2, hidden=HIDDEN, second=SECOND, updates=1, seed=seed)
    net = ZeroRun(settings).net()
    return dataclasses.replace(net, about={**net.about, "training": {"games": 1000}})


@pytest.fixture
def start(tmp_path):
    """The spec of an untrained net's agent."""
    untrained().save(tmp_path / "start.safetensors")
    return f"net:path={tmp_path / 'start.safetensors'}"


def played(td_lambda=0.7, epsilon=0.3, first=0):
    """A few short games, and their samples."""
    play = TreePlay(short_games(), EACH, HIDDEN, SECOND, NODES, MIN_VISITS)
    indices = play.play(untrained().record(), 5, first, PlayOptions(SHARE_WEIGHT, epsilon, np.float32(td_lambda)))
    return play, play.samples.reshape(-1)[indices]


def samples_of(play, number, lane):
    """The samples of a game: those of turns played, and those found at roots."""
    own, first = play.samples[number, lane], play.most_played
    return own[: play.counts[number, lane]], own[first : first + play.found[number, lane]]


def test_with_lambda_1_turns_played_learn_the_result():
    play, samples = played(td_lambda=1.0, epsilon=0.0)
    total = 0
    for number, game in enumerate(play.games):
        n = game.num_players
        for lane in range(EACH):
            mine, found = samples_of(play, number, lane)
            assert len(mine) == 2 * n - 1, "one for each turn but the last"
            by_seat = [np.roll(sample["margin"][:n], sample["seat"]) for sample in mine]
            assert (np.ptp(by_seat, axis=0) < 1e-5).all()
            total += len(mine) + len(found)
            assert len(found) > 0
    assert len(samples) == total
    assert np.allclose(samples["share"].sum(axis=1), 1, atol=1e-5)


def first_search(play):
    """The tree of the first turn of the first game, searched again, its mover, and the game's seed."""
    game = play.games[0]
    seed = np.uint64(chance.random_word(np.uint64(5), GAMES, np.uint64(game.num_players - 1)))
    state = game.new_states([int(seed)])
    mover = int(state["current_player"][0])
    state["seed"] = 0
    key = np.uint64(chance.random_word(seed, SEARCHES, np.uint64(0)))
    search = play.searches[0]._replace(net=untrained().record())
    assert search_turn(state[0], game.tables[0], search, key, NODES)
    return search.tree, mover, seed


def test_outcomes_of_a_root_learn_what_the_search_found_there():
    """With λ = 0 the targets of the first turn's outcomes are the means of the simulations, from the mover's perspective."""
    play, _ = played(td_lambda=0.0, epsilon=0.0)
    n = play.games[0].num_players
    _, found = samples_of(play, 0, 0)
    tree, mover, _ = first_search(play)
    enough = [edge for edge in range(tree.num_edges[0]) if tree.edge_visits[edge] >= MIN_VISITS]
    assert enough
    for sample, edge in zip(found, enough, strict=False):
        means = tree.edge_total[edge] / tree.edge_visits[edge]
        assert sample["margin"][:n] == pytest.approx(np.roll(means[:n], -mover), abs=1e-5)
        assert sample["share"][:n] == pytest.approx(np.roll(means[MAX_PLAYERS : MAX_PLAYERS + n], -mover), abs=1e-5)
    assert len(enough) < (tree.edge_visits[: tree.num_edges[0]] > 0).sum()
    assert (found["seat"][: len(enough) + 1] == mover).tolist() == [True] * len(enough) + [False]
    assert tree.edge_visits[: tree.num_edges[0]].sum() == NODES


def test_the_expert_takes_the_outcome_of_most_simulations_and_the_first_of_several():
    tree, _, _ = first_search(played()[0])
    tree.edge_visits[: tree.num_edges[0]] = 1
    tree.edge_visits[2:4] = 5
    assert best_edge(tree) == 2


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_the_turn_played_is_the_most_simulated_one_or_is_marked_as_explored(epsilon):
    """The first turn of a game, with the draw repeated by hand."""
    play, _ = played(epsilon=epsilon)
    n, mine = play.games[0].num_players, samples_of(play, 0, 0)[0][0]
    tree, mover, seed = first_search(play)
    edges = np.arange(tree.num_edges[0])  # the root's are the first ones
    best = int(tree.edge_visits[edges].argmax())
    word = int(chance.random_word(seed, CHOICE, np.uint64(0)))
    taken = word % len(edges) if epsilon else best
    assert mine["explored"] == (taken != best)
    result = play.games[0].provisional_results(tree.edge_states[taken : taken + 1])
    assert mine["final"][:n].tolist() == np.roll(result["final"][0], -mover).tolist()
    means = tree.edge_total[best] / tree.edge_visits[best]
    assert mine["best_margin"][:n] == pytest.approx(np.roll(means[:n], -mover), abs=1e-5)
    assert mine["best_share"][:n] == pytest.approx(np.roll(means[MAX_PLAYERS : MAX_PLAYERS + n], -mover), abs=1e-5)


def test_the_expert_sees_no_seed():
    play, _ = played()
    for search in play.searches:
        tree = search.tree
        assert not tree.edge_states["seed"][: tree.count[1]].any()


@pytest.mark.skipif(SLOW, reason="so many searches take the compiler; the tests above play fewer")
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
    assert not np.array_equal(samples["rows"][:3], others["rows"][:3])


@pytest.mark.skipif(SLOW, reason="whole games by the official rules are slow without the compiler")
def test_a_run_starts_from_the_net_and_repeats_bit_for_bit_when_resumed(start, tmp_path):
    settings = expert_iteration.settings_for(start, players=(2,), games=2, nodes=8, updates=2)
    assert (settings.hidden, settings.second) == (HIDDEN, SECOND)
    first = ExpertIterationRun(settings)
    before = ZeroNet.load(start.removeprefix("net:path="))
    assert np.array_equal(first.net().first, before.first)
    whole = ZeroNet.load(train(settings, tmp_path / "whole"))
    assert not np.array_equal(whole.first, before.first)
    assert whole.about["training"]["games"] == 1000 + 4
    run = ExpertIterationRun(settings)
    run.step()
    run.create(tmp_path / "cut")
    run.close()
    resume(tmp_path / "cut")
    assert (tmp_path / "cut" / AGENT).read_bytes() == Path(tmp_path / "whole" / AGENT).read_bytes()


def test_another_net_with_the_same_spec_makes_another_run(start):
    settings = expert_iteration.settings_for(start, players=(2,), games=2, nodes=8, updates=2)
    before = ExpertIterationRun(settings).identity()
    assert ExpertIterationRun(settings).identity() == before
    untrained(seed=2).save(start.removeprefix("net:path="))
    assert ExpertIterationRun(settings).identity() != before


def test_unsuitable_settings_are_refused(start):
    with pytest.raises(ValueError, match=r"^nodes is 0; it must be a whole number from 1 to \d+$"):
        expert_iteration.settings_for(start, nodes=0)
    with pytest.raises(ValueError, match=r"^start is 'greedy'; it must be a zero agent, such as zero or net:path="):
        expert_iteration.settings_for("greedy")
    with pytest.raises(
        ValueError, match=r"^hidden and second are not the widths of net:path=.*, from which the run starts$"
    ):
        ExpertIterationRun(ExpertIterationSettings(start=start, players=(2, 3), hidden=16))
    with pytest.raises(ValueError, match="was not trained on these rules"):
        ExpertIterationRun(expert_iteration.settings_for(start, players=(4,)))
