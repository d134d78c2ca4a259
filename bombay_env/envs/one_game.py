"""`OneGame`: a single running game with little overhead for each decision.

`aec.py` uses it, because checking arrays for every action would cost more than playing the action. `OneGame` runs the kernels of
`batch.py` on a batch of one whose memory never moves, so no rule is implemented twice.
"""

from typing import Any

import numpy as np

from bombay_env import batch, checks
from bombay_env.game import Game, IllegalActionError
from bombay_env.state import NOBODY

INT64 = np.iinfo(np.int64)


class OneGame:
    """One game that continues from a given state.

    Args:
        game: the rules and the board.
        states: (1,) records, the state to start from; it is copied.

    Attributes:
        game: the rules and the board.
        states: (1,) records, owned by this object; overwritten by `play`.
        mover: the seat to act, −1 after the end.
    """

    def __init__(self, game: Game, states: np.ndarray) -> None:
        self.game = game
        self.states: np.recarray[Any, Any] = states.copy().view(np.recarray)
        self.mover = int(states[0]["current_player"])
        self._records = np.asarray(self.states)
        self._readings = game.as_readings(self._records)
        self._masks = np.zeros(1, game.mask_dtype)
        self._features = np.zeros(1, game.feature_layout.row_dtype)
        self._flat_mask, self._flat_features = self._masks.view(np.int8), self._features.view(np.float32)
        self._seats = [np.array([seat]) for seat in range(game.num_players)]
        batch.legal_all(self._records, game.tables, self._masks)

    def __deepcopy__(self, memo: dict[int, Any]) -> "OneGame":
        return OneGame(self.game, self.states)

    def __reduce__(self) -> tuple[Any, ...]:
        return OneGame, (self.game, self.states)

    def play(self, action: int) -> None:
        """Play an action of the seat to act. `states` and `mover` are overwritten.

        Raises:
            IllegalActionError: the action is not legal. Nothing has changed.
        """
        mover = batch.ILLEGAL
        if 0 <= action < self.game.num_actions:
            mover = batch.play_one(self._records, self.game.tables, action, self._masks)
        if mover == batch.ILLEGAL:
            self._refuse(action)
        self.mover = mover

    def _refuse(self, action: int) -> None:
        if self.mover == NOBODY:
            raise IllegalActionError(f"action {action} is illegal: the game is over")
        self.game.check_actions(self.states, np.array([action]))

    def action_mask(self) -> np.ndarray:
        """The legal actions of the seat to act, (A,) int8, a new array; all zero after the end."""
        return self._flat_mask.copy()

    def observe(self, seat: int, screened: bool) -> np.ndarray:
        """The observation of `seat`, (F,) float32, a new array."""
        game, raw = self.game, self.game.scratch(screened)
        batch.observe_all(self._readings, game.tables, game.lookups, self._seats[seat], screened, raw, self._features)
        return self._flat_features.copy()


def whole_action(action: Any) -> int:
    """An action as an int. A number outside int64, which is illegal anyway, becomes the nearest int64.

    Raises:
        IllegalActionError: `action` is not a whole number.
    """
    try:
        return min(max(checks.whole_number(action, "action"), INT64.min), INT64.max)
    except ValueError as error:
        raise IllegalActionError(str(error)) from None
