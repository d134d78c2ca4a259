"""Plays the missing games of line-ups: the one way in which games that count are played.

    study → line-ups → chunks → engine → store → matches

The engine plays chunks in any order, in this process or in others (`matches/engines/`); the store keeps their results
(`matches/store.py`), and a chunk that it has is not played again. So a stopped study goes on, and more deals continue it.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from bombay_agents import make
from bombay_env import checks
from bombay_env.agent import Agent, check_plays, name_of
from bombay_training.matches.lineup import Lineup, key_of
from bombay_training.matches.match import Match
from bombay_training.matches.play import Here, Job
from bombay_training.matches.store import Store


class Engine(Protocol):
    """Plays chunks. `count`: how many at a time."""

    count: int

    def play(self, jobs: Iterable[Job]) -> Iterator[tuple[Lineup, np.ndarray]]:
        """Play chunks of line-ups; yields their rows in any order."""


def run(
    lineups: Sequence[Lineup],
    store: Store | None = None,
    engine: Engine | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[Match]:
    """Play the games of line-ups that the store does not have.

    An agent that raises or answers with anything but a legal action loses that game: see `Match`.

    Args:
        lineups: what to play.
        store: keeps the results; a new one in memory unless given. It also has what was played when this is stopped.
        engine: plays the games; None for this process. Other processes need agents that are specs.
        progress: called with the number of games played since the last call.

    Returns:
        The match of each line-up.

    Raises:
        ValueError: as `missing`.
        KeyboardInterrupt: on Ctrl-C.
    """
    store, engine = Store() if store is None else store, engine or Here()
    play_missing(missing(lineups, store, engine), store, engine, progress)
    return [match for lineup in lineups if (match := store.match(lineup))]


def missing(lineups: Sequence[Lineup], store: Store, engine: Engine) -> list[Job]:
    """The chunks of line-ups with games that the store does not have, after a check that all can be played.

    Raises:
        ValueError: a spec is invalid, an agent cannot play a game, such as a net that learned other rules, or the store has
            games of these line-ups that were played with something else.
    """
    agents, jobs = dict[Any, Agent](), list[Job]()
    for lineup in lineups:
        for player in lineup.players:
            if not isinstance(player, str) and not isinstance(engine, Here):
                name = checks.shown(name_of(player))
                raise ValueError(f"agent {name} is an object; to play in other processes it must be given by a spec")
            key = key_of(player)
            if key not in agents:
                agents[key] = make(player) if isinstance(player, str) else player
            check_plays(agents[key], lineup.game)
        known = store.known(lineup)
        chunks = lineup.chunks([agents[key_of(player)] for player in lineup.players])
        jobs += [(lineup, chunk) for chunk in chunks if not known[chunk.first : chunk.first + chunk.count].all()]
    clocked = any(getattr(agent, "ms", None) is not None for agent in agents.values())
    store.check(lineups, getattr(engine, "turn_limit", None), engine.count if clocked else None)
    return jobs


def play_missing(
    jobs: Sequence[Job], store: Store, engine: Engine, progress: Callable[[float], None] | None = None
) -> None:
    """Play chunks into the store, as `run` does."""
    known = {lineup: store.known(lineup) for lineup in {lineup for lineup, _ in jobs}}
    with contextlib.closing(engine.play(jobs)) as played:  # type: ignore[type-var]
        for lineup, rows in played:
            store.add(lineup, rows)
            if progress:
                progress(int((~known[lineup][rows["game"][:, 0]]).sum()))
