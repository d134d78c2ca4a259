"""Studies: which line-ups play which games, as a TOML file.

    seed = 2029
    players = [2, 3, 4, 5]
    deals = 250
    seating = "rotate"

    [[lineups]]
    agent = "zero"                     # against copies of each of these, one after the other
    against = ["greedy", "planner-v1"]

    [[lineups]]
    mixed = ["zero", "greedy", "seller", "builder", "hoarder"]     # every selection of as many as there are seats

    [[lineups]]
    agent = "champion:nodes=3000"      # with every selection of these that fills the other seats
    among = ["zero", "greedy", "seller", "builder"]

`lineups` turns a study into what is played (`matches/lineup.py`).
"""

import functools
import hashlib
import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from bombay_env import Game, Rules, checks
from bombay_env.envs.common import make_game
from bombay_env.files.forms import Form, Kind, check
from bombay_env.files.reading import read_bytes
from bombay_env.rules import MAX_PLAYERS, MIN_PLAYERS
from bombay_training.matches.lineup import Lineup, Seating

Spec = Annotated[str, Field(min_length=1)]
Specs = Annotated[list[Spec], Field(min_length=1)]
Players = Annotated[list[Annotated[int, Field(ge=MIN_PLAYERS, le=MAX_PLAYERS)]], Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=checks.MAX_COUNT)]


def _for_every_count(deals: Any) -> Any:
    if isinstance(deals, int) and not isinstance(deals, bool):
        return dict.fromkeys("2345", deals)
    if not isinstance(deals, dict):
        raise ValueError("a whole number, or a table of whole numbers by number of players")
    return deals


Deals = Annotated[dict[Literal["2", "3", "4", "5"], Count], BeforeValidator(_for_every_count)]  # by number of players
SeatingName = Literal["all", "rotate", "fixed"]


class LineupGroup(Form):
    """Line-ups of one kind: `agent` with `against` or `among`, `mixed`, `pairs` or `seats`.

    Args:
        agent: an agent, or several, each of which plays alone against copies of each of `against`.
        against: the others.
        among: agents of which every selection that fills the other seats plays with each `agent`; repeated if they are fewer.
        mixed: agents of which every selection of as many as there are seats plays; repeated if they are fewer.
        copies: whether an agent may have several seats of a selection. With true, all line-ups of these agents play.
        pairs: two agents, with two seats each; for 4 players.
        seats: an agent for each seat.
        players, deals, seating: for these line-ups, in place of those of the study.
        own_deals: whether every line-up has deals of its own, instead of the same for all. An agent with many line-ups then meets
            many more deals.
        accounts: whether every rupee of their games is accounted for.
    """

    agent: Spec | Specs | None = None
    against: Specs | None = None
    among: Specs | None = None
    mixed: Specs | None = None
    copies: bool = False
    pairs: Annotated[list[Spec], Field(min_length=2, max_length=2)] | None = None
    seats: Specs | None = None
    players: Players | None = None
    deals: Deals | None = None
    seating: SeatingName | None = None
    own_deals: bool = False
    accounts: bool = False

    def of(self, num_players: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The format and the specs of each line-up for this number of players."""
        for agent in [self.agent] if isinstance(self.agent, str) else self.agent or []:
            for other in self.against or []:
                yield "1vrest", (agent, *[other] * (num_players - 1))
            for others in selections(self.among, num_players - 1, self.copies) if self.among else []:
                yield "mixed", (agent, *others)
        for agents in selections(self.mixed, num_players, self.copies) if self.mixed else []:
            yield "mixed", agents
        if self.pairs and num_players == 4:
            yield "2v2", (self.pairs[0],) * 2 + (self.pairs[1],) * 2
        if self.seats and len(self.seats) == num_players:
            yield "seats", tuple(self.seats)


class Study(Form):
    """A study, as its file gives it.

    Args:
        release: of the project; its number gives the seed, in place of `seed`.
        seed: of the deals and of the agents' randomness.
        players: numbers of players.
        deals: of each line-up; for every number of players, or a table of those for each.
        seating: `all`: each deal in every rotation of a circular order of the line-up, which is drawn for the deal. `rotate`:
            each deal once, in an order of its own; the first of the line-up sits one seat further on from deal to deal.
            `fixed`: each deal once, in the order of the line-up.
        rules: the fields of `Rules` that differ from the official ones, or the path of a JSON file with them, from the study's
            folder.
        board: the path of a board file, from the study's folder; the packaged board unless given.
        lineups: who plays.
    """

    release: Spec | None = None
    seed: Annotated[int, Field(ge=0, le=checks.MAX_SEED)] | None = None
    players: Players = list(range(MIN_PLAYERS, MAX_PLAYERS + 1))  # noqa: RUF012 -- pydantic copies it
    deals: Deals
    seating: SeatingName = "all"
    rules: dict[str, Any] | Spec | None = None
    board: Spec | None = None
    lineups: Annotated[list[LineupGroup], Field(min_length=1)]

    @property
    def anchors(self) -> list[str]:
        """The agents that others are measured against: those of the first `among`."""
        return next((list(group.among) for group in self.lineups if group.among), [])


def read_toml(form: type[Kind], path: Path) -> tuple[Kind, str]:
    """A study of this form and the text of its file. Raises ValueError if the file is none; the message is one line."""
    text, where = read_bytes(path).decode(errors="replace"), checks.shown_path(path)
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(checks.message(f"{where} is not TOML: {error}")) from None
    return check(form, data, f"{where}: study"), text


def games_with(games: Deals, num_players: int, missing: str = "the study has no number of games") -> int:
    """An entry of numbers of games by number of players. Raises ValueError, which begins with `missing`, if there is none."""
    if str(num_players) not in games:
        raise ValueError(f"{missing} for {num_players} players")
    return games[str(num_players)]  # type: ignore[index]


def lineups(study: Study, folder: Path, deals: int | None = None) -> list[Lineup]:
    """What a study plays, each line-up once.

    Args:
        study: the study.
        folder: in which paths begin.
        deals: of every line-up, in place of those that the study says.

    Raises:
        ValueError: the rules or the board are not valid, there is no seed, or a group of line-ups is of no kind, of two, or has
            nothing to play.
    """
    if (study.seed is None) == (study.release is None):
        raise ValueError("a study must have either `seed` or `release`, whose number gives a seed")
    seed = seed_from(f"bombay_env {study.release}") if study.seed is None else study.seed
    found: dict[str, Lineup] = {}
    game_of = functools.cache(lambda count: _game(study, folder, count))
    for number, group in enumerate(study.lineups):
        _check_kind(group, number)
        counts, size = group.players or study.players, len(found)
        of_each = group.deals or study.deals
        for count in counts:
            for form, agents in group.of(count):
                seating = Seating.PAIRS if form == "2v2" else Seating(group.seating or study.seating)
                lineup = Lineup(
                    game_of(count),
                    agents,
                    deals or games_with(of_each, count, f"lineups[{number}] has no number of deals"),
                    seed_from(f"{seed} {' '.join(agents)}") if group.own_deals else seed,
                    seating,
                    form,
                    group.accounts,
                )
                if lineup.id not in found or found[lineup.id].deals < lineup.deals:
                    found[lineup.id] = lineup
        if len(found) == size:
            raise ValueError(f"lineups[{number}] has no line-up with {', '.join(map(str, counts))} players that is new")
    return list(found.values())


def selections(agents: Sequence[Any], num_players: int, copies: bool = False) -> list[tuple[Any, ...]]:
    """Every selection of `num_players` of the agents, in their order; if they are fewer, they are repeated in order.

    With `copies`, an agent may be selected several times.
    """
    if copies:
        return list(itertools.combinations_with_replacement(agents, num_players))
    if len(agents) < num_players:
        return [tuple(itertools.islice(itertools.cycle(agents), num_players))]
    return list(itertools.combinations(agents, num_players))


def _check_kind(group: LineupGroup, number: int) -> None:
    kinds = [name for name in ("agent", "mixed", "pairs", "seats") if getattr(group, name) is not None]
    others = [name for name in ("against", "among") if getattr(group, name) is not None]
    if len(kinds) != 1 or len(others) != (kinds == ["agent"]):
        raise ValueError(
            f"lineups[{number}] must have `agent` with `against` or `among`, or one of `mixed`, `pairs` and `seats`"
        )
    if group.copies and group.mixed is None and group.among is None:
        raise ValueError(f"lineups[{number}] has `copies`, which is for `mixed` and `among`")


def seed_from(text: str) -> int:
    """A seed that follows from a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _game(study: Study, folder: Path, count: int) -> Game:
    rules = study.rules
    if isinstance(rules, str):
        return make_game(None, Rules.load(folder / rules, count), study.board and folder / study.board)
    return make_game(count, rules, study.board and folder / study.board)
