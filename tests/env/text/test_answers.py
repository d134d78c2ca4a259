"""Answers as language models write them, each with what it means."""

import pytest

from bombay_env import Board, Game, Rules, text
from helpers.position import official, position

# Seat 0 stands on E1, a yellow post whose bales cost 2 rupees and 2 actions, with a blue bale.
GAME = official(3)
STATES = position(GAME, at="E1", basket=["blue"])
NUMBER = {name: GAME.action_index(name) for name in GAME.action_names}
G1, BUY = NUMBER["move:G1"], NUMBER["buy"]
LINE = {line.split()[1].removesuffix(":"): line for line in text.describe_actions(GAME, STATES).splitlines()}
TURN = ["move:G1", "build:blue", "move:E1"]

UNDERSTOOD = {
    # one action
    "a name": ("move:G1", ["move:G1"]),
    "words": ("Move G1", ["move:G1"]),
    "the words of a button": ("Move to G1", ["move:G1"]),
    "a site": ("g1", ["move:G1"]),
    "pass": ("Pass.", ["end_turn"]),
    "end turn": ("END TURN", ["end_turn"]),
    "buy a bale": ("Answer: buy a bale", ["buy"]),
    "a number": (f"{G1}", ["move:G1"]),
    "a number in a sentence's form": (f"#{BUY}.", ["buy"]),
    "a number as a number": ({"action": BUY}, ["buy"]),
    "a number and a name": (f"{G1} move:G1", ["move:G1"]),
    "a number and a name in brackets": (f"Action: {G1} (move:G1)", ["move:G1"]),
    "a number, a colon and a name": (f"{BUY}: buy", ["buy"]),
    "a whole line of the list": (LINE["buy"], ["buy"]),
    "a whole line after a mark": (f"Answer: {LINE['move:G1']}", ["move:G1"]),
    "two lines of the list": (f"- {LINE['move:G1']}\n- {NUMBER['build:blue']} build:blue", ["move:G1", "build:blue"]),
    "curly quotes": ("Answer: “buy”", ["buy"]),
    "a trailing colon": ("**move:G1**:", ["move:G1"]),
    # several
    "the tool's example": ("move:G1, build:blue, end_turn", ["move:G1", "build:blue", "end_turn"]),
    "a turn that ends by itself": ("move:G1, build:blue, move:E1, end_turn", TURN),
    "numbers": (f"{G1}, {NUMBER['build:blue']}", ["move:G1", "build:blue"]),
    "then": ("Move to G1, then build:blue", ["move:G1", "build:blue"]),
    "arrows": ("move:G1 → build blue -> E1", TURN),
    "the buttons of a turn": ("Move to G1; Build a palace with blue; Move to E1", TURN),
    "lines": ("move:G1\nbuild:blue\nmove:E1", TURN),
    "a list with bullets": (f"- G1\n- {NUMBER['build:blue']} build:blue", ["move:G1", "build:blue"]),
    "numbered bold entries": ("**Final answer:**\n\n1. **move:G1**\n\n2. **build:blue**\n\n3. **move:E1**", TURN),
    # in a text
    "a heading": ("I compared them all.\n\n### Answer\n`buy`", ["buy"]),
    "my answer is": ("My final answer is: buy", ["buy"]),
    "thought and action": ("Thought: yellow is rare.\nAction: buy", ["buy"]),
    "a reason afterwards": ("Answer: buy\n\nYellow pays 1 rupee more, so this is worth 2 rupees.", ["buy"]),
    "the last of several": ("Answer: move:A\n\nNo, that costs two actions.\n\nAnswer: buy", ["buy"]),
    "the last of two answers in a row": ("Answer: move:A\nAnswer: buy", ["buy"]),
    "a code block": ("I buy.\n```\nbuy\n```\nGood luck to all!", ["buy"]),
    "a code block in one line": ("```buy```", ["buy"]),
    "the last of two blocks": ("```\nmove:A\n```\nis too slow:\n```\nbuy\n```", ["buy"]),
    "a bare action after a block": ("```\nmove:A\n```\nbuy", ["buy"]),
    "a mark before a block": ("Answer:\n```json\n[\"buy\"]\n```", ["buy"]),
    # JSON
    "a quoted text": ('"move:G1, build:blue, move:E1"', TURN),
    "numbers in a list": ([G1, str(NUMBER["build:blue"])], ["move:G1", "build:blue"]),
    "a turn in a text in a list": (["move:G1, build:blue, move:E1"], TURN),
    "a turn under a key": ('{"actions": "move:G1\\nbuild:blue, end_turn"}', ["move:G1", "build:blue", "end_turn"]),
    "a list under a key": (f'{{"why": "cheap", "actions": ["move:G1", {NUMBER["build:blue"]}]}}', TURN[:2]),
    "objects in a list": ('[{"action": "move:G1"}, {"action": "build:blue"}]', ["move:G1", "build:blue"]),
    "an object in the last line": ('It is cheap.\n{"thought": "rare", "actions": ["buy"]}', ["buy"]),
    "an object over several lines in a block": (
        '```json\n{\n  "why": "rare",\n  "actions": [\n    "move:G1",\n    "build:blue"\n  ]\n}\n```',
        TURN[:2],
    ),
    "a block that stays open": ('```json\n{"action": "buy"}', ["buy"]),
    # thoughts
    "after a thought": ("<think>Answer: move:A? Too slow.\nmove:A\n</think>\nbuy", ["buy"]),
    "after a thought without a start": ("I could move:A.\nAnswer: move:A\n</think>\n\nAnswer: buy", ["buy"]),
}  # fmt: skip

REFUSED = {
    "number and name that differ": (f"{G1} buy", f"'{G1} buy' is no action"),
    "words below": ("Answer: buy\nWait, I would rather keep my rupees.", "is no action"),
    "an action in the next sentence": ("Answer: move:G1. Then I build a palace.", "is no action"),
    "another action in the next sentence": ("Answer: buy. I also like move:A.", "is no action"),
    "a sentence": ("I would like to buy a bale", "'I would like to buy a bale' is no action"),
    "a thought that was cut off": ("<think>\nmove:A", "the answer is empty"),
    "nothing after a thought": ("<think>\nmove:A\n</think>\nI think so.", "'I think so' is no action"),
    "a plan in prose": ("I think I should buy and then build.", "'I think I should buy and' is no action"),
    "a wrong word below": ("Answer:\nmove:G1\nbiuld:blue", "'biuld:blue' is no action"),
    "a wrong word in a list": ("Answer:\n1. muve:G1\n2. build:blue", "'muve:G1' is no action"),
    "an object without a known key": ('{"move": "E1"}', "is no action"),
    "an action after the turn": ("move:G1, build:blue, move:E1, buy", "leave out buy"),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_an_answer_means_what_a_reader_takes_it_to_mean(name: str) -> None:
    answer, expected = UNDERSTOOD[name]
    assert [GAME.action_name(action) for action in text.parse_answer(GAME, STATES, answer)] == expected


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_a_reader_would_ask_about_is_refused(name: str) -> None:
    answer, words = REFUSED[name]
    with pytest.raises(text.AnswerError) as refused:
        text.parse_answer(GAME, STATES, answer)
    assert words in str(refused.value)
    assert len(str(refused.value)) <= 500


def test_the_example_of_the_tools_is_understood_at_every_price() -> None:
    """Where the bale costs all actions that are left, the turn ends without `end_turn`."""
    for actions in (1, 2):
        game = Game(Rules(2, market_actions=(actions,) * 3), Board.load())
        states = position(game, at="A", markets=[{"yellow": 1}, {}, {}])
        played = text.parse_answer(game, states, "move:E1, buy, end_turn")
        assert [game.action_name(action) for action in played] == ["move:E1", "buy", "end_turn"][: 4 - actions]
