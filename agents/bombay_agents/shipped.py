"""The players that come with the project, by trained nets: `zero`, `td`, `ppo`, and searches by nets of `zero`.

The nets lie in `weights/`. Each has a card beside it: how it was trained, how strong it is, and what is known to beat it. They
play 2 to 5 players by the official rules on the packaged board; other games need `force=true`.
"""

from pathlib import Path
from typing import Final

from bombay_agents.nets.loading import make_net
from bombay_agents.nets.value_net_agent import DEFAULT_ROUNDS, ValueNetAgent
from bombay_agents.nets.zero import agent as zero_agent
from bombay_agents.nets.zero.agent import ZeroAgent
from bombay_agents.nets.zero.ensemble import ensemble as make_ensemble
from bombay_agents.nets.zero.net import ZeroNet
from bombay_agents.search import champion
from bombay_agents.search import zero_agent as zero_search
from bombay_agents.search.champion import ChampionAgent
from bombay_agents.search.zero_agent import ZeroSearchAgent
from bombay_env.agent import Agent
from bombay_env.checks import whole_number
from bombay_env.registry import format_spec

WEIGHTS: Final = Path(__file__).parent / "weights"
ZERO_NETS: Final = ("zero.safetensors", "zero-seed1.safetensors", "zero-seed2.safetensors")  # by the seed of their run


def make_zero(
    rounds: int = zero_agent.DEFAULT_ROUNDS,
    width: int = zero_agent.DEFAULT_WIDTH,
    draws: int = zero_agent.DEFAULT_DRAWS,
    seed: int = 0,
    ensemble: bool = False,
    force: bool = False,
) -> ZeroAgent:
    """The player by the net that learned from the rules alone: it takes the outcome of its turn that is best after looking ahead.

    Args:
        rounds: own turns to play on before the net values a position, from 0 to 20; by default 1. 0 takes what the net values
            most at once.
        width: number of outcomes to look ahead from, from 1 to 32; by default 8.
        draws: restocks to draw where a set ends while looking ahead, from 1 to 64; by default 2.
        seed: the seed of the training run whose net plays: 0, 1 or 2; by default 0.
        ensemble: whether to average the outputs of the nets of all three seeds; by default false. Not with another `seed` than 0.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
    """
    seed = whole_number(seed, "seed", 0, len(ZERO_NETS) - 1)
    if ensemble and seed:
        raise ValueError("zero takes seed or ensemble, not both")
    names = ZERO_NETS if ensemble else ZERO_NETS[seed : seed + 1]
    nets = [ZeroNet.load(WEIGHTS / name) for name in names]
    agent = ZeroAgent(make_ensemble(nets) if ensemble else nets[0], force, rounds, width, draws)
    agent.name = format_spec(
        "zero",
        force=force or None,
        rounds=None if rounds == zero_agent.DEFAULT_ROUNDS else rounds,
        width=None if width == zero_agent.DEFAULT_WIDTH else width,
        draws=None if draws == zero_agent.DEFAULT_DRAWS else draws,
        seed=seed or None,
        ensemble=ensemble or None,
    )
    return agent


def make_zero_search(
    ms: float | None = None,
    nodes: int | None = None,
    k: int = zero_search.DEFAULT_K,
    value: Agent | None = None,
    force: bool = False,
) -> ZeroSearchAgent:
    """A tree search over whole turns by a net that learned from the rules alone; nothing scripted takes part.

    Args:
        ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
        nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of turns compared at the root, those that the net values most, from 1 to 16; by default 8.
        value: an agent in brackets whose net it uses, such as `[net:path=agent.safetensors]`; by default `zero`. It has a `force`
            of its own.
        force: whether to play also under rules or on boards that the net was not trained on; by default false. Not with `value`.
    """
    player = make_zero(force=force) if value is None else player_of_net("zero-search", value, force)
    agent = ZeroSearchAgent(player, ms, nodes, k)
    given = {"ms": ms, "nodes": nodes, "k": None if k == zero_search.DEFAULT_K else k, "force": force or None}
    agent.name = format_spec("zero-search", **given, value=value)
    return agent


def make_td(rounds: int = DEFAULT_ROUNDS, force: bool = False) -> ValueNetAgent:
    """The player by the value net of TD(λ): it takes the outcome of its turn that the net values most after looking ahead.

    Args:
        rounds: number of rounds to look ahead, from 1 to 100; by default 2.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
    """
    agent = ValueNetAgent(WEIGHTS / "td.safetensors", force, rounds)
    agent.name = format_spec("td", rounds=rounds if rounds != DEFAULT_ROUNDS else None, force=force or None)
    return agent


def make_ppo(sample: bool = False, outcomes: bool = False, force: bool = False, rounds: int | None = None) -> Agent:
    """The player by the policy net of PPO: it takes the most likely action, decision by decision.

    Args:
        sample: whether to draw actions from the policy instead; by default false. Not with `outcomes`.
        outcomes: whether to take the outcome of the turn that the value head values most instead; by default false.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
        rounds: number of rounds to look ahead, from 1 to 100; by default 2. Only with `outcomes`.
    """
    agent = make_net(str(WEIGHTS / "ppo.safetensors"), sample, outcomes, force, rounds)
    agent.name = format_spec(
        "ppo", sample=sample or None, outcomes=outcomes or None, rounds=rounds, force=force or None
    )
    return agent


def make_champion(
    ms: float | None = None,
    nodes: int | None = None,
    model_share: float = champion.DEFAULT_MODEL_SHARE,
    value: Agent | None = None,
    force: bool = False,
) -> ChampionAgent:
    """Like `zero-search`, but it explores more, and rivals in its tree sometimes take the turn of `planner-v1`.

    Args:
        ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
        nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        model_share: part of the simulations through a rival's position that follow the turn of `planner-v1`, from 0 to 1.
        value: an agent in brackets whose net it uses, such as `[zero:ensemble=true]`; by default `zero`. It has a `force` of its
            own.
        force: whether to play also under rules or on boards that the net was not trained on; by default false. Not with `value`.
    """
    player = make_zero(force=force) if value is None else player_of_net("champion", value, force)
    agent = ChampionAgent(player, ms, nodes, model_share=model_share)
    changed = None if model_share == champion.DEFAULT_MODEL_SHARE else model_share
    given = {"ms": ms, "nodes": nodes, "model_share": changed, "force": force or None}
    agent.name = format_spec("champion", **given, value=value)
    return agent


def player_of_net(who: str, value: Agent, force: bool) -> ZeroAgent:
    """The agent `value`, whose net the search `who` uses. Raises ValueError if it has no net of `zero`, or with `force`."""
    if force:
        raise ValueError(f"{who} takes force or value, not both; give force to the agent in brackets")
    if not isinstance(value, ZeroAgent):
        raise ValueError(f"{who}: {value.name!r} has no net of zero; take one that has, such as zero")
    return value
