"""The list of planted faults fits the sources, and the script tells faults that tests catch from those that they do not."""

import ast
import dataclasses
import functools
import json

import pytest
from typer import Typer
from typer.testing import CliRunner

import planted_faults
from planted_faults import GROUPS, ROOT, STRICT, Fault, Result

FAULTS = planted_faults.load()


@functools.cache
def functions(path):
    """The names of the functions in a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_fault_can_be_planted():
    """If this fails, code was edited where a fault is planted: bring the entry up to date."""
    problems = {fault.name: fault.problem(ROOT) for fault in FAULTS}
    assert {name: problem for name, problem in problems.items() if problem is not None} == {}


def test_every_fault_has_a_name_a_group_and_tests_of_its_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 70
    assert {fault.group for fault in FAULTS} == set(GROUPS)
    for fault in FAULTS:
        assert fault.tests
        for test in fault.tests:
            path, _, function = test.partition("::")
            assert not function or function.partition("[")[0] in functions(path), test


# --- The script ---

SOURCE = "def double(number):\n    return 2 * number\n\n\ndef half(number):\n    return number / 2\n"
TESTS = """
import time
import bombay_env

def test_double():
    assert bombay_env.double(3) == 6

def test_half():
    start = time.monotonic()
    while bombay_env.half(4) != 2:
        assert time.monotonic() < start + 60

def test_wrong():
    assert bombay_env.double(1) == 1
"""


def entry(name, old, new, tests, group="turns"):
    listed = ", ".join(f'"tests/test_it.py{test}"' for test in tests)
    lines = (
        f'name = "{name}"',
        f'group = "{group}"',
        'file = "bombay_env/__init__.py"',
        f"old = '{old}'",
        f"new = '{new}'",
    )
    return "\n".join(["[[fault]]", *lines, f"tests = [{listed}]", ""])


CAUGHT = entry("caught", "2 * number", "3 * number", ["::test_double", "::test_half"])
SURVIVES = entry("survives", "2 * number", "number + 3", ["::test_double"])
OUTDATED = entry("outdated", "4 * number", "number", ["::test_double"])
TWICE = entry("twice", "number", "value", ["::test_double"])
NO_PYTHON = entry("no Python", "2 * number", "2 *", ["::test_double"])
BREAKS = entry("breaks", "2 * number", "2 * numbers", ["::test_double"])
IDLE = entry("idle", "2 * number", "2*number", ["::test_double"])
FAILS = entry("fails anyway", "2 * number", "3 * number", ["::test_wrong"])


@pytest.fixture
def checkout(tmp_path):
    """A small checkout with three packages and some tests."""
    root = tmp_path / "checkout"
    for name in ("bombay_env", "agents/bombay_agents", "training/bombay_training"):
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(SOURCE)
    (root / "tests").mkdir()
    (root / "tests" / "test_it.py").write_text(TESTS)
    return root


@pytest.fixture
def script(checkout, tmp_path):
    """Runs the script on the small checkout with these entries; returns its exit code and what it printed."""
    app = Typer()
    app.command()(planted_faults.main)

    def run(*entries, arguments=()):
        (tmp_path / "faults.toml").write_text("\n".join(entries))
        options = [
            "--faults",
            str(tmp_path / "faults.toml"),
            "--root",
            str(checkout),
            "--json",
            str(tmp_path / "found.json"),
        ]
        done = CliRunner().invoke(app, [*options, *arguments])
        return done.exit_code, done.output

    return run


def test_the_script_reports_what_became_of_each_fault_and_leaves_the_checkout_alone(
    script, checkout, tmp_path, monkeypatch
):
    before = {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()}
    entries = (CAUGHT, SURVIVES, OUTDATED, TWICE, NO_PYTHON, BREAKS, IDLE, FAILS)
    status, printed = script(*entries)
    assert status == 1
    assert {path: path.read_bytes() for path in checkout.rglob("*") if path.is_file()} == before
    found = json.loads((tmp_path / "found.json").read_text())
    assert {name: (result["outcome"], result["reason"]) for name, result in found.items() if name != "survives"} == {
        "caught": ("caught", "FAILED tests/test_it.py::test_double - assert 9 == 6"),
        "outdated": ("not planted", "its old text occurs 0 times in bombay_env/__init__.py"),
        "twice": ("not planted", "its old text occurs 4 times in bombay_env/__init__.py"),
        "no Python": ("not planted", "its new text is not valid Python: invalid syntax"),
        "breaks": ("not planted", "FAILED tests/test_it.py::test_double - NameError: name 'numbers' is not defined"),
        "idle": ("not planted", "its new text changes nothing"),
        "fails anyway": ("fails anyway", "tests/test_it.py::test_wrong"),
    }
    assert found["survives"]["outcome"] == "survived"
    assert "survived: survives (turns, bombay_env/__init__.py)" in printed
    monkeypatch.setattr(planted_faults, "Checkout", None)  # what is known is not tried again
    assert script(*entries)[0] == 1
    assert json.loads((tmp_path / "found.json").read_text()) == found
    assert script(*entries, arguments=["--only", "caught"])[0] == 0
    status, printed = script(*entries, arguments=["--only", "lost"])
    assert status == 2
    assert "there is no 'lost'" in printed


def test_tests_that_cannot_be_run_stop_the_script(script):
    status, printed = script(CAUGHT, entry("unknown", "2 * number", "3 * number", ["::test_unknown"]))
    assert status == 2
    assert printed.startswith("the tests do not run without a fault:\n")
    assert "not found" in printed


def test_a_result_holds_until_the_fault_its_file_or_its_tests_change(checkout):
    fault = Fault("fault", "turns", "bombay_env/__init__.py", "2 * number", "number", ("tests/test_it.py::test_half",))
    keys = {fault.key(checkout), dataclasses.replace(fault, new="number + 3").key(checkout)}
    assert fault.key(checkout) in keys
    for path in (fault.file, "tests/test_it.py"):
        (checkout / path).write_text((checkout / path).read_text() + "\n")
        keys.add(fault.key(checkout))
    assert len(keys) == 4


def test_a_fault_that_hangs_is_caught(checkout, tmp_path):
    checkout_copy = planted_faults.Checkout(checkout, tmp_path / "copy")
    checkout_copy.check_imports()
    fault = Fault(
        "hangs", "turns", "bombay_env/__init__.py", "number / 2", "number / 3", ("tests/test_it.py::test_half",)
    )
    result = planted_faults.try_fault(fault, checkout_copy, set(), limit=2.0)
    assert (result.outcome, result.reason) == ("caught", "no answer in 2 s")


def test_95_percent_and_all_of_the_strict_groups_must_be_caught():
    def found(missed, group):
        faults = [Fault(str(number), group, "", "", "", ()) for number in range(100)]
        return {
            fault: Result("survived" if number < missed else "caught", "", 0.0, "")
            for number, fault in enumerate(faults)
        }

    assert planted_faults.is_enough(found(5, "turns"))
    assert not planted_faults.is_enough(found(6, "turns"))
    for group in STRICT:
        assert planted_faults.is_enough(found(0, group))
        assert not planted_faults.is_enough(found(1, group))
    not_planted = {
        fault: dataclasses.replace(result, outcome="not planted") for fault, result in found(6, "nets").items()
    }
    assert not planted_faults.is_enough(not_planted)
