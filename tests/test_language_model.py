"""The example that plays with a language model: a stub of an endpoint on loopback answers well, badly or not at all."""

import json
import runpy
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import language_model
import pytest

from bombay_env import Game, Rules, read_records, text
from bombay_training import arena
from helpers.failing_agents import First

GAME = Game(Rules(2, sets=1, turns_per_set=2))
TURNS = 2  # of a player in a game
USAGE = {"prompt_tokens": 100, "completion_tokens": 7}
Answer = Callable[[dict[str, Any]], tuple[int, Any]]  # a request → a status and a body


def completion(content: str, finish: str = "stop", usage: Any = USAGE) -> tuple[int, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return 200, {"choices": [choice], "usage": usage}


class Stub(BaseHTTPRequestHandler):
    """Answers as the server's `answer` says and keeps what it is sent."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], request))  # type: ignore[attr-defined]
        status, body = self.server.answer(request)  # type: ignore[attr-defined]
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Stub) as stub:
        stub.requests, stub.answer = [], lambda _: completion("Answer: consolidate")
        threading.Thread(target=stub.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{stub.server_port}/v1")
        monkeypatch.setenv("OPENAI_MODEL", "stub")
        monkeypatch.setenv("OPENAI_API_KEY", "secret")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(language_model.time, "sleep", lambda _: None)
        yield stub
        stub.shutdown()


def played() -> tuple[Any, dict[str, int]]:
    """Two games, one from each seat, and what was counted."""
    model = language_model.LanguageModel()
    return arena.one_vs_rest(GAME, model, First(), 1), dict(model.counts)


def test_a_model_that_answers_well_plays_whole_turns(server: Any) -> None:
    server.answer = lambda _: completion("It is far.\nAnswer: move:E1, move:A, end_turn")
    match, counts = played()
    assert match.faults == ()
    requests = 2 * TURNS
    assert counts["questions"] == requests == len(server.requests)
    assert (counts["asked_again"], counts["random_actions"]) == (0, 0)
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (100 * requests, 7 * requests)
    path, key, request = server.requests[0]
    assert (path, key, request["model"]) == ("/v1/chat/completions", "Bearer secret", "stub")
    system, user = request["messages"]
    assert text.describe_rules(GAME) in system["content"]
    assert "You are seat 0. Legal actions:\n" in user["content"]


def test_an_answer_that_is_not_understood_is_asked_for_once_more(server: Any) -> None:
    server.answer = lambda request: completion("consolidate" if len(request["messages"]) > 2 else "I fly away")
    match, counts = played()
    assert match.faults == ()
    assert counts["asked_again"] == counts["questions"] == 2 * TURNS
    assert counts["random_actions"] == 0
    *_, answer, problem = next(sent["messages"] for _, _, sent in server.requests if len(sent["messages"]) > 2)
    assert answer == {"role": "assistant", "content": "I fly away"}
    assert "'I fly away' is no action" in problem["content"]


def test_after_two_bad_answers_a_legal_action_is_drawn(server: Any) -> None:
    server.answer = lambda _: completion("I fly away")
    match, counts = played()
    assert match.faults == ()
    assert counts["random_actions"] == counts["asked_again"] == counts["questions"] >= 2 * TURNS


@pytest.mark.parametrize(
    ("status", "body", "requests"),
    [(401, {"error": "wrong key"}, 2), (503, {}, 8), (429, {}, 8), (200, {"choices": []}, 8), (200, [], 8)],
)
def test_an_endpoint_that_fails_loses_the_games_with_its_reason(
    server: Any, status: int, body: Any, requests: int
) -> None:
    """A request is repeated three times, unless the status says that it is wrong."""
    server.answer = lambda _: (status, body)
    match, counts = played()
    assert len(match.faults) == 2
    assert all("/v1/chat/completions failed: " in fault.reason for fault in match.faults)
    assert status == 200 or all(str(status) in fault.reason for fault in match.faults)
    assert len(server.requests) == requests
    assert counts["failed_requests"] == 2


def test_a_failure_that_passes_costs_nothing(server: Any) -> None:
    server.answer = lambda _: (503, {}) if len(server.requests) % 2 else completion("consolidate")
    match, counts = played()
    assert match.faults == ()
    assert counts.get("failed_requests", 0) == 0


def test_the_command_prints_the_result_and_what_was_used(
    server: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, transcript = tmp_path / "games.jsonl", tmp_path / "chats.jsonl"
    language_model.main(2, "random", blocks=2, extra_body='{"max_tokens": 9}', out=out, transcript=str(transcript))
    printed, err = capsys.readouterr()
    assert printed.startswith("win share against random: ")
    assert "rupees, random actions 0.0%, lost by faults: 0" in printed
    assert "questions: 64, " in err
    assert "completion_tokens: 448" in err
    assert "warning" not in err
    assert server.requests[-1][2]["max_tokens"] == 9
    assert len(list(read_records(out))) == 4
    lines = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 64 == len(server.requests) - 1  # the first request only checks the endpoint
    assert lines[0]["answer"] == "Answer: consolidate"
    assert "Legal actions:" in lines[0]["messages"][0]["content"]


def test_a_result_of_random_actions_says_so(server: Any, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = lambda _: completion("Let me think", "length", usage=None)
    language_model.main(2, "random", blocks=2)
    printed, err = capsys.readouterr()
    assert "random actions 100.0%" in printed
    assert "warning: many actions are random" in err
    assert "prompt_tokens: unknown, completion_tokens: unknown" in err
    counts = dict(part.split(": ") for part in err.splitlines()[0].split(", "))
    assert int(counts["cut_off"]) == 2 * int(counts["questions"])


def test_a_result_with_failed_requests_is_an_error(server: Any) -> None:
    server.answer = lambda _: (401, {}) if len(server.requests) > 5 else completion("consolidate")
    with pytest.raises(SystemExit, match=r"^the first fault: agent 'LanguageModel' .* failed: HTTP Error 401"):
        language_model.main(2, "random", blocks=2)


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The line with which the command ends."""
    monkeypatch.setattr(sys, "argv", ["language_model.py", *arguments])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(language_model.__file__, run_name="__main__")
    assert str(end.value).startswith("language_model.py: ")
    assert "\n" not in str(end.value)
    return str(end.value)


def test_a_command_that_cannot_play_ends_in_one_line(
    server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "old").touch()
    assert "File exists" in ended(monkeypatch, "--out", str(tmp_path / "old"))
    assert "it must be an object such as" in ended(monkeypatch, "--extra-body", "[1]")
    server.requests.clear()
    server.answer = lambda _: (401, "wrong\nkey")
    assert 'failed: HTTP Error 401: Unauthorized: "wrong' in ended(monkeypatch)
    server.answer = lambda _: (503, {})
    assert "failed: HTTP Error 503" in ended(monkeypatch)
    assert len(server.requests) == 2
    monkeypatch.delenv("OPENAI_MODEL")
    assert "set OPENAI_BASE_URL to an address such as" in ended(monkeypatch)
