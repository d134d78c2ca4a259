"""Learning, matches and their statistics: the names that programs import. The modules behind these names may move.

A name is imported when it is first asked for: some need an extra, and worker processes start faster.
"""

import importlib
from typing import Any, Final

_WHERE: Final = {
    "BombayVecEnv": "learners.ppo.vec_env:BombayVecEnv",
    "Estimate": "matches.intervals:Estimate",
    "Lineup": "matches.lineup:Lineup",
    "Match": "matches.match:Match",
    "Progress": "learners.runs:Progress",
    "SeatRolloutBuffer": "learners.ppo.seat_buffer:SeatRolloutBuffer",
    "WorkerPool": "matches.engines.local:WorkerPool",
    "ZeroSettings": "learners.zero:ZeroSettings",
    "arena": "evaluation.arena",
    "audit": "evaluation.audit:audit",
    "balance_report": "reports.balance.report",
    "balance_plan": "reports.balance.plan",
    "curve": "learners.curve",
    "gate": "evaluation.gate",
    "openspiel": "openspiel",
    "ratings": "evaluation.ratings",
    "resume": "learners.train:resume",
    "run": "matches.run:run",
    "statistics": "matches.statistics",
    "torch_nets": "torch_nets",
    "train": "learners.train:train",
}
__all__ = list(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, found = _WHERE[name].partition(":")
    loaded = importlib.import_module(f"{__name__}.{module}")
    return getattr(loaded, found) if found else loaded
