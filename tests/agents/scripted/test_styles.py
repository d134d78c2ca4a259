"""The four styles: each shows its bias in games among the four, and none is a weak opponent."""

import random
from collections import Counter

import numba
import numpy as np
import pytest

from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.scripted.styles import BuilderAgent, HoarderAgent, SellerAgent, TollKeeperAgent, favourite_colour
from bombay_env.rules import NUM_COLOURS
from bombay_training.evaluation.arena import one_vs_rest, run_blocks
from bombay_training.matches.statistics import share_with_interval
from helpers.position import official, position, random_play
from helpers.variants import random_game

SLOW = numba.config.DISABLE_JIT
STYLES = (SellerAgent, BuilderAgent, TollKeeperAgent, HoarderAgent)
DEALS = 15
many_games = pytest.mark.skipif(SLOW, reason="biases and strength take dozens of games")


def behaviour(game, lineup, deals):
    """What each agent of a line-up did, by its name: sales, palaces, those of the first half of a game, tolls, per game; and
    the share of the most frequent colour among the bales that it bought in a game.
    """
    records, done, main = [], {agent.name: Counter() for agent in lineup}, {agent.name: [] for agent in lineup}
    run_blocks(game, lineup, deals, records=records)
    for record in records:
        bought, before = {name: Counter() for name in record.agents}, None
        for event, (_, states) in zip(record.events, record.replay(), strict=True):
            mover, _, action = event.partition(" ")
            if not event.startswith("restock"):
                name, kind = record.agents[int(mover)], action.partition(":")[0]
                done[name][kind] += 1 / len(records)
                done[name]["early"] += (kind == "build" and before["set"][0] < game.rules.sets // 2) / len(records)
                if kind == "buy":
                    bought[name][int(before["post"][0, before["position"][0, int(mover)]])] += 1
                for seat, other in enumerate(record.agents):
                    gain = int(states["rupees"][0, seat] - before["rupees"][0, seat])
                    done[other]["tolls"] += (other != name) * gain / len(records)
            before = states.copy()
        for name, bales in bought.items():
            main[name].append(max(bales.values(), default=0) / max(1, bales.total()))
    return done, {name: np.mean(shares) for name, shares in main.items()}


@many_games
def test_biases_show_in_play():
    done, main = behaviour(official(4), [style() for style in STYLES], DEALS)
    seller, builder, keeper, hoarder = (done[style.name] for style in STYLES)
    assert seller["sell"] > 1.3 * max(builder["sell"], keeper["sell"], hoarder["sell"])
    assert seller["build"] < 0.2
    assert builder["build"] > 4.6 > max(seller["build"], keeper["build"], hoarder["build"])
    assert builder["early"] > 0.68 * builder["build"]
    assert builder["early"] > max(seller["early"], keeper["early"], hoarder["early"])
    assert keeper["tolls"] > 1.3 * max(seller["tolls"], builder["tolls"], hoarder["tolls"])
    assert keeper["tolls"] / keeper["build"] > 1.3 * builder["tolls"] / builder["build"]
    assert main["hoarder"] > 0.7 > 0.6 > max(main[style.name] for style in STYLES[:3])


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
