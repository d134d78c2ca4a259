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
from bombay_training.matches.play import Played
from bombay_training.matches.provenance import read_provenance, revision, write_provenance
from bombay_training.matches.results import Match
from bombay_training.matches.run import Engine, Here
from bombay_training.matches.store import COMPARED, digest, read_store

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
    found = read_store(folder)
    clocked = sorted(filter(_by_the_clock, {str(player) for cell, _ in found for player in cell.players}))
    kept = [(cell, match) for cell, match in found if not set(map(str, cell.players)) & set(clocked)]
    total = sum(match.num_games for _, match in kept)
    if not total:
        raise ValueError(f"{shown_path(folder)} has no games to play again")
    chosen = _sample([match.num_games for _, match in kept], games, np.random.default_rng(seed))
    provenance = read_provenance(folder)
    differences = [f"{spec} has changed since its games" for spec in provenance.changed()]
    jobs, begin = [], 0
    for cell, match in kept:
        mine = chosen[(begin <= chosen) & (chosen < begin + match.num_games)] - begin
        begin += match.num_games
        if mine.size:
            size = cell.chunk_size([make(str(player)) for player in cell.players])
            jobs += [(cell, Chunk(int(game), 1, (int(game) // size,))) for game in mine]
    matches = {cell.id: match for cell, match in kept}
    for cell, game in _unequal(jobs, matches, engine or Here(), progress or (lambda games: None)):
        lineup = ", ".join(map(str, cell.lineup))
        differences.append(f"game {game} of {lineup} with {cell.game.num_players} players has another result")
    if accept and not differences and revision() not in provenance.revisions:
        revisions = [*provenance.revisions, revision()]
        write_provenance(folder, provenance.model_copy(update={"revisions": revisions}))
    played_by = read_provenance(folder).revisions[-1]
    return Verification(len(chosen), tuple(differences), tuple(clocked), played_by, digest(match for _, match in found))


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
        (cell, played.first)
        for cell, played in engine.play(iter(jobs), progress)
        if not _equal(matches[cell.id], played)
    ]
    found = []
    for cell, game in sorted(suspects, key=lambda suspect: (suspect[0].id, suspect[1])):
        size = cell.chunk_size([make(str(player)) for player in cell.players])
        first = game // size * size
        whole = Chunk(first, min(size, cell.num_games - first), (game // size,))
        for _, played in engine.play(iter([(cell, whole)]), lambda games: None):
            if not _equal(matches[cell.id], played):
                found.append((cell, game))
    return found


def _equal(match: Match, played: Played) -> bool:
    """Whether games have the results of the match, faults included."""
    games = slice(played.first, played.first + len(played.final))
    faults = [(lost.game, lost.seat) for lost in match.faults if games.start <= lost.game < games.stop]
    return faults == [(lost.game, lost.seat) for lost in played.lost] and all(
        np.array_equal(getattr(match, name)[games], getattr(played, name)) for name in COMPARED
    )
