"""The value net: its weights, its file and its forward pass. One position in, a margin and a share of the win for each seat out.

    rows ── sum ── hidden (H,) ── relu ── second (K,) ── relu ── outputs (2 P,)      P seats: the viewer, then clockwise

The first layer is a sum of rows, one for each feature of the position (`features.py`). `margin` is the rupees at the end above
the mean of all seats, in tens; `share` is the share of the win. Both add to a baseline: the result if the game ended now. The sum
of rows is an accumulator: positions of one turn differ in few rows, so it is updated by the rows that differ (Yu Nasu,
"Efficiently Updatable Neural-Network-based Evaluation Functions for Computer Shogi", 2018). Learning takes the weights as they
are. Players take a first layer in whole numbers of 16 bits (`quantize`). Updates are then exact, so that the value of a position
does not depend on the positions before, and the layer takes half the memory.

Does not know what the rows mean nor how a net is trained.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from bombay_agents.nets import files
from bombay_agents.nets.files import check
from bombay_agents.turns.evaluator import MARGIN_UNIT, NUM_OUTPUTS, ZERO, softmax
from bombay_env.jit.kernels import inlined, kernel, long_kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import composed_dtype, new_records, result_dtype

FORMAT: Final = "bombay-zero/1"
FEATURES: Final = "slots"  # the key of `features` in the header: files keep the name that features had at first
KEYS: Final = {FEATURES: (str,), "share_weight": (float, int), "about": (dict,)}  # of the header
TENSORS: Final = ("first", "first_bias", "second", "second_bias", "last", "last_bias")
HALF: Final = ("first",)  # stored in half precision: it is nearly all of the file
MAX_HIDDEN: Final = 1024  # units of a layer
MAX_WEIGHT: Final = 65504.0  # the largest number in half precision: no output is infinite then
MAX_INT16: Final = 32767
TINY: Final = np.float32(1e-30)  # instead of 0 where all weights into a unit are 0
OUTPUT_WIDTH: Final = 16  # of the row of outputs in memory: whole vectors
# Changing one of these numbers changes the meaning of weights, so it needs a new FORMAT.
# Rupees of lead that weigh 1 in the logarithm of a share: at the end, and more for each turn of the viewer to come.
TEMPERATURE: Final = 1.5
TEMPERATURE_PER_TURN: Final = 0.5


@dataclass(frozen=True)
class ValueNet:
    """The weights of a net and what they are for. R rows, H and K hidden units.

    Args:
        first: (R, H) float32, rows to hidden units.
        first_bias: (H,) float32.
        second: (H, K) float32.
        second_bias: (K,) float32.
        last: (K, 10) float32, to outputs: margins in seat order from the viewer, then shares.
        last_bias: (10,) float32.
        features: digest of what the rows mean, `features.digest`.
        share_weight: weight of the share of the win beside the margin, in tens of rupees, when a turn is chosen.
        about: anything else worth knowing: `rules` and `board` (see `nets/files.py`), training; JSON values by name.
    Raises:
        ValueError: the tensors do not fit one another, or a number is not finite or out of range.
    """

    first: np.ndarray
    first_bias: np.ndarray
    second: np.ndarray
    second_bias: np.ndarray
    last: np.ndarray
    last_bias: np.ndarray
    features: str
    share_weight: float
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, dims in zip(TENSORS, (2, 1, 2, 1, 2, 1), strict=True):
            tensor = getattr(self, name)
            files.check_tensor(name, tensor, dims)
            check(np.abs(tensor).max() <= MAX_WEIGHT, f"{name} holds weights beyond {MAX_WEIGHT:.0f}")
        hidden, second = self.units
        fits = {
            "first_bias": (hidden,),
            "second": (hidden, second),
            "last": (second, NUM_OUTPUTS),
            "last_bias": (NUM_OUTPUTS,),
        }
        for name, shape in fits.items():
            found = getattr(self, name).shape
            check(found == shape, f"{name} has shape {found}; beside the others it must be {shape}")
        for units in (hidden, second):  # `multiply_add` takes four at a time
            whole = 4 <= units <= MAX_HIDDEN and units % 4 == 0
            check(whole, f"a layer has {units} units; it must have a multiple of 4, up to {MAX_HIDDEN}")
        check(0 <= self.share_weight <= 100, f"share_weight is {self.share_weight}; it must be from 0 to 100")
        object.__setattr__(self, "share_weight", float(self.share_weight))  # JSON knows no NumPy numbers

    @property
    def units(self) -> tuple[int, int]:
        """Units of the first and of the second hidden layer."""
        return int(self.first.shape[1]), len(self.second_bias)

    def record(self) -> np.ndarray:
        """The weights as learning takes them, (1,) of `net_dtype`; rows of outputs end in zeros."""
        record = np.asarray(new_records(1, net_dtype(len(self.first), *self.units)))
        for name in TENSORS:
            tensor = getattr(self, name)
            record[name][0][..., : tensor.shape[-1]] = tensor
        return record

    def quantized(self, first_rows: np.ndarray) -> np.ndarray:
        """The weights as players take them, (1,) of `net_dtype` with int16; see `quantize`."""
        record = np.asarray(new_records(1, net_dtype(len(self.first), *self.units, np.int16)))
        quantize(self.record(), first_rows, record)
        return record

    @classmethod
    def of_record(cls, record: np.ndarray, features: str, share_weight: float, about: Mapping[str, Any]) -> ValueNet:
        """The net of weights as learning takes them, copied."""
        tensors = {name: record[name][0].copy() for name in TENSORS}
        for name in ("last", "last_bias"):
            tensors[name] = tensors[name][..., :NUM_OUTPUTS].copy()
        return cls(**tensors, features=features, share_weight=share_weight, about=about)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the net to `path` atomically. The rows of the first layer are stored in half precision."""
        header = {
            "format": FORMAT,
            FEATURES: self.features,
            "share_weight": self.share_weight,
            "about": dict(self.about),
        }
        tensors = {name: getattr(self, name) for name in TENSORS}
        files.write_net(path, header, tensors, HALF)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ValueNet:
        """Read a file that `save` wrote.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not such a file; one line that names the file and what is wrong.
        """
        return files.read_net(path, FORMAT, KEYS, cls._of, HALF)

    @classmethod
    def _of(cls, header: Mapping[str, Any], tensors: dict[str, np.ndarray]) -> ValueNet:
        files.check_names(tensors, set(TENSORS))
        return cls(**tensors, features=header[FEATURES], share_weight=header["share_weight"], about=header["about"])


# --- Memory of kernels ---


def net_dtype(num_rows: int, hidden: int, second: int, first: Any = np.float32) -> np.dtype[Any]:
    """The weights as one record, those of the first layer of type `first`.

    Outputs are margins in seat order from the viewer, then shares, then padding.
    """
    return record_dtype(
        [
            ("first", first, (num_rows, hidden)),
            ("first_bias", first, (hidden,)),
            ("second", np.float32, (hidden, second)),
            ("second_bias", np.float32, (second,)),
            ("last", np.float32, (second, OUTPUT_WIDTH)),
            ("last_bias", np.float32, (OUTPUT_WIDTH,)),
        ]
    )


def workspace_dtype(hidden: int, second: int) -> np.dtype[Any]:
    """Memory for a forward pass and its result, for one thread at a time."""
    return composed_dtype(
        {
            "active": (np.float32, (hidden,)),  # after the activation
            "second": (np.float32, (second,)),
            "second_active": (np.float32, (second,)),
            "outputs": (np.float32, (OUTPUT_WIDTH,)),
            "margin": (np.float32, (MAX_PLAYERS,)),  # in tens of rupees, in seat order from the viewer
            "share": (np.float32, (MAX_PLAYERS,)),  # in the same order
            "result": result_dtype(MAX_PLAYERS, np.int8),
        }
    )


@long_kernel
def quantize(nets, first_rows, quantized):
    """Overwrite `quantized` with the weights of `nets`, the first layer in whole numbers.

    Each hidden unit has a scale, about the largest at which its bias and the largest weight of every feature together fit int16.
    Weights into the unit are multiplied by it, and weights out of it divided. As relu is linear on each side of zero, only
    rounding changes the result.

    Args:
        nets: (1,) of `net_dtype`.
        first_rows: (features,) int32, the row of each feature's value 0.
        quantized: (1,) of `net_dtype` with int16.
    """
    net, result = nets[0], quantized[0]
    total = np.abs(net.first_bias)
    for feature in range(len(first_rows)):
        largest = np.zeros_like(total)
        end = first_rows[feature + 1] if feature + 1 < len(first_rows) else len(net.first)
        for row in range(first_rows[feature], end):
            largest = np.maximum(largest, np.abs(net.first[row]))
        total += largest
    room = np.float32(MAX_INT16 - len(first_rows))  # each weight is rounded by up to a half, and a little for float32
    scale = room / np.maximum(total, TINY)
    for row in range(len(net.first)):
        result.first[row, :] = np.rint(net.first[row] * scale)
    result.first_bias[:] = np.rint(net.first_bias * scale)
    for unit in range(len(scale)):
        result.second[unit, :] = net.second[unit] / scale[unit]
    result.second_bias[:] = net.second_bias
    for unit in range(len(net.last)):
        result.last[unit, :] = net.last[unit]
    result.last_bias[:] = net.last_bias


# --- The accumulator ---


@kernel
def add_row(net, accumulator, row):
    """Add a row to an accumulator."""
    for unit in range(len(accumulator)):
        accumulator[unit] += net.first[row, unit]


@kernel
def swap_row(net, accumulator, old, new):
    """Replace a row by another in an accumulator; a negative one is none."""
    if old >= 0 and new >= 0:
        for unit in range(len(accumulator)):
            accumulator[unit] = accumulator[unit] - net.first[old, unit] + net.first[new, unit]


@kernel
def add_rows(net, accumulator, rows):
    """Add rows to an accumulator; negative ones are none."""
    for feature in range(len(rows)):
        if rows[feature] >= 0:
            add_row(net, accumulator, rows[feature])


@kernel
def swap_rows(net, accumulator, old, new):
    """Replace rows by others of the same features in an accumulator."""
    for feature in range(len(old)):
        if old[feature] != new[feature]:
            swap_row(net, accumulator, old[feature], new[feature])


# --- The result ---


@kernel
def forward(net, n, accumulator, final, turns_left, workspace):
    """Overwrite `margin` and `share` with what follows from an accumulator and the baseline.

    `final` are rupees if the game ended now in seat order from the viewer, `turns_left` the viewer's turns to come, of `n` seats.
    """
    outputs = workspace.outputs
    for unit in range(len(accumulator)):
        workspace.active[unit] = max(np.float32(accumulator[unit]), ZERO)
    multiply_add(workspace.active, net.second, net.second_bias, workspace.second)
    for unit in range(len(workspace.second)):
        workspace.second_active[unit] = max(workspace.second[unit], ZERO)
    multiply_add(workspace.second_active, net.last, net.last_bias, outputs)
    mean, total = ZERO, ZERO
    for place in range(n):
        mean += np.float32(final[place])
        total += outputs[place]
    mean /= np.float32(n)
    total /= np.float32(n)
    temperature = np.float32(TEMPERATURE) + np.float32(TEMPERATURE_PER_TURN) * np.float32(turns_left)
    for place in range(n):
        lead = np.float32(final[place]) - mean
        workspace.margin[place] = lead / np.float32(MARGIN_UNIT) + outputs[place] - total
        workspace.share[place] = lead / temperature + outputs[MAX_PLAYERS + place]
    softmax(workspace.share, n)


@inlined
def multiply_add(vector, matrix, bias, result):
    """Overwrite `result` (C,) with `vector` (R,) times `matrix` (R, C) plus `bias`; R is a multiple of 4.

    Eight rows at a time, since a row at a time would spend most of its time on loading and storing `result`.
    """
    for column in range(len(result)):
        result[column] = bias[column]
    whole = len(vector) // 8 * 8
    for row in range(0, whole, 8):
        upper, lower = four_of(vector, row), four_of(vector, row + 4)
        for column in range(len(result)):
            first = four_products(upper, matrix, row, column)
            result[column] = result[column] + first + four_products(lower, matrix, row + 4, column)
    if whole < len(vector):
        upper = four_of(vector, whole)
        for column in range(len(result)):
            result[column] += four_products(upper, matrix, whole, column)


@inlined
def four_of(vector, row):
    """Four entries of a vector from `row` on."""
    return vector[row], vector[row + 1], vector[row + 2], vector[row + 3]


@inlined
def four_products(four, matrix, row, column):
    """The sum of the products with four rows of a column. Another order of additions would round differently."""
    one, two, three, four = four
    return (one * matrix[row, column] + two * matrix[row + 1, column]) + (
        three * matrix[row + 2, column] + four * matrix[row + 3, column]
    )
