"""A second implementation of the rules in slow, plain Python, written from RULES.md, to check the engine.

It shares no code with the engine. `NaiveGame` plays one game with dicts, lists and strings, and has a short function for each
rule. It draws nothing at random: the caller gives the set-up and every restock. A set-up or restock that RULES 2 and 3 could not
produce raises `NaiveError`, and so does an illegal action. It assumes that the board is valid (RULES 9) and that the rules have
every field of RULES 5. The tests of the rules play each position on it too (`helpers/rules.py`).
"""

import copy
import json
from collections.abc import Iterable
from typing import Any

COLOURS = ("yellow", "purple", "blue", "orange")
KINDS = ("client", "city", "rupees", "bale")
MARKETS = ("left", "centre", "right")


class NaiveError(ValueError):
    """The rules do not allow an action or a random outcome; the message gives the reason."""


def no_bales() -> dict[str, int]:
    """No bales, counted by colour."""
    return dict.fromkeys(COLOURS, 0)


def counts(heap: dict[str, int]) -> list[int]:
    """Bales as four counts in the order yellow, purple, blue, orange (RULES 1)."""
    return [heap[colour] for colour in COLOURS]


def same_pieces(dealt: Iterable[Any], expected: Iterable[Any]) -> bool:
    """Whether two collections have the same pieces, in any order."""
    return sorted(json.dumps(piece) for piece in dealt) == sorted(json.dumps(piece) for piece in expected)


def check_setup(rules: dict[str, Any], sites_of: dict[str, list[str]], setup: dict[str, Any]) -> None:
    """Raise NaiveError if a set-up could not be dealt (RULES 2, steps 2 to 4; form of RULES 8)."""
    if set(setup) != {"demand", "posts", "palace_tokens"}:
        raise NaiveError(f"a set-up has demand, posts and palace_tokens, not {list(setup)}")
    post_sites, posts = sites_of["inner_post"], list(COLOURS)
    if rules["outer_posts"]:
        post_sites, posts = post_sites + sites_of["outer_post"], posts + posts
    tokens = [kind for kind, number in zip(KINDS, rules["palace_tokens"], strict=True) for _ in range(number)]
    for part, places, pieces in (
        ("demand", sites_of["city"], rules["demand_columns"]),
        ("posts", post_sites, posts),
        ("palace_tokens", sites_of["palace_site"], tokens),
    ):
        if not isinstance(setup[part], dict) or set(setup[part]) != set(places):
            raise NaiveError(f"{part} must name exactly the sites {places}, not {setup[part]}")
        dealt = list(setup[part].values())
        if not same_pieces(dealt, pieces):
            raise NaiveError(f"{part} must deal out {pieces}, not {dealt}")


def drawn_bales(rules: dict[str, Any], bag: dict[str, int], drawn: list[int] | None) -> dict[str, int]:
    """The bales of a restock; NaiveError if they could not come from this bag (RULES 3, restock)."""
    if not isinstance(drawn, list | tuple) or len(drawn) != len(COLOURS) or any(type(n) is not int for n in drawn):
        raise NaiveError(f"a restock is {len(COLOURS)} whole numbers, one a colour, not {drawn!r}")
    for colour, number in zip(COLOURS, drawn, strict=True):
        if not 0 <= number <= bag[colour]:
            raise NaiveError(f"a restock cannot draw {number} {colour} from a bag that holds {bag[colour]}")
    due = min(rules["restock_draw"], sum(bag.values()))
    if sum(drawn) != due:
        raise NaiveError(f"a restock draws {due} bales here, not {sum(drawn)}")
    return dict(zip(COLOURS, drawn, strict=True))


def stock_markets(drawn: dict[str, int]) -> dict[str, dict[str, int]]:
    """Place the drawn bales: the most common colours left, the next most common centre, the rest right (RULES 3)."""
    markets = {market: no_bales() for market in MARKETS}
    waiting = {colour: number for colour, number in drawn.items() if number > 0}
    for market in MARKETS:
        most = max(waiting.values(), default=0)
        for colour in list(waiting):
            if waiting[colour] == most or market == "right":
                markets[market][colour] = waiting.pop(colour)
    return markets


def majority_awards(totals: list[int], rank_rupees: list[int]) -> list[int]:
    """The award of each total; tied players share the awards of their ranks, rounded down (RULES 5, empire)."""
    awards = []
    for total in totals:
        ahead = sum(other > total for other in totals)
        tied = totals.count(total)
        awards.append(sum(rank_rupees[ahead : ahead + tied]) // tied)
    return awards


def fame_award(city_tokens: int, fame: list[int]) -> int:
    """The award for a number of City tokens; the last entry also for more (RULES 5, fame)."""
    return fame[min(city_tokens, len(fame) - 1)]


def winning_seats(final: list[int], clients: list[int]) -> list[int]:
    """Most rupees, then most Client tokens; players still tied share the win (RULES 5, step 3)."""
    best = max(zip(final, clients, strict=True))
    return [seat for seat, score in enumerate(zip(final, clients, strict=True)) if score == best]


class NaiveGame:
    """One game of Bombay, from a dealt set-up to its result (RULES 2 to 5)."""

    def __init__(self, rules: dict[str, Any], board: dict[str, Any], setup: dict[str, Any], restock: list[int]) -> None:
        """Set up the game and restock the first set.

        Args:
            rules: `num_players` and every field of RULES 5's table, in JSON types.
            board: `name`, `sites` and `trails` of a valid board (RULES 9).
            setup: `demand`, `posts` and `palace_tokens`, in the form of RULES 8.
            restock: bales drawn for the first set, by colour.

        Raises:
            NaiveError: the set-up or the restock could not be dealt (RULES 2 and 3).
        """
        self.rules = copy.deepcopy(rules)
        self.num_players: int = rules["num_players"]
        self.seats = range(self.num_players)
        self.sites: list[str] = [site["name"] for site in board["sites"]]
        self.kind: dict[str, str] = {site["name"]: site["kind"] for site in board["sites"]}
        self.trails = {(a, b) for a, b in board["trails"]} | {(b, a) for a, b in board["trails"]}
        self.cities = [site for site in self.sites if self.kind[site] == "city"]
        self.names = self._all_names()
        sites_of = {kind: [s for s in self.sites if self.kind[s] == kind] for kind in set(self.kind.values())}
        check_setup(self.rules, sites_of, setup)

        self.demand: dict[str, list[str]] = {city: list(setup["demand"][city]) for city in self.cities}
        self.posts: dict[str, str] = dict(setup["posts"])
        self.palace_tokens: dict[str, str] = dict(setup["palace_tokens"])
        self.palaces: dict[str, int] = {}
        self.bag: dict[str, int] = dict(zip(COLOURS, rules["bales"], strict=True))
        self.markets = stock_markets(no_bales())
        self.city_piles: dict[str, int] = dict.fromkeys(self.cities, rules["city_tokens"])
        self.client_supply: int | None = rules["client_supply"]

        self.position = [sites_of["start_hill"][0] for _ in self.seats]
        self.rupees: list[int] = list(rules["starting_rupees"])
        self.clients = [0 for _ in self.seats]
        self.client_palace_tokens = [0 for _ in self.seats]
        self.city_tokens: list[set[str]] = [set() for _ in self.seats]
        self.city_palace_tokens = [0 for _ in self.seats]
        self.palaces_left = [rules["palaces"] for _ in self.seats]
        self.basket = [no_bales() for _ in self.seats]

        self.over = False
        self.set_number = 0  # sets finished
        self.turn = 0  # game turns finished in this set
        self.turns_taken = 0  # players who have finished their turn in this game turn
        self.actions_left = 0
        self.buys = 0
        self.take_pending = False
        self._restock(restock)
        self._begin_turn()

    # Queries and actions

    def action_names(self) -> list[str]:
        """Every action, legal or not, in the order of RULES 7."""
        return list(self.names)

    def legal_actions(self) -> list[str]:
        """The current player's legal actions, in the order of RULES 7; none after the end (RULES 4)."""
        return [action for action in self.names if not self._why_not(action)]

    def step(self, action: str, restock: list[int] | None = None) -> None:
        """Play an action for the current player (RULES 4).

        Args:
            action: a name of RULES 7.
            restock: bales drawn by colour; used only if this action ends a set and another follows.

        Raises:
            NaiveError: the action is not legal, or a required restock is missing or impossible. Nothing has changed.
        """
        reason = self._why_not(action)
        if reason:
            raise NaiveError(f"{action!r} is not legal: {reason}")
        if not self._is_last_turn_of_set():
            self._play(action, restock)
            return
        before = copy.deepcopy(vars(self))
        try:
            self._play(action, restock)
        except NaiveError:
            vars(self).update(before)
            raise

    def state(self) -> dict[str, Any]:
        """All public and hidden facts, as new objects of plain JSON types."""
        return {
            "over": self.over,
            "current_player": -1 if self.over else self.current_player(),
            "first_player": self.first_player(),
            "set": self.set_number,
            "turn": self.turn,
            "actions_left": self.actions_left,
            "buys": self.buys,
            "take_pending": self.take_pending,
            "demand": {city: list(column) for city, column in self.demand.items()},
            "posts": dict(self.posts),
            "open_posts": [site for site in self.sites if self._is_open_post(site)],
            "palace_tokens": dict(self.palace_tokens),
            "palaces": dict(self.palaces),
            "markets": [counts(self.markets[market]) for market in MARKETS],
            "bag": counts(self.bag),
            "city_piles": dict(self.city_piles),
            "client_supply": self.client_supply,
            "position": list(self.position),
            "rupees": list(self.rupees),
            "clients": list(self.clients),
            "client_palace_tokens": list(self.client_palace_tokens),
            "city_tokens": [[city for city in self.cities if city in held] for held in self.city_tokens],
            "city_palace_tokens": list(self.city_palace_tokens),
            "palaces_left": list(self.palaces_left),
            "basket": [counts(basket) for basket in self.basket],
        }

    def result(self) -> dict[str, Any] | None:
        """The result object of RULES 8, computed by RULES 5; None while the game is running."""
        if not self.over:
            return None
        clients = [self.clients[seat] + self.client_palace_tokens[seat] for seat in self.seats]
        empire = [clients[seat] + list(self.palaces.values()).count(seat) for seat in self.seats]
        majority = majority_awards(empire, self.rules["majority"])
        city_tokens = [len(self.city_tokens[seat]) + self.city_palace_tokens[seat] for seat in self.seats]
        fame = [fame_award(number, self.rules["fame"]) for number in city_tokens]
        final = [self.rupees[seat] + majority[seat] + fame[seat] for seat in self.seats]
        winners = winning_seats(final, clients)
        return {
            "rupees": list(self.rupees),
            "clients": clients,
            "empire": empire,
            "majority": majority,
            "city_tokens": city_tokens,
            "fame": fame,
            "final": final,
            "winners": winners,
            "win_share": [1 / len(winners) if seat in winners else 0 for seat in self.seats],
        }

    def first_player(self) -> int:
        """The seat that starts each game turn of this set, or of the last set after the end (RULES 3)."""
        number: int = min(self.set_number, self.rules["sets"] - 1)
        return number % self.num_players if self.rules["rotate_first_player"] else 0

    def current_player(self) -> int:
        """The seat to act: clockwise from the set's first player (RULES 3)."""
        return (self.first_player() + self.turns_taken) % self.num_players

    # Legality: each function returns the first reason why an action is illegal, or an empty string

    def _all_names(self) -> list[str]:
        """The table of RULES 7."""
        names = [f"move:{site}" for site in self.sites] + ["buy"]
        for verb in ("sell", "build", "take"):
            names += [f"{verb}:{colour}" for colour in COLOURS]
        return [*names, "consolidate", "end_turn"]

    def _why_not(self, action: str) -> str:
        """The reason why the action is illegal for the current player; empty if it is legal (RULES 4)."""
        if self.over:
            return "the game is over"
        if action not in self.names:
            return "there is no such action"
        verb, _, what = action.partition(":")
        if self.take_pending and verb != "take":
            return "a bale token's bale must be taken first"
        reason = ""  # `end_turn`, which is legal whenever no take is pending
        match verb:
            case "move":
                reason = self._why_not_move(what)
            case "buy":
                reason = self._why_not_buy()
            case "sell":
                reason = self._why_not_sell(what)
            case "build":
                reason = self._why_not_build(what)
            case "take":
                reason = self._why_not_take(what)
            case "consolidate":
                reason = self._why_not_consolidate()
        return reason

    def _why_not_cost(self, actions: int, rupees: int = 0) -> str:
        """An action is legal only if the player can pay its whole cost (RULES 4)."""
        if actions > self.actions_left:
            return f"it costs {actions} actions and {self.actions_left} are left"
        if rupees > self.rupees[self.current_player()]:
            return f"it costs {rupees} rupees and {self.rupees[self.current_player()]} are in hand"
        return ""

    def _why_not_move(self, site: str) -> str:
        """A move follows a trail (RULES 4, move)."""
        here = self.position[self.current_player()]
        if (here, site) not in self.trails:
            return f"no trail joins {here} and {site}"
        return self._why_not_cost(self._move_cost(site))

    def _why_not_buy(self) -> str:
        """Buying needs an open post, room in the basket and a purchase left this turn (RULES 4, buy)."""
        player = self.current_player()
        here = self.position[player]
        if here not in self.posts:
            return f"there is no post at {here}"
        if not self._is_open_post(here):
            return f"the {self.posts[here]} post at {here} is closed"
        if self.buys >= self.rules["buys_per_turn"]:
            return f"{self.buys} bales were bought this turn"
        if sum(self.basket[player].values()) >= self.rules["basket"]:
            return "the basket is full"
        return self._why_not_cost(*self._price(self._market_of(self.posts[here])))

    def _why_not_sell(self, colour: str) -> str:
        """Selling needs a city that demands the colour, and a bale of it (RULES 4, sell)."""
        player = self.current_player()
        here = self.position[player]
        if here not in self.cities:
            return f"{here} is not a city"
        if colour not in self.demand[here]:
            return f"{here} demands no {colour}"
        if self.basket[player][colour] == 0:
            return f"there is no {colour} bale in the basket"
        return self._why_not_cost(self.rules["sell_cost"])

    def _why_not_build(self, colour: str) -> str:
        """Building needs a site with no post, city or palace, a palace left and the bale (RULES 4, build)."""
        player = self.current_player()
        here = self.position[player]
        if here in self.posts or here in self.cities or here in self.palaces:
            return f"there is a building at {here}"
        if self.palaces_left[player] == 0:
            return "no palace is left"
        if self.basket[player][colour] == 0:
            return f"there is no {colour} bale in the basket"
        return self._why_not_cost(self.rules["build_cost"])

    def _why_not_take(self, colour: str) -> str:
        """A bale token lets the player take a bale from the leftmost market that has one (RULES 4, palace token)."""
        if not self.take_pending:
            return "no bale token gives a choice"
        if self.markets[self._leftmost_market()][colour] == 0:
            return f"the leftmost market with bales holds no {colour}"
        return ""

    def _why_not_consolidate(self) -> str:
        """Consolidating takes a whole turn's actions (RULES 4, consolidate)."""
        if self.actions_left < self.rules["actions_per_turn"]:
            return "actions were spent this turn"
        return ""

    # Facts about the position

    def _move_cost(self, site: str) -> int:
        """Entering a hilltop, including the start hilltop, has its own cost (RULES 4, move)."""
        cost: int = self.rules["hill_cost" if self.kind[site] in ("start_hill", "hill") else "move_cost"]
        return cost

    def _market_of(self, colour: str) -> str:
        """The market that has bales of this colour, empty if none has (RULES 3: at most one has)."""
        return next((market for market in MARKETS if self.markets[market][colour] > 0), "")

    def _leftmost_market(self) -> str:
        """The leftmost market that has a bale, empty if all are empty (RULES 4, palace token)."""
        return next((market for market in MARKETS if any(counts(self.markets[market]))), "")

    def _price(self, market: str) -> tuple[int, int]:
        """The actions and the rupees that a bale from this market costs (RULES 4, buy)."""
        place = MARKETS.index(market)
        return self.rules["market_actions"][place], self.rules["market_rupees"][place]

    def _is_open_post(self, site: str) -> bool:
        """A post is closed while no market has its colour; the end of a set or of the game reopens it (RULES 3)."""
        return site in self.posts and (self.over or self._market_of(self.posts[site]) != "")

    def _is_last_turn_of_set(self) -> bool:
        """Whether the set ends with the current player's turn (RULES 3)."""
        return self.turn + 1 == self.rules["turns_per_set"] and self.turns_taken + 1 == self.num_players

    # Effects of actions; their legality has been checked

    def _play(self, action: str, restock: list[int] | None) -> None:
        """Play a legal action, and end the turn if no action is left and no take is pending (RULES 4)."""
        verb, _, what = action.partition(":")
        match verb:
            case "move":
                self._move(what)
            case "buy":
                self._buy()
            case "sell":
                self._sell(what)
            case "build":
                self._build(what)
            case "take":
                self._take(what)
            case "consolidate":
                self._consolidate()
            case "end_turn":
                self.actions_left = 0
        if self.actions_left == 0 and not self.take_pending:
            self._end_turn(restock)

    def _move(self, site: str) -> None:
        """Move to the site; if an opponent has a palace there, the bank pays the owner a toll (RULES 4, move)."""
        player = self.current_player()
        self.actions_left -= self._move_cost(site)
        self.position[player] = site
        owner = self.palaces.get(site, player)
        if owner != player:
            self.rupees[owner] += self.rules["toll"]

    def _buy(self) -> None:
        """Pay the market's price for a bale of the post's colour (RULES 4, buy)."""
        player = self.current_player()
        colour = self.posts[self.position[player]]
        market = self._market_of(colour)
        actions, rupees = self._price(market)
        self.actions_left -= actions
        self.rupees[player] -= rupees
        self.markets[market][colour] -= 1
        self.basket[player][colour] += 1
        self.buys += 1

    def _sell(self, colour: str) -> None:
        """Sell a bale, move the sold colour's cube to the bottom, take the city's token (RULES 4, sale)."""
        player = self.current_player()
        city = self.position[player]
        column = self.demand[city]
        place = column.index(colour)
        self.actions_left -= self.rules["sell_cost"]
        self.basket[player][colour] -= 1
        self.bag[colour] += 1
        self.rupees[player] += self.rules["sale_rupees"][place] + self.rules["colour_rupees"][COLOURS.index(colour)]
        self._give_clients(self.rules["sale_clients"][place] + self.rules["colour_clients"][COLOURS.index(colour)])
        column.append(column.pop(place))
        if city not in self.city_tokens[player] and self.city_piles[city] > 0:
            self.city_piles[city] -= 1
            self.city_tokens[player].add(city)

    def _give_clients(self, due: int) -> None:
        """Give the player the due Client tokens, or all that the bank has left (RULES 4, bank)."""
        if self.client_supply is not None:
            due = min(due, self.client_supply)
            self.client_supply -= due
        self.clients[self.current_player()] += due

    def _build(self, colour: str) -> None:
        """Spend a bale on a palace and turn in the site's palace token (RULES 4, build)."""
        player = self.current_player()
        site = self.position[player]
        self.actions_left -= self.rules["build_cost"]
        self.basket[player][colour] -= 1
        self.bag[colour] += 1
        self.palaces_left[player] -= 1
        self.palaces[site] = player
        match self.palace_tokens.pop(site, None):
            case "client":
                self.client_palace_tokens[player] += 1
            case "city":
                self.city_palace_tokens[player] += 1
            case "rupees":
                self.rupees[player] += self.rules["palace_token_rupees"]
            case "bale":
                self.take_pending = self._leftmost_market() != ""

    def _take(self, colour: str) -> None:
        """Take the bale of a bale token, which costs nothing and is not a purchase (RULES 4, palace token)."""
        self.markets[self._leftmost_market()][colour] -= 1
        self.basket[self.current_player()][colour] += 1
        self.take_pending = False

    def _consolidate(self) -> None:
        """Spend the whole turn to gain rupees (RULES 4, consolidate)."""
        self.actions_left = 0
        self.rupees[self.current_player()] += self.rules["consolidate_rupees"]

    # The course of the game

    def _restock(self, drawn: list[int] | None) -> None:
        """Move the drawn bales from the bag to the markets (RULES 3, restock)."""
        bales = drawn_bales(self.rules, self.bag, drawn)
        for colour in COLOURS:
            self.bag[colour] -= bales[colour]
        self.markets = stock_markets(bales)

    def _begin_turn(self) -> None:
        """A turn starts with all its actions and no purchases; after the end no turn starts (RULES 4)."""
        self.actions_left = 0 if self.over else self.rules["actions_per_turn"]
        self.buys = 0

    def _end_turn(self, restock: list[int] | None) -> None:
        """Pass the turn clockwise; after all players start the next game turn, after all game turns end the set (RULES 3)."""
        if self._is_last_turn_of_set():
            self._end_set(restock)
        else:
            self.turns_taken += 1
            if self.turns_taken == self.num_players:
                self.turns_taken = 0
                self.turn += 1
        self._begin_turn()

    def _end_set(self, restock: list[int] | None) -> None:
        """Return the markets' bales to the bag, then restock the next set or end the game (RULES 3)."""
        for colour in COLOURS:
            self.bag[colour] += sum(self.markets[market][colour] for market in MARKETS)
        self.markets = stock_markets(no_bales())
        self.set_number += 1
        self.turn = 0
        self.turns_taken = 0
        if self.set_number == self.rules["sets"]:
            self.over = True
        else:
            self._restock(restock)
