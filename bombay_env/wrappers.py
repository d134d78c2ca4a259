"""Wrappers of the Gymnasium environments: the action mask as a part of the observation, and observations in words.

They follow Gymnasium's conventions, can be combined with its own wrappers in any order, and contain no rules of the game.
"""

import string
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from bombay_env import checks
from bombay_env.envs.single import BombaySingleEnv
from bombay_env.text import describe_actions, describe_position

MASK: Final = "action_mask"  # the key of the mask in infos
MAX_TEXT: Final = 100_000  # characters of an observation in words; one on the packaged board has about 3,000
CHARACTERS: Final = string.digits + string.ascii_letters + string.punctuation + " \n"

Observations = dict[str, np.ndarray]


class ActionMaskObservation(gymnasium.Wrapper[Any, int, Any, int], RecordConstructorArgs):
    """Observations are a dict of the observation and the action mask, as RLlib, Tianshou and TorchRL expect them.

    The mask is `info["action_mask"]`, (A,): 1 if the action is legal. After the end, when none is, all are marked: trainers
    compute values of that observation too, although they do not count, and without any action these would not be finite.

    Args:
        env: an environment whose infos contain `action_mask`, with discrete actions.
        mask_key: the key of the mask.
        observation_key: the key of the observation.
        mask_dtype: "int8", or "bool", which TorchRL's `MaskedCategorical` needs.

    Raises:
        ValueError: the keys are equal, or the dtype is another one.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, int],
        mask_key: str = MASK,
        observation_key: str = "observation",
        mask_dtype: str = "int8",
    ) -> None:
        RecordConstructorArgs.__init__(self, mask_key=mask_key, observation_key=observation_key, mask_dtype=mask_dtype)
        gymnasium.Wrapper.__init__(self, env)
        self._keys = (observation_key, mask_key, mask_dtype)
        self.observation_space = _masked_space(env.observation_space, env.action_space, self._keys)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """`reset` of the environment, with the mask in the observation."""
        observation, info = self.env.reset(seed=seed, options=options)
        return _joined(self._keys, observation, info[MASK]), info

    def step(self, action: int) -> tuple[Observations, Any, bool, bool, dict[str, Any]]:
        """`step` of the environment, with the mask in the observation."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return _joined(self._keys, observation, info[MASK]), reward, terminated, truncated, info


class VectorActionMaskObservation(VectorWrapper):
    """`ActionMaskObservation` for the vector environment: a dict of (num_envs, …) arrays.

    In the autoreset mode `SAME_STEP`, the entries of `final_obs` are such dicts too.

    Args:
        env: the environment of `gymnasium.make_vec("bombay/Bombay-v0", …)`.
        mask_key: the key of the mask, (num_envs, A).
        observation_key: the key of the observations, (num_envs, F) float32.
        mask_dtype: "int8" or "bool".

    Raises:
        ValueError: the keys are equal, or the dtype is another one.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        mask_key: str = MASK,
        observation_key: str = "observation",
        mask_dtype: str = "int8",
    ) -> None:
        super().__init__(env)
        self._keys = (observation_key, mask_key, mask_dtype)
        self.single_observation_space = _masked_space(env.single_observation_space, env.single_action_space, self._keys)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._masks = np.zeros((self.num_envs, 1), np.int8)  # those of the last observations

    @property
    def autoreset_mode(self) -> Any:
        """That of the environment. Gymnasium's wrappers do not have it, and TorchRL asks for it."""
        return getattr(self.env, "autoreset_mode", self.env.metadata.get("autoreset_mode"))

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Observations, dict[str, Any]]:
        """`reset` of the environment, with the masks in the observations."""
        observations, infos = self.env.reset(seed=seed, options=options)
        # After a reset of some lanes, Gymnasium's own vector environments leave out the infos of the others.
        masks = np.where(infos[f"_{MASK}"][:, None], infos[MASK], self._masks)
        return self._seen(observations, masks), infos

    def step(self, actions: np.ndarray) -> tuple[Observations, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """`step` of the environment, with the masks in the observations."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        if "final_obs" in infos:
            final, masks = infos["final_obs"].copy(), infos["final_info"][MASK]
            for lane in np.flatnonzero(infos["_final_obs"]):
                final[lane] = _joined(self._keys, final[lane], masks[lane])
            infos = infos | {"final_obs": final}
        return self._seen(observations, infos[MASK]), rewards, terminations, truncations, infos

    def _seen(self, observations: np.ndarray, masks: np.ndarray) -> Observations:
        self._masks = masks.copy()
        return _joined(self._keys, observations, masks)


class TextObservation(gymnasium.Wrapper[Any, int, Any, int], RecordConstructorArgs):
    """The observation in words, for language models: the learner's seat, the position, and what each legal action does.

    The parts are those of `bombay_env.text`: `describe_position` and `describe_actions`. `bombay_env.text.parse_answer` reads an
    answer. In `screened` mode the words do not tell what opponents keep behind their screens. After the end of a game the text
    shows the result. For many games, use `gymnasium.make_vec(…, vectorization_mode="sync", wrappers=[TextObservation])`. With
    "async", Gymnasium needs `vector_kwargs={"shared_memory": False}` for texts.

    Args:
        env: the environment of `gymnasium.make("bombay/Bombay-v0", …)`, possibly wrapped.
        info_key: None: the text is the observation, in a `gymnasium.spaces.Text`. A key: the observation does not change, and the
            text is in the info under this key.

    Raises:
        ValueError: `env` is another environment.
    """

    def __init__(self, env: gymnasium.Env[Any, int], info_key: str | None = None) -> None:
        RecordConstructorArgs.__init__(self, info_key=info_key)
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(env.unwrapped, BombaySingleEnv):
            given = checks.one_line(type(env.unwrapped).__name__)
            raise ValueError(f"env must be the environment of gymnasium.make('bombay/Bombay-v0'), not {given}")
        self._bombay = env.unwrapped
        self._key = info_key
        if info_key is None:
            characters = CHARACTERS + "".join(site.name for site in self._bombay.game.board.sites)
            self.observation_space = spaces.Text(MAX_TEXT, charset=frozenset(characters))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """`reset` of the environment, with the text."""
        return self._told(*self.env.reset(seed=seed, options=options))

    def step(self, action: int) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """`step` of the environment, with the text."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        observation, info = self._told(observation, info)
        return observation, reward, terminated, truncated, info

    def _told(self, observation: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        text = self._text(int(info["seat"]))
        return (text, info) if self._key is None else (observation, info | {self._key: text})

    def _text(self, seat: int) -> str:
        game, states = self._bombay.game, self._bombay.game_state
        viewer = seat if self._bombay.observation_mode == "screened" else None
        parts = [f"You are seat {seat}.", describe_position(game, states, viewer)]
        if not game.is_terminal(states)[0]:
            parts.append(f"legal actions\n{describe_actions(game, states, viewer)}")
        return "\n\n".join(parts)


def _masked_space(observation: spaces.Space[Any], action: spaces.Space[Any], keys: tuple[str, str, str]) -> spaces.Dict:
    """The space of observations with masks; `keys` as for `_joined`."""
    if keys[0] == keys[1]:
        raise ValueError(f"mask_key and observation_key are both {checks.shown(keys[0])}; they must differ")
    checks.one_of(keys[2], "mask_dtype", ("int8", "bool"))
    mask = spaces.Box(0, 1, (int(action.n),), np.dtype(keys[2]).type)  # type: ignore[attr-defined] # as in `aec.py`
    return spaces.Dict({keys[0]: observation, keys[1]: mask})


def _joined(keys: tuple[str, str, str], observation: np.ndarray, mask: np.ndarray) -> Observations:
    """Observation and mask, (…, A); `keys` are their keys and the dtype of the mask."""
    over = ~mask.any(axis=-1, keepdims=True)
    return {keys[0]: observation, keys[1]: (mask | over).astype(keys[2], copy=False)}
