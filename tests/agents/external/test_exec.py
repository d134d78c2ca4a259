"""Players that are programs of their own: what they see, what they may answer, and that a fault costs only the game.

`helpers/misbehaving_program.py` has the ways to fail. Processes that stay behind have a mark in their environment.
"""

import contextlib
import copy
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Iterator, Sequence
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest

from bombay_agents import make
from bombay_agents.external.agent import ExecAgent
from bombay_agents.external.process import MAX_LINE
from bombay_env import Game, Rules
from bombay_env.agent import AgentContext, AgentFault, ask
from bombay_env.record import Record
from bombay_env.state import state_to_dict
from bombay_env.text import describe_actions, describe_board, describe_position, describe_rules
from bombay_training.evaluation.arena import run_blocks, run_fixed_seats
from bombay_training.matches.engines.local import WorkerPool
from helpers import ROOT
from helpers.failing_agents import First
from helpers.misbehaving_program import KINDS

GAME = Game(Rules(3, sets=1, turns_per_set=2))
PROGRAM = ROOT / "tests" / "helpers" / "misbehaving_program.py"
EXAMPLES = ROOT / "training" / "examples"
PLAYER = EXAMPLES / "exec_player.py"
PAGE = ROOT / "docs" / "external.md"
MARK = "BOMBAY_TEST_MARK"
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are counted in /proc")


def marked(mark: str) -> list[int]:
    """The processes with this mark in their environment, without this one and the one of Python beside pools."""
    own = (os.getpid(), getattr(resource_tracker._resource_tracker, "_pid", None))
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) not in own:
            try:
                held = (folder / "environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={mark}".encode() in held.split(b"\0"):
                found.append(int(folder.name))
    return found


def assert_none_left(mark: str, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A mark in the environment of all processes that a test starts; none is left after the test."""
    value = uuid.uuid4().hex
    monkeypatch.setenv(MARK, value)
    yield value
    if Path("/proc/self/environ").exists():
        assert_none_left(value)


def misbehaving(kind: str, number: int, *more: str, **options: float) -> ExecAgent:
    command = f"{sys.executable} -I -S {PROGRAM} {kind} {number} {' '.join(more)}"
    return ExecAgent(command, **{"seconds": 0.3 if kind in TIMED else 30, "memory": 512, **options})


def script(tmp_path: Path, code: str, **options: float) -> ExecAgent:
    """An agent that runs this Python code, which has `json`, `sys` and `say`."""
    file = tmp_path / "program.py"
    start = "import json, sys, time\ndef say(m):\n    print(json.dumps(m), flush=True)\n"
    file.write_text(start + textwrap.dedent(code))
    return ExecAgent(f"{sys.executable} -I -S {file}", **options)


LOOP = """
for line in sys.stdin:
    message = json.loads(line)
    {each}
    if message["type"] == "start":
        say({{"type": "ready", "wants": {wants}}})
    elif message["type"] == "act":
        say({{"id": message["id"], "action": {action}}})
"""


def player(tmp_path: Path, action: str, wants: Sequence[str] = (), each: str = "pass", **options: float) -> ExecAgent:
    """A program that answers each question with an expression, after `each` at every message."""
    return script(tmp_path, LOOP.format(action=action, wants=list(wants), each=each), **options)


# --- a program that behaves ---


@needs_proc
@pytest.mark.parametrize("make_env", [gymnasium.make, gymnasium.make_vec])
def test_closing_an_environment_ends_the_programs_of_its_opponents(make_env: Any, mark: str) -> None:
    env = make_env("bombay/Bombay-v0", num_players=2, seat=1, opponents=f"exec:command={sys.executable} {PLAYER}")
    env.reset(seed=1)
    assert marked(mark)
    env.close()
    assert_none_left(mark)


@needs_proc
def test_closing_an_environment_leaves_a_program_that_it_was_given(mark: str) -> None:
    agent = ExecAgent(f"{sys.executable} {PLAYER}")
    env = gymnasium.make("bombay/Bombay-v0", num_players=2, seat=1, opponents=agent)
    env.reset(seed=1)
    env.close()
    assert marked(mark)
    agent.close()


def test_the_example_plays_whole_games() -> None:
    records: list[Record] = []
    agent = make(f"exec:command={sys.executable} {PLAYER}")
    match = run_blocks(GAME, [agent, First(), First()], 2, seed=3, records=records)
    assert match.faults == ()
    assert len(records) == 6
    for record in records:
        record.verify()
    again = run_blocks(GAME, [agent, First(), First()], 2, seed=3)
    assert (again.final == match.final).all()
    agent.close()


def test_the_page_shows_the_example() -> None:
    shown, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert shown == (EXAMPLES / "exec_player.py").read_text(encoding="utf-8")


def test_what_a_program_is_told(tmp_path: Path, mark: str) -> None:
    file = tmp_path / "told.jsonl"
    last, keep = 'message["legal"][-1]["name"]', f'open({str(file)!r}, "a").write(line)'
    agent = player(tmp_path, last, ("text", "state", "observation"), keep, seconds=20, memory=0)
    states = GAME.new_states([5, 6])
    GAME.step(states, [GAME.action_index("consolidate")] * 2)
    actions = ask(agent, GAME, states, AgentContext(np.random.default_rng(1), [1234567, 7654321]))
    assert [GAME.action_name(action) for action in actions] == ["end_turn"] * 2
    other = Game(Rules.official(2))
    ask(agent, other, other.new_states([1]), AgentContext(np.random.default_rng(1), [3]))
    agent.close()
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert [message["type"] for message in told] == ["start", "game", "act", "act", "game", "act"]
    assert told[0] == {"type": "start", "protocol": "bombay-exec/1", "seconds": 20, "memory_mb": None}
    game = told[1]
    assert Game(Rules.from_dict(game["rules"]), type(GAME.board).from_dict(game["board"])) == GAME
    assert (game["players"], tuple(game["actions"])) == (3, GAME.action_names)
    assert told[4]["players"] == 2
    assert game["text"].startswith(describe_rules(GAME))
    assert game["text"].endswith(describe_board(GAME))
    for lane, question in enumerate(told[2:4]):
        state = states[lane : lane + 1]
        assert set(question) == {"type", "id", "seat", "random", "legal", "state", "observation", "text"}
        assert (question["id"], question["seat"]) == (lane + 1, 1)
        assert 0 <= question["random"] < 2**32
        legal = np.flatnonzero(GAME.legal_actions(state)[0]).tolist()
        assert question["legal"] == [{"action": action, "name": GAME.action_name(action)} for action in legal]
        facts = state_to_dict(state[0], GAME.rules, GAME.board)
        del facts["seed"]
        assert question["state"] == facts
        assert np.array_equal(np.float32(question["observation"]), GAME.observe(state)[0])
        assert question["text"] == f"{describe_position(GAME, state)}\n\n{describe_actions(GAME, state)}"
    assert told[2]["random"] != told[3]["random"]
    assert "1234567" not in file.read_text()


def test_a_whole_turn_is_one_answer(tmp_path: Path, mark: str) -> None:
    left = "assert message.get('state', {'actions_left': 3})['actions_left'] == 3"
    agent = player(tmp_path, "f\"Answer: {message['legal'][0]['name']}, end turn\"", ("state",), left)
    match = run_fixed_seats(GAME, [agent, First(), First()], 3)
    assert match.faults == ()
    agent.close()


def test_copies_start_a_program_of_their_own(mark: str) -> None:
    spec = f"exec:command=[{sys.executable} -c 'print([1,2])'],seconds=3,start=4.5,memory=99"
    agent = make(spec)
    assert agent.command == (sys.executable, "-c", "print([1,2])")
    assert (agent.seconds, agent.start, agent.memory) == (3, 4.5, 99)
    assert make(agent.name).name == agent.name == spec
    for other in (copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert (other.name, other.command, other._session) == (agent.name, agent.command, None)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("exec", "needs the option 'command', as in 'exec:command=…'"),
        ("exec:command=no-such-program x", "starts with 'no-such-program', which is no program"),
        ("exec:command='", "cannot be split: No closing quotation"),
        ("exec:command=[]", "starts with nothing"),
        ("exec:command=sh,seconds=0", "seconds is 0.0; it must be from 0.001 to 86400"),
        ("exec:command=sh,memory=1", "memory is 1; it must be 0 or from 16 to 1048576 megabytes"),
        ("exec:command=sh -c 1,2", "'2' is not of the form key=value"),
    ],
)
def test_a_wrong_spec_is_refused_in_one_line(spec: str, words: str) -> None:
    with pytest.raises(ValueError, match="exec") as refused:
        make(spec)
    assert words in str(refused.value)
    assert len(str(refused.value)) <= 500


# --- programs that misbehave ---

TIMED = {  # what only a limit of time ends
    "hang", "spawn-and-hang", "spawn-and-kills-guard", "endless-stderr", "closes-input",
}  # fmt: skip
REASONS = {
    "crash": "its process ended (exit code 3)",
    "raise": "its process ended (exit code 1); its last words are 'ZeroDivisionError: division by zero'",
    "hang": "it took longer than 0.3 s",
    "garbage": "it wrote b'\\x00\\xff\\x1b[31m {': its answer is not JSON: expected value",
    "two-lines": "it wrote more than one line",
    "endless-line": f"it wrote more than {MAX_LINE:,} bytes for one answer",
    "endless-stderr": "it took longer than 0.3 s",
    "closes-output": "it closed its standard output",
    "closes-input": "is no action",
    "spawn-and-crash": "its process ended (exit code 4)",
    "spawn-and-hang": "it took longer than 0.3 s",
    "spawn-and-kills-guard": "it took longer than 0.3 s",
    "memory": "its process ended (exit code 1); its last words are 'MemoryError'",
    "illegal-name": "take:blue is illegal; legal are move:",
    "wrong-id": "it answered question",
    "no-action": "its answer.action is missing",
}
ACTIONS = {"illegal-name": "take:blue"}


def assert_lost(match, records: list[Record], kind: str) -> None:
    """The first agent of the line-up loses every game for the expected reason, and the others share it."""
    assert len(match.faults) == len(records) == match.num_games
    for fault, record in zip(match.faults, records, strict=True):
        assert fault.agent == 0
        assert REASONS[kind] in fault.reason, fault.reason
        assert fault.reason.isprintable()
        assert len(fault.reason) <= 500
        assert record.fault == {"seat": fault.seat, "action": ACTIONS.get(kind, "none"), "reason": fault.reason}
        shares = match.win_share[fault.game].tolist()
        assert shares == [0 if seat == fault.seat else 0.5 for seat in range(3)]
        Record.from_dict(record.to_dict()).verify()


@needs_proc
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_that_misbehaves_loses_its_game_and_nothing_else(kind: str, mark: str) -> None:
    records: list[Record] = []
    match = run_fixed_seats(GAME, [misbehaving(kind, 2), First(), First()], 1, records=records)
    assert_lost(match, records, kind)


@needs_proc
@pytest.mark.parametrize(("kind", "reason"), [("crash", "exit code 3"), ("hang", "it took longer than 0.2 s")])
def test_a_program_that_never_gets_ready_loses_the_game(kind: str, reason: str, mark: str) -> None:
    match = run_fixed_seats(GAME, [misbehaving(kind, 0, start=0.2 if kind == "hang" else 30), First(), First()], 2)
    assert len(match.faults) == 2
    assert all(reason in fault.reason for fault in match.faults)


@needs_proc
def test_games_in_which_it_does_not_fail_are_as_without_faults(mark: str) -> None:
    plain = run_blocks(GAME, [First(), First("x"), First()], 3)
    records: list[Record] = []
    match = run_blocks(GAME, [First(), misbehaving("illegal-name", 1, "Bombay:orange"), First()], 3, records=records)
    hit = {game for game in range(9) if records[game].to_dict()["setup"]["demand"]["Bombay"][0] == "orange"}
    assert {fault.game for fault in match.faults} == hit
    assert 0 < len(hit) < 9
    kept = [game for game in range(9) if game not in hit]
    assert (match.final[kept] == plain.final[kept]).all()
    assert (match.win_share[kept] == plain.win_share[kept]).all()


@needs_proc
def test_much_standard_error_is_no_fault(tmp_path: Path, mark: str) -> None:
    much = 'sys.stderr.write("x" * 300_000); sys.stderr.flush()'
    agent = player(tmp_path, 'message["legal"][0]["action"]', each=much)
    assert run_fixed_seats(GAME, [agent, First(), First()], 1).faults == ()


@needs_proc
def test_ctrl_c_while_it_thinks_ends_the_program(mark: str) -> None:
    agent = misbehaving("hang", 1, seconds=60)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            ask(agent, GAME, GAME.new_states([1]), AgentContext(np.random.default_rng(1), [1]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert_none_left(mark)
    with pytest.raises(AgentFault, match="it took longer"):
        ask(misbehaving("hang", 1), GAME, GAME.new_states([1]), AgentContext(np.random.default_rng(1), [1]))


@needs_proc
def test_nothing_is_left_when_the_host_is_killed(mark: str) -> None:
    code = f"""
    import sys
    from bombay_agents.external.process import Program
    program = Program([{sys.executable!r}, "-I", "-S", {str(PROGRAM)!r}, "spawn-and-hang", "0"], 0)
    print("running", flush=True)
    program.exchange(b'{{"type": "start"}}\\n', 100)
    """
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    host = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, env=environment, cwd=ROOT
    )
    assert host.stdout is not None
    host.stdout.readline()
    deadline = time.monotonic() + 20
    while len(marked(mark)) < 15 and time.monotonic() < deadline:  # the host, the guard, the program, 3 + 9 below it
        time.sleep(0.02)
    assert len(marked(mark)) >= 15
    host.kill()
    assert_none_left(mark)  # although nobody has waited for the host
    host.wait()
    host.stdout.close()


@pytest.mark.parametrize(
    ("options", "last"),
    [({"env": {}, "start_new_session": True}, "time.sleep(100)"), ({"env": {}}, "sys.exit(4)")],
    ids=["it has a parent", "it stays in the session"],
)
def test_a_process_without_the_environment_is_ended(options: Any, last: str, tmp_path: Path, mark: str) -> None:
    file = tmp_path / "pid"
    code = f"""
    import pathlib, subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], **{options})
    pathlib.Path({str(file)!r}).write_text(str(child.pid))
    {last}
    """
    agent = script(tmp_path, code, start=2)
    with pytest.raises(AgentFault):
        ask(agent, GAME, GAME.new_states([1]), AgentContext(np.random.default_rng(1), [1]))
    with contextlib.suppress(
        psutil.NoSuchProcess
    ):  # without its parent it may stay a zombie, where nobody waits for it
        assert psutil.Process(int(file.read_text())).status() == psutil.STATUS_ZOMBIE


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["spawn-and-hang", "crash"])
def test_a_pool_that_kills_its_workers_leaves_no_program_behind(kind: str, mark: str) -> None:
    spec = misbehaving(kind, 2, seconds=600).name
    with WorkerPool(2, turn_limit=1) as pool:
        match = run_blocks(GAME, [spec, "random", "random"], 2, pool=pool)
    assert len(match.faults) == 6
    expected = "it took longer than 1 s" if kind != "crash" else "exit code 3"
    assert all(expected in fault.reason for fault in match.faults)
