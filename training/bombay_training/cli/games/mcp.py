"""`bombay mcp`: a server by which language models play."""

from contextlib import redirect_stdout
from typing import Annotated

import typer

import bombay_agents
from bombay_env import Board
from bombay_training.cli import output
from bombay_training.cli.errors import user_input
from bombay_training.cli.options import BoardFile, complete_agent
from bombay_training.extras import missing_extra
from bombay_training.play.model_table import ModelTable
from bombay_training.play.seats import SAFE_AGENTS


def mcp(
    opponents: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"Agents that a model may play against. Default: {', '.join(SAFE_AGENTS)}.",
            autocompletion=complete_agent,
        ),
    ] = None,
    board: BoardFile = None,
) -> None:
    """Let a language model play: an MCP server on standard input and output, with tools to start, see and play games."""
    with user_input():
        chosen = opponents or list(SAFE_AGENTS)
        for spec in chosen:
            bombay_agents.make(spec)
        table = ModelTable(chosen, Board.load(board))
        try:
            from bombay_training.play.mcp_server import BombayServer
        except ImportError as error:
            raise ValueError(missing_extra("bombay mcp", "llm", error)) from None
    with redirect_stdout(output.out.file):
        BombayServer(table).run("stdio")
