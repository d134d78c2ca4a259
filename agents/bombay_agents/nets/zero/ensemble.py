"""Ensembles: several `zero` nets side by side as one net, which averages their outputs.

Nets trained with different seeds make different errors, which averaging can reduce. The features of a position are computed once
for all members. Players and searches take an ensemble like a single net; training runs do not.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bombay_agents.nets.files import check
from bombay_agents.nets.zero.net import MAX_HIDDEN, MAX_MEMBERS, ZeroNet


def ensemble(nets: Sequence[ZeroNet]) -> ZeroNet:
    """One net of several. Margins are averaged, and so are the logarithms of win shares before they are scaled to sum to 1.

    Args:
        nets: 2 to 8 nets of the same widths, slots and share weight, trained on the same rules and board, none of them an
            ensemble. They have at most 1024 hidden units together.
    Raises:
        ValueError: they differ in one of these, one is an ensemble, or a number is out of range.
    """
    check(2 <= len(nets) <= MAX_MEMBERS, f"an ensemble of {len(nets)} nets; it must have from 2 to {MAX_MEMBERS}")
    for number, net in enumerate(nets, start=1):
        check(net.members == 1, f"net {number} of the ensemble is an ensemble itself")
    first = nets[0]
    for number, net in enumerate(nets[1:], start=2):
        for (what, mine), theirs in zip(_kind(net).items(), _kind(first).values(), strict=True):
            check(mine == theirs, f"net {number} of the ensemble has other {what} than net 1")
    hidden, most = len(nets) * first.units[0], f"there may be up to {MAX_HIDDEN}"
    check(hidden <= MAX_HIDDEN, f"{len(nets)} nets of {first.units[0]} hidden units have {hidden} together; {most}")
    count = np.float32(len(nets))
    return ZeroNet(
        first=np.concatenate([net.first for net in nets], axis=1),
        first_bias=np.concatenate([net.first_bias for net in nets]),
        second=np.concatenate([net.second for net in nets]),
        second_bias=np.concatenate([net.second_bias for net in nets]),
        last=np.concatenate([net.last / count for net in nets]),
        last_bias=np.sum([net.last_bias / count for net in nets], axis=0, dtype=np.float32),
        slots=first.slots,
        share_weight=first.share_weight,
        about=_about(nets),
    )


def _kind(net: ZeroNet) -> dict[str, Any]:
    """What the members of an ensemble have in common."""
    games = [net.about.get(name) for name in ("rules", "board")]
    return {
        "widths": net.units,
        "slots": (net.slots, len(net.first)),
        "share weight": net.share_weight,
        "rules or another board": games,
    }


def _about(nets: Sequence[ZeroNet]) -> Mapping[str, Any]:
    """The games of the first net, and the training of each."""
    games = {name: nets[0].about[name] for name in ("rules", "board") if name in nets[0].about}
    trained = [net.about.get("training") for net in nets]
    counts = [entry.get("games") if isinstance(entry, dict) else None for entry in trained]
    total = {"games": sum(counts)} if all(isinstance(count, int) for count in counts) else {}
    return {**games, "training": {"algorithm": "ensemble", "members": trained, **total}}
