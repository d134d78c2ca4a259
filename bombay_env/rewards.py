"""The rewards of a finished game, of the three kinds that the environments offer, and the places of the seats.

Rewards are zero-sum. Rewards and places are computed from results (`Game.results`) alone.
"""

from typing import Any, Final

import numpy as np

from bombay_env import checks

REWARDS: Final = ("win", "rank", "margin")
MARGIN_SCALE: Final = 10.0  # rupees that are worth one point of reward


def seat_rewards(results: Any, kind: str = "win") -> np.ndarray:
    """The reward of every seat, (batch, n) float64.

    Args:
        results: (batch,) records of `Game.results`, of games that are over.
        kind: "win": (n · win_share − 1) / (n − 1). "rank": the final place from +1 (first) to −1 (last), by rupees and then
            Clients; tied seats get the mean of their places. "margin": final rupees minus the mean of all seats, divided by 10.

    Raises:
        ValueError: `kind` is not one of `REWARDS`.
    """
    check_reward(kind)
    n = results["final"].shape[1]
    if kind == "win":
        return (n * results["win_share"] - 1) / (n - 1)  # type: ignore[no-any-return]
    if kind == "margin":
        final = results["final"].astype(np.float64)
        return (final - final.mean(axis=1, keepdims=True)) / MARGIN_SCALE  # type: ignore[no-any-return]
    return _ahead(results).sum(axis=2) / (n - 1)  # type: ignore[no-any-return] # (wins − losses) / (n − 1)


def seat_places(results: Any) -> np.ndarray:
    """The place of every seat, (batch, n) int64: 1 is the best; by rupees and then Clients. Tied seats share the better place.

    Args:
        results: (batch,) records of `Game.results`, of games that are over.
    """
    return 1 + (_ahead(results) < 0).sum(axis=2)  # type: ignore[no-any-return]


def _ahead(results: Any) -> np.ndarray:
    """Each pair of seats compared by rupees, then by Clients, (batch, n, n): 1 if the first is ahead, −1 if it is behind."""
    final, clients = results["final"].astype(np.int64), results["clients"].astype(np.int64)
    rupees_ahead = final[:, :, None] - final[:, None, :]
    clients_ahead = clients[:, :, None] - clients[:, None, :]
    return np.sign(2 * np.sign(rupees_ahead) + np.sign(clients_ahead))  # type: ignore[no-any-return]


def check_reward(kind: str) -> None:
    """Raise ValueError unless `kind` is one of `REWARDS`."""
    checks.one_of(kind, "reward", REWARDS)
