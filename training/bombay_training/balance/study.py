"""The study behind `bombay balance`: games in which every seat is played by the same agent, with an account of every rupee.

Seats are what is compared, so a deal is played once and is a block of its own: games are independent, the seats of one game
are not. Deals are keyed as the arena's: every agent and every variant of the rules meets the same ones, so that what a changed
rule does is a difference within deals. The books say where each seat's rupees came from and what its actions were spent on;
they are written from the fields of `Rules` beside the game, and must agree with it at the end of every game. This module draws
no conclusions; `balance/report.py` does.
"""

import dataclasses
import json
import multiprocessing
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final, Self

import numba
import numpy as np

import bombay_agents
from bombay_agents import Agent
from bombay_env import Game, Rules, engine
from bombay_env.actions import BUILD, BUY, CONSOLIDATE, SELL, TAKE
from bombay_env.chance import random_word
from bombay_env.checks import MAX_SEED
from bombay_env.jit.kernels import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_MARKETS, PalaceToken
from bombay_training.evaluation.arena import DEALS

TIERS: Final = (
    "greedy",
    "planner-v1",
    "flat-mc:rollouts=125@400",
)  # three levels of skill, the dear one with fewer games
CHUNK_GAMES: Final = 1024  # games that run together, at most
CHUNKS: Final = 16  # of one table, at least where it has as many games: what processes share out

SOURCES: Final = (
    "start",
    "sales_top",
    "sales_middle",
    "sales_bottom",
    "colour_bonus",
    "tolls",
    "consolidation",
    "palace_tokens",
    "purchases",
    "empire",
    "fame",
)
START, SALES = 0, 1
BONUS = SALES + COLUMN_HEIGHT
TOLLS, CONSOLIDATION, TOKENS, PURCHASES, EMPIRE, FAME = range(BONUS + 1, BONUS + 7)

USES: Final = (
    "move",
    "buy_left",
    "buy_centre",
    "buy_right",
    "sell_top",
    "sell_middle",
    "sell_bottom",
    "build",
    "take",
    "consolidate",
    "end_turn",
)
MOVES, BUYS = 0, 1
SELLS = BUYS + NUM_MARKETS
BUILDS, TAKES, CONSOLIDATIONS, END_TURNS = range(SELLS + COLUMN_HEIGHT, SELLS + COLUMN_HEIGHT + 4)

SPENDING: Final = ("move", "buy", "sell", "build", "consolidate", "wasted")  # what a turn's actions go on
ON_MOVES, ON_BUYS, ON_SELLS, ON_BUILDS, ON_CONSOLIDATIONS, WASTED = range(len(SPENDING))

TOKEN_RUPEES = 1 + int(PalaceToken.RUPEES)  # as it lies on a site


class AgentError(RuntimeError):
    """An agent raised, chose no legal action, or ended its process or never its turn; the message says which and where."""


class AccountingError(RuntimeError):
    """The books of a game do not agree with its result; the message names the game."""


@dataclasses.dataclass(frozen=True)
class Books:
    """What happened in G games of n seats.

    Args:
        deal: (G,) uint64 seeds of the games.
        final: (G, n) int32 rupees with awards (RULES 5).
        win_share: (G, n) float64, 1 over the number of winners for each winner.
        rupees: (G, n, sources) int32 by `SOURCES`; the sum over sources is `final`.
        uses: (G, n, uses) int32, how often each of `USES` was chosen.
        spent: (G, n, spending) int32 actions by `SPENDING`; the sum is what the turns gave.
    """

    deal: np.ndarray
    final: np.ndarray
    win_share: np.ndarray
    rupees: np.ndarray
    uses: np.ndarray
    spent: np.ndarray

    @classmethod
    def blank(cls, game: Game, deal: np.ndarray) -> Self:
        """Books of games just dealt, their starting rupees entered."""
        shape = (len(deal), game.num_players)
        kinds = (len(SOURCES), len(USES), len(SPENDING))
        rupees, uses, spent = (np.zeros((*shape, kind), np.int32) for kind in kinds)
        rupees[:, :, START] = game.rules.starting_rupees
        return cls(deal, np.zeros(shape, np.int32), np.zeros(shape), rupees, uses, spent)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The books of all the games of `parts`, in order."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def num_games(self) -> int:
        """Games played."""
        return len(self.deal)

    @property
    def margin(self) -> np.ndarray:
        """Final rupees less the table's mean, (G, n) float64."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))


# --- What is played ---


@dataclasses.dataclass(frozen=True)
class Tier:
    """A level of skill: an agent's spec, and how many games each table of it plays."""

    spec: str
    games: int

    @classmethod
    def parse(cls, text: str, games: int, most: int) -> Self:
        """`SPEC` or `SPEC@GAMES`, from 1 to `most`; `games` where none are given.

        Raises:
            ValueError: the number is out of range, or there is no such agent.
        """
        spec, at, number = text.rpartition("@")
        if not (at and number.isascii() and number.isdigit()):  # any other @ is part of an option
            spec, number = text, str(games)
        if not (len(number) < 20 and 1 <= int(number) <= most):
            raise ValueError(
                f"--tier is {text[:80]!r}; after @ it takes a number of games from 1 to {most}, as in greedy@400"
            )
        bombay_agents.make(spec)
        return cls(spec, int(number))


@dataclasses.dataclass(frozen=True)
class Change:
    """A field of `Rules`, or an entry of one, and the values to try, each by itself, the other fields as they are.

    Args:
        field: its name.
        entry: indices into its lists; empty for the field as a whole.
        values: as JSON gives them.
    """

    field: str
    entry: tuple[int, ...]
    values: tuple[Any, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """`FIELD=V1,V2…` or, for an entry of a list, `FIELD.INDEX=V1,V2…`; values are JSON. Raises ValueError."""
        fields = [field.name for field in dataclasses.fields(Rules) if field.name != "num_players"]
        path, equals, values = text.partition("=")
        field, *entry = path.strip().split(".")
        if not equals or not all(re.fullmatch(r"[0-9]{1,3}", index) for index in entry):
            raise ValueError(
                f"--vary is {text[:80]!r}; it must be FIELD=V1,V2 or FIELD.INDEX=V1,V2, such as starting_rupees.4=2,3"
            )
        if field not in fields:
            raise ValueError(f"--vary names the unknown field {field[:40]!r}; the fields are {', '.join(fields)}")
        try:
            made = json.loads(f"[{values}]")
        except (ValueError, RecursionError):
            made = []
        if not made:
            raise ValueError(
                f"--vary {path}: the values are {values[:60]!r}; they must be JSON, such as 2,3 or true,false or null or "
                "[8,4,2,0]"
            )
        return cls(field, tuple(map(int, entry)), tuple(made))

    @property
    def path(self) -> str:
        """The field and the entry as they are written: `starting_rupees.4`."""
        return ".".join([self.field, *map(str, self.entry)])

    def told(self, value: Any) -> str:
        """What is tried with one of the values: `starting_rupees.4=2`."""
        return f"{self.path}={json.dumps(value)}"

    def fits(self, rules: Rules) -> bool:
        """Whether the rules have the entry: there is no fifth seat for 4 players.

        Raises:
            ValueError: the field has no entries, or none within entries.
        """
        part = rules.to_dict()[self.field]
        for index in self.entry:
            if not isinstance(part, list):
                raise ValueError(f"--vary {self.path}: {self.field} has no entry of that kind; it is {part!r}")
            if index >= len(part):
                return False
            part = part[index]
        return True

    def applied(self, rules: Rules, value: Any) -> Rules:
        """The rules with this value there. Raises ValueError if no rules can be so."""
        changed = rules.to_dict()
        part: Any = changed
        *way, last = [self.field, *self.entry]
        for key in way:
            part = part[key]
        part[last] = value
        try:
            return Rules.from_dict(changed)
        except ValueError as error:
            raise ValueError(f"--vary {self.told(value)} with {rules.num_players} players: {error}") from None


@dataclasses.dataclass(frozen=True)
class Table:
    """One agent in all seats of one game. `change` says what differs from the rules studied, '' if nothing does."""

    game: Game
    tier: Tier
    change: str = ""


def plan(games: Sequence[Game], tiers: Sequence[Tier], changes: Sequence[Change]) -> tuple[list[Table], list[str]]:
    """The tables to play, each followed by its what-ifs, and a line for each what-if that is left out.

    Raises:
        ValueError: a change names something that no rules have, fits none of the games, or gives a value that cannot be.
    """
    tables, notes = [], []
    for change in changes:
        if not any(change.fits(game.rules) for game in games):
            players = ", ".join(str(game.num_players) for game in games)
            raise ValueError(f"--vary {change.path}: there is no such entry with {players} players")
    for game in games:
        variants: dict[str, Game] = {}
        for change in changes:
            if not change.fits(game.rules):
                notes.append(f"{change.path} is left out with {game.num_players} players, where there is no such entry")
                continue
            for value in change.values:
                rules = change.applied(game.rules, value)
                if rules == game.rules:
                    notes.append(
                        f"{change.told(value)} with {game.num_players} players is the rules as they are, compared with"
                    )
                elif rules not in [variant.rules for variant in variants.values()]:
                    variants[change.told(value)] = Game(rules, game.board)
        for tier in tiers:
            tables.append(Table(game, tier))
            tables += [Table(variant, tier, told) for told, variant in variants.items()]
    return tables, notes


# --- Playing ---


@dataclasses.dataclass(frozen=True)
class Chunk:
    """Some of a table's games, which one process plays together."""

    game: Game
    spec: str
    seed: int
    number: int  # which of the table's chunks: the agent's randomness is keyed by it
    games: range


def run(
    tables: Sequence[Table], seed: int = 0, workers: int = 1, progress: Callable[[int], None] | None = None
) -> list[Books]:
    """Play every table; the books are the same whatever the number of processes.

    Args:
        tables: what to play.
        seed: of deals and chances, from 0 to 2**64−1.
        workers: processes.
        progress: called with the number of games that have just ended, whenever some have.

    Raises:
        AgentError: an agent raised, chose no legal action or ended its process.
        AccountingError: the books of a game do not add up.
    """
    chunks = [chunk for table in tables for chunk in chunks_of(table, seed)]
    parts = []
    for part in _played(chunks, min(workers, len(chunks))):
        parts.append(part)
        if progress is not None:
            progress(part.num_games)
    following = iter(parts)
    return [Books.joined([next(following) for _ in chunks_of(table, seed)]) for table in tables]


def chunks_of(table: Table, seed: int) -> list[Chunk]:
    """A table's games in pieces, which depend on nothing but their number."""
    games = table.tier.games
    size = min(CHUNK_GAMES, -(-games // CHUNKS))
    starts = range(0, games, size)
    return [
        Chunk(table.game, table.tier.spec, seed, number, range(start, min(start + size, games)))
        for number, start in enumerate(starts)
    ]


def _played(chunks: Sequence[Chunk], workers: int) -> Iterator[Books]:
    if workers <= 1:
        yield from map(play_chunk, chunks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, _start_worker) as pool:
        futures = [pool.submit(play_chunk, chunk) for chunk in chunks]
        try:
            for future in futures:
                yield future.result()
        except BrokenProcessPool:
            raise AgentError(_ended(chunks, futures, workers)) from None
        except KeyboardInterrupt:  # cancelling, as below, would first play the chunks that have begun to their ends
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _ended(chunks: Sequence[Chunk], futures: Sequence[Future[Books]], workers: int) -> str:
    """Who may have ended a process. Chunks are begun in order: those under way are the first that came to nothing."""
    lost = [
        chunk.spec
        for chunk, future in zip(chunks, futures, strict=True)
        if isinstance(future.exception(), BrokenProcessPool)
    ]
    agents = " or ".join(f"agent {spec!r}" for spec in dict.fromkeys(lost[:workers]))
    return f"{agents} was being asked when its process ended, by its own doing or the machine's"


def _start_worker() -> None:
    """One thread a process, nothing of what agents print among the results, and a silent end when the user stops the command."""
    numba.set_num_threads(1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def play_chunk(chunk: Chunk) -> Books:
    """The chunk's games, played to their ends and accounted for."""
    return play_games(chunk.game, bombay_agents.make(chunk.spec), chunk.spec, chunk.seed, chunk.number, chunk.games)


def play_games(game: Game, agent: Agent, name: str, seed: int, number: int, numbers: range) -> Books:
    """The games with these numbers, one agent in every seat; `name` and `number`, the chunk's, are what errors and chance go by.

    Randomness is keyed by the step as well: two variants then draw alike for as long as their games run side by side.
    """
    deal = np.array([random_word(np.uint64(seed), DEALS, np.uint64(game)) for game in numbers], np.uint64)
    books, states, lanes = Books.blank(game, deal), game.new_states(deal), np.arange(len(deal))
    sale, bonus = np.array(game.rules.sale_rupees), np.array(game.rules.colour_rupees)
    step = 0
    while lanes.size:
        scrub_rng, rng = (np.random.default_rng((seed, number, step, part)) for part in range(2))
        seen = game.scrub(states, scrub_rng.integers(MAX_SEED, size=lanes.size, dtype=np.uint64, endpoint=True))
        actions = decide(game, agent, states, seen, rng, f"agent {name!r} in games {numbers[0]} to {numbers[-1]}")
        records = np.asarray(states)
        book_all(records, game.tables, sale, bonus, actions, lanes, books.rupees, books.uses, books.spent)
        game.step(states, actions)
        over = game.is_terminal(states)
        if over.any():
            results, ended = game.results(states[over]), lanes[over]
            books.rupees[ended, :, EMPIRE], books.rupees[ended, :, FAME] = results["majority"], results["fame"]
            books.final[ended], books.win_share[ended] = results["final"], results["win_share"]
            states, lanes = states[~over], lanes[~over]
        step += 1
    check_books(books, game, numbers)
    return books


def decide(
    game: Game, agent: Agent, states: np.ndarray, seen: np.ndarray, rng: np.random.Generator, where: str
) -> np.ndarray:
    """What the agent chooses, all of it legal. Raises AgentError, which begins with `where`."""
    try:
        answer = agent.act(game, seen, rng)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit() would end the command as if all were well
        raise AgentError(f"{where} raised {type(error).__name__}: {error}") from error
    try:
        return game.check_actions(states, answer)
    except ValueError as error:
        raise AgentError(f"{where}: {error}") from None


# --- Accounting ---


@kernel
def book_all(states, tables, sale, bonus, actions, games, rupees, uses, spent):
    """Enter in the books what these actions, legal and not yet taken, will bring, cost and use.

    Args:
        states: (batch,) records, unchanged; `actions` (batch,) int64.
        sale, bonus: (3,) and (4,) rupees of a sale, by place in the column and by colour.
        games: (batch,) which game of the books each lane is.
        rupees, uses, spent: of `Books`, added to.
    """
    for lane in range(len(states)):
        game = games[lane]
        book(states[lane], tables[0], sale, bonus, actions[lane], rupees[game], uses[game], spent[game])


@kernel
def book(state, tables, sale, bonus, action, rupees, uses, spent):
    """One action of one game; `rupees`, `uses` and `spent` are its (n, kinds) pages."""
    player = state.current_player
    site = state.position[player]
    other = action - tables.num_sites
    if other < BUY:
        uses[player, MOVES] += 1
        spent[player, ON_MOVES] += tables.enter_cost[action]
        owner = state.palace[action] - 1
        if owner >= 0 and owner != player:
            rupees[owner, TOLLS] += tables.toll
    elif other == BUY:
        market = engine.market_of(state, state.post[site] - 1)
        uses[player, BUYS + market] += 1
        spent[player, ON_BUYS] += tables.market_actions[market]
        rupees[player, PURCHASES] -= tables.market_rupees[market]
    elif other < BUILD:
        place = engine.place_in_column(state, tables.city_of_site[site], other - SELL)
        uses[player, SELLS + place] += 1
        spent[player, ON_SELLS] += tables.sell_cost
        rupees[player, SALES + place] += sale[place]
        rupees[player, BONUS] += bonus[other - SELL]
    elif other < TAKE:
        uses[player, BUILDS] += 1
        spent[player, ON_BUILDS] += tables.build_cost
        if state.palace_token[site] == TOKEN_RUPEES:
            rupees[player, TOKENS] += tables.palace_token_rupees
    elif other < CONSOLIDATE:
        uses[player, TAKES] += 1
    elif other == CONSOLIDATE:
        uses[player, CONSOLIDATIONS] += 1
        spent[player, ON_CONSOLIDATIONS] += state.actions_left
        rupees[player, CONSOLIDATION] += tables.consolidate_rupees
    else:
        uses[player, END_TURNS] += 1
        spent[player, WASTED] += state.actions_left


def check_books(books: Books, game: Game, numbers: Sequence[int]) -> None:
    """Raise AccountingError, naming the game, unless the books of every game add up; `numbers` are the games' own."""
    given = game.rules.sets * game.rules.turns_per_set * game.rules.actions_per_turn
    accounts = (("rupees", books.rupees.sum(axis=2), books.final), ("actions", books.spent.sum(axis=2), given))
    for what, booked, true in accounts:
        wrong = np.argwhere(booked != true)
        if len(wrong):
            row, seat = wrong[0].tolist()
            expected = np.broadcast_to(true, booked.shape)[row, seat]
            raise AccountingError(
                f"game {numbers[row]} (seed {books.deal[row]}): the books give seat {seat} {booked[row, seat]} {what}, "
                f"the game {expected}"
            )
