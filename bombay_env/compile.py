"""How the project compiles: one decorator, `kernel`, round Numba's `njit`.

Numba keeps compiled code on disk beside the source and notices an edit only in the file it belongs to: a kernel that calls
another module's kernel would go on with the old one. So the cache lies in a folder whose name is a digest of everything the
machine code depends on: an edit anywhere leads to another folder. Knows nothing of the game; `engine.py` is the next to read.
"""

import hashlib
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

CONFIG: Any = numba.config  # its settings come about at run time, where no type checker sees them

# Kernels of one package call those of another, so a change in any of the three concerns them all.
PACKAGES = ("bombay_env", "bombay_agents", "bombay_training")


def source_digest() -> str:
    """Hex digest of the three packages' sources and of the versions and settings that shape the machine code."""
    digest = hashlib.sha256()
    versions = (sys.version, numba.__version__, np.__version__, str(CONFIG.BOUNDSCHECK), str(CONFIG.OPT))
    digest.update("\n".join(versions).encode())
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)  # finds without importing
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(path.relative_to(folder).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


def cache_folder() -> str | None:
    """The folder for compiled code, made with mode 0700; None where no folder of the user's own can be had.

    Numba's cache files are pickles: a folder that somebody else can write to would be a way in.
    """
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        folder = base / "bombay_env" / source_digest()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder.parent).chmod(0o700)
        folder.chmod(0o700)
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            return None
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except (OSError, RuntimeError):  # RuntimeError: nobody's home
        return None


CACHE_FOLDER = cache_folder()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on its first call, with the result kept in `CACHE_FOLDER`.

    Numba reads its cache folder when a function is decorated; the setting is put back at once, so that other people's
    Numba code in the same process keeps its own.
    """
    if CACHE_FOLDER is None:
        return numba.njit(function)
    before = CONFIG.CACHE_DIR
    CONFIG.CACHE_DIR = CACHE_FOLDER
    try:
        return numba.njit(cache=True)(function)
    finally:
        CONFIG.CACHE_DIR = before
