"""The MCP server of `bombay mcp`: the tools of a `ModelTable` by the official SDK, which the extra `llm` installs."""

import functools
import inspect
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, redirect_stdout
from typing import Any, Final

import anyio
from pydantic import ValidationError

from bombay_env import MAX_PLAYERS, MIN_PLAYERS, __version__, checks
from bombay_training.play.model_table import ModelTable

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.resources import FunctionResource
except ImportError:  # version 1 of the SDK, which LangChain's adapters need; mypy sees version 2
    from mcp.server.fastmcp import FastMCP as MCPServer  # type: ignore[attr-defined, no-redef]
    from mcp.server.fastmcp.exceptions import ToolError  # type: ignore[no-redef]
    from mcp.server.fastmcp.resources import FunctionResource  # type: ignore[no-redef]

INSTRUCTIONS: Final = """Bombay is a board game of elephants, silk and palaces; the richest merchant wins. Read the rules, then
start with new_game. On your turn read the position and the legal actions, and answer with act: one action, or all actions of the
turn separated by commas, such as "move:SITE, buy, end_turn". The others then act until it is your turn again."""


class BombayServer(MCPServer):
    """A server with the tools of a table. What a model must correct is told in one line.

    Its resources `bombay://rules/2` to `bombay://rules/5` are the rules for these numbers of players,
    and `bombay://board` is the board.

    Args:
        table: the game. Its tools are called one at a time.
    """

    def __init__(self, table: ModelTable) -> None:
        super().__init__("bombay", instructions=INSTRUCTIONS, log_level="WARNING", lifespan=_lifespan)
        server: Any = getattr(self, "_lowlevel_server", None) or getattr(self, "_mcp_server")  # noqa: B009 - of version 1
        server.version = __version__
        self._one_call = anyio.Lock()
        for tool in table.tools():
            description = inspect.cleandoc(tool.__doc__ or "").format(opponents=", ".join(table.opponents))
            self.add_tool(tool, description=description, structured_output=False)
        for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
            rules, name = functools.partial(table.rules, players), f"Rules for {players} players, and the trails"
            self._add_text(rules, f"bombay://rules/{players}", name, "text/markdown")
        self._add_text(table.trails, "bombay://board", "The board: sites and trails", "text/plain")

    def _add_text(self, text: Callable[[], str], uri: str, name: str, mime_type: str) -> None:
        """Add a resource."""
        self.add_resource(FunctionResource.from_function(text, uri, name=name, description=name, mime_type=mime_type))

    async def call_tool(self, name: str, arguments: dict[str, Any], *context: Any) -> Any:
        """The answer of a tool. Raises ToolError for what the model must correct."""
        tools = [tool.model_dump(by_alias=True) for tool in await self.list_tools()]
        self._check_names(name, arguments, {tool["name"]: tool["inputSchema"] for tool in tools})
        async with self._one_call:
            try:
                return await super().call_tool(name, arguments, *context)
            except ToolError as error:
                if not isinstance(error.__cause__, ValueError):
                    raise
                raise ToolError(_message(error.__cause__)) from None

    def _check_names(self, name: str, arguments: dict[str, Any], schemas: dict[str, Any]) -> None:
        """The SDK ignores arguments that it does not know."""
        if name not in schemas:
            raise ToolError(f"there is no tool {checks.shown(name)}; there are {', '.join(schemas)}")
        known = schemas[name]["properties"]
        for argument in arguments:
            if argument not in known:
                allowed = ", ".join(known) or "none"
                raise ToolError(f"{name} has no argument {checks.shown(argument)}; allowed: {allowed}")


@asynccontextmanager
async def _lifespan(_: Any) -> AsyncIterator[None]:
    """Send what agents print to standard error: the server, which has taken standard output before, needs it for its protocol."""
    with redirect_stdout(sys.stderr):
        yield


def _message(error: ValueError) -> str:
    """The error on one line. Of several wrong arguments the first is named."""
    text = str(error)
    if isinstance(error, ValidationError):
        wrong = error.errors()[0]
        place = ".".join(map(str, wrong["loc"]))
        text = f"{place} is {checks.shown(wrong['input'])}: {wrong['msg']}"
    return checks.message(text)
