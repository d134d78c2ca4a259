"""Nets of random weights, positions to value, what nets read, and net files that are changed on purpose."""

import dataclasses
from typing import Final, NamedTuple

import numba
import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files
from bombay_agents.nets.policy.net import PolicyNet
from bombay_agents.nets.value import evaluator as value_evaluator
from bombay_agents.nets.value import features
from bombay_agents.nets.value.net import ValueNet
from bombay_agents.search import tree
from bombay_agents.search.tree import SearchParams
from bombay_agents.turns.evaluator import NUM_OUTPUTS
from bombay_env.rules import MAX_PLAYERS
from bombay_env.state import NOBODY
from helpers.position import variant

SLOW: Final = numba.config.DISABLE_JIT  # evaluating a turn then takes a while
SHORT: Final = {"actions_per_turn": 1, "sets": 2, "turns_per_set": 2}  # turns of a handful of outcomes
# Kernels are compiled for each width, so with the compiler on it is the width of `zero`.
HIDDEN: Final = 8 if SLOW else 256
SECOND: Final = 4 if SLOW else 32
TABLES: Final = [variant(n, **(SHORT if SLOW else {})) for n in (2, 3, 4, 5)]


def random_net(*games, seed=1, **changes):
    """A net of random weights, trained on `games`."""
    num_sites, rng = games[0].board.num_sites, np.random.default_rng(seed)
    shapes = {
        "first": (features.num_rows(num_sites), HIDDEN),
        "first_bias": (HIDDEN,),
        "second": (HIDDEN, SECOND),
        "second_bias": (SECOND,),
        "last": (SECOND, 10),
        "last_bias": (10,),
    }
    tensors = {name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in shapes.items()}
    tensors["first"] = tensors["first"].astype(np.float16).astype(np.float32)  # as it is in a file
    about = files.about_games(games)
    return ValueNet(
        **({**tensors, "features": features.digest(num_sites), "share_weight": 2.0, "about": about} | changes)
    )


def as_played(net):
    """`net` with the weights that players take, as float32."""
    played = net.quantized(features.first_rows(24))
    tensors = {name: played[name][0].astype(np.float32) for name in ("first", "first_bias", "second")}
    return dataclasses.replace(net, **tensors)


def policy_net(game):
    """A policy net of random weights, trained on `game`."""
    rng = np.random.default_rng(2)

    def layer(inputs, outputs):
        return rng.normal(0, 0.2, (outputs, inputs)).astype(np.float32), np.zeros(outputs, np.float32)

    parts = {"trunk": (layer(game.num_features, 4),), "policy": (layer(4, game.num_actions),), "value": (layer(4, 1),)}
    return PolicyNet(parts, "tanh", game.feature_layout.digest, "perfect_recall", files.about_games([game]))


def starts_of_turns(game, lanes, seed):
    """Positions at the starts of turns of random games."""
    states = game.new_states(np.arange(lanes, dtype=np.uint64) + np.uint64(seed))
    rng, steps = np.random.default_rng(seed), np.arange(lanes) * 9 % 80
    for step in range(80):
        some = np.flatnonzero((step < steps) & ~game.is_terminal(states))
        if some.size:
            part = states[some]
            game.step(part, np.array([rng.choice(np.flatnonzero(mask)) for mask in game.legal_actions(part)]))
            states[some] = part
    fresh = (states["current_player"] != NOBODY) & (states["actions_left"] == game.rules.actions_per_turn)
    return np.asarray(states)[fresh & (states["take_pending"] == 0)]


class Outcomes(NamedTuple):
    """The outcomes of a turn in the order in which they are found."""

    nodes: np.ndarray
    states: np.ndarray
    due: np.ndarray
    values: np.ndarray  # to the mover
    outputs: np.ndarray  # margins and shares in seat order from the mover


def outcomes_of(game, evaluator, state):
    """The outcomes of the turn of a record, valued by a compiled evaluator.

    The tree's kernel does it, as its code is kept on disk. Kernels of tests are compiled in every process.
    """
    search = tree.new_search(game, evaluator, 1, SearchParams(np.float32(1)))
    turns.check_count(tree.init(state, game.tables[0], search))
    turn = search.root[0]
    nodes = np.flatnonzero(turn["memory"]["node"]["due"] != turns.TURN_GOES_ON)
    node = turn["memory"]["node"][nodes]
    return Outcomes(nodes, node["state"], node["due"], turn["values"][nodes], turn["outputs"][nodes])


def value_of(game, evaluator, state, viewer):
    """Margins and shares of a position between turns by a value net, computed in full, in seat order from `viewer`."""
    node = np.zeros(1, turns.memory_dtype(game.board.num_sites)["node"].base)
    states, outputs = np.asarray(state, game.state_dtype).reshape(1), np.empty((1, NUM_OUTPUTS), np.float32)
    value_evaluator.value_positions(states, np.full(1, viewer), game.tables, evaluator, node, outputs)
    return outputs[0, : game.num_players], outputs[0, MAX_PLAYERS : MAX_PLAYERS + game.num_players]


def rows_of(evaluator):
    """The rows of the position that `value_of` valued last."""
    encoded = evaluator.memory["encoding"][0]
    return np.concatenate((encoded["entry"][0]["rows"], encoded["own"]))


def rewritten(path, target, change):
    """A copy of the net at `path` whose header and tensors are changed by `change`, and whose digest is right."""
    header, tensors = files.read(path, files.HEADER, files.format_of(path))
    change(header, tensors)
    files.write(target, files.HEADER, header, tensors)
    return target
