"""A language model as a player, by any endpoint that offers OpenAI's chat completions.

    export OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=my-model
    cd training/examples; bombay arena language_model:LanguageModel greedy --blocks 25 --processes 1

OPENAI_API_KEY is sent if it is set. The model gets the rules, the position and the legal actions in words and answers with its
thoughts and the actions of its turn, as JSON of a schema that names all actions of the game. If an answer is not understood,
it is told why and asked once more; then it loses the game.
"""

import json
import os
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError

import numpy as np

from bombay_env import Game, text

TASK: Final = """You play the game below and want to win. Each message has a position in which it is your turn, and the actions
that are legal now. After one of them others may be legal that are not listed: for instance, `buy` may follow a move.
Think briefly, then list all actions of your turn. Answer with JSON: {"thoughts": "…", "actions": ["ACTION", "ACTION", …]}"""
RETRIES: Final = 3  # of a failed request, unless its status says that it is wrong


class LanguageModel:
    """An agent that asks a language model.

    Args:
        parallel: requests at the same time.
        timeout: seconds without a byte from the endpoint after which a request has failed.
        extra_body: a JSON object whose entries are added to every request; null leaves an entry out, such as
            `{"response_format": null}` for an endpoint without schemas.
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
            raise ValueError(f'the extra body is {extra_body}; it must be an object: {{"max_tokens": 9000}}') from None
        self.transcript = Path(transcript) if transcript else None
        if self.transcript:
            self.transcript.touch()
        self.planned: dict[bytes, Any] = {}  # by state: the next action of a turn, or why there is none

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (batch,) int64 for states (batch,). Raises RuntimeError if the endpoint or an answer fails."""
        records = game.scrub(states, [0] * len(states))  # so that a state is found again
        lanes = {records[lane].tobytes(): records[lane : lane + 1] for lane in range(len(records))}
        self._plan(game, {key: state for key, state in lanes.items() if key not in self.planned})
        failures = [self.planned[key] for key in lanes if isinstance(self.planned[key], RuntimeError)]
        if not failures or len(lanes) == 1:  # if one of several failed, the arena then asks for each state alone
            chosen = {key: self.planned.pop(key) for key in lanes}
        if failures:
            raise failures[0]
        return np.array([chosen[record.tobytes()] for record in records], np.int64)

    def _plan(self, game: Game, states: dict[bytes, np.ndarray]) -> None:
        """Plan a turn from each state."""
        system = f"{TASK}\n\n{text.describe_rules(game)}\n\n## Trails\n{text.describe_board(game)}"
        chats = {key: [{"role": "system", "content": system}] for key in states}
        for key, state in states.items():
            legal = f"You are seat {state['current_player'][0]}. Legal actions:\n{text.describe_actions(game, state)}"
            chats[key].append({"role": "user", "content": f"{text.describe_position(game, state)}\n\n{legal}"})
        for _ in range(2):
            with ThreadPoolExecutor(self.parallel) as pool:
                answers = list(pool.map(lambda chat: self._answer(game, chat), chats.values()))
            for key, answer in zip(list(chats), answers, strict=True):
                try:
                    turn = text.parse_answer(game, states[key], answer) if isinstance(answer, str) else [answer]
                    self._remember(game, states[key], turn)
                    del chats[key]
                except text.AnswerError as error:
                    self.planned[key] = RuntimeError(f"the answer cannot be played: {error}")
                    problem = f"That cannot be played: {error}. Answer again with all actions of your turn."
                    chats[key] += [{"role": "assistant", "content": str(answer)}, {"role": "user", "content": problem}]

    def _remember(self, game: Game, state: np.ndarray, turn: list[Any]) -> None:
        after = state.copy()
        for place, action in enumerate(turn):
            if place:
                game.step(after, [turn[place - 1]])
            self.planned[after.tobytes()] = action

    def _answer(self, game: Game, chat: list[dict[str, str]]) -> str | RuntimeError:
        """The model's answer, or why there is none."""
        entries = {"response_format": turn_format(game), **self.body, "messages": chat}
        body = json.dumps({name: entry for name, entry in entries.items() if entry is not None}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        if key := os.environ.get("OPENAI_API_KEY"):
            request.add_unredirected_header("Authorization", f"Bearer {key}")  # for this server only
        for attempt in range(RETRIES + 1):
            time.sleep(2**attempt - 1)
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    reply: Any = json.loads(response.read(1 << 20))
                answer = str(reply["choices"][0]["message"]["content"] or "")
            except Exception as error:  # no connection, a status that is an error, or no chat completion
                reason = repr(error)
                if isinstance(error, HTTPError):
                    reason = f"{error}: {error.read(300).decode(errors='replace')}"
                    error.close()
                    if error.code < 500 and error.code != 429:
                        break
            else:
                if self.transcript:
                    exchange = {"messages": chat[1:], "answer": answer, "reply": reply}  # without the rules
                    with self.transcript.open("a", encoding="utf-8") as file:
                        file.write(f"{json.dumps(exchange, ensure_ascii=False)}\n")
                return answer
        return RuntimeError(f"request to {self.url} failed: {' '.join(reason.split())}")


def turn_format(game: Game) -> dict[str, Any]:
    """The form of an answer: thoughts, then actions of the game by name. Which are legal depends on those before them."""
    actions = {"type": "array", "items": {"type": "string", "enum": list(game.action_names)}}
    schema = {"type": "object", "properties": {"thoughts": {"type": "string"}, "actions": actions}}
    schema |= {"required": ["thoughts", "actions"], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "turn", "strict": True, "schema": schema}}
