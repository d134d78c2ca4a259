"""The architecture, guarded: a module imports only those before it, and importing the game is light and compiles nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bombay_env

PACKAGE = Path(bombay_env.__file__).parent
ROOT = PACKAGE.parent

# Who may import whom: only upwards. A new module is entered where it belongs.
ORDER = (
    "kernel_cache",
    "compile",
    "random_board",
    "board",
    "rules",
    "actions",
    "tables",
    "chance",
    "state",
    "engine",
    "observe",
    "batch",
    "game",
    "lanes",
    "one_game",
    "agent",
    "agent_specs",
    "rewards",
    "record",
    "render",
    "render.svg",
    "render.text",
    "interface",
    "aec",
    "bombay_v0",
    "learner",
    "single",
    "vector",
)
HEAVY = ("torch", "stable_baselines3", "sb3_contrib", "tensorboard", "matplotlib", "pygame")
# What `bombay_env` may import from elsewhere: the four libraries it is made with, and the standard library. llvmlite is Numba's.
LIBRARIES = {"numpy", "numba", "llvmlite", "gymnasium", "pettingzoo"}


def module_name(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name: path for path in sorted(PACKAGE.rglob("*.py")) if (name := module_name(path))}


def imported(path):
    """Full names of all that a file imports anywhere in it, also inside functions: of a package, what is taken from it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relative to itself"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def inner(name):
    """The module of `bombay_env` that an imported name is or stands in: the longest that fits; '' for the package itself."""
    parts = name.split(".")[1:]
    found = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((candidate for candidate in found if candidate in MODULES), "")


def own(path):
    return {inner(name) for name in imported(path) if name.split(".")[0] == "bombay_env"}


def sources(*folders):
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_every_module_has_its_place_in_the_order():
    assert set(MODULES) == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_module_imports_only_those_before_it(name):
    before = set(ORDER[: ORDER.index(name)])
    assert own(MODULES[name]) <= before, f"{name} imports what stands after it, or the package itself"


def test_the_guard_sees_a_wrong_import(tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        "import numpy\ndef late():\n    from bombay_env import engine\n    from bombay_env.game import Game\n"
    )
    assert own(file) == {"engine", "game"}
    file.write_text("import bombay_env.render.text as text\nfrom bombay_env import Game\n")
    assert own(file) == {"render.text", ""}


@pytest.mark.parametrize("path", sources("bombay_env"), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_game_knows_neither_agents_nor_training(path):
    roots = {name.split(".")[0] for name in imported(path)}
    assert not roots & {"bombay_agents", "bombay_training"}
    assert roots <= {"bombay_env"} | LIBRARIES | set(sys.stdlib_module_names)


def test_agents_do_not_know_training():
    folders = [folder for folder in ("agents", "bombay_agents") if (ROOT / folder).is_dir()]
    paths = sources(*folders)
    if not paths:
        pytest.skip("the agents' sources are not beside the game's")
    for path in paths:
        assert not [name for name in imported(path) if name.split(".")[0] == "bombay_training"], path


def in_a_fresh_process(code):
    """What a program prints that runs in a process of its own."""
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_game_pulls_in_nothing_heavy():
    code = f"""
import bombay_env
import bombay_env.bombay_v0, bombay_env.record, bombay_env.render.text
print(sorted(set(sys.modules) & set({HEAVY!r})))
print(sorted(name for name in sys.modules if name.startswith(("bombay_agents", "bombay_training"))))
"""
    assert in_a_fresh_process(code).splitlines() == ["[]", "[]"]


def test_importing_and_making_a_game_compiles_nothing():
    """A kernel has no signature until its first call, so that `import bombay_env` and a command's --help stay quick."""
    names = [f"bombay_env.{name}" for name in ORDER]
    code = f"""
import importlib
from numba.core.dispatcher import Dispatcher
modules = [importlib.import_module(name) for name in {names!r}]
import bombay_env
bombay_env.Game().action_name(0)
kernels = {{id(value): value for module in modules for value in vars(module).values() if isinstance(value, Dispatcher)}}
print(len(kernels), [kernel.__name__ for kernel in kernels.values() if kernel.signatures])
"""
    code = f"import os; os.environ['NUMBA_DISABLE_JIT'] = '0'\n{code}"
    count, compiled = in_a_fresh_process(code).split(" ", 1)
    assert int(count) > 30
    assert compiled == "[]"
