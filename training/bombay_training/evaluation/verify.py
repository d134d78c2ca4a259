"""Verifies published games: plays a sample of a store's games again and compares the results bit for bit.

Intervals would be no test: a fresh estimate leaves a published interval in 17 % of cases although nothing is wrong.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from bombay_agents import make
from bombay_env.checks import shown_path
from bombay_training.matches.lineup import Chunk
from bombay_training.matches.match import Match
from bombay_training.matches.play import Here
from bombay_training.matches.provenance import read_provenance, revision, write_provenance
from bombay_training.matches.run import Engine
from bombay_training.matches.store import digest, read_matches
from bombay_training.matches.table import RESULTS

GAMES: Final = 200


@dataclasses.dataclass(frozen=True)
class Verification:
    """What a verification found.

    Args:
        games: how many were played again.
        differences: what is not as it is in the store, a line each; none if all is.
        left_out: agents that think by the clock and need not repeat themselves; their games are not played again.
        revision: of the project that played the games, or the last one that was found to play them alike.
        digest: of all results in the store.
    """

    games: int
    differences: list[str]
    left_out: list[str]
    revision: str
    digest: str


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
    specs = {spec for match in found for spec in match.agents}
    clocked = sorted(spec for spec in specs if getattr(make(spec), "ms", None) is not None)
    kept = [match for match in found if not set(match.agents) & set(clocked)]
    if not kept:
        raise ValueError(f"{shown_path(folder)} has no games to play again")
    sample = _sample([match.num_games for match in kept], games, np.random.default_rng(seed))
    provenance = read_provenance(folder)
    differences = [f"{spec} has changed since its games" for spec in provenance.changed()]
    for match, game in _unequal(kept, sample, engine or Here(), progress or (lambda games: None)):
        names, players = ", ".join(match.lineup), match.game.num_players
        differences.append(f"game {game} of {names} with {players} players has another result")
    if accept and not differences and revision() not in provenance.revisions:
        provenance = provenance.model_copy(update={"revisions": [*provenance.revisions, revision()]})
        write_provenance(folder, provenance)
    return Verification(len(sample), differences, clocked, provenance.revisions[-1], digest(found))


def _sample(sizes: list[int], games: int, rng: np.random.Generator) -> np.ndarray:
    """Groups and games in them, (games, 2) in ascending order, of groups of these sizes: first one of each, in random order."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    begins = np.cumsum([0, *sizes[:-1]])
    order = rng.permutation([begin + rng.integers(size) for begin, size in zip(begins, sizes, strict=True)])
    rest = rng.permutation(np.setdiff1d(np.arange(len(groups)), order))
    chosen = np.sort(np.concatenate([order, rest])[:games])
    return np.column_stack([groups[chosen], chosen - begins[groups[chosen]]])


def _unequal(
    matches: list[Match], sample: np.ndarray, engine: Engine, progress: Callable[[float], None]
) -> Iterator[tuple[Match, int]]:
    """The games with other results. Where a game alone differs, its chunk is played whole: an agent may draw by the chunk."""
    by_id = {match.plan.id: match for match in matches}
    chunks = {key: match.plan.chunks([make(str(one)) for one in match.plan.players]) for key, match in by_id.items()}

    def differing(jobs: dict[tuple[str, int], Chunk], progress: Callable[[float], None]) -> list[tuple[str, int]]:
        found = []
        for lineup, rows in engine.play((by_id[key].plan, chunk) for (key, _), chunk in jobs.items()):
            progress(len(rows))
            if not _equal(by_id[lineup.id], rows):
                found.append((lineup.id, int(rows["game"][0, 0])))
        return sorted(found)

    games = [(matches[group].plan.id, int(game)) for group, game in sample]
    whole = {(key, game): chunks[key][game // chunks[key][0].count] for key, game in games}
    suspects = differing({one: Chunk(one[1], 1, chunk.key) for one, chunk in whole.items()}, progress)
    again = differing({(key, whole[key, game].first): whole[key, game] for key, game in suspects}, lambda games: None)
    return ((by_id[key], game) for key, game in suspects if (key, whole[key, game].first) in again)


def _equal(match: Match, rows: np.ndarray) -> bool:
    """Whether games have the results of the match, faults included. Those of deals that are not complete are not compared."""
    rows = rows[rows["game"][:, 0] < match.num_games]
    before = match.rows[rows["game"][:, 0]]
    return all(bool((before[name] == rows[name]).all()) for name in RESULTS)
