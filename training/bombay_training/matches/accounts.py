"""The accounts of a game: where each seat's rupees came from, and what its actions were spent on.

They are kept apart from the game, by the fields of `Rules`, and must agree with it at the end of every game.
"""

from typing import Final

import numpy as np

from bombay_env import Game, engine
from bombay_env.actions import BUILD, BUY, CONSOLIDATE, SELL, TAKE
from bombay_env.jit.kernels import kernel
from bombay_env.rules import COLUMN_HEIGHT, NUM_MARKETS, PalaceToken

SOURCES: Final = (
    "start",
    "sales_top",
    "sales_middle",
    "sales_bottom",
    "colour_bonus",
    "tolls",
    "consolidation",
    "palace_tokens",
    "purchases",
    "empire",
    "fame",
)
START, SALES = 0, 1
BONUS = SALES + COLUMN_HEIGHT
TOLLS, CONSOLIDATION, TOKENS, PURCHASES, EMPIRE, FAME = range(BONUS + 1, BONUS + 7)

USES: Final = (
    "move",
    "buy_left",
    "buy_centre",
    "buy_right",
    "sell_top",
    "sell_middle",
    "sell_bottom",
    "build",
    "take",
    "consolidate",
    "end_turn",
)
MOVES, BUYS = 0, 1
SELLS = BUYS + NUM_MARKETS
BUILDS, TAKES, CONSOLIDATIONS, END_TURNS = range(SELLS + COLUMN_HEIGHT, SELLS + COLUMN_HEIGHT + 4)

SPENDING: Final = ("move", "buy", "sell", "build", "consolidate", "wasted")  # what the actions of a turn are spent on
ON_MOVES, ON_BUYS, ON_SELLS, ON_BUILDS, ON_CONSOLIDATIONS, WASTED = range(len(SPENDING))

TOKEN_RUPEES = 1 + int(PalaceToken.RUPEES)  # as a state stores it


class Accountant:
    """Keeps the accounts of games while they are played.

    Args:
        game: the variant and board.
        rows: (G, n) rows of the games with the columns of `ACCOUNTS` (`matches/table.py`), changed in place: rupees by `SOURCES`,
            whose sum is the final rupees; how often each of `USES` was chosen; and the actions by `SPENDING`, whose sum is the
            number of actions in all turns.
    """

    def __init__(self, game: Game, rows: np.ndarray) -> None:
        self.game, self.rows = game, rows
        self.books = [rows[name] for name in ("rupees", "uses", "spent")]
        self.books[0][:, :, START] = game.rules.starting_rupees
        self.sale, self.bonus = np.array(game.rules.sale_rupees), np.array(game.rules.colour_rupees)

    def before_step(self, games: np.ndarray, states: np.ndarray, actions: np.ndarray) -> None:
        """Enter these actions (batch,) of these games (batch,), which are indices into the rows."""
        book_all(np.asarray(states), self.game.tables, self.sale, self.bonus, actions, games, *self.books)

    def after_end(self, games: np.ndarray, results: np.ndarray) -> None:
        """Enter the awards of games that are over. Raises RuntimeError, which names the game, if accounts do not add up."""
        rupees, _, spent = self.books
        rupees[games, :, EMPIRE], rupees[games, :, FAME] = results["majority"], results["fame"]
        rules = self.game.rules
        actions = rules.sets * rules.turns_per_set * rules.actions_per_turn
        wrong = (rupees[games].sum(axis=2) != results["final"]) | (spent[games].sum(axis=2) != actions)
        for row, seat in np.argwhere(wrong):
            deal = self.rows["deal"][games[row], 0]
            raise RuntimeError(f"the accounts of seat {seat} in the game with seed {deal} do not add up to its result")


@kernel
def book_all(states, tables, sale, bonus, actions, games, rupees, uses, spent):
    """Enter the income, cost and use of these actions in the accounts, before the actions are played.

    Args:
        states: (batch,) records, unchanged.
        actions: (batch,) int64 legal actions.
        sale, bonus: (3,) and (4,) rupees of a sale, by place in the column and by colour.
        games: (batch,) the index in the accounts of each lane's game.
        rupees, uses, spent: (G, n, …) int32, the accounts, changed in place.
    """
    for lane in range(len(states)):
        game = games[lane]
        book(states[lane], tables[0], sale, bonus, actions[lane], rupees[game], uses[game], spent[game])


@kernel
def book(state, tables, sale, bonus, action, rupees, uses, spent):
    """Enter one action of one game; `rupees`, `uses` and `spent` are the (n, …) rows of its accounts."""
    player = state.current_player
    site = state.position[player]
    other = action - tables.num_sites
    if other < BUY:
        uses[player, MOVES] += 1
        spent[player, ON_MOVES] += tables.enter_cost[action]
        owner = state.palace[action] - 1
        if owner >= 0 and owner != player:
            rupees[owner, TOLLS] += tables.toll
    elif other == BUY:
        market = engine.market_of(state, state.post[site] - 1)
        uses[player, BUYS + market] += 1
        spent[player, ON_BUYS] += tables.market_actions[market]
        rupees[player, PURCHASES] -= tables.market_rupees[market]
    elif other < BUILD:
        place = engine.place_in_column(state, tables.city_of_site[site], other - SELL)
        uses[player, SELLS + place] += 1
        spent[player, ON_SELLS] += tables.sell_cost
        rupees[player, SALES + place] += sale[place]
        rupees[player, BONUS] += bonus[other - SELL]
    elif other < TAKE:
        uses[player, BUILDS] += 1
        spent[player, ON_BUILDS] += tables.build_cost
        if state.palace_token[site] == TOKEN_RUPEES:
            rupees[player, TOKENS] += tables.palace_token_rupees
    elif other < CONSOLIDATE:
        uses[player, TAKES] += 1
    elif other == CONSOLIDATE:
        uses[player, CONSOLIDATIONS] += 1
        spent[player, ON_CONSOLIDATIONS] += state.actions_left
        rupees[player, CONSOLIDATION] += tables.consolidate_rupees
    else:
        uses[player, END_TURNS] += 1
        spent[player, WASTED] += state.actions_left
