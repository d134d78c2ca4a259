"""A session of play: legal choices, turns taken back, versions, failing agents, what a screen hides, and the account."""

import dataclasses
import json

import numpy as np
import pytest

from bombay_agents import make
from bombay_env import Game, Rules
from bombay_env.render import svg
from bombay_env.text import describe_actions
from bombay_training.play import messages
from bombay_training.play.account import SOURCES, account
from bombay_training.play.effects import preview
from bombay_training.play.session import END_TURN, HUMAN, Event, OutdatedError, Session, SessionError
from helpers.failing_agents import First, Wrong, raising
from helpers.position import each_count, random_play, variant

GAMES = {n: Game(Rules.official(n)) for n in (2, 3, 4, 5)}
SOON = Game(Rules(3, sets=1, turns_per_set=1))
SHORT = Game(dataclasses.replace(Rules.official(2), sets=2, turns_per_set=2))


def session(*seats, game=None, seed=5, **more):
    """A session with agents by name; None is a human."""
    agents = [make(seat) if isinstance(seat, str) else seat for seat in seats]
    return Session(game or GAMES[len(seats)], agents, seed, **more)


def play(table, rng, most=10_000):
    """Let random humans play until the game is over or `most` of their actions are played."""
    table.think()
    while not table.over and most:
        if table.handing_over:
            table.ready(table.version)
        table.act(table.version, str(rng.choice(table.legal())))
        table.think()
        most -= 1
    return table


def play_turn(table, *actions):
    for action in actions:
        table.act(table.version, action)


def frozen(table):
    """All that a refused request must leave as it is."""
    return table.states.tobytes(), table.version, list(table.log), list(table.history.actions), table.legal()


@pytest.mark.parametrize("n", [2, 5])
def test_a_game_of_humans_and_agents_gives_a_record_that_verifies(n):
    table = session(None, *["random"] * (n - 1), seed=n)
    rng = np.random.default_rng(n)
    table.think()
    taken_back = 0
    while not table.over:
        if table.can_undo and rng.random() < 0.2:
            table.undo(table.version)
            taken_back += 1
            continue
        table.act(table.version, str(rng.choice(table.legal())))
        table.think()
    assert taken_back > 0
    record = table.record()
    record.verify()
    assert record.seed == n
    assert record.agents == (HUMAN, *["random"] * (n - 1))
    played = [event for event in table.log if event.action]
    assert [f"{event.seat} {event.action.action}" for event in played] == [
        e for e in record.events if not e.startswith("restock")
    ]


def test_undo_returns_to_the_start_of_the_turn():
    table = session(None, "random")
    start, log = table.states.tobytes(), list(table.log)
    with pytest.raises(SessionError, match="nothing to take back"):
        table.undo(0)
    play_turn(table, "move:E1", "move:G1", "move:E1")
    assert table.turn_done
    assert table.legal() == [END_TURN]
    assert table.mover == 0
    table.undo(table.version)
    assert table.states.tobytes() == start
    assert table.log == log
    assert table.version == 4, "a position that comes back has a new version"
    play_turn(table, "consolidate", END_TURN)
    assert table.mover == 1
    table.think()
    with pytest.raises(SessionError, match="nothing to take back"):
        table.undo(table.version)
    assert table.record().events[1] == "0 consolidate"


def test_nothing_is_drawn_before_the_human_ends_the_turn():
    """The last action of a set: the markets stay, and no record tells the next ones, until there is no way back."""
    table = session(None, None, game=SHORT)
    for _ in range(3):
        play_turn(table, "consolidate", END_TURN)
    before, events = table.states.copy(), table.record().events
    play_turn(table, "move:G3", "move:Indore", "move:G1")
    assert table.turn_done
    assert table.states["market"].tolist() == before["market"].tolist()
    assert table.states["set"] == 0
    assert table.record().events == events
    table.act(table.version, END_TURN)
    assert table.states["set"] == 1
    assert table.record().events[-1].startswith("restock:")
    assert table.log[-1] == Event("Set 2 of 2 begins.")


@each_count
def test_a_preview_is_the_action_without_what_follows_the_turn(n):
    """While the turn goes on it is the position after the action; else the course is as before, and a bale loaded is gone."""
    game, seen = variant(n, sets=2, turns_per_set=1, actions_per_turn=2), set()
    for states in (lane for both in random_play(game, lanes=2, seed=n) for lane in (both[:1], both[1:])):
        for action in np.flatnonzero(game.legal_actions(states)[0]):
            (after, over), played = preview(game, states, int(action)), states.copy()
            game.step(played, [action])
            mover, kind = int(states["current_player"][0]), game.action_name(int(action)).partition(":")[0]
            for name in game.state_dtype.names:
                if over and name in ("current_player", "first_player", "set", "turn", "buys"):
                    assert (after[name] == states[name]).all(), name
                elif over and name == "market":
                    loaded = np.maximum(played["basket"] - states["basket"], 0)[0, mover]
                    assert (states["market"][0].sum(axis=0) - after["market"][0].sum(axis=0) == loaded).all()
                    assert (after["market"] >= 0).all()
                else:
                    assert (after[name] == (0 if over and name == "actions_left" else played[name])).all(), name
            seen.add((kind, over, int(played["set"][0]) != int(states["set"][0])))
    assert seen >= {("move", False, False), ("buy", True, False), ("end_turn", True, True), ("move", True, True)}


@pytest.mark.parametrize("name", ["move:Nagpur", "fly", None, ["move:E1"]])
def test_an_illegal_action_changes_nothing(name):
    table = session(None, "random")
    before = frozen(table)
    with pytest.raises(SessionError, match="is not legal now; legal are move:E1") as error:
        table.act(0, name)
    assert len(str(error.value)) <= 500
    assert frozen(table) == before


@pytest.mark.parametrize("version", [0, 2, None, "1", True])
def test_a_request_for_an_older_position_changes_nothing(version):
    table = session(None, "random")
    table.act(0, "move:E1")
    before = frozen(table)
    for request in (
        table.undo,
        table.ready,
        table.retry,
        lambda v: table.act(v, "move:A"),
        lambda v: table.replace(v, None),
    ):
        with pytest.raises(OutdatedError):
            request(version)
    assert frozen(table) == before


def test_nobody_acts_for_an_agent_or_after_the_end():
    table = session("random", None)
    with pytest.raises(SessionError, match="it is the turn of seat 0, an agent"):
        table.act(0, "move:E1")
    play(table, np.random.default_rng(1))
    with pytest.raises(SessionError, match="the game is over"):
        table.act(table.version, END_TURN)
    with pytest.raises(SessionError, match="the game is over"):
        table.undo(table.version)


def test_the_seats_must_fit():
    with pytest.raises(ValueError, match="1 seats are given for 2 players"):
        Session(GAMES[2], [None], 1)
    with pytest.raises(ValueError, match="all seats are agents"):
        session("random", "random", screened=True)


# --- agents that fail ---


def wrong(answer):
    """An agent that answers wrongly from its first call on."""
    agent = Wrong(answer)
    agent.calls = 2
    return agent


@pytest.mark.parametrize("answer", [raising, lambda count: np.full(count, 99), lambda count: "move:E1"])
def test_a_failing_agent_is_shown_and_harms_nothing(answer):
    table = session(None, wrong(answer))
    play_turn(table, "consolidate", END_TURN)
    table.think()
    assert table.fault is not None
    seat, reason = table.fault
    assert seat == 1
    assert 0 < len(reason) <= 500
    assert table.question() is None, "it is not asked again unless somebody wants it"
    actions = list(table.history.actions)
    table.retry(table.version)
    table.think()
    assert table.fault is not None, "it fails again"
    table.replace(table.version, make("random"))
    play(table, np.random.default_rng(0))
    record = table.record()
    record.verify()
    assert table.history.actions[: len(actions)] == actions
    assert record.agents == (HUMAN, "wrong, then random")


def test_a_human_can_take_the_seat_of_a_failing_agent():
    table = session("random", wrong(raising))
    table.think()
    assert table.fault is not None
    table.replace(table.version, None)
    assert table.human_to_move
    play(table, np.random.default_rng(0)).record().verify()


def test_an_answer_to_an_older_question_is_dropped():
    table = session(First(), None)
    question = table.question()
    table.think()
    before = frozen(table)
    table.answer(question, 0)
    assert frozen(table) == before


# --- screens ---

HIDDEN_FIELDS = ("rupees", "clients", "client_palace_tokens", "city_palace_tokens", "city_tokens")


def sent(table):
    return json.dumps(messages.of_session(table, "champion"))


def test_the_drawing_shows_the_last_action():
    table = session(None, "random")
    begun = messages.of_session(table, None)["svg"]
    assert "data-last" not in begun
    play_turn(table, "move:E1", "move:G1", "move:E1")
    shown = messages.of_session(table, None)["svg"]
    assert 'data-last="move:E1" data-from="G1"' in shown
    assert "data-move" not in shown, "the turn is done"
    table.undo(table.version)
    assert messages.of_session(table, None)["svg"] == begun


def said(table):
    """All that the page is sent, and the log as the terminal and a language model are told it."""
    return "\n".join([sent(table), *messages.news(table)])


def test_nothing_that_a_screen_hides_is_sent():
    table = play(session(None, "greedy", "greedy", seed=3, screened=True), np.random.default_rng(3), most=25)
    while not table.human_to_move:
        table.think()
    message = json.loads(sent(table))
    assert [has["rupees"] is None for has in message["seats"]] == [False, True, True]
    assert any(event["seat"] == 1 for event in message["log"])
    told = said(table)
    for field in HIDDEN_FIELDS:
        for seat in (1, 2):
            kept = table.states.copy()
            table.states[field][0, seat] = 1 - np.minimum(table.states[field][0, seat], 1)
            assert table.states.tobytes() != kept.tobytes()
            assert said(table) == told, f"{field} of seat {seat} shows"
            table.states = kept
    table.states["rupees"][0, 0] += 1
    assert said(table) != told, "a seat sees its own"
    table.states["rupees"][0, 0] -= 1
    table.log = [dataclasses.replace(e, effect="+7 rupees") if e.seat in (1, 2) else e for e in table.log]
    assert said(table) == told, "what another seat gained does not show"
    table.fault = (1, "it has 7 rupees")
    assert "7 rupees" not in said(table)


def test_in_screened_mode_records_and_hints_wait_for_the_end():
    table = session(None, "random", game=SHORT, screened=True)
    with pytest.raises(SessionError, match="the record is given after the game"):
        table.record()
    with pytest.raises(SessionError, match="no hints in screened mode"):
        table.check_hint(0)
    message = json.loads(sent(table))
    assert not message["has_record"]
    assert message["adviser"] is None
    play(table, np.random.default_rng(2))
    table.record().verify()
    assert None not in [has["rupees"] for has in json.loads(sent(table))["seats"]], "screens fall at the end"


def test_the_screen_is_handed_over_between_humans():
    table = session(None, None, screened=True)
    assert table.handing_over
    assert table.legal() == []
    assert [has["rupees"] for has in json.loads(sent(table))["seats"]] == [None, None]
    with pytest.raises(SessionError, match="only they look"):
        table.act(0, "move:E1")
    table.ready(0)
    assert [has["rupees"] for has in json.loads(sent(table))["seats"]] == [2, None]
    with pytest.raises(SessionError, match="shown already"):
        table.ready(1)
    play_turn(table, "consolidate", END_TURN)
    assert table.handing_over
    assert table.viewer == -1
    table.ready(table.version)
    assert [has["rupees"] for has in json.loads(sent(table))["seats"]] == [None, 2]


def test_a_running_game_tells_no_seed():
    """Coming restocks follow from the seed."""
    table = session(None, "random", seed=987654321987654321)
    play_turn(table, "consolidate", END_TURN)
    table.think()
    record = table.record()
    record.verify()
    assert record.seed is None
    assert "987654321987654321" not in sent(table) + json.dumps(record.to_dict())


# --- words and rupees ---


def test_every_choice_tells_its_cost_and_its_effect():
    """In the words of `describe_actions`; of a move, without the sites that its button names; a turn ends only by `end_turn`."""
    table, rng = session(None, "greedy", seed=8), np.random.default_rng(8)
    table.think()
    kinds = set()
    while not table.over:
        legal = messages.choices(table)
        if not table.turn_done:
            lines = describe_actions(table.game, table.states).splitlines()
            for choice, line in zip(legal, lines, strict=True):
                assert line.split(" ", 1)[1].startswith(f"{choice['action']}: ")
                words = line if choice["action"] == END_TURN else line.removesuffix("; your turn ends")
                assert words.endswith(choice["effect"])
                assert "go from" not in choice["effect"]
                kinds.add(choice["action"].partition(":")[0])
        dealing = [choice for choice in legal if not choice["action"].startswith(("move", "end_turn", "consolidate"))]
        choice = rng.choice(dealing if dealing and rng.random() < 0.7 else legal)
        done = table.turn_done
        table.act(table.version, choice["action"])
        assert not done or choice["action"] == END_TURN
        table.think()
    assert kinds >= {"move", "buy", "consolidate", "build"}


def test_the_standing_is_the_result_if_the_game_ended_now():
    table = play(session(None, "greedy", "greedy", seed=3), np.random.default_rng(3), most=25)
    found = table.game.provisional_results(table.states)[0]
    rows = messages.of_session(table, None)["standing"]
    assert [row["total"] for row in rows] == found["final"].tolist()
    for seat, row in enumerate(rows):
        assert row["award for empire"] == f"{found['majority'][seat]} for {found['empire'][seat]}"
        awards = [int(row[award].split()[0]) for award in ("award for empire", "award for fame")]
        assert row["in hand"] + sum(awards) == row["total"]
    play(table, np.random.default_rng(3))
    assert messages.of_session(table, None)["standing"] is None, "the account tells it"


def test_the_round_is_told_by_a_card_for_each_opponent():
    table = session(None, "greedy", "greedy", seed=3)
    assert [card["words"] for card in messages.rounds(table)] == ["Set 1 of 3 begins."]
    play_turn(table, "consolidate", END_TURN)
    table.think()
    cards = messages.rounds(table)
    assert [card["seat"] for card in cards] == [1, 2]
    for card in cards:
        events = [event for event in table.log if event.seat == card["seat"]]
        moves = [event.action for event in events if event.action.action.startswith("move:")]
        assert card["way"] == ["A", *(move.action.removeprefix("move:") for move in moves)] or not moves
        assert all(event.effect in card["words"] for event in events)
    play_turn(table, "move:E1")
    assert messages.rounds(table) == cards, "the turn under way is not told"
    play(table, np.random.default_rng(3), most=20)
    assert {card["seat"] for card in messages.rounds(table)} >= {1, 2}


def test_a_card_tells_a_turn_in_the_order_in_which_it_was_played():
    table = session(None, None)
    table.states["palace"][0, table.game.board.site_index("H1")] = 2
    table.states["palaces_left"][0, 1] -= 1
    table.states["market"][0, 0] = 1
    play_turn(table, "move:E1", "buy", "move:H1", END_TURN)
    bought = table.log[2].effect
    toll = "human 1 takes 1 rupee of toll from the bank"
    assert messages.rounds(table)[-1] == {
        "seat": 0,
        "way": ["A", "E1", "H1"],
        "words": f"A → E1, Buy a bale ({bought}), E1 → H1 ({toll})",
    }


def test_the_human_is_called_you():
    table = session("random", None, seed=3)
    assert messages.of_session(table, None)["headline"] == "random: 3 actions left"
    table.think()
    assert messages.of_session(table, None)["headline"] == "You: 3 actions left"
    assert messages.of_session(session(None, None), None)["you"] is None
    play(table, np.random.default_rng(3))
    wins = table.game.results(table.states)[0]["winners"].tolist()
    assert ("you win with" in messages.of_session(table, None)["headline"]) == (wins == [False, True])


def test_tolls_cities_and_palaces_are_told():
    table = session(None, "random")
    table.states["city_tokens"][0, 0, 1:3] = 1
    table.states["city_piles"][0, 1:3] -= 1
    table.states["palace"][0, table.game.board.site_index("G3")] = 2
    table.states["palaces_left"][0, 1] -= 1
    mine, other = messages.of_session(table, None)["seats"]
    assert (mine["Cities"], mine["palaces"]) == ("2 (Indore, Nagpur)", "0 of 5")
    assert (other["Cities"], other["palaces"]) == ("0", "1 of 5")
    move = next(choice for choice in messages.choices(table) if choice["action"] == "move:G3")
    assert move["effect"] == "a palace of random, for 1 action; random takes 1 rupee of toll from the bank"
    other_way = session("random", None)
    other_way.states = table.states
    other_way._play(table.game.action_index("move:G3"))
    assert other_way.log[-1].effect == "you take 1 rupee of toll from the bank"


@pytest.mark.parametrize(
    ("left", "words"),
    [(3, "give up the 3 actions left; your turn ends"), (1, "give up the 1 action left; your turn ends")],
)
def test_the_end_of_a_turn_tells_the_actions_that_are_lost(left, words):
    table = session(None, "random")
    table.states["actions_left"] = left
    assert {choice["action"]: choice["effect"] for choice in messages.choices(table)}[END_TURN] == words


@pytest.mark.parametrize(
    ("names", "called"),
    [
        (("human", "zero", "zero"), ("you", "zero 1", "zero 2")),
        (("human", "zero", "greedy"), ("you", "zero", "greedy")),
        (("human", "human", "greedy"), ("human 0", "human 1", "greedy")),
    ],
)
def test_seats_are_called_by_names_that_differ(names, called):
    table = session(*(None if name == "human" else name for name in names))
    assert table.called == called
    found = messages.of_session(table, None)
    assert [seat["called"] for seat in found["seats"]] == [
        name.capitalize() if name == "you" else name for name in called
    ]
    for name in called:
        assert f">{name.capitalize() if name == 'you' else name}</text>" in svg.draw(
            table.game, table.states, names=called
        )
    assert found["headline"] == f"{found['seats'][0]['called']}: 3 actions left"


@pytest.mark.parametrize(
    ("clients", "words", "wins"),
    [
        ((2, 1, 0), "you win with 10 rupees, by Client tokens", ["wins by Client tokens", "", ""]),
        ((1, 2, 0), "greedy 1 wins with 10 rupees, by Client tokens", ["", "wins by Client tokens", ""]),
        ((1, 1, 0), "you and greedy 1 share the win with 10 rupees", ["shares the win", "shares the win", ""]),
    ],
)
def test_what_breaks_a_tie_is_told(clients, words, wins, monkeypatch):
    """RULES 5: of those with the most rupees the one with the most Client tokens wins; else they share the win."""
    table = play(session(None, "greedy", "greedy", game=SOON), np.random.default_rng(1))
    ends = table.game.results(table.states)
    ends["final"], ends["clients"] = [[10, 10, 9]], [clients]
    ends["winners"] = [[bool(win) for win in wins]]
    monkeypatch.setattr(Game, "results", lambda game, states: ends)
    found = messages.of_session(table, None)
    assert found["headline"] == f"Game over: {words}"
    assert [row["wins"] for row in found["account"]["rows"]] == wins
    assert found["account"]["columns"][-1] == "Client tokens"


@pytest.mark.parametrize("n", [2, 5])
def test_the_account_adds_up_to_every_rupee(n):
    for seed in range(2):
        table = session(None, *["greedy"] * (n - 1), seed=seed)
        rows = account(play(table, np.random.default_rng(seed)).record())
        result = table.game.results(table.states)[0]
        for seat, row in enumerate(rows):
            assert (
                row["start"] + sum(row[source] for source in SOURCES.values())
                == row["in hand"]
                == result["rupees"][seat]
            )
            assert row["in hand"] + row["empire"] + row["fame"] == row["final"] == result["final"][seat]
            assert bool(row["wins"]) == result["winners"][seat]
            assert row["purchases"] <= 0 <= min(row["sales"], row["tolls"], row["consolidating"], row["palace tokens"])
        assert any(row["sales"] for row in rows)
        assert any(row["purchases"] for row in rows)
