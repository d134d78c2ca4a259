"""What a player is: the one method that matches, training and notebooks call.

Knows nothing of any player. `registry.py` makes players by name; `bombay_agents/random.py` is the smallest one to read.
"""

from typing import Protocol, runtime_checkable

import numpy as np

from bombay_env.game import Game


@runtime_checkable
class Agent(Protocol):
    """A player of Bombay, for any number of games at once. Any object with these two members is one.

    Attributes:
        name: what tables and records call it.
    """

    name: str

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decide one action for each state.

        Args:
            game: the variant and the board that the states are of.
            states: (batch,) records of `game.state_dtype`, scrubbed copies in all of which this agent is to move. Their
                seeds are not those of the games, so looking at them tells nothing.
            rng: the only source of randomness to use: the same states and generator give the same actions.

        Returns:
            (batch,) int64, a legal action for each state.
        """
        ...
