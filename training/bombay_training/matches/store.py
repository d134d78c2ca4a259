"""Keeps the results of games, by cell: in memory, and in a folder of Parquet files if one is given.

A folder holds the study, the cells, and three tables, each in parts of finished chunks that are written atomically, in any order:

    study.toml        the study, if it was given as a file
    cells.json        by id: rules, board, line-up, seating and seed
    provenance.json   what else decides results (`matches/provenance.py`): games of anything else are refused
    rows/*.parquet    a row for each game and seat: `ROW_COLUMNS`. Their digest is the digest of the study
    times/*.parquet   how long agents took, a row for each part, cell and agent: outside the digest
    accounts/*.parquet  where rupees came from, a row for each game and seat, of cells that keep accounts: outside the digest

The part of the rows is written last, so a part of another table without one is what a killed process has left; it is removed when
the folder is opened for writing. Only one process writes to a folder. PyArrow (extra `data`) is needed for folders alone.
"""

import dataclasses
import io
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from bombay_env import checks
from bombay_env.files import atomic
from bombay_env.files.forms import parse
from bombay_env.files.reading import read_bytes
from bombay_training import locks
from bombay_training.matches.accounts import ACCOUNTS, SOURCES, SPENDING, USES
from bombay_training.matches.cells import Cell, CellForm, cell_of
from bombay_training.matches.play import lost_game
from bombay_training.matches.provenance import (
    PROVENANCE,
    Provenance,
    agent_digest,
    read_provenance,
    revision,
    write_provenance,
)
from bombay_training.matches.results import Match
from bombay_training.matches.results import digest as digest  # offered to others
from bombay_training.matches.table import COLUMNS, RESULTS, DecisionTimes, LostGame, Table

STUDY, CELLS, LOCK = "study.toml", "cells.json", ".lock"
ROWS, TIMES, ACCOUNT_ROWS = "rows", "times", "accounts"
OWN: Final = {STUDY, PROVENANCE, LOCK, ROWS, TIMES, ACCOUNT_ROWS}  # what a store holds before its first games
FLUSH_SECONDS: Final = 5.0  # between two parts
PART: Final = re.compile(r"\d+\.parquet")
ROW_COLUMNS: Final = {  # of `rows`: type and meaning
    "cell": ("dictionary", "the cell's id in cells.json"),
    **COLUMNS,
    "agent": ("dictionary", "spec of the agent in this seat"),
    "margin": ("float64", "final minus the mean over the game's seats; 0 after a fault"),
    "action": ("string", "after a fault, in the offender's row: what it answered; else null"),
    "fault": ("string", "likewise: what was wrong"),
}


class Store:
    """Games in memory.

    Attributes:
        tables: of each cell by its id, those that were added.
    """

    def __init__(self) -> None:
        self.tables: dict[str, list[Table]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to end."""

    def check(self, cells: Sequence[Cell], turn_limit: float | None, processes: int | None) -> None:
        """Raise ValueError if what these cells would play now is not what was played before.

        Args:
            cells: what is to be played.
            turn_limit, processes: as those of `Provenance`.
        """

    def add(self, cell: Cell, table: Table) -> None:
        """Keep games. Those that are there already stay as they are."""
        self.tables.setdefault(cell.id, []).append(table)

    def flush(self) -> None:
        """Write what is not on the disk yet."""

    def table(self, cell: Cell) -> Table | None:
        """All games of a cell in the order of their numbers; None if there are none."""
        parts = self.tables.get(cell.id)
        if parts is None:
            return None
        parts[:] = [Table.joined(parts)]
        return parts[0]

    def known(self, cell: Cell) -> np.ndarray:
        """Which of the cell's games are there, (`num_games`,) bool."""
        table = self.table(cell)
        return np.isin(np.arange(cell.num_games), [] if table is None else table.games)

    def match(self, cell: Cell) -> Match | None:
        """The first deals of a cell whose games are all there, up to the cell's number of deals; None if there is none."""
        known = self.known(cell)
        first_gap = cell.num_games if known.all() else int(known.argmin())
        games = first_gap // cell.games_per_deal * cell.games_per_deal
        table = self.table(cell)
        return Match(cell, table.take(slice(games))) if table is not None and games else None


# --- folders ---


class FolderStore(Store):
    """Results in a folder, which is created, or continued.

    Args:
        folder: its path.
        study: the text of the study's file; None for none.

    Raises:
        ValueError: another process writes there, the folder holds something else, another revision played its games, or the
            extra `data` is missing.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, study: str | None = None) -> None:
        super().__init__()
        import_pyarrow()
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"{checks.shown_path(folder)} is a file; a store is a folder")
        if folder.exists() and not (folder / CELLS).exists() and {path.name for path in folder.iterdir()} - OWN:
            raise ValueError(
                f"{checks.shown_path(folder)} holds something else; name a new folder, or one of an earlier study"
            )
        folder.mkdir(parents=True, exist_ok=True)
        self.lock = locks.take(folder / LOCK, folder)
        try:
            self._open(study)
        except BaseException:
            self.lock.release()
            raise

    def _open(self, study: str | None) -> None:
        for name in (ROWS, TIMES, ACCOUNT_ROWS):
            (self.folder / name).mkdir(exist_ok=True)
            atomic.remove_leftovers(self.folder / name)
        atomic.remove_leftovers(self.folder)
        committed = parts_of(self.folder)
        for name in (TIMES, ACCOUNT_ROWS):
            for path in (self.folder / name).iterdir():
                if PART.fullmatch(path.name) and path.name not in committed:
                    path.unlink()
        self.forms = read_cells(self.folder)
        self.provenance = read_provenance(self.folder) if self.forms else Provenance(revisions=[revision()])
        if revision() not in self.provenance.revisions:
            raise ValueError(
                f"{checks.shown_path(self.folder)} has games of revision {self.provenance.revisions[-1]}, and this is "
                f"{revision()}; name a new folder, or let this revision continue it with `bombay verify --accept`"
            )
        self.study = study
        self.part = 1 + max((int(name.partition(".")[0]) for name in committed), default=0)
        self.waiting: list[tuple[Cell, Table]] = []
        self.flushed = time.monotonic()
        self.tables = {key: [table] for key, (_, table) in read_tables(self.folder).items()}
        self.kept = {key: set(table.games.tolist()) for key, (table,) in self.tables.items()}

    def __exit__(self, *_: object) -> None:
        """Write what waits, and let others write."""
        try:
            self.flush()
        finally:
            self.lock.release()

    def check(self, cells: Sequence[Cell], turn_limit: float | None, processes: int | None) -> None:
        """As `Store.check`. What was not played before becomes part of the provenance, and the study is written."""
        agents = list(dict.fromkeys(name for cell in cells for name in cell.names))
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

    def add(self, cell: Cell, table: Table) -> None:
        """Keep games; the new ones are written together with those of the next few seconds."""
        super().add(cell, table)
        kept = self.kept.setdefault(cell.id, set())
        new = np.array([game not in kept for game in table.games.tolist()])
        if new.any():
            kept.update(table.games.tolist())
            self.waiting.append((cell, table.take(new)))
        if time.monotonic() - self.flushed > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what waits. If that fails, it is dropped: what was written before stays as it is.

        Raises:
            ValueError: an agent has changed while it played.
            OSError: the folder cannot be written.
        """
        waiting, self.waiting = self.waiting, []
        if waiting:
            for spec in self.provenance.changed({name for cell, _ in waiting for name in cell.names}):
                raise ValueError(f"{checks.shown(spec)} has changed while it played; its last games are not kept")
            new = {cell.id: CellForm(**cell.identity) for cell, _ in waiting if cell.id not in self.forms}
            if new:
                write_provenance(self.folder, self.provenance)
                self.forms |= new
                lines = (f'"{key}": {form.model_dump_json(exclude_defaults=True)}' for key, form in self.forms.items())
                atomic.write_bytes(self.folder / CELLS, b"{" + ",\n".join(lines).encode() + b"}")
            name = f"{self.part:06}.parquet"
            for kind, table in (
                (ACCOUNT_ROWS, account_table(waiting)),
                (TIMES, time_table(waiting)),
                (ROWS, row_table(waiting)),
            ):
                if table is not None:
                    atomic.write_bytes(self.folder / kind / name, as_parquet(table))
            self.part += 1
        self.flushed = time.monotonic()


def import_pyarrow() -> Any:
    """PyArrow. Raises ValueError if it is not installed."""
    from bombay_training.extras import missing_extra

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ValueError(missing_extra("a store", "data", error)) from None
    return pyarrow


def read_cells(folder: Path) -> dict[str, CellForm]:
    """The cells of a store by id, none if it is new. Raises ValueError if the file is damaged."""
    path = folder / CELLS
    return parse(dict[str, CellForm], read_bytes(path), str(path)) if path.exists() else {}


def parts_of(folder: Path) -> list[str]:
    """The names of the parts of a store whose rows are written, in the order in which they were."""
    names = [path.name for path in (folder / ROWS).glob("*.parquet") if PART.fullmatch(path.name)]
    return sorted(names, key=lambda name: int(name.partition(".")[0]))


def read_matches(folder: Path) -> list[Match]:
    """All that a store holds: the complete deals of each cell, in the order in which the cells began.

    Raises:
        ValueError: the folder is no store, or it is damaged.
    """
    import_pyarrow()
    if not read_cells(folder):
        raise ValueError(f"{checks.shown_path(folder)} is not a store of games: it has no {CELLS}")
    store, matches = Store(), []
    for cell, table in read_tables(folder).values():
        store.add(cell, table)
        matches.append(store.match(cell))
    return [match for match in matches if match is not None]


def read_tables(folder: Path) -> dict[str, tuple[Cell, Table]]:
    """What the parts of a store hold, by the ids of cells: each with as many deals as were begun, and its games.

    Raises:
        ValueError: it is damaged, or of an earlier version.
    """
    parts = parts_of(folder)  # before the cells, to which another process may be adding
    forms = read_cells(folder)
    if forms:
        read_provenance(folder)  # refuses stores of earlier versions
    cells = {key: cell_of(form, 1) for key, form in forms.items()}
    tables: dict[str, list[Table]] = {}
    for name in parts:
        for key, table in read_part(folder, name, cells):
            tables.setdefault(key, []).append(table)
    found = {}
    for key, cell in cells.items():
        if key in tables:
            table = Table.joined(tables[key])
            deals = 1 + int(table.rows["block"].max())
            found[key] = dataclasses.replace(cell, deals=deals), table
    return found


# --- writing ---


def row_table(waiting: Sequence[tuple[Cell, Table]]) -> Any:
    """The rows of games, as in a file."""
    pyarrow = import_pyarrow()
    rows = np.concatenate([table.rows.ravel() for _, table in waiting])
    margins = [table.rows["final"] - table.rows["final"].mean(axis=1, keepdims=True) for _, table in waiting]
    names = list(dict.fromkeys(name for cell, _ in waiting for name in cell.names))
    agents = [np.array([names.index(name) for name in cell.names])[table.rows["agent"]] for cell, table in waiting]
    faults = dict[int, LostGame]()  # by row
    first = 0
    for _, table in waiting:
        places = dict(
            zip(table.games.tolist(), range(first, first + table.rows.size, table.rows.shape[1]), strict=True)
        )
        faults |= {places[game] + lost.seat: lost for game, lost in table.faults.items()}
        first += table.rows.size
    columns = {
        "cell": _cell_column(waiting),
        **{name: pyarrow.array(np.ascontiguousarray(rows[name])) for name in COLUMNS},
        "margin": pyarrow.array(_joined(margins)),
        "action": _sparse(len(rows), {row: lost.action for row, lost in faults.items()}),
        "fault": _sparse(len(rows), {row: lost.reason for row, lost in faults.items()}),
    }
    columns["agent"] = pyarrow.DictionaryArray.from_arrays(_joined(agents).astype(np.int32), names)
    return pyarrow.table(columns)


def time_table(waiting: Sequence[tuple[Cell, Table]]) -> Any:
    """The times of games: a row for each cell and agent. `histogram`: numbers of turns between `table.EDGES`."""
    sums: dict[tuple[str, int], DecisionTimes] = {}
    for cell, table in waiting:
        for player, times in enumerate(table.times):
            sums.setdefault((cell.id, player), DecisionTimes()).add(times)
    rows = [
        {"cell": cell, "player": player, **vars(times), "histogram": times.histogram.tolist()}
        for (cell, player), times in sums.items()
    ]
    return import_pyarrow().Table.from_pylist(rows)


def account_table(waiting: Sequence[tuple[Cell, Table]]) -> Any:
    """The accounts of games: a row for each game and seat, a column for each source, use and way to spend; None without any."""
    kept = [(cell, table) for cell, table in waiting if table.accounts is not None]
    if not kept:
        return None
    pyarrow = import_pyarrow()
    books = np.concatenate([table.accounts.ravel() for _, table in kept if table.accounts is not None])
    columns = {"cell": _cell_column(kept)}
    columns |= {name: pyarrow.array(_joined([table.rows[name] for _, table in kept])) for name in ("game", "seat")}
    for name, (field, place) in ACCOUNT_COLUMNS.items():
        columns[name] = pyarrow.array(np.ascontiguousarray(books[field][:, place]))
    return pyarrow.table(columns)


ACCOUNT_COLUMNS: Final = {  # the field of `ACCOUNTS` and the place in it, by the name of the column
    f"{field}_{name}": (field, place)
    for field, names in (("rupees", SOURCES), ("uses", USES), ("spent", SPENDING))
    for place, name in enumerate(names)
}


def _cell_column(waiting: Sequence[tuple[Cell, Table]]) -> Any:
    """The cell of each row."""
    ids, codes = np.unique([cell.id for cell, _ in waiting], return_inverse=True)
    codes = np.repeat(codes, [table.rows.size for _, table in waiting]).astype(np.int32)
    return import_pyarrow().DictionaryArray.from_arrays(codes, ids.tolist())


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts])


def _sparse(rows: int, values: dict[int, str]) -> Any:
    """A column of texts with null in all other rows."""
    pyarrow = import_pyarrow()
    if not values:
        return pyarrow.nulls(rows, pyarrow.string())
    return pyarrow.array([values.get(row) for row in range(rows)], pyarrow.string())


def as_parquet(table: Any) -> bytes:
    """The bytes of a Parquet file."""
    file = io.BytesIO()
    import_pyarrow().parquet.write_table(table, file, compression="zstd")
    return file.getvalue()


# --- reading ---


def read_part(folder: Path, name: str, cells: dict[str, Cell]) -> Iterator[tuple[str, Table]]:
    """The games of one part by the ids of their cells. Raises ValueError if it is damaged."""
    rows = _by_cell(_read(folder / ROWS / name, list(ROW_COLUMNS)))
    books = _by_cell(_read(folder / ACCOUNT_ROWS / name, ["cell", "game", "seat", *ACCOUNT_COLUMNS]))
    times = _times(folder / TIMES / name)
    for key, columns in rows.items():
        cell = cells[key]
        table = _table(cell, columns, str(folder / ROWS / name))
        table.times = [times.get((key, player), DecisionTimes()) for player in range(len(cell.players))]
        if cell.accounts:
            table.accounts = _accounts(books[key], cell.game.num_players)
        yield key, table


def _by_cell(columns: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """The columns of each cell, ordered by game and seat; the cells in the order of their first rows."""
    keys, first, codes = np.unique(columns.get("cell", []), return_index=True, return_inverse=True)
    order = np.lexsort((columns["seat"], columns["game"], codes)) if len(keys) else np.zeros(0, np.int64)
    rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    return {str(keys[k]): {name: part[rows[k]] for name, part in columns.items()} for k in np.argsort(first)}


def _read(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    """The columns of a part; empty if there is no such part."""
    if not path.exists():
        return {}
    pyarrow = import_pyarrow()
    try:
        table = pyarrow.parquet.read_table(path, columns=names)
        return {name: table.column(name).to_numpy() for name in names}
    except (OSError, KeyError, pyarrow.ArrowException) as error:
        raise ValueError(checks.message(f"{checks.shown_path(path)} cannot be read: {error}")) from None


def _times(path: Path) -> dict[tuple[str, int], DecisionTimes]:
    columns = _read(path, ["cell", "player", "decisions", "turns", "seconds", "histogram"])
    found: dict[tuple[str, int], DecisionTimes] = {}
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        times = found.setdefault((row[0], row[1]), DecisionTimes())
        times.decisions, times.turns, times.seconds = row[2], row[3], row[4]
        times.histogram[: len(row[5])] = row[5]
    return found


def _table(cell: Cell, columns: dict[str, np.ndarray], where: str) -> Table:
    """The games of a cell in a part. Raises ValueError unless deals and seats are those of the cell."""
    seats = cell.game.num_players
    rows = cell.rows(columns["game"][::seats].astype(np.int64))
    flat, names = rows.reshape(-1), np.array(cell.names)
    known = {name: flat[name] for name in COLUMNS if name not in RESULTS} | {"agent": names[flat["agent"]]}
    if any((columns[name] != values).any() for name, values in known.items()):
        raise ValueError(
            f"{where} has other deals or seats than its cells say"
        )  # another version may deal and seat in another way
    for name in RESULTS:
        flat[name] = columns[name]
    lost = [
        lost_game(cell, flat[row], str(columns["action"][row]), str(columns["fault"][row]))
        for row in np.flatnonzero(columns["fault"] != None)  # noqa: E711 -- of every entry
    ]
    return Table(rows, [], {fault.game: fault for fault in lost})


def _accounts(columns: dict[str, np.ndarray], seats: int) -> np.ndarray:
    accounts = np.zeros(len(columns["game"]), ACCOUNTS)
    for name, (field, place) in ACCOUNT_COLUMNS.items():
        accounts[field][:, place] = columns[name]
    return accounts.reshape(-1, seats)
