"""Plays the missing games of line-ups: the one way in which games that count are played.

    study → line-ups → chunks → engine → store → matches

The engine plays chunks in any order, in this process or in others (`matches/engines/`); the store keeps their results
(`matches/store.py`), and a chunk that it has is not played again. So a stopped study goes on, and more deals continue it.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from bombay_agents import make
from bombay_env import checks
from bombay_env.agent import Agent, check_plays, name_of
from bombay_training.matches.engines.local import Here as Here  # offered to others
from bombay_training.matches.lineup import Chunk, Lineup, key_of
from bombay_training.matches.match import Match
from bombay_training.matches.store import Store


class Engine(Protocol):
    """Plays chunks. `count`: how many at a time."""

    count: int

    def play(self, jobs: Iterator[tuple[Lineup, Chunk]]) -> Iterator[tuple[Lineup, np.ndarray]]:
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
        ValueError: as `check`.
        KeyboardInterrupt: on Ctrl-C.
    """
    store = Store() if store is None else store
    agents = check(lineups, store, engine)
    known = {lineup: store.known(lineup) for lineup in lineups}
    jobs = [
        (lineup, chunk)
        for lineup in lineups
        for chunk in lineup.chunks([agents[key_of(player)] for player in lineup.players])
        if not known[lineup][chunk.first : chunk.first + chunk.count].all()
    ]
    with contextlib.closing((engine or Here()).play(iter(jobs))) as played:  # type: ignore[type-var]
        for lineup, rows in played:
            store.add(lineup, rows)
            if progress:
                progress(int((~known[lineup][rows["game"][:, 0]]).sum()))
    matches = [store.match(lineup) for lineup in lineups]
    return [match for match in matches if match is not None]


def check(lineups: Sequence[Lineup], store: Store, engine: Engine | None = None) -> dict[Any, Agent]:
    """Make each player of the line-ups once, by its key.

    Raises:
        ValueError: a spec is invalid, an agent cannot play a game, as a net cannot that learned by other rules, or the store has
            games of these line-ups that were played with something else.
    """
    agents: dict[Any, Agent] = {}
    for lineup in lineups:
        if not isinstance(engine, Here | None):
            _check_specs(lineup)
        for player in lineup.players:
            key = key_of(player)
            if key not in agents:
                agents[key] = make(player) if isinstance(player, str) else player
            check_plays(agents[key], lineup.game)
    clocked = any(getattr(agent, "ms", None) is not None for agent in agents.values())
    turn_limit = getattr(engine, "turn_limit", None)
    store.check(lineups, turn_limit, (engine.count if engine else 1) if clocked else None)
    return agents


def _check_specs(lineup: Lineup) -> None:
    objects = [name_of(player) for player in lineup.players if not isinstance(player, str)]
    if objects:
        raise ValueError(
            f"agent {checks.shown(objects[0])} is an object; to play in other processes it must be given by a spec"
        )
