"""At every door through which a player is asked or shown a game, it learns nothing from which coming draws can be told.

The seeds of the games are noted where games are dealt. A player must not find one in the copies that it gets, in its generator,
or in what a page, a terminal or a program is told.
"""

import builtins
import json
import sys
import textwrap
import types

import numpy as np
import pytest

from bombay_agents.external.agent import ExecAgent
from bombay_agents.nets.value import features
from bombay_agents.search.agent import ValuedTurn
from bombay_env import Board, Game, Rules
from bombay_env.agent import LaneGenerator
from bombay_training.evaluation import arena
from bombay_training.learners.best_response import FrozenOpponent, ResponsePlay
from bombay_training.learners.runs import run as runs
from bombay_training.learners.zero import optimizer
from bombay_training.learners.zero.self_play import PlayOptions
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.run import run
from bombay_training.play import model_table, terminal
from bombay_training.play.session import Session
from helpers.failing_agents import First
from helpers.gym_envs import play, single, vector
from helpers.nets import HIDDEN, SECOND

SEED = 6_871_947_673_600_001  # that a user gives: no player may see it, as deals follow from it
GAME = Game(Rules(3, sets=2, turns_per_set=1, actions_per_turn=1))
SPY = "test_doors:Spy"
seen: list[int] = []  # all numbers that spies got from which draws could be told, by value
asked: list[str] = []  # the methods that were called


def note(states, rng):
    seen.extend(states["seed"].tolist())
    seen.extend(numbers_of(rng.bit_generator.seed_seq.entropy))
    if isinstance(rng, LaneGenerator):
        seen.extend([*rng.keys.tolist(), *rng.games.tolist()])


def numbers_of(entropy):
    return [int(entropy)] if np.ndim(entropy) == 0 else [number for part in entropy for number in numbers_of(part)]


class Spy(First):
    """Plays the lowest legal action, also as an adviser; notes what it gets."""

    def __init__(self):
        super().__init__("spy")

    def act(self, game, states, rng):
        asked.append("act")
        note(states, rng)
        return super().act(game, states, rng)

    def best_turns(self, game, state, rng, most=3):
        asked.append("best_turns")
        note(state, rng)
        action = int(super().act(game, state, rng)[0])
        return [ValuedTurn((action,), state, np.ones(3) / 3, np.zeros(3), 1, ())]


def match(**how):
    for format in Seating.ALL, Seating.ROTATE:
        run([Lineup(GAME, (Spy(), First(), Spy()), 3, SEED, format, **how)])


def environment(make, steps):
    env = make(3, opponents=Spy())
    for seed in (SEED, None):
        _, info = env.reset(seed=seed)
        play(env) if make is single else [env.step(np.argmax(env.action_masks(), axis=1)) for _ in range(steps)]
    return json.dumps({name: np.asarray(value).tolist() for name, value in info.items()})


def at_terminal(monkeypatch, capsys):
    table = Session(GAME, [None, Spy(), Spy()], SEED)
    lines = iter(["hint", "log", "rules", "1", "end_turn", "map", "hint"])

    def answer(prompt):
        if (line := next(lines, None)) is None:
            raise EOFError
        return line

    monkeypatch.setattr(builtins, "input", answer)
    terminal.play(table, SPY)
    return "".join(capsys.readouterr())


def by_model(monkeypatch):
    monkeypatch.setattr(model_table, "Rules", types.SimpleNamespace(official=lambda players: GAME.rules))
    table = model_table.ModelTable([SPY], Board.load())
    told = [table.new_game(["model", SPY, SPY], SEED), table.observe()]
    return "\n".join([*told, table.act("consolidate, end_turn"), table.record()])


def on_page():
    pytest.importorskip("starlette", reason="needs the extra `play`")
    from bombay_training.play.web.play_app import PlayApp
    from bombay_training.play.web.worker import Worker
    from helpers.asgi import Client

    worker = Worker()
    app = PlayApp(Session(GAME, [None, Spy(), Spy()], SEED), worker, SPY, 0.0)
    with Client(app.application) as client:
        told = [client.get("api/state"), client.post("api/hint", {"version": 0})]
        told.append(client.post("api/act", {"version": 0, "action": "consolidate"}))
        told.append(client.post("api/act", {"version": 1, "action": "end_turn"}))
        client.settle(lambda: app.session.human_to_move)
        told += [client.get("api/state"), client.get("api/record")]
    assert worker.stop()
    assert {status for status, _ in told} == {200}
    return json.dumps(told)


def as_victim():
    first, count = features.first_rows(GAME.board.num_sites), features.num_rows(GAME.board.num_sites)
    trainer = optimizer.Trainer(first, count, HIDDEN, SECOND, seed=1)
    games = ResponsePlay([GAME], 3, HIDDEN, SECOND, FrozenOpponent(SPY))
    games.play(trainer.net, SEED, 0, PlayOptions(np.float32(2), 0.0, np.float32(0.5)))


def in_quick_matches(monkeypatch):
    monkeypatch.setattr(runs, "DEALS", SEED)
    monkeypatch.setattr(runs, "BLOCKS", 2)
    runs.quick_matches(Spy(), [GAME], [SPY])


PROGRAM = """
    import json, sys
    told = open(sys.argv[1], "a")
    for line in sys.stdin:
        message = json.loads(line)
        told.write(line)
        told.flush()
        if message["type"] == "start":
            print(json.dumps({"type": "ready", "protocol": message["protocol"], "wants": ["state", "text", "observation"]}))
        elif message["type"] == "act":
            print(json.dumps({"id": message["id"], "action": message["legal"][0]["action"]}))
        sys.stdout.flush()
"""


def as_program(folder):
    program, told = folder / "player.py", folder / "told"
    program.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    agent = ExecAgent(f"{sys.executable} {program} {told}")
    try:
        found = arena.run_blocks(GAME, [agent, First(), Spy()], 2, SEED)
    finally:
        agent.close()
    assert not found.faults
    text = told.read_text(encoding="utf-8")
    assert text.count('"act"') >= 6
    assert '"seed"' not in text
    return text


def for_openspiel():
    pytest.importorskip("pyspiel", reason="needs OpenSpiel")
    from bombay_training import openspiel

    game = openspiel.BombayGame({"players": 3})
    state = game.state_at(game.game.new_states([SEED]))
    seen.extend(state.play.states["seed"].tolist())
    asked.append("state_at")
    return str(state) + state.observation_string(0) + state.information_state_string(0) + state.serialize()


DOORS = {
    "matches": lambda **_: match(),
    "matches one by one": lambda **_: match(chunk_games=1),
    "matches that redraw": lambda **_: match(redraw=("restocks", "play")),
    "quick matches": lambda monkeypatch, **_: in_quick_matches(monkeypatch),
    "Gymnasium": lambda **_: environment(single, 0),
    "Gymnasium's vectors": lambda **_: environment(vector, 12),
    "the victim of a best response": lambda **_: as_victim(),
    "the terminal": lambda monkeypatch, capsys, **_: at_terminal(monkeypatch, capsys),
    "the page": lambda **_: on_page(),
    "a language model": lambda monkeypatch, **_: by_model(monkeypatch),
    "a program": lambda tmp_path, **_: as_program(tmp_path),
    "OpenSpiel": lambda **_: for_openspiel(),
}


@pytest.mark.parametrize("door", DOORS)
def test_no_player_learns_the_seed_of_its_game(door, monkeypatch, capsys, tmp_path):
    deal, dealt = Game.new_states, {SEED}

    def new_states(self, seeds, *given, **named):
        states = deal(self, seeds, *given, **named)
        dealt.update(states["seed"].tolist())
        return states

    monkeypatch.setattr(Game, "new_states", new_states)
    seen.clear()
    asked.clear()
    told = DOORS[door](monkeypatch=monkeypatch, capsys=capsys, tmp_path=tmp_path) or ""
    dealt.discard(0)  # of lanes that wait for their deal
    assert asked
    assert set(asked) >= ({"act", "best_turns"} if door in ("the terminal", "the page") else set())
    assert not dealt & set(seen)
    assert not any(str(seed) in told for seed in dealt)
