"""The picture in the README: a position of a game between four `greedy` agents."""

import numpy as np

from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Game, Rules
from bombay_env.render import svg
from bombay_env.render.view import LastAction, last_action

SEED, DECISIONS = 29, 57


def position() -> tuple[Game, np.ndarray, LastAction]:
    """The game, the state and the action that led to it: a 4-player game after 57 decisions of `greedy`."""
    game, agent, rng = Game(Rules.official(4)), GreedyAgent(), np.random.default_rng(SEED)
    states = game.new_states([SEED])
    for _ in range(DECISIONS):
        before, actions = states.copy(), agent.act(game, states, rng)
        game.step(states, actions)
    return game, states, last_action(game, before, int(actions[0]))


def page() -> str:
    """The picture as an SVG document."""
    game, states, last = position()
    return svg.draw(game, states, last=last)
