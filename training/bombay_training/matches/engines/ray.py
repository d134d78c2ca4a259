"""Plays chunks and makes training runs on a Ray cluster, or on this machine as a cluster of one (extra `ray`).

The driver alone keeps results, and it alone decides what is played again: Ray's own retries are off. The result of a chunk
depends on the chunk alone, so the cluster changes no result. Nodes need the same version of this project and of the agents.
Ray listens on all addresses of a machine, and whoever reaches it can run code there: use it in a network of your own only.
"""

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self, TypeVar

import numpy as np

from bombay_env.agent import describe_error
from bombay_training.extras import missing_extra
from bombay_training.matches.engines.local import ATTEMPTS, ONE_THREAD
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.play import Here, Job

T = TypeVar("T")

AHEAD: Final = 2  # tasks for each core that are with the cluster at a time


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ray.shutdown()

    def play(self, jobs: Iterable[Job]) -> Iterator[tuple[Lineup, np.ndarray]]:
        """Play chunks; their rows in any order.

        Args:
            jobs: line-ups whose agents are specs, and their chunks.

        Raises:
            RuntimeError: an agent cannot be made, or the process that played a chunk ended each time.
        """
        for (lineup, _), rows in self.map(
            play_chunk, jobs, 1, lambda job: f"games of {', '.join(map(str, job[0].agents))}"
        ):
            yield lineup, rows

    def map(
        self, function: Callable[[T], Any], arguments: Iterable[T], cores: int, name: Callable[[T], str] = str
    ) -> Iterator[tuple[T, Any]]:
        """Call a function of a module once for each argument on the cluster. Each call has so many cores and threads.

        A call whose process ended is made again. `name` of its argument is for the error.

        Yields:
            Each argument with its result, in any order.
        Raises:
            RuntimeError: a call failed, or the process that it ran in ended each time.
            ValueError: no machine of the cluster has so many cores.
        """
        most = max((node["Resources"].get("CPU", 0) for node in self.ray.nodes() if node["Alive"]), default=0)
        if most < cores:
            raise ValueError(f"a call needs {cores} cores, and no machine of the cluster has more than {most:g}")
        threads = {"env_vars": dict.fromkeys(ONE_THREAD, str(cores))}
        task = self.ray.remote(function).options(num_cpus=cores, max_retries=0, runtime_env=threads)
        waiting, running = ((job, 1) for job in arguments), dict[Any, tuple[T, int]]()
        try:
            while True:
                for job, attempt in itertools.islice(waiting, max(0, AHEAD * self.count - len(running))):
                    running[task.remote(job)] = (job, attempt)
                if not running:
                    return
                (done,), _ = self.ray.wait(list(running), num_returns=1)
                job, attempt = running.pop(done)
                try:
                    result = self.ray.get(done)
                except self.ray.exceptions.RayTaskError as error:
                    raise RuntimeError(describe_error(error.cause)) from None
                except self.ray.exceptions.RayError as error:  # the process or its node ended
                    if attempt == ATTEMPTS:
                        raise RuntimeError(
                            f"{name(job)}: the process ended each time: {type(error).__name__}"
                        ) from None
                    running[task.remote(job)] = (job, attempt + 1)
                else:
                    yield job, result
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

_here = Here()  # keeps the agents of the last line-up


def play_chunk(job: Job) -> np.ndarray:
    """Play a chunk in this process."""
    return _here.play_chunk(*job)
