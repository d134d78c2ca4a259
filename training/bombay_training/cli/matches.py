"""Commands that play matches: `bombay arena`, `run`, `gate`, `verify` and `audit`."""

import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

import bombay_agents
from bombay_env import Game
from bombay_env.record import write_records
from bombay_env.registry import canonical
from bombay_training.cli import options, playing, runner
from bombay_training.cli.options import check_distinct, games_of
from bombay_training.cli.runner import Result, command
from bombay_training.evaluation import audit as audits
from bombay_training.evaluation import gate as gates
from bombay_training.evaluation import verify as verifying
from bombay_training.matches import statistics
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.store import LEAGUE, Store, digest
from bombay_training.matches.study import Study, read_toml, selections
from bombay_training.matches.study import lineups as lineups_of
from bombay_training.rich_tables import cell, new_table

# --- bombay arena and bombay run ---

Format = Literal["1vrest", "2v2", "mixed"]
TITLES: Final[dict[Format, str]] = {"1vrest": "one against the rest", "2v2": "two against two", "mixed": "all together"}
FORMAT = (
    "1vrest: each agent against copies of each other agent. 2v2: each pair of agents, 4 players, all 6 "
    "seatings. mixed: all agents in one game; every selection of them if there are more agents than seats, "
    "repeated if there are fewer. Default: 1vrest, and also mixed for three or more agents at three or more seats."
)
AGAINST = "Play the agents only against copies of this one, one against the rest. Repeat the option for more opponents."
SEATING = (
    "all: each deal in every rotation of a circular order of the line-up, which is drawn for the deal. rotate: each "
    "deal once, in an order of its own; the first agent sits one seat further on from deal to deal; --blocks counts games."
)


@command
def arena(
    agents: Annotated[list[str], options.agents_argument(f"The agents. {options.AGENT_HELP}.")],
    players: options.Players = "4",
    blocks: Annotated[int, options.count("Deals; each is played with every agent in every seat.")] = 100,
    chosen: Annotated[Format | None, typer.Option("--format", help=FORMAT)] = None,
    against: Annotated[list[str] | None, options.agent_option(AGAINST)] = None,
    seating: Annotated[Literal["all", "rotate"], typer.Option(help=SEATING)] = "all",
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    processes: options.Processes = None,
    turn_limit: options.TurnLimit = None,
    out: options.StoreFolder = None,
    records: Annotated[Path | None, options.new_file("A new .jsonl file for the records of all games.")] = None,
) -> Result:
    """Play agents against each other, each deal in several seatings, with confidence intervals over deals.

    An agent that raises, exceeds --turn-limit or plays an illegal action loses that game: its win share is 0 in all its
    seats, the other agents share 1 equally, and mean rupees leave the game out. With 1vrest, the column of faults shows
    those of the agent / those of the rest.

    Ctrl-C ends the play (exit code 130): the results are those of the first deals that were finished. If an agent
    cannot play on, likewise. The JSON object then says "stopped": true. The folder given with --out keeps all finished games.
    """
    games = games_of(players, rules, board)
    agents, against = ([canonical(spec) for spec in specs] for specs in (agents, against or []))
    _check(agents, games, chosen, players, against)
    lineups = [
        Lineup(
            game, seats, blocks, seed, Seating.PAIRS if kind == "2v2" else Seating(seating), kind, records=bool(records)
        )
        for game in games
        for kind, seats in _with_formats(agents, game.num_players, chosen, against)
    ]
    with Store(out) as store, playing.open_engine(processes=processes, turn_limit=turn_limit) as engine:
        played = playing.play(lineups, store, engine, board, partial=True)
    data = _data("arena", played, records=str(records) if records else None)
    groups = {kind: [match for match in played.matches if match.format == kind] for kind in TITLES}
    tables = [
        statistics.results_table(found, TITLES[kind], runner.out.width) for kind, found in groups.items() if found
    ]

    def save() -> Iterator[str]:
        if records:
            count = write_records(records, [record for match in played.matches for record in match.records])
            yield f"written to {records}: {runner.quantity(count, 'record')}"

    return Result(data, tables, save(), played.faults, ended=played.ended)


def _check(agents: list[str], games: list[Game], chosen: Format | None, players: str, against: list[str]) -> None:
    """Raise ValueError for agents that cannot meet in this format."""
    if len(agents) < 2 and not against:
        raise ValueError(f"the arena needs two agents or more, as in: bombay arena greedy random; given: {agents[0]}")
    check_distinct(agents)
    check_distinct(against)
    if against and (chosen not in (None, "1vrest") or set(agents) & set(against)):
        raise ValueError("--against is for --format 1vrest, and names none of the agents before it")
    if chosen == "2v2" and any(game.num_players != 4 for game in games):
        raise ValueError(f"--format 2v2 is for 4 players; --players is {players}")


def _with_formats(
    agents: list[str], num_players: int, chosen: Format | None, against: list[str]
) -> Iterator[tuple[Format, tuple[str, ...]]]:
    """The format and the agents of each line-up for one number of players."""
    if chosen in (None, "1vrest"):
        for one, other in itertools.product(agents, against) if against else itertools.permutations(agents, 2):
            yield "1vrest", (one, *[other] * (num_players - 1))
    if chosen == "2v2":
        for one, other in itertools.combinations(agents, 2):
            yield "2v2", (one, one, other, other)
    if chosen == "mixed" or (chosen is None and not against and min(len(agents), num_players) > 2):
        for selected in selections(agents, num_players):
            yield "mixed", selected


STUDY_DEALS = "Deals of every line-up, in place of those that the study says."


@command
def run(
    file: Annotated[Path, typer.Argument(help="The study: a TOML file.", metavar="STUDY")],
    deals: Annotated[int | None, options.count(STUDY_DEALS)] = None,
    processes: options.Processes = None,
    turn_limit: options.TurnLimit = None,
    engine: options.EngineName = "local",
    address: options.Address = None,
    out: options.StoreFolder = None,
) -> Result:
    """Play a study: the line-ups, seatings and deals of a TOML file.

    With --out, every finished game is kept: a study that was stopped goes on where it was, and more deals continue it. The digest
    at the end is of all results; it is the same wherever the study is played.
    """
    study, text = read_toml(Study, file)
    folder = file.absolute().parent
    lineups = lineups_of(study, folder, deals)
    board = folder / study.board if study.board else None
    with (
        Store(out, text) as store,
        playing.open_engine(engine, address, processes, turn_limit) as players,
    ):
        played = playing.play(lineups, store, players, board, partial=True)
    data = _data("run", played, study=str(file), digest=digest(played.matches))
    table = statistics.results_table(played.matches, str(file), runner.out.width)
    return Result(data, [table], [f"digest {data['digest']}"], played.faults, ended=played.ended)


def _data(name: str, played: playing.Played, **more: Any) -> dict[str, Any]:
    """What a command that plays matches found."""
    matches = [statistics.summary(match) for match in played.matches]
    return {"command": name, **more, "matches": matches, "stopped": played.ended is not None}


# --- bombay gate, verify and audit: their exit code is the answer ---

DELTA = "Gain in win share over par that should almost certainly be accepted."
ALPHA = "Largest probability of accepting an agent that is not better."
BETA = "Largest probability of rejecting, before the last block, an agent that is better by delta."
MAX_BLOCKS = "Most deals, each played for all numbers of players and with the new agent in every seat."
ACCEPT = "If all are the same, let this revision of the project continue the store."


@command
def gate(
    new: Annotated[str, options.agents_argument(f"The new agent. {options.AGENT_HELP}.")],
    old: Annotated[str, options.agents_argument("The agent that it may replace.")],
    players: options.Players = "4",
    delta: Annotated[float, typer.Option(help=DELTA)] = gates.Bounds.delta,
    alpha: Annotated[float, typer.Option(help=ALPHA)] = gates.Bounds.alpha,
    beta: Annotated[float, typer.Option(help=BETA)] = gates.Bounds.beta,
    max_blocks: Annotated[int, options.count(MAX_BLOCKS)] = 1000,
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
    processes: options.Processes = None,
) -> Result:
    """Decide by a match whether a new agent may replace an old one.

    Exit code: 0 if it may, 1 if not, 2 if the old agent loses a game by a fault.

    The new agent plays against copies of the old one. The match ends as soon as a sequential test on the means of blocks has
    decided; its error rates hold however early that is. With several numbers of players the mean win share counts.
    """
    games = games_of(players, rules, board)
    bounds = gates.Bounds(gates.par_of(games), delta, alpha, beta)
    if new == old:
        raise ValueError(f"the new agent and the old one are the same: {new}")
    for spec in (new, old):
        bombay_agents.make(spec)
    playing.prepare_agents((new, old), board)
    most = max_blocks * sum(game.num_players for game in games)
    with WorkerPool(processes) as pool, runner.progress_bar("games at most", most) as advance:
        verdict = gates.gate(games, new, old, bounds, max_blocks, seed, pool, advance)
    data = {"command": "gate", "new": new, "old": old, "seed": seed, **verdict.to_dict()}
    rows = [[row["players"], row["games"], f"{row['win_share']:.3f}", f"{row['par']:.2f}"] for row in data["counts"]]
    table = new_table(f"{new} against copies of {old}", ["players", "games", "win share", "par"], rows)
    lines = [f"win share {verdict.estimate}, valid at any stopping time; par {bounds.par:.3f}", str(verdict)]
    return Result(data, [table], lines, verdict.faults, code=0 if verdict.replaced else 1)


@command
def verify(
    folder: options.GamesFolder = LEAGUE,
    games: Annotated[int, options.count("Games to play again.")] = verifying.GAMES,
    seed: options.Seed = 0,
    processes: options.Processes = None,
    accept: Annotated[bool, typer.Option("--accept", help=ACCEPT)] = False,
) -> Result:
    """Play a sample of the games in a store again and compare the results bit for bit.

    Exit code: 0 if all are the same, 1 if not. Agents of your own are compared by their files, too. Agents that think by the
    clock need not repeat themselves, so their games are left out.
    """
    with playing.open_engine(processes=processes) as engine, runner.progress_bar("games", games) as advance:
        found = verifying.verify(folder, games, seed, engine, advance, accept)
    passed = not found.differences
    data = {"command": "verify", "passed": passed, **dataclasses.asdict(found)}
    verdict = "all are the same" if passed else runner.quantity(len(found.differences), "difference")
    lines = [f"{runner.quantity(found.games, 'game')} played again: {verdict}", *found.differences[:20]]
    lines += [f"left out, because it thinks by the clock: {spec}" for spec in found.left_out]
    lines += [f"played or accepted by revision {found.revision}", f"digest {found.digest}"]
    return Result(data, lines=lines, code=0 if passed else 1)


@command
def audit(
    agent: Annotated[str, options.agents_argument(f"{options.AGENT_HELP}.")],
    players: options.Players = "2-5",
    states: Annotated[int, options.count("Positions to test, over all numbers of players.")] = 400,
    seed: options.Seed = 0,
    rules: options.RulesFile = None,
    board: options.BoardFile = None,
) -> Result:
    """Check that an agent's decisions are legal and do not depend on hidden information.

    Exit code: 0 if it passes, 1 if not, 2 if it cannot be audited. There is no time limit: an agent that hangs also
    hangs the audit.
    """
    with runner.working(f"auditing {agent}"):
        report = audits.audit_in_process(agent, games_of(players, rules, board), states, seed)
    data = {"command": "audit", "agent": agent, **dataclasses.asdict(report)}
    code = {"passed": 0, "failed": 1}.get(report.verdict, 2)
    return Result(data, lines=[cell(f"{agent}: {report}").plain], code=code)
