"""Answers as language models write them, each with what it means."""

import pytest

from bombay_env import Board, Game, Rules, text
from helpers.position import official, position
from helpers.refusal import refusal

# Seat 0 stands on E1, a yellow post whose bales cost 2 rupees and 2 actions, with a blue bale.
GAME = official(3)
STATES = position(GAME, at="E1", basket=["blue"])
NUMBER = {name: GAME.action_index(name) for name in GAME.action_names}
G1, BUY = NUMBER["move:G1"], NUMBER["buy"]
LINE = {line.split()[1].removesuffix(":"): line for line in text.describe_actions(GAME, STATES).splitlines()}
TURN = ["move:G1", "build:blue", "move:E1"]
NOW = "legal are move:A, move:G1, move:G5, move:H1, buy, consolidate, end_turn"

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
    "a mark above a list": ("Actions:\n- buy\n- end turn", ["buy", "end_turn"]),
    "the last of two answers": ("Answer: move:A\nOr rather:\nAnswer: buy", ["buy"]),
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
    "objects over several lines in a block": (
        'I go.\n```json\n[\n  {"action": "move:G1"},\n  {"action": "build:blue"}\n]\n```\nGood luck!', TURN[:2],
    ),
    "an object with a key below the actions": ('{"actions": [\n"move:G1",\n"build:blue"\n], "next": [\n"buy"\n]}', TURN[:2]),
    "a line break in a thought": ('{"thoughts": "one\ntwo", "actions": ["buy"]}', ["buy"]),
    "a mark before an object": ('Answer: {"actions": ["buy"]}', ["buy"]),
    "lines below an object": ('{"actions": ["move:A"]}\nNo, that is too slow.\nAnswer: buy', ["buy"]),
    "a line of the list and a number": (f"{LINE['move:G1']}, {NUMBER['build:blue']}", TURN[:2]),
    "a rule between": ("move:G1\n---\nbuy", ["buy"]),
    "a rule at the end": ("> move:G1\n---", ["move:G1"]),
    "a block that stays open": ('```json\n{"action": "buy"}', ["buy"]),
    # thoughts
    "after a thought": ("<think>Answer: move:A? Too slow.\nmove:A\n</think>\nbuy", ["buy"]),
    "after a thought without a start": ("I could move:A.\nAnswer: move:A\n</think>\n\nAnswer: buy", ["buy"]),
}  # fmt: skip

REFUSED = {
    "two answers in a row": ("Action: move:G1\nAction: end_turn", "above the last actions, is not clear"),
    "an entry with a remark": ("* move:G1 (cheap)\n* end_turn", "is no action"),
    "a line with a remark": ("Actions:\nmove:G1 (costs 1)\nend_turn", "'move:G1 (costs 1)' is no action"),
    "two objects": ('{"actions": ["move:G1"]}\n{"actions": ["end_turn"]}', "several JSON values"),
    "actions below an object": ('{"actions": ["move:G1"]}\nend_turn', "JSON and more actions below it"),
    "words below an object": ('{"actions": ["buy"]}\nor better not', "is no action"),
    "a broken object": ('[\n{"action": "move:G1"},\n{"action": "end_turn"', "the JSON of the answer cannot be read"),
    "words behind a number and a name": (f"{G1} move:G1: go there", "is no action"),
    "a correction": ("Answer: move:G1\n\nActually, my final answer: buy", "below the actions, is not clear"),
    "a correction that ends with an action": ("move:G1\n\nOn second thought, pass.", "below the actions, is not clear"),
    "a corrected object": ('{"action": "move:G1"}\n\nFinal: {"action": "pass"}', "below the actions, is not clear"),
    "two lines with a mark": ("Action: move G1\n\nAction: buy", "above the last actions, is not clear"),
    "a list of options": ("Options:\n- move:G1\n- buy\n\npass", "above the last actions, is not clear"),
    "two answers in an object": ('{"action": "move:G1", "answer": "buy"}', "is no action"),
    "many open lines": ("[\n" * 50_000, "the JSON of the answer cannot be read"),
    "number and name that differ": (f"{G1} buy", f"'{G1} buy' is no action"),
    "words below": ("Answer: buy\nWait, I would rather keep my rupees.", "is no action"),
    "an action in the next sentence": ("Answer: move:G1. Then I build a palace.", "is no action"),
    "another action in the next sentence": ("Answer: buy. I also like move:A.", "is no action"),
    "a sentence": ("I would like to buy a bale", "'I would like to buy a bale' is no action"),
    "a thought that was cut off": ("<think>\nmove:A", "the answer is empty"),
    "nothing after a thought": ("<think>\nmove:A\n</think>\nI think so.", "'I think so.' is no action"),
    "a plan in prose": ("I think I should buy and then build.", "'I think I should buy and' is no action"),
    "a wrong word below": ("Answer:\nmove:G1\nbiuld:blue", "'biuld:blue' is no action"),
    "a wrong word in a list": ("Answer:\n1. muve:G1\n2. build:blue", "'muve:G1' is no action"),
    "an object without a known key": ('{"move": "E1"}', "is no action"),
    "an action after the turn": ("move:G1, build:blue, move:E1, buy", "move:E1; leave out everything from buy on"),
    "a second end of the turn": ("end_turn, end_turn", "leave out everything from end_turn on"),
    "an illegal action": ("E1", "move:E1 is illegal"),
    "an illegal one later": ("buy, buy", "after buy, with 1 action and 0 rupees left, buy is illegal; legal are move:G1,"),
    "no site": ("E9", "'E9' is no action; answer with names or numbers of actions"),
    "nothing": ("", "the answer is empty"),
    "an empty list": ("[]", "the answer is empty"),
    "a negative number": (-1, "-1 is no action"),
    "a huge number": (10**5000, "a value of type int is no action"),
    "a flag": (True, "True is no action"),
    "a list in a list": ([["buy"]], "['buy'] is no action"),
    "too many actions": (["end_turn"] * 100, "the answer has 100 actions; a turn has at most 18"),
    "too many letters": ("x" * 100_001, "the answer has 100001 characters; at most 100000 are allowed"),
    "many marks": ("Answer: " * 5_000 + "buy", "is no action"),
    "control codes": ("\x1b[31m" * 400, "is no action"),
    "open brackets": ("[" * 5_000, "the answer is empty"),
    "backticks": ("`" * 100_000, "the answer is empty"),
    "separators": ("then " * 20_000, "the answer is empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_an_answer_means_what_a_reader_takes_it_to_mean(name: str) -> None:
    answer, expected = UNDERSTOOD[name]
    before = STATES.tobytes()
    assert [GAME.action_name(action) for action in text.parse_answer(GAME, STATES, answer)] == expected
    assert STATES.tobytes() == before


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_a_reader_would_ask_about_is_refused_in_one_line(name: str) -> None:
    answer, words = REFUSED[name]
    message = refusal(lambda: text.parse_answer(GAME, STATES, answer), words, error=text.AnswerError)
    assert message.isprintable()
    assert any(hint in message for hint in (NOW, "legal are move:G1", "leave out", "at most 18"))


@pytest.mark.parametrize("actions", [1, 2])
def test_the_example_of_the_tools_is_understood_at_every_price(actions: int) -> None:
    """Where the bale costs all actions that are left, the turn ends without `end_turn`."""
    game = Game(Rules(2, market_actions=(actions,) * 3), Board.load())
    states = position(game, at="A", markets=[{"yellow": 1}, {}, {}])
    played = text.parse_answer(game, states, "move:E1, buy, end_turn")
    assert [game.action_name(action) for action in played] == ["move:E1", "buy", "end_turn"][: 4 - actions]


def test_a_whole_turn_with_a_take_is_one_answer() -> None:
    states = position(GAME, at="G4", basket=["blue"])
    actions = text.parse_answer(GAME, states, "build blue, take orange, move E2, end turn")
    assert [GAME.action_name(action) for action in actions] == ["build:blue", "take:orange", "move:E2", "end_turn"]


def test_names_of_sites_may_be_words_separators_and_differ_in_case() -> None:
    data = Board.load().to_dict()
    change = {"E1": "a", "G1": "then", "G5": "x,y", "H1": "the", "G3": "the_"}
    for site in data["sites"]:
        site["name"] = change.get(site["name"], site["name"])
    data["trails"] = [[change.get(a, a), change.get(b, b)] for a, b in data["trails"]]
    game = Game(Rules.official(2), Board.from_dict(data))
    states = game.new_states([1])
    for answer, name in (
        ("move:a", "move:a"),
        ("move:the", "move:the"),
        ("Answer: `move:the_`, end_turn", "move:the_"),
    ):
        assert text.parse_answer(game, states, answer)[0] == game.action_index(name)
    refusal(lambda: text.parse_answer(game, states, "move to a"), "'move to a' is no action")  # A or a
    game.step(states, [game.action_index("move:a")])
    for name in ("move:then", "move:x,y"):
        assert text.parse_answer(game, states, name) == [game.action_index(name)]
        assert text.parse_answer(game, states, [name]) == [game.action_index(name)]
