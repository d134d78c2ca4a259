"""The web server behind the page: it binds to this machine by default, answers the page's requests and stops at Ctrl-C.

`guard.py` decides who may talk to it; `play_app.py`, `watch_app.py` and `board_app.py` answer what the page asks for. An error is
a JSON object with one line, `error`, and the status: 400 for a malformed request, 409 for one that is not possible now.
"""

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bombay_env import checks
from bombay_training.play.session import SessionError
from bombay_training.play.web import page_files
from bombay_training.play.web.guard import Guard, Refusal, is_loopback, new_token, own_hosts
from bombay_training.play.web.worker import Worker

TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
STOPPED: Final = 130  # exit code after Ctrl-C


def page_routes() -> list[Route]:
    """The page's own files."""

    def serving(name: str, text: str) -> Route:
        async def serve_file(request: Request) -> Response:
            return Response(text, headers={"content-type": TYPES[name.rpartition(".")[2]]})

        return Route("/" if name == page_files.HTML else f"/{name}", serve_file)

    return [serving(name, text) for name, text in page_files.texts().items()]


def application(
    routes: Sequence[Route],
    token: str,
    hosts: Any,
    lifespan: Callable[[Any], Any] | None = None,
    end: Callable[[], None] = lambda: None,
) -> Guard:
    """The page and `routes` behind the guard. Errors become JSON.

    Args:
        routes: what the page asks for.
        token: of this run.
        hosts: as `guard.own_hosts` gives them.
        lifespan: entered while the server runs.
        end: as for `Guard`.
    """
    handlers: Any = {SessionError: _told(409), Refusal: _told(None), 404: _missing, 405: _missing, Exception: _failed}
    app = Starlette(routes=[*page_routes(), *routes], exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return Guard(app, token, hosts, end)


def _told(status: int | None) -> Any:
    async def handler(request: Request, error: Any) -> Response:
        return JSONResponse({"error": checks.message(str(error))}, status or error.status)

    return handler


async def _missing(request: Request, error: Any) -> Response:
    return JSONResponse(
        {"error": "there is nothing here; open the address that the command printed"}, error.status_code
    )


async def _failed(request: Request, error: Exception) -> Response:
    reason = checks.message(f"{type(error).__name__}: {error}")
    return JSONResponse({"error": f"the server failed, and the game is as before: {reason}"}, 500)


def bind(host: str, port: int, remote: bool) -> socket.socket:
    """A socket to listen on.

    Args:
        host: an address or a name.
        port: 0 for any that is free.
        remote: whether an address that other machines reach is allowed.

    Raises:
        ValueError: `host` is not a loopback address and `remote` is false, or the address cannot be used.
    """
    if not is_loopback(host) and not remote:
        raise ValueError(
            f"--host {checks.shown(host)} is not a loopback address such as 127.0.0.1; add --remote to let other machines in: "
            "whoever has the address with the token can then play"
        )
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"cannot listen at {checks.shown(host)}, port {port}: {reason}") from None


class Server(uvicorn.Server):
    """A server whose open streams do not hold up its end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then all else."""
        app: Any = self.config.app
        app.end()
        await super().shutdown(sockets)


def new_server(listening: socket.socket, host: str, make_app: Callable[[str, Any], Guard]) -> tuple[Server, str]:
    """A server for `Server.run(sockets=[listening])`, and the address of its page.

    Args:
        listening: of `bind`.
        host: that it is bound to, as it stands in the address of the page.
        make_app: makes the application from the token and the hosts.
    """
    port = listening.getsockname()[1]
    token = new_token()
    config = uvicorn.Config(
        make_app(token, own_hosts(host, port)),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        timeout_graceful_shutdown=1,
    )
    shown = f"[{host}]" if ":" in host else host
    return Server(config), f"http://{shown}:{port}/{token}/"


def serve(
    listening: socket.socket,
    host: str,
    make_app: Callable[[str, Any], Guard],
    worker: Worker,
    say: Callable[[str], None],
) -> None:
    """Run until Ctrl-C; then the process ends with exit code 130.

    Args:
        listening: of `bind`.
        host: as for `new_server`.
        make_app: likewise.
        worker: ended too.
        say: prints a line; told the address of the page.
    """
    server, address = new_server(listening, host, make_app)
    say(f"Open {address}")
    say("Ctrl-C ends it.")
    with listening:
        try:
            server.run(sockets=[listening])
        finally:
            if not worker.stop():  # it cannot be interrupted in compiled code
                os._exit(STOPPED)
