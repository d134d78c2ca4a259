"""What the page is sent: a position with its drawing, its actions and events in words, as plain JSON types.

What `screened` mode hides is left out here, in the one place where positions become messages: see `seats` and `log`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bombay_env import Game
from bombay_env.render import svg
from bombay_env.render.view import LastAction, View, plural, view
from bombay_env.rules import COLOUR_NAMES
from bombay_env.text import describe_tables
from bombay_training.play.account import COLUMNS, account
from bombay_training.play.effects import action_words, effect_words, preview
from bombay_training.play.session import END_TURN, Event, Session


def of_session(session: Session, adviser: str | None) -> dict[str, Any]:
    """A session as its page shows it.

    Args:
        session: the game.
        adviser: who gives hints, None if nobody does.
    """
    game, viewer = session.game, session.viewer
    fault = session.fault
    return {
        "mode": "play",
        "version": session.version,
        **position(game, session.states, viewer, session.names, session.log[-1].action),
        "human": session.human_to_move,
        "viewer": viewer,
        "screened": session.screened,
        "handing_over": session.mover if session.handing_over else None,
        "turn_done": session.turn_done,
        "can_undo": session.can_undo and not session.handing_over,
        "adviser": adviser if session.human_to_move and not session.screened and not session.turn_done else None,
        "fault": None if fault is None else {"seat": fault[0], "reason": _reason(session, fault[1])},
        "legal": choices(session),
        "log": log(session.log, viewer if session.screened and not session.over else None),
        "has_record": session.over or not session.screened,
        "account": {"columns": COLUMNS, "rows": account(session.record())} if session.over else None,
    }


def position(
    game: Game, states: np.ndarray, viewer: int | None, names: Sequence[str], last: LastAction | None
) -> dict[str, Any]:
    """The drawing of a position, what it says, and what each seat has. `last` is the action that led to it, if one did."""
    seen = view(game, states, viewer)
    return {
        "svg": svg.draw(game, states, viewer, last),
        "headline": headline(seen),
        "when": seen.when,
        "mover": int(states["current_player"][0]),
        "over": seen.facts["over"],
        "seats": seats(seen, names),
        "board": {"turn": _turn(seen), "tables": [table._asdict() for table in describe_tables(game, states, viewer)]},
    }


def headline(seen: View) -> str:
    """Whose turn it is and what is to be done, or who won."""
    facts = seen.facts
    if facts["over"]:
        return f"Game over: {seen.ending}"
    if facts["take_pending"]:
        return f"Seat {facts['current_player']} must take a bale"
    return f"Seat {facts['current_player']}: {plural(facts['actions_left'], 'action')} left"


def _turn(seen: View) -> str:
    """What the drawing's head tells of the turn besides the headline."""
    facts, rules = seen.facts, seen.game.rules
    if facts["over"]:
        return ""
    return f"Bought {facts['buys']} of {rules.buys_per_turn} in this turn. Seat {facts['first_player']} began the set."


def seats(seen: View, names: Sequence[str]) -> list[dict[str, Any]]:
    """What each seat has; null is what the viewer may not see."""
    return [
        {
            "seat": has.seat,
            "name": names[has.seat],
            "at": has.site,
            "rupees": has.rupees,
            "Clients": has.clients,
            "Cities": has.city_tokens,
            "palaces": has.palaces_left,
            "bales": ", ".join(
                f"{count} {colour}" for count, colour in zip(has.basket, COLOUR_NAMES, strict=True) if count
            )
            or "none",
        }
        for has in seen.holdings
    ]


def log(events: Sequence[Event], viewer: int | None) -> list[dict[str, Any]]:
    """Events in words. For a viewer in screened mode, without what other seats gained and paid."""
    return [
        {"seat": event.seat, "words": _words(event, viewer is None or event.seat in (None, viewer))} for event in events
    ]


def _words(event: Event, whole: bool) -> str:
    if event.action is None:
        return event.effect
    effect = f" ({event.effect})" if whole and event.effect else ""
    return f"{action_words(event.action.action)}{effect}"


def choices(session: Session) -> list[dict[str, Any]]:
    """What the human to move may do, in words."""
    return [_choice(session, name) for name in session.legal()]


def _choice(session: Session, name: str) -> dict[str, Any]:
    """A legal action: its words, what it costs in actions and what it does."""
    kind, _, what = name.partition(":")
    site = what if kind == "move" else None
    if session.turn_done:
        return {"action": END_TURN, "site": None, "words": action_words(END_TURN), "effect": "no way back after this"}
    left = int(session.states["actions_left"][0])
    if name == END_TURN:
        effect = f"{plural(left, 'action')} not used" if left else ""
    else:
        after, _ = preview(session.game, session.states, session.game.action_index(name))
        spent = left - int(after["actions_left"][0])
        cost = f"{spent} action{'s' if spent != 1 else ''}"
        effect = ", ".join(filter(None, (cost, effect_words(session.game, session.states, after))))
    return {"action": name, "site": site, "words": action_words(name), "effect": effect}


def _reason(session: Session, reason: str) -> str:
    """Why an agent failed. Its own words could tell what a screen hides."""
    return "in screened mode its message is only in the terminal" if session.viewer is not None else reason
