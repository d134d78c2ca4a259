"""Agents: the protocol, specs, legal play of any variant by public facts only; and `greedy`."""

import copy
import hashlib
import itertools
import pickle
import random
import re
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path

import numba
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bombay_agents import Agent, make
from bombay_agents.random import RandomAgent
from bombay_agents.scripted.greedy import GreedyAgent
from bombay_agents.scripted.greedy_value import time_left
from bombay_agents.scripted.styles import TollKeeperAgent
from bombay_env import registry
from bombay_env.registry import agent_names, format_spec
from bombay_env.state import check_invariants
from bombay_training.evaluation.arena import one_vs_rest, run_blocks
from bombay_training.matches.statistics import final_with_interval, share_with_interval
from bombay_training.warm_up import least_work
from helpers.position import official, position, variant
from helpers.refusal import refusal
from helpers.searches import Even
from helpers.variants import random_game

SLOW = numba.config.DISABLE_JIT
GAMES = 4 if SLOW else 24  # random variants and boards
LANES = 1 if SLOW else 8
EVERY = 12 if SLOW else 1  # one in so many decisions is the agent's, the others are random
QUICK = [make(name) for name, spec in least_work().items() if spec == name]  # all but searches
AGENTS = [agent for agent in QUICK if not hasattr(agent, "check_game")]  # that play any rules on any board
every = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)


def chosen(agent, game, states, seed=0):
    """The name of the action that the agent chooses in one state."""
    return game.action_name(agent.act(game, states, np.random.default_rng(seed))[0])


def middle_states(game, lanes, steps, seed=0):
    """States of games after some random steps; none is over."""
    rng = np.random.default_rng(seed)
    states = game.new_states(range(seed, seed + lanes))
    for _ in range(steps):
        game.step(states, RandomAgent().act(game, states, rng))
    assert not game.is_terminal(states).any()
    return states


# --- copies ---


SPECS = (
    "random-turn", "greedy", "greedy:epsilon=0.5", "planner-v1", "seller", "zero", "ppo", "search:nodes=20",
    "flat-mc:rollouts=20", "search:nodes=5,value=[test_agents:Even]",
)  # fmt: skip
each_kind = pytest.mark.parametrize("spec", SPECS)
compiled = pytest.mark.skipif(SLOW, reason="searches and nets are slow with the compiler off")


@compiled
@each_kind
def test_a_copy_of_an_agent_that_has_played_decides_as_a_new_one(spec):
    game, agent = official(2), make(spec)
    states = middle_states(game, lanes=4, steps=5)
    agent.act(game, middle_states(game, lanes=2, steps=3), np.random.default_rng(1))
    wanted = make(spec).act(game, states, np.random.default_rng(2)).tolist()
    assert len(pickle.dumps(agent)) < len(pickle.dumps(make(spec))) + 1000, (
        "what was allocated for a game is not copied"
    )
    for twin in (copy.copy(agent), copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))):
        assert twin.name == agent.name
        assert twin.act(game, states, np.random.default_rng(2)).tolist() == wanted
    assert agent.act(game, states, np.random.default_rng(2)).tolist() == wanted


@compiled
@each_kind
def test_threads_may_share_an_agent(spec):
    """Games of two sizes, so that the agent allocates its memory again between calls."""
    agent, games = make(spec), [official(2), official(4)] * 2
    states = [middle_states(game, lanes=12, steps=9, seed=number) for number, game in enumerate(games)]

    def decide(number, agent=agent):
        rng, lanes = np.random.default_rng(number), states[number]
        return [agent.act(games[number], lanes[lane : lane + 1], rng)[0] for lane in range(len(lanes))]

    wanted = [decide(number, make(spec)) for number in range(len(games))]
    with ThreadPoolExecutor(len(games)) as threads:
        assert list(threads.map(decide, range(len(games)))) == wanted


# --- the protocol ---


@every
def test_an_agent_implements_the_protocol_and_takes_no_states_too(agent):
    assert isinstance(agent, Agent)
    assert agent.act(official(4), official(4).new_states([]), np.random.default_rng(0)).shape == (0,)


@every
def test_actions_are_legal_under_any_rules_on_any_board(agent):
    rng = random.Random(1)
    for number in range(GAMES):
        game = random_game(rng, 2 + number % 4)
        states = game.new_states(range(number, number + LANES))
        chance, others = np.random.default_rng(number), [RandomAgent()] * (EVERY - 1)
        for player in itertools.cycle([agent, *others]):
            states = states[~game.is_terminal(states)]
            if len(states) == 0:
                break
            seen = game.scrub(states, [0] * len(states))
            before = seen.tobytes()
            actions = player.act(game, seen, chance)
            assert seen.tobytes() == before
            assert actions.dtype == np.int64
            assert actions.shape == (len(states),)
            assert game.legal_actions(seen)[np.arange(len(states)), actions].all()
            game.step(states, actions)
            check_invariants(states[0], game.rules, game.board)


@every
@pytest.mark.parametrize("n", [2, 5])
def test_decisions_depend_on_states_and_generator_and_not_on_seeds(agent, n):
    game = official(n)
    states = middle_states(game, 3 if SLOW else 80, 30, seed=n)
    before = states.copy()
    actions = agent.act(game, states, np.random.default_rng(3))
    assert (states == before).all()
    assert (agent.act(game, game.scrub(states, [2**64 - 1] * len(states)), np.random.default_rng(3)) == actions).all()
    assert (agent.act(game, np.asarray(states), np.random.default_rng(3)) == actions).all()


# --- random ---


def test_random_takes_each_legal_action_equally_often():
    game = official(4)
    count = 2_000 if SLOW else 40_000
    states = np.repeat(game.new_states([5]), count)
    legal = np.flatnonzero(game.legal_actions(states[:1])[0])
    found, counts = np.unique(RandomAgent().act(game, states, np.random.default_rng(0)), return_counts=True)
    assert found.tolist() == legal.tolist()
    share = 1 / len(legal)
    assert (abs(counts - count * share) < 5 * np.sqrt(count * share * (1 - share))).all()


# --- greedy ---

PLAIN = variant(4, majority=(0, 0, 0, 0), fame=(0,))  # only rupees in hand count


def test_greedy_does_not_buy_what_it_cannot_spend_in_time():
    #  E3 ── G7 ── Bombay: after a purchase two actions are left, to build on G7 or to stand in Bombay
    end = {"at": "E3", "set": PLAIN.rules.sets - 1, "turn": PLAIN.rules.turns_per_set - 1}
    assert chosen(GreedyAgent(), official(4), position(official(4), **end)) == "buy"
    assert chosen(GreedyAgent(), PLAIN, position(PLAIN, **end)) == "consolidate"
    assert chosen(GreedyAgent(), PLAIN, position(PLAIN, actions_left=2, **end)) == "end_turn"


@pytest.mark.parametrize("epsilon", ["1.5", "-0.1", "nan"])
def test_epsilon_is_a_probability(epsilon):
    assert make("greedy:epsilon=0.60").name == "greedy:epsilon=0.6"
    message = refusal(lambda: make(f"greedy:epsilon={epsilon}"))
    assert message == f"greedy: epsilon is {float(epsilon)}; it must be a number from 0 to 1"


def test_greedy_prefers_the_path_without_a_toll():
    #  Bombay ── G5 ── E1 and Bombay ── H1 ── E1 have the same length; an opponent's palace is on H1
    game = official(2)
    facts = {"at": "Bombay", "markets": ({"yellow": 3}, {}, {}), "actions_left": 3}
    moves = {chosen(GreedyAgent(), game, position(game, **facts), seed) for seed in range(20)}
    assert moves == {"move:G5", "move:H1"}
    states = position(game, palaces={"H1": 1}, **facts)
    assert {chosen(GreedyAgent(), game, states, seed) for seed in range(20)} == {"move:G5"}


@compiled
@pytest.mark.parametrize("spec", ["greedy", "greedy:epsilon=0"])
def test_decisions_of_greedy_are_those_of_the_published_games(spec):
    digest, agent = hashlib.sha256(), make(spec)
    for n in (2, 3, 4, 5):
        states = middle_states(official(n), 200, 7, seed=n)
        digest.update(agent.act(official(n), states, np.random.default_rng(n)).tobytes())
    assert agent.name == "greedy"
    assert digest.hexdigest()[:16] == "81da1abd9046e2b1"


@pytest.mark.skipif(SLOW, reason="strength takes hundreds of games")
def test_no_actions_are_left_when_the_game_is_over():
    game = variant(3, sets=1, turns_per_set=1)
    states = game.new_states([4])
    while not game.is_terminal(states)[0]:
        assert sum(time_left(states[0], game.tables[0], states["current_player"][0])) > 0
        game.step(states, game.legal_actions(states).argmax(axis=1))
    assert [time_left(states[0], game.tables[0], player) for player in range(3)] == [(0, 0, 0)] * 3


def test_greedy_beats_three_random_players_and_earns_rupees():
    game, blocks = official(4), 100
    share = share_with_interval(one_vs_rest(game, GreedyAgent(), RandomAgent(), blocks, seed=1))
    assert share.low >= 0.95
    assert final_with_interval(run_blocks(game, [GreedyAgent()] * 4, blocks, seed=1)).mean > 20


# --- specs ---


class Inner:
    name = "inner"

    def __init__(self, depth: int = 1) -> None:
        self.depth = depth

    def act(self, game, states, rng):
        return np.zeros(len(states), np.int64)


class Outer(Inner):
    name = "outer"

    def __init__(
        self,
        path: str,
        nodes: int | None = None,
        ms: "float | None" = None,
        sample: bool = False,
        value: Agent | None = None,
        guess=3,
        word=None,
    ) -> None:
        self.given = (path, nodes, ms, sample, value, guess, word)


ERRORS = [ValueError("which is wrong"), RuntimeError("two\nlines"), SystemExit(0), ValueError("long " * 999)]


class Raising(Inner):
    def __init__(self, which: int) -> None:
        raise ERRORS[which]


MADE, EVALUATOR = Inner(), Even()


def no_agent() -> object:
    return object()


@pytest.fixture
def installed(monkeypatch):
    """Entry points of this module instead of the installed ones."""
    places = {"inner": "test_agents:Inner", "outer": "test_agents:Outer", "none": "test_agents:no_agent"}
    places["gone"] = "no_such_module:Agent"
    entries = {name: EntryPoint(name, value, registry.GROUP) for name, value in places.items()}
    monkeypatch.setattr(registry, "_entries", lambda: entries)


def test_installed_agents_are_made_by_name():
    styles = {"seller", "builder", "toll-keeper", "hoarder"}
    assert {"random", "random-turn", "greedy", "planner-v1", "net"} | styles <= set(agent_names())
    assert isinstance(make("random"), RandomAgent)
    assert isinstance(make(" greedy "), GreedyAgent)
    assert isinstance(make("toll-keeper"), TollKeeperAgent)


@pytest.mark.usefixtures("installed")
def test_options_take_the_types_of_the_signature():
    given = make("outer:path=a=b:c.safetensors,nodes=20,ms=2.5,sample=true,guess=7,word=hello").given
    assert given == ("a=b:c.safetensors", 20, 2.5, True, None, 7, "hello")
    assert make("outer:path=x,sample=no").given[3] is False
    assert make("outer:path=[x,y],nodes=[20],ms=1e2").given[:3] == ("x,y", 20, 100.0)
    assert make("inner:depth=4").depth == 4


@pytest.mark.usefixtures("installed")
def test_specs_nest_in_brackets_and_name_your_own_agents_by_module_and_object():
    assert make("test_agents:Inner:depth=4").depth == 4
    assert make("test_agents:MADE") is MADE
    path, *_, value, _, _ = make("outer:value=[outer:path=x,value=[test_agents:Inner:depth=5]],path=y").given
    assert (path, value.given[0], value.given[4].depth) == ("y", "x", 5)


def test_an_evaluator_of_your_own_is_taken_where_an_option_takes_evaluators_only():
    """The agent around it has its spec for a name."""
    for spec in ("search:nodes=5,value=[test_agents:Even]", "champion:nodes=5,value=[test_agents:Even:worth=0.25]"):
        agent = make(spec)
        assert agent.name == spec
        assert agent.value.worth in (0.25, 0.5)
        assert make(agent.name).act(official(2), official(2).new_states([1]), np.random.default_rng(0)).shape == (1,)
    assert make("search:value=[test_agents:EVALUATOR]").value is EVALUATOR
    assert make("search:value=[test_agents:Even:worth=0.5]").name == "search:value=[test_agents:Even]"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "outer"),
        ({"path": "a,b", "ms": 5.0, "nodes": 1_000_000}, "outer:path=[a,b],ms=5,nodes=1000000"),
        ({"path": "[a]", "ms": 0.12345678, "nodes": None}, "outer:path=[[a]],ms=0.12345678"),
        ({"path": Path("A/b.json"), "value": GreedyAgent()}, "outer:path=A/b.json,value=[greedy]"),
        ({"nodes": np.int64(2**62 + 1), "sample": np.True_}, f"outer:nodes={2**62 + 1},sample=true"),
    ],
)
def test_a_spec_is_formatted_from_options(options, text):
    assert format_spec("outer", **options) == text


@pytest.mark.parametrize(
    ("path", "words"),
    [("a]b[c", "a text in a spec"), (" a", "a text in a spec"), ("x" * 10_000, "is too long"), ("[]" * 30, "is too")],
)
def test_a_text_that_no_spec_can_hold_is_refused(path, words):
    agent = Inner()
    agent.name = path
    for value in (path, Path(path), agent):
        refusal(lambda value=value: format_spec("outer", path=value), words)


TEXTS = st.text(st.sampled_from("a/=:,[] \n\xa0é")) | st.text()
PATHS = TEXTS | TEXTS.map(lambda text: Path(f"x{text}".replace("\0", "")))
OPTIONS = {"nodes": st.integers(), "ms": st.floats(allow_nan=False), "sample": st.booleans(), "word": TEXTS}
DEFAULTS = {"path": None, "nodes": None, "ms": None, "sample": False, "value": None, "guess": 3, "word": None}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["outer", "test_agents:Outer"])
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.fixed_dictionaries({"path": PATHS}, optional=OPTIONS))
def test_a_formatted_spec_makes_what_it_was_made_of_or_is_refused(name, values):
    try:
        spec = format_spec(name, **values)
    except ValueError:
        texts = [str(values[key]) for key in ("path", "word") if key in values]
        assert any(text != text.strip() or "[" in text or "]" in text for text in texts)
        return
    wanted = {key: str(value) if isinstance(value, Path) else value for key, value in (DEFAULTS | values).items()}
    made = make(spec)
    assert dict(zip(DEFAULTS, made.given, strict=True)) == wanted
    if name == "outer":  # named by its canonical spec
        assert make(made.name).given == made.given


@pytest.mark.usefixtures("installed")
def test_annotations_for_type_checkers_alone_do_no_harm():
    made = make("helpers.lazy_annotations:Lazy:count=4,factor=0.25,word=y,most=7")
    assert made.given == (4, 0.25, "y", 7, None)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "an agent spec is name"),
        (["inner"] * 99, "an agent spec is name"),
        ("nobody", "no agent is named 'nobody'; there are gone, inner, none, outer"),
        (
            "outre:path=x",
            r"no agent is named 'outre'; did you mean 'outer'\? There are gone, inner, none, outer; your own",
        ),
        ("outer:path=x,value=[INNR:depth=5]", "no agent is named 'INNR'; did you mean 'inner'"),
        ("x" * 300_000, "is too long; at most 10000 characters"),
        ("net:path=n\udcc3.safetensors", "is not text"),
        ("outer:value=" + "[outer:value=" * 700, "too long; at most 10000 characters and 20 pairs of brackets"),
        ("outer:path=x,value=[inner", "unbalanced brackets"),
        ("inner:depth", "'depth' is not of the form key=value"),
        ("inner:depth=1,depth=2", "gives 'depth' twice"),
        ("inner:deep=1", "agent 'inner' has no option 'deep'; its options are depth"),
        ("outer", "agent 'outer' needs the option 'path'"),
        ("inner:depth=1.5", "option 'depth' of agent 'inner' is '1.5'; it takes a whole number"),
        ("inner:depth=[inner]", r"option 'depth' of agent 'inner' is '\[inner\]'; it takes a whole number"),
        ("outer:path=x,sample=maybe", "'maybe'; it takes true or false"),
        ("outer:path=x,ms=fast", "'fast'; it takes a number"),
        ("outer:path=x,value=inner", r"'inner'; it takes an agent in brackets, as \[planner-v1\]"),
        ("outer:path=x,value=[test_agents:Even]", "which is not an agent"),
        ("none", "is not an agent"),
        ("test_agents:DEFAULTS", "makes a dict, which is not an agent: it lacks `act`"),
        ("test_agents:Even", "makes a Even, which is not an agent: it lacks `act`; an evaluator plays as search"),
        ("test_agents:MADE:depth=1", "'test_agents:MADE' is an object, not a factory"),
        ("test_agents:Nobody", "agent 'test_agents:Nobody' cannot be imported: AttributeError: .*'Nobody'"),
        ("no_such_module:Agent", "agent 'no_such_module:Agent' cannot be imported: ModuleNotFoundError"),
        ("gone", "agent 'gone' cannot be imported: ModuleNotFoundError"),
        ("test_agents:Raising:which=0", "^which is wrong$"),
        ("test_agents:Raising:which=1", "^agent 'test_agents:Raising' cannot be made: RuntimeError: two lines$"),
        ("test_agents:Raising:which=2", "cannot be made: SystemExit: 0$"),
        ("test_agents:Raising:which=3", "cannot be made: ValueError: long long"),
    ],
    ids=lambda text: repr(text)[:60],
)
def test_an_invalid_spec_is_an_error_in_one_line(spec, message):
    assert re.search(message, refusal(lambda: make(spec)))
