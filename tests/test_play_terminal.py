"""`bombay play --text`: a whole game, undo, hints, the record and clear answers, from lines of input."""

import builtins

import numpy as np
import pytest

from bombay_env.record import read_records
from bombay_training.play import terminal
from bombay_training.play.session import END_TURN
from helpers.failing_agents import Wrong, raising
from test_play_session import SHORT, session


@pytest.fixture
def said(monkeypatch):
    """Gives lines to the terminal: a list, or a function that is asked for the next one."""

    def give(lines):
        waiting = iter(lines)

        def answer(prompt):
            line = next(waiting, None)
            if line is None:
                raise EOFError
            return line() if callable(line) else line

        monkeypatch.setattr(builtins, "input", answer)

    return give


def test_a_whole_game(said, capsys, tmp_path):
    table, rng = session(None, "random", game=SHORT), np.random.default_rng(1)

    def choose():
        if table.over:
            return f"record {tmp_path / 'game.jsonl'}"
        legal = table.legal()
        place = int(rng.integers(len(legal)))
        return str(place + 1) if rng.random() < 0.5 else legal[place]

    def lines():
        while not table.over:
            yield choose
        yield choose

    said(lines())
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    assert table.over
    assert "The game is over." in shown
    (record,) = read_records(tmp_path / "game.jsonl")
    record.verify()
    final = record.result["final"]
    assert f"{'final':<13}" + "".join(f"  {rupees:>6}" for rupees in final) in shown
    for event in table.log:
        assert event.effect in shown


def test_undo_and_errors_and_hints(said, capsys, tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    table = session(None, "random", "random")
    said(["fly", "99", "move:E1", "undo", "undo", "record", f"record {taken}", "hint", "help", "quit"])
    terminal.play(table, "champion:nodes=1")
    shown = capsys.readouterr().out
    assert "'fly' is not legal now; legal are move:E1" in shown
    assert "'99' is not legal now" in shown
    assert shown.count("nothing to take back") == 1
    assert "record needs the name of a new file" in shown
    assert "File exists" in shown
    assert taken.read_text() == "mine"
    assert "1. Move to E" in shown
    assert shown.count(terminal.HELP) == 2
    assert table.legal()[0] == "move:E1"


def test_a_failing_agent_is_replaced(said, capsys):
    agent = Wrong(raising)
    agent.calls = 2
    table = session(None, agent, game=SHORT)
    said(["consolidate", END_TURN, "nonsense", "replace nobody", "retry", "replace random", "quit"])
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    assert "the agent in seat 1 failed, and the game is as before: it raised KeyError" in shown
    assert "no agent is named 'nobody'" in shown
    assert table.names[1] == "wrong, then random"
    assert table.human_to_move


def test_screens_are_handed_over(said, capsys):
    table = session(None, None, screened=True)
    said(["", "consolidate", END_TURN])
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    assert "seat 1  A        ?" in shown
    assert table.handing_over


def test_the_end_of_the_input_ends_it(said):
    said([])
    terminal.play(session(None, "random"), "champion")
