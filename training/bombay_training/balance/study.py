"""The study behind `bombay balance`: games in which one agent plays all seats, with books of every rupee.

The study compares seats, so each deal is played once and is its own block: games are independent, the seats of one game are not.
Deals are the arena's: every agent and every variant of the rules plays the same ones, so that the effect of a changed rule is a
difference within deals. The books say where each seat's rupees came from and what its actions were spent on. They are kept apart
from the game, by the fields of `Rules`, and must agree with it at the end of every game. This module plays and counts;
`balance/report.py` draws conclusions.
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
from bombay_env import Game, Rules, checks, engine, streams
from bombay_env.actions import BUILD, BUY, CONSOLIDATE, SELL, TAKE
from bombay_env.agent import AgentFault, ask
from bombay_env.chance import random_word
from bombay_env.jit.kernels import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_MARKETS, PalaceToken

# Three levels of skill, the expensive agent with fewer games.
TIERS: Final = ("greedy", "planner-v1", "flat-mc:rollouts=125@400")
JOB_GAMES: Final = 1024  # most games played together
MIN_JOBS: Final = 16  # per setting, if it has that many games: enough for the processes to share

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

SPENDING: Final = ("move", "buy", "sell", "build", "consolidate", "wasted")  # what the actions of a turn are spent on
ON_MOVES, ON_BUYS, ON_SELLS, ON_BUILDS, ON_CONSOLIDATIONS, WASTED = range(len(SPENDING))

TOKEN_RUPEES = 1 + int(PalaceToken.RUPEES)  # as a state stores it


class AccountingError(RuntimeError):
    """The books of a game disagree with its result. The message names the game."""


@dataclasses.dataclass(frozen=True)
class Books:
    """The accounts of G games with n seats.

    Args:
        deal: (G,) uint64 seeds of the games.
        final: (G, n) int32 rupees with awards (RULES 5).
        win_share: (G, n) float64, 1 over the number of winners for each winner.
        rupees: (G, n, sources) int32 by `SOURCES`; the sum over sources is `final`.
        uses: (G, n, uses) int32, how often each of `USES` was chosen.
        spent: (G, n, spending) int32 actions by `SPENDING`; their sum is the number of actions in all turns.
    """

    deal: np.ndarray
    final: np.ndarray
    win_share: np.ndarray
    rupees: np.ndarray
    uses: np.ndarray
    spent: np.ndarray

    @classmethod
    def blank(cls, game: Game, deal: np.ndarray) -> Self:
        """Books of new games, with the starting rupees entered."""
        shape = (len(deal), game.num_players)
        counts = (len(SOURCES), len(USES), len(SPENDING))
        rupees, uses, spent = (np.zeros((*shape, count), np.int32) for count in counts)
        rupees[:, :, START] = game.rules.starting_rupees
        return cls(deal, np.zeros(shape, np.int32), np.zeros(shape), rupees, uses, spent)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The books of the games of all `parts`, in order."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    @property
    def num_games(self) -> int:
        """Number of games."""
        return len(self.deal)

    @property
    def margin(self) -> np.ndarray:
        """Final rupees minus the game's mean, (G, n) float64."""
        return np.asarray(self.final - self.final.mean(axis=1, keepdims=True))


# --- settings ---


@dataclasses.dataclass(frozen=True)
class Tier:
    """A level of skill.

    Args:
        spec: the agent.
        games: number of games in each of its settings.
    """

    spec: str
    games: int

    @classmethod
    def parse(cls, text: str, games: int, most: int) -> Self:
        """Parse `SPEC` or `SPEC@GAMES` with a number from 1 to `most`; `games` is used if there is none.

        Raises:
            ValueError: the number is out of range, or the spec is invalid.
        """
        spec, at, number = text.rpartition("@")
        if not (at and number.isascii() and number.isdigit()):  # any other @ belongs to an option
            spec, number = text, str(games)
        if not (len(number) < 20 and 1 <= int(number) <= most):
            raise ValueError(
                f"--tier is {checks.shown(text)}; after @ it takes a number of games from 1 to {most}, as in greedy@400"
            )
        bombay_agents.make(spec)
        return cls(spec, int(number))


@dataclasses.dataclass(frozen=True)
class Change:
    """Values to try, one by one, for a field of `Rules` or for an entry of it.

    Args:
        field: the field's name.
        entry: indices into its nested lists; empty for the whole field.
        values: the values, as decoded from JSON.
    """

    field: str
    entry: tuple[int, ...]
    values: tuple[Any, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `FIELD=V1,V2…` or, for an entry of a list, `FIELD.INDEX=V1,V2…`; values are JSON. Raises ValueError."""
        fields = [field.name for field in dataclasses.fields(Rules) if field.name != "num_players"]
        path, equals, values = text.partition("=")
        field, *entry = path.strip().split(".")
        if not equals or not all(re.fullmatch(r"[0-9]{1,3}", index) for index in entry):
            raise ValueError(
                f"--vary is {checks.shown(text)}; it must be FIELD=V1,V2 or FIELD.INDEX=V1,V2, such as starting_rupees.4=2,3"
            )
        if field not in fields:
            unknown = f"--vary names the unknown field {checks.one_line(repr(field), 40)}"
            raise ValueError(checks.message(f"{unknown}; the fields are {', '.join(fields)}"))
        try:
            parsed = json.loads(f"[{values}]")
        except ValueError:
            parsed = []
        if not parsed:
            allowed = "they must be JSON, such as 2,3 or true,false or null or [8,4,2,0]"
            raise ValueError(f"--vary {checks.one_line(path)}: the values are {checks.shown(values)}; {allowed}")
        return cls(field, tuple(map(int, entry)), tuple(parsed))

    @property
    def path(self) -> str:
        """The field and the entry: `starting_rupees.4`."""
        return ".".join([self.field, *map(str, self.entry)])

    def label(self, value: Any) -> str:
        """The change with one of the values: `starting_rupees.4=2`."""
        return f"{self.path}={json.dumps(value)}"

    def fits(self, rules: Rules) -> bool:
        """Whether the rules have the entry. With 4 players, for example, there is no fifth seat.

        Raises:
            ValueError: an index is applied to something that is not a list.
        """
        part = rules.to_dict()[self.field]
        for index in self.entry:
            if not isinstance(part, list):
                raise ValueError(
                    f"--vary {checks.one_line(self.path)}: {self.field} has no entry of that kind; it is {part!r}"
                )
            if index >= len(part):
                return False
            part = part[index]
        return True

    def applied(self, rules: Rules, value: Any) -> Rules:
        """The rules with this value. Raises ValueError if they are invalid."""
        changed = rules.to_dict()
        part: Any = changed
        *parents, last = [self.field, *self.entry]
        for key in parents:
            part = part[key]
        part[last] = value
        try:
            return Rules.from_dict(changed)
        except ValueError as error:
            raise ValueError(
                f"--vary {checks.one_line(self.label(value))} with {rules.num_players} players: {error}"
            ) from None


@dataclasses.dataclass(frozen=True)
class Setting:
    """One agent in all seats of one game.

    Args:
        game: the variant and board.
        tier: the agent and the number of games.
        change: the label of the changed rule; empty for the rules as given.
    """

    game: Game
    tier: Tier
    change: str = ""


def plan(games: Sequence[Game], tiers: Sequence[Tier], changes: Sequence[Change]) -> tuple[list[Setting], list[str]]:
    """Plan a study.

    Returns:
        The settings to play, each followed by those with a changed rule, and a line for each change that is left out.

    Raises:
        ValueError: a change names an unknown field, fits none of the games, or has an invalid value.
    """
    settings, notes = [], []
    for change in changes:
        if not any(change.fits(game.rules) for game in games):
            players = ", ".join(str(game.num_players) for game in games)
            raise ValueError(f"--vary {checks.one_line(change.path)}: there is no such entry with {players} players")
    for game in games:
        variants: dict[str, Game] = {}
        for change in changes:
            if not change.fits(game.rules):
                notes.append(f"{change.path} is left out with {game.num_players} players: there is no such entry")
                continue
            for value in change.values:
                rules = change.applied(game.rules, value)
                if rules == game.rules:
                    notes.append(
                        f"{change.label(value)} with {game.num_players} players is left out: the rules have this value already"
                    )
                elif rules not in [variant.rules for variant in variants.values()]:
                    variants[change.label(value)] = Game(rules, game.board)
        for tier in tiers:
            settings.append(Setting(game, tier))
            settings += [Setting(variant, tier, label) for label, variant in variants.items()]
    return settings, notes


# --- play ---


@dataclasses.dataclass(frozen=True)
class StudyJob:
    """Some of a setting's games, which one process plays together.

    Args:
        game: the variant and board.
        spec: the agent.
        seed: the study's seed.
        number: the job's number in its setting, which keys the agent's randomness.
        games: the numbers of the games.
    """

    game: Game
    spec: str
    seed: int
    number: int
    games: range


def run(
    settings: Sequence[Setting], seed: int = 0, processes: int = 1, progress: Callable[[int], None] | None = None
) -> list[Books]:
    """Play all settings. The books are the same for any number of processes.

    Args:
        settings: what to play.
        seed: of the deals and of the agents' randomness, from 0 to 2**64−1.
        processes: number of processes.
        progress: called with the number of games played since the last call.

    Returns:
        The books of each setting.

    Raises:
        AgentFault: an agent raised, chose an illegal action or ended its process.
        AccountingError: the books of a game do not add up.
    """
    jobs = [job for setting in settings for job in jobs_of(setting, seed)]
    parts = []
    for part in _played(jobs, min(processes, len(jobs))):
        parts.append(part)
        if progress is not None:
            progress(part.num_games)
    following = iter(parts)
    return [Books.joined([next(following) for _ in jobs_of(setting, seed)]) for setting in settings]


def jobs_of(setting: Setting, seed: int) -> list[StudyJob]:
    """A setting's games, divided into jobs by their number alone."""
    games = setting.tier.games
    size = min(JOB_GAMES, -(-games // MIN_JOBS))
    starts = range(0, games, size)
    return [
        StudyJob(setting.game, setting.tier.spec, seed, number, range(start, min(start + size, games)))
        for number, start in enumerate(starts)
    ]


def _played(jobs: Sequence[StudyJob], processes: int) -> Iterator[Books]:
    if processes <= 1:
        yield from map(play_job, jobs)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _start_process) as pool:
        futures = [pool.submit(play_job, job) for job in jobs]
        try:
            for future in futures:
                yield future.result()
        except BrokenProcessPool:
            raise AgentFault(_suspects(jobs, futures, processes), "its process ended") from None
        except KeyboardInterrupt:  # the shutdown below would first finish the jobs that have begun
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _suspects(jobs: Sequence[StudyJob], futures: Sequence[Future[Books]], processes: int) -> str:
    """The agents that may have ended a process. Jobs begin in order, so those under way are the first without a result."""
    lost = [
        job.spec for job, future in zip(jobs, futures, strict=True) if isinstance(future.exception(), BrokenProcessPool)
    ]
    return " or ".join(f"agent {spec!r}" for spec in dict.fromkeys(lost[:processes]))


def _start_process() -> None:
    """Use one thread, keep what agents print out of the results, and let Ctrl-C end the process without a traceback."""
    numba.set_num_threads(1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def play_job(job: StudyJob) -> Books:
    """Play a job's games to their ends and keep the books."""
    return play_games(job, bombay_agents.make(job.spec))


def play_games(job: StudyJob, agent: Agent) -> Books:
    """Play a job's games with `agent` in all seats.

    The randomness of each step has its own key, so two variants draw the same numbers as long as their games take the same
    course.
    """
    game, numbers = job.game, job.games
    who = f"agent {job.spec!r} in games {numbers[0]} to {numbers[-1]}"
    deal = np.array(
        [random_word(np.uint64(job.seed), streams.DEALS, np.uint64(number)) for number in numbers], np.uint64
    )
    books, states, lanes = Books.blank(game, deal), game.new_states(deal), np.arange(len(deal))
    sale, bonus = np.array(game.rules.sale_rupees), np.array(game.rules.colour_rupees)
    step = 0
    while lanes.size:
        scrub_rng, rng = (np.random.default_rng((job.seed, job.number, step, part)) for part in range(2))
        actions = ask(agent, game, states, rng, scrub_rng, who)
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


# --- books ---


@kernel
def book_all(states, tables, sale, bonus, actions, games, rupees, uses, spent):
    """Enter the income, cost and use of these actions in the books, before the actions are played.

    Args:
        states: (batch,) records, unchanged.
        actions: (batch,) int64 legal actions.
        sale, bonus: (3,) and (4,) rupees of a sale, by place in the column and by colour.
        games: (batch,) the index in the books of each lane's game.
        rupees, uses, spent: arrays of `Books`, changed in place.
    """
    for lane in range(len(states)):
        game = games[lane]
        book(states[lane], tables[0], sale, bonus, actions[lane], rupees[game], uses[game], spent[game])


@kernel
def book(state, tables, sale, bonus, action, rupees, uses, spent):
    """Enter one action of one game; `rupees`, `uses` and `spent` are the (n, …) rows of its books."""
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
    """Raise AccountingError unless the books of every game add up; `numbers` are the numbers of the games."""
    total = game.rules.sets * game.rules.turns_per_set * game.rules.actions_per_turn
    accounts = (("rupees", books.rupees.sum(axis=2), books.final), ("actions", books.spent.sum(axis=2), total))
    for what, booked, true in accounts:
        wrong = np.argwhere(booked != true)
        if len(wrong):
            row, seat = wrong[0].tolist()
            expected = np.broadcast_to(true, booked.shape)[row, seat]
            raise AccountingError(
                f"game {numbers[row]} (seed {books.deal[row]}): the books give seat {seat} {booked[row, seat]} {what}, "
                f"the game {expected}"
            )
