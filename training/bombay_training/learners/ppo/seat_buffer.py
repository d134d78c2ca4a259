"""A rollout buffer for self-play in which the players of one game share one stream of decisions.

It knows when each seat decided and what each seat was paid, and turns that into advantages that run per seat: from a
seat's decision to its *own* next one, across whatever the others do in between. It knows nothing of Bombay, of the net
or of how games are dealt; those stand in `vec_env.py` and `ppo/run.py`. Letters in shapes: T steps, E games side by side,
F features.

    step       0      1      2      3      4      5 (end)
    mover      A      A      B      C      A      B
    A pays   r0 |   r1 + r2 + r3    | r4 + r5            three decisions of A, three rewards
    B pays                 | r2 + r3 + r4 | r5
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

MAX_SEATS = 5  # seats of the widest table; narrower ones leave the last columns at zero


class SeatSource(Protocol):
    """What the buffer asks of the environment that fills it; the `last` fields are those of the step just taken."""

    last_seats: np.ndarray  # (E,) who moved
    last_seat_rewards: np.ndarray  # (E, MAX_SEATS) what each seat was paid, zero beyond num_seats
    last_dones: np.ndarray  # (E,) True where the game ended with that step
    num_seats: np.ndarray  # (E,) seats at each table

    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the present states as each seat sees them; anything beyond num_seats."""
        ...


ValueFunction = Callable[[np.ndarray], np.ndarray]  # (N, F) float32 observations -> (N,) values


class SeatRolloutBuffer(MaskableRolloutBuffer):
    """Maskable rollout buffer with generalised advantage estimation along each seat's own decisions.

    Stable-Baselines3 hands a buffer one scalar reward an environment, so seats, rewards and final views are fetched
    from the environment itself. `attach` names it once the model exists; neither it nor anything fetched is saved with
    a model, which leaves rollout buffers out.
    """

    seats: np.ndarray  # (T, E) int64
    seat_rewards: np.ndarray  # (T, E, MAX_SEATS) float32
    game_ends: np.ndarray  # (T, E) bool
    source: SeatSource | None = None
    value_fn: ValueFunction | None = None

    def attach(self, source: SeatSource, value_fn: ValueFunction) -> None:
        """Name the environment whose steps are added and the function that values an observation."""
        self.source = source
        self.value_fn = value_fn

    def reset(self) -> None:
        """Forget all steps."""
        self.seats = np.zeros((self.buffer_size, self.n_envs), np.int64)
        self.seat_rewards = np.zeros((self.buffer_size, self.n_envs, MAX_SEATS), np.float32)
        self.game_ends = np.zeros((self.buffer_size, self.n_envs), bool)
        super().reset()

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Store one step; called after the environment took it, so that the source's `last` fields are of that step.

        Raises:
            RuntimeError: `attach` was not called.
        """
        if self.source is None:
            raise RuntimeError("SeatRolloutBuffer is not attached: call buffer.attach(env, value_fn) before learning")
        self.seats[self.pos] = self.source.last_seats
        self.seat_rewards[self.pos] = self.source.last_seat_rewards
        self.game_ends[self.pos] = self.source.last_dones
        super().add(*args, **kwargs)

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: np.ndarray) -> None:
        """Estimate each decision's advantage from what its own seat was paid and came to, and `returns` from those.

        A decision is paid what its seat receives until just before the seat's next one; gamma counts once an own
        decision. Where the game ends in between nothing follows; where the rollout ends first, the seat's own view of
        the last states is valued. `last_values` are the values of the movers' views only and go unused.
        """
        next_value = self._final_values()
        next_advantage = np.zeros((self.n_envs, MAX_SEATS), np.float32)
        reward_to_come = np.zeros((self.n_envs, MAX_SEATS), np.float32)
        games = np.arange(self.n_envs)
        for step in reversed(range(self.buffer_size)):
            ended = self.game_ends[step]
            next_value[ended] = next_advantage[ended] = reward_to_come[ended] = 0.0
            reward_to_come += self.seat_rewards[step]

            mover = games, self.seats[step]
            value = self.values[step]
            surprise = reward_to_come[mover] + self.gamma * next_value[mover] - value
            advantage = surprise + self.gamma * self.gae_lambda * next_advantage[mover]
            self.advantages[step] = advantage

            next_value[mover] = value
            next_advantage[mover] = advantage
            reward_to_come[mover] = 0.0
        self.returns = self.advantages + self.values

    def _final_values(self) -> np.ndarray:
        """(E, MAX_SEATS) float32: what the present states are worth to each seat; zero beyond the table."""
        assert self.source is not None
        assert self.value_fn is not None
        seated = np.arange(MAX_SEATS) < np.asarray(self.source.num_seats)[:, None]
        values = np.zeros((self.n_envs, MAX_SEATS), np.float32)
        values[seated] = self.value_fn(self.source.seat_views()[seated])
        return values
