"""Nets as players: what one name makes of a file, and the games that a net was trained on."""

import dataclasses
import json
import re

import numpy as np
import pytest

from bombay_agents import make
from bombay_agents.nets import files
from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_env import Game, Rules
from helpers.nets import SHORT, SLOW, TABLES, policy_net, random_net
from helpers.position import assert_fits, official
from helpers.refusal import refusal
from helpers.variants import random_board

OTHER_BOARD = Game(Rules(3, **SHORT), random_board(3))


def chosen(agent, game, states):
    return int(agent.act(game, states, np.random.default_rng(0))[0])


# --- files ---


def test_one_name_makes_the_player_for_every_kind_of_net(tmp_path):
    value, policy, other = (str(tmp_path / name) for name in ("value", "policy", "other"))
    random_net(TABLES[0]).save(value)
    policy_net(TABLES[0]).save(policy)
    files.write_net(other, {"format": "bombay-dance/1"}, {"w": np.zeros(1, np.float32)})
    for options, kind in (
        (f"path={value},force=true,rounds=3,draws=1", ValueNetAgent),
        (f"path={policy},sample=true,force=true", PolicyNetAgent),
    ):
        agent = make(f"net:{options}")
        assert type(agent) is kind
        assert agent.name == f"net:{options}"
    for options, complaint in (
        (f"{value},sample=true", "sample is for policy nets"),
        (f"{policy},rounds=2", "rounds, width and draws are for value nets"),
        (other, "its format is 'bombay-dance/1'; this program reads 'bombay-net/3', 'bombay-zero/1'"),
        (__file__, "not a safetensors file"),
        (f"{value},rounds=21", r"^rounds is 21; it must be a whole number from 0 to 20$"),
        ("nowhere", "FileNotFoundError"),
    ):
        assert re.search(complaint, refusal(lambda options=options: make(f"net:path={options}")))


# --- the games it was trained on ---


def value_player(game, force=False, **changes):
    return ValueNetAgent(dataclasses.replace(random_net(game), **changes), force, rounds=0)


def policy_player(game, force=False, **changes):
    return PolicyNetAgent(dataclasses.replace(policy_net(game), **changes), force=force)


@pytest.mark.parametrize("player", [value_player, policy_player])
def test_other_games_than_a_net_was_trained_on_need_force(player):
    game = Game(Rules(2, **SHORT))
    states = game.new_states([1])
    about = files.about_games([game, Game(Rules(3, **SHORT))])
    foreign = {"rules": about["rules"], "board": json.loads(json.dumps(random_board(5).to_dict()))}
    assert game.legal_actions(states)[0, chosen(player(game, about=about), game, states)]
    for facts, complaint in (
        (
            files.about_games([official(2)]),
            "was not trained on these rules for 2 players .sets 4, not 2;.*; force=true",
        ),
        (foreign, f"was not trained on the board {game.board.name}; force=true"),
        ({}, "does not say which rules and board it was trained on; force=true"),
    ):
        agent = player(game, about=facts)
        for _ in range(2):
            with pytest.raises(ValueError, match=f"^{agent.name} {complaint}"):
                chosen(agent, game, states)
        forced = player(game, force=True, about=facts)
        assert game.legal_actions(states)[0, chosen(forced, game, states)]
    with pytest.raises(ValueError, match="was trained on features 0123; this game's are"):
        chosen(player(game, force=True, features="0123"), game, states)


def test_boards_are_compared_as_a_whole_and_not_by_their_names():
    for trained in (Game(Rules(2, **SHORT)), OTHER_BOARD):
        about = json.loads(json.dumps(files.about_games([trained])))
        files.check_trained_on("net", about, trained)
        for name in (trained.board.name, "elsewhere"):
            other = Game(trained.rules, dataclasses.replace(random_board(5), name=name))
            with pytest.raises(ValueError, match=f"^net was not trained on the board {name}; force=true plays"):
                files.check_trained_on("net", about, other)


# --- sampling ---


def test_a_policy_net_that_samples_draws_by_its_logits():
    game, net = TABLES[0], policy_net(TABLES[0])
    ((weight, bias),) = net.parts["policy"]
    net = dataclasses.replace(net, parts={**net.parts, "policy": ((5 * weight, bias),)})
    states = game.new_states([3] * (300 if SLOW else 5_000))
    actions = PolicyNetAgent(net, sample=True).act(game, states, np.random.default_rng(1))
    legal = np.flatnonzero(game.legal_actions(states[:1])[0])
    weights = np.exp(net.forward(game.observe(states[:1]))[0][0, legal].astype(np.float64))
    assert weights.max() > 5 * weights.min()
    assert_fits(actions.tolist(), dict(zip(legal.tolist(), weights / weights.sum(), strict=True)))
