"""Errors that the user can correct: each ends the command with one line on standard error and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from bombay_env.checks import shown_path

MAX_LENGTH: Final = 500  # characters of a message
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


def one_line(error: object) -> str:
    """The message of an error on one line, cut to `MAX_LENGTH` characters; of the system's, without its number."""
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        error = f"{shown_path(error.filename)}: {error.strerror}"
    message = " ".join(str(error).split())
    return message if len(message) <= MAX_LENGTH else message[: MAX_LENGTH - 1] + "…"


@contextmanager
def user_input(*kinds: type[Exception]) -> Iterator[None]:
    """Turn an error of `kinds`, by default ValueError and OSError, into a `UserError` of one line."""
    caught = kinds or (ValueError, OSError)
    try:
        yield
    except caught as error:
        raise UserError(one_line(error)) from None
