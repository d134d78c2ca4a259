"""Many games of Bombay in parallel as one Stable-Baselines3 `VecEnv` for self-play: the learner plays every seat.

In each step the player to move in each game acts, so the decisions of its seats interleave. `SeatRolloutBuffer` reads who moved,
and what *each* seat was paid, from the fields that its `SeatSource` names. The games are arrays of states: there are no single
environments and no other processes. E is the number of environments, F that of features, A that of actions.

    when             what happens
    illegal action   `IllegalActionError` from `Game.check_actions`, nothing changes
    a game ends      the next game is dealt in the same step: observation and mask are the new game's, `dones` is True, the info
                     holds `terminal_observation` (seat 0's view) and `final_rupees` (n,)
    reset()          every environment deals: the first game of its stream after `seed`, else the next one

Rewards are the result at the end of a game and, on the way there, the margin if the game ended now. That margin is a potential:
without a discount it changes when a decision is paid for, and not which decisions are best (Ng, Harada and Russell, "Policy
Invariance Under Reward Transformations", 1999).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from bombay_env import chance, checks, streams
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.game import Game
from bombay_env.rewards import seat_rewards
from bombay_training.learners.ppo.seat_buffer import MAX_SEATS


class BombayVecEnv(VecEnv):
    """Self-play environments over one or more variants.

    Args:
        games: such as one for each player count; on one board, since one net serves them all.
        num_envs: number of environments, divided as evenly as possible among the games.
        seed: of the first deals; see `reset` in the module's table.
        blend: weight of the win, as opposed to the margin, in a game's reward (`rewards.py`); may be set between steps.
        shaping_weight: this part of the reward is paid as each seat's margin changes, the rest at the end. Over a game the sum is
            the same, less this part of the seat's margin at the deal.
        observation_mode: "perfect_recall", or "screened", which hides opponents' rupees and tokens (RULES 6).
    Raises:
        ValueError: no games, or fewer environments than games.
    """

    render_mode = None

    def __init__(
        self,
        games: Sequence[Game],
        num_envs: int,
        seed: int,
        blend: float = 1.0,
        shaping_weight: float = 0.0,
        observation_mode: str = "perfect_recall",
    ) -> None:
        if not 1 <= len(games) <= num_envs:
            raise ValueError(f"num_envs is {num_envs}; it must be at least 1 for each of the {len(games)} games")
        bounds = [num_envs * i // len(games) for i in range(len(games) + 1)]
        self.groups = [  # which environments play a game, and their states
            (slice(low, high), AutoresetGames(game, high - low))
            for game, low, high in zip(games, bounds, bounds[1:], strict=False)
        ]
        self.num_seats = np.repeat([game.num_players for game in games], np.diff(bounds))
        self.blend, self.shaping_weight, self.screened = blend, shaping_weight, observation_mode == "screened"
        layout = games[0].feature_layout
        self.num_features, self.num_actions = games[0].num_features, games[0].num_actions
        box = spaces.Box(layout.low, layout.high, dtype=np.float32)
        super().__init__(num_envs, box, spaces.Discrete(self.num_actions))
        self.seed(seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Let the next reset begin a stream of games in each environment, all keyed by the seed; by a random one if None.

        Seeds share no games. With seed + i for environment i, as in Gymnasium, two runs would play nearly the same ones.
        """
        key = np.random.SeedSequence().generate_state(1, np.uint64)[0] if seed is None else checks.seed(seed)
        lanes = np.arange(self.num_envs, dtype=np.uint64)
        self.next_seeds: np.ndarray | None = chance.lane_words(np.full_like(lanes, key), streams.LANES, lanes)
        return self.next_seeds.tolist()

    def reset(self) -> np.ndarray:
        """Deal a new game in every environment. Returns the movers' views, (E, F) float32."""
        for lanes, games in self.groups:
            games.reset(None if self.next_seeds is None else self.next_seeds[lanes])
        self.next_seeds = None
        return self.refresh()

    def step_async(self, actions: np.ndarray) -> None:
        """Store the actions (E,) for `step_wait`. Raises ValueError unless they are integers, one for each environment."""
        self.actions = checks.actions(actions, self.num_envs)

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play `self.actions`.

        Returns:
            (E, F) float32 views of the players to move now, (E,) float32 rewards of those who just moved, (E,) bool
            where a game ended, and infos; all of them new objects.
        Raises:
            IllegalActionError: an action is not legal; nothing has changed.
        """
        movers, dones = np.empty(self.num_envs, np.int64), np.empty(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        paid = np.zeros((self.num_envs, MAX_SEATS), np.float32)  # at the end of games
        for lanes, games in self.groups:  # all of them before the first one plays
            games.game.check_actions(games.states, self.actions[lanes])
        for lanes, games in self.groups:
            game = games.game
            movers[lanes] = game.current_player(games.states)
            games.step(self.actions[lanes])
            dones[lanes] = games.ended
            ended, finals = np.flatnonzero(games.ended) + lanes.start, games.finals[games.ended]
            results, views = game.results(finals), game.observe(finals, screened=self.screened)
            win, margin = (seat_rewards(results, kind) for kind in ("win", "margin"))
            paid[ended, : game.num_players] = (1 - self.blend) * margin + self.blend * win
            for lane, view, rupees in zip(ended, views, results["final"], strict=True):
                infos[lane] = {"terminal_observation": view, "final_rupees": rupees}
        before = self.margins
        observations = self.refresh()
        reached = np.where(dones[:, None], paid, self.margins)
        rewards = (1 - self.shaping_weight) * paid + self.shaping_weight * (reached - before)
        self.last_seats, self.last_seat_rewards, self.last_dones = movers, rewards, dones
        return observations, rewards[np.arange(self.num_envs), movers], dones.copy(), infos

    def refresh(self) -> np.ndarray:
        """Set `margins`, rewards of all seats if the games ended now. Returns the movers' views, (E, F) float32, a new array."""
        observations = np.empty((self.num_envs, self.num_features), np.float32)
        self.margins = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        for lanes, games in self.groups:
            game = games.game
            game.observe(games.states, screened=self.screened, out=observations[lanes])
            results = game.provisional_results(games.states)
            self.margins[lanes, : game.num_players] = seat_rewards(results, "margin")
        return observations

    def action_masks(self) -> np.ndarray:
        """(E, A) bool: the legal actions of each game's player to move; a new array."""
        masks = np.empty((self.num_envs, self.num_actions), bool)
        for lanes, games in self.groups:
            games.game.legal_actions(games.states, out=masks[lanes])
        return masks

    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the current states as each seat sees them; zero beyond `num_seats`."""
        views = np.zeros((self.num_envs, MAX_SEATS, self.num_features), np.float32)
        for lanes, games in self.groups:
            for seat in range(games.game.num_players):
                views[lanes, seat] = games.game.observe(games.states, seat, self.screened)
        return views

    def tensors(self) -> dict[str, np.ndarray]:
        """The arrays that make up the games in progress, by name; views of their memory. Call `refresh` after writing to them."""
        tensors: dict[str, np.ndarray] = {}
        for number, (_, games) in enumerate(self.groups):
            tensors[f"games.states.{number}"] = np.asarray(games.states).view(np.uint8).reshape(len(games), -1)
            tensors |= {f"games.seeds.{number}": games.seeds, f"games.episodes.{number}": games.episodes}
        return tensors

    # What else a `VecEnv` has

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """Only `action_masks`: its row for each environment of `indices`. Raises AttributeError for any other method."""
        if method_name != "action_masks":
            raise AttributeError(f"single environments have no method {method_name!r}")
        masks = self.action_masks()
        return [masks[lane] for lane in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, which all environments share, once for each of them."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Raise AttributeError: single environments have no attributes of their own."""
        raise AttributeError("single environments have no attributes of their own")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for every environment."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Do nothing: the games are arrays."""
