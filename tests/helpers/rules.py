"""What the tests of the rules share: the sites by kind, and play on both implementations of the rules.

`play`, `legal`, `refused` and `outcome` use the engine, and check that the slow twin (`naive.py`) agrees in every fact.
"""

import numpy as np
import pytest

from bombay_env import IllegalActionError
from bombay_env.state import state_to_dict
from helpers import position
from helpers.position import COLOURS, GAME, dealt, last_turn
from naive import MARKETS, NaiveError, NaiveGame

BOARD = GAME.board
SITES = [site.name for site in BOARD.sites]
HILLS = ("A", "B")
E_SITES = ("E1", "E2", "E3", "E4")
F_SITES = ("F1", "F2", "F3", "F4")
G_SITES = tuple(f"G{i}" for i in range(1, 9))
POSTS = list(zip(E_SITES, COLOURS, strict=True))
EMPTY = [0, 0, 0, 0]


def neighbours(site):
    return {b if a == site else a for a, b in BOARD.trails if site in (a, b)}


def kinds_of(names):
    """The kinds of these actions: move, buy, sell, build, take, consolidate, end_turn."""
    return {name.partition(":")[0] for name in names}


def mover(states):
    """The seat to act and its actions left."""
    return int(states.current_player[0]), int(states.actions_left[0])


# --- The twin ---


def drawn(states):
    """The bales by colour of the restock of a set that has just started."""
    return states[0]["market"].sum(axis=0).tolist()


def engine_facts(game, states):
    """The engine's first state in the form of the twin, which has no seed."""
    facts = state_to_dict(states[0], game.rules, game.board)
    del facts["seed"]
    return facts


def twin_facts(twin):
    """The twin's state in the engine's form.

    After the end, the twin says that all posts are open, and the engine that none are. RULES 3 allows both for empty markets.
    """
    facts = twin.state()
    return facts | {"open_posts": []} if facts["over"] else facts


def new_twin(game, states):
    """The twin of a game that was just dealt."""
    facts = engine_facts(game, states)
    setup = {part: facts[part] for part in ("demand", "posts", "palace_tokens")}
    return NaiveGame(game.rules.to_dict(), game.board.to_dict(), setup, drawn(states))


def by_colour(row):
    return dict(zip(COLOURS, row, strict=True))


def twin_of(game, states):
    """The twin in the position of the first state."""
    twin, facts = new_twin(game, dealt(game)), engine_facts(game, states)
    for name in facts.keys() & vars(twin).keys():
        setattr(twin, name, facts[name])
    twin.bag = by_colour(facts["bag"])
    twin.markets = dict(zip(MARKETS, map(by_colour, facts["markets"]), strict=True))
    twin.basket = [by_colour(basket) for basket in facts["basket"]]
    twin.city_tokens = [set(cities) for cities in facts["city_tokens"]]
    twin.set_number = facts["set"]
    twin.turns_taken = 0 if twin.over else (facts["current_player"] - facts["first_player"]) % game.num_players
    assert twin_facts(twin) == facts
    return twin


# --- Play on both ---


def play(game, states, *actions, restock=None):
    """A copy of one state after these actions, given by name. `restock` is the draw if a set ends."""
    after, twin = states, twin_of(game, states)
    for name in actions:
        after = position.play(game, after, name, restock=restock)
        twin.step(name, drawn(after))
        assert twin_facts(twin) == engine_facts(game, after)
    return after


def legal(game, states):
    """The names of the legal actions."""
    names = position.legal(game, states)
    assert names == set(twin_of(game, states).legal_actions())
    return names


def refused(game, states, action):
    """Whether the action is not legal, and playing it raises and changes nothing."""
    before, twin = states.copy(), twin_of(game, states)
    assert action not in legal(game, states)
    with pytest.raises(IllegalActionError):
        game.step(states, np.array([game.action_index(action)]))
    with pytest.raises(NaiveError):
        twin.step(action)
    return (states == before).all() and twin_facts(twin) == engine_facts(game, states)


def outcome(game=GAME, **facts):
    """The result if the game ends with `end_turn` in this position: {field: list by seat}."""
    result = position.outcome(game, **facts)
    twin = twin_of(game, last_turn(game, **facts))
    twin.step("end_turn")
    assert twin.result() == result | {"winners": [seat for seat, wins in enumerate(result["winners"]) if wins]}
    return result
