"""A language model as a player, by any endpoint that offers OpenAI's chat completions, and its games against another agent.

    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=my-model python training/examples/language_model.py --blocks 25

OPENAI_API_KEY is sent if it is set. The model gets the rules, the position and the legal actions in words and answers with the
actions of its turn. If an answer is not understood, it is told why and asked once more; then a legal action is drawn.
"""

import json
import os
import sys
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.error import HTTPError

import numpy as np
import typer
from common import Blocks, Players, Seed

from bombay_env import Game, Rules, text
from bombay_training import arena, statistics

TASK = """You play the game below and want to win. Each message has a position in which it is your turn, and the legal actions.
Think briefly. Then write all actions of your turn in one last line, such as: Answer: move:E1, buy, end_turn"""


class LanguageModel:
    """An agent that asks a language model.

    Args:
        parallel: requests at the same time.
        timeout: seconds without a byte from the endpoint after which a request has failed.
        retries: how often a failed request is repeated, unless its status says that it is wrong.

    Raises:
        ValueError: OPENAI_BASE_URL or OPENAI_MODEL is not set.
    """

    def __init__(self, parallel: int = 8, timeout: float = 120.0, retries: int = 3) -> None:
        base, self.model = os.environ.get("OPENAI_BASE_URL", "").rstrip("/"), os.environ.get("OPENAI_MODEL", "")
        if not base.startswith(("http://", "https://")) or not self.model:
            raise ValueError("set OPENAI_BASE_URL to an address such as http://127.0.0.1:8000/v1, and OPENAI_MODEL")
        self.url, self.parallel, self.timeout, self.retries = f"{base}/chat/completions", parallel, timeout, retries
        self.counts = Counter[str]()
        self.planned: dict[bytes, Any] = {}  # by state: the next action of a turn, or why there is none

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
        return np.array([chosen[record.tobytes()] for record in records], np.int64)

    def _plan(self, game: Game, states: dict[bytes, np.ndarray], rng: np.random.Generator) -> None:
        """Plan a turn from each state."""
        system = f"{TASK}\n\n{text.describe_rules(game)}\n\n## Trails\n{text.describe_board(game)}"
        chats = {key: [{"role": "system", "content": system}] for key in states}
        for key, state in states.items():
            position = f"{text.describe_position(game, state)}\n\nLegal actions:\n{text.describe_actions(game, state)}"
            chats[key].append({"role": "user", "content": position})
        for count in ("questions", "asked_again"):
            self.counts[count] += len(chats)
            with ThreadPoolExecutor(self.parallel) as pool:
                replies = list(pool.map(self._reply, chats.values()))
            for key, (answer, usage) in zip(list(chats), replies, strict=True):
                self.counts.update(usage)
                try:
                    turn = text.parse_answer(game, states[key], answer) if isinstance(answer, str) else [answer]
                    self._remember(game, states[key], turn)
                    del chats[key]
                except text.AnswerError as error:
                    problem = f"That cannot be played: {error}. Please answer again."
                    chats[key] += [{"role": "assistant", "content": answer}, {"role": "user", "content": problem}]
        for key in chats:
            self._remember(game, states[key], [rng.choice(np.flatnonzero(game.legal_actions(states[key])[0]))])
        self.counts["random_actions"] += len(chats)

    def _remember(self, game: Game, state: np.ndarray, turn: list[Any]) -> None:
        after = state.copy()
        for place, action in enumerate(turn):
            if place:
                game.step(after, [turn[place - 1]])
            self.planned[after.tobytes()] = action

    def _reply(self, chat: list[dict[str, str]]) -> tuple[str | RuntimeError, dict[str, int]]:
        """The model's answer, or why there is none, and what to count."""
        body = json.dumps({"model": self.model, "messages": chat}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        if key := os.environ.get("OPENAI_API_KEY"):
            request.add_unredirected_header("Authorization", f"Bearer {key}")  # for this server only
        for attempt in range(self.retries + 1):
            time.sleep(2**attempt - 1)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    reply: Any = json.loads(response.read(1 << 20))
                used = reply.get("usage") or {}
                tokens = {name: int(used.get(name) or 0) for name in ("prompt_tokens", "completion_tokens")}
                return str(reply["choices"][0]["message"]["content"] or ""), tokens
            except Exception as error:  # no connection, a status that is an error, or no chat completion
                reason = repr(error)
                if isinstance(error, HTTPError):
                    reason = f"{error}: {error.read(300).decode(errors='replace')}"
                    error.close()
                    if error.code < 500 and error.code != 429:
                        break
        return RuntimeError(f"request to {self.url} failed: {reason}"), {"failed_requests": 1}


def main(players: Players = 4, opponent: str = "greedy", seed: Seed = 0, blocks: Blocks = 25) -> None:
    """Play against copies of an agent. Print the win share, and on standard error what was asked and used."""
    model = LanguageModel()
    try:
        match = arena.one_vs_rest(Game(Rules.official(players)), model, opponent, blocks, seed)
    finally:
        print(", ".join(f"{name}: {count}" for name, count in model.counts.items()), file=sys.stderr)
    share = statistics.share_with_interval(match)
    print(f"win share against {opponent}: {share}, par {1 / players:.3f}, lost by failed requests: {len(match.faults)}")


if __name__ == "__main__":
    typer.run(main)
