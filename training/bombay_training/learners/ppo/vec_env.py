"""Many games of Bombay side by side as one Stable-Baselines3 `VecEnv`, every seat of every game the learner's.

In each step the player to move in each game acts, so one game's stream of decisions interleaves its seats; who moved and
what *each* seat was paid is kept in the fields that `SeatRolloutBuffer` reads. Where only one action is legal it is played at
once: there is nothing to learn from. It holds no rules: legality, chance and scoring are the engine's, rewards are those of
`scripted/potential.py`. Games are arrays of states, stepped together; there is no environment object a game and no second
process. `run.py` is the next to read.

    when             what happens
    illegal action   `IllegalActionError` from `Game.check_actions`, nothing changes
    a game ends      its lane deals the next game in the same step: observation and mask are the new game's, `dones` is True,
                     the info holds `terminal_observation` (seat 0's view) and `episode`
    reset()          every lane deals; after `seed(s)` lane i gets seed s + i, else the next seed of its own stream
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numba import prange
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from bombay_agents.nets.policy_features import Reader
from bombay_agents.scripted.potential import blended, new_workspace, potentials
from bombay_env import batch, engine
from bombay_env.actions import action_ranges
from bombay_env.batch import chunk_lanes, num_chunks
from bombay_env.envs.autoreset import AutoresetGames, lane_seeds
from bombay_env.game import Game
from bombay_env.jit.kernels import batch_kernel, kernel
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY, rows
from bombay_training.learners.ppo.seat_buffer import MAX_SEATS

KINDS: Final = tuple(action_ranges(0))  # of actions
NOWHERE: Final = -1


class SeatVecEnv(VecEnv):
    """The part of a seat-keeping `VecEnv` that is the same for every game: what Stable-Baselines3 asks by name.

    A game fills in `reset`, `step_wait` (which sets the `last` fields), `action_masks` and `seat_views`.
    """

    render_mode = None
    num_seats: np.ndarray  # (E,) seats at each table
    last_seats: np.ndarray  # (E,) who moved in the last step
    last_seat_rewards: np.ndarray  # (E, MAX_SEATS) float32, what it paid each seat
    last_dones: np.ndarray  # (E,) bool, where it ended the game
    actions: np.ndarray  # (E,) int64, for the step under way

    @abstractmethod
    def action_masks(self) -> np.ndarray:
        """(E, A) bool: what each game's player to move may do; a fresh array."""

    @abstractmethod
    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the present states as each seat sees them; anything beyond the table."""

    def step_async(self, actions: np.ndarray) -> None:
        """Note the actions (E,) that `step_wait` is to play."""
        self.actions = np.asarray(actions, np.int64)

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """A row of `action_masks` for each lane of `indices`; there is no other method of single games."""
        if method_name != "action_masks":
            raise AttributeError(f"{type(self).__name__} has no method {method_name!r} for single games")
        masks = self.action_masks()
        return list(masks) if indices is None else [masks[lane] for lane in self._get_indices(indices)]

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The attribute, which all lanes share, once for each of them."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Refused: lanes have no attributes of their own."""
        raise AttributeError(f"{type(self).__name__} has no attributes of single games to set")

    def env_is_wrapped(self, wrapper_class: type, indices: VecEnvIndices = None) -> list[bool]:
        """False for every lane."""
        return [False for _ in self._get_indices(indices)]

    def close(self) -> None:
        """Nothing to free: the games are arrays."""


@dataclass
class Tally:
    """What was played since it was last asked for."""

    games: int = 0  # that ended
    decisions: int = 0  # in those games, from their first
    rupees: float = 0.0  # sum over games of the seats' mean final rupees
    winning_rupees: float = 0.0  # sum over games of the most final rupees
    palaces_and_clients: float = 0.0  # sum over games of the seats' mean empire
    kinds: np.ndarray = field(default_factory=lambda: np.zeros(len(KINDS), np.int64))  # decisions by kind of action
    forced: int = 0  # decisions that the engine took
    turn_actions: int = 0  # that the turns which ended had
    given_up: int = 0  # of them those in hand when turns were ended
    undone: int = 0  # and those of moves straight back to where the last one came from, and of that one

    def as_means(self) -> dict[str, float]:
        """Figures a game, empty while none has ended, and shares of decisions."""
        total = max(1, int(self.kinds.sum()))
        shares = {f"share_{kind}": float(count / total) for kind, count in zip(KINDS, self.kinds, strict=True)}
        used = {**shares, "forced": self.forced / (total + self.forced), "wasted": self.wasted}
        if not self.games:
            return used
        return {
            "game_decisions": self.decisions / self.games,
            "final_rupees": self.rupees / self.games,
            "winning_rupees": self.winning_rupees / self.games,
            "empire": self.palaces_and_clients / self.games,
            **used,
        }

    @property
    def wasted(self) -> float:
        """Of the actions that turns had: those given up, and those of moves that undid one another."""
        return (self.given_up + self.undone) / max(1, self.turn_actions)


class Tables:
    """Neighbouring lanes that play one `Game`, and what each seat's prospects were last taken to be."""

    def __init__(self, game: Game, lanes: slice, shaping_weight: float, observation_mode: str) -> None:
        self.game = game
        self.lanes = lanes
        self.shaping_weight = shaping_weight
        self.size = lanes.stop - lanes.start
        self.num_seats = game.rules.num_players
        self.games = AutoresetGames(game, self.size)
        self.reader = Reader(game, observation_mode)
        self.workspace = new_workspace(game)
        self.potentials = np.zeros((self.size, self.num_seats), np.float32)
        self.forced = np.zeros(self.size, np.int64)  # decisions that the engine took in the last step
        self.came_from = np.full(self.size, NOWHERE)  # the site that the mover's last action, a move, left
        sizes = [len(numbers) for numbers in action_ranges(game.board.num_sites).values()]
        self.kind_of = np.repeat(np.arange(len(sizes)), sizes)

    def deal(self, seeds: np.ndarray | None) -> None:
        """Start a new game at each table, by `seeds` (size,) or as the next of its stream."""
        self.games.reset(seeds)
        self.came_from[:] = NOWHERE

    def expect(self, states: np.ndarray, blend: float) -> np.ndarray:
        """What each seat of (k,) states may expect, (k, num_seats) float32."""
        return potentials(self.game, states, blend, self.workspace)

    def step(self, actions: np.ndarray, blend: float, tally: Tally) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play one decision at every table, and those after it that are forced; where a game ends the next one is dealt.

        Returns:
            movers (size,) seats, rewards (size, num_seats) float32 of that step, ended (size,) bool.
        """
        games, game = self.games, self.game
        movers = game.current_player(games.states)
        chosen = game.check_actions(games.states, actions)
        self._count(chosen, tally)
        sets = games.states["set"].copy()
        play_on(
            np.asarray(games.states), game.tables, chosen, games.seeds, games.episodes, games.ended,
            np.asarray(games.finals), self.forced,
        )  # fmt: skip
        tally.forced += int(self.forced.sum())
        # With two players the one who ends a set may begin the next.
        turned = (game.current_player(games.states) != movers) | (games.states["set"] != sets) | games.ended
        tally.turn_actions += int(turned.sum()) * game.rules.actions_per_turn
        self.came_from[turned] = NOWHERE
        ended = np.flatnonzero(games.ended)
        rewards = np.zeros((self.size, self.num_seats), np.float32)
        finals = rows(games.finals)[ended].view(games.finals.dtype)
        paid = blended(game.results(finals), blend) if ended.size else np.empty((0, self.num_seats))
        rewards[ended] = (1 - self.shaping_weight) * paid
        if self.shaping_weight:
            after = self.expect(games.states, blend)
            heading_for = after.copy()
            heading_for[ended] = paid
            rewards += self.shaping_weight * (heading_for - self.potentials)
            self.potentials = after
        return movers, rewards, games.ended

    def _count(self, actions: np.ndarray, tally: Tally) -> None:
        """Book what is about to be played."""
        states, kinds = self.games.states, self.kind_of[actions]
        movers = states["current_player"]
        tally.kinds += np.bincount(kinds, minlength=len(KINDS))
        tally.given_up += int(states["actions_left"][kinds == KINDS.index("end_turn")].sum())
        moves = kinds == KINDS.index("move")
        here = states["position"][np.arange(self.size), movers]
        undone, costs = moves & (actions == self.came_from), self.game.tables["enter_cost"][0]
        tally.undone += int(costs[here[undone]].sum() + costs[actions[undone]].sum())
        self.came_from = np.where(moves & ~undone, here, NOWHERE)

    def views(self) -> np.ndarray:
        """(size, num_seats, F) float32: the states as each seat sees them."""
        seats = [np.full(self.size, seat) for seat in range(self.num_seats)]
        return np.stack([self.reader.read(self.games.states, s) for s in seats], axis=1)


@batch_kernel
def play_on(states, tables, actions, seeds, episodes, ended, finals, forced):
    """`batch.advance_all`, and on to where the next mover has a choice; `forced` (batch,) counts what is played on the way.

    A game that has been dealt anew is left as it begins.
    """
    for chunk in prange(num_chunks(states)):
        drawn = np.empty(NUM_COLOURS, np.int64)
        for lane in chunk_lanes(states, chunk):
            state = states[lane]
            batch.play(state, tables[0], actions[lane], drawn)
            forced[lane] = play_forced(state, tables[0], drawn)
            ended[lane] = state.current_player == NOBODY
            if ended[lane]:
                finals[lane] = state
                batch.start_next(state, tables[0], seeds[lane], episodes, lane, drawn)


@kernel
def play_forced(state, tables, drawn):
    """Play on while there is only one legal action. Returns how many were played."""
    count = 0
    while state.current_player != NOBODY:
        moves, others = engine.legal_moves(state, tables), engine.legal_others(state, tables)
        if batch.num_bits(moves) + batch.num_bits(others) != 1:
            return count
        is_move = moves != np.uint64(0)
        action = batch.place_of_bit(moves if is_move else others, 0)
        batch.play(state, tables, action if is_move else np.int64(tables.num_sites) + action, drawn)
        count += 1
    return count


class BombayVecEnv(SeatVecEnv):
    """Self-play lanes over one or more `Game`s.

    Args:
        games: one for each kind of table, such as one for each number of players; their features and actions must agree.
        num_envs: lanes in all, divided among the games as evenly as can be, the first games getting one more.
        seed: of the first deals; see `reset` in the module's table.
        blend: how much of what a game pays is the win, and not the margin (`potentials.blended`); may be set between steps.
        shaping_weight: this part of it is paid as each seat's prospects change, the rest at the end. Over a game in which `blend`
            stays what it is that comes to the same, less this part of the prospects that the seat was dealt.
        observation_mode: what a seat sees, one of `policy_features.MODES`.
    Raises:
        ValueError: no games, fewer lanes than games, or games that one net cannot serve.
    """

    def __init__(
        self,
        games: Sequence[Game],
        num_envs: int,
        seed: int,
        blend: float = 1.0,
        shaping_weight: float = 0.0,
        observation_mode: str = "perfect_recall",
    ) -> None:
        if not 1 <= len(games) <= num_envs:
            raise ValueError(f"{num_envs} lanes cannot be shared by {len(games)} games: give at least one lane a game")
        first = games[0]
        for game in games[1:]:
            for what in ("num_features", "num_actions"):
                if getattr(game, what) != getattr(first, what):
                    raise ValueError(
                        f"one net cannot serve games with {what} {getattr(first, what)} and {getattr(game, what)}"
                    )
        bounds = [num_envs * i // len(games) for i in range(len(games) + 1)]
        self.tables = [
            Tables(game, slice(low, high), shaping_weight, observation_mode)
            for game, low, high in zip(games, bounds, bounds[1:], strict=False)
        ]
        self.num_features, self.num_actions = self.tables[0].reader.num_features, first.num_actions
        self.num_seats = np.concatenate([np.full(group.size, group.num_seats) for group in self.tables])
        layout = first.feature_layout
        observed = self.num_features == first.num_features
        low, high = (layout.low, layout.high) if observed else (np.float32(-np.inf), np.float32(np.inf))
        box = spaces.Box(low, high, (self.num_features,), np.float32)
        super().__init__(num_envs, box, spaces.Discrete(self.num_actions))
        self.tally = Tally()
        self._blend = blend
        self.seconds = 0.0  # spent in here since the start
        self.seed(seed)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Make the next reset deal from seed + i in lane i; a random seed if None."""
        if seed is None:
            seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._seeds: np.ndarray | None = lane_seeds(seed, self.num_envs)  # for the next reset
        return self._seeds.tolist()  # type: ignore[no-any-return]

    @property
    def blend(self) -> float:
        """How much of what a game pays is the win."""
        return self._blend

    @blend.setter
    def blend(self, blend: float) -> None:
        self._blend = blend
        self._expect()

    def _expect(self) -> None:
        """Take all prospects to be what they are now."""
        for group in self.tables:
            if group.shaping_weight:
                group.potentials = group.expect(group.games.states, self._blend)

    def running(self) -> dict[str, np.ndarray]:
        """Tensors that hold the games under way, for `go_on_with`."""
        held: dict[str, np.ndarray] = {"lengths": self.game_lengths, "returns": self.game_returns}
        for number, group in enumerate(self.tables):
            states = np.asarray(group.games.states).view(np.uint8).reshape(group.size, -1)
            parts = {"states": states, "seeds": group.games.seeds, "episodes": group.games.episodes}
            held |= {f"{name}.{number}": part for name, part in {**parts, "came_from": group.came_from}.items()}
        return {name: part.copy() for name, part in held.items()}

    def go_on_with(self, held: dict[str, np.ndarray]) -> np.ndarray:
        """Put the games of `running` in the place of those there are. Returns the movers' views, (E, F) float32.

        Raises:
            KeyError, ValueError: these are not games of such an environment.
        """
        self.reset()
        self.game_lengths[:], self.game_returns[:] = held["lengths"], held["returns"]
        for number, group in enumerate(self.tables):
            games = group.games
            np.asarray(games.states).view(np.uint8).reshape(group.size, -1)[:] = held[f"states.{number}"]
            games.seeds[:], games.episodes[:] = held[f"seeds.{number}"], held[f"episodes.{number}"]
            group.came_from[:] = held[f"came_from.{number}"]
        self._expect()
        return self._observe()

    def reset(self) -> np.ndarray:
        """Deal a new game in every lane; (E, F) float32 movers' views."""
        self.last_seats = np.zeros(self.num_envs, np.int64)
        self.last_seat_rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        self.last_dones = np.zeros(self.num_envs, bool)
        self.game_returns = np.zeros((self.num_envs, MAX_SEATS), np.float64)
        self.game_lengths = np.zeros(self.num_envs, np.int64)
        self.start_time = time.monotonic()
        for group in self.tables:
            group.deal(None if self._seeds is None else self._seeds[group.lanes])
        self._seeds = None
        self._expect()
        return self._observe()

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Play `self.actions`.

        Returns:
            (E, F) float32 views of the players to move now, (E,) float32 rewards of those who just moved, (E,) bool
            where a game ended, and infos; all of them fresh objects.
        """
        start = time.perf_counter()
        movers = np.empty(self.num_envs, np.int64)
        rewards = np.zeros((self.num_envs, MAX_SEATS), np.float32)
        dones = np.empty(self.num_envs, bool)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for group in self.tables:
            lanes = group.lanes
            movers[lanes], rewards[lanes, : group.num_seats], dones[lanes] = group.step(
                self.actions[lanes], self._blend, self.tally
            )
        self.game_returns += rewards
        self.game_lengths += 1
        for group in self.tables:
            ended = np.flatnonzero(dones[group.lanes])
            if ended.size:
                self._finish(group, ended, infos)
        self.last_seats, self.last_seat_rewards, self.last_dones = movers, rewards, dones
        observations = self._observe()
        self.seconds += time.perf_counter() - start
        return observations, rewards[np.arange(self.num_envs), movers], dones.copy(), infos

    def action_masks(self) -> np.ndarray:
        """(E, A) bool: what each game's player to move may do; a fresh array."""
        start = time.perf_counter()
        masks = np.empty((self.num_envs, self.num_actions), bool)
        for group in self.tables:
            group.game.legal_actions(group.games.states, out=masks[group.lanes])
        self.seconds += time.perf_counter() - start
        return masks

    def seat_views(self) -> np.ndarray:
        """(E, MAX_SEATS, F) float32: the present states as each seat sees them; zero beyond the table."""
        start = time.perf_counter()
        views = np.zeros((self.num_envs, MAX_SEATS, self.num_features), np.float32)
        for group in self.tables:
            views[group.lanes, : group.num_seats] = group.views()
        self.seconds += time.perf_counter() - start
        return views

    def take_tally(self) -> Tally:
        """What was played since the last call."""
        taken, self.tally = self.tally, Tally()
        return taken

    def _observe(self) -> np.ndarray:
        observations = np.empty((self.num_envs, self.num_features), np.float32)
        for group in self.tables:
            group.reader.read(group.games.states, out=observations[group.lanes])
        return observations

    def _finish(self, group: Tables, tables: np.ndarray, infos: list[dict[str, Any]]) -> None:
        """Book the games that ended at `tables` and describe them in `infos`."""
        lanes = tables + group.lanes.start
        states = rows(group.games.finals)[tables].view(group.games.finals.dtype)
        results = group.game.results(states)
        self.tally.games += len(lanes)
        self.tally.decisions += int(self.game_lengths[lanes].sum())
        self.tally.rupees += float(results["final"].mean(axis=1).sum())
        self.tally.winning_rupees += float(results["final"].max(axis=1).sum())
        self.tally.palaces_and_clients += float(results["empire"].mean(axis=1).sum())
        seconds = time.monotonic() - self.start_time
        last_views = group.reader.read(states)
        for lane, view in zip(lanes, last_views, strict=True):
            infos[lane]["terminal_observation"] = view
            infos[lane]["episode"] = {  # of seat 0, since the seats' rewards sum to zero
                "r": float(self.game_returns[lane, 0]),
                "l": int(self.game_lengths[lane]),
                "t": seconds,
            }
        self.game_returns[lanes] = 0.0
        self.game_lengths[lanes] = 0
