"""Answers as language models write them, each with what a reader would take them to mean."""

import pytest

from bombay_env import Board, Game, Rules, text
from helpers.position import official, position

# Seat 0 stands on E1, a yellow post whose bales cost 2 rupees and 2 actions, with a blue bale.
GAME = official(3)
STATES = position(GAME, at="E1", basket=["blue"])
NUMBER = {name: GAME.action_index(name) for name in GAME.action_names}
G1, BUY = NUMBER["move:G1"], NUMBER["buy"]
LINES = text.describe_actions(GAME, STATES).splitlines()
LINE = {line.split()[1].removesuffix(":"): line for line in LINES}
TURN = ["move:G1", "build:blue", "move:E1"]

UNDERSTOOD = {
    # lines from the list of legal actions, and names with numbers
    "the tool's example": ("move:G1, build:blue, end_turn", ["move:G1", "build:blue", "end_turn"]),
    "a turn that ends by itself": ("move:G1, build:blue, move:E1, end_turn", TURN),
    "a number and a name": (f"{G1} move:G1", ["move:G1"]),
    "a number and a name in brackets": (f"Action: {G1} (move:G1)", ["move:G1"]),
    "a name and a number": (f"Answer: move:G1 ({G1})", ["move:G1"]),
    "a number, a colon and a name": (f"{BUY}: buy", ["buy"]),
    "a number in brackets and a name": (f"[{BUY}] buy", ["buy"]),
    "a whole line of the list": (LINE["buy"], ["buy"]),
    "a whole line after a mark": (f"Answer: {LINE['move:G1']}", ["move:G1"]),
    "two lines of the list": (f"- {LINE['move:G1']}\n- {NUMBER['build:blue']} build:blue", ["move:G1", "build:blue"]),
    "numbers alone": (f"{G1}, {NUMBER['build:blue']}", ["move:G1", "build:blue"]),
    "action and number": (f"Answer: action {BUY}", ["buy"]),
    "a hash and a number": (f"#{BUY}", ["buy"]),
    "action, a hash and a number": (f"Action #{BUY}", ["buy"]),
    # words
    "a sentence": ("Answer: Move to G1, then build a palace using the blue bale, and move E1.", TURN),
    "first, then, finally": ("First move:G1, then build:blue, and finally move:E1.", TURN),
    "and": ("Answer: move:G1 and build:blue", ["move:G1", "build:blue"]),
    "buy a bale": ("Answer: buy a bale", ["buy"]),
    "buy and the colour of the post": ("Answer: buy a yellow bale, move:G1", ["buy", "move:G1"]),
    "end my turn": ("End my turn!", ["end_turn"]),
    "a note in brackets": ("Answer: move:G1 (a free site, one trail away), build:blue (palace)", ["move:G1", "build:blue"]),
    "curly quotes": ("Answer: “buy”", ["buy"]),
    "labels of steps": ("Answer:\nStep 1: move:G1\nStep 2: build:blue\nStep 3: move:E1", TURN),
    "numbered bold entries": ("**Final answer:**\n\n1. **move:G1**\n\n2. **build:blue**\n\n3. **move:E1**", TURN),
    # marks
    "a heading": ("I compared them all.\n\n### Answer\n`buy`", ["buy"]),
    "my answer is": ("My final answer is: buy", ["buy"]),
    "in the middle of a line": ("Yellow is rare. Answer: buy", ["buy"]),
    "thought and action": ("Thought: yellow is rare.\nAction: buy", ["buy"]),
    "an input of a tool": ("Action: act\nAction Input: buy", ["buy"]),
    "a reason afterwards": ("Answer: buy\n\nYellow pays 1 rupee more, so this is worth 2 rupees.", ["buy"]),
    "the last of several": ("Answer: move:A\n\nNo, that costs two actions.\n\nAnswer: buy", ["buy"]),
    "an element": ("<answer>buy</answer>", ["buy"]),
    "a final element": ("I buy.\n<final_answer>buy</final_answer>", ["buy"]),
    "elements of actions": ("<actions>\n<action>move:G1</action>\n<action>build:blue</action>\n</actions>", TURN[:2]),
    "a plan that was rejected in a block": ("```\nmove:A\n```\nThat takes my whole turn.\nAnswer: buy", ["buy"]),
    # code blocks
    "a code block": ("I buy.\n```\nbuy\n```", ["buy"]),
    "a code block in one line": ("I buy: ```buy```", ["buy"]),
    "a code block that stays open": ('```json\n{"action": "buy"}', ["buy"]),
    "the last of two blocks": ("```\nmove:A\n```\nis too slow:\n```\nbuy\n```", ["buy"]),
    "an answer after a rejected block": ("A plan:\n```\nmove:A\n```\nNo, too slow.\n\nAnswer: buy", ["buy"]),
    "a mark in a block": ("```\nAnswer: buy\n```\nGood luck to all!", ["buy"]),
    "a mark before a block": ("Answer:\n```json\n[\"buy\"]\n```", ["buy"]),
    "a box": (r"So $\boxed{\text{move:G1, end\_turn}}$.", ["move:G1", "end_turn"]),
    "a sentence afterwards": ("Answer: move:G1, build:blue. This gets a Client.", ["move:G1", "build:blue"]),
    "sentences that go on": ("Answer:\n1. Move to G1. Then build using blue.\n2. Move to E1.", TURN),
    # JSON
    "a number as a number": ({"action": BUY}, ["buy"]),
    "numbers in a list": ([G1, str(NUMBER["build:blue"])], ["move:G1", "build:blue"]),
    "a turn in a text in a list": (["move:G1, build:blue, move:E1"], TURN),
    "a turn under a key": ('{"actions": "move:G1, build:blue, end_turn"}', ["move:G1", "build:blue", "end_turn"]),
    "a list under a key": (f'{{"actions": ["move:G1", {NUMBER["build:blue"]}]}}', ["move:G1", "build:blue"]),
    "objects in a list": ('[{"action": "move:G1"}, {"action": "build:blue"}]', ["move:G1", "build:blue"]),
    "objects one below the other": ('{"action": "move:G1"}\n{"action": "build:blue"}', ["move:G1", "build:blue"]),
    "an object among words": ('So my move is {"action": "buy"}. Good luck!', ["buy"]),
    "an object after a mark": ('Answer: {"thought": "rare", "actions": ["buy"]}', ["buy"]),
    "a quoted text": ('"move:G1, build:blue, move:E1"', TURN),
    # thoughts
    "after a thought": ("<think>Answer: move:A? Too slow.</think>\nbuy", ["buy"]),
    "after a thought without a start": ("I could move:A.\nAnswer: move:A\n</think>\n\nAnswer: buy", ["buy"]),
}  # fmt: skip

REFUSED = {
    "number and name that differ": (f"{G1} buy", "names two actions, move:G1 and buy"),
    "number and name that differ in brackets": (f"Answer: {G1} (buy)", "names two actions, move:G1 and buy"),
    "taken back": ("Answer: buy\n\nWait, I would rather keep my rupees.", "may take it back: 'Wait, I would rather"),
    "another action named afterwards": ("Answer: buy\n\nmove:A would be good too.", "may take it back"),
    "two answers in a row": (
        "Action: move:G1\nAction: build:blue",
        "another answer directly before the last one: 'Action: m",
    ),
    "an action in the next sentence": ("Answer: move:G1. Then I build a palace.", "is no action"),
    "another action in the next sentence": ("Answer: buy. I also like move:A.", "may take it back"),
    "a bare action after a block": ("```\nmove:A\n```\nToo slow for me:\n\nbuy", "may take it back"),
    "a thought that was cut off": ("<think>Answer: move:A", "the answer is empty"),
    "a mark without an answer": ("```\nmove:A\n```\nAnswer:", "the answer is empty"),
    "a plan in prose": ("I think I should buy and then build.", "'I think I should buy' is no action"),
    "a wrong word among actions": ("Answer:\nmove:G1\nbiuld:blue", "'biuld:blue' is no action"),
    "a list of what is possible": ("Legal actions:\n- buy\n- end_turn", "is no action"),
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
