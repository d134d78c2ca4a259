"""Regret in the last round: what agents lose against the exact solution; `bombay regret`.

Positions come from games among planners, at a turn of the last round. The agent takes its turn, and best play (`endgame.py`)
finishes the game, both after its turn and after the best one. The difference is the agent's regret, in win share and in rupees
of margin. Regret in win share is never negative. Where the win shares are equal, regret in rupees is not negative either; a turn
that loses win share may gain rupees.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from bombay_agents import Agent
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search import endgame
from bombay_env import Game, chance, streams
from bombay_env.agent import AgentFault, ask, name_of
from bombay_training.matches.intervals import Estimate, Moments, estimates, mean_bounds, share_bounds

AGENTS: Final = (
    *("random", "greedy", "planner-v1", "ppo", "zero"),
    *("flat-mc:rollouts=150", "search:nodes=150", "zero-search:nodes=150", "champion:nodes=3000"),
)
DEFAULT_TURNS: Final = 4
DEFAULT_LIMIT: Final = 100_000  # turns enumerated for one position; a second or two
MAX_SKIPPED: Final = 10  # games skipped for each position wanted
SAME: Final = 1e-9  # regrets below this are rounding errors
MAX_DECISIONS: Final = 1000  # of one turn; an agent that needs more is taken not to end it


@dataclasses.dataclass(frozen=True)
class Ending:
    """A position in the last round and its exact solution."""

    state: np.ndarray  # (1,)
    turns: int  # to the end of the game, this one included
    solution: endgame.Solution


def endings(game: Game, positions: int, turns: int, limit: int, seed: int) -> Iterator[Ending]:
    """Positions at the start of a turn with 1, 2, … `turns` turns left, in rotation, each from a game of its own.

    A game whose last round takes more than `limit` turns to enumerate is skipped.

    Raises:
        ValueError: too many games were skipped.
    """
    workspace = endgame.new_workspace(game)
    planner, rng = PlannerAgent(), np.random.default_rng(0)
    deal = found = 0
    while found < positions:
        if deal - found > MAX_SKIPPED * positions:
            raise ValueError(
                f"hardly any position with {turns} turns left is solved within limit={limit}; raise it, or lower turns"
            )
        state = game.new_states([chance.random_word(np.uint64(seed), streams.REGRET_DEALS, np.uint64(deal))])
        deal += 1
        wanted = 1 + found % turns
        while endgame.turns_left(state[0], game.tables[0]) > wanted:
            game.step(state, ask(planner, game, state, rng, seeds=[0]))
        try:
            solution = endgame.solve(game, state, limit, workspace)
        except endgame.TooLargeError:
            continue
        found += 1
        yield Ending(state, wanted, solution)


def take_turn(agent: Agent, game: Game, state: np.ndarray, key: Sequence[int]) -> np.ndarray:
    """The position after the agent's turn, (1,), played decision by decision.

    `key` seeds the agent's generator and the copies that it sees.

    Raises:
        AgentFault: it raises, chooses an illegal action, or does not end its turn.
    """
    after, rng = state.copy(), np.random.default_rng(key)
    seeds = np.random.default_rng([*key, int(streams.REGRET_SCRUBS)])
    for _ in range(MAX_DECISIONS):
        game.step(after, ask(agent, game, after, rng, seeds.integers(1 << 63, size=1)))
        if after["current_player"][0] != state["current_player"][0]:
            return after
    raise AgentFault(f"agent {name_of(agent)!r}", f"it has not ended its turn after {MAX_DECISIONS} decisions")


class BestPlay:
    """The results of positions under best play; cached.

    Args:
        game: that of the positions.
        workspace: of `endgame.new_workspace`, overwritten.
    """

    def __init__(self, game: Game, workspace: endgame.EndgameWorkspace) -> None:
        self.game, self.workspace = game, workspace
        self._cached: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def outcome(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shares of the win and margins in rupees, (n,) float64 each."""
        key = state.tobytes()
        if key not in self._cached:
            if self.game.is_terminal(state)[0]:
                result = self.game.results(state)[0]
                share, final = np.array(result["win_share"]), np.array(result["final"])
            else:
                # Without a limit: the position before the turn, which is larger, was solved within one.
                found = endgame.solve(self.game, state, endgame.MAX_LIMIT, self.workspace)
                share, final = found.win_share, found.final
            self._cached[key] = share, final - final.mean()
        return self._cached[key]

    def regret(self, ending: Ending, after: np.ndarray) -> tuple[float, float]:
        """What the turn that led to `after` lost: share of the win, rupees of margin."""
        mover = int(ending.state["current_player"][0])
        best_share, best_final = ending.solution.win_share[mover], ending.solution.final
        share, margin = (values[mover] for values in self.outcome(after))
        lost = float(best_share - share), float(best_final[mover] - best_final.mean() - margin)
        assert lost[0] > SAME or (lost[0] > -SAME and lost[1] > -SAME), "a turn was better than the best"
        return lost


def regrets(
    game: Game, agents: Sequence[Agent], sample: Sequence[Ending], seed: int, progress: Any = lambda number: None
) -> np.ndarray:
    """What each agent loses in each position, (agents, positions, 2) float64: share of the win, rupees of margin."""
    given = np.zeros((len(agents), len(sample), 2))
    workspace = endgame.new_workspace(game)
    for place, ending in enumerate(sample):
        best_play = BestPlay(game, workspace)
        for number, agent in enumerate(agents):
            given[number, place] = best_play.regret(ending, take_turn(agent, game, ending.state, [seed, place]))
            progress(1)
    return given


def mean_regrets(given: np.ndarray) -> tuple[Estimate, Estimate]:
    """Mean regret over positions, (positions, 2), with intervals: in shares of the win, and in rupees."""
    shares, rupees = Moments.of(np.maximum(given[:, 0], 0)), Moments.of(given[:, 1])
    return estimates(shares, share_bounds(shares))[0], estimates(rupees, mean_bounds(rupees))[0]


def summary(spec: str, given: np.ndarray) -> dict[str, Any]:
    """One agent's regret, (positions, 2), as plain JSON types."""
    share, rupees = mean_regrets(given)
    lost = (given > SAME).any(axis=1)
    return {
        "agent": spec,
        "win_share": share.to_dict(),
        "rupees": rupees.to_dict(),
        "best": float(1 - lost.mean()),
    }
