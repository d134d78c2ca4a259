"""The decorators that compile functions with Numba: `kernel` and, for many games at once, `batch_kernel` and `piece_kernel`.

A function is compiled when it is first called, and its code is kept on disk (`cache.py`). Importing compiles nothing. This module
does not depend on the game. `cache.py` and `parts.py` use private parts of Numba, which differ between versions: they were
tested with those that `pyproject.toml` allows. Read `engine.py` next.
"""

import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from bombay_env.jit import cache
from bombay_env.jit.parts import KernelDispatcher

CONFIG: Any = numba.config  # its settings are made at run time, so type checkers do not know them


def obstacle() -> str:
    """Why compiled code cannot be kept; empty if it can."""
    return "NUMBA_DISABLE_JIT is set" if CONFIG.DISABLE_JIT else cache.obstacle()


# With fewer lanes, starting the threads takes longer than they save.
MIN_PARALLEL_LANES = 512

# Numba's workqueue aborts the process if two Python threads run parallel code at the same time. An RLock, because a signal
# handler may also step games.
PARALLEL_LOCK = threading.RLock()

# A forked process does not have the threads of parallel kernels, and OpenMP would wait for them forever.
PROCESS = os.getpid()

_RECORD_DTYPES: dict[np.dtype[Any], np.dtype[Any]] = {}


def record_dtype(fields: Any) -> np.dtype[Any]:
    """The dtype of records with these fields, in any form that NumPy accepts. Equal fields always give the same object.

    A kernel recognises an array by its dtype: within a microsecond if it has seen this object before, and only after comparing
    all fields if it is an equal object.
    """
    made = np.dtype((np.record, np.dtype(fields)))
    return _RECORD_DTYPES.setdefault(made, made)


def kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Compile `function` on its first call with arguments of some types, or load the code that another process compiled.

    A division by zero gives the same result as in NumPy instead of an exception, so kernels need not test for it. With the
    compiler off, this is `function` itself. Only code of our own sources is kept, and none of a closure, because it depends on
    the values that the function closes over.

    Args:
        function: the kernel in plain Python.
        options: further options of Numba.
    """
    if CONFIG.DISABLE_JIT:
        return function
    options = {"nopython": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    dispatcher = KernelDispatcher(function, targetoptions=options)
    if cache.package_of(function) in cache.PACKAGES and function.__closure__ is None:
        dispatcher._cache = cache.KernelCache(function, options)
    return dispatcher


# `kernel` for work that takes milliseconds or more; other Python threads run meanwhile.
long_kernel = functools.partial(kernel, nogil=True)
# `kernel` for a part of one other kernel that is a function only for readability.
inlined = functools.partial(kernel, forceinline=True)


def batch_kernel(function: Callable[..., Any], min_lanes: int = MIN_PARALLEL_LANES) -> Any:
    """Compile `function` twice, for one thread and for several, and choose between the two at each call.

    Several threads are used for at least `min_lanes` lanes, if Numba may use several and the process is not a fork. Only one
    Python thread at a time runs a parallel kernel of ours; parallel Numba code of other libraries is not affected.

    Args:
        function: takes arguments by position, the first of which is an array with one entry for each lane, and loops over chunks
            of lanes with `numba.prange`. Lanes are independent, so the choice affects only the time.
        min_lanes: the number of lanes from which the threads save more time than starting them takes.

    Returns:
        A function, not for other kernels, whose attributes `sequential` and `parallel` are the two kernels.
    """
    if CONFIG.DISABLE_JIT:
        return function
    sequential, parallel = kernel(function), kernel(function, parallel=True)

    @functools.wraps(function)
    def call(*args: Any) -> Any:  # one tuple is the fastest way to pass arguments on, which matters with few lanes
        if len(args[0]) < min_lanes or numba.get_num_threads() == 1 or os.getpid() != PROCESS:
            return sequential(*args)
        with PARALLEL_LOCK:
            return parallel(*args)

    call.__dict__.update(sequential=sequential, parallel=parallel)
    return call


def piece_kernel(function: Callable[..., Any]) -> Any:
    """Compile `function`, which does one piece of some work, and let as many Python threads as Numba may use do the pieces.

    It is for pieces that take long, such as whole games. Python's threads start slowly, but the code is compiled once, whereas a
    parallel loop of Numba compiles everything that it calls several times.

    `function` takes the number of the piece, int64, and further arguments by position; the result takes the number of pieces.
    """
    run = long_kernel(function)

    @functools.wraps(function)
    def call(pieces: int, *args: Any) -> None:
        with ThreadPoolExecutor(min(pieces, numba.get_num_threads())) as pool:
            for _ in pool.map(lambda piece: run(piece, *args), range(pieces)):
                pass  # after an exception or Ctrl-C, `map` drops the pieces that have not started

    return call
