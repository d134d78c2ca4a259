"""The game in words, for people and language models: rules, positions, maps, actions, results, and the reading of answers."""

from bombay_env.text.answers import AnswerError, parse_answer
from bombay_env.text.effects import ActionEffect, action_effects, describe_actions
from bombay_env.text.position import Table, describe_board, describe_position, describe_result, describe_tables
from bombay_env.text.rulebook import describe_rules, summarize_rules
from bombay_env.text.trail_map import describe_site, draw_map, explain_sites

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
    "describe_site",
    "describe_tables",
    "draw_map",
    "explain_sites",
    "parse_answer",
    "summarize_rules",
]
