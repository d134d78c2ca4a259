"""What a study of balance plays: a TOML file such as `studies/balance.toml`, or the options of `bombay balance`.

Each deal is played once, so games are independent; the seats of one game are not. Every agent and every variant of the rules
plays the same deals. Needs no extra.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

import bombay_agents
from bombay_env import Game, Rules, __version__, checks
from bombay_env.files.forms import Form
from bombay_env.rules import LAST, Edit
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.match import Match
from bombay_training.matches.study import Count, Deals, Players, Spec, Specs, games_with, read_toml, seed_from

STUDIES: Final = Path(__file__).parents[2] / "studies"
STANDARD, QUICK = STUDIES / "balance.toml", STUDIES / "balance-quick.toml"

Play = Callable[[str, Sequence[Lineup]], list[Match]]  # plays line-ups; the text says for which part of a report


# --- the study ---


class Tier(Form):
    """A level of skill: one agent in all seats."""

    agent: Spec
    games: Deals
    strong: bool = False  # whether it is one of the strong agents
    # Who plays by changed rules and on other boards, the same agent unless given; a net that learned others needs `force=true`.
    elsewhere: Spec = Field(default_factory=lambda tier: tier["agent"])


class WhatIfs(Form):
    """Changed rules: the agents, all unless given, play the first `games` deals of their tier by each of `changes`."""

    agents: Specs | None = None
    games: Count = checks.MAX_COUNT
    changes: Specs


class Part(Form):
    """Agents that play so many deals for a part of the report."""

    agents: Specs
    games: Annotated[int, Field(ge=2, le=checks.MAX_COUNT)]


class Boards(Part):
    """So many random boards, with `games` on each."""

    boards: Annotated[int, Field(ge=2, le=1000)]


class Repair(Form):
    """Starting rupees that would be fair for the agents."""

    agents: Specs
    games: Count  # development deals of each vector
    vectors: Annotated[int, Field(ge=16, le=40)]  # that are tried; with 5 players 16 change one seat at most
    confirm: Deals  # other deals, which confirm the choice


class Study(Form):
    """A study of balance. The deals follow from the number of the release."""

    release: Spec = __version__
    players: Players = [2, 3, 4, 5]  # noqa: RUF012 -- pydantic copies it
    tiers: Annotated[list[Tier], Field(min_length=1)]
    what_ifs: WhatIfs | None = None
    boards: Boards | None = None
    repair: Repair | None = None
    luck: Part | None = None  # how much of the results comes from the set-up, the restocks and the agents
    recorded: list[Part] = []  # noqa: RUF012 -- games for tension, whose beliefs half of them calibrate, and kingmaking

    def seed(self, use: str = "balance") -> int:
        """The seed of the deals of the report, or of another use."""
        return seed_from(f"bombay_env {self.release} {use}")

    @property
    def changes(self) -> "list[Change]":
        """The changed rules. Raises ValueError if one is of another form."""
        return [change for text in (self.what_ifs.changes if self.what_ifs else []) for change in parse_changes(text)]

    @property
    def others(self) -> set[str]:
        """The agents of the parts beside the verdicts and the changed rules."""
        parts = (self.boards, self.repair, self.luck, *self.recorded)
        return {agent for part in parts if part for agent in part.agents}

    def elsewhere(self, agent: str) -> str:
        """Who plays by changed rules and on other boards for the agent of a tier."""
        return next(tier.elsewhere for tier in self.tiers if tier.agent == agent)


def read_study(path: Path) -> Study:
    """A study from a TOML file. Raises ValueError if the file is none or as `plan`; the message is one line."""
    study, _ = read_toml(Study, path)
    try:
        plan(study, [Game(Rules.official(count)) for count in study.players])
    except ValueError as error:
        raise ValueError(f"{checks.shown_path(path)}: {error}") from None
    return study


# --- changes of the rules ---


@dataclasses.dataclass(frozen=True)
class Change:
    """Entries of `Rules` that are changed together. Its label is such as `starting_rupees.last+1` or `toll=0;palaces=6`."""

    label: str
    edits: tuple[Edit, ...]

    def applied(self, rules: Rules) -> Rules | None:
        """The changed rules; None if there is no such entry. With 4 players, for example, there is no fifth seat.

        Raises:
            ValueError: an entry is named wrongly or changed twice, or a value is not allowed.
        """
        try:
            return rules.edited(self.edits) if all(edit.place(rules.to_dict()) for edit in self.edits) else None
        except ValueError as error:
            what = f"--vary {checks.one_line(self.label)} with {rules.num_players} players"
            raise ValueError(checks.message(f"{what}: {error}")) from None


def parse_changes(text: str) -> list[Change]:
    """The changes in a text.

    `PATH=V1,V2` tries values one by one, and `PATH=V;PATH=V` changes several entries together, in every combination of their
    values. A path is that of an `Edit`, and values are JSON. `PATH+N` and `PATH-N` add to the present value and subtract from it.

    Raises:
        ValueError: the text is of another form.
    """
    several = itertools.product(*(list(_edits(part, text)) for part in text.split(";")))
    return [Change(";".join(label for label, _ in each), tuple(edit for _, edit in each)) for each in several]


def _edits(part: str, text: str) -> Iterator[tuple[str, Edit]]:
    """The edits of `PATH=V1,V2` or `PATH+N1,N2` with their labels; `text` is what it is a part of."""
    found = re.fullmatch(r"\s*([^=+-]+?)\s*([=+-])(.*)", part, re.DOTALL)
    if not found:
        allowed = "FIELD=V1,V2 or FIELD.INDEX=V1,V2, such as starting_rupees.4=2,3, or FIELD+N to add N"
        raise ValueError(f"--vary is {checks.shown(text)}; it must be {allowed}; a semicolon joins several")
    path, sign, values = found.groups()
    try:
        parsed = json.loads(f"[{values}]")
    except ValueError:
        parsed = []
    if not parsed or (sign != "=" and not all(type(value) is int for value in parsed)):
        allowed = "JSON, such as 2,3 or true or null or [8,4,2,0]" if sign == "=" else "whole numbers, such as 1,2"
        given = f"--vary {checks.one_line(path)}: the values after {sign} are {checks.shown(values)}"
        raise ValueError(f"{given}; they must be {allowed}")
    for value in parsed:
        yield f"{path}{sign}{json.dumps(value)}", Edit(path, -value if sign == "-" else value, sign != "=")


# --- what is played ---


@dataclasses.dataclass(frozen=True)
class Setting:
    """One agent in all seats of one game: the rules as given, or changed as `change` says."""

    game: Game
    tier: Tier
    games: int
    change: str = ""

    @property
    def agent(self) -> str:
        """The spec of the agent."""
        return self.tier.elsewhere if self.change else self.tier.agent


def plan(study: Study, games: Sequence[Game]) -> tuple[list[Setting], list[str]]:
    """The settings of verdicts, each followed by those with a changed rule, and a line for each change that is left out.

    Raises:
        ValueError: the study cannot be played: for its agents, its numbers of games, or its changes of the rules.
    """
    _check_agents(study)
    settings, notes, changes = list[Setting](), list[str](), study.changes
    for change in changes:
        if all([change.applied(game.rules) is None for game in games]):  # noqa: C419 -- an invalid value raises
            missing = f"there is no such entry with {', '.join(str(game.num_players) for game in games)} players"
            allowed = f"entries count from 0, and {LAST} is the last one"
            raise ValueError(f"--vary {checks.one_line(change.label)}: {missing}; {allowed}")
    for game in games:
        variants, same = dict[str, Game](), {game.rules: "the rules have this value already"}
        for change in changes:
            rules = change.applied(game.rules)
            if rules is None or rules in same:
                reason = "there is no such entry" if rules is None else same[rules]
                notes.append(f"{change.label} with {game.num_players} players is left out: {reason}")
            else:
                same[rules] = f"it is the same as {change.label}"
                variants[change.label] = Game(rules, game.board)
        for tier in study.tiers:
            deals = games_with(tier.games, game.num_players)
            settings.append(Setting(game, tier, deals))
            if study.what_ifs and tier.agent in (study.what_ifs.agents or [tier.agent]):
                few = min(study.what_ifs.games, deals)
                settings += [Setting(variant, tier, few, label) for label, variant in variants.items()]
        if study.repair:
            games_with(study.repair.confirm, game.num_players)  # raises before anything is played
    return settings, notes


def _check_agents(study: Study) -> None:
    """Raise ValueError if there is no such agent, if two tiers have the same, or if a part has one that is in no tier."""
    names = [tier.agent for tier in study.tiers]
    for name in {*names, *(tier.elsewhere for tier in study.tiers)}:
        bombay_agents.make(name)
    if len(set(names)) < len(names):
        raise ValueError("two tiers have the same agent")
    for agent in sorted(study.others.union((study.what_ifs and study.what_ifs.agents) or [])):
        if agent not in names:
            raise ValueError(f"a list of agents has {checks.shown(agent)}, which is none of the tiers")


def lineups(settings: Sequence[Setting], seed: int = 0) -> list[Lineup]:
    """The line-up of each setting."""
    return [lineup_of(setting.game, setting.agent, setting.games, seed, accounts=True) for setting in settings]


def lineup_of(game: Game, agent: str, games: int, seed: int, accounts: bool = False) -> Lineup:
    """One agent in all seats, each deal played once."""
    return Lineup(game, (agent,) * game.num_players, games, seed, Seating.FIXED, accounts=accounts)
