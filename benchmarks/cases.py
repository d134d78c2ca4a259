"""Every interface of ours that `python -m benchmarks` measures, next to the limit of this machine.

The limit is measured in turn with it: a kernel that only writes as many bytes as decisions return.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Final

import numba
import numpy as np

from benchmarks.measuring import Case, Job, Play, Row, add_to, clock, row
from benchmarks.peers import aec_loop
from bombay_agents import turns
from bombay_agents.nets.value import evaluator
from bombay_agents.scripted.planner import PlannerAgent
from bombay_agents.search.agent import CompiledSearch
from bombay_agents.search.tree import SearchParams
from bombay_agents.shipped import make_zero
from bombay_agents.turns.evaluator import NUM_OUTPUTS
from bombay_env import AutoresetGames, Game, Record, bombay_v0
from bombay_env.batch import chunk_lanes, num_chunks
from bombay_env.jit.kernels import batch_kernel
from bombay_env.render import picture, raster
from bombay_env.render.view import last_action
from bombay_training import arena
from bombay_training.learners.zero import ZeroRun, ZeroSettings

BATCH: Final = 4096  # games side by side
VECTOR_GAMES: Final = 256  # in the vector environments
SIMULATIONS: Final = 100  # of a search
CASES: Final[list[Case]] = []
case = functools.partial(add_to, CASES)


class Interfaces:
    """All interfaces for one game, and the arrays that they share."""

    def __init__(self, game: Game) -> None:
        self.game, self.keys, self.rng = game, np.arange(BATCH, dtype=np.uint64), np.random.default_rng(0)
        self.lanes = AutoresetGames(game, BATCH)
        self.lanes.rollout(80, self.keys)  # to the middle of games
        self.observations = np.empty((BATCH, game.num_features), np.float32)
        self.masks, self.actions = np.empty((BATCH, game.num_actions), np.bool_), np.empty(BATCH, np.int64)
        state, view, mask = game.state_dtype.itemsize, 4 * game.num_features + game.num_actions, game.num_actions
        self.sizes = {
            "state": state,
            "view": view,
            "mask": mask,
            "observation": view - mask,
            "action": 8,
            "ended": 1,
        }  # bytes
        self.sizes["picture"] = 3 * picture.HEIGHT * picture.WIDTH

    @case("random play", "policy, mask (as bits), autoreset", True, BATCH, "state")
    def _random_play(self) -> Play:
        for number in itertools.count():
            self.lanes.rollout(64, self.keys, 64 * number)
            yield 64 * BATCH

    @case("collect", "policy, mask, observation, autoreset", True, BATCH, "view action ended")
    def _collect(self) -> Play:
        for number in itertools.count():
            self.lanes.collect(self.keys, number, self.observations[None], self.masks[None])
            yield BATCH

    @case("Game.legal_actions", "mask", True, BATCH, "mask")
    def _mask(self) -> Play:
        while True:
            self.game.legal_actions(self.lanes.states, out=self.masks)
            yield BATCH

    @case("Game.observe", "observation", True, BATCH, "observation")
    def _observe(self) -> Play:
        while True:
            self.game.observe(self.lanes.states, out=self.observations)
            yield BATCH

    @case("Game.step", "policy, check, step", True, BATCH, "state action")
    def _step(self) -> Play:
        """Whole batches from deal to end. Games that are over cost almost nothing and are not counted."""
        while True:
            states = self.game.new_states(self.keys)
            for index in itertools.count():
                self.game.sample_actions(states, self.keys, index, out=self.actions)
                running = int((self.actions >= 0).sum())
                if not running:
                    break
                self.game.step(states, self.actions)
                yield running

    @case("AutoresetGames", "policy, check, step, autoreset, mask, observation", True, BATCH, "view action ended")
    def _lanes(self) -> Play:
        for number in itertools.count():
            self.lanes.step(self.game.sample_actions(self.lanes.states, self.keys, number, out=self.actions))
            self.game.legal_actions(self.lanes.states, out=self.masks)
            self.game.observe(self.lanes.states, out=self.observations)
            yield BATCH

    @case("AEC loop", "policy, mask, observation, reset, from Python", False, 1, "view mask mask")
    def _aec(self) -> Play:
        return aec_loop(bombay_v0.env(rules=self.game.rules, board=self.game.board), self.rng)

    @case("record replay", "check, step, a copy of each state", False, 1, "state state")
    def _replay(self) -> Play:
        records: list[Record] = []
        arena.run_fixed_seats(self.game, ["random"] * self.game.num_players, 8, records=records)
        for record in itertools.cycle(records):
            for _ in record.replay():
                pass
            yield sum(not event.startswith("restock:") for event in record.events)

    @case(
        "Gymnasium vector",
        "learner's decisions: policy, step, three random opponents, mask, observation, autoreset",
        False,
        VECTOR_GAMES,
        "view",
    )
    def _gymnasium(self) -> Play:
        from bombay_env.envs.vector import BombayVectorEnv

        rules, board = self.game.rules, self.game.board
        return self._random_steps(BombayVectorEnv(VECTOR_GAMES, rules=rules, board=board, autoreset_mode="SameStep"))

    @case("SB3 VecEnv", "policy, step, mask, observation, rewards, autoreset", False, VECTOR_GAMES, "view")
    def _sb3(self) -> Play:
        from bombay_training.learners.ppo.vec_env import BombayVecEnv

        return self._random_steps(BombayVecEnv([self.game], VECTOR_GAMES, seed=0))

    def _random_steps(self, env: Any) -> Play:
        env.reset()
        while True:
            masks = env.action_masks()
            env.step((self.rng.random(masks.shape, np.float32) * masks).argmax(axis=1))  # the fastest way in NumPy
            yield VECTOR_GAMES

    @case("zero's net", "a position between turns, margins and win shares for all seats", False, 1)
    def _evaluate(self) -> Play:
        game, states, net = self.game, self._between_turns(), make_zero(force=True).evaluator(self.game)
        node = np.zeros(1, turns.memory_dtype(game.board.num_sites)["node"].base)
        seats, outputs = game.current_player(states).astype(np.int64), np.empty((len(states), NUM_OUTPUTS), np.float32)
        while True:
            evaluator.value_positions(states, seats, game.tables, net, node, outputs)
            yield len(states)

    @case("zero's tree", "a simulation: a turn laid out, all outcomes valued for all seats", False, 1)
    def _search(self) -> Play:
        net, states, edges = make_zero(force=True).evaluator(self.game), self._between_turns(), np.arange(1)
        search = CompiledSearch(self.game, net, SIMULATIONS + 1, SearchParams(np.float32(1)))
        states["seed"] = 0
        for number, state in enumerate(itertools.cycle(states)):
            search.init(state)
            search.run(np.uint64(number), edges, SIMULATIONS)
            yield SIMULATIONS

    @case("planner-v1", "a turn laid out, its best outcome chosen", False, 1)
    def _planner(self) -> Play:
        states, agent = self._between_turns(), PlannerAgent()
        while True:
            agent.act(self.game, states, self.rng)
            yield len(states)

    def _between_turns(self) -> np.ndarray:
        """Positions in the middle of games at the beginning of a turn, but not of a set."""
        states = self.lanes.states
        begins_set = (states["turn"] == 0) & (states["current_player"] == states["first_player"])
        return states[(states["actions_left"] == self.game.rules.actions_per_turn) & ~begins_set]

    @case("zero", "a position: played by the net with the default settings, learned from", True, 128)
    def _zero(self) -> Play:
        run = ZeroRun(ZeroSettings(players=(self.game.num_players,)))
        while True:
            before = run.positions
            run.step()
            yield run.positions - before

    @case("MaskablePPO", "played by the policy with the default settings, learned from", False, 128)
    def _ppo(self) -> Play:
        return self._updates_of_ppo(lambda model: model.update(remaining=1.0))

    @case("MaskablePPO.train", "learning from decisions already made", False, 128)
    def _train(self) -> Play:
        return self._updates_of_ppo(lambda model: model.train())

    def _updates_of_ppo(self, learn: Callable[[Any], Any]) -> Play:
        from bombay_training.learners.ppo.run import PPORun
        from bombay_training.learners.ppo.settings import PPOSettings

        model = PPORun(PPOSettings(updates=1, players=(self.game.num_players,))).model
        model.update(remaining=1.0)  # for decisions to learn from
        while True:
            learn(model)
            yield model.n_envs * model.n_steps

    @case("frame", "policy, step, the drawing as pixels", False, 1, "picture")
    def _frame(self) -> Play:
        """A frame after each decision of random play. The background of the board is drawn before."""
        lanes = AutoresetGames(self.game, 1)
        for number in itertools.count():
            before, actions = lanes.states.copy(), self.game.sample_actions(lanes.states, [0], number)
            lanes.step(actions)
            raster.draw(self.game, lanes.states, last=last_action(self.game, before, int(actions[0])))
            yield 1


@batch_kernel
def write_rows(rows, value):
    """Overwrite `rows` (batch, words) uint64 with `value`: the most that a kernel could do that writes as much."""
    for chunk in numba.prange(num_chunks(rows)):
        for lane in chunk_lanes(rows, chunk):
            for word in range(rows.shape[1]):
                rows[lane, word] = value


def limit(games: int, written: int) -> Play:
    """Only write as many bytes as decisions return, in whole words."""
    rows = np.empty((games, -(-written // 8)), np.uint64)
    for number in itertools.count():
        for _ in range(BATCH // games):
            write_rows(rows, np.uint64(number))
        yield BATCH // games * games


def measure(case: Case, game: Game, threads: int, repeats: int, seconds: float) -> Row:
    """A case and its limit, measured in turn on this many threads."""
    before, ours = numba.get_num_threads(), Interfaces(game)
    written = sum(ours.sizes[part] for part in case.returned.split()) if case.returned else None
    plays = [case.play(ours), *([limit(case.games, written)] if written else [])]
    numba.set_num_threads(threads)
    _, *runs = ([clock(play, seconds * bool(number)) for play in plays] for number in range(1 + repeats))
    numba.set_num_threads(before)
    made, *limits = (row(case, threads, each) for each in zip(*runs, strict=True))
    for other in limits:
        made |= {"written": written, "limit": other["rate"], "ratio": made["rate"]["median"] / other["rate"]["median"]}
    return made


def jobs(game: Game, repeats: int, seconds: float) -> Iterator[Job]:
    """Every case on one thread, and on all if it can use them."""
    for case in CASES:
        for threads in sorted({1, numba.config.NUMBA_NUM_THREADS if case.threaded else 1}):
            yield case.name, functools.partial(measure, case, game, threads, repeats, seconds)
