"""Ensembles of `zero` nets: their outputs are the means of their members', and they are used like single nets."""

import dataclasses

import numba
import numpy as np
import pytest

from bombay_agents.nets.zero import valuation
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.nets.zero.ensemble import ensemble
from bombay_agents.nets.zero.net import ZeroNet
from bombay_agents.search.zero_agent import ZeroSearchAgent
from bombay_env.rules import MAX_PLAYERS
from bombay_training.evaluation.audit import audit
from bombay_training.learners import best_response, expert_iteration
from test_cli import output
from test_zero_net import HIDDEN, SECOND, TABLES, random_net, starts_of_turns, turn_of

SLOW = numba.config.DISABLE_JIT  # evaluating a turn then takes a while
COUNT = 2 if SLOW else 3  # 3 as the shipped ensemble has, so that kernels are compiled once


def members(game, count=COUNT):
    """Nets that differ only in their weights."""
    return [random_net(game, seed=seed) for seed in range(count)]


def outputs_of(game, state, net):
    """Margins and shares of all outcomes of a turn by a net, (outcomes, 2 n), in seat order from the mover."""
    workspace, n = valuation.new_turn_workspaces(game, *net.units, 1), game.num_players
    nodes, *_ = turn_of(game, state, net.record(), workspace)
    outputs = workspace["outputs"][0, nodes]
    return np.concatenate((outputs[:, :n], outputs[:, MAX_PLAYERS : MAX_PLAYERS + n]), axis=1)


@pytest.mark.parametrize("n", [3] if SLOW else [2, 3, 4, 5])
def test_outputs_are_means_of_margins_and_of_logarithms_of_shares(n):
    game = TABLES[n - 2]
    nets = members(game)
    for state in starts_of_turns(game, 1 if SLOW else 6, 5):
        single = np.array([outputs_of(game, state, net) for net in nets])
        together = outputs_of(game, state, ensemble(nets))
        assert together[:, :n] == pytest.approx(single[:, :, :n].mean(axis=0), abs=1e-4)
        shares = np.exp(np.log(single[:, :, n:]).mean(axis=0))
        assert together[:, n:] == pytest.approx(shares / shares.sum(axis=1, keepdims=True), abs=1e-4)
        assert np.ptp(single, axis=0).max() > 0.01, "the members differ"


def test_it_is_the_same_after_saving_and_loading_and_says_what_it_is_made_of(tmp_path):
    nets = members(TABLES[1])
    about = {**nets[0].about, "training": {"seed": 7, "games": 50}}
    made = ensemble([dataclasses.replace(net, about=about) for net in nets])
    made.save(tmp_path / "net.safetensors")
    loaded = ZeroNet.load(tmp_path / "net.safetensors")
    assert loaded.record().tobytes() == made.record().tobytes()
    assert (loaded.members, loaded.units) == (COUNT, (COUNT * HIDDEN, COUNT * SECOND))
    training = {"seed": 7, "games": 50}
    assert loaded.about["training"] == {"algorithm": "ensemble", "members": [training] * COUNT, "games": 50 * COUNT}


def test_a_net_that_is_no_ensemble_has_one_member():
    net = random_net(TABLES[0])
    assert (net.members, net.units) == (1, (HIDDEN, SECOND))


@pytest.mark.skipif(SLOW, reason="searching is slow without the compiler")
def test_its_players_pass_the_audit():
    game = TABLES[2]
    player = ZeroAgent(ensemble(members(game)))
    for agent in (player, ZeroSearchAgent(player, nodes=20)):
        report = audit(lambda agent=agent: agent, [game], 10, seed=4)
        assert report.verdict == "passed", report


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda nets: nets[:1], "an ensemble of 1 nets; it must have from 2 to 8"),
        (lambda nets: nets * 5, "an ensemble of 10 nets; it must have from 2 to 8"),
        (lambda nets: [nets[0], ensemble(nets)], "net 2 of the ensemble is an ensemble itself"),
        (lambda nets: [ensemble(nets), ensemble(nets)], "net 1 of the ensemble is an ensemble itself"),
        (
            lambda nets: [nets[0], dataclasses.replace(nets[1], slots="0" * 16)],
            "net 2 of the ensemble has other slots than net 1",
        ),
        (
            lambda nets: [nets[0], dataclasses.replace(nets[1], share_weight=1.0)],
            "net 2 of the ensemble has other share weight than net 1",
        ),
        (
            lambda nets: [nets[0], random_net(TABLES[0], TABLES[1])],
            "net 2 of the ensemble has other rules or another board than net 1",
        ),
    ],
)
def test_nets_that_do_not_go_together_are_refused(change, reason):
    with pytest.raises(ValueError, match=f"^{reason}$"):
        ensemble(change(members(TABLES[0], 2)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"second_bias": np.zeros(2 * SECOND + 4, np.float32)}, "second_bias has shape"),
        ({"last": np.zeros((SECOND, 10), np.float32)}, "last has shape"),
        (
            {"second_bias": np.zeros(3 * SECOND, np.float32), "last": np.zeros((3 * SECOND, 10), np.float32)},
            "hidden units for 3 members; each must have the same number",
        ),
    ],
)
def test_tensors_of_other_members_are_refused(changes, reason):
    with pytest.raises(ValueError, match=reason):
        dataclasses.replace(ensemble(members(TABLES[0], 2)), **changes)


def test_runs_start_from_single_nets(tmp_path):
    path = tmp_path / "net.safetensors"
    ensemble(members(TABLES[2], 2)).save(path)
    spec = f"net:path={path}"
    for settings_for in (expert_iteration.settings_for, lambda start: best_response.settings_for("greedy", start)):
        with pytest.raises(ValueError, match="an ensemble of 2 nets; a run starts from a single net"):
            settings_for(spec)
    settings = best_response.settings_for(spec, players=(4,), updates=1)
    assert settings.start == "zero", "a response to an ensemble starts from the shipped net"


def test_the_command_makes_one(tmp_path):
    paths = [str(tmp_path / f"{seed}.safetensors") for seed in range(2)]
    for path, net in zip(paths, members(TABLES[1], 2), strict=True):
        net.save(path)
    out = str(tmp_path / "both.safetensors")
    found = output("ensemble", *paths, "--out", out)
    assert found == {"command": "ensemble", "file": out, "members": 2, "games": None}
    assert ZeroNet.load(out).members == 2
