"""Games in which one seat is the learner's and agents play the others: what both Gymnasium environments are made of.

Any number of games run side by side as one array of states. Between two decisions of the learner the opponents move, in all games
together: the lanes that wait for one agent are one call of its `act`. Opponents see copies with other seeds, so that nobody can
look into the bag; which seeds is keyed by the game's own and by how often they have moved, so a lane's copies do not depend on
its neighbours. Only the generator handed to `act` is one for all lanes. Rules, legality and scoring are `Game`'s and
`rewards.py`'s; `vector.py` and `single.py` are the next to read.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from bombay_env import batch, chance, checks, registry
from bombay_env.agent import NO_ACTION, Agent, AgentFault, ask
from bombay_env.envs import common
from bombay_env.game import Game, IllegalActionError
from bombay_env.record import History
from bombay_env.rewards import check_reward, seat_rewards
from bombay_env.state import NOBODY, rows

ILLEGAL_ACTIONS: Final = ("end_turn", "raise")
RANDOM_SEAT: Final = "random"
LEARNER: Final = "learner"  # its name in records

Opponents = str | Agent | Sequence[str | Agent]


class LearnerGames:
    """`num_games` lanes of one game, each with the learner in one seat. No lane is dealt at first.

    `deal` and `act` change the lanes and leave it to `advance` to bring them to where the learner is to act.

    Args:
        game: the variant and the board.
        num_games: lanes.
        opponents: who plays the other seats: an agent or its spec, for all of them, or a list of n − 1, of those that follow
            the learner's seat clockwise. An agent given more than once is one agent.
        seat: the learner's, or "random": drawn from the seed of each game.
        observation_mode, reward: as in `bombay_v0`.
        illegal_action: "end_turn": an illegal action becomes `end_turn`, or the lowest legal one where `end_turn` is not legal,
            and is counted. "raise": it is an `IllegalActionError` that changes nothing.
        keep_history: keep the record of the game; one lane only.

    Raises:
        ValueError: an argument is none of those.

    Attributes:
        states: (num_games,) where the games stand, a plain structured array.
        seats: (num_games,) int64, the learner's.
        illegal_actions: (num_games,) int64, the learner's in the present game.
        rng: what agents draw from.
        dealt: whether there was a deal yet.
        playable: whether every lane was dealt, and no opponent has failed since.
        history: of the game, where it is kept.
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
        self.opponents = _checked_opponents(opponents, game.num_players)
        self.reward = reward
        self.illegal_action = illegal_action
        self.screened = observation_mode == "screened"
        self.agents = list({id(agent): agent for agent in self.opponents}.values())
        self._agent_of = np.array([[a is o for a in self.agents].index(True) for o in self.opponents])
        self._end_turn = game.action_index("end_turn")
        self._keep_history = keep_history
        self.states = np.asarray(game.new_states(np.zeros(num_games, np.uint64)))
        self.states["current_player"] = NOBODY
        self.seats = np.zeros(num_games, np.int64)
        self.illegal_actions = np.zeros(num_games, np.int64)
        self.masks = np.zeros((num_games, game.num_actions), np.bool_)
        self.rng = np.random.default_rng()
        self.dealt = False
        self.playable = False
        self.history: History | None = None
        self._moves = np.zeros(num_games, np.uint64)  # the opponents' in the present game
        self._keys = (np.uint64(common.random_key()) + np.arange(num_games, dtype=np.uint64)).astype(np.uint64)
        self._episodes = np.zeros(num_games, np.uint64)  # dealt in each lane's stream

    # --- playing ---

    def deal(
        self, lanes: np.ndarray, seeds: Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> None:
        """Deal a new game in some lanes. A refused argument changes nothing.

        Args:
            lanes: (k,) which.
            seeds: (k,) in 0…2**64−1, each of which deals its lane's game and starts a new stream of episodes there, and which
                together seed `rng`. None: the next game of the lane's stream.
            options: `setup` gives the deal, `record` a game to continue from, as in `aec.py`; in all these lanes.
        """
        options = common.checked_options(options)
        given = np.array([seed is not None for seed in seeds] if seeds is not None else [False] * len(lanes), np.bool_)
        keys, episodes = self._keys[lanes], self._episodes[lanes]
        if seeds is not None:
            keys[given] = [checks.seed(seed) for seed in seeds if seed is not None]
            episodes[given] = 0
        dealt_by = self._words(keys, chance.EPISODE, episodes)
        dealt_by[given] = keys[given]
        states, history = self._dealt(dealt_by, given, options)
        if given.any():
            # Not the seeds themselves: a generator tells what it was made from.
            words = self._words(keys[given], chance.OPPONENTS, np.zeros(given.sum(), np.uint64))
            self.rng = np.random.default_rng(words.tolist())
        self._keys[lanes], self._episodes[lanes] = keys, episodes + np.uint64(1)
        rows(self.states)[lanes] = rows(states)
        self.dealt = True
        self.history = history
        self.illegal_actions[lanes] = 0
        self._moves[lanes] = 0
        if isinstance(self.seat, int):
            self.seats[lanes] = self.seat
        else:
            words = self._words(dealt_by, chance.SEAT, np.zeros(len(lanes), np.uint64))
            self.seats[lanes] = words % np.uint64(self.game.num_players)

    def _dealt(self, seeds: np.ndarray, given: np.ndarray, options: dict[str, Any]) -> tuple[Any, History | None]:
        if options.get("record") is None:
            setup = options.get("setup") or None
            states = self.game.new_states(seeds, setup=setup)
            if not self._keep_history:
                return states, None
            return states, History(self.game, states, int(seeds[0]) if setup is None else None)
        one, record = common.continued(self.game, options["record"])
        copies = np.repeat(one, len(seeds))
        reseeded = given | (record.seed is None)
        copies["seed"][reseeded] = seeds[reseeded]
        one_seed = None if reseeded.any() else record.seed
        return copies, History(self.game, copies, one_seed, so_far=record) if self._keep_history else None

    def act(self, actions: np.ndarray) -> None:
        """Play the learner's actions (num_games,) int64 in all running games; lanes that are over ignore theirs.

        Raises:
            IllegalActionError: by `illegal_action`; nothing has changed.
        """
        if self.illegal_action == "raise":
            self._play(self.states, actions)
            return
        inside = (actions >= 0) & (actions < self.game.num_actions)
        legal = inside & self.masks[np.arange(len(actions)), np.where(inside, actions, 0)]
        illegal = ~legal & ~self.over()
        instead = np.where(self.masks[:, self._end_turn], self._end_turn, self.masks.argmax(axis=1))
        self._play(self.states, np.where(illegal, instead, actions))
        self.illegal_actions += illegal

    def advance(self) -> None:
        """Let the opponents move until in every game the learner is to act or the game is over; `masks` are the learner's then.

        Raises:
            IllegalActionError: an opponent's action is illegal; the message names it. All lanes must then be reset.
            AgentFault: an opponent raised; likewise.
        """
        self.playable = False  # until all have answered: an exception leaves games in the midst of a turn
        movers = self.states["current_player"]  # a view
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

    def _let_act(self, agent: Agent, lanes: np.ndarray) -> None:
        states = self._picked(lanes)
        seeds, who = self._words(states["seed"], chance.SCRUB, self._moves[lanes]), f"opponent {agent.name!r}"
        try:
            actions = ask(agent, self.game, states, self.rng, seeds, who)
        except AgentFault as fault:
            if fault.action == NO_ACTION:  # it raised
                raise
            faulty = lanes[list(fault.lanes)].tolist()
            where = who if fault.answer is None else f"{who} in lane {faulty[0]}"
            raise IllegalActionError(f"{where}: {fault.reason}", faulty) from fault
        batch.step_all(states, self.game.tables, actions)  # `ask` has checked the actions, so `Game.step` need not
        if self.history is not None:
            self.history.add(int(actions[0]))
        rows(self.states)[lanes] = rows(states)
        self._moves[lanes] += np.uint64(1)

    def _play(self, states: Any, actions: Any) -> None:
        self.game.step(states, actions)
        if self.history is not None:
            self.history.add(int(actions[0]))

    @staticmethod
    def _words(keys: np.ndarray, stream: np.uint64, indices: np.ndarray) -> np.ndarray:
        words = np.empty(len(keys), np.uint64)
        chance.random_words(np.ascontiguousarray(keys), stream, indices, words)
        return words

    def _picked(self, lanes: np.ndarray) -> np.ndarray:
        """A copy of some lanes' states."""
        return rows(self.states)[lanes].view(self.states.dtype)  # type: ignore[no-any-return]

    # --- seeing ---

    def over(self) -> np.ndarray:
        """Which games are over, (num_games,) bool."""
        return self.states["current_player"] == NOBODY  # type: ignore[no-any-return]

    def observe(self, out: np.ndarray | None = None) -> np.ndarray:
        """The learner's view of each game, (num_games, F) float32."""
        return self.game.observe(self.states, seats=self.seats, screened=self.screened, out=out)

    def views(self, lanes: np.ndarray) -> np.ndarray:
        """The learner's view of the games in some lanes, (k, F) float32."""
        return self.game.observe(self._picked(lanes), seats=self.seats[lanes], screened=self.screened)

    def rewards(self, lanes: np.ndarray) -> np.ndarray:
        """What the end pays the learner in these lanes, all of them over: (k,) float64."""
        paid = seat_rewards(self.game.results(self._picked(lanes)), self.reward)
        return paid[np.arange(len(lanes)), self.seats[lanes]]  # type: ignore[no-any-return]

    def names(self, lane: int) -> list[str]:
        """Who sits in each seat of a lane: "learner", and the agents by their names."""
        others = [agent.name for agent in self.opponents]
        return [
            others[(seat - int(self.seats[lane])) % self.game.num_players - 1] if seat != self.seats[lane] else LEARNER
            for seat in range(self.game.num_players)
        ]


def _checked_seat(seat: Any, num_players: int) -> int | str:
    if isinstance(seat, str) and seat == RANDOM_SEAT:
        return seat
    if not checks.is_whole_number(seat, 0, num_players - 1):
        allowed = f"{RANDOM_SEAT!r} or a whole number from 0 to {num_players - 1}"
        raise ValueError(f"seat is {checks.shown(seat)}; it must be {allowed}")
    return int(seat)


def _checked_opponents(opponents: Any, num_players: int) -> list[Agent]:
    """The agents of the seats after the learner's. Equal specs in a list are one agent."""
    others = num_players - 1
    if isinstance(opponents, (list, tuple)):
        if len(opponents) != others:
            raise ValueError(f"opponents has {len(opponents)} entries; it must be one agent, or {others} for this game")
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
                f"opponents must be agents, or specs such as 'greedy', not {type(entry).__name__}: "
                "an agent has `name` and `act`"
            )
    return [made[entry] if isinstance(entry, str) else entry for entry in given]
