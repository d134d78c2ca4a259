"""The class `Rules`: the printed numbers, equality and hash, JSON and digest, and the error messages."""

import contextlib
import copy
import dataclasses
import json
import os
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bombay_env import Rules
from helpers.position import each_count

FIELDS = [field.name for field in dataclasses.fields(Rules)]
COLUMNS = (
    ("blue", "purple", "orange"),
    ("purple", "orange", "yellow"),
    ("orange", "yellow", "blue"),
    ("yellow", "blue", "purple"),
)
PRINTED = {  # the table of RULES 5, and the numbers by player count of RULES 2, 3 and 5
    "sets": {2: 4, 3: 3, 4: 4, 5: 5},
    "turns_per_set": {2: 4, 3: 5, 4: 4, 5: 3},
    "rotate_first_player": True,
    "actions_per_turn": 3,
    "starting_rupees": {2: (2, 2), 3: (2, 2, 2), 4: (2, 2, 2, 2), 5: (2, 2, 2, 2, 3)},
    "bales": (3, 4, 5, 5),
    "restock_draw": 9,
    "basket": 2,
    "buys_per_turn": 1,
    "move_cost": 1,
    "hill_cost": 2,
    "market_rupees": (1, 1, 2),
    "market_actions": (1, 2, 2),
    "sell_cost": 1,
    "build_cost": 1,
    "sale_rupees": (4, 3, 1),
    "sale_clients": (0, 0, 1),
    "colour_rupees": (1, 0, 0, 0),
    "colour_clients": (0, 1, 0, 0),
    "palaces": 5,
    "toll": 1,
    "consolidate_rupees": 1,
    "palace_tokens": (2, 2, 2, 2),
    "palace_token_rupees": 2,
    "city_tokens": {2: 1, 3: 2, 4: 3, 5: 4},
    "client_supply": 16,
    "majority": {2: (4, 0), 3: (6, 2, 0), 4: (8, 4, 2, 0), 5: (8, 6, 4, 2, 0)},
    "fame": (0, 0, 0, 4, 8),
    "outer_posts": {2: False, 3: False, 4: True, 5: True},
    "demand_columns": COLUMNS,
}


def another(field):
    """Another value of a field, for two players."""
    if field in ANOTHER:
        return ANOTHER[field]
    value = printed(2)[field]
    if isinstance(value, tuple):
        return (value[0] + 1, *value[1:])
    return not value if isinstance(value, bool) else value + 1


ANOTHER = {"palace_tokens": (3, 1, 2, 2), "client_supply": None, "demand_columns": COLUMNS[::-1]}
LISTS = sorted(
    name
    for name, value in PRINTED.items()
    if isinstance(value[2] if isinstance(value, dict) else value, tuple) and name != "demand_columns"
)
FLAGS = ("rotate_first_player", "outer_posts")
NUMBERS = [name for name in FIELDS if name not in (*LISTS, *FLAGS, "demand_columns")]
BY_COUNT = [name for name, value in PRINTED.items() if isinstance(value, dict)]
each_field = pytest.mark.parametrize("field", FIELDS)


def printed(n):
    return {"num_players": n} | {
        name: value[n] if isinstance(value, dict) else value for name, value in PRINTED.items()
    }


def refusal(**changes):
    """The error message for rules for two players with these changes."""
    with pytest.raises(ValueError, match=r".") as caught:
        Rules(**{"num_players": 2} | changes)
    assert type(caught.value) is ValueError
    assert "\n" not in str(caught.value)
    return str(caught.value)


# --- The printed game ---


@each_count
def test_official_numbers(n):
    for field, expected in printed(n).items():
        found = getattr(Rules.official(n), field)
        assert (found, type(found)) == (expected, type(expected)), field


@each_count
def test_bga_differs_in_the_starting_rupees_only(n):
    assert Rules.bga(n) == dataclasses.replace(Rules.official(n), starting_rupees=(2,) * n)
    assert (Rules.bga(n) == Rules.official(n)) == (n < 5)


@each_count
def test_omitted_fields_get_the_printed_values(n):
    assert Rules(n) == Rules.official(n) == Rules(**printed(n)) == Rules.from_dict({"num_players": n})


@pytest.mark.parametrize("make", [Rules.official, Rules.bga, Rules])
@pytest.mark.parametrize("n", [1, 6, 2.0, "2", True, None])
def test_other_numbers_of_players_are_rejected(make, n):
    with pytest.raises(ValueError, match=r"num_players .*2 to 5"):
        make(n)


# --- Values ---


def test_rules_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Rules.official(2).toll = 2


def test_lists_are_converted_to_tuples():
    as_lists = dataclasses.replace(Rules(2), majority=[4, 0], demand_columns=[list(column) for column in COLUMNS])
    assert as_lists == Rules.official(2)
    assert as_lists.demand_columns == COLUMNS


@each_field
def test_rules_with_another_value_are_others_and_equal_to_their_copies(field):
    official, rules = Rules.official(2), Rules(**{"num_players": 2} | {field: another(field)})
    assert rules != official
    assert rules.digest != official.digest
    assert hash(rules) != hash(official)
    assert copy.copy(rules) == copy.deepcopy(rules) == pickle.loads(pickle.dumps(rules)) == rules
    shuffled = Rules.from_dict(dict(reversed(rules.to_dict().items())))
    assert shuffled == rules
    assert (shuffled.digest, hash(shuffled), shuffled.to_json()) == (rules.digest, hash(rules), rules.to_json())
    assert Rules.from_json(json.dumps(rules.to_dict(), indent=2, sort_keys=True)) == rules
    assert "\n" not in rules.to_json()


# --- JSON ---


@each_count
def test_to_dict_is_plain_json_of_every_field_in_order(n):
    data = Rules.official(n).to_dict()
    assert list(data) == FIELDS
    assert data == json.loads(json.dumps(printed(n)))
    assert json.loads(json.dumps(data)) == data


def test_to_dict_returns_a_copy():
    rules = Rules.official(2)
    rules.to_dict()["demand_columns"][0].clear()
    assert rules == Rules.official(2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "JSON"),
        ("{'num_players': 2}", "JSON"),
        ("null", "object"),
        ("[]", "object"),
        ('{"num_players": 2, "tolls": 1}', "'tolls'.*toll"),
        ('{"toll": 1}', "num_players .*2 to 5"),
        *(
            (json.dumps(Rules(2).to_dict() | {name: None}), f"{name} is None")
            for name in ("num_players", "sets", "majority")
        ),
    ],
)
def test_the_message_names_what_is_wrong_in_json(text, words):
    with pytest.raises(ValueError, match=words):
        Rules.from_json(text)
    if words != "JSON":
        with pytest.raises(ValueError, match=words):
            Rules.from_dict(json.loads(text))


@pytest.mark.parametrize("n", [2, 5])
def test_a_file_changes_entries_of_lists(tmp_path, n):
    (tmp_path / "rules.json").write_text('{"toll": 2, "starting_rupees.last": 9, "demand_columns.0.2": "yellow"}')
    columns = (("blue", "purple", "yellow"), *COLUMNS[1:])
    rupees = (2,) * (n - 1) + (9,)
    assert Rules.load(tmp_path / "rules.json", n) == Rules(n, toll=2, starting_rupees=rupees, demand_columns=columns)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"starting_rupees.first": 3}', ["starting_rupees.first", "a number from 0 or last"]),
        ('{"starting_rupees.-1": 3}', ["starting_rupees.-1", "a number from 0 or last"]),
        ('{"starting_rupees.4": 3}', ["starting_rupees.4", "with 4 players", "last"]),
        ('{"starting_rupees.3": 3, "starting_rupees.last": 4}', ["starting_rupees.last", "changed twice"]),
        ('{"starting_rupees": [1, 1, 1, 1], "starting_rupees.0": 4}', ["starting_rupees.0", "changed twice"]),
        ('{"starting_rupees.0": 4, "starting_rupees": [1, 1, 1, 1]}', ["starting_rupees", "changed twice"]),
        ('{"toll.last": 3}', ["toll.last", "no entry of that kind; it is 1"]),
        ('{"tolls.last": 3}', ["unknown field 'tolls'", "sets, turns_per_set"]),
        ('{"starting_rupees.last": "+1"}', ["starting_rupees", "a list of whole numbers"]),
        ('{"num_players.0": 3}', ["unknown field 'num_players'"]),
    ],
)
def test_a_wrong_entry_in_a_file_is_refused_in_one_line(tmp_path, text, words):
    (tmp_path / "rules.json").write_text(text)
    with pytest.raises(ValueError, match=r"^[^\n]+$") as refused:
        Rules.load(tmp_path / "rules.json", 4)
    assert all(word in str(refused.value) for word in words)


# --- Digest ---


def test_digest_and_hash_are_the_same_in_every_process():
    """Even if a field is None: in Python 3.11 the hash of None is an address."""
    code = "from bombay_env.rules import Rules; rules = Rules(3, client_supply=None); print(rules.digest, hash(rules))"
    environment = os.environ | {"PYTHONHASHSEED": "4711"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    here = Rules(3, client_supply=None)
    assert run.stdout.split() == [here.digest, str(hash(here))]
    assert re.fullmatch("[0-9a-f]{64}", here.digest)


# --- Rejected values; `test_forms.py` has more values of a wrong type ---


def without_default(field, value):
    """The value, if the field has no default by player count, for which it stands, and no other meaning of it."""
    return [] if field in (*BY_COUNT, "client_supply") else [value]


@pytest.mark.parametrize("field", NUMBERS)
def test_the_message_names_the_allowed_range_of_a_number(field):
    low, high = map(int, re.search(r"from (\d+) to (\d+)", refusal(**{field: -1})).groups())
    if field == "restock_draw":
        high = 17  # the number of bales
    for number in (low, high):
        assert getattr(Rules(**{"num_players": 2} | {field: number}), field) == number
    for wrong in (low - 1, high + 1, -(10**30), 10**30, 1.0, True, "1", [1], *without_default(field, None)):
        assert refusal(**{field: wrong}).startswith(f"{field} is {wrong!r}; it must be a whole number from {low} to ")


@pytest.mark.parametrize("field", LISTS)
def test_the_message_names_the_length_of_a_list_and_the_range_of_its_entries(field):
    entries = printed(2)[field]
    length = "1 to 13" if field == "fame" else len(entries)
    wanted = rf"a list of {length} entries, each a whole number from \d+ to \d+$"
    if field in ("majority", "starting_rupees"):
        wanted = r"a list of (\d+ )?whole numbers.*, one for each player$"
    wrong_entries = [(entries[0], value, *entries[2:]) for value in (-1, 10**6, 1.0, "1", True, None, [1])]
    wrong_lengths = [(), (0,) * 100, *([] if field == "fame" else [entries[:-1], (*entries, 0)])]
    for wrong in (*wrong_entries, *wrong_lengths, 1, "12", {"a": 1}, True, *without_default(field, None)):
        message = refusal(**{field: wrong})
        assert message.startswith(f"{field} is {repr(wrong)[:40]}")
        assert re.search(f"; it must be {wanted}", message)


def test_fame_may_have_one_number():
    assert Rules(2, fame=(7,)).fame == (7,)


def test_none_means_the_printed_number_for_the_number_of_players():
    assert Rules(3, **dict.fromkeys(BY_COUNT)) == Rules.official(3)


@pytest.mark.parametrize("field", FLAGS)
def test_a_flag_is_true_or_false(field):
    for value in (0, 1, "true", [], *without_default(field, None)):
        assert refusal(**{field: value}) == f"{field} is {value!r}; it must be true or false"


@pytest.mark.parametrize(
    ("changes", "highest"),
    [({"restock_draw": 18}, 17), ({"bales": (1, 1, 1, 1)}, 4), ({"bales": (9, 9, 9, 9), "restock_draw": 37}, 36)],
)
def test_restock_draw_is_at_most_the_number_of_bales(changes, highest):
    drawn = changes.get("restock_draw", 9)
    assert refusal(**changes).startswith(f"restock_draw is {drawn}; it must be a whole number from 1 to {highest}")


@pytest.mark.parametrize("tokens", [(2, 2, 2, 1), (2, 2, 2, 3), (0, 0, 0, 0)])
def test_there_are_eight_palace_tokens(tokens):
    assert Rules(2, palace_tokens=(0, 0, 0, 8)).palace_tokens == (0, 0, 0, 8)
    assert refusal(palace_tokens=tokens) == f"palace_tokens is {tokens}; it must be 8 in all, not {sum(tokens)}"


@pytest.mark.parametrize(
    "columns",
    [
        COLUMNS[:3],
        (*COLUMNS, COLUMNS[0]),
        *(
            (*COLUMNS[:3], column)
            for column in (("blue", "blue", "orange"), ("blue", "purple"), (2, 1, 3), "blue", None)
        ),
        *(1, "12", "abcd", {"a": 1}, None),
        *((*COLUMNS[:3], ("blue", "purple", *more)) for more in (("orange", "yellow"), ("green",))),
    ],
    ids=repr,
)
def test_there_are_four_columns_of_three_different_colours(columns):
    message = refusal(demand_columns=columns)
    assert message.startswith("demand_columns is ")
    assert message.endswith("; it must be 4 lists of 3 different colours out of yellow, purple, blue, orange")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(COLUMNS[0]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
likely_values = json_values | st.integers(-1, 10) | st.lists(st.integers(-1, 10), max_size=6)
likely_rules = st.fixed_dictionaries(
    {"num_players": st.integers(2, 5) | json_values}, optional=dict.fromkeys(FIELDS[1:], likely_values)
)


@given(json_values | likely_rules)
def test_any_json_value_gives_rules_or_a_value_error(data):
    try:
        rules = Rules.from_dict(data)
    except ValueError:
        return
    assert Rules.from_json(rules.to_json()) == rules
    for name, value in data.items():
        assert rules.to_dict()[name] == value


@given(st.text() | json_values.map(json.dumps))
def test_any_text_gives_rules_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        assert isinstance(Rules.from_json(text), Rules)
