"""Which sources a compiled kernel depends on, and a digest of what they say.

A kernel takes in kernels and constants of its own module and of the modules that this one imports, and so on. The digest covers
all of those, each without docstrings, comments and line numbers: rewording a docstring, or editing a module that the kernel does
not use, keeps the compiled code. Nothing is read before the first kernel is asked for. Knows nothing of Numba and nothing of the
game; `jit/parts.py` is the next to read.
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

BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)  # what holds statements

Stamp = tuple[int, int]


class Summary(NamedTuple):
    """What matters of one source.

    Attributes:
        digest: hex digest of the code without docstrings, comments and line numbers.
        imports: full names of the modules it imports and of the names it takes from them, of the three packages, sorted.
    """

    digest: str
    imports: list[str]


def find_sources() -> dict[str, str]:
    """The file of every module of the three packages, by the module's full name. Reads and imports none of them.

    Raises:
        OSError: the sources of a package are not there to be read, as in a zip file.
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
    """Shows cheaply that a file was edited: the time of its last change, in nanoseconds, and its size in bytes."""
    info = os.stat(path)
    return info.st_mtime_ns, info.st_size


def is_text(node: ast.AST) -> bool:
    """Whether a statement is a string on its own, as docstrings are; it has no effect."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_for_type_checkers(node: ast.AST) -> bool:
    """Whether a statement is `if TYPE_CHECKING:`, whose body is never run."""
    test = node.test if isinstance(node, ast.If) else None
    return getattr(test, "id", getattr(test, "attr", None)) == "TYPE_CHECKING"


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a module that may be run, nested ones included; docstrings are removed from `tree` on the way."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        body = getattr(node, "body", None)
        if isinstance(body, list):
            body[:] = [] if is_for_type_checkers(node) else [inner for inner in body if not is_text(inner)]
        yield node
        waiting += [inner for inner in ast.iter_child_nodes(node) if isinstance(inner, BLOCKS)]


def imported(node: ast.AST, package: str) -> Iterator[str]:
    """Full names of the modules that a statement imports and of the names it takes from them; `package` is its module's."""
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
        SyntaxError: it is no Python.
    """
    tree = ast.parse(source)
    names = {name for node in statements(tree) for name in imported(node, package)}
    ours = sorted(name for name in names if name.partition(".")[0] in PACKAGES)
    return Summary(hashlib.sha256(ast.dump(tree).encode()).hexdigest(), ours)


class Sources:
    """The sources of the three packages as they are when this is made.

    Args:
        recall: gives what `keep` was given under a name, in this process or an earlier one, or None.
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
            OSError: a source cannot be read, or was edited since this was made: which code runs is then not known.
        """
        if module not in self._digests:
            digest = hashlib.sha256()
            for name in self.used_by(module):
                digest.update(f"{name} {self._summary(name).digest}\n".encode())
            self._digests[module] = digest.hexdigest()
        for name in self.used_by(module):  # after reading, so that what was read is what was imported
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
        """The module that an imported name is, or else is taken from."""
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
