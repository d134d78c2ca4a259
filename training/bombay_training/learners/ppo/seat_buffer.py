"""A rollout buffer for self-play in which the decisions of a game's seats form one stream.

It records who decided and what each seat was paid, and computes advantages per seat: from a seat's decision to its *own* next
one, whatever the others do in between. It knows nothing of Bombay, the net or how games are dealt; see `vec_env.py` and `run.py`.
Letters in shapes: T steps, E games in parallel, F features.

    step              0      1      2      3      4      5 (end)
    mover             A      A      B      C      A      B
    rewards of A    r0 |   r1 + r2 + r3    | r4 + r5            three decisions of A, three rewards
    rewards of B                  | r2 + r3 + r4 | r5
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer

MAX_SEATS = 5  # columns beyond the number of players are zero


class SeatSource(Protocol):
    """What the buffer needs from the environment. The `last` fields describe the last step."""

    last_seats: np.ndarray  # (E,) who moved
    last_seat_rewards: np.ndarray  # (E, MAX_SEATS) what each seat was paid, zero beyond num_seats
    last_dones: np.ndarray  # (E,) True where the step ended the game
    num_seats: np.ndarray  # (E,) number of seats in each game

    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the current states as each seat sees them; undefined beyond num_seats."""
        ...


ValueFunction = Callable[[np.ndarray], np.ndarray]  # (N, F) float32 observations -> (N,) values


class SeatRolloutBuffer(MaskableRolloutBuffer):
    """Maskable rollout buffer with generalised advantage estimation along each seat's own decisions.

    Stable-Baselines3 gives a buffer one scalar reward per environment, so this one reads seats, rewards and final views from the
    environment itself. Call `attach` once the model exists. Models are saved without their rollout buffers.
    """

    seats: np.ndarray  # (T, E) int64
    seat_rewards: np.ndarray  # (T, E, MAX_SEATS) float32
    game_ends: np.ndarray  # (T, E) bool
    source: SeatSource | None = None
    value_fn: ValueFunction | None = None

    def attach(self, source: SeatSource, value_fn: ValueFunction) -> None:
        """Set the environment that the steps come from, and the value function for observations."""
        self.source = source
        self.value_fn = value_fn

    def reset(self) -> None:
        """Remove all steps."""
        self.seats = np.zeros((self.buffer_size, self.n_envs), np.int64)
        self.seat_rewards = np.zeros((self.buffer_size, self.n_envs, MAX_SEATS), np.float32)
        self.game_ends = np.zeros((self.buffer_size, self.n_envs), bool)
        super().reset()

    def add(self, *args: Any, **kwargs: Any) -> None:
        """Store one step. It is called after the environment took the step, so the source's `last` fields describe it.

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
        """Compute `advantages` per seat, and `returns` from them.

        The reward of a decision is what its seat is paid until just before its next one; gamma applies once per own decision.
        After the end of a game the value is zero. If the rollout ends first, it is the value of the seat's own view of the last
        states. `last_values` are not used, since they are those of the movers' views only.
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
            td_error = reward_to_come[mover] + self.gamma * next_value[mover] - value
            advantage = td_error + self.gamma * self.gae_lambda * next_advantage[mover]
            self.advantages[step] = advantage

            next_value[mover] = value
            next_advantage[mover] = advantage
            reward_to_come[mover] = 0.0
        self.returns = self.advantages + self.values

    def _final_values(self) -> np.ndarray:
        """(E, MAX_SEATS) float32: the value of the current states for each seat; zero beyond `num_seats`."""
        assert self.source is not None
        assert self.value_fn is not None
        seated = np.arange(MAX_SEATS) < np.asarray(self.source.num_seats)[:, None]
        values = np.zeros((self.n_envs, MAX_SEATS), np.float32)
        values[seated] = self.value_fn(self.source.seat_views()[seated])
        return values
