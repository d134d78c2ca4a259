"""Forms: what is read, what is refused and how that is said; and the user's own files of JSON."""

import dataclasses
import json
from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import Field

from bombay_env.files.forms import Form, allowed, check, check_fields, parse
from bombay_env.files.reading import read_json, read_jsonl
from helpers.refusal import refusal


class Part(Form):
    name: str
    share: float


class Whole(Form):
    count: Annotated[int, Field(ge=0, le=9)]
    parts: list[Part]
    note: str | None = None


GOOD = {"count": 3, "parts": [{"name": "a", "share": 1}], "note": None}
WRONG = [
    ([], "it is []; it must be an object"),
    ({"count": 3}, "it.parts is missing"),
    (GOOD | {"count": True}, "it.count is True; it must be a valid integer"),
    (GOOD | {"count": 10}, "it.count is 10; it must be less than or equal to 9"),
    (GOOD | {"more": 1}, "it.more is an unknown key"),
    (
        GOOD | {"parts": [GOOD["parts"][0], {"name": 1, "share": 0.5}]},
        "it.parts[1].name is 1; it must be a valid string",
    ),
    (GOOD | {"parts": [{"name": "a", "share": float("nan")}]}, "it.parts[0].share is nan; it must be a finite number"),
    (GOOD | {"x y": 1}, "it['x y'] is an unknown key"),
    (GOOD | {"\x1b[2J" + "z" * 9999: 1}, "it['\\x1b[2Jzzz"),
    (GOOD | {"note": ["y" * 9999] * 99}, "it.note is ['yyy"),
]
TEXTS = [
    (b"nonsense", "it is not JSON: "),
    (b"{} {}", "it is not JSON: "),
    (b'"\xff"', "it is not JSON: "),
    (b"[" * 100_000, "it is not JSON: "),
    (b'{"count": 1e999}', "it.count is inf"),
    (b'{"count": %s}' % (b"9" * 400), "it.count is "),
    (b'{"note": "\\ud800"}', "it is not JSON: "),
    (b'{"count": NaN}', "it is not JSON: "),
]


def test_values_are_kept_as_they_are():
    for found in (check(Whole, GOOD, "it"), parse(Whole, json.dumps(GOOD), "it")):
        assert found.model_dump() == GOOD
    assert parse(dict[str, Any], b'{"a": [1, 1.5, true, null, "x"]}', "it") == {"a": [1, 1.5, True, None, "x"]}


@pytest.mark.parametrize(("value", "words"), WRONG, ids=[words[:50] for _, words in WRONG])
def test_other_values_are_refused_in_one_line(value, words):
    refusal(lambda: check(Whole, value, "it"), words)
    if " is nan" not in words:  # which is no JSON
        refusal(lambda: parse(Whole, json.dumps(value), "it"), words)


@pytest.mark.parametrize(("text", "words"), TEXTS, ids=range(len(TEXTS)))
def test_texts_that_are_no_json_are_refused_in_one_line(text, words):
    refusal(lambda: parse(Whole, text, "it"), words)


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: Annotated[float, Field(gt=0, le=1)] = 0.5
    sizes: Annotated[tuple[Annotated[int, Field(ge=1, le=9)], ...], Field(min_length=2, max_length=2)] = (1, 2)
    path: str | None = None

    def __post_init__(self):
        check_fields(self)


def test_fields_of_dataclasses_are_checked_and_made_plain(tmp_path):
    made = Settings(np.float32(0.25), [np.int64(3), 4], tmp_path)
    assert dataclasses.astuple(made) == (0.25, (3, 4), str(tmp_path))
    assert [allowed(field) for field in dataclasses.fields(Settings)] == [
        "above 0, at most 1",
        "a list of 2 entries, each a whole number from 1 to 9",
        "text",
    ]
    for wrong, words in (
        ({"rate": 0}, "rate is 0; it must be above 0, at most 1"),
        ({"rate": "1"}, "rate is '1'; it must be above 0"),
        ({"sizes": (1, 10)}, "sizes is (1, 10); it must be a list of 2 entries"),
        ({"path": 3}, "path is 3; it must be text"),
    ):
        refusal(lambda wrong=wrong: Settings(**wrong), words)


def test_the_users_own_files(tmp_path):
    file = tmp_path / "lines.jsonl"
    assert read_jsonl(file) == []
    file.write_bytes(b'{"a": 1}\n\n[2]\nnonsense\n\xff\n{"b": 2}\n{"c": ')
    assert read_jsonl(file) == [{"a": 1}, {"b": 2}]
    refusal(lambda: read_json(file), f"{file}: not JSON: ")
    for path in (tmp_path / "none", tmp_path, tmp_path / "nul\0"):
        refusal(lambda path=path: read_json(path), f"{path}: cannot be read: ")
