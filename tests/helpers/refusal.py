"""Checks the error of a call that must fail."""

import pytest

MAX_MESSAGE = 500  # characters


def refusal(call, *words, error=ValueError):
    """The message of the error that `call` raises: one line, not too long, that contains all of the words."""
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    assert message.strip()
    assert "\n" not in message
    assert len(message) <= MAX_MESSAGE
    assert all(word in message for word in words), message
    return message
