"""A changed rule among players that learned it: several nets learn the given rules, as many the changed ones.

Each net then plays the same deals in all seats, by the rules that it learned. The nets of the given rules are the placebo: what
one net does differently from the next is not an effect of the rule. So the unit is the net: Welch's t test tells whether the two
groups of nets differ by more than nets of one group do.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from bombay_env.files import atomic
from bombay_training.learners.runs.run import without_faults
from bombay_training.learners.zero import ZeroSettings
from bombay_training.reports.balance.plan import Play, Setting, lineup_of

SEEDS: Final = 5  # nets of each rules
MINUTES: Final = 3.0
NO_SPREAD: Final = 1e-9
AGENT: Final = "net:path=[{}],rounds=0"

Learn = Callable[[Path, ZeroSettings], None]  # begins or continues the run in a folder


def play_retrained(
    settings: Sequence[Setting], folder: Path, board: Path | None, seed: int, learn: Learn, play: Play
) -> list[dict[str, Any]]:
    """What each changed rule does to the win shares of nets that learned it, as plain JSON types.

    The nets are kept in the folder. Raises OSError if it cannot be written.
    """
    shares, rows = dict[tuple[int, str], np.ndarray](), list[dict[str, Any]]()
    for setting in settings:
        players, change, games = setting.game.num_players, setting.change, settings[0].games
        if (players, change) in shares:  # of another agent
            continue
        lineups = []
        for run, options in _runs(setting, folder, board):
            learn(run, options)
            lineups.append(lineup_of(setting.game, AGENT.format(run / "agent.safetensors"), games, seed))
        matches = [without_faults(match) for match in play("nets that learned the rules", lineups)]
        shares[players, change] = np.array([match.win_share.mean(axis=0) for match in matches])
        if change:
            about = {"players": players, "change": change, "nets": SEEDS, "minutes": MINUTES, "games": games}
            rows.append(about | compare(shares[players, ""], shares[players, change]))
    return rows


def _runs(setting: Setting, folder: Path, board: Path | None) -> Iterator[tuple[Path, ZeroSettings]]:
    """The folders and settings of the runs that learn a variant. Writes its rules."""
    rules, players = setting.game.rules.to_dict(), setting.game.num_players
    digest = hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()[:8]
    folder = folder / f"{players}-players-{'changed' if setting.change else 'given'}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    path, other = str(folder / "rules.json"), None if board is None else str(board)
    atomic.write_bytes(Path(path), json.dumps({name: rules[name] for name in rules if name != "num_players"}).encode())
    for seed in range(SEEDS):
        options = ZeroSettings(players=(players,), minutes=MINUTES, seed=seed, rules=path, board=other)
        yield folder / f"seed-{seed}", options


def compare(before: np.ndarray, after: np.ndarray) -> dict[str, Any]:
    """A changed rule compared with the given ones, by mean win shares (nets, n) of both groups of nets.

    Returns:
        For each seat the mean shares of both groups and the change with its 95 % interval; and the smallest p value of any seat,
        multiplied by the number of seats. None for the bounds and p where no net differs from another.
    """
    from scipy import stats  # which takes a second to import; the command needs the numbers above for its help

    seats, p_values = [], list[float]()
    for seat, (old, new) in enumerate(zip(before.T, after.T, strict=True)):
        given, changed, low, high = float(old.mean()), float(new.mean()), None, None
        if np.ptp(old) > NO_SPREAD or np.ptp(new) > NO_SPREAD:
            found = stats.ttest_ind(new, old, equal_var=False)
            low, high = map(float, found.confidence_interval())
            p_values.append(float(found.pvalue))
        bounds = {"mean": changed - given, "low": low, "high": high}
        seats.append({"seat": seat, "given": given, "changed": changed, "change": bounds})
    tests = 1 if len(seats) == 2 else len(seats)  # two seats mirror each other
    return {"seats": seats, "p": min(1.0, tests * min(p_values)) if p_values else None}
