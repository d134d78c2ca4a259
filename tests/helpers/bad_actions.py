"""Values that are not an action, as a trainer with a fault might pass them."""

import numpy as np

from bombay_env import Game

# Not one whole number.
NOT_AN_ACTION = {
    "None": None,
    "a float": 1.0,
    "a bool": True,
    "text": "buy",
    "long text": "x" * 300_000,
    "a list": [1],
    "an array": np.array([1, 2]),
    "a NumPy float": np.float64(2),
    "a dict": {"action": 1},
    "an array of objects": np.array(None),
}
# Not integers of shape (lanes,), whatever the number of lanes.
NOT_ACTIONS = {
    **{what: value for what, value in NOT_AN_ACTION.items() if what not in ("a list", "an array")},
    "a number": 0,
    "a large number": 2**70,
    "large numbers": [2**70] * 4,
    "numbers and None": [0, None, 0, 0],
    "numbers of which some are NaN": [0.0, np.nan, 0.0, 0.0],
    "a ragged list": [[0], 1, 2, 3],
    "a column": np.zeros((4, 1), int),
    "too many": np.zeros(9, int),
    "records with many fields": Game().new_states(range(4)),
}
