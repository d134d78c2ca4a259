"""One game at a table with two to five seats, each a human or an agent. Knows neither the web nor the terminal.

Every change has a version number, and a request names the version it was made for: one that was made for an older position is
refused, and the game is as before. A human's turn ends when the human says so, so that it can be taken back until then. A restock
is drawn only after that. An agent that fails changes nothing: its seat waits until it is asked again or replaced.

In `screened` mode `viewer` is the seat for which the position may be shown. Where several humans share a screen, it is nobody
from the end of one human's turn until the next one is ready.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from bombay_env import Game, checks, streams
from bombay_env.agent import Agent, AgentContext, AgentFault, ask, check_plays, name_of
from bombay_env.chance import lane_words
from bombay_env.record import RESTOCK, History, Record
from bombay_env.render.view import LastAction, called, last_action
from bombay_env.state import NOBODY
from bombay_training.play.effects import effect_words, preview

HUMAN: Final = "human"
END_TURN: Final = "end_turn"


class SessionError(ValueError):
    """What was asked for is not possible now. Nothing has changed. The message is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(checks.message(message))


class OutdatedError(SessionError):
    """The request was made for an older position, for example in another tab. Nothing has changed."""


@dataclasses.dataclass(frozen=True)
class Event:
    """One entry of the log: an action and what it did, or, without an action, that a set begins or the game is over."""

    effect: str  # in words
    action: LastAction | None = None

    @property
    def seat(self) -> int | None:
        """Who acted; None without an action."""
        return None if self.action is None else self.action.seat


@dataclasses.dataclass(frozen=True)
class Question:
    """What an agent is to decide. `answer` asks it; nothing in the session changes, so this may run in another thread."""

    version: int
    seat: int
    name: str
    answer: Callable[[], int]


class Session:
    """A running game.

    Args:
        game: the variant and the board.
        seats: an agent for each seat, None for a human.
        seed: the seed of the deal, of all restocks and of the agents' random choices.
        screened: whether to hide what opponents keep behind their screens (RULES 6).
        version: of the first position; above that of the game before, if a page shows one after the other.
        person: what records call a human; a language model may sit in the human's seat.

    Attributes:
        states: (1,) the position as players see it. Until a human ends the turn, it is that seat's turn, with no action left.
        version: grows by one with each change.
        first_version: of the first position, which tells games of a page apart.
        log: all events so far.
        fault: the seat of an agent that failed, and the reason; None if there is none.

    Raises:
        ValueError: the number of seats is wrong, the seed is out of range, `screened` has no human to show the game to, or an
            agent cannot play this game.
    """

    def __init__(
        self,
        game: Game,
        seats: Sequence[Agent | None],
        seed: int,
        screened: bool = False,
        version: int = 0,
        person: str = HUMAN,
    ) -> None:
        if len(seats) != game.num_players:
            raise ValueError(f"{len(seats)} seats are given for {game.num_players} players")
        if screened and None not in seats:
            raise ValueError("screened mode shows the game to a human, and all seats are agents")
        self.game, self.seed, self.screened = game, checks.seed(seed), screened
        for agent in seats:
            check_plays(agent, game)
        self.agents = list(seats)
        self.names = [person if agent is None else name_of(agent) for agent in seats]
        self.states: np.ndarray = game.new_states([seed])
        self.history = History(game, self.states, seed)
        self.version = self.first_version = version
        self.log: list[Event] = [Event(f"Set 1 of {game.rules.sets} begins.")]
        self.fault: tuple[int, str] | None = None
        self._turn_start = self.states.copy()
        self._turn: list[int] = []  # actions of the turn under way
        self._turn_done = False  # a human has spent all actions of the turn
        self._viewer: int | None = self.humans[0] if len(self.humans) == 1 else None
        # Not of the seed itself: agents could read it from their generators.
        numbers = np.arange(game.num_players + 1, dtype=np.uint64)
        words = lane_words(np.full(len(numbers), self.seed, np.uint64), streams.TABLE, numbers)
        *self._rngs, self._scrub_rng = map(np.random.default_rng, words.tolist())

    # --- what there is ---

    @property
    def humans(self) -> list[int]:
        """The seats of humans, ascending."""
        return [seat for seat, agent in enumerate(self.agents) if agent is None]

    @property
    def you(self) -> int | None:
        """The seat of the only human; None if there are several or none."""
        return self.humans[0] if len(self.humans) == 1 else None

    @property
    def called(self) -> tuple[str, ...]:
        """What the seats are called: the only human "you", the others by their names."""
        return called(self.names, self.you)

    @property
    def mover(self) -> int:
        """The seat to act, −1 after the end."""
        return int(self.states["current_player"][0])

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self.mover == NOBODY

    @property
    def human_to_move(self) -> bool:
        """Whether a human is to act."""
        return not self.over and self.agents[self.mover] is None

    @property
    def turn_done(self) -> bool:
        """Whether the human to move has spent all actions and can only end the turn or take it back."""
        return self._turn_done

    @property
    def handing_over(self) -> bool:
        """Whether the next human must say that only they look at the screen; see `ready`."""
        return self.screened and self.human_to_move and self._viewer != self.mover

    @property
    def viewer(self) -> int | None:
        """For which seat the position may be shown: None for everybody, −1 for nobody, so that all holdings are hidden."""
        if not self.screened or self.over:
            return None
        return NOBODY if self._viewer is None or self.handing_over else self._viewer

    @property
    def can_undo(self) -> bool:
        """Whether the human to move has done something this turn."""
        return self.human_to_move and bool(self._turn)

    @property
    def played(self) -> list[str]:
        """The names of the actions of the turn under way."""
        return [self.game.action_names[action] for action in self._turn]

    def legal(self) -> list[str]:
        """The names of the actions that the human to move may take; none if it is not a human's turn."""
        if not self.human_to_move or self.handing_over:
            return []
        if self._turn_done:
            return [END_TURN]
        return [self.game.action_names[action] for action in np.flatnonzero(self.game.legal_actions(self.states)[0])]

    # --- what a human does ---

    def act(self, version: int, name: str) -> None:
        """Take an action of the human to move. Raises SessionError."""
        self._check(version)
        legal = self.legal()
        if self.handing_over:
            raise SessionError(f"seat {self.mover} must first say that only they look at the screen")
        if name not in legal:
            raise SessionError(
                f"{checks.shown(name)} is not legal now; legal are {checks.one_line(', '.join(legal), 300)}"
            )
        if not self._turn_done:
            self._play(self.game.action_index(name))
        else:
            self._end_turn()
        self.version += 1

    def undo(self, version: int) -> None:
        """Return to the start of the human's turn. Raises SessionError."""
        self._check(version)
        if not self._turn:
            raise SessionError("there is nothing to take back: this turn has just begun")
        self._take_back()
        self.version += 1

    def check_hint(self, version: int) -> None:
        """Raise SessionError unless the human to move may have a hint."""
        self._check(version)
        if self.screened:
            raise SessionError("there are no hints in screened mode: the adviser knows what everybody has")
        if self._turn_done:
            raise SessionError("the turn is done; there is nothing to advise")

    def ready(self, version: int) -> None:
        """Show the position to the human to move, who says that nobody else looks. Raises SessionError."""
        self._check(version)
        if not self.handing_over:
            raise SessionError("the position is shown already")
        self._viewer = self.mover
        self.version += 1

    # --- what an agent does ---

    def question(self) -> Question | None:
        """What the agent to move is to decide; None if no agent is to move or it has failed."""
        agent = None if self.over else self.agents[self.mover]
        if agent is None or self.fault:
            return None
        states, seat = self.states.copy(), self.mover
        context = AgentContext.drawn(self._rngs[seat], 1, by=self._scrub_rng)
        who = f"seat {seat} ({name_of(agent)})"
        return Question(
            self.version, seat, self.names[seat], lambda: int(ask(agent, self.game, states, context, who)[0])
        )

    def answer(self, question: Question, result: int | AgentFault) -> None:
        """Play the answer to a question, or note that the agent failed. Nothing happens if the question is out of date."""
        if question.version != self.version:
            return
        if isinstance(result, AgentFault):
            self.fault = (question.seat, result.reason)
        else:
            self._play(result)
        self.version += 1

    def think(self) -> None:
        """Let agents act until a human is to move, an agent fails or the game is over."""
        while question := self.question():
            try:
                result: int | AgentFault = question.answer()
            except AgentFault as fault:
                result = fault
            self.answer(question, result)

    def retry(self, version: int) -> None:
        """Ask the agent that failed again. Raises SessionError."""
        self._check_fault(version)
        self.fault = None
        self.version += 1

    def replace(self, version: int, agent: Agent | None) -> None:
        """Give the seat of the agent that failed to another agent, or to a human if None. Raises SessionError."""
        seat = self._check_fault(version)
        self.agents[seat] = agent
        self.names[seat] = f"{self.names[seat]}, then {HUMAN if agent is None else name_of(agent)}"
        self.fault = None
        self._begin_turn()
        self.version += 1

    # --- records ---

    def play_on(self, record: Record, event: int) -> None:
        """Bring a new game to the start of the turn that was under way after an event of a game with the same deal.

        Raises:
            SessionError: that game is over there.
        """
        for text in record.events[: event + 1]:
            if not text.startswith(RESTOCK):
                self._play(self.game.action_index(text.partition(" ")[2]))
                if self._turn_done:
                    self._end_turn()
        if self.over:
            raise SessionError("the game is over at this position; go to an earlier one")
        self._take_back()

    def record(self) -> Record:
        """The record of all turns that are over.

        While the game runs it has no seed, from which coming restocks could be told.

        Raises:
            SessionError: the game is screened and still runs: a record shows all that was gained and paid.
        """
        if self.screened and not self.over:
            raise SessionError("in screened mode the record is given after the game: it shows what everybody has")
        record = self.history.record(self.states if self.over else self._turn_start, self.names)
        return record if self.over else dataclasses.replace(record, seed=None)

    # --- inside ---

    def _check(self, version: int) -> None:
        if not checks.is_whole_number(version, 0) or version != self.version:
            raise OutdatedError(
                f"this was decided for position {checks.shown(version)}, but the game is at position {self.version}: "
                "it went on in another tab or window. Nothing was changed"
            )
        if self.over:
            raise SessionError("the game is over")
        if not self.human_to_move:
            raise SessionError(f"it is the turn of seat {self.mover}, an agent")

    def _check_fault(self, version: int) -> int:
        if checks.is_whole_number(version, 0) and version == self.version and self.fault:
            return self.fault[0]
        raise OutdatedError("no agent has failed in this position; nothing was changed")

    def _play(self, action: int) -> None:
        """Play a legal action of the seat to move."""
        human = self.agents[self.mover] is None
        after, over = preview(self.game, self.states, action)
        effect = effect_words(self.game, self.states, after, self.called)
        self.log.append(Event(effect, last_action(self.game, self.states, action)))
        self._turn.append(action)
        self.states, self._turn_done = after, over
        if over and (not human or self.game.action_names[action] == END_TURN):
            self._end_turn()

    def _take_back(self) -> None:
        """Return to the start of the turn."""
        del self.log[len(self.log) - len(self._turn) :]
        self.states, self._turn, self._turn_done = self._turn_start.copy(), [], False

    def _end_turn(self) -> None:
        """Play the turn for good: the next seat acts, after a restock if the set is over."""
        states, set_before = self._turn_start.copy(), int(self._turn_start["set"][0])
        for action in self._turn:
            self.game.step(states, [action])
            self.history.add(action)
        self.states, self._turn_start = states, states.copy()
        self._turn, self._turn_done = [], False
        if self.over:
            self.log.append(Event("The game is over."))
        elif int(states["set"][0]) != set_before:
            self.log.append(Event(f"Set {states['set'][0] + 1} of {self.game.rules.sets} begins."))
        self._begin_turn()

    def _begin_turn(self) -> None:
        if self.human_to_move and len(self.humans) == 1:
            self._viewer = self.mover
