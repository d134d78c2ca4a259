"""Every random stream: no deal, key or order is used twice over three successive parts, updates, games or decisions.

The tests look where seeds and keys enter: keyed draws (`chance.random_word`), the generators and copies that agents get, deals,
and the order in which samples reach the optimizer. Draws in kernels are seen only with the compiler off (`make interpreted`).
"""

import itertools
import types
from typing import NamedTuple

import numpy as np
import pytest

from bombay_agents import make, turns
from bombay_agents.nets.value.agent import ValueNetAgent
from bombay_agents.search.agent import SearchAgent
from bombay_agents.turns.agent import TurnAgent
from bombay_env import Game, Rules, streams
from bombay_training import variants
from bombay_training.learners.best_response import BestResponseRun, BestResponseSettings
from bombay_training.learners.zero import ZeroRun, ZeroSettings
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.run import run
from bombay_training.matches.store import Store
from bombay_training.play.session import Session
from helpers.draws import Listener, assert_disjoint, interpreted, keyed_draws, repeated
from helpers.failing_agents import First
from helpers.gym_envs import play, single, vector
from helpers.nets import HIDDEN, SECOND, random_net
from helpers.position import last_turn, variant

UPDATES = 3
EPOCHS = 2
OF_LEARNERS = 3000  # the lowest number of a learner's stream
SHORT = {"sets": 2, "turns_per_set": 1, "actions_per_turn": 1}
TINY = {
    "players": (2,),
    "games": 2,
    "hidden": HIDDEN,
    "second": SECOND,
    "epsilon": 0.5,
    "final_epsilon": 0.5,
    "batch_size": 4,
    "epochs": EPOCHS,
    "updates": UPDATES,
}
TWO_COUNTS = TINY | {"players": (2, 3), "games": 4}


@interpreted
@pytest.mark.parametrize("n", [2, 3])
def test_no_game_repeats_a_draw(n, monkeypatch):
    """Not for its setup, and not for the restocks of its sets."""
    game, draws, agent = variant(n, sets=3, turns_per_set=1), keyed_draws(monkeypatch), First()
    states = game.new_states([1, 2])
    while not game.is_terminal(states).all():
        game.step(states, agent.act(game, states, None))
    assert len({stream for _, stream, _ in draws}) == 4, "demand, posts, palace tokens and restocks"
    assert not repeated(draws)


# --- Learners ---


class Update(NamedTuple):
    """What was drawn in an update, the order of samples in its epochs, and what the victim's copies heard."""

    draws: list[tuple[int, int, int]]
    orders: list[np.ndarray]
    heard: list[tuple[list[int], list[int]]]


def new_run(learner):
    """A run of short games."""
    if learner == "zero":
        return ZeroRun(ZeroSettings(**TWO_COUNTS))
    return BestResponseRun(BestResponseSettings(**TWO_COUNTS, victim="helpers.draws:Moody"))


@pytest.fixture(scope="module")
def updates(request):
    """The first updates of a run that learns nothing, so that its net stays the same."""
    learner, found = request.param, []
    with pytest.MonkeyPatch.context() as patch:
        use_short_games(patch)
        run, batches = new_run(learner), []
        patch.setattr(run.learner, "step", lambda samples, indices, *_: batches.append(indices) or np.zeros(2))
        draws = keyed_draws(patch)
        for _ in range(UPDATES):
            draws.clear()
            batches.clear()
            run.step()
            orders = np.split(np.concatenate(batches), EPOCHS)
            heard = [victim.take() for victim in run.generator.victim.agents] if learner == "best-response" else []
            found.append(Update(list(draws), orders, heard))
    return found


def use_short_games(patch):
    """Let runs play short games instead of the official ones."""
    patch.setattr(variants, "Rules", types.SimpleNamespace(official=lambda players: Rules(players, **SHORT)))


def each_learner(*names):
    return pytest.mark.parametrize("updates", names, indirect=True)


@interpreted
@each_learner("zero", "best-response")
def test_no_update_repeats_a_game_or_a_choice(updates):
    for update in updates:
        assert not repeated(draw for draw in update.draws if draw[1] >= OF_LEARNERS)
    assert_disjoint(update.draws for update in updates)


@each_learner("zero")
def test_no_epoch_repeats_an_order(updates):
    orders = [order for update in updates for order in update.orders]
    assert len({len(order) for order in orders}) == 1, "orders of different lengths cannot be compared"
    assert all(len(set(order.tolist())) == len(order) for order in orders)
    assert not repeated(tuple(order.argsort().argsort().tolist()) for order in orders)


@each_learner("best-response")
def test_the_victims_randomness_is_new_in_every_update(updates):
    parts = []
    for update in updates:
        drawn, seeds = (list(itertools.chain(*part)) for part in zip(*update.heard, strict=True))
        assert not repeated(drawn)
        assert not repeated(seeds)
        parts.append((drawn, seeds))
    for stream in zip(*parts, strict=True):
        assert_disjoint(stream)


@interpreted
def test_ppo_repeats_no_deal_and_no_random_number(monkeypatch):
    pytest.importorskip("sb3_contrib", reason="self-play PPO needs the `ppo` extra (stable-baselines3, sb3-contrib)")
    import torch

    from bombay_training.learners.ppo.run import PPORun
    from bombay_training.learners.ppo.settings import PPOSettings

    use_short_games(monkeypatch)
    widths = {"trunk": (4,), "policy": (4,), "value": (4,)}
    sizes = {"num_envs": 4, "num_steps": 8, "batch_size": 16, "epochs": 2}
    run = PPORun(PPOSettings(players=(2, 3), updates=UPDATES, **sizes, **widths))
    draws, generators = keyed_draws(monkeypatch), []

    def noting(call):
        def noted(*args):
            generators.append((torch.get_rng_state().numpy().tobytes(), np.random.get_state()[1].tobytes()))
            return call(*args)

        return noted

    monkeypatch.setattr(run.model, "collect_rollouts", noting(run.model.collect_rollouts))
    monkeypatch.setattr(run.model, "train", noting(run.model.train))
    games = sum(run.step()["games"] for _ in range(UPDATES))
    assert games >= 3 * sizes["num_envs"]
    assert not repeated(draws), "every draw of a game is keyed by its deal"
    for states in zip(*generators[::2], strict=True):
        assert not repeated(states), "rollouts begin with different generators"
    assert not repeated(torch_state for torch_state, _ in generators)


# --- Matches ---

REST = First()


class Heard(First):
    """Ends its turns at once in every other game, so that games differ in length.

    It keeps for each decision the number of the game, the key and the copy's seed.
    """

    def __init__(self):
        super().__init__("heard")
        self.games, self.keys, self.seeds = [], [], []

    def act(self, game, states, rng):
        self.games += rng.games.tolist()
        self.keys += rng.keys.tolist()
        self.seeds += states["seed"].tolist()
        ends = (rng.games % np.uint64(2) == 1) & game.legal_actions(states)[:, -1]
        return np.where(ends, game.num_actions - 1, super().act(game, states, rng))

    def own(self, num_games):
        """All of it but the games' numbers that repeat, after a check that games and decisions differ."""
        assert len(set(self.games)) == num_games
        found = [*set(self.games), *self.keys, *self.seeds]
        assert not repeated(found)
        return found


@pytest.mark.parametrize("seating", Seating)
def test_every_decision_of_every_game_of_a_match_has_its_own_randomness(seating):
    game, parts = Game(Rules(4, sets=1, turns_per_set=1, actions_per_turn=2)), {}
    for how in ((5, (), None), (5, (), 1), (6, (), None), (5, ("play",), None)):
        spy, (seed, redraw, chunk) = Heard(), how
        lineup = Lineup(game, (spy,) * 4, 3, seed, seating, redraw=redraw, chunk_games=chunk)
        run([lineup])
        deals = [] if redraw else np.unique(lineup.rows(np.arange(lineup.num_games))["deal"]).tolist()
        parts[how] = spy.own(lineup.num_games) + deals
        assert len(spy.keys) >= 4 * lineup.num_games
    assert sorted(parts.pop((5, (), 1))) == sorted(parts[5, (), None])
    assert_disjoint(parts.values())


def test_successive_parts_of_a_match_share_no_deal_and_no_randomness():
    game, agents, parts, store = Game(Rules(3, sets=1, turns_per_set=2)), [Listener("a"), Listener("b")], [], Store()
    for deals in (2, 4, 6):
        (match,) = run([Lineup(game, (*agents, REST), deals, seed=5, chunk_games=3)], store)
        heard = [agent.take() for agent in agents]
        drawn, seeds = (list(itertools.chain(*part)) for part in zip(*heard, strict=True))
        assert not repeated(drawn)
        assert not repeated(seeds)
        new = match.deal[-6:].tolist()
        assert len(set(new)) == 2
        assert not set(new) & set(seeds)
        parts.append((new, drawn, seeds))
    for stream in zip(*parts, strict=True):
        assert_disjoint(stream)


# --- Environments ---


def test_every_decision_of_opponents_has_its_own_randomness_in_every_lane():
    spy, dealt = Heard(), []
    env = vector(3, 3, opponents=spy)
    for seed in (7, None):
        env.reset(seed=seed)
        dealt += env.game_states["seed"].tolist()
        for _ in range(3):  # no game ends
            env.step(np.argmax(env.action_masks(), axis=1))
    assert not repeated([*dealt, *spy.own(6)])


def test_opponents_meet_other_seeds_in_every_game_and_the_same_if_it_is_dealt_again():
    opponent = Listener()
    env, games = single(3, opponents=opponent), []
    for seed in (7, None, None, 7):
        env.reset(seed=seed)
        deal = int(env.game_state["seed"][0])
        play(env)
        games.append(([deal], *opponent.take()))
        assert not repeated(games[-1][2])
    assert games[3] == games[0]
    for stream in zip(*games[:3], strict=True):
        assert_disjoint(stream)


# --- The same seed everywhere ---

SEED = 7
TINY_GAME = Game(Rules(2, **SHORT))


def heard(door, agents):
    """What agents heard behind a door, by role; agents meet in a game, so its number is of no agent."""
    for agent in agents:
        for role in ("draws", "seeds", "keys", "games"):
            if words := getattr(agent, role):
                yield f"{door}: {role}" + ("" if role == "games" else f" of {agent.name}"), words


def in_a_match(door, redraw):
    agents = (Listener("a"), Listener("b"))
    (match,) = run([Lineup(TINY_GAME, agents, 6, seed=SEED, redraw=redraw)])
    yield f"{door}: deals", [] if redraw else match.deal.tolist()
    yield from heard(door, agents)


def in_an_environment():
    agent, deals = Listener("opponent"), []
    env = vector(2, lanes=3, opponents=agent)
    for seed in (SEED, None, None):
        env.reset(seed=seed)
        deals += env.game_states["seed"].tolist()
        env.step(env.action_masks().argmax(axis=1))
    yield "environment: deals", deals
    yield from heard("environment", [agent])


def at_the_table():
    agents = [Listener("a"), Listener("b")]
    session = Session(TINY_GAME, agents, SEED)
    session.think()
    yield "table: copies", [*agents[0].seeds, *agents[1].seeds]
    for agent in agents:
        yield f"table: draws of {agent.name}", agent.draws


def test_no_two_uses_of_a_seed_share_a_number():
    """Deals, copies that agents see, their keys and generators: in matches, environments and at the table."""
    roles, owner = {}, {}
    doors = (in_a_match("match", ()), in_a_match("redrawn", ("setup", "play")), in_an_environment(), at_the_table())
    for role, words in itertools.chain(*doors):
        roles.setdefault(role, []).extend(words)
    assert len(roles) > 18
    for role, words in roles.items():
        for word in words:
            assert owner.setdefault(word, role) == role


# --- Players ---


class KeepsKeys(TurnAgent):
    """Plays for the first outcome of its turn; keeps the keys of its choices."""

    name = "keeps-keys"

    def __init__(self):
        super().__init__()
        self.keys = []

    def prepare(self, game):
        self.turn = turns.new_workspace(game)
        return self.turn

    def choose(self, game, state, key):
        self.keys.append(int(key))
        count = turns.enumerate_turn(state, game.tables[0], self.turn)
        return int(np.flatnonzero(self.turn.due[:count] != turns.TURN_GOES_ON)[0])


def test_every_turn_that_is_planned_has_its_own_key():
    game, agent, rng = variant(2, **SHORT), KeepsKeys(), np.random.default_rng(1)
    for first in (0, 3, 6):
        agent.act(game, game.new_states(range(first, first + 3)), rng)
    assert len(agent.keys) == 9
    assert not repeated(agent.keys)


SEARCHES = {
    "flat-mc": lambda game: make("flat-mc:rollouts=9,k=3,rounds=2"),
    "search": lambda game: make("search:nodes=9,k=3"),
    "search in Python": lambda game: make("search:nodes=9,k=3,value=[helpers.searches:Even]"),
    "zero": lambda game: ValueNetAgent(random_net(game), draws=3),
    "zero-search": lambda game: SearchAgent(ValueNetAgent(random_net(game)), nodes=9),
}
# Streams whose index counts something within one decision, and how many values it takes at least.
COUNTED = {
    "flat-mc": {int(streams.ROLLOUT_KEYS): 3, int(streams.ROLLOUT_CHOICES): 4},
    "search": {int(streams.TREE_RESTOCKS): 2},
    "search in Python": {int(streams.TREE_RESTOCKS): 2},
    "zero": {int(streams.LOOKAHEAD): 3},
    "zero-search": {int(streams.TREE_RESTOCKS): 2},
}


@interpreted
@pytest.mark.parametrize("name", SEARCHES)
def test_no_decision_of_a_search_repeats_a_draw_of_another(name, monkeypatch):
    """Within a decision draws are repeated on purpose: candidates share random numbers."""
    game = variant(2, **SHORT | {"sets": 3})
    agent, rng, decisions = SEARCHES[name](game), np.random.default_rng(1), []
    draws = keyed_draws(monkeypatch)
    for deal in range(3):
        states = last_turn(game, set=0, at="E1", rupees=[deal, 2])
        draws.clear()
        agent.act(game, states, rng)
        decisions.append(list(draws))
        for stream, least in COUNTED[name].items():
            assert len({index for _, found, index in draws if found == stream}) >= least, stream
    assert_disjoint(decisions)
