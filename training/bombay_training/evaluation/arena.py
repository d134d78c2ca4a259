"""The arena: matches between agents in blocks of games.

A line-up names an agent for each seat. One deal played in every seating of the line-up is a block: luck of the deal and the
advantage of a seat fall on all its agents alike. Deals are keyed by the match's seed and the block's number alone: every
line-up meets the same deals. Games are played in chunks (`matches/play.py`), here or in other processes (`matches/pool.py`),
with the same results for any number of processes. This module knows agents only by `act`; `matches/statistics.py` says what a
match tells.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import Agent, make
from bombay_env import Game
from bombay_env.chance import random_word
from bombay_env.checks import MAX_SEED
from bombay_env.record import Record
from bombay_training.matches.play import Chunk, Clock, Plan, Played, play
from bombay_training.matches.pool import Workers
from bombay_training.matches.results import Fault, Match, Timing

DEALS: Final = np.uint64(1001)  # stream of keyed chance; those below 1000 are the game's
CHUNK_GAMES: Final = 256  # games that run together; enough for agents that decide for many at once
BUDGETS: Final = ("ms", "nodes", "rollouts")  # attributes of agents that think for a while

Player = Agent | str  # an object, which plays in this process, or a spec


# --- seatings ---


def cyclic_seatings(num_seats: int) -> np.ndarray:
    """All rotations, (n, n) int64: which place of the line-up sits in each seat. In seating r the first sits in seat r."""
    seats = np.arange(num_seats)
    return (seats[None, :] - seats[:, None]) % num_seats


def team_seatings() -> np.ndarray:
    """The 6 ways in which a line-up's first two and last two share four seats, (6, 4) int64."""
    rows = []
    for first in itertools.combinations(range(4), 2):
        second = [seat for seat in range(4) if seat not in first]
        rows.append(np.argsort([*first, *second]))
    return np.array(rows)


# --- matches ---


def one_vs_rest(game: Game, focal: Player, rest: Player, blocks: int, seed: int = 0, **options: Any) -> Match:
    """`focal` against copies of `rest` in all other seats; `options` are those of `run_blocks`."""
    lineup = [focal, *[rest] * (game.num_players - 1)]
    return dataclasses.replace(run_blocks(game, lineup, blocks, seed, **options), format="1vrest")


def two_vs_two(game: Game, one: Player, other: Player, blocks: int, seed: int = 0, **options: Any) -> Match:
    """Two copies of each at a table of four, each deal in all 6 seatings; an agent's win share is that of both its copies."""
    if game.num_players != 4:
        raise ValueError(f"2v2 is for 4 players, not {game.num_players}")
    match = run_blocks(game, [one, one, other, other], blocks, seed, seatings=team_seatings(), **options)
    return dataclasses.replace(match, format="2v2", teams=True)


def mixed_lineups(agents: Sequence[Player], num_players: int) -> list[tuple[Player, ...]]:
    """Line-ups of all the agents together: every choice of as many as there are seats, in the order given; where they are
    fewer, the one line-up that repeats them from the first until the table is full."""
    if len(agents) < num_players:
        return [tuple(itertools.islice(itertools.cycle(agents), num_players))]
    return list(itertools.combinations(agents, num_players))


def mixed(game: Game, agents: Sequence[Player], blocks: int, seed: int = 0, **options: Any) -> list[Match]:
    """All agents together: a match for each of `mixed_lineups`, all on the same deals."""
    lineups = mixed_lineups(agents, game.num_players)
    return [
        dataclasses.replace(run_blocks(game, lineup, blocks, seed, **options), format="mixed") for lineup in lineups
    ]


def run_fixed_seats(game: Game, lineup: Sequence[Player], games: int, seed: int = 0, **options: Any) -> Match:
    """A line-up on `games` deals, everyone in one seat throughout: what seats do, not what agents are worth."""
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
    workers: Workers | None = None,
    first: int = 0,
) -> Match:
    """Play a line-up on `blocks` deals, each in every seating.

    An agent that raises, or chooses something else than a legal action, loses that game: see `Match`.

    Args:
        game: the variant and board.
        lineup: an agent or a spec for each seat of the base seating. The same object or spec may sit in several. An agent
            given by its spec goes by it; an object by its `name`.
        blocks: how many deals.
        seed: of deals and chances, from 0 to 2**64−1. The same seed gives every line-up the same deals.
        progress: called with the games played since the last call, in fractions as turns end.
        seatings: (k, n) permutations of the line-up, `cyclic_seatings` unless given.
        chunk_games: how many games run at once. Agents' randomness is keyed by the seed and the chunk's number, so agents
            that use any play differently with another value. Unless given, `CHUNK_GAMES`, or 1 where an agent has one of
            the attributes `BUDGETS` that is not None.
        records: gets the record of every game, in their order.
        workers: plays the games in its processes, all agents being given by specs; in this process if None.
        first: number of the first deal. A match played in parts, one after the other, is the same match if no chunk is cut.

    Raises:
        ValueError: the line-up does not fill the table, a number is out of range, or a spec is none.
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
    players = list({_identity(player): player for player in lineup}.values())
    agents = [make(player) if isinstance(player, str) else player for player in players]
    names = [player if isinstance(player, str) else player.name for player in players]
    identities = [_identity(player) for player in players]
    places = np.array([identities.index(_identity(player)) for player in lineup])
    block, seating = (part.ravel() for part in np.indices((blocks, len(seatings))))
    block += first
    deals = [random_word(np.uint64(seed), DEALS, np.uint64(first + number)) for number in range(blocks)]
    plan = Plan(
        game,
        tuple(names),
        seed,
        np.array(deals, np.uint64)[block - first],
        places[seatings[seating]],
        records is not None,
    )
    chunks = _chunks(len(block), chunk_games or (1 if any(map(thinks, agents)) else CHUNK_GAMES), first * len(seatings))
    tell = progress or (lambda games: None)
    if workers is None:
        warm: set[int] = set()
        watch = _Progress(plan, tell)
        played = [play(plan, chunk, agents, warm, watch) for chunk in chunks]
    else:
        objects = [player.name for player in players if not isinstance(player, str)]
        if objects:
            raise ValueError(
                f"agent {objects[0]!r} is an object; to play in other processes it must be given by a spec"
            )
        played = workers.play(plan, [str(player) for player in players], chunks, lambda turns: tell(turns / plan.turns))
    return _match(plan, tuple(names[place] for place in places), block, seating, played, records)


def thinks(agent: Agent) -> bool:
    """Whether an agent has a budget of time or of work, so that its games are best played one by one."""
    return any(getattr(agent, name, None) is not None for name in BUDGETS)


class _Progress:
    """Tells of games of this process."""

    def __init__(self, plan: Plan, tell: Callable[[float], None]) -> None:
        self.turns, self.tell = plan.turns, tell

    def asks(self, agent: int, lanes: int, first: bool) -> None:
        pass

    def answered(self) -> None:
        pass

    def stepped(self, actions: np.ndarray, turns: int) -> None:
        if turns:
            self.tell(turns / self.turns)


def _identity(player: Player) -> Any:
    return player if isinstance(player, str) else id(player)


def _chunks(games: int, size: int, before: int) -> list[Chunk]:
    """The games in chunks, keyed by their numbers in the match; `before`: games of it that are not played now."""
    starts = range(0, games, size)
    return [Chunk(tuple(range(start, min(start + size, games))), ((before + start) // size,)) for start in starts]


def _match(
    plan: Plan,
    lineup: tuple[str, ...],
    block: np.ndarray,
    seating: np.ndarray,
    played: Sequence[Played],
    records: list[Record] | None,
) -> Match:
    """All chunks of a match put together."""
    final, share = np.zeros(plan.seats.shape, np.int32), np.zeros(plan.seats.shape)
    clocks = [Clock() for _ in plan.names]
    ordered = sorted(played, key=lambda part: part.games)
    for part in ordered:
        numbers = list(part.games)
        final[numbers], share[numbers] = part.final, part.win_share
        for clock, more in zip(clocks, part.clocks, strict=True):
            clock.add(more)
        if records is not None:
            records += [dataclasses.replace(record, game=plan.game) for record in part.records]
    faults = tuple(
        Fault(
            agent=loss.agent,
            name=plan.names[loss.agent],
            seat=loss.seat,
            game=loss.game,
            block=int(block[loss.game]),
            seating=int(seating[loss.game]),
            action=loss.action,
            reason=loss.reason,
        )
        for part in ordered
        for loss in part.losses
    )
    return Match(
        game=plan.game,
        lineup=lineup,
        agents=plan.names,
        seed=plan.seed,
        deal=plan.deal,
        block=block,
        seating=seating,
        seats=plan.seats,
        final=final,
        win_share=share,
        timings=tuple(map(_timing, clocks)),
        faults=faults,
    )


def _timing(clock: Clock) -> Timing:
    p99 = 1000 * float(np.quantile(clock.turn_seconds, 0.99)) if clock.turn_seconds else math.nan
    return Timing(clock.decisions, clock.turns, clock.seconds, None if math.isnan(p99) else p99)
