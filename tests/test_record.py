"""Game records as RULES 8 has them: written, read, replayed, verified, and refused with the event's number and the reason.

`golden/players_<n>.jsonl` hold one whole official game each, played once by `golden_record` below and kept: a difference is a
changed rule or changed chance, and is reviewed like code. `python tests/test_record.py` plays and writes them anew.
"""

import copy
import json
import random
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bombay_env import Board, Game, Rules
from bombay_env.record import History, Record, RecordError, read_records, result_to_dict, write_records
from helpers.mutations import at, mutated
from helpers.position import COLOURS, official, setup_of
from helpers.variants import random_board, random_game

SLOW = bool(numba.config.DISABLE_JIT)
GOLDEN = Path(__file__).parent / "golden"
LIKING = {"sell": 12, "build": 5, "buy": 8, "take": 1, "move": 1, "consolidate": 0.2, "end_turn": 0.2}
SHORT = {"sets": 2, "turns_per_set": 1}
each_count = pytest.mark.parametrize("n", [2, 3, 4, 5])


def liking_of(game, state, action):
    """How much an action is worth a try: a move more where it leads nearer to a city with silk, to a post without."""
    kind, *_ = game.action_name(action).split(":")
    if kind != "move":
        return LIKING[kind]
    tables, here = game.tables[0], state.position[state.current_player]
    goals = tables.city_sites if state.basket[state.current_player].any() else tables.post_sites
    return 6 if tables.distance[action, goals].min() < tables.distance[here, goals].min() else 1


def play_record(game, seed, rng, steps=None):
    """The record of a game of legal actions at random, more often those that bring something or lead where silk is traded."""
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
    """The game that is kept for n players: seed and dice are n itself."""
    return play_record(Game(Rules.official(n), Board.load()), n, random.Random(n))


def golden_file(n):
    return GOLDEN / f"players_{n}.jsonl"


# One game in full, by hand, on the fixed deal of `helpers.position`: two sets of one game turn for two players.
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
        "0 buy",  # the yellow bale lies on the right: 2 rupees and 2 actions
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
    """The record by hand with one place changed."""
    data = copy.deepcopy(base)
    at(data, path[:-1])[path[-1]] = to
    return data


def less(*path):
    """The record by hand with one place left out."""
    data = copy.deepcopy(BASE)
    del at(data, path[:-1])[path[-1]]
    return data


def events(*listed, **others):
    """The record by hand with other events, its result left out."""
    return BASE | {"events": list(listed), "result": None} | others


def refusal(call, *words):
    """The message of the RecordError that `call` raises: one line of at most 500 characters that contains all the words."""
    with pytest.raises(RecordError) as caught:
        call()
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert len(message) <= 500
    assert all(word in message for word in words), message
    return message


def verify(data):
    return Record.from_dict(data).verify()


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


# --- the golden records ---


@each_count
def test_golden_games_replay_to_their_results(n):
    (record,) = read_records(golden_file(n))
    states = record.verify()
    assert record.game == official(n)
    assert result_to_dict(record.game.results(states)[0]) == record.result
    assert json.dumps(record.to_dict(), ensure_ascii=False) + "\n" == golden_file(n).read_text(encoding="utf-8")


@each_count
def test_golden_games_are_dealt_by_their_seeds(n):
    """Played again from the seed alone: set-up and every restock come out as they are written down."""
    (record,) = read_records(golden_file(n))
    game, states = record.game, record.game.new_states([record.seed])
    history = History(game, states, record.seed)
    for event in record.events:
        if not event.startswith("restock:"):
            _, name = event.split(" ")
            game.step(states, [game.action_index(name)])
            history.add(game.action_index(name))
    assert history.record(states, record.agents) == record


@each_count
def test_golden_games_are_the_ones_that_the_recipe_plays(n):
    (record,) = read_records(golden_file(n))
    assert golden_record(n) == record


def test_golden_games_show_every_kind_of_action():
    names = [
        event.split()[-1] for n in (2, 3, 4, 5) for record in read_records(golden_file(n)) for event in record.events
    ]
    kinds = {name.split(":")[0] for name in names}
    assert kinds == {"restock", *LIKING}
    assert {name for name in names if name.startswith("sell:")} == {f"sell:{colour}" for colour in COLOURS}


# --- what a record is ---


def test_the_record_by_hand_is_in_order():
    record = Record.from_dict(BASE)
    states = record.verify()
    assert record.to_dict() == BASE
    assert record.game == GAME
    assert states["rupees"][0, :2].tolist() == [0, 3]
    assert Record.from_dict(json.loads(json.dumps(BASE))) == record


def test_a_record_holds_rules_8s_keys_in_their_order():
    data = play_record(official(3), 7, random.Random(1)).to_dict()
    assert list(data) == ["format", "players", "board", "rules", "seed", "agents", "setup", "events", "result"]
    assert list(data["setup"]) == ["demand", "posts", "palace_tokens"]
    assert list(data["result"]) == list(BASE["result"])
    assert (data["format"], data["players"], data["board"], data["seed"]) == ("bombay-record/1", 3, "reconstruction", 7)
    assert data["rules"] == official(3).rules.to_dict()
    assert set(data["setup"]["posts"]) == {"E1", "E2", "E3", "E4"}  # only the sites that hold one
    assert len(data["setup"]["palace_tokens"]) == 8
    assert all(len(column) == 3 for column in data["setup"]["demand"].values())
    assert data["events"][0].startswith("restock:")
    assert sum(event.startswith("restock:") for event in data["events"]) == 3
    assert data["result"]["winners"] == sorted(data["result"]["winners"])
    assert len(data["result"]["final"]) == 3


@each_count
def test_records_of_any_variant_on_any_board_come_back_the_same(n):
    rng = random.Random(n)
    for _ in range(3 if SLOW else 15):
        game = random_game(rng, n)
        record = play_record(game, rng.randrange(2**64), rng)
        text = json.dumps(record.to_dict(), allow_nan=False)
        read = Record.from_dict(json.loads(text))
        assert read == record
        assert read.game == game
        assert json.dumps(read.to_dict()) == text
        states = read.verify()
        assert game.is_terminal(states)[0]
        assert states["seed"] == record.seed
        assert isinstance(json.loads(text)["board"], str if game.board == Board.load() else dict)


def test_a_board_that_only_bears_the_packaged_name_is_written_out():
    data = random_board(3).to_dict() | {"name": Board.load().name}
    game = Game(Rules(2, **SHORT), Board.from_dict(data))
    written = play_record(game, 1, random.Random(1)).to_dict()
    assert written["board"] == data
    assert Record.from_dict(json.loads(json.dumps(written))).game == game
    verify(written)


def test_a_record_without_a_seed_replays_too():
    data = play_record(official(4), 2**64 - 1, random.Random(3)).to_dict()
    assert verify(data)["seed"] == 2**64 - 1
    assert verify(data | {"seed": None}).tobytes()[8:] == verify(data).tobytes()[8:]


@each_count
def test_the_record_of_a_game_under_way_has_no_result(n):
    for steps in (0, 1, 5, 20, 33):
        record = play_record(official(n), n, random.Random(5), steps)
        assert record.result is None
        again = Record.from_dict(json.loads(json.dumps(record.to_dict())))
        assert again == record
        assert not record.game.is_terminal(again.verify())[0]
        assert len([event for event in record.events if not event.startswith("restock:")]) == steps


def test_a_faulty_game_has_its_fault_and_no_result():
    fault = {"seat": 1, "action": "move:Z", "reason": "no such action"}
    data = events(*BASE["events"][:3], fault=fault)
    record = Record.from_dict(data)
    assert record.fault == fault
    assert record.to_dict() == data
    record.verify()


def test_replay_tells_the_state_after_every_event():
    record = golden_record(3)
    seen = list(record.replay())
    assert [number for number, _ in seen] == list(range(len(record.events)))
    game, states = record.game, record.game.new_states([record.seed])
    for (number, found), event in zip(seen, record.events, strict=True):
        if not event.startswith("restock:"):
            game.step(states, [game.action_index(event.split(" ")[1])])
        assert found.tobytes() == states.tobytes(), number
    assert seen[-1][1].tobytes() == record.verify().tobytes()


def test_replayed_states_are_copies():
    kept = []
    for _, states in Record.from_dict(BASE).replay():
        kept.append(states.tobytes())
        states["rupees"] = 99
    assert kept == [states.tobytes() for _, states in Record.from_dict(BASE).replay()]


def test_a_record_shares_nothing_with_what_it_was_read_from_or_is_written_to():
    data = copy.deepcopy(BASE)
    record = Record.from_dict(data)
    for spoilt in (data, record.to_dict()):
        spoilt["setup"]["posts"].clear()
        spoilt["setup"]["demand"]["Bombay"].clear()
        spoilt["events"].clear()
        spoilt["agents"].clear()
        spoilt["rules"]["bales"].clear()
        assert record.to_dict()["setup"] == BASE["setup"]
        record.verify()


# --- files ---


def test_files_are_written_and_read_line_by_line(tmp_path):
    records = [play_record(official(n), n, random.Random(n), 9) for n in (2, 3, 4, 5)] + [Record.from_dict(BASE)]
    file = tmp_path / "games.jsonl"
    assert write_records(file, iter(records)) == 5
    assert list(read_records(file)) == records
    assert list(read_records(str(file))) == records
    assert len(file.read_bytes().splitlines()) == 5
    assert write_records(str(file), records[:2]) == 2
    assert list(read_records(file)) == records[:2]
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]


def test_an_empty_file_has_no_records(tmp_path):
    assert write_records(tmp_path / "none.jsonl", []) == 0
    assert list(read_records(tmp_path / "none.jsonl")) == []


def test_empty_lines_and_other_line_ends_are_passed_over(tmp_path):
    line = json.dumps(BASE)
    file = tmp_path / "games.jsonl"
    file.write_bytes(f"\n{line}\r\n   \n\n{line}".encode())
    assert list(read_records(file)) == [Record.from_dict(BASE)] * 2


@pytest.mark.parametrize("name", ["Ångström", "बम्बई", "a\nb", 'quo"te', "line\u2028end", "next\x85line", "", "🐘"])
def test_any_name_survives_a_file(tmp_path, name):
    record = Record.from_dict(BASE | {"agents": [name, "\t"]})
    write_records(tmp_path / "names.jsonl", [record, record])
    assert list(read_records(tmp_path / "names.jsonl")) == [record, record]


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    file = tmp_path / "games.jsonl"
    write_records(file, [Record.from_dict(BASE)])
    before = file.read_bytes()

    def breaks():
        yield Record.from_dict(BASE)
        raise KeyError("half way")

    with pytest.raises(KeyError):
        write_records(file, breaks())
    with pytest.raises(ValueError, match="surrogates"):
        write_records(file, [Record.from_dict(BASE | {"agents": ["\ud800", ""]})])
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]
    with pytest.raises(OSError, match="missing"):
        write_records(tmp_path / "missing" / "games.jsonl", [])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", ("UTF-8",)),
        (b"{", ("line 1", "JSON")),
        (b"nonsense", ("line 1", "JSON")),
        (b"[1, 2]", ("line 1", "object")),
        (b"null", ("line 1", "object")),
        (b"7", ("line 1", "object")),
        (b"\xef\xbb\xbf{}", ("line 1", "JSON")),  # a byte order mark
        (b"{}", ("line 1", "format")),
        (b"[" * 100_000, ("line 1", "JSON")),
        (b'{"seed":' * 100_000, ("line 1", "JSON")),
        (b'{"seed": ' + b"9" * 5000 + b"}", ("line 1", "JSON")),
        (b"\n\n{", ("line 3", "JSON")),
        (json.dumps(BASE).encode() + b"\n{", ("line 2", "JSON")),
        (json.dumps(BASE).encode() + b" {}", ("line 1", "JSON")),
        (json.dumps(BASE | {"seed": -1}).encode(), ("line 1", "seed", "-1")),
        (json.dumps(BASE | {"seed": float("nan")}).encode(), ("line 1", "seed", "nan")),
        (json.dumps(BASE | {"players": 3}).encode(), ("line 1", "players", "3")),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_broken_file_is_refused_with_its_name_and_line(tmp_path, content, words):
    file = tmp_path / "games.jsonl"
    file.write_bytes(content)
    refusal(lambda: list(read_records(file)), str(file), *words)


def test_records_before_a_broken_line_are_read(tmp_path):
    file = tmp_path / "games.jsonl"
    file.write_bytes(json.dumps(BASE).encode() + b"\n\xff\n")
    found = []
    refusal(lambda: found.extend(read_records(file)), str(file))
    file.write_text(json.dumps(BASE) + "\n{}", encoding="utf-8")
    records = read_records(file)
    assert next(records) == Record.from_dict(BASE)
    refusal(lambda: next(records), "line 2")


def test_what_is_no_readable_file_is_refused(tmp_path):
    refusal(lambda: list(read_records(tmp_path / "none.jsonl")), "none.jsonl", "cannot be read", "No such file")
    refusal(lambda: list(read_records(tmp_path)), str(tmp_path), "cannot be read", "directory")
    with pytest.raises(ValueError, match="null"):
        list(read_records("a\0b"))


# --- refused by its form ---

FAULT = {"seat": 0, "action": "buy", "reason": "no"}
WRONG_FORMS = {
    "no object": ([], ("object", "list")),
    "null": (None, ("object", "NoneType")),
    "text": (json.dumps(BASE), ("object", "str")),
    "empty": ({}, ("format", "None")),
    "no format": (less("format"), ("format",)),
    "other format": (changed("format", to="bombay-record/2"), ("format", "bombay-record/2", "bombay-record/1")),
    "format a list": (changed("format", to=["bombay-record/1"]), ("format",)),
    **{f"no {key}": (less(key), ("lacks", key)) for key in BASE if key != "format"},
    "unknown key": (BASE | {"date": "today"}, ("unknown key", "date")),
    "unknown key of two lines": (BASE | {"a\nb": 1}, ("unknown key",)),
    "key that is no text": (BASE | {3: 1}, ("unknown key", "3")),
    "players mismatch": (changed("players", to=3), ("players", "3", "2")),
    "players text": (changed("players", to="2"), ("players", "'2'")),
    "players true": (changed("players", to=True), ("players", "True")),
    "players null": (changed("players", to=None), ("players", "None")),
    "players nan": (changed("players", to=float("nan")), ("players", "nan")),
    "players huge": (changed("players", to=10**400), ("players",)),
    "board unknown": (changed("board", to="atlantis"), ("board", "atlantis", "reconstruction")),
    "board number": (changed("board", to=3), ("board", "int")),
    "board null": (changed("board", to=None), ("board", "NoneType")),
    "board empty": (changed("board", to={}), ("board", "name")),
    "board invalid": (changed("board", to=Board.load().to_dict() | {"trails": []}), ("board", "reached")),
    "board nan": (
        changed("board", "sites", 0, "x", to=float("nan"), base=BASE | {"board": Board.load().to_dict()}),
        ("board", "x", "finite"),
    ),
    "board huge": (
        changed("board", "sites", 0, "x", to=10**400, base=BASE | {"board": Board.load().to_dict()}),
        ("board", "x", "finite"),
    ),
    "rules null": (changed("rules", to=None), ("rules", "exactly the fields")),
    "rules list": (changed("rules", to=[]), ("rules", "exactly the fields")),
    "rules field missing": (less("rules", "toll"), ("rules", "exactly the fields", "toll")),
    "rules field unknown": (changed("rules", "camels", to=3), ("rules", "exactly the fields")),
    "rules field wrong": (changed("rules", "toll", to=-1), ("toll", "-1")),
    "rules field null": (changed("rules", "toll", to=None), ("toll", "None")),
    "rules field nan": (changed("rules", "toll", to=float("nan")), ("toll", "nan")),
    "rules field huge": (changed("rules", "toll", to=10**400), ("toll",)),
    "rules for others": (changed("rules", "num_players", to=3), ("starting_rupees",)),
    "rules field short": (changed("rules", "bales", to=[3, 4]), ("bales",)),
    "seed negative": (changed("seed", to=-1), ("seed", "-1")),
    "seed too large": (changed("seed", to=2**64), ("seed", str(2**64))),
    "seed a float": (changed("seed", to=7.0), ("seed", "7.0")),
    "seed true": (changed("seed", to=True), ("seed", "True")),
    "seed text": (changed("seed", to="7"), ("seed", "'7'")),
    "seed list": (changed("seed", to=[7]), ("seed", "[7]")),
    "agents too few": (changed("agents", to=["me"]), ("agents", "2")),
    "agents too many": (changed("agents", to=["a", "b", "c"]), ("agents", "2")),
    "agents text": (changed("agents", to="ab"), ("agents", "'ab'")),
    "agents numbers": (changed("agents", to=[1, 2]), ("agents", "[1, 2]")),
    "agents null": (changed("agents", to=None), ("agents", "None")),
    "setup null": (changed("setup", to=None), ("setup", "demand")),
    "setup part missing": (less("setup", "posts"), ("setup", "posts")),
    "setup part unknown": (changed("setup", "weather", to={}), ("setup",)),
    "setup part a list": (changed("setup", "posts", to=[]), ("setup posts", "[]")),
    "setup part of lists": (changed("setup", "posts", "E1", to=["yellow"]), ("setup posts", "token")),
    "setup part of words": (changed("setup", "demand", "Bombay", to="blue"), ("setup demand", "colours")),
    "setup part of numbers": (changed("setup", "demand", "Bombay", to=[1, 2, 3]), ("setup demand", "colours")),
    "setup part null": (changed("setup", "palace_tokens", "G1", to=None), ("setup palace_tokens", "token")),
    "events null": (changed("events", to=None), ("events", "list")),
    "events text": (changed("events", to="0 buy"), ("events", "list")),
    "events object": (changed("events", to={}), ("events", "list")),
    "events number": (changed("events", 1, to=7), ("events", "strings")),
    "events null inside": (changed("events", 1, to=None), ("events", "strings")),
    "result list": (changed("result", to=[]), ("result", "object")),
    "result false": (changed("result", to=False), ("result", "object")),
    "fault text": (BASE | {"fault": "crash"}, ("fault", "'crash'")),
    "fault empty": (BASE | {"fault": {}}, ("fault", "seat")),
    "fault short": (BASE | {"fault": {"seat": 0, "action": "buy"}}, ("fault", "reason")),
    "fault long": (BASE | {"fault": FAULT | {"when": 3}}, ("fault", "reason")),
    "fault seat": (BASE | {"fault": FAULT | {"seat": 2}}, ("fault", "seat")),
    "fault seat negative": (BASE | {"fault": FAULT | {"seat": -1}}, ("fault", "seat")),
    "fault seat text": (BASE | {"fault": FAULT | {"seat": "0"}}, ("fault", "seat")),
    "fault seat true": (BASE | {"fault": FAULT | {"seat": True}}, ("fault", "seat")),
    "fault seat list": (BASE | {"fault": FAULT | {"seat": [0]}}, ("fault", "seat")),
    "fault action": (BASE | {"fault": FAULT | {"action": 3}}, ("fault", "action")),
    "fault reason": (BASE | {"fault": FAULT | {"reason": None}}, ("fault", "reason")),
}


@pytest.mark.parametrize("kind", WRONG_FORMS)
def test_a_record_of_the_wrong_form_is_refused(kind):
    data, words = WRONG_FORMS[kind]
    refusal(lambda: Record.from_dict(data), *words)


@pytest.mark.parametrize("key", [*BASE, "fault"])
@pytest.mark.parametrize("depth", [50, 900])
def test_deep_nesting_is_refused_wherever_it_stands(key, depth):
    refusal(lambda: Record.from_dict(BASE | {key: nested(depth)}))
    refusal(lambda: verify(BASE | {key: {"seat": nested(depth)}}))


@pytest.mark.parametrize(
    "path", [("rules", "bales"), ("setup", "demand", "Bombay"), ("result", "final"), ("events", 1)]
)
def test_deep_nesting_further_in_is_refused_too(path):
    refusal(lambda: verify(changed(*path, to=nested(900))))


def test_a_huge_value_is_not_repeated_in_the_message():
    for key in ("format", "players", "board", "seed", "agents", "result", "fault"):
        refusal(lambda key=key: Record.from_dict(BASE | {key: ["x" * 10**5] * 100}))


# --- refused by the rules ---

WRONG_GAMES = {
    "no events": (events(), ("event 0", "restock")),
    "no first restock": (events("0 move:E1"), ("event 0", "restock")),
    "first restock too small": (events("restock:1,2,3,2"), ("event 0", "9 bales")),
    "first restock too large": (events("restock:4,0,2,3"), ("event 0", "[3, 4, 5, 5]")),
    "restock of three": (events("restock:3,3,3"), ("event 0", "4 whole numbers")),
    "restock of five": (events("restock:1,2,3,3,0"), ("event 0", "4 whole numbers")),
    "restock empty": (events("restock:"), ("event 0", "4 whole numbers")),
    "restock negative": (events("restock:-1,3,4,3"), ("event 0", "4 whole numbers")),
    "restock fraction": (events("restock:1.0,2,3,3"), ("event 0", "4 whole numbers")),
    "restock spaced": (events("restock: 1,2,3,3"), ("event 0", "4 whole numbers")),
    "restock superscript": (events("restock:¹,2,3,3"), ("event 0", "4 whole numbers")),
    "restock of other digits": (events("restock:١,2,3,3"), ("event 0", "4 whole numbers")),
    "restock huge": (events("restock:" + "9" * 5000 + ",2,3,3"), ("event 0", "4 whole numbers")),
    "restock signed": (events("restock:+1,2,3,3"), ("event 0", "4 whole numbers")),
    "two restocks": (events("restock:1,2,3,3", "restock:1,2,3,3"), ("event 1", "no restock is due")),
    "restock too soon": (events("restock:1,2,3,3", "0 end_turn", "restock:1,2,3,3"), ("event 2", "no restock is due")),
    "restock missing": (events(*BASE["events"][:4], "1 end_turn"), ("event 3", "1 consolidate", "restock must follow")),
    "restock missing at the end": (events(*BASE["events"][:4]), ("event 3", "restock must follow")),
    "restock of a bale in a basket": (changed("events", 4, to="restock:3,2,2,2"), ("event 4", "[2, 4, 5, 5]")),
    "restock too large later": (changed("events", 4, to="restock:2,2,2,4"), ("event 4", "9 bales")),
    "restock malformed later": (changed("events", 4, to="restock:2,2,2"), ("event 4", "4 whole numbers")),
    "wrong seat": (changed("events", 1, to="1 move:E1"), ("event 1", "seat 0's turn")),
    "no seat": (changed("events", 1, to="move:E1"), ("event 1", "seat 0's turn")),
    "seat unknown": (changed("events", 1, to="7 move:E1"), ("event 1", "seat 0's turn")),
    "seat with zeros": (changed("events", 1, to="00 move:E1"), ("event 1", "seat 0's turn")),
    "seat of other digits": (changed("events", 1, to="٠ move:E1"), ("event 1", "seat 0's turn")),
    "blank before": (changed("events", 1, to=" 0 move:E1"), ("event 1", "seat 0's turn")),
    "empty event": (changed("events", 1, to=""), ("event 1", "seat 0's turn")),
    "seat alone": (changed("events", 1, to="0"), ("event 1", "no action")),
    "two blanks": (changed("events", 1, to="0  move:E1"), ("event 1", "no action")),
    "blank after": (changed("events", 1, to="0 move:E1 "), ("event 1", "no action")),
    "number for a name": (changed("events", 1, to="0 3"), ("event 1", "no action")),
    "unknown action": (changed("events", 1, to="0 dance"), ("event 1", "no action", "dance")),
    "unknown site": (changed("events", 1, to="0 move:Delhi"), ("event 1", "no action", "Delhi")),
    "upper case": (changed("events", 2, to="0 BUY"), ("event 2", "no action")),
    "line break": (changed("events", 2, to="0 buy\n"), ("event 2", "no action")),
    "illegal move": (changed("events", 1, to="0 move:F1"), ("event 1", "illegal", "move:E1")),
    "illegal sale": (changed("events", 2, to="0 sell:yellow"), ("event 2", "illegal")),
    "illegal action that would end the set": (changed("events", 3, to="1 buy"), ("event 3", "illegal")),
    "illegal in the last turn": (changed("events", 6, to="0 take:blue"), ("event 6", "illegal")),
    "event after the end": (BASE | {"events": [*BASE["events"], "1 end_turn"]}, ("event 7", "over")),
    "restock after the end": (
        BASE | {"events": [*BASE["events"], "restock:1,2,3,3"]},
        ("event 7", "no restock is due"),
    ),
    "two events after the end": (BASE | {"events": [*BASE["events"], "0 x", "0 y"]}, ("event 7", "over")),
    "result while running": (BASE | {"events": BASE["events"][:-1]}, ("event 5", "not over", "null")),
    "result null once over": (changed("result", to=None), ("over", "result")),
    "fault of a whole game": (BASE | {"fault": FAULT}, ("fault", "end")),
    "fault and result": (BASE | {"fault": FAULT, "events": BASE["events"][:3]}, ("event 2", "result must be null")),
    "setup with a column twice": (
        changed("setup", "demand", "Bombay", to=["purple", "orange", "yellow"]),
        ("setup", "demand", "arrangement"),
    ),
    "setup with an unknown city": (changed("setup", "demand", "Delhi", to=["blue"] * 3), ("setup", "demand", "Delhi")),
    "setup with a post off its site": (changed("setup", "posts", "G1", to="blue"), ("setup", "posts", "G1")),
    "setup with an outer post": (changed("setup", "posts", "F1", to="blue"), ("setup", "posts", "F1")),
    "setup with a colour twice": (changed("setup", "posts", "E1", to="blue"), ("setup", "posts", "blue")),
    "setup without a post": (less("setup", "posts", "E1"), ("setup", "posts", "E1")),
    "setup with three of a kind": (changed("setup", "palace_tokens", "G1", to="bale"), ("setup", "palace_tokens")),
    "setup with an unknown kind": (changed("setup", "palace_tokens", "G1", to="camel"), ("setup", "palace_tokens")),
    "setup without tokens": (changed("setup", "palace_tokens", to={}), ("setup", "palace_tokens", "G1")),
    "setup that looks like a column": (
        changed("setup", "demand", "Bombay", to=["blue', 'purple", "orange"]),
        ("setup", "demand"),
    ),
}


@pytest.mark.parametrize("kind", WRONG_GAMES)
def test_a_record_that_does_not_follow_the_rules_is_refused(kind):
    data, words = WRONG_GAMES[kind]
    record = Record.from_dict(data)  # its form is right
    refusal(record.verify, *words)
    refusal(Record.from_dict(json.loads(json.dumps(data))).verify, *words)


@pytest.mark.parametrize("key", BASE["result"])
@pytest.mark.parametrize(
    "value",
    [[7, 7], [], [0], [0, 0, 0], None, "0", {}, [None, 0], [True, False], ["0", "3"], [[0], [3]], [float("nan")] * 2,
     [10**400, 0], [float("inf"), 0], [-1, -1], [0.5, 2.5]],
    ids=lambda value: repr(value)[:20],
)  # fmt: skip
def test_a_result_that_is_not_the_games_is_refused(key, value):
    refusal(
        lambda: verify(changed("result", key, to=value)), f"result {key}", f"{BASE['result'][key]}".split(",")[0][1]
    )


@pytest.mark.parametrize("key", BASE["result"])
def test_a_result_with_a_field_too_few_or_too_many_is_refused(key):
    refusal(lambda: verify(less("result", key)), "result", key)
    refusal(lambda: verify(changed("result", f"{key}s", to=[0, 0])), "result")


def test_win_shares_may_be_rounded_but_not_wrong():
    """Three players share a win: 1/3 each, as any program may write it."""
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


# --- broken at random ---

TEXTS = [
    "",
    "restock:1,2,3,3",
    "restock:",
    "0 buy",
    "1 end_turn",
    "0 end_turn",
    "blue",
    "E1",
    "G1",
    "seat",
    "fault",
    "null",
]


def sample_records():
    """Records to break: by hand, over, under way, faulty, and on a board of their own."""
    game = Game(Rules(3, **SHORT), random_board(1))
    rng = random.Random(2)
    own = play_record(game, 5, rng).to_dict()
    return [BASE, play_record(GAME, 9, rng).to_dict(), play_record(official(4), 3, rng, 8).to_dict(), own, events(
        *BASE["events"][:3], fault=FAULT
    )]  # fmt: skip


SAMPLES = [json.loads(json.dumps(data)) for data in sample_records()]


def check_broken(data):
    """Whatever was done to a record: it is refused with one line, or it is one that can be written and read again."""
    record = refused = None
    try:
        record = Record.from_dict(data)
        record.verify()
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        assert refused
        assert "\n" not in refused
        return
    assert Record.from_dict(record.to_dict()) == record


@settings(max_examples=60 if SLOW else 500, deadline=None)
@given(st.data())
def test_a_record_broken_anywhere_is_refused_or_still_a_record(data):
    check_broken(mutated(data, data.draw(st.sampled_from(SAMPLES)), TEXTS))


@settings(max_examples=60 if SLOW else 300, deadline=None)
@given(st.data())
def test_events_broken_anywhere_are_refused_or_still_a_game(data):
    """Here only the events are at stake, which a change anywhere seldom reaches."""
    sample = data.draw(st.sampled_from(SAMPLES))
    check_broken(sample | {"events": mutated(data, sample["events"], TEXTS), "result": None})


@settings(max_examples=60 if SLOW else 300, deadline=None)
@given(st.data(), st.integers(0, 10**4), st.binary(max_size=4))
def test_a_file_broken_anywhere_is_refused_or_still_has_records(tmp_path_factory, data, place, scrap):
    text = json.dumps(data.draw(st.sampled_from(SAMPLES))).encode()
    place %= len(text)
    file = tmp_path_factory.mktemp("broken", numbered=True) / "games.jsonl"
    file.write_bytes(text[:place] + scrap + text[place + data.draw(st.integers(0, 3)) :])
    try:
        records = list(read_records(file))
    except RecordError:
        return
    for record in records:
        check_broken(record.to_dict())


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for count in (2, 3, 4, 5):
        write_records(golden_file(count), [golden_record(count)])
