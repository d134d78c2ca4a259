"""`bombay play --text`: whole games, commands, undo, hints, the record and clear answers, from lines of input."""

import builtins
import re
from collections import deque

import numpy as np
import pytest
from test_play_session import SHORT, session

from bombay_env.record import read_records
from bombay_env.text import describe_board, describe_result, describe_rules, explain_sites, summarize_rules
from bombay_training.play import terminal
from bombay_training.play.session import END_TURN
from helpers.failing_agents import Wrong, raising


@pytest.fixture
def said(monkeypatch):
    """Gives lines to the terminal: a list, or a function that is asked for the next one. The screen is wide."""
    monkeypatch.setenv("COLUMNS", "120")

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
    assert "'fly' is no action" in shown
    assert "the list has no number 99; it has 1 to 7" in shown
    assert shown.count("The turn is taken back.") == 1
    assert shown.count("nothing to take back") == 1
    assert "record needs the name of a new file" in shown
    assert "File exists" in shown
    assert taken.read_text() == "mine"
    assert "1. Move to E" in shown
    assert "sites E1      show what is on a site" in shown
    assert table.legal()[0] == "move:E1"


def test_commands_tell_the_game_and_change_nothing(said, capsys):
    table = session(None, "random", "random")
    before = table.states.tobytes(), table.version
    said(["rules", "rules all", "sites", "sites e1", "sites E9", "log", "quit"])
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    plain = " ".join(shown.split())
    assert " ".join(summarize_rules(table.game).split()) in plain
    assert " ".join(describe_rules(table.game).split()) in plain
    assert " ".join(describe_board(table.game).split()) in plain
    assert f"E1: {' '.join(explain_sites(table.game, table.states, 0)['E1'])}" in plain
    assert 'has no site "E9"' in shown
    assert shown.count("Set 1 of 3 begins.") == 2
    assert (table.states.tobytes(), table.version) == before


def test_the_whole_position_is_shown_once_a_turn_and_when_asked_for(said, capsys):
    table = session(None, "random", "random")
    said(["move:E1", "", "undo", "quit"])
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    assert [part.partition("\n\n")[2].startswith("markets") for part in shown.split("\nset 1 of 3, turn 1 of 5: ")[1:]] == [
        True, False, True, True,
    ]  # fmt: skip


def test_a_turn_is_one_line_or_nothing_of_it_is_played(said, capsys):
    table = session(None, "random", game=SHORT)
    said(
        [
            "move:E1, move:E2",
            "1, end_turn",
            "1; 2.",
            "move to E1, then move to H1",
            "end turn",
            "consolidate, end turn",
            "quit",
        ]
    )
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    assert "after move:E1, with 2 actions and 2 rupees left, move:E2 is illegal" in shown
    assert shown.count("a number stands alone") == 2
    own = [event.action.action for event in table.log if event.seat == 0]
    assert own == ["move:E1", "move:H1", "end_turn", "consolidate"]
    assert table.log[-1].effect != "The game is over."
    assert table.states["turn"][0] > 0 or table.states["set"][0] > 0


@pytest.mark.parametrize("words", ["End turn", "END_TURN", "then end turn"])
def test_the_words_that_end_a_turn_also_end_one_without_actions_left(words, said, capsys):
    table = session(None, "random", game=SHORT)
    while not table.turn_done:
        table.act(table.version, next(name for name in table.legal() if name != END_TURN))
    said(["move:E1", words, "quit"])
    terminal.play(table, "champion")
    assert not table.turn_done
    assert any(event.seat == 1 for event in table.log)
    assert "move:E1 is illegal; legal are end_turn" in capsys.readouterr().out


def test_the_log_has_a_line_for_each_turn(said, capsys):
    table = session(None, "greedy", game=SHORT)
    said(["move:E1, end_turn", "consolidate, end_turn", "log all", "quit"])
    terminal.play(table, "champion")
    listed = capsys.readouterr().out.splitlines()
    log = listed[-listed[::-1].index("Set 1 of 2 begins.") :]
    assert log[0] == "seat 0 at A: Move to E1; End the turn"
    assert log[2] == "seat 0 at E1: Consolidate (+1 rupee)"
    assert [line[:9] for line in log] == ["seat 0 at", "seat 1 at", "seat 0 at", "seat 1 at", "Set 2 of ", "seat 1 at"]


def test_the_log_tells_the_last_two_rounds_and_all_if_asked(said, capsys):
    table = session(None, "greedy", game=SHORT)
    said([*["consolidate, end_turn"] * 3, "log", "log all", "quit"])
    terminal.play(table, "champion")
    shown = capsys.readouterr().out
    recent, whole = shown.split("`log all` also shows the 5 lines before these.\n")[1].split("Set 1 of 2 begins.\n")
    assert recent.count("\n") == 4
    assert whole.endswith(recent)
    assert whole.count("\n") == 4 + 5 - 1


@pytest.mark.parametrize("columns", [40, 80])
def test_lines_wrap_at_words(said, capsys, monkeypatch, columns):
    shown = []
    for width in (columns, 120):
        said(["move:E1", "rules all", "help", "fly", "quit"])
        monkeypatch.setenv("COLUMNS", str(width))
        terminal.play(session(None, "random", "random"), "champion")
        shown.append(capsys.readouterr().out)
        assert max(map(len, shown[-1].splitlines())) <= width
    assert shown[0] != shown[1]
    assert shown[0].split() == shown[1].split()


class Newcomer:
    """Somebody who knows only what the terminal prints: walks to posts, buys, walks to the nearest sale, and sells."""

    def __init__(self, capsys):
        self.capsys, self.heard, self.trails, self.posts = capsys, "", {}, set()

    def listen(self):
        """What was printed since it was last heard."""
        self.heard = self.capsys.readouterr().out
        return self.heard

    def explore(self):
        """Ask for every site that a trail leads to, from the hilltop A on."""
        waiting = deque(["A"])
        while waiting:
            site = waiting.popleft()
            if site in self.trails:
                continue
            yield f"sites {site}"
            told = self.listen()
            if re.search(rf"^{site}: an? \w+ post \(\w+ market", told, flags=re.MULTILINE):
                self.posts.add(site)
            neighbours = told.partition("actions to its neighbours: ")[2].partition("\nactions from")[0]
            self.trails[site] = re.findall(r"(\w+) \d", neighbours)
            waiting += self.trails[site]

    def step_to(self, goals, here):
        """The first site on a way with fewest trails to one of some sites; the site itself if it is one of them."""
        ways = deque([[here]])
        while ways[0][-1] not in goals:
            way = ways.popleft()
            ways += [[*way, near] for near in self.trails[way[-1]] if near not in way]
        return [*ways[0], here][1]

    def choose(self):
        """One of the actions that are listed."""
        listed = re.findall(r"^ +\d+  (\S+)  ", self.heard, flags=re.MULTILINE)
        here = re.findall(r"^seat 0  (\w+)", self.heard, flags=re.MULTILINE)[-1]
        sales = re.findall(r"^to sell +\w+  (\w+) ", self.heard, flags=re.MULTILINE)
        deals = [name for name in listed if name.startswith(("sell", "take")) or (name == "buy" and not sales)]
        step = f"move:{self.step_to(sales[-1:] or self.posts, here)}"
        return [*deals, *(name for name in listed if name == step), "end_turn"][0]


def test_a_game_is_learned_and_finished_by_the_terminal_alone(said, capsys):
    table = session(None, "random", game=SHORT, seed=6)
    reader = Newcomer(capsys)

    def lines():
        first = reader.listen()
        yield from reader.explore()
        reader.heard = first
        while "game over" not in reader.heard:
            yield reader.choose()
            reader.listen()

    said(lines())
    terminal.play(table, "champion")
    played = {event.action.action.partition(":")[0] for event in table.log if event.seat == 0}
    assert table.over
    assert {"move", "buy", "sell"} <= played
    assert describe_result(table.game, table.states) in reader.heard
    assert len(reader.trails) == table.game.board.num_sites


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
    assert re.search(r"^seat 1  A +\?", shown, flags=re.MULTILINE)
    assert table.handing_over


def test_the_end_of_the_input_ends_it(said):
    said([])
    terminal.play(session(None, "random"), "champion")
