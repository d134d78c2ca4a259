"""Plays a study of balance part by part, and gathers what each part shows as plain JSON types.

All games go through the one runner, so a study that was stopped goes on. Deals follow from the release: those of the report, on
which nothing is chosen, and development deals, on which starting rupees are chosen.
"""

from collections.abc import Sequence
from typing import Any

from bombay_env import Game
from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.reports.balance.boards import play_boards
from bombay_training.reports.balance.plan import Play, Study, cells, plan, without_faults
from bombay_training.reports.balance.recorded import play_luck, play_recorded
from bombay_training.reports.balance.repair import play_repair
from bombay_training.reports.balance.report import make_report


def play_study(
    study: Study, games: Sequence[Game], play: Play, seed: int | None = None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Play a study.

    Args:
        study: the study.
        games: one for each number of players.
        play: plays cells, and gives the match of each.
        seed: of the deals of the report, in place of the study's.
        notes: lines for the report.

    Returns:
        The report as `make_report` gives it, with the games of all parts and a key for each further part of the study.

    Raises:
        AgentFault: an agent did not answer with a legal action.
        ValueError: an agent, a rule or a board is not valid.
    """
    seed, counts = study.seed() if seed is None else seed, dict[str, int]()  # of games by cell, which parts may share

    def counted(part: str, wanted: Sequence[Cell]) -> list[Match]:
        for cell in wanted:
            counts[cell.id] = max(counts.get(cell.id, 0), cell.num_games)
        return play(part, wanted)

    settings, left_out = plan(study, games)
    matches = counted("verdicts", cells(settings, seed))
    without_faults(
        [match for setting, match in zip(settings, matches, strict=True) if setting.tier.agent in study.others]
    )
    data = make_report(settings, matches, seed, [*notes, *left_out])
    if study.boards:
        data["boards"] = play_boards(study, games, counted, seed)
    if study.repair:
        data["repair"] = play_repair(study, games, counted, seed)
    if study.luck:
        data["luck"] = play_luck(study.luck, games, counted, seed)
    if study.recorded:
        data["recorded"] = play_recorded(study.recorded, games, counted, seed)
    return data | {"games": sum(counts.values())}
