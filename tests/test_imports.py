"""The architecture, guarded: a module imports only those before it, and importing the game is light and compiles nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bombay_env

ROOT = Path(bombay_env.__file__).parent.parent
PACKAGES = {
    "bombay_env": ROOT / "bombay_env",
    "bombay_agents": ROOT / "agents" / "bombay_agents",
    "bombay_training": ROOT / "training" / "bombay_training",
}

# Who may import whom: a module imports only those above it. A new module is entered where it belongs. A package that offers names
# of its modules stands after these.
ORDER = (
    "bombay_env.jit",
    "bombay_env.jit.sources",
    "bombay_env.jit.notice",
    "bombay_env.jit.symbols",
    "bombay_env.jit.parts",
    "bombay_env.jit.folder",
    "bombay_env.jit.cache",
    "bombay_env.jit.kernels",
    "bombay_env.jit.records",
    "bombay_env.jit.ranges",
    "bombay_env.checks",
    "bombay_env.files",
    "bombay_env.files.json_text",
    "bombay_env.files.json_form",
    "bombay_env.files.atomic",
    "bombay_env.random_board",
    "bombay_env.board",
    "bombay_env.rules",
    "bombay_env.actions",
    "bombay_env.tables",
    "bombay_env.chance",
    "bombay_env.streams",
    "bombay_env.state",
    "bombay_env.engine",
    "bombay_env.observation",
    "bombay_env.observation.layout",
    "bombay_env.observation.lookups",
    "bombay_env.observation.encode",
    "bombay_env.batch",
    "bombay_env.setup",
    "bombay_env.game",
    "bombay_env.rewards",
    "bombay_env.record",
    "bombay_env.agent",
    "bombay_env.registry",
    "bombay_env.render",
    "bombay_env.render.shapes",
    "bombay_env.render.layout",
    "bombay_env.render.view",
    "bombay_env.render.picture",
    "bombay_env.render.board_map",
    "bombay_env.render.panels",
    "bombay_env.render.svg",
    "bombay_env.render.raster",
    "bombay_env.render.drawing",
    "bombay_env.render.replay",
    "bombay_env.render.replay_page",
    "bombay_env.render.window",
    "bombay_env.text.position",
    "bombay_env.text.effects",
    "bombay_env.text.answers",
    "bombay_env.text",
    "bombay_env.envs",
    "bombay_env.envs.common",
    "bombay_env.envs.rendering",
    "bombay_env.envs.one_game",
    "bombay_env.envs.aec",
    "bombay_env.bombay_v0",
    "bombay_env.envs.autoreset_games",
    "bombay_env.envs.opponents",
    "bombay_env.envs.single",
    "bombay_env.envs.vector",
    "bombay_env",
    "bombay_agents",
    "bombay_agents.copying",
    "bombay_agents.turns.enumeration",
    "bombay_agents.turns",
    "bombay_agents.turns.agent",
    "bombay_agents.turns.evaluator",
    "bombay_agents.turns.lookahead",
    "bombay_agents.random",
    "bombay_agents.scripted",
    "bombay_agents.scripted.greedy_value",
    "bombay_agents.scripted.greedy",
    "bombay_agents.scripted.planner_weights",
    "bombay_agents.scripted.planner_survey",
    "bombay_agents.scripted.planner_value",
    "bombay_agents.scripted.outcome_values",
    "bombay_agents.scripted.evaluator",
    "bombay_agents.scripted.planner",
    "bombay_agents.scripted.styles",
    "bombay_agents.nets",
    "bombay_agents.nets.tensor_files",
    "bombay_agents.nets.files",
    "bombay_agents.nets.value",
    "bombay_agents.nets.value.features",
    "bombay_agents.nets.value.encoding",
    "bombay_agents.nets.value.net",
    "bombay_agents.nets.value.evaluator",
    "bombay_agents.nets.value.agent",
    "bombay_agents.nets.policy",
    "bombay_agents.nets.policy.net",
    "bombay_agents.nets.policy.agent",
    "bombay_agents.nets.loading",
    "bombay_agents.search",
    "bombay_agents.search.budget",
    "bombay_agents.search.halving",
    "bombay_agents.search.tree",
    "bombay_agents.search.python_tree",
    "bombay_agents.search.agent",
    "bombay_agents.search.planner_search",
    "bombay_agents.search.flat_mc",
    "bombay_agents.search.endgame",
    "bombay_agents.shipped",
    "bombay_agents.external",
    "bombay_agents.external.guard",
    "bombay_agents.external.process",
    "bombay_agents.external.agent",
    "bombay_training",
    "bombay_training.extras",
    "bombay_training.rich_tables",
    "bombay_training.figures",
    "bombay_training.locks",
    "bombay_training.matches",
    "bombay_training.matches.results",
    "bombay_training.matches.intervals",
    "bombay_training.matches.play",
    "bombay_training.matches.pool",
    "bombay_training.matches.statistics",
    "bombay_training.evaluation",
    "bombay_training.evaluation.arena",
    "bombay_training.evaluation.gate",
    "bombay_training.evaluation.ladder",
    "bombay_training.evaluation.audit",
    "bombay_training.balance",
    "bombay_training.balance.study",
    "bombay_training.balance.plots",
    "bombay_training.balance.report",
    "bombay_training.evaluation.regret",
    "bombay_training.learners",
    "bombay_training.learners.runs.periodic_eval",
    "bombay_training.learners.runs.settings",
    "bombay_training.learners.runs.clock",
    "bombay_training.learners.runs.stop",
    "bombay_training.learners.runs.run_files",
    "bombay_training.learners.runs.checkpoints",
    "bombay_training.learners.runs.run",
    "bombay_training.learners.runs",
    "bombay_training.learners.curve",
    "bombay_training.learners.zero.optimizer",
    "bombay_training.learners.zero.self_play",
    "bombay_training.learners.zero.run",
    "bombay_training.learners.zero",
    "bombay_training.learners.best_response",
    "bombay_training.learners.ppo.seat_buffer",
    "bombay_training.learners.ppo.settings",
    "bombay_training.learners.ppo.vec_env",
    "bombay_training.learners.ppo.model",
    "bombay_training.learners.ppo.run",
    "bombay_training.learners.ppo",
    "bombay_training.learners.train",
    "bombay_training.learners.study",
    "bombay_training.openspiel",
    "bombay_training.examples",
    "bombay_training.datasets",
    "bombay_training.datasets.decisions",
    "bombay_training.datasets.parquet",
    "bombay_training.datasets.minari",
    "bombay_training.examples.common",
    "bombay_training.examples.sb3_gymnasium",
    "bombay_training.examples.pettingzoo_sb3",
    "bombay_training.examples.last_mover_sb3",
    "bombay_training.examples.cleanrl_ppo",
    "bombay_training.examples.behaviour_cloning",
    "bombay_training.examples.torchrl_ppo",
    "bombay_training.examples.tianshou_ppo",
    "bombay_training.examples.rllib_ppo",
    "bombay_training.examples.agilerl_ppo",
    "bombay_training.examples.openspiel_mcts",
    "bombay_training.examples.exec_player",
    "bombay_training.play",
    "bombay_training.play.effects",
    "bombay_training.play.session",
    "bombay_training.play.account",
    "bombay_training.play.seats",
    "bombay_training.play.hints",
    "bombay_training.play.messages",
    "bombay_training.play.draft",
    "bombay_training.play.drawing",
    "bombay_training.play.terminal",
    "bombay_training.play.model_table",
    "bombay_training.play.mcp_server",
    "bombay_training.play.web",
    "bombay_training.play.web.worker",
    "bombay_training.play.web.guard",
    "bombay_training.play.web.server",
    "bombay_training.play.web.play_app",
    "bombay_training.play.web.watch_app",
    "bombay_training.play.web.board_app",
    "bombay_training.bench",
    "bombay_training.bench.peers",
    "bombay_training.bench.cases",
    "bombay_training.bench.learning",
    "bombay_training.bench.report",
    "bombay_training.bench.cold_start",
    "bombay_training.warm_up",
    "bombay_training.docs",
    "bombay_training.docs.markdown",
    "bombay_training.docs.settings",
    "bombay_training.docs.spaces",
    "bombay_training.docs.picture",
    "bombay_training.docs.commands",
    "bombay_training.docs.agents",
    "bombay_training.docs.results",
    "bombay_training.docs.speed",
    "bombay_training.docs.pages",
    "bombay_training.cli",
    "bombay_training.cli.errors",
    "bombay_training.cli.options",
    "bombay_training.cli.inputs",
    "bombay_training.cli.output",
    "bombay_training.cli.games",
    "bombay_training.cli.games.mcp",
    "bombay_training.cli.games.play",
    "bombay_training.cli.games.watch",
    "bombay_training.cli.games.board",
    "bombay_training.cli.games.simulate",
    "bombay_training.cli.games.replay",
    "bombay_training.cli.evaluate",
    "bombay_training.cli.evaluate.arena",
    "bombay_training.cli.evaluate.gate",
    "bombay_training.cli.evaluate.ladder",
    "bombay_training.cli.evaluate.audit",
    "bombay_training.cli.evaluate.regret",
    "bombay_training.cli.evaluate.balance",
    "bombay_training.cli.learn",
    "bombay_training.cli.learn.options",
    "bombay_training.cli.learn.training",
    "bombay_training.cli.learn.zero",
    "bombay_training.cli.learn.ppo",
    "bombay_training.cli.learn.best_response",
    "bombay_training.cli.learn.resume",
    "bombay_training.cli.learn.curve",
    "bombay_training.cli.learn.study",
    "bombay_training.cli.project",
    "bombay_training.cli.project.bench",
    "bombay_training.cli.project.warm_up",
    "bombay_training.cli.project.docs",
    "bombay_training.cli.main",
    "bombay_training.cli.__main__",
)
HEAVY = (
    "torch",
    "stable_baselines3",
    "sb3_contrib",
    "tensorboard",
    "matplotlib",
    "pygame",
    "PIL",
    "resvg_py",
    "pyspiel",
    "torchrl",
)
# What `bombay_env` may import from elsewhere: the libraries it is made with, and the standard library. llvmlite is Numba's. The
# last three draw and are imported only for that.
LIBRARIES = {"numpy", "numba", "llvmlite", "gymnasium", "pettingzoo", "resvg_py", "PIL", "pygame"}
# What `zero`, `zero-search`, `champion` and `ppo` are made of: nothing scripted reaches it, directly or through another module.
LEARNED = (
    "bombay_agents.turns",
    "bombay_agents.nets",
    "bombay_agents.search.budget",
    "bombay_agents.search.halving",
    "bombay_agents.search.tree",
    "bombay_agents.search.python_tree",
    "bombay_agents.search.agent",
    "bombay_agents.shipped",
    "bombay_training.learners.zero",
    "bombay_training.learners.ppo",
)
FREE_OF_SCRIPT = tuple(name for name in ORDER if f"{name}.".startswith(tuple(f"{one}." for one in LEARNED)))


def module_name(package, path):
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


MODULES = {
    module_name(package, path): path for package, folder in PACKAGES.items() for path in sorted(folder.rglob("*.py"))
}


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


def own(path):
    """The modules of the three packages that a file imports: of each imported name the longest part that is one."""
    names = [name.split(".") for name in imported(path)]
    candidates = [[".".join(parts[:length]) for length in range(len(parts), 0, -1)] for parts in names]
    return {found for parts in candidates if (found := next((name for name in parts if name in MODULES), None))}


def packages_of(name):
    """The packages that a module lies in: Python runs their `__init__` first."""
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


def everything_behind(name):
    """The modules that importing a module loads from the three packages, itself included."""
    seen, due = set(), [name]
    while due:
        module = due.pop()
        if module not in seen:
            seen.add(module)
            due += own(MODULES[module]) | packages_of(module)
    return seen


def test_the_guard_sees_the_packages_of_a_module():
    assert packages_of("a.b.c") == {"a", "a.b"}
    assert {"bombay_agents", "bombay_agents.search"} <= everything_behind("bombay_agents.search.tree")


def test_every_module_has_its_place_in_the_order():
    assert set(MODULES) == set(ORDER)
    assert len(set(ORDER)) == len(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_module_imports_only_those_above_it(name):
    above = set(ORDER[: ORDER.index(name)])
    assert own(MODULES[name]) - {name} <= above, f"{name} imports what stands below it"


def test_the_guard_sees_a_wrong_import(tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        "import numpy\ndef late():\n    from bombay_env import engine\n    from bombay_env.game import Game\n"
    )
    assert own(file) == {"bombay_env.engine", "bombay_env.game"}
    file.write_text("import bombay_env.render.svg as svg\nfrom bombay_env import Game\n")
    assert own(file) == {"bombay_env.render.svg", "bombay_env"}
    assert "bombay_env.state" in everything_behind("bombay_agents.random")


@pytest.mark.parametrize("name", [name for name in ORDER if name.startswith("bombay_env")])
def test_the_game_needs_few_libraries(name):
    roots = {found.split(".")[0] for found in imported(MODULES[name])}
    assert roots <= {"bombay_env"} | LIBRARIES | set(sys.stdlib_module_names)


@pytest.mark.parametrize("name", FREE_OF_SCRIPT)
def test_nothing_scripted_reaches_players_that_learned(name):
    assert not [module for module in everything_behind(name) if module.startswith("bombay_agents.scripted")]


@pytest.mark.parametrize("name", [name for name in ORDER if name.startswith("bombay_agents.scripted")])
def test_scripted_players_load_no_nets_and_no_search(name):
    """The frozen reference opponent must not change with them."""
    behind = everything_behind(name)
    assert not [module for module in behind if module.startswith(("bombay_agents.nets", "bombay_agents.search"))]


@pytest.mark.parametrize("name", [name for name in ORDER if name.startswith("bombay_agents.nets")])
def test_nets_load_no_search(name):
    assert not [module for module in everything_behind(name) if module.startswith("bombay_agents.search")]


def in_a_fresh_process(code):
    """What a program prints that runs in a process of its own."""
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(ROOT)!r}]\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_game_pulls_in_nothing_heavy():
    code = f"""
import bombay_env
import bombay_env.bombay_v0, bombay_env.record, bombay_env.text
print(sorted(set(sys.modules) & set({HEAVY!r})))
print(sorted(name for name in sys.modules if name.startswith(("bombay_agents", "bombay_training"))))
"""
    assert in_a_fresh_process(code).splitlines() == ["[]", "[]"]


def test_importing_and_making_a_game_compiles_nothing():
    """A kernel has no signature until its first call, so that `import bombay_env` and a command's --help stay quick."""
    names = [name for name in ORDER if name.startswith("bombay_env")]
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
