"""What the page of `bombay play` asks for: the position, actions, undo, hints, the record, a new game."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import bombay_agents
from bombay_env import Game, checks
from bombay_env.agent import AgentFault, describe_error
from bombay_env.files import forms
from bombay_training.play import messages
from bombay_training.play.hints import Adviser, adviser_of, hints, make_adviser
from bombay_training.play.seats import SAFE_AGENTS, make_seat
from bombay_training.play.session import HUMAN, OutdatedError, Session, SessionError
from bombay_training.play.values import shares_now
from bombay_training.play.web.events import Events
from bombay_training.play.web.film import DEFAULT_VALUER, film, page
from bombay_training.play.web.guard import Guard, Refusal, parse
from bombay_training.play.web.lessons import explained, lessons
from bombay_training.play.web.lobby import Lobby, Settings
from bombay_training.play.web.server import application
from bombay_training.play.web.watch_app import FILE_HEADERS
from bombay_training.play.web.worker import Worker

SUBSTITUTES: Final = (HUMAN, *SAFE_AGENTS)  # for an agent that failed


class PlayApp:
    """One table: a game, and after it the next one.

    All changes happen in the server's thread. Agents and the adviser think in the worker's, on copies; what they find for a
    position that has changed since is dropped.

    Args:
        session: the first game.
        worker: where agents think.
        adviser: spec of the agent that gives hints; None for `adviser_of` each game.
        pause: seconds that an agent's action stays visible before the next one.
        game_of: as for `Lobby`.
    """

    def __init__(
        self,
        session: Session,
        worker: Worker,
        adviser: str | None,
        pause: float,
        game_of: Callable[[int], Game] | None = None,
    ) -> None:
        self.lobby = Lobby(session, game_of)
        self.session, self.worker, self.adviser, self.pause = session, worker, adviser, pause
        self._advisers: dict[str, Adviser] = {}
        self._task: asyncio.Task[None] | None = None
        self._sent: dict[str, Any] | None = None
        self._seen: tuple[Session, dict[str, Any]] | None = None  # the film of a game
        self._stopped: Session | None = None  # the game without humans that somebody has stopped
        self._valued: tuple[Session, tuple[float, ...]] | None = None  # such a game, and what its last turn has led to
        self.events = Events(lambda: self.session.version)
        self._message()  # compiles what the first position needs, before anybody waits for it

    def application(self, token: str, hosts: Any) -> Guard:
        """The application, behind the guard."""
        changes: dict[str, Callable[[dict[str, Any]], None]] = {
            "act": lambda data: self.session.act(data["version"], _text(data, "action")),
            "undo": lambda data: self.session.undo(data["version"]),
            "ready": lambda data: self.session.ready(data["version"]),
            "retry": lambda data: self.session.retry(data["version"]),
            "replace": self._replace,
            "new": self._new,
            "continue": self._play_on,
            "stop": lambda data: self._stop(),
        }
        more = {"act": ("action",), "replace": ("agent",), "new": tuple(Settings.model_fields), "continue": ("event",)}
        routes = [Route(f"/api/{name}", serve) for name, serve in self._shown().items()]
        routes += [Route("/api/hint", self._hint, methods=["POST"])]
        for name, change in changes.items():
            handler = self._changing(change, ("version", *more.get(name, ())))
            routes.append(Route(f"/api/{name}", handler, methods=["POST"]))
        return application(routes, token, hosts, self._lifespan, self.events.end)

    # --- requests ---

    def _shown(self) -> dict[str, Any]:
        shown = {"state": self._state, "record": self._record, "film": self._film, "page": self._page}
        return shown | {"events": self.events.serve}

    async def _state(self, request: Request) -> Response:
        return JSONResponse(self._message() | {"lessons": lessons(self.session.game)})

    def _changing(self, change: Callable[[dict[str, Any]], None], keys: tuple[str, ...]) -> Any:
        """A handler that makes a change and sends the new position."""

        async def handler(request: Request) -> Response:
            game = self.session.game
            change(parse(await request.body(), keys))
            self.events.tell()
            self._let_agents_think()
            taught = {} if self.session.game is game else {"lessons": lessons(self.session.game)}
            return JSONResponse(self._message() | taught)

        return handler

    async def _hint(self, request: Request) -> Response:
        version = parse(await request.body(), ("version",))["version"]
        session = self.session
        session.check_hint(version)
        adviser = self.adviser or adviser_of(session.game)
        states = session.states.copy()
        try:
            found = await self.worker.run(lambda: hints(self._made(adviser), session.game, states, session.called))
        except (ValueError, OverflowError, RuntimeError) as error:
            raise SessionError(f"{adviser} cannot give a hint here: {error}") from None
        return JSONResponse({"version": version, "by": adviser, "turns": [hint._asdict() for hint in found]})

    async def _record(self, request: Request) -> Response:
        headers = {"content-disposition": 'attachment; filename="bombay-record.jsonl"'}
        text = json.dumps(self.session.record().to_dict(), ensure_ascii=False) + "\n"
        return Response(text, headers=headers, media_type="application/x-ndjson")

    async def _film(self, request: Request) -> Response:
        return JSONResponse(await self._made_film())

    async def _page(self, request: Request) -> Response:
        return Response(page(await self._made_film()), headers=FILE_HEADERS, media_type="text/html")

    async def _made_film(self) -> dict[str, Any]:
        """The game that is over, for the viewer."""
        session = self.session
        if not session.over:
            raise SessionError("the viewer shows the game once it is over")
        if self._seen is None or self._seen[0] is not session:
            self._seen = session, await self.worker.run(lambda: film(session.record(), you=session.you))
        return self._seen[1]

    # --- changes ---

    def _replace(self, data: dict[str, Any]) -> None:
        name = _text(data, "agent")
        if name not in SUBSTITUTES:
            raise SessionError(f"{checks.shown(name)} cannot take the seat; allowed are {', '.join(SUBSTITUTES)}")
        seat = self.session.mover
        self.session.replace(data["version"], make_seat(name))
        self.lobby.replace(seat, name)

    def _new(self, data: dict[str, Any]) -> None:
        if not _is_version(data.pop("version"), self.session):
            raise OutdatedError("the game went on in another tab or window; nothing was changed")
        try:
            settings = forms.check(Settings, data, "the body")
        except ValueError as error:
            raise Refusal(400, str(error)) from None
        try:
            self.session = self.lobby.begin(settings, self.session.version + 1)
        except ValueError as error:
            raise SessionError(str(error)) from None

    def _play_on(self, data: dict[str, Any]) -> None:
        before = self.session
        if not _is_version(data["version"], before) or not before.over:
            raise OutdatedError("this game is not over, or another one was begun; nothing was changed")
        record = before.record()
        if not checks.is_whole_number(data["event"], 0, len(record.events) - 1):
            raise Refusal(400, f"event must be a whole number from 0 to {len(record.events) - 1}")
        session = Session(before.game, before.agents, before.seed, before.screened, before.version + 1)
        session.play_on(record, data["event"])
        self.session = session

    def _stop(self) -> None:
        """Stop a game without humans, or let it go on."""
        if self.session.humans:
            raise SessionError("only a game without humans can be stopped")
        self._stopped = None if self._stopped is self.session else self.session

    # --- thinking ---

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        self._let_agents_think()
        try:
            yield
        finally:
            if self._task:
                self._task.cancel()

    def _let_agents_think(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._think())

    async def _think(self) -> None:
        while self._stopped is not self.session and (question := self.session.question()):
            session = self.session
            try:
                result: int | AgentFault = await self.worker.run(question.answer)
            except Exception as error:
                if isinstance(error, AgentFault):
                    result = error
                else:
                    result = AgentFault(question.name, f"it raised {describe_error(error)}")
                print(f"bombay: {result}", file=sys.stderr)
            session.answer(question, result)
            if not (session.humans or session.played or session.over):
                await self._value(session)
            self.events.tell()
            await asyncio.sleep(self.pause)

    async def _value(self, session: Session) -> None:
        """What the net of `zero` makes of the position that a turn has led to; nothing where it cannot value it."""
        with contextlib.suppress(ValueError, OverflowError, RuntimeError):
            found = await self.worker.run(
                lambda: shares_now(bombay_agents.make(DEFAULT_VALUER), session.game, session.states)
            )
            self._valued = session, found

    def _made(self, adviser: str) -> Adviser:
        if adviser not in self._advisers:
            self._advisers[adviser] = make_adviser(adviser)
        return self._advisers[adviser]

    # --- answers ---

    def _message(self) -> dict[str, Any]:
        session = self.session
        if self._sent is None or self._sent["version"] != session.version:
            shares = self._valued[1] if self._valued and self._valued[0] is session else ()
            shown = messages.of_session(session, self.adviser or adviser_of(session.game), shares)
            self._sent = {"substitutes": SUBSTITUTES, "lobby": self.lobby.message(), **shown, **explained(session)}
        watched = not session.humans and not session.over
        return self._sent | {"stopped": self._stopped is session if watched else None}


def _is_version(given: Any, session: Session) -> bool:
    """Whether a request names the version of the position that there is now. `False` is no 0."""
    return checks.is_whole_number(given, 0) and given == session.version


def _text(data: dict[str, Any], key: str) -> str:
    if not isinstance(data[key], str):
        raise Refusal(400, f"{key} must be a text")
    return str(data[key])
