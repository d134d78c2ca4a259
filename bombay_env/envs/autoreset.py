"""`AutoresetGames`: many games at once; a lane whose game ends deals its next game in the same step.

This is the fastest way to play, and the PPO learner's Stable-Baselines3 environment is built on it. It owns its states, and a
step allocates only a few bytes for each lane. The loop is in `batch.py`, the checks are those of `Game`. Knows neither rewards
nor opponents.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bombay_env import batch, checks
from bombay_env.checks import MAX_SEED
from bombay_env.game import Game
from bombay_env.state import new_records


class AutoresetGames:
    """Running games of one `Game`.

    Lane i deals its first game from seed s + i and all later ones from the stream that this seed keys. Its games depend neither
    on the number of lanes, nor on threads, nor on what happens in other lanes.

    Args:
        game: the rules and the board.
        num_lanes: number of games played at once.
        seed: s, from 0 to 2**64 − 1 (s + i wraps around), or (num_lanes,) integers, one seed for each lane.

    Attributes:
        states: (num_lanes,) records, all running; overwritten by `step` and `rollout`.
        ended: (num_lanes,) bool: the lanes in which the last step ended a game.
        finals: (num_lanes,) records: in those lanes the state at the end of the game; in others an older one.
        seeds, episodes: (num_lanes,) uint64: the key of each lane's games, and the number of games dealt before the current one.

    Raises:
        ValueError: an argument is not as described.
    """

    def __init__(self, game: Game, num_lanes: int, seed: int | Sequence[int] | np.ndarray = 0) -> None:
        num_lanes = checks.whole_number(num_lanes, "num_lanes", 1)
        self.game = game
        self.ended = np.zeros(num_lanes, np.bool_)
        self.finals = new_records(num_lanes, game.state_dtype)
        self.states = new_records(num_lanes, game.state_dtype)
        self.reset(seed)

    def __len__(self) -> int:
        return len(self.states)

    def reset(self, seed: int | Sequence[int] | np.ndarray | None = None) -> None:
        """Deal a new game in every lane: from `seed` as in the constructor, or the next game of each lane's stream if None."""
        if seed is None:
            batch.deal_next(np.asarray(self.states), self.game.tables, self.seeds, self.episodes)
        else:
            self._deal(lane_seeds(seed, len(self)))
        self.ended[:] = False

    def _deal(self, seeds: np.ndarray) -> None:
        batch.deal_all(np.asarray(self.states), self.game.tables, seeds)
        self.seeds = seeds.copy()  # the caller's may change
        self.episodes = np.zeros(len(self), np.uint64)

    def step(self, actions: Any) -> None:
        """Play one action in each lane; (num_lanes,) integers. `states`, `ended` and `finals` are overwritten.

        Raises:
            IllegalActionError: with `.lanes`; nothing has changed.
            ValueError: wrong shape or type; nothing has changed.
        """
        chosen = self.game.check_actions(self.states, actions)
        states, finals = np.asarray(self.states), np.asarray(self.finals)
        batch.advance_all(states, self.game.tables, chosen, self.seeds, self.episodes, self.ended, finals)

    def rollout(self, decisions: int, keys: Any, index: int = 0) -> None:
        """Play so many random decisions in each lane inside one kernel; `ended` and `finals` keep their values.

        Args:
            decisions: number for each lane.
            keys: (num_lanes,) integers in 0…2**64−1, the keys of the lanes' random streams; or s, which stands for s + lane.
            index: position in the streams to begin at: the number of decisions already drawn with these keys.
        """
        count, first = checks.count(decisions, "decisions"), checks.count(index, "index")
        streams = lane_seeds(keys, len(self))
        states = np.asarray(self.states)
        batch.endless_uniform(states, self.game.tables, count, streams, first, self.seeds, self.episodes)

    def collect(
        self, keys: Any, index: int, observations: np.ndarray, action_masks: np.ndarray, screened: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Like `rollout`, and record each decision; plays as many decisions as the arrays have room for.

        Args:
            keys, index: as for `rollout`.
            observations: (decisions, num_lanes, F) float32, overwritten with what each mover saw.
            action_masks: (decisions, num_lanes, A) bool, overwritten with its legal actions.
            screened: whether observations leave out what opponents hide (RULES 6).

        Returns:
            Actions (decisions, num_lanes) int64, and (decisions, num_lanes) bool: whether the action ended a game.
        """
        game, count = self.game, len(observations) if isinstance(observations, np.ndarray) else 0
        checks.output(observations, (count, len(self), game.num_features), np.float32, "observations")
        checks.output(action_masks, (count, len(self), game.num_actions), np.bool_, "action_masks")
        actions, ended = np.empty((count, len(self)), np.int64), np.empty((count, len(self)), np.bool_)
        states = np.asarray(self.states)
        batch.collect_uniform(
            states,
            game.as_readings(states),
            game.tables,
            lane_seeds(keys, len(self)),
            checks.count(index, "index"),
            self.seeds,
            self.episodes,
            game.lookups,
            bool(screened),
            game.scratch(bool(screened)),
            game.as_feature_records(observations),
            game.as_mask_records(action_masks),
            actions,
            ended,
        )
        return actions, ended


def lane_seeds(seed: Any, count: int) -> np.ndarray:
    """The seeds of `count` lanes, (count,) uint64: those given, or `seed` + i for lane i, wrapping around at 2**64.

    Raises:
        ValueError: a seed is not a whole number from 0 to 2**64 − 1, or their number is not that of the lanes.
    """
    if isinstance(seed, (int, np.integer)):
        first = checks.seed(seed)
        return np.array([(first + lane) & MAX_SEED for lane in range(count)], np.uint64)
    seeds = checks.seeds(seed)
    if len(seeds) != count:
        raise ValueError(f"{len(seeds)} seeds are given for {count} lanes")
    return seeds
