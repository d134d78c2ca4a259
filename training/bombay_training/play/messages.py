"""What the page is sent: a position with its drawing, its actions and events in words, as plain JSON types.

What `screened` mode hides is left out here, in the one place where positions become messages: see `seats` and `log`.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from bombay_env import Game
from bombay_env.record import Record
from bombay_env.render import panels, svg
from bombay_env.render.picture import document
from bombay_env.render.view import MARKETS, Holdings, LastAction, View, called, view
from bombay_env.rules import COLOUR_NAMES
from bombay_env.text import ActionEffect, action_effects, action_words, describe_tables
from bombay_training.play.account import CLIENTS, COLUMNS, account
from bombay_training.play.session import END_TURN, Event, Session

ICON_ROOM: Final = (-20, -16, 20, 16)


def of_session(session: Session, adviser: str | None, shares: Sequence[float] = ()) -> dict[str, Any]:
    """A session as its page shows it.

    Args:
        session: the game.
        adviser: who gives hints, None if nobody does.
        shares: each seat's share of the win as a net values it, which only a game without humans shows; empty if none does.
    """
    game, viewer = session.game, session.viewer
    fault = session.fault
    shown = position(game, session.states, viewer, session.names, session.log[-1].action, session.you)
    for has, share in zip(shown["seats"], shares, strict=False):
        has["to win"] = f"{share:.0%}"
    return {
        "mode": "play",
        "version": session.version,
        "game": session.first_version,
        **shown,
        "human": session.human_to_move,
        "you": session.you,
        "viewer": viewer,
        "screened": session.screened,
        "handing_over": session.mover if session.handing_over else None,
        "turn_done": session.turn_done,
        "can_undo": session.can_undo and not session.handing_over,
        "adviser": adviser if session.human_to_move and not session.screened and not session.turn_done else None,
        "fault": None if fault is None else {"seat": fault[0], "reason": _reason(session, fault[1])},
        "legal": choices(session),
        "played": session.played,
        "log": log(session.log, viewer if session.screened and not session.over else None),
        "round": rounds(session),
        "has_record": session.over or not session.screened,
        "account": accounted(session.record()) if session.over else None,
    }


def position(
    game: Game,
    states: np.ndarray,
    viewer: int | None,
    names: Sequence[str],
    last: LastAction | None,
    you: int | None = None,
) -> dict[str, Any]:
    """The drawing of a position, what it says, and what each seat has.

    Args:
        game: that of the state.
        states: (1,) the position.
        viewer: for whom it is shown in `screened` mode; see `view`.
        names: of the seats.
        last: the action that led to it, if one did.
        you: the seat that is called "you", if one is.
    """
    seen = view(game, states, viewer, last, called(names, you))
    return {
        "svg": svg.draw_map(game, states, viewer, last),
        "markets": markets(seen),
        "legend": [{"icon": document(icon, ICON_ROOM), "words": words} for icon, words in panels.legend(game.rules)],
        "headline": panels.headline(seen),
        "when": seen.when,
        "mover": int(states["current_player"][0]),
        "over": seen.facts["over"],
        "seats": seats(seen, names),
        "standing": None if viewer is not None or seen.facts["over"] else standing(game, states),
        "board": {"turn": _turn(seen), "tables": [table._asdict() for table in describe_tables(game, states, viewer)]},
    }


def markets(seen: View) -> list[dict[str, Any]]:
    """The markets and the bag: what a bale costs there, and the bales by colour."""
    shown = [
        {"name": name.capitalize(), "price": seen.price(number), "bales": _bales(seen.facts["markets"][number])}
        for number, name in enumerate(MARKETS)
    ]
    return [*shown, {"name": "Bag", "price": "", "bales": _bales(seen.facts["bag"])}]


def _bales(counts: Sequence[int]) -> list[tuple[str, int]]:
    """The colours that there are, each with its number."""
    return [(colour, count) for colour, count in zip(COLOUR_NAMES, counts, strict=True) if count]


def _turn(seen: View) -> str:
    """What the drawing's head tells of the turn besides the headline."""
    facts, rules = seen.facts, seen.game.rules
    if facts["over"]:
        return ""
    return f"Bought {facts['buys']} of {rules.buys_per_turn} in this turn. {seen.title(facts['first_player'])} began the set."


def seats(seen: View, names: Sequence[str]) -> list[dict[str, Any]]:
    """What each seat has; null is what the viewer may not see."""
    return [
        {
            "seat": has.seat,
            "name": names[has.seat],
            "called": seen.title(has.seat),
            "at": has.site,
            "rupees": has.rupees,
            "Clients": has.clients,
            "Cities": None if has.cities is None else _cities(has),
            "palaces": f"{seen.game.rules.palaces - has.palaces_left} of {seen.game.rules.palaces}",
            "bales": ", ".join(f"{count} {colour}" for colour, count in _bales(has.basket)) or "none",
        }
        for has in seen.holdings
    ]


def _cities(has: Holdings) -> str:
    """The number of City tokens, and where they are from."""
    of = [*(has.cities or ()), *["palace token"] * (has.city_palace_tokens or 0)]
    return f"{has.city_tokens} ({', '.join(of)})" if of else str(has.city_tokens)


def standing(game: Game, states: np.ndarray) -> list[dict[str, Any]]:
    """For each seat the result if the game ended now: rupees in hand, both awards with what they are for, and the total."""
    found = game.provisional_results(states)[0]
    return [
        {
            "in hand": int(found["rupees"][seat]),
            "award for empire": f"{found['majority'][seat]} for {found['empire'][seat]}",
            "award for fame": f"{found['fame'][seat]} for {found['city_tokens'][seat]}",
            "total": int(found["final"][seat]),
        }
        for seat in range(game.num_players)
    ]


def accounted(record: Record) -> dict[str, Any]:
    """The account of a finished game: columns and a row for each seat; Client tokens are told where they decide (RULES 5)."""
    rows = account(record)
    tied = sum(row["final"] == max(row["final"] for row in rows) for row in rows) > 1
    return {"columns": (*COLUMNS, CLIENTS) if tied else COLUMNS, "rows": rows}


def log(events: Sequence[Event], viewer: int | None) -> list[dict[str, Any]]:
    """Events in words, and the two sites of a move. For a viewer in screened mode, without what other seats gained and paid."""
    return [
        {
            "seat": event.seat,
            "words": _words(event, viewer is None or event.seat in (None, viewer)),
            "move": _ends(event),
        }
        for event in events
    ]


def _ends(event: Event) -> tuple[str, str] | None:
    """Where a move begins and ends; None for any other event."""
    if event.action is None or not event.action.action.startswith("move:"):
        return None
    return event.action.origin, event.action.action.removeprefix("move:")


def rounds(session: Session) -> list[dict[str, Any]]:
    """What the others have done since the last turn of the human to move or who moved last: a card for each of their turns.

    A card has the seat, its way, a list of sites, and its turn in words. Without a seat it tells that a set begins.
    """
    events = session.log[: len(session.log) - len(session.played)] if session.human_to_move else session.log
    seats = [event.seat for event in events]
    human = session.mover if session.human_to_move else next((s for s in reversed(seats) if s in session.humans), None)
    first = len(seats) - seats[::-1].index(human) if human in seats and human is not None else 0
    cards = []
    for seat, turn in itertools.groupby(events[first:], key=lambda event: event.seat):
        done = list(turn)
        moves = [ends for ends in map(_ends, done) if ends]
        words = _turn_words(done, session.viewer is None or seat in (None, session.viewer))
        way = [*(origin for origin, _ in moves[:1]), *(to for _, to in moves)]
        cards.append({"seat": seat, "way": way, "words": ", ".join(words) or "nothing"})
    return cards[-2 * session.game.num_players :]


def _turn_words(events: Sequence[Event], whole: bool) -> Iterator[str]:
    """A turn in the order in which it was played: ways, such as "A → E1 → H1", and the other actions."""
    for moves, part in itertools.groupby(events, key=lambda event: _ends(event) is not None):
        if not moves:
            yield from (
                _words(event, whole) for event in part if event.action is None or event.action.action != END_TURN
            )
            continue
        way = ""
        for event in part:
            origin, to = _ends(event) or ("", "")
            way = f"{way or origin} → {to}" + (f" ({event.effect})" if whole and event.effect else "")
        yield way


def _words(event: Event, whole: bool) -> str:
    if event.action is None:
        return event.effect
    effect = f" ({event.effect})" if whole and event.effect else ""
    return f"{action_words(event.action.action)}{effect}"


def choices(session: Session) -> list[dict[str, Any]]:
    """What the human to move may do: its name, the site of a move, and in words what it costs and does."""
    legal = session.legal()
    if session.turn_done:
        effects = {END_TURN: "no way back after this"}
    else:
        found = action_effects(session.game, session.states, session.viewer, session.called)
        effects = {each.name: _effect(each) for each in found}
    return [
        {
            "action": name,
            "site": name.partition(":")[2] if name.startswith("move:") else None,
            "words": action_words(name),
            "effect": effects[name],
        }
        for name in legal
    ]


def _effect(found: ActionEffect) -> str:
    """The words of an action; of a move, without the sites, which its button names. A turn ends when its player says so."""
    words = found.words.partition(", ")[2] if found.name.startswith("move:") else found.words
    return words if found.name == END_TURN else words.removesuffix("; your turn ends")


def _reason(session: Session, reason: str) -> str:
    """Why an agent failed. Its own words could tell what a screen hides."""
    return "in screened mode its message is only in the terminal" if session.viewer is not None else reason


def news(session: Session, start: int = 0) -> list[str]:
    """The events of the log from `start` on, as `session.viewer` may know them.

    The actions of a turn stand in one line, with the place where the first of them was taken.
    """
    viewer = session.viewer if session.screened and not session.over else None
    events = list(zip(session.log, log(session.log, viewer), strict=True))[start:]
    lines: list[str] = []
    for seat, turn in itertools.groupby(events, key=lambda event: event[0].seat):
        actions, told = zip(*turn, strict=True)
        words = [event["words"] for event in told]
        lines += words if seat is None else [f"seat {seat} at {actions[0].action.origin}: {'; '.join(words)}"]
    return lines
