"""Who may talk to the server: requests with the token, for this host, and, if they change something, from the page itself.

A page of another origin can make a browser send requests to this machine, and a name on the internet can be made to point at it.
So every request needs the token in its path and a `Host` that this server has; a POST also needs the server's own `Origin` and a
JSON body of limited size. Starlette's `TrustedHostMiddleware` is no substitute: it ignores the port, and its refusal is no JSON.
"""

import ipaddress
import json
import secrets
from collections.abc import Callable, Collection
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bombay_env.files import forms

TOKEN_BYTES: Final = 24
HTTP_PORT: Final = 80  # which browsers leave out of `Host`
MAX_BODY: Final = 1 << 16  # bytes; a board of 64 sites with all trails fits
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
NO_TOKEN: Final = "the address lacks the token, or has that of another run; use the address that the command printed"


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach this address or name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def own_hosts(host: str, port: int) -> set[str] | None:
    """The `Host` headers that a server on this address accepts; None for all, if other machines may reach it."""
    if not is_loopback(host):
        return None
    shown = f"[{host}]" if ":" in host else host
    names = (shown, "127.0.0.1", "localhost", "[::1]")
    return {f"{name}:{port}" for name in names} | (set(names) if port == HTTP_PORT else set())


class Refusal(Exception):  # noqa: N818 - an answer, not a defect
    """A request that is refused, with the status and the reason to send."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Guard:
    """ASGI middleware that lets only the page's own requests through, with the token taken off their path.

    Args:
        app: the application behind it.
        token: of this run.
        hosts: as `own_hosts` gives them.
        end: called when the server is told to stop; ends the streams that are open.
    """

    def __init__(
        self, app: ASGIApp, token: str, hosts: Collection[str] | None, end: Callable[[], None] = lambda: None
    ) -> None:
        self.app, self.token, self.hosts, self.end = app, token, hosts, end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        try:
            inner = self._checked(scope)
            if scope["method"] == "POST":
                receive = _received(await _body(receive), receive)
        except Refusal as refusal:
            await _refuse(send, refusal)
            return
        await self.app(inner, receive, _with_headers(send))

    def _checked(self, scope: Scope) -> dict[str, Any]:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if self.hosts is not None and host not in self.hosts:
            raise Refusal(403, "this server answers only under its own address")
        parts = scope["path"].split("/", 2)  # a slash, the token, and the path within the application
        if len(parts) < 3 or not secrets.compare_digest(parts[1].encode(), self.token.encode()):
            raise Refusal(403, NO_TOKEN)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refusal(405, "only GET and POST are understood here")
        if scope["method"] == "POST":
            if headers.get("origin") != f"http://{host}":
                raise Refusal(403, "only the page of this server may send this")
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                raise Refusal(415, "the body must be of the type application/json")
        return {**scope, "path": f"/{parts[2]}", "raw_path": f"/{parts[2]}".encode()}


def parse(body: bytes, keys: Collection[str]) -> dict[str, Any]:
    """The JSON object in a body, with exactly these keys. Raises Refusal."""
    try:
        data = forms.parse(dict[str, Any], body, "the body")
    except ValueError as error:
        raise Refusal(400, str(error)) from None
    if set(data) != set(keys):
        raise Refusal(400, f"the body must be an object with exactly the keys {', '.join(sorted(keys))}")
    return data


async def _body(receive: Receive) -> bytes:
    """The whole body of a request. Raises Refusal if it is too long."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "the connection ended")
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise Refusal(413, f"the body is longer than {MAX_BODY:,} bytes")
        if not message.get("more_body"):
            return body


def _received(body: bytes, receive: Receive) -> Receive:
    """`receive`, with the body that was read before what comes next."""
    whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return whole.pop() if whole else await receive()

    return receiving


def _with_headers(send: Send) -> Send:
    """`send`, with the headers that every answer has."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *own]}
        await send(message)

    return sending


async def _refuse(send: Send, refusal: Refusal) -> None:
    body = json.dumps({"error": refusal.reason}).encode()
    sending = _with_headers(send)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await sending({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await sending({"type": "http.response.body", "body": body})
