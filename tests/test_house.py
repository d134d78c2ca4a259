"""The house rules that a program can check: sizes, numbers of parameters, names and phrases that were replaced."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import bombay_env

ROOT = Path(bombay_env.__file__).parent.parent
PACKAGES = (ROOT / "bombay_env", ROOT / "agents" / "bombay_agents", ROOT / "training" / "bombay_training")
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("agents/bombay_agents/weights/*.md")),
]

MAX_MODULES = 14  # in a folder
MAX_MODULES_OF_THE_GAME = 19  # in bombay_env/ itself
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 10

# Names that the field's words have replaced; nobody brings them back by habit.
OLD_NAMES = {
    "Lessons", "Desk", "prospects", "outlook", "replies", "foresight", "foresee", "foreseen", "Judgement", "Values",
    "factors", "luck", "judging", "LiveJudge", "trace", "explore", "steady", "plant", "grow", "walk", "play_on", "ask_ahead",
    "forget", "Lanes", "net_player", "net_outcomes", "value_agent", "turn_values", "VictimError", "CannotPlayError",
}  # fmt: skip
OLD_PHRASES = (
    "games played on",
    "played on by", "foreseen", "foresee", "tried out", "positions are asked", "ask the net", "again and again", "as eagerly",
    "budget of work", "tell it from par", "flatter", "a dear agent", "with a taste", "in their way", "in its way",
    "from the eyes of", "once over", "of equals", "hangs on", "hang on the", "they teach", "how far it is trusted",
    "kinds of table", "at one kind of table", "made anew", "gone on with", "in one piece", "was aimed at", "laid to",
)  # fmt: skip


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def functions(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def is_command(path, function):
    """Whether it is a command: its parameters are the options of the command line."""
    return "cli" in path.parts and function.name == path.stem


def test_no_folder_holds_too_many_modules():
    counts = {}
    for path in SOURCES:
        counts[name_of(path.parent)] = counts.get(name_of(path.parent), 0) + 1
    limits = {folder: MAX_MODULES_OF_THE_GAME if folder == "bombay_env" else MAX_MODULES for folder in counts}
    assert {folder: count for folder, count in counts.items() if count > limits[folder]} == {}


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_modules_and_functions_are_short_and_take_few_parameters(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_MODULE_LINES
    for function in functions(path):
        length = function.end_lineno - function.lineno + 1
        assert length <= MAX_FUNCTION_LINES, f"{function.name} has {length} lines"
        arguments = function.args
        count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
        if not is_command(path, function) and function.name != "__init__":  # options of an object are its documentation
            assert count <= MAX_PARAMETERS, f"{function.name} takes {count} parameters"


@pytest.mark.parametrize("path", [path for path in SOURCES + TESTS if path.name != "test_house.py"], ids=name_of)
def test_replaced_names_do_not_come_back(path):
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    previous, found = "", set()
    for token in tokens:
        if token.type == tokenize.NAME and token.string in OLD_NAMES and previous not in ("ast", "os"):
            found.add(f"{token.start[0]}: {token.string}")
        if token.string != ".":
            previous = token.string
    assert found == set()


@pytest.mark.parametrize(
    "path", [path for path in SOURCES + TESTS + PAGES if path.name != "test_house.py"], ids=name_of
)
def test_replaced_phrases_do_not_come_back(path):
    text = re.sub(r"\s+", " ", path.read_text(encoding="utf-8"))
    assert [phrase for phrase in OLD_PHRASES if phrase in text] == []
