"""What a learner reaches in a given time: runs of several lengths and seeds, each judged by matches on held-out deals.

Runs are left in a folder, `zero-10min-seed0` and so on, and every match is a line of `matches.jsonl` there. What is there is not
done again, so a study that was stopped can be continued; a match counts only for the very net that played it, and only while both
agents still decide as they did then. `bombay study` runs it.
"""

import dataclasses
import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from bombay_env import Board, Game, Rules, checks
from bombay_env.files.reading import read_jsonl
from bombay_env.jit.kernels import CONFIG
from bombay_training.evaluation import arena, ladder
from bombay_training.learners import train as learners
from bombay_training.learners.runs import Run
from bombay_training.learners.runs.run_files import AGENT, METRICS, SETTINGS
from bombay_training.learners.runs.settings import RunSettings
from bombay_training.learners.zero import ZeroSettings
from bombay_training.matches import statistics
from bombay_training.matches.pool import WorkerPool

MATCHES: Final = "matches.jsonl"
FILE: Final = "FILE"  # stands for the net's file in the spec of an agent
AT_ONCE: Final = f"net:path={FILE},rounds=0"
LOOKING_AHEAD: Final = f"zero-search:nodes=150,value=[net:path={FILE}]"  # at most 5 ms a turn
POLICY: Final = f"net:path={FILE}"
GAMES: Final = 8000  # of a match
SEARCH_SHARE: Final = 0.25  # of these games, if the agent searches
MATCH_KEYS: Final = {
    "learner",
    "minutes",
    "seed",
    "players",
    "agent",
    "rest",
    "blocks",
    "games",
    "par",
    "win_share",
    "ms_per_turn",
}
POLICY_MATCHES: Final = ((POLICY, "greedy", 1.0), (POLICY, "planner-v1", 1.0))


@dataclasses.dataclass(frozen=True)
class Subject:
    """A learner, and the matches that judge it.

    Args:
        settings: makes the settings of a run from `minutes`, `seed`, `players` and `threads`.
        matches: the agent's spec with `FILE` for the net's file, the spec of the others, and the share of a study's games.
        players: numbers of players that it learns with.
    """

    settings: Callable[..., RunSettings]
    matches: tuple[tuple[str, str, float], ...]
    players: tuple[int, ...]


def ppo_settings(**options: Any) -> RunSettings:
    """Settings of PPO, on all threads by default. Raises ValueError without the extra `ppo`."""
    settings_class: Any = learners.run_class("ppo").settings_class
    settings: RunSettings = settings_class(**{"threads": CONFIG.NUMBA_NUM_THREADS, **options})
    return settings


SUBJECTS: Final = {
    "zero": Subject(
        ZeroSettings,
        (
            (AT_ONCE, "greedy", 1.0),
            (AT_ONCE, "planner-v1", 1.0),
            (LOOKING_AHEAD, "planner-v1", SEARCH_SHARE),
        ),
        (2, 3, 4, 5),
    ),
    "ppo": Subject(ppo_settings, POLICY_MATCHES, (4,)),
}


@dataclasses.dataclass(frozen=True)
class Trial:
    """A run and its folder."""

    learner: str
    minutes: float
    seed: int
    folder: Path

    @property
    def subject(self) -> Subject:
        """The learner, one of `SUBJECTS`."""
        return SUBJECTS[self.learner]

    def settings(self, threads: int | None = None) -> RunSettings:
        """Those of the run: as they were saved if it has begun, else new ones.

        Raises:
            ValueError: a setting is out of range, or the folder holds another run.
        """
        given = {} if threads is None else {"threads": threads}
        wanted = self.subject.settings(minutes=self.minutes, seed=self.seed, players=self.subject.players, **given)
        if not self.has_begun:
            return wanted
        saved = learners.saved_settings(self.folder)
        self._check(saved, wanted)
        return saved

    def _check(self, saved: RunSettings, wanted: RunSettings) -> None:
        """Raise ValueError unless the saved run is the trial's. With a number of updates its minutes say nothing."""
        free = {"threads", "updates", *(["minutes"] if saved.updates else [])}
        names = ["learner", *(field.name for field in dataclasses.fields(wanted) if field.name not in free)]
        for name in names:
            found, expected = getattr(saved, name, None), getattr(wanted, name)
            if found != expected:
                raise ValueError(
                    f"{checks.shown(str(self.folder))} holds another run: its {name} is {checks.shown(found)}, not "
                    f"{checks.shown(expected)}"
                )

    def run(self, settings: RunSettings) -> Run:
        """The run: as its last checkpoint left it if it has begun, else a new one, for `Run.create`.

        Raises:
            ValueError: the run cannot start with these settings, cannot be resumed, or is in use by another process.
            OSError: the folder cannot be written to.
        """
        return learners.open_run(self.folder) if self.has_begun else learners.run_class(settings.learner)(settings)

    @property
    def has_begun(self) -> bool:
        """Whether the folder holds a run."""
        return (self.folder / SETTINGS).exists()


def trials(learner: str, minutes: Sequence[float], seeds: Sequence[int], out: Path) -> list[Trial]:
    """The runs of a study, short ones first.

    Raises:
        ValueError: there is no such learner in the study, a spec cannot name a file in the folder, or two runs have the same one.
    """
    if any(mark in str(out) for mark in ",[]"):
        raise ValueError(f"the folder is {checks.shown(str(out))}; it must have no comma and no bracket in its path")
    if learner not in SUBJECTS:
        raise ValueError(f"there is no study of {checks.shown(learner)}; there is one of {', '.join(SUBJECTS)}")
    found = [
        Trial(learner, length, seed, out / f"{learner}-{length:g}min-seed{seed}")
        for length in minutes
        for seed in seeds
    ]
    if len({trial.folder for trial in found}) < len(found):
        raise ValueError("two runs of the study have the same folder; give each number of minutes and each seed once")
    return found


def check_players(learner: str, counts: Sequence[int]) -> None:
    """Raise ValueError if the learner of a study does not learn with one of these numbers of players."""
    learned = SUBJECTS[learner].players
    for count in counts:
        if count not in learned:
            raise ValueError(
                f"--players has {count}; {learner} learns with {', '.join(map(str, learned))} players in a study"
            )


def num_games(trial: Trial, players: Sequence[int], games: int = GAMES) -> int:
    """The number of games that `judge` plays if none has been played yet."""
    return sum(count * _blocks(games, share, count) for count in players for *_, share in trial.subject.matches)


def _blocks(games: int, share: float, players: int) -> int:
    """The number of deals for a share of the games, rounded up."""
    return math.ceil(games * share / players)


def judge(
    trial: Trial,
    players: Sequence[int],
    out: Path,
    games: int = GAMES,
    deals: int = ladder.SEED,
    pool: WorkerPool | None = None,
    progress: Callable[[float], None] = lambda games: None,
) -> Iterator[dict[str, Any]]:
    """Play the matches of a run that are not in `matches.jsonl` yet, add them there, and yield all of them as plain JSON types.

    Args:
        trial: the run, which is finished.
        players: numbers of players.
        out: the folder of the study.
        games: of a match; a share of them, `SEARCH_SHARE`, where the agent searches.
        deals: seed of the deals, each of which is played in all cyclic seatings; by default that of the ladder.
        pool: the processes to play in; None for this process.
        progress: called with the number of games played or known since the last call.
    Raises:
        AgentFault: an agent cannot play, or lost a game by a fault. The match is not added: it would look like a result.
    """
    known = read(out / MATCHES)
    net = hashlib.sha256((trial.folder / AGENT).read_bytes()).hexdigest()
    for count in players:
        game = Game(Rules.official(count), Board.load())
        digests = ladder.Digests(game)
        for agent, rest, share in trial.subject.matches:
            what = {
                "learner": trial.learner,
                "minutes": trial.minutes,
                "seed": trial.seed,
                "players": count,
                "agent": agent,
                "rest": rest,
                "blocks": _blocks(games, share, count),
                "deals": deals,
                "net": net,
                "digest": digests.of([_spec(trial, agent), rest]),
            }
            found = [row for row in known if what.items() <= row.items()]
            if found:
                progress(found[0]["games"])
            yield found[0] if found else _play(trial, game, what, out, pool=pool, progress=progress)


def _play(trial: Trial, game: Game, what: dict[str, Any], out: Path, **options: Any) -> dict[str, Any]:
    """Play a match and add it to the file; `options` are those of `arena.run_blocks`."""
    match = arena.one_vs_rest(game, _spec(trial, what["agent"]), what["rest"], what["blocks"], what["deals"], **options)
    if match.faults:
        raise match.faults[0].as_error(game.num_players)
    row = {
        **what,
        "games": match.num_games,
        "par": statistics.par(match),
        "win_share": statistics.share_with_interval(match).to_dict(),
        "margin": statistics.margin_with_interval(match).to_dict(),
        "ms_per_turn": match.timings[0].ms_per_turn,
        "learned_from": _learned_from(trial.folder),
    }
    ladder.append_part(out / MATCHES, row)
    return row


def _spec(trial: Trial, agent: str) -> str:
    """The spec of an agent of the study with the file of a trial's net."""
    return agent.replace(FILE, str(trial.folder / AGENT))


def _learned_from(folder: Path) -> dict[str, float]:
    """How much a run learned from, and for how many seconds, by its last update."""
    updates = read_jsonl(folder / METRICS)
    last = updates[-1] if updates else {}
    names = ["update", "games", "positions", "seconds"]
    if "decisions" in last:  # of PPO, whose games are those of one update
        names = ["update", "decisions", "seconds"]
    return {name: last[name] for name in names if name in last}


def read(path: Path) -> list[dict[str, Any]]:
    """The matches in a file, none if it does not exist.

    Lines without `MATCH_KEYS` are left out, because the last one may be incomplete.

    Raises:
        ValueError: the file cannot be read. The message is one line.
    """
    return [row for row in read_jsonl(path) if row.keys() >= MATCH_KEYS]
