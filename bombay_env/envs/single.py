"""The Gymnasium environment: one game, in which the learner plays one seat and built-in opponents play the others, or all seats.

It connects `LearnerGames`, with one lane, to `gymnasium.Env` and contains no rules of the game.

| event | what happens |
| --- | --- |
| reset | `reset(seed=s)` deals the game of seed s; `reset()` deals the next game of a stream keyed by the last seed given |
| illegal action, "random" | a random legal action, drawn by the game's seed, is played; counted in `illegal_actions` |
| illegal action, "raise" | `IllegalActionError`; nothing changes |
| illegal action of an opponent | `IllegalActionError` that names it; the environment must be reset |
| exception of an opponent | `AgentFault` that names it; the environment must be reset |
| end of the game | `terminated` and the learner's reward; all earlier rewards are zero; the mask is all zero; see below |
| reset to a record in which the learner has no decision left | the mask is all zero; the next step ignores its action and ends |
| truncation | never: a game has a fixed number of turns |
| step after the end | `ResetNeeded` |
| step or render before the first reset | `ResetNeeded` |

At the end of a game, and only then, the info also contains

| key | what it is |
| --- | --- |
| `final` | the learner's final rupees, int64 |
| `win_share` | its share of the win, float64: 1 for a win alone, 1/k for a win that k seats share, else 0 |
| `place` | its place by final rupees, then Client tokens, int64: 1 is the best; tied seats share the better place |
| `is_success` | whether it won, alone or with others: `win_share` > 0; Stable-Baselines3 reports the mean as the success rate |
| `seat_rewards` | with seat="all": the reward of every seat, (n,) float64 |

With seat="all" the learner plays every seat in its turn:

| what | whose it is |
| --- | --- |
| observation, mask and `seat` | of the seat to act; after the end, of the seat that acted last |
| reward of a step | of the seat that acted; zero until the end of the game, so that only the seat that acted last gets one |
| `seat_rewards` in the last info | of every seat |
| `final`, `win_share`, `place`, `is_success` | of the seat that acted last |

Be careful: a learner for a single agent, such as PPO of Stable-Baselines3, uses the value of the next observation as if it were
the value for the seat that acted. But the next observation often belongs to an opponent, and what is good for the opponent is
bad for the seat that acted. Such a learner runs without an error and hardly learns. Compute returns and advantages for each
seat from its own decisions, which `seat` identifies, and from its own entry of `seat_rewards`.
"""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import RenderCollection

from bombay_env import checks
from bombay_env.envs import common
from bombay_env.envs.common import GivenBoard, GivenRules
from bombay_env.envs.learner_games import RANDOM_OPPONENTS, LearnerGames, Opponents
from bombay_env.envs.one_game import whole_action
from bombay_env.envs.rendering import FPS, LIVE, RENDER_MODES, Rendered, Scene, Shown

COLLECTED_MODES = tuple(f"{mode}_list" for mode in RENDER_MODES if mode != LIVE)
LANE = np.zeros(1, np.int64)  # the index of the only lane


class BombaySingleEnv(Shown, gymnasium.Env[np.ndarray, int]):
    """Bombay for one learner and its opponents: `gymnasium.make("bombay_env:bombay/Bombay-v0", …)`.

    Observations are the learner's, (F,) float32. Infos contain `action_mask`, (A,) int8, and two NumPy int64 scalars:
    `illegal_actions`, the number of illegal actions of the learner in the current game, and `seat`, the learner's seat. The last
    info of a game also has its outcome; see this module's second table.

    Args:
        num_players, rules, board, observation_mode, reward, render_mode: as in `bombay_v0.raw_env`.
        opponents: the players of the other seats: a spec such as "greedy" or an agent, or a list of n − 1 of them for the seats
            that follow the learner's clockwise. If one is listed more than once, one agent plays all of its seats.
        seat: the learner's seat, from 0; "random": drawn from the seed of each game; or "all": the learner plays every seat in
            its turn, and `opponents` is not given (self-play; see this module's table).
        illegal_action: "random" or "raise"; see this module's table.

    Raises:
        ValueError: an argument has a value that is not allowed.
        DependencyNotInstalled: `render_mode` is "human", and pygame-ce is missing.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": FPS}  # type: ignore[misc]

    def __init__(
        self,
        num_players: int | None = None,
        rules: GivenRules = None,
        board: GivenBoard = None,
        opponents: Opponents = RANDOM_OPPONENTS,
        seat: int | str = "random",
        observation_mode: str = "perfect_recall",
        reward: str = "win",
        illegal_action: str = "random",
        render_mode: str | None = None,
    ) -> None:
        self._set_mode(render_mode)
        self.game = common.make_game(num_players, rules, board)
        self.observation_mode = observation_mode
        self._games = LearnerGames(
            self.game, 1, opponents, seat, observation_mode, reward, illegal_action, keep_history=True
        )
        self._ended_by_reset = False  # the opponents ended the game before the learner's first decision
        self.observation_space = common.feature_space(self.game)
        self.action_space = spaces.Discrete(self.game.num_actions)  # type: ignore[assignment] # NumPy integers

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a new game and let the opponents play until the learner's first turn.

        Args:
            seed: the seed of the deal, from 0 to 2**64 − 1; it also starts a new stream of episodes. None: the next seed of the
                current stream.
            options: `setup` or `record`, as in `bombay_v0.raw_env.reset`.

        Returns:
            The observation, (F,) float32, and the info.

        Raises:
            ValueError: the seed or an option is not valid. The running game is not affected.
        """
        self._games.keep_last(self._shows_last())
        self._games.deal(LANE, None if seed is None else [checks.seed(seed)], options)
        if seed is not None:
            super().reset(seed=int(seed))  # sets `np_random`, which this environment does not use
        self._games.advance()
        self._ended_by_reset = bool(self._games.over()[0])
        self._show()
        return self._games.observe()[0], self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, an integer, and then the opponents' actions up to the learner's next decision.

        Returns:
            The observation, (F,) float32, the reward, whether the game ended, False (only a wrapper truncates), and the info.

        Raises:
            IllegalActionError: the action is not a whole number, or see this module's table.
            ResetNeeded: no game is running.
        """
        number = whole_action(action)
        if not self._games.playable or (self._games.over()[0] and not self._ended_by_reset):
            raise ResetNeeded("no game is running: call reset first")
        if not self._ended_by_reset:
            self._games.keep_last(self._shows_last())
            self._games.act(np.array([number], np.int64))
            self._games.advance()
            self._show()
        self._ended_by_reset = False
        over = bool(self._games.over()[0])
        reward, info = 0.0, self._info()
        if over:
            rewards, outcomes = self._games.outcomes(LANE)
            reward = float(rewards[0])
            info |= {name: values[0] for name, values in outcomes.items()}
            # Not NumPy's bool, of which Gymnasium's `SyncVectorEnv` makes an array of objects.
            info["is_success"] = bool(info["is_success"])
        return self._games.observe()[0], reward, over, False, info

    def _info(self) -> dict[str, Any]:
        return {
            "action_mask": self._games.masks[0].astype(np.int8),
            "illegal_actions": self._games.illegal_actions[0],
            "seat": self._games.seats[0],
        }

    # --- observing ---

    def action_masks(self, env: Any = None) -> np.ndarray:
        """The learner's legal actions, (A,) bool, a new array; all False after the end.

        Args:
            env: ignored; sb3_contrib's `ActionMasker(env, "action_masks")` passes the environment.
        """
        return self._games.masks[0].copy()  # type: ignore[no-any-return]

    def render(self) -> Rendered:
        """The position as the render mode shows it: text, an SVG document or pixels; None if there is no mode or a window.

        Raises:
            ResetNeeded: the environment has not been reset yet.
        """
        return self._drawn()[0]

    def _scene(self) -> Scene:
        return self._games.scene()

    def close(self) -> None:
        """Close the window, if there is one, and end the opponents' programs."""
        self._close_window()
        self._games.close()

    @property
    def game_state(self) -> np.recarray[Any, Any]:
        """A copy of the game's (1,) state, including its seed."""
        return self._games.states.copy().view(np.recarray)

    def record(self) -> dict[str, Any]:
        """The record of the game so far, as RULES 8's object. Its agents are "learner" and the names of the opponents.

        Raises:
            ResetNeeded: the environment has not been reset yet.
        """
        if self._games.history is None:
            raise ResetNeeded("there is no game to record: call reset first")
        return self._games.history.record(self._games.states, self._games.names(0)).to_dict()


def make_single_env(**arguments: Any) -> gymnasium.Env[np.ndarray, int]:
    """A `BombaySingleEnv` with these arguments; `gymnasium.make` calls this function.

    Why not the class: Gymnasium reads the render modes from the `metadata` of a class, and warns about any other mode before
    the class can raise an error. A function has no `metadata`, so there is no warning. But then Gymnasium does not support the
    modes such as "rgb_array_list", which collect the drawings of all steps, so this function does.
    """
    mode = arguments.get("render_mode")
    if mode in COLLECTED_MODES:
        return RenderCollection(BombaySingleEnv(**arguments | {"render_mode": mode.removesuffix("_list")}))
    return BombaySingleEnv(**arguments)
