"""The decorators that compile functions with Numba: `kernel` and, for many games at once, `batch_kernel` and `piece_kernel`.

A function is compiled when it is first called, and its code is kept on disk (`cache.py`). Importing compiles nothing. This module
knows nothing about the game. Read `engine.py` next.
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

# With fewer lanes, starting the threads takes longer than they save.
MIN_PARALLEL_LANES = 512

# Numba's workqueue aborts the process if two Python threads run parallel code at the same time. An RLock, because a signal
# handler may also step games.
PARALLEL_LOCK = threading.RLock()

# A forked process does not have the threads of parallel kernels, and OpenMP would wait for them forever.
FORKED = False


def note_fork() -> None:
    """Runs in every process that is forked from this one."""
    global FORKED
    FORKED = True


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=note_fork)


_RECORD_DTYPES: dict[np.dtype[Any], np.dtype[Any]] = {}


def record_dtype(fields: Any) -> np.dtype[Any]:
    """The dtype of records with these fields, in any form that NumPy accepts. Equal fields always give the same object.

    A kernel recognises an array by its dtype: within a microsecond if it has seen this object before, and only after comparing
    all fields if it is an equal object.
    """
    made = np.dtype((np.record, np.dtype(fields)))
    return _RECORD_DTYPES.setdefault(made, made)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """Numba's dispatcher for `function`, with a cache on disk if its sources are known. With the compiler off, `function` itself.

    A division by zero gives the same result as in NumPy instead of an exception, so kernels need not test for it.
    """
    if CONFIG.DISABLE_JIT:
        return function
    options = {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    dispatcher: Any = KernelDispatcher(function, targetoptions=options)
    if function.__module__.partition(".")[0] in PACKAGES and function.__closure__ is None:
        dispatcher._cache, dispatcher.part._cache = KernelCache(function, options), PartCache(function, options)
    return dispatcher


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` on its first call with arguments of some types, or load the code that another process compiled."""
    return compiled(function)


def long_kernel(function: Callable[..., Any]) -> Any:
    """`kernel` for work that takes milliseconds or more; other Python threads run meanwhile."""
    return compiled(function, nogil=True)


def inlined(function: Callable[..., Any]) -> Any:
    """`kernel` for a part of one other kernel that is a function only for readability: the compiler inlines it."""
    return compiled(function, forceinline=True)


def batch_kernel(function: Callable[..., Any], min_lanes: int = MIN_PARALLEL_LANES) -> Any:
    """Compile `function` twice, for one thread and for several, and choose between the two at each call.

    Several threads are used for at least `min_lanes` lanes, if Numba may use several and the process is not a fork. Only one
    Python thread at a time runs a parallel kernel of ours; parallel Numba code of other libraries is not affected.

    Args:
        function: takes arguments by position, the first of which is an array with one entry for each lane, and loops over chunks
            of lanes with `numba.prange`. Lanes are independent, so the choice affects only the time. Kernels cannot call the
            result.
        min_lanes: the number of lanes from which the threads save more time than starting them takes.

    Returns:
        A function whose attributes `sequential` and `parallel` are the two kernels; each is compiled on its first call. With the
        compiler off, `function` itself.
    """
    if CONFIG.DISABLE_JIT:
        return function
    sequential, parallel = compiled(function), compiled(function, parallel=True)

    @functools.wraps(function)
    def call(*args: Any) -> Any:  # one tuple is the fastest way to pass arguments on, which matters with few lanes
        if len(args[0]) < min_lanes or FORKED or numba.get_num_threads() == 1:
            return sequential(*args)
        with PARALLEL_LOCK:
            return parallel(*args)

    call.__dict__.update(sequential=sequential, parallel=parallel)
    return call


def piece_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, which does one piece of some work, and let as many Python threads as Numba may use do the pieces.

    It is for pieces that take long, such as whole games. Python's threads start slowly, but the code is compiled once, whereas a
    parallel loop of Numba compiles everything that it calls several times.

    Args:
        function: takes the number of the piece, int64, and further arguments by position; pieces are independent.

    Returns:
        A function that takes the number of pieces and the further arguments.
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
            pool.shutdown(cancel_futures=True)  # after an exception or Ctrl-C, pieces that have not started are dropped

    return call
