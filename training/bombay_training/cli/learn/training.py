"""What all `bombay train` commands share: their options, the progress bar, and the closing matches and table."""

import functools
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, TimeRemainingColumn

import bombay_agents
from bombay_training import warm_up
from bombay_training.cli import output
from bombay_training.cli.compiling import prepare
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import analysis_module, check_spec_path
from bombay_training.cli.options import count
from bombay_training.cli.runner import Result
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
Blocks = Annotated[int, count("Deals for each row of the closing table.")]


class TrainingProgress(RunProgress):
    """The progress bar of a run: time left, how much was learned from, and the win shares of the last periodic matches."""

    def __init__(self) -> None:
        columns = (BarColumn(16), TimeRemainingColumn(), output.description())  # fits a narrow terminal
        self.bar = output.new_progress(*columns)
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
    follow: Callable[[RunProgress], RunProgress] = lambda shown: shown,
    again: str = "bombay train resume",
) -> tuple[Path, str]:
    """Run the training with a progress bar. Ends the command if that fails.

    Args:
        run: a new run, or one that was opened.
        folder: of the run; for a new run it is created, unless it holds a run by now.
        follow: makes who follows the run of what shows the bar.
        again: what continues the run in the folder if it is stopped.
    Returns:
        The path of the agent, and the amount of learning in words.
    """
    compile = functools.partial(prepare, warm_up.jobs_of_run(run.settings, REFERENCES))
    progress = TrainingProgress()
    try:
        with user_input():
            if run.folder is None:
                run.create(folder, replace=False, compile=compile)
            else:
                compile()
            with progress:
                path = run.loop(folder, follow(progress))
    except KeyboardInterrupt:
        if (folder / run_files.CHECKPOINT).exists():
            output.note(f"To continue the run: {again} {folder}")
        raise
    return path, progress.summary


def learn_or_continue(
    folder: Path,
    settings: RunSettings,
    follow: Callable[[Run, RunProgress], RunProgress] = lambda run, shown: shown,
) -> None:
    """Begin or continue the run in a folder, unless it is complete.

    Args:
        folder: of the run.
        settings: of a new run. An older one must have the same.
        follow: makes who follows the run of it and of what shows the bar.
    """
    run: Run = open_run(folder) if (folder / run_files.SETTINGS).exists() else run_class(settings.learner)(settings)
    if run.settings != settings:
        run.close()
        raise ValueError(f"{folder} holds another run; name another folder with --out")
    learn(run, folder, functools.partial(follow, run), "repeat the same command; the run is in")


def closing_matches(
    path: Path, opponents: Sequence[str], settings: RunSettings, blocks: int, agents: Mapping[str, str] = AGENTS
) -> list[Match]:
    """The new agent against copies of each opponent, for every number of players it learned with.

    The deals come from another stream of chance than those of the training.

    Args:
        path: the file of its net.
        opponents: specs.
        settings: of the run.
        blocks: deals of each match.
        agents: ways in which the net plays, as specs with `FILE` for the net's file, by their names in the table.
    """
    new: list[Any] = [bombay_agents.make(spec.replace(FILE, str(path))) for spec in agents.values()]
    for agent, name in zip(new, agents, strict=True):
        agent.name = name
    rivals = [bombay_agents.make(spec) for spec in opponents]
    games = games_for(settings.players, settings.rules, settings.board)
    total = sum(settings.players) * blocks * len(new) * len(rivals)
    with output.progress_bar("evaluation", total) as advance:
        matches = [
            arena.one_vs_rest(game, agent, rival, blocks, settings.seed, progress=advance)
            for game in games
            for agent in new
            for rival in rivals
        ]
    output.report_faults([fault for match in matches for fault in match.faults])
    return matches


def closing_table(
    path: Path,
    settings: RunSettings,
    matches: Sequence[Match],
    title: str,
    about: Mapping[str, Any] | None = None,
    lines: Sequence[str] = (),
) -> Result:
    """The result of a command that trains: its closing table, which is also saved, and where everything is.

    Args:
        path: the file of the new agent.
        settings: of the run.
        matches: that it played.
        title: of the table.
        about: further data.
        lines: that come below the table.
    """
    summaries = [statistics.summary(match) for match in matches]
    data = {"command": "train", "agent": str(path), "matches": summaries, **(about or {})}

    def save() -> Iterator[str]:
        run_files.write_json(path.parent / run_files.EVALUATION, data)
        yield from lines
        yield f"The agent, its settings, seed, versions and metrics are in {path.parent}"
        yield draw_curve(path.parent)
        counts = ",".join(map(str, settings.players))
        files = {"--rules": settings.rules, "--board": settings.board}
        given = "".join(f" {option} {shlex.quote(file)}" for option, file in files.items() if file)
        yield f"More games: bombay arena 'net:path={path}' greedy --players {counts}{given}"

    return Result(data, [statistics.results_table(matches, title, output.out.width)], then=save)


def train_and_evaluate(run: Run, folder: Path, blocks: int) -> Result:
    """Run the training and end with the table against the reference agents."""
    path, summary = learn(run, folder)
    matches = closing_matches(path, REFERENCES, run.settings, blocks)
    return closing_table(path, run.settings, matches, f"the new agent after {summary}")


def draw_curve(folder: Path) -> str:
    """Draw the learning curve of a finished run. Returns a line that says where it is, or why there is none."""
    try:
        curves = analysis_module("learners.curve")
        curves.draw([curves.read_run(folder)], folder / run_files.CURVE)
    except (ValueError, OSError) as error:
        return f"No learning curve: {' '.join(str(error).split())}"
    return f"The learning curve is in {folder / run_files.CURVE}"
