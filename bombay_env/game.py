"""`Game`: the main object of the package. One variant on one board, for any number of games at once.

A `Game` checks its arguments and passes arrays to the kernels of `batch.py` and `observation/encode.py`. It contains no rules,
and it does not store states: these belong to the caller. A single game is a batch of one.
"""

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from bombay_env import batch, checks
from bombay_env.actions import action_names, mask_dtype
from bombay_env.board import Board
from bombay_env.engine import MAX_WORD_SITES
from bombay_env.jit.kernels import CONFIG
from bombay_env.observation.layout import FeatureLayout
from bombay_env.observation.lookups import make_lookups
from bombay_env.rules import MAX_PLAYERS, NUM_COLOURS, Rules
from bombay_env.setup import bales_off_elephants, check_restock, checked_restocks, draw_probabilities, force_setups
from bombay_env.state import (
    NOBODY,
    describe_unsound,
    new_records,
    reading_dtype,
    result_dtype,
    rows,
    state_dtype,
    state_ranges,
)
from bombay_env.tables import make_tables

SETTLED_DTYPE: Final = result_dtype(MAX_PLAYERS, np.int8)  # one shape for every number of players
NO_SEATS: Final = np.zeros(0, np.int64)  # observe each game as its current player
MAX_SHOWN_ACTIONS: Final = 300  # characters of the legal actions in an error message

States = Any  # (batch,) of `Game.state_dtype`, a recarray or a plain structured array


class IllegalActionError(ValueError):
    """An action is not legal. No state was changed. `lanes` has the indices of the illegal actions in the batch."""

    def __init__(self, message: str, lanes: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.lanes = tuple(lanes)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.lanes)


class Game:
    """The rules of one variant on one board, over arrays of states.

    Args:
        rules: the variant; `Rules.official(4)` if None.
        board: the board; the packaged board if None.

    Attributes:
        rules: the variant.
        board: the board.
        num_actions: A, the number of actions.
        action_names: (A,) the names of the actions by number (RULES 7).
        num_features: F, the number of features of an observation.
        feature_layout: the names, places and bounds of the features, a `FeatureLayout`.
        state_dtype: the dtype of a state.

    Games with equal rules and equal boards are interchangeable and compare equal. Copies and pickles compare equal too.

    Every method that takes states checks each of them once, before anything changes, so that states from a file or another
    program are safe to pass: a field outside its range, or a pending `take` without a bale to take, raises a ValueError that
    names lane and field. A state inside the ranges may still be impossible under the rules; `state.check_invariants` decides
    that. The kernels do not check again, however many decisions they play. Code that calls kernels itself uses `check_states`.

    No method changes states while it writes to `out`: an `out` that shares memory with another argument is refused.

    Raises:
        ValueError: an argument has the wrong type.
    """

    def __init__(self, rules: Rules | None = None, board: Board | None = None) -> None:
        if rules is not None and not isinstance(rules, Rules):
            raise ValueError(f"rules must be a Rules, such as Rules.official(4), not {type(rules).__name__}")
        if board is not None and not isinstance(board, Board):
            raise ValueError(f"board must be a Board, such as Board.load(), not {type(board).__name__}")
        self.rules = rules if rules is not None else Rules.official(4)
        self.board = board if board is not None else Board.load()
        self.tables = make_tables(self.rules, self.board)
        self.state_dtype = state_dtype(self.board.num_sites)
        self._reading_dtype = reading_dtype(self.board.num_sites)
        self._ranges = state_ranges(self.rules, self.board)
        self.feature_layout = FeatureLayout(self.board.num_sites)
        self.lookups = make_lookups(self.feature_layout, self.rules, self.tables)
        self.mask_dtype = mask_dtype(self.board.num_sites)
        self._scratch = threading.local()
        self.action_names = action_names(self.board)
        self.num_actions = len(self.action_names)
        self.num_features = self.feature_layout.num_features

    def __repr__(self) -> str:
        return f"Game({self.rules.num_players} players, board {checks.shown(self.board.name)}, rules {self.rules.digest[:8]})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Game) and (self.rules, self.board) == (other.rules, other.board)

    def __hash__(self) -> int:
        return hash((self.rules, self.board))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.rules, self.board)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Game":
        return self  # a game is immutable

    @property
    def num_players(self) -> int:
        """The number of players, 2 to 5."""
        return self.rules.num_players

    # --- actions ---

    @cached_property
    def _action_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.action_names)}

    def action_name(self, action: int) -> str:
        """The name of an action number (RULES 7). Raises ValueError if there is no such action."""
        return self.action_names[checks.whole_number(action, "action", 0, self.num_actions - 1)]

    def action_index(self, name: str) -> int:
        """The number of an action's name (RULES 7). Raises ValueError if there is no such action."""
        if not isinstance(name, str) or name not in self._action_numbers:
            examples = f"{checks.one_line(self.action_names[0])}, buy and end_turn"
            raise ValueError(f"there is no action {checks.shown(name)}; names look like {examples}")
        return self._action_numbers[name]

    # --- new games ---

    def new_states(
        self,
        seeds: Any,
        setup: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        restocks: Any = None,
    ) -> np.recarray[Any, Any]:
        """Deal a game for each seed, including the first restock (RULES 2 and 3).

        Args:
            seeds: (batch,) integers from 0 to 2**64 − 1, a list or an array.
            setup: a set-up to use instead of chance, in the form of RULES 8: any of `demand`, `posts` and `palace_tokens`.
                One object for all games, or a list with one for each. Omitted parts are drawn from the seed.
            restocks: (batch, 4) integers: the bales by colour of the first restock. Drawn from the seed if None.

        Returns:
            (batch,) records of `state_dtype`.

        Raises:
            ValueError: a seed is out of range, or these rules could not deal the given set-up or restock.
        """
        keys = checks.seeds(seeds)
        states = new_records(len(keys), self.state_dtype)
        batch.deal_all(np.asarray(states), self.tables, keys)
        if setup is not None:
            force_setups(states, setup, self.rules, self.board)
        if restocks is not None:
            forced = checked_restocks(restocks, len(states))
            for lane, drawn in enumerate(forced):
                check_restock(drawn, self.rules.bales, self.rules, f"restocks[{lane}]")
            batch.force_restocks(np.asarray(states), forced)
        return states

    # --- playing ---

    def legal_actions(self, states: States, out: np.ndarray | None = None) -> np.ndarray:
        """The legal actions of each current player, (batch, num_actions) bool; all False after the end (RULES 4 and 7).

        Args:
            states: (batch,) records, unchanged.
            out: (batch, num_actions) bool, C-contiguous, overwritten and returned; a new array if None.

        Raises:
            ValueError: an argument has the wrong shape or dtype, or a state is not sound (see `Game`).
        """
        records = self.check_states(states)
        masks = checks.new_or_output(out, (len(records), self.num_actions), np.bool_, states)
        batch.legal_all(records, self.tables, self.as_mask_records(masks))
        return masks

    def legal_words(self, states: States, out: np.ndarray | None = None) -> np.ndarray:
        """The legal actions as one word for each game, (batch,) uint64: bit a is action a.

        Args:
            states: (batch,) records, unchanged.
            out: (batch,) uint64, overwritten and returned; a new array if None.

        Raises:
            ValueError: the board has more than 49 sites, so its actions do not fit into a word; or as in `legal_actions`.
        """
        if self.board.num_sites > MAX_WORD_SITES:
            raise ValueError(
                f"a word holds the actions of a board with at most {MAX_WORD_SITES} sites; this one has "
                f"{self.board.num_sites}"
            )
        records = self.check_states(states)
        words = checks.new_or_output(out, (len(records),), np.uint64, states)
        batch.legal_words(records, self.tables, words)
        return words

    def step(self, states: States, actions: Any, restocks: Any = None) -> None:
        """Play one action in each game, in place. Games that are over do not change.

        Args:
            states: (batch,) records, changed in place.
            actions: (batch,) integers; ignored in games that are over.
            restocks: (batch, 4) integers: the bales by colour to restock where a set ends with this step (RULES 3). Rows of
                other games are ignored. Drawn from each state's seed if None.

        Raises:
            IllegalActionError: an action is illegal; `.lanes` has the indices. No state has changed.
            ValueError: an argument has the wrong shape or dtype, a state is not sound (see `Game`), or a restock could not be
                drawn. No state has changed.
        """
        records = self._records(states)
        self._check_writable(states)
        chosen = self._legal(records, actions)
        if restocks is None:
            batch.step_all(records, self.tables, chosen)
        else:
            self._step_forced(records, chosen, checked_restocks(restocks, len(records)))
        if not np.may_share_memory(records, states):
            states[...] = records

    def _step_forced(self, records: np.ndarray, actions: np.ndarray, restocks: np.ndarray) -> None:
        after, due = rows(records).copy().view(records.dtype), np.zeros(len(records), np.bool_)
        batch.apply_all(after, self.tables, actions, due)
        for lane in np.flatnonzero(due):
            held = bales_off_elephants(after[lane], self.rules, f"states, lane {lane}")
            check_restock(restocks[lane], held, self.rules, f"restocks[{lane}]")
        restocked = after[due]
        batch.force_restocks(restocked, restocks[due])
        after[due] = restocked
        records[...] = after

    def check_states(self, states: States) -> np.ndarray:
        """Check states, as every method that takes states does, for code that passes them to kernels itself.

        Returns:
            (batch,) plain C-contiguous records, in the same memory if possible.

        Raises:
            ValueError: `states` has the wrong shape or dtype, or a state is not sound (see `Game`).
        """
        records = self._records(states)
        if batch.count_unsound(records, self._ranges):
            self._refuse_unsound(records)
        return records

    def check_actions(self, states: States, actions: Any) -> np.ndarray:
        """Check actions and return them as (batch,) int64: each is legal or its game is over. Raises the errors of `step`."""
        return self._legal(self._records(states), actions)

    def _legal(self, records: np.ndarray, actions: Any) -> np.ndarray:
        chosen = checks.actions(actions, len(records))
        illegal = np.empty(len(records), np.bool_)
        unsound, count = batch.find_illegal(records, self._ranges, self.tables, chosen, illegal)
        if unsound:
            self._refuse_unsound(records)
        if count:
            self._refuse(records, chosen, np.flatnonzero(illegal))
        return chosen

    def _refuse_unsound(self, records: np.ndarray) -> None:
        unsound = describe_unsound(records, self._ranges)
        assert unsound is not None, "the kernel found one"
        raise ValueError(f"states, lane {unsound[0]}: {unsound[1]}")

    def _refuse(self, records: np.ndarray, actions: np.ndarray, lanes: np.ndarray) -> None:
        lane = int(lanes[0])
        number = int(actions[lane])
        name = (
            f"{number} ({checks.one_line(self.action_names[number], 60)})"
            if 0 <= number < self.num_actions
            else f"{number}"
        )
        legal = [self.action_names[a] for a in np.flatnonzero(self.legal_actions(records[lane : lane + 1])[0])]
        more = f"; {len(lanes) - 1} more lanes have illegal actions" if len(lanes) > 1 else ""
        where = f"lane {lane}: " if len(records) > 1 else ""
        raise IllegalActionError(
            f"{where}action {name} is illegal for seat {records[lane]['current_player']}; "
            f"legal are {checks.one_line(', '.join(legal), MAX_SHOWN_ACTIONS)}{more}",
            lanes.tolist(),
        )

    def sample_actions(self, states: States, keys: Any, index: int = 0, out: np.ndarray | None = None) -> np.ndarray:
        """Sample a legal action uniformly at random in each game, (batch,) int64; −1 after the end.

        Args:
            states: (batch,) records, unchanged.
            keys: (batch,) integers from 0 to 2**64 − 1: the key of each lane's stream of random numbers.
            index: position in the streams, from 0 to 2**62. The same keys and index give the same random numbers.
            out: (batch,) int64, overwritten and returned; a new array if None.

        Raises:
            ValueError: an argument has the wrong shape or dtype or is out of range, or a state is not sound (see `Game`).
        """
        records = self.check_states(states)
        streams = checks.seeds(keys, len(records), "keys")
        actions = checks.new_or_output(out, (len(records),), np.int64, states, keys)
        batch.sample_all(records, self.tables, streams, np.uint64(checks.count(index, "index")), actions)
        return actions

    def rollout(
        self, states: States, keys: Any, max_decisions: int | None = None, policy: Any = None, index: int = 0
    ) -> np.ndarray:
        """Continue games inside one kernel, in place, each to its end or for `max_decisions` decisions.

        Args:
            states: (batch,) records, changed in place.
            keys: (batch,) integers from 0 to 2**64 − 1: the key of each lane's stream of random numbers.
            max_decisions: maximum number of decisions in each lane, from 0 to 2**62; no limit if None.
            policy: a function compiled by Numba, `policy(state, tables, moves, others, random)`, that returns a legal action.
                `tables` is `game.tables[0]`; `moves` and `others` are the legal actions as bits (sites to move to, and all other
                actions); `random` is a uniform uint64. None: `bombay_env.batch.uniform`, which is uniformly random. Any other
                policy is compiled at its first use in a process. The actions that a policy returns are not checked.
            index: position in the streams to start at, from 0 to 2**62: the number of decisions already drawn with these keys.

        Returns:
            (batch,) int64, the number of decisions in each lane.

        Raises:
            ValueError: an argument has the wrong shape or dtype or is out of range, a state is not sound (see `Game`), or the
                policy cannot be compiled. No state has changed.
        """
        records = self.check_states(states)
        self._check_writable(states)
        streams = checks.seeds(keys, len(records), "keys")
        most = checks.MAX_COUNT if max_decisions is None else checks.count(max_decisions, "max_decisions")
        taken = np.empty(len(records), np.int64)
        first = checks.count(index, "index")
        if policy is not None and not isinstance(policy, Dispatcher) and not (CONFIG.DISABLE_JIT and callable(policy)):
            raise ValueError(f"policy must be a function compiled with numba.njit, not {type(policy).__name__}")
        rollout = batch.rollout_uniform if policy is None else batch.rollout_with(policy)
        try:
            rollout(records, self.tables, most, streams, first, taken)
        except (NumbaError, KeyError) as error:  # KeyError: a record has no such field
            reason = checks.one_line(f"{type(error).__name__}: {error}", 300)
            raise ValueError(
                f"policy cannot be compiled as policy(state, tables, moves, others, random): {reason}"
            ) from None
        if not np.may_share_memory(records, states):
            states[...] = records
        return taken

    def current_player(self, states: States, out: np.ndarray | None = None) -> np.ndarray:
        """The seat to act in each game, (batch,) int8; −1 after the end. `out` is overwritten and returned if given."""
        records = self.check_states(states)
        players = checks.new_or_output(out, (len(records),), np.int8, states)
        players[...] = records["current_player"]
        return players

    def is_terminal(self, states: States, out: np.ndarray | None = None) -> np.ndarray:
        """Whether each game is over, (batch,) bool. `out` is overwritten and returned if given."""
        records = self.check_states(states)
        over = checks.new_or_output(out, (len(records),), np.bool_, states)
        return np.equal(records["current_player"], NOBODY, out=over)  # type: ignore[no-any-return]

    def results(self, states: States, out: np.ndarray | None = None) -> np.recarray[Any, Any]:
        """The outcome of each game (RULES 5), all zeros while a game is running.

        Args:
            states: (batch,) records, unchanged.
            out: (batch,) of the dtype of the result, overwritten and returned; a new array if None.

        Returns:
            (batch,) records with the fields `rupees`, `clients`, `empire`, `majority`, `city_tokens`, `fame`, `final`, `winners`
            (bool) and `win_share` (RULES 8), each (num_players,).
        """
        return self._settle(states, provisional=False, out=out)

    def provisional_results(self, states: States, out: np.ndarray | None = None) -> np.recarray[Any, Any]:
        """The outcome of each game as if it ended now, in the form of `results`."""
        return self._settle(states, provisional=True, out=out)

    def _settle(self, states: States, provisional: bool, out: np.ndarray | None) -> np.recarray[Any, Any]:
        records = self.check_states(states)
        results = checks.new_or_output(out, (len(records),), result_dtype(self.num_players), states).view(np.recarray)
        settled = new_records(len(records), SETTLED_DTYPE)
        batch.settle_all(records, self.tables, provisional, np.asarray(settled))
        for name in results.dtype.names:
            results[name] = settled[name][:, : self.num_players]
        return results

    # --- seeing ---

    def observe(
        self, states: States, seats: Any = None, screened: bool = False, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The observation of each game by one seat, (batch, num_features) float32; `feature_layout` describes it (RULES 6).

        Args:
            states: (batch,) records, unchanged.
            seats: the observing seats: (batch,) integers below `num_players`, or one integer for all games. None: the seat to
                act, or seat 0 after the end.
            screened: whether to hide what opponents keep behind their screens.
            out: (batch, num_features) float32, C-contiguous, overwritten and returned; a new array if None.

        Raises:
            ValueError: an argument has the wrong shape or dtype, a seat is out of range, or a state is not sound (see `Game`).
        """
        records = self.check_states(states)
        viewers = NO_SEATS if seats is None else self.check_seats(seats, len(records))
        features = checks.new_or_output(out, (len(records), self.num_features), np.float32, states, seats)
        scratch = self.scratch(bool(screened))
        rows = self.as_feature_records(features)
        batch.observe_all(self.as_readings(records), self.tables, self.lookups, viewers, bool(screened), scratch, rows)
        return features

    def scrub(self, states: States, seeds: Any, out: np.ndarray | None = None) -> np.recarray[Any, Any]:
        """Copies of the states with other seeds, so that an agent cannot predict what will be drawn from the bag.

        Args:
            states: (batch,) records, unchanged.
            seeds: (batch,) integers from 0 to 2**64 − 1.
            out: (batch,) of `state_dtype`, overwritten and returned; a new array if None.

        Returns:
            (batch,) records of `state_dtype`.
        """
        records = self.check_states(states)
        keys = checks.seeds(seeds, len(records))
        copies = checks.new_or_output(out, (len(records),), self.state_dtype, states, seeds).view(np.recarray)
        rows(copies)[...] = rows(records)
        copies["seed"] = keys
        return copies

    def restock_outcomes(self, state: States) -> tuple[np.ndarray, np.ndarray]:
        """Every possible draw of the next restock if the current set ended now, with its probability (RULES 3).

        Args:
            state: one state, a record or a (1,) array; unchanged.

        Returns:
            Draws (k, 4) int64 by colour, in ascending order, and their probabilities (k,) float64, each the float nearest to
            the exact fraction. Both are empty if no restock follows.

        Raises:
            ValueError: `state` is not one sound state (see `Game`), or its elephants carry more bales than there are.
        """
        record = self.as_record(state)
        if record["current_player"] == NOBODY or record["set"] + 1 >= self.rules.sets:
            return np.zeros((0, NUM_COLOURS), np.int64), np.zeros(0)
        return draw_probabilities(bales_off_elephants(record, self.rules, "state"), self.rules.restock_draw)

    # --- arrays as the kernels see them ---

    def as_readings(self, states: np.ndarray) -> np.ndarray:
        """A plain array of states as the records that `observation/encode.py` reads, in the same memory."""
        return states.view(self._reading_dtype)

    def as_record(self, state: States) -> Any:
        """One state, a record or a (1,) array, as a record. Raises ValueError if it is not a single state of this game."""
        if isinstance(state, np.void):
            state = np.asarray(state)
        states = self.check_states(np.atleast_1d(state) if isinstance(state, np.ndarray) else state)
        if len(states) != 1:
            raise ValueError(f"state must be one state, not {len(states)}")
        return states[0]

    def as_mask_records(self, masks: np.ndarray) -> np.ndarray:
        """Masks (…, num_actions) bool, C-contiguous, as a flat array of records in the same memory."""
        return masks.view(self.mask_dtype).reshape(-1)

    def as_feature_records(self, features: np.ndarray) -> np.ndarray:
        """Observations (…, num_features) float32, C-contiguous, as a flat array of records in the same memory."""
        return features.view(self.feature_layout.row_dtype).reshape(-1)

    def scratch(self, screened: bool) -> np.ndarray:
        """Working memory for the kernels that write observations, allocated once for each mode and Python thread.

        While a kernel runs on several threads, other Python threads may observe with the same `Game`.
        """
        mode = "screened" if screened else "perfect_recall"
        by_mode: dict[str, np.ndarray] = self._scratch.__dict__  # of this thread
        if mode not in by_mode:
            by_mode[mode] = batch.make_scratch(self.feature_layout)
        return by_mode[mode]

    # --- checks ---

    def _records(self, states: States) -> np.ndarray:
        """States as a plain C-contiguous array, in the same memory if possible. Checks dtype and shape only."""
        if not isinstance(states, np.ndarray) or (
            states.dtype is not self.state_dtype
            and states.dtype != self.state_dtype  # identity first: it is much faster
        ):
            found = f"{states.dtype}" if isinstance(states, np.ndarray) else type(states).__name__
            raise ValueError(f"states must be an array of this game's state_dtype, not {found[:80]}")
        if states.ndim != 1:
            raise ValueError(f"states must have shape (batch,), not {states.shape}")
        records = np.ascontiguousarray(states)
        return records if records.dtype is self.state_dtype else records.view(self.state_dtype)

    def _check_writable(self, states: np.ndarray) -> None:
        if not states.flags.writeable:
            raise ValueError("states are read-only but would be changed in place; pass a copy")

    def check_seats(self, seats: Any, count: int) -> np.ndarray:
        """Check seats, as `observe` does: one integer, or (count,) integers. Returns (count,) int64; raises ValueError."""
        numbers = checks.array(seats)
        if numbers.dtype.kind not in "iu" or numbers.shape not in ((), (count,)):
            raise ValueError(f"seats is {checks.shown(seats)}; it must be one integer or integers of shape ({count},)")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() < self.num_players):
            raise ValueError(f"seats must be from 0 to {self.num_players - 1}")
        # A copy, because Numba would compile the kernels again for a read-only array.
        return np.array(np.broadcast_to(numbers, count), np.int64)
