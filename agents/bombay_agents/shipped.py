"""The players that come with the project, by trained nets: `zero`, searches by its net, and `ppo`. Nothing scripted.

The nets lie in `weights/`. Each has a card beside it: how it was trained, how strong it is, and what is known to beat it. They
play 2 to 5 players by the official rules on the packaged board; other games need `force=true`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bombay_agents.nets.policy.agent import PolicyNetAgent
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.search.agent import DEFAULT_K, SearchAgent
from bombay_agents.search.tree import DEFAULT_EXPLORATION, DEFAULT_TEMPERATURE
from bombay_agents.turns.evaluator import HasEvaluator, PythonEvaluator
from bombay_env.checks import whole_number
from bombay_env.registry import described

WEIGHTS: Final = Path(__file__).parent / "weights"
ZERO_NETS: Final = ("zero.safetensors", "zero-seed1.safetensors")  # the second never changes: learning tracks use it


@described("none")
def make_zero(rounds: int = 1, width: int = 8, draws: int = 2, seed: int = 0, force: bool = False) -> ValueNetAgent:
    """The player by the net that learned from the rules alone: it takes the outcome of its turn that is best after looking ahead.

    Args:
        rounds: own turns to play on before the net values a position, from 0 to 20; by default 1. 0 takes what the net values
            most at once.
        width: number of outcomes to look ahead from, from 1 to 32; by default 8.
        draws: restocks to draw where a set ends while looking ahead, from 1 to 64; by default 2.
        seed: the seed of the training run whose net plays: 0, the strongest, or 1, a smaller net that stays the same in all
            releases; by default 0.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
    """
    seed = whole_number(seed, "seed", 0, len(ZERO_NETS) - 1)
    return ValueNetAgent(WEIGHTS / ZERO_NETS[seed], force, rounds, width, draws)


def _net_search(who: str) -> Callable[..., SearchAgent]:
    """The factory of the search `who` by a value net."""

    @described("none", least="nodes=16")
    def make(
        ms: float | None = None,
        nodes: int | None = None,
        k: int = DEFAULT_K,
        value: HasEvaluator | PythonEvaluator | None = None,
        exploration: float = DEFAULT_EXPLORATION,
        temperature: float = DEFAULT_TEMPERATURE,
        force: bool = False,
    ) -> SearchAgent:
        """A tree search over whole turns by the net of `zero`, which learned from the rules alone.

        Args:
            ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
            nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
            k: number of turns compared at the root, those that the net values most, from 1 to 16; by default 8.
            value: in brackets, an agent that has an evaluator, such as `[zero:seed=1]` or `[net:path=agent.safetensors]`; by
                default `zero`. It has a `force` of its own.
            exploration: weight of the bonus for turns with a high prior and few visits, from 0 to 1000.
            temperature: of the prior, in units of utility, from 0.001 to 1000.
            force: whether to play also under rules or on boards that the net was not trained on; by default false. Not with
                `value`.
        """
        if force and value is not None:
            raise ValueError(f"{who} takes force or value, not both; give force to the agent in brackets")
        return SearchAgent(
            make_zero(force=force) if value is None else value, ms, nodes, k, exploration, temperature, who
        )

    return make


make_zero_search = _net_search("zero-search")
make_champion = _net_search("champion")  # no other options were clearly better on development deals (docs/agents.md)


@described("none")
def make_ppo(sample: bool = False, force: bool = False) -> PolicyNetAgent:
    """The player by the policy net of PPO: it takes the most likely action, decision by decision.

    Args:
        sample: whether to draw actions from the policy instead; by default false.
        force: whether to play also under rules or on boards that the net was not trained on; by default false.
    """
    return PolicyNetAgent(WEIGHTS / "ppo.safetensors", sample, force)
