"""Ensembles: several `zero` nets side by side as one net, whose outputs are the means of theirs.

Nets that differ only in the seed of their training err in different ways, so their mean errs less. An ensemble reads a position
once for all its members. Everything that takes a net takes an ensemble, but for learners: these train single nets.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bombay_agents.nets.files import check
from bombay_agents.nets.zero.net import ZeroNet

MAX_MEMBERS = 8


def ensemble(nets: Sequence[ZeroNet]) -> ZeroNet:
    """One net of several. Margins are averaged, and so are the logarithms of win shares before they are scaled to sum to 1.

    Args:
        nets: 2 to 8 nets of the same widths, slots and share weight, trained on the same rules and board, none of them an
            ensemble.
    Raises:
        ValueError: they differ in one of these, or their number is out of range.
    """
    check(2 <= len(nets) <= MAX_MEMBERS, f"an ensemble of {len(nets)} nets; it must have from 2 to {MAX_MEMBERS}")
    first = nets[0]
    for number, net in enumerate(nets[1:], start=2):
        for what, mine, theirs in zip(
            ("widths", "slots", "share weight", "games"), _kind(net), _kind(first), strict=True
        ):
            check(mine == theirs, f"net {number} of the ensemble has other {what} than net 1")
    check(all(net.members == 1 for net in nets), "a member of the ensemble is an ensemble itself")
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


def _kind(net: ZeroNet) -> tuple[Any, ...]:
    """What the members of an ensemble have in common."""
    return net.units, net.slots, net.share_weight, [net.about.get(name) for name in ("rules", "board")]


def _about(nets: Sequence[ZeroNet]) -> Mapping[str, Any]:
    """The games of the first net, and the training of each."""
    games = {name: nets[0].about[name] for name in ("rules", "board") if name in nets[0].about}
    trained = [net.about.get("training") for net in nets]
    counts = [entry.get("games") if isinstance(entry, dict) else None for entry in trained]
    total = {"games": sum(counts)} if all(isinstance(count, int) for count in counts) else {}
    return {**games, "training": {"algorithm": "ensemble", "members": trained, **total}}
