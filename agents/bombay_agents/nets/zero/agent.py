"""`ZeroAgent`: plays the outcome of its turn that a `zero` net values most, at once or after looking ahead.

`net.py` holds the net, `valuation.py` the evaluation of a turn, `lookahead.py` how play goes on. Does not know how nets are
trained. Uses nothing but the rules and the net.
"""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files
from bombay_agents.nets.zero import lookahead, slots, valuation
from bombay_agents.nets.zero.lookahead import MAX_WIDTH
from bombay_agents.nets.zero.net import ZeroNet
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game
from bombay_env.checks import whole_number
from bombay_env.jit.kernels import long_kernel
from bombay_env.registry import format_spec
from bombay_env.rules import MAX_PLAYERS

DEFAULT_ROUNDS: Final = 1
DEFAULT_WIDTH: Final = 8
DEFAULT_DRAWS: Final = 2
MAX_ROUNDS: Final = 20
MAX_DRAWS: Final = 64


class ZeroOptions(NamedTuple):
    """How a turn is chosen, typed as kernels take it."""

    share_weight: np.float32  # weight of the share of the win beside the margin in tens of rupees
    width: int  # outcomes to look ahead from; 1 takes what the net values most at once
    rounds: int
    draws: int


class ZeroAgent(TurnAgent):
    """Takes the outcome of its turn that the net values most after looking ahead; ties go to the outcome that is found first.

    Args:
        net: the net, or the file to load it from (errors as `ZeroNet.load`).
        force: also play under rules and on boards that the net was not trained on.
        rounds: own turns to play on; 0 takes what the net values most at once.
        width: how many outcomes to look ahead from, those that the net values most at once.
        draws: restocks drawn for each outcome that is looked ahead from.
    Raises:
        ValueError: a number is out of range.
    """

    memory = (*TurnAgent.memory, "_workspace")

    def __init__(
        self,
        net: ZeroNet | str | os.PathLike[str],
        force: bool = False,
        rounds: int = DEFAULT_ROUNDS,
        width: int = DEFAULT_WIDTH,
        draws: int = DEFAULT_DRAWS,
    ) -> None:
        super().__init__()
        path = None if isinstance(net, ZeroNet) else net
        self.rounds = whole_number(rounds, "rounds", 0, MAX_ROUNDS)
        self.width = whole_number(width, "width", 1, MAX_WIDTH)
        self.draws = whole_number(draws, "draws", 1, MAX_DRAWS)
        self.net = net if isinstance(net, ZeroNet) else ZeroNet.load(net)
        self.force = force
        self.name = self._spec(path)
        self._record = self.net.record()
        self._options = ZeroOptions(
            np.float32(self.net.share_weight), self.width if self.rounds else 1, self.rounds, self.draws
        )

    def _spec(self, path: str | os.PathLike[str] | None) -> str:
        """The agent's spec: the file, if it has one, and the options that differ from their defaults."""
        options: dict[str, tuple[int, int]] = {
            "force": (self.force, False),
            "rounds": (self.rounds, DEFAULT_ROUNDS),
            "width": (self.width, DEFAULT_WIDTH),
            "draws": (self.draws, DEFAULT_DRAWS),
        }
        changed = {name: value for name, (value, default) in options.items() if value != default}
        return format_spec("net", path=None if path is None else os.fspath(path), **changed)

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make the memory for turns.

        Raises:
            ValueError: as `check_game`.
        """
        self.check_game(game)
        self._workspace = lookahead.new_workspace(game, *self.net.units)
        return turns.workspace_in(self._workspace["turn"]["memory"])

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """The node of the outcome to play for."""
        return turns.check_count(plan_turn(state, game.tables, self._record, self._options, key, self._workspace))

    def win_shares(self, game: Game, states: np.ndarray) -> np.ndarray:
        """The share of the win that the net expects for each seat after the mover's best turn.

        Args:
            game: what is played.
            states: (batch,) states of running games, at any decision of a turn.

        Returns:
            (batch, num_players) float64, by seat.

        Raises:
            ValueError: as `check_game`; or a state is not sound, or its game is over.
            OverflowError: a turn has too many states.
        """
        self.check_game(game)
        records = game.check_states(states)
        if game.is_terminal(records).any():
            raise ValueError("states has games that are over; their results say who has won")
        workspace = valuation.new_turn_workspaces(game, *self.net.units, 1)
        shares = np.empty((len(records), game.num_players))
        for lane in range(len(records)):
            turns.check_count(
                best_shares(records[lane], game.tables, self._record, self._options, workspace, shares[lane])
            )
        return shares

    def check_game(self, game: Game) -> None:
        """Check that the net can play `game`.

        Raises:
            ValueError: it reads other slots or rows than this game's, or, without `force`, was not trained on its rules and
                board.
        """
        num_sites = game.board.num_sites
        rows = ("rows", len(self.net.first), slots.num_rows(num_sites))  # kernels would read beyond the last one
        files.check_fits(self.name, (("slots", self.net.slots, slots.digest(num_sites)), rows))
        if not self.force:
            files.check_trained_on(self.name, self.net.about, game)


@long_kernel
def plan_turn(state, tables, net, options, key, workspace):
    """The node of the best outcome of the mover's turn; TOO_MANY if a turn does not fit in memory."""
    return lookahead.plan_turn(state, tables[0], net[0], options, key, workspace[0])


@long_kernel
def best_shares(state, tables, net, options, workspace, shares):
    """Overwrite `shares`, (n,) by seat, with those of the outcome that the net values most. Returns the number of nodes."""
    turn = workspace[0]
    turn.memory.node[0].state = state
    count = valuation.value_turn(tables[0], net[0], options.share_weight, turn)
    if count != turns.TOO_MANY:
        best, n = turns.best_outcome(turn.memory, turn.values, count), len(shares)
        for place in range(n):
            shares[(np.int64(state.current_player) + place) % n] = turn.outputs[best, MAX_PLAYERS + place]
    return count
