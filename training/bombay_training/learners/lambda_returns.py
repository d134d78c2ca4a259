"""The training targets of a game: λ-returns for every seat, computed backwards from the result. Knows no learner."""

import numpy as np

from bombay_agents.nets import value_net
from bombay_env.jit.kernels import kernel
from bombay_env.rules import MAX_PLAYERS


@kernel
def set_targets(n, td_lambda, forward, samples, count):
    """Replace what the first `count` samples expected by λ-returns; `forward` holds the result, seat 0 first."""
    margin, share = np.empty(MAX_PLAYERS, np.float32), np.empty(MAX_PLAYERS, np.float32)  # λ-returns so far, by seat
    margin[:] = forward.margin
    share[:] = forward.share
    rest = np.float32(1) - td_lambda
    for index in range(count - 1, -1, -1):
        sample = samples[index]
        for place in range(n):
            seat = (np.int64(sample.seat) + place) % n
            own_margin, own_share = sample.margin[place], sample.share[place]
            sample.margin[place], sample.share[place] = margin[seat], share[seat]
            if sample.explored:
                margin[seat], share[seat] = sample.best_margin[place], sample.best_share[place]
            else:
                margin[seat] = rest * own_margin + td_lambda * margin[seat]
                share[seat] = rest * own_share + td_lambda * share[seat]


@kernel
def set_final_targets(tables, td_lambda, workspace, samples, count):
    """Replace what the first `count` samples expected by their targets; the game of `workspace.current` is over."""
    forward = workspace.turn.evaluation.forward
    value_net.result_output(workspace.current.state, tables, np.int64(0), forward)
    set_targets(np.int64(tables.num_players), td_lambda, forward, samples, count)
