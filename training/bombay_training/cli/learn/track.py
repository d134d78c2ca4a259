"""`bombay track`: how strong a learner gets with a given experience."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from bombay_env.files.reading import read_jsonl
from bombay_training.cli import options, output, playing
from bombay_training.cli.learn.training import learn_or_continue
from bombay_training.cli.options import check_spec_path
from bombay_training.cli.runner import Result, command
from bombay_training.learners import track as tracks
from bombay_training.learners.runs import run_files
from bombay_training.matches.engines.ray import RayEngine
from bombay_training.matches.store import Store
from bombay_training.rich_tables import new_table

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
    budget = _budget(name, learner, agent or [], seeds)
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
            played.end_if_stopped()
            tracks.check_opponents(played.matches)
            about = {"track": name, "learner": learner or named, "seed": number, "learning": kind}
            lines = read_jsonl(folder / run_files.METRICS) or [{}]
            entries.append({**about, "outcomes": lines[-1].get("outcomes"), **tracks.entry(agents, played.matches)})
            run_files.write_json(folder / tracks.RESULTS, {"command": "track", **entries[-1]})
    return Result({"command": "track", "entries": entries}, [_table(entries)], [f"everything is in {parent}"])


def _table(entries: Sequence[Mapping[str, Any]]) -> Table:
    """The scores of each entry after its last snapshot, their area, and the games lost by faults, which count as lost."""
    first = entries[0]
    title = f"{first['track']}: {first['learner']}, {first['learning']}"
    rows = []
    for entry in entries:
        decisions = f"{entry['points'][-1]['decisions']:,}"
        faults = f"{sum(row['faults'] for point in entry['points'] for row in point['matches']):,}"
        rows.append([entry["seed"], decisions, f"{entry['final']:+.3f}", f"{entry['area']:+.3f}", faults])
    return new_table(title, ["seed", "decisions", "final score", "area", "faults"], rows)


def _budget(name: str, learner: str | None, agents: list[str], seeds: int) -> tracks.Track:
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
    with output.progress_bar("training runs", len(jobs)) as advance:
        for (settings, _), files in engine.map(tracks.train_elsewhere, jobs, cores=2 if budget.minutes else 1):
            tracks.write_files(files, folders[settings.seed])
            advance(1)
