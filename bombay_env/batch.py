"""The engine over arrays of states: one loop a job over the kernels of `engine.py`.

Each function here takes arrays that `game.py` has checked, and neither checks nor allocates for the caller. Lanes are
independent: the result for a lane never depends on the others. Records come in plain arrays, the tables too, as an array of one:
Numba recognises those at a tenth of the cost of a recarray or a single record.
"""

import numpy as np

from bombay_env import engine
from bombay_env.compile import kernel
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY


@kernel
def deal_all(states, tables, seeds):
    """Set every lane up from its seed, first restock included."""
    tables = tables[0]
    drawn = np.empty(NUM_COLOURS, np.int64)
    for lane in range(len(states)):
        state = states[lane]
        engine.deal(state, tables, seeds[lane])
        engine.draw_restock(state, tables, drawn)
        engine.stock_markets(state, drawn)


@kernel
def force_restocks(states, restocks):
    """Stock the markets of every lane with the bales given, (batch, 4) int64."""
    for lane in range(len(states)):
        engine.stock_markets(states[lane], restocks[lane])


@kernel
def legal_all(states, tables, masks):
    """Overwrite `masks` (batch, A) bool."""
    tables = tables[0]
    for lane in range(len(states)):
        engine.legal(states[lane], tables, masks[lane])


@kernel
def first_illegal(states, tables, actions):
    """The number of lanes still running whose action is illegal, and a (batch,) bool that marks them."""
    tables = tables[0]
    illegal = np.zeros(len(states), np.bool_)
    count = 0
    for lane in range(len(states)):
        state = states[lane]
        if state.current_player != NOBODY and not engine.is_legal(state, tables, actions[lane]):
            illegal[lane] = True
            count += 1
    return count, illegal


@kernel
def step_all(states, tables, actions):
    """Play a legal action in every lane not yet over, and draw the restocks that fall due."""
    tables = tables[0]
    drawn = np.empty(NUM_COLOURS, np.int64)
    for lane in range(len(states)):
        state = states[lane]
        if state.current_player != NOBODY and engine.apply(state, tables, actions[lane]):
            engine.draw_restock(state, tables, drawn)
            engine.stock_markets(state, drawn)


@kernel
def apply_all(states, tables, actions, due):
    """Play a legal action in every lane not yet over, without any restock; `due` (batch,) bool marks where one follows."""
    tables = tables[0]
    for lane in range(len(states)):
        state = states[lane]
        due[lane] = state.current_player != NOBODY and engine.apply(state, tables, actions[lane])


@kernel
def settle_all(states, tables, provisional, results):
    """Overwrite `results` of finished lanes, and of running ones as if they ended now if `provisional`."""
    tables = tables[0]
    for lane in range(len(states)):
        state = states[lane]
        if provisional or state.current_player == NOBODY:
            engine.settle(state, tables, results[lane])
