"""The reference implementation by itself: what it refuses.

That it follows the rules is shown by the tests of the rules, which play every position on it too (`helpers/rules.py`).
"""

import pytest

from helpers.position import official, setup_of
from naive import NaiveError, NaiveGame

DRAW = [3, 3, 2, 1]


def twin(n, setup, restock):
    game = official(n)
    return NaiveGame(game.rules.to_dict(), game.board.to_dict(), setup, restock)


@pytest.mark.parametrize(
    ("n", "part", "removed", "added", "words"),
    [
        (2, "demand", "", {"Bombay": ["purple", "blue", "orange"]}, "demand must deal out"),
        (2, "posts", "", {"E1": "purple"}, "posts must deal out"),
        (4, "posts", "", {"F1": "purple"}, "posts must deal out"),
        (2, "palace_tokens", "", {"G1": "bale"}, "palace_tokens must deal out"),
        (2, "demand", "Bombay", {"E1": ["blue", "purple", "orange"]}, "demand must name exactly the sites"),
        (2, "posts", "E1", {"F1": "yellow"}, "posts must name exactly the sites"),
        (2, "palace_tokens", "G1", {"H1": "client"}, "palace_tokens must name exactly the sites"),
    ],
)
def test_a_setup_with_other_pieces_or_sites_is_rejected(n, part, removed, added, words):
    setup = setup_of(official(n))
    setup[part] = {place: piece for place, piece in setup[part].items() if place != removed} | added
    with pytest.raises(NaiveError, match=words):
        twin(n, setup, DRAW)


@pytest.mark.parametrize("restock", [[3, 3, 2, 2], [2, 2, 2, 2], [4, 2, 2, 1], [-1, 4, 3, 3], [3, 3, 3], None], ids=str)
def test_impossible_restocks_are_rejected_and_change_nothing(restock):
    setup = setup_of(official(2))
    with pytest.raises(NaiveError, match="restock"):
        twin(2, setup, restock)
    game = twin(2, setup, DRAW)
    for _ in range(7):
        game.step("end_turn")
    before = game.state()
    with pytest.raises(NaiveError, match="restock"):
        game.step("end_turn", restock)
    assert game.state() == before
    game.step("end_turn", DRAW)
    assert game.state()["set"] == 1


def test_an_unknown_action_is_rejected():
    with pytest.raises(NaiveError, match="no such action"):
        twin(2, setup_of(official(2)), DRAW).step("fly:B")
