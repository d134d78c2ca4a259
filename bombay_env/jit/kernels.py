"""How the project compiles: round Numba's `njit` the decorators `kernel` and, for many games, `batch_kernel` and `piece_kernel`.

They compile on a first call and keep the code in `jit/cache.py`'s folder; importing compiles nothing. Knows nothing of the
game; `engine.py` is the next to read.
"""

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from bombay_env.jit.cache import CONFIG, KernelCache, PartCache
from bombay_env.jit.parts import KernelDispatcher
from bombay_env.jit.sources import PACKAGES

# Below this many lanes waking the threads takes longer than they save.
MIN_PARALLEL_LANES = 512

# Numba's workqueue aborts the process when two Python threads enter parallel code at once. An RLock, since a signal handler may
# step games too.
PARALLEL_LOCK = threading.RLock()

# The threads of a parallel kernel do not follow into a forked process, and OpenMP would wait for them forever.
FORKED = False


def note_fork() -> None:
    """Called in a process just forked off this one."""
    global FORKED
    FORKED = True


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=note_fork)


_RECORD_DTYPES: dict[np.dtype[Any], np.dtype[Any]] = {}


def record_dtype(fields: Any) -> np.dtype[Any]:
    """The dtype of records with these fields, anything that NumPy takes for a structured dtype; always the same object.

    A kernel recognises an array by the dtype it has: one that it met before within a microsecond, another with equal fields only
    after comparing them all.
    """
    made = np.dtype((np.record, np.dtype(fields)))
    return _RECORD_DTYPES.setdefault(made, made)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Numba's dispatcher for `function`, with a cache on disk if its sources are known. With the compiler off, `function` itself.

    A division by zero gives what NumPy gives instead of an exception, which spares kernels the test.
    """
    if CONFIG.DISABLE_JIT:
        return function
    options = {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    dispatcher: Any = KernelDispatcher(function, targetoptions=options)
    if function.__module__.partition(".")[0] in PACKAGES and function.__closure__ is None:
        dispatcher._cache, dispatcher.part._cache = KernelCache(function, options), PartCache(function, options)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on its first call with arguments of these types, or load what was compiled by another process."""
    return compiled(function)


def long_kernel(function: Callable[..., Any]) -> Any:
    """`kernel` for work of milliseconds and more, during which other Python threads run."""
    return compiled(function, nogil=True)


def inlined(function: Callable[..., Any]) -> Any:
    """`kernel` for a part of one other kernel, which takes it in whole: told apart for people, a call costs what it saves."""
    return compiled(function, forceinline=True)


def batch_kernel(function: Callable[..., Any], min_lanes: int = MIN_PARALLEL_LANES) -> Any:
    """Compile `function` twice, for one thread and for several, and choose at each call.

    Several threads are for `min_lanes` lanes and more, if Numba may use several and the process is not a fork. One
    Python thread at a time runs a kernel on several; other people's parallel Numba code is not held back.

    Args:
        function: takes arguments by position, first an array with one entry a lane, and runs over chunks of lanes with
            `numba.prange`; lanes are independent, so the choice shows in nothing but the time. Kernels cannot call the result.
        min_lanes: from how many lanes on waking the threads takes less than they save.

    Returns:
        A function with the two in its attributes `sequential` and `parallel`; each is compiled when first called. With the
        compiler off, `function` itself.
    """
    if CONFIG.DISABLE_JIT:
        return function
    sequential, parallel = compiled(function), compiled(function, parallel=True)

    @functools.wraps(function)
    def call(*args: Any) -> Any:  # taken and passed on as one tuple: the shortest way, for calls with few lanes
        if len(args[0]) < min_lanes or FORKED or numba.get_num_threads() == 1:
            return sequential(*args)
        with PARALLEL_LOCK:
            return parallel(*args)

    call.__dict__.update(sequential=sequential, parallel=parallel)
    return call


def piece_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, one piece of a longer work, and have the pieces done by as many Python threads as Numba may use.

    For pieces that take long, such as whole games: threads of Python's own are slow to begin, but the code is compiled once,
    where a loop of Numba's own threads has all that is called in it compiled several times.

    Args:
        function: takes the number of the piece, int64, and further arguments by position; pieces are independent.

    Returns:
        A function that takes how many pieces there are, and the further arguments.
    """
    run = long_kernel(function)

    @functools.wraps(function)
    def call(pieces: int, *args: Any) -> None:
        threads = 1 if CONFIG.DISABLE_JIT else min(pieces, numba.get_num_threads())
        if threads == 1:
            for piece in range(pieces):
                run(piece, *args)
            return
        pool = ThreadPoolExecutor(threads)
        try:
            for done in [pool.submit(run, piece, *args) for piece in range(pieces)]:
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)  # of an exception or Ctrl-C, what has not begun

    return call
