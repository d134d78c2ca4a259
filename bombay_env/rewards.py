"""What a finished game pays each seat, in the three ways an environment offers (DESIGN 5).

All three are zero-sum. They read results (`Game.results`) and know nothing of how the game went.
"""

from typing import Any, Final

import numpy as np

REWARDS: Final = ("win", "rank", "margin")
MARGIN_SCALE: Final = 10.0  # rupees for one point of reward


def seat_rewards(results: Any, kind: str = "win") -> np.ndarray:
    """The reward of every seat, (batch, n) float64.

    Args:
        results: (batch,) structured as `Game.results` gives them, of games that are over.
        kind: "win": (n · win_share − 1) / (n − 1). "rank": the final place from +1 to −1, by rupees and then Clients, tied
            places averaged. "margin": final rupees less the table's mean, divided by 10.

    Raises:
        ValueError: `kind` is another.
    """
    check_reward(kind)
    n = results["final"].shape[1]
    if kind == "win":
        return (n * results["win_share"] - 1) / (n - 1)  # type: ignore[no-any-return]
    if kind == "margin":
        final = results["final"].astype(np.float64)
        return (final - final.mean(axis=1, keepdims=True)) / MARGIN_SCALE  # type: ignore[no-any-return]
    final, clients = results["final"].astype(np.int64), results["clients"].astype(np.int64)
    rupees_ahead = final[:, :, None] - final[:, None, :]
    clients_ahead = clients[:, :, None] - clients[:, None, :]
    # Each pair of seats is decided by rupees, else by Clients; a place is the balance of a seat's pairs.
    return np.sign(2 * np.sign(rupees_ahead) + np.sign(clients_ahead)).sum(axis=2) / (n - 1)  # type: ignore[no-any-return]


def check_reward(kind: str) -> None:
    """Raise ValueError unless `kind` is one of `REWARDS`."""
    if kind not in REWARDS:
        raise ValueError(f"reward is {kind!r}; it must be one of {', '.join(REWARDS)}")
