"""`bombay board new | check | draw`: a board of one's own, such as the printed one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bombay_env import Board, Game
from bombay_env.board import BoardError, SiteKind
from bombay_env.files import atomic
from bombay_env.render import svg
from bombay_training.cli import options
from bombay_training.cli.errors import needs
from bombay_training.cli.inputs import check_new_file
from bombay_training.cli.output import say
from bombay_training.cli.runner import Result, command
from bombay_training.play.draft import Draft
from bombay_training.rich_tables import new_table

BoardPath = Annotated[Path, typer.Argument(help="A board file (TOML).", metavar="FILE")]

PICTURE = "Only write a picture of the board, with an example deal, to a new .svg file."


@command
def new(
    path: BoardPath,
    trails: Annotated[bool, typer.Option("--trails", help="Keep the trails of the packaged board.")] = False,
) -> None:
    """Write a new board file with all sites of the game and no trails; `bombay board draw` draws these."""
    check_new_file(path, option="")
    Draft.of_board(Board.load(), _board_name(path), trails).write(path)
    say(f"{path} has all sites. Draw the trails with: bombay board draw {path}")


@command
def check(path: BoardPath) -> Result:
    """Say whether a board file can be played, and what it holds."""
    board = Board.load(path)
    near = {site.name: sum(site.name in trail for trail in board.trails) for site in board.sites}
    rows: list[dict[str, Any]] = []
    for kind in SiteKind:
        sites = [site.name for site in board.sites if site.kind == kind]
        rows.append({"kind": kind.label, "sites": sites, "trails": sum(near[name] for name in sites)})
    title = f"{board.name}: valid, {board.num_sites} sites, {len(board.trails)} trails"
    cells = [[row["kind"], " ".join(row["sites"]), row["trails"]] for row in rows]
    table = new_table(title, ["kind", "sites", "trails"], cells)
    return Result({"command": "board check", "name": board.name, "trails": len(board.trails), "kinds": rows}, [table])


@command
def draw(
    path: BoardPath,
    out: Annotated[Path | None, typer.Option("--out", help=PICTURE)] = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    remote: options.Remote = False,
) -> None:
    """Draw trails in the browser, by clicking on sites, and save them to the file."""
    if out is not None:
        check_new_file(out)
        game = Game(board=Board.load(path))
        atomic.write_bytes(out, svg.draw(game, game.new_states([0])).encode())
        say(f"The picture is in {out}")
        return
    with needs("play", "bombay board draw"):
        from bombay_training.play.web import server
        from bombay_training.play.web.board_app import BoardApp
        from bombay_training.play.web.worker import Worker
    app = BoardApp(path)
    listening = server.bind(host, port, remote)
    server.serve(listening, host, app.application, Worker(), say)


def _board_name(path: Path) -> str:
    name = "".join(letter for letter in path.stem if letter.isprintable() and letter not in " :")
    if not name or name == Board.load().name:
        raise BoardError(
            f"a board is named after its file, and {path.stem!r} is no name for one; take another file name"
        )
    return name
