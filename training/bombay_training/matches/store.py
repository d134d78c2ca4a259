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
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from bombay_env import checks
from bombay_env.files import atomic
from bombay_env.files.forms import parse
from bombay_env.files.reading import read_bytes
from bombay_env.record import Record
from bombay_training import locks
from bombay_training.matches.accounts import ACCOUNTS, SOURCES, SPENDING, USES
from bombay_training.matches.cells import Cell, CellForm, cell_of
from bombay_training.matches.play import Played
from bombay_training.matches.provenance import (
    PROVENANCE,
    Provenance,
    agent_digest,
    read_provenance,
    revision,
    write_provenance,
)
from bombay_training.matches.results import LostGame, Match
from bombay_training.matches.results import digest as digest  # offered to others
from bombay_training.matches.times import DecisionTimes

STUDY, CELLS, LOCK = "study.toml", "cells.json", ".lock"
ROWS, TIMES, ACCOUNT_ROWS = "rows", "times", "accounts"
OWN: Final = {STUDY, PROVENANCE, LOCK, ROWS, TIMES, ACCOUNT_ROWS}  # what a store holds before its first games
FLUSH_SECONDS: Final = 5.0  # between two parts
COMPARED: Final = ("final", "place", "clients", "win_share")  # of two results of a game
PART: Final = re.compile(r"\d+\.parquet")
ROW_COLUMNS: Final = {  # the data dictionary: type, and what it is
    "cell": ("dictionary", "the cell's id in cells.json"),
    "game": ("int32", "number of the game in its cell, from 0"),
    "block": ("int32", "number of the deal, from 0"),
    "deal": ("uint64", "seed of the game: all its chance follows from it (RULES 8), except for what its cell redraws"),
    "seating": ("int8", "number of the seating: by how many seats the circular order drawn for the deal is rotated"),
    "seat": ("int8", "seat, from 0 in the order of play of the first set"),
    "agent": ("dictionary", "spec of the agent in this seat"),
    "final": ("int32", "rupees with awards (RULES 5); 0 after a fault"),
    "place": ("int8", "1 is the best, by rupees and then Clients; tied seats share the better place; 0 after a fault"),
    "win_share": ("float64", "1 over the number of winners; after a fault 0 for the offender, the rest shared equally"),
    "margin": ("float64", "final minus the mean over the game's seats; 0 after a fault"),
    "clients": ("int16", "Client tokens (RULES 5); 0 after a fault"),
    "action": ("string", "after a fault, in the offender's row: what it answered; else null"),
    "fault": ("string", "likewise: what was wrong"),
}


class Results:
    """The results of a cell's games as far as they are known. It grows with the number of deals."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        seats = cell.game.num_players
        self.done = np.zeros(0, np.bool_)
        self.final, self.place, self.clients, self.win_share = (
            np.zeros((0, seats), kind) for kind in (np.int32, np.int8, np.int16, np.float64)
        )
        self.accounts = np.zeros((0, seats if cell.accounts else 0), ACCOUNTS)  # 112 bytes a seat
        self.times = [DecisionTimes() for _ in cell.players]
        self.faults: dict[int, LostGame] = {}
        self.records: dict[int, Record] = {}

    def add(self, played: Played) -> None:
        """Enter the results of a chunk, in place of older ones of the same games."""
        count = len(played.final)
        games = slice(played.first, played.first + count)
        self._grow(games.stop)
        self.final[games], self.place[games], self.clients[games] = played.final, played.place, played.clients
        self.win_share[games], self.done[games] = played.win_share, True
        if played.accounts is not None:
            self.accounts[games] = played.accounts
        for game in range(games.start, games.stop):
            self.faults.pop(game, None)
        self.faults |= {lost.game: lost for lost in played.lost}
        self.records |= {played.first + index: record for index, record in enumerate(played.records)}
        for total, more in zip(self.times, played.times, strict=True):
            total.add(more)

    def _grow(self, games: int) -> None:
        missing = games - len(self.done)
        if missing > 0:
            missing = max(missing, len(self.done) // 2)  # so that adding games one by one copies little
            for name in ("done", "final", "place", "clients", "win_share", "accounts"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros((missing, *old.shape[1:]), old.dtype)]))

    def new_part(self, played: Played) -> Played:
        """What of a chunk is not known yet.

        It is the end of the chunk if the known games before it have the same results. They have others only if an agent draws by
        the chunk; then the whole chunk is new, and its rows take the place of the older ones.
        """
        games = slice(played.first, played.first + len(played.final))
        known = int(self.done[games].sum())
        same = self.done[games][:known].all() and all(
            np.array_equal(getattr(self, name)[games][:known], getattr(played, name)[:known]) for name in COMPARED
        )
        if not known or not same:
            return played
        return Played(
            played.first + known,
            played.final[known:],
            played.place[known:],
            played.clients[known:],
            played.win_share[known:],
            [lost for lost in played.lost if lost.game >= played.first + known],
            [DecisionTimes() for _ in played.times],
            accounts=None if played.accounts is None else played.accounts[known:],
        )

    def has(self, first: int, count: int) -> bool:
        """Whether all these games are known."""
        return bool(first + count <= len(self.done) and self.done[first : first + count].all())

    def num_known(self, cell: Cell) -> int:
        """How many of a cell's games are known."""
        return int(self.done[: cell.num_games].sum())

    def match(self, cell: Cell) -> Match | None:
        """The first deals of a cell whose games are all known, up to the cell's number of deals; None if there is none."""
        known = self.done[: cell.num_games]
        first_gap = len(known) if known.all() else int(known.argmin())
        games = first_gap // cell.games_per_deal * cell.games_per_deal
        if not games:
            return None
        made, names = cell.games(0, games), cell.names
        return Match(
            game=cell.game,
            lineup=tuple(names[index] for index in cell.base),
            agents=names,
            seed=cell.seed,
            deal=made.deal,
            block=made.block,
            seating=made.seating,
            seats=made.seats,
            final=self.final[:games],
            win_share=self.win_share[:games],
            place=self.place[:games],
            clients=self.clients[:games],
            timings=tuple(times.timing for times in self.times),
            faults=tuple(self.faults[game] for game in sorted(self.faults) if game < games),
            format=cell.format,
            records=tuple(
                dataclasses.replace(self.records[game], game=cell.game) for game in range(games) if game in self.records
            ),
            accounts=self.accounts[:games] if cell.accounts else None,
        )


class Store:
    """Results in memory."""

    def __init__(self) -> None:
        self.results: dict[str, Results] = {}

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

    def results_of(self, cell: Cell) -> Results:
        """Those of a cell, empty at first."""
        return self.results.setdefault(cell.id, Results(cell))

    def add(self, cell: Cell, played: Played) -> None:
        """Keep the results of a chunk."""
        self.results_of(cell).add(played)

    def flush(self) -> None:
        """Write what is not on the disk yet."""

    def match(self, cell: Cell) -> Match | None:
        """As `Results.match`."""
        return self.results_of(cell).match(cell)


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
        self.waiting: list[tuple[Cell, Played]] = []
        self.flushed = time.monotonic()
        self.results = read_results(self.folder)

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

    def add(self, cell: Cell, played: Played) -> None:
        """Keep the results of a chunk; they are written together with those of the next few seconds."""
        new = self.results_of(cell).new_part(played)
        super().add(cell, played)
        if len(new.final):
            self.waiting.append((cell, new))
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
    """The matches of `read_store`."""
    return [match for _, match in read_store(folder)]


def read_store(folder: Path) -> list[tuple[Cell, Match]]:
    """All that a store holds: the cells in the order in which they began, and the complete deals of each.

    Raises:
        ValueError: the folder is no store, or it is damaged.
    """
    import_pyarrow()
    if not read_cells(folder):
        raise ValueError(f"{checks.shown_path(folder)} is not a store of games: it has no {CELLS}")
    found = []
    for results in read_results(folder).values():
        games = int(results.done.nonzero()[0].max(initial=-1)) + 1
        cell = dataclasses.replace(results.cell, deals=max(1, -(-games // results.cell.games_per_deal)))
        match = results.match(cell)
        if match is not None:
            found.append((cell, match))
    return found


def read_results(folder: Path) -> dict[str, Results]:
    """What the parts of a store hold, by the ids of cells. Raises ValueError if it is damaged."""
    parts = parts_of(folder)  # before the cells, to which another process may be adding
    forms = read_cells(folder)
    if forms:
        read_provenance(folder)  # refuses stores of earlier versions
    found = {key: Results(cell_of(form, 1)) for key, form in forms.items()}
    for name in parts:
        for cell, played in read_part(folder, name, found):
            found[cell.id].add(played)
    return found


# --- tables ---


def row_table(played: Sequence[tuple[Cell, Played]]) -> Any:
    """The rows of chunks, by `ROW_COLUMNS`."""
    ids, agents = _places(cell.id for cell, _ in played), _places(name for cell, _ in played for name in cell.names)
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ROW_COLUMNS if name not in ("action", "fault")}
    faults: dict[int, LostGame] = {}  # by row
    rows = 0
    for cell, part in played:
        count, seats = part.final.shape
        games = cell.games(part.first, count)
        parts["cell"].append(np.full(count * seats, ids[cell.id]))
        parts["agent"].append(np.array([agents[name] for name in cell.names])[games.seats].ravel())
        parts["seat"].append(np.tile(np.arange(seats), count))
        parts["margin"].append((part.final - part.final.mean(axis=1, keepdims=True)).ravel())
        for name, values in (
            ("game", games.number),
            ("block", games.block),
            ("deal", games.deal),
            ("seating", games.seating),
        ):
            parts[name].append(np.repeat(values, seats))
        for name in ("final", "place", "win_share", "clients"):
            parts[name].append(getattr(part, name).ravel())
        faults |= {rows + (lost.game - part.first) * seats + lost.seat: lost for lost in part.lost}
        rows += count * seats
    columns = {name: _column(np.concatenate(values), ROW_COLUMNS[name][0]) for name, values in parts.items()}
    columns["cell"], columns["agent"] = _strings(columns["cell"], ids), _strings(columns["agent"], agents)
    for name, of in (("action", "action"), ("fault", "reason")):
        columns[name] = _sparse(rows, {row: getattr(lost, of) for row, lost in faults.items()})
    return import_pyarrow().table({name: columns[name] for name in ROW_COLUMNS})


def time_table(played: Sequence[tuple[Cell, Played]]) -> Any:
    """The times of chunks: a row for each cell and agent. `histogram`: numbers of turns by time, between `times.EDGES`."""
    sums: dict[tuple[str, int], DecisionTimes] = {}
    for cell, part in played:
        for player, times in enumerate(part.times):
            sums.setdefault((cell.id, player), DecisionTimes()).add(times)
    pyarrow = import_pyarrow()
    rows = [
        {
            "cell": cell,
            "player": player,
            "decisions": times.decisions,
            "turns": times.turns,
            "seconds": times.seconds,
            "histogram": times.histogram.tolist(),
        }
        for (cell, player), times in sums.items()
    ]
    return pyarrow.Table.from_pylist(rows)


def account_table(played: Sequence[tuple[Cell, Played]]) -> Any:
    """The accounts of chunks: a row for each game and seat, a column for each source, use and way to spend; None without any."""
    kept = [(cell, part, part.accounts) for cell, part in played if part.accounts is not None]
    if not kept:
        return None
    ids = _places(cell.id for cell, *_ in kept)
    sizes = [accounts.size for _, _, accounts in kept]
    games = [np.repeat(np.arange(len(accounts)) + part.first, accounts.shape[1]) for _, part, accounts in kept]
    seats = [np.tile(np.arange(accounts.shape[1]), len(accounts)) for _, _, accounts in kept]
    columns = {
        "cell": _strings(_column(np.repeat([ids[cell.id] for cell, *_ in kept], sizes), "int32"), ids),
        "game": _column(np.concatenate(games), "int32"),
        "seat": _column(np.concatenate(seats), "int8"),
    }
    for name, (field, place) in ACCOUNT_COLUMNS.items():
        columns[name] = _column(np.concatenate([accounts[field][..., place].ravel() for *_, accounts in kept]), "int32")
    return import_pyarrow().table(columns)


ACCOUNT_COLUMNS: Final = {  # the field of `ACCOUNTS` and the place in it, by the name of the column
    f"{field}_{name}": (field, place)
    for field, names in (("rupees", SOURCES), ("uses", USES), ("spent", SPENDING))
    for place, name in enumerate(names)
}


def _places(names: Iterable[str]) -> dict[str, int]:
    """A number for each different name, in order."""
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def _column(values: np.ndarray, kind: str) -> Any:
    return import_pyarrow().array(values.astype("int32" if kind == "dictionary" else kind))


def _strings(codes: Any, names: dict[str, int]) -> Any:
    return import_pyarrow().DictionaryArray.from_arrays(codes, list(names))


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


def read_part(folder: Path, name: str, found: dict[str, Results]) -> Iterator[tuple[Cell, Played]]:
    """The chunks of one part, of the cells of `found`. Raises ValueError if it is damaged."""
    rows = _read(folder / ROWS / name, list(ROW_COLUMNS))
    times = _times(folder / TIMES / name)
    accounts = _read(folder / ACCOUNT_ROWS / name, ["cell", "game", "seat", *ACCOUNT_COLUMNS])
    of_rows, of_books = _by_cell(rows), _by_cell(accounts)
    for key, mine in of_rows.items():
        cell = found[key].cell
        for part in _chunks(cell, mine, of_books.get(key, {}), str(folder / ROWS / name)):
            part.times = [times.pop((key, player), DecisionTimes()) for player in range(len(cell.players))]
            yield cell, part


def _by_cell(columns: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    """The columns of each cell, in the order of their first rows."""
    keys, first, codes = np.unique(columns.get("cell", []), return_index=True, return_inverse=True)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
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


def _chunks(cell: Cell, rows: dict[str, np.ndarray], books: dict[str, np.ndarray], where: str) -> Iterator[Played]:
    """The games of a cell in runs of consecutive numbers."""
    seats = cell.game.num_players
    order = np.lexsort((rows["seat"], rows["game"]))
    rows = {name: values[order].reshape(-1, seats) for name, values in rows.items()}
    numbers = rows["game"][:, 0]
    accounts = _accounts(books, seats) if cell.accounts else None
    for run in np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers) != 1) + 1):
        first = int(numbers[run[0]])
        games = cell.games(first, len(run))
        names = np.array(cell.names)[games.seats]
        wanted = {name: getattr(games, name)[:, None] for name in ("deal", "block", "seating")}
        for column, values in {**wanted, "seat": np.arange(seats), "agent": names}.items():
            if (rows[column][run] != values).any():  # another version may deal and seat in another way
                raise ValueError(f"{where} has other deals or seats than its cells say")
        lost = [
            LostGame(
                agent=int(games.seats[index, seat]),
                name=str(names[index, seat]),
                seat=int(seat),
                game=first + int(index),
                block=int(games.block[index]),
                seating=int(games.seating[index]),
                action=str(rows["action"][run[index], seat]),
                reason=str(rows["fault"][run[index], seat]),
            )
            for index, seat in np.argwhere(rows["fault"][run] != None)  # noqa: E711 -- of every entry
        ]
        final, place, clients, share = (rows[name][run] for name in ("final", "place", "clients", "win_share"))
        yield Played(
            first, final, place, clients, share, lost, [], accounts=None if accounts is None else accounts[run]
        )


def _accounts(books: dict[str, np.ndarray], seats: int) -> np.ndarray:
    order = np.lexsort((books["seat"], books["game"]))
    accounts = np.zeros(len(order), ACCOUNTS)
    for name, (field, place) in ACCOUNT_COLUMNS.items():
        accounts[field][:, place] = books[name][order]
    return accounts.reshape(-1, seats)
