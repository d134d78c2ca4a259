"""Requests to an ASGI application, without a network: what a browser would send, and what it must not."""

import asyncio
import json
from contextlib import suppress

HOST = "127.0.0.1:4711"
TOKEN = "token-of-the-test"


class Client:
    """Sends requests to an application behind its guard, whose token is `TOKEN` and whose host is `HOST`.

    Use it as a context: the application's lifespan runs inside.
    """

    def __init__(self, make_app):
        self.app = make_app(TOKEN, {HOST})
        self.loop = asyncio.new_event_loop()
        self.to_app = asyncio.Queue()
        self.from_app = asyncio.Queue()

    def __enter__(self):
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
        self.lifespan = self.loop.create_task(self.app(scope, self.to_app.get, self.from_app.put))
        self._lifespan("startup")
        return self

    def __exit__(self, *_):
        self._lifespan("shutdown")
        self.loop.run_until_complete(self.lifespan)
        for task in asyncio.all_tasks(self.loop):
            with suppress(asyncio.CancelledError):
                self.loop.run_until_complete(task)
        self.loop.close()

    def _lifespan(self, event):
        self.loop.run_until_complete(self.to_app.put({"type": f"lifespan.{event}"}))
        assert self.loop.run_until_complete(self.from_app.get())["type"] == f"lifespan.{event}.complete"

    def request(self, method, path, body=b"", headers=None):
        """The status, the headers and the body of the answer. A header that is None is left out."""
        given = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json"} | (headers or {})
        raw = [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value is not None]
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 4711),
            "method": method,
            "root_path": "",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": raw,
        }
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        self.loop.run_until_complete(self.app(scope, receive, send))
        text = b"".join(message.get("body", b"") for message in sent[1:])
        return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}, text

    def get(self, path):
        """The status and the JSON of a page below the token."""
        status, _, text = self.request("GET", f"/{TOKEN}/{path}")
        return status, json.loads(text or b"null")

    def post(self, path, data):
        """The same for a POST of `data`."""
        status, _, text = self.request("POST", f"/{TOKEN}/{path}", json.dumps(data).encode())
        return status, json.loads(text or b"null")

    def settle(self, done, seconds=20.0):
        """Let the application run until `done()`."""

        async def wait():
            while not done():
                await asyncio.sleep(0.005)

        self.loop.run_until_complete(asyncio.wait_for(wait(), seconds))
