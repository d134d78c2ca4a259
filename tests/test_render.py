"""Drawings: whatever the board and the position, well-formed, and showing what the state says."""

import random
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from bombay_env import Board, Game, Rules
from bombay_env.render import svg, text
from helpers.variants import random_game

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = Path(__file__).parent.parent / "docs" / "board.svg"


def played(seed: int, steps: int) -> tuple[Game, np.ndarray]:
    """A random game on a random table after some steps."""
    rng = random.Random(seed)
    game = random_game(rng, 2 + seed % 4)
    states = game.new_states([seed])
    for _ in range(steps):
        legal = np.flatnonzero(game.legal_actions(states)[0])
        if len(legal):
            game.step(states, [rng.choice(legal.tolist())])
    return game, states


@pytest.mark.parametrize("seed", range(8))
def test_svg_is_well_formed_and_names_every_site(seed: int) -> None:
    game, states = played(seed, 10 * seed)
    root = ElementTree.fromstring(svg.draw(game, states))
    assert root.tag == f"{SVG}svg"
    words = {element.text for element in root.iter(f"{SVG}text")}
    assert {site.name for site in game.board.sites} <= words
    assert len(list(root.iter(f"{SVG}line"))) == len(game.board.trails)


def test_svg_escapes_names() -> None:
    data = Board.load().to_dict()
    for site in data["sites"]:
        site["name"] = f"<{site['name']}&'"
    data["trails"] = [[f"<{a}&'", f"<{b}&'"] for a, b in data["trails"]]
    game = Game(Rules.official(2), Board.from_dict(data))
    root = ElementTree.fromstring(svg.draw(game, game.new_states([1])))
    assert "<A&'" in {element.text for element in root.iter(f"{SVG}text")}


@pytest.mark.parametrize("seed", range(8))
def test_text_tells_every_seat_and_market(seed: int) -> None:
    game, states = played(seed, 10 * seed)
    lines = text.draw(game, states).splitlines()
    assert sum(line.startswith("seat ") for line in lines) == game.num_players
    assert any("left:" in line and "right:" in line for line in lines)


def test_text_says_when_the_game_is_over() -> None:
    game, states = played(2, 500)
    assert text.draw(game, states).startswith("game over")


def test_picture_in_the_readme_is_what_the_program_draws() -> None:
    """To draw it anew: write `svg.draw(game, game.new_states([7]))` of the 4-player game to docs/board.svg."""
    game = Game(Rules.official(4))
    assert PICTURE.read_text(encoding="utf-8") == svg.draw(game, game.new_states([7]))
