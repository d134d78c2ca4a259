"""`bombay balance`: is the game fair to every seat."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

import bombay_agents
from bombay_env import Game, Rules, checks
from bombay_env.agent import check_plays
from bombay_env.checks import MAX_SEED
from bombay_env.files.forms import check
from bombay_training.cli import options, output, playing
from bombay_training.cli.inputs import analysis_module, games_of, player_counts
from bombay_training.cli.learn.training import learn_or_continue
from bombay_training.cli.options import MAX_COUNT
from bombay_training.cli.runner import Result, command
from bombay_training.matches.cells import Cell
from bombay_training.matches.results import Match
from bombay_training.reports.balance import plan as plans
from bombay_training.reports.balance import retraining

OWN_GAMES: Final = 20_000  # of each agent in a study of one's own
# The agents of a study without others. `zero` plays rules, too, that it did not learn.
TIERS: Final = ("greedy", "planner-v1", "zero:rounds=0,force=true")
STRONG: Final = ("zero", "zero-search", "champion")  # names of strong agents

STUDY = "A study of balance (TOML). Default: the project's own."
TIER = (
    "A study of your own: an agent that plays every seat, and the number of its games if not --games. Repeat the "
    f"option for more agents. Default: {', '.join(TIERS)}."
)
VARY = (
    "In a study of your own: also play the same deals with a field of Rules changed, as in toll=0,2 or "
    "starting_rupees.last=2,3 or starting_rupees.last+1 or starting_rupees=[1,2,2,2], or with several changed together, "
    "as in toll=0;palaces=6. Each changed game has a verdict of its own. Repeat the option for more changes."
)
RETRAIN = (
    f"With --vary and --out: let {retraining.SEEDS} nets learn each changed rule, and as many the given rules, for "
    f"{retraining.MINUTES:g} minutes each."
)
OUT = (
    "A folder for the results of all games and for report.html, report.md and report.json; one that exists is "
    "continued. Needs the extra `data`."
)
Tiers = Annotated[
    list[str] | None, typer.Option(help=TIER, metavar="SPEC[@GAMES]", autocompletion=options.complete_agent)
]
Vary = Annotated[list[str] | None, typer.Option(help=VARY, metavar="FIELD[.INDEX]=V1,V2 or FIELD[.INDEX]+N")]
OwnGames = Annotated[
    int | None, options.count(f"In a study of your own: deals, each played once. Default: {OWN_GAMES}.")
]
OwnSeed = Annotated[int | None, typer.Option(help="The seed of a study of your own. Default: 0.", min=0, max=MAX_SEED)]


@command
def balance(
    study: Annotated[Path | None, typer.Argument(help=STUDY, show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The project's small study, for a first look.")] = False,
    tier: Tiers = None,
    players: options.Players = "2-5",
    games: OwnGames = None,
    vary: Vary = None,
    retrain: Annotated[bool, typer.Option("--retrain", help=RETRAIN)] = False,
    seed: OwnSeed = None,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    processes: options.Processes = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    out: Annotated[Path | None, typer.Option(help=OUT)] = None,
) -> Result:
    """Study whether the game is fair to every seat: one agent plays all seats, and every rupee is accounted for.

    It plays a study from a file: verdicts, other boards, other starting rupees, changed rules. The project's own takes half an
    hour on two cores, --quick takes minutes. With --tier, --games, --vary, --rules or --board it plays a study of your own
    instead, which has verdicts and changed rules only.

    With --out, every finished game is kept, and the same command continues a study that was stopped.
    """
    if retrain and not (vary and out):
        raise ValueError("--retrain is for --vary, and needs a folder: name one with --out")
    if tier or vary or rules or board or games is not None:
        if quick or study:
            raise ValueError("--quick and the file of a study are not for --tier, --games, --vary, --rules and --board")
        variants, seed = games_of(players, rules, board), seed or 0
        planned, notes = own_study(variants, tier or [], games or OWN_GAMES, vary or [])
    else:
        planned, notes = _study(study, quick, seed), []
        variants = _variants(planned, players)
    studies, pages = (analysis_module(f"reports.balance.{name}") for name in ("study", "page"))
    with playing.open_store(out) as store, playing.open_engine(engine, address, processes) as made:

        def play(part: str, cells: Sequence[Cell]) -> list[Match]:
            played = playing.play(cells, store, made, board, f"{part}: games")
            played.end_if_stopped()
            output.report_faults(played.faults)
            return played.matches

        data = studies.play_study(planned, variants, play, seed, notes)
        if retrain and out:
            settings, _ = plans.plan(planned, variants)
            folder, deals = out / "retrained", data["seed"]
            data["retrained"] = retraining.play_retrained(settings, folder, board, deals, learn_or_continue, play)
        if out:
            pages.write_report(out, data)
    written = [f"The report is in {out / 'report.html'}"] if out else []
    return Result(data, pages.tables(data), [*data["notes"], *written])


def _study(study: Path | None, quick: bool, seed: int | None) -> plans.Study:
    if study and quick:
        raise ValueError("--quick is a study; name no other")
    if seed is not None:
        raise ValueError("--seed is for a study of your own; the deals of a study from a file follow from its release")
    return plans.read_study(study or (plans.QUICK if quick else plans.STANDARD))


def _variants(study: plans.Study, players: str) -> list[Game]:
    """The study's games with these numbers of players. Raises ValueError if it has none."""
    counts = player_counts(players)
    found = [Game(Rules.official(count)) for count in study.players if count in counts]
    if not found:
        raise ValueError(f"--players is {players}; the study has {', '.join(map(str, study.players))} players")
    return found


def own_study(
    games: Sequence[Game], tiers: Sequence[str], deals: int, vary: Sequence[str]
) -> tuple[plans.Study, list[str]]:
    """The study of the options, and a line for each default agent that cannot play on the board.

    Raises:
        ValueError: a tier is not `SPEC` or `SPEC@GAMES`, or as `plans.check_study`.
    """
    chosen, notes = [_tier(text, deals) for text in tiers or TIERS], list[str]()
    for tier in [] if tiers else list(chosen):
        try:
            check_plays(bombay_agents.make(tier["agent"]), games[0])
        except ValueError as error:
            chosen.remove(tier)
            notes.append(f"{tier['agent']} is left out: {error}")
    what_ifs = {"changes": list(vary)} if vary else None
    study = check(plans.Study, {"tiers": chosen, "what_ifs": what_ifs}, "the study")
    plans.check_study(study, games)
    return study, notes


def _tier(text: str, games: int) -> dict[str, Any]:
    """The fields of a `plans.Tier`."""
    spec, at, number = text.rpartition("@")
    if not (at and number.isascii() and number.isdigit()):  # any other @ belongs to an option
        spec, number = text, str(games)
    if not (len(number) < 20 and 1 <= int(number) <= MAX_COUNT):
        allowed = f"after @ it takes a number of games from 1 to {MAX_COUNT}, as in greedy@400"
        raise ValueError(f"--tier is {checks.shown(text)}; {allowed}")
    return {"agent": spec, "games": int(number), "strong": spec.partition(":")[0] in STRONG}
