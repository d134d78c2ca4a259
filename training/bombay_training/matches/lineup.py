"""What is to be played: line-ups, and chunks of their games.

A game's deal, its seats and the random keys of its agents follow from its line-up and its number alone, so games can be played in
any order, in any process and in any part of a study. `matches/run.py` plays line-ups, and `matches/study.py` reads them from a
file.
"""

import dataclasses
import enum
import functools
import hashlib
import itertools
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_env import Board, Game, Rules, checks, streams
from bombay_env.agent import Agent, name_of
from bombay_env.chance import lane_words
from bombay_env.files.forms import Form
from bombay_env.rules import MAX_PLAYERS
from bombay_training.matches.table import blank_rows

Player = Agent | str  # an object, which plays in this process only, or a spec

CHUNK_GAMES: Final = 256  # played together; enough for agents that are faster on batches
BUDGETS: Final = ("ms", "nodes", "rollouts")  # attributes of agents that search
PARTS: Final = ("setup", "restocks", "play")  # of a game's randomness; the last is that of the agents
SETUP_FIELDS: Final = ("demand", "post", "palace_token")  # of a state: what the set-up draws (RULES 2)


class Seating(enum.StrEnum):
    """How often each deal is played, and who sits where.

    Play depends on who sits next to whom. So with `all` and `rotate`, the agents sit in a circular order that is drawn for the
    deal: the first of the line-up begins it, and every order of the others is equally likely.
    """

    ALL = "all"  # in every rotation of the circular order, so that each agent has each seat
    ROTATE = "rotate"  # once; the circular order is rotated by one seat from each deal to the next
    FIXED = "fixed"  # once, in the order of the line-up
    PAIRS = "pairs"  # in the six ways to give two of four seats to the line-up's first two agents

    def orders(self, seed: int, block: np.ndarray, seating: np.ndarray, num_seats: int) -> np.ndarray:
        """Who sits where.

        Args:
            seed: of the deals.
            block: (G,) int64 numbers of deals.
            seating: (G,) int64 numbers of seatings.
            num_seats: n.

        Returns:
            (G, n) int64, the line-up's index for each seat.
        """
        if self is Seating.FIXED:
            return np.tile(np.arange(num_seats), (len(block), 1))
        if self is Seating.PAIRS:
            return np.asarray(PAIR_ORDERS[seating])
        others = [_words(seed, streams.SEATINGS, block * MAX_PLAYERS + seat) for seat in range(1, num_seats)]
        circle = np.column_stack([np.zeros_like(block), 1 + np.argsort(others, axis=0, kind="stable").T])
        turned = (np.arange(num_seats) - seating[:, None]) % num_seats
        return np.asarray(np.take_along_axis(circle, turned, axis=1))


PAIR_ORDERS: Final = np.array(
    [
        np.argsort([*first, *sorted({0, 1, 2, 3} - set(first))], kind="stable")
        for first in itertools.combinations(range(4), 2)
    ]
)


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Consecutive games of a line-up that are played together.

    Args:
        first: the number of the first game.
        count: how many.
        key: of what agents draw from their generator itself, instead of from the keys of their lanes (`agent.lane_keys`).
    """

    first: int
    count: int
    key: tuple[int, ...]

    def split(self) -> "list[Chunk]":
        """A chunk for each of the games."""
        return [Chunk(self.first + number, 1, (*self.key, number)) for number in range(self.count)]


@dataclasses.dataclass(frozen=True, eq=False)
class Lineup:
    """A line-up to play: who sits where in which variant of the game, and how many deals.

    Args:
        game: the variant and board.
        agents: an agent or a spec for each seat of the first order. The same object or spec may have several seats.
        deals: their number.
        seed: of the deals and of the agents' randomness, from 0 to 2**64−1. The same seed gives every line-up the same deals.
        seating: who sits where.
        format: `1vrest`, `2v2`, `mixed`, or `seats` for any other.
        accounts: whether every rupee and action of a game is entered in accounts (`matches/accounts.py`).
        records: whether the record of every game is kept.
        chunk_games: number of games played together. Another value changes no result, unless an agent draws from its generator
            itself (`agent.lane_keys`). None: `CHUNK_GAMES`, or 1 if an agent `searches`.
        redraw: the `PARTS` of the randomness that are drawn anew. Each game shares all other parts with the same game of the
            line-up without `redraw`. Agents share theirs only if they take it from `agent.lane_keys`.

    Raises:
        ValueError: the line-up does not fill the seats, a number is out of range, there is no such part, or records are to be
            kept of games whose set-up and restocks do not follow from one seed.
    """

    game: Game
    agents: tuple[Player, ...]
    deals: int
    seed: int = 0
    seating: Seating = Seating.ALL
    format: str = "seats"
    accounts: bool = False
    records: bool = False
    chunk_games: int | None = None
    redraw: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        seats = self.game.num_players
        if self.seating is Seating.PAIRS and seats != 4:
            raise ValueError(f"2v2 is for 4 players, not {seats}")
        if len(self.agents) != seats:
            raise ValueError(f"the line-up has {len(self.agents)} agents; this game has {seats} seats")
        checks.whole_number(self.deals, "blocks", 1, checks.MAX_COUNT)
        if self.chunk_games is not None:
            checks.whole_number(self.chunk_games, "chunk_games", 1, checks.MAX_COUNT)
        checks.seed(self.seed)
        for part in self.redraw:
            if part not in PARTS:
                raise ValueError(f"redraw has {checks.shown(part)}; it must be some of {', '.join(PARTS)}")
        if self.redraw and self.records:
            raise ValueError("records=True is not possible with redraw: a record's chance must follow from one seed")

    @functools.cached_property
    def players(self) -> tuple[Player, ...]:
        """The distinct agents, in the order of their first seats. Objects are distinct even if their names are equal."""
        return tuple({key_of(player): player for player in self.agents}.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of `players`: their specs, and of objects their `name`."""
        return tuple(player if isinstance(player, str) else name_of(player) for player in self.players)

    @functools.cached_property
    def base(self) -> np.ndarray:
        """(n,) int64 indices into `players` in the first order of seats."""
        identities = [key_of(player) for player in self.players]
        return np.array([identities.index(key_of(player)) for player in self.agents])

    @property
    def games_per_deal(self) -> int:
        """How often each deal is played."""
        several = {Seating.ROTATE: 1, Seating.FIXED: 1, Seating.PAIRS: len(PAIR_ORDERS)}
        return several.get(self.seating, self.game.num_players)

    @property
    def num_games(self) -> int:
        """Number of games."""
        return self.deals * self.games_per_deal

    @property
    def identity(self) -> "LineupForm":
        """What the results of a game follow from, except for the number of deals. Agents must be specs."""
        return LineupForm(
            rules=self.game.rules.to_dict(),
            board=None if self.game.board.is_packaged else self.game.board.to_dict(),
            lineup=[str(player) for player in self.agents],
            format=self.format,
            seating=str(self.seating),
            seed=self.seed,
            accounts=self.accounts,
            redraw=[part for part in PARTS if part in self.redraw],
        )

    @functools.cached_property
    def id(self) -> str:
        """16 hexadecimal digits, a digest of `identity`. With agents that are objects it means something in this process only."""
        objects = [id(player) for player in self.agents if not isinstance(player, str)]
        facts = self.identity.model_dump(exclude_defaults=True) | ({"objects": objects} if objects else {})
        text = json.dumps(facts, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def chunks(self, made: Sequence[Agent]) -> list[Chunk]:
        """All games in chunks; `made` are the players, as objects."""
        size = self.chunk_games or (1 if any(map(searches, made)) else CHUNK_GAMES)
        starts = range(0, self.num_games, size)
        return [Chunk(start, min(size, self.num_games - start), (start // size,)) for start in starts]

    def rows(self, games: np.ndarray) -> np.ndarray:
        """What is known of games before they are played: their rows (G, n) with the results zero.

        Args:
            games: (G,) whole numbers, those of the games in the line-up.
        """
        block, seating = np.divmod(games, self.games_per_deal)
        if self.seating is Seating.ROTATE:
            seating = games % self.game.num_players
        rows = blank_rows(len(games), self.game.num_players, self.accounts)
        rows["seat"] = np.arange(self.game.num_players)
        rows["agent"] = self.base[self.seating.orders(self.seed, block, seating, self.game.num_players)]
        for name, values in (("game", games), ("block", block), ("seating", seating)):
            rows[name] = values[:, None]
        rows["deal"] = _words(self.seed, streams.DEALS, block)[:, None]
        return rows

    def keys(self, rows: np.ndarray) -> np.ndarray:
        """The keys of the agents' randomness in these games, (G,) uint64."""
        stream = streams.REDRAWN_GAMES if "play" in self.redraw else streams.GAMES
        return _words(self.seed, stream, (rows["block"][:, 0].astype(np.int64) << 16) | rows["seating"][:, 0])

    def dealt(self, rows: np.ndarray) -> np.ndarray:
        """The states in which these games begin, (G,) records. Their seeds are those of the restocks.

        Set-up and restocks follow from `deal`, unless the line-up draws them anew.
        """
        deal, new = rows["deal"][:, 0], _words(self.seed, streams.REDRAWN_DEALS, rows["block"][:, 0])
        setup, restocks = (new if part in self.redraw else deal for part in ("setup", "restocks"))
        states = self.game.new_states(restocks)
        if setup is not restocks:
            setups = self.game.new_states(setup)
            for name in SETUP_FIELDS:
                states[name] = setups[name]
        return states


def searches(agent: Agent) -> bool:
    """Whether an agent has a budget of time or of work, one of `BUDGETS`. Its games are best played one by one."""
    return any(getattr(agent, name, None) is not None for name in BUDGETS)


def key_of(player: Player) -> Any:
    """What tells players apart: a spec, or which object it is."""
    return player if isinstance(player, str) else id(player)


def _words(seed: int, stream: np.uint64, numbers: np.ndarray) -> np.ndarray:
    """A random word for each number, (G,) uint64."""
    return lane_words(np.full(len(numbers), seed, np.uint64), stream, numbers.astype(np.uint64))


# --- as plain data ---


class LineupForm(Form):
    """A line-up in `lineups.json`."""

    rules: dict[str, Any]
    board: dict[str, Any] | None
    lineup: list[str]
    format: str
    seating: str
    seed: int
    accounts: bool
    redraw: list[str] = []  # noqa: RUF012 -- pydantic copies it


def lineup_of(form: LineupForm, deals: int) -> Lineup:
    """The line-up with this number of deals. Raises ValueError if it is not possible."""
    seating, game = Seating(form.seating), _game(json.dumps(form.rules), json.dumps(form.board))
    agents, redraw = tuple(form.lineup), tuple(form.redraw)
    return Lineup(game, agents, deals, form.seed, seating, form.format, form.accounts, redraw=redraw)


@functools.lru_cache(maxsize=64)  # most line-ups of a store are of one of a few games
def _game(rules: str, board: str) -> Game:
    given = json.loads(board)
    return Game(Rules.from_dict(json.loads(rules)), Board.load() if given is None else Board.from_dict(given))
