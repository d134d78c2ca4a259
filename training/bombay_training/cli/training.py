"""Commands that train agents: `bombay train`, with a command for each learner, made from its settings, and `bombay track`.

A run ends with matches and their table.
"""

import dataclasses
import inspect
import itertools
import shlex
import time
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.progress import BarColumn, TimeRemainingColumn
from rich.table import Table

import bombay_agents
from bombay_env.checks import shown
from bombay_env.files.forms import allowed
from bombay_env.files.reading import read_jsonl
from bombay_training import extras, warm_up
from bombay_training.cli import options, playing, runner
from bombay_training.cli.options import check_spec_path
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation import arena
from bombay_training.learners import best_response as responses
from bombay_training.learners import track as tracks
from bombay_training.learners.best_response import BestResponseSettings
from bombay_training.learners.runs import Progress, Run, run_files
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.train import open_run
from bombay_training.matches import statistics
from bombay_training.matches.engines.ray import RayEngine
from bombay_training.matches.match import Match
from bombay_training.matches.store import Store
from bombay_training.rich_tables import new_table

BLOCKS: Final = 250  # deals for each row of the closing table
RESPONSE_BLOCKS: Final = 100  # likewise after a best response, for which a tree plays, too
REFERENCES: Final[tuple[str, ...]] = ("random", "greedy", "planner-v1")  # opponents of the closing table
# Specs of the agents that play in it, by their names there, with {} for the net's file. The tree takes at most 5 ms a turn.
AGENTS: Final = {"new agent": "net:path={}"}
TREE: Final = {"new agent, 150 nodes": "zero-search:nodes=150,value=[net:path={}]"}

PANEL: Final = "Settings of the learner"
RUN_FOLDER = "A new folder for the run. Default: runs/LEARNER-DATE-TIME."
DEALS = f"Deals for each row of the closing table. Default: {BLOCKS}; {RESPONSE_BLOCKS} for a best response."
Blocks = Annotated[int | None, options.count(DEALS)]


# --- bombay train ---


def command_of(kind: type[RunSettings]) -> Callable[..., None]:
    """The command that trains by these settings, with an option for every field of them."""
    settings_of = responses.settings_for if kind is BestResponseSettings else kind

    def learner(
        context: typer.Context,
        players: options.Players = "2-5",
        out: Annotated[Path | None, typer.Option(help=RUN_FOLDER)] = None,
        blocks: Blocks = None,
        **settings: Any,
    ) -> Result:
        sources = {name: context.get_parameter_source(name) for name in settings}
        given = {name: settings[name] for name, source in sources.items() if source and source.name != "DEFAULT"}
        run, folder = new_run(settings_of(players=options.player_counts(players), **given), out)
        return train_and_evaluate(run, folder, blocks)

    types, (*own, _) = typing.get_type_hints(kind), inspect.signature(learner).parameters.values()
    fields = [_option(field, types[field.name]) for field in dataclasses.fields(kind) if field.name != "players"]
    fields.sort(key=lambda option: option.default is not option.empty)  # what must be given comes first
    learner.__signature__ = inspect.Signature([*own, *fields], return_annotation=Result)  # type: ignore[attr-defined]
    learner.__doc__ = kind.help
    return command(learner)


def _option(field: dataclasses.Field[Any], kind: Any) -> inspect.Parameter:
    """The parameter of a command for a field: type, default, help and limits. A list of numbers is given as in 128,64."""
    default, parser, complete = field.default, None, None
    if isinstance(default, tuple):
        kind, default, parser = str, ",".join(map(str, default)), _whole_numbers
    if field.name == "victim":  # must be given
        default, complete = inspect.Parameter.empty, options.complete_agent
    help = f"{field.metadata['sentence']} Allowed: {allowed(field)}."
    option = Annotated[kind, typer.Option(help=help, parser=parser, autocompletion=complete, rich_help_panel=PANEL)]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)


def _whole_numbers(text: str) -> tuple[int, ...]:
    """The numbers in 128,64; none in an empty text. Raises typer.BadParameter for anything else."""
    try:
        return tuple(int(part) for part in text.split(",") if text)
    except ValueError:
        raise typer.BadParameter(f"{shown(text)} is no list of whole numbers, such as 128,64") from None


@command
def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the run.", metavar="FOLDER")],
    blocks: Blocks = None,
) -> Result:
    """Continue a run from its last checkpoint, with its own settings, and end it as usual."""
    check_spec_path(folder)
    return train_and_evaluate(open_run(folder), folder, blocks)


# --- A run ---


def new_run(settings: RunSettings, out: Path | None = None) -> tuple[Run, Path]:
    """A new run and its folder, which must not exist yet, or hold only leftovers of a process killed before its run began.

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
    follower = tracks.Snapshots(run, folder, snapshots) if snapshots else None
    learn(run, folder, follower, "repeat the same command; the run is in")


def learn(
    run: Run, folder: Path, follower: Progress | None = None, again: str = "bombay train resume"
) -> tuple[Path, str]:
    """Run the training with a progress bar.

    Args:
        run: a new run, whose folder is created, or an opened one, which has its folder.
        folder: of the run.
        follower: who follows the run besides the bar.
        again: what continues the run in the folder if it is stopped.
    Returns:
        The path of the agent, and the amount of learning in words.
    """
    compile, progress = (
        partial(playing.prepare, warm_up.jobs_of_run(run.settings, REFERENCES)),
        TrainingProgress(follower),
    )
    try:
        if run.folder is None:
            run.create(folder, replace=False, compile=compile)
        else:
            compile()
        with progress.bar:
            path = run.loop(progress)
    except KeyboardInterrupt:
        if (folder / run_files.CHECKPOINT).exists():
            runner.note(f"To continue the run: {again} {folder}")
        raise
    return path, progress.summary


class TrainingProgress(Progress):
    """The progress bar of a run: time left, how much was learned from, and the win shares of the last quick matches.

    Args:
        follower: who is told, too.
    """

    def __init__(self, follower: Progress | None = None) -> None:
        columns = (BarColumn(16), TimeRemainingColumn(), runner.DESCRIPTION)  # fits a narrow terminal
        self.bar = runner.new_progress(*columns)
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
    settings, title = run.settings, f"the new agent after {summary}"
    matches = closing_matches(run, path, blocks)
    data: dict[str, Any] = {"command": "train", "agent": str(path)}
    data["matches"] = [statistics.summary(match) for match in matches]
    if isinstance(settings, BestResponseSettings):
        title = f"best response to copies of {settings.victim} after {summary}"
        data |= {"victim": settings.victim, **responses.budgets(path, settings.victim)}

    def lines() -> Iterator[str]:
        run_files.write_json(folder / run_files.EVALUATION, data)
        if "victim" in data:
            yield _budget(data["games"], data["victim_games"])
        yield f"The agent, its settings, seed, versions and metrics are in {folder}"
        yield draw_curve(folder)
        counts = ",".join(map(str, settings.players))
        files = {"--rules": settings.rules, "--board": settings.board}
        given = "".join(f" {option} {shlex.quote(file)}" for option, file in files.items() if file)
        yield f"More games: bombay arena 'net:path={path}' greedy --players {counts}{given}"

    return Result(data, [statistics.results_table(matches, title, runner.out.width)], lines())


def closing_matches(run: Run, path: Path, blocks: int | None = None) -> list[Match]:
    """The run's net, from its file, against copies of each reference agent, for every number of players it learned with.

    A best response meets its victim instead, without and with a tree. The deals come from another stream of chance than those of
    the training. `blocks` is their number for each match; None for the usual one.
    """
    settings, specs, opponents, usual_blocks = run.settings, AGENTS, REFERENCES, BLOCKS
    if isinstance(settings, BestResponseSettings):
        specs, opponents, usual_blocks = AGENTS | TREE, (settings.victim,), RESPONSE_BLOCKS
    blocks = blocks or usual_blocks
    agents: list[Any] = [bombay_agents.make(spec.format(path)) for spec in specs.values()]
    for agent, name in zip(agents, specs, strict=True):
        agent.name = name
    rivals = [bombay_agents.make(spec) for spec in opponents]
    pairings = list(itertools.product(run.games, agents, rivals))
    with runner.progress_bar("evaluation", blocks * sum(game.num_players for game, *_ in pairings)) as advance:
        matches = [arena.one_vs_rest(*pairing, blocks, settings.seed, progress=advance) for pairing in pairings]
    runner.report_faults([fault for match in matches for fault in match.faults])
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
        for match in closing_matches(run, path)
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


# --- bombay track ---

AGENT = (
    "An agent trained elsewhere, with the number of decisions that it learned from. Repeat the option for "
    "agents of the same run with fewer decisions."
)
LEARNING = "Whether agents trained elsewhere learned by steps only, or also simulated turns."
NAME = "The name of the learner of agents trained elsewhere, for `bombay tracks`."
OUT = "A folder, in which each run has one, seed-0 and so on. Runs in it are continued. Default: runs/track-…"


@command
def track(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(tracks.TRACKS)}.")],
    learner: Annotated[str | None, typer.Argument(help="zero or ppo; leave it out with --agent.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help=AGENT, metavar="DECISIONS=SPEC")] = None,
    learning: Annotated[Literal["steps only", "uses the model"], typer.Option(help=LEARNING)] = "steps only",
    named: Annotated[str, typer.Option("--name", help=NAME)] = "agents",
    seed: options.Seed = 0,
    seeds: Annotated[int, options.count("How many runs, with seeds from --seed on.")] = 1,
    out: Annotated[Path | None, typer.Option(help=OUT)] = None,
    games: Annotated[int, options.count("Games against each opponent at each number of players.")] = tracks.GAMES,
    processes: options.Processes = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
) -> Result:
    """Train a learner with the experience of a track, and score it on the way against four frozen opponents.

    A score is the mean of (win share − par)/(1 − par) over opponents and numbers of players. The area is the mean of scores over
    the logarithm of decisions. A track that was stopped goes on with the same command. With --engine ray new runs are trained on
    the cluster, each as one task, which begins anew if it is lost; runs that have begun go on here.
    """
    parent = out or Path("runs") / f"track-{name}-{learner or 'agents'}"
    if address is not None:
        parent = parent.absolute()  # for the processes of the cluster
    folders = {number: parent / f"seed-{number}" for number in range(seed, seed + seeds)}
    budget = _track(name, learner, agent or [], seeds)
    check_spec_path(parent)
    if (parent / run_files.SETTINGS).exists():
        raise ValueError(f"{parent} is the folder of one run; name a folder for runs with --out")
    if agent and out is None:
        raise ValueError("agents trained elsewhere need a folder for their results: name one with --out")
    given = tracks.check_agents(agent or [], budget)
    spec, kind = tracks.LEARNERS.get(learner or "", ("", learning))
    entries = []
    with playing.open_engine(engine, address, processes) as players:
        if learner and isinstance(players, RayEngine):
            _learn_elsewhere(players, budget, learner, folders)
        for number, folder in folders.items():
            if learner:
                learn_or_continue(folder, budget.settings(learner, number), budget.points())
            agents = given or tracks.snapshots(folder, spec)
            with Store(folder / "games") as store:  # which has the games of a track that was stopped
                played = playing.play(tracks.lineups(agents, games), store, players)
            tracks.check_opponents(played.matches)
            about = {"track": name, "learner": learner or named, "seed": number, "learning": kind}
            lines = read_jsonl(folder / run_files.METRICS) or [{}]
            entries.append({**about, "outcomes": lines[-1].get("outcomes"), **tracks.entry(agents, played.matches)})
            run_files.write_json(folder / tracks.RESULTS, {"command": "track", **entries[-1]})
    return Result({"command": "track", "entries": entries}, [_scores(entries)], [f"everything is in {parent}"])


def _scores(entries: Sequence[Mapping[str, Any]]) -> Table:
    """The scores of each entry after its last snapshot, their area, and the games lost by faults, which count as lost."""
    first = entries[0]
    title = f"{first['track']}: {first['learner']}, {first['learning']}"
    rows = []
    for entry in entries:
        decisions = f"{entry['points'][-1]['decisions']:,}"
        faults = f"{sum(row['faults'] for point in entry['points'] for row in point['matches']):,}"
        rows.append([entry["seed"], decisions, f"{entry['final']:+.3f}", f"{entry['area']:+.3f}", faults])
    return new_table(title, ["seed", "decisions", "final score", "area", "faults"], rows)


def _track(name: str, learner: str | None, agents: list[str], seeds: int) -> tracks.Track:
    """The track. Raises ValueError if it does not exist, or if not exactly one of learner and agents is given."""
    if name not in tracks.TRACKS:
        raise ValueError(f"there is no track {name!r}; the tracks are {', '.join(tracks.TRACKS)}")
    if (learner is None) == (not agents):
        raise ValueError("a track takes a learner, or agents with --agent")
    if agents and seeds > 1:
        raise ValueError("agents trained elsewhere are of one run; give each run a command of its own, with its --seed")
    if learner is not None and learner not in tracks.LEARNERS:
        known = ", ".join(tracks.LEARNERS)
        raise ValueError(f"there is no learner {learner!r} for tracks; there are {known}, and --agent for all others")
    return tracks.TRACKS[name]


def _learn_elsewhere(engine: RayEngine, budget: tracks.Track, learner: str, folders: Mapping[int, Path]) -> None:
    """Train the runs that have not begun on the cluster, and write their files."""
    missing = [seed for seed, folder in folders.items() if not (folder / run_files.SETTINGS).exists()]
    jobs = [(budget.settings(learner, seed), budget.points()) for seed in missing]
    with runner.progress_bar("training runs", len(jobs)) as advance:
        for (settings, _), files in engine.map(tracks.train_elsewhere, jobs, cores=2 if budget.minutes else 1):
            tracks.write_files(files, folders[settings.seed])
            advance(1)
