"""The Gymnasium environment: one game, one learner's seat, the opponents played inside.

It translates between `LearnerGames`, here with one lane, and `gymnasium.Env`, and holds no rule of the game.

| event | what happens |
| --- | --- |
| reset | `reset(seed=s)` deals the game of seed s; `reset()` the next of a stream keyed by the last seed given |
| illegal action, "end_turn" | plays `end_turn`, or the lowest legal action where that is illegal; counted in `illegal_actions` |
| illegal action, "raise" | `IllegalActionError`, nothing changes |
| illegal action of an opponent | `IllegalActionError` that names it; the environment must be reset |
| exception of an opponent | `AgentFault` that names it; the environment must be reset |
| end of the game | `terminated`, and the learner's reward; all rewards before it are zero; the mask is all zero |
| truncation | never: a game has a fixed number of turns |
| step after the end | `ResetNeeded` |
| step or render before the first reset | `ResetNeeded` |
"""

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import RenderCollection

from bombay_env.board import Board
from bombay_env.envs import common
from bombay_env.envs.common import DEFAULT_PLAYERS, RENDER_MODES
from bombay_env.envs.one_game import whole_action
from bombay_env.envs.opponents import LearnerGames, Opponents
from bombay_env.rules import Rules

LANE = np.zeros(1, np.int64)  # the only one


class BombaySingleEnv(gymnasium.Env[np.ndarray, int]):
    """Bombay for one learner and its opponents: `gymnasium.make("bombay/Bombay-v0", …)`.

    Observations are (F,) float32, the learner's view. Infos hold `action_mask` (A,) int8 and two NumPy int64 scalars:
    `illegal_actions`, how many the learner has tried in the present game, and `seat`, the learner's.

    Args:
        num_players: 2 to 5. Where `rules` are given, theirs holds.
        rules: the variant; the official rules unless given.
        board: the map; the packaged board unless given.
        opponents: who plays the other seats: an agent's spec such as "greedy", an agent, or a list of n − 1 of them, of the
            seats that follow the learner's clockwise.
        seat: the learner's, from 0, or "random": drawn from the seed of each game.
        observation_mode: "perfect_recall", or "screened": opponents' rupees and tokens stay hidden (RULES 6).
        reward: "win", "rank" or "margin", paid at the end; see `bombay_env.rewards`.
        illegal_action: "end_turn" or "raise", as in this module's table.
        render_mode: None, or what `render()` returns: "ansi" the position as text, "svg" a picture.

    Raises:
        ValueError: an argument is none of those.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # type: ignore[misc]

    def __init__(
        self,
        num_players: int = DEFAULT_PLAYERS,
        rules: Rules | None = None,
        board: Board | None = None,
        opponents: Opponents = "random",
        seat: int | str = "random",
        observation_mode: str = "perfect_recall",
        reward: str = "win",
        illegal_action: str = "end_turn",
        render_mode: str | None = None,
    ) -> None:
        common.check_render_mode(render_mode)
        self.game = common.make_game(num_players, rules, board)
        self.render_mode = render_mode
        self._games = LearnerGames(
            self.game, 1, opponents, seat, observation_mode, reward, illegal_action, keep_history=True
        )
        self.observation_space = common.feature_space(self.game)
        self.action_space = spaces.Discrete(self.game.num_actions)  # type: ignore[assignment] # its numbers are NumPy's

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Deal a new game and play on to the learner's first turn.

        Args:
            seed: what deals it, from 0 to 2**64 − 1, and starts a new stream of episodes.
            options: `setup` gives the deal (RULES 8), `record` a game to continue from. Other keys are ignored.

        Raises:
            ValueError: the seed or an option cannot be; the running game goes on.
        """
        self._games.deal(LANE, None if seed is None else [seed], options)
        if seed is not None:
            super().reset(seed=int(seed))  # `np_random`, which nothing here draws from
        self._games.advance()
        return self._games.observe()[0], self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Play the learner's action, an integer, and what the opponents answer.

        Raises:
            IllegalActionError: as in this module's table, or the action is no whole number at all; nothing has changed.
            ResetNeeded: no game is running.
        """
        number = whole_action(action)
        if not self._games.playable or self._games.over()[0]:
            raise ResetNeeded("no game is running: call reset first")
        self._games.act(np.array([number]))
        self._games.advance()
        over = bool(self._games.over()[0])
        reward = float(self._games.rewards(LANE)[0]) if over else 0.0
        return self._games.observe()[0], reward, over, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {
            "action_mask": self._games.masks[0].astype(np.int8),
            "illegal_actions": self._games.illegal_actions[0],
            "seat": self._games.seats[0],
        }

    # --- seeing ---

    def action_masks(self, env: Any = None) -> np.ndarray:
        """What the learner may do now, (A,) bool, a fresh array; all False once the game is over.

        Args:
            env: ignored. sb3_contrib's `ActionMasker(env, "action_masks")` passes the environment to its own method.
        """
        return self._games.masks[0].copy()  # type: ignore[no-any-return]

    def render(self) -> str | None:
        """The position as text or as an SVG document, by render mode; None without one.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        if not self._games.dealt:
            raise ResetNeeded("there is no game to render: call reset first")
        return common.draw(self.render_mode, self.game, self._games.states)

    @property
    def game_state(self) -> np.recarray[Any, Any]:
        """A copy of the game's (1,) state, its seed included."""
        return self._games.states.copy().view(np.recarray)

    def record(self) -> dict[str, Any]:
        """The game so far as RULES 8's object: the opponents go by their names, the learner by "learner"."""
        if self._games.history is None:
            raise ResetNeeded("there is no game to record: call reset first")
        return self._games.history.record(self._games.states, self._games.names(0)).to_dict()


def make_single_env(**arguments: Any) -> gymnasium.Env[np.ndarray, int]:
    """A `BombaySingleEnv` with these arguments: what `gymnasium.make` calls.

    Gymnasium reads the render modes of a class from its `metadata` and warns of any other before the class can refuse it.
    Stable-Baselines3 asks for "rgb_array" first, so it would always warn. A function has no metadata, so there is no warning; but
    then "ansi_list" and "svg_list", which collect what each step shows, are not Gymnasium's affair either.
    """
    mode = arguments.get("render_mode")
    if isinstance(mode, str) and mode.removesuffix("_list") in RENDER_MODES and mode not in RENDER_MODES:
        return RenderCollection(BombaySingleEnv(**arguments | {"render_mode": mode.removesuffix("_list")}))
    return BombaySingleEnv(**arguments)
