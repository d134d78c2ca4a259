"""The games of the league that come with the package, and how a finished study becomes such a store."""

from pathlib import Path
from typing import Final

import numpy as np

from bombay_env import checks
from bombay_env.files import atomic
from bombay_training.matches.match import Match
from bombay_training.matches.provenance import read_provenance, revision
from bombay_training.matches.store import STUDY, FolderStore, parts_of, read_matches
from bombay_training.matches.study import Study, read_toml
from bombay_training.matches.study import lineups as lineups_of
from bombay_training.matches.table import TIMES

LEAGUE: Final = Path(__file__).parents[1] / "league"  # the store of docs/leaderboard.md
MACHINE: Final = "machine.txt"  # in words, where and when its times were measured


def study_of(folder: Path) -> Study:
    """The study of a store. Raises ValueError if it has none."""
    if not (folder / STUDY).exists():
        raise ValueError(f"{checks.shown_path(folder)} has no {STUDY}: its games are of no study")
    return read_toml(Study, folder / STUDY)[0]


def matches_of_study(folder: Path) -> tuple[list[Match], int]:
    """The matches of a store's study, and how many other games the store has; all matches if it has no study.

    Raises:
        ValueError: the study is not valid, or the folder is no store.
    """
    found = read_matches(folder)
    if not (folder / STUDY).exists():
        return found, 0
    wanted = {lineup.id for lineup in lineups_of(study_of(folder), folder)}
    others = sum(match.num_games for match in found if match.plan.id not in wanted)
    return [match for match in found if match.plan.id in wanted], others


def times_are_published(folder: Path) -> bool:
    """Whether the times of a store are those with which it was published: it has one part, and says where they were measured."""
    return (folder / MACHINE).exists() and len(parts_of(folder)) == 1


def anchors_of(folder: Path) -> list[str]:
    """The anchors of a store's study; none if it has no study. Raises ValueError if the study is not valid."""
    return study_of(folder).anchors if (folder / STUDY).exists() else []


def publish(folder: Path, target: Path, machine: str, times: Path | None = None) -> None:
    """Write the games of a finished study, and no others, into a new store with one part of each table.

    Args:
        folder: the store in which the study was played.
        target: the new store.
        machine: on what, and when, times were measured, in words.
        times: another store of the study, with any number of deals, whose times are taken.

    Raises:
        ValueError: games or times are missing, something else played them, or a folder is no store of a study.
        OSError: the new store cannot be written.
    """
    lineups = lineups_of(study_of(folder), folder)
    matches = {match.plan.id: match for match in read_matches(folder)}
    timed = {match.plan.id: match for match in read_matches(times or folder)}
    missing = sum(
        lineup.num_games - min(lineup.num_games, matches[lineup.id].num_games if lineup.id in matches else 0)
        for lineup in lineups
    )
    if missing:
        raise ValueError(
            f"{checks.shown_path(folder)} lacks {missing:,} games of its study; play them with `bombay run`"
        )
    provenance = read_provenance(folder)
    if revision() not in provenance.revisions or provenance.changed():
        raise ValueError(
            f"{checks.shown_path(folder)} was played with other agents or another revision: see `bombay verify`"
        )
    if times is not None:
        theirs = read_provenance(times)
        if theirs.revisions[-1] not in provenance.revisions or any(
            theirs.agents.get(spec, digest) != digest for spec, digest in provenance.agents.items()
        ):
            raise ValueError(f"{checks.shown_path(times)} was played with other agents or by another revision")
    untimed = sum(lineup.id not in timed for lineup in lineups)
    if untimed:
        raise ValueError(f"{checks.shown_path(times or folder)} has no times of {untimed:,} line-ups of the study")
    if target.exists() and any(target.iterdir()):
        raise ValueError(f"{checks.shown_path(target)} exists already; name a new folder")
    with FolderStore(target) as store:
        atomic.write_bytes(target / STUDY, (folder / STUDY).read_bytes())
        store.provenance = provenance
        for lineup in lineups:
            rows, measured = matches[lineup.id].rows[: lineup.num_games].copy(), timed[lineup.id].rows
            _, mine, others = np.intersect1d(rows["game"][:, 0], measured["game"][:, 0], return_indices=True)
            for name in TIMES:
                rows[name] = 0
                rows[name][mine] = measured[name][others]
            store.waiting.append((lineup, rows))
    if machine:
        atomic.write_bytes(target / MACHINE, f"{machine}\n".encode())
