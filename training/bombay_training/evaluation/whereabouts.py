"""Where seats play: rupees from sales by colour and place, the sites that they visit, and those on which they build.

With the accounts (`matches/accounts.py`) it tells why a seat does better than the others.
"""

from collections.abc import Sequence

import numpy as np

from bombay_env import Game
from bombay_env.actions import BUILD, SELL
from bombay_env.record import Record
from bombay_env.rules import COLUMN_HEIGHT, NUM_COLOURS
from bombay_training.matches.observers import replay
from bombay_training.matches.table import LostGame


class Whereabouts:
    """Keeps where seats play: an observer (`matches/observers.py`).

    Attributes:
        sales: (G, n, 4, 3) int32 rupees from sales by colour and by place in the column, the top first; with the rupees that the
            colour adds.
        visits: (G, n, S) int32 how often the elephant moved to each site.
        palaces: (G, n, S) bool whether the seat has a palace on the site at the end.
    """

    def __init__(self, game: Game, games: int) -> None:
        self.tables = game.tables[0]
        shape = games, game.num_players
        self.sales = np.zeros((*shape, NUM_COLOURS, COLUMN_HEIGHT), np.int32)
        self.visits = np.zeros((*shape, game.board.num_sites), np.int32)
        self.palaces = np.zeros((*shape, game.board.num_sites), np.bool_)

    def before_step(self, games: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
        """Enter moves and sales."""
        seats, other = states["current_player"], actions - self.tables.num_sites
        moves = other < 0
        self.visits[games[moves], seats[moves], actions[moves]] += 1
        sells = np.flatnonzero((other >= SELL) & (other < BUILD))
        seller, colours = seats[sells], other[sells] - SELL
        cities = self.tables.city_of_site[states["position"][sells, seller]]
        places = (states["demand"][sells, cities] == colours[:, None]).argmax(axis=1)
        self.sales[games[sells], seller, colours, places] += self.tables.sale_rupees[places, colours]

    def after_end(self, games: np.ndarray, states: np.ndarray, results: np.ndarray) -> None:
        """Enter palaces."""
        owners = 1 + np.arange(self.palaces.shape[1])
        self.palaces[games] = states["palace"][:, None] == owners[:, None]

    def after_fault(self, game: int, states: np.ndarray, lost: LostGame) -> None:
        """Recorded games have no faults."""


def whereabouts(records: Sequence[Record]) -> Whereabouts:
    """Those of recorded games, as `replay` takes them."""
    found = Whereabouts(records[0].game, len(records))
    replay(records, found)
    return found
