"""What the examples share: options, a trained policy as an agent, and its win share against another. It knows no trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np
import typer

from bombay_env import MAX_PLAYERS, MIN_PLAYERS, Game, bombay_v0
from bombay_training import arena, statistics

# Options of every example.
Minutes = Annotated[float, typer.Option(help="How long to learn.", min=0)]
Players = Annotated[int, typer.Option(help="Number of players.", min=MIN_PLAYERS, max=MAX_PLAYERS)]
Seed = Annotated[int, typer.Option(help="Of the deals and of all random choices.", min=0, max=2**32 - 1)]
Blocks = Annotated[int, typer.Option(help="Deals to play, each from every seat.", min=2)]

Policy = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # observations (batch, F) float32, masks (batch, A) bool → actions


class PolicyAgent:
    """A policy as an agent for the arena.

    Args:
        policy: chooses an action (batch,) for each row of observations (batch, F) float32 and masks (batch, A) bool.
        name: the name in tables.
    """

    def __init__(self, policy: Policy, name: str) -> None:
        self.policy, self.name = policy, name

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (batch,) int64 for states (batch,)."""
        return np.asarray(self.policy(game.observe(states), game.legal_actions(states)), np.int64)


def evaluate(policy: Policy, num_players: int, opponent: str = "random", blocks: int = 250) -> statistics.Estimate:
    """The win share against copies of `opponent`, with a 95 % interval over blocks: deals that are played from each seat."""
    game = bombay_v0.raw_env(num_players).game
    return statistics.share_with_interval(
        arena.one_vs_rest(game, PolicyAgent(policy, "trained"), opponent, blocks, seed=1)
    )


def report(policy: Policy, num_players: int, blocks: int = 250) -> None:
    """Print the results of `evaluate` against `random`, which even an agent that always consolidates beats, and `greedy`."""
    for opponent in ("random", "greedy"):
        share = evaluate(policy, num_players, opponent, blocks)
        print(f"win share against {opponent}: {share}, par {1 / num_players:.3f}")
