"""A language model as a player, by any endpoint that offers OpenAI's chat completions, and its games against another agent.

    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=my-model python training/examples/language_model.py --blocks 25

OPENAI_API_KEY is sent if it is set. The model gets the rules, the position and the legal actions in words and answers with the
actions of its turn. If an answer is not understood, it is told why and asked once more; then a legal action is drawn. No extra is
needed.
"""

import json
import os
import sys
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.error import HTTPError

import numpy as np
import typer
from common import Blocks, Players, Seed
from rich.console import Console
from rich.progress import Progress

from bombay_env import Game, Record, Rules, text, write_records
from bombay_training import arena, statistics

TASK: Final = """You play the game below and want to win. Each message has a position in which it is your turn, and the actions
that are legal now. After one of them others may be legal that are not listed: for instance, `buy` may follow a move.
Think briefly. Then write all actions of your turn in one last line, separated by commas: Answer: ACTION, ACTION, …"""
RETRIES: Final = 3  # of a failed request, unless its status says that it is wrong
TOKENS: Final = ("prompt_tokens", "completion_tokens")
MANY_RANDOM: Final = 0.1  # share of random actions above which a result is not the model's


class LanguageModel:
    """An agent that asks a language model.

    Args:
        parallel: requests at the same time.
        timeout: seconds without a byte from the endpoint after which a request has failed.
        extra_body: a JSON object whose entries are added to every request.
        transcript: a file to which every question and answer is added as a line of JSON; none if it is empty.

    Raises:
        OSError: the transcript cannot be written.
        ValueError: OPENAI_BASE_URL or OPENAI_MODEL is not set, or `extra_body` is no JSON object.
    """

    def __init__(self, parallel: int = 8, timeout: float = 120.0, extra_body: str = "{}", transcript: str = "") -> None:
        base, model = os.environ.get("OPENAI_BASE_URL", "").rstrip("/"), os.environ.get("OPENAI_MODEL", "")
        if not base.startswith(("http://", "https://")) or not model:
            raise ValueError("set OPENAI_BASE_URL to an address such as http://127.0.0.1:8000/v1, and OPENAI_MODEL")
        self.url, self.parallel, self.timeout = f"{base}/chat/completions", parallel, timeout
        try:
            self.body = {"model": model, **json.loads(extra_body)}
        except (TypeError, ValueError):
            raise ValueError(
                f'the extra body is {extra_body}; it must be an object such as {{"max_tokens": 9000}}'
            ) from None
        self.transcript = Path(transcript) if transcript else None
        if self.transcript:
            self.transcript.touch()
        self.counts = Counter[str]()
        self.planned: dict[bytes, Any] = {}  # by state: the next action of a turn, or why there is none

    def check(self) -> None:
        """Ask the endpoint once. Raises RuntimeError with the reason if it fails."""
        answer, _ = self._reply([{"role": "user", "content": "Say hello."}], retries=0)
        if isinstance(answer, RuntimeError):
            raise answer

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (batch,) int64 for states (batch,). Raises RuntimeError if the endpoint fails."""
        records = game.scrub(states, [0] * len(states))  # so that a state is found again
        lanes = {records[lane].tobytes(): records[lane : lane + 1] for lane in range(len(records))}
        self._plan(game, {key: state for key, state in lanes.items() if key not in self.planned}, rng)
        failures = [self.planned[key] for key in lanes if isinstance(self.planned[key], RuntimeError)]
        if failures and len(lanes) > 1:  # the arena then asks for each state alone
            raise failures[0]
        chosen = {key: self.planned.pop(key) for key in lanes}
        if failures:
            raise failures[0]
        self.counts["actions"] += len(records)
        return np.array([chosen[record.tobytes()] for record in records], np.int64)

    def _plan(self, game: Game, states: dict[bytes, np.ndarray], rng: np.random.Generator) -> None:
        """Plan a turn from each state."""
        system = f"{TASK}\n\n{text.describe_rules(game)}\n\n## Trails\n{text.describe_board(game)}"
        chats = {key: [{"role": "system", "content": system}] for key in states}
        for key, state in states.items():
            legal = f"You are seat {state['current_player'][0]}. Legal actions:\n{text.describe_actions(game, state)}"
            chats[key].append({"role": "user", "content": f"{text.describe_position(game, state)}\n\n{legal}"})
        for count in ("questions", "asked_again"):
            self.counts[count] += len(chats)
            with ThreadPoolExecutor(self.parallel) as pool:
                replies = list(pool.map(self._reply, chats.values()))
            for key, (answer, usage) in zip(list(chats), replies, strict=True):
                self.counts.update(usage)
                if self.transcript:
                    exchange = {"messages": chats[key][1:], "answer": str(answer)}  # without the rules
                    with self.transcript.open("a", encoding="utf-8") as file:
                        file.write(f"{json.dumps(exchange, ensure_ascii=False)}\n")
                try:
                    turn = text.parse_answer(game, states[key], answer) if isinstance(answer, str) else [answer]
                    self._remember(game, states[key], turn)
                    del chats[key]
                except text.AnswerError as error:
                    problem = f"That cannot be played: {error}. Write all actions of your turn again, after 'Answer:'."
                    chats[key] += [{"role": "assistant", "content": str(answer)}, {"role": "user", "content": problem}]
        for key in chats:
            self._remember(game, states[key], [rng.choice(np.flatnonzero(game.legal_actions(states[key])[0]))])
        self.counts["random_actions"] += len(chats)

    def _remember(self, game: Game, state: np.ndarray, turn: list[Any]) -> None:
        after = state.copy()
        for place, action in enumerate(turn):
            if place:
                game.step(after, [turn[place - 1]])
            self.planned[after.tobytes()] = action

    def _reply(self, chat: list[dict[str, str]], retries: int = RETRIES) -> tuple[str | RuntimeError, dict[str, int]]:
        """The model's answer, or why there is none, and what to count."""
        body = json.dumps({**self.body, "messages": chat}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        if key := os.environ.get("OPENAI_API_KEY"):
            request.add_unredirected_header("Authorization", f"Bearer {key}")  # for this server only
        for attempt in range(retries + 1):
            time.sleep(2**attempt - 1)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    reply: Any = json.loads(response.read(1 << 20))
                used = reply.get("usage") or {}
                counts = {name: int(used[name]) for name in TOKENS if used.get(name)}
                choice = reply["choices"][0]
                counts["cut_off"] = int(choice.get("finish_reason") == "length")
                return str(choice["message"]["content"] or ""), counts
            except Exception as error:  # no connection, a status that is an error, or no chat completion
                reason = repr(error)
                if isinstance(error, HTTPError):
                    reason = f"{error}: {error.read(300).decode(errors='replace')}"
                    error.close()
                    if error.code < 500 and error.code != 429:
                        break
        reason = " ".join(reason.split())
        return RuntimeError(f"request to {self.url} failed: {reason}"), {"failed_requests": 1}


def main(
    players: Players = 4,
    opponent: str = "greedy",
    seed: Seed = 0,
    blocks: Blocks = 25,
    parallel: Annotated[int, typer.Option(help="Requests at the same time.", min=1)] = 8,
    timeout: Annotated[float, typer.Option(help="Seconds that the endpoint may be silent.", min=1)] = 120,
    extra_body: Annotated[
        str, typer.Option(help='Added to requests, such as {"temperature": 0}.', metavar="JSON")
    ] = "{}",
    out: Annotated[Path | None, typer.Option(help="A new .jsonl file for the records of all games.")] = None,
    transcript: Annotated[str, typer.Option(help="A .jsonl file to add questions and answers to.")] = "",
) -> None:
    """Play against copies of an agent. Print the result, and on standard error what was asked and used."""
    model = LanguageModel(parallel, timeout, extra_body, transcript)
    model.check()
    if out:  # before hours of play
        out.touch(exist_ok=False)
        out.unlink()
    game, console, records = Game(Rules.official(players)), Console(stderr=True), list[Record]()
    try:
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            task = bar.add_task("games", total=blocks * players)
            options = {"progress": lambda games: bar.advance(task, games), "records": records}
            match = arena.one_vs_rest(game, model, opponent, blocks, seed, **options)
    finally:
        counts = {**dict.fromkeys(TOKENS, "unknown"), **model.counts}
        print(", ".join(f"{name}: {count}" for name, count in counts.items()), file=sys.stderr)
    if out:
        write_records(out, records)
    margin, final = statistics.margin_with_interval(match).mean, statistics.final_with_interval(match).mean
    random = model.counts["random_actions"] / max(model.counts["actions"], 1)
    print(
        f"win share against {opponent}: {statistics.share_with_interval(match)}, par {1 / players:.3f}, margin {margin:+.1f}, "
        f"final {final:.1f} rupees, random actions {random:.1%}, lost by faults: {len(match.faults)}"
    )
    if random > MANY_RANDOM:
        print("warning: many actions are random, because the model's answers could not be played", file=sys.stderr)
    if match.faults:
        sys.exit(f"the first fault: {match.faults[0]}")


if __name__ == "__main__":
    try:
        typer.run(main)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"language_model.py: {error}")
