"""The settings of self-play PPO; see `run.py` for how they are used."""

import dataclasses
from typing import Any, ClassVar, Final, Self

from bombay_agents.nets.policy_net import ACTIVATIONS, LOOKAHEAD, MODES, PARTS
from bombay_agents.scripted.potential import PLANNER_SHAPING, RESULT_SHAPING, SHAPINGS
from bombay_env.checks import is_whole_number, one_of
from bombay_training.learners.runs import periodic_eval
from bombay_training.learners.runs.settings import (
    MAX_BATCH,
    MAX_WEIGHT,
    RunSettings,
    require,
    require_fraction,
    require_number,
    require_whole,
)

MAX_THREADS: Final = 256  # PyTorch aborts the process if the system cannot provide its threads
MAX_DECISIONS: Final = 1 << 20  # of a rollout; some 3 kB each
MAX_LAYERS: Final = 8  # of a part of the net
MAX_WIDTH: Final = 4096
MAX_REFERENCES: Final = 16


@dataclasses.dataclass(frozen=True)
class PPOSettings(RunSettings):
    """Everything that decides a run. With `updates` given, the same settings give the same weights bit for bit.

    An update is a rollout of num_envs · num_steps decisions and the learning from it.
    """

    learner: ClassVar[str] = "ppo"
    max_seed: ClassVar[int] = 2**32 - 1  # the limit of NumPy's global generator

    observation_mode: str = LOOKAHEAD
    """What the net observes: one of `policy_net.MODES`."""
    blend: float = 0.5
    """Weight of the win, as opposed to the margin, in a game's reward at the end of the run; it grows linearly from 0."""
    shaping_weight: float = 1.0
    """Part of the reward that is paid during the game as each seat's potential changes; the rest is paid at the end."""
    shaping: str = PLANNER_SHAPING
    """What a seat's potential is: `planner`, the reward that the scripted planner expects; or `result`, the margin if the game
    ended now, which follows from the rules alone."""
    trust: float = 3.0
    """Initial weight, per rupee, of an action's loss according to the lookahead in its logit. Used only if the net observes
    losses and has a trunk and no hidden layers of the policy's own."""
    num_envs: int = 512
    """Number of games played in parallel, over all player counts."""
    num_steps: int = 32
    """Decisions per game and rollout, of all its seats together."""
    batch_size: int = 1024
    """Decisions per gradient step."""
    epochs: int = 2
    """Passes over the decisions of a rollout."""
    learning_rate: float = 1.5e-3
    """Adam's learning rate at the start; decays linearly to zero over the run."""
    entropy: float = 0.003
    """Weight of the policy's entropy in the loss at the start; decays linearly to zero over the run."""
    value_weight: float = 0.5
    """Weight of the value's squared error in the loss."""
    clip: float = 0.2
    """PPO's clipping range for the probability ratio."""
    max_grad_norm: float = 0.5
    """Gradients are clipped to this norm."""
    gamma: float = 1.0
    """Discount per own decision; 1 by default, since every game ends."""
    gae_lambda: float = 0.9
    """The λ of generalised advantage estimation, per own decision."""
    trunk: tuple[int, ...] = (128,)
    """Widths of the layers that policy and value share."""
    policy: tuple[int, ...] = ()
    """Widths of the policy's own hidden layers."""
    value: tuple[int, ...] = (64,)
    """Widths of the value's own hidden layers."""
    activation: str = "relu"
    """relu or tanh."""
    references: tuple[str, ...] = periodic_eval.REFERENCES
    """Specs of the agents for the periodic evaluation, which does not affect learning."""
    threads: int = 1
    """PyTorch's threads. Another number changes the order of sums, and so the weights."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        self._as_tuples(*PARTS, "references")
        one_of(self.observation_mode, "observation_mode", MODES)
        one_of(self.activation, "activation", tuple(ACTIVATIONS))
        one_of(self.shaping, "shaping", SHAPINGS)
        require_whole(self, "num_envs", "num_steps", low=1, high=MAX_DECISIONS)
        require_whole(self, "batch_size", "epochs", low=1, high=MAX_BATCH)
        require_whole(self, "threads", low=1, high=MAX_THREADS)
        require(
            self,
            *PARTS,
            holds=lambda widths: (
                len(widths) <= MAX_LAYERS and all(is_whole_number(width, 1, MAX_WIDTH) for width in widths)
            ),
            allowed=f"at most {MAX_LAYERS} widths from 1 to {MAX_WIDTH}",
        )
        self._as_tuples(*PARTS, of=int)
        counts = len(self.players)
        require(
            self,
            "num_envs",
            holds=lambda number: number >= counts,
            allowed=f"at least {counts}, one for each player count",
        )
        most = MAX_DECISIONS // self.num_envs
        require(self, "num_steps", holds=lambda steps: steps <= most, allowed=f"at most {most} with these num_envs")
        decisions = self.num_envs * self.num_steps
        require(
            self,
            "batch_size",
            holds=lambda size: size >= 2 and decisions % size != 1,
            allowed=f"at least 2, and the {decisions} decisions of a rollout must not end in a batch of one",
        )
        require_number(self, "learning_rate", low=0, high=1, above=True)
        require_number(self, "clip", "max_grad_norm", low=0, high=MAX_WEIGHT, above=True)
        require_number(self, "entropy", "value_weight", "trust", low=0, high=MAX_WEIGHT)
        require(self, "references", holds=_are_specs, allowed=f"at most {MAX_REFERENCES} specs of agents")
        require_fraction(self, "gamma", "gae_lambda", "blend", "shaping_weight")

    @classmethod
    def raw(cls, **settings: Any) -> Self:
        """Settings of a learner that knows the rules alone: it reads observations, and nothing scripted shapes its rewards.

        Args:
            settings: other fields, which replace these.
        """
        defaults: dict[str, Any] = {
            "observation_mode": "perfect_recall",
            "shaping": RESULT_SHAPING,
            "entropy": 0.3,  # without the lookahead's losses the policy must find good actions by trying
            "trunk": (256,),
            "policy": (128,),
            "value": (128,),
        }
        return cls(**{**defaults, **settings})


def _are_specs(values: tuple[Any, ...]) -> bool:
    return len(values) <= MAX_REFERENCES and all(isinstance(value, str) for value in values)
