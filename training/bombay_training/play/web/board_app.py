"""What the page of `bombay board draw` asks for: trails between sites, other places for sites, undo, and saving.

It writes one file, the one named on the command line.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bombay_env import checks
from bombay_env.board import BoardError
from bombay_training.play import drawing
from bombay_training.play.draft import Draft
from bombay_training.play.session import OutdatedError, SessionError
from bombay_training.play.web.guard import Guard, Refusal, parse
from bombay_training.play.web.server import application

MAX_UNDO: Final = 1000
MOST: Final = 1e6  # a coordinate


class BoardApp:
    """A draft that is edited in the page.

    Args:
        path: its file.

    Raises:
        BoardError: the file cannot be read as a draft.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.draft = Draft.read(path)
        self.version = 0
        self._frame = drawing.frame(self.draft)
        self._saved, self._on_disk = self.draft, path.read_bytes()
        self._before: list[Draft] = []

    def application(self, token: str, hosts: Any) -> Guard:
        """The application, behind the guard."""
        changes: dict[str, tuple[Callable[[dict[str, Any]], None], tuple[str, ...]]] = {
            "trail": (self._toggle, ("from", "to")),
            "move": (self._move, ("site", "x", "y")),
            "undo": (self._undo, ()),
            "save": (self._save, ()),
        }
        routes = [Route("/api/state", self._state)]
        for name, (change, keys) in changes.items():
            routes.append(Route(f"/api/{name}", self._changing(change, ("version", *keys)), methods=["POST"]))
        return application(routes, token, hosts)

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self._message())

    def _changing(self, change: Callable[[dict[str, Any]], None], keys: tuple[str, ...]) -> Any:
        async def handler(request: Request) -> Response:
            data = parse(await request.body(), keys)
            if not checks.is_whole_number(data["version"], 0) or data["version"] != self.version:
                raise OutdatedError("the board was changed in another tab or window; nothing was changed now")
            try:
                change(data)
            except BoardError as error:
                raise SessionError(str(error)) from None
            return JSONResponse(self._message())

        return handler

    def _message(self) -> dict[str, Any]:
        draft = self.draft
        return {
            "mode": "board",
            "version": self.version,
            "svg": drawing.draw(draft, self._frame),
            "headline": f"Draw the trails of {draft.name}",
            "when": str(self.path),
            "sites": {site.name: site.kind.label for site in draft.sites},
            "trails": [list(trail) for trail in draft.trails],
            "problem": draft.problem(),
            "saved": draft == self._saved,
            "command": f"bombay play --board {shlex.quote(str(self.path))} human planner-v1",
            "legend": drawing.legend(),
            "can_undo": bool(self._before),
        }

    def _change(self, draft: Draft) -> None:
        self._before = [*self._before, self.draft][-MAX_UNDO:]
        self.draft = draft
        self.version += 1

    def _toggle(self, data: dict[str, Any]) -> None:
        if not all(isinstance(data[end], str) for end in ("from", "to")):
            raise Refusal(400, "from and to must be names of sites")
        self._change(self.draft.toggled(data["from"], data["to"]))

    def _move(self, data: dict[str, Any]) -> None:
        numbers = (data["x"], data["y"])
        good = all(isinstance(n, (int, float)) and not isinstance(n, bool) and -MOST <= n <= MOST for n in numbers)
        if not good or not isinstance(data["site"], str):
            raise Refusal(400, "site must be the name of a site, x and y numbers")
        self._change(self.draft.moved(data["site"], *self._frame.read(*numbers)))

    def _undo(self, data: dict[str, Any]) -> None:
        if not self._before:
            raise SessionError("there is nothing to undo")
        self.draft = self._before.pop()
        self.version += 1

    def _save(self, data: dict[str, Any]) -> None:
        try:
            if self.path.read_bytes() != self._on_disk:
                raise SessionError(f"{self.path} was changed by another program; it is as that program left it")
            self.draft.write(self.path)
        except OSError as error:
            raise SessionError(f"{self.path} cannot be written: {error.strerror or error}") from None
        self._saved, self._on_disk = self.draft, self.draft.to_toml().encode()
        self.version += 1
