"""`bombay train`: a command for each learner, made from its settings, and `resume`. They end with matches and their table."""

import dataclasses
import inspect
import itertools
import shlex
import time
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, TimeRemainingColumn

import bombay_agents
from bombay_env.checks import shown
from bombay_env.files.forms import allowed
from bombay_training import extras, warm_up
from bombay_training.cli import output
from bombay_training.cli.options import (
    AGENT_HELP,
    BoardFile,
    Players,
    check_spec_path,
    complete_agent,
    count,
    player_counts,
)
from bombay_training.cli.playing import prepare
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation import arena
from bombay_training.learners import best_response as responses
from bombay_training.learners.best_response import BestResponseSettings
from bombay_training.learners.runs import Progress, Run, run_files
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.track import Snapshots
from bombay_training.learners.train import open_run
from bombay_training.matches import statistics
from bombay_training.matches.match import Match
from bombay_training.variants import games_for

BLOCKS: Final = 250  # deals for each row of the closing table
RESPONSE_BLOCKS: Final = 100  # likewise after a best response, for which a tree plays, too
REFERENCES: Final[tuple[str, ...]] = ("random", "greedy", "planner-v1")  # opponents of the closing table
# Specs of the agents that play in it, by their names there, with {} for the net's file. The tree takes at most 5 ms a turn.
AGENTS: Final = {"new agent": "net:path={}"}
TREE: Final = {"new agent, 150 nodes": "zero-search:nodes=150,value=[net:path={}]"}
PANEL: Final = "Settings of the learner"
VICTIM: Final = f"The frozen agent to respond to. {AGENT_HELP}."

RunFolder = Annotated[
    Path | None, typer.Option("--out", help="A new folder for the run. Default: runs/LEARNER-DATE-TIME.")
]
Blocks = Annotated[int, count("Deals for each row of the closing table.")]


# --- Options from settings ---


def with_options(settings_class: type[RunSettings], command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every field of the settings that is not among its own parameters.

    The command receives their values as `**options`. Type, default, help and limits of an option are those of the field.
    """
    *own, _ = inspect.signature(command).parameters.values()  # without `options`
    named, types = {one.name for one in own}, typing.get_type_hints(settings_class)
    fields = [field for field in dataclasses.fields(settings_class) if field.name not in named]
    signature = inspect.Signature([*own, *(_option(field, types[field.name]) for field in fields)])
    command.__signature__ = signature  # type: ignore[attr-defined]
    return command


def _option(field: dataclasses.Field[Any], kind: Any) -> inspect.Parameter:
    """The parameter of a command for a field. A list of numbers is given as in 128,64."""
    default, parser = field.default, None
    if isinstance(default, tuple):
        kind, default, parser = str, ",".join(map(str, default)), _whole_numbers
    help = f"{field.metadata['sentence']} Allowed: {allowed(field)}."
    annotation = Annotated[kind, typer.Option(help=help, parser=parser, rich_help_panel=PANEL)]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _whole_numbers(text: str) -> tuple[int, ...]:
    """The numbers in 128,64; none in an empty text. Raises typer.BadParameter for anything else."""
    try:
        return tuple(int(part) for part in text.split(",") if text)
    except ValueError:
        raise typer.BadParameter(f"{shown(text)} is no list of whole numbers, such as 128,64") from None


# --- Commands ---


def command_of(settings_class: type[RunSettings]) -> Callable[..., None]:
    """The command that trains by these settings."""

    @command
    def learner(
        players: Players = "2-5",
        board: BoardFile = None,
        out: RunFolder = None,
        blocks: Blocks = BLOCKS,
        **options: Any,
    ) -> Result:
        options |= {"players": player_counts(players), "board": board}
        return train_and_evaluate(*new_run(settings_class(**options), out), blocks)

    learner.__doc__ = settings_class.help
    return with_options(settings_class, learner)


@partial(with_options, BestResponseSettings)
@command
def best_response(
    context: typer.Context,
    victim: Annotated[str, typer.Option(help=VICTIM, metavar="AGENT", autocompletion=complete_agent)],
    players: Players = "2-5",
    board: BoardFile = None,
    out: RunFolder = None,
    blocks: Blocks = RESPONSE_BLOCKS,
    **options: Any,
) -> Result:
    """Train a best response by `zero` to copies of a frozen agent, to find out how exploitable it is.

    By default it starts from the victim's weights if that is a value net, else from those of `zero`, with the widths of that net.
    It learns from as many games as the victim did, if the victim's file says how many and neither minutes, updates nor decisions
    are given.
    """
    sources = {name: context.get_parameter_source(name) for name in options}
    given = {name: options[name] for name, source in sources.items() if source and source.name != "DEFAULT"}
    given |= {"players": player_counts(players), "board": board}
    return train_and_evaluate(*new_run(responses.settings_for(victim, **given), out), blocks)


@command
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run.", metavar="FOLDER")],
    blocks: Annotated[int | None, count("Deals for each row of the closing table. Default: as for a new run.")] = None,
) -> Result:
    """Continue a run from its last checkpoint, with its own settings, and end it as usual."""
    check_spec_path(folder)
    return train_and_evaluate(open_run(folder), folder, blocks)


# --- A run ---


def new_run(settings: RunSettings, out: Path | None = None) -> tuple[Run, Path]:
    """A run, and its folder, which does not exist yet, or holds only what a process left that was killed before its run began.

    Raises:
        ValueError: the run cannot start, the folder exists, or a net in it could not be named in an agent's spec.
        OSError: the folder cannot be created.
    """
    run: Run = settings.run_class()(settings)
    folder = out or Path("runs") / time.strftime(f"{settings.learner}-%Y%m%d-%H%M%S")
    check_spec_path(folder)
    if not run_files.is_unused(folder):
        raise ValueError(f"{folder} exists already; name a new folder with --out")
    if not folder.exists():  # see whether it can be created, before anything is compiled
        folder.mkdir(parents=True)
        folder.rmdir()
    return run, folder


def learn_or_continue(folder: Path, settings: RunSettings, snapshots: Sequence[int] = ()) -> None:
    """Begin or continue the run in a folder, unless it is complete.

    Args:
        folder: of the run.
        settings: of a new run. An older one must have the same.
        snapshots: numbers of decisions at which the agent is kept.
    """
    run: Run = open_run(folder) if (folder / run_files.SETTINGS).exists() else settings.run_class()(settings)
    if run.settings != settings:
        run.close()
        raise ValueError(f"{folder} holds another run; name another folder with --out")
    follower = Snapshots(run, folder, snapshots) if snapshots else None
    learn(run, folder, follower, "repeat the same command; the run is in")


def learn(
    run: Run, folder: Path, follower: Progress | None = None, again: str = "bombay train resume"
) -> tuple[Path, str]:
    """Run the training with a progress bar.

    Args:
        run: a new run, whose folder is created unless it holds a run by now, or one that was opened.
        folder: of the run.
        follower: who follows the run besides the bar.
        again: what continues the run in the folder if it is stopped.
    Returns:
        The path of the agent, and the amount of learning in words.
    """
    compile, progress = partial(prepare, warm_up.jobs_of_run(run.settings, REFERENCES)), TrainingProgress(follower)
    try:
        if run.folder is None:
            run.create(folder, replace=False, compile=compile)
        else:
            compile()
        with progress.bar:
            path = run.loop(progress)
    except KeyboardInterrupt:
        if (folder / run_files.CHECKPOINT).exists():
            output.note(f"To continue the run: {again} {folder}")
        raise
    return path, progress.summary


class TrainingProgress(Progress):
    """The progress bar of a run: time left, how much was learned from, and the win shares of the last quick matches.

    Args:
        follower: who is told, too.
    """

    def __init__(self, follower: Progress | None = None) -> None:
        columns = (BarColumn(16), TimeRemainingColumn(), output.description())  # fits a narrow terminal
        self.bar = output.new_progress(*columns)
        self.task = self.bar.add_task("", total=1.0)
        self.summary = "no update"
        self.shares: dict[str, float] = {}  # the last win share against each reference
        self.follower = follower

    def update(self, fraction: float, metrics: Mapping[str, float]) -> None:
        """Show the fraction of the run that is over and the metrics of the last update."""
        description = "first games"
        if metrics:
            decisions = f"{int(metrics['decisions']):,} decisions"
            self.summary = f"{metrics['seconds'] / 60:.1f} min, {decisions}"
            self.shares |= run_files.win_shares(metrics)
            wins = ", ".join(f"{share:.2f} {spec}" for spec, share in self.shares.items())
            description = decisions + (f", wins: {wins}" if wins else "")
        self.bar.update(self.task, completed=fraction, description=description)
        if self.follower:
            self.follower.update(fraction, metrics)


# --- What a run ends with ---


def train_and_evaluate(run: Run, folder: Path, blocks: int | None = None) -> Result:
    """Run the training, and end with the table of `closing_matches`, which is saved, too."""
    path, summary = learn(run, folder)
    settings, title, lines = run.settings, f"the new agent after {summary}", list[str]()
    matches = closing_matches(path, settings, blocks)
    data: dict[str, Any] = {"command": "train", "agent": str(path)}
    data["matches"] = [statistics.summary(match) for match in matches]
    if isinstance(settings, BestResponseSettings):
        title = f"best response to copies of {settings.victim} after {summary}"
        data |= {"victim": settings.victim, **responses.budgets(path, settings.victim)}
        lines = [_budget(data["games"], data["victim_games"])]

    def save() -> Iterator[str]:
        run_files.write_json(folder / run_files.EVALUATION, data)
        yield from lines
        yield f"The agent, its settings, seed, versions and metrics are in {folder}"
        yield draw_curve(folder)
        counts = ",".join(map(str, settings.players))
        files = {"--rules": settings.rules, "--board": settings.board}
        given = "".join(f" {option} {shlex.quote(file)}" for option, file in files.items() if file)
        yield f"More games: bombay arena 'net:path={path}' greedy --players {counts}{given}"

    return Result(data, [statistics.results_table(matches, title, output.out.width)], then=save)


def closing_matches(path: Path, settings: RunSettings, blocks: int | None = None) -> list[Match]:
    """The net in a file against copies of each reference agent, for every number of players it learned with.

    A best response meets its victim instead, without and with a tree. The deals come from another stream of chance than those of
    the training. `blocks` is their number for each match; None for the usual one.
    """
    specs, opponents, usual_blocks = AGENTS, REFERENCES, BLOCKS
    if isinstance(settings, BestResponseSettings):
        specs, opponents, usual_blocks = AGENTS | TREE, (settings.victim,), RESPONSE_BLOCKS
    blocks = blocks or usual_blocks
    agents: list[Any] = [bombay_agents.make(spec.format(path)) for spec in specs.values()]
    for agent, name in zip(agents, specs, strict=True):
        agent.name = name
    rivals = [bombay_agents.make(spec) for spec in opponents]
    games = games_for(settings.players, settings.rules, settings.board)
    pairings = list(itertools.product(games, agents, rivals))
    with output.progress_bar("evaluation", blocks * sum(game.num_players for game, *_ in pairings)) as advance:
        matches = [arena.one_vs_rest(*pairing, blocks, settings.seed, progress=advance) for pairing in pairings]
    output.report_faults([fault for match in matches for fault in match.faults])
    return matches


def learn_response(run: Run, folder: Path) -> list[dict[str, Any]]:
    """Train a best response. Returns its win shares against copies of its victim, as plain JSON types."""
    path, _ = learn(run, folder)
    return [
        {
            "players": match.game.num_players,
            "response": match.agents[0],
            "win_share": statistics.share_with_interval(match).to_dict(),
            "par": statistics.par(match),
            "games": match.num_games,
        }
        for match in closing_matches(path, run.settings)
    ]


def _budget(games: int, victim_games: int | None) -> str:
    """A sentence that compares what a response and its victim learned from."""
    if victim_games is None:
        return f"It learned from {games:,} games. No file says how many its victim learned from."
    enough = "at least as many as" if games >= victim_games else "FEWER than"
    return f"It learned from {games:,} games, {enough} its victim ({victim_games:,})."


def draw_curve(folder: Path) -> str:
    """Draw the learning curve of a finished run. Returns a line that says where it is, or why there is none."""
    try:
        curves = extras.load("learners.curve", "analysis", "this")
        curves.draw([curves.read_run(folder)], folder / run_files.CURVE)
    except (ValueError, OSError) as error:
        return f"No learning curve: {' '.join(str(error).split())}"
    return f"The learning curve is in {folder / run_files.CURVE}"
