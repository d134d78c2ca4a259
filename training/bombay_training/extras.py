"""Optional dependencies: what needs one is imported by `load`, and what is said where it is missing is the same everywhere."""

import importlib
from typing import Any


def load(module: str, extra: str, what: str) -> Any:
    """A module of `bombay_training` that needs an extra. It is imported only here, because other commands start without it.

    Args:
        module: its name in the package, such as `reports.tracks`.
        extra: its name in `pyproject.toml`.
        what: what cannot run without the extra, such as "ppo".
    Raises:
        ValueError: it cannot be imported.
    """
    try:
        return importlib.import_module(f"bombay_training.{module}")
    except ImportError as error:
        raise ValueError(missing_extra(what, extra, error)) from None


def missing_extra(what: str, extra: str, error: ImportError) -> str:
    """One line that says how to install an extra. The package is on no index, so the line names a checkout."""
    return f"{what} needs the extra `{extra}`: in a checkout of bombay_env, run pip install '.[{extra}]' ({error})"
