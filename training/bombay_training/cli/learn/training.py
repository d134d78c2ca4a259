"""What all `bombay train` commands share: their options, the progress bar, and the closing matches and table."""

import functools
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, TimeRemainingColumn

import bombay_agents
from bombay_env.agent import AgentFault
from bombay_training import warm_up
from bombay_training.cli import output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import MATCH_ERRORS, user_input
from bombay_training.cli.inputs import analysis_module, check_spec_path
from bombay_training.cli.options import MAX_COUNT
from bombay_training.evaluation import arena
from bombay_training.learners.runs import Progress as RunProgress
from bombay_training.learners.runs import Run, run_files
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.train import open_run, run_class
from bombay_training.matches import statistics
from bombay_training.matches.results import Match
from bombay_training.variants import games_for

BLOCKS: Final = 250  # deals for each row of the closing table
REFERENCES: Final = ("random", "greedy", "planner-v1")  # opponents of the closing table
FILE: Final = "FILE"  # stands for the net's file in the spec of an agent
POLICY: Final = f"net:path={FILE}"
LOOKING_AHEAD: Final = f"zero-search:nodes=150,value=[{POLICY}]"  # at most 5 ms a turn
AGENTS: Final = {"new agent": POLICY}  # that play in it

RunFolder = Annotated[
    Path | None, typer.Option("--out", help="A new folder for the run. Default: runs/LEARNER-DATE-TIME.")
]
Blocks = Annotated[int, typer.Option(help="Deals for each row of the closing table.", min=1, max=MAX_COUNT)]


class TrainingProgress(RunProgress):
    """The progress bar of a run: time left, how much was learned from, and the win shares of the last periodic matches."""

    def __init__(self, quiet: bool) -> None:
        columns = (BarColumn(16), TimeRemainingColumn(), output.description())  # fits a narrow terminal
        self.bar = output.new_progress(*columns, quiet=quiet)
        self.task = self.bar.add_task("compiling", total=1.0)
        self.summary = "no update"
        self.shares: dict[str, float] = {}  # the last win share against each reference

    def __enter__(self) -> "TrainingProgress":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def phase(self, name: str) -> None:
        """Show what the run is doing: compiling, then learning."""
        self.bar.update(self.task, description=name)

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


def new_folder(out: Path | None, learner: str) -> Path:
    """The folder of a new run, which does not exist yet, or holds only what a process left that was killed before its run began.

    Raises:
        ValueError: it exists, or a net in it could not be named in an agent's spec.
        OSError: it cannot be created.
    """
    folder = out or Path("runs") / time.strftime(f"{learner}-%Y%m%d-%H%M%S")
    check_spec_path(folder)
    if not run_files.is_unused(folder):
        raise ValueError(f"{folder} exists already; name a new folder with --out")
    if not folder.exists():  # see whether it can be created, before anything is compiled
        folder.mkdir(parents=True)
        folder.rmdir()
    return folder


def learn(
    run: Run,
    folder: Path,
    quiet: bool,
    follow: Callable[[RunProgress], RunProgress] = lambda shown: shown,
    again: str = "bombay train resume",
) -> tuple[Path, str]:
    """Run the training with a progress bar.

    Args:
        run: a new run, or one that was opened.
        folder: of the run; for a new run it is created, unless it holds a run by now.
        quiet: show no bar.
        follow: makes who follows the run of what shows the bar.
        again: what continues the run in the folder if it is stopped.
    Returns:
        The path of the agent, and the amount of learning in words.
    """
    compile = functools.partial(prepare, warm_up.jobs_of_run(run.settings, REFERENCES), quiet)
    progress = TrainingProgress(quiet)
    try:
        with user_input(AgentFault, ValueError, OSError):
            if run.folder is None:
                run.create(folder, replace=False, compile=compile)
            else:
                compile()
        with progress, user_input(AgentFault, OverflowError, OSError):
            path = run.loop(folder, follow(progress))
    except KeyboardInterrupt:
        if (folder / run_files.CHECKPOINT).exists():
            line = f"To continue the run: {again} {folder}"
            output.err.print(line, markup=False, highlight=False, soft_wrap=True)
        raise
    return path, progress.summary


def learn_or_continue(
    folder: Path,
    settings: RunSettings,
    quiet: bool,
    follow: Callable[[Run, RunProgress], RunProgress] = lambda run, shown: shown,
) -> None:
    """Begin or continue the run in a folder, unless it is complete.

    Args:
        folder: of the run.
        settings: of a new run. An older one must have the same.
        quiet: show no bar.
        follow: makes who follows the run of it and of what shows the bar.
    """
    with user_input():
        run: Run = open_run(folder) if (folder / run_files.SETTINGS).exists() else run_class(settings.learner)(settings)
        if run.settings != settings:
            run.close()
            raise ValueError(f"{folder} holds another run; name another folder with --out")
    learn(run, folder, quiet, functools.partial(follow, run), "repeat the same command; the run is in")


def closing_matches(
    path: Path,
    opponents: Sequence[str],
    settings: Any,
    blocks: int,
    quiet: bool,
    agents: Mapping[str, str] = AGENTS,
) -> tuple[list[Match], dict[str, Any]]:
    """The new agent against copies of each opponent, for every number of players it learned with.

    The deals come from another stream of chance than those of the training.

    Args:
        path: the file of its net.
        opponents: specs.
        settings: of the run.
        blocks: deals of each match.
        quiet: show no bar.
        agents: ways in which the net plays, as specs with `FILE` for the net's file, by their names in the table.
    Returns:
        The matches, and the data of the closing table.
    """
    new: list[Any] = [bombay_agents.make(spec.replace(FILE, str(path))) for spec in agents.values()]
    for agent, name in zip(new, agents, strict=True):
        agent.name = name
    rivals = [bombay_agents.make(spec) for spec in opponents]
    games = games_for(settings.players, settings.rules, settings.board)
    total = sum(settings.players) * blocks * len(new) * len(rivals)
    with output.progress_bar("evaluation", total, quiet) as advance, user_input(*MATCH_ERRORS):
        matches = [
            arena.one_vs_rest(game, agent, rival, blocks, settings.seed, progress=advance)
            for game in games
            for agent in new
            for rival in rivals
        ]
    data = {"command": "train", "agent": str(path), "matches": [statistics.summary(match) for match in matches]}
    output.report_faults([fault for match in matches for fault in match.faults])
    return matches, data


def finish(
    path: Path,
    settings: Any,
    matches: Sequence[Match],
    data: dict[str, Any],
    title: str,
    lines: Sequence[str],
    as_json: bool,
) -> None:
    """Print the closing table, save it, draw the learning curve, and print where everything is.

    The table is printed first, so that it is not lost if it cannot be written.
    """
    folder = path.parent
    output.show(data, [statistics.results_table(matches, title, output.out.width)], as_json)
    save_evaluation(folder, data)
    curve = draw_curve(folder)
    if not as_json:
        counts = ",".join(map(str, settings.players))
        files = {"--rules": settings.rules, "--board": settings.board}
        options = "".join(f" {option} {shlex.quote(file)}" for option, file in files.items() if file)
        output.say(
            *lines,
            f"The agent, its settings, seed, versions and metrics are in {folder}",
            curve,
            f"More games: bombay arena 'net:path={path}' greedy --players {counts}{options}",
        )


def save_evaluation(folder: Path, data: dict[str, Any]) -> None:
    """Write the closing table into the folder of its run. Ends the command if that fails."""
    with user_input(OSError):
        run_files.write_json(folder / run_files.EVALUATION, data)


def train_and_evaluate(run: Run, folder: Path, blocks: int, as_json: bool) -> None:
    """Run the training and end with the table against the reference agents."""
    path, summary = learn(run, folder, as_json)
    matches, data = closing_matches(path, REFERENCES, run.settings, blocks, as_json)
    finish(path, run.settings, matches, data, f"the new agent after {summary}", [], as_json)


def draw_curve(folder: Path) -> str:
    """Draw the learning curve of a finished run. Returns a line that says where it is, or why there is none."""
    try:
        curves = analysis_module("learners.curve")
        curves.draw([curves.read_run(folder)], folder / run_files.CURVE)
    except (ValueError, OSError) as error:
        return f"No learning curve: {' '.join(str(error).split())}"
    return f"The learning curve is in {folder / run_files.CURVE}"
