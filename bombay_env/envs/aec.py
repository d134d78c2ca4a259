"""The PettingZoo environment: it connects `Game` to the AEC interface and contains no rules of the game.

| event | what happens |
| --- | --- |
| reset | `reset(seed=s)` deals `new_states([s])`; `reset()` deals from the next seed of a stream keyed by the last seed given |
| illegal action, "raise" | `IllegalActionError`; nothing changes |
| illegal action, "terminate" | the game ends: −1 for the offender, 1/(n − 1) for each other |
| end of the game | every agent terminates with its own reward; each then steps once with None, as PettingZoo requires |
| truncation | never: a game has a fixed number of turns |
| any use before the first reset | `ResetNeeded`; PettingZoo's wrapper raises its own errors instead |
"""

import copy
import functools
import inspect
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

from bombay_env import checks
from bombay_env.envs import common
from bombay_env.envs.common import OBSERVATION_MODES, GivenBoard, GivenRules
from bombay_env.envs.one_game import OneGame, whole_action
from bombay_env.envs.rendering import FPS, RENDER_MODES, Rendered, Scene, Shown
from bombay_env.game import Game, IllegalActionError
from bombay_env.record import History
from bombay_env.render.view import LastAction, last_action
from bombay_env.rewards import check_reward, seat_rewards

ILLEGAL_ACTIONS = ("raise", "terminate")


class NotResetError(ResetNeeded, AttributeError):
    """The environment has not been reset yet. It is also an AttributeError, so that `hasattr` and `getattr` work as usual."""

    def __init__(self) -> None:
        super().__init__("no game is running: call reset first")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()


class SetByReset:
    """An attribute that an environment has only from the first reset on. Until then, reading it raises `NotResetError`.

    An attribute of the instance takes precedence over it. A `__getattr__` of the environment would slow down every attribute.
    """

    def __get__(self, env: object, owner: type | None = None) -> Any:
        if env is None:
            return self
        raise NotResetError


SET_BY_RESET: Any = SetByReset()


class raw_env(Shown, AECEnv[str, dict[str, np.ndarray], int | None]):  # noqa: N801 — PettingZoo's name for it
    """Bombay for 2 to 5 players, one agent for each seat; see `bombay_env.bombay_v0` for the spaces.

    Args:
        num_players: 2 to 5. None: that of the rules, or 4.
        rules: the variant: `Rules`, a dict of fields that differ from the official rules, or the path of a JSON file with them.
        board: the board: a `Board`, its object (RULES 8), or the path of a TOML file. None: the packaged board.
        observation_mode: "perfect_recall", or "screened", which hides opponents' rupees and tokens (RULES 6).
        reward: "win", "rank" or "margin": paid to every seat at the end, zero-sum; see `bombay_env.rewards`.
        illegal_action: "raise" or "terminate"; see this module's table.
        render_mode: what `render()` returns: None, "ansi" (the position as text), "svg" (a picture), "rgb_array" (pixels) or
            "human" (a window); see `bombay_env.envs.rendering`.

    Raises:
        ValueError: an argument has a value that is not allowed.
        DependencyNotInstalled: `render_mode` is "human", and pygame-ce is missing.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "name": "bombay_v0",
        "is_parallelizable": False,
        "render_fps": FPS,
    }

    # PettingZoo's own methods read most of these as well.
    agent_selection = infos = rewards = _cumulative_rewards = terminations = truncations = SET_BY_RESET
    _play: OneGame = SET_BY_RESET
    _history: History = SET_BY_RESET

    def __init__(
        self,
        num_players: int | None = None,
        rules: GivenRules = None,
        board: GivenBoard = None,
        observation_mode: str = "perfect_recall",
        reward: str = "win",
        illegal_action: str = "raise",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        checks.one_of(observation_mode, "observation_mode", OBSERVATION_MODES)
        checks.one_of(illegal_action, "illegal_action", ILLEGAL_ACTIONS)
        check_reward(reward)
        self._set_mode(render_mode)
        self.game = common.make_game(num_players, rules, board)
        self.observation_mode = observation_mode
        self.reward = reward
        self.illegal_action = illegal_action
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.num_players)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space(self.game) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(self.game.num_actions) for agent in self.possible_agents}
        self.state_space = common.feature_space(self.game)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._screened = observation_mode == "screened"
        self._episode_key: int | None = (
            None  # drawn by the first reset: copies of new environments play different games
        )
        self._episode = 0
        self._last: LastAction | None = None

    def observation_space(self, agent: str) -> spaces.Dict:
        """The observation space of an agent, the same object on every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The action space of an agent, the same object on every call. RULES 7 defines the action numbers."""
        return self.action_spaces[agent]

    # --- playing ---

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game.

        Args:
            seed: the seed of the deal, from 0 to 2**64 − 1; it also starts a new stream of episodes. None: the next seed of the
                current stream.
            options: `setup` fixes the deal (RULES 8); `record` is a game to continue (a `Record` or its object). Other keys are
                ignored. A continued game uses `seed` if it is given, else the record's seed.

        Raises:
            ValueError: the seed or an option is not valid. The running game is not affected.
        """
        key, episode = (self._episode_key, self._episode) if seed is None else (checks.seed(seed), 0)
        key = int(common.random_keys(1)[0]) if key is None else key
        dealt_by = common.episode_seed(key, episode) if seed is None else key
        seeds, given = np.array([dealt_by], np.uint64), np.array([seed is not None])
        dealt = common.deal(self.game, seeds, given, options)
        self._episode_key, self._episode = key, episode + 1
        self._play, self._history = OneGame(self.game, dealt.states), History(self.game, *dealt)
        self._fault: dict[str, Any] | None = None
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self.infos = {agent: {"action_mask": self._no_actions()} for agent in self.agents}
        self.agent_selection = self.possible_agents[self._play.mover]
        self._select(self._play.mover)
        self._last = None
        self._show()

    def step(self, action: int | None) -> None:
        """Play the selected agent's action, an integer; None after the agent has terminated.

        Raises:
            IllegalActionError: the action is not a whole number, or it is illegal and `illegal_action` is "raise". Nothing has
                changed.
            ResetNeeded: the environment has not been reset yet.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:  # a wrapper may truncate
            self._was_dead_step(action)
            return
        number = whole_action(action)
        before = self._play.states.copy() if self._shows_last() else None
        try:
            self._play.play(number)
        except IllegalActionError as error:
            if self.illegal_action == "raise":
                raise
            EnvLogger.warn_on_illegal_move()
            self._end_by_fault(self._seats[agent], number, str(error))
            return
        self._history.add(number)
        mover = self._play.mover
        if mover >= 0:
            self._select(mover)
        else:
            self._end(seat_rewards(self.game.results(self._play.states), self.reward)[0])
        if before is not None:
            self._last = last_action(self.game, before, number)
            self._show()

    def _select(self, seat: int) -> None:
        """Select the agent of `seat`: fill in its mask and clear the mask of the agent that acted before."""
        agent = self.possible_agents[seat]
        if agent != self.agent_selection:
            self.infos[self.agent_selection] = {"action_mask": self._no_actions()}
            self.agent_selection = agent
        self.infos[agent] = {"action_mask": self._play.action_mask()}

    def _end(self, rewards: Any) -> None:
        for agent, reward in zip(self.possible_agents, rewards, strict=True):
            self.rewards[agent] = float(reward)
            self.terminations[agent] = True
            self.infos[agent] = {"action_mask": self._no_actions()}
        self._accumulate_rewards()

    def _end_by_fault(self, seat: int, action: int, reason: str) -> None:
        names = self.game.action_names
        name = names[action] if 0 <= action < len(names) else str(action)
        self._fault = {"seat": seat, "action": name, "reason": reason}
        share = 1.0 / (self.game.num_players - 1)
        self._end([-1.0 if other == seat else share for other in range(self.game.num_players)])

    def _no_actions(self) -> np.ndarray:
        return np.zeros(self.game.num_actions, np.int8)

    # --- observing ---

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """The current observation of an agent, in new arrays. The mask is all zero unless the agent is to act.

        It works for every agent at any time after the first reset, also after the end of the game.

        Returns:
            A dict of `observation`, (F,) float32, and `action_mask`, (A,) int8.

        Raises:
            ResetNeeded: the environment has not been reset yet.
        """
        seat = self._seats[agent]
        acts = seat == self._play.mover and self._fault is None
        return {
            "observation": self._play.observe(seat, self._screened),
            "action_mask": self._play.action_mask() if acts else self._no_actions(),
        }

    def state(self) -> np.ndarray:
        """The perfect-recall observation of seat 0, (F,) float32: a global state for centralised training."""
        return self._play.observe(0, screened=False)

    def render(self) -> Rendered:
        """The position as the render mode shows it: text, an SVG document or pixels; None if there is no mode or a window.

        Raises:
            ResetNeeded: the environment has not been reset yet.
        """
        return self._drawn()[0]

    def _scene(self) -> Scene:
        viewer = self._play.mover if self._screened else None
        return Scene(self.game, self._play.states, [viewer], [self._last])

    def close(self) -> None:
        """Close the window, if there is one."""
        self._close_window()

    @property
    def game_state(self) -> np.recarray[Any, Any]:
        """A copy of the game's (1,) state, including its seed."""
        return self._play.states.copy()

    def record(self) -> dict[str, Any]:
        """The record of the game so far, as RULES 8's object. Its agent names are those of this environment."""
        return self._history.record(self._play.states, self.possible_agents, self._fault).to_dict()

    def clone(self) -> "raw_env":
        """An independent copy of this environment in its current state."""
        return copy.deepcopy(self)


class OrderEnforcingWrapper(wrappers.OrderEnforcingWrapper[str, dict[str, np.ndarray], int | None]):
    """PettingZoo's wrapper with a faster `last`: PettingZoo's own looks up five attributes through the wrapper."""

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """`last` of the environment; PettingZoo's error before the first reset."""
        if not self._has_reset:
            return super().last(observe)  # raises the error
        return self.env.last(observe)

    def __str__(self) -> str:  # PettingZoo's has it for its own class only
        return str(self.env)

    def _repr_html_(self) -> str | None:
        """What a notebook shows; PettingZoo's wrappers pass on no names that begin with an underscore."""
        return self.unwrapped._repr_html_()


RAW_ENV = functools.partial(raw_env, illegal_action="terminate")


def env(*args: Any, **kwargs: Any) -> Any:
    """`raw_env` in PettingZoo's wrapper that rejects calls in the wrong order.

    It takes the arguments of `raw_env`, the last two by keyword. The default of `illegal_action` is "terminate", as in
    PettingZoo's own games.
    """
    return OrderEnforcingWrapper(RAW_ENV(*args, **kwargs))


env.__signature__ = inspect.signature(RAW_ENV).replace(return_annotation=Any)  # type: ignore[attr-defined] # editors and `help` show it


def observation_space(game: Game) -> spaces.Dict:
    """The space of an agent's observation: features and action mask."""
    mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": common.feature_space(game), "action_mask": mask})
