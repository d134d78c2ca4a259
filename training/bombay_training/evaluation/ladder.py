"""The table of the ladder: each rung against the one below, at every number of players; `make ladder`.

    python -m bombay_training.evaluation.ladder --help

A row is a match of the arena on deals of its own seed. It is played in parts, and what a part came to is a line of a file, so
that a run that was stopped goes on where it was. Budgets are in rollouts and nodes, never in time: the rows repeat on any
machine; the milliseconds beside them are those of the machine that played. A line counts only while the agents still decide as
they did when it was written: each line has a digest of what both choose in a few positions.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, Final

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from bombay_agents import make
from bombay_env import Board, Game, Rules
from bombay_training import rich_tables
from bombay_training.evaluation import arena
from bombay_training.matches import statistics
from bombay_training.matches.pool import Workers
from bombay_training.matches.results import Match
from bombay_training.matches.statistics import CONFIDENCE, Estimate, wilson

SEED: Final = 2028  # of the deals: held out, nothing was tuned on them
CHEAP_BLOCKS: Final = 1000
FEW_GAMES: Final = 400  # of agents that think; as many blocks as make at least that
POSITIONS: Final = 24  # in a digest
DEPTH: Final = 6  # decisions between two of them
WIDTH: Final = 200  # of the table
COUNTS: Final = {"blocks": 1, "games": 1, "faults": 0}  # of a part, and the least that they are

# What takes about so many milliseconds a turn on the machine of the README's table.
FLAT_20, FLAT_100 = "flat-mc:rollouts=125", "flat-mc:rollouts=625"
SEARCH_10, SEARCH_100, SEARCH_1000 = "search:nodes=100", "search:nodes=1000", "search:nodes=10000"
CHAMPION_100 = "champion:nodes=2200"
STYLES: Final = ("seller", "builder", "toll-keeper", "hoarder")


@dataclasses.dataclass(frozen=True)
class Row:
    """One match: `agent` against copies of `rest`, or two of each where `format` is 2v2."""

    players: int
    agent: str
    rest: str
    blocks: int
    part: int  # blocks that are played at a time
    format: str = "1vrest"

    def cut(self, most: int) -> "Row":
        """The same with at most so many blocks."""
        return dataclasses.replace(self, blocks=min(self.blocks, most))


def rows(counts: Sequence[int]) -> Iterator[Row]:
    """The table, cheap rows first."""
    cheap = [
        ("random-turn", "random"),
        ("greedy", "random"),
        *((style, "greedy") for style in STYLES),
        ("planner-v1", "greedy"),
        ("td", "greedy"),
        ("td", "planner-v1"),
        *(("td", style) for style in STYLES),
        ("ppo", "greedy"),
        ("ppo", "planner-v1"),
        ("td", "ppo"),
    ]
    for agent, rest in cheap:
        for players in counts:
            yield Row(players, agent, rest, CHEAP_BLOCKS, CHEAP_BLOCKS)
    thinking = [
        (FLAT_20, "planner-v1"),
        (FLAT_100, "planner-v1"),
        (CHAMPION_100, "planner-v1"),
        (SEARCH_100, FLAT_100),
        (CHAMPION_100, SEARCH_100),
    ]
    for agent, rest in thinking:
        for players in counts:
            blocks = -(-FEW_GAMES // players)
            yield Row(players, agent, rest, blocks, 10)
    if 4 in counts:
        for agent, rest in ((SEARCH_100, SEARCH_10), (SEARCH_1000, SEARCH_100)):
            yield Row(4, agent, rest, -(-FEW_GAMES // 6), 2, "2v2")


# --- playing, part by part ---


class Digests:
    """What agents choose in a few positions of games among planners: another digest, other agents. Each is asked once."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._chosen: dict[str, bytes] = {}  # by spec

    def of(self, specs: Sequence[str]) -> str:
        """The digest of these agents, in this order."""
        for spec in specs:
            if spec not in self._chosen:
                self._chosen[spec] = self._ask(spec)
        return hashlib.sha256(b"".join(self._chosen[spec] for spec in specs)).hexdigest()[:16]

    def _ask(self, spec: str) -> bytes:
        answers = [
            make(spec).act(self.game, self._positions[lane : lane + 1], np.random.default_rng(lane))
            for lane in range(len(self._positions))
        ]
        return b"".join(answer.tobytes() for answer in answers)

    @functools.cached_property
    def _positions(self) -> np.ndarray:
        game = self.game
        states = game.new_states(range(POSITIONS))
        planner, rng = make("planner-v1"), np.random.default_rng(0)
        for number in range(POSITIONS):
            for _ in range(number * DEPTH):
                lane = states[number : number + 1]
                if not game.is_terminal(lane)[0]:
                    game.step(lane, planner.act(game, lane, rng))
        return states[~game.is_terminal(states)]


def play_part(row: Row, game: Game, first: int, blocks: int, **options: Any) -> Match:
    """The blocks of a row from number `first` on."""
    function = arena.two_vs_two if row.format == "2v2" else arena.one_vs_rest
    return function(game, row.agent, row.rest, blocks, SEED, first=first, **options)


def sums(match: Match) -> dict[str, Any]:
    """What is kept of a part: of block means their sums, sums of squares and number; and the times.

    Games that faults ended have no rupees, so blocks that have no others are not among those of margin and final.
    """
    kept: dict[str, Any] = {"blocks": match.num_blocks, "games": match.num_games}
    means = {
        "share": match.of_agent(match.win_share) * statistics.weight(match),
        "margin": match.of_agent(match.margin, games=match.played_out),
        "final": match.of_agent(match.final, games=match.played_out),
    }
    for name, values in means.items():
        kept[name] = [float(values.sum()), float((values**2).sum()), len(values)]
    kept["faults"] = len(match.faults)
    kept["clocks"] = [[timing.turns, timing.seconds, timing.p99_ms] for timing in match.timings]
    return kept


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The parts already played. Lines that tell of none are passed over: the last one may have been cut off."""
    if not path.exists():
        return []
    lines = []
    for text in path.read_bytes().splitlines():
        with contextlib.suppress(ValueError, RecursionError):  # ValueError: also of bytes that are no UTF-8
            line = json.loads(text)
            if tells_of_a_part(line):
                lines.append(line)
    return lines


def tells_of_a_part(line: Any) -> bool:
    """Whether a line of a file is as `main` writes them, so far as it is relied on."""
    row, kept = (line.get(name) if isinstance(line, dict) else None for name in ("row", "kept"))
    if not isinstance(row, dict) or not isinstance(kept, dict) or not isinstance(line.get("first"), int):
        return False
    lengths = {"share": 3, "margin": 3, "final": 3, "clocks": 2}
    lists = all(isinstance(kept.get(name), list) and len(kept[name]) == length for name, length in lengths.items())
    return lists and all(isinstance(kept.get(name), int) and kept[name] >= low for name, low in COUNTS.items())


def parts_of(row: Row, made: str, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The parts of a row among the lines of a file, from the first block on without a gap."""
    wanted = {**dataclasses.asdict(row), "seed": SEED, "digest": made}
    for name in ("blocks", "part"):
        del wanted[name]
    found = {line["first"]: line for line in lines if all(line["row"].get(key) == wanted[key] for key in wanted)}
    parts: list[dict[str, Any]] = []
    first = 0
    while first in found:
        parts.append(found[first])
        first += found[first]["kept"]["blocks"]
    return parts


def add_line(path: Path, part: dict[str, Any]) -> None:
    """Write a part down, on a line of its own even where the line before was cut off."""
    cut_off = path.exists() and path.read_bytes()[-1:] not in (b"", b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if cut_off else "") + json.dumps(part) + "\n")


def check_writable(path: Path) -> None:
    """Make the file's folder, and raise OSError if it cannot be written: now rather than when a part is played."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab"):
        pass


# --- telling ---


def estimate(parts: Sequence[dict[str, Any]], name: str) -> Estimate:
    """A mean over blocks with its interval: Wilson's for the share, normal ones else."""
    total, squares, count = (sum(part["kept"][name][place] for part in parts) for place in (0, 1, 2))
    if not count:
        return Estimate(math.nan, -math.inf, math.inf)
    mean = total / count
    error = math.sqrt(max(0.0, squares - count * mean**2) / (count - 1) / count) if count > 1 else math.inf
    if name == "share":
        return wilson(mean, error, count)
    half = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * error
    return Estimate(mean, mean - half, mean + half)


def milliseconds(parts: Sequence[dict[str, Any]], agent: int) -> float:
    """Milliseconds a turn of one of the two agents."""
    turns, seconds = (sum(part["kept"]["clocks"][agent][place] for part in parts) for place in (0, 1))
    return float(1000 * seconds / turns) if turns else math.nan


def table_of(done: Sequence[tuple[Row, list[dict[str, Any]]]]) -> Any:
    """The rows played so far."""
    table = rich_tables.new_table(
        f"deals of seed {SEED}, 95 % intervals over blocks",
        [
            "players",
            "agent",
            "against",
            "games",
            "win share [95 %]",
            "par",
            "margin",
            "final",
            "ms/turn",
            "theirs",
            "faults",
        ],
    )
    for row, parts in done:
        share, margin, final = (estimate(parts, name) for name in ("share", "margin", "final"))
        par = 0.5 if row.format == "2v2" else 1 / row.players
        table.add_row(
            str(row.players),
            row.agent,
            f"2 × {row.rest}" if row.format == "2v2" else f"{row.players - 1} × {row.rest}",
            f"{sum(part['kept']['games'] for part in parts):,}",
            str(share),
            f"{par:.2f}",
            f"{margin.mean:+.1f}",
            f"{final.mean:.1f}",
            *(rich_tables.milliseconds(milliseconds(parts, agent)) for agent in (0, 1)),
            str(sum(part["kept"]["faults"] for part in parts)),
        )
    return table


def main(
    out: Annotated[Path, typer.Option(help="The file of parts played; gone on with if it exists.")] = Path(
        "runs/ladder.jsonl"
    ),
    players: Annotated[
        list[int] | None, typer.Option(help="Numbers of players; 2 to 5 unless given.", min=2, max=5)
    ] = None,
    only: Annotated[str, typer.Option(help="Only rows whose agent begins so.")] = "",
    processes: Annotated[int | None, typer.Option(help="Processes; one a core unless given.", min=1)] = None,
    most: Annotated[
        int | None,
        typer.Option("--blocks", help="Most blocks a row: a first look, or times on a quiet machine.", min=1),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Play nothing; print what there is.")] = False,
) -> None:
    """Play what is missing of the table, and print it."""
    counts = sorted(set(players or (2, 3, 4, 5)))
    table_rows = list(rows(counts))
    wanted = [row if most is None else row.cut(most) for row in table_rows if row.agent.startswith(only)]
    if not wanted:
        agents = ", ".join(dict.fromkeys(row.agent for row in table_rows))
        raise typer.BadParameter(f"--only is {only!r}; the rows are of {agents}")
    try:
        lines = read_lines(out)
        if not show:
            check_writable(out)
    except OSError as error:
        raise typer.BadParameter(f"--out: {error}") from None
    digests = {count: Digests(Game(Rules.official(count), Board.load())) for count in counts}
    done: list[tuple[Row, list[dict[str, Any]]]] = []
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Workers(processes) as workers, Progress(*columns, console=Console(stderr=True), disable=show) as bar:
        for row in wanted:
            game = digests[row.players].game
            made = digests[row.players].of([row.agent, row.rest])
            parts = parts_of(row, made, lines)
            task = bar.add_task(f"{row.players} players, {row.agent} against {row.rest}", total=row.blocks)
            first = sum(part["kept"]["blocks"] for part in parts)
            bar.update(task, completed=first)
            while first < row.blocks and not show:
                count = min(row.part, row.blocks - first)
                per_game = count * (6 if row.format == "2v2" else row.players)
                match = play_part(
                    row, game, first, count, workers=workers,
                    progress=lambda games, task=task, per_game=per_game, count=count: bar.advance(task, games * count / per_game),
                )  # fmt: skip
                part = {
                    "row": {**dataclasses.asdict(row), "seed": SEED, "digest": made},
                    "first": first,
                    "kept": sums(match),
                }
                add_line(out, part)
                parts.append(part)
                first += count
            if parts:
                done.append((row, parts))
    table = table_of(done)
    table.box = box.MARKDOWN  # as it stands in the README
    Console(width=WIDTH).print(table)


if __name__ == "__main__":
    typer.run(main)
