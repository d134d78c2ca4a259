"""The game in words, for people and language models: positions, what actions do, results, and the reading of an answer."""

from bombay_env.text.answers import AnswerError, parse_answer
from bombay_env.text.effects import ActionEffect, action_effects, describe_actions
from bombay_env.text.position import describe_board, describe_position, describe_result

__all__ = [
    "ActionEffect",
    "AnswerError",
    "action_effects",
    "describe_actions",
    "describe_board",
    "describe_position",
    "describe_result",
    "parse_answer",
]
