"""Game records (RULES 8): golden games, what a record contains, replays and files.

`golden/players_<n>.jsonl` each contain one official game, played by `golden_record`. A difference means that the rules or the
random numbers changed; review it like code. `PYTHONPATH=tests python tests/env/test_record.py` writes them again.
"""

import copy
import dataclasses
import json
import random

import pytest

from bombay_env import Board, Game
from bombay_env.record import MAX_EVENTS, MAX_LINE_BYTES, Record, read_records, result_to_dict, write_records
from helpers.position import COLOURS, each_count, official
from helpers.records import BASE, GAME, events, golden_file, golden_record, play_record, refusal, verify
from helpers.variants import random_board, random_game

# --- the golden records ---


@each_count
def test_golden_games_replay_to_their_results(n):
    (record,) = read_records(golden_file(n))
    assert golden_record(n) == record, "it follows from its seed"
    states = record.verify()
    assert record.game == official(n)
    assert result_to_dict(record.game.results(states)[0]) == record.result
    assert json.dumps(record.to_dict(), ensure_ascii=False) + "\n" == golden_file(n).read_text(encoding="utf-8")


def test_golden_games_contain_every_kind_of_action():
    names = [
        event.split()[-1] for n in (2, 3, 4, 5) for record in read_records(golden_file(n)) for event in record.events
    ]
    kinds = {name.split(":")[0] for name in names}
    assert kinds == {"restock", "move", "buy", "sell", "build", "take", "consolidate", "end_turn"}
    assert {name for name in names if name.startswith("sell:")} == {f"sell:{colour}" for colour in COLOURS}


# --- contents and replays ---


@each_count
def test_a_seed_that_deals_another_game_is_refused(n):
    """A program that knows only doubles rounds large seeds."""
    record = play_record(official(n), 2**60 + 1, random.Random(1))
    record.verify()
    verify(record.to_dict() | {"seed": None})
    message = refusal(lambda: verify(record.to_dict() | {"seed": 2**60}))
    assert message == f"seed is {2**60}, which deals another game; it must be null where chance was given"


def test_a_restock_that_the_seed_does_not_draw_is_refused():
    events = play_record(official(2), 7, random.Random(1)).events
    number = max(number for number, event in enumerate(events) if event.startswith("restock"))
    for seed in range(8, 30):  # the first restock of another seed that is possible here
        (other,) = play_record(official(2), seed, random.Random(1), 0).events
        data = play_record(official(2), 7, random.Random(1)).to_dict() | {
            "events": [*events[:number], other, *events[number + 1 :]]
        }
        if other != events[number] and "seed 7 draws" in (message := refusal(lambda data=data: verify(data))):
            assert events[number] in message
            return
    raise AssertionError("no other restock was possible")


def test_a_record_has_the_keys_of_rules_8_in_order():
    data = play_record(official(3), 7, random.Random(1)).to_dict()
    assert list(data) == ["format", "players", "board", "rules", "seed", "agents", "setup", "events", "result"]
    assert list(data["setup"]) == ["demand", "posts", "palace_tokens"]
    assert list(data["result"]) == list(BASE["result"])
    assert (data["format"], data["players"], data["board"], data["seed"]) == ("bombay-record/1", 3, "reconstruction", 7)
    assert data["rules"] == official(3).rules.to_dict()
    assert set(data["setup"]["posts"]) == {"E1", "E2", "E3", "E4"}  # only the sites that have a post
    assert len(data["setup"]["palace_tokens"]) == 8
    assert all(len(column) == 3 for column in data["setup"]["demand"].values())
    assert data["events"][0].startswith("restock:")
    assert sum(event.startswith("restock:") for event in data["events"]) == 3
    assert data["result"]["winners"] == sorted(data["result"]["winners"])
    assert len(data["result"]["final"]) == 3


@each_count
def test_records_of_any_variant_and_board_round_trip(n):
    rng = random.Random(n)
    for _ in range(5):
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


def test_a_different_board_with_the_packaged_name_is_written_in_full():
    data = random_board(3).to_dict() | {"name": Board.load().name}
    game = Game(GAME.rules, Board.from_dict(data))
    written = play_record(game, 1, random.Random(1)).to_dict()
    assert written["board"] == data
    assert Record.from_dict(json.loads(json.dumps(written))).game == game
    verify(written)


def test_a_record_without_a_seed_can_be_replayed():
    data = play_record(official(4), 2**64 - 1, random.Random(3)).to_dict()
    assert verify(data)["seed"] == 2**64 - 1
    assert verify(data | {"seed": None}).tobytes()[8:] == verify(data).tobytes()[8:]


@each_count
def test_the_record_of_a_running_game_has_no_result(n):
    for steps in (0, 1, 5, 20, 33):
        record = play_record(official(n), n, random.Random(5), steps)
        assert record.result is None
        again = Record.from_dict(json.loads(json.dumps(record.to_dict())))
        assert again == record
        assert not record.game.is_terminal(again.verify())[0]
        assert len([event for event in record.events if not event.startswith("restock:")]) == steps


def test_a_game_that_ended_by_a_fault_has_no_result():
    fault = {"seat": 1, "action": "move:Z", "reason": "no such action"}
    data = events(*BASE["events"][:3], fault=fault)
    record = Record.from_dict(data)
    assert (record.fault, record.to_dict()) == (fault, data)
    record.verify()
    assert Record.from_dict(BASE).game == GAME


def test_replay_yields_the_state_after_every_event():
    record = golden_record(3)
    seen = list(record.replay())
    assert [number for number, _ in seen] == list(range(len(record.events)))
    game, states = record.game, record.game.new_states([record.seed])
    for (number, found), event in zip(seen, record.events, strict=True):
        if not event.startswith("restock:"):
            game.step(states, [game.action_index(event.split(" ")[1])])
        assert found.tobytes() == states.tobytes(), number
    assert seen[-1][1].tobytes() == record.verify().tobytes()


def test_replayed_states_and_dict_forms_are_copies():
    data = copy.deepcopy(BASE)
    record = Record.from_dict(data)
    kept = []
    for _, states in record.replay():
        kept.append(states.tobytes())
        states["rupees"] = 99
    assert kept == [states.tobytes() for _, states in record.replay()]
    for spoilt in (data, record.to_dict()):
        spoilt["setup"]["demand"]["Bombay"].clear()
        spoilt["events"].clear()
        spoilt["agents"].clear()
        spoilt["rules"]["bales"].clear()
        assert record.to_dict() == BASE


# --- files ---


def test_files_are_written_and_read_line_by_line(tmp_path):
    records = [play_record(official(n), n, random.Random(n), 9) for n in (2, 3, 4, 5)] + [Record.from_dict(BASE)]
    file = tmp_path / "games.jsonl"
    for path, some in ((file, records), (str(file), records[:2]), (file, [])):
        assert write_records(path, iter(some)) == len(some) == len(file.read_bytes().splitlines())
        assert list(read_records(path)) == some
    line = json.dumps(BASE)
    file.write_bytes(f"\n{line}\r\n   \n\n{line}".encode())
    assert list(read_records(file)) == [Record.from_dict(BASE)] * 2


@pytest.mark.parametrize("name", ["बम्बई", "a\nb", 'quo"te', "line\u2028end", "", "🐘"])
def test_any_agent_name_can_be_written_and_read(tmp_path, name):
    record = Record.from_dict(BASE | {"agents": [name, "\t"]})
    write_records(tmp_path / "names.jsonl", [record, record])
    assert list(read_records(tmp_path / "names.jsonl")) == [record, record]


def test_records_that_fail_leave_the_old_file(tmp_path):
    file = tmp_path / "games.jsonl"
    write_records(file, [Record.from_dict(BASE)])
    before = file.read_bytes()
    with pytest.raises(ValueError, match="surrogates"):
        write_records(file, [dataclasses.replace(Record.from_dict(BASE), agents=("\ud800", ""))])
    assert file.read_bytes() == before
    with pytest.raises(OSError, match="missing"):
        write_records(tmp_path / "missing" / "games.jsonl", [])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe\x00", ("line 1", "JSON")),
        (b"[1, 2]", ("line 1", "object")),
        (b"\xef\xbb\xbf{}", ("line 1", "format is missing")),  # a byte order mark is skipped
        (b'{"seed":' * 100_000, ("line 1", "JSON")),
        (b"\n\n{", ("line 3", "JSON")),
        (json.dumps(BASE).encode() + b"\n{", ("line 2", "JSON")),
        (json.dumps(BASE).encode() + b" {}", ("line 1", "JSON")),
        (json.dumps(BASE | {"seed": -1}).encode(), ("line 1", "seed", "-1")),
        (json.dumps(BASE).encode() + b" " * MAX_LINE_BYTES + b"\n", ("line 1", "longer than the 1,048,576 bytes")),
        (json.dumps(BASE | {"events": ["0 buy"] * (MAX_EVENTS + 1)}).encode(), ("line 1", "20001", "at most 20000")),
        (json.dumps(BASE | {"z" * 9999: 1, "y" * 9999: 2}).encode(), ("line 1", "unknown key")),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_message_names_the_file_and_the_line(tmp_path, content, words):
    file = tmp_path / "games.jsonl"
    file.write_bytes(content)
    refusal(lambda: list(read_records(file)), str(file), *words)


def test_records_before_a_malformed_line_are_read(tmp_path):
    file = tmp_path / "games.jsonl"
    file.write_bytes(json.dumps(BASE).encode() + b"\n\xff\n")
    records = read_records(file)
    assert next(records) == Record.from_dict(BASE)
    refusal(lambda: next(records), "line 2")


def test_an_unreadable_file_is_rejected(tmp_path):
    refusal(lambda: list(read_records(tmp_path / "none.jsonl")), "none.jsonl", "cannot be read", "No such file")
    refusal(lambda: list(read_records(tmp_path)), str(tmp_path), "cannot be read", "directory")
    with pytest.raises(ValueError, match="null"):
        list(read_records("a\0b"))


if __name__ == "__main__":
    for count in (2, 3, 4, 5):
        write_records(golden_file(count), [golden_record(count)])
