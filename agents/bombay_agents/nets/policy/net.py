"""The policy net: its weights, its file and its forward pass. One observation in, logits over actions and a value out.

    observation (F,) ── trunk ──┬── policy ── logits (A,)        every layer: x @ weight.T + bias, then the activation,
                                └── value  ── value ()           except after the last of policy and of value

In a file, tensors are named `<part>.<layer>.weight` (out, in) and `<part>.<layer>.bias` (out,), all float32. NumPy only.
`agent.py` plays with the net, and `bombay_training.learners.ppo` trains it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from bombay_agents.nets import files
from bombay_agents.nets.files import check
from bombay_env.envs.common import OBSERVATION_MODES

FORMAT: Final = "bombay-net/3"
KEYS: Final = {  # of the header
    "activation": (str,),
    "features": (str,),
    "observation_mode": (str,),
    "num_features": (int,),
    "num_actions": (int,),
    "layers": (dict,),
    "about": (dict,),
}
PARTS: Final = ("trunk", "policy", "value")
ACTIVATIONS: Final[Mapping[str, Callable[[np.ndarray], np.ndarray]]] = {
    "relu": lambda x: np.maximum(x, 0.0, out=x),
    "tanh": lambda x: np.tanh(x, out=x),
}

Layer = tuple[np.ndarray, np.ndarray]  # weight (out, in), bias (out,)


@dataclass(frozen=True)
class PolicyNet:
    """The weights of a policy net and what they are for. F features, A actions.

    Args:
        parts: layers by part; trunk may be empty.
        activation: a key of `ACTIVATIONS`.
        features: digest of the observation, `game.feature_layout.digest`.
        observation_mode: one of `OBSERVATION_MODES`, what the net was trained to read.
        about: anything else worth knowing, such as rules, board and training; JSON values by name.
    Raises:
        ValueError: the layers do not fit one another, hold numbers that are not finite, or a word is unknown.
    """

    parts: Mapping[str, tuple[Layer, ...]]
    activation: str
    features: str
    observation_mode: str
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(tuple(self.parts) == PARTS, f"parts are {', '.join(self.parts)}; they must be {', '.join(PARTS)}")
        for name, choice, allowed in (
            ("activation", self.activation, tuple(ACTIVATIONS)),
            ("observation_mode", self.observation_mode, OBSERVATION_MODES),
        ):
            check(choice in allowed, f"{name} is {choice!r}; it must be one of {', '.join(allowed)}")
        check(bool(self.parts["policy"] and self.parts["value"]), "policy and value need a layer each")
        trunk_out = self._check_chain("trunk", None)
        for part in ("policy", "value"):
            self._check_chain(part, trunk_out)
        width = self.parts["value"][-1][0].shape[0]
        check(width == 1, f"the value's last layer has width {width}; it must be 1")
        if trunk_out is None:
            inputs = {part: self.parts[part][0][0].shape[1] for part in ("policy", "value")}
            check(len(set(inputs.values())) == 1, f"policy and value read {inputs} features; they must read the same")

    def _check_chain(self, part: str, width: int | None) -> int | None:
        """Check that a part's layers fit after `width` inputs (None: any number). Returns the width of its last layer."""
        for number, (weight, bias) in enumerate(self.parts[part]):
            name = f"{part}.{number}"
            files.check_tensor(f"{name}.weight", weight, 2)
            files.check_tensor(f"{name}.bias", bias, 1)
            check(
                weight.shape[1] == (width or weight.shape[1]) and bias.shape == weight.shape[:1],
                f"{name} has weight {weight.shape} and bias {bias.shape}; "
                f"they must be (out, {width or 'in'}) and (out,)",
            )
            width = weight.shape[0]
        return width

    @property
    def num_features(self) -> int:
        """Number of features it reads."""
        first = (self.parts["trunk"] or self.parts["policy"])[0]
        return int(first[0].shape[1])

    @property
    def num_actions(self) -> int:
        """Number of actions it chooses among."""
        return int(self.parts["policy"][-1][0].shape[0])

    def forward(self, observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits (batch, A) and values (batch,), float32, for observations (batch, F) float32."""
        activate = ACTIVATIONS[self.activation]
        shared = observations
        for weight, bias in self.parts["trunk"]:
            shared = activate(shared @ weight.T + bias)
        outputs = []
        for part in ("policy", "value"):
            x = shared
            for weight, bias in self.parts[part][:-1]:
                x = activate(x @ weight.T + bias)
            weight, bias = self.parts[part][-1]
            outputs.append(x @ weight.T + bias)
        return outputs[0], outputs[1][:, 0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the net to `path` atomically: a reader finds the old file or the new one, never half of either."""
        header = {
            "format": FORMAT,
            "activation": self.activation,
            "features": self.features,
            "observation_mode": self.observation_mode,
            "num_features": self.num_features,
            "num_actions": self.num_actions,
            "layers": {part: len(self.parts[part]) for part in PARTS},
            "about": dict(self.about),
        }
        tensors = {
            f"{part}.{number}.{what}": tensor
            for part in PARTS
            for number, layer in enumerate(self.parts[part])
            for what, tensor in zip(("weight", "bias"), layer, strict=True)
        }
        files.write_net(path, header, tensors)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PolicyNet:
        """Read a file that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not such a file; one line that names the file and what is wrong.
        """
        return files.read_net(path, FORMAT, KEYS, cls._of)

    @classmethod
    def _of(cls, header: Mapping[str, Any], tensors: dict[str, np.ndarray]) -> PolicyNet:
        layers = header["layers"]
        check(
            isinstance(layers, dict)
            and set(layers) == set(PARTS)
            and all(type(count) is int and 0 <= count <= len(tensors) for count in layers.values()),
            f"layers is {layers!r}; it must give the number of layers of {', '.join(PARTS)}",
        )
        names = {
            part: [(f"{part}.{i}.weight", f"{part}.{i}.bias") for i in range(count)] for part, count in layers.items()
        }
        files.check_names(tensors, {name for pairs in names.values() for pair in pairs for name in pair})
        net = cls(
            parts={part: tuple((tensors[weight], tensors[bias]) for weight, bias in names[part]) for part in PARTS},
            activation=header["activation"],
            features=header["features"],
            observation_mode=header["observation_mode"],
            about=header["about"],
        )
        for what in ("num_features", "num_actions"):
            check(header[what] == getattr(net, what), f"{what} is {header[what]!r}; the tensors say otherwise")
        return net
