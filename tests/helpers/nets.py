"""Value nets of random weights, positions that they value in tests, what they read, and net files that are changed on purpose."""

from functools import cache
from typing import Final

import numba
import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files, tensor_files
from bombay_agents.nets.value import encoding, features
from bombay_agents.nets.value import evaluator as value_evaluator
from bombay_agents.nets.value.net import ValueNet
from bombay_agents.turns.evaluator import value_turn
from bombay_env.jit.kernels import kernel
from bombay_env.state import NOBODY
from helpers.position import variant

SLOW: Final = numba.config.DISABLE_JIT  # evaluating a turn then takes a while
SHORT: Final = {"actions_per_turn": 1, "sets": 2, "turns_per_set": 2}  # turns of a handful of outcomes
# Kernels are compiled for each width. With the compiler on it is the width of the shipped nets, so they are compiled once.
HIDDEN: Final = 8 if SLOW else 128
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


def seat_that_moved(game, state):
    """The seat whose turn has just ended, in a position between turns."""
    set_ended = state["set"] > 0 and state["turn"] == 0 and not np.any(state["market"])
    if set_ended and state["current_player"] == state["first_player"] and game.rules.rotate_first_player:
        return int(state["current_player"] - 2) % game.num_players  # the set that has ended began one seat earlier
    return int(state["current_player"] - 1) % game.num_players


@cache
def first_rows_by_name(num_sites):
    names = [feature.name for feature in features.all_features(num_sites)]
    return dict(zip(names, features.first_rows(num_sites), strict=True))


@kernel
def read_first(nodes, tables, viewer, workspaces):
    return encoding.encode_position(nodes[0], tables[0], viewer, workspaces[0])


def read(game, states, viewer=0):
    """The values of all features of a position at the end of a turn, by name; None for features of absent seats."""
    workspace = np.zeros(1, encoding.workspace_dtype(game.board.num_sites, 4))
    encoding.set_constants(workspace, game.board.num_sites)
    node = np.zeros(1, turns.memory_dtype(game.board.num_sites)["node"].base)
    node["state"] = np.asarray(states)
    place = read_first(node, game.tables, viewer, workspace)
    rows = np.concatenate((workspace[0]["entry"][place]["rows"], workspace[0]["own"]))
    first = first_rows_by_name(game.board.num_sites).items()
    return {
        name: None if row == encoding.NO_ROW else int(row - start)
        for (name, start), row in zip(first, rows, strict=True)
    }


@kernel
def value_positions(states, viewers, tables, evaluator, nodes, outputs):
    """Overwrite `outputs` (k, 2, 5) with margins and shares of positions between turns, as `viewers` (k,) see them."""
    memory, node = evaluator.memory[0], nodes[0]
    value_evaluator.clear_cache(memory)
    for number in range(len(states)):
        node.state = states[number]
        value_evaluator.value_position(node, tables[0], viewers[number], evaluator.net[0], memory)
        outputs[number, 0] = memory.forward.margin
        outputs[number, 1] = memory.forward.share


@cache
def new_node(num_sites):
    return np.zeros(1, turns.memory_dtype(num_sites)["node"].base)


def values_of(game, evaluator, states, viewers):
    """Margins and shares of positions between turns by a value net, seat 0 first, (k, 2, n) float32.

    The first is computed in full and the others by the rows that differ, as are the outcomes of a turn.
    """
    outputs = np.zeros((len(states), 2, 5), np.float32)
    value_positions(states, np.array(viewers), game.tables, evaluator, new_node(game.board.num_sites), outputs)
    seats = (np.arange(game.num_players) - np.array(viewers)[:, None]) % game.num_players
    return np.take_along_axis(outputs, seats[:, None], axis=2)


@kernel
def lay_out(state, tables, evaluator, turn):
    """Lay out and evaluate the turn of a state, by any evaluator, in `turn`, (1,). Returns the number of nodes."""
    turn[0].memory.node[0].state = state
    return value_turn(tables[0], evaluator, turn[0])


class NetInPython:
    """The value net of an agent as an evaluator written in Python: one number for each seat, margin + share weight · share."""

    def __init__(self, agent):
        self.agent, self.game = agent, None

    def values(self, game, states):
        if game is not self.game:
            self.game, self.evaluator = game, self.agent.evaluator(game)
        margins, shares = values_of(
            game, self.evaluator, states, [seat_that_moved(game, state) for state in states]
        ).swapaxes(0, 1)
        return margins + self.evaluator.share_weight * shares

    results = values


def rewritten(path, target, change):
    """A copy of the net at `path` whose header and tensors are changed by `change`, and whose digest is right."""
    header, tensors = tensor_files.read(path, files.HEADER, files.format_of(path))
    change(header, tensors)
    tensor_files.write(target, files.HEADER, header, tensors)
    return target
