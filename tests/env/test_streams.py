"""The streams of keyed chance: `bombay_env/streams.py` names them all, and no two have the same number."""

import ast
import re
from pathlib import Path

import numpy as np

import bombay_agents
import bombay_env
import bombay_training
from bombay_env import streams

DRAWS = {"random_word": 1, "random_words": 1, "lane_words": 1}  # functions that draw, and where they take the stream
FOLDERS = [Path(package.__file__).parent for package in (bombay_env, bombay_agents, bombay_training)]
SOURCES = {path: path.read_text(encoding="utf-8") for folder in FOLDERS for path in folder.rglob("*.py")}


def test_no_two_streams_have_the_same_number():
    numbers = {name: value for name, value in vars(streams).items() if name.isupper()}
    assert len(numbers) > 15
    assert all(isinstance(value, np.uint64) for value in numbers.values())
    assert len(set(numbers.values())) == len(numbers)


def streams_drawn_from(text):
    """The second arguments of all draws in a source, as text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name in DRAWS and len(node.args) > DRAWS[name]:
                yield ast.unparse(node.args[DRAWS[name]])


def test_every_draw_is_from_a_named_stream():
    drawn = {found for path, text in SOURCES.items() if path.name != "chance.py" for found in streams_drawn_from(text)}
    assert len(drawn) > 10
    named = {f"streams.{name}" for name in vars(streams) if name.isupper()}
    assert drawn <= named | {"stream", "scrubs", "choices", "games"}, (
        "named there, or passed on by a function that gets it"
    )


# Streams that more than one function draws from, because both mean the same.
SHARED = {
    "EPISODE": ["batch.start_next", "common.episode_seed", "learner_games.deal"],
    "POLICY": ["batch.choose_uniform", "batch.rollout_with", "batch.collect_uniform"],
    "TREE_RESTOCKS": ["python_tree._after", "tree.child_of"],
    "REDRAWN_GAMES": ["lineup.keys", "play.__init__"],
}


def uses(path, text):
    """Each use of a stream in a source: its name, and the function in which it stands."""
    waiting = [(ast.parse(text), "")]
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.FunctionDef) and not function:
            function = f"{path.stem}.{node.name}"
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "streams" and node.attr.isupper():
            yield node.attr, function
        waiting += [(child, function) for child in ast.iter_child_nodes(node)]


def test_every_use_of_chance_has_a_stream_of_its_own():
    """With the same key, two uses of one stream are the same words."""
    found = {name: set() for name in vars(streams) if name.isupper()}
    for path, text in SOURCES.items():
        for name, function in uses(path, text):
            found[name].add(function)
    assert {name: sorted(functions) for name, functions in found.items() if len(functions) != 1} == {
        name: sorted(functions) for name, functions in SHARED.items()
    }


def test_no_other_module_defines_a_stream():
    constant = re.compile(r"np\.uint64\(\d{3,}\)")
    assert [path.name for path, text in SOURCES.items() if constant.search(text)] == ["streams.py"]
