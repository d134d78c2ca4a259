"""`AutoresetGames`: many games at once; when a lane's game ends, the same step deals the lane's next game.

This is the fastest way to play. The PPO learner's Stable-Baselines3 environment is built on it. It owns its states, and a step
allocates only a few bytes for each lane. It uses the loops of `batch.py` and the checks of `Game`. It does not know rewards or
opponents.
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

    Lane i deals its first game from seed s + i, and all later games from the stream that is keyed by this seed. The games of a
    lane do not depend on the number of lanes, on threads, or on the actions in other lanes.

    Args:
        game: the rules and the board.
        num_lanes: number of games played at once.
        seed: s, from 0 to 2**64 − 1 (s + i wraps around), or (num_lanes,) integers, one seed for each lane. The seeds of two
            objects must differ by at least `num_lanes`, or they play some of the same games.

    Attributes:
        states: (num_lanes,) records, all running; overwritten by `step`, `rollout` and `collect`. They are this object's own, and
            `rollout` and `collect` do not check them: do not write to them.
        ended: (num_lanes,) bool: whether the last step ended the lane's game.
        finals: (num_lanes,) records: the state at the end of the game if `ended`, else an older state.
        seeds: (num_lanes,) uint64: the key of each lane's games.
        episodes: (num_lanes,) uint64: the number of games dealt before the current one.

    Raises:
        ValueError: an argument has a value that is not allowed.
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
        """Deal a new game in every lane: from `seed` as in the constructor, or if None, the next game of each lane's stream."""
        if seed is None:
            batch.deal_next(np.asarray(self.states), self.game.tables, self.seeds, self.episodes)
        else:
            self.seeds: np.ndarray = lane_seeds(seed, len(self)).copy()  # the caller may change its array
            self.episodes: np.ndarray = np.zeros(len(self), np.uint64)
            batch.deal_all(np.asarray(self.states), self.game.tables, self.seeds)
        self.ended[:] = False

    def step(self, actions: Any) -> None:
        """Play one action in each lane. `states`, `ended` and `finals` are overwritten.

        Args:
            actions: (num_lanes,) integers.

        Raises:
            IllegalActionError: an action is illegal; `.lanes` has the indices. Nothing has changed.
            ValueError: `actions` has the wrong shape or dtype. Nothing has changed.
        """
        chosen = self.game.check_actions(self.states, actions)
        states, finals = np.asarray(self.states), np.asarray(self.finals)
        batch.advance_all(states, self.game.tables, chosen, self.seeds, self.episodes, self.ended, finals)

    def rollout(self, decisions: int, keys: Any, index: int = 0) -> None:
        """Play random decisions in each lane inside one kernel. `states` is overwritten; `ended` and `finals` do not change.

        Args:
            decisions: number of decisions in each lane, from 0 to 2**62.
            keys: (num_lanes,) integers from 0 to 2**64 − 1, the keys of the lanes' random streams; or one integer s, which means
                s + i for lane i.
            index: position in the streams to start at, from 0 to 2**62: the number of decisions already drawn with these keys.

        Raises:
            ValueError: an argument has the wrong shape or dtype, or is out of range. Nothing has changed.
        """
        count, first = checks.count(decisions, "decisions"), checks.count(index, "index")
        streams = lane_seeds(keys, len(self))
        states = np.asarray(self.states)
        batch.endless_uniform(states, self.game.tables, count, streams, first, self.seeds, self.episodes)

    def collect(
        self, keys: Any, index: int, observations: np.ndarray, action_masks: np.ndarray, screened: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Like `rollout`, and record each decision. The arrays determine the number of decisions.

        Args:
            keys, index: see `rollout`.
            observations: (decisions, num_lanes, F) float32, overwritten with the observations of the seats to act.
            action_masks: (decisions, num_lanes, A) bool, overwritten with their legal actions. Neither may share memory with the
                other, with `keys` or with an attribute of this object.
            screened: whether observations hide what opponents keep behind their screens (RULES 6).

        Returns:
            The actions, (decisions, num_lanes) int64, and whether each ended a game, (decisions, num_lanes) bool.

        Raises:
            ValueError: an argument has the wrong shape or dtype, or is out of range. Nothing has changed.
        """
        game, count = self.game, len(observations) if isinstance(observations, np.ndarray) else 0
        checks.output(observations, (count, len(self), game.num_features), np.float32, "observations")
        checks.output(action_masks, (count, len(self), game.num_actions), np.bool_, "action_masks")
        own = (keys, self.states, self.ended, self.finals, self.seeds, self.episodes)
        checks.apart(observations, "observations", action_masks, *own)
        checks.apart(action_masks, "action_masks", *own)
        actions, ended = np.empty((count, len(self)), np.int64), np.empty((count, len(self)), np.bool_)
        states = np.asarray(self.states)
        streams = batch.Streams(lane_seeds(keys, len(self)), checks.count(index, "index"), self.seeds, self.episodes)
        observer = batch.Observer(game.as_readings(states), game.lookups, bool(screened), game.scratch(bool(screened)))
        features, masks = game.as_feature_records(observations), game.as_mask_records(action_masks)
        batch.collect_uniform(states, game.tables, streams, observer, batch.Decisions(features, masks, actions, ended))
        return actions, ended


def lane_seeds(seed: Any, count: int) -> np.ndarray:
    """The seeds of `count` lanes, (count,) uint64: the given seeds, or `seed` + i for lane i, wrapping around at 2**64.

    Raises:
        ValueError: a seed is not a whole number from 0 to 2**64 − 1, or the number of seeds is not `count`.
    """
    if isinstance(seed, (int, np.integer)):
        first = checks.seed(seed)
        return np.array([(first + lane) & MAX_SEED for lane in range(count)], np.uint64)
    return checks.seeds(seed, count)
