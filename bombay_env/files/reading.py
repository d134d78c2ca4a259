"""Reading the user's own files of JSON, with errors of one line. `forms.py` checks what comes from elsewhere."""

import json
import os
from pathlib import Path
from typing import Any

from bombay_env import checks


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The contents of a file. Raises ValueError, which starts with the path, if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise ValueError(unreadable(path, error)) from None


def unreadable(path: str | os.PathLike[str], error: OSError | ValueError) -> str:
    """The message about a file that could not be opened; it starts with the path."""
    return f"{checks.shown_path(path)}: cannot be read: {getattr(error, 'strerror', None) or error}"


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value in a JSON file. Raises ValueError, which starts with the path, if it cannot be read or is no JSON."""
    content = read_bytes(path)
    try:
        return json.loads(content, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise ValueError(checks.message(f"{checks.shown_path(path)}: not JSON: {error}")) from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def read_jsonl(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The objects in the lines of a file, none if there is no such file.

    Other lines are skipped: the last one is incomplete if the program that wrote it was killed.

    Raises:
        ValueError: the file cannot be read. The message is one line that starts with the path.
    """
    found = []
    for line in read_bytes(path).splitlines() if os.path.exists(path) else ():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
