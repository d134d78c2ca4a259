"""`bombay mcp`: a server by which language models play."""

from contextlib import redirect_stdout
from typing import Annotated

import bombay_agents
from bombay_env import Board
from bombay_training.cli import options, output
from bombay_training.cli.errors import needs
from bombay_training.cli.runner import command
from bombay_training.play.model_table import ModelTable
from bombay_training.play.seats import SAFE_AGENTS

OPPONENTS = f"Agents that a model may play against. Default: {', '.join(SAFE_AGENTS)}."


@command
def mcp(
    opponents: Annotated[list[str] | None, options.agents_argument(OPPONENTS)] = None,
    board: options.BoardFile = None,
) -> None:
    """Let a language model play: an MCP server on standard input and output, with tools to start, see and play games."""
    chosen = opponents or list(SAFE_AGENTS)
    for spec in chosen:
        bombay_agents.make(spec)
    table = ModelTable(chosen, Board.load(board))
    with needs("llm", "bombay mcp"):
        from bombay_training.play.mcp_server import BombayServer
    with redirect_stdout(output.out.file):
        BombayServer(table).run("stdio")
