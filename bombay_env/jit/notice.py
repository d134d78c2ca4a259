"""What users are told while kernels are compiled.

One line on stderr, at most once in a process, and only after `PATIENCE` seconds of compiling, because a few missing kernels are
not worth a line. A command with a progress bar registers a listener instead. Read `parts.py` next.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

PATIENCE: Final = 2.0  # seconds

COMPILING: Final = "bombay_env: compiling kernels for this machine, which takes up to a minute, "
ONCE: Final = "but only the first time; `bombay warm-up` compiles all of them\n"
EACH_TIME: Final = "in each process again, because compiled code cannot be kept: "


class Notice:
    """Measures how long this process compiles, and tells the user.

    Attributes:
        listener: called with the name of each kernel that is about to be compiled, and of each function that it calls; None
            unless a command shows them.
        patience: seconds of compiling before the line is written.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.listener: Callable[[str], None] | None = None
        self.patience = patience
        self._told = False
        self._spent = 0.0  # seconds of compiling in earlier calls
        self._began: float | None = None  # when the current call started
        self._compiles = False  # whether the current call compiles, or only loads

    @contextlib.contextmanager
    def first_call(self) -> Iterator[None]:
        """Context of the first call of a kernel with arguments of some types, which compiles or loads its code."""
        if self._began is not None:  # a nested call, or a call in another thread
            yield
            return
        self._began, self._compiles = time.monotonic(), False
        try:
            yield
        finally:
            if self._compiles:
                self._spent += time.monotonic() - self._began
            self._began = None

    def compiling(self, name: str, obstacle: str = "") -> None:
        """Note that the function `name` is about to be compiled, and why its code cannot be kept for other processes, if so."""
        self._compiles = True
        if self.listener is not None:
            self.listener(name)
            return
        spent = self._spent + (0.0 if self._began is None else time.monotonic() - self._began)
        if spent >= self.patience and not self._told:
            self._told = True
            with contextlib.suppress(AttributeError, OSError, ValueError):  # there is no stderr, or it is closed
                sys.stderr.write(COMPILING + (f"{EACH_TIME}{obstacle}\n" if obstacle else ONCE))


NOTICE: Final = Notice()
