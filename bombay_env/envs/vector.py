"""The Gymnasium vector environment: many games, in which the learner plays one seat and built-in opponents play the others.

It connects `LearnerGames` to `gymnasium.vector.VectorEnv` and contains no rules of the game.

| event | what happens |
| --- | --- |
| reset | lane i is dealt from seed s + i, or from `seed[i]`; without a seed each lane gets the next game of its own stream |
| reset with `reset_mask` | only the marked lanes are reset; the others do not change |
| illegal action, "raise" | `IllegalActionError` with `.lanes`; no lane changes |
| failure of an opponent | as in `single.py`; all lanes must be reset |
| truncation | only by `max_episode_steps`, which counts the learner's actions in a game; reward 0, and the mask is not zero |
| after an end, `NEXT_STEP` | the next step ignores the lane's action and deals a new game: reward 0, not terminated |
| … `SAME_STEP` | the same step deals a new game; infos have the old game's `final_obs` and `final_info` |
| … `DISABLED` | `ResetNeeded` until `reset` with a `reset_mask` that marks the lane |
| all else | as in `single.py` |

In a step that ends games, infos also contain the outcome of these games, as in `single.py`: arrays (num_envs,), and
`seat_rewards`, (num_envs, n). As always in Gymnasium, `_final` and so on mark the lanes that have a value, and other lanes have
zeros. In the mode `SAME_STEP` they are in `final_info` instead.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import VectorEnv
from gymnasium.vector.utils import batch_space

from bombay_env import checks
from bombay_env.envs import common
from bombay_env.envs.autoreset_games import lane_seeds
from bombay_env.envs.common import GivenBoard, GivenRules
from bombay_env.envs.learner_games import RANDOM_OPPONENTS, LearnerGames, Opponents
from bombay_env.envs.rendering import FPS, LIVE, RENDER_MODES, Rendered, Scene, Shown

try:
    from gymnasium.vector import AutoresetMode
except ImportError:
    raise ImportError(
        "the vector environment needs Gymnasium 1.1; with 1.0, give make_vec vectorization_mode='sync'"
    ) from None


class BombayVectorEnv(Shown, VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Bombay for one learner and its opponents, `num_envs` games at once: `gymnasium.make_vec("bombay_env:bombay/Bombay-v0", …)`.

    Observations are the learner's, (num_envs, F) float32. Infos contain for every lane: `action_mask`, (num_envs, A) int8;
    `illegal_actions` and `seat`, (num_envs,) int64, as in `BombaySingleEnv`.

    Args:
        num_envs: the number of lanes, that is, of games at once.
        num_players, rules, board, opponents, seat, observation_mode, reward, illegal_action: as in `BombaySingleEnv`. Our agents
            decide in each lane independently of the others, so that lane 0 plays the game of the single environment with the same
            seed; `bombay_env.lane_keys` shows how an agent of yours can.
        autoreset_mode: an `AutoresetMode`, or its name or value as a string, such as "same_step" or "SameStep"; see this module's
            table.
        copy: if False, `reset` and `step` return the environment's own array of observations, which the next step overwrites.
        render_mode: as in `bombay_v0.raw_env`, for each lane; "human" is one window for all lanes, at most 16 of them.
        max_episode_steps: truncate games after so many of the learner's actions, like Gymnasium's `TimeLimit`; None, −1: never.
        disable_env_checker: None or True: `gymnasium.make` takes it, too, but Gymnasium has no checker for vector environments.

    Raises:
        ValueError: an argument has a value that is not allowed.
        DependencyNotInstalled: `render_mode` is "human", and pygame-ce is missing.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as in Gymnasium; each instance has its own, with its autoreset mode
        "render_modes": list(RENDER_MODES),
        "render_fps": FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        num_players: int | None = None,
        rules: GivenRules = None,
        board: GivenBoard = None,
        opponents: Opponents = RANDOM_OPPONENTS,
        seat: int | str = "random",
        observation_mode: str = "perfect_recall",
        reward: str = "win",
        illegal_action: str = "random",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        disable_env_checker: bool | None = None,
    ) -> None:
        num_envs = checks.whole_number(num_envs, "num_envs", 1)
        self._set_mode(render_mode)
        checks.one_of(copy, "copy", (True, False))
        checks.one_of(disable_env_checker, "disable_env_checker", (None, True))
        self._limit = (
            checks.MAX_COUNT
            if max_episode_steps in (None, -1)
            else checks.whole_number(max_episode_steps, "max_episode_steps", 1)
        )
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.game = common.make_game(num_players, rules, board)
        self.num_envs = num_envs
        self.copy = copy
        self._games = LearnerGames(self.game, self.num_envs, opponents, seat, observation_mode, reward, illegal_action)
        self.single_observation_space = common.feature_space(self.game)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, np.bool_)  # lanes that must deal their next game
        self._all = np.arange(self.num_envs)
        self._observations = np.zeros((self.num_envs, self.game.num_features), np.float32)

    # --- playing ---

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a new game in every lane, or in the lanes of `reset_mask`; let the opponents play until the learner's first turn.

        Args:
            seed: s from 0 to 2**64 − 1, which deals lane i from s + i, so that seeds of different environments must differ by at
                least `num_envs`; or a list with one seed for each lane. None, for one lane or for all: the next seed of the
                lane's stream.
            options: `reset_mask`, (num_envs,) bool, marks the lanes to reset; seeds of other lanes are ignored. `setup` or
                `record`, as in `bombay_v0.raw_env.reset`, apply to all of these lanes, and not to games that are dealt later.

        Returns:
            Observations (num_envs, F) float32 and infos of all lanes.

        Raises:
            ValueError: an argument is not valid. The running games are not affected.
            ResetNeeded: `reset_mask` does not mark all lanes in the first reset, or in the first after an opponent failed.
        """
        mask = options.get("reset_mask") if isinstance(options, Mapping) else None
        lanes = self._all if mask is None else self._marked(mask)
        if not self._games.playable and len(lanes) < self.num_envs:
            raise ResetNeeded(
                "reset all lanes, without a reset_mask: this is the first reset, or an opponent has failed"
            )
        seeds = self._lane_seeds(seed)
        self._games.keep_last(self._shows_last())
        self._games.deal(lanes, None if seeds is None else [seeds[lane] for lane in lanes], options)
        if seeds is not None and seeds[0] is not None:
            super().reset(seed=seeds[0])  # sets `np_random`, which this environment does not use
        self._ended[lanes] = False
        self._games.advance()
        self._show()
        return self._seen(), self._infos()

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Play the learner's actions, and then the opponents' actions up to the learner's next decision.

        Args:
            actions: (num_envs,) integers.

        Returns:
            Observations (num_envs, F) float32, rewards (num_envs,) float64, terminations and truncations (num_envs,) bool, infos.

        Raises:
            ValueError: `actions` has the wrong shape or dtype. Nothing has changed.
            IllegalActionError: see this module's table.
            ResetNeeded: the environment has not been reset, or a lane's game is over and the autoreset mode is `DISABLED`.
        """
        chosen = checks.actions(actions, self.num_envs)
        self._check_playable()
        games, due = self._games, np.flatnonzero(self._ended)
        games.keep_last(self._shows_last())
        if due.size:  # their actions are ignored; a truncated game still runs, so it takes any legal one
            chosen = chosen.copy()
            chosen[due] = games.masks[due].argmax(axis=1)
        games.act(chosen)
        if due.size:
            games.deal(due)
        games.advance()
        over, truncated = games.over(), games.decisions >= self._limit
        ended, lanes = over | truncated, np.flatnonzero(over)
        rewards, ends = np.zeros(self.num_envs, np.float64), {}
        if lanes.size:
            rewards[lanes], outcomes = games.outcomes(lanes)
            ends = self._spread(over, lanes, outcomes)
        if ended.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            lanes = np.flatnonzero(ended)
            ends = self._final(ended, lanes, ends)
            games.deal(lanes)
            games.advance()
        else:
            self._ended = ended
        self._show()
        return self._seen(), rewards, over, truncated, ends | self._infos()

    def _check_playable(self) -> None:
        if not self._games.playable:
            raise ResetNeeded("no games are running in this environment: call reset first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            lanes = ", ".join(map(str, np.flatnonzero(self._ended)))
            raise ResetNeeded(f"games are over; call reset with a reset_mask that marks lanes {checks.one_line(lanes)}")

    def _spread(self, ended: np.ndarray, lanes: np.ndarray, outcomes: dict[str, np.ndarray]) -> dict[str, Any]:
        """The outcomes of games that are over, in the form of Gymnasium's `SyncVectorEnv`."""
        infos: dict[str, Any] = {}
        for name, values in outcomes.items():
            infos[name] = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
            infos[name][lanes] = values
            infos["_" + name] = ended.copy()
        return infos

    def _final(self, ended: np.ndarray, lanes: np.ndarray, outcomes: dict[str, Any]) -> dict[str, Any]:
        """The last observations and infos of games that have ended, in the form of Gymnasium's `SyncVectorEnv`."""
        views = np.full(self.num_envs, None, object)
        for lane, view in zip(lanes, self._games.views(lanes), strict=True):
            views[lane] = view
        infos = self._infos()
        info = {
            key: ended.copy() if key.startswith("_") else np.where(_column(ended, value), value, value.dtype.type(0))
            for key, value in infos.items()
        } | outcomes
        return {"final_obs": views, "_final_obs": ended.copy(), "final_info": info, "_final_info": ended.copy()}

    # --- observing ---

    def _seen(self) -> np.ndarray:
        return self._games.observe(out=np.empty_like(self._observations) if self.copy else self._observations)

    def _infos(self) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        present = np.ones(self.num_envs, np.bool_)
        values: dict[str, np.ndarray] = {
            "action_mask": self._games.masks.view(np.int8),
            "illegal_actions": self._games.illegal_actions,
            "seat": self._games.seats,
        }
        for name, value in values.items():
            infos[name] = value.copy()
            infos["_" + name] = present.copy()
        return infos

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions in each lane, (num_envs, A) bool; all False after the end of the game."""
        return self._games.masks.copy()

    def render(self) -> tuple[Rendered, ...] | None:  # type: ignore[override] # Gymnasium names only the types of its own modes
        """The position of each lane as the render mode shows it: text, an SVG document or pixels.

        None if there is no render mode or a window.

        Raises:
            ResetNeeded: the environment has not been reset yet.
        """
        drawn = self._drawn()
        return None if self.render_mode in (None, LIVE) else tuple(drawn)

    def _scene(self) -> Scene:
        return self._games.scene()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window, if there is one, and end the opponents' programs; `close` calls it."""
        self._close_window()
        self._games.close()

    @property
    def game_states(self) -> np.recarray[Any, Any]:
        """A copy of the games' (num_envs,) states, including their seeds."""
        return self._games.states.copy().view(np.recarray)

    # --- access to lanes, like that of `SyncVectorEnv` to its environments ---

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method, or get an attribute, of every lane, like `SyncVectorEnv.call`.

        Args:
            name: `action_masks`, `game_state` or `render`, which differ between lanes; or `game`, `observation_space`,
                `action_space`, `metadata`, `render_mode` or `spec`, which all lanes share.
            args, kwargs: must be empty; these methods take no arguments.

        Returns:
            A tuple with one value for each lane.

        Raises:
            AttributeError: lanes have no attribute of this name.
            TypeError: there are arguments.
        """
        if args or kwargs:
            raise TypeError(f"{checks.one_line(str(name))} of a lane takes no arguments")
        if name == "action_masks":
            return tuple(self._games.masks.copy())
        if name == "game_state":
            return tuple(np.split(self.game_states, self.num_envs))
        if name == "render":
            return self.render() or (None,) * self.num_envs
        shared = {
            "game": self.game,
            "observation_space": self.single_observation_space,
            "action_space": self.single_action_space,
            "metadata": self.metadata,
            "render_mode": self.render_mode,
            "spec": self.spec,
        }
        if name not in shared:
            names = ", ".join(("action_masks", "game_state", "render", *shared))
            raise AttributeError(f"lanes have no attribute {checks.shown(name)}; they have {names}")
        return (shared[name],) * self.num_envs

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Get an attribute of every lane; see `call`."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set `render_mode`, the only attribute of lanes that can be set, to one mode, or to a list with it for each lane.

        Raises:
            AttributeError: `name` is not "render_mode".
            ValueError: the mode does not exist, or the modes of the lanes differ.
            DependencyNotInstalled: the mode is "human", and pygame-ce is missing.
        """
        if name != "render_mode":
            raise AttributeError(f"attribute {checks.shown(name)} of lanes cannot be set; only render_mode can be set")
        modes = list(values) if checks.is_list(values) else [values] * self.num_envs
        if not modes or modes != modes[:1] * self.num_envs:
            allowed = f"one mode, or a list with the same mode for each of {self.num_envs} lanes"
            raise ValueError(f"render_mode is {checks.shown(values)}; it must be {allowed}")
        self._set_mode(modes[0])

    # --- checks ---

    def _marked(self, mask: Any) -> np.ndarray:
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            found = checks.form(mask) if isinstance(mask, np.ndarray) else type(mask).__name__
            raise ValueError(f"reset_mask must be a NumPy array of bool of shape ({self.num_envs},), not {found}")
        if not mask.any():
            raise ValueError("reset_mask is all False; it must mark at least one lane")
        return np.flatnonzero(mask)

    def _lane_seeds(self, seed: Any) -> list[int | None] | None:
        """One seed for each lane, as far as they are given."""
        if seed is None:
            return None
        if not checks.is_list(seed):
            return lane_seeds(checks.seed(seed), self.num_envs).tolist()  # type: ignore[no-any-return]
        if len(seed) != self.num_envs:
            raise ValueError(
                f"seed has {len(seed)} entries for {self.num_envs} lanes; give one number, or one for each lane"
            )
        return [None if one is None else checks.seed(one) for one in seed]


def _autoreset_mode(mode: Any) -> AutoresetMode:
    """The mode with this name or value; case and all characters other than letters are ignored."""
    if isinstance(mode, AutoresetMode):
        return mode
    if isinstance(mode, str):
        letters = "".join(filter(str.isalpha, mode)).lower()
        for known in AutoresetMode:
            if letters == known.value.lower():
                return known
    allowed = ", ".join(known.value for known in AutoresetMode)
    raise ValueError(f"autoreset_mode is {checks.shown(mode)}; it must be one of {allowed}")


def _column(flags: np.ndarray, like: np.ndarray) -> np.ndarray:
    return flags.reshape(-1, *[1] * (like.ndim - 1))
