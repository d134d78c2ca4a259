"""Learning tracks: how strong a learner gets with a given experience, so that algorithms can be compared.

A track gives a learner a number of decisions of all seats in the games that it plays, or minutes on two cores. Nothing scripted
may take part in learning. On the way the agent is kept at fixed numbers of decisions. Each of these *snapshots* plays against
copies of four frozen opponents of different kinds, with 2 to 5 players. The score of a snapshot is the mean over opponents and
numbers of players of (win share − par)/(1 − par): 0 is as strong as they are, 1 wins all games. An entry has two scores: that of
the last snapshot, and the mean over the logarithm of decisions from `FIRST` on, which rewards learning early.
"""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy  # its parts are imported where they are first used, so that commands start quickly

from bombay_env.files import atomic
from bombay_training import locks
from bombay_training.learners.runs import Progress, Run, run_files
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.train import SETTINGS
from bombay_training.matches import statistics
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.match import Match
from bombay_training.variants import games_for

OPPONENTS: Final = ("greedy", "planner-v1", "ppo", "zero:seed=1,rounds=0")  # two scripted, a policy net and a value net
PLAYERS: Final = (2, 3, 4, 5)
FIRST: Final = 20_000  # decisions of the first snapshot
SEED: Final = 7001  # of the deals, which are used for tracks alone
RESULTS: Final = "track.json"  # of an entry, in its folder
GAMES: Final = 400  # of a snapshot against each opponent at each number of players; fresh deals, rotating seats


@dataclasses.dataclass(frozen=True)
class Track:
    """A budget: `decisions` of all seats, or `minutes` on two cores."""

    decisions: int | None = None
    minutes: float | None = None

    def settings(self, learner: str, seed: int) -> RunSettings:
        """The settings of a learner's run."""
        budgets = {"decisions": self.decisions} if self.decisions else {"minutes": self.minutes, "threads": 2}
        return SETTINGS[learner](seed=seed, **budgets)

    def points(self) -> Sequence[int]:
        """The numbers of decisions at which snapshots are due: 1, 2 and 5 times powers of ten, up to the budget."""
        return steps(FIRST, self.decisions or 10**9) + ([self.decisions] if self.decisions else [])


def steps(first: int, end: float) -> list[int]:
    """1, 2 and 5 times powers of ten, from `first` to below `end`."""
    numbers = [digit * 10**power for power in range(12) for digit in (1, 2, 5)]
    return [number for number in numbers if first <= number < end]


TRACKS: Final = {
    "rules-1M": Track(decisions=1_000_000),
    "rules-10M": Track(decisions=10_000_000),
    "rules-100M": Track(decisions=100_000_000),
    "clock-10min": Track(minutes=10),
}


# Learners of this project: how a snapshot plays, and whether learning simulates turns that are not played.
LEARNERS: Final = {
    "zero": ("net:path={},rounds=0", "uses the model"),
    "ppo": ("net:path={}", "steps only"),
}


class Snapshots(Progress):
    """Keeps a run's agent at fixed numbers of decisions.

    An agent is kept after the first update that reaches a number, and at the end. Its file has the number of its decisions.
    Snapshots that the checkpoint of a resumed run has not reached are removed at once.
    """

    def __init__(self, run: Run, folder: Path, points: Sequence[int]) -> None:
        self.run, self.folder, self.points = run, folder, points
        drop_later(folder, int(run.totals()["decisions"]))

    def update(self, fraction: float, metrics: Mapping[str, float]) -> None:
        """Keep the agent if a number has been reached."""
        decisions = int(metrics.get("decisions", 0))
        reached, kept = [point for point in self.points if point <= decisions], snapshots(self.folder, "")
        if (reached and max(kept, default=0) < reached[-1]) or (decisions and fraction >= 1 and decisions not in kept):
            self.run.net().save(snapshot(self.folder, decisions))


def train_elsewhere(job: tuple[RunSettings, Sequence[int]]) -> dict[str, bytes]:
    """Train in a folder of its own, which is removed: for a process that may be on another machine.

    Args:
        job: the settings, and the numbers of decisions of the snapshots.
    Returns:
        The contents of the run's files by their names; last the settings, without which a folder holds no run.
    """
    settings, points = job
    with tempfile.TemporaryDirectory() as name:
        folder, run = Path(name), settings.run_class()(settings)
        run.create(folder)
        run.loop(Snapshots(run, folder, points))
        paths = sorted(folder.iterdir(), key=lambda path: (path.name == run_files.SETTINGS, path.name))
        return {path.name: path.read_bytes() for path in paths if path.name != run_files.LOCK}


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write what `train_elsewhere` returned into a folder that holds no run. Raises OSError, also if another process uses it."""
    folder.mkdir(parents=True, exist_ok=True)
    with locks.take(folder / run_files.LOCK, folder):
        drop_later(folder, 0)  # those of a command that was killed while it wrote
        for name, content in files.items():
            atomic.write_bytes(folder / name, content)


def drop_later(folder: Path, decisions: int) -> None:
    """Remove the snapshots after a number of decisions: those of a resumed run that its checkpoint has not reached."""
    for later in snapshots(folder, ""):
        if later > decisions:
            snapshot(folder, later).unlink()


def snapshot(folder: Path, point: int) -> Path:
    """The file of a snapshot."""
    return folder / f"agent-{point:011}.safetensors"


def snapshots(folder: Path, spec: str) -> dict[int, str]:
    """The specs of the snapshots in a folder, by their numbers of decisions; `spec` has {} for the file."""
    found = sorted(folder.glob("agent-*.safetensors"))
    return {int(path.stem.partition("-")[2]): spec.format(path) for path in found}


def lineups(agents: Mapping[int, str], games: int = GAMES) -> list[Lineup]:
    """What the agents of an entry play, by their numbers of decisions."""
    return [
        Lineup(game, (spec, *[opponent] * (game.num_players - 1)), games, SEED, Seating.ROTATE, "1vrest")
        for spec in agents.values()
        for game in games_for(PLAYERS)
        for opponent in OPPONENTS
    ]


def score(matches: Sequence[Match]) -> float:
    """The score of one snapshot, from its match against each opponent at each number of players."""
    pars = [statistics.par(match) for match in matches]
    shares = [float(match.of_agent(match.win_share).mean()) for match in matches]
    return float(np.mean([(share - par) / (1 - par) for share, par in zip(shares, pars, strict=True)]))


def entry(agents: Mapping[int, str], matches: Sequence[Match]) -> dict[str, Any]:
    """The scores of an entry, as plain JSON types.

    Args:
        agents: specs by number of decisions.
        matches: of `lineups`, in its order.
    """
    each = len(PLAYERS) * len(OPPONENTS)
    groups = [matches[number * each : (number + 1) * each] for number in range(len(agents))]
    scores = [score(group) for group in groups]
    rows = [
        {"decisions": decisions, "score": found, "matches": [_row(match) for match in group]}
        for decisions, found, group in zip(agents, scores, groups, strict=True)
    ]
    return {"final": scores[-1], "area": area(list(agents), scores), "points": rows}


def _row(match: Match) -> dict[str, Any]:
    return {
        "players": match.game.num_players,
        "opponent": match.lineup[1],
        "games": match.num_games,
        "win_share": statistics.share_with_interval(match).to_dict(),
        "faults": len(match.faults),
    }


def check_opponents(matches: Sequence[Match]) -> None:
    """Raise AgentFault if an opponent lost a game by a fault: that would look like the agent's strength."""
    for match in matches:
        for fault in match.faults:
            if fault.agent != 0:
                raise fault.as_error(match.game.num_players)


def area(decisions: Sequence[int], scores: Sequence[float]) -> float:
    """The mean of scores over the logarithm of decisions, by the trapezoidal rule; of a single point its score."""
    if len(scores) == 1:
        return scores[0]
    logs = np.log(decisions)
    return float(scipy.integrate.trapezoid(scores, logs) / (logs[-1] - logs[0]))


def check_agents(given: Sequence[str], track: Track) -> dict[int, str]:
    """Agents trained elsewhere, as DECISIONS=SPEC, by their numbers of decisions.

    Raises:
        ValueError: one is of another form, named twice, or has made more decisions than the track allows.
    """
    found: dict[int, str] = {}
    for text in given:
        number, equals, spec = text.partition("=")
        if not (equals and spec and number.isascii() and number.isdigit() and int(number) >= 1):
            raise ValueError(f"--agent is {text!r}; it must be DECISIONS=SPEC, such as 1000000=exec:command=my_agent")
        if track.decisions and int(number) > track.decisions:
            raise ValueError(f"--agent is {text!r}; this track ends after {track.decisions:,} decisions")
        found[int(number)] = spec
    if len(found) < len(given):
        raise ValueError("--agent names a number of decisions twice")
    return dict(sorted(found.items()))
