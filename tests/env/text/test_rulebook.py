"""The rules in words: every number comes from the game's rules, every name from its board."""

import dataclasses
import random

import pytest

from bombay_env import Board, Game, Rules, text
from helpers.variants import random_board, random_game, random_rules

BOARD = Board.load()
FIELDS = [field.name for field in dataclasses.fields(Rules)]


def words(rules: Rules) -> str:
    return text.describe_rules(Game(rules, BOARD))


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_the_rules_changes_the_text(field: str) -> None:
    """Two values of the field are taken from random variants; the other fields stay."""
    rng, compared = random.Random(field), 0
    for _ in range(16):
        if field == "num_players":
            one, other = Rules.official(2), Rules.official(rng.randint(3, 5))
        else:
            one, donor = random_rules(rng, 3), random_rules(rng, 3)
            try:
                other = dataclasses.replace(one, **{field: getattr(donor, field)})
            except ValueError:  # more bales to draw than there are
                continue
        if one != other:
            compared += 1
            assert words(one) != words(other)
    assert compared >= 3


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_the_text_is_short(players: int) -> None:
    told = words(Rules.official(players))
    assert len(told.split()) <= 900
    assert all(len(section.split()) <= 200 for section in told.split("## "))


def test_the_summary_is_short_and_has_the_numbers_of_the_variant() -> None:
    told = text.summarize_rules(Game(Rules(4, sets=3, turns_per_set=7, toll=9, market_rupees=(1, 2, 8)), BOARD))
    assert len(told.splitlines()) == 9
    assert len(told.split()) <= 350
    for words_told in (
        "The game has 3 sets of 7 turns; a turn has 3 actions.",
        "its owner gets 9 rupees from the bank",
        "left 1 rupee and 1 action, centre 2 rupees and 2 actions, right 8 rupees and 2 actions",
        "top 4 rupees, middle 3 rupees, bottom 1 rupee and 1 Client token. Selling yellow pays 1 rupee more.",
        "chance draws 9 bales",
        "the awards are 8, 4, 2, 0 rupees",
    ):
        assert words_told in told


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "The game has 4 sets of 4 game turns."),
        ({"sets": 1, "turns_per_set": 7}, "The game has 1 set of 7 game turns."),
        ({"rotate_first_player": False}, "Seat 0 plays first in every set."),
        ({"outer_posts": False}, "- Trading posts: E1, E2, E3, E4. Each offers one colour; each colour has 1 post."),
        ({"outer_posts": False}, "- Open sites: H1, H2, F1, F2, F3, F4."),
        ({"client_supply": None}, "The supply of Client tokens has no limit."),
        (
            {"sale_rupees": (5, 0, 1), "sale_clients": (1, 0, 2)},
            "A sale pays by the place of the colour: top 5 rupees and 1 Client token, middle nothing, bottom 1 rupee and "
            "2 Client tokens.",
        ),
        ({"colour_rupees": (0, 0, 3, 0)}, "Selling blue pays 3 rupees more."),
        ({}, "In `screened` games, opponents' rupees and tokens are hidden too, and what they gain and pay."),
        ({"fame": (0, 9)}, "- Fame: rupees for the number of your City tokens (0: 0, 1 or more: 9)."),
    ],
)
def test_a_line_of_the_rules(changes: dict, line: str) -> None:
    assert line in words(Rules(4, **changes)).splitlines()


@pytest.mark.parametrize("seed", range(4))
def test_every_site_is_named_once(seed: int) -> None:
    game = random_game(random.Random(seed), 2 + seed)
    game = Game(game.rules, random_board(seed))
    board = text.describe_rules(game).partition("## Board\n")[2].partition("\n\n")[0]
    listed = [
        name for line in board.splitlines()[1:] for name in line.partition(": ")[2].partition(". ")[0].split(", ")
    ]
    assert sorted(name.removesuffix(".") for name in listed) == sorted(site.name for site in game.board.sites)
