"""Verifies published games: plays a sample of a store's games again and compares the results bit for bit.

Intervals would be no test: a fresh estimate leaves a published interval in 17 % of cases although nothing is wrong.
"""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import numpy as np

from bombay_agents import make
from bombay_env.checks import shown_path
from bombay_training.matches.cells import Cell, Chunk
from bombay_training.matches.provenance import read_provenance, revision, write_provenance
from bombay_training.matches.results import Match
from bombay_training.matches.run import Engine, Here
from bombay_training.matches.store import digest, read_matches
from bombay_training.matches.table import RESULTS, Table

GAMES: Final = 200


@dataclasses.dataclass(frozen=True)
class Verification:
    """What a verification found.

    Args:
        games: how many were played again.
        differences: what is not as it is in the store, a line each.
        left_out: agents that think by the clock and need not repeat themselves; their games are not played again.
        revision: of the project that played the games, or the last one that was found to play them alike.
        digest: of all results in the store.
    """

    games: int
    differences: tuple[str, ...]
    left_out: tuple[str, ...]
    revision: str
    digest: str

    @property
    def passed(self) -> bool:
        """Whether all is as it is in the store."""
        return not self.differences


def verify(
    folder: Path,
    games: int = GAMES,
    seed: int = 0,
    engine: Engine | None = None,
    progress: Callable[[float], None] | None = None,
    accept: bool = False,
) -> Verification:
    """Play a sample of a store's games again.

    Args:
        folder: the store.
        games: how many, or all if there are fewer: one of as many line-ups as possible, the rest of any.
        seed: of the sample.
        engine: plays the games; None for this process.
        progress: called with the number of games played since the last call.
        accept: whether this revision may continue the store if all games are the same.

    Raises:
        ValueError: the folder is no store, it is damaged, or an agent cannot play.
        OSError: the revision cannot be written into the store.
    """
    found = read_matches(folder)
    clocked = sorted(filter(_by_the_clock, {spec for match in found for spec in match.agents}))
    kept = [match for match in found if not set(match.agents) & set(clocked)]
    if not kept:
        raise ValueError(f"{shown_path(folder)} has no games to play again")
    chosen = _sample([match.num_games for match in kept], games, np.random.default_rng(seed))
    provenance = read_provenance(folder)
    differences = [f"{spec} has changed since its games" for spec in provenance.changed()]
    jobs, begin = [], 0
    for match in kept:
        cell = match.cell
        mine = chosen[(begin <= chosen) & (chosen < begin + match.num_games)] - begin
        begin += match.num_games
        if mine.size:
            size = cell.chunk_size([make(str(player)) for player in cell.players])
            jobs += [(cell, Chunk(int(game), 1, (int(game) // size,))) for game in mine]
    matches = {match.cell.id: match for match in kept}
    for cell, game in _unequal(jobs, matches, engine or Here(), progress or (lambda games: None)):
        lineup = ", ".join(map(str, cell.lineup))
        differences.append(f"game {game} of {lineup} with {cell.game.num_players} players has another result")
    if accept and not differences and revision() not in provenance.revisions:
        revisions = [*provenance.revisions, revision()]
        write_provenance(folder, provenance.model_copy(update={"revisions": revisions}))
    played_by = read_provenance(folder).revisions[-1]
    return Verification(len(chosen), tuple(differences), tuple(clocked), played_by, digest(found))


def _sample(sizes: list[int], games: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of games, ascending, counted through groups of these sizes: first one of each group, in random order."""
    begins = np.cumsum([0, *sizes[:-1]])
    order = rng.permutation([begin + rng.integers(size) for begin, size in zip(begins, sizes, strict=True)])
    rest = rng.permutation(np.setdiff1d(np.arange(sum(sizes)), order))
    return np.sort(np.concatenate([order, rest])[:games])


def _by_the_clock(spec: str) -> bool:
    return getattr(make(spec), "ms", None) is not None


def _unequal(
    jobs: Iterable[tuple[Cell, Chunk]], matches: dict[str, Match], engine: Engine, progress: Callable[[float], None]
) -> list[tuple[Cell, int]]:
    """The games with other results. Where a game alone differs, its chunk is played whole: an agent may draw by the chunk."""
    suspects = [
        (cell, int(table.games[0]))
        for cell, table in engine.play(iter(jobs), progress)
        if not _equal(matches[cell.id], table)
    ]
    found = []
    for cell, game in sorted(suspects, key=lambda suspect: (suspect[0].id, suspect[1])):
        size = cell.chunk_size([make(str(player)) for player in cell.players])
        first = game // size * size
        whole = Chunk(first, min(size, cell.num_games - first), (game // size,))
        for _, table in engine.play(iter([(cell, whole)]), lambda games: None):
            if not _equal(matches[cell.id], table):
                found.append((cell, game))
    return found


def _equal(match: Match, table: Table) -> bool:
    """Whether games have the results of the match, faults included."""
    before = match.table.take(table.games)
    faults, played = (sorted((lost.game, lost.seat) for lost in part.faults.values()) for part in (before, table))
    return faults == played and all((before.rows[name] == table.rows[name]).all() for name in RESULTS)
