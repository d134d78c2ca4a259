"""The value net: its weights, its file and its forward pass. One position in, a margin and a share of the win for every seat out.

    features (F,) ── sparse ── hidden (H,) ── relu ── outputs (2 P,)        P seats, starting with the viewer and then clockwise

`margin` is the rupees above the mean of all seats at the end, in tens; `share` is the share of the win. Both add to a baseline:
the rupees that each seat is expected to have at the end without the net. Positions of one turn differ in few features, so the
hidden layer before its activation is an accumulator: computed in full for one position, and for others updated by the features
that differ (Yu Nasu, "Efficiently Updatable Neural-Network-based Evaluation Functions for Computer Shogi", 2018).

Does not know what the features mean nor how a net is trained; imports nothing scripted. `value_net_turns.py` evaluates positions
and turns with it, `value_net_agent.py` plays.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from bombay_agents.nets import files
from bombay_agents.nets.files import check
from bombay_env import engine
from bombay_env.jit.kernels import kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import result_dtype

FORMAT: Final = "bombay-value/2"
KEYS: Final = {  # of the header
    "features": (str,),
    "num_features": (int,),
    "hidden": (int,),
    "blend": (float, int),
    "about": (dict,),
}
TENSORS: Final = ("first", "first_bias", "last", "last_bias")
MAX_HIDDEN: Final = 1024
NUM_OUTPUTS: Final = 2 * MAX_PLAYERS
OUTPUT_WIDTH: Final = 16  # of the row of outputs in memory: whole vectors
WORD: Final = 8  # features that are compared at once
# Changing one of these numbers changes the meaning of weights, so it needs a new FORMAT.
MARGIN_UNIT: Final = 10.0  # rupees of margin that count as 1
# Rupees of expected margin that weigh 1 in the logarithm of a share: at the end, and more for each game turn to come.
TEMPERATURE: Final = 1.5
TEMPERATURE_PER_TURN: Final = 0.5
ZERO: Final = np.float32(0)


@dataclass(frozen=True)
class ValueNet:
    """The weights of a value net and what they are for. F features, H hidden units.

    Args:
        first: (F, H) float32, features to hidden units.
        first_bias: (H,) float32.
        last: (H, 10) float32, hidden units to outputs: margins in seat order from the viewer, then shares.
        last_bias: (10,) float32.
        features: digest of what the net reads, such as `value_features.digest`.
        blend: weight of the share of the win when a turn is chosen, from 0 to 1; the margin has the rest.
        about: anything else worth knowing: `rules` and `board` (see `nets/files.py`), training; JSON values by name.
    Raises:
        ValueError: the tensors do not fit one another or hold numbers that are not finite, or a number is out of range.
    """

    first: np.ndarray
    first_bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    features: str
    blend: float
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, dims in zip(TENSORS, (2, 1, 2, 1), strict=True):
            files.check_tensor(name, getattr(self, name), dims)
        fits = {"first_bias": (self.hidden,), "last": (self.hidden, NUM_OUTPUTS), "last_bias": (NUM_OUTPUTS,)}
        for name, shape in fits.items():
            found = getattr(self, name).shape
            check(found == shape, f"{name} has shape {found}; beside first, {self.first.shape}, it must be {shape}")
        check(self.hidden <= MAX_HIDDEN, f"it has {self.hidden} hidden units; there must be from 1 to {MAX_HIDDEN}")
        check(0 <= self.blend <= 1, f"blend is {self.blend}; it must be from 0 to 1")
        object.__setattr__(self, "blend", float(self.blend))  # JSON knows no NumPy numbers

    @property
    def num_features(self) -> int:
        """Number of features it reads."""
        return int(self.first.shape[0])

    @property
    def hidden(self) -> int:
        """Units of the hidden layer."""
        return int(self.first.shape[1])

    def record(self) -> np.ndarray:
        """The weights as kernels take them, (1,) of `net_dtype`; rows of outputs end in zeros."""
        record = np.zeros(1, net_dtype(self.num_features, self.hidden))
        for name in TENSORS:
            tensor = getattr(self, name)
            record[name][0][..., : tensor.shape[-1]] = tensor
        return record

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the net to `path` atomically: a reader finds the old file or the new one, never half of either."""
        header = {
            "format": FORMAT,
            "features": self.features,
            "num_features": self.num_features,
            "hidden": self.hidden,
            "blend": self.blend,
            "about": dict(self.about),
        }
        files.write_net(path, header, {name: getattr(self, name) for name in TENSORS})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ValueNet:
        """Read a file that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not such a file; one line that names the file and what is wrong.
        """
        return files.read_net(path, FORMAT, KEYS, cls._of)

    @classmethod
    def _of(cls, header: Mapping[str, Any], tensors: dict[str, np.ndarray]) -> ValueNet:
        files.check_names(tensors, set(TENSORS))
        net = cls(**tensors, features=header["features"], blend=header["blend"], about=header["about"])
        for what in ("num_features", "hidden"):
            check(header[what] == getattr(net, what), f"{what} is {header[what]!r}; the tensors say otherwise")
        return net


# --- Memory of kernels ---


def net_dtype(num_features: int, hidden: int) -> np.dtype[Any]:
    """The weights as one record; outputs are margins in seat order from the viewer, then shares, then padding."""
    return record_dtype(
        [
            ("first", np.float32, (num_features, hidden)),
            ("first_bias", np.float32, (hidden,)),
            ("last", np.float32, (hidden, OUTPUT_WIDTH)),
            ("last_bias", np.float32, (OUTPUT_WIDTH,)),
        ]
    )


def workspace_dtype(num_features: int, hidden: int) -> np.dtype[Any]:
    """Memory for a forward pass and its result, for one thread at a time."""
    return record_dtype(
        [
            ("base_words", np.uint64, (num_features // WORD,)),  # features of the base position, and its accumulator
            ("base_accumulator", np.float32, (hidden,)),
            ("accumulator", np.float32, (hidden,)),
            ("outputs", np.float32, (OUTPUT_WIDTH,)),
            ("margin", np.float32, (MAX_PLAYERS,)),  # in tens of rupees, in seat order from the viewer
            ("share", np.float32, (MAX_PLAYERS,)),  # in the same order
            ("result", result_dtype(MAX_PLAYERS, np.int8)),
        ]
    )


# --- The accumulator ---
# `features` is a record with the features as `bytes` (F,) int8, in the same memory `words` of eight, `used`, which has all bits
# set in bytes that count, and `scales` (F,) float32.


@kernel
def add_feature(net, accumulator, feature, amount):
    """Add `amount` of a feature to an accumulator."""
    for unit in range(len(accumulator)):
        accumulator[unit] += amount * net.first[feature, unit]


@kernel
def refresh_accumulator(net, scales, features, accumulator):
    """Overwrite an accumulator with that of `features`, (F,) int8, computed in full."""
    accumulator[:] = net.first_bias
    for feature in range(len(features)):
        if features[feature] != 0:
            add_feature(net, accumulator, feature, np.float32(features[feature]) * scales[feature])


@kernel
def set_base_accumulator(net, features, workspace):
    """Take the position that was read last as the base of `update_accumulator`."""
    workspace.base_words[:] = features.words
    refresh_accumulator(net, features.scales, features.bytes, workspace.base_accumulator)


@kernel
def update_accumulator(net, features, workspace):
    """Overwrite `accumulator` with that of the position that was read last: the base's, plus the features that differ."""
    workspace.accumulator[:] = workspace.base_accumulator
    for word in range(len(workspace.base_words)):
        differ = (features.words[word] ^ workspace.base_words[word]) & features.used[word]
        if differ != np.uint64(0):
            for byte in range(WORD):
                shift = np.uint64(8 * byte)
                if (differ >> shift) & np.uint64(255) != np.uint64(0):
                    feature = WORD * word + byte
                    before = np.int8((workspace.base_words[word] >> shift) & np.uint64(255))
                    difference = np.float32(features.bytes[feature]) - np.float32(before)
                    add_feature(net, workspace.accumulator, feature, difference * features.scales[feature])


# --- The result ---


@kernel
def forward_output(net, n, expected, turns_left, workspace):
    """Overwrite `margin` and `share` with what follows from `accumulator` and the baseline.

    `expected` are rupees at the end in seat order from the viewer, `turns_left` the game turns to come, of `n` seats.
    """
    workspace.outputs[:] = net.last_bias
    for unit in range(len(workspace.accumulator)):
        active = max(workspace.accumulator[unit], ZERO)
        for output in range(OUTPUT_WIDTH):
            workspace.outputs[output] += active * net.last[unit, output]
    mean, total = ZERO, ZERO
    for place in range(n):
        mean += expected[place]
        total += workspace.outputs[place]
    mean /= np.float32(n)
    total /= np.float32(n)
    temperature = np.float32(TEMPERATURE) + np.float32(TEMPERATURE_PER_TURN) * np.float32(turns_left)
    for place in range(n):
        lead = expected[place] - mean
        workspace.margin[place] = lead / np.float32(MARGIN_UNIT) + workspace.outputs[place] - total
        workspace.share[place] = lead / temperature + workspace.outputs[MAX_PLAYERS + place]
    softmax(workspace.share, n)


@kernel
def softmax(share, n):
    """Turn the first `n` numbers from logarithms of weights into shares that sum to 1."""
    most, total = np.float32(-np.inf), ZERO
    for place in range(n):
        most = max(most, share[place])
    for place in range(n):
        share[place] = np.exp(share[place] - most)
        total += share[place]
    for place in range(n):
        share[place] /= total


@kernel
def result_output(state, tables, viewer, workspace):
    """Overwrite `margin` and `share` with the result of `state`, scored as if the game were over, in seat order from `viewer`."""
    n = np.int64(tables.num_players)
    engine.settle(state, tables, workspace.result)
    mean = ZERO
    for player in range(n):
        mean += np.float32(workspace.result.final[player])
    mean /= np.float32(n)
    for place in range(n):
        player = (viewer + place) % n
        workspace.margin[place] = (np.float32(workspace.result.final[player]) - mean) / np.float32(MARGIN_UNIT)
        workspace.share[place] = workspace.result.win_share[player]
