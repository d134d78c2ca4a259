"""The checks of arguments: what they accept, and how error messages show values."""

import numpy as np
import pytest

from bombay_env import checks
from helpers.refusal import refusal


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\nb", "'a\\nb'"),
        (np.float64(0.5), "0.5"),
        (np.eye(2), "array([[1., 0.], [0., 1.]])"),
        ("x" * 200, "'" + "x" * 98 + "…"),
    ],
)
def test_values_are_shown_on_one_short_line(value, shown):
    assert checks.shown(value) == shown


def test_values_without_a_repr_are_shown_by_their_type():
    """Python raises an error for the repr of a list that is nested too deeply, and of an integer with too many digits."""
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert checks.shown(nested) == "a value of type list"
    assert checks.shown(10**5000) == "a value of type int"


def test_a_message_is_one_line_of_at_most_500_characters():
    assert checks.message("two\n\n lines\n") == "two lines"
    assert checks.message("x" * 500) == "x" * 500
    assert checks.message("x" * 501) == "x" * 499 + "…"


def test_a_whole_number_may_be_a_numpy_integer():
    number = checks.whole_number(np.int8(5), "size", 1, 5)
    assert number == 5
    assert type(number) is int


@pytest.mark.parametrize("value", [0, 6, 2.0, True, np.True_, "3", None])
def test_other_values_are_rejected_with_the_range(value):
    refusal(lambda: checks.whole_number(value, "size", 1, 5), "size is", "a whole number from 1 to 5")


def test_one_of_compares_types_too():
    checks.one_of(None, "mode", (None, "ansi"))
    checks.one_of("ansi", "mode", (None, "ansi"))
    refusal(lambda: checks.one_of(1, "copy", (True, False)), "copy is 1", "True, False")


def test_read_only_actions_are_copied():
    given = np.arange(3)
    assert checks.actions(given, 3) is given
    given.setflags(write=False)  # as arrays of JAX are; kernels would be compiled once more for them
    assert checks.actions(given, 3).flags.writeable
    assert checks.actions(given, 3).tolist() == [0, 1, 2]
