"""`bombay watch`: recorded games in the browser."""

import itertools
from pathlib import Path
from typing import Annotated

import typer

from bombay_env.record import read_records
from bombay_training import warm_up
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import Host, Port, Remote
from bombay_training.cli.output import say
from bombay_training.extras import missing_extra
from bombay_training.play.web.film import DEFAULT_VALUER

MAX_RECORDS = 1000


def watch(
    path: Annotated[Path, typer.Argument(help="A file of game records (.jsonl).", metavar="FILE")],
    number: Annotated[int, typer.Option("--game", help="The game to show first, counted from 1.", min=1)] = 1,
    host: Host = "127.0.0.1",
    port: Port = 0,
    remote: Remote = False,
) -> None:
    """Show recorded games in the browser, with what each turn cost. Of a file, the first 1000 games."""
    with user_input():
        records = list(itertools.islice(read_records(path), MAX_RECORDS))
        if not records:
            raise ValueError(f"{path} holds no records")
        if number > len(records):
            raise ValueError(f"there is no game {number} to show; {path} offers {len(records)}")
        try:
            from bombay_training.play.web import server
            from bombay_training.play.web.watch_app import WatchApp
            from bombay_training.play.web.worker import Worker
        except ImportError as error:
            raise ValueError(missing_extra("bombay watch", "play", error)) from None
        worker = Worker()
        app = WatchApp(records, worker, number - 1)
        listening = server.bind(host, port, remote)
    prepare(warm_up.jobs_of_agents([DEFAULT_VALUER], None))
    server.serve(listening, host, app.application, worker, say)
