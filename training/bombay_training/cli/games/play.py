"""`bombay play`: a game with humans at the table, in the browser or in the terminal."""

import secrets
from contextlib import redirect_stdout
from typing import Annotated

import typer

from bombay_env import checks
from bombay_training import warm_up
from bombay_training.cli import output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import games_of
from bombay_training.cli.options import BoardFile, Host, PlayerCount, Port, Remote, RulesFile, complete_agent
from bombay_training.extras import missing_extra
from bombay_training.play.hints import ADVISER_OF_ANY_GAME, DEFAULT_ADVISER, adviser_of, make_adviser
from bombay_training.play.seats import make_seat
from bombay_training.play.session import HUMAN, Session
from bombay_training.play.web.film import DEFAULT_VALUER

DEFAULT_SEATS = (HUMAN, "champion")
Hints = Annotated[
    str | None,
    typer.Option(
        "--hints",
        help=f"The agent that gives hints: champion, zero-search or search, with options. Default: {DEFAULT_ADVISER}; if "
        f"its net was not trained on the rules or the board, {ADVISER_OF_ANY_GAME}.",
        metavar="AGENT",
    ),
]


def play(
    seats: Annotated[
        list[str] | None,
        typer.Argument(
            help="Who sits where: human or an agent, in seat order; the last is repeated to fill all seats. "
            "Default: human champion.",
            autocompletion=complete_agent,
        ),
    ] = None,
    players: PlayerCount = 4,
    seed: Annotated[
        int | None,
        typer.Option(help="The seed of all deals and random choices. Default: drawn.", min=0, max=checks.MAX_SEED),
    ] = None,
    rules: RulesFile = None,
    board: BoardFile = None,
    screened: Annotated[
        bool, typer.Option("--screened", help="Hide opponents' rupees and tokens, as behind the screens of the game.")
    ] = False,
    adviser: Hints = None,
    text: Annotated[bool, typer.Option("--text", help="Play in the terminal.")] = False,
    pause: Annotated[
        float, typer.Option(help="Seconds that an agent's action stays visible before the next one.", min=0, max=60)
    ] = 0.3,
    host: Host = "127.0.0.1",
    port: Port = 0,
    remote: Remote = False,
) -> None:
    """Play against agents, or several humans at one screen, in the browser."""
    with user_input():
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
    with user_input():
        try:
            from bombay_training.play.web import server
            from bombay_training.play.web.play_app import PlayApp
            from bombay_training.play.web.worker import Worker
        except ImportError as error:
            raise ValueError(missing_extra("bombay play in the browser", "play", error)) from None
        listening = server.bind(host, port, remote)
    prepare(jobs)
    worker = Worker()
    app = PlayApp(session, worker, adviser, pause, lambda count: games_of(str(count), rules, board)[0])
    server.serve(listening, host, app.application, worker, output.say)
