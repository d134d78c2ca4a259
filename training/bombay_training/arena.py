"""The arena: matches between agents in blocks of games, and what can honestly be said of them.

A line-up names an agent for each seat. One deal played in every seating of the line-up is a block: luck of the deal and the
advantage of a seat fall on all its agents alike. Games of one block are not independent, so every interval is over blocks. All
games of a chunk run together as one array of states; at each step the agents decide for the lanes in which they are to move,
on copies with other seeds, so that nobody can look into the bag.

Deals are keyed by the match's seed and the block's number alone: every line-up meets the same deals. This module knows agents
only by `act`; `cli.py` prints what it finds.
"""

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from rich.table import Table
from rich.text import Text

from bombay_agents import Agent
from bombay_env import Game, IllegalActionError
from bombay_env.chance import random_word
from bombay_env.game import MAX_SEED
from bombay_env.record import History, Record
from bombay_env.state import NOBODY

DEALS: Final = np.uint64(1001)  # stream of keyed chance; those below 1000 are the game's
CHUNK_GAMES: Final = 4096  # games that run together
CONFIDENCE: Final = 0.95
SAME: Final = 1e-9  # block means whose standard error is below this agree


class AgentFault(RuntimeError):  # noqa: N818 - a fault is what RULES 8 calls it
    """An agent answered with something that is no legal action. The attributes say who, where and in what position.

    Attributes:
        agent: its name.
        seat: its seat.
        block, seating: the game.
        state: (1,) the position, with the game's own seed.
    """

    def __init__(self, agent: str, seat: int, block: int, seating: int, state: np.ndarray, reason: str) -> None:
        super().__init__(agent, seat, block, seating, state, reason)
        self.agent, self.seat, self.block, self.seating, self.state = agent, seat, block, seating, state
        self.reason = reason

    def __str__(self) -> str:
        at = f"set {self.state['set'][0]}, turn {self.state['turn'][0]}, seed {self.state['seed'][0]}"
        return f"agent {self.agent!r} in seat {self.seat} of block {self.block}, seating {self.seating} ({at}): {self.reason}"


@dataclasses.dataclass(frozen=True)
class Timing:
    """An agent's decisions, the turns they belong to, and the time they took.

    The agent's first call, in which its code may still be compiled, is not among them.
    """

    decisions: int = 0
    turns: int = 0
    seconds: float = 0.0

    @property
    def ms_per_turn(self) -> float | None:
        """Milliseconds a turn; None where nothing was clocked."""
        return 1000 * self.seconds / self.turns if self.turns else None


@dataclasses.dataclass(frozen=True)
class Match:
    """Every game of one line-up, in the order of blocks and seatings. G games, n seats.

    Args:
        game: the variant and board.
        lineup: names of the agents by seat of the base seating.
        agents: names of the different agents, in the order of their first seats.
        seed: what deals and chances of the match were drawn from.
        deal: (G,) uint64 seeds of the games.
        block: (G,) int64 numbers of the deals, from 0.
        seating: (G,) int64 which of the seatings.
        seats: (G, n) int64 indices into `agents`.
        final: (G, n) int32 rupees with awards (RULES 5).
        win_share: (G, n) float64, 1 over the number of winners for each winner.
        timings: by agent.
    """

    game: Game
    lineup: tuple[str, ...]
    agents: tuple[str, ...]
    seed: int
    deal: np.ndarray
    block: np.ndarray
    seating: np.ndarray
    seats: np.ndarray
    final: np.ndarray
    win_share: np.ndarray
    timings: tuple[Timing, ...]

    @property
    def num_games(self) -> int:
        """Games played."""
        return len(self.block)

    @property
    def num_blocks(self) -> int:
        """Deals played, each in all seatings."""
        return len(np.unique(self.block))

    @property
    def margin(self) -> np.ndarray:
        """Final rupees less the table's mean, (G, n) float64."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))

    def of_agent(self, values: np.ndarray, agent: int | str = 0) -> np.ndarray:
        """Block means (blocks,) of one agent's entries of `values` (G, n); its seats, where it has several, are pooled.

        Raises:
            ValueError: no agent of the match has this index or name.
        """
        index = self.agents.index(agent) if agent in self.agents else agent
        if isinstance(index, str) or not 0 <= index < len(self.agents):
            raise ValueError(f"agent {agent!r} is not in this match; there are {', '.join(self.agents)}")
        mine = self.seats == index
        blocks = np.unique(self.block, return_inverse=True)[1]
        totals = np.bincount(blocks, (values * mine).sum(axis=1))
        return totals / np.bincount(blocks, mine.sum(axis=1))


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A mean with a confidence interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def to_dict(self) -> dict[str, float | None]:
        """As plain JSON types; None for a bound there is not."""
        return {name: value if math.isfinite(value) else None for name, value in dataclasses.asdict(self).items()}


# --- Playing ---


def cyclic_seatings(num_seats: int) -> np.ndarray:
    """All rotations, (n, n) int64: which place of the line-up sits in each seat. In seating r the first sits in seat r."""
    seats = np.arange(num_seats)
    return (seats[None, :] - seats[:, None]) % num_seats


def run_blocks(
    game: Game,
    lineup: Sequence[Agent],
    blocks: int,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
    seatings: np.ndarray | None = None,
    chunk_games: int = CHUNK_GAMES,
    records: list[Record] | None = None,
) -> Match:
    """Play a line-up on `blocks` deals, each in every seating.

    Args:
        game: the variant and board.
        lineup: an agent for each seat of the base seating. The same object may sit in several.
        blocks: how many deals.
        seed: of deals and chances, from 0 to 2**64−1. The same seed gives every line-up the same deals.
        progress: called with the number of games that have just ended, whenever some have.
        seatings: (k, n) permutations of the line-up, `cyclic_seatings` unless given.
        chunk_games: at most this many games run at once (at least one block). Agents' randomness is keyed by the seed
            and the chunk's number, so agents that use any play differently with another value.
        records: gets the record of every game, in their order.

    Raises:
        ValueError: the line-up does not fill the table, or a number is out of range.
        AgentFault: an agent chose an illegal action, or answered with something else than actions.
    """
    n = game.num_players
    if len(lineup) != n:
        raise ValueError(f"the line-up has {len(lineup)} agents; this game has {n} seats")
    if blocks < 1:
        raise ValueError(f"blocks is {blocks}; it must be at least 1")
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"seed is {seed}; it must be from 0 to {MAX_SEED}")
    seatings = cyclic_seatings(n) if seatings is None else np.asarray(seatings)
    if seatings.ndim != 2 or (np.sort(seatings, axis=1) != np.arange(n)).any():
        raise ValueError(f"seatings must be permutations of the line-up's {n} places")
    agents = list({id(agent): agent for agent in lineup}.values())
    places = np.array([next(i for i, agent in enumerate(agents) if agent is member) for member in lineup])
    block, seating = (part.ravel() for part in np.indices((blocks, len(seatings))))
    deal = np.array([random_word(np.uint64(seed), DEALS, np.uint64(number)) for number in range(blocks)], np.uint64)
    match = Match(
        game,
        tuple(agent.name for agent in lineup),
        tuple(agent.name for agent in agents),
        seed,
        deal[block],
        block,
        seating,
        places[seatings[seating]],
        np.zeros((len(block), n), np.int32),
        np.zeros((len(block), n), np.float64),
        (),
    )
    clocks = [_Clock() for _ in agents]
    size = max(1, chunk_games // len(seatings)) * len(seatings)
    for number, start in enumerate(range(0, len(block), size)):
        games = np.arange(start, min(start + size, len(block)))
        scribe = None if records is None else _Scribe(match, games)
        _play_chunk(match, agents, games, clocks, np.random.SeedSequence((seed, number)), progress, scribe)
        if records is not None and scribe is not None:
            records += [scribe.records[number] for number in games.tolist()]
    return dataclasses.replace(match, timings=tuple(clock.timing() for clock in clocks))


def one_vs_rest(game: Game, focal: Agent, rest: Agent, blocks: int, seed: int = 0, **options: Any) -> Match:
    """`focal` against copies of `rest` in all other seats; `options` are those of `run_blocks`."""
    return run_blocks(game, [focal, *[rest] * (game.num_players - 1)], blocks, seed, **options)


def run_fixed_seats(game: Game, lineup: Sequence[Agent], games: int, seed: int = 0, **options: Any) -> Match:
    """A line-up on `games` deals, everyone in one seat throughout: what seats do, not what agents are worth."""
    return run_blocks(game, lineup, games, seed, seatings=np.arange(game.num_players)[None], **options)


class _Scribe:
    """Keeps the records of the games of a chunk while they are played."""

    def __init__(self, match: Match, games: np.ndarray) -> None:
        self.match = match
        states = match.game.new_states(match.deal[games])
        self.histories = {
            number: History(match.game, states[lane : lane + 1], int(match.deal[number]))
            for lane, number in enumerate(games.tolist())
        }
        self.records: dict[int, Record] = {}

    def note(self, games: np.ndarray, movers: np.ndarray, actions: np.ndarray, states: np.ndarray) -> None:
        """One step of all games still running, and where they stand after it."""
        for lane, number in enumerate(games.tolist()):
            history, state = self.histories[number], states[lane]
            history.add(int(actions[lane]))
            if state["current_player"] == NOBODY:
                names = [self.match.agents[agent] for agent in self.match.seats[number]]
                self.records[number] = history.record(states[lane : lane + 1], names)


class _Clock:
    """Adds up an agent's calls, but for the first."""

    def __init__(self) -> None:
        self.calls, self.decisions, self.turns, self.seconds = 0, 0, 0, 0.0

    def add(self, decisions: int, turns: int, seconds: float) -> None:
        self.calls += 1
        if self.calls > 1:
            self.decisions += decisions
            self.turns += turns
            self.seconds += seconds

    def timing(self) -> Timing:
        return Timing(self.decisions, self.turns, self.seconds)


def _play_chunk(
    match: Match,
    agents: Sequence[Agent],
    games: np.ndarray,
    clocks: Sequence[_Clock],
    chance: np.random.SeedSequence,
    progress: Callable[[int], None] | None,
    scribe: _Scribe | None,
) -> None:
    """Play the games with these numbers to their ends and enter their results in the match."""
    game = match.game
    scrub_rng, *rngs = (np.random.default_rng(key) for key in chance.spawn(1 + len(agents)))
    states = game.new_states(match.deal[games])
    while games.size:
        movers = game.current_player(states)
        to_act = match.seats[games, movers]
        actions = np.empty(games.size, np.int64)
        for index, agent in enumerate(agents):
            lanes = np.flatnonzero(to_act == index)
            if lanes.size:
                seeds = scrub_rng.integers(MAX_SEED, size=lanes.size, dtype=np.uint64, endpoint=True)
                seen = game.scrub(states[lanes], seeds)
                turns = int((seen["actions_left"] == game.rules.actions_per_turn).sum())
                start = time.perf_counter()
                answer = agent.act(game, seen, rngs[index])
                clocks[index].add(lanes.size, turns, time.perf_counter() - start)
                reason = _not_actions(answer, lanes.size)
                if reason:
                    raise _fault(match, states, games, lanes[0], reason)
                actions[lanes] = answer
        try:
            game.step(states, actions)
        except IllegalActionError as error:
            lane = error.lanes[0]
            legal = game.legal_actions(states[lane : lane + 1])[0]
            names = ", ".join(game.action_names[action] for action in np.flatnonzero(legal))
            number = int(actions[lane])
            known = f" ({game.action_names[number]})" if 0 <= number < game.num_actions else ""
            reason = f"it chose action {number}{known}, which is illegal; legal are {names}"
            raise _fault(match, states, games, lane, reason) from None
        if scribe is not None:
            scribe.note(games, movers, actions, states)
        over = game.is_terminal(states)
        if over.any():
            results = game.results(states[over])
            match.final[games[over]] = results["final"]
            match.win_share[games[over]] = results["win_share"]
            states, games = states[~over], games[~over]
            if progress is not None:
                progress(int(over.sum()))


def _not_actions(answer: Any, count: int) -> str:
    """What is wrong with an agent's answer as an array of `count` whole numbers, '' if nothing is."""
    if not isinstance(answer, np.ndarray):
        return f"it answered with a {type(answer).__name__}, not an array of {count} actions"
    if answer.shape != (count,) or answer.dtype.kind not in "iu":
        return f"it answered with {answer.dtype} of shape {answer.shape}, not with integers of shape ({count},)"
    return ""


def _fault(match: Match, states: np.ndarray, games: np.ndarray, lane: int, reason: str) -> AgentFault:
    number, state = games[lane], states[lane : lane + 1].copy()
    seat = int(state["current_player"][0])
    name = match.agents[match.seats[number, seat]]
    return AgentFault(name, seat, int(match.block[number]), int(match.seating[number]), state, reason)


# --- Judging ---


def share_with_interval(match: Match, agent: int | str = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean win share of one agent, its seats pooled, with an interval over blocks.

    A mean give or take standard errors would be an interval of no width where all blocks agree, as when an agent wins every
    game. So it is Wilson's interval for a proportion, taken at the effective sample size p(1−p)/SE²: the number of
    independent games that would have told as much as these blocks did. Where the blocks agree it is their number.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927); with
    effective sample sizes N. Dean and M. Pagano, "Evaluating confidence interval methods for binomial proportions in
    clustered surveys", Journal of Survey Statistics and Methodology 3 (2015).
    """
    means = match.of_agent(match.win_share, agent)
    share, error = float(means.mean()), _standard_error(means)
    size = float(len(means)) if len(means) == 1 or error < SAME else share * (1 - share) / error**2
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    centre = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * math.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
    return Estimate(share, min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half)))


def margin_with_interval(match: Match, agent: int | str = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean rupee margin of one agent, its seats pooled: z standard errors over blocks to either side."""
    return _with_errors(match.of_agent(match.margin, agent), confidence)


def final_with_interval(match: Match, agent: int | str = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean final rupees of one agent, likewise."""
    return _with_errors(match.of_agent(match.final, agent), confidence)


def _with_errors(means: np.ndarray, confidence: float) -> Estimate:
    mean, error = float(means.mean()), _standard_error(means)
    half = statistics.NormalDist().inv_cdf((1 + confidence) / 2) * error
    return Estimate(mean, mean - half, mean + half)


def _standard_error(means: np.ndarray) -> float:
    """Of the mean of block means; infinite for one block, which does not tell."""
    return float(means.std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.inf


# --- Telling ---


def describe_lineup(lineup: Sequence[str]) -> str:
    """A line-up in words: `greedy, 3 × random`."""
    counts: dict[str, int] = {}
    for name in lineup:
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count} × {name}" if count > 1 else name for name, count in counts.items())


def summary(match: Match) -> dict[str, Any]:
    """A match as plain JSON types: what was played and, for each agent, its estimates and times."""
    rows = []
    for index, (name, timing) in enumerate(zip(match.agents, match.timings, strict=True)):
        rows.append(
            {
                "agent": name,
                "seats": int((match.seats[0] == index).sum()),
                "par": 1 / match.game.num_players,
                "win_share": share_with_interval(match, index).to_dict(),
                "margin": margin_with_interval(match, index).to_dict(),
                "final": final_with_interval(match, index).to_dict(),
                "ms_per_turn": timing.ms_per_turn,
                **dataclasses.asdict(timing),
            }
        )
    return {
        "players": match.game.num_players,
        "board": match.game.board.name,
        "rules": match.game.rules.to_dict(),
        "lineup": list(match.lineup),
        "seed": match.seed,
        "blocks": match.num_blocks,
        "games": match.num_games,
        "confidence": CONFIDENCE,
        "agents": rows,
    }


def seat_rows(match: Match) -> list[dict[str, Any]]:
    """How each seat of a line-up with fixed seats fared, as plain JSON types."""
    return [
        {
            "seat": seat,
            "agent": match.lineup[seat],
            "games": match.num_games,
            "win_share": float(match.win_share[:, seat].mean()),
            "final": float(match.final[:, seat].mean()),
        }
        for seat in range(match.game.num_players)
    ]


def results_table(matches: Sequence[Match], title: str | None = None, everyone: bool = False) -> Table:
    """Matches as a table, a row for the first agent of each line-up, or for `everyone` in it."""
    table = Table(title=title)
    table.add_column("agent")
    table.add_column("line-up")
    for heading in ("players", "games", "win share [95 %]", "par", "margin ± 95 %", "final", "ms/turn"):
        table.add_column(heading, justify="right", no_wrap=True)
    for match in matches:
        for index in range(len(match.agents) if everyone else 1):
            share, margin = share_with_interval(match, index), margin_with_interval(match, index)
            milliseconds = match.timings[index].ms_per_turn
            table.add_row(
                Text(match.agents[index]),
                Text(describe_lineup(match.lineup)),
                str(match.game.num_players),
                str(match.num_games),
                f"{share.mean:.3f} [{share.low:.3f}, {share.high:.3f}]",
                f"{1 / match.game.num_players:.2f}",
                f"{margin.mean:+.1f} ± {margin.high - margin.mean:.1f}",
                f"{final_with_interval(match, index).mean:.1f}",
                "–" if milliseconds is None else f"{milliseconds:.2g}",
            )
    return table
