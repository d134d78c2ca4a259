"""One training step for TD: the gradient of a batch of samples, Adam, and a running average of the weights.

    loss  =  margin_weight · ½ Σ (margin − target)²  −  Σ target · log share        sums over seats, means over the batch

The targets are λ-returns (`self_play.py`). The gradient of the first layer is as sparse as the features. A batch is summed in a
fixed number of slices, so the number of threads does not change a single bit. Adam is that of Kingma and Ba (2015).
"""

from typing import Final

import numpy as np
from numba import prange

from bombay_agents.nets import value_net
from bombay_env.jit.kernels import batch_kernel, kernel
from bombay_env.rules import MAX_PLAYERS

SLICES: Final = 8
ZERO: Final = np.float32(0)
MOMENTUM: Final = np.float32(0.9)
SQUARES: Final = np.float32(0.999)
TINY: Final = np.float32(1e-8)


class Trainer:
    """A net, Adam's moments, and the running average of the weights, which is the net to play with.

    `weights`, `averages`, `moments` and `squares` (Adam's) are flat float32, (P,); `net` and `average`, (1,) of
    `value_net.net_dtype`, are views of the first two.

    Args:
        scales: of features, (F,) float32.
        hidden: H.
        seed: of the initial weights.
    """

    def __init__(self, scales: np.ndarray, hidden: int, seed: int) -> None:
        self.scales, num_features = scales, len(scales)
        dtype = value_net.net_dtype(num_features, hidden)
        self.net, self.average = np.zeros(1, dtype), np.zeros(1, dtype)
        self.gradients = np.zeros(SLICES, dtype)
        self.workspaces = np.zeros(SLICES, value_net.workspace_dtype(num_features, hidden))
        self.losses = np.zeros((SLICES, 2))
        self.weights, self.averages = (net.view(np.float32).reshape(-1) for net in (self.net, self.average))
        self.moments, self.squares = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self.steps = 0
        rng = np.random.default_rng(seed)
        squared_norm = 60.0  # of a position's features, roughly
        self.net["first"] = rng.normal(0, squared_norm**-0.5, (num_features, hidden))
        self.net["last"][0, :, : value_net.NUM_OUTPUTS] = rng.normal(
            0, 0.1 * hidden**-0.5, (hidden, value_net.NUM_OUTPUTS)
        )
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
        flat = self.gradients.view(np.float32).reshape(SLICES, -1)
        sum_gradients(
            self.workspaces,
            samples,
            indices,
            self.net,
            self.scales,
            np.float32(margin_weight),
            self.gradients,
            flat,
            self.losses,
        )
        self.steps += 1
        ema_step = max(1 - ema_decay, 1 / (self.steps + 1))
        take_step(
            flat, self.weights, self.moments, self.squares, self.averages,
            np.float32(1 / len(indices)), np.float32(rate), self.steps, np.float32(ema_step),
        )  # fmt: skip
        return np.asarray(self.losses.sum(axis=0) / len(indices))


def _sum_gradients(workspaces, samples, indices, net, scales, margin_weight, gradients, flat, losses):
    """Overwrite `gradients` (slices,) and `losses` (slices, 2) with sums over slices of the batch.

    `flat` (slices, P) are the same gradients.
    """
    slices = len(workspaces)
    for part in prange(slices):
        flat[part] = ZERO
        losses[part] = 0.0
        for number in range(len(indices) * part // slices, len(indices) * (part + 1) // slices):
            square, cross = add_gradient(
                samples[indices[number]], net[0], scales, margin_weight, workspaces[part], gradients[part]
            )
            losses[part, 0] += square
            losses[part, 1] += cross


sum_gradients = batch_kernel(_sum_gradients, min_lanes=1)


@kernel
def add_gradient(sample, net, scales, margin_weight, workspace, gradient):
    """Add a sample's gradient to `gradient`. Returns the squared error of margins and the cross-entropy of shares."""
    n = np.int64(sample.num_players)
    accumulator, back, error = workspace.accumulator, workspace.base_accumulator, workspace.outputs
    value_net.refresh_accumulator(net, scales, sample.features, accumulator)
    value_net.forward_output(net, n, sample.expected, sample.turns_left, workspace)
    square, cross = ZERO, ZERO
    error[:] = ZERO
    for place in range(n):
        difference = workspace.margin[place] - sample.margin[place]
        square += difference * difference / np.float32(n)
        error[place] = margin_weight * difference
        error[MAX_PLAYERS + place] = workspace.share[place] - sample.share[place]
        cross -= sample.share[place] * np.log(workspace.share[place] + TINY)
    for output in range(value_net.OUTPUT_WIDTH):
        gradient.last_bias[output] += error[output]
    for unit in range(len(accumulator)):
        active = max(accumulator[unit], ZERO)
        total = ZERO
        for output in range(value_net.OUTPUT_WIDTH):
            gradient.last[unit, output] += active * error[output]
            total += error[output] * net.last[unit, output]
        back[unit] = total if active > ZERO else ZERO
    for unit in range(len(accumulator)):
        gradient.first_bias[unit] += back[unit]
    for feature in range(len(scales)):
        amount = np.float32(sample.features[feature]) * scales[feature]
        if amount != ZERO:
            for unit in range(len(accumulator)):
                gradient.first[feature, unit] += amount * back[unit]
    return square, cross


def _take_step(gradients, weights, moments, squares, averages, scale, rate, step, ema_step):
    """A step of Adam with the sum of `gradients` (slices, P) times `scale`, and a step of the running average."""
    pieces, size = len(gradients), len(weights)
    unbias_moment = np.float32(1) - MOMENTUM ** np.float32(step)
    unbias_square = np.float32(1) - SQUARES ** np.float32(step)
    for piece in prange(pieces):
        for number in range(size * piece // pieces, size * (piece + 1) // pieces):
            total = ZERO
            for part in range(len(gradients)):
                total += gradients[part, number]
            total *= scale
            moments[number] = MOMENTUM * moments[number] + (np.float32(1) - MOMENTUM) * total
            squares[number] = SQUARES * squares[number] + (np.float32(1) - SQUARES) * total * total
            weights[number] -= (
                rate * moments[number] / unbias_moment / (np.sqrt(squares[number] / unbias_square) + TINY)
            )
            averages[number] += ema_step * (weights[number] - averages[number])


take_step = batch_kernel(_take_step, min_lanes=1)
