"""Bombay as a game of OpenSpiel: importing this module registers `python_bombay`.

    import pyspiel
    import bombay_training.openspiel

    game = pyspiel.load_game("python_bombay(players=3)")

It connects `Game` to OpenSpiel's `Game` and `State` and contains no rules. All chance is explicit. The deal is a sequence of
chance nodes, one for each demand column, trading post and palace token, and each restock is one chance node. Every outcome has
its exact probability (RULES 2 and 3), so the seed of a record takes no part.

    parameter   values
    players     2 to 5; 4 by default
    reward      "win", "rank" or "margin" (`bombay_env.rewards`), paid at the end; "win" by default
    rules       the path of a JSON file with the fields of `Rules` to change, or the JSON object itself, where `;` may
                stand for `,`, because OpenSpiel splits the parameters in a game's name at commas; "" for the official rules
    board       the path of a TOML file; "" for the packaged board

Everything is public (RULES 6), so this is a game of perfect information. The observation tensor is the viewer's seat, one-hot,
and its observation with all holdings; the information-state tensor adds all actions and outcomes so far.
"""

from __future__ import annotations

import json
import os
from typing import Any, Final, NamedTuple, Self

import numpy as np

from bombay_env import Game, IllegalActionError, batch, checks
from bombay_env.envs.common import make_game
from bombay_env.envs.one_game import OneGame
from bombay_env.files.forms import check, parse
from bombay_env.files.reading import read_json
from bombay_env.rewards import MARGIN_SCALE, check_reward, seat_rewards
from bombay_env.rules import COLOUR_NAMES, MAX_PLAYERS, MIN_PLAYERS, TOKEN_NAMES
from bombay_env.setup import SETUP_KEYS, bales_off_elephants, draw_probabilities
from bombay_env.state import state_to_dict
from bombay_training.extras import missing_extra

try:
    import pyspiel
except ImportError as error:
    raise ImportError(missing_extra("the game for OpenSpiel", "trainers", error)) from None

DEFAULTS: Final = {"players": 4, "reward": "win", "rules": "", "board": ""}
GAME_TYPE: Final = pyspiel.GameType(
    short_name="python_bombay",
    long_name="Bombay",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=5,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=DEFAULTS,
)


class Draw(NamedTuple):
    """One chance node of the deal: what lies in one place of the set-up."""

    part: str  # of the set-up (RULES 8)
    place: str  # the city or the site
    kinds: list[Any]  # what may lie there, by outcome
    counts: list[int]  # how many there are of each kind, for all places of this part


class BombayGame(pyspiel.Game):
    """A variant as a game of OpenSpiel.

    Attributes:
        game: the `Game`; `state_at` accepts its states.
        reward: the kind of reward.

    Raises:
        ValueError, OSError: a parameter has a value that is not allowed, or names a file that cannot be read.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given: dict[str, Any] = DEFAULTS | (params or {})
        for name in given.keys() - DEFAULTS.keys():
            raise ValueError(f"python_bombay has no parameter {checks.shown(name)}; there are {', '.join(DEFAULTS)}")
        self.reward: str = given["reward"]
        check_reward(self.reward)
        players = checks.whole_number(given["players"], "players", MIN_PLAYERS, MAX_PLAYERS)
        changes = _changes(given["rules"])
        given["rules"] = json.dumps(changes, separators=(";", ":")) if changes else ""
        board = os.path.abspath(given["board"])  # states may be read in another folder
        if given["board"] and not set(board) & set(",()="):  # OpenSpiel splits names there
            given["board"] = board
        self.game = make_game(players, changes, given["board"] or None)
        rules = self.game.rules
        self.deal = _deal(self.game)
        most = _most_rupees(self.game) / MARGIN_SCALE * (1 - 1 / rules.num_players)  # more than the mean
        low, high = {"win": (-1 / (rules.num_players - 1), 1), "rank": (-1, 1)}.get(self.reward, (-most, most))
        draws = len(draw_probabilities(rules.bales, rules.restock_draw)[0])  # of a full bag
        # At most each action of a turn has a `take` after it, and the turn is ended at last.
        turn = 2 * rules.actions_per_turn + 1
        info = pyspiel.GameInfo(
            num_distinct_actions=self.game.num_actions,
            max_chance_outcomes=max(draws, *(len(draw.kinds) for draw in self.deal)),
            num_players=rules.num_players,
            min_utility=low,
            max_utility=high,
            utility_sum=0.0,
            max_game_length=rules.sets * rules.turns_per_set * rules.num_players * turn,
        )
        super().__init__(GAME_TYPE, info, given)

    # OpenSpiel copies only its own part of a game.

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.get_parameters(),)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # it never changes

    def new_initial_state(self) -> BombayState:
        """A state before the deal, a chance node."""
        return BombayState(self)

    def state_at(self, states: np.ndarray) -> BombayState:
        """A state in the position of (1,) `states`, to search from. Its history is empty, and it has another seed.

        Raises:
            ValueError: they are not one state of this game.
        """
        _check_one(self.game, states)
        state = BombayState(self)
        state.play = OneGame(self.game, self.game.scrub(states, [0]))
        state.start = str(state)
        return state

    def max_chance_nodes_in_history(self) -> int:
        """The draws of the deal, and one restock for each set."""
        return len(self.deal) + self.game.rules.sets

    def make_py_observer(self, iig_obs_type: Any = None, params: dict[str, Any] | None = None) -> BombayObserver:
        """An observer; with perfect recall it also shows the history."""
        if params:
            raise ValueError(f"an observer of Bombay takes no parameters, not {params}")
        return BombayObserver(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False))


class BombayState(pyspiel.State):
    """A position, before or after the deal.

    Attributes:
        drawn: outcomes of the deal so far.
        play: the running game; None before the first restock.
        restocks: draws (k, 4) by colour and their probabilities while a restock is due; otherwise None.
        start: the position before the history as a string; empty if that is the deal.
    """

    def __init__(self, game: BombayGame) -> None:
        super().__init__(game)
        self.drawn: list[int] = []
        self.play: OneGame | None = None
        self.restocks: tuple[np.ndarray, np.ndarray] | None = None
        self.start = ""

    # Not attributes: OpenSpiel copies these with every state.

    @property
    def game(self) -> Game:
        """The game's rules and board."""
        return self.get_game().game

    @property
    def deal(self) -> list[Draw]:
        """The draws of the deal."""
        return self.get_game().deal

    # --- what OpenSpiel calls ---

    def current_player(self) -> int:
        """The seat to act, CHANCE or TERMINAL."""
        if self.play is None or self.restocks is not None:
            return int(pyspiel.PlayerId.CHANCE)
        return self.play.mover if self.play.mover >= 0 else int(pyspiel.PlayerId.TERMINAL)

    def is_terminal(self) -> bool:
        """Whether the game is over."""
        return self.play is not None and self.play.mover < 0

    def returns(self) -> list[float]:
        """The reward of each seat; zeros while the game runs."""
        if self.play is None or not self.is_terminal():
            return [0.0] * self.game.num_players
        return seat_rewards(self.game.results(self.play.states), self.get_game().reward)[0].tolist()

    def _legal_actions(self, player: int) -> list[int]:
        assert self.play is not None
        return np.flatnonzero(self.play.action_mask()).tolist()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """The possible outcomes with their probabilities."""
        assert self.is_chance_node()
        if self.restocks is not None:
            return list(enumerate(self.restocks[1].tolist()))
        left = self._left()
        return [(kind, count / sum(left)) for kind, count in enumerate(left) if count]

    def _apply_action(self, action: int) -> None:
        try:
            self._apply(action)
        except IllegalActionError as error:
            raise pyspiel.SpielError(str(error)) from None

    def _apply(self, action: int) -> None:
        if self.is_chance_node():
            counts = self._left() if self.restocks is None else self.restocks[1]
            if not (0 <= action < len(counts) and counts[action] > 0):
                raise IllegalActionError(f"outcome {action} is impossible at this chance node")
        if self.restocks is not None:
            self.play, self.restocks = OneGame(self.game, self._restocked(action)), None
        elif self.play is None:
            self.drawn.append(action)
            if len(self.drawn) == len(self.deal):
                self._begin_set(self.game.new_states([0], setup=self._setup()), self.game.rules.bales)
        else:
            number_of_set = self.play.states["set"][0]
            self.play.play(action)
            if self.play.mover >= 0 and self.play.states["set"][0] != number_of_set:
                states = self.play.states
                self._begin_set(states, bales_off_elephants(states[0], self.game.rules, "state"))

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return self.game.action_name(action)
        # OpenSpiel's printed histories ask the last state for the names of all outcomes, and its wrappers for impossible ones.
        kinds = self.restocks[0] if self.restocks is not None else [] if self.play else self.deal[len(self.drawn)].kinds
        if not 0 <= action < len(kinds):
            return f"outcome:{action}"
        if self.restocks is not None:
            return "restock:" + ",".join(map(str, kinds[action].tolist()))
        draw = self.deal[len(self.drawn)]
        return f"{draw.part}:{draw.place}={kinds[action]}"

    def __str__(self) -> str:
        return json.dumps(self._to_struct(), sort_keys=True)

    def _to_struct(self) -> dict[str, Any]:
        """What `to_dict`, `to_json` and `to_struct` give: the deal so far, and then the position with all of its names."""
        if self.play is None:
            return {"deal": self.drawn}
        facts = state_to_dict(self.play.states[0], self.game.rules, self.game.board)
        if self.restocks is not None:
            facts["current_player"] = int(pyspiel.PlayerId.CHANCE)
        return {name: value for name, value in facts.items() if name != "seed"}

    # --- chance ---

    def outcome_to(self, states: np.ndarray) -> int:
        """The outcome of this chance node that (1,) `states` had, which are those of a game after the same decisions.

        In the deal and at the first restock, before any decision, they are the game's first states, such as
        `Game.new_states([seed])`. Later they have the restock that is due here.

        Raises:
            ValueError: no outcome does, they are not one state of this game, or this is not a chance node.
        """
        _check_one(self.game, states)
        if not self.is_chance_node():
            raise ValueError("outcome_to: this is not a chance node")
        outcomes = [outcome for outcome, _ in self.chance_outcomes()]
        if self.restocks is not None:
            fitting = [outcome for outcome in outcomes if _equal(self._restocked(outcome), states)]
        else:
            draw, setup = self.deal[len(self.drawn)], _setup_of(self.game, states)
            fitting = [outcome for outcome in outcomes if setup and setup[draw.part][draw.place] == draw.kinds[outcome]]
        if not fitting:
            raise ValueError(f"none of {len(outcomes)} outcomes of this chance node leads to these states")
        return fitting[0]

    def _left(self) -> list[int]:
        """How many of each kind are left for the next draw of the deal."""
        due = self.deal[len(self.drawn)]
        left = list(due.counts)
        for kind, draw in zip(self.drawn, self.deal, strict=False):
            if draw.part == due.part:
                left[kind] -= 1
        return left

    def _setup(self) -> dict[str, dict[str, Any]]:
        setup: dict[str, dict[str, Any]] = {}
        for kind, draw in zip(self.drawn, self.deal, strict=True):
            setup.setdefault(draw.part, {})[draw.place] = draw.kinds[kind]
        return setup

    def _begin_set(self, states: np.ndarray, held: Any) -> None:
        """Wait for the restock of a set that has just begun. `held` are the bales by colour that are on no elephant."""
        states = states.copy()
        states["market"] = 0
        self.play = OneGame(self.game, states)
        self.restocks = draw_probabilities(held, self.game.rules.restock_draw)

    def _restocked(self, outcome: int) -> np.ndarray:
        """The states after an outcome of the restock that is due."""
        assert self.play is not None
        assert self.restocks is not None
        states = self.play.states.copy()
        batch.force_restocks(np.asarray(states), self.restocks[0][outcome : outcome + 1])
        return states


class BombayObserver:
    """What a seat sees, in the form of OpenSpiel's `PyObserver`. The observation is zero before the first restock is due.

    Nobody has private information: without public information there is nothing to see.

    Attributes:
        tensor: all pieces, float32.
        dict: `player` (n,), the viewer's seat, one-hot; `observation` (F,); with perfect recall also `history`: for each action
            and outcome so far its number + 1, divided by the highest; zero beyond the end.
    """

    def __init__(self, game: BombayGame, kind: Any) -> None:
        self.recalls, self.shows_game = kind.perfect_recall, kind.public_info
        sizes = {"player": game.num_players(), "observation": game.game.num_features} if self.shows_game else {}
        if self.shows_game and self.recalls:
            sizes["history"] = game.max_game_length() + game.max_chance_nodes_in_history()
        self.highest = max(game.game.num_actions, game.max_chance_outcomes())
        self.tensor = np.zeros(sum(sizes.values()), np.float32)
        self.num_players = game.num_players()
        parts = np.split(self.tensor, np.cumsum(list(sizes.values()), dtype=int)[:-1])
        self.dict = dict(zip(sizes, parts, strict=False))

    def set_from(self, state: BombayState, player: int) -> None:
        """Show `state` as `player` sees it. Raises ValueError if there is no such seat."""
        checks.whole_number(player, "player", 0, self.num_players - 1)
        self.tensor.fill(0)
        if not self.shows_game:
            return
        self.dict["player"][player] = 1
        if state.play is not None:
            self.dict["observation"][:] = state.play.observe(player, screened=False)
        if "history" in self.dict:
            history = state.history()
            self.dict["history"][: len(history)] = (np.array(history) + 1) / self.highest

    def string_from(self, state: BombayState, player: int) -> str:
        """`state`, or with perfect recall all actions and outcomes so far; the same for every player."""
        if not self.shows_game:
            return ""
        return state.start + state.history_str() if self.recalls else str(state)


def _changes(text: str) -> dict[str, Any]:
    """The changed fields that the parameter `rules` names. Raises ValueError or OSError if it is no object and no file."""
    if not isinstance(text, str):
        raise ValueError(f"rules is {checks.shown(text)}; it must be a string: a path, or a JSON object")
    if text.lstrip().startswith("{"):
        return parse(dict[str, Any], text.replace(";", ","), "rules")
    return check(dict[str, Any], read_json(text), "rules") if text else {}


def _check_one(game: Game, states: np.ndarray) -> None:
    """Raise ValueError unless these are (1,) states of the game."""
    if len(game.check_states(states)) != 1:
        raise ValueError(f"states has {len(states)} games; OpenSpiel plays one, so the shape must be (1,)")


def _most_rupees(game: Game) -> int:
    """More rupees than any seat can have at the end: by all sales, tolls, tokens and awards that one could get alone."""
    rules, sites = game.rules, game.board.num_sites
    turns = rules.sets * rules.turns_per_set
    sales = turns * rules.buys_per_turn + sites  # of all bales that are bought, or taken from a palace token
    tolls = (rules.num_players - 1) * turns * rules.actions_per_turn
    return (
        max(rules.starting_rupees)
        + sales * (max(rules.sale_rupees) + max(rules.colour_rupees))
        + tolls * rules.toll
        + turns * rules.consolidate_rupees
        + sites * rules.palace_token_rupees
        + max(rules.majority)
        + max(rules.fame)
    )


def _deal(game: Game) -> list[Draw]:
    """The draws of the deal, in order (RULES 2)."""
    rules, tables = game.rules, game.tables[0]
    names = [site.name for site in game.board.sites]
    posts = tables["post_sites"].tolist()
    if not rules.outer_posts:
        posts = posts[: len(posts) // 2]
    columns = [list(column) for column in rules.demand_columns]
    draws: list[Draw] = []
    for part, sites, kinds, counts in (
        ("demand", tables["city_sites"].tolist(), columns, [1] * len(columns)),
        ("posts", posts, list(COLOUR_NAMES), [len(posts) // len(COLOUR_NAMES)] * len(COLOUR_NAMES)),
        ("palace_tokens", tables["palace_sites"].tolist(), list(TOKEN_NAMES), list(rules.palace_tokens)),
    ):
        draws += [Draw(part, names[site], kinds, counts) for site in sites]
    return draws


def _setup_of(game: Game, states: np.ndarray) -> dict[str, dict[str, Any]] | None:
    """The set-up of (1,) states; None unless they are the first ones of a game."""
    facts = state_to_dict(states[0], game.rules, game.board)
    setup = {key: facts[key] for key in SETUP_KEYS}
    try:
        first = game.new_states(states["seed"], setup=setup)
    except ValueError:  # something has been taken
        return None
    first["market"] = 0
    batch.force_restocks(np.asarray(first), states["market"].sum(axis=1, dtype=np.int64))
    return setup if _equal(first, states) else None


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether (1,) states are the same apart from their seeds."""
    one = one.copy()
    one["seed"] = other["seed"]
    return one.tobytes() == other.tobytes()


pyspiel.register_game(GAME_TYPE, BombayGame)
