"""Game records for tests: random ones, and one written by hand."""

import copy
import json
import random
from pathlib import Path

import numba
import numpy as np

from bombay_env import Board, Game, Rules
from bombay_env.record import History, Record, RecordError
from helpers.mutations import at
from helpers.position import setup_of
from helpers.refusal import refusal as error_of

SLOW = bool(numba.config.DISABLE_JIT)
GOLDEN = Path(__file__).parents[1] / "golden"
LIKING = {"sell": 12, "build": 5, "buy": 8, "take": 1, "move": 1, "consolidate": 0.2, "end_turn": 0.2}
SHORT = {"sets": 2, "turns_per_set": 1}


def liking_of(game, state, action):
    """The weight of an action. A move has more weight if it leads towards a city (with bales) or a post (without bales)."""
    kind, *_ = game.action_name(action).split(":")
    if kind != "move":
        return LIKING[kind]
    tables, here = game.tables[0], state.position[state.current_player]
    goals = tables.city_sites if state.basket[state.current_player].any() else tables.post_sites
    return 6 if tables.distance[action, goals].min() < tables.distance[here, goals].min() else 1


def play_record(game, seed, rng, steps=None):
    """The record of a game of random legal actions with the weights of `liking_of`, so that games contain trades."""
    states = game.new_states([seed])
    history = History(game, states, seed)
    while not game.is_terminal(states)[0] and steps != 0:
        legal = np.flatnonzero(game.legal_actions(states)[0]).tolist()
        liking = [liking_of(game, states[0], action) for action in legal]
        action = rng.choices(legal, liking)[0]
        game.step(states, [action])
        history.add(action)
        steps = None if steps is None else steps - 1
    return history.record(states, [f"player_{seat}" for seat in range(game.num_players)])


def golden_record(n):
    """The golden game for n players: both the seed of the game and the seed of its actions are n."""
    return play_record(Game(Rules.official(n), Board.load()), n, random.Random(n))


def golden_file(n):
    return GOLDEN / f"players_{n}.jsonl"


# A whole game written by hand, with the fixed deal of `helpers.position`: two sets of one game turn, two players.
GAME = Game(Rules(2, **SHORT))
BASE = {
    "format": "bombay-record/1",
    "players": 2,
    "board": "reconstruction",
    "rules": GAME.rules.to_dict(),
    "seed": None,
    "agents": ["Asha", "Ravi"],
    "setup": json.loads(json.dumps(setup_of(GAME))),
    "events": [
        "restock:1,2,3,3",
        "0 move:E1",
        "0 buy",  # the yellow bale is in the right market: 2 rupees and 2 actions
        "1 consolidate",
        "restock:2,2,2,3",
        "1 end_turn",
        "0 end_turn",
    ],
    "result": {
        "rupees": [0, 3],
        "clients": [0, 0],
        "empire": [0, 0],
        "majority": [2, 2],
        "city_tokens": [0, 0],
        "fame": [0, 0],
        "final": [2, 5],
        "winners": [1],
        "win_share": [0, 1],
    },
}


def changed(*path, to, base=BASE):
    """The record written by hand, with one entry changed."""
    data = copy.deepcopy(base)
    at(data, path[:-1])[path[-1]] = to
    return data


def less(*path):
    """The record written by hand, without one entry."""
    data = copy.deepcopy(BASE)
    del at(data, path[:-1])[path[-1]]
    return data


def events(*listed, **others):
    """The record written by hand, with other events and no result."""
    return BASE | {"events": list(listed), "result": None} | others


def refusal(call, *words):
    """The message of the RecordError that `call` raises, which contains all of the words."""
    return error_of(call, *words, error=RecordError)


def verify(data):
    return Record.from_dict(data).verify()


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value
