"""The pictures of the game: a position between four `greedy` agents, and the README's moving picture and learning curves."""

import dataclasses
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Game, Rules
from bombay_env.record import Record
from bombay_env.render import replay, svg
from bombay_env.render.view import last_action
from bombay_training.evaluation.arena import run_fixed_seats
from bombay_training.learners import curve

SEED, DECISIONS = 29, 57
GIF_SEED: Final = 30
LONG_RUN: Final = Path(__file__).parents[1] / "data" / "curves" / "zero-long"
PLAYERS: Final = {"greedy": "greedy", "zero": "zero", "planner-v1": "planner-v1", "champion": "champion:nodes=1000"}


def page() -> str:
    """A 4-player game after 57 decisions of `greedy`, as an SVG document."""
    game, agent, rng = Game(Rules.official(4)), GreedyAgent(), np.random.default_rng(SEED)
    states = game.new_states([SEED])
    for _ in range(DECISIONS):
        before, actions = states.copy(), agent.act(game, states, rng)
        game.step(states, actions)
    return svg.draw(game, states, last=last_action(game, before, int(actions[0])))


def animation() -> bytes:
    """The README's moving picture as a GIF: the game of `PLAYERS`, turn by turn."""
    records: list[Record] = []
    run_fixed_seats(Game(Rules.official(4)), list(PLAYERS.values()), 1, GIF_SEED, records=records)
    return replay.gif(dataclasses.replace(records[0], agents=tuple(PLAYERS)), by_turn=True)


def learning(runs: Path) -> Figure:
    """Win shares while learning: the run of the shipped net, and in the folder `runs` the seeds of `zero`, and PPO."""
    folders = [LONG_RUN, *sorted(runs.glob("zero-seed*")), runs / "ppo"]
    return curve.figure_of([curve.read_run(folder) for folder in folders], metrics=False)
