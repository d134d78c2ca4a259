"""What people are told while kernels are compiled.

One line on stderr, at most once in a process, and only once compiling has taken `PATIENCE` seconds: a few kernels that were not
yet compiled are not worth a line. A command that shows a progress bar listens instead. `jit/parts.py` is the next to read.
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

PATIENCE: Final = 2.0  # seconds

COMPILING: Final = "bombay_env: compiling kernels for this machine, which takes up to a minute, "
ONCE: Final = "but only the first time; `bombay warm-up` compiles all of them\n"
EACH_TIME: Final = "in each process again, because there is no cache folder of your own to write to\n"


class Notice:
    """Counts the time that compiling takes in this process, and tells people.

    Attributes:
        listener: called with the name of each kernel, and of each function it calls, that is about to be compiled; None unless a
            command shows them.
        patience: seconds of compiling before the line is written.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.listener: Callable[[str], None] | None = None
        self.patience = patience
        self._told = False
        self._spent = 0.0  # seconds of compiling in calls that are over
        self._began: float | None = None  # when the present call began
        self._compiles = False  # whether it compiles or only loads

    @contextlib.contextmanager
    def first_call(self) -> Iterator[None]:
        """Around the first call of a kernel with arguments of some types, which compiles or loads."""
        if self._began is not None:  # a call within a call, or another thread's
            yield
            return
        self._began, self._compiles = time.monotonic(), False
        try:
            yield
        finally:
            if self._compiles:
                self._spent += time.monotonic() - self._began
            self._began = None

    def compiling(self, name: str, kept: bool) -> None:
        """The function `name` is about to be compiled; `kept` if other processes will find it."""
        self._compiles = True
        if self.listener is not None:
            self.listener(name)
            return
        spent = self._spent + (0.0 if self._began is None else time.monotonic() - self._began)
        if spent >= self.patience and not self._told:
            self._told = True
            with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or one that is closed
                sys.stderr.write(COMPILING + (ONCE if kept else EACH_TIME))


NOTICE: Final = Notice()
