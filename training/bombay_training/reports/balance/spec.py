"""The study behind `bombay balance`, as a TOML file: who plays how many games for each part of the report.

    release = "0.1.0"

    [[tiers]]                       # verdicts: one agent in all seats
    agent = "greedy"
    games = { 2 = 8100, 3 = 20400, 4 = 32200, 5 = 44500 }

    [boards]                        # the same on random boards
    agents = ["greedy"]
    boards = 100
    games = 500

Every other part is a table likewise, and may be left out. `specs/balance.toml` is the study of docs/fairness.md.
"""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

import bombay_agents
from bombay_env import checks
from bombay_env.files.forms import Form
from bombay_training.matches.spec import Count, Deals, Players, Spec, Specs, games_with, read_toml

SPECS: Final = Path(__file__).parents[2] / "specs"
STANDARD, QUICK = SPECS / "balance.toml", SPECS / "balance-quick.toml"


class TierForm(Form):
    """A level of skill.

    Args:
        agent: plays all seats.
        games: number of games.
        strong: whether it is one of the strong agents.
        elsewhere: the spec that plays by changed rules and on other boards; the same unless given. A net that learned other rules
            needs `force=true`.
    """

    agent: Spec
    games: Deals
    strong: bool = False
    elsewhere: Spec | None = None

    @property
    def spec_elsewhere(self) -> str:
        """The spec that plays by changed rules and on other boards."""
        return self.elsewhere or self.agent


class WhatIfs(Form):
    """Changed rules: agents, which are tiers, play the first `games` deals of their tier by each of `changes`."""

    agents: Specs
    games: Count
    changes: Specs


class Boards(Form):
    """Random boards: the agents play `games` games on each of so many."""

    agents: Specs
    boards: Annotated[int, Field(ge=2, le=1000)]
    games: Annotated[int, Field(ge=2, le=checks.MAX_COUNT)]


class Repair(Form):
    """Starting rupees that would be fair.

    Args:
        agents: for whom they should be fair.
        games: number of development deals of each vector.
        vectors: how many are tried; with 5 players 16 change one seat at most.
        confirm: number of deals that confirm the choice.
    """

    agents: Specs
    games: Count
    vectors: Annotated[int, Field(ge=16, le=40)]
    confirm: Deals


class Part(Form):
    """Agents that play `games` deals for a part of the report."""

    agents: Specs
    games: Annotated[int, Field(ge=2, le=checks.MAX_COUNT)]


class BalanceSpec(Form):
    """A study of balance.

    Args:
        release: of the project; the deals follow from its number.
        players: numbers of players.
        tiers: agents, whose games the verdicts are about.
        what_ifs, boards, repair: changed rules, random boards, and starting rupees that would be fair.
        luck: how much of the results comes from the set-up, the restocks and the agents.
        stories: recorded games: where rupees come from on the board, lead changes, and kingmaking. Beliefs about who wins are
            calibrated on half of them.
    """

    release: Spec
    players: Players = [2, 3, 4, 5]  # noqa: RUF012 -- pydantic copies it
    tiers: Annotated[list[TierForm], Field(min_length=1)]
    what_ifs: WhatIfs | None = None
    boards: Boards | None = None
    repair: Repair | None = None
    luck: Part | None = None
    stories: list[Part] = []  # noqa: RUF012

    def tier(self, agent: str) -> TierForm:
        """The tier of an agent."""
        return next(tier for tier in self.tiers if tier.agent == agent)


def read_spec(path: Path) -> BalanceSpec:
    """A study of balance. Raises ValueError if the file is none; the message is one line."""
    (spec, _), where = read_toml(BalanceSpec, path), checks.shown_path(path)
    for count in spec.players:
        for games in (*(tier.games for tier in spec.tiers), *([spec.repair.confirm] if spec.repair else [])):
            games_with(games, count)
    for tier in spec.tiers:
        for agent in (tier.agent, tier.spec_elsewhere):
            bombay_agents.make(agent)
    if len({tier.agent for tier in spec.tiers}) < len(spec.tiers):
        raise ValueError(f"{where}: two tiers have the same agent")
    for part in (spec.what_ifs, spec.boards, spec.repair, spec.luck, *spec.stories):
        for agent in part.agents if part else []:
            if agent not in [tier.agent for tier in spec.tiers]:
                raise ValueError(f"{where}: a list of agents has {checks.shown(agent)}, which is none of the tiers")
    return spec
