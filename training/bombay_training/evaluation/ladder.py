"""The ladder: matches of each agent against the next weaker ones, at every number of players, on held-out deals.

A row is a match of the arena, played in parts. The result of each part is a line of a JSON Lines file, so a stopped run can
be resumed. Budgets are in rollouts and nodes, so results repeat on any machine; the milliseconds are those of the machine
that played. Each line holds a digest of both agents' decisions in a few positions, and counts only while the agents still
decide in that way. `bombay ladder` plays it, and `make pages` makes tables of docs/ladder.jsonl.
"""

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.table import Table

from bombay_agents import make
from bombay_env import Board, Game, Rules, checks
from bombay_env.agent import ask
from bombay_env.files import atomic
from bombay_env.files.reading import read_jsonl
from bombay_training import rich_tables
from bombay_training.evaluation import arena
from bombay_training.matches import statistics
from bombay_training.matches.intervals import Estimate, Moments, estimates, mean_bounds, share_bounds
from bombay_training.matches.pool import WorkerPool
from bombay_training.matches.results import Match

SEED: Final = 2028  # of the deals: held out, nothing was tuned on them
CHEAP_BLOCKS: Final = 1000
MIN_GAMES: Final = 400  # of agents that search
POSITIONS: Final = 24  # in a digest
DEPTH: Final = 6  # decisions between the positions of a digest
PART_KEYS: Final = {"row", "first", "kept"}  # of a line of the file
COUNTS: Final = (2, 3, 4, 5)  # of players
COLUMNS: Final = (
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
)
NAMES: Final = ("agent", "against")
OPTIONAL_COLUMNS: Final = ("theirs", "final", "faults", "margin", "ms/turn", "games", "par")

# Budgets that take about 5, 10, 20, 50 and 100 ms per turn on the machine of the table in the docs.
ZERO_5 = "zero-search:nodes=150"
FLAT_20, FLAT_100 = "flat-mc:rollouts=125", "flat-mc:rollouts=625"
SEARCH_10, CHAMPION_50 = "search:nodes=100", "champion:nodes=1000"
SELECTION_SEED: Final = 4031
SELECTION_BLOCKS: Final = 30
CANDIDATES: Final = tuple(
    f"zero-search:nodes=300,exploration={exploration},temperature={temperature}"
    for exploration, temperature in ((0.15, 0.1), (0.3, 0.2), (0.5, 0.3))
)
STYLES: Final = ("seller", "builder", "toll-keeper", "hoarder")
PANEL: Final = (  # test opponents; none uses the net of `champion`
    "seller",
    "hoarder",
    "zero:seed=1",
    "search:nodes=100",
    f"{ZERO_5},value=[zero:seed=2]",
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One match of the table.

    Args:
        players: number of players.
        agent: a spec.
        rest: the spec of the others.
        blocks: number of deals.
        part: number of deals played between two lines of the file.
        format: `1vrest`: `agent` against copies of `rest`.
        seed: of the deals.
    """

    players: int
    agent: str
    rest: str
    blocks: int
    part: int
    format: str = "1vrest"
    seed: int = SEED

    def limited(self, max_blocks: int | None) -> "Row":
        """The same row with at most this number of blocks."""
        return self if max_blocks is None else dataclasses.replace(self, blocks=min(self.blocks, max_blocks))


Results = Sequence[tuple[Row, Sequence[dict[str, Any]]]]  # rows with their parts


def select(
    counts: Sequence[int],
    agent: str = "",
    max_blocks: int | None = None,
    seed: int | None = None,
    selection: bool = False,
    rest: str = "",
) -> list[Row]:
    """The rows at these numbers of players, all or those of an agent.

    Args:
        counts: numbers of players.
        agent: the whole spec, or the name before the options; empty for any.
        max_blocks: most blocks of a row; None for all.
        seed: of the deals; None for that of the row.
        selection: whether to take `selection_rows` instead of `rows`.
        rest: the whole spec of the others; empty for any.
    Raises:
        ValueError: there is none.
    """
    every = list(selection_rows(counts) if selection else rows(counts))
    of_agent = [row for row in every if agent in ("", row.agent, row.agent.partition(":")[0])]
    if not of_agent:
        agents = ", ".join(dict.fromkeys(row.agent for row in every))
        raise ValueError(f"no row has the agent {checks.shown(agent)}; the agents are {checks.one_line(agents, 300)}")
    found = [row for row in of_agent if rest in ("", row.rest)]
    if not found:
        others = ", ".join(dict.fromkeys(row.rest for row in of_agent))
        raise ValueError(
            f"no row of these agents is against {checks.shown(rest)}; the others are {checks.one_line(others, 300)}"
        )
    found = [row.limited(max_blocks) for row in found]
    return [row if seed is None else dataclasses.replace(row, seed=seed) for row in found]


def rows(counts: Sequence[int]) -> Iterator[Row]:
    """The rows at these numbers of players, cheap ones first."""
    cheap = [
        ("random-turn", "random"),
        ("greedy", "random"),
        *((style, "greedy") for style in STYLES),
        ("planner-v1", "greedy"),
        ("ppo", "greedy"),
        ("ppo", "planner-v1"),
        *((agent, rest) for rest in ("greedy", "planner-v1") for agent in ("zero:rounds=0", "zero")),
        *(("zero", rest) for rest in ("ppo", *STYLES)),
    ]
    for agent, rest in cheap:
        for players in counts:
            yield Row(players, agent, rest, CHEAP_BLOCKS, CHEAP_BLOCKS)
    searching = [
        *((ZERO_5, rest) for rest in ("planner-v1", "ppo", "zero")),
        (FLAT_20, "planner-v1"),
        (FLAT_100, "planner-v1"),
        *((SEARCH_10, rest) for rest in ("planner-v1", "zero", FLAT_20)),
        *((CHAMPION_50, rest) for rest in ("planner-v1", "zero", FLAT_20)),
    ]
    for agent, rest in searching:
        for players in counts:
            blocks = -(-MIN_GAMES // players)
            yield Row(players, agent, rest, blocks, 10)


def selection_rows(counts: Sequence[int]) -> Iterator[Row]:
    """The matches by which the options of `champion` are chosen: each candidate against the panel.

    The panel has none of the opponents against which the champion is reported, and the deals are others than the ladder's.
    """
    for players in counts:
        for agent in CANDIDATES:
            for rest in PANEL:
                yield Row(players, agent, rest, SELECTION_BLOCKS, 10, seed=SELECTION_SEED)


# --- play ---


class Digests:
    """Digests of agents' decisions in a few positions of games between planners. An agent that decides otherwise has another.

    Args:
        game: the variant and board. Each spec is called once.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self._decisions: dict[str, bytes] = {}  # by spec

    def of(self, specs: Sequence[str]) -> str:
        """The digest of these agents in this order. Raises AgentFault if one fails."""
        for spec in specs:
            if spec not in self._decisions:
                self._decisions[spec] = self._decide(spec)
        return hashlib.sha256(b"".join(self._decisions[spec] for spec in specs)).hexdigest()[:16]

    def _decide(self, spec: str) -> bytes:
        answers = []
        for lane in range(len(self._positions)):
            position, rng = self._positions[lane : lane + 1], np.random.default_rng(lane)
            answers.append(ask(make(spec), self.game, position, rng, seeds=[lane], who=f"agent {spec!r}"))
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
                    game.step(lane, ask(planner, game, lane, rng, seeds=[0]))
        return np.asarray(states[~game.is_terminal(states)])


def official_digests(counts: Sequence[int]) -> dict[int, Digests]:
    """Digests for the official game at each of these numbers of players."""
    return {count: Digests(Game(Rules.official(count), Board.load())) for count in counts}


def play_missing(
    row: Row,
    digests: Digests,
    parts: list[dict[str, Any]],
    path: Path,
    pool: WorkerPool | None = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Play what is missing of a row, and append each part to the file as soon as it is played.

    Args:
        row: the row.
        digests: for its number of players.
        parts: the parts of the row played so far, without gaps; changed in place.
        path: the file.
        pool: the processes to play in; None for this process.
        progress: called with the number of blocks played since the last call.
    """
    first = sum(part["kept"]["blocks"] for part in parts)
    report = progress or (lambda blocks: None)
    identity = {**dataclasses.asdict(row), "digest": digests.of([row.agent, row.rest])}
    while first < row.blocks:
        blocks = min(row.part, row.blocks - first)
        match = play_part(
            row, digests.game, first, blocks, pool=pool, progress=lambda games: report(games / row.players)
        )
        part = {"row": identity, "first": first, "kept": sums(match)}
        append_part(path, part)
        parts.append(part)
        first += blocks


def play_part(row: Row, game: Game, first: int, blocks: int, **options: Any) -> Match:
    """Play a row's blocks from number `first` on; `options` are those of `arena.run_blocks`."""
    return arena.one_vs_rest(game, row.agent, row.rest, blocks, row.seed, first=first, **options)


def sums(match: Match) -> dict[str, Any]:
    """The result of a part: sums, sums of squares and numbers of block means, and the times, as plain JSON types.

    Games that ended by a fault have no rupees, so margin and final leave out the blocks that have no other games.
    """
    kept: dict[str, Any] = {"blocks": match.num_blocks, "games": match.num_games}
    means = {
        "share": match.of_agent(match.win_share) * statistics.share_weight(match),
        "margin": match.of_agent(match.margin, games=match.played_out),
        "final": match.of_agent(match.final, games=match.played_out),
    }
    for name, values in means.items():
        kept[name] = [float(values.sum()), float((values**2).sum()), len(values)]
    kept["faults"] = len(match.faults)
    kept["clocks"] = [[timing.turns, timing.seconds, timing.p99_ms] for timing in match.timings]
    return kept


# --- the file ---


def read_parts(path: Path) -> list[dict[str, Any]]:
    """The parts in a file, none if it does not exist.

    Lines without `PART_KEYS` are skipped, because the last one may be incomplete.

    Raises:
        ValueError: the file cannot be read. The message is one line.
    """
    return [part for part in read_jsonl(path) if part.keys() >= PART_KEYS]


def parts_of(row: Row, parts: Sequence[dict[str, Any]], digest: str | None = None) -> list[dict[str, Any]]:
    """A row's parts, from the first block to the first gap.

    Args:
        row: the row.
        parts: from a file.
        digest: of the row's agents; the digest of the row's last part unless given.
    """
    wanted = dataclasses.asdict(row)
    for name in ("blocks", "part"):
        del wanted[name]
    mine = [part for part in parts if all(part["row"].get(key) == value for key, value in wanted.items())]
    digest = mine[-1]["row"].get("digest") if digest is None and mine else digest
    by_first = {part["first"]: part for part in mine if part["row"].get("digest") == digest}
    found: list[dict[str, Any]] = []
    first = 0
    while first in by_first:
        found.append(by_first[first])
        first += by_first[first]["kept"]["blocks"]
    return found


def append_part(path: Path, part: dict[str, Any]) -> None:
    """Append a part to a file, on a new line even if the last line is incomplete. Raises OSError if it cannot be written."""
    atomic.append_line(path, json.dumps(part))


def check_writable(path: Path) -> None:
    """Create the file's folder. Raises OSError if the file cannot be written, before anything is played."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab"):
        pass


# --- tables ---


def estimate(parts: Sequence[dict[str, Any]], name: str) -> Estimate:
    """The mean over blocks of `share`, `margin` or `final`, with the interval of the arena."""
    total, squares, count = (sum(part["kept"][name][place] for part in parts) for place in (0, 1, 2))
    if not count:
        return Estimate(math.nan, -math.inf, math.inf)
    moments = Moments.of_sums(total, squares, count)
    return estimates(moments, share_bounds(moments) if name == "share" else mean_bounds(moments))[0]


def ms_per_turn(parts: Sequence[dict[str, Any]], agent: int) -> float:
    """Milliseconds per turn of agent 0 or 1; NaN if no turn was timed."""
    turns, seconds = (sum(part["kept"]["clocks"][agent][place] for part in parts) for place in (0, 1))
    return float(1000 * seconds / turns) if turns else math.nan


def summary(row: Row, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The results of a row as plain JSON types."""
    times = (ms_per_turn(parts, agent) for agent in (0, 1))
    ms, rest_ms = (time if math.isfinite(time) else None for time in times)
    return {
        "players": row.players,
        "agent": row.agent,
        "rest": row.rest,
        "format": row.format,
        "games": sum(part["kept"]["games"] for part in parts),
        "win_share": estimate(parts, "share").to_dict(),
        "par": 1 / row.players,
        "margin": estimate(parts, "margin").to_dict(),
        "final": estimate(parts, "final").to_dict(),
        "ms_per_turn": ms,
        "rest_ms_per_turn": rest_ms,
        "faults": sum(part["kept"]["faults"] for part in parts),
    }


def cells(result: dict[str, Any]) -> list[str]:
    """A `summary` as text, by `COLUMNS`."""
    rest, margin, final = result["rest"], result["margin"]["mean"], result["final"]["mean"]
    return [
        str(result["players"]),
        result["agent"],
        f"{result['players'] - 1} × {rest}",
        f"{result['games']:,}",
        rich_tables.interval(result["win_share"], "{:.3f}"),
        f"{result['par']:.2f}",
        "–" if margin is None else f"{margin:+.1f}",
        "–" if final is None else f"{final:.1f}",
        rich_tables.format_ms(result["ms_per_turn"]),
        rich_tables.format_ms(result["rest_ms_per_turn"]),
        str(result["faults"]),
    ]


def results_table(results: Results, width: int | None = None) -> Table:
    """Rows with their parts as a table for a terminal of this width, with fewer columns where it is narrow."""
    seeds = sorted({row.seed for row, _ in results}) or [SEED]
    title = f"deals of seed {', '.join(map(str, seeds))}, 95 % intervals over blocks"
    found = [cells(summary(row, parts)) for row, parts in results]
    columns = {heading: [row[place] for row in found] for place, heading in enumerate(COLUMNS)}
    return rich_tables.fitting_table(title, columns, NAMES, OPTIONAL_COLUMNS, width)
