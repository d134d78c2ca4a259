"""One thread beside the server's own, in which agents and advisers think, one after the other."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from bombay_env.agent import describe_error

T = TypeVar("T")
STOP_SECONDS: Final = 2.0


class Worker:
    """A thread that runs functions in the order in which they come.

    It does not keep the program alive: an agent that thinks for a minute does not hold up Ctrl-C.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    async def run(self, function: Callable[[], T]) -> T:
        """The result of `function`, called in the thread, or what it raises."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((function, asyncio.get_running_loop(), future))
        return await future

    def stop(self) -> bool:
        """End the thread once it is idle. Returns whether it ended within `STOP_SECONDS`."""
        self._jobs.put(None)
        self._thread.join(STOP_SECONDS)
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while job := self._jobs.get():
            function, loop, future = job
            try:
                result, error = function(), None
            except Exception as raised:
                result, error = None, raised
            except BaseException as raised:  # Ctrl-C reaches the main thread only, so this is none
                result, error = None, RuntimeError(describe_error(raised))
            with suppress(RuntimeError):  # the server's loop has ended
                loop.call_soon_threadsafe(_settle, future, result, error)


def _settle(future: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if future.done():  # cancelled
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
