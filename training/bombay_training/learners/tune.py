"""How the weights of `planner` were found: CMA-ES by self-play, `python -m bombay_training.learners.tune --help`.

Each number of players has weights of its own: what time is worth, above all, is another thing with four trading posts than with
eight. A candidate sits once in each seat against copies of the incumbent and is judged by its mean margin in rupees: less noisy
than wins, and nearly the same in the end. All candidates of a generation play the same deals, and the next generation others.
Now and then the mean of the search plays the incumbent on deals held out for that; it takes its place when it is better by more
than twice the standard error. `planner-v1` has the weights of such runs and keeps them.
"""

import json
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_agents.scripted.planner_weights import WEIGHTS_V1, PlannerWeights, read_weights
from bombay_env import Board, Game, Rules, batch, chance, engine
from bombay_env.jit.kernels import kernel
from bombay_env.state import NOBODY, result_dtype
from bombay_training.extras import missing_extra

TUNING: Final = np.uint64(1101)  # streams of keyed chance: deals that rank candidates,
GATE: Final = np.uint64(1102)  # and held-out deals for challenges
# The initial step of each weight, in its own unit.
SCALES: Final = PlannerWeights(
    action=0.15, idle=1.0, doubt=0.2, doubt_per_turn=0.15, fame=0.15, traffic=0.2, rivals=0.1, crowd=0.2, second=0.15,
    unknown=0.3, scarce=0.3,
)  # fmt: skip


class TuningGames:
    """Plays candidates against the incumbent with one number of players."""

    def __init__(self, num_players: int) -> None:
        self.game = Game(Rules.official(num_players), Board.load())
        self.workspace = planner.new_workspace(self.game)
        self.state = np.zeros(1, self.game.state_dtype)
        self.result = np.zeros(1, result_dtype(num_players, np.int8))

    def margins(self, candidate: PlannerWeights, incumbent: PlannerWeights, seeds: np.ndarray) -> np.ndarray:
        """The mean margin of a candidate over its seatings, for each deal, (deals,) float64 rupees."""
        n = self.game.num_players
        final = np.zeros((len(seeds) * n, n), np.int64)
        play_seatings(seeds, self.game.tables, candidate, incumbent, self.workspace, self.state, self.result, final)
        own = final[np.arange(len(final)), np.arange(len(final)) % n]
        return np.asarray((own - final.mean(axis=1)).reshape(-1, n).mean(axis=1))


@kernel
def play_seatings(seeds, tables, candidate, incumbent, workspace, state, result, final):
    """Play every deal with the candidate in each seat; overwrites `final`, (deals · n, n) rupees at the end."""
    for game in range(len(final)):
        own_seat = game % tables[0].num_players
        play_game(seeds[game // tables[0].num_players], tables[0], candidate, incumbent, own_seat, workspace, state)
        engine.settle(state[0], tables[0], result[0])
        final[game] = result[0].final


@kernel
def play_game(seed, tables, candidate, incumbent, own_seat, workspace, state):
    """Play one deal in `state` (1,), the candidate in one seat and the incumbent in the others."""
    drawn = np.empty(4, np.int64)
    batch.start(state[0], tables, seed, drawn)
    while state[0].current_player != NOBODY:
        weights = candidate if state[0].current_player == own_seat else incumbent
        best = planner.plan_turn(state[0], tables, weights, workspace)
        state[0] = workspace.turn.states[best]
        if workspace.turn.due[best] == turns.RESTOCK_DUE:
            batch.restock(state[0], tables, drawn)


def deals(seed: int, stream: np.uint64, first: int, count: int) -> np.ndarray:
    """The seeds of `count` deals from number `first` on, (count,) uint64."""
    words = np.zeros(count, np.uint64)
    numbers = np.arange(first, first + count, dtype=np.uint64)
    chance.random_words(np.full(count, seed, np.uint64), stream, numbers, words)
    return words


def mean_margin(
    games: TuningGames, candidate: PlannerWeights, incumbent: PlannerWeights, seeds: np.ndarray
) -> tuple[float, float]:
    """The mean margin and its standard error over deals."""
    margins = games.margins(candidate, incumbent, seeds)
    return float(margins.mean()), float(margins.std(ddof=1) / np.sqrt(len(margins)))


def tune(
    out: Annotated[Path, typer.Argument(help="Where the weights are kept (.json); gone on from if it exists.")],
    players: Annotated[int, typer.Option(help="Number of players.", min=2, max=5)] = 4,
    generations: Annotated[int, typer.Option(help="Generations of CMA-ES.", min=1)] = 48,
    population: Annotated[int, typer.Option(help="Candidates a generation.", min=4)] = 12,
    games: Annotated[int, typer.Option(help="Deals a candidate.", min=2)] = 120,
    challenge: Annotated[int, typer.Option(help="Generations between challenges of the incumbent.", min=1)] = 8,
    seed: Annotated[int, typer.Option(help="Of the deals and the search.", min=1)] = 1,
) -> None:
    """Tune the planner's weights for one number of players by self-play; write them down whenever the incumbent is beaten."""
    try:
        incumbent = (read_weights(out) if out.exists() else WEIGHTS_V1)[players]
        try_writing(out)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(" ".join(str(error).split())) from None
    try:
        import cma
    except ImportError as error:
        raise SystemExit(missing_extra("tuning", "tune", error)) from None
    matches = TuningGames(players)
    origin, scales = np.array(incumbent), np.array(SCALES)
    search = cma.CMAEvolutionStrategy(np.zeros(len(origin)), 0.6, {"popsize": population, "seed": seed, "verbose": -9})
    for generation in range(generations):
        points = search.ask()
        seeds = deals(seed, TUNING, generation * games, games)
        candidates = [PlannerWeights(*(origin + scales * point).tolist()) for point in points]
        search.tell(points, [-mean_margin(matches, candidate, incumbent, seeds)[0] for candidate in candidates])
        if (generation + 1) % challenge == 0:
            challenger = PlannerWeights(*(origin + scales * search.result.xfavorite).tolist())
            margin, error = mean_margin(
                matches, challenger, incumbent, deals(seed, GATE, generation * games, 8 * games)
            )
            better = margin > 2 * error
            print(f"generation {generation + 1}: {margin:+.3f} ± {error:.3f} rupees{', taken' * better}", flush=True)
            if better:
                incumbent = challenger
                write_weights(out, players, incumbent)


def try_writing(path: Path) -> None:
    """Raise OSError if the file cannot be written: found out now rather than when there are weights to keep."""
    new = not path.exists()
    with path.open("ab"):
        pass
    if new:
        path.unlink()


def write_weights(path: Path, players: int, weights: PlannerWeights) -> None:
    """Put the weights for one number of players into a file, beside those it has for others."""
    every = {**WEIGHTS_V1, **(read_weights(path) if path.exists() else {}), players: weights}
    data = {str(count): every[count]._asdict() for count in sorted(every)}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(tune)
