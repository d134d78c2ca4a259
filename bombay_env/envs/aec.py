"""The PettingZoo environment: it translates between `Game` and the AEC interface and holds no rule of the game.

| event | what happens |
| --- | --- |
| reset | `reset(seed=s)` deals `new_states([s])`; `reset()` the next seed of a stream keyed by the last seed given |
| illegal action, "raise" | `IllegalActionError`, nothing changes |
| illegal action, "terminate" | the game ends: −1 for the offender, 1/(n − 1) for each other |
| end of the game | every agent terminates with its own reward; each then steps once with None, as PettingZoo has it |
| truncation | never: a game has a fixed number of turns |
| render before the first reset | `ResetNeeded`; PettingZoo's wrapper has its own error |
"""

import copy
import functools
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.utils import wrappers

from bombay_env import checks
from bombay_env.board import Board
from bombay_env.envs import common
from bombay_env.envs.common import DEFAULT_PLAYERS, OBSERVATION_MODES, RENDER_MODES
from bombay_env.envs.one_game import OneGame, whole_action
from bombay_env.game import Game, IllegalActionError
from bombay_env.record import History
from bombay_env.rewards import check_reward, seat_rewards
from bombay_env.rules import Rules

ILLEGAL_ACTIONS = ("raise", "terminate")


class NoGame:
    """Stands where the game will be until the first reset: whatever is asked of it raises `ResetNeeded`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and pickling look for
            raise AttributeError(name)
        raise ResetNeeded("no game is running: call reset first")


class raw_env(AECEnv[str, dict[str, np.ndarray], int | None]):  # noqa: N801 — PettingZoo's name for it
    """Bombay for 2 to 5 players, one agent a seat; see `bombay_env.bombay_v0` for the spaces.

    Args:
        num_players: 2 to 5. Where `rules` are given, theirs holds.
        rules: the variant; the official rules unless given.
        board: the map; the packaged board unless given.
        observation_mode: "perfect_recall", or "screened": opponents' rupees and tokens stay hidden (RULES 6).
        reward: "win", "rank" or "margin", paid to every seat at the end and zero-sum; see `bombay_env.rewards`.
        illegal_action: "raise" or "terminate", as in this module's table.
        render_mode: None, or what `render()` returns: "ansi" the position as text, "svg" a picture.

    Raises:
        ValueError: an argument is none of those.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": list(RENDER_MODES),
        "name": "bombay_v0",
        "is_parallelizable": False,
        "render_fps": 2,
    }

    def __init__(
        self,
        num_players: int = DEFAULT_PLAYERS,
        rules: Rules | None = None,
        board: Board | None = None,
        observation_mode: str = "perfect_recall",
        reward: str = "win",
        illegal_action: str = "raise",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        checks.one_of(observation_mode, "observation_mode", OBSERVATION_MODES)
        checks.one_of(illegal_action, "illegal_action", ILLEGAL_ACTIONS)
        common.check_render_mode(render_mode)
        check_reward(reward)
        self.game = common.make_game(num_players, rules, board)
        self.observation_mode = observation_mode
        self.reward = reward
        self.illegal_action = illegal_action
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(self.game.num_players)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: observation_space(self.game) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(self.game.num_actions) for agent in self.possible_agents}
        self.state_space = common.feature_space(self.game)
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._screened = observation_mode == "screened"
        self._episode_key = common.random_key()
        self._episode = 0
        self._play: OneGame = NoGame()  # type: ignore[assignment]
        self._history: History = NoGame()  # type: ignore[assignment]

    def observation_space(self, agent: str) -> spaces.Dict:
        """The space of an agent's observation, the same object each time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions, the same object each time; what the numbers mean stands in RULES 7."""
        return self.action_spaces[agent]

    # --- playing ---

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game.

        Args:
            seed: what deals it, from 0 to 2**64 − 1, and starts a new stream of episodes.
            options: `setup` gives the deal (RULES 8), `record` a game to continue from (`Record` or its object). Other
                keys are ignored. A continued game goes on with `seed` if given, else with the record's own.

        Raises:
            ValueError: the seed or an option cannot be; the running game goes on.
        """
        options = common.checked_options(options)
        key, episode = (self._episode_key, self._episode) if seed is None else (checks.seed(seed), 0)
        dealt_by = common.episode_seed(key, episode) if seed is None else key
        if options.get("record") is not None:
            states, so_far = common.continued(self.game, options["record"])
            one_seed = so_far.seed if seed is None else None
            if one_seed is None:
                states["seed"] = dealt_by
        else:
            setup, so_far = options.get("setup") or None, None
            states = self.game.new_states([dealt_by], setup=setup)
            one_seed = dealt_by if setup is None else None
        self._episode_key, self._episode = key, episode + 1
        self._play, self._history = OneGame(self.game, states), History(self.game, states, one_seed, so_far)
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

    def step(self, action: int | None) -> None:
        """Play the selected agent's action, an integer; None once it has terminated.

        Raises:
            IllegalActionError: the action is illegal and `illegal_action` is "raise", or it is no whole number at all; nothing
            has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        number = whole_action(action)
        try:
            self._play.play(number)
        except IllegalActionError as error:
            if self.illegal_action == "raise":
                raise
            self._end_by_fault(self._seats[agent], number, str(error))
            return
        self._history.add(number)
        mover = self._play.mover
        if mover >= 0:
            self._select(mover)
        else:
            self._end(seat_rewards(self.game.results(self._play.states), self.reward)[0])

    def _select(self, seat: int) -> None:
        """Give the turn to `seat`: its mask is filled in, and the mask of who acted before is emptied."""
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

    # --- seeing ---

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent sees now, in fresh arrays; the mask is zero unless the agent is to act.

        Works for every seat at any time after the first reset, also once the game is over.

        Returns:
            `observation` float32 (F,) and `action_mask` int8 (A,).
        """
        info = self.infos.get(agent)
        return {
            "observation": self._play.observe(self._seats[agent], self._screened),
            "action_mask": self._no_actions() if info is None else info["action_mask"].copy(),
        }

    def state(self) -> np.ndarray:
        """Everything a player with perfect memory knows, as seat 0 sees it, float32 (F,): one view for central training."""
        return self._play.observe(0, screened=False)

    def render(self) -> str | None:
        """The position as text or as an SVG document, by render mode; None without one.

        Raises:
            ResetNeeded: there was no reset yet.
        """
        return common.draw(self.render_mode, self.game, self._play.states)

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def game_state(self) -> np.recarray[Any, Any]:
        """A copy of the game's (1,) state, its seed included."""
        return self._play.states.copy()

    def record(self) -> dict[str, Any]:
        """The game so far as RULES 8's object; agents go by their names here."""
        return self._history.record(self._play.states, self.possible_agents, self._fault).to_dict()

    def clone(self) -> "raw_env":
        """An environment of its own that stands where this one does."""
        return copy.deepcopy(self)


class OrderEnforcingWrapper(wrappers.OrderEnforcingWrapper[str, dict[str, np.ndarray], int | None]):
    """PettingZoo's own, which asks for each attribute of the environment in turn; `last` needs five of them."""

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What the environment itself answers, once it was reset."""
        if not self._has_reset:
            return super().last(observe)  # type: ignore[no-any-return]  # which says so
        return self.env.last(observe)  # type: ignore[no-any-return]


@functools.wraps(raw_env, assigned=(), updated=())  # for its signature
def env(*args: Any, **kwargs: Any) -> Any:
    """`raw_env` behind PettingZoo's wrapper that refuses calls out of order. Takes the arguments of `raw_env`."""
    return OrderEnforcingWrapper(raw_env(*args, **kwargs))


def observation_space(game: Game) -> spaces.Dict:
    """What an agent is given: features and mask."""
    mask = spaces.Box(0, 1, (game.num_actions,), np.int8)
    return spaces.Dict({"observation": common.feature_space(game), "action_mask": mask})
