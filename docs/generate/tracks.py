"""The table of learning tracks, from the entries behind it."""

from pathlib import Path

from bombay_training.reports import tracks


def table(folder: Path) -> str:
    """The scores of the learners whose entries are in a folder."""
    return tracks.table(tracks.summary(tracks.read_entries(sorted(folder.glob("*.json")))))
