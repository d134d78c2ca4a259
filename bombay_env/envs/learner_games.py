"""Games in which the learner plays one seat and agents play the others, or the learner plays all seats.

Both Gymnasium environments are built on this module.

Any number of games run at once, as one array of states. Between two decisions of the learner, the opponents move in all games
together: one call of an agent's `act` covers all lanes that wait for this agent. Opponents get copies of the states with other
seeds, so that they cannot predict draws from the bag. The seed of a copy depends on the seed of the game and on the number of the
opponents' moves so far, and not on other lanes. The keys of random choices (`agent.lane_keys`) depend on the same two things, and
our agents use only these keys. An agent that draws from the generator directly gets random numbers that depend on the other lanes
too. Rules, legality and scoring are in `Game` and `rewards.py`. Read `vector.py` and `single.py` next.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from gymnasium.error import ResetNeeded

from bombay_env import batch, chance, checks, registry, streams
from bombay_env.agent import NO_ACTION, Agent, AgentContext, AgentFault, LaneGenerator, ask, check_plays, name_of
from bombay_env.envs import common
from bombay_env.envs.rendering import Scene
from bombay_env.game import Game, IllegalActionError
from bombay_env.record import History
from bombay_env.render.view import LastAction, last_action
from bombay_env.rewards import check_reward, seat_places, seat_rewards
from bombay_env.state import NOBODY, rows

ILLEGAL_ACTIONS: Final = ("random", "raise")
RANDOM_SEAT: Final = "random"
ALL_SEATS: Final = "all"
RANDOM_OPPONENTS: Final = "random"  # the default
LEARNER: Final = "learner"  # the learner's name in records
NO_LANES: Final = np.zeros(0, np.int64)

Opponents = str | Agent | Sequence[str | Agent]


class LearnerGames:
    """`num_games` lanes of one game, each with the learner in one seat. Call `deal` for all lanes before anything else.

    After `deal` or `act`, call `advance`: it lets the opponents move until the learner is to act in every lane.

    Args:
        game: the rules and the board.
        num_games: the number of lanes.
        opponents, seat, observation_mode, reward, illegal_action: as in `single.BombaySingleEnv`.
        keep_history: whether to keep the history of the game, for its record; for one lane only.

    Raises:
        ValueError: an argument has a value that is not allowed.

    Attributes:
        states: (num_games,) the current states, a plain structured array.
        seats: (num_games,) int64, the learner's seat in each lane. If it plays all seats: the seat to act, and after the end the
            seat that acted last.
        illegal_actions: (num_games,) int64, the number of illegal actions of the learner in the current game.
        decisions: (num_games,) int64, the number of all actions of the learner in the current game.
        masks: (num_games, A) bool, the learner's legal actions; updated by `advance`.
        rng: the random generator for the agents.
        dealt: whether `deal` has been called.
        playable: whether every lane is dealt, and no opponent has failed since.
        history: the history of the game if it is kept, else None.
        last: the last action of each lane, for drawings; None after the deal, or if `keep_last` was not called.
    """

    def __init__(
        self,
        game: Game,
        num_games: int,
        opponents: Opponents,
        seat: int | str,
        observation_mode: str,
        reward: str,
        illegal_action: str,
        keep_history: bool = False,
    ) -> None:
        checks.one_of(observation_mode, "observation_mode", common.OBSERVATION_MODES)
        checks.one_of(illegal_action, "illegal_action", ILLEGAL_ACTIONS)
        check_reward(reward)
        self.game = game
        self.seat = _checked_seat(seat, game.num_players)
        self.opponents, self._made = _checked_opponents(opponents, game.num_players, self.seat)
        self.reward = reward
        self.illegal_action = illegal_action
        self.screened = observation_mode == "screened"
        self.agents = list({id(agent): agent for agent in self.opponents}.values())
        for agent in self.agents:
            check_plays(agent, game)
        self._agent_of = np.array([[a is o for a in self.agents].index(True) for o in self.opponents])
        self._keep_history = keep_history
        self.states = np.asarray(game.new_states(np.zeros(num_games, np.uint64)))
        self.states["current_player"] = NOBODY
        self.seats = np.zeros(num_games, np.int64)
        self.illegal_actions = np.zeros(num_games, np.int64)
        self.decisions = np.zeros(num_games, np.int64)
        self._warned = False
        self.masks = np.zeros((num_games, game.num_actions), np.bool_)
        self.rng = LaneGenerator(np.random.PCG64())
        self.dealt = False
        self.playable = False
        self.history: History | None = None
        self._keeps_last = False
        self.last: list[LastAction | None] = [None] * num_games
        self._moves = np.zeros(num_games, np.uint64)  # number of the opponents' moves in the current game
        self._keys: np.ndarray | None = None  # drawn by the first deal: copies of new environments play different games
        self._episodes = np.zeros(num_games, np.uint64)  # number of games dealt from each lane's stream

    def keep_last(self, wanted: bool) -> None:
        """From now on remember the last action of each lane, or do not."""
        if self._keeps_last and not wanted:
            self.last = [None] * len(self.states)
        self._keeps_last = wanted

    # --- playing ---

    def deal(
        self, lanes: np.ndarray, seeds: Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Deal a new game in some lanes.

        Args:
            lanes: (k,) indices of the lanes.
            seeds: (k,) from 0 to 2**64 − 1. A seed deals the game of its lane and starts a new stream of episodes there; all
                seeds together also seed `rng`. None, for one lane or for all: deal the next game of the lane's stream.
            options: as in `common.deal`; they apply to all of these lanes.

        Raises:
            ValueError: an argument is not valid. Nothing has changed.
        """
        given = np.array([seed is not None for seed in seeds] if seeds is not None else [False] * len(lanes), np.bool_)
        all_keys = common.random_keys(len(self.states)) if self._keys is None else self._keys
        keys, episodes = all_keys[lanes], self._episodes[lanes]
        if seeds is not None:
            keys[given] = [seed for seed in seeds if seed is not None]
            episodes[given] = 0
        dealt_by = chance.lane_words(keys, streams.EPISODE, episodes)
        dealt_by[given] = keys[given]
        dealt = common.deal(self.game, dealt_by, given, options)
        if given.any():
            # Not the seeds themselves: agents could read them from the generator.
            words = chance.lane_words(keys[given], streams.OPPONENTS, np.zeros(given.sum(), np.uint64))
            self.rng = LaneGenerator(np.random.PCG64(words.tolist()))
        elif self._keys is None:
            self.rng = LaneGenerator(np.random.PCG64())
        all_keys[lanes] = keys
        self._keys, self._episodes[lanes] = all_keys, episodes + np.uint64(1)
        rows(self.states)[lanes] = rows(dealt.states)
        self.dealt = True
        self.history = History(self.game, *dealt) if self._keep_history else None
        self.illegal_actions[lanes] = self.decisions[lanes] = 0
        self._moves[lanes] = 0
        if self._keeps_last:
            for lane in lanes.tolist():
                self.last[lane] = None
        if isinstance(self.seat, int):
            self.seats[lanes] = self.seat
        elif self.seat == RANDOM_SEAT:
            words = chance.lane_words(dealt_by, streams.SEAT, np.zeros(len(lanes), np.uint64))
            self.seats[lanes] = words % np.uint64(self.game.num_players)

    def act(self, actions: np.ndarray) -> None:
        """Play the learner's actions, (num_games,) int64, in all running games. Lanes whose game is over ignore their action.

        Raises:
            IllegalActionError: an action is illegal and `illegal_action` is "raise". Nothing has changed.
        """
        running, illegal = ~self.over(), NO_LANES
        if self.illegal_action == "raise":
            self.game.check_actions(self.states, actions)
        else:
            inside = (actions >= 0) & (actions < self.game.num_actions)
            legal = inside & self.masks[np.arange(len(actions)), np.where(inside, actions, 0)]
            illegal = np.flatnonzero(running & ~legal)
        if illegal.size:
            actions = actions.copy()
            words = chance.lane_words(
                self.states["seed"][illegal], streams.ILLEGAL, self.illegal_actions[illegal].astype(np.uint64)
            )
            position = words % self.masks[illegal].sum(axis=1, dtype=np.uint64)  # among the legal actions
            actions[illegal] = (self.masks[illegal].cumsum(axis=1) > position[:, None]).argmax(axis=1)
        self._note(np.flatnonzero(running), actions[running])
        batch.step_all(self.states, self.game.tables, actions)
        self.illegal_actions[illegal] += 1
        self.decisions += running

    def advance(self) -> None:
        """Let the opponents move until every game is over or at the learner's turn. `states` and `masks` are overwritten.

        Raises:
            IllegalActionError: an opponent's action is illegal; the message names it. All lanes must then be reset.
            AgentFault: an opponent raised; likewise.
        """
        self.playable = False  # until all opponents have moved: an exception leaves games in the middle of a turn
        movers = self.states["current_player"]  # a view
        if self.seat == ALL_SEATS:
            np.copyto(self.seats, movers, where=movers != NOBODY)
        while True:
            waiting = np.flatnonzero((movers != self.seats) & (movers != NOBODY))
            if not waiting.size:
                break
            if len(self.agents) == 1:
                self._let_act(self.agents[0], waiting)
                continue
            following = (movers[waiting] - self.seats[waiting]) % self.game.num_players
            acting = self._agent_of[following - 1]
            for number, agent in enumerate(self.agents):
                lanes = waiting[acting == number]
                if lanes.size:
                    self._let_act(agent, lanes)
        self.game.legal_actions(self.states, out=self.masks)
        self.playable = True
        if not self._warned and self.illegal_actions.any():
            self._warn_of_illegal_actions()

    def _warn_of_illegal_actions(self) -> None:
        """Warn, once, of a game that is over if most of the learner's actions were illegal."""
        for lane in np.flatnonzero(self.over() & (2 * self.illegal_actions > self.decisions))[:1]:
            self._warned = True
            warnings.warn(
                f"{self.illegal_actions[lane]} of the learner's {self.decisions[lane]} actions in a game were illegal, and a "
                "random legal one was played for each of them. info['action_mask'] and env.unwrapped.action_masks() mark the "
                "legal actions; a learner that can use a mask learns faster",
                stacklevel=4,
            )

    def _let_act(self, agent: Agent, lanes: np.ndarray) -> None:
        states = self._picked(lanes)
        moves, who = self._moves[lanes], f"opponent {name_of(agent)!r}"
        context = AgentContext.keyed(
            self.rng, states["seed"], moves, streams.SCRUB, streams.CHOICES, streams.LANE_GAMES
        )
        try:
            actions = ask(agent, self.game, states, context, who)
        except AgentFault as fault:
            if fault.action == NO_ACTION:  # it raised
                raise
            faulty = lanes[list(fault.lanes)].tolist()
            where = who if fault.answer is None else f"{who} in lane {faulty[0]}"
            raise IllegalActionError(checks.message(f"{where}: {fault.reason}"), faulty) from fault
        self._note(lanes, actions)
        batch.step_all(states, self.game.tables, actions)
        rows(self.states)[lanes] = rows(states)
        self._moves[lanes] += np.uint64(1)

    def _note(self, lanes: np.ndarray, actions: np.ndarray) -> None:
        """Keep what drawings and the record need of actions that are about to be played in some lanes."""
        if self._keeps_last:
            for lane, action in zip(lanes.tolist(), actions.tolist(), strict=True):
                self.last[lane] = last_action(self.game, self.states[lane : lane + 1], action)
        if self.history is not None and lanes.size:
            self.history.add(int(actions[0]))

    def _picked(self, lanes: np.ndarray) -> np.ndarray:
        """A copy of the states of some lanes."""
        return rows(self.states)[lanes].view(self.states.dtype)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Close the opponents that were made here from specs, such as programs of `exec`; a later question starts them anew."""
        for agent in self._made:
            if hasattr(agent, "close"):
                agent.close()

    # --- observing ---

    def over(self) -> np.ndarray:
        """Whether each game is over, (num_games,) bool."""
        return self.states["current_player"] == NOBODY  # type: ignore[no-any-return]

    def observe(self, out: np.ndarray | None = None) -> np.ndarray:
        """The learner's observation of each game, (num_games, F) float32. `out` is overwritten and returned if given."""
        return self.game.observe(self.states, seats=self.seats, screened=self.screened, out=out)

    def scene(self) -> Scene:
        """What there is to show: in `screened` mode the learner's views. Raises ResetNeeded before the first deal."""
        if not self.dealt:
            raise ResetNeeded("there is no game to show: call reset first")
        viewers = [seat if self.screened else None for seat in self.seats.tolist()]
        return Scene(self.game, self.states, viewers, self.last)

    def views(self, lanes: np.ndarray) -> np.ndarray:
        """The learner's observation of the games in some lanes, (k, F) float32."""
        return self.game.observe(self._picked(lanes), seats=self.seats[lanes], screened=self.screened)

    def outcomes(self, lanes: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """How the games in some lanes, which must be over, ended for the learner.

        Returns:
            Its final rewards, (k,) float64, and what the last infos contain besides (see `single.py`): (k,) arrays `final` and
            `place`, int64, `win_share`, float64, and `is_success`, bool. If the learner plays all seats, also `seat_rewards`,
            (k, n) float64.
        """
        results = self.game.results(self._picked(lanes))
        paid, own = seat_rewards(results, self.reward), (np.arange(len(lanes)), self.seats[lanes])
        win_share = results["win_share"][own]
        found = {
            "final": results["final"][own].astype(np.int64),
            "win_share": win_share,
            "place": seat_places(results)[own],
            "is_success": win_share > 0,
        }
        return paid[own], found | ({"seat_rewards": paid} if self.seat == ALL_SEATS else {})

    def names(self, lane: int) -> list[str]:
        """The player's name for each seat of a lane: "learner" for the learner, and the names of the agents."""
        others = [name_of(agent) for agent in self.opponents]
        return [
            LEARNER
            if self.seat == ALL_SEATS or seat == self.seats[lane]
            else others[(seat - int(self.seats[lane])) % self.game.num_players - 1]
            for seat in range(self.game.num_players)
        ]


def _checked_seat(seat: Any, num_players: int) -> int | str:
    if isinstance(seat, str) and seat in (RANDOM_SEAT, ALL_SEATS):
        return seat
    if not checks.is_whole_number(seat, 0, num_players - 1):
        allowed = f"{RANDOM_SEAT!r}, {ALL_SEATS!r} or a whole number from 0 to {num_players - 1}"
        raise ValueError(f"seat is {checks.shown(seat)}; it must be {allowed}")
    return int(seat)


def _checked_opponents(opponents: Any, num_players: int, seat: int | str) -> tuple[list[Agent], list[Agent]]:
    """The agents of the seats that follow the learner's, and those of them that were made from specs.

    There are none if the learner plays all seats. Equal specs in a list become one agent.
    """
    if seat == ALL_SEATS:
        if not isinstance(opponents, str) or opponents != RANDOM_OPPONENTS:
            raise ValueError(f"opponents must not be given with seat={ALL_SEATS!r}: the learner plays every seat")
        return [], []
    others = num_players - 1
    if checks.is_list(opponents):
        if len(opponents) != others:
            raise ValueError(f"opponents has {len(opponents)} entries; it must be one agent or a list of {others}")
        given = list(opponents)
    else:
        given = [opponents] * others
    made: dict[str, Agent] = {}
    for entry in given:
        if isinstance(entry, str):
            if entry not in made:
                made[entry] = registry.make(entry)
        elif isinstance(entry, type) or not isinstance(entry, Agent):
            raise ValueError(
                f"opponents must be specs such as 'greedy', or agents, which have `act`, not {type(entry).__name__}"
            )
    return [made[entry] if isinstance(entry, str) else entry for entry in given], list(made.values())
