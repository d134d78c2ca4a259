"""The house rules that a program can check: sizes and numbers of parameters."""

import ast
from collections import Counter
from pathlib import Path

import bombay_env

ROOT = Path(bombay_env.__file__).parent.parent
PACKAGES = (ROOT / "bombay_env", ROOT / "agents" / "bombay_agents", ROOT / "training" / "bombay_training")
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))

MAX_MODULES = 14  # in a folder
MAX_MODULES_OF_THE_GAME = 20  # in bombay_env/ itself
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 10


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def functions(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def test_no_folder_holds_too_many_modules():
    counts = Counter(name_of(path.parent) for path in SOURCES)
    assert counts.pop("bombay_env") <= MAX_MODULES_OF_THE_GAME
    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def test_modules_are_short():
    lines = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: count for name, count in lines.items() if count > MAX_MODULE_LINES} == {}


def test_functions_are_short_and_take_few_parameters():
    for path in SOURCES:
        for function in functions(path):
            where, arguments = f"{name_of(path)}: {function.name}", function.args
            assert function.end_lineno - function.lineno < MAX_FUNCTION_LINES, where
            decorators = [decorator.id for decorator in function.decorator_list if isinstance(decorator, ast.Name)]
            is_command = "cli" in path.parts and "command" in decorators  # its parameters are the options
            if not is_command and function.name != "__init__":  # options of an object are its documentation
                count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
                assert count <= MAX_PARAMETERS, where
