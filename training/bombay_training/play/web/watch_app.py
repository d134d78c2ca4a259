"""What the page of `bombay watch` asks for: any game in a file of records, as a film and as a file of its own."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bombay_env.record import Record, RecordError
from bombay_training.play.web.film import film, page
from bombay_training.play.web.guard import Guard, Refusal
from bombay_training.play.web.server import application
from bombay_training.play.web.worker import Worker

FILE_HEADERS = {"content-disposition": 'attachment; filename="bombay-game.html"'}


class WatchApp:
    """The games of a file.

    Args:
        records: at least one; each is replayed when it is first shown.
        worker: where games are replayed and valued.
        game: index of the one shown first.

    Raises:
        RecordError: that record breaks the rules.
    """

    def __init__(self, records: list[Record], worker: Worker, game: int = 0) -> None:
        records[game].verify()
        self.records, self.worker, self.first = records, worker, game
        self._films: dict[int, dict[str, Any]] = {}

    def application(self, token: str, hosts: Any) -> Guard:
        """The application, behind the guard."""
        return application([Route("/api/state", self._state), Route("/api/page", self._page)], token, hosts)

    async def _state(self, request: Request) -> Response:
        game = self._game(request)
        return JSONResponse({"game": game, "games": len(self.records), **await self._film(game)})

    async def _page(self, request: Request) -> Response:
        return Response(page(await self._film(self._game(request))), headers=FILE_HEADERS, media_type="text/html")

    async def _film(self, game: int) -> dict[str, Any]:
        if game not in self._films:
            try:
                self._films = {game: await self.worker.run(lambda: film(self.records[game]))}
            except RecordError as error:
                raise Refusal(409, f"game {game + 1}: {error}") from None
        return self._films[game]

    def _game(self, request: Request) -> int:
        text, most = request.query_params.get("game", str(self.first)), len(self.records) - 1
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
            raise Refusal(400, f"game must be a whole number from 0 to {most}")
        return int(text)
