"""The game in words, for people and language models: rules, positions, what actions do, results, and the reading of answers."""

from bombay_env.text.answers import AnswerError, parse_answer
from bombay_env.text.effects import ActionEffect, action_effects, describe_actions
from bombay_env.text.position import Table, describe_board, describe_position, describe_result, describe_tables
from bombay_env.text.rulebook import describe_rules

__all__ = [
    "ActionEffect",
    "AnswerError",
    "Table",
    "action_effects",
    "describe_actions",
    "describe_board",
    "describe_position",
    "describe_result",
    "describe_rules",
    "describe_tables",
    "parse_answer",
]
