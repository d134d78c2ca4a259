"""What decides the results of games besides their study: the project's revision, the agents' files, the conditions of play.

A store keeps it (`matches/store.py`), so that it never answers for a net or an agent that has changed. What cannot be told is
what an agent uses that its spec does not name, such as weights at a path in its code or a model behind an address.
"""

import functools
import hashlib
import importlib.util
import os
import re
import sysconfig
from collections.abc import Iterable
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Final

import bombay_agents
import bombay_env
from bombay_env.files.forms import Form
from bombay_env.registry import OWN, agent_names

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
    files: set[Path] = set()
    for part, is_key in re.findall(r"([^\[\],=]+)(=?)", spec):
        name = part.strip()
        if name.partition(":")[0] in agent_names():
            continue
        own = OWN.fullmatch(name)
        if own:
            files |= _sources(own["module"])
        elif not is_key:
            files |= {
                Path(word) for word in {name, *name.split()} if os.path.isfile(word)
            }  # a path, or a command's words
    return _digest(sorted(files))[:16] if files else ""


def _digest(paths: Iterable[Path], folder: Path | None = None) -> str:
    hashed = hashlib.sha256()
    for path in paths:
        name = path.relative_to(folder).as_posix() if folder else path.name
        hashed.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return hashed.hexdigest()


def _sources(module: str) -> set[Path]:
    """The files of a module and of all that it imports from its own folder, or those of its package if it is installed."""
    try:
        found = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        found = None
    if found is None or not found.origin or not found.origin.endswith(".py"):
        return set()
    file = Path(found.origin)
    folder = file.parent.parent if found.submodule_search_locations else file.parent
    if str(folder) in sysconfig.get_paths().values():
        return set(file.parent.rglob("*.py")) if found.submodule_search_locations else {file}
    finder = ModuleFinder(path=[str(folder)], excludes=OWN_PACKAGES)
    try:
        finder.import_hook(module)
    except (ImportError, SyntaxError):  # to play it will fail, too
        return {file}
    return {Path(path) for one in finder.modules.values() if (path := getattr(one, "__file__", None))}
