"""The numbers and names of actions, and the record form of masks (RULES 7).

A board with S sites has S + 15 actions. `action_ranges` lists their ranges; names and documentation are made from it, and the
constants below are the same offsets for the kernels. This module does not know which actions are legal (`engine.py`).
"""

from typing import Any, Final

import numpy as np

from bombay_env.board import Board
from bombay_env.jit.kernels import record_dtype
from bombay_env.rules import COLOUR_NAMES, NUM_COLOURS

# Offsets after the S moves, in the order of `action_ranges`.
BUY: Final = 0
SELL: Final = BUY + 1
BUILD: Final = SELL + NUM_COLOURS
TAKE: Final = BUILD + NUM_COLOURS
CONSOLIDATE: Final = TAKE + NUM_COLOURS
END_TURN: Final = CONSOLIDATE + 1
NUM_OTHER_ACTIONS: Final = END_TURN + 1


def mask_dtype(num_sites: int) -> np.dtype[Any]:
    """One game's action mask as kernels write it: the same bytes as `num_sites` + 15 bool.

    Each entry of `eights` holds 8 flags, from the first on. `last` holds the last 8, some of which may be in `eights` too.
    """
    last = num_sites + NUM_OTHER_ACTIONS - 8
    fields: Any = {
        "names": ["eights", "last"],
        "formats": [(np.int64, (-(-last // 8),)), np.int64],
        "offsets": [0, last],
        "itemsize": last + 8,
    }
    return record_dtype(fields)


def eight_flags() -> np.ndarray:
    """The bits of every byte as 8 flags, lowest bit first: (256,) int64, where the bytes of each entry are 8 bool."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    return bits.view(np.int64).ravel()


def action_ranges(num_sites: int) -> dict[str, range]:
    """The action numbers of each kind of action, in order."""
    sizes = {"move": num_sites, "buy": 1, "sell": NUM_COLOURS, "build": NUM_COLOURS, "take": NUM_COLOURS}
    sizes |= {"consolidate": 1, "end_turn": 1}
    ranges, start = {}, 0
    for kind, size in sizes.items():
        ranges[kind] = range(start, start + size)
        start += size
    return ranges


def action_names(board: Board) -> tuple[str, ...]:
    """The names of all actions on `board`, by number: `move:<site>`, `buy`, `sell:<colour>` …"""
    arguments = {"move": [site.name for site in board.sites]}
    arguments |= {kind: list(COLOUR_NAMES) for kind in ("sell", "build", "take")}
    return tuple(
        f"{kind}:{arguments[kind][index]}" if kind in arguments else kind
        for kind, numbers in action_ranges(board.num_sites).items()
        for index in range(len(numbers))
    )
