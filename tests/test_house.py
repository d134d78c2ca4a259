"""The house rules that a program can check: sizes and numbers of parameters."""

import ast
from pathlib import Path

import pytest

import bombay_env

ROOT = Path(bombay_env.__file__).parent.parent
PACKAGES = (ROOT / "bombay_env", ROOT / "agents" / "bombay_agents", ROOT / "training" / "bombay_training")
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))

MAX_MODULES = 14  # in a folder
MAX_MODULES_OF_THE_GAME = 19  # in bombay_env/ itself
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 10


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
