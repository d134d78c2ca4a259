"""The pictures of the game: a position of a game between four `greedy` agents, and the README's moving picture."""

import io
from typing import Final

import numpy as np
from PIL import Image

from bombay_agents import shipped
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_env import Game, Rules
from bombay_env.render import raster, svg
from bombay_env.render.picture import HEIGHT, WIDTH
from bombay_env.render.view import LastAction, last_action

SEED, DECISIONS = 29, 57
GIF_WIDTH: Final = 640
GIF_COLOURS: Final = 96
GIF_MS: Final = 500  # for each frame


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


def animation() -> bytes:
    """The README's moving picture as a GIF: every other decision of a game between four `zero`."""
    game, agent, rng = Game(Rules.official(4)), shipped.make_zero(), np.random.default_rng(SEED)
    states = game.new_states([SEED])
    frames = [raster.draw(game, states)]
    while not game.is_terminal(states).all():
        before, actions = states.copy(), agent.act(game, states, rng)
        game.step(states, actions)
        frames.append(raster.draw(game, states, last=last_action(game, before, int(actions[0]))))
    size = GIF_WIDTH, GIF_WIDTH * HEIGHT // WIDTH
    images = [Image.fromarray(frame).resize(size, Image.Resampling.LANCZOS) for frame in [*frames[::2], frames[-1]]]
    sample = Image.fromarray(np.concatenate([np.asarray(image) for image in images[::12]]))
    palette = sample.quantize(GIF_COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=3)
    indexed = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    durations = [GIF_MS] * (len(indexed) - 1) + [10 * GIF_MS]
    file = io.BytesIO()
    indexed[0].save(file, "GIF", save_all=True, append_images=indexed[1:], duration=durations, loop=0, optimize=True)
    return file.getvalue()
