"""Many games of Bombay side by side as one Stable-Baselines3 `VecEnv`, every seat of every game the learner's.

In each step the player to move in each game acts, so one game's stream of decisions interleaves its seats; who moved and
what *each* seat was paid is kept in the fields that `SeatRolloutBuffer` reads. It holds no rules: legality, chance and
scoring are `Game`'s, the terminal reward is `bombay_env.rewards`'. Games are arrays of states, stepped together; there is
no environment object a game and no second process. `ppo.py` is the next to read.

    when             what happens
    illegal action   `IllegalActionError` from `Game.step`, nothing changes
    a game ends      its lane deals the next game in the same step: observation and mask are the new game's, `dones` is True,
                     the info holds `terminal_observation` (seat 0's view) and `episode`
    reset()          every lane deals; after `seed(s)` lane i gets seed s + i, else the next seed of its own stream
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from bombay_agents.prospects import prospects
from bombay_env.game import Game
from bombay_env.lanes import Lanes, lane_seeds
from bombay_env.rewards import check_reward, seat_rewards
from bombay_env.state import rows
from bombay_training.seat_buffer import MAX_SEATS

ObservationMode = Literal["perfect_recall", "screened"]


class SeatVecEnv(VecEnv):
    """The part of a seat-keeping `VecEnv` that is the same for every game: what Stable-Baselines3 asks by name.

    A game fills in `reset`, `step_wait` (which sets the `last` fields), `action_masks` and `seat_views`.
    """

    render_mode = None
    num_seats: np.ndarray  # (E,) seats at each table
    last_seats: np.ndarray  # (E,) who moved in the last step
    last_seat_rewards: np.ndarray  # (E, MAX_SEATS) float32, what it paid each seat
    last_dones: np.ndarray  # (E,) bool, where it ended the game
    actions: np.ndarray  # (E,) int64, for the step under way

    @abstractmethod
    def action_masks(self) -> np.ndarray:
        """(E, A) bool: what each game's player to move may do; a fresh array."""

    @abstractmethod
    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the present states as each seat sees them; anything beyond the table."""

    def step_async(self, actions: np.ndarray) -> None:
        """Note the actions (E,) that `step_wait` is to play."""
        self.actions = np.asarray(actions, np.int64)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """A row of `action_masks` for each lane of `indices`; there is no other method of single games."""
        if method_name != "action_masks":
            raise AttributeError(f"{type(self).__name__} has no method {method_name!r} for single games")
        masks = self.action_masks()
        return list(masks) if indices is None else [masks[lane] for lane in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, which all lanes share, once for each of them."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refused: lanes have no attributes of their own."""
        raise AttributeError(f"{type(self).__name__} has no attributes of single games to set")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for every lane."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing to free: the games are arrays."""


@dataclass
class Tally:
    """What the games that ended since it was last asked for came to."""

    games: int = 0
    decisions: int = 0  # in those games, from their first
    rupees: float = 0.0  # sum over games of the seats' mean final rupees
    winning_rupees: float = 0.0  # sum over games of the most final rupees
    palaces_and_clients: float = 0.0  # sum over games of the seats' mean empire

    def as_means(self) -> dict[str, float]:
        """Figures a game; empty while none has ended."""
        if not self.games:
            return {}
        return {
            "game_decisions": self.decisions / self.games,
            "final_rupees": self.rupees / self.games,
            "winning_rupees": self.winning_rupees / self.games,
            "empire": self.palaces_and_clients / self.games,
        }


class Tables:
    """Neighbouring lanes that play one `Game`, and what each seat's prospects were last taken to be."""

    def __init__(self, game: Game, lanes: slice, reward: str, shaping_weight: float, screened: bool) -> None:
        self.game = game
        self.lanes = lanes
        self.reward = reward
        self.shaping_weight = shaping_weight
        self.screened = screened
        self.size = lanes.stop - lanes.start
        self.num_seats = game.rules.num_players
        self.games = Lanes(game, self.size)
        self.prospects = np.zeros((self.size, self.num_seats), np.float32)

    def deal(self, seeds: np.ndarray | None) -> None:
        """Start a new game at each table, by `seeds` (size,) or as the next of its stream."""
        self.games.reset(seeds)
        if self.shaping_weight:
            self.prospects = prospects(self.game, self.games.states)

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play one decision at every table; where it ends a game the next one is dealt.

        Returns:
            movers (size,) seats, rewards (size, num_seats) float32 of that step, ended (size,) bool.
        """
        games = self.games
        movers = self.game.current_player(games.states)
        games.step(actions)
        ended = np.flatnonzero(games.ended)
        rewards = np.zeros((self.size, self.num_seats), np.float32)
        finals = rows(games.finals)[ended].view(games.finals.dtype)
        if ended.size:
            rewards[ended] = seat_rewards(self.game.results(finals), self.reward)
        if self.shaping_weight:
            after = prospects(self.game, games.states)
            heading_for = after.copy()
            if ended.size:
                heading_for[ended] = prospects(self.game, finals)
            rewards += self.shaping_weight * (heading_for - self.prospects)
            self.prospects = after
        return movers, rewards, games.ended

    def observe(self, out: np.ndarray) -> None:
        """Write every mover's view into `out`, (size, F) float32."""
        self.game.observe(self.games.states, screened=self.screened, out=out)

    def views(self) -> np.ndarray:
        """(size, num_seats, F) float32: the states as each seat sees them."""
        seats = [np.full(self.size, seat) for seat in range(self.num_seats)]
        return np.stack([self.game.observe(self.games.states, seats=s, screened=self.screened) for s in seats], axis=1)


class BombayVecEnv(SeatVecEnv):
    """Self-play lanes over one or more `Game`s.

    Args:
        games: one for each kind of table, such as one for each number of players; their features and actions must agree.
        num_envs: lanes in all, divided among the games as evenly as can be, the first games getting one more.
        seed: of the first deals; see `reset` in the module's table.
        reward: terminal reward of each seat, zero-sum over the table (`bombay_env.rewards`).
        shaping_weight: each step also pays every seat this much times the change of its `prospects`. Over a
            game that sums to the weight times the final margin, less what the seat was dealt.
        observation_mode: what a seat sees of the others' holdings.
    Raises:
        ValueError: no games, fewer lanes than games, or games that one net cannot serve.
    """

    def __init__(
        self,
        games: Sequence[Game],
        num_envs: int,
        seed: int,
        reward: str = "win",
        shaping_weight: float = 0.0,
        observation_mode: ObservationMode = "perfect_recall",
    ) -> None:
        if not 1 <= len(games) <= num_envs:
            raise ValueError(f"{num_envs} lanes cannot be shared by {len(games)} games: give at least one lane a game")
        check_reward(reward)
        first = games[0]
        for game in games[1:]:
            for what in ("num_features", "num_actions"):
                if getattr(game, what) != getattr(first, what):
                    raise ValueError(
                        f"one net cannot serve games with {what} {getattr(first, what)} and {getattr(game, what)}"
                    )
        bounds = [num_envs * i // len(games) for i in range(len(games) + 1)]
        self.tables = [
            Tables(game, slice(low, high), reward, shaping_weight, observation_mode == "screened")
            for game, low, high in zip(games, bounds, bounds[1:], strict=False)
        ]
        self.num_features, self.num_actions = first.num_features, first.num_actions
        self.num_seats = np.concatenate([np.full(group.size, group.num_seats) for group in self.tables])
        super().__init__(
            num_envs,
            spaces.Box(first.feature_layout.low, first.feature_layout.high, dtype=np.float32),
            spaces.Discrete(self.num_actions),
        )
        self.tally = Tally()
        self.seed(seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Make the next reset deal from seed + i in lane i; a random seed if None."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._seeds: np.ndarray | None = lane_seeds(seed, self.num_envs)  # for the next reset
        return self._seeds.tolist()  # type: ignore[no-any-return]

    def reset(self) -> np.ndarray:
        """Deal a new game in every lane; (E, F) float32 movers' views."""
        self.last_seats = np.zeros(self.num_envs, np.int64)
        self.last_seat_rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        self.last_dones = np.zeros(self.num_envs, bool)
        self.game_returns = np.zeros((self.num_envs, MAX_SEATS), np.float64)
        self.game_lengths = np.zeros(self.num_envs, np.int64)
        self.start_time = time.monotonic()
        for group in self.tables:
            group.deal(None if self._seeds is None else self._seeds[group.lanes])
        self._seeds = None
        return self._observe()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play `self.actions`.

        Returns:
            (E, F) float32 views of the players to move now, (E,) float32 rewards of those who just moved, (E,) bool
            where a game ended, and infos; all of them fresh objects.
        """
        movers = np.empty(self.num_envs, np.int64)
        rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        dones = np.empty(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for group in self.tables:
            lanes = group.lanes
            movers[lanes], rewards[lanes, : group.num_seats], dones[lanes] = group.step(self.actions[lanes])
        self.game_returns += rewards
        self.game_lengths += 1
        for group in self.tables:
            ended = np.flatnonzero(dones[group.lanes])
            if ended.size:
                self._finish(group, ended, infos)
        self.last_seats, self.last_seat_rewards, self.last_dones = movers, rewards, dones
        return self._observe(), rewards[np.arange(self.num_envs), movers], dones.copy(), infos

    def action_masks(self) -> np.ndarray:
        """(E, A) bool: what each game's player to move may do; a fresh array."""
        masks = np.empty((self.num_envs, self.num_actions), bool)
        for group in self.tables:
            group.game.legal_actions(group.games.states, out=masks[group.lanes])
        return masks

    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the present states as each seat sees them; zero beyond the table."""
        views = np.zeros((self.num_envs, MAX_SEATS, self.num_features), np.float32)
        for group in self.tables:
            views[group.lanes, : group.num_seats] = group.views()
        return views

    def warm_up(self) -> None:
        """Have everything that a rollout calls compiled, on games that are thrown away: later steps are all alike."""
        for group in self.tables:
            games = Lanes(group.game, group.size)
            games.step(group.game.legal_actions(games.states).argmax(axis=1))
            group.game.observe(games.states)
            group.game.provisional_results(games.states)

    def take_tally(self) -> Tally:
        """What the games that ended since the last call came to."""
        taken, self.tally = self.tally, Tally()
        return taken

    def _observe(self) -> np.ndarray:
        observations = np.empty((self.num_envs, self.num_features), np.float32)
        for group in self.tables:
            group.observe(observations[group.lanes])
        return observations

    def _finish(self, group: Tables, tables: np.ndarray, infos: list[dict[str, Any]]) -> None:
        """Book the games that ended at `tables` and describe them in `infos`."""
        lanes = tables + group.lanes.start
        states = rows(group.games.finals)[tables].view(group.games.finals.dtype)
        results = group.game.results(states)
        self.tally.games += len(lanes)
        self.tally.decisions += int(self.game_lengths[lanes].sum())
        self.tally.rupees += float(results["final"].mean(axis=1).sum())
        self.tally.winning_rupees += float(results["final"].max(axis=1).sum())
        self.tally.palaces_and_clients += float(results["empire"].mean(axis=1).sum())
        seconds = time.monotonic() - self.start_time
        last_views = group.game.observe(states, screened=group.screened)
        for lane, view in zip(lanes, last_views, strict=True):
            infos[lane]["terminal_observation"] = view
            infos[lane]["episode"] = {  # of seat 0, since the seats' rewards sum to zero
                "r": float(self.game_returns[lane, 0]),
                "l": int(self.game_lengths[lane]),
                "t": seconds,
            }
        self.game_returns[lanes] = 0.0
        self.game_lengths[lanes] = 0
