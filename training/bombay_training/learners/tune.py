"""How the weights of `planner` are tuned: CMA-ES by self-play; `bombay tune`.

Each number of players has its own weights: above all the value of time differs between maps with four and with eight trading
posts. A candidate sits once in each seat against copies of the incumbent. It is ranked by its mean margin in rupees, which is
less noisy than wins and nearly the same in the end. All candidates of a generation play the same deals, and each generation
plays new ones. Now and then the mean of the search plays the incumbent on held-out deals, and replaces it if it is better by
more than two standard errors. The weights of `planner-v1` come from such runs and are frozen.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.scripted import planner
from bombay_agents.scripted.planner_weights import WEIGHTS_V1, PlannerWeights, read_weights
from bombay_env import Board, Game, Rules, batch, chance, engine
from bombay_env.files import atomic
from bombay_env.jit.kernels import kernel
from bombay_env.state import NOBODY, result_dtype

TUNING: Final = np.uint64(1101)  # streams of keyed chance: deals that rank candidates,
GATE: Final = np.uint64(1102)  # and held-out deals for challenges
GATE_FACTOR: Final = 8  # deals of a challenge for each deal of a candidate; every challenge has new ones
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
    tuning_games: TuningGames, candidate: PlannerWeights, incumbent: PlannerWeights, seeds: np.ndarray
) -> tuple[float, float]:
    """The mean margin and its standard error over deals."""
    margins = tuning_games.margins(candidate, incumbent, seeds)
    return float(margins.mean()), float(margins.std(ddof=1) / np.sqrt(len(margins)))


class Challenge(NamedTuple):
    """One match of the search's mean against the incumbent."""

    generation: int
    margin: float  # mean rupees of the challenger
    error: float  # its standard error
    accepted: bool


def tune(
    path: Path,
    players: int,
    generations: int,
    population: int,
    games: int,
    challenge: int,
    seed: int,
    progress: Callable[[int], None] = lambda generations: None,
) -> Iterator[Challenge]:
    """Tune the planner's weights for one number of players, and write them to a file whenever the incumbent is beaten.

    Args:
        path: the file of weights (.json). If it exists, the weights in it are the first incumbent.
        players: their number.
        generations: of CMA-ES.
        population: candidates per generation.
        games: deals per candidate.
        challenge: generations between two challenges of the incumbent; the last generation is followed by one too.
        seed: of the deals and the search.
        progress: called with 1 after each generation.

    Yields:
        every challenge.
    Raises:
        ImportError: the package `cma` is not installed.
        ValueError: the file holds no weights.
        OSError: it cannot be read or written.
    """
    import cma

    incumbent = first_weights(path)[players]
    tuning_games = TuningGames(players)
    origin, scales = np.array(incumbent), np.array(SCALES)
    search = cma.CMAEvolutionStrategy(np.zeros(len(origin)), 0.6, {"popsize": population, "seed": seed, "verbose": -9})
    challenges = 0
    for generation in range(generations):
        points = search.ask()
        seeds = deals(seed, TUNING, generation * games, games)
        candidates = [PlannerWeights(*(origin + scales * point).tolist()) for point in points]
        search.tell(points, [-mean_margin(tuning_games, candidate, incumbent, seeds)[0] for candidate in candidates])
        progress(1)
        if (generation + 1) % challenge == 0 or generation + 1 == generations:
            challenger = PlannerWeights(*(origin + scales * search.result.xfavorite).tolist())
            held_out = deals(seed, GATE, challenges * GATE_FACTOR * games, GATE_FACTOR * games)
            margin, error = mean_margin(tuning_games, challenger, incumbent, held_out)
            challenges += 1
            better = margin > 2 * error
            if better:
                incumbent = challenger
                write_weights(path, players, incumbent)
            yield Challenge(generation + 1, margin, error, better)


def first_weights(path: Path) -> dict[int, PlannerWeights]:
    """The weights to start from, by number of players: those in the file, or those of `planner-v1` if there is none.

    Raises:
        ValueError: the file holds no weights.
        OSError: it cannot be read or written. Checked before there are weights to keep.
    """
    weights = read_weights(path) if path.exists() else WEIGHTS_V1
    try_writing(path)
    return dict(weights)


def try_writing(path: Path) -> None:
    """Raise OSError if the file cannot be written."""
    new = not path.exists()
    with path.open("ab"):
        pass
    if new:
        path.unlink()


def write_weights(path: Path, players: int, weights: PlannerWeights) -> None:
    """Write the weights for one number of players to a file, and keep those for other numbers."""
    every = {**WEIGHTS_V1, **(read_weights(path) if path.exists() else {}), players: weights}
    data = {str(count): every[count]._asdict() for count in sorted(every)}
    atomic.write_bytes(path, (json.dumps(data, indent=1) + "\n").encode())
