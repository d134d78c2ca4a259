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
COLUMNS: Final = ("what", "target", "measured", "result")


def table(targets: Sequence[Row], results: Sequence[Row] = ()) -> str:
    """A row for each target: what was measured, and whether that is enough; dashes if nothing was measured yet.

    Args:
        targets: each has `what`. One with `match` is compared with the results that have all entries of `match`: the lower ends
            must be at least `low`, or the upper ends at most `high`. Another has `target`, `measured` and `passed`.
        results: matches with their entry `win_share`.
    """
    rows = []
    for target in targets:
        limit, measured, passed = _compared(target, results) if "match" in target else _stated(target)
        rows.append([target["what"], limit, measured or "–", VERDICTS[passed]])
    return markdown.table(COLUMNS, rows, left=COLUMNS)


def _stated(target: Row) -> tuple[str, str | None, bool | None]:
    return target["target"], target["measured"], target["passed"]


def _compared(target: Row, results: Sequence[Row]) -> tuple[str, str | None, bool | None]:
    """The target as text, what was measured, and whether it is reached by all results that match."""
    found = [row["win_share"] for row in results if target["match"].items() <= row.items()]
    end, sign = ("low", 1) if "low" in target else ("high", -1)
    limit = f"{'at least' if sign > 0 else 'at most'} {target[end]:.2f}"
    if not found:
        return limit, None, None
    worst = min(found, key=lambda share: sign * share[end])
    seeds = f", worst of {len(found)} seeds" if len(found) > 1 else ""
    measured = f"{worst['mean']:.3f} [{worst['low']:.3f}, {worst['high']:.3f}]{seeds}"
    return limit, measured, sign * worst[end] >= sign * target[end]
