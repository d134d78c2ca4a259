"""Asking an agent: it sees scrubbed copies, and whatever goes wrong is an AgentFault in one line."""

import pickle
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from bombay_env import Game, Rules, chance, streams
from bombay_env.agent import Agent, AgentContext, AgentFault, FailedLanes, LaneGenerator, ask
from bombay_env.checks import MAX_MESSAGE, MAX_SEED
from bombay_env.registry import make
from helpers.failing_agents import First

GAME = Game(Rules(3, sets=1, turns_per_set=2))
SEEDS = np.arange(10, 14, dtype=np.uint64)


class Answers(First):
    """Answers `answer(first)`, where `first` are the lowest legal actions, and keeps the states."""

    def __init__(self, answer=lambda first: first):
        super().__init__("answers")
        self.answer = answer

    def act(self, game, states, rng):
        self.states = states.copy()
        return self.answer(super().act(game, states, rng))


def asked(agent, seeds=SEEDS, **options):
    return ask(agent, GAME, GAME.new_states(range(4)), AgentContext(np.random.default_rng(1), seeds), **options)


def test_an_agent_sees_copies_with_the_given_seeds():
    class Spoils(Answers):
        def act(self, game, states, rng):
            actions = super().act(game, states, rng)
            states["rupees"] = 99
            return actions

    agent, states = Spoils(), GAME.new_states(range(4))
    before = states.copy()
    actions = ask(agent, GAME, states, AgentContext(np.random.default_rng(1), SEEDS))
    assert (actions == GAME.legal_actions(states).argmax(axis=1)).all()
    assert actions.dtype == np.int64
    assert (states == before).all()
    assert (agent.states["seed"] == SEEDS).all()
    agent.states["seed"] = before["seed"]
    assert (agent.states == before).all()


def test_seeds_can_be_drawn_from_a_generator_also_from_the_agents():
    drawn = np.random.default_rng(5).integers(MAX_SEED, size=4, dtype=np.uint64, endpoint=True)
    agent = Answers()
    for context in (
        AgentContext.drawn(np.random.default_rng(1), 4, by=np.random.default_rng(5)),
        AgentContext.drawn(np.random.default_rng(5), 4),
    ):
        ask(agent, GAME, GAME.new_states(range(4)), context)
        assert (agent.states["seed"] == drawn).all()


def test_keyed_lanes_have_numbers_of_their_own_game_and_move():
    def words(lanes):
        rng = LaneGenerator(np.random.PCG64(1))
        keys, moves = np.arange(90, 94, dtype=np.uint64)[lanes], np.array([0, 1, 0, 1], np.uint64)[lanes]
        context = AgentContext.keyed(rng, keys, moves, streams.SCRUB, streams.CHOICES, streams.LANE_GAMES)
        return np.array([context.seeds, rng.keys, rng.games])

    every, some = words(np.arange(4)), words(np.array([3, 1]))
    assert (every[:, [3, 1]] == some).all()
    assert len(np.unique(every)) == every.size
    assert every[0, 1] == chance.random_word(np.uint64(91), streams.SCRUB, np.uint64(1))
    assert every[1, 1] == chance.random_word(np.uint64(91), streams.CHOICES, np.uint64(1))
    assert every[2, 1] == chance.random_word(np.uint64(91), streams.LANE_GAMES, np.uint64(0)), "the same at every move"


def illegal(first):
    return np.where(np.arange(len(first)) % 2, 33, first)


@pytest.mark.parametrize(
    ("answer", "lanes", "action", "reason"),
    [
        (illegal, (1, 3), "take:yellow", r"it chose action 33 \(take:yellow\), which is illegal; legal are move:"),
        (lambda first: first - 10**6, (0, 1, 2, 3), "-99", "it chose action -99"),
        (lambda first: np.full(4, 2**64 - 1, np.uint64), (0, 1, 2, 3), "9223372036854775807", "it chose action 92"),
        (lambda first: first[:3], (0, 1, 2, 3), "ndarray", r"int64 of shape \(3,\), not integers of shape \(4,\)"),
        (lambda first: first * 1.0, (0, 1, 2, 3), "ndarray", "its actions are float64 of shape"),
        (
            lambda first: [first.tolist()],
            (0, 1, 2, 3),
            "list",
            r"its actions are int64 of shape \(1, 4\), not integers",
        ),
    ],
)
def test_a_bad_answer_is_a_fault_of_its_lanes(answer, lanes, action, reason):
    with pytest.raises(AgentFault, match=rf"^agent 'answers': .*{reason}") as caught:
        asked(Answers(answer))
    fault = caught.value
    assert fault.lanes == lanes
    assert fault.action.startswith(action)
    assert str(fault) == f"agent 'answers': {fault.reason}"
    if answer is illegal:
        assert (fault.answer[::2] == asked(Answers())[::2]).all()


def test_an_agent_can_fail_in_some_lanes_alone():
    def answer(first):
        first[2] = 999
        failed = FailedLanes(first, {1: ("none", "it hung"), 3: ("buy", "buy is illegal")})
        raise pickle.loads(pickle.dumps(failed))

    with pytest.raises(AgentFault, match=r"^agent 'answers': it hung$") as caught:
        asked(Answers(answer))
    fault = pickle.loads(pickle.dumps(caught.value))
    assert (fault.lanes, fault.action, fault.reason) == ((1, 2, 3), "none", "it hung")
    assert fault.failures[1] == ("none", "it hung")
    assert fault.failures[2][1].startswith("it chose action 999, which is illegal")
    assert fault.failures[3] == ("buy", "buy is illegal")
    assert fault.answer[0] == asked(Answers())[0]


class MuteError(Exception):
    def __str__(self):
        return None


def raises(error):
    def answer(first):
        raise error

    return Answers(answer)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("two\n  lines"), "it raised ValueError: two lines ("),
        (SystemExit(3), "it raised SystemExit: 3 ("),
        (KeyError("x" * 1000), "it raised KeyError: 'xxx"),
        (MuteError(), "it raised MuteError ("),
    ],
)
def test_whatever_an_agent_raises_is_its_fault_in_one_line(error, words):
    with pytest.raises(AgentFault) as caught:
        asked(raises(error), who="opponent 'x'")
    fault = caught.value
    assert str(fault).startswith(f"opponent 'x': {words}")
    assert "\n" not in str(fault)
    assert len(str(fault)) <= MAX_MESSAGE
    assert (fault.lanes, fault.action, fault.answer, fault.__cause__) == ((0, 1, 2, 3), "none", None, error)
    again = pickle.loads(pickle.dumps(fault))
    assert (str(again), again.reason, again.lanes, again.action) == (str(fault), fault.reason, fault.lanes, "none")


def test_ctrl_c_is_the_users_unless_the_process_ignores_it(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        asked(raises(KeyboardInterrupt()))
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    with pytest.raises(AgentFault, match="it raised KeyboardInterrupt"):
        asked(raises(KeyboardInterrupt()))


def test_only_the_agents_own_code_runs_inside_the_timer_and_errors_of_the_timer_are_not_its_fault():
    events = []

    @contextmanager
    def timer(error=None):
        events.append("start")
        yield
        events.append("end")
        if error:
            raise error

    asked(Answers(lambda first: events.append("act") or first), during=timer())
    assert events == ["start", "act", "end"]
    with pytest.raises(BrokenPipeError):
        asked(Answers(), during=timer(BrokenPipeError()))


class Nameless:
    def act(self, game, states, rng): ...


def test_an_agent_without_a_name_is_named_by_its_spec():
    assert make("test_ask:Nameless").name == "test_ask:Nameless"


def test_an_object_with_act_is_an_agent_without_a_name_and_may_answer_with_a_list():
    class Lists:
        __slots__ = ()  # so that it cannot be given a name

        def act(self, game, states, rng):
            return game.legal_actions(states).argmax(axis=1).tolist()

    class Broken(Lists):
        def act(self, game, states, rng):
            return [[0], [0, 1]]

    assert isinstance(Lists(), Agent)
    assert asked(Lists()).tolist() == asked(First()).tolist()
    with pytest.raises(AgentFault, match=r"^agent 'Broken': its actions are a list, not integers of shape"):
        asked(Broken())
