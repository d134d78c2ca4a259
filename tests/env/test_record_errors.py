"""Game records that are rejected: malformed ones, ones that break the rules, and randomly damaged ones (RULES 8)."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bombay_env import Board, Game, Rules
from bombay_env.record import Record
from helpers.mutations import mutated
from helpers.position import official, setup_of
from helpers.records import BASE, GAME, SHORT, SLOW, changed, events, less, nested, play_record, refusal, verify
from helpers.variants import random_board

# --- malformed records ---

FAULT = {"seat": 0, "action": "buy", "reason": "no"}
WRONG_FORMS = [
    ([], "record is []; it must be an object"),
    (changed("format", to="bombay-record/2"), "record.format is 'bombay-record/2'; it must be 'bombay-record/1'"),
    *((less(key), f"record.{key} is missing") for key in BASE),
    (BASE | {"date": "today"}, "record.date is an unknown key"),
    (changed("players", to=3), "players is 3, but the rules are for 2"),
    (changed("players", to=True), "record.players is True; it must be a valid integer"),
    (changed("board", to="atlantis"), "board is 'atlantis'; it must be 'reconstruction' or a board as an object"),
    (changed("board", to=None), "board is None; it must be an object"),
    (changed("board", to=Board.load().to_dict() | {"trails": []}), "cannot be reached"),
    (less("rules", "toll"), "rules must have exactly the fields num_players, sets"),
    (changed("rules", "camels", to=3), "rules must have exactly the fields"),
    (changed("rules", "toll", to=-1), "toll is -1; it must be a whole number from 0 to 100"),
    (changed("seed", to=-1), "record.seed is -1; it must be greater than or equal to 0"),
    (changed("seed", to=2**64), "record.seed is 18446744073709551616"),
    (changed("agents", to=["me"]), "agents is ['me']; it must be a list of 2, by seat"),
    (changed("agents", to=[1, 2]), "record.agents[0] is 1; it must be a valid string"),
    (less("setup", "posts"), "record.setup.posts is missing"),
    (changed("setup", "weather", to={}), "record.setup.weather is an unknown key"),
    (changed("setup", "posts", "E1", to=["yellow"]), "record.setup.posts.E1 is ['yellow']"),
    (changed("events", 1, to=7), "record.events[1] is 7; it must be a valid string"),
    (changed("events", to=["x"] * 20_001), "at most 20000 items"),
    (changed("result", to=[]), "record.result is []; it must be an object"),
    (BASE | {"fault": {"seat": 0, "action": "buy"}}, "record.fault.reason is missing"),
    (BASE | {"fault": FAULT | {"when": 3}}, "record.fault.when is an unknown key"),
    (BASE | {"fault": FAULT | {"seat": 2}}, "fault.seat is 2; it must be from 0 to 1"),
    (BASE | {"fault": FAULT | {"seat": -1}}, "fault.seat is -1; it must be from 0 to 1"),
]


@pytest.mark.parametrize(("data", "words"), WRONG_FORMS, ids=[words[:60] for _, words in WRONG_FORMS])
def test_a_malformed_record_is_rejected(data, words):
    refusal(lambda: Record.from_dict(data), words)


@pytest.mark.parametrize("key", [*BASE, "fault"])
def test_deeply_nested_and_huge_values_are_rejected_in_one_line(key):
    for value in (nested(900), ["x" * 10**5] * 100):
        refusal(lambda value=value: verify(BASE | {key: value}))


# --- records that break the rules ---

WRONG_GAMES = {
    "no events": (events(), ("event 0", "restock")),
    "no first restock": (events("0 move:E1"), ("event 0", "restock")),
    "first restock too small": (events("restock:1,2,3,2"), ("event 0", "9 bales")),
    "first restock too large": (events("restock:4,0,2,3"), ("event 0", "[3, 4, 5, 5]")),
    "restock of three": (events("restock:3,3,3"), ("event 0", "4 whole numbers")),
    "restock negative": (events("restock:-1,3,4,3"), ("event 0", "4 whole numbers")),
    "restock superscript": (events("restock:¹,2,3,3"), ("event 0", "4 whole numbers")),
    "restock huge": (events("restock:" + "9" * 5000 + ",2,3,3"), ("event 0", "4 whole numbers")),
    "two restocks": (events("restock:1,2,3,3", "restock:1,2,3,3"), ("event 1", "no restock is due")),
    "restock missing": (events(*BASE["events"][:4], "1 end_turn"), ("event 3", "1 consolidate", "restock must follow")),
    "restock missing at the end": (events(*BASE["events"][:4]), ("event 3", "restock must follow")),
    "restock of a bale in a basket": (changed("events", 4, to="restock:3,2,2,2"), ("event 4", "[2, 4, 5, 5]")),
    "wrong seat": (changed("events", 1, to="1 move:E1"), ("event 1", "seat 0's turn")),
    "seat with zeros": (changed("events", 1, to="00 move:E1"), ("event 1", "seat 0's turn")),
    "seat alone": (changed("events", 1, to="0"), ("event 1", "no action")),
    "two blanks": (changed("events", 1, to="0  move:E1"), ("event 1", "no action")),
    "unknown action": (changed("events", 1, to="0 dance"), ("event 1", "no action", "dance")),
    "line break": (changed("events", 2, to="0 buy\n"), ("event 2", "no action")),
    "illegal move": (changed("events", 1, to="0 move:F1"), ("event 1", "illegal", "move:E1")),
    "illegal action that would end the set": (changed("events", 3, to="1 buy"), ("event 3", "illegal")),
    "event after the end": (BASE | {"events": [*BASE["events"], "1 end_turn"]}, ("event 7", "over")),
    "restock after the end": (
        BASE | {"events": [*BASE["events"], "restock:1,2,3,3"]},
        ("event 7", "no restock is due"),
    ),
    "result while running": (BASE | {"events": BASE["events"][:-1]}, ("event 5", "not over", "null")),
    "result null after the end": (changed("result", to=None), ("over", "result")),
    "fault of a whole game": (BASE | {"fault": FAULT}, ("fault", "end")),
    "fault and result": (BASE | {"fault": FAULT, "events": BASE["events"][:3]}, ("event 2", "result must be null")),
    "setup with a column twice": (
        changed("setup", "demand", "Bombay", to=["purple", "orange", "yellow"]),
        ("setup", "demand", "arrangement"),
    ),
    "setup with an outer post": (changed("setup", "posts", "F1", to="blue"), ("setup", "posts", "F1")),
}


@pytest.mark.parametrize("kind", WRONG_GAMES)
def test_a_record_that_breaks_the_rules_is_rejected(kind):
    data, words = WRONG_GAMES[kind]
    record = Record.from_dict(data)  # its form is valid
    refusal(record.verify, *words)


WRONG_RESULTS = ([7, 7], [0], [0, 0, 0], None, "0", {}, [None, 0], [True, False], [float("nan")] * 2, [10**400, 0])


@pytest.mark.parametrize("key", BASE["result"])
def test_a_wrong_result_is_rejected(key):
    for value in WRONG_RESULTS:
        wrong = changed("result", key, to=value)
        refusal(lambda wrong=wrong: verify(wrong), f"result {key} is", "the game ended with")
    refusal(lambda: verify(less("result", key)), "result", key)
    refusal(lambda: verify(changed("result", f"{key}s", to=[0, 0])), "result")


def test_win_shares_may_be_rounded_but_not_wrong():
    """Three players share a win. Their share of 1/3 may be rounded in any way."""
    passed = ["restock:1,2,3,3", *(f"{seat} end_turn" for seat in (0, 1, 2))]
    game = Game(Rules(3, sets=1, turns_per_set=1))
    rules = game.rules.to_dict()
    nothing, two = [0, 0, 0], [2, 2, 2]
    result = dict.fromkeys(BASE["result"], nothing) | {"rupees": two, "majority": two, "final": [4, 4, 4]}
    data = BASE | {"players": 3, "rules": rules, "agents": ["a", "b", "c"], "events": passed}
    data["setup"] = json.loads(json.dumps(setup_of(game)))
    for share in (1 / 3, 0.333333333333, 0.3333333333333333):
        verify(data | {"result": result | {"winners": [0, 1, 2], "win_share": [share] * 3}})
    for share in (0.333, 0.34, 1, 0):
        refusal(
            lambda share=share: verify(data | {"result": result | {"winners": [0, 1, 2], "win_share": [share] * 3}}),
            "win_share",
        )


# --- random damage; `test_files_from_elsewhere.py` damages the bytes of files ---

TEXTS = ["", "restock:1,2,3,3", "restock:", "0 buy", "1 end_turn", "0 end_turn", "blue", "E1", "seat", "fault", "null"]


def sample_records():
    """Records to damage: written by hand, over, running, with a fault, and on another board."""
    rng = random.Random(2)
    own = play_record(Game(Rules(3, **SHORT), random_board(1)), 5, rng)
    played = [play_record(GAME, 9, rng), play_record(official(4), 3, rng, 8), own]
    return [BASE, events(*BASE["events"][:3], fault=FAULT), *(record.to_dict() for record in played)]


SAMPLES = [json.loads(json.dumps(data)) for data in sample_records()]


@settings(max_examples=60 if SLOW else 300, deadline=None)
@given(st.data())
def test_a_damaged_record_is_rejected_or_can_be_written_and_read_again(data):
    damaged = data.draw(st.sampled_from(SAMPLES))
    if data.draw(st.booleans()):
        damaged = mutated(data, damaged, TEXTS)
    else:  # the events, which damage to a whole record seldom reaches
        damaged = damaged | {"events": mutated(data, damaged["events"], TEXTS), "result": None}
    refused = None
    try:
        record = Record.from_dict(damaged)
        record.verify()
    except ValueError as error:
        refused = str(error)
    if refused is None:
        assert Record.from_dict(record.to_dict()) == record
    else:
        assert refused
        assert "\n" not in refused
