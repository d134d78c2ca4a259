"""Errors that the user can correct: each ends the command with one line on standard error and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer

from bombay_env import checks
from bombay_training.extras import missing_extra

# Files, wrong values, agents and processes that cannot play, and data from which nothing can be estimated.
ERRORS: Final = (OSError, ValueError, RuntimeError, ArithmeticError)


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
def user_input() -> Iterator[None]:
    """Turn one of `ERRORS` into a `UserError` of one line. The runner does so for all that a command does."""
    try:
        yield
    except (typer.Exit, typer.Abort):  # they are RuntimeErrors
        raise
    except ERRORS as error:
        raise UserError(message_of(error)) from error


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turn an import that fails into a ValueError that says how to install the extra, which `what` needs."""
    try:
        yield
    except ImportError as error:
        raise ValueError(missing_extra(what, extra, error)) from None
