"""What `bombay balance` plays: one agent in all seats, at several levels of skill and under changed rules.

It compares seats, so each deal is played once and is its own block: games are independent, the seats of one game are not.
Deals are the arena's: every agent and every variant of the rules plays the same ones, so that the effect of a changed rule is a
difference within deals. Accounts (`matches/accounts.py`) say where each seat's rupees came from. `report.py` draws conclusions.
"""

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any, Final, Self

import bombay_agents
from bombay_env import Game, Rules, checks
from bombay_training.matches.cells import Cell, Seating
from bombay_training.matches.results import Match

# Three levels of skill, the expensive agent with fewer games.
TIERS: Final = ("greedy", "planner-v1", "flat-mc:rollouts=125@400")


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


def cells(settings: Sequence[Setting], seed: int = 0) -> list[Cell]:
    """The cell of each setting, with accounts."""
    return [
        Cell(
            setting.game,
            (setting.tier.spec,) * setting.game.num_players,
            setting.tier.games,
            seed,
            Seating.FIXED,
            accounts=True,
        )
        for setting in settings
    ]


def check_faults(matches: Sequence[Match]) -> None:
    """Raise AgentFault if a game ended by a fault: it has no rupees."""
    for match in matches:
        if match.faults:
            raise match.faults[0].as_error(match.game.num_players)
