"""The sources that a compiled kernel depends on, and a digest of their code.

A kernel contains kernels and constants of its own module, of the modules that this module imports, and so on. The digest covers
all of these modules without docstrings, comments and line numbers. So compiled code stays valid when a docstring is reworded, or
when a module is edited that the kernel does not depend on. Nothing is read until the first digest is needed. This module knows
nothing about Numba or the game. Read `notice.py` next.
"""

import ast
import hashlib
import importlib.util
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

# Kernels of one package call those of another.
PACKAGES = ("bombay_env", "bombay_agents", "bombay_training")

BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)  # nodes that contain statements

Stamp = tuple[int, int]


class Summary(NamedTuple):
    """What is relevant in one source.

    Attributes:
        digest: hex digest of the code without docstrings, comments and line numbers.
        imports: full names of the modules of the three packages that it imports, and of the names imported from them, sorted.
    """

    digest: str
    imports: list[str]


def find_sources() -> dict[str, str]:
    """The file of every module of the three packages, by the module's full name. It reads and imports none of them.

    Raises:
        OSError: the sources of a package cannot be read, for example because they are in a zip file.
    """
    files = {}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            found = sorted(Path(folder).rglob("*.py"))
            if not found:
                raise FileNotFoundError(folder)
            for path in found:
                parts = path.relative_to(folder).with_suffix("").parts
                files[".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))] = str(path)
    return files


def stamp(path: str) -> Stamp:
    """The time of a file's last change, in nanoseconds, and its size in bytes: a cheap way to notice that it was edited."""
    info = os.stat(path)
    return info.st_mtime_ns, info.st_size


def is_text(node: ast.AST) -> bool:
    """Whether a statement is only a string, such as a docstring; it has no effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_for_type_checkers(node: ast.AST) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, whose body never runs."""
    test = node.test if isinstance(node, ast.If) else None
    return getattr(test, "id", getattr(test, "attr", None)) == "TYPE_CHECKING"


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a module that may run, including nested ones. Docstrings are removed from `tree`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [] if is_for_type_checkers(node) else [inner for inner in body if not is_text(inner)]
        yield node
        waiting += [inner for inner in ast.iter_child_nodes(node) if isinstance(inner, BLOCKS)]


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """Full names of the modules that a statement imports, and of the names imported from them, in a module of `package`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            parts = alias.name.split(".")
            yield from (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
        origin = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{origin}.{alias.name}" for alias in node.names)


def summarize(source: bytes, package: str) -> Summary:
    """Summary of the source of a module in `package`.

    Raises:
        SyntaxError: it is not valid Python.
    """
    tree = ast.parse(source)
    names = {name for node in statements(tree) for name in imported(node, package)}
    ours = sorted(name for name in names if name.partition(".")[0] in PACKAGES)
    return Summary(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), ours)


class Sources:
    """The sources of the three packages as they are when this object is created.

    Args:
        recall: returns the bytes that `keep` got under a name, in this process or an earlier one, or None.
        keep: takes a name and the bytes to keep under it. Parsing a source takes a hundred times as long as digesting its bytes.

    Attributes:
        files: the file of each module, by the module's full name.

    Raises:
        OSError: the sources cannot be found.
    """

    def __init__(self, recall: Callable[[str], bytes | None], keep: Callable[[str, bytes], None]) -> None:
        self.files = find_sources()
        self._recall, self._keep = recall, keep
        self._stamps = {name: stamp(path) for name, path in self.files.items()}
        self._summaries: dict[str, Summary] = {}
        self._used: dict[str, list[str]] = {}
        self._digests: dict[str, str] = {}

    def digest(self, module: str) -> str:
        """Hex digest of the code of `module` and of all modules of the three packages that it depends on.

        Raises:
            KeyError: there is no source of this module.
            OSError: a source cannot be read, or was edited since this object was created, so it is unknown which code runs.
        """
        if module not in self._digests:
            digest = hashlib.sha256()
            for name in self.used_by(module):
                digest.update(f"{name} {self._summary(name).digest}\n".encode())
            self._digests[module] = digest.hexdigest()
        for name in self.used_by(module):  # after reading, to be sure that the code that was read is the imported code
            if stamp(self.files[name]) != self._stamps[name]:
                raise OSError(f"{self.files[name]} was edited")
        return self._digests[module]

    def used_by(self, module: str) -> list[str]:
        """Full names of `module` and of all modules of the three packages that it depends on, sorted."""
        if module not in self._used:
            found, waiting = set(), [module]
            while waiting:
                name = waiting.pop()
                if name not in found:
                    found.add(name)
                    waiting += map(self._module_of, self._summary(name).imports)
            self._used[module] = sorted(found)
        return self._used[module]

    def _module_of(self, name: str) -> str:
        """The module that an imported name denotes, or from which it is imported."""
        return name if name in self.files else name.rpartition(".")[0]

    def _summary(self, name: str) -> Summary:
        if name not in self._summaries:
            path = self.files[name]
            package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
            source = Path(path).read_bytes()
            key = hashlib.sha256(package.encode() + b"\n" + source).hexdigest()[:32]
            kept = self._recall(key)
            if kept is None:
                summary = summarize(source, package)
                self._keep(key, json.dumps(summary).encode())
            else:
                summary = Summary(*json.loads(kept))
            self._summaries[name] = summary
        return self._summaries[name]
