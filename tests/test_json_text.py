"""Strict JSON: what is read, what is refused, that reading takes little time and memory; and the forms of values."""

import json
import time
import tracemalloc

import pytest

from bombay_env.files import json_form, json_text
from helpers.refusal import refusal

LIMIT = 1 << 20


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -7,
        2**64 - 1,
        0.1,
        1 / 3,
        -5e-324,
        1.7976931348623157e308,
        "",
        "बम्बई 🐘",
        [],
        {},
        [[1, {"a": [None]}]],
    ],
    ids=repr,
)
def test_values_are_read_as_they_were_written(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False), f" {json.dumps(value)}\r\n"):
        for given in (text, text.encode()):
            found = json_text.parse(given, LIMIT)
            assert found == value
            assert type(found) is type(value)


def nested(depth):
    return b"[" * depth + b"]" * depth


REFUSED = {
    "nothing": (b"", "not JSON: Expecting value"),
    "text": (b"nonsense", "not JSON"),
    "two values": (b"{} {}", "not JSON: Extra data"),
    "a comma too many": (b"[1,]", "not JSON"),
    "no UTF-8": (b'"\xff"', "not UTF-8"),
    "UTF-16": ("{}".encode("utf-16"), "not UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "not JSON"),
    "NaN": (b'{"a": NaN}', "NaN"),
    "infinity": (b"[-Infinity]", "-Infinity"),
    "a float beyond the range": (b"1e999", "1e999 is too large"),
    "a key twice": (b'{"a": 1, "b": 2, "a": 1}', "the key 'a' twice"),
    "a key twice, spelled differently": (b'[{"a": 1, "\\u0061": 2}]', "the key 'a' twice"),
    "a long key twice": (b'{"%s": 1, "%s": 2}' % (b"a" * 9999, b"a" * 9999), "twice"),
    "an integer of many digits": (b"[%s]" % (b"9" * 31), "more than 30 characters"),
    "an integer of very many digits": (b"9" * 100_000, "more than 30 characters"),
    "a float of many digits": (b"0.%s" % (b"3" * 400), "more than 30 characters"),
    "deep nesting": (nested(json_text.MAX_DEPTH + 1), "inside each other"),
    "very deep nesting": (b'{"a":' * 200_000, "inside each other"),
    "half of a surrogate pair": (b'["\\ud83d"]', "surrogate"),
    "half of a surrogate pair in a key": (b'{"\\uDC18": 0}', "surrogate"),
    "a long text": (b" " * LIMIT + b"1", "longer than the 1,048,576 bytes allowed"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_all_else_is_refused_in_one_line(what, tmp_path):
    text, words = REFUSED[what]
    message = refusal(lambda: json_text.parse(text, LIMIT), words)
    assert len(message) <= 200
    file = tmp_path / "file.json"
    file.write_bytes(text)
    refusal(lambda: json_text.read(file, LIMIT), str(file), words)


def test_as_much_as_is_allowed_is_read():
    assert json_text.parse(nested(json_text.MAX_DEPTH), LIMIT)
    assert json_text.parse(b" " * (LIMIT - 1) + b"1", LIMIT) == 1
    assert json_text.parse("9" * 30, LIMIT) == 10**30 - 1
    assert json_text.parse(b'"\\ud83d\\udc18 \\\\ud83d"', LIMIT) == "🐘 \\ud83d"


def test_a_file_is_read_whole(tmp_path):
    file = tmp_path / "file.json"
    file.write_bytes(b'{"a": [1]}\n')
    assert json_text.read(file, 11) == {"a": [1]}
    refusal(lambda: json_text.read(file, 10), str(file), "longer")
    refusal(lambda: json_text.read(tmp_path / "none", LIMIT), "none: cannot be read: No such file")
    refusal(lambda: json_text.read(tmp_path, LIMIT), "cannot be read: Is a directory")
    refusal(lambda: json_text.read("a\0b", LIMIT), "cannot be read", "null")
    refusal(lambda: json_text.read("a" * 300_000, LIMIT), "cannot be read: File name too long")


def test_of_a_large_file_no_more_than_the_limit_is_read():
    refusal(lambda: json_text.read("/dev/zero", LIMIT), "longer")  # it has no end
    number, line = next(json_text.lines("/dev/zero", LIMIT))
    assert number == 1
    refusal(lambda: json_text.parse(line, LIMIT), "longer")


def test_lines_are_numbered_and_blank_ones_left_out(tmp_path):
    file = tmp_path / "lines"
    file.write_bytes(b'\n1\r\n  \n"2"\n{"a": 3}')
    found = [(number, json_text.parse(line, 9)) for number, line in json_text.lines(file, 9)]
    assert found == [(2, 1), (4, "2"), (5, {"a": 3})]
    refusal(lambda: list(json_text.lines(tmp_path / "none", 9)), "none: cannot be read: No such file")


@pytest.mark.parametrize("more", [b"[2]  ", b"[2]    7", b"[2]" + b" " * 100_000 + b"7", b"[2]" + b"\r" * 9, b"     7"])
def test_a_line_that_is_too_long_is_not_taken_for_its_beginning(tmp_path, more):
    file = tmp_path / "lines"
    file.write_bytes(b"[1]\n" + more + b"\n[3]\n")
    numbers = [number for number, _ in json_text.lines(file, 4)]
    assert numbers == [1, 2, 3]
    assert list(json_text.valid_lines(file, 4)) == [[1], [3]]


def test_lines_that_are_not_valid_are_skipped(tmp_path):
    file = tmp_path / "lines"
    assert list(json_text.valid_lines(file, 99)) == []
    file.write_bytes(b'1\n\xff\n[\nNaN\n{"a": 1, "a": 2}\n' + b"[" * 50 + b"]" * 50 + b"\n2\n{")
    assert list(json_text.valid_lines(file, 99)) == [1, 2]


SIZE = 1 << 18
LARGE = {
    "lists": "[" + "[]," * (SIZE // 3) + "0]",
    "objects": "[" + "{}," * (SIZE // 3) + "0]",
    "small objects": "[" + '{"a":{}},' * (SIZE // 9) + "0]",
    "keys": "{" + ",".join(f'"{number:x}":0' for number in range(SIZE // 10)) + "}",
    "numbers": "[" + "1.5," * (SIZE // 4) + "0]",
    "text": '"' + "\\u0141" * (SIZE // 6) + '"',
}


@pytest.mark.parametrize("what", LARGE)
def test_reading_takes_little_time_and_some_30_bytes_for_each_byte(what):
    text = LARGE[what]
    start = time.process_time()
    json_text.parse(text, LIMIT)
    assert time.process_time() - start < 5  # it takes some 50 ms on an idle core
    tracemalloc.start()
    try:
        json_text.parse(text, LIMIT)
        assert tracemalloc.get_traced_memory()[1] < 40 * len(text)
    finally:
        tracemalloc.stop()


# --- forms ---

FORM = {
    "name": json_form.TEXT,
    "count": json_form.whole(1, 9),
    "share": json_form.optional(json_form.number(0, 1)),
    "pair": (json_form.whole(0), json_form.OBJECT),
    "rows": [{"x": json_form.number(-1e3, 1e3)}],
}
GOOD = {"name": "", "count": 9, "share": None, "pair": [0, {}], "rows": [{"x": 1, "y": None}, {"x": -0.5}], "more": 1}


def test_a_value_may_have_more_keys_than_its_form():
    json_form.check(GOOD, FORM, "it")
    assert json_form.has(GOOD | {"share": 0.5, "rows": []}, FORM)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "it.name is 3; it must be a text"),
        ({"count": 0}, "it.count is 0; it must be a whole number from 1 to 9"),
        ({"count": True}, "it.count is True; it must be a whole number from 1 to 9"),
        ({"count": 2.0}, "it.count is 2.0; it must be a whole number from 1 to 9"),
        ({"share": int("9" * 4300) * 10}, "it.share is a value of type int; it must be null or a number from 0 to 1"),
        ({"share": float("nan")}, "it.share is nan; it must be null or a number from 0 to 1"),
        ({"share": False}, "it.share is False; it must be null or a number from 0 to 1"),
        ({"pair": [0]}, "it.pair is [0]; it must be a list of 2 entries"),
        ({"pair": [0, []]}, "it.pair[1] is []; it must be an object"),
        ({"rows": {}}, "it.rows is {}; it must be a list"),
        ({"rows": [{"x": 1}, {"y": 1}]}, "it.rows[1] has no 'x'; it must have x"),
        ({"rows": [{"x": "y" * 999}]}, f"it.rows[0].x is '{'y' * 98}…; it must be a number from -1000 to 1000"),
    ],
)
def test_a_value_of_another_form_is_refused_by_its_place(change, message):
    assert refusal(lambda: json_form.check(GOOD | change, FORM, "it")) == message
    assert not json_form.has(GOOD | change, FORM)
    refusal(lambda: json_form.check([], FORM, "it"), "it is []; it must be an object with name, count")
