# /// script
# requires-python = ">=3.11"
# dependencies = ["langchain-mcp-adapters==0.3.2", "bombay-env[llm]", "langchain", "langgraph"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""LangGraph's agent with the tools of `bombay mcp` by `MultiServerMCPClient`: a scripted model plays a game to its end."""

import asyncio
import json
import os
import re
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

from bombay_env.record import Record

# glue
server = {"command": "bombay", "args": ["mcp", "random"], "transport": "stdio"}
# end of glue


def text_of(message: ToolMessage) -> str:
    """What a tool answered."""
    return message.content if isinstance(message.content, str) else message.content[0]["text"]


class ScriptedModel(BaseChatModel):
    """It takes the place of a language model: starts a game, makes one mistake, plays, asks for the record, and stops."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> "ScriptedModel":
        return self

    def _generate(self, messages: list[Any], stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        call = self._next(answers)
        calls = [{"name": call[0], "args": call[1], "id": str(len(answers))}] if call else []
        message = AIMessage("" if call else "The game is over.", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _next(self, answers: list[ToolMessage]) -> tuple[str, dict[str, Any]] | None:
        if not answers:
            return "new_game", {"seats": ["model", "random"], "seed": 7}
        if len(answers) == 1:
            return "act", {"actions": "fly to the moon"}
        if answers[-1].status == "error":
            return "legal_actions", {}
        if answers[-1].name == "record":
            return None
        legal = re.findall(r"^\d+ (\S+?): ", text_of(answers[-1]).partition("Legal actions:")[2], flags=re.MULTILINE)
        deals = [name for name in legal if name.startswith(("sell", "buy", "take"))]
        return ("act", {"actions": [(deals or legal)[0]]}) if legal else ("record", {})


async def main() -> None:
    """Play, then look at the conversation."""
    client = MultiServerMCPClient({"bombay": server | {"env": dict(os.environ)}})
    # glue
    async with client.session("bombay") as session:  # `client.get_tools()` would start a server anew for each call
        tools = await load_mcp_tools(session)
        # end of glue
        agent = create_agent(ScriptedModel(), tools)
        messages = (await agent.ainvoke({"messages": "Play a game of Bombay."}))["messages"]
    answers = [message for message in messages if isinstance(message, ToolMessage)]
    wrong = [text_of(message) for message in answers if message.status == "error"]
    if len(wrong) != 1 or "fly to the moon" not in wrong[0]:
        raise SystemExit(f"one action was wrong; the errors are {wrong}")
    record = Record.from_dict(json.loads(text_of(answers[-1])))
    record.verify()
    if "game over after 4 sets" not in text_of(answers[-2]) or record.agents != ("human", "random"):
        raise SystemExit(f"the game of {record.agents} ended with {text_of(answers[-2])}")
    print(f"a whole game in {len(answers)} calls of tools; one wrong action came back as an error; its record is right")


asyncio.run(main())
