"""`search`: the tree search whose evaluator is by default the value of `planner-v1`."""

from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search.agent import DEFAULT_K, SearchAgent
from bombay_agents.search.tree import DEFAULT_EXPLORATION, DEFAULT_TEMPERATURE
from bombay_agents.turns.evaluator import HasEvaluator, PythonEvaluator
from bombay_env.registry import described


@described("all", least="nodes=16")
def make_search(
    ms: float | None = None,
    nodes: int | None = None,
    k: int = DEFAULT_K,
    value: HasEvaluator | PythonEvaluator | None = None,
    exploration: float = DEFAULT_EXPLORATION,
    temperature: float = DEFAULT_TEMPERATURE,
) -> SearchAgent:
    """A tree search over whole turns by the value of `planner-v1`, or by any evaluator, also one of your own.

    Args:
        ms: milliseconds a turn, above 0, up to 60000; by default 100. Not with `nodes`.
        nodes: simulations a turn, from 1 to 1000000: a deterministic budget instead of `ms`.
        k: number of turns compared at the root, those that the evaluator values most, from 1 to 16; by default 8. The
            planner values 12 turns.
        value: in brackets, an agent that has an evaluator, such as `[zero]`, or an evaluator of your own, such as
            `[my_module:MyValue]`; by default `planner-v1`.
        exploration: weight of the bonus for turns with a high prior and few visits, from 0 to 1000.
        temperature: of the prior, in units of utility, from 0.001 to 1000.
    """
    return SearchAgent(PlannerAgent() if value is None else value, ms, nodes, k, exploration, temperature)
