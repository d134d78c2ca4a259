"""Server-sent events: open pages are told the version of what they show whenever it has changed."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

REPEAT_SECONDS: Final = 15.0  # both ends find out that a connection is lost, for example after a sleep
RETRY: Final = "retry: 1000\n\n"  # milliseconds until a browser connects again


class Events:
    """The streams of one application. Used in the server's thread only.

    Args:
        version: what a stream tells at its start and after each change.
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._changed = asyncio.Event()
        self._ended = False

    def tell(self) -> None:
        """Send the version to all open streams."""
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """End all streams, and each new one at once."""
        self._ended = True
        self.tell()

    async def serve(self, request: Request) -> Response:
        """A stream until the page leaves or `end` is called."""
        return StreamingResponse(self._stream(), media_type="text/event-stream")

    async def _stream(self) -> AsyncIterator[str]:
        yield RETRY
        while not self._ended:
            changed = self._changed
            yield f"data: {self._version()}\n\n"
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), REPEAT_SECONDS)
