"""A game with known best play, to test that self-play credits each seat with its own payoff.

There are two or three seats. One of them is the banker, a random one in every game; the others are takers with four decisions
each. A taker may *sow*, which makes each of its later takes worth 2 more, *take* what a take is worth now (1 at first), or
*waste* the decision. Sowing and taking are each available with probability 3/4. The banker only passes, several times during the
game and once at its end. Then the takers are paid what they took, by the banker.

    order of one game, two takers A and B, banker C:    A C A B B A C B A B C   <- the banker always moves last

So the payoff of the last mover is the opposite of the others', and a learner that takes the value of the next *player* for its
own learns to waste everything. Best play depends only on the decisions left, what was sown and what is available. `best_play`
computes it by backward induction.
"""

import itertools
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv

from bombay_training.learners.ppo.seat_buffer import MAX_SEATS
from bombay_training.learners.ppo.vec_env import BombayVecEnv

SEATS = 3
DECISIONS = 4  # of each taker
PASSES = 3  # of the banker
LENGTH = (SEATS - 1) * DECISIONS + PASSES
PASS, WASTE, SOW, TAKE = range(4)
NUM_ACTIONS = 4
OPEN = 0.75  # probability that sowing is available at a decision; the same for taking
SOWN_WORTH = 2
UNIT = 20.0  # payoffs are divided by this

SEAT_FEATURES = 5  # banker, seated, decisions left, sown, taken
NUM_FEATURES = SEATS * SEAT_FEATURES + SEATS + 2  # every seat, whose turn, what is available


def best_play() -> tuple[np.ndarray, float]:
    """Best action by [decisions left, sown, sowing available, taking available], and the mean takings of best play."""
    worth = np.zeros((DECISIONS + 1, DECISIONS + 1))
    action = np.zeros((DECISIONS + 1, DECISIONS + 1, 2, 2), np.int64)
    for left in range(1, DECISIONS + 1):
        for sown in range(DECISIONS + 1 - left):
            for sow_open, take_open in itertools.product((0, 1), repeat=2):
                value = {WASTE: worth[left - 1, sown]}
                if sow_open:
                    value[SOW] = worth[left - 1, sown + 1]
                if take_open:
                    value[TAKE] = 1 + SOWN_WORTH * sown + worth[left - 1, sown]
                best = max(value, key=lambda choice: value[choice])
                action[left, sown, sow_open, take_open] = best
                chance = (OPEN if sow_open else 1 - OPEN) * (OPEN if take_open else 1 - OPEN)
                worth[left, sown] += chance * value[best]
    return action, float(worth[DECISIONS, 0])


class ToyVecEnv(BombayVecEnv):
    """`num_envs` games in parallel, alternately with two and three seats; all chance is from one seeded generator.

    Of `BombayVecEnv` it keeps only what is the same for every game, such as `step_async` and `env_method`.
    """

    def __init__(self, num_envs: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.num_seats = np.where(np.arange(num_envs) % 2 == 0, 2, SEATS)
        self.lanes = np.arange(num_envs)
        VecEnv.__init__(self, num_envs, spaces.Box(-2, 2, (NUM_FEATURES,), np.float32), spaces.Discrete(NUM_ACTIONS))
        self.order = np.zeros((num_envs, LENGTH), np.int64)
        self.position = np.zeros(num_envs, np.int64)
        self.banker = np.zeros(num_envs, np.int64)
        self.left = np.zeros((num_envs, SEATS), np.int64)
        self.sown = np.zeros((num_envs, SEATS), np.int64)
        self.taken = np.zeros((num_envs, SEATS), np.int64)
        self.open = np.zeros((num_envs, 2), bool)  # sowing, taking
        self.takings: list[float] = []  # mean takings per taker of each game that ended

    def seed(self, seed: int | None = None) -> list[int | None]:
        self.rng = np.random.default_rng(seed)
        return [seed] * self.num_envs

    def deal(self, lane: int) -> None:
        seats = self.num_seats[lane]
        banker = self.rng.integers(seats)
        takers = [seat for seat in range(seats) if seat != banker]
        order = self.rng.permutation(np.repeat([*takers, banker], [DECISIONS] * len(takers) + [PASSES - 1]))
        self.order[lane, : len(order) + 1] = [*order, banker]
        self.position[lane] = 0
        self.banker[lane] = banker
        self.left[lane] = 0
        self.left[lane, takers] = DECISIONS
        self.left[lane, banker] = PASSES
        self.sown[lane] = self.taken[lane] = 0

    def movers(self) -> np.ndarray:
        return self.order[self.lanes, self.position]

    def reset(self) -> np.ndarray:
        for lane in self.lanes:
            self.deal(lane)
        self.open = self.rng.random((self.num_envs, 2)) < OPEN
        return self.observe(self.movers())

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        movers = self.movers()
        assert self.action_masks()[self.lanes, self.actions].all()
        self.left[self.lanes, movers] -= 1
        self.sown[self.lanes, movers] += self.actions == SOW
        self.taken[self.lanes, movers] += (self.actions == TAKE) * (1 + SOWN_WORTH * self.sown[self.lanes, movers])
        dones = self.left.sum(axis=1) == 0
        rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        for lane in np.flatnonzero(dones):
            rewards[lane, :SEATS] = self.taken[lane] / UNIT
            rewards[lane, self.banker[lane]] = -self.taken[lane].sum() / UNIT
            self.takings.append(self.taken[lane].sum() / (self.num_seats[lane] - 1))
            self.deal(lane)
        self.position[~dones] += 1
        self.open = self.rng.random((self.num_envs, 2)) < OPEN
        self.last_seats, self.last_seat_rewards, self.last_dones = movers, rewards, dones
        infos: list[dict[str, Any]] = [{} for _ in self.lanes]
        return self.observe(self.movers()), rewards[self.lanes, movers], dones.copy(), infos

    def action_masks(self) -> np.ndarray:
        masks = np.zeros((self.num_envs, NUM_ACTIONS), bool)
        taking = self.movers() != self.banker
        masks[:, PASS] = ~taking
        masks[:, WASTE] = taking
        masks[:, [SOW, TAKE]] = self.open & taking[:, None]
        return masks

    def observe(self, viewers: np.ndarray) -> np.ndarray:
        """(E, F) float32: the games as `viewers` (E,) see them, seats rotated so that the viewer comes first."""
        seats = (viewers[:, None] + np.arange(SEATS)) % self.num_seats[:, None]
        seated = np.arange(SEATS) < self.num_seats[:, None]
        lanes = self.lanes[:, None]
        columns = (
            seats == self.banker[:, None],
            np.ones(seats.shape),
            self.left[lanes, seats] / DECISIONS,
            self.sown[lanes, seats] / DECISIONS,
            self.taken[lanes, seats] / UNIT,
        )
        table = np.stack(columns, axis=2) * seated[:, :, None]
        turn = (seats == self.movers()[:, None]) & seated
        return np.concatenate([table.reshape(self.num_envs, -1), turn, self.open], axis=1, dtype=np.float32)

    def seat_views(self) -> np.ndarray:
        views = np.zeros((self.num_envs, MAX_SEATS, NUM_FEATURES), np.float32)
        for seat in range(SEATS):
            views[:, seat] = self.observe(np.full(self.num_envs, seat))
        return views
