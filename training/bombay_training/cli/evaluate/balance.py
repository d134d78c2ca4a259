"""`bombay balance`: is the game fair to every seat."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from bombay_env import Game
from bombay_env.agent import AgentFault
from bombay_env.checks import MAX_SEED
from bombay_training.cli import output, playing
from bombay_training.cli.errors import user_input
from bombay_training.cli.inputs import analysis_module, check_distinct, games_of, player_counts
from bombay_training.cli.learn.training import learn_or_continue
from bombay_training.cli.options import (
    MAX_COUNT,
    Address,
    BoardFile,
    EngineName,
    Json,
    Players,
    Processes,
    RulesFile,
    complete_agent,
)
from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.reports.balance import plan as plans
from bombay_training.reports.balance import retraining
from bombay_training.reports.balance import spec as specs

OWN_GAMES: Final = 20_000  # of each agent in a study of one's own

StudyFile = Annotated[
    Path | None, typer.Argument(help="A study of balance (TOML). Default: the project's own.", show_default=False)
]
Quick = Annotated[bool, typer.Option("--quick", help="The project's small study, for a first look.")]
Tiers = Annotated[
    list[str] | None,
    typer.Option(
        help="A study of your own: an agent that plays every seat, and the number of its games if not --games. Repeat the "
        f"option for more agents. Default: {', '.join(plans.TIERS)}.",
        metavar="SPEC[@GAMES]",
        autocompletion=complete_agent,
    ),
]
Games = Annotated[
    int | None,
    typer.Option(
        help=f"In a study of your own: deals, each played once. Default: {OWN_GAMES}.",
        min=1,
        max=MAX_COUNT,
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        help="In a study of your own: also play the same deals with a field of Rules changed, as in toll=0,2 or "
        "starting_rupees.last=2,3 or starting_rupees.last+1 or starting_rupees=[1,2,2,2], or with several changed together, "
        "as in toll=0;palaces=6. Each changed game has a verdict of its own. Repeat the option for more changes.",
        metavar="FIELD[.INDEX]=V1,V2 or FIELD[.INDEX]+N",
    ),
]
Retrain = Annotated[
    bool,
    typer.Option(
        "--retrain",
        help=f"With --vary and --out: let {retraining.SEEDS} nets learn each changed rule, and as many the given rules, for "
        f"{retraining.MINUTES:g} minutes each.",
    ),
]
OwnSeed = Annotated[int | None, typer.Option(help="The seed of a study of your own. Default: 0.", min=0, max=MAX_SEED)]
ReportFolder = Annotated[
    Path | None,
    typer.Option(
        help="A folder for the results of all games and for report.html, report.md and report.json; one that exists is "
        "continued. Needs the extra `data`."
    ),
]


def balance(
    study: StudyFile = None,
    quick: Quick = False,
    tier: Tiers = None,
    players: Players = "2-5",
    games: Games = None,
    vary: Vary = None,
    retrain: Retrain = False,
    seed: OwnSeed = None,
    rules: RulesFile = None,
    board: BoardFile = None,
    processes: Processes = None,
    engine: EngineName = "local",
    address: Address = None,
    out: ReportFolder = None,
    as_json: Json = False,
) -> None:
    """Study whether the game is fair to every seat: one agent plays all seats, and every rupee is accounted for.

    It plays a study from a file: verdicts, other boards, other starting rupees, changed rules. The project's own takes half an
    hour on two cores, --quick takes minutes. With --tier, --games, --vary, --rules or --board it plays a study of your own
    instead, which has verdicts and changed rules only.

    With --out, every finished game is kept, and the same command continues a study that was stopped.
    """
    with user_input():
        make_data: MakeData
        if tier or vary or rules or board or games is not None:
            if quick or study:
                raise ValueError(
                    "--quick and the file of a study are not for --tier, --games, --vary, --rules and --board"
                )
            planned = _own_settings(games_of(players, rules, board), tier, games or OWN_GAMES, vary or [])
            make_data = functools.partial(_own_data, *planned, seed or 0, out if retrain else None, board, as_json)
        else:
            make_data = _study(study, quick, players, seed)
        if retrain and not (vary and out):
            raise ValueError("--retrain is for --vary, and needs a folder: name one with --out")
        pages = analysis_module("reports.balance.page")
    with playing.open_store(out) as store, playing.open_engine(engine, address, processes) as made:

        def play(part: str, cells: Sequence[Cell]) -> list[Match]:
            matches, ended = playing.play(cells, store, made, as_json, f"{part}: games")
            if ended is not None:
                playing.print_stopped(matches, cells)
                raise ended
            output.report_faults([fault for match in matches for fault in match.faults])
            return matches

        with user_input(AgentFault, ValueError, OSError):
            data = make_data(play)
            if out:
                pages.write_report(out, data)
        output.show(data, pages.tables(data), as_json)
        if not as_json:
            output.say(*data["notes"], *([f"The report is in {out / 'report.html'}"] if out else []))


MakeData = Callable[[plans.Play], dict[str, Any]]


def _study(study: Path | None, quick: bool, players: str, seed: int | None) -> MakeData:
    if study and quick:
        raise ValueError("--quick is a study; name no other")
    if seed is not None:
        raise ValueError("--seed is for a study of your own; the deals of a study from a file follow from its release")
    spec, counts = specs.read_spec(study or (specs.QUICK if quick else specs.STANDARD)), player_counts(players)
    wanted = [count for count in spec.players if count in counts]
    if not wanted:
        raise ValueError(f"--players is {players}; the study has {', '.join(map(str, spec.players))} players")
    studies = analysis_module("reports.balance.study")
    return lambda play: studies.study(spec, play, wanted)


def _own_settings(
    variants: Sequence[Game], specs: Sequence[str] | None, games: int, vary: Sequence[str]
) -> tuple[list[plans.Setting], list[str]]:
    """What a study of one's own plays, and a line for each agent and change that is left out."""
    changes = [change for text in vary for change in plans.parse_changes(text)]
    if specs:
        tiers, notes = [plans.Tier.parse(text, games, MAX_COUNT) for text in specs], list[str]()
        check_distinct([one.spec for one in tiers])
    else:
        tiers, notes = plans.default_tiers(variants[0], games)
    settings, left_out = plans.plan(variants, tiers, changes)
    return settings, [*notes, *left_out]


def _own_data(
    settings: Sequence[plans.Setting],
    notes: Sequence[str],
    seed: int,
    retrained: Path | None,
    board: Path | None,
    quiet: bool,
    play: plans.Play,
) -> dict[str, Any]:
    """The data of a study of one's own; with nets that learn the changed rules if a folder for them is given."""
    matches = play("verdicts", plans.cells(settings, seed))
    data: dict[str, Any] = analysis_module("reports.balance.report").make_report(settings, matches, seed, notes)
    if retrained is None:
        return data
    arms, played = retraining.arms(settings, retrained / "retrained"), []
    for arm in arms:
        for folder, run in arm.runs(board).items():
            learn_or_continue(folder, run, quiet)
        played.append(plans.played(play, "nets that learned the rules", arm.cells(settings[0].games, seed)))
    data["retrained"] = retraining.compare_all(arms, played)
    return data
