"""The example that plays with a language model: a stub of an endpoint on loopback answers well, badly or not at all."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import language_model
import pytest

from bombay_env import Game, Rules, text
from bombay_training import arena
from helpers.failing_agents import First

GAME = Game(Rules(2, sets=1, turns_per_set=2))
TURNS = 2  # of a player in a game
USAGE = {"prompt_tokens": 100, "completion_tokens": 7}


def completion(content):
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return 200, {"choices": [choice], "usage": USAGE}


class Stub(BaseHTTPRequestHandler):
    """Answers as the server's `answer` says and keeps what it is sent."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, self.headers["Authorization"], request))
        status, body = self.server.answer(request)
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Print nothing."""


@pytest.fixture
def server(monkeypatch):
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


def played(**options):
    """Two games, one from each seat."""
    return arena.one_vs_rest(GAME, language_model.LanguageModel(**options), First(), 1)


def test_a_model_that_answers_well_plays_whole_turns(server, tmp_path):
    answer = json.dumps({"thoughts": "It is far.", "actions": ["move:E1", "move:A", "end_turn"]})
    server.answer = lambda _: completion(answer)
    transcript = tmp_path / "chats.jsonl"
    match = played(extra_body='{"max_tokens": 9}', transcript=str(transcript))
    assert match.faults == ()
    assert len(server.requests) == 2 * TURNS
    path, key, request = server.requests[0]
    assert (path, key, request["model"], request["max_tokens"]) == ("/v1/chat/completions", "Bearer secret", "stub", 9)
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["actions"]["items"]["enum"] == list(GAME.action_names)
    system, user = request["messages"]
    assert text.describe_rules(GAME) in system["content"]
    assert "You are seat 0. Legal actions:\n" in user["content"]
    lines = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 2 * TURNS
    assert lines[0]["messages"] == [user]
    assert lines[0]["answer"] == answer
    assert lines[0]["reply"]["usage"] == USAGE


def test_an_answer_that_is_not_understood_is_asked_for_once_more(server):
    server.answer = lambda request: completion("consolidate" if len(request["messages"]) > 2 else "I fly away")
    assert played(extra_body='{"response_format": null}').faults == ()
    assert len(server.requests) == 2 * 2 * TURNS
    assert all("response_format" not in sent for _, _, sent in server.requests)
    *_, answer, problem = next(sent["messages"] for _, _, sent in server.requests if len(sent["messages"]) > 2)
    assert answer == {"role": "assistant", "content": "I fly away"}
    assert "'I fly away' is no action" in problem["content"]


def test_after_two_bad_answers_the_game_is_lost(server):
    server.answer = lambda _: completion("I fly away")
    match = played()
    assert len(match.faults) == 2
    assert all("the answer cannot be played: 'I fly away' is no action" in fault.reason for fault in match.faults)


@pytest.mark.parametrize(
    ("status", "body", "requests"),
    [(401, {"error": "wrong key"}, 2), (503, {}, 8), (429, {}, 8), (200, {"choices": []}, 8), (200, [], 8)],
)
def test_an_endpoint_that_fails_loses_the_games_with_its_reason(server, status, body, requests):
    """A request is repeated three times, unless the status says that it is wrong."""
    server.answer = lambda _: (status, body)
    match = played()
    assert len(match.faults) == 2
    assert all("/v1/chat/completions failed: " in fault.reason for fault in match.faults)
    assert status == 200 or all(str(status) in fault.reason for fault in match.faults)
    assert len(server.requests) == requests


def test_a_failure_that_passes_costs_nothing(server):
    server.answer = lambda _: (503, {}) if len(server.requests) % 2 else completion("consolidate")
    assert played().faults == ()


def test_what_is_wrong_with_the_settings_is_told(server, monkeypatch):
    with pytest.raises(ValueError, match="it must be an object: "):
        language_model.LanguageModel(extra_body="[1]")
    monkeypatch.delenv("OPENAI_MODEL")
    with pytest.raises(ValueError, match="set OPENAI_BASE_URL to an address such as"):
        language_model.LanguageModel()
