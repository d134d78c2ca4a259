"""Whole turns as arrays, for planners and learners: the outcomes of many games' turns, and one call that plays a turn in each.

`enumeration.py` finds the outcomes of one turn.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from bombay_agents.turns.enumeration import RESTOCK_DUE, check_count, enumerate_turn, new_workspace
from bombay_env import Game, IllegalActionError, checks
from bombay_env.agent import describe_illegal
from bombay_env.setup import checked_restocks

NO_ACTION: Final = -1
TURN: Final = ["set", "turn", "current_player"]  # these fields tell a turn from all others of its game


class TurnOutcomes(NamedTuple):
    """The k distinct outcomes of turns: first those of the turn in state 0, then those in state 1, and so on."""

    lanes: np.ndarray
    """(k,) int64: the index of the state, ascending."""
    states: np.ndarray
    """(k,) records after the turn, before the restock that may follow."""
    restock_due: np.ndarray
    """(k,) bool: whether the turn ends a set and a restock follows."""
    actions: np.ndarray
    """(k, longest) int64: a shortest way to the outcome, then −1."""

    def best(self, values: Any) -> np.ndarray:
        """The outcome of highest value for each state, (batch,) int64 indices of outcomes; ties go to the first.

        Args:
            values: (k,) numbers, one for each outcome.

        Raises:
            ValueError: `values` has another shape, or a value is NaN.
        """
        worth = np.asarray(values, np.float64)
        if worth.shape != self.lanes.shape or np.isnan(worth).any():
            raise ValueError(
                f"values must be {len(self.lanes)} numbers, one for each outcome, not {checks.form(worth)}"
            )
        order = np.lexsort((-worth, self.lanes))  # by state, best first
        return order[np.unique(self.lanes, return_index=True)[1]]

    def restocks(self, game: Game, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Every possible draw of the restock that follows outcome `number`, with its probability.

        Returns:
            Draws (m, 4) and probabilities (m,) as of `Game.restock_outcomes`; both are empty if no restock is due.
        """
        due = self.restock_due[number]
        state = self.states[[number]]
        state["set"] -= np.int8(due)  # back in the set that the turn ends
        draws, chances = game.restock_outcomes(state)
        return (draws, chances) if due else (draws[:0], chances[:0])


def turn_outcomes(game: Game, states: np.ndarray) -> TurnOutcomes:
    """The distinct outcomes of the rest of the mover's turn in each state, and actions that lead to them.

    Args:
        game: that of the states.
        states: (batch,) records of running games, at any decision of a turn, unchanged.

    Raises:
        ValueError: `states` are not sound states of this game, or a game is over.
        OverflowError: a turn has too many states; see `distinct_turns`.
    """
    records, workspace = _running(game, states), new_workspace(game)
    counts, after, due = [], [records[:0]], [np.zeros(0, np.int8)]
    ways: list[list[np.ndarray]] = []  # of each state, an array (outcomes,) for each decision
    for state in records:
        count = check_count(enumerate_turn(state, game.tables[0], workspace))
        nodes = np.flatnonzero(workspace.due[:count])
        counts.append(len(nodes))
        after.append(workspace.states[nodes].view(game.state_dtype, np.ndarray))
        due.append(workspace.due[nodes])
        ways.append([])
        while nodes.any():  # back to node 0, the state itself
            ways[-1].insert(0, np.where(nodes > 0, workspace.action[nodes], NO_ACTION))
            nodes = np.where(nodes > 0, workspace.parent[nodes], 0)
    longest = max(map(len, ways), default=0)
    rows = np.full((sum(counts), longest), NO_ACTION, np.int64)
    for end, count, way in zip(np.cumsum(counts), counts, ways, strict=True):
        rows[end - count : end, longest - len(way) :] = np.transpose(way)
    to_the_left = np.argsort(rows == NO_ACTION, axis=1, kind="stable")
    lanes = np.repeat(np.arange(len(records)), counts)
    restock_due = np.concatenate(due) == RESTOCK_DUE
    return TurnOutcomes(lanes, np.concatenate(after), restock_due, np.take_along_axis(rows, to_the_left, axis=1))


def play_turns(game: Game, states: np.ndarray, actions: Any, restocks: Any = None) -> None:
    """Play the rest of the mover's turn in each game, in place, with the restock where a set ends.

    Args:
        game: that of the states.
        states: (batch,) records of running games, changed in place.
        actions: (batch, longest) integers: for each game the actions to the end of its turn, filled up with −1, such as
            `outcomes.actions[outcomes.best(values)]`.
        restocks: (batch, 4) integers as of `Game.step`; drawn from each state's seed if None.

    Raises:
        IllegalActionError: an action is illegal; `.lanes` has the indices of the games. No state has changed.
        ValueError: the actions of a game end before its turn does or go on after it, an argument has the wrong shape or dtype,
            or a game is over. No state has changed.
    """
    records, chosen = _running(game, states).copy(), checks.array(actions)
    if chosen.ndim != 2 or len(chosen) != len(records) or chosen.dtype.kind not in "iu":
        raise ValueError(f"actions must be integers of shape ({len(records)}, longest), not {checks.form(chosen)}")
    draws = None if restocks is None else checked_restocks(restocks, len(records))
    before = records[TURN].copy()
    for column in chosen.T:
        lanes = np.flatnonzero(column != NO_ACTION)
        _check_turn(lanes, records[lanes][TURN] == before[lanes], "go on after the end of the turn")
        part = records[lanes]
        try:
            game.step(part, column[lanes], None if draws is None else draws[lanes])
        except IllegalActionError as error:
            place = error.lanes[0]
            reason = describe_illegal(game, part[place : place + 1], int(column[lanes[place]]))[1]
            raise IllegalActionError(
                f"actions, lane {lanes[place]}: {reason}", lanes[list(error.lanes)].tolist()
            ) from None
        records[lanes] = part
    _check_turn(np.arange(len(records)), records[TURN] != before, "end before the turn does")
    states[...] = records


def _running(game: Game, states: np.ndarray) -> np.ndarray:
    """The states, checked. Raises ValueError if a game is over."""
    records = game.check_states(states)
    over = np.flatnonzero(game.is_terminal(records))
    if len(over):
        raise ValueError(f"states, lane {over[0]}: the game is over, so there is no turn")
    return records


def _check_turn(lanes: np.ndarray, fits: np.ndarray, otherwise: str) -> None:
    if not fits.all():
        raise ValueError(f"actions, lane {lanes[~fits][0]}: they {otherwise}")
