"""Environments for packages that cannot share the project's: made once, kept in the user's cache.

An environment sees everything of the one that runs the tests. What is installed into it comes first.
"""

import hashlib
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bombay_env-test-environments"
# What pip says if there is no index, or it cannot be reached.
UNREACHABLE = re.compile(r"from versions: none|Failed to establish|Name or service not known|timed out", re.IGNORECASE)


def python_with(extra):
    """The interpreter of an environment in which `extra` is installed. The test is skipped if no index is reached."""
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    versions = ROOT / "constraints" / f"{extra}.txt"
    parents = [entry for entry in sys.path if entry.endswith("site-packages")]
    recipe = repr((sys.version, parents, requirements, versions.read_text()))
    folder = CACHE / f"{extra}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"
    python, made = folder / "bin" / "python", folder / "made"
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not made.exists():
            venv.create(folder, clear=True)
            (packages,) = folder.glob("lib/python*/site-packages")
            lines = [f"import site; site.addsitedir({parent!r})\n" for parent in parents]
            (packages / "zz_parents.pth").write_text("".join(lines))
            install(python, "-c", str(versions), *requirements)
            made.touch()
    return python


def install(python, *arguments):
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and UNREACHABLE.search(done.stderr):
        pytest.skip(f"cannot install {arguments[-1]}: {done.stderr.strip().splitlines()[-1][:200]}")
    assert done.returncode == 0, done.stderr[-2000:]


def run_tests(python, *arguments):
    """Run tests of this project in the environment. Returns how many passed; fails if one failed or was skipped."""
    command = [str(python), "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-W", "ignore", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]
    assert "skipped" not in done.stdout, done.stdout[-2000:]
    return int(re.search(r"(\d+) passed", done.stdout)[1])
