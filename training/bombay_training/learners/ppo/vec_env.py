"""Many games of Bombay in parallel as one Stable-Baselines3 `VecEnv` for self-play: the learner plays every seat.

In each step the player to move in each game acts, so the decisions of its seats interleave. Who moved and what *each* seat was
paid is kept in the fields that `SeatRolloutBuffer` reads. The games are arrays of states, stepped together by `seat_games.py`,
which also plays forced actions; there are no single environments and no other processes. `run.py` trains on this environment.

    when             what happens
    illegal action   `IllegalActionError` from `Game.check_actions`, nothing changes
    a game ends      the next game is dealt in the same step: observation and mask are the new game's, `dones` is True, the info
                     holds `terminal_observation` (seat 0's view) and `episode`
    reset()          every environment deals; after `seed(s)` number i gets seed s + i, else the next seed of its own stream
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from bombay_agents.scripted.potential import PLANNER_SHAPING
from bombay_env import checks
from bombay_env.envs.autoreset_games import lane_seeds
from bombay_env.game import Game
from bombay_env.state import NOBODY, check_invariants, rows
from bombay_training.learners.ppo.seat_buffer import MAX_SEATS
from bombay_training.learners.ppo.seat_games import PlayStatistics, SeatGames


class SeatVecEnv(VecEnv):
    """The part of a `VecEnv` with seats that is the same for every game.

    A subclass defines `reset`, `step_wait` (which sets the `last` fields), `action_masks` and `seat_views`.
    """

    render_mode = None
    num_seats: np.ndarray  # (E,) number of seats in each game
    last_seats: np.ndarray  # (E,) who moved in the last step
    last_seat_rewards: np.ndarray  # (E, MAX_SEATS) float32, what the last step paid each seat
    last_dones: np.ndarray  # (E,) bool, where the last step ended the game
    actions: np.ndarray  # (E,) int64, for the next `step_wait`

    @abstractmethod
    def action_masks(self) -> np.ndarray:
        """(E, A) bool: the legal actions of each game's player to move; a new array."""

    @abstractmethod
    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the current states as each seat sees them; zero beyond `num_seats`."""

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions (E,) for `step_wait`. Raises ValueError unless they are integers, one for each environment."""
        self.actions = checks.actions(actions, self.num_envs)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Only `action_masks`: its row for each environment of `indices`. Raises AttributeError for any other method."""
        if method_name != "action_masks":
            raise AttributeError(f"{type(self).__name__} has no method {method_name!r} for single environments")
        masks = self.action_masks()
        return list(masks) if indices is None else [masks[lane] for lane in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, which all environments share, once for each of them."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Raise AttributeError: single environments have no attributes of their own."""
        raise AttributeError(f"{type(self).__name__} has no attributes of single environments")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for every environment."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Do nothing: the games are arrays."""


class BombayVecEnv(SeatVecEnv):
    """Self-play environments over one or more `Game`s.

    Args:
        games: such as one for each player count; their features and actions must agree.
        num_envs: number of environments, divided as evenly as possible among the games.
        seed: of the first deals; see `reset` in the module's table.
        blend: weight of the win, as opposed to the margin, in a game's reward (`potential.blended`); may be set between steps.
        shaping_weight: this part of the reward is paid as each seat's potential changes, the rest at the end. Over a game with
            constant `blend` the sum is the same, less this part of the seat's potential at the deal.
        observation_mode: what a seat sees, one of `policy_net.MODES`.
        shaping: what the potential is, one of `potential.SHAPINGS`.
    Raises:
        ValueError: no games, fewer environments than games, or games that one net cannot serve.
    """

    def __init__(
        self,
        games: Sequence[Game],
        num_envs: int,
        seed: int,
        blend: float = 1.0,
        shaping_weight: float = 0.0,
        observation_mode: str = "perfect_recall",
        shaping: str = PLANNER_SHAPING,
    ) -> None:
        if not 1 <= len(games) <= num_envs:
            raise ValueError(f"num_envs is {num_envs}; it must be at least 1 for each of the {len(games)} games")
        first = games[0]
        for game in games[1:]:
            for what in ("num_features", "num_actions"):
                if getattr(game, what) != getattr(first, what):
                    raise ValueError(
                        f"one net cannot serve games with {what} {getattr(first, what)} and {getattr(game, what)}"
                    )
        bounds = [num_envs * i // len(games) for i in range(len(games) + 1)]
        self.groups = [
            SeatGames(game, slice(low, high), shaping_weight, observation_mode, shaping)
            for game, low, high in zip(games, bounds, bounds[1:], strict=False)
        ]
        self.num_features, self.num_actions = self.groups[0].reader.num_features, first.num_actions
        self.num_seats = np.concatenate([np.full(group.size, group.num_seats) for group in self.groups])
        layout = first.feature_layout
        observed = self.num_features == first.num_features
        low, high = (layout.low, layout.high) if observed else (np.float32(-np.inf), np.float32(np.inf))
        box = spaces.Box(low, high, (self.num_features,), np.float32)
        super().__init__(num_envs, box, spaces.Discrete(self.num_actions))
        self.statistics = PlayStatistics()
        self._blend = blend
        self.seconds = 0.0  # time spent in this environment since its creation
        self.seed(seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Let the next reset deal environment i from seed + i; from a random seed if None."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._seeds: np.ndarray | None = lane_seeds(seed, self.num_envs)  # for the next reset
        return self._seeds.tolist()  # type: ignore[no-any-return]

    @property
    def blend(self) -> float:
        """Weight of the win, as opposed to the margin, in a game's reward."""
        return self._blend

    @blend.setter
    def blend(self, blend: float) -> None:
        self._blend = blend
        self._update_potentials()

    def _update_potentials(self) -> None:
        """Set all potentials to those of the current states."""
        for group in self.groups:
            if group.shaping_weight:
                group.potentials = group.compute_potentials(group.games.states, self._blend)

    def snapshot(self) -> dict[str, np.ndarray]:
        """Copies of all arrays that make up the games in progress, for `restore`."""
        arrays: dict[str, np.ndarray] = {"lengths": self.game_lengths, "returns": self.game_returns}
        for number, group in enumerate(self.groups):
            states = np.asarray(group.games.states).view(np.uint8).reshape(group.size, -1)
            parts = {"states": states, "seeds": group.games.seeds, "episodes": group.games.episodes}
            arrays |= {f"{name}.{number}": part for name, part in {**parts, "came_from": group.came_from}.items()}
        return {name: array.copy() for name, array in arrays.items()}

    def restore(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Replace all games by those of a `snapshot`. Returns the movers' views, (E, F) float32.

        Args:
            arrays: those of `snapshot`, of the same shapes and dtypes.
        Raises:
            ValueError: a game is over, or impossible under its rules. Nothing has changed.
        """
        states = [self._checked_states(number, arrays[f"states.{number}"]) for number in range(len(self.groups))]
        self.reset()
        self.game_lengths[:], self.game_returns[:] = arrays["lengths"], arrays["returns"]
        for number, group in enumerate(self.groups):
            games = group.games
            rows(games.states)[:] = rows(states[number])
            games.seeds[:], games.episodes[:] = arrays[f"seeds.{number}"], arrays[f"episodes.{number}"]
            group.came_from[:] = arrays[f"came_from.{number}"]
        self._update_potentials()
        return self._observe()

    def _checked_states(self, number: int, data: np.ndarray) -> np.ndarray:
        """The states of a group, (size,) records, from their bytes. Raises ValueError unless they can be played."""
        group = self.groups[number]
        states = np.ascontiguousarray(data).view(group.games.states.dtype).reshape(-1)
        for lane, state in enumerate(states):
            try:
                check_invariants(state, group.game.rules, group.game.board)
            except ValueError as error:
                raise ValueError(f"states.{number}, game {lane}: {error}") from None
        if (states["current_player"] == NOBODY).any():
            raise ValueError(f"states.{number} holds games that are over")
        return np.asarray(states)

    def reset(self) -> np.ndarray:
        """Deal a new game in every environment. Returns the movers' views, (E, F) float32."""
        self.last_seats = np.zeros(self.num_envs, np.int64)
        self.last_seat_rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        self.last_dones = np.zeros(self.num_envs, bool)
        self.game_returns = np.zeros((self.num_envs, MAX_SEATS), np.float64)
        self.game_lengths = np.zeros(self.num_envs, np.int64)
        self.start_time = time.monotonic()
        for group in self.groups:
            group.deal(None if self._seeds is None else self._seeds[group.lanes])
        self._seeds = None
        self._update_potentials()
        return self._observe()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play `self.actions`.

        Returns:
            (E, F) float32 views of the players to move now, (E,) float32 rewards of those who just moved, (E,) bool
            where a game ended, and infos; all of them new objects.
        Raises:
            IllegalActionError: an action is not legal; nothing has changed.
        """
        start = time.perf_counter()
        movers = np.empty(self.num_envs, np.int64)
        rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        dones = np.empty(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for group in self.groups:  # all of them before the first one plays
            group.game.check_actions(group.games.states, self.actions[group.lanes])
        for group in self.groups:
            lanes = group.lanes
            movers[lanes], rewards[lanes, : group.num_seats], dones[lanes] = group.step(
                self.actions[lanes], self._blend, self.statistics
            )
        self.game_returns += rewards
        self.game_lengths += 1
        for group in self.groups:
            ended = np.flatnonzero(dones[group.lanes])
            if ended.size:
                self._finish(group, ended, infos)
        self.last_seats, self.last_seat_rewards, self.last_dones = movers, rewards, dones
        observations = self._observe()
        self.seconds += time.perf_counter() - start
        return observations, rewards[np.arange(self.num_envs), movers], dones.copy(), infos

    def action_masks(self) -> np.ndarray:
        """(E, A) bool: the legal actions of each game's player to move; a new array."""
        start = time.perf_counter()
        masks = np.empty((self.num_envs, self.num_actions), bool)
        for group in self.groups:
            group.game.legal_actions(group.games.states, out=masks[group.lanes])
        self.seconds += time.perf_counter() - start
        return masks

    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the current states as each seat sees them; zero beyond `num_seats`."""
        start = time.perf_counter()
        views = np.zeros((self.num_envs, MAX_SEATS, self.num_features), np.float32)
        for group in self.groups:
            views[group.lanes, : group.num_seats] = group.views()
        self.seconds += time.perf_counter() - start
        return views

    def take_statistics(self) -> PlayStatistics:
        """Statistics since the last call."""
        taken, self.statistics = self.statistics, PlayStatistics()
        return taken

    def _observe(self) -> np.ndarray:
        observations = np.empty((self.num_envs, self.num_features), np.float32)
        for group in self.groups:
            group.reader.read(group.games.states, out=observations[group.lanes])
        return observations

    def _finish(self, group: SeatGames, ended: np.ndarray, infos: list[dict[str, Any]]) -> None:
        """Count the group's games with the numbers `ended` and describe them in `infos`."""
        lanes = ended + group.lanes.start
        states = rows(group.games.finals)[ended].view(group.games.finals.dtype)
        results = group.game.results(states)
        self.statistics.games += len(lanes)
        self.statistics.decisions += int(self.game_lengths[lanes].sum())
        self.statistics.rupees += float(results["final"].mean(axis=1).sum())
        self.statistics.winning_rupees += float(results["final"].max(axis=1).sum())
        self.statistics.palaces_and_clients += float(results["empire"].mean(axis=1).sum())
        seconds = time.monotonic() - self.start_time
        last_views = group.reader.read(states)
        for lane, view in zip(lanes, last_views, strict=True):
            infos[lane]["terminal_observation"] = view
            infos[lane]["episode"] = {  # of seat 0: the seats' rewards sum to zero
                "r": float(self.game_returns[lane, 0]),
                "l": int(self.game_lengths[lane]),
                "t": seconds,
            }
        self.game_returns[lanes] = 0.0
        self.game_lengths[lanes] = 0
