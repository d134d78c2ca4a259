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
from typing import Any, ClassVar, Final, NamedTuple

import numba
import numpy as np

from bombay_agents import make, turns
from bombay_agents.nets import value_features, value_net_turns
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
    finish_turn,
    new_workspaces,
    set_final_targets,
)

LUCK: Final = np.uint64(3004)  # stream of keyed chance: keys of the expert's rollouts
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


class Choice(NamedTuple):
    """The expert's choice in a turn; nodes are those of the turn as it is laid out in memory."""

    node: int  # the outcome to play for, another than the best if the mover explores
    best: int  # the outcome that did best in rollouts
    share: np.ndarray  # (MAX_PLAYERS,) float64, mean share of each seat in the rollouts of `node`
    best_share: np.ndarray  # (MAX_PLAYERS,) float64, the same for `best`


class SelfPlayWorker:
    """Plays games of one player count on one thread.

    Args:
        game: of that player count.
        student: the player with the net; the expert uses the weights in `net` at the time.
        rollouts: of the expert, per turn.
    """

    def __init__(self, game: Game, student: ValueNetAgent, rollouts: int) -> None:
        self.game = game
        self.expert = FlatMonteCarloAgent(
            rollouts=rollouts, k=CANDIDATES, rounds=WHOLE_SET, restock=False, value=student
        )
        self.expert.prepare(game)
        net = self.expert.candidates.rollout.evaluator.net
        assert net is not None  # a value net's player has one
        self.net = net.net
        self.workspace = new_workspaces(game, student.net.hidden, 1)
        self.turn = turns.workspace_in(self.workspace["turn"]["memory"])
        self.state = self.workspace["current"]["state"]  # (1,), where the game stands

    def play(self, seed: np.uint64, epsilon: float, td_lambda: float, samples: np.ndarray) -> int:
        """Play a game and store its samples. Returns their number."""
        tables, lookups, workspace = self.game.tables, self.game.lookups, self.workspace
        batch.start(self.state[0], tables[0], seed, np.empty(NUM_COLOURS, np.int64))
        count, move = 0, 0
        while self.state["current_player"][0] != NOBODY:
            candidate, best = self.choose(seed, np.uint64(move), epsilon)
            found = self.expert.candidates
            share, best_share = found.total[[candidate, best]] / found.num_rollouts[[candidate, best], None]
            choice = Choice(*self.nodes_of(candidate, best), share, best_share)
            count = turns.check_count(play_choice(choice, tables, lookups, self.net, workspace, samples, count))
            move += 1
        set_worker_targets(tables, np.float32(td_lambda), workspace, samples, count)
        return int(count)

    def choose(self, seed: np.uint64, move: np.uint64, epsilon: float) -> tuple[int, int]:
        """The expert's candidates to play and best of all; they differ where the mover explores."""
        seen = self.state[0].copy()
        seen["seed"] = 0
        best = self.expert.best_candidate(self.game, seen, np.uint64(chance.random_word(seed, LUCK, move)))
        if float(chance.random_word(seed, EXPLORES, move)) * TO_UNIT >= epsilon:
            return best, best
        return int(chance.random_word(seed, CHOICE, move)) % self.expert.num_candidates, best

    def nodes_of(self, *candidates: int) -> list[int]:
        """Lay out the turn and return the nodes of some candidates."""
        count = turns.check_count(turns.enumerate_turn(self.state[0], self.game.tables[0], self.turn))
        outcomes = self.expert.candidates.outcomes[list(candidates)]
        outcomes["seed"] = self.state["seed"][0]
        return [turns.find_state(self.turn, count, outcome) for outcome in outcomes]


@long_kernel
def play_choice(choice, tables, lookups, net, workspaces, samples, count):
    """Play the turn that is laid out in `workspaces[0]` and store its samples after the first `count`.

    Plays for the best outcome if the game is over at its leaf: it is the seat's last turn. Returns the number of samples then, or
    `turns.TOO_MANY`.
    """
    workspace = workspaces[0]
    evaluation, memory = workspace.turn.evaluation, workspace.turn.memory
    features, forward = evaluation.features, evaluation.forward
    n, seat = np.int64(tables[0].num_players), np.int64(workspace.current.state.current_player)
    value_features.clear_cache(features)
    best = memory.node[choice.best]
    if not value_net_turns.evaluate_after(best, tables[0], lookups[0], seat, net[0], evaluation):
        return np.int64(turns.TOO_MANY)
    explored = choice.node != choice.best and not value_features.leaf_is_over(features)
    after = memory.node[choice.node if explored else choice.best]
    if explored:
        samples[count].best_margin[:] = forward.margin
        rotate_shares(choice.best_share, seat, n, samples[count].best_share)
        if not value_net_turns.evaluate_after(after, tables[0], lookups[0], seat, net[0], evaluation):
            return np.int64(turns.TOO_MANY)
    if not value_features.leaf_is_over(features):
        rotate_shares(choice.share if explored else choice.best_share, seat, n, forward.share)
    return finish_turn(after, explored, tables[0], lookups[0], net[0], workspace, samples, count)


@kernel
def rotate_shares(shares, viewer, n, out):
    """Overwrite the first `n` of `out` with the shares of `n` seats in seat order from the viewer."""
    for place in range(n):
        out[place] = shares[(viewer + place) % n]


@kernel
def set_worker_targets(tables, td_lambda, workspaces, samples, count):
    """Replace what the first `count` samples expected by their targets; the game is over."""
    set_final_targets(tables[0], td_lambda, workspaces[0], samples, count)


class ExpertPlay(GameGenerator):
    """Plays games in which the expert chooses every turn."""

    def __init__(self, games: Sequence[Game], each: int, student: ValueNetAgent, rollouts: int) -> None:
        super().__init__(games, each)
        self.student, self.rollouts = student, rollouts
        self.workers: list[list[SelfPlayWorker]] = [[] for _ in games]  # by player count, one a thread

    def play(self, net: np.ndarray, key: int, first: int, blend: float, epsilon: float, td_lambda: float) -> np.ndarray:
        """Play the games numbered from `first` on; `blend` is not used."""
        threads = 1 if numba.config.DISABLE_JIT else min(self.each, numba.get_num_threads())
        for number, game in enumerate(self.games):
            workers = self.workers[number]
            while len(workers) < threads:
                workers.append(SelfPlayWorker(game, self.student, self.rollouts))
            free: SimpleQueue[SelfPlayWorker] = SimpleQueue()
            for worker in workers[:threads]:
                worker.net[:] = net
                free.put(worker)

            def play_one(
                lane: int, game: Game = game, number: int = number, free: SimpleQueue[SelfPlayWorker] = free
            ) -> None:
                index = np.uint64((first + lane) * MAX_PLAYERS + game.num_players - 1)
                seed = np.uint64(chance.random_word(np.uint64(key), GAMES, index))
                worker = free.get()
                try:
                    self.counts[number, lane] = worker.play(seed, epsilon, td_lambda, self.samples[number, lane])
                finally:
                    free.put(worker)

            pool = ThreadPoolExecutor(threads)
            try:
                for done in [pool.submit(play_one, lane) for lane in range(self.each)]:
                    done.result()
            finally:
                pool.shutdown(cancel_futures=True)  # after an exception or Ctrl-C, drop the games that have not started
        return self.sample_indices()


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
            self.student.check_game(game)
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
