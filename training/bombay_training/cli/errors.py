"""Errors that the user can correct: each ends the command with one line on standard error and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from bombay_env import checks

MATCH_ERRORS: Final = (
    OSError,
    RuntimeError,
    ValueError,
)  # what a match raises when an agent or its process cannot play


class UserError(typer.BadParameter):
    """An error that the user can correct. The message stands alone: it need not be about the value of an option."""

    def format_message(self) -> str:
        """The message without the words that Typer puts before it."""
        return self.message


def message_of(error: Exception) -> str:
    """The message of an error on one line; of an error of the system, the path and the reason without the number."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        return checks.message(f"{checks.shown_path(error.filename)}: {error.strerror}")
    return checks.message(str(error))


@contextmanager
def user_input(*kinds: type[Exception]) -> Iterator[None]:
    """Turn an error of `kinds`, by default ValueError and OSError, into a `UserError` of one line."""
    caught = kinds or (ValueError, OSError)
    try:
        yield
    except caught as error:
        raise UserError(message_of(error)) from None
