"""The players that come with the project, made of nets that were trained once: `td`, `champion`, which searches by it, and `ppo`.

The nets lie in `weights/`, each with a card beside it: how it was trained, how strong it is, and what is known to beat it. They
play 2 to 5 players by the official rules on the packaged board; other games take `force=true`.
"""

from pathlib import Path
from typing import Final

from bombay_agents.nets.loading import make_net
from bombay_agents.nets.value_net_agent import DEFAULT_ROUNDS, ValueNetAgent
from bombay_agents.search.agent import SearchAgent
from bombay_env.agent import Agent

WEIGHTS: Final = Path(__file__).parent / "weights"


def make_td(rounds: int = DEFAULT_ROUNDS, force: bool = False) -> ValueNetAgent:
    """The net of TD, asked about the outcomes of its turn.

    Args:
        rounds: of turns that are foreseen (`ValueNetAgent`).
        force: play also under rules and on boards that the net was not trained on.
    """
    agent = ValueNetAgent(WEIGHTS / "td.safetensors", force, rounds)
    agent.name = spec("td", rounds=rounds if rounds != DEFAULT_ROUNDS else None, force=force or None)
    return agent


def make_ppo(sample: bool = False, outcomes: bool = False, force: bool = False, rounds: int | None = None) -> Agent:
    """The net of PPO, played action by action or, with `outcomes`, by whole turns; for the options see `net_player.make_net`."""
    agent = make_net(str(WEIGHTS / "ppo.safetensors"), sample, outcomes, force, rounds)
    agent.name = spec("ppo", sample=sample or None, outcomes=outcomes or None, rounds=rounds, force=force or None)
    return agent


def make_champion(ms: float | None = None, nodes: int | None = None, force: bool = False) -> SearchAgent:
    """A tree over whole turns, whose positions the net of TD values as it foresees them a round later; no games are played on.

    Args:
        ms: milliseconds a turn. Not with `nodes`; `search`'s own 100 if neither is given.
        nodes: iterations a turn instead; the same position and key give the same turn.
        force: as for `make_td`.
    """
    agent = SearchAgent(ms, nodes, rounds=0, value=make_td(1, force))
    agent.name = spec("champion", ms=ms, nodes=nodes, force=force or None)
    return agent


def spec(agent: str, **options: float | None) -> str:
    """The name of an agent, with the options that are given."""
    given = ",".join(f"{name}={str(value).lower()}" for name, value in options.items() if value is not None)
    return f"{agent}:{given}" if given else agent
