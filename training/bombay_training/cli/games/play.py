"""`bombay play`: a game with humans at the table, in the browser or in the terminal."""

import secrets
from contextlib import redirect_stdout
from typing import Annotated

import typer

from bombay_env import checks
from bombay_training import warm_up
from bombay_training.cli import options, output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import needs
from bombay_training.cli.inputs import games_of
from bombay_training.cli.runner import command
from bombay_training.play.hints import ADVISER_OF_ANY_GAME, DEFAULT_ADVISER, adviser_of, make_adviser
from bombay_training.play.seats import make_seat
from bombay_training.play.session import HUMAN, Session
from bombay_training.play.web.film import DEFAULT_VALUER

DEFAULT_SEATS = (HUMAN, "champion")
SEATS = (
    "Who sits where: human or an agent, in seat order; the last is repeated to fill all seats. Default: human champion."
)
SEED = "The seed of all deals and random choices. Default: drawn."
SCREENED = "Hide opponents' rupees and tokens, as behind the screens of the game."
HINTS = (
    f"The agent that gives hints: champion, zero-search or search, with options. Default: {DEFAULT_ADVISER}; if "
    f"its net was not trained on the rules or the board, {ADVISER_OF_ANY_GAME}."
)
PAUSE = "Seconds that an agent's action stays visible before the next one."


@command
def play(
    seats: Annotated[list[str] | None, options.agents_argument(SEATS)] = None,
    players: options.PlayerCount = 4,
    seed: Annotated[int | None, typer.Option(help=SEED, min=0, max=checks.MAX_SEED)] = None,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    screened: Annotated[bool, typer.Option("--screened", help=SCREENED)] = False,
    adviser: Annotated[str | None, typer.Option("--hints", help=HINTS, metavar="AGENT")] = None,
    text: Annotated[bool, typer.Option("--text", help="Play in the terminal.")] = False,
    pause: Annotated[float, typer.Option(help=PAUSE, min=0, max=60)] = 0.3,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    remote: options.Remote = False,
) -> None:
    """Play against agents, or several humans at one screen, in the browser."""
    (game,) = games_of(str(players), rules, board)
    specs = seats or list(DEFAULT_SEATS)
    if len(specs) > players:
        raise ValueError(f"{len(specs)} seats are given for {players} players")
    specs = [*specs, *[specs[-1]] * (players - len(specs))]
    agents = [make_seat(spec) for spec in specs]
    make_adviser(adviser or DEFAULT_ADVISER)
    session = Session(game, agents, secrets.randbelow(checks.MAX_SEED) if seed is None else seed, screened)
    usual = adviser_of(game)
    valuers = [DEFAULT_VALUER] if usual == DEFAULT_ADVISER else []  # it values only games that it knows
    jobs = warm_up.jobs_of_agents([adviser or usual, *valuers, *(spec for spec in specs if spec != HUMAN)], board)
    if text:
        from bombay_training.play import terminal

        prepare(jobs)
        with redirect_stdout(output.out.file):
            terminal.play(session, adviser or usual)
        return
    with needs("play", "bombay play in the browser"):
        from bombay_training.play.web import server
        from bombay_training.play.web.play_app import PlayApp
        from bombay_training.play.web.worker import Worker
    listening = server.bind(host, port, remote)
    prepare(jobs)
    worker = Worker()
    app = PlayApp(session, worker, adviser, pause, lambda count: games_of(str(count), rules, board)[0])
    server.serve(listening, host, app.application, worker, output.say)
