"""Games of one player count, stepped in parallel, with rewards for every seat; `BombayVecEnv` is made of such groups.

A step plays one decision in every game, then all forced ones: where only one action is legal there is nothing to learn. A game
that ends is followed by the next one in the same step. Legality, chance and scoring are the engine's. Rewards are shaped by what
the planner expects (`scripted/potential.py`) or by the result if the game ended now. Nothing here knows Stable-Baselines3:
`vec_env.py` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numba import prange

from bombay_agents.nets.policy_features import Reader
from bombay_agents.scripted.potential import PLANNER_SHAPING, blended, new_workspace, potentials, result_potentials
from bombay_env import batch, engine
from bombay_env.actions import action_ranges
from bombay_env.batch import chunk_lanes, num_chunks
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.game import Game
from bombay_env.jit.kernels import batch_kernel, kernel
from bombay_env.rules import NUM_COLOURS
from bombay_env.state import NOBODY, rows

ACTION_KINDS: Final = tuple(action_ranges(0))
NOWHERE: Final = -1


@dataclass
class PlayStatistics:
    """How the seats played; counts over some steps of all games."""

    games: int = 0  # games that ended
    decisions: int = 0  # in those games, from their first
    rupees: float = 0.0  # sum over those games of the seats' mean final rupees
    winning_rupees: float = 0.0  # sum over those games of the most final rupees
    palaces_and_clients: float = 0.0  # sum over those games of the seats' mean empire
    kinds: np.ndarray = field(
        default_factory=lambda: np.zeros(len(ACTION_KINDS), np.int64)
    )  # decisions by kind of action
    forced: int = 0  # forced decisions, which the environment took
    turn_actions: int = 0  # action points of the turns that ended
    unused: int = 0  # action points left when a turn was ended
    undone: int = (
        0  # action points spent on moves straight back to where the last move came from, and on those last moves
    )

    def as_metrics(self) -> dict[str, float]:
        """Shares of decisions, and means per game once a game has ended."""
        total = max(1, int(self.kinds.sum()))
        metrics: dict[str, float] = {"games": self.games}
        if self.games:
            metrics |= {
                "game_decisions": self.decisions / self.games,
                "final_rupees": self.rupees / self.games,
                "winning_rupees": self.winning_rupees / self.games,
                "empire": self.palaces_and_clients / self.games,
            }
        shares = {f"share_{kind}": float(count / total) for kind, count in zip(ACTION_KINDS, self.kinds, strict=True)}
        return {**metrics, **shares, "forced": self.forced / (total + self.forced), "wasted": self.wasted}

    @property
    def wasted(self) -> float:
        """Share of action points that were left unused or spent on moves that cancelled each other."""
        return (self.unused + self.undone) / max(1, self.turn_actions)


class SeatGames:
    """A group of neighbouring environments that play one `Game`, and the potential of each seat.

    Args:
        game: the game.
        lanes: the group's place among all environments.
        shaping_weight: part of the reward that is paid as potentials change.
        observation_mode: what a seat sees, one of `policy_net.MODES`.
        shaping: what the potential is, one of `potential.SHAPINGS`.
    """

    def __init__(
        self, game: Game, lanes: slice, shaping_weight: float, observation_mode: str, shaping: str = PLANNER_SHAPING
    ) -> None:
        self.game = game
        self.lanes = lanes
        self.shaping_weight = shaping_weight
        self.shaping = shaping
        self.size = lanes.stop - lanes.start
        self.num_seats = game.rules.num_players
        self.games = AutoresetGames(game, self.size)
        self.reader = Reader(game, observation_mode)
        self.workspace = new_workspace(game) if shaping == PLANNER_SHAPING else None
        self.potentials = np.zeros((self.size, self.num_seats), np.float32)
        self.forced = np.zeros(self.size, np.int64)  # forced decisions of the last step
        self.came_from = np.full(self.size, NOWHERE, np.int8)  # site that the mover left, if its last action was a move
        sizes = [len(numbers) for numbers in action_ranges(game.board.num_sites).values()]
        self.kind_of = np.repeat(np.arange(len(sizes)), sizes)

    def deal(self, seeds: np.ndarray | None) -> None:
        """Start new games from `seeds` (size,), or each from the next seed of its own stream if None."""
        self.games.reset(seeds)
        self.came_from[:] = NOWHERE

    def compute_potentials(self, states: np.ndarray, blend: float) -> np.ndarray:
        """The potential of each seat in (k,) states, (k, num_seats) float32."""
        if self.shaping == PLANNER_SHAPING:
            return potentials(self.game, states, blend, self.workspace)
        return result_potentials(self.game, states)

    def step(
        self, actions: np.ndarray, blend: float, statistics: PlayStatistics
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Play one decision in every game and the forced ones after it; where a game ends the next one is dealt.

        Args:
            actions: (size,) int64 of the players to move, all of them legal.
            blend: weight of the win, as opposed to the margin, in the rewards.
            statistics: updated, apart from what concerns games that ended.
        Returns:
            movers (size,) seats, rewards (size, num_seats) float32 of this step, ended (size,) bool.
        """
        games, game = self.games, self.game
        movers = game.current_player(games.states)
        self._count_actions(actions, statistics)
        sets = games.states["set"].copy()
        advance_to_choice(
            np.asarray(games.states), game.tables, actions, games.seeds, games.episodes, games.ended,
            np.asarray(games.finals), self.forced,
        )  # fmt: skip
        statistics.forced += int(self.forced.sum())
        # With two players, whoever ends a set may begin the next one.
        turn_ended = (game.current_player(games.states) != movers) | (games.states["set"] != sets) | games.ended
        statistics.turn_actions += int(turn_ended.sum()) * game.rules.actions_per_turn
        self.came_from[turn_ended] = NOWHERE
        return movers, self._rewards(np.flatnonzero(games.ended), blend), games.ended

    def _rewards(self, ended: np.ndarray, blend: float) -> np.ndarray:
        """What the step paid each seat, (size, num_seats) float32, given the numbers of the games that ended."""
        games = self.games
        rewards = np.zeros((self.size, self.num_seats), np.float32)
        finals = rows(games.finals)[ended].view(games.finals.dtype)
        paid = blended(self.game.results(finals), blend) if ended.size else np.empty((0, self.num_seats))
        rewards[ended] = (1 - self.shaping_weight) * paid
        if self.shaping_weight:
            now = self.compute_potentials(games.states, blend)
            reached = now.copy()
            reached[ended] = paid
            rewards += self.shaping_weight * (reached - self.potentials)
            self.potentials = now
        return rewards

    def _count_actions(self, actions: np.ndarray, statistics: PlayStatistics) -> None:
        """Count the actions that are about to be played."""
        states, kinds = self.games.states, self.kind_of[actions]
        movers = states["current_player"]
        statistics.kinds += np.bincount(kinds, minlength=len(ACTION_KINDS))
        statistics.unused += int(states["actions_left"][kinds == ACTION_KINDS.index("end_turn")].sum())
        moves = kinds == ACTION_KINDS.index("move")
        here = states["position"][np.arange(self.size), movers]
        undone, costs = moves & (actions == self.came_from), self.game.tables["enter_cost"][0]
        statistics.undone += int(costs[here[undone]].sum() + costs[actions[undone]].sum())
        self.came_from = np.where(moves & ~undone, here, NOWHERE)

    def views(self) -> np.ndarray:
        """(size, num_seats, F) float32: the states as each seat sees them."""
        seats = [np.full(self.size, seat) for seat in range(self.num_seats)]
        return np.stack([self.reader.read(self.games.states, s) for s in seats], axis=1)


@batch_kernel
def advance_to_choice(states, tables, actions, seeds, episodes, ended, finals, forced):
    """As `batch.advance_all`, then play forced actions until a player has a choice; `forced` (batch,) counts them.

    In a game that is dealt in this step no forced actions are played.
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
    """Play as long as only one action is legal. Returns the number of actions played."""
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
