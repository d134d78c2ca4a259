"""The `bombay` command: it reads arguments, calls the modules that do the work, and prints what they found.

Results go to standard output, as tables or with `--json` as one JSON object; progress and errors go to standard error. Whatever
is wrong with the arguments ends in one line and exit code 2, before anything is played or written.
"""

import enum
import functools
import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import numba
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from typer.exceptions import TyperException

import bombay_agents
from bombay_env import Board, Game, Rules, __version__
from bombay_env.agent import AgentFault
from bombay_env.checks import MAX_SEED
from bombay_env.record import Record, RecordError, read_records, write_records
from bombay_env.render import text
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training import warm_up as warm_ups
from bombay_training.balance import study as balances
from bombay_training.bench import cases as benchmarks
from bombay_training.bench import cold_start
from bombay_training.bench import report as bench_report
from bombay_training.evaluation import arena as arenas
from bombay_training.evaluation import audit as audits
from bombay_training.evaluation import gate as gates
from bombay_training.extras import missing_extra
from bombay_training.learners import best_response, expert_iteration, run_files, td
from bombay_training.learners.train import open_run, run_class
from bombay_training.learners.train import train as train_learner
from bombay_training.matches import statistics
from bombay_training.matches.pool import MAX_TURN_LIMIT, WorkerPool, num_cores
from bombay_training.matches.results import LostGame, Match
from bombay_training.rich_tables import cell, new_table

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
# Tables are not broken to fit where nobody looks: in files and pipes they get the room they need, which is less than this.
out, err = Console(width=None if sys.stdout.isatty() else 1000), Console(stderr=True)

MAX_COUNT = 1_000_000  # games or deals that one command plays
REFERENCES = ("random", "greedy", "planner-v1")  # whom a new agent is shown against

EVALUATION = "evaluation.json"  # of a run: its closing table
OWN_AGENT = "module:object for one of your own, looked for in this folder too"


class Form(enum.Enum):
    """How agents meet."""

    ONE_VS_REST = "1vrest"
    TWO_VS_TWO = "2v2"
    MIXED = "mixed"


Players = Annotated[str, typer.Option(help="Numbers of players: 4, 2-5 or 2,4.", metavar="N")]
Seed = Annotated[int, typer.Option(help="Decides deals and chances.", min=0, max=MAX_SEED)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
BoardFile = Annotated[
    Path | None, typer.Option("--board", help="A board file (TOML); the packaged board unless given.")
]
RulesFile = Annotated[
    Path | None, typer.Option("--rules", help="Changed fields of Rules (JSON); official rules unless given.")
]
Processes = Annotated[
    int | None, typer.Option(help="Processes to play in; one a core unless given. Results are the same.", min=1)
]


def main() -> None:
    """Run the command; errors of the user's end in one line and exit code 2."""
    # For agents of one's own; last, so that no file there stands in for an installed module.
    sys.path.append(os.getcwd())
    try:
        code = app(standalone_mode=False)
    except TyperException as error:
        message = error.format_message()
        if message:  # there is none when the help has been printed for want of a command
            print(f"bombay: {message}", file=sys.stderr)
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        print("bombay: stopped", file=sys.stderr)
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def user_input() -> Iterator[None]:
    """What fails in here was given wrongly by the user."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise typer.BadParameter(" ".join(str(error).split())) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"bombay {__version__}")
        raise typer.Exit


@app.callback()
def bombay(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Bombay, the board game, as a reinforcement-learning environment."""


# --- commands ---


@app.command()
def simulate(
    agents: Annotated[
        list[str] | None, typer.Argument(help="Agents by seat, repeated to fill the table; random unless given.")
    ] = None,
    players: Players = "4",
    games: Annotated[int, typer.Option(help="Games for each number of players.", min=1, max=MAX_COUNT)] = 100,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    save: Annotated[Path | None, typer.Option("--out", help="A new .jsonl file for the games' records.")] = None,
    as_json: Json = False,
) -> None:
    """Play games with fixed seats and show how each seat fared."""
    with user_input():
        tables = _games(players, rules, board)
        specs = agents or ["random"]
        fewest = min(game.num_players for game in tables)
        if len(specs) > fewest:
            raise ValueError(f"{len(specs)} agents are given for {fewest} seats")
        makers = [bombay_agents.make(spec) for spec in specs]
        _check_new_file(save)
    warm_ups.prepare(warm_ups.jobs_of_agents(specs, board), as_json)
    records: list[Record] | None = [] if save else None
    rows: list[dict[str, Any]] = []
    faults: list[LostGame] = []
    with _progress("games", games * len(tables), as_json) as advance, redirect_stdout(sys.stderr):
        for game in tables:
            lineup = [makers[seat % len(makers)] for seat in range(game.num_players)]
            start = time.perf_counter()
            match = _play(arenas.run_fixed_seats, game, lineup, games, seed, progress=advance, records=records)
            seconds = time.perf_counter() - start
            rows += [
                {"players": game.num_players, "seconds": round(seconds, 3), **row}
                for row in statistics.seat_rows(match)
            ]
            faults += match.faults
    if save and records is not None:
        with user_input():
            write_records(save, records)
    data = {
        "command": "simulate",
        "games": games,
        "seed": seed,
        "seats": rows,
        "faults": [str(fault) for fault in faults[: statistics.MAX_FAULTS]],
        "records": str(save) if save else None,
    }
    table = new_table("simulate", ["players", "seat", "agent", "games", "win share", "mean final", "faults"])
    for row in rows:
        table.add_row(
            str(row["players"]),
            str(row["seat"]),
            cell(row["agent"]),
            str(row["games"]),
            f"{row['win_share']:.3f}",
            "–" if row["final"] is None else f"{row['final']:.2f}",
            str(row["faults"]),
        )
    _show(data, [table], as_json)
    _tell_faults(faults)
    if save and not as_json:
        out.print(f"{games * len(tables)} records are in {save}", markup=False)


@app.command()
def replay(
    path: Annotated[Path, typer.Argument(help="A file of game records (.jsonl).", metavar="FILE")],
    show: Annotated[
        int | None, typer.Option(help="Show this game position by position, counted from 1.", min=1)
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay game records and verify that each follows the rules."""
    rows: list[dict[str, Any]] = []
    with user_input():
        for number, record in enumerate(read_records(path), start=1):
            try:
                record.verify()
            except RecordError as error:
                raise RecordError(f"{path}, record {number}: {error}") from None
            rows.append(_record_row(number, record))
            if number == show and not as_json:
                _show_game(record)
        if show is not None and show > len(rows):
            raise ValueError(f"{path} holds {len(rows)} records; there is no record {show} to show")
        if not rows:
            raise ValueError(f"{path} holds no records")
    table = new_table(
        f"{path}: every record follows the rules", ["game", "players", "agents", "events", "final", "winners"]
    )
    for row in rows:
        table.add_row(*(cell(row[key]) for key in ("game", "players", "agents", "events", "final", "winners")))
    _show({"command": "replay", "file": str(path), "records": rows}, [table], as_json)


@app.command()
def arena(
    agents: Annotated[list[str], typer.Argument(help=f"Agents by name, or {OWN_AGENT}.")],
    players: Players = "4",
    blocks: Annotated[int, typer.Option(help="Deals, each in all seatings of a line-up.", min=1, max=MAX_COUNT)] = 100,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="1vrest: every pair both ways, one against copies of the other. 2v2: every pair, 4 players, all 6 seatings. "
            "mixed: all agents at one table, every choice of them where they are too many, repeated where they are too "
            "few. Unless given: 1vrest, and mixed where three agents or more are named, at three seats or more.",
        ),
    ] = None,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    processes: Processes = None,
    turn_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds a call of an agent may take for each game it decides in; who overruns it loses that game. "
            "The first call of a process has a minute more.",
            min=0.001,
            max=MAX_TURN_LIMIT,
        ),
    ] = None,
    save: Annotated[Path | None, typer.Option("--records", help="A new .jsonl file for the games' records.")] = None,
    as_json: Json = False,
) -> None:
    """Play agents against each other in blocks of one deal in several seatings, with intervals over blocks.

    An agent that raises, hangs (--turn-limit) or plays an illegal action loses that game: its win share there is 0 in all its
    seats, the others share 1 equally, and means of rupees leave the game out. Faults of one against the rest are shown as its
    own / those of the rest.
    """
    with user_input():
        tables = _games(players, rules, board)
        if len(agents) < 2:
            raise ValueError(
                f"the arena needs two agents or more, as in: bombay arena greedy random; given: {agents[0]}"
            )
        if len(set(agents)) < len(agents):
            raise ValueError(f"an agent is named twice among {', '.join(agents)}")
        if form is Form.TWO_VS_TWO and any(game.num_players != 4 for game in tables):
            raise ValueError(f"--format 2v2 is for 4 players; --players is {players}")
        for spec in agents:
            bombay_agents.make(spec)
        _check_new_file(save, "--records")
    warm_ups.prepare(warm_ups.jobs_of_agents(agents, board), as_json)
    pairings = [(game, pairing) for game in tables for pairing in _pairings(agents, game.num_players, form)]
    seatings = [6 if pairing[0] is Form.TWO_VS_TWO else game.num_players for game, pairing in pairings]
    records: list[Record] | None = [] if save else None
    matches = []
    with WorkerPool(processes, turn_limit) as pool, _progress("games", sum(seatings) * blocks, as_json) as advance:
        for game, (kind, lineup) in pairings:
            options = {"progress": advance, "records": records, "pool": pool}
            if kind is Form.MIXED:
                matches += _play(arenas.mixed, game, lineup, blocks, seed, **options)
            else:
                function = arenas.two_vs_two if kind is Form.TWO_VS_TWO else arenas.one_vs_rest
                matches.append(_play(function, game, *lineup, blocks, seed, **options))
    if save and records is not None:
        with user_input():
            write_records(save, records)
    data = {
        "command": "arena",
        "matches": [statistics.summary(match) for match in matches],
        "records": str(save) if save else None,
    }
    title = {Form.ONE_VS_REST: "one against the rest", Form.TWO_VS_TWO: "two against two", Form.MIXED: "all together"}
    tables_shown = [
        statistics.results_table([match for match in matches if match.format == kind.value], title[kind], out.width)
        for kind in Form
        if any(match.format == kind.value for match in matches)
    ]
    _show(data, tables_shown, as_json)
    _tell_faults([fault for match in matches for fault in match.faults])
    if save and not as_json:
        out.print(f"{sum(match.num_games for match in matches)} records are in {save}", markup=False)


@app.command()
def gate(
    new: Annotated[str, typer.Argument(help=f"The agent that wants the place: by name, or {OWN_AGENT}.")],
    old: Annotated[str, typer.Argument(help="The agent that has it.")],
    players: Players = "4",
    delta: Annotated[
        float, typer.Option(help="Win share above par that is worth a replacement for sure.")
    ] = gates.Bounds.delta,
    alpha: Annotated[
        float, typer.Option(help="Most probability of replacing by an agent that is no better.")
    ] = gates.Bounds.alpha,
    beta: Annotated[
        float, typer.Option(help="Most probability of turning down, before the last block, one better by delta.")
    ] = gates.Bounds.beta,
    max_blocks: Annotated[
        int, typer.Option(help="Most deals, each at all numbers of players and in all seatings.", min=1, max=MAX_COUNT)
    ] = 1000,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Let a new agent replace an old one only if it beats copies of it: exit code 0 if it does, 1 if not, 2 if the old faults.

    The match ends as soon as it has told enough, by a sequential test on the means of blocks, whose bounds hold however early
    it ends. At several numbers of players it is the mean win share that counts.
    """
    with user_input():
        tables = _games(players, rules, board)
        bounds = gates.Bounds(gates.par_of(tables), delta, alpha, beta)
        if new == old:
            raise ValueError(f"the new agent and the old one are the same: {new}")
        for spec in (new, old):
            bombay_agents.make(spec)
    warm_ups.prepare(warm_ups.jobs_of_agents((new, old), board), as_json)
    most = max_blocks * sum(game.num_players for game in tables)
    with WorkerPool(processes) as pool, _progress("games at most", most, as_json) as advance:
        verdict = _play(gates.gate, tables, new, old, bounds, max_blocks, seed, pool, advance)
    data = {"command": "gate", "new": new, "old": old, "seed": seed, **verdict.to_dict()}
    table = new_table(f"{new} against copies of {old}", ["players", "games", "win share", "par"])
    for row in data["counts"]:
        table.add_row(str(row["players"]), str(row["games"]), f"{row['win_share']:.3f}", f"{row['par']:.2f}")
    _show(data, [table], as_json)
    _tell_faults(verdict.faults)
    if not as_json:
        lines = (f"win share {verdict.estimate}, at any end of the match; par {bounds.par:.3f}", str(verdict))
        out.print(*lines, sep="\n", soft_wrap=True, markup=False, highlight=False)
    raise typer.Exit(0 if verdict.replaced else 1)


@app.command()
def audit(
    agent: Annotated[str, typer.Argument(help=f"An agent by name, or {OWN_AGENT}.")],
    players: Players = "2-5",
    states: Annotated[int, typer.Option(help="States to ask it in, in all.", min=1, max=MAX_COUNT)] = 400,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    as_json: Json = False,
) -> None:
    """Check that an agent decides by what it may see: exit code 0 if it does, 1 if not, 2 if that cannot be told.

    There is no time limit: an agent that hangs, hangs the audit.
    """
    with user_input():
        report = audits.audit_in_process(agent, _games(players, rules, board), states, seed)
    data = {"command": "audit", "agent": agent, **report.to_dict()}
    if as_json:
        print(json.dumps(data))
    else:
        out.print(cell(f"{agent}: {report}"), highlight=False, soft_wrap=True)
    raise typer.Exit({"passed": 0, "failed": 1}.get(report.verdict, 2))


class Learner(enum.StrEnum):
    """What `train` learns by."""

    TD = "td"
    PPO = "ppo"
    BR = "br"
    EXPERT = "expert"


@app.command()
def train(
    context: typer.Context,
    learner: Annotated[
        Learner,
        typer.Argument(
            help="td: values of turns' outcomes, without PyTorch. ppo: a policy, with the extra `ppo`. br: a best response by "
            "td to an agent, its --victim, that is frozen: what there is to exploit in it. expert: a value net, its --start, "
            "learns from games whose turns rollouts choose by it; it ends with the gate."
        ),
    ] = Learner.TD,
    minutes: Annotated[float, typer.Option(help="Minutes of learning.", min=0.01)] = 3.0,
    updates: Annotated[
        int | None, typer.Option(help="Learn for this many updates instead; repeats bit for bit.", min=1)
    ] = None,
    players: Players = "2-5",
    seed: Seed = 0,
    board: BoardFile = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads: 1 for ppo, all for others unless given.", min=1, max=MAX_COUNT)
    ] = None,
    hidden: Annotated[
        int | None, typer.Option(help="Width of td's and br's net; 64, or the victim's, unless given.", min=1, max=1024)
    ] = None,
    victim: Annotated[
        str | None,
        typer.Option(
            help="The agent that br responds to. A value net of td is given as many games as it learned from itself, where "
            "neither --minutes nor --updates stands.",
            metavar="AGENT",
        ),
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", help="Do not begin br with the weights of a victim that is td's.")
    ] = False,
    start_net: Annotated[
        str | None,
        typer.Option(
            "--start", help="The value net's player that expert begins with; td unless given.", metavar="AGENT"
        ),
    ] = None,
    rollouts: Annotated[
        int | None, typer.Option(help="Of expert's teacher, a turn; 64 unless given.", min=1, max=MAX_COUNT)
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--out", help="A new folder for the run; runs/<date> unless given.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on with the run in this folder, with its own settings, instead of a new one.", metavar="RUN"
        ),
    ] = None,
    blocks: Annotated[
        int, typer.Option(help="Deals a row of the closing table, and at most of expert's gate.", min=1, max=MAX_COUNT)
    ] = 250,
    as_json: Json = False,
) -> None:
    """Train an agent by self-play and end with its table against the reference agents."""
    with user_input():
        if resume is not None:
            given = [name for name in context.params if _is_given(context, name)]
            if set(given) - {"resume", "blocks", "as_json"}:
                raise ValueError(
                    "--resume goes on with a run in its folder, with its settings; give only --blocks and --json"
                )
            _check_name(resume)
            folder, run = resume, open_run(resume)
            settings: Any = run.settings
            start = functools.partial(run.loop, folder)
        else:
            folder = save or Path("runs") / time.strftime(f"{learner}-%Y%m%d-%H%M%S")
            _check_name(folder)
            Board.load(board)
            common: dict[str, Any] = {
                "minutes": minutes,
                "updates": updates,
                "players": _counts(players),
                "seed": seed,
                "board": str(board) if board else None,
            }
            if learner is not Learner.BR and (victim is not None or from_scratch):
                raise ValueError("--victim and --from-scratch are for br")
            if learner is not Learner.EXPERT and (start_net is not None or rollouts is not None):
                raise ValueError("--start and --rollouts are for expert")
            if learner is Learner.BR:
                settings = _response_settings(context, victim, hidden, from_scratch, threads, common)
                start = functools.partial(best_response.BestResponseRun(settings).start, folder)
            elif learner is Learner.TD:
                settings = td.TDSettings(**common, hidden=hidden or td.TDSettings.hidden, threads=threads or 0)
                start = functools.partial(train_learner, settings, folder)
            elif hidden is not None:
                raise ValueError("--hidden is for td and br")
            elif learner is Learner.EXPERT:
                settings = expert_iteration.settings_for(
                    expert_iteration.ExpertIterationSettings.start if start_net is None else start_net,
                    rollouts=rollouts,
                    threads=threads,
                    **common,
                )
                start = functools.partial(expert_iteration.ExpertIterationRun(settings).start, folder)
            else:
                settings = run_class(learner).settings_class(**common, threads=threads or 1)  # type: ignore[call-arg]
                start = functools.partial(train_learner, settings, folder)
            _check_new_folder(folder)
    warm_ups.prepare(warm_ups.jobs_of_run(settings), as_json)
    progress = _TrainingProgress(as_json)
    try:
        with progress:
            path = start(progress)
    except AgentFault as error:
        raise typer.BadParameter(str(error)) from None
    except KeyboardInterrupt:
        if (folder / run_files.CHECKPOINT).exists():
            err.print(f"To go on: bombay train --resume {folder}", markup=False, highlight=False, soft_wrap=True)
        raise
    where = Path(settings.board) if settings.board else None
    responds = isinstance(settings, best_response.BestResponseSettings)
    rivals = [settings.victim] if responds else REFERENCES
    matches = _judge(path, rivals, settings.players, where, blocks, settings.seed, as_json)
    data = {"command": "train", "agent": str(path), "matches": [statistics.summary(match) for match in matches]}
    title = "the new agent"
    if responds:
        data |= {"victim": settings.victim, **best_response.budgets(path, settings.victim)}
        title = f"best response to copies of {settings.victim}"
    _tell_faults([fault for match in matches for fault in match.faults])
    run_files.write_json(folder / EVALUATION, data)
    if isinstance(settings, expert_iteration.ExpertIterationSettings):
        data["gate"] = _gate_expert(path, settings, where, blocks, as_json)
        run_files.write_json(folder / EVALUATION, data)
    drawn = _draw_curve(folder)
    _show(data, [statistics.results_table(matches, f"{title} after {progress.summary}", out.width)], as_json)
    if not as_json:
        if responds:
            out.print(_budget(data), markup=False, highlight=False)
        if "gate" in data:
            out.print(f"Against copies of {settings.start}: {data['gate']['verdict']}", soft_wrap=True, markup=False)
        counts = ",".join(map(str, settings.players))
        lines = (
            f"The agent, its settings, seed, versions and metrics are in {folder}",
            drawn,
            f"Play it on: bombay arena 'net:path={path}' greedy --players {counts}",
        )
        out.print(*lines, sep="\n", soft_wrap=True, markup=False)


@app.command()
def curve(
    folders: Annotated[list[Path], typer.Argument(help="Folders of runs, also of one under way.", metavar="RUN…")],
    save: Annotated[
        Path | None,
        typer.Option("--out", help="A new .png file; unless given, learning_curve.png in the folder of the one run."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw the learning curve of a run, or of several in one picture: win share, losses, learning rate."""
    with user_input():
        curves = _analysis_module("learners.curve")
        if save is None and len(folders) > 1:
            raise ValueError("several runs go into a picture of their own; name a new .png file with --out")
        if save is not None and save.suffix != ".png":
            raise ValueError(f"{save} is no .png file; name one with --out")
        found = [curves.read_run(folder) for folder in folders]
        _check_new_file(save)
        file = save or folders[0] / curves.FILE
        curves.draw(found, file)
    data = {"command": "curve", "file": str(file), "runs": [run.summary() for run in found]}
    table = new_table("runs", ["run", "updates", "minutes", "against", "last win share"])
    for row in data["runs"]:
        for reference, share in row["win_shares"].items() or [("–", None)]:
            figures = f"{row['updates']:,}", f"{row['minutes']:.1f}", cell(reference)
            table.add_row(cell(row["run"]), *figures, "–" if share is None else f"{share:.2f}")
    _show(data, [table], as_json)
    if not as_json:
        out.print(f"The curve is in {file}", soft_wrap=True, markup=False, highlight=False)


@app.command()
def balance(
    tier: Annotated[
        list[str] | None,
        typer.Option(
            help="An agent to study, and how many games of it where not --games; give it again for others. "
            f"Unless given: {', '.join(balances.TIERS)}.",
            metavar="SPEC[@GAMES]",
        ),
    ] = None,
    players: Players = "2-5",
    games: Annotated[int, typer.Option(help="Deals, each played once.", min=1, max=MAX_COUNT)] = 20_000,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Also play with a field of Rules changed, on the same deals: starting_rupees.4=2,3 or toll=0,2. "
            "Several are tried one by one.",
            metavar="FIELD[.INDEX]=V1,V2",
        ),
    ] = None,
    seed: Seed = 0,
    rules: RulesFile = None,
    board: BoardFile = None,
    processes: Annotated[
        int | None,
        typer.Option("--workers", help="Processes, which change nothing but the time; one a core unless given.", min=1),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--out", help="A new folder for report.md, report.json and plots.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Study whether the game is fair to every seat: all seats by the same agent, with an account of every rupee."""
    with user_input(), redirect_stdout(sys.stderr):  # what agents print is not part of the results
        tables = _games(players, rules, board)
        tiers = [balances.Tier.parse(text, games, MAX_COUNT) for text in tier or balances.TIERS]
        if len({one.spec for one in tiers}) < len(tiers):
            raise ValueError(f"an agent is named twice among {', '.join(one.spec for one in tiers)}")
        planned, notes = balances.plan(tables, tiers, [balances.Change.parse(text) for text in vary or []])
        reports = _analysis_module("balance.report")
        _check_new_folder(save)
    total = sum(table.tier.games for table in planned)
    with _progress("games", total, as_json) as advance, redirect_stdout(sys.stderr):
        try:
            books = balances.run(planned, seed, processes or num_cores(), advance)
        except AgentFault as error:
            raise typer.BadParameter(str(error)) from None
    data = reports.make_report(planned, books, seed, notes)
    if save:
        with user_input():
            reports.write_report(save, data)
    _show(data, reports.tables(data), as_json)
    if not as_json:
        out.print(*data["notes"], sep="\n", markup=False, highlight=False)
        out.print(f"The report and its plots are in {save}" if save else "", markup=False)


@app.command()
def bench(
    players: Annotated[int, typer.Option(help="Number of players.", min=MIN_PLAYERS, max=MAX_PLAYERS)] = 4,
    threads: Annotated[
        str | None, typer.Option(help="Threads to measure with, such as 1 or 1,2; 1 and all unless given.")
    ] = None,
    repeats: Annotated[int, typer.Option(help="Runs of each row.", min=1, max=MAX_COUNT)] = 5,
    seconds: Annotated[float, typer.Option(help="Length of a run, about.", min=0.01, max=600)] = 1.0,
    learners: Annotated[bool, typer.Option(help="Also measure how fast TD and PPO learn, and by what parts.")] = True,
    peers: Annotated[bool, typer.Option(help="Also measure other environments, where they are installed.")] = True,
    old: Annotated[
        Path | None, typer.Option("--compare", help="A report saved with --json, to set beside.", metavar="FILE")
    ] = None,
    signature: Annotated[
        bool,
        typer.Option("--signature", help="Only print what seeded random games come to, a line a number of players."),
    ] = False,
    cold: Annotated[
        bool, typer.Option("--cold-start", help="Only measure the first use with no kernel compiled; a few minutes.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure how fast every interface is, beside what the machine can write and beside other environments."""
    with user_input():
        counts = _threads(threads)
        before = bench_report.read_report(old) if old else None
        if before and before["players"] != players:
            raise ValueError(f"{old} is for {before['players']} players; compare it with --players {before['players']}")
    if signature:
        signatures = {str(count): benchmarks.signature(count) for count in range(MIN_PLAYERS, MAX_PLAYERS + 1)}
        if as_json:
            print(json.dumps({"command": "bench", "games": benchmarks.SIGNATURE_GAMES, "signatures": signatures}))
        else:
            print(*(f"{count} {value}" for count, value in signatures.items()), sep="\n")
        return
    if cold:
        with err.status("measuring the first use") if not as_json else nullcontext():
            data = cold_start.measure()
        _show(data, cold_start.tables(data), as_json)
        return
    with err.status("measuring") if not as_json else nullcontext() as status:
        data = bench_report.report(
            players,
            counts,
            repeats,
            seconds,
            learners,
            peers,
            lambda what: status.update(f"measuring: {what}") if status else None,
        )
    if before:
        data["comparison"] = bench_report.compare(before, data)
    _show(data, bench_report.tables(data), as_json)
    if not as_json:
        for line in data["absent"]:
            out.print(f"not measured: {line}", markup=False, highlight=False)


# --- what the commands share ---


@app.command("warm-up")
def warm_up(
    processes: Processes = None,
    as_json: Json = False,
) -> None:
    """Compile all kernels now, for environments, agents and learners, so that no command has to later."""
    try:
        names = warm_ups.compile_all(warm_ups.all_jobs(), processes, as_json)
    except warm_ups.WarmUpError as error:
        print(f"bombay: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    if as_json:
        print(json.dumps({"command": "warm-up", "compiled": names}))
    else:
        out.print(f"Compiled {len(names)} functions" if names else "Everything was compiled before", highlight=False)


def _counts(players: str) -> tuple[int, ...]:
    """Numbers of players from "4", "2-5" or "2,4", ascending and each once."""
    counts: set[int] = set()
    for part in players.split(","):
        low, dash, high = part.strip().partition("-")
        known = [str(count) for count in range(MIN_PLAYERS, MAX_PLAYERS + 1)]
        if low not in known or (dash and (high not in known or high < low)):
            allowed = f"numbers from {MIN_PLAYERS} to {MAX_PLAYERS}, such as 4, 2-5 or 2,4"
            raise ValueError(f"--players is {players[:40]!r}; it must be {allowed}")
        counts |= set(range(int(low), int(high or low) + 1))
    return tuple(sorted(counts))


def _threads(threads: str | None) -> list[int]:
    """Numbers of threads from "1" or "1,2", each once and ascending; None: 1 and all that Numba has."""
    most = numba.config.NUMBA_NUM_THREADS
    if threads is None:
        return sorted({1, most})
    parts = [part.strip() for part in threads.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= most for part in parts):
        raise ValueError(
            f"--threads is {threads[:40]!r}; it must be numbers from 1 to {most}, the threads that Numba has here"
        )
    return sorted(set(map(int, parts)))


def _games(players: str, rules: Path | None, board: Path | None) -> list[Game]:
    """A game for each number of players; the rules file gives the fields that differ from the official ones."""
    changes: Any = {}
    if rules is not None:
        try:
            changes = json.loads(rules.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{rules} cannot be read as JSON: {error}") from None
        if not isinstance(changes, dict) or "num_players" in changes:
            raise ValueError(f"{rules} must be an object with fields of Rules, without num_players (give --players)")
    where = Board.load(board)
    return [Game(Rules.from_dict({"num_players": count, **changes}), where) for count in _counts(players)]


def _pairings(agents: list[str], num_players: int, form: Form | None) -> list[tuple[Form, tuple[str, ...]]]:
    """The line-ups of the agents at a table, with how each is played; one agent against the rest is given as a pair."""
    pairings: list[tuple[Form, tuple[str, ...]]] = []
    if form in (None, Form.ONE_VS_REST):
        pairings += [(Form.ONE_VS_REST, pair) for pair in itertools.permutations(agents, 2)]
    if form is Form.TWO_VS_TWO:
        pairings += [(form, pair) for pair in itertools.combinations(agents, 2)]
    if form is Form.MIXED or (form is None and min(len(agents), num_players) > 2):
        pairings += [(Form.MIXED, lineup) for lineup in arenas.mixed_lineups(agents, num_players)]
    return pairings


def _tell_faults(faults: Sequence[LostGame]) -> None:
    """The first fault of each agent, on standard error."""
    for name in dict.fromkeys(fault.name for fault in faults):
        mine = [fault for fault in faults if fault.name == name]
        err.print(
            cell(f"{name} lost {len(mine)} games by faults; the first: {mine[0]}"), soft_wrap=True, highlight=False
        )


def _check_new_file(path: Path | None, option: str = "--out") -> None:
    if path is None:
        return
    if path.exists():
        raise ValueError(f"{path} exists already; name a new file with {option}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path} cannot be written: there is no folder {path.absolute().parent}")
    path.touch()  # found out now rather than when the games are played
    path.unlink()


def _check_name(folder: Path) -> None:
    """Raise ValueError if what is in the folder could not be named in an agent's spec."""
    if set(str(folder)) & set(",[]"):
        raise ValueError(f"{folder}: a folder with a comma or a bracket in its name cannot stand in a spec; rename it")


def _check_new_folder(folder: Path | None) -> None:
    if folder is None:
        return
    if folder.exists():
        raise ValueError(f"{folder} exists already; name a new folder with --out")
    folder.mkdir(parents=True)
    folder.rmdir()  # only to find out now whether it can be made


def _play(function: Any, *arguments: Any, **options: Any) -> Any:
    """Matches; what cannot be played ends the command with one line."""
    try:
        return function(*arguments, **options)
    except (OSError, RuntimeError, ValueError) as error:
        raise typer.BadParameter(" ".join(str(error).split())) from None


def _record_row(number: int, record: Record) -> dict[str, Any]:
    result = record.result or {}
    return {
        "game": number,
        "players": record.game.num_players,
        "agents": list(record.agents),
        "events": len(record.events),
        "final": result.get("final"),
        "winners": result.get("winners"),
    }


def _show_game(record: Record) -> None:
    for number, states in record.replay():
        out.print(cell(f"event {number}: {record.events[number]}"), style="bold", highlight=False)
        out.print(text.draw(record.game, states), markup=False, highlight=False)
        out.print()


def _show(data: dict[str, Any], tables: list[Table], as_json: bool) -> None:
    if as_json:
        print(json.dumps(data))
        return
    for table in tables:
        out.print(table)


@contextmanager
def _progress(unit: str, total: int, quiet: bool) -> Iterator[Any]:
    """A bar on standard error; yields what moves it on. It vanishes at the end, and is not shown beside JSON."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        task = bar.add_task(unit, total=total)
        yield lambda count: bar.advance(task, count)


class _TrainingProgress:
    """The bar of a training run: time left, the figures of the last update and the win shares of the last quick matches."""

    def __init__(self, quiet: bool) -> None:
        columns = (BarColumn(16), TimeRemainingColumn(), TextColumn("{task.description}"))  # in a narrow terminal
        self.bar = Progress(*columns, console=err, disable=quiet)
        self.task = self.bar.add_task("compiling", total=1.0)
        self.summary = "no update"
        self.shares: dict[str, float] = {}  # of the win against references, when last judged

    def __enter__(self) -> "_TrainingProgress":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def phase(self, name: str) -> None:
        """Called by the run when it begins to compile or to learn."""
        self.bar.update(self.task, description=name)

    def update(self, fraction: float, metrics: Any) -> None:
        """Called by the run."""
        figures = "first games"
        if metrics:
            learned = "decisions" if "decisions" in metrics else "positions"
            count, minutes = metrics[learned], metrics["seconds"] / 60
            self.summary = f"{minutes:.1f} min, {int(count):,} {learned}"
            self.shares |= run_files.win_shares(metrics)
            wins = ", ".join(f"{share:.2f} {spec}" for spec, share in self.shares.items())
            figures = f"{int(count):,} {learned}" + (f", wins: {wins}" if wins else "")
        self.bar.update(self.task, completed=fraction, description=figures)


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option or argument stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _analysis_module(name: str) -> Any:
    """A module that draws, imported only here: the other commands need neither SciPy nor Matplotlib."""
    try:
        import matplotlib  # noqa: F401 - found out now rather than when the games are played

        return importlib.import_module(f"bombay_training.{name}")
    except ImportError as error:
        raise ValueError(missing_extra("this", "analysis", error)) from None


def _draw_curve(folder: Path) -> str:
    """Draw the learning curve of a run that is over; what hinders it is no harm to the run. Returns a line that says so."""
    try:
        curves = _analysis_module("learners.curve")
        curves.draw([curves.read_run(folder)], folder / curves.FILE)
    except (ValueError, OSError) as error:
        return f"No learning curve: {' '.join(str(error).split())}"
    return f"The learning curve is in {folder / curves.FILE}"


def _response_settings(
    context: typer.Context,
    victim: str | None,
    hidden: int | None,
    from_scratch: bool,
    threads: int | None,
    common: dict[str, Any],
) -> best_response.BestResponseSettings:
    """The settings of a best response; the victim decides how long it learns unless that is given."""
    if victim is None:
        raise ValueError("br needs the agent to respond to, as in: bombay train br --victim planner-v1")
    if not _is_given(context, "minutes"):
        common = {**common, "minutes": None}
    return best_response.settings_for(victim, hidden, from_scratch=from_scratch, threads=threads or 0, **common)


def _gate_expert(
    path: Path, settings: expert_iteration.ExpertIterationSettings, board: Path | None, blocks: int, quiet: bool
) -> dict[str, Any]:
    """Whether the new agent takes the place of the one that it began as, by a match."""
    games = [Game(Rules.official(count), Board.load(board)) for count in settings.players]
    bounds = gates.Bounds(gates.par_of(games))
    new = f"net:path={path},rounds={_play(expert_iteration.net_of, settings.start).rounds}"
    most = blocks * sum(settings.players)
    with WorkerPool() as pool, _progress("gate, games at most", most, quiet) as advance:
        verdict = _play(gates.gate, games, new, settings.start, bounds, blocks, settings.seed, pool, advance)
    return {**verdict.to_dict(), "verdict": str(verdict)}


def _budget(data: dict[str, Any]) -> str:
    """Whether a best response has learned for as long as its victim, in words."""
    games, victim_games = data["games"], data["victim_games"]
    if victim_games is None:
        return f"It learned from {games:,} games; what its victim learned from is not told by a file."
    enough = "at least as many as" if games >= victim_games else "FEWER than"
    return f"It learned from {games:,} games, {enough} its victim ({victim_games:,})."


def _judge(
    path: Path,
    opponents: Sequence[str],
    counts: tuple[int, ...],
    board: Path | None,
    blocks: int,
    seed: int,
    quiet: bool,
) -> list[Match]:
    """The new agent against copies of each of some others at each number of players it learned."""
    new = bombay_agents.make(f"net:path={path}")
    new.name = "new agent"
    rivals = [bombay_agents.make(name) for name in opponents]
    games = [Game(Rules.official(count), Board.load(board)) for count in counts]
    with _progress("judging", sum(counts) * blocks * len(rivals), quiet) as advance:
        # Deals of a stream of their own: the arena's are keyed apart from those the agent learned on.
        return [
            _play(arenas.one_vs_rest, game, new, rival, blocks, seed, progress=advance)
            for game in games
            for rival in rivals
        ]


if __name__ == "__main__":
    main()
