"""What the page teaches: its rules and its tutorial have the numbers of the running game, and it points at sites that exist."""

import dataclasses
import random
import re

import pytest

from bombay_env import Board, Game, text
from bombay_training.play.web.lessons import goals, lessons
from helpers.position import official, position
from helpers.variants import random_rules

BOARD = Board.load()


def test_the_rules_are_those_of_the_terminal_with_actions_called_as_on_their_buttons() -> None:
    told = lessons(official(4))
    assert len(told["short"]) == len(text.summarize_rules(official(4)).splitlines())
    assert told["short"][1].startswith("**Move to SITE**: go along one trail. Cost: 1 action, or 2 onto a hilltop.")
    titles = [section["title"] for section in told["sections"]]
    assert titles == re.findall("(?m)^## (.*)$", text.describe_rules(official(4)))
    whole = "\n".join("\n".join(section["lines"]) for section in told["sections"])
    for words in (
        "**Buy a bale**",
        "**Sell COLOUR**",
        "**Build a palace with COLOUR**",
        "**End the turn**",
        "- 2 × `client`",
    ):
        assert words in whole
    assert not re.search("`(move|buy|sell|build|take|end_turn)", whole + "".join(told["short"]))


FIELDS = (
    "sets",
    "turns_per_set",
    "actions_per_turn",
    "basket",
    "buys_per_turn",
    "move_cost",
    "hill_cost",
    "market_rupees",
)
FIELDS += (
    "market_actions",
    "sell_cost",
    "build_cost",
    "sale_rupees",
    "sale_clients",
    "palaces",
    "toll",
    "majority",
    "fame",
)
FIELDS += ("consolidate_rupees", "rotate_first_player")


@pytest.mark.parametrize("field", FIELDS)
def test_the_tutorial_has_the_numbers_of_the_variant(field: str) -> None:
    """Two values of the field are taken from random variants; the other fields stay."""
    rng, compared = random.Random(field), 0
    for _ in range(16):
        one, donor = random_rules(rng, 3), random_rules(rng, 3)
        other = dataclasses.replace(one, **{field: getattr(donor, field)})
        if one != other:
            compared += 1
            first, second = (lessons(Game(rules, BOARD))["steps"] for rules in (one, other))
            assert first != second, (getattr(one, field), getattr(other, field))
    assert compared >= 3


def test_the_tutorial_is_short() -> None:
    steps = lessons(official(5))["steps"]
    assert [step["done"] for step in steps] == ["move", "buy", "sell", "build", None]
    assert all(len(step["words"].split()) <= 70 for step in steps)


def test_the_tutorial_points_at_the_nearest_sites() -> None:
    game = official(2)
    markets = [{"blue": 1}, {"purple": 1}, {}]
    assert goals(game, position(game, at="A", markets=markets), 0) == {"post": "E3", "city": "Bombay", "palace": "G3"}
    told = goals(game, position(game, at="A", markets=markets, basket=["purple"], palaces={"G3": 1}), 0)
    assert told["city"] == "Indore", "Bombay, as near, pays less for purple"
    assert told["palace"] != "G3"
    assert "post" not in goals(game, position(game, markets=[{}, {}, {}]), 0), "all are closed"
