"""What the tables of `bombay balance` need: one agent in all seats, at several levels of skill and under changed rules.

It compares seats, so each deal is played once and is its own block: games are independent, the seats of one game are not.
Deals are the arena's: every agent and every variant of the rules plays the same ones, so that the effect of a changed rule is a
difference within deals. Accounts (`matches/accounts.py`) say where each seat's rupees came from. `report.py` draws conclusions.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import bombay_agents
from bombay_env import Game, Rules, checks
from bombay_training.matches.cells import Cell, Seating
from bombay_training.matches.results import Match

TIERS: Final = ("greedy", "planner-v1")  # of a study without others
LAST: Final = "last"  # the index of the last entry, in a change


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
        return cls(spec, int(number))


@dataclasses.dataclass(frozen=True)
class Edit:
    """A new value for a field of `Rules`, or for an entry of it.

    Args:
        field: the field's name.
        entry: indices into its nested lists, −1 for the last entry; empty for the whole field.
        value: as decoded from JSON.
    """

    field: str
    entry: tuple[int, ...]
    value: Any

    @property
    def path(self) -> str:
        """The field and the entry: `starting_rupees.4`."""
        return ".".join([self.field, *(LAST if index < 0 else str(index) for index in self.entry)])

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

    def enter(self, rules: dict[str, Any]) -> None:
        """Change the rules, as `Rules.to_dict` gives them, in place."""
        part: Any = rules
        *parents, last = [self.field, *self.entry]
        for key in parents:
            part = part[key]
        part[last] = self.value


@dataclasses.dataclass(frozen=True)
class Change:
    """Fields of `Rules` that are changed together."""

    edits: tuple[Edit, ...]

    @property
    def label(self) -> str:
        """Such as `starting_rupees.4=2` or `toll=0;palaces=6`."""
        return ";".join(f"{edit.path}={json.dumps(edit.value)}" for edit in self.edits)

    def fits(self, rules: Rules) -> bool:
        """Whether the rules have all entries. Raises ValueError as `Edit.fits`."""
        return all(edit.fits(rules) for edit in self.edits)

    def applied(self, rules: Rules) -> Rules:
        """The changed rules. Raises ValueError if they are invalid."""
        changed = rules.to_dict()
        for edit in self.edits:
            edit.enter(changed)
        try:
            return Rules.from_dict(changed)
        except ValueError as error:
            raise ValueError(
                f"--vary {checks.one_line(self.label)} with {rules.num_players} players: {error}"
            ) from None


def parse_changes(text: str) -> list[Change]:
    """The changes in a text.

    Args:
        text: `FIELD=V1,V2…` tries values one by one, and `FIELD=V;FIELD=V…` changes several fields together. An entry of a list
            is `FIELD.INDEX`, or `FIELD.last`. Values are JSON.

    Raises:
        ValueError: the text is of another form, or names an unknown field.
    """
    parts = [_parse_values(part, text) for part in text.split(";")]
    if len(parts) == 1:
        return [Change((edit,)) for edit in parts[0]]
    if len({part[0].path for part in parts}) < len(parts):
        raise ValueError(f"--vary is {checks.shown(text)}; it changes one entry twice")
    if any(len(part) > 1 for part in parts):
        raise ValueError(f"--vary is {checks.shown(text)}; fields that are changed together have one value each")
    return [Change(tuple(part[0] for part in parts))]


def _parse_values(part: str, text: str) -> list[Edit]:
    """The edits of `FIELD.INDEX=V1,V2`; `text` is what it is a part of."""
    fields = [field.name for field in dataclasses.fields(Rules) if field.name != "num_players"]
    path, equals, values = part.partition("=")
    field, *entry = path.strip().split(".")
    if not equals or not all(index == LAST or re.fullmatch(r"[0-9]{1,3}", index) for index in entry):
        raise ValueError(
            f"--vary is {checks.shown(text)}; it must be FIELD=V1,V2 or FIELD.INDEX=V1,V2, such as starting_rupees.4=2,3, "
            "or FIELD=V;FIELD=V for fields that are changed together"
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
    return [Edit(field, tuple(-1 if index == LAST else int(index) for index in entry), value) for value in parsed]


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
        if not any(change.fits(game.rules) for game in games):
            players = ", ".join(str(game.num_players) for game in games)
            raise ValueError(f"--vary {checks.one_line(change.label)}: there is no such entry with {players} players")
    for game in games:
        variants: dict[str, Game] = {}
        for change in changes:
            left_out = f"{change.label} with {game.num_players} players is left out"
            if not change.fits(game.rules):
                notes.append(f"{left_out}: there is no such entry")
                continue
            rules = change.applied(game.rules)
            if rules == game.rules:
                notes.append(f"{left_out}: the rules have this value already")
            elif rules not in [variant.rules for variant in variants.values()]:
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
    """The matches of cells. Raises AgentFault if a game ended by a fault: it has no rupees."""
    matches = play(part, wanted)
    for match in matches:
        if match.faults:
            raise match.faults[0].as_error(match.game.num_players)
    return matches
