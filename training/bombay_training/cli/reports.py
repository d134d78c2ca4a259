"""Commands that rate agents and write pages: `bombay ratings`, `leaderboard`, `card`, `tracks` and `balance`.

They import SciPy and Matplotlib, which takes a second, when they run.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.table import Table

import bombay_agents
from bombay_env import Game, Rules, checks
from bombay_env.agent import check_plays
from bombay_env.files import atomic
from bombay_env.files.forms import check
from bombay_env.registry import canonical
from bombay_training import extras
from bombay_training.cli import options, playing, runner
from bombay_training.cli.options import MAX_COUNT, check_distinct, games_of, player_counts
from bombay_training.cli.runner import Result, command
from bombay_training.cli.training import learn_or_continue, learn_response, new_run
from bombay_training.evaluation.audit import audit_in_process
from bombay_training.learners.best_response import settings_for
from bombay_training.matches import provenance, statistics
from bombay_training.matches import store as stores
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.match import Match
from bombay_training.matches.table import LostGame
from bombay_training.reports.balance import plan as plans
from bombay_training.reports.balance import retraining
from bombay_training.rich_tables import fitting_table, interval

# --- ratings and pages of stores and tracks ---

MODEL = "wins: a conditional logit of win shares. orders: Plackett and Luce's model of all places."
PAGE = "A file for the page (Markdown); a chart with the same name, .png, is written beside it."
ENTRIES = "Folders of `bombay track`, or their files track.json."


@command
def ratings(
    folder: options.GamesFolder = stores.LEAGUE,
    explained: Annotated[Literal["wins", "orders"], typer.Option("--model", help=MODEL)] = "wins",
) -> Result:
    """Rate the agents of a store at each number of players, with effects of seats and intervals over deals.

    An agent that lost more than 1 % of its games by faults is not rated, and games with it are left out.

    The mean rating of the anchors is 0, or, if the store's study has none, of the largest set of agents in which each has beaten
    each, at least through others. `share` is the expected win share against agents of rating 0. `first` is the probability that
    the agent is the best of them.
    The line below a table says whether one rating for each agent explains all line-ups. Where it does not, some
    agents do better or worse against certain others.
    """
    from bombay_training.evaluation import ratings as module

    matches, anchors = stores.read_matches(folder), stores.anchors_of(folder)
    runner.note_changed(folder)
    counts, tables = list[dict[str, Any]](), []
    for game in sorted({match.game: None for match in matches}, key=lambda game: game.num_players):
        group = [match for match in matches if match.game == game]
        found, fit = module.rate(group, module.Model(explained), anchors), module.check_lineups(group)
        counts.append(
            {
                "players": game.num_players,
                "rules": game.rules.to_dict(),
                "board": game.board.name,
                **found.to_dict(),
                "one_rating_explains_all": {"statistic": fit.statistic, "p": fit.p_value},
            }
        )
        notes = [f"test that one rating per agent explains all line-ups: p = {fit.p_value:.3f}"]
        tables.append(_ratings_table(counts[-1], [*notes, statistics.unrated_note(found.unrated)]))
    return Result({"command": "ratings", "model": explained, "counts": counts}, tables)


def _ratings_table(part: dict[str, Any], notes: Sequence[str]) -> Table:
    rows = part["agents"]
    columns = {
        "agent": [row["agent"] for row in rows],
        "rank": [str(row["rank"]) for row in rows],
        "rating [95 %]": [interval(row["rating"], "{:+.2f}") for row in rows],
        "share [95 %]": [interval(row["share"], "{:.3f}") for row in rows],
        "first": [f"{row['rank_probability'][0]:.3f}" for row in rows],
        "faults": [str(row["faults"]) for row in rows],
    }
    title = f"{part['players']} players, {part['games']:,} games of {part['deals']:,} deals"
    return fitting_table(title, columns, ["agent"], ["first", "faults", "share [95 %]"], runner.out.width, notes)


@command
def leaderboard(
    folder: options.GamesFolder = stores.LEAGUE,
    out: Annotated[Path | None, typer.Option(help=PAGE)] = None,
) -> Result:
    """Write the leaderboard of a league: ratings at each number of players, cross tables, the best agent by time limit."""
    if out is not None and out.suffix != ".md":
        raise ValueError(f"--out is {checks.shown_path(out)}; its name must end with .md")
    boards, charts = (extras.load(f"reports.{name}", "analysis", "this") for name in ("leaderboard", "charts"))
    data = boards.league_data(folder)
    runner.note_changed(folder)
    text = boards.page(data, folder, out.with_suffix(".png").name if out else "leaderboard.png")
    if out is not None:
        charts.figures.save_png(charts.ratings(data["counts"]), out.with_suffix(".png"))
        atomic.write_bytes(out, text.encode())
    return Result({"command": "leaderboard", **data}, lines=[f"The leaderboard is in {out}" if out else text])


@command
def tracks(
    entries: Annotated[list[Path], typer.Argument(help=ENTRIES, metavar="ENTRY...")],
    out: Annotated[Path | None, options.new_file("A new file for a picture of the curves (PNG).")] = None,
) -> Result:
    """Summarise entries of tracks by learner, with intervals over seeds and deals, and draw their curves.

    The curve of a learner is the interquartile mean of its scores over seeds, opponents and numbers of players.
    """
    module, charts = (extras.load(f"reports.{name}", "analysis", "this") for name in ("tracks", "charts"))
    curves = module.summary(module.read_entries(entries))
    if out is not None:
        charts.figures.save_png(charts.curves(curves), out)
    return Result({"command": "tracks", "curves": curves}, lines=[module.table(curves)])


# --- bombay card ---

CARD: Final = "card.md"
MINUTES = "Also train a best response to the agent for this many minutes."
LEAGUE = "A store of a league with anchors. Default: the one that comes with the package."
CARD_FOLDER = "A folder for the card and its games; one that exists is continued."


@command
def card(
    agents: Annotated[list[str], options.agents_argument(f"One agent or several. {options.AGENT_HELP}.")],
    players: options.Players = "2-5",
    deals: Annotated[int | None, options.count("Deals of each line-up. Default: those of the league.")] = None,
    states: Annotated[int, options.count("Positions of the audit.")] = 400,
    minutes: Annotated[float | None, typer.Option("--best-response", help=MINUTES, min=0.01)] = None,
    league: Annotated[Path, typer.Option(help=LEAGUE, show_default=False)] = stores.LEAGUE,
    processes: options.Processes = None,
    turn_limit: options.TurnLimit = None,
    out: Annotated[Path | None, typer.Option(help=CARD_FOLDER)] = None,
) -> Result:
    """Make a card of agents: rank in the league, time per turn, faults, audit, and optionally a best response's win share.

    An agent plays with every combination of the league's six anchors, then of four weak agents. Several agents, or checkpoints of
    one, have one card, with the probability that each is better than each other one. An agent that loses more than 1 % of its
    games by faults is not rated. Agents in other languages, or in another Python environment, play as exec:command=….
    """
    from bombay_training.evaluation import card as cards

    study = stores.study_of(league)
    agents = list(map(canonical, agents))
    check_distinct(agents)
    if minutes is not None and len(agents) > 1:
        raise ValueError("--best-response is for a single agent")
    counts = player_counts(players)
    lineups = [lineup for agent in agents for lineup in cards.card_lineups(study, league, agent, counts, deals)]
    games = list(dict.fromkeys(lineup.game for lineup in lineups))
    if minutes is not None and any(game != Game(Rules.official(game.num_players)) for game in games):
        raise ValueError("--best-response is for the official rules on the packaged board, but the league has others")
    sizes = tuple(game.num_players for game in games)
    response = None if minutes is None else new_run(settings_for(agents[0], players=sizes, minutes=minutes))
    page = out and out / CARD
    if page and page.exists() and not page.read_text(encoding="utf-8").startswith(f"{cards.heading(agents)}\n"):
        raise ValueError(f"{checks.shown_path(page)} is the card of other agents; name another folder with --out")
    league_matches, audits = stores.read_matches(league), {}
    runner.note_changed(league)
    with stores.Store(out) as store, playing.open_engine(processes=processes, turn_limit=turn_limit) as engine:
        playing.prepare_agents(playing.players_of(lineups))
        for agent in agents:
            with runner.working(f"auditing {agent}"):
                audits[agent] = audit_in_process(agent, games, states, seed=0)
        played = playing.play(lineups, store, engine)
    data = {"command": "card", **cards.card_data(agents, league_matches, played.matches, audits, study.anchors)}
    runner.report_faults([fault for fault in played.faults if fault.name in agents])
    where = _words_of(study.release, league)

    def written() -> str:
        text = cards.card_page(data, where)
        if page:
            atomic.write_bytes(page, text.encode())
        return text

    text = written()
    if response is not None:  # it may fail or be stopped: then the card is there without it
        data |= {"response_minutes": minutes, "best_response": learn_response(*response)}
        text = written()
    return Result(data, lines=[text, *([f"The card is in {page}"] if page else [])])


def _words_of(release: str | None, folder: Path) -> str:
    """Which league it is."""
    played_by = provenance.read_provenance(folder).revisions
    name = f"the league of release {release}" if release else f"the league in {folder}"
    this = provenance.revision()
    if this in played_by:
        return f"{name}, played or accepted by this revision, {this}"
    return (
        f"{name}, played or accepted by revision {played_by[-1]}; this is {this}, and `bombay verify` compares the two"
    )


# --- bombay balance ---

OWN_GAMES: Final = 20_000  # of each agent in a study of one's own
# The agents of a study without others. `zero` plays rules, too, that it did not learn.
TIERS: Final = ("greedy", "planner-v1", "zero:rounds=0,force=true")
STRONG: Final = ("zero", "zero-search", "champion")  # names of strong agents

STUDY = "A study of balance (TOML). Default: the project's own."
QUICK = "The project's small study, for a first look."
TIER = (
    "A study of your own: an agent that plays every seat, and the number of its games if not --games. Repeat the "
    f"option for more agents. Default: {', '.join(TIERS)}."
)
VARY = (
    "In a study of your own: also play the same deals with a field of Rules changed, as in toll=0,2 or "
    "starting_rupees.last=2,3 or starting_rupees.last+1 or starting_rupees=[1,2,2,2], or with several changed together, "
    "as in toll=0;palaces=6. Each changed game has a verdict of its own. Repeat the option for more changes."
)
VARIED = "FIELD[.INDEX]=V1,V2 or FIELD[.INDEX]+N"
RETRAIN = (
    f"With --vary and --out: let {retraining.SEEDS} nets learn each changed rule, and as many the given rules, for "
    f"{retraining.MINUTES:g} minutes each."
)
OWN_DEALS = f"In a study of your own: deals, each played once. Default: {OWN_GAMES}."
OWN_SEED = "The seed of a study of your own. Default: 0."
REPORT_FOLDER = (
    "A folder for the results of all games and for report.html, report.md and report.json; one that exists is "
    "continued. Needs the extra `data`."
)


@command
def balance(
    study: Annotated[Path | None, typer.Argument(help=STUDY, show_default=False)] = None,
    quick: Annotated[bool, typer.Option("--quick", help=QUICK)] = False,
    tier: Annotated[list[str] | None, options.agent_option(TIER, metavar="SPEC[@GAMES]")] = None,
    players: options.Players = "2-5",
    games: Annotated[int | None, options.count(OWN_DEALS)] = None,
    vary: Annotated[list[str] | None, typer.Option(help=VARY, metavar=VARIED)] = None,
    retrain: Annotated[bool, typer.Option("--retrain", help=RETRAIN)] = False,
    seed: Annotated[int | None, typer.Option(help=OWN_SEED, min=0, max=checks.MAX_SEED)] = None,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    processes: options.Processes = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    out: Annotated[Path | None, typer.Option(help=REPORT_FOLDER)] = None,
) -> Result:
    """Study whether the game is fair to every seat: one agent plays all seats, and every rupee is accounted for.

    It plays a study from a file: verdicts, other boards, other starting rupees, changed rules. The project's own takes about
    an hour on two cores, --quick takes minutes. With --tier, --games, --vary, --rules or --board it plays a study of your own
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
        planned, variants = _study(study, quick, seed, players)
        notes = []
    studies, pages = (extras.load(f"reports.balance.{name}", "analysis", "this") for name in ("study", "page"))
    faults = list[LostGame]()
    with stores.Store(out) as store, playing.open_engine(engine, address, processes) as made:

        def play(part: str, lineups: Sequence[Lineup]) -> list[Match]:
            played = playing.play(lineups, store, made, board, f"{part}: games")
            faults.extend(played.faults)
            return played.matches

        data = studies.play_study(planned, variants, play, seed, notes)
        if retrain and out:
            settings, _ = plans.plan(planned, variants)
            folder, deals = out / "retrained", data["seed"]
            data["retrained"] = retraining.play_retrained(settings, folder, board, deals, learn_or_continue, play)
        if out:
            pages.write_report(out, data)
    written = [f"The report is in {out / 'report.html'}"] if out else []
    return Result(data, pages.tables(data), [*data["notes"], *written], faults)


def _study(study: Path | None, quick: bool, seed: int | None, players: str) -> tuple[plans.Study, list[Game]]:
    """A study from a file, and its games with these numbers of players. Raises ValueError if it has none."""
    if study and quick:
        raise ValueError("--quick is a study; name no other")
    if seed is not None:
        raise ValueError("--seed is for a study of your own; the deals of a study from a file follow from its release")
    read, counts = plans.read_study(study or (plans.QUICK if quick else plans.STANDARD)), player_counts(players)
    found = [Game(Rules.official(count)) for count in read.players if count in counts]
    if not found:
        raise ValueError(f"--players is {players}; the study has {', '.join(map(str, read.players))} players")
    return read, found


def own_study(
    games: Sequence[Game], tiers: Sequence[str], deals: int, vary: Sequence[str]
) -> tuple[plans.Study, list[str]]:
    """The study of the options, and a line for each default agent that cannot play on the board.

    Raises:
        ValueError: a tier is not `SPEC` or `SPEC@GAMES`, or as `plans.plan`.
    """
    chosen, notes = [_tier(text, deals) for text in tiers or TIERS], list[str]()
    for tier in [] if tiers else list(chosen):
        try:
            check_plays(bombay_agents.make(tier["agent"]), games[0])
        except ValueError as error:
            chosen.remove(tier)
            notes.append(f"{tier['agent']} is left out: {error}")
    study = check(plans.Study, {"tiers": chosen, "what_ifs": {"changes": list(vary)} if vary else None}, "the study")
    plans.plan(study, games)  # raises
    return study, notes


def _tier(text: str, games: int) -> dict[str, Any]:
    """The fields of a `plans.Tier`."""
    found = re.fullmatch(r"(.+)@(\d{1,19})", text, re.ASCII)  # any other @ belongs to an option
    spec, number = (found[1], int(found[2])) if found else (text, games)
    checks.whole_number(number, f"the number of games in --tier {checks.shown(text)}", 1, MAX_COUNT)
    return {"agent": spec, "games": number, "strong": spec.partition(":")[0] in STRONG}
