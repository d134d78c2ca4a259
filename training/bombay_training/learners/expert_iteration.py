"""Expert iteration: TD learns from games in which a search with the current net, the expert, chooses every turn.

The expert is `flat-mc`: it compares the turns that the planner ranks highest by rollouts to the end of the set, where the net
evaluates the position. The net learns as in `td/self_play.py`, with one difference: the value of the end of a turn is, for win
shares, the mean of its rollouts instead of the net's own output. So the net learns what the expert finds by searching. A run
starts from the weights of an existing net; a match decides whether the new net is better (`evaluation/gate.py`).

A game is a function of the run's seed, the game's number and the net. Games are played in parallel threads.
"""

import dataclasses
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, ClassVar, Final

import numba
import numpy as np

from bombay_agents import make, turns
from bombay_agents.nets import value_features, value_net
from bombay_agents.nets.value_net_agent import ValueNetAgent
from bombay_agents.search import flat_mc
from bombay_agents.search.flat_mc import FlatMonteCarloAgent
from bombay_env import Game, batch, chance
from bombay_env.jit.kernels import kernel, long_kernel
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS
from bombay_env.state import NOBODY
from bombay_training.learners.best_response import games_learned_from
from bombay_training.learners.runs import require, require_whole
from bombay_training.learners.td.run import TDRun, TDSettings
from bombay_training.learners.td.self_play import (
    CHOICE,
    EXPLORES,
    GAMES,
    TO_UNIT,
    GameGenerator,
    note_restock,
    set_targets,
    write_down,
)

LUCK: Final = np.uint64(3004)  # stream of keyed chance: what the teacher's rollouts draw
CANDIDATES: Final = 8
WHOLE_SET: Final = 100  # rounds, more than a set has


@dataclasses.dataclass(frozen=True)
class ExpertIterationSettings(TDSettings):
    """Everything that decides a run; see `settings_for`. `blend` is not used: the expert maximises win shares."""

    learner: ClassVar[str] = "expert"

    games: int = 16
    """Games per update over all player counts; rounded down to the same number for each."""
    batch_size: int = 128
    """Positions per gradient step. Games are slow, so an update has few of them."""
    learning_rate: float = 1e-3
    """Adam's learning rate at the start."""
    start: str = "td"
    """Spec of the value-net agent whose weights the run starts from."""
    rollouts: int = 64
    """The expert's rollouts per turn."""

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, if a setting is out of range."""
        super().__post_init__()
        require_whole(self, "rollouts", low=1, high=flat_mc.MAX_ROLLOUTS)
        require(self, "start", holds=lambda spec: isinstance(spec, str), allowed="the spec of a value-net agent")


def settings_for(start: str, **options: Any) -> ExpertIterationSettings:
    """Settings of a run that starts from a net and has its width.

    Args:
        start: spec of the value-net agent.
        options: other fields of `ExpertIterationSettings`; None means not given.
    Raises:
        ValueError: `start` is no value-net agent, or a setting is out of range.
    """
    given = {name: value for name, value in options.items() if value is not None}
    return ExpertIterationSettings(start=start, hidden=net_of(start).net.hidden, **given)


def net_of(spec: str) -> ValueNetAgent:
    """The value-net agent of a spec.

    Raises:
        ValueError: the spec names another kind of agent.
    """
    agent = make(spec)
    if not isinstance(agent, ValueNetAgent):
        raise ValueError(f"start is {spec!r}; it must be a value-net agent, such as td or net:path=agent.safetensors")
    return agent


# --- games ---


class SelfPlayWorker:
    """What a thread needs to play games of one kind.

    Args:
        game: of that kind.
        student: the net's player; the teacher asks the net that it holds at the time.
        rollouts: of the teacher, a turn.
    """

    def __init__(self, game: Game, student: ValueNetAgent, rollouts: int) -> None:
        self.game = game
        self.teacher = FlatMonteCarloAgent(
            rollouts=rollouts, k=CANDIDATES, rounds=WHOLE_SET, restock=False, value=student
        )
        self.turn = self.teacher.prepare(game)
        net = self.teacher.candidates.rollout.evaluator.net
        assert net is not None  # a value net's player has one
        self.net, self.scales, self.work = net.net, net.scales, net.work
        self.raw, self.reader = value_features.new_readers(game, 1)  # a round ahead, however far the student looks
        self.state = np.zeros(1, game.state_dtype)
        self.reading = game.as_readings(self.state)
        self.drawn = np.empty(NUM_COLOURS, np.int64)

    def play(self, seed: np.uint64, epsilon: float, td_lambda: float, samples: np.ndarray) -> int:
        """Play a game and write down what it teaches. Returns the number of samples."""
        tables, state = self.game.tables, self.state
        batch.start(state[0], tables[0], seed, self.drawn)
        count, move = 0, 0
        while state["current_player"][0] != NOBODY:
            place, best = self.choose(seed, np.uint64(move), epsilon)
            candidates = self.teacher.candidates
            found = candidates.total[[place, best]] / candidates.num_rollouts[[place, best], None]
            node, other = self.nodes_of(place, best)
            count = end_turn_of(
                state, self.reading, tables, self.game.lookups, self.net, self.scales, self.turn.memory,
                self.turn.states, node, other, found, self.raw, self.reader, self.work, self.drawn, samples, count,
            )  # fmt: skip
            turns.check_count(count)
            move += 1
        teach(state, tables, np.float32(td_lambda), self.work, samples, count)
        return int(count)

    def choose(self, seed: np.uint64, move: np.uint64, epsilon: float) -> tuple[int, int]:
        """The teacher's candidate to play, and the best: another where the mover explores."""
        seen = self.state[0].copy()
        seen["seed"] = 0
        best = self.teacher.best_candidate(self.game, seen, np.uint64(chance.random_word(seed, LUCK, move)))
        if float(chance.random_word(seed, EXPLORES, move)) * TO_UNIT >= epsilon:
            return best, best
        return int(chance.random_word(seed, CHOICE, move)) % self.teacher.num_candidates, best

    def nodes_of(self, *places: int) -> list[int]:
        """The nodes of candidates in `turn`, where the turn is laid out anew."""
        count = turns.check_count(turns.enumerate_turn(self.state[0], self.game.tables[0], self.turn))
        outcomes = self.teacher.candidates.outcomes[list(places)]
        outcomes["seed"] = self.state["seed"][0]
        return [turns.find_state(self.turn, count, outcome) for outcome in outcomes]


@long_kernel
def end_turn_of(
    states, readings, tables, lookups, net, scales, memory, nodes, node, best, found,
    raw, reader, work, drawn, samples, count,
):  # fmt: skip
    """`end_turn` of what stands in arrays of one, as kernels take it from outside."""
    return end_turn(
        states, readings, tables[0], lookups[0], net[0], scales, memory[0], nodes, node, best, found,
        raw[0], reader[0], work[0], drawn, samples, count,
    )  # fmt: skip


@kernel
def end_turn(
    states, readings, tables, lookups, net, scales, memory, nodes, node, best, found,
    raw, reader, work, drawn, samples, count,
):  # fmt: skip
    """Play the turn at `states[0]`, laid out in `memory`, to the outcome at `node` and write its end down behind `count` samples.

    `nodes` are the states in `memory`. `found`, (2, MAX_PLAYERS), are the shares that rollouts found for the outcome and for the
    best, at node `best`, which is played for in the seat's last turn. Returns the number of samples then, or `turns.TOO_MANY`.
    """
    n, seat = np.int64(tables.num_players), np.int64(states[0].current_player)
    sample = samples[count]
    value_features.clear_cache(reader)
    if not value_net.ask_ahead(memory.node[best], tables, lookups, seat, net, scales, raw, reader, work):
        return np.int64(turns.TOO_MANY)
    # In the last of the seat's turns there is nothing to find out about.
    explored = node != best and not value_features.end_ahead(reader)
    chosen = node if explored else best
    if explored:
        sample.best_margin[:] = work.margin
        by_place(found[1], seat, n, sample.best_share)
        if not value_net.ask_ahead(memory.node[chosen], tables, lookups, seat, net, scales, raw, reader, work):
            return np.int64(turns.TOO_MANY)
    if not value_features.end_ahead(reader):
        by_place(found[0] if explored else found[1], seat, n, work.share)
        write_down(sample, n, seat, explored, raw, reader, work)
        count += 1
    restock_due = memory.node[chosen].due == turns.RESTOCK_DUE
    states[0] = nodes[chosen]
    if restock_due:
        note_restock(
            states, readings, np.int64(0), tables, lookups, net, scales, raw, reader, work, drawn, samples[count]
        )  # fmt: skip
        count += 1
    return count


@kernel
def by_place(shares, seat, n, out):
    """Overwrite `out` with the shares of `n` seats, `seat` first."""
    for place in range(n):
        out[place] = shares[(seat + place) % n]


@kernel
def teach(states, tables, td_lambda, work, samples, count):
    """Overwrite what the samples of a game that is over expected with what they teach."""
    value_net.answer_over(states[0], tables[0], np.int64(0), work[0])
    set_targets(np.int64(tables[0].num_players), td_lambda, work[0], samples, count)


class ExpertPlay(GameGenerator):
    """Games whose turns the teacher chooses."""

    def __init__(self, games: Sequence[Game], each: int, student: ValueNetAgent, rollouts: int) -> None:
        super().__init__(games, each)
        self.student, self.rollouts = student, rollouts
        self.desks: list[list[SelfPlayWorker]] = [[] for _ in games]  # by kind of game, one a thread

    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play games `first` and on of each number of players; `blend` is not used."""
        threads = 1 if numba.config.DISABLE_JIT else min(self.each, numba.get_num_threads())
        for number, game in enumerate(self.games):
            desks = self.desks[number]
            while len(desks) < threads:
                desks.append(SelfPlayWorker(game, self.student, self.rollouts))
            free: SimpleQueue[SelfPlayWorker] = SimpleQueue()
            for desk in desks[:threads]:
                desk.net[:] = net
                free.put(desk)

            def play_one(
                lane: int, game: Game = game, number: int = number, free: SimpleQueue[SelfPlayWorker] = free
            ) -> None:
                index = np.uint64((first + lane) * MAX_PLAYERS + game.num_players - 1)
                seed = np.uint64(chance.random_word(np.uint64(key), GAMES, index))
                desk = free.get()
                try:
                    self.counts[number, lane] = desk.play(seed, epsilon, td_lambda, self.samples[number, lane])
                finally:
                    free.put(desk)

            pool = ThreadPoolExecutor(threads)
            try:
                for done in [pool.submit(play_one, lane) for lane in range(self.each)]:
                    done.result()
            finally:
                pool.shutdown(cancel_futures=True)  # of an exception or Ctrl-C, what has not begun
        return self.written()


# --- The run ---


class ExpertIterationRun(TDRun):
    """A run of TD whose games the expert plays.

    Raises:
        ValueError: the net to start from is for other games, or its width is not `hidden`.
    """

    settings_class: ClassVar[type[TDSettings]] = ExpertIterationSettings
    settings: ExpertIterationSettings

    def __init__(self, settings: ExpertIterationSettings) -> None:
        self.student = net_of(settings.start)
        self.games_before = games_learned_from(settings.start) or 0
        width = self.student.net.hidden
        if width != settings.hidden:
            raise ValueError(f"hidden is {settings.hidden}; the net of {settings.start} has {width}")
        super().__init__(settings)
        for game in self.games:
            self.student.evaluator(game)  # raises ValueError if the net is for other games
        for net in (self.learner.net, self.learner.average):
            net[:] = self.student.net.record()

    def make_generator(self) -> GameGenerator:
        """The expert's games, with memory for their training samples."""
        return ExpertPlay(self.games, self.games_each, self.student, self.settings.rollouts)

    def references(self) -> tuple[str, ...]:
        """The agent that it starts from."""
        return (self.settings.start,)

    def about(self) -> dict[str, Any]:
        """How the net was trained, for its file; `games` include those of the net that it started from."""
        about = super().about()
        return {
            **about,
            "algorithm": "expert iteration: TD(λ) on rollouts",
            "start": self.settings.start,
            "rollouts": self.settings.rollouts,
            "games": about["games"] + self.games_before,
        }

    def player(self) -> ValueNetAgent:
        """The agent that plays with `net`; it looks as far ahead as the one it started from."""
        return ValueNetAgent(self.net(), rounds=self.student.rounds)

    def identity_parts(self) -> list[str]:
        """The features, and the net that it starts from: another net under the same spec makes another run."""
        weights = hashlib.sha256(self.student.net.record().tobytes()).hexdigest()
        return [*super().identity_parts(), weights, str(self.student.rounds)]
