"""A file of another project at a fixed revision, checked by its digest before anybody runs it.

It is taken from the folder `BOMBAY_UPSTREAM` (`owner/name/path` inside it) if that is set, else downloaded from GitHub once.
"""

import hashlib
import os
import urllib.request
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bombay_env-upstream"


def file(repository: str, revision: str, path: str, sha256: str) -> Path:
    """The path of the file on this machine.

    Args:
        repository: `owner/name` on GitHub.
        revision: the commit.
        path: the file inside the repository.
        sha256: of its bytes.
    Raises:
        ValueError: the bytes have another digest.
    """
    kept = Path(os.environ.get("BOMBAY_UPSTREAM") or CACHE / revision) / repository / path
    if not kept.exists():
        with urllib.request.urlopen(f"https://raw.githubusercontent.com/{repository}/{revision}/{path}") as answer:
            content = answer.read()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
    if (found := hashlib.sha256(kept.read_bytes()).hexdigest()) != sha256:
        raise ValueError(f"{kept} has SHA-256 {found}, not {sha256}")
    return kept


def changed(original: Path, changes: dict[str, str]) -> str:
    """The text of a script with each key, which must occur exactly once, replaced by its value."""
    text = original.read_text(encoding="utf-8")
    for old, new in changes.items():
        if text.count(old) != 1:
            raise ValueError(f"{original} has {text.count(old)} times {old!r}, not once")
        text = text.replace(old, new)
    return text
