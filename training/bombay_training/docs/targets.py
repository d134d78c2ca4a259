"""Targets and what was measured, from `data/targets.json`.

A target of strength that is a win share names a match of the ladder, of a study or of a best response. What was measured is then
read from the saved results, and the end of the interval that is nearer to failure decides. Other targets hold what was measured
as text.
"""

from collections.abc import Sequence
from typing import Any, Final

from bombay_training.docs import markdown

Row = dict[str, Any]

VERDICTS: Final = {True: "pass", False: "**miss**", None: "–"}
SAME: Final = ("learner", "minutes", "players", "agent", "rest")  # of matches that differ in the seed of the run
COLUMNS: Final = ("what", "target", "measured", "result")


def table(targets: Sequence[Row], results: Sequence[Row] = ()) -> str:
    """A row for each target: what was measured, and whether that is enough; dashes if nothing was measured yet.

    Args:
        targets: each has `what`. One with `match` is compared with the results that have all entries of `match`: the lower ends
            must be at least `low`, or the upper ends at most `high`, or the means of runs that differ in their seeds only at most
            `spread` apart. If they differ in something else, `over` says in what. Another has `target`, `measured` and `passed`.
        results: matches with their entry `win_share`.
    """
    rows = []
    for target in targets:
        found = [row for row in results if target.get("match", {}).items() <= row.items()]
        if "spread" in target:
            limit, measured, passed = _spread(target, found)
        elif "match" in target:
            limit, measured, passed = _compared(target, found)
        else:
            limit, measured, passed = _stated(target)
        rows.append([target["what"], limit, measured or "–", VERDICTS[passed]])
    return markdown.table(COLUMNS, rows, left=COLUMNS)


def _stated(target: Row) -> tuple[str, str | None, bool | None]:
    return target["target"], target["measured"], target["passed"]


def _compared(target: Row, results: Sequence[Row]) -> tuple[str, str | None, bool | None]:
    """The target as text, what was measured, and whether it is reached by all results that match."""
    found = [row["win_share"] for row in results]
    end, sign = ("low", 1) if "low" in target else ("high", -1)
    decimals = 2 if round(target[end], 2) == target[end] else 3
    limit = f"{'at least' if sign > 0 else 'at most'} {target[end]:.{decimals}f}"
    if not found:
        return limit, None, None
    worst = min(found, key=lambda share: sign * share[end])
    others = f", worst of {len(found)} {target.get('over', 'seeds')}" if len(found) > 1 else ""
    measured = f"{worst['mean']:.3f} [{worst['low']:.3f}, {worst['high']:.3f}]{others}"
    return limit, measured, sign * worst[end] >= sign * target[end]


def _spread(target: Row, results: Sequence[Row]) -> tuple[str, str | None, bool | None]:
    """The target as text, how far the seeds of a match are apart at most, and whether that is little enough."""
    seeds: dict[tuple[Any, ...], list[float]] = {}
    for row in results:
        seeds.setdefault(tuple(row[key] for key in SAME), []).append(row["win_share"]["mean"])
    spreads = [max(means) - min(means) for means in seeds.values() if len(means) > 1]
    limit = f"at most {target['spread']:.2f}"
    if not spreads:
        return limit, None, None
    return limit, f"{max(spreads):.3f} (largest of {len(spreads)})", max(spreads) <= target["spread"]
