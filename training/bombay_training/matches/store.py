"""Keeps the results of games by line-up: in memory, and in a folder of Parquet files if one is given.

    study.toml        the study, if it was given as a file
    machine.txt       in a published store: in words, where and when its times were measured
    lineups.json      by id: rules, board, line-up, seating and seed
    provenance.json   what else decides results (`matches/provenance.py`): games of anything else are refused
    rows/*.parquet    a row for each game and seat, in parts: the columns of `matches/table.py`, `lineup`, and the spec as `agent`

A part has whole games, of any line-ups and in any order, and is written atomically. Only one process writes to a folder. PyArrow
(extra `data`) is needed for folders alone.
"""

import io
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from bombay_env import checks
from bombay_env.files import atomic
from bombay_env.files.forms import parse
from bombay_env.files.reading import read_bytes
from bombay_training import locks
from bombay_training.matches.lineup import Lineup, LineupForm, lineup_of
from bombay_training.matches.match import Match
from bombay_training.matches.match import digest as digest  # offered to others
from bombay_training.matches.provenance import (
    PROVENANCE,
    Provenance,
    agent_digest,
    read_provenance,
    revision,
    write_provenance,
)
from bombay_training.matches.study import Study, read_toml
from bombay_training.matches.study import lineups as lineups_of
from bombay_training.matches.table import ACCOUNTS, COLUMNS, RECORD, TIMES, joined, row_dtype

LEAGUE: Final = Path(__file__).parents[1] / "league"  # the store of docs/leaderboard.md, which comes with the package
STUDY, LINEUPS, MACHINE, LOCK, ROWS = "study.toml", "lineups.json", "machine.txt", ".lock", "rows"
EARLIER: Final = "cells.json"  # what earlier versions had instead of `LINEUPS`
OWN: Final = {STUDY, PROVENANCE, LOCK, ROWS}  # what a store holds before its first games
FLUSH_SECONDS: Final = 5.0  # between two parts
PART: Final = re.compile(r"\d+\.parquet")
KNOWN: Final = (
    "game",
    "block",
    "deal",
    "seating",
    "seat",
)  # columns that follow from a line-up and the numbers of its games
FILE_COLUMNS: Final = {"lineup": ("string", "its id in lineups.json"), **COLUMNS, **ACCOUNTS}  # type and meaning


class Store:
    """Games in memory, and in a folder if one is given, which is created or continued.

    Args:
        folder: its path; None for memory alone.
        study: the text of the study's file; None for none.

    Attributes:
        parts: the rows of each line-up by its id, as they were added.
        kept: with a folder, the numbers of the games in `parts` by the id of their line-up.
        waiting: the number of the next part on the disk, and the line-ups and rows that it will have.

    Raises:
        ValueError: another process writes there, the folder holds something else, another revision played its games, it is of an
            earlier version, or the extra `data` is missing.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path | None = None, study: str | None = None) -> None:
        self.folder, self.study = folder, study
        self.parts: dict[str, list[np.ndarray]] = {}
        self.kept: dict[str, set[int]] = {}
        self.waiting: tuple[int, list[tuple[Lineup, np.ndarray]]] = (1, [])
        self.flushed = time.monotonic()
        if folder is None:
            return
        import_pyarrow()
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{checks.shown_path(folder)} is a file; a store is a folder")
        found = {path.name for path in folder.glob("*") if not atomic.is_leftover(path)}
        if found - OWN and not read_lineups(folder):
            raise ValueError(
                f"{checks.shown_path(folder)} holds something else; name a new folder, or one of an earlier study"
            )
        (folder / ROWS).mkdir(parents=True, exist_ok=True)
        self.lock = locks.take(folder / LOCK, folder)
        try:
            self._open(folder)
        except BaseException:
            self.lock.release()
            raise

    def _open(self, folder: Path) -> None:
        for path in (folder, folder / ROWS):
            atomic.remove_leftovers(path)
        self.forms = read_lineups(folder)
        self.provenance = read_provenance(folder) if self.forms else Provenance(revisions=[revision()])
        if revision() not in self.provenance.revisions:
            raise ValueError(
                f"{checks.shown_path(folder)} has games of revision {self.provenance.revisions[-1]}, and this is "
                f"{revision()}; name a new folder, or let this revision continue it with `bombay verify --accept`"
            )
        self.waiting = 1 + max((int(path.stem) for path in parts_of(folder)), default=0), []
        self.parts = {key: [rows] for key, (_, rows) in read_rows(folder).items()}
        self.kept = {key: set(rows["game"][:, 0].tolist()) for key, (rows,) in self.parts.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Write what waits, and let others write."""
        try:
            self.flush()
        finally:
            if self.folder is not None:
                self.lock.release()

    def check(self, lineups: Sequence[Lineup], turn_limit: float | None, processes: int | None) -> None:
        """Check that line-ups may be played into this store. Add what is new to its provenance, and write its study.

        Args:
            lineups: what is to be played.
            turn_limit, processes: as those of `Provenance`.

        Raises:
            ValueError: what these line-ups would play now is not what was played before.
        """
        if self.folder is None:
            return
        agents = list(dict.fromkeys(name for lineup in lineups for name in lineup.names))
        where, kept = checks.shown_path(self.folder), self.provenance
        for spec in kept.changed(agents):
            raise ValueError(f"{checks.shown(spec)} has changed since its games in {where}; name a new folder")
        for name, before, now in (
            ("--turn-limit", kept.turn_limit, turn_limit),
            ("--processes", kept.processes, processes),
        ):
            if self.forms and before != now and (name == "--turn-limit" or None not in (before, now)):
                played = f"games played with {name} {before}" if before is not None else f"games played without {name}"
                raise ValueError(
                    f"{where} has {played}, which may decide results; name a new folder, or use the same value"
                )
        if self.study is not None:
            atomic.write_bytes(self.folder / STUDY, self.study.encode())
        self.provenance = Provenance(
            revisions=kept.revisions,
            turn_limit=turn_limit,
            processes=processes if kept.processes is None else kept.processes,
            agents=kept.agents | {spec: agent_digest(spec) for spec in agents if spec not in kept.agents},
        )

    def add(self, lineup: Lineup, rows: np.ndarray) -> None:
        """Keep games. One that is there already keeps its result, and gets a record in memory if it had none.

        New games are written to the folder together with those of the next few seconds.
        """
        if self.folder is not None:
            kept, numbers = self.kept.setdefault(lineup.id, set()), rows["game"][:, 0].tolist()
            new = [number not in kept for number in numbers]
            if any(new):
                self.waiting[1].append((lineup, rows[new]))
                kept.update(numbers)
        self.parts.setdefault(lineup.id, []).append(rows)
        if self.waiting[1] and time.monotonic() - self.flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits. Games that cannot be written are forgotten; if a signal stops this, they wait for the next time.

        Raises:
            ValueError: an agent has changed while it played.
            OSError: the folder cannot be written.
        """
        number, waiting = self.waiting
        if self.folder is None or not waiting:
            return
        try:
            for spec in self.provenance.changed({name for lineup, _ in waiting for name in lineup.names}):
                raise ValueError(f"{checks.shown(spec)} has changed while it played; its last games are not kept")
            forms = self.forms | {lineup.id: lineup.identity for lineup, _ in waiting if lineup.id not in self.forms}
            if len(forms) > len(self.forms):
                write_provenance(self.folder, self.provenance)
                lines = (f'"{key}": {form.model_dump_json(exclude_defaults=True)}' for key, form in forms.items())
                atomic.write_bytes(self.folder / LINEUPS, b"{" + ",\n".join(lines).encode() + b"}")
                self.forms = forms
            atomic.write_bytes(self.folder / ROWS / f"{number:06}.parquet", _as_parquet(waiting))
        except (ValueError, OSError):
            for lineup, rows in waiting:
                all_rows, lost = self.rows(lineup), rows["game"][:, 0]
                self.parts[lineup.id] = [all_rows[np.isin(all_rows["game"][:, 0], lost, invert=True)]]
                self.kept.setdefault(lineup.id, set()).difference_update(lost.tolist())
            self.waiting = number, []
            raise
        self.waiting = number + 1, []  # in one step, so that no signal comes between
        self.flushed = time.monotonic()

    def rows(self, lineup: Lineup) -> np.ndarray:
        """All games of a line-up (G, n) in the order of their numbers."""
        parts = self.parts.get(lineup.id) or [lineup.rows(np.arange(0))]
        if len(parts) > 1:
            parts[:] = [joined(parts)]
        return parts[0]

    def known(self, lineup: Lineup) -> np.ndarray:
        """Which of the line-up's games are there, with their records if these are wanted: (`num_games`,) bool."""
        rows = self.rows(lineup)
        wanted = [record is not None for record in rows[RECORD][:, 0]] if lineup.records else slice(None)
        return np.isin(np.arange(lineup.num_games), rows["game"][wanted, 0])

    def match(self, lineup: Lineup) -> Match | None:
        """The first deals of a line-up whose games are all there, up to the line-up's number of deals; None if there is none."""
        known = self.known(lineup)
        first_gap = lineup.num_games if known.all() else int(known.argmin())
        games = first_gap // lineup.games_per_deal * lineup.games_per_deal
        return Match(lineup, self.rows(lineup)[:games]) if games else None


# --- reading ---


def import_pyarrow() -> Any:
    """PyArrow. Raises ValueError if it is not installed."""
    from bombay_training.extras import missing_extra

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError(missing_extra("a store", "data", error)) from None
    return pyarrow


def read_lineups(folder: Path) -> dict[str, LineupForm]:
    """The line-ups of a store by id, none if it is new.

    Raises:
        ValueError: the file is damaged, or the store is of an earlier version.
    """
    if (folder / EARLIER).exists():
        raise ValueError(
            f"{checks.shown_path(folder)} was written by revision {read_provenance(folder).revisions[-1]}, in an older "
            "format; play its games again in a new folder"
        )
    path = folder / LINEUPS
    return parse(dict[str, LineupForm], read_bytes(path), str(path)) if path.exists() else {}


def parts_of(folder: Path) -> list[Path]:
    """The parts of a store in the order in which they were written."""
    parts = [path for path in (folder / ROWS).glob("*.parquet") if PART.fullmatch(path.name)]
    return sorted(parts, key=lambda path: int(path.stem))


def read_matches(folder: Path) -> list[Match]:
    """All that a store holds: the complete deals of each line-up, in the order in which the line-ups began.

    Raises:
        ValueError: the folder is no store, it is damaged, or of an earlier version.
    """
    import_pyarrow()
    if not read_lineups(folder):
        raise ValueError(f"{checks.shown_path(folder)} is not a store of games: it has no {LINEUPS}")
    store, matches = Store(), []
    for lineup, rows in read_rows(folder).values():
        store.add(lineup, rows)
        matches.append(store.match(lineup))
    return [match for match in matches if match is not None]


def read_rows(folder: Path) -> dict[str, tuple[Lineup, np.ndarray]]:
    """The games of a store by the ids of their line-ups, each with as many deals as were begun.

    Raises:
        ValueError: it is damaged, or of an earlier version.
    """
    parts = parts_of(folder)  # before the line-ups, to which another process may be adding
    forms = read_lineups(folder)
    if not forms or not parts:
        return {}
    columns = _read(folder, parts)
    keys, codes = np.unique(columns["lineup"], return_inverse=True)
    if set(keys) - set(forms):
        raise ValueError(f"{checks.shown_path(folder)} is damaged: it has games of line-ups that {LINEUPS} lacks")
    order = np.lexsort((columns["seat"], columns["game"], codes))
    numbers = dict(zip(keys.tolist(), np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True))
    found = {}
    for key, form in forms.items():
        if key in numbers:
            mine = {name: values[numbers[key]] for name, values in columns.items()}
            lineup = lineup_of(form, 1 + int(mine["block"].max()))
            found[key] = lineup, _rows(lineup, mine, checks.shown_path(folder))
    return found


# --- the store of a study ---


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
    games, timed = ({match.plan.id: match.rows for match in read_matches(one)} for one in (folder, times or folder))
    missing = sum(max(0, lineup.num_games - len(games.get(lineup.id, ()))) for lineup in lineups)
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
    with Store(target) as store:
        atomic.write_bytes(target / STUDY, (folder / STUDY).read_bytes())
        store.provenance = provenance
        for lineup in lineups:
            rows, measured = games[lineup.id][: lineup.num_games].copy(), timed[lineup.id]
            _, mine, others = np.intersect1d(rows["game"][:, 0], measured["game"][:, 0], return_indices=True)
            for name in TIMES:
                rows[name] = 0
                rows[name][mine] = measured[name][others]
            store.waiting[1].append((lineup, rows))  # one part
    if machine:
        atomic.write_bytes(target / MACHINE, f"{machine}\n".encode())


# --- Parquet ---


def _schema() -> Any:
    """The columns of a part, as PyArrow has them."""
    pyarrow, types = import_pyarrow(), row_dtype(accounts=True)
    kinds: dict[str, Any] = {name: kind for name, (kind, _) in FILE_COLUMNS.items()} | {"agent": "string"}
    kinds |= {name: pyarrow.list_(pyarrow.int32(), *types[name].shape) for name in ACCOUNTS}
    return pyarrow.schema([pyarrow.field(name, kind) for name, kind in kinds.items()])


def _as_parquet(waiting: Sequence[tuple[Lineup, np.ndarray]]) -> bytes:
    """The bytes of a part."""
    pyarrow, schema, tables = import_pyarrow(), _schema(), []
    for lineup, rows in waiting:
        flat = rows.ravel()
        columns: dict[str, Any] = {name: flat[name] for name in COLUMNS}
        columns |= {"lineup": np.full(len(flat), lineup.id), "agent": np.array(lineup.names)[flat["agent"]]}
        columns |= {name: list(flat[name]) if lineup.accounts else [None] * len(flat) for name in ACCOUNTS}
        tables.append(pyarrow.table(columns, schema))
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.concat_tables(tables), file, compression="zstd")
    return file.getvalue()


def _read(folder: Path, parts: Sequence[Path]) -> dict[str, np.ndarray]:
    """The columns of all parts; those of accounts as objects. Raises ValueError if one is damaged."""
    pyarrow = import_pyarrow()
    try:
        table = pyarrow.parquet.read_table(parts, schema=_schema(), partitioning=None)
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise ValueError(checks.message(f"{checks.shown_path(folder)} cannot be read: {error}")) from None
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if column.null_count and name not in ACCOUNTS:
            raise ValueError(f"{checks.shown_path(folder)} cannot be read: its rows lack {name}")
        columns[name] = column.to_numpy()
    return columns


def _rows(lineup: Lineup, columns: dict[str, np.ndarray], where: str) -> np.ndarray:
    """The rows (G, n) of a line-up's columns, which are in order.

    Raises:
        ValueError: deals or seats are not those of the line-up, or accounts are missing.
    """
    rows = lineup.rows(columns["game"][:: lineup.game.num_players].astype(np.int64))
    flat = rows.reshape(-1)
    known = {name: flat[name] for name in KNOWN} | {"agent": np.array(lineup.names)[flat["agent"]]}
    if len(flat) != len(columns["game"]) or any((columns[name] != values).any() for name, values in known.items()):
        raise ValueError(f"{where} is damaged: its rows do not fit {LINEUPS}, or some are missing or there twice")
    if lineup.accounts and any(columns[name][0] is None for name in ACCOUNTS):
        raise ValueError(f"{where} cannot be read: its rows lack accounts")
    for name in COLUMNS:
        if name not in known:
            flat[name] = columns[name]
    for name in ACCOUNTS if lineup.accounts else ():
        flat[name] = columns[name].tolist()
    return rows
