"""Plays chunks on a Ray cluster, or on this machine as a cluster of one (extra `ray`).

The driver alone keeps results, and it alone decides what is played again: Ray's own retries are off. The result of a chunk
depends on the chunk alone, so the cluster changes no result. Nodes need the same version of this project and of the agents.
Ray listens on all addresses of a machine, and whoever reaches it can run code there: use it in a network of your own only.
"""

import dataclasses
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self

from bombay_env.agent import describe_error
from bombay_training.extras import missing_extra
from bombay_training.matches.cells import Cell, Chunk
from bombay_training.matches.engines.local import ATTEMPTS, ONE_THREAD, Here, Job
from bombay_training.matches.play import Played

AHEAD: Final = 2  # chunks for each core that are with the cluster at a time


class RayEngine:
    """A connection to a cluster. Use it in a `with`, which ends it.

    Args:
        address: of the cluster, such as `auto` or `ray://10.0.0.1:10001`; None starts one on this machine.
        processes: how many chunks are played at a time, on this machine only; None for one a core.

    Raises:
        ValueError: the extra `ray` is missing, or the cluster cannot be reached.
    """

    def __init__(self, address: str | None = None, processes: int | None = None) -> None:
        self.ray = import_ray()
        variables = dict.fromkeys(ONE_THREAD, "1")
        options: dict[str, Any] = {"address": address}
        if address is None:
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # the user's own agents
            options = {"num_cpus": processes, "include_dashboard": False}
        try:
            self.ray.init(log_to_driver=False, logging_level="error", runtime_env={"env_vars": variables}, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ValueError(f"the Ray cluster {address or 'here'} cannot be used: {describe_error(error)}") from None
        self.count = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        self.task = self.ray.remote(play_chunk).options(num_cpus=1, max_retries=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ray.shutdown()

    def play(self, jobs: Iterable[Job], progress: Callable[[float], None]) -> Iterator[tuple[Cell, Played]]:
        """Play chunks; their results in any order.

        Args:
            jobs: cells whose agents are specs, and their chunks.
            progress: called with the number of games of each chunk that has been played.

        Raises:
            RuntimeError: an agent cannot be made, or the process that played a chunk ended each time.
        """
        waiting, running = iter(jobs), dict[Any, Job]()
        cells = dict[str, Any]()  # by id, those that the cluster knows
        try:
            while True:
                for cell, chunk in itertools.islice(waiting, max(0, AHEAD * self.count - len(running))):
                    if cell.id not in cells:
                        cells[cell.id] = self.ray.put(cell)
                    running[self.task.remote(cells[cell.id], chunk)] = (cell, chunk)
                if not running:
                    return
                (done,), _ = self.ray.wait(list(running), num_returns=1)
                cell, chunk = running.pop(done)
                try:
                    played = self.ray.get(done)
                except self.ray.exceptions.RayTaskError as error:
                    raise RuntimeError(describe_error(error.cause)) from None
                except self.ray.exceptions.RayError as error:  # the process or its node ended
                    again = dataclasses.replace(chunk, attempts=chunk.attempts + 1)
                    if again.attempts == ATTEMPTS:
                        lineup = ", ".join(map(str, cell.lineup))
                        raise RuntimeError(
                            f"games of {lineup} end the process that plays them: {type(error).__name__}"
                        ) from None
                    waiting = itertools.chain([(cell, again)], waiting)
                else:
                    progress(chunk.count)
                    yield cell, played
        finally:
            for reference in running:
                self.ray.cancel(reference, force=True)


def import_ray() -> Any:
    """Ray. Raises ValueError if it is not installed."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray
    except ImportError as error:
        raise ValueError(missing_extra("--engine ray", "ray", error)) from None
    return ray


# --- in a process of the cluster ---

_here = Here()  # keeps the agents of the last cell


def play_chunk(cell: Cell, chunk: Chunk) -> Played:
    """Play a chunk in this process."""
    if _here.cell is not None and _here.cell.id == cell.id:
        cell = _here.cell
    ((_, played),) = _here.play([(cell, chunk)], lambda games: None)
    return played
