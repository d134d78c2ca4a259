"""The arena: matches between agents in blocks of games.

A line-up names an agent for each seat. A block is one deal played in every seating of the line-up, so that lucky
deals and good seats favour no agent. Deals depend on the match's seed and the block's number alone: every line-up
plays the same deals. Games are played in chunks (`matches/play.py`), in this process or in a pool
(`matches/pool.py`), with the same results for any number of processes. `matches/statistics.py` turns a match into
estimates.
"""

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import Agent, make
from bombay_env import Game, checks, streams
from bombay_env.agent import check_plays, name_of
from bombay_env.chance import lane_words
from bombay_env.record import Record
from bombay_training.matches.play import Chunk, DecisionTimes, Plan, Played, play
from bombay_training.matches.pool import WorkerPool
from bombay_training.matches.results import Match, Timing

CHUNK_GAMES: Final = 256  # played together; enough for agents that are faster on batches
BUDGETS: Final = ("ms", "nodes", "rollouts")  # attributes of agents that search

Player = Agent | str  # an object, which plays in this process only, or a spec


class MatchStopped(KeyboardInterrupt):
    """Ctrl-C has stopped a match.

    Args:
        match: the match of its first deals, up to the first one of which a game is missing; None if there are none.
    """

    def __init__(self, match: Match | None) -> None:
        super().__init__()
        self.match = match


# --- seatings ---


def cyclic_seatings(num_seats: int) -> np.ndarray:
    """All rotations, (n, n) int64: the index in the line-up for each seat. In seating r the first agent has seat r."""
    seats = np.arange(num_seats)
    return (seats[None, :] - seats[:, None]) % num_seats


def team_seatings() -> np.ndarray:
    """The 6 ways to give two of four seats to a line-up's first two agents, (6, 4) int64 indices in the line-up."""
    rows = []
    for first in itertools.combinations(range(4), 2):
        second = [seat for seat in range(4) if seat not in first]
        rows.append(np.argsort([*first, *second]))
    return np.array(rows)


# --- matches ---


def one_vs_rest(game: Game, focal: Player, rest: Player, blocks: int, seed: int = 0, **options: Any) -> Match:
    """Play `focal` against copies of `rest` in all other seats; `options` are those of `run_blocks`."""
    lineup = [focal, *[rest] * (game.num_players - 1)]
    with _labelled(format="1vrest") as labelled:
        return labelled(run_blocks(game, lineup, blocks, seed, **options))


def two_vs_two(game: Game, one: Player, other: Player, blocks: int, seed: int = 0, **options: Any) -> Match:
    """Play two copies of each of two agents, each deal in all 6 seatings. An agent's win share is the sum of its copies'."""
    if game.num_players != 4:
        raise ValueError(f"2v2 is for 4 players, not {game.num_players}")
    with _labelled(format="2v2", teams=True) as labelled:
        return labelled(run_blocks(game, [one, one, other, other], blocks, seed, seatings=team_seatings(), **options))


def mixed_lineups(agents: Sequence[Player], num_players: int) -> list[tuple[Player, ...]]:
    """Line-ups of different agents: every combination of `num_players` of them, in the order given.

    If there are fewer agents than seats, it is the one line-up that repeats them in order.
    """
    if len(agents) < num_players:
        return [tuple(itertools.islice(itertools.cycle(agents), num_players))]
    return list(itertools.combinations(agents, num_players))


def mixed(game: Game, agents: Sequence[Player], blocks: int, seed: int = 0, **options: Any) -> list[Match]:
    """Play a match for each of `mixed_lineups`, all on the same deals."""
    lineups = mixed_lineups(agents, game.num_players)
    with _labelled(format="mixed") as labelled:
        return [labelled(run_blocks(game, lineup, blocks, seed, **options)) for lineup in lineups]


@contextlib.contextmanager
def _labelled(**labels: Any) -> Iterator[Callable[[Match], Match]]:
    """Yields what sets these fields of a match; they are also set in the match of a `MatchStopped`."""

    def labelled(match: Match) -> Match:
        return dataclasses.replace(match, **labels)

    try:
        yield labelled
    except MatchStopped as stopped:
        stopped.match = stopped.match and labelled(stopped.match)
        raise


def run_fixed_seats(game: Game, lineup: Sequence[Player], games: int, seed: int = 0, **options: Any) -> Match:
    """Play a line-up on `games` deals in the one seating given. This compares seats, not agents."""
    return run_blocks(game, lineup, games, seed, seatings=np.arange(game.num_players)[None], **options)


def run_blocks(
    game: Game,
    lineup: Sequence[Player],
    blocks: int,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
    seatings: np.ndarray | None = None,
    chunk_games: int | None = None,
    records: list[Record] | None = None,
    pool: WorkerPool | None = None,
    first: int = 0,
) -> Match:
    """Play a line-up on `blocks` deals, each in every seating.

    An agent that raises or answers with anything but a legal action loses that game: see `Match`.

    Args:
        game: the variant and board.
        lineup: an agent or a spec for each seat of the base seating. The same object or spec may have several seats. An agent
            is named by its spec, an object by its `name`.
        blocks: number of deals.
        seed: of the deals and of the agents' randomness, from 0 to 2**64−1. The same seed gives every line-up the same deals.
        progress: called with the number of games played since the last call, in fractions as turns end.
        seatings: (k, n) permutations of the line-up, `cyclic_seatings` unless given.
        chunk_games: number of games played together. Another value changes no result, unless an agent draws from its generator
            itself (`agent.lane_keys`). Unless given, `CHUNK_GAMES`, or 1 if an agent `searches`.
        records: receives the record of every game, in order.
        pool: plays the games in its processes, if all agents are specs; None for this process.
        first: number of the first deal. A match played in consecutive parts is the same match if no chunk is cut.

    Raises:
        ValueError: the line-up does not fill the seats, a number is out of range, a spec is invalid, or an agent cannot play this
            game, as a net cannot that learned by other rules.
        MatchStopped: on Ctrl-C, with what was played; `records` then receives the records of these games only.
    """
    seatings = cyclic_seatings(game.num_players) if seatings is None else np.asarray(seatings)
    _check(game, lineup, seatings)
    checks.whole_number(blocks, "blocks", 1, checks.MAX_COUNT)
    checks.whole_number(first, "first", 0, checks.MAX_COUNT)
    if chunk_games is not None:
        checks.whole_number(chunk_games, "chunk_games", 1, checks.MAX_COUNT)
    seed = checks.seed(seed)
    distinct = {_identity(player): player for player in lineup}
    players = list(distinct.values())
    agents = [_made(player, game) for player in players]
    names = tuple(player if isinstance(player, str) else name_of(player) for player in players)
    base = np.array([list(distinct).index(_identity(player)) for player in lineup])
    block, seating = (part.ravel() for part in np.indices((blocks, len(seatings))))
    block += first
    deal, key = _words(seed, streams.DEALS, block), _words(seed, streams.GAMES, (block << 16) | seating)
    plan = Plan(game, names, seed, deal, key, block, seating, base[seatings[seating]], records is not None)
    size = chunk_games or (1 if any(map(searches, agents)) else CHUNK_GAMES)
    chunks, lineup_names = _chunks(len(block), size, first * len(seatings)), tuple(names[index] for index in base)
    played: list[Played] = []
    try:
        _play(plan, chunks, players, agents, progress, pool, played)
    except KeyboardInterrupt as error:
        games = _complete_games(played, len(block), len(seatings))
        raise MatchStopped(_match(plan, lineup_names, played, records, games) if games else None) from error
    return _match(plan, lineup_names, played, records, len(block))


def _words(seed: int, stream: np.uint64, numbers: np.ndarray) -> np.ndarray:
    """A random word for each number, (G,) uint64."""
    return lane_words(np.full(len(numbers), seed, np.uint64), stream, numbers.astype(np.uint64))


def searches(agent: Agent) -> bool:
    """Whether an agent has a budget of time or of work, one of `BUDGETS`. Its games are best played one by one."""
    return any(getattr(agent, name, None) is not None for name in BUDGETS)


def _made(player: Player, game: Game) -> Agent:
    """The agent. Raises ValueError if a spec is invalid, or if the agent cannot play the game."""
    agent = make(player) if isinstance(player, str) else player
    check_plays(agent, game)
    return agent


def _check(game: Game, lineup: Sequence[Player], seatings: np.ndarray) -> None:
    """Raise ValueError unless the line-up fills the seats of the game and `seatings` are permutations of it."""
    n = game.num_players
    if len(lineup) != n:
        raise ValueError(f"the line-up has {len(lineup)} agents; this game has {n} seats")
    if seatings.ndim != 2 or (np.sort(seatings, axis=1) != np.arange(n)).any():
        raise ValueError(f"seatings must be permutations of the line-up's {n} agents")


def _play(
    plan: Plan,
    chunks: Sequence[Chunk],
    players: Sequence[Player],
    agents: Sequence[Agent],
    progress: Callable[[float], None] | None,
    pool: WorkerPool | None,
    played: list[Played],
) -> None:
    """Play the chunks, here with `agents` or in a pool with `players`, the same agents as specs. Adds the results to `played`."""
    report = progress or (lambda games: None)
    if pool is None:
        warm: set[int] = set()
        listener = _ProgressListener(plan, report)
        for chunk in chunks:
            played.append(play(plan, chunk, agents, warm, listener))
        return
    objects = [name_of(player) for player in players if not isinstance(player, str)]
    if objects:
        raise ValueError(
            f"agent {checks.shown(objects[0])} is an object; to play in other processes it must be given by a spec"
        )
    pool.play(plan, [str(player) for player in players], chunks, lambda turns: report(turns / plan.turns), played)


class _ProgressListener:
    """Reports the progress of games in this process."""

    def __init__(self, plan: Plan, report: Callable[[float], None]) -> None:
        self.turns, self.report = plan.turns, report

    def before_call(self, agent: int, num_games: int, first: bool) -> None:
        pass

    def after_call(self) -> None:
        pass

    def after_step(self, actions: np.ndarray, turns: int) -> None:
        if turns:
            self.report(turns / self.turns)


def _identity(player: Player) -> Any:
    return player if isinstance(player, str) else id(player)


def _chunks(games: int, size: int, before: int) -> list[Chunk]:
    """The games in chunks, keyed by their numbers in the match; `before`: games of the match that precede these."""
    starts = range(0, games, size)
    return [Chunk(tuple(range(start, min(start + size, games))), ((before + start) // size,)) for start in starts]


def _complete_games(played: Sequence[Played], games: int, seatings: int) -> int:
    """The number of games in the first blocks, up to the first one of which a game has not been played."""
    missing = set(range(games)).difference(*(part.games for part in played))
    return min(missing, default=games) // seatings * seatings


def _match(
    plan: Plan, lineup: tuple[str, ...], played: Sequence[Played], records: list[Record] | None, games: int
) -> Match:
    """The chunks of a match joined; of its games the first `games`, all of which have been played."""
    final, share = np.zeros(plan.seats.shape, np.int32), np.zeros(plan.seats.shape)
    times = [DecisionTimes() for _ in plan.names]
    ordered = sorted(played, key=lambda part: part.games)
    for part in ordered:
        numbers = list(part.games)
        final[numbers], share[numbers] = part.final, part.win_share
        for total, more in zip(times, part.times, strict=True):
            total.add(more)
        if records is not None:
            kept = [record for number, record in zip(numbers, part.records, strict=True) if number < games]
            records += [dataclasses.replace(record, game=plan.game) for record in kept]
    return Match(
        game=plan.game,
        lineup=lineup,
        agents=plan.names,
        seed=plan.seed,
        deal=plan.deal[:games],
        block=plan.block[:games],
        seating=plan.seating[:games],
        seats=plan.seats[:games],
        final=final[:games],
        win_share=share[:games],
        timings=tuple(map(_timing, times)),
        faults=tuple(lost for part in ordered for lost in part.lost if lost.game < games),
    )


def _timing(times: DecisionTimes) -> Timing:
    p99 = 1000 * float(np.quantile(times.turn_seconds, 0.99)) if times.turn_seconds else None
    return Timing(times.decisions, times.turns, times.seconds, p99)
