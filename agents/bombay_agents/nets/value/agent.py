"""`ValueNetAgent`: plays the outcome of its turn that a value net values most, at once or after looking ahead.

`net.py` holds the net, `evaluator.py` the evaluation of a turn, `turns/lookahead.py` how play goes on. Uses nothing but the rules
and the net. Does not know how nets are trained.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from bombay_agents import turns
from bombay_agents.nets import files
from bombay_agents.nets.value import evaluator, features
from bombay_agents.nets.value.evaluator import ValueNetEvaluator
from bombay_agents.nets.value.net import ValueNet
from bombay_agents.turns import lookahead
from bombay_agents.turns.agent import TurnAgent
from bombay_agents.turns.evaluator import new_turns, value_turn
from bombay_agents.turns.lookahead import MAX_WIDTH, LookaheadOptions
from bombay_env import Game
from bombay_env.checks import whole_number
from bombay_env.jit.kernels import long_kernel
from bombay_env.rules import MAX_PLAYERS

MAX_ROUNDS: Final = 20
MAX_DRAWS: Final = 64


class ValueNetAgent(TurnAgent):
    """Takes the outcome of its turn that the net values most after looking ahead; ties go to the outcome that is found first.

    Args:
        net: the net, or the file to load it from (errors as `ValueNet.load`).
        force: also play under rules and on boards that the net was not trained on.
        rounds: own turns to play on; 0 takes what the net values most at once.
        width: how many outcomes to look ahead from, those that the net values most at once.
        draws: restocks drawn for each outcome that is looked ahead from.
    Raises:
        ValueError: a number is out of range.
    """

    memory = (*TurnAgent.memory, "_evaluator", "_workspace")

    def __init__(
        self,
        net: ValueNet | str | os.PathLike[str],
        force: bool = False,
        rounds: int = 1,
        width: int = 8,
        draws: int = 2,
    ) -> None:
        super().__init__()
        self.name = "value net"
        self.rounds = whole_number(rounds, "rounds", 0, MAX_ROUNDS)
        self.width = whole_number(width, "width", 1, MAX_WIDTH)
        self.draws = whole_number(draws, "draws", 1, MAX_DRAWS)
        self.net = net if isinstance(net, ValueNet) else ValueNet.load(net)
        self.force = force
        self._options = LookaheadOptions(
            np.float32(self.net.share_weight), self.width if self.rounds else 1, self.rounds, self.draws
        )

    def prepare(self, game: Game) -> turns.TurnWorkspace:
        """Make the memory for turns.

        Raises:
            ValueError: as `check_game`.
        """
        self._evaluator = self.evaluator(game)
        self._workspace = lookahead.new_workspace(game)
        return turns.workspace_in(self._workspace.turn["memory"])

    def choose(self, game: Game, state: Any, key: np.uint64) -> int:
        """The node of the outcome to play for."""
        return turns.check_count(
            lookahead.plan_turn(state, game.tables, self._evaluator, self._options, key, self._workspace)
        )

    def evaluator(self, game: Game) -> ValueNetEvaluator:
        """Evaluates turns of `game` by the net, for searches; with fresh memory.

        Raises:
            ValueError: as `check_game`.
        """
        self.check_game(game)
        return evaluator.new_evaluator(game, self.net)

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
        records = game.check_states(states)
        if game.is_terminal(records).any():
            raise ValueError("states has games that are over; their results say who has won")
        found, turn = self.evaluator(game), new_turns(game, 1)
        shares = np.empty((len(records), game.num_players))
        for lane in range(len(records)):
            turns.check_count(best_shares(records[lane], game.tables, found, turn, shares[lane]))
        return shares

    def turn_shares(self, game: Game, states: np.ndarray) -> tuple[list[turns.Turn], np.ndarray]:
        """All outcomes of a turn, and the share of the win that the net expects for each seat after each of them.

        Args:
            game: what is played.
            states: (1,) state of a running game.

        Returns:
            The outcomes that the net values, first the one that it values most. Their shares, (outcomes, num_players) float64, by
            seat.

        Raises:
            ValueError, OverflowError: as `win_shares`.
        """
        state, n = game.check_states(states)[0], game.num_players
        turn = new_turns(game, 1)
        shares = np.empty(n)
        count = turns.check_count(best_shares(state, game.tables, self.evaluator(game), turn, shares))
        workspace, values = turns.workspace_in(turn["memory"]), turn["values"][0, :count]
        over = (workspace.due[:count] != turns.TURN_GOES_ON) & (values > -np.inf)
        nodes = np.flatnonzero(over)
        nodes = nodes[np.argsort(-values[nodes], kind="stable")]
        by_place = turn["outputs"][0, nodes, MAX_PLAYERS : MAX_PLAYERS + n].astype(float)
        by_seat = np.roll(by_place, int(state["current_player"]), axis=1)
        return [turns.outcome(workspace, int(node)) for node in nodes], by_seat

    def check_game(self, game: Game) -> None:
        """Check that the net can play `game`.

        Raises:
            ValueError: it reads other features or rows than this game's, or, without `force`, was not trained on its rules and
                board.
        """
        num_sites = game.board.num_sites
        rows = ("rows", len(self.net.first), features.num_rows(num_sites))  # kernels would read beyond the last one
        files.check_fits(self.name, (("features", self.net.features, features.digest(num_sites)), rows))
        if not self.force:
            files.check_trained_on(self.name, self.net.about, game)


@long_kernel
def best_shares(state, tables, net, turns_memory, shares):
    """Overwrite `shares`, (n,) by seat, with those of the outcome that the net values most. Returns the number of nodes."""
    turn = turns_memory[0]
    turn.memory.node[0].state = state
    count = value_turn(tables[0], net, turn)
    if count != turns.TOO_MANY:
        best, n = turns.best_outcome(turn.memory, turn.values, count), len(shares)
        for place in range(n):
            shares[(np.int64(state.current_player) + place) % n] = turn.outputs[best, MAX_PLAYERS + place]
    return count
