"""The four styles: each shows its bias in games among the four, and none is a weak opponent."""

import random
from typing import NamedTuple

import numba
import numpy as np
import pytest

from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.scripted.styles import BuilderAgent, HoarderAgent, SellerAgent, TollKeeperAgent, favourite_colour
from bombay_env.actions import BUILD, BUY, SELL, TAKE
from bombay_env.rules import NUM_COLOURS
from bombay_training.evaluation.arena import one_vs_rest
from bombay_training.matches.statistics import share_with_interval
from helpers.position import official, position, random_play
from helpers.seatings import rotations
from helpers.variants import random_game

SLOW = numba.config.DISABLE_JIT
STYLES = (SellerAgent, BuilderAgent, TollKeeperAgent, HoarderAgent)
DEALS = 15
many_games = pytest.mark.skipif(SLOW, reason="biases and strength take dozens of games")


class Behaviour(NamedTuple):
    """What each agent of a line-up did, per game."""

    sales: np.ndarray
    palaces: np.ndarray
    early: np.ndarray  # share of its palaces built in the first half of the game
    tolls: np.ndarray  # rupees
    main: np.ndarray  # share of the most frequent colour among the bales it bought


def behaviour(game, lineup, deals):
    """`Behaviour` of the line-up over `deals` deals in every cyclic seating."""
    n = game.num_players
    seatings = rotations(n)
    agent_of = np.repeat(seatings, deals, axis=0)  # (games, seats)
    states = game.new_states(np.tile(np.arange(deals), n))
    sales, palaces, early, tolls = (np.zeros((len(states), n)) for _ in range(4))
    bought = np.zeros((len(states), n, NUM_COLOURS))
    rng = np.random.default_rng(0)
    while not game.is_terminal(states).all():
        games = np.flatnonzero(~game.is_terminal(states))
        movers = game.current_player(states)
        actions = np.zeros(len(states), np.int64)
        for number, agent in enumerate(lineup):
            lanes = games[agent_of[games, movers[games]] == number]
            actions[lanes] = agent.act(game, states[lanes], rng)
        before = states.copy()
        game.step(states, actions)
        movers, others = movers[games], actions[games] - game.board.num_sites
        agents = agent_of[games, movers]
        sales[games, agents] += (others >= SELL) & (others < BUILD)
        built = (others >= BUILD) & (others < TAKE)
        palaces[games, agents] += built
        early[games, agents] += built & (before.set[games] < game.rules.sets // 2)
        colour = before.post[games, before.position[games, movers]] - 1
        bought[games, agents, colour] += others == BUY
        gains = (states.rupees - before.rupees)[games, :n]
        gains[np.arange(len(games)), movers] = 0
        np.add.at(tolls, (games[:, None], agent_of[games]), gains)
    return Behaviour(
        sales.mean(0),
        palaces.mean(0),
        early.sum(0) / np.maximum(1, palaces.sum(0)),
        tolls.mean(0),
        (bought.max(2) / np.maximum(1, bought.sum(2))).mean(0),
    )


@many_games
def test_biases_show_in_play():
    found = behaviour(official(4), [style() for style in STYLES], DEALS)
    seller, builder, keeper, hoarder = range(4)
    others = {style: [other for other in range(4) if other != style] for style in range(4)}
    assert found.sales[seller] > 1.3 * found.sales[others[seller]].max()
    assert found.palaces[seller] < 0.2
    assert found.palaces[builder] > 4.6 > found.palaces[others[builder]].max()
    assert found.early[builder] > 0.68
    assert (found.early * found.palaces).argmax() == builder
    assert found.tolls[keeper] > 1.3 * found.tolls[others[keeper]].max()
    assert found.tolls[keeper] / found.palaces[keeper] > 1.3 * found.tolls[builder] / found.palaces[builder]
    assert found.main[hoarder] > 0.7 > 0.6 > found.main[others[hoarder]].max()


@many_games
@pytest.mark.parametrize("style", STYLES, ids=lambda style: style.name)
def test_styles_beat_random_players_and_compete_with_greedy(style):
    game = official(4)
    assert share_with_interval(one_vs_rest(game, style(), RandomAgent(), 40, seed=2)).low >= 0.9
    assert 0.12 < share_with_interval(one_vs_rest(game, style(), GreedyAgent(), 40, seed=2)).mean < 0.7


# --- The hoarder's colour ---


def test_the_hoarders_colour_depends_on_the_deal_and_never_changes_in_a_game():
    found = set()
    for number in range(2 if SLOW else 40):
        game = random_game(random.Random(number), 2 + number % 4)
        colours = {favourite_colour(states[0], game.tables[0]) for states in random_play(game, lanes=1, seed=number)}
        assert len(colours) == 1
        found |= colours
    assert SLOW or found == set(range(NUM_COLOURS))


# --- Small positions ---


def test_the_seller_keeps_its_bale_where_the_builder_builds():
    game = official(4)
    states = position(game, at="G4", basket=["blue"], actions_left=1)
    assert not game.action_name(SellerAgent().act(game, states, None)[0]).startswith("build")
    assert game.action_name(BuilderAgent().act(game, states, None)[0]) == "build:blue"
