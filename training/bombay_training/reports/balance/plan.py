"""What the tables of `bombay balance` need: one agent in all seats, at several levels of skill and under changed rules.

It compares seats, so each deal is played once and is its own block: games are independent, the seats of one game are not.
Deals are the arena's: every agent and every variant of the rules plays the same ones, so that the effect of a changed rule is a
difference within deals. Accounts (`matches/accounts.py`) say where each seat's rupees came from. `report.py` draws conclusions.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from typing import Final, Self

import bombay_agents
from bombay_env import Game, Rules, checks
from bombay_env.agent import check_plays
from bombay_env.rules import LAST, Edit
from bombay_training.matches.cells import Cell, Seating
from bombay_training.matches.results import Match

# The agents of a study without others. `zero` plays rules, too, that it did not learn.
TIERS: Final = ("greedy", "planner-v1", "zero:rounds=0,force=true")
STRONG: Final = ("zero", "zero-search", "champion")  # names of strong agents


@dataclasses.dataclass(frozen=True)
class Tier:
    """A level of skill.

    Args:
        spec: the agent.
        games: number of games by the given rules.
        changed_games: number of games with each changed rule, at most as many; None for as many, 0 for no changes.
        strong: whether it is one of the strong agents.
        elsewhere: the spec that plays by changed rules; None for the same. A net that learned other rules needs `force=true`.
    """

    spec: str
    games: int
    changed_games: int | None = None
    strong: bool = False
    elsewhere: str | None = None

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
        return cls(spec, int(number), strong=spec.partition(":")[0] in STRONG)


def default_tiers(game: Game, games: int) -> tuple[list[Tier], list[str]]:
    """`TIERS` with this number of games, and a line for each that cannot play on the board of the game."""
    tiers, notes = [], []
    for spec in TIERS:
        try:
            check_plays(bombay_agents.make(spec), game)
            tiers.append(Tier.parse(spec, games, games))
        except ValueError as error:
            notes.append(f"{spec} is left out: {error}")
    return tiers, notes


@dataclasses.dataclass(frozen=True)
class Change:
    """Entries of `Rules` that are changed together."""

    edits: tuple[Edit, ...]

    @property
    def label(self) -> str:
        """Such as `starting_rupees.4=2`, `starting_rupees.last+1` or `toll=0;palaces=6`."""
        return ";".join(
            f"{edit.path}{edit.value:+d}" if edit.adds else f"{edit.path}={json.dumps(edit.value)}"
            for edit in self.edits
        )

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

    Args:
        text: `PATH=V1,V2…` tries values one by one, and `PATH=V;PATH=V…` changes several entries together. A path is that of
            an `Edit`, and values are JSON. `PATH+N` and `PATH-N` add to the present value and subtract from it.

    Raises:
        ValueError: the text is of another form.
    """
    parts = [_parse_values(part, text) for part in text.split(";")]
    if len(parts) == 1:
        return [Change((edit,)) for edit in parts[0]]
    if any(len(part) > 1 for part in parts):
        raise ValueError(f"--vary is {checks.shown(text)}; fields that are changed together have one value each")
    return [Change(tuple(part[0] for part in parts))]


def _parse_values(part: str, text: str) -> list[Edit]:
    """The edits of `PATH=V1,V2` or `PATH+N1,N2`; `text` is what it is a part of."""
    found = re.fullmatch(r"\s*([^=+-]+?)\s*([=+-])(.*)", part, re.DOTALL)
    if not found:
        raise ValueError(
            f"--vary is {checks.shown(text)}; it must be FIELD=V1,V2 or FIELD.INDEX=V1,V2, such as starting_rupees.4=2,3, "
            "or FIELD+N to add N, or FIELD=V;FIELD=V for fields that are changed together"
        )
    path, sign, values = found.groups()
    try:
        parsed = json.loads(f"[{values}]")
    except ValueError:
        parsed = []
    if sign != "=" and not all(type(value) is int for value in parsed):
        parsed = []
    if not parsed:
        allowed = (
            "JSON, such as 2,3 or true,false or null or [8,4,2,0]; FIELD+1 adds 1 to the present value"
            if sign == "="
            else "whole numbers, such as 1,2"
        )
        raise ValueError(
            f"--vary {checks.one_line(path)}: the values after {sign} are {checks.shown(values)}; they must be {allowed}"
        )
    return [Edit(path, -value if sign == "-" else value, sign != "=") for value in parsed]


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

    @property
    def games(self) -> int:
        """Number of games."""
        changed = self.tier.changed_games
        return changed if self.change and changed is not None else self.tier.games

    @property
    def agent(self) -> str:
        """The spec of the agent."""
        return (self.change and self.tier.elsewhere) or self.tier.spec


def plan(games: Sequence[Game], tiers: Sequence[Tier], changes: Sequence[Change]) -> tuple[list[Setting], list[str]]:
    """Plan a study.

    Returns:
        The settings to play, each followed by those with a changed rule, and a line for each change that is left out.

    Raises:
        ValueError: a change fits none of the games, or has an invalid value.
    """
    settings, notes = [], []
    for change in changes:
        if all(change.applied(game.rules) is None for game in games):
            players = ", ".join(str(game.num_players) for game in games)
            allowed = f"entries count from 0, and {LAST} is the last one"
            raise ValueError(
                f"--vary {checks.one_line(change.label)}: there is no such entry with {players} players; {allowed}"
            )
    for game in games:
        variants: dict[str, Game] = {}
        same = {game.rules: "the rules have this value already"}
        for change in changes:
            rules = change.applied(game.rules)
            reason = "there is no such entry" if rules is None else same.get(rules)
            if rules is None or reason:
                notes.append(f"{change.label} with {game.num_players} players is left out: {reason}")
                continue
            same[rules] = f"it is the same as {change.label}"
            variants[change.label] = Game(rules, game.board)
        for tier in tiers:
            settings.append(Setting(game, tier))
            if tier.changed_games != 0:
                settings += [Setting(variant, tier, label) for label, variant in variants.items()]
    return settings, notes


def cells(settings: Sequence[Setting], seed: int = 0) -> list[Cell]:
    """The cell of each setting, with accounts."""
    return [cell_of(setting.game, setting.agent, setting.games, seed, accounts=True) for setting in settings]


def cell_of(game: Game, agent: str, games: int, seed: int, accounts: bool = False) -> Cell:
    """One agent in all seats, each deal played once."""
    return Cell(game, (agent,) * game.num_players, games, seed, Seating.FIXED, accounts=accounts)


Play = Callable[[str, Sequence[Cell]], list[Match]]  # plays cells; the text says for which part of a report


def played(play: Play, part: str, wanted: Sequence[Cell]) -> list[Match]:
    """The matches of cells. Raises AgentFault if a game ended by a fault."""
    matches = play(part, wanted)
    for match in matches:
        check_no_faults(match)
    return matches


def check_no_faults(match: Match) -> None:
    """Raise AgentFault if a game of the match ended by a fault: it has no rupees."""
    if match.faults:
        raise match.faults[0].as_error(match.game.num_players)
