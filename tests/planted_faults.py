"""Plants faults in a copy of the sources, one at a time, and counts those that the tests catch.

    python tests/planted_faults.py [--only NAME] [--group GROUP] [--jobs N] [--json FILE]

The faults are in `planted_faults.toml`: plausible mistakes, each with the tests that should catch it. These tests run first
without a fault, so that a test that fails anyway catches nothing. The exit code is 1 if fewer than 95 % of the faults are caught,
or if a fault of a group in `STRICT` is not. `--json` keeps results as they come; a result is not repeated until the fault, its
file or its tests change. `make faults` tries all faults.
"""

import ast
import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
LIST = Path(__file__).with_suffix(".toml")
COPIED = ("bombay_env", "agents", "training", "tests", "docs", "pyproject.toml", "README.md")
PATHS = (".", "agents", "training")  # of the packages in a checkout
GROUPS = (
    "seeds",
    "scrubbing",
    "intervals",
    "checkpoints",
    "matches",
    "learning",
    "search",
    "turns",
    "nets",
    "environments",
)
STRICT = GROUPS[:4]  # every fault must be caught
NEEDED = 0.95  # of all faults
LIMIT = 900.0  # seconds for the tests of one fault; a fault that makes them hang is caught
CAUGHT, SURVIVED, NOT_PLANTED, FAILS_ANYWAY = "caught", "survived", "not planted", "fails anyway"
# Failures that say that an entry is wrong: code that cannot run needs no test.
BROKEN = re.compile(r" - (?:\w+\.)*(?:Import|ModuleNotFound|Name|Syntax|UnboundLocal|Typing|Lowering)Error\b")


@functools.cache
def structure(source: str) -> str:
    """What Python reads in a file; equal if two differ only in layout and comments. Raises SyntaxError."""
    return ast.dump(ast.parse(source))


@dataclasses.dataclass(frozen=True)
class Fault:
    """A mistake to plant.

    Args:
        name: unique, in words that say what is wrong.
        group: one of `GROUPS`.
        file: path in the checkout.
        old: text that occurs exactly once in the file.
        new: what replaces it.
        tests: pytest node ids of the tests that should fail.
        interpreted: whether they run with the compiler off, which saves compiling the kernels that the file is part of.
    """

    name: str
    group: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    interpreted: bool = False

    def occurrences(self, root: Path) -> int:
        """How often the old text occurs in a checkout."""
        path = root / self.file
        return path.read_text(encoding="utf-8").count(self.old) if path.is_file() else 0

    def problem(self, root: Path) -> str | None:
        """Why the fault cannot be planted in a checkout; None if it can."""
        if self.occurrences(root) != 1:
            return f"its old text occurs {self.occurrences(root)} times in {self.file}"
        source = (root / self.file).read_text(encoding="utf-8")
        try:
            before, after = structure(source), structure(source.replace(self.old, self.new))
        except SyntaxError as error:
            return f"its new text is not valid Python: {error.msg}"
        return "its new text changes nothing" if before == after else None

    def key(self, root: Path) -> str:
        """Hex digits that change with the fault, its file and its tests."""
        files = [self.file, *sorted({test.partition("::")[0] for test in self.tests})]
        digest = hashlib.sha256(repr(self).encode())
        for name in files:
            digest.update((root / name).read_bytes() if (root / name).is_file() else b"")
        return digest.hexdigest()[:16]


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a fault: `outcome` is one of the constants above, `reason` the first failed test or what went wrong."""

    outcome: str
    reason: str
    seconds: float
    key: str


def load(path: Path = LIST) -> list[Fault]:
    """The faults of a list."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
    return [Fault(**{**entry, "tests": tuple(entry["tests"])}) for entry in entries]


# --- One checkout ---


class Checkout:
    """A copy of the sources, in which faults are planted and tests run."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None
        for name in COPIED:
            if (source / name).is_dir():
                shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif (source / name).exists():
                shutil.copy2(source / name, folder / name)

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """Hold the fault in the copy during the block."""
        path = self.folder / fault.file
        source = path.read_text(encoding="utf-8")
        path.write_text(source.replace(fault.old, fault.new), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")

    def pytest(self, *arguments: str, interpreted: bool, limit: float | None = None) -> tuple[int | None, str]:
        """Run pytest on the copy. Returns its exit code, None if it took longer than `limit` seconds, and what it printed."""
        command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", *arguments)
        return self.run(command, {"NUMBA_DISABLE_JIT": "1" if interpreted else "0"}, limit)

    def run(
        self, command: Sequence[str], settings: Mapping[str, str], limit: float | None = None
    ) -> tuple[int | None, str]:
        """Run a program that imports the packages of the copy."""
        paths = os.pathsep.join(str(self.folder / path) for path in PATHS)
        # No bytecode is kept: it is told apart by the second of the last change only. Wide lines hold whole messages.
        environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300", **settings}
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            output, _ = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.kill()
            return None, self.process.communicate()[0]
        return self.process.returncode, output

    def kill(self) -> None:
        """End the tests that run, and all processes that they started."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def check_imports(self) -> None:
        """Raise RuntimeError unless the packages are imported from the copy."""
        code = "import bombay_env, bombay_agents, bombay_training\n"
        code += "print(*(module.__file__ for module in (bombay_env, bombay_agents, bombay_training)))"
        status, output = self.run((sys.executable, "-c", code), {})
        if status or not all(Path(name).is_relative_to(self.folder) for name in output.split()):
            raise RuntimeError(f"the packages are not imported from the copy: {output}")


# --- All faults ---


def failing(checkout: Checkout, faults: Sequence[Fault]) -> set[str]:
    """The tests of these faults that fail without any fault."""
    found: set[str] = set()
    for interpreted in (False, True):
        tests = sorted({test for fault in faults if fault.interpreted == interpreted for test in fault.tests})
        if not tests:
            continue
        status, output = checkout.pytest(*tests, interpreted=interpreted)
        if status not in (0, 1):
            raise RuntimeError(f"the tests do not run without a fault:\n{output[-4000:]}")
        failed = re.findall(r"^(?:FAILED|ERROR) (.*)$", output, re.MULTILINE)
        found |= {test for test in tests if any(re.match(re.escape(test) + r"([\[: ]|$)", line) for line in failed)}
    return found


def try_fault(fault: Fault, checkout: Checkout, fails: set[str], limit: float) -> Result:
    """Plant a fault and run its tests."""
    key, start = fault.key(checkout.folder), time.monotonic()
    problem = fault.problem(checkout.folder)
    if problem is not None:
        return Result(NOT_PLANTED, problem, 0.0, key)
    if fails & set(fault.tests):
        return Result(FAILS_ANYWAY, ", ".join(sorted(fails & set(fault.tests))), 0.0, key)
    with checkout.planted(fault):
        status, output = checkout.pytest("-x", *fault.tests, interpreted=fault.interpreted, limit=limit)
    seconds = round(time.monotonic() - start, 1)
    lines = re.findall(r"^(?:FAILED|ERROR) .*$", output, re.MULTILINE)
    reason = lines[-1][:300] if lines else output.strip().splitlines()[-1][:300] if output.strip() else ""
    if status == 0:
        return Result(SURVIVED, reason, seconds, key)
    if status is None:
        return Result(CAUGHT, f"no answer in {limit:g} s", seconds, key)
    if status < 0:
        return Result(CAUGHT, f"the process ended by signal {-status}", seconds, key)
    # 1: a test failed. Anything else, such as a module that cannot be imported, is no fault that a test is needed for.
    return Result(CAUGHT if status == 1 and not BROKEN.search(reason) else NOT_PLANTED, reason, seconds, key)


def results(
    faults: Sequence[Fault], root: Path, jobs: int, kept: Mapping[str, Result], limit: float = LIMIT
) -> Iterator[tuple[Fault, Result]]:
    """The result of each fault as it comes; those in `kept` that still hold come first."""
    left = []
    for fault in faults:
        if fault.name in kept and kept[fault.name].key == fault.key(root):
            yield fault, kept[fault.name]
        else:
            left.append(fault)
    if not left:
        return
    with tempfile.TemporaryDirectory(prefix="planted-faults-") as folder:
        checkouts = [Checkout(root, Path(folder) / str(number)) for number in range(min(jobs, len(left)))]
        checkouts[0].check_imports()
        fails = failing(checkouts[0], left)
        free: queue.SimpleQueue[Checkout] = queue.SimpleQueue()
        for checkout in checkouts:
            free.put(checkout)

        def attempt(fault: Fault) -> tuple[Fault, Result]:
            checkout = free.get()
            try:
                return fault, try_fault(fault, checkout, fails, limit)
            finally:
                free.put(checkout)

        with ThreadPoolExecutor(len(checkouts)) as pool:
            futures = [pool.submit(attempt, fault) for fault in left]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                for checkout in checkouts:
                    checkout.kill()
                raise


# --- The report ---


def is_enough(found: Mapping[Fault, Result]) -> bool:
    """Whether enough of the faults are caught, and all of the strict groups."""
    caught = [fault for fault, result in found.items() if result.outcome == CAUGHT]
    missed = [fault for fault in found if fault not in caught]
    return len(caught) >= NEEDED * len(found) and not any(fault.group in STRICT for fault in missed)


def table(found: Mapping[Fault, Result]) -> Table:
    """The outcomes by group."""
    shown = Table(title=f"planted faults: {NEEDED:.0%} must be caught, all in {', '.join(STRICT)}")
    for heading in ("group", "faults", CAUGHT, SURVIVED, "not tried"):
        shown.add_column(heading, justify="left" if heading == "group" else "right")
    for group in (*(group for group in GROUPS if any(fault.group == group for fault in found)), "all"):
        outcomes = [result.outcome for fault, result in found.items() if group in (fault.group, "all")]
        caught, survived = outcomes.count(CAUGHT), outcomes.count(SURVIVED)
        shown.add_row(group, *map(str, (len(outcomes), caught, survived, len(outcomes) - caught - survived)))
    return shown


def read_results(path: Path | None) -> dict[str, Result]:
    """The results in a file, by name of the fault; none if there is no file."""
    if path is None or not path.exists():
        return {}
    return {name: Result(**entry) for name, entry in json.loads(path.read_text(encoding="utf-8")).items()}


def write_results(path: Path, kept: Mapping[str, Result]) -> None:
    """Write results so that an interruption leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {name: dataclasses.asdict(kept[name]) for name in sorted(kept)}
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(unfinished, path)


def say(console: Console, text: str) -> None:
    """Print a line as it is."""
    console.print(text, soft_wrap=True, markup=False, highlight=False)


def main(
    only: Annotated[list[str] | None, typer.Option(help="Only the fault of this name; may be repeated.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="Only the faults of this group; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option(help="Faults tried at a time, each in its own copy.", min=1)] = 1,
    json_file: Annotated[Path | None, typer.Option("--json", help="Keeps results; a run continues from them.")] = None,
    faults: Annotated[Path, typer.Option(help="The list of faults.")] = LIST,
    root: Annotated[Path, typer.Option(help="The checkout.")] = ROOT,
) -> None:
    """Plant faults in a copy of the sources, one at a time, and count those that the tests catch."""
    listed = load(faults)
    for wanted, names in ((only, {fault.name for fault in listed}), (group, {fault.group for fault in listed})):
        for name in wanted or ():
            if name not in names:
                raise typer.BadParameter(f"there is no {name!r}; there are {', '.join(sorted(names))}")
    chosen = [fault for fault in listed if (not only or fault.name in only) and (not group or fault.group in group)]
    console, kept = Console(), read_results(json_file)
    found: dict[Fault, Result] = {}
    try:
        for fault, result in results(chosen, root, jobs, kept):
            found[fault] = kept[fault.name] = result
            say(console, f"{len(found)}/{len(chosen)} {result.outcome}: {fault.name} ({result.seconds:g} s)")
            if json_file is not None:
                write_results(json_file, kept)
    except RuntimeError as error:
        say(console, str(error))
        raise typer.Exit(2) from None
    console.print(table(found))
    for fault, result in found.items():
        if result.outcome != CAUGHT:
            say(console, f"{result.outcome}: {fault.name} ({fault.group}, {fault.file}): {result.reason}")
    raise typer.Exit(0 if is_enough(found) else 1)


if __name__ == "__main__":
    typer.run(main)
