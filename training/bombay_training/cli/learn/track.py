"""`bombay track`: how strong a learner gets with a given experience."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from bombay_env.files.reading import read_jsonl
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.evaluate import playing
from bombay_training.cli.inputs import check_spec_path
from bombay_training.cli.learn.training import learn
from bombay_training.cli.options import MAX_COUNT, Address, EngineName, Json, Processes, Seed
from bombay_training.learners import track as tracks
from bombay_training.learners.runs import Run, run_files
from bombay_training.learners.train import SETTINGS, open_run, run_class
from bombay_training.rich_tables import new_table


class Learning(enum.Enum):
    """What a learner knows of the game."""

    STEPS = "steps only"
    MODEL = "uses the model"


Outside = Annotated[
    list[str] | None,
    typer.Option(
        help="An agent trained elsewhere, with the number of decisions that it learned from. Repeat the option for "
        "agents of the same run with fewer decisions.",
        metavar="DECISIONS=SPEC",
    ),
]
Name = Annotated[
    str, typer.Option("--name", help="The name of the learner of agents trained elsewhere, for `bombay tracks`.")
]
LearnedBy = Annotated[
    Learning, typer.Option(help="Whether agents trained elsewhere learned by steps only, or also simulated turns.")
]


def track(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(tracks.TRACKS)}.")],
    learner: Annotated[str | None, typer.Argument(help="zero or ppo; leave it out with --agent.")] = None,
    agent: Outside = None,
    learning: LearnedBy = Learning.STEPS,
    named: Name = "agents",
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="A folder for the run and its results; one that exists is continued. Default: runs/track-…"),
    ] = None,
    games: Annotated[
        int, typer.Option(help="Games against each opponent at each number of players.", min=1, max=MAX_COUNT)
    ] = tracks.GAMES,
    processes: Processes = None,
    engine: EngineName = "local",
    address: Address = None,
    as_json: Json = False,
) -> None:
    """Train a learner with the experience of a track, and score it on the way against four frozen opponents.

    A score is the mean of (win share − par)/(1 − par) over opponents and numbers of players. The area is the mean of scores over
    the logarithm of decisions. A track that was stopped goes on with the same command.
    """
    folder = out or Path("runs") / f"track-{name}-{learner or 'agents'}-seed{seed}"
    with user_input():
        budget = _budget(name, learner, agent or [])
        check_spec_path(folder)
        if agent and out is None:
            raise ValueError("agents trained elsewhere need a folder for their results: name one with --out")
        given = tracks.check_agents(agent or [])
    if learner:
        _learn(budget, learner, seed, folder, as_json)
    spec, kind = tracks.LEARNERS.get(learner or "", ("", learning.value))
    agents = given or tracks.snapshots(folder, spec)
    cells = tracks.cells(agents, games)
    with playing.open_store(folder / "games") as store:
        playing.compile_for(cells, None, as_json)
        with playing.open_engine(engine, address, processes) as players:
            matches, ended = playing.play(cells, store, players, as_json)
    if ended is not None:
        playing.print_stopped(matches, cells)
        raise ended
    about = {"track": name, "learner": learner or named, "seed": seed, "learning": kind, "outcomes": _outcomes(folder)}
    data = {"command": "track", **about, **tracks.entry(agents, matches)}
    table = new_table(f"{name}: {learner or named}, {kind}", ["decisions", "score"])
    for row in data["points"]:
        table.add_row(f"{row['decisions']:,}", f"{row['score']:+.3f}")
    output.show(data, [table], as_json)
    with user_input():
        run_files.write_json(folder / tracks.RESULTS, data)
    if not as_json:
        output.say(f"final {data['final']:+.3f}, area {data['area']:+.3f}; everything is in {folder}")


def _budget(name: str, learner: str | None, agents: list[str]) -> tracks.Track:
    """The track. Raises ValueError if it does not exist, or if not exactly one of learner and agents is given."""
    if name not in tracks.TRACKS:
        raise ValueError(f"there is no track {name!r}; the tracks are {', '.join(tracks.TRACKS)}")
    if (learner is None) == (not agents):
        raise ValueError("a track takes a learner, or agents with --agent")
    if learner is not None and learner not in tracks.LEARNERS:
        known = ", ".join(tracks.LEARNERS)
        raise ValueError(f"there is no learner {learner!r} for tracks; there are {known}, and --agent for all others")
    return tracks.TRACKS[name]


def _outcomes(folder: Path) -> int | None:
    """How many outcomes of turns a run of the folder has simulated to choose among them; None if it does not say."""
    lines = read_jsonl(folder / run_files.METRICS)
    return lines[-1].get("outcomes") if lines else None


def _learn(budget: tracks.Track, learner: str, seed: int, folder: Path, quiet: bool) -> None:
    """Begin or continue the run in the folder, unless it is complete, and keep its snapshots."""
    with user_input():
        budgets = {"decisions": budget.decisions} if budget.decisions else {"minutes": budget.minutes, "threads": 2}
        settings = SETTINGS[learner](seed=seed, **budgets)
        run: Run = open_run(folder) if (folder / run_files.SETTINGS).exists() else run_class(learner)(settings)
        if run.settings != settings:
            run.close()
            raise ValueError(f"{folder} holds another run; name another folder with --out")
        tracks.drop_later(folder, run.clock.decisions_done)
    learn(run, folder, quiet, lambda shown: tracks.Snapshots(run, folder, budget.points(), shown))
