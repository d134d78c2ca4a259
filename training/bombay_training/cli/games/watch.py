"""`bombay watch`: recorded games in the browser."""

import itertools
from typing import Annotated

from bombay_env.record import read_records
from bombay_training import warm_up
from bombay_training.cli import options, output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import needs
from bombay_training.cli.runner import command
from bombay_training.play.web.film import DEFAULT_VALUER

MAX_RECORDS = 1000


@command
def watch(
    path: options.RecordsFile,
    number: Annotated[int, options.one_game("--game", "The game to show first")] = 1,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    remote: options.Remote = False,
) -> None:
    """Show recorded games in the browser, with what each turn cost. Of a file, the first 1000 games."""
    records = list(itertools.islice(read_records(path), MAX_RECORDS))
    if not records:
        raise ValueError(f"{path} holds no records")
    if number > len(records):
        raise ValueError(f"there is no game {number} to show; {path} offers {len(records)}")
    with needs("play", "bombay watch"):
        from bombay_training.play.web import server
        from bombay_training.play.web.watch_app import WatchApp
        from bombay_training.play.web.worker import Worker
    worker = Worker()
    app = WatchApp(records, worker, number - 1)
    listening = server.bind(host, port, remote)
    prepare(warm_up.jobs_of_agents([DEFAULT_VALUER], None))
    server.serve(listening, host, app.application, worker, output.say)
