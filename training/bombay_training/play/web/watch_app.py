"""What the page of `bombay watch` asks for: any position of any game in a file of records."""

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from bombay_env import Game
from bombay_env.record import RESTOCK, Record, RecordError
from bombay_env.render.view import called, last_action
from bombay_training.play import messages
from bombay_training.play.effects import effect_words, preview
from bombay_training.play.session import Event
from bombay_training.play.web.guard import Guard, Refusal
from bombay_training.play.web.server import application


class Film:
    """A record that follows the rules, as a position after each event.

    Args:
        record: the record.

    Raises:
        RecordError: it breaks the rules.
    """

    def __init__(self, record: Record) -> None:
        record.verify()
        self.record = record
        self.states = [states for _, states in record.replay()]
        self.events = [_event(record, number, self.states) for number in range(len(self.states))]
        self.account = messages.accounted(record) if record.result is not None else None

    def message(self, number: int) -> dict[str, Any]:
        """The position after event `number` as the page shows it, with all events up to it."""
        last = number == len(self.states) - 1
        return {
            **messages.position(
                self.record.game, self.states[number], None, self.record.agents, self.events[number].action
            ),
            "log": messages.log(self.events[: number + 1], None),
            "account": self.account if last else None,
            "fault": self.record.fault if last else None,
        }


class WatchApp:
    """The games of a file.

    Args:
        records: at least one; each is replayed when it is first shown.
        game: index of the one shown first.

    Raises:
        RecordError: that record breaks the rules.
    """

    def __init__(self, records: list[Record], game: int = 0) -> None:
        self.records, self.first = records, game
        self._films = {game: Film(records[game])}

    def application(self, token: str, hosts: Any) -> Guard:
        """The application, behind the guard."""
        return application([Route("/api/state", self._state)], token, hosts)

    async def _state(self, request: Request) -> Response:
        game = _number(request, "game", self.first, len(self.records) - 1)
        if game not in self._films:
            try:
                self._films = {game: Film(self.records[game])}
            except RecordError as error:
                raise Refusal(409, f"game {game + 1}: {error}") from None
        film = self._films[game]
        last = len(film.states) - 1
        event = _number(request, "event", 0, last)
        shown = {"mode": "watch", "game": game, "games": len(self.records), "event": event, "last": last}
        return JSONResponse({**shown, **film.message(event)})


def _number(request: Request, name: str, default: int, most: int) -> int:
    """A whole number among the parameters of an address."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= most):
        raise Refusal(400, f"{name} must be a whole number from 0 to {most}")
    return int(text)


def _event(record: Record, number: int, states: list[Any]) -> Event:
    """Event `number` of a record for the log."""
    game, text = record.game, record.events[number]
    if text.startswith(RESTOCK):
        return Event(f"Set {_set(game, states[number])} of {game.rules.sets} begins.")
    before: np.ndarray = states[number - 1]
    action = game.action_index(text.partition(" ")[2])
    after, _ = preview(game, before, action)
    return Event(effect_words(game, before, after, called(record.agents)), last_action(game, before, action))


def _set(game: Game, states: np.ndarray) -> int:
    return min(int(states["set"][0]) + 1, game.rules.sets)
