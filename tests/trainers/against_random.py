"""Games of a trained policy against `random`: whether it learned, and the words for its result. This module knows no trainer."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

RUPEES = {2: 6.3, 4: 8.3}  # what `random` gets against its kind, by number of players


def play(
    env: gymnasium.Env, act: Callable[[Any, dict], int], games: int, share: float, rupees: float
) -> tuple[str, float]:
    """Play and check.

    Args:
        env: a single environment with `random` in the other seats.
        act: chooses an action for an observation and its info.
        games: how many; their seeds begin with a million.
        share: the least win share.
        rupees: the least mean of final rupees.
    Returns:
        The result in words, and the fraction of actions that were illegal.
    """
    results, illegal, steps = [], 0, 0
    for game in range(games):
        observation, info = env.reset(seed=10**6 + game)
        while "win_share" not in info:
            observation, _, _, _, info = env.step(int(act(observation, info)))
            steps += 1
        results.append((info["win_share"], info["final"]))
        illegal += info["illegal_actions"]
    (mean, final), players = np.mean(results, 0), env.unwrapped.game.num_players
    error = 1.96 * np.std([result[0] for result in results]) / games**0.5
    words = f"win share {mean:.3f} ± {error:.3f}, {final:.1f} rupees against `random`"
    words += f" (par {1 / players:.3f}, {RUPEES[players]})"
    if mean < share or final < rupees:
        raise SystemExit(f"it did not learn: {words}; {illegal / steps:.0%} of its actions were illegal")
    return words, illegal / steps
