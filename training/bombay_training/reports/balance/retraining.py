"""A changed rule among players that learned it: several nets learn the given rules, as many the changed ones.

Each net then plays the same deals in all seats, by the rules that it learned. The nets of the given rules are the placebo: what
one net does differently from the next is not an effect of the rule. So the unit is the net: `compare_all` tests whether the two
groups of nets differ by more than nets of one group do.
"""

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bombay_env.files import atomic
from bombay_training.learners.zero.run import ZeroSettings
from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.reports.balance.plan import Setting, cell_of

SEEDS: Final = 5  # nets of each rules
MINUTES: Final = 3.0
NO_SPREAD: Final = 1e-9
AGENT: Final = "net:path=[{}],rounds=0"
RULES: Final = "rules.json"


@dataclasses.dataclass(frozen=True)
class Arm:
    """The nets of one variant.

    Args:
        setting: the variant; its change is empty for the given rules.
        folder: of the runs, seed-0 and so on.
    """

    setting: Setting
    folder: Path

    def runs(self, board: Path | None) -> dict[Path, ZeroSettings]:
        """The settings of the runs, by their folders. Writes the rules. Raises OSError if they cannot be written."""
        game, path = self.setting.game, self.folder / RULES
        self.folder.mkdir(parents=True, exist_ok=True)
        rules = {name: value for name, value in game.rules.to_dict().items() if name != "num_players"}
        atomic.write_bytes(path, json.dumps(rules).encode())
        return {
            self.folder / f"seed-{seed}": ZeroSettings(
                players=(game.num_players,),
                minutes=MINUTES,
                seed=seed,
                rules=str(path),
                board=None if board is None else str(board),
            )
            for seed in range(SEEDS)
        }

    def cells(self, games: int, seed: int) -> list[Cell]:
        """Each net in all seats on the same deals."""
        nets = [self.folder / f"seed-{number}" / "agent.safetensors" for number in range(SEEDS)]
        return [cell_of(self.setting.game, AGENT.format(net), games, seed) for net in nets]


def arms(settings: Sequence[Setting], folder: Path) -> list[Arm]:
    """An arm for each variant of the settings of a study, whatever their agents; those of one game follow each other."""
    found: dict[tuple[int, str], Arm] = {}
    for setting in settings:
        players = setting.game.num_players
        digest = hashlib.sha256(json.dumps(setting.game.rules.to_dict(), sort_keys=True).encode()).hexdigest()[:8]
        name = f"{'changed' if setting.change else 'given'}-{digest}"
        found.setdefault((players, setting.change), Arm(setting, folder / f"{players}-players-{name}"))
    return list(found.values())


def _compare(given: Sequence[Match], changed: Sequence[Match]) -> dict[str, Any]:
    """What a changed rule does to win shares, by Welch's t test of the nets, as plain JSON types.

    Returns:
        For each seat the mean shares of both groups and the change with its 95 % interval; and the smallest p value of any seat,
        multiplied by the number of seats. None for the bounds and p where no net differs from another.
    """
    from scipy import stats  # which takes a second to import; the command needs the numbers above for its help

    before, after = (np.array([match.win_share.mean(axis=0) for match in part]) for part in (given, changed))
    rows, smallest = [], list[float]()
    for seat, (old, new) in enumerate(zip(before.T, after.T, strict=True)):
        low = high = None
        if np.ptp(old) > NO_SPREAD or np.ptp(new) > NO_SPREAD:
            found = stats.ttest_ind(new, old, equal_var=False)
            low, high = map(float, found.confidence_interval())
            smallest.append(float(found.pvalue))
        change = {"mean": float(new.mean() - old.mean()), "low": low, "high": high}
        rows.append({"seat": seat, "given": float(old.mean()), "changed": float(new.mean()), "change": change})
    seats = 1 if len(rows) == 2 else len(rows)  # two seats mirror each other
    return {"seats": rows, "p": min(1.0, seats * min(smallest)) if smallest else None}


def compare_all(arms: Sequence[Arm], matches: Sequence[Sequence[Match]]) -> list[dict[str, Any]]:
    """The comparison of each changed arm with that of the given rules, as plain JSON types; `matches` of each arm."""
    rows = []
    for arm, played in zip(arms, matches, strict=True):
        if not arm.setting.change:
            given = played
            continue
        rows.append(
            {
                "players": arm.setting.game.num_players,
                "change": arm.setting.change,
                "nets": len(played),
                "minutes": MINUTES,
                "games": played[0].num_games,
                **_compare(given, played),
            }
        )
    return rows
