"""The MCP server: a whole game by its tools, and what it refuses."""

import itertools
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from bombay_env import Board, Game, Rules, text
from bombay_env.record import Record
from bombay_training.play.model_table import ModelTable
from bombay_training.play.seats import SAFE_AGENTS

anyio = pytest.importorskip("anyio", reason="needs the extra `llm`")
mcp = pytest.importorskip("mcp", reason="needs the extra `llm`")
mcp_server = pytest.importorskip("bombay_training.play.mcp_server", reason="needs the extra `llm`")


def played(script: Callable[[Any], Awaitable[None]], opponents: tuple[str, ...] = SAFE_AGENTS) -> None:
    """Run a script with a client of a server in this process."""

    async def run() -> None:
        async with mcp.Client(mcp_server.BombayServer(ModelTable(opponents, Board.load()))) as client:
            await script(client)

    anyio.run(run)


LISTED = re.compile(r"^(\d+) (\S+?): (.*)$", flags=re.MULTILINE)
# An action as it stands in the list, and as models copy it.
FORMS = (
    "{number} {name}: {words}",
    "{name}",
    "{number}",
    "- {number} {name}: {words}",
    "Action: {number} ({name})",
    "`{name}`",
)


async def call(client: Any, tool: str, **arguments: Any) -> str:
    """What a tool answers."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return str(result.content[0].text)


async def refused(client: Any, tool: str, words: str, **arguments: Any) -> None:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    message = result.content[0].text
    assert words in message
    assert len(message) <= 500
    assert "\n" not in message


async def to_the_end(client: Any, told: str) -> str:
    """Repeat the first legal actions as they are listed, in one form after another, until the end. Returns the last answer."""
    forms = itertools.cycle(FORMS)
    while legal := LISTED.findall(told.partition("Legal actions:")[2]):
        deal = [listed for listed in legal if listed[1].startswith(("sell", "buy", "take"))]
        number, name, words = (deal or legal)[0]
        told = await call(client, "act", actions=next(forms).format(number=number, name=name, words=words))
    return told


def test_a_model_plays_whole_games() -> None:
    async def script(client: Any) -> None:
        for screened in (False, True):
            told = await call(client, "new_game", seats=["model", "greedy", "random"], seed=7, screened=screened)
            assert "You are seat 0. Legal actions:" in told
            assert bool(re.search(r"^seat 1 .*\?", told, flags=re.MULTILINE)) == screened
            over = await to_the_end(client, told)
            assert "game over after 3 sets" in over
            record = Record.from_dict(json.loads(await call(client, "record")))
            record.verify()
            assert record.agents == ("model", "greedy", "random")
            await refused(client, "act", "the game is over", actions="end_turn")

    played(script)


def test_the_rules_are_a_tool_and_resources() -> None:
    async def script(client: Any) -> None:
        games = {n: Game(Rules.official(n), Board.load()) for n in (2, 3, 4, 5)}
        texts = {
            n: f"{text.describe_rules(game)}\n\n## Trails\n{text.describe_board(game)}" for n, game in games.items()
        }
        assert await call(client, "rules") == texts[4]
        assert await call(client, "rules", players=2) == texts[2]
        await call(client, "new_game", seats=["model", "random", "random"], seed=7)
        assert await call(client, "rules") == texts[3]
        await refused(client, "rules", "players is 6; it must be a whole number from 2 to 5", players=6)
        listed = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in listed] == [f"bombay://rules/{n}" for n in texts] + ["bombay://board"]
        (content,) = (await client.read_resource("bombay://board")).contents
        assert content.text == text.describe_board(games[4])
        for n, resource in zip(texts, listed[:-1], strict=True):
            assert resource.description == f"Rules for {n} players, and the trails"
            (content,) = (await client.read_resource(resource.uri)).contents
            assert content.text == texts[n]

    played(script)


def test_the_first_answer_has_the_rules_in_short_the_board_and_the_table() -> None:
    game = Game(Rules.official(3), Board.load())

    async def script(client: Any) -> None:
        told = await call(client, "new_game", seats=["greedy", "model", "random"], seed=7)
        assert told.startswith("At the table: seat 0 greedy, seat 1 model, seat 2 random.\n\nRules in short:\n")
        assert text.summarize_rules(game) in told
        assert text.describe_board(game) in told
        assert text.summarize_rules(game) not in await call(client, "observe")

    played(script)


def test_it_is_told_how_far_sales_are_and_whose_city_tokens_there_are() -> None:
    """The words themselves are compared with positions by hand in `test_text`."""

    async def script(client: Any) -> None:
        await call(client, "new_game", seats=["model", "random"], seed=7)
        told = await call(client, "act", actions="move:E3, buy, move:H1")
        assert "\nto sell   blue  Bombay 1 action away: 4 rupees; Indore 3 actions away: 3 rupees; Nagpur 5 " in told
        told = await call(client, "act", actions="move:Bombay, sell:blue, end_turn")
        assert re.search(r"^seat 0 +Bombay +5 +0 +5 +empty +1 \(Bombay\)$", told, flags=re.MULTILINE)
        assert "to sell" not in told

    played(script)


def test_actions_may_be_numbers_and_objects() -> None:
    game = Game(Rules.official(2), Board.load())
    move = game.action_index("move:E1")
    forms = [move, str(move), [move], ["move:E1"], f"{move} move:E1", {"actions": [move]}, '{"action": "move:E1"}']

    async def script(client: Any) -> None:
        for form in forms:
            await call(client, "new_game", seats=["model", "random"], seed=7)
            assert "seat 0 at A: Move to E1" in await call(client, "act", actions=form)
        await refused(client, "act", "True is no action", actions=True)
        await refused(client, "act", "1.5 is no action", actions=1.5)

    played(script)


def test_it_is_told_what_the_others_did_once() -> None:
    async def script(client: Any) -> None:
        await call(client, "new_game", seats=["model", "greedy"], seed=7)
        told = await call(client, "act", actions="end_turn")
        assert "seat 0 at A: End the turn" in told
        assert "seat 1 at A: " in told
        assert "seat 1 at" not in await call(client, "observe")

    played(script)


def test_a_whole_turn_is_one_call_and_wrong_actions_change_nothing() -> None:
    async def script(client: Any) -> None:
        await call(client, "new_game", seats=["model", "random"], seed=7)
        before = await call(client, "legal_actions")
        await refused(client, "act", "with 2 actions and 2 rupees left, buy is illegal", actions="move:H1, buy")
        await refused(client, "act", "is no action", actions="fly to the moon")
        await refused(client, "resign", "there is no tool 'resign'; there are rules, new_game, ")
        assert await call(client, "legal_actions") == before
        told = await call(client, "act", actions="move:E1, move:G1, move:E1")
        assert "seat 0 at A: Move to E1; Move to G1; Move to E1\n" in told
        assert "You are seat 0" in told
        told = await call(client, "act", actions=["move:G1", "end_turn"])
        assert "seat 0 at E1: Move to G1; End the turn\n" in told

    played(script)


def test_tools_name_the_opponents_and_the_actions() -> None:
    async def script(client: Any) -> None:
        tools = (await client.list_tools()).tools
        told = {tool.name: tool.description for tool in tools}
        assert 'or the name of an opponent: greedy, net:path={x}. Default: "model"' in told["new_game"]
        assert all("{" not in words for name, words in told.items() if name != "new_game")
        schema = next(tool.model_dump(by_alias=True)["inputSchema"] for tool in tools if tool.name == "act")
        names = schema["properties"]["actions"]["anyOf"][0]["items"]["enum"]
        assert names == list(Game(Rules.official(2)).action_names)

    played(script, ("greedy", "net:path={x}"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seats": ["model"]}, "seats has 1 entries; it must have 2 to 5"),
        ({"seats": ["model", "exec:command=touch x"]}, "allowed are model and greedy"),
        ({"seats": ["model", "x" * 100_000]}, "allowed are model and greedy"),
        ({"seed": -1}, "seed"),
        ({"seats": ["greedy", "greedy"], "screened": True}, "all seats are agents"),
        ({"seats": 3}, "seats is 3: Input should be a valid list"),
        ({"seats": ["model", 3]}, "seats.1 is 3: Input should be a valid string"),
        ({"seed": "x" * 1000}, "seed is 'xxx"),
        ({"seat": ["model", "greedy"]}, "new_game has no argument 'seat'; allowed: seats, seed, screened"),
    ],
)
def test_a_new_game_that_is_not_allowed_is_refused_and_the_old_one_stays(arguments: dict[str, Any], words: str) -> None:
    async def script(client: Any) -> None:
        await refused(client, "act", "there is no game yet; call new_game", actions="end_turn")
        await call(client, "new_game", seats=["model", "greedy"], seed=7)
        before = await call(client, "legal_actions")
        await refused(client, "new_game", words, **arguments)
        assert await call(client, "legal_actions") == before

    played(script, ("greedy",))


def test_a_whole_game_by_the_command(tmp_path: Path) -> None:
    async def run() -> None:
        command = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "bombay_training.cli", "mcp", "greedy"],
            cwd=tmp_path,
            env=dict(os.environ),  # else it is without XDG_CACHE_HOME, and compiles all kernels once more
        )
        async with mcp.Client(command) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert names == {"rules", "new_game", "observe", "legal_actions", "act", "record"}
            told = await call(client, "new_game", seats=["greedy", "model"], seed=7)
            assert "You are seat 1" in told
            assert "game over after 4 sets" in await to_the_end(client, told)
            Record.from_dict(json.loads(await call(client, "record"))).verify()

    anyio.run(run)
