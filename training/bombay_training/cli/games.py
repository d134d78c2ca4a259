"""Commands that play, write and show games: `bombay play`, `watch`, `simulate`, `replay`, `mcp` and `board`."""

import functools
import itertools
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

import bombay_agents
from bombay_env import Board, Game, checks
from bombay_env.agent import check_plays
from bombay_env.board import BoardError, SiteKind
from bombay_env.envs.common import OBSERVATION_MODES
from bombay_env.files import atomic
from bombay_env.record import Record, RecordError, read_records, write_records
from bombay_env.render import replay as replays
from bombay_env.render import svg
from bombay_env.rewards import REWARDS
from bombay_env.text import describe_position
from bombay_training import extras
from bombay_training.cli import options, runner
from bombay_training.cli.options import games_of
from bombay_training.cli.playing import prepare_agents
from bombay_training.cli.runner import Result, command
from bombay_training.datasets.decisions import View
from bombay_training.evaluation import arena as arenas
from bombay_training.matches import statistics
from bombay_training.matches.table import LostGame
from bombay_training.play.draft import Draft
from bombay_training.play.hints import ADVISER_OF_ANY_GAME, DEFAULT_ADVISER, adviser_of, make_adviser
from bombay_training.play.model_table import ModelTable
from bombay_training.play.seats import SAFE_AGENTS, make_seat
from bombay_training.play.session import HUMAN, Session
from bombay_training.play.web import film
from bombay_training.rich_tables import cell, new_table

# --- in the browser and in the terminal ---

DEFAULT_SEATS: Final = (HUMAN, "champion")
SEATS = (
    "Who sits where, in seat order: human or an agent; the last one fills all further seats. Default: human champion."
)
OWN_SEED = "The seed of all deals and random choices. Default: drawn."
SCREENED = "Hide opponents' rupees and tokens, as behind the screens of the game."
HINTS = (
    f"The agent that gives hints: champion, zero-search or search, with options. Default: {DEFAULT_ADVISER}; if "
    f"its net was not trained on the rules or the board, {ADVISER_OF_ANY_GAME}."
)
PAUSE = "Seconds that an agent's action stays visible before the next one."
MAX_RECORDS: Final = 1000
OPPONENTS = f"Agents that a model may play against. Default: {', '.join(SAFE_AGENTS)}."


@command
def play(
    seats: Annotated[list[str] | None, options.agents_argument(SEATS)] = None,
    players: options.PlayerCount = 4,
    seed: Annotated[int | None, typer.Option(help=OWN_SEED, min=0, max=checks.MAX_SEED)] = None,
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
    valuers = [film.DEFAULT_VALUER] if usual == DEFAULT_ADVISER else []  # it values only games that it knows
    needed = [adviser or usual, *valuers, *(spec for spec in specs if spec != HUMAN)]
    if text:
        from bombay_training.play import terminal

        prepare_agents(needed, board)
        with redirect_stdout(runner.out.file):
            terminal.play(session, adviser or usual)
        return

    def app(pages: Any, worker: Any) -> Any:
        return pages.PlayApp(session, worker, adviser, pause, lambda count: games_of(str(count), rules, board)[0])

    _serve("bombay play in the browser", "play_app", app, (host, port, remote), needed, board)


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

    def app(pages: Any, worker: Any) -> Any:
        return pages.WatchApp(records, worker, number - 1)

    _serve("bombay watch", "watch_app", app, (host, port, remote), [film.DEFAULT_VALUER])


def _serve(
    what: str,
    module: str,
    make: Callable[[Any, Any], Any],
    where: tuple[str, int, bool],
    agents: Sequence[str] = (),
    board: Path | None = None,
) -> None:
    """Answer a page until Ctrl-C. `what` is the command, `where` host, port and remote; agents are those that the page needs.

    `make` makes the application from the module with this name and a worker.
    """
    server, pages, workers = (extras.load(f"play.web.{name}", "play", what) for name in ("server", module, "worker"))
    with server.bind(*where) as listening:
        prepare_agents(agents, board)
        worker = workers.Worker()
        server.serve(listening, where[0], make(pages, worker).application, worker, runner.say)


@command
def mcp(
    opponents: Annotated[list[str] | None, options.agents_argument(OPPONENTS)] = None,
    board: options.BoardFile = None,
) -> None:
    """Let a language model play: an MCP server on standard input and output, with tools to start, see and play games."""
    chosen = opponents or list(SAFE_AGENTS)
    for spec in chosen:
        bombay_agents.make(spec)
    table = ModelTable(chosen, Board.load(board))
    server = extras.load("play.mcp_server", "llm", "bombay mcp")
    with redirect_stdout(runner.out.file):
        server.BombayServer(table).run("stdio")


# --- bombay simulate ---

AGENTS = "Agents in seat order, repeated to fill all seats. Default: random."
GAMES_FILE = "A new file for all games; for minari a new folder, such as planner-v0."
FORMAT = (
    "What --out holds. records: one JSON object a line, for replay and watch. parquet: a row for each decision. "
    "minari: a dataset with an episode for each seat of each game."
)
MODE = f"What seats see in a dataset: {' or '.join(OBSERVATION_MODES)}."
REWARD = f"The reward in a dataset: {', '.join(REWARDS)}."
COUNTED: Final = {"records": "record", "parquet": "decision", "minari": "episode"}  # what a file of this format holds
Format = Literal["records", "parquet", "minari"]


@command
def simulate(
    agents: Annotated[list[str] | None, options.agents_argument(AGENTS)] = None,
    players: options.Players = "4",
    games: Annotated[int, options.count("Games for each number of players.")] = 100,
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    out: Annotated[Path | None, options.new_file(GAMES_FILE)] = None,
    form: Annotated[Format, typer.Option("--format", help=FORMAT)] = "records",
    observation_mode: Annotated[str, typer.Option(help=MODE)] = OBSERVATION_MODES[0],
    reward: Annotated[str, typer.Option(help=REWARD)] = REWARDS[0],
) -> Result:
    """Play games with fixed seats and show the results of each seat."""
    variants, specs = games_of(players, rules, board), agents or ["random"]
    seats = min(game.num_players for game in variants)
    if len(specs) > seats:
        raise ValueError(f"{len(specs)} agents are given for {seats} seats")
    write = _writer(form, variants, View(observation_mode, reward), out)
    made = [bombay_agents.make(spec) for spec in specs]
    for game, agent in itertools.product(variants, made):
        check_plays(agent, game)
    prepare_agents(specs, board)
    records: list[Record] | None = [] if out else None
    rows, faults = list[dict[str, Any]](), list[LostGame]()
    with runner.progress_bar("games", games * len(variants)) as advance:
        for game in variants:
            lineup = [made[seat % len(made)] for seat in range(game.num_players)]
            start = time.perf_counter()
            match = arenas.run_fixed_seats(game, lineup, games, seed, progress=advance, records=records)
            about = {"players": game.num_players, "seconds": round(time.perf_counter() - start, 3)}
            rows += [about | row for row in statistics.seat_rows(match)]
            faults += match.faults
    data = {
        "command": "simulate",
        "games": games,
        "seed": seed,
        "seats": rows,
        "faults": [str(fault) for fault in faults[: statistics.MAX_FAULTS]],
        "records": str(out) if out else None,
    }

    def save() -> Iterator[str]:
        if out and records is not None:
            with runner.working(f"writing {out}"):
                count = write(out, records)
            yield f"written to {out}: {runner.quantity(count, COUNTED[form])}"

    cells = []
    for row in rows:
        share, final = f"{row['win_share']:.3f}", None if row["final"] is None else f"{row['final']:.2f}"
        cells.append([row["players"], row["seat"], row["agent"], row["games"], share, final, row["faults"]])
    columns = ["players", "seat", "agent", "games", "win share", "mean final", "faults"]
    return Result(data, [new_table("simulate", columns, cells)], save(), faults)


def _writer(form: Format, games: list[Game], view: View, out: Path | None) -> Callable[[Path, Iterable[Record]], int]:
    """The function that writes records in this form and returns how many `COUNTED` it wrote.

    Raises:
        ValueError: an option is wrong, or the extra `data` is missing.
    """
    checks.one_of(view.observation_mode, "--observation-mode", OBSERVATION_MODES)
    checks.one_of(view.reward, "--reward", REWARDS)
    if form == "records":
        if view != View():
            raise ValueError("--observation-mode and --reward are for datasets; give --format parquet or minari, too")
        return write_records
    if out is None:
        raise ValueError(f"--format {form} needs --out")
    module = extras.load(f"datasets.{form}", "data", f"--format {form}")
    if form == "minari":
        module.check(out, games)
    return functools.partial(module.write, games=games, view=view)


# --- bombay replay ---

COLUMNS: Final = ("game", "players", "agents", "events", "final", "winners")
VALUES = "Who values the turns of the page. Default: zero, if it knows the game."


@command
def replay(
    path: options.RecordsFile,
    number: Annotated[int | None, options.one_game("--show", "Also print the positions of this game", "GAME")] = None,
    drawn: Annotated[int, options.one_game("--game", "The game to draw with --gif and --html")] = 1,
    gif: Annotated[Path | None, options.new_file("A new file for the game as an animated GIF.")] = None,
    html: Annotated[Path | None, options.new_file("A new file for the game as a page, which needs no network.")] = None,
    values: Annotated[str | None, typer.Option(help=VALUES, metavar="AGENT")] = None,
) -> Result:
    """Replay game records and verify that each one follows the rules. Draw one as a GIF or a page."""
    if gif is not None and html is not None and gif.absolute() == html.absolute():
        raise ValueError(f"--gif and --html both name {gif}; name two files")
    if values is not None and html is None:
        raise ValueError("--values needs --html, the page that shows them")
    rows: list[dict[str, Any]] = []
    chosen: Record | None = None
    with runner.working("verifying records") as tell:
        for place, record in enumerate(read_records(path), start=1):
            tell(f"verifying records: {place:,}")
            rows.append(_verified(record, f"{path}, record {place}", place))
            chosen = record if place == drawn else chosen
            if place == number:
                _print_positions(record)
    for wanted, use in ((number, "show"), (drawn if gif or html else None, "draw")):
        if wanted is not None and wanted > len(rows):
            raise ValueError(f"{path} holds {len(rows)} records; there is no record {wanted} to {use}")
    if not rows:
        raise ValueError(f"{path} holds no records")
    if html is not None and chosen is not None:
        with runner.progress_bar("positions", len(chosen.events)) as advance:
            atomic.write_bytes(html, film.page(film.film(chosen, values, advance=advance)).encode())
    if gif is not None and chosen is not None:
        with runner.progress_bar("frames", len(chosen.events)) as advance:
            atomic.write_bytes(gif, replays.gif(chosen, advance))
    table = new_table(f"{path}: every record follows the rules", COLUMNS, [list(row.values()) for row in rows])
    files = {name: str(file) for name, file in (("gif", gif), ("html", html)) if file is not None}
    data = {"command": "replay", "file": str(path), "records": rows, **files}
    return Result(data, [table], [f"game {drawn} is drawn in {file}" for file in files.values()])


def _verified(record: Record, where: str, place: int) -> dict[str, Any]:
    """The row of a record. Raises RecordError if it breaks the rules."""
    try:
        record.verify()
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from None
    final, winners = ((record.result or {}).get(name) for name in ("final", "winners"))
    row = (place, record.game.num_players, list(record.agents), len(record.events), final, winners)
    return dict(zip(COLUMNS, row, strict=True))


def _print_positions(record: Record) -> None:
    for number, states in record.replay():
        runner.out.print(cell(f"event {number}: {record.events[number]}"), style="bold", highlight=False)
        runner.out.print(describe_position(record.game, states), markup=False, highlight=False)
        runner.out.print()


# --- bombay board ---

PICTURE = "Only write a picture of the board, with an example deal, to a new .svg file."
BoardPath = Annotated[Path, typer.Argument(help="A board file (TOML).", metavar="FILE")]
NewBoard = Annotated[Path, typer.Argument(help="A board file (TOML).", metavar="FILE", callback=options.check_new_file)]


@command
def new_board(
    path: NewBoard,
    trails: Annotated[bool, typer.Option("--trails", help="Keep the trails of the packaged board.")] = False,
) -> None:
    """Write a new board file with all sites of the game and no trails; `bombay board draw` draws these."""
    packaged = Board.load()
    name = "".join(letter for letter in path.stem if letter.isprintable() and letter not in " :")
    if not name or name == packaged.name:
        raise BoardError(
            f"a board is named after its file, and {path.stem!r} is no name for one; take another file name"
        )
    Draft.of_board(packaged, name, trails).write(path)
    runner.say(f"{path} has all sites. Draw the trails with: bombay board draw {path}")


@command
def check_board(path: BoardPath) -> Result:
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
def draw_board(
    path: BoardPath,
    out: Annotated[Path | None, options.new_file(PICTURE)] = None,
    host: options.Host = "127.0.0.1",
    port: options.Port = 0,
    remote: options.Remote = False,
) -> None:
    """Draw trails in the browser, by clicking on sites, and save them to the file."""
    if out is None:
        _serve("bombay board draw", "board_app", lambda pages, _: pages.BoardApp(path), (host, port, remote))
        return
    game = Game(board=Board.load(path))
    atomic.write_bytes(out, svg.draw(game, game.new_states([0])).encode())
    runner.say(f"The picture is in {out}")
