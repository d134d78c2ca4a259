"""Best response: `zero` learns to beat copies of one frozen agent, the victim. What it wins shows how exploitable the victim is.

The learner has one seat of each game, every seat equally often; copies of the victim have the others. Everything but the games is
as in `zero/run.py`: samples are the ends of all turns, with λ-returns along them, for every seat. The victim's turns are among
them, because the response's net also values turns of the others when it looks ahead. Any agent can be the victim. It acts by
`act` for a batch of games, on copies with other seeds. A response starts from the weights of a trained `zero` net, that of the
victim if it is one, since a weak response would prove nothing.
"""

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, ClassVar, Final, NamedTuple

import numba
import numpy as np
from pydantic import Field

from bombay_agents import make, turns
from bombay_agents.nets.value import evaluator
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.nets.value.net import ValueNet
from bombay_env import Game, batch, engine, streams
from bombay_env.agent import AgentContext, Blame, ask
from bombay_env.jit.kernels import CONFIG, kernel, piece_kernel
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY
from bombay_training.evaluation import arena
from bombay_training.learners.runs.run import without_faults
from bombay_training.learners.runs.settings import Fraction, LearningRate, setting
from bombay_training.learners.zero.run import ZeroRun, ZeroSettings, net_of
from bombay_training.learners.zero.self_play import (
    CHUNKS,
    PlayOptions,
    SelfPlay,
    play_turn,
    set_final_targets,
    store_sample,
)
from bombay_training.matches.store import digest

VICTIM_GAMES: Final = 2  # whose results show that the victim of a resumed run still plays as it did
COPIES: Final = 8  # of the victim, each of which plays its own lanes, whatever the number of threads


@dataclasses.dataclass(frozen=True)
class BestResponseSettings(ZeroSettings):
    """Everything that decides a run; see `settings_for`."""

    learner: ClassVar[str] = "best-response"
    run: ClassVar[str] = "bombay_training.learners.best_response:BestResponseRun"
    help: ClassVar[str] = (
        "Train a best response by `zero` to copies of a frozen agent, to find out how exploitable it is.\n\n"
        "By default it starts from the victim's weights if that is a value net, else from those of `zero`, with the widths of "
        "that net. It learns from as many games as the victim did, if the victim's file says how many and neither minutes, "
        "updates nor decisions are given."
    )

    learning_rate: LearningRate = setting(
        2e-4,
        "Adam's highest learning rate: small, as the net to start from has learned. From random weights, the default of `zero`.",
    )
    epsilon: Fraction = setting(
        0.05, "The ε of ε-greedy play at the start: the probability that the learner takes a random outcome."
    )
    victim: Annotated[str, Field(min_length=1, title="the spec of an agent")] = setting(
        "", "The frozen agent to respond to, such as greedy, zero:rounds=0 or module:object."
    )


def settings_for(victim: str, start: str | None = None, **options: Any) -> BestResponseSettings:
    """Settings for a victim. Its kind decides what is not given: where the response starts, and the number of games.

    A response starts from the victim's weights if that plays by a value net, else from those of `zero`. It learns from at least
    as many games as the victim did, if the victim's file records that number. The net to start from decides the widths.

    Args:
        victim: its spec.
        start: spec of a value-net agent, or empty for random weights; None for the default.
        options: other fields of `BestResponseSettings`; None means not given.
    Raises:
        ValueError: there is no such agent, `start` has no value net, or a setting is out of range.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if start is None:
        made = make(victim)
        start = victim if isinstance(made, ValueNetAgent) else "zero"
    if start:
        hidden, second = net_of(start).units
        given = {"hidden": hidden, "second": second} | given
    else:
        given = {"learning_rate": ZeroSettings.learning_rate} | given
    settings = BestResponseSettings(victim=victim, start=start, **given)
    games = games_of(victim)
    if games and not {"minutes", "updates", "decisions"} & set(given):
        games_per_update = settings.games - settings.games % len(settings.players)
        settings = dataclasses.replace(settings, updates=-(-games // games_per_update))
    return settings


def games_of(agent: str) -> int | None:
    """The number of games that a value net learned from; None if the agent is no value net or its file does not say.

    The file of a run that started from another net has only the games of this run, so it does not say.
    """
    made = make(agent)
    training = made.net.about.get("training") if isinstance(made, ValueNetAgent) else None
    games = training.get("games") if isinstance(training, dict) and "start" not in training else None
    return games if isinstance(games, int) and games > 0 else None


# --- The victim ---


class FrozenOpponent:
    """Copies of the victim, which decide in threads, each for its own lanes.

    Args:
        spec: of the agent.
    Raises:
        ValueError: there is no such agent, or it thinks for a given time, so that no run could be repeated.
    """

    def __init__(self, spec: str) -> None:
        self.spec, self.who = spec, f"victim {spec!r}"
        self.pool: ThreadPoolExecutor | None = None  # kept between decisions, because threads start slowly
        self.renew()
        if getattr(self.agents[0], "ms", None) is not None:
            raise ValueError(f"the victim {spec} thinks by the clock; give it a budget in rollouts or nodes")

    def renew(self) -> None:
        """Create the copies again, so that nothing they remember influences later games."""
        self.agents = [make(self.spec) for _ in range(COPIES)]

    def actions(
        self, game: Game, states: np.ndarray, lanes: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Decide once in these lanes of `states`. Returns the lanes in another order, and a legal action for each.

        Raises:
            AgentFault: the victim raised or chose an illegal action.
        """
        parts = [lanes[lanes % COPIES == number] for number in range(COPIES)]
        seeds = rng.integers(1 << 63, size=COPIES)

        def decide(number: int) -> np.ndarray:
            context = AgentContext.drawn(np.random.default_rng(seeds[number]), parts[number].size)
            return ask(self.agents[number], game, states[parts[number]], context, self.who)

        due = [number for number in range(COPIES) if parts[number].size]
        threads = 1 if CONFIG.DISABLE_JIT else min(COPIES, numba.get_num_threads())
        if threads == 1:
            actions = [decide(number) for number in due]
        else:
            self.pool = self.pool or ThreadPoolExecutor(threads)
            actions = list(self.pool.map(decide, due))
        return np.concatenate([parts[number] for number in due]), np.concatenate(actions)


# --- Games ---


class ResponseGames(NamedTuple):
    """Games that run side by side, one a lane."""

    states: np.ndarray  # (lanes,) records
    seeds: np.ndarray  # (lanes,) uint64
    moves: np.ndarray  # (lanes,) uint64, turns that the learner has played
    samples: np.ndarray  # (lanes, most) of `self_play.sample_dtype`
    counts: np.ndarray  # (lanes,) int64, samples so far; `turns.TOO_MANY` where a turn does not fit in memory


class ResponsePlay(SelfPlay):
    """Plays games of one learner against copies of a victim; see `SelfPlay`."""

    def __init__(self, games: list[Game], each: int, hidden: int, second: int, victim: FrozenOpponent) -> None:
        super().__init__(games, each, hidden, second)
        self.victim = victim

    def play(self, net: np.ndarray, key: int, first: int, options: PlayOptions) -> np.ndarray:
        """See `SelfPlay`. Raises AgentFault if the victim raised or chose an illegal action."""
        with Blame(self.victim.who):
            self.victim.renew()
        return super().play(net, key, first, options)

    def play_games(self, number: int, net: np.ndarray, key: int, first: int, options: PlayOptions) -> None:
        """Play the games of one player count; the learner of game g has seat g modulo the number of players."""
        game, counts = self.games[number], self.counts[number]
        counts[:] = 0
        seeds = self.seeds(number, key, first, streams.RESPONSE_DEALS)
        states, moves = np.asarray(game.new_states(seeds)), np.zeros(self.each, np.uint64)
        games = ResponseGames(states, seeds, moves, self.samples[number], counts)
        common = games, game.tables, net, options, self.workspaces
        seats = np.arange(first, first + self.each) % game.num_players
        rng = np.random.default_rng((key, first, game.num_players))
        while (running := states["current_player"] != NOBODY).any():
            own = np.flatnonzero(running & (states["current_player"] == seats))
            if own.size:
                play_response_piece(CHUNKS, own, *common)
                turns.check_count(counts.min())
            else:  # all games wait for the victim, so that it decides for the largest batch
                play_victim_piece(CHUNKS, *self.victim.actions(game, states, np.flatnonzero(running), rng), *common)


@piece_kernel
def play_response_piece(chunk, lanes, games, tables, net, options, workspaces):
    """Play the learner's turn in a chunk of some lanes and store its samples."""
    workspace = workspaces[chunk]
    drawn = np.empty(NUM_COLOURS, np.int64)
    for number in batch.lanes_of(chunk, len(workspaces), len(lanes)):
        lane = lanes[number]
        workspace.current.state = games.states[lane]
        sample = games.samples[lane, games.counts[lane]]
        if not play_turn(games.seeds[lane], games.moves[lane], tables[0], net[0], options, workspace, sample, drawn):
            games.counts[lane] = turns.TOO_MANY
            continue
        games.moves[lane] += np.uint64(1)
        games.counts[lane] += workspace.current.state.current_player != NOBODY
        put_back(games, lane, tables[0], options, workspace)


@piece_kernel
def play_victim_piece(chunk, lanes, actions, games, tables, net, options, workspaces):
    """Take the victim's actions in a chunk of some lanes, and store a sample where a turn ends."""
    workspace = workspaces[chunk]
    drawn = np.empty(NUM_COLOURS, np.int64)
    memory, node = workspace.memory, workspace.current
    for number in batch.lanes_of(chunk, len(workspaces), len(lanes)):
        lane = lanes[number]
        node.state = games.states[lane]
        seat = np.int64(node.state.current_player)
        workspace.decisions[0] += 1
        restock_due = engine.apply(node.state, tables[0], actions[number])
        turn_over = restock_due or node.state.current_player != seat
        if turn_over and node.state.current_player != NOBODY:
            sample = games.samples[lane, games.counts[lane]]
            evaluator.clear_cache(memory)
            place = evaluator.value_position(node, tables[0], seat, net[0], memory)
            store_sample(tables[0], seat, place, memory, sample)
            sample.explored = False
            games.counts[lane] += 1
        if restock_due:
            batch.restock(node.state, tables[0], drawn)
        put_back(games, lane, tables[0], options, workspace)


@kernel
def put_back(games, lane, tables, options, workspace):
    """Store the state of a lane's game; if it is over, replace what its samples expected by their targets."""
    games.states[lane] = workspace.current.state
    if workspace.current.state.current_player == NOBODY:
        set_final_targets(tables, options.td_lambda, workspace, games.samples[lane], games.counts[lane])


# --- The run ---


class BestResponseRun(ZeroRun):
    """A run of `zero` whose games are against a victim."""

    settings_class: ClassVar[type[ZeroSettings]] = BestResponseSettings
    settings: BestResponseSettings

    def make_generator(self) -> SelfPlay:
        """Games against the victim, with memory for their training samples."""
        settings = self.settings
        return ResponsePlay(
            self.games, self.games_each, settings.hidden, settings.second, FrozenOpponent(settings.victim)
        )

    def references(self) -> tuple[str, ...]:
        """The victim."""
        return (self.settings.victim,)

    def about(self) -> dict[str, Any]:
        """How the response was trained, for its file."""
        algorithm = "TD(λ) on all outcomes of turns, against frozen copies"
        return {**super().about(), "algorithm": algorithm, "victim": self.settings.victim}

    def identity_parts(self) -> list[str]:
        """Digests of the features and of the victim's decisions: another agent under the same spec makes another run."""
        victim = self.settings.victim
        matches = [arena.run_fixed_seats(game, [victim] * game.num_players, VICTIM_GAMES) for game in self.games]
        return [*super().identity_parts(), *(digest([without_faults(match)]) for match in matches)]


def budgets(agent: str | os.PathLike[str], victim: str) -> dict[str, int | None]:
    """The number of games that the response in a file and its victim learned from; None where the victim's is unknown."""
    return {
        "games": ValueNet.load(agent).about["training"]["games"],
        "victim_games": games_of(victim),
    }
