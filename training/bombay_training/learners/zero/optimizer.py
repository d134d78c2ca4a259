"""One training step for `zero`: the gradient of a batch of samples, Adam, and a running average of the weights.

    loss  =  margin_weight · ½ Σ (margin − target)²  −  Σ target · log share        sums over seats, means over the batch

A step has two passes. The first computes for each sample the gradient at the hidden layer, and for each slice of the batch those
of the later layers. The second adds the gradients of the first layer and takes a step of Adam (Kingma and Ba, 2015), feature by
feature: rows of different features are different, so threads never write the same row. The number of threads does not change a
single bit.
"""

from typing import Any, Final

import numpy as np
from numba import prange

from bombay_agents.nets.value import net as value_net
from bombay_agents.turns.evaluator import NUM_OUTPUTS, ZERO
from bombay_env.jit.kernels import batch_kernel, kernel, record_dtype
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import new_records

SLICES: Final = 8
MOMENTUM: Final = np.float32(0.9)
SQUARES: Final = np.float32(0.999)
TINY: Final = np.float32(1e-8)
INITIAL_ROW: Final = 0.04  # standard deviation of the first layer's weights at the start


def tail_dtype(hidden: int, second: int) -> np.dtype[Any]:
    """The weights but for the rows."""
    return record_dtype(
        [
            (name, *(value_net.net_dtype(1, hidden, second)[name].subdtype or ()))
            for name in value_net.TENSORS
            if name != "first"
        ]
    )


class Trainer:
    """A net, Adam's moments, and the running average of the weights, which is the net to play with.

    `weights`, `averages`, `moments` and `squares` (Adam's) are flat float32, (P,); `net` and `average`, (1,) of
    `net.net_dtype`, are views of the first two.

    Args:
        first_rows: (features,) int32, the row of each feature's value 0.
        num_rows: R.
        hidden: H.
        second: K.
        seed: of the initial weights.
    """

    def __init__(self, first_rows: np.ndarray, num_rows: int, hidden: int, second: int, seed: int) -> None:
        # Start on cache lines: a vector that crosses two of them takes two loads, and learning loads many weights.
        self.arrays = np.asarray(new_records(5, value_net.net_dtype(num_rows, hidden, second)))
        self.net, self.average, moments, squares, _ = (self.arrays[number : number + 1] for number in range(5))
        self.tails = np.asarray(new_records(SLICES, tail_dtype(hidden, second)))
        self.workspaces = np.asarray(new_records(SLICES, value_net.workspace_dtype(hidden, second)))
        self.losses = np.zeros((SLICES, 2))
        self.back = np.zeros((0, hidden), np.float32)
        self.starts = np.append(first_rows, num_rows).astype(np.int64)
        self.weights, self.averages, self.moments, self.squares = (
            array.view(np.float32).reshape(-1) for array in (self.net, self.average, moments, squares)
        )
        self.steps = 0
        rng = np.random.default_rng(seed)
        self.net["first"] = rng.normal(0, INITIAL_ROW, (num_rows, hidden))
        self.net["second"] = rng.normal(0, (2 / hidden) ** 0.5, (hidden, second))
        self.net["last"][0, :, :NUM_OUTPUTS] = rng.normal(0, 0.1 * second**-0.5, (second, NUM_OUTPUTS))
        self.average[:] = self.net

    def step(
        self,
        samples: np.ndarray,
        indices: np.ndarray,
        rate: float,
        margin_weight: float,
        ema_decay: float,
    ) -> np.ndarray:
        """Learn from `samples[indices]`. Returns the mean squared error of margins and the mean cross-entropy of shares, (2,).

        Args:
            samples: of `self_play.sample_dtype`.
            indices: (batch,) int64.
            rate: learning rate.
            margin_weight: of the margin's squared error in the loss.
            ema_decay: weight of the old running average; 1 − `ema_decay` is that of the new weights.
        """
        if len(self.back) < len(indices):
            self.back = np.zeros((len(indices), self.back.shape[1]), np.float32)
        self.tails.view(np.float32)[:] = self.losses[:] = 0
        propagate(
            self.workspaces, samples, indices, self.net, np.float32(margin_weight), self.tails, self.back, self.losses
        )
        self.steps += 1
        ema_step = max(1 - ema_decay, 1 / (self.steps + 1))
        unbias = np.float32(1 - MOMENTUM**self.steps), np.float32(1 - SQUARES**self.steps)
        rates = np.array([rate / unbias[0], 1 / unbias[1], ema_step, 1 / len(indices)], np.float32)
        update_rows(self.starts[:-1], self.starts, samples, indices, self.back, rates, self.arrays)
        self._update_tail(rates)
        return np.asarray(self.losses.sum(axis=0) / len(indices))

    def _update_tail(self, rates: np.ndarray) -> None:
        """A step of Adam for all weights but the rows, which are few."""
        size = self.tails.dtype.itemsize // 4
        total = self.tails.view(np.float32).reshape(SLICES, size).sum(axis=0) * rates[3]
        weights, averages = self.weights[-size:], self.averages[-size:]
        moments, squares = self.moments[-size:], self.squares[-size:]
        moments += (1 - MOMENTUM) * (total - moments)
        squares += (1 - SQUARES) * (total * total - squares)
        weights -= rates[0] * moments / (np.sqrt(squares * rates[1]) + TINY)
        averages += rates[2] * (weights - averages)


def _propagate(workspaces, samples, indices, net, margin_weight, tails, back, losses):
    """Overwrite `back` (batch, H) with gradients; add the others to `tails` (slices,) and the losses to `losses` (slices, 2)."""
    slices = len(workspaces)
    transposed = net[0].second.T.copy()  # (K, H), to multiply by rows
    zeros = np.zeros(transposed.shape[1], np.float32)
    for part in prange(slices):
        for number in range(len(indices) * part // slices, len(indices) * (part + 1) // slices):
            square, cross = add_gradient(
                samples[indices[number]],
                net[0],
                transposed,
                zeros,
                margin_weight,
                workspaces[part],
                tails[part],
                back[number],
            )
            losses[part, 0] += square
            losses[part, 1] += cross


propagate = batch_kernel(_propagate, min_lanes=1)


@kernel
def add_gradient(sample, net, transposed, zeros, margin_weight, workspace, tail, back):
    """Overwrite `back` (H,) with a sample's gradient at the hidden layer, and add those of the later layers to `tail`.

    Returns the squared error of margins and the cross-entropy of shares.
    """
    n = np.int64(sample.num_players)
    accumulator, second, error = workspace.active, workspace.second, workspace.outputs
    accumulator[:] = net.first_bias
    value_net.add_rows(net, accumulator, sample.rows)
    value_net.forward(net, n, accumulator, sample.final, sample.turns_left, workspace)
    square, cross = ZERO, ZERO
    error[:] = ZERO
    for place in range(n):
        difference = workspace.margin[place] - sample.margin[place]
        square += difference * difference / np.float32(n)
        error[place] = margin_weight * difference
        error[MAX_PLAYERS + place] = workspace.share[place] - sample.share[place]
        cross -= sample.share[place] * np.log(workspace.share[place] + TINY)
    for output in range(value_net.OUTPUT_WIDTH):
        tail.last_bias[output] += error[output]
    for unit in range(len(second)):
        total = ZERO
        for output in range(value_net.OUTPUT_WIDTH):
            tail.last[unit, output] += workspace.second_active[unit] * error[output]
            total += error[output] * net.last[unit, output]
        second[unit] = total if second[unit] > ZERO else ZERO  # the gradient from here on
        tail.second_bias[unit] += second[unit]
    value_net.multiply_add(second, transposed, zeros, back)
    for unit in range(len(accumulator)):
        active = workspace.active[unit]
        back[unit] = back[unit] if active > ZERO else ZERO
        tail.first_bias[unit] += back[unit]
        for other in range(len(second)):
            tail.second[unit, other] += active * second[other]
    return square, cross


def _update_rows(features, starts, samples, indices, back, rates, arrays):
    """Add up the gradients of the rows and take a step of Adam, feature by feature.

    `rates` are the learning rate over Adam's first correction, the inverse of its second, the step of the running average, and
    the inverse of the batch's size. `arrays` are weights, running average, Adam's moments and squares, and memory for gradients.
    """
    for feature in prange(len(features)):
        rows = arrays[4].first
        for row in range(starts[feature], starts[feature + 1]):
            for unit in range(rows.shape[1]):
                rows[row, unit] = ZERO
        for number in range(len(indices)):
            row = samples[indices[number]].rows[feature]
            if row >= 0:
                for unit in range(rows.shape[1]):
                    rows[row, unit] += back[number, unit]
        for row in range(starts[feature], starts[feature + 1]):
            weights, averages, moments, squares = arrays[0].first, arrays[1].first, arrays[2].first, arrays[3].first
            take_step(rows[row], rates, weights[row], averages[row], moments[row], squares[row])


update_rows = batch_kernel(_update_rows, min_lanes=1)


@kernel
def take_step(gradient, rates, weights, averages, moments, squares):
    """A step of Adam for one row, and a step of the running average."""
    rate, unbias, ema_step, scale = rates[0], rates[1], rates[2], rates[3]
    for unit in range(len(weights)):
        total = gradient[unit] * scale
        moments[unit] = MOMENTUM * moments[unit] + (np.float32(1) - MOMENTUM) * total
        squares[unit] = SQUARES * squares[unit] + (np.float32(1) - SQUARES) * total * total
        weights[unit] -= rate * moments[unit] / (np.sqrt(squares[unit] * unbias) + TINY)
        averages[unit] += ema_step * (weights[unit] - averages[unit])
