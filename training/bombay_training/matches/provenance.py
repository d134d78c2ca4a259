"""What decides the results of games besides their study: the project's revision, the agents' files, the conditions of play.

A store keeps it (`matches/store.py`), so that it never answers for a net or an agent that has changed. What cannot be told is
what an agent uses that its spec does not name, such as weights at a path in its code or a model behind an address.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import os
import shlex
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import bombay_agents
import bombay_env
from bombay_env.files import atomic
from bombay_env.files.forms import Form, parse
from bombay_env.files.reading import read_bytes
from bombay_env.registry import module_of, parts

PROVENANCE: Final = "provenance.json"
OWN_PACKAGES: Final = ("bombay_env", "bombay_agents", "bombay_training")  # their digest is the revision
DECISIVE: Final = ("*.py", "*.toml", "*.safetensors")


class Provenance(Form):
    """What games were played with.

    Args:
        revisions: of the project that played them, or found by `bombay verify` to play them alike.
        turn_limit: seconds that an agent could take for a turn; None for no limit.
        processes: that played at the same time, if an agent thought by the clock; else None.
        agents: a digest of each agent's files by its spec; empty for one that has none but those of the project.
    """

    revisions: list[str]
    turn_limit: float | None = None
    processes: int | None = None
    agents: dict[str, str] = {}  # noqa: RUF012 -- pydantic copies it

    def changed(self, agents: Iterable[str] | None = None) -> list[str]:
        """Those of these agents, or of all, whose files are other ones now than when their games were played."""
        known = self.agents if agents is None else [spec for spec in agents if spec in self.agents]
        return [spec for spec in known if agent_digest(spec) != self.agents[spec]]


@functools.cache
def revision() -> str:
    """The version of the project, with 12 digits for the sources and nets that decide how games go."""
    hashed = hashlib.sha256()
    for folder in (*bombay_env.__path__, *bombay_agents.__path__, str(Path(__file__).parent)):
        paths = sorted(path for pattern in DECISIVE for path in Path(folder).rglob(pattern))
        hashed.update(_digest(paths, Path(folder)).encode())
    return f"{bombay_env.__version__}+{hashed.hexdigest()[:12]}"


def agent_digest(spec: str) -> str:
    """16 hexadecimal digits of the files that a spec names, modules of one's own among them; empty if it names none."""
    files = sorted(_files(spec))
    return _digest(files)[:16] if files else ""


def _files(spec: str) -> set[Path]:
    """The modules of an agent that is not the project's, and what its options name: files, folders, and other agents' files."""
    name, options = parts(spec)
    found = _sources(module_of(name))
    for text in options.values():
        with contextlib.suppress(ValueError):  # quotation marks that do not end
            for word in (text, *shlex.split(text)):  # a path, or the words of a command, such as --model=net.pt
                for path in map(Path, {word, word.partition("=")[2]} - {""}):
                    if os.path.isdir(path):
                        found |= {file for file in path.rglob("*") if file.is_file()}
                    elif os.path.isfile(path):
                        found.add(path)
        found |= _files(text)
    return found


def _digest(paths: Iterable[Path], folder: Path | None = None) -> str:
    hashed = hashlib.sha256()
    for path in paths:
        name = path.relative_to(folder).as_posix() if folder else path.name
        hashed.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return hashed.hexdigest()


def _sources(module: str) -> set[Path]:
    """The files of a module's package, and of all that they import from its folder; of an installed package its own alone."""
    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top) if top and top not in OWN_PACKAGES else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or not (spec.submodule_search_locations or spec.origin):
        return set()
    folder = Path(spec.submodule_search_locations[0] if spec.submodule_search_locations else str(spec.origin)).parent
    installed, waiting, found = str(folder) in sysconfig.get_paths().values(), [top], set[Path]()
    while waiting:
        name = waiting.pop()
        new = {path for path in (folder / f"{name}.py", *(folder / name).rglob("*.py")) if path.is_file()} - found
        found |= new
        if not installed:
            waiting += {other for path in new for other in _imports(path)} - set(OWN_PACKAGES)
    return found


def _imports(path: Path) -> Iterator[str]:
    """The top-level modules that a source imports; none if it cannot be read."""
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


# --- files ---


def read_provenance(folder: Path) -> Provenance:
    """What a store's games were played with. Raises ValueError if the file is missing or damaged."""
    return parse(Provenance, read_bytes(folder / PROVENANCE), str(folder / PROVENANCE))


def write_provenance(folder: Path, provenance: Provenance) -> None:
    """Write what a store's games are played with. Raises OSError."""
    atomic.write_bytes(folder / PROVENANCE, provenance.model_dump_json(indent=1).encode())
