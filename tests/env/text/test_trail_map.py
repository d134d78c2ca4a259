"""The map for terminals, and what is told of one site."""

import random
import re

import pytest

from bombay_env import Board, Game, Rules, text
from bombay_env.state import state_to_dict
from bombay_env.text import trail_map
from helpers import ROOT
from helpers.position import official, position
from helpers.variants import random_board, random_game

STATES = position(official(2), player=1, at="E2", palaces={"G1": 0}, markets=[{"blue": 1}, {}, {}])


@pytest.mark.parametrize("width", [0, 72, 90, 110, 1000])
def test_every_site_stands_on_the_map_with_what_is_there(width: int) -> None:
    shown = text.draw_map(official(2), STATES, width)
    drawing = shown.rpartition("\n\n")[0]
    assert max(map(len, drawing.splitlines())) <= min(max(width, 72), 110)
    for label in (
        "Bombay",
        "Indore",
        "Nagpur",
        "Hyderabad",
        "A @0",
        "B",
        "F1",
        "H1",
        "G1 #0",
        "G2 city",
        "E3 blue",
        r"E2 \(purple\) @1",
    ):
        assert re.search(rf"(?:^|[ ·]){label}(?: |$)", drawing, flags=re.MULTILINE), label
    assert "onto a hilltop (A, B) 2" in shown


def test_every_trail_is_drawn() -> None:
    """Without a trail, dots are missing between its ends."""
    board = official(2).board
    whole = text.draw_map(official(2), STATES).count(trail_map.DOT)
    for one, other in board.trails:
        rest = tuple(trail for trail in board.trails if trail != (one, other))
        try:
            game = Game(Rules(2), Board(board.name, board.sites, rest))
        except ValueError:  # the board falls apart
            continue
        assert text.draw_map(game, STATES).count(trail_map.DOT) < whole


def test_the_map_in_the_documentation_is_drawn_by_it() -> None:
    page = ROOT / "docs" / "play.md"
    assert text.draw_map(official(3), official(3).new_states([7]), 80) in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", range(4))
def test_any_board_can_be_drawn(seed: int) -> None:
    game = Game(random_game(random.Random(seed), 3).rules, random_board(seed))
    assert text.draw_map(game, game.new_states([seed]))


def test_screens_change_nothing_on_the_map() -> None:
    """Rupees and tokens, which screens hide, are not drawn."""
    rich = STATES.copy()
    rich["rupees"][0, :2] += 3
    assert text.draw_map(official(2), rich) == text.draw_map(official(2), STATES)


def test_a_site_is_told_with_its_trails_and_costs() -> None:
    assert text.describe_site(official(2), STATES, "E4").splitlines() == [
        "E4: an orange post (closed)",
        "no market has orange bales; the next set may bring some",
        "trails to",
        "  A   2 actions  a hilltop without a building; elephants: seat 0",
        "  B   2 actions  a hilltop without a building",
        "  G8  1 action   a site without a building, with the palace token `bale`",
        "actions to the cities: Bombay 4, Indore 4, Nagpur 4, Hyderabad 2",
    ]
    assert text.describe_site(official(2), STATES, "E2").startswith("E2: a purple post (closed); elephants: seat 1\n")
    assert text.describe_site(official(2), STATES, "Bombay").endswith("cities: Indore 4, Nagpur 6, Hyderabad 4")
    with pytest.raises(ValueError, match=r'^board "reconstruction" has no site "E9"$'):
        text.describe_site(official(2), STATES, "E9")


def test_each_site_is_explained_with_prices_gains_and_distances() -> None:
    told = text.explain_sites(official(2), STATES, 1, ("you", "greedy"))
    assert list(told) == [site.name for site in official(2).board.sites]
    assert told["E2"] == [
        "a purple post (closed)",
        "no market has purple bales; the next set may bring some",
        "elephants: greedy",
        "actions to its neighbours: B 2, G4 1, G6 1, H2 1",
        "actions from greedy: 0; to the cities: Bombay 6, Indore 2, Nagpur 2, Hyderabad 2",
    ]
    assert told["G1"][:2] == [
        "a palace of you",
        "whenever another elephant enters, you take 1 rupee of toll from the bank",
    ]
    assert told["E3"][0] == "a blue post (left market: 1 rupee, 1 action)"
    assert told["G2"][1].endswith("its builder gets the token, which counts as a City token at the end")
    city = told["Bombay"]
    demand = state_to_dict(STATES[0], official(2).rules, official(2).board)["demand"]["Bombay"]
    assert city[0] == f"a city that wants {', '.join(demand)}"
    assert re.fullmatch(
        rf"a sale pays in rupees: {demand[0]} [45].*, {demand[1]} [34].*, {demand[2]} [12] \+ [12] Clients?", city[1]
    )
    assert city[2] == "City tokens left: 1; the first sale of each player here gives one"


def test_the_explanations_have_the_numbers_of_the_variant() -> None:
    game = Game(
        Rules(2, toll=7, build_cost=2, palace_token_rupees=9, hill_cost=3, sale_rupees=(8, 3, 1)), official(2).board
    )
    states = position(game, palaces={"G1": 0})
    told = text.explain_sites(game, states, 0)
    assert "seat 0 takes 7 rupees of toll" in told["G1"][1]
    assert "for 1 bale and 2 actions" in told["H1"][1]
    assert " 8" in told["Bombay"][1]
    assert "A 3" in told["H1"][-2]
    tokens = state_to_dict(states[0], game.rules, game.board)["palace_tokens"]
    assert "pays 9 rupees at once" in told[next(site for site, kind in tokens.items() if kind == "rupees")][1]
