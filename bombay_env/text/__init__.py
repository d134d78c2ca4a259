"""The game in words, for people and language models: rules, positions, actions, results, and the reading of answers."""

from bombay_env.text.answers import AnswerError, parse_answer
from bombay_env.text.position import (
    Table,
    describe_board,
    describe_position,
    describe_result,
    describe_tables,
    explain_sites,
)
from bombay_env.text.rulebook import describe_rules, summarize_rules
from bombay_env.text.words import ActionEffect, action_effects, action_words, describe_actions

__all__ = [
    "ActionEffect",
    "AnswerError",
    "Table",
    "action_effects",
    "action_words",
    "describe_actions",
    "describe_board",
    "describe_position",
    "describe_result",
    "describe_rules",
    "describe_tables",
    "explain_sites",
    "parse_answer",
    "summarize_rules",
]
