"""The examples of learners: each makes an update, plays legal actions and prints its result."""

import functools
import importlib
import itertools
import json
import sys
import tomllib
from pathlib import Path

import common
import numpy as np
import pytest
from common import evaluate

import bombay_agents
from bombay_env import Board, Game, Rules
from bombay_env.rewards import seat_rewards
from bombay_training.learners import track
from helpers.command import without_workers
from helpers.own_environment import python_with, run_tests
from helpers.refusal import refusal
from helpers.variants import larger_board

# For each example the package that it needs, and what makes an update short.
EXAMPLES = {
    "sb3_ppo": ("sb3_contrib", {"NUM_ENVS": 2, "NUM_STEPS": 64}),
    "plain_torch": ("torch", {"NUM_LANES": 4, "NUM_STEPS": 16, "BATCH": 32}),
    "whole_turns": ("torch", {"NUM_GAMES": 2}),
}
each_example = pytest.mark.parametrize("name", EXAMPLES)


def load(name):
    package, _ = EXAMPLES[name]
    pytest.importorskip(package, reason=f"needs {package}; see docs/trainers.md")
    return importlib.import_module(name)


@pytest.fixture(autouse=True)
def _threads():
    """Each example sets PyTorch's number of threads for its process."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def positions(n):
    """Some positions of random games, all running."""
    game = Game(Rules.official(n))
    states = game.new_states(range(20))
    game.rollout(states, range(20), max_decisions=40)
    return game, states[~game.is_terminal(states)]


@each_example
def test_an_update_gives_a_policy_that_plays_legal_actions(name, monkeypatch):
    example = load(name)
    for constant, value in EXAMPLES[name][1].items():
        monkeypatch.setattr(example, constant, value)
    policy = example.train(3, seconds=0)
    agent = policy if isinstance(policy, bombay_agents.Agent) else common.PolicyAgent(policy, name)
    game, states = positions(3)
    game.check_actions(states, agent.act(game, states, np.random.default_rng(0)))


@each_example
def test_the_script_prints_the_win_share(name, monkeypatch, capsys):
    example = load(name)
    monkeypatch.setattr(example, "train", lambda *_: lambda seen, masks: masks.argmax(axis=1))
    example.main(minutes=0, players=2, blocks=2)
    assert "win share against random: " in capsys.readouterr().out


@pytest.mark.parametrize(("name", "package"), [("track_dqn", "torch"), ("track_maskable_ppo", "sb3_contrib")])
def test_an_entry_to_a_track_is_learned_and_scored(name, package, bombay, monkeypatch, tmp_path):
    pytest.importorskip(package, reason=f"needs {package}")
    pytest.importorskip("pyarrow", reason="needs the extra `data`")
    example, commands = importlib.import_module(name), []
    for constant, value in {"BUFFER": 1000, "BATCH": 8, "NUM_LANES": 4, "NUM_ENVS": 4}.items():
        monkeypatch.setattr(example, constant, value, raising=False)
    if package == "sb3_contrib":
        monkeypatch.setattr(example, "MaskablePPO", functools.partial(example.MaskablePPO, n_steps=64))
    monkeypatch.setitem(common.TRACKS, "rules-1M", 1000)
    monkeypatch.setattr(common.subprocess, "run", lambda command, check: commands.append(command))
    example.main("rules-1M", seed=2, out=tmp_path)
    monkeypatch.setattr(track, "PLAYERS", (2,))
    monkeypatch.setattr(track, "OPPONENTS", ("random",))
    without_workers(monkeypatch)
    scored = bombay(*commands[0][3:], "--games", 2, "--json")
    (made,) = json.loads(scored.stdout)["entries"]
    assert (made["learner"], made["seed"], len(made["points"])) == ({"track_dqn": "DQN"}.get(name, "MaskablePPO"), 2, 1)
    (net,) = (tmp_path / "seed-2").glob("agent-*.safetensors")
    decisions = int(net.stem.partition("-")[2])
    assert 1000 <= decisions < 1300
    assert [f"--agent={decisions}=net:path={net}"] == [part for part in commands[0] if part.startswith("--agent")]
    for n in (2, 5):
        game, states = positions(n)
        game.check_actions(states, bombay_agents.make(f"net:path={net}").act(game, states, np.random.default_rng(0)))


@pytest.mark.parametrize("name", common.TRACKS)
def test_snapshots_of_examples_are_due_where_the_track_has_points(name, tmp_path):
    assert common.Entry(name, "x", 0, tmp_path).due == track.TRACKS[name].points()


def test_a_transition_of_dqn_joins_two_decisions_of_one_seat(monkeypatch):
    """In a replayed game: from a seat's decision to its next one, or to the end with the result of the seat."""
    example, torch = importlib.import_module("track_dqn"), importlib.import_module("torch")
    monkeypatch.setattr(example, "BUFFER", 4000)
    monkeypatch.setattr(example, "NUM_LANES", 1)
    table, net = example.Table(3, seed=5), torch.nn.Linear(584, 39)
    game, states, seen = table.game, [], []
    rng = np.random.default_rng(0)
    while not table.lanes.ended.any():
        states.append(table.lanes.states.copy())
        table.play(net, 1.0, rng)
    states = np.concatenate(states)
    movers = game.current_player(states)
    final = seat_rewards(game.results(table.lanes.finals), "win")[0]
    for seat in range(3):
        mine = states[movers == seat]
        seen += [(before.tobytes(), after.tobytes(), 0.0, 0.0) for before, after in itertools.pairwise(mine)]
        seen.append((mine[-1].tobytes(), mine[-1].tobytes(), pytest.approx(final[seat]), 1.0))
    rows = [table.replay[name][: table.count] for name in ("before", "after", "reward", "ended")]
    found = [(before.tobytes(), after.tobytes(), *rest) for before, after, *rest in zip(*rows, strict=True)]
    assert len(found) == len(states)
    assert sorted(found[:-3], key=str) == sorted([row for row in seen if not row[3]], key=str)
    assert found[-3:] == [row for row in seen if row[3]]


def test_plain_torch_credits_each_decision_with_the_margin_of_its_own_seat(monkeypatch):
    """With λ = 1, and a game long enough to end: the change of the margin of the seat that moved, whoever moves last."""
    example, torch = load("plain_torch"), importlib.import_module("torch")
    for constant, value in {"NUM_LANES": 2, "NUM_STEPS": 250, "TD_LAMBDA": 1.0}.items():
        monkeypatch.setattr(example, constant, value)
    game = Game(Rules.official(3))
    rollout = example.Rollout(game, seed=5)
    with torch.inference_mode():
        returns = rollout.play(example.Net(game.num_features, game.num_actions))
    for lane in range(2):
        end = int(rollout.ended[:, lane].argmax())
        seats, states, before = rollout.seats[: end + 1, lane], game.new_states([2 * 5 + lane]), []
        for action, seat in zip(rollout.actions[: end + 1, lane], seats, strict=True):
            before.append(seat_rewards(game.provisional_results(states), "margin")[0, seat])
            game.step(states, [action])
        margins = seat_rewards(game.results(states), "margin")[0]
        assert len(set(margins.tolist())) > 1
        assert returns[: end + 1, lane] == pytest.approx(margins[seats] - before, abs=1e-5)


def test_plain_torch_saves_a_net_that_plays_by_its_spec(monkeypatch, tmp_path):
    example, torch = load("plain_torch"), importlib.import_module("torch")
    game, states = positions(2)
    torch.manual_seed(1)
    player = example.Player(example.Net(game.num_features, game.num_actions))
    monkeypatch.setattr(example, "train", lambda *_: player)
    example.main(players=2, blocks=2, out=tmp_path / "agent.pt")
    loaded = bombay_agents.make(f"plain_torch:load:path={tmp_path / 'agent.pt'}")
    actions = [agent.act(game, states, np.random.default_rng(0)).tolist() for agent in (player, loaded)]
    assert actions[0] == actions[1]
    larger = Game(Rules.official(2), Board.from_dict(tomllib.loads(larger_board())))
    assert "another number of sites" in refusal(lambda: loaded.check_game(larger))


def test_whole_turns_learns_by_how_much_the_margin_of_the_mover_grows(monkeypatch):
    example, after = load("whole_turns"), []

    def recording(game, states, actions):
        seats = game.current_player(states)
        bombay_agents.play_turns(game, states, actions)
        after.append((states.copy(), seats))

    monkeypatch.setattr(example, "play_turns", recording)
    game = Game(Rules.official(3))
    _, grew = example.play(game, example.WholeTurns(game), np.array([5]), np.random.default_rng(0))
    margins = np.array([seat_rewards(game.provisional_results(states), "margin")[0] for states, _ in after])
    seats = np.concatenate([seats for _, seats in after])
    assert grew == pytest.approx((margins[-1] - margins)[np.arange(len(seats)), seats], abs=1e-5)
    assert len(set(grew.round(3))) > 5


@pytest.mark.slow
@each_example
def test_it_beats_random_after_a_minute(name):
    assert evaluate(load(name).train(4, seconds=60), 4).low > 0.25


@pytest.mark.slow
def test_rllib_plays_by_the_same_rules_in_an_environment_of_its_own():
    """The conformance of its interface."""
    assert run_tests(python_with("rllib"), "-k", "rllib", "tests/env/envs/test_conformance.py") >= 3


@pytest.mark.parametrize("n", [2, 5])
def test_an_agent_of_another_revision_plays_as_a_program(n):
    """The program answers as the agent does; here the other revision is this one."""
    program = Path(common.__file__).with_name("exec_revision.py")
    agent = bombay_agents.make(f"exec:command=[{sys.executable} {program} zero:rounds=0],seconds=60")
    game, states = positions(n)
    actions = agent.act(game, states, np.random.default_rng(0))
    agent.close()
    expected = bombay_agents.make("zero:rounds=0").act(game, states, np.random.default_rng(0))
    assert actions.tolist() == expected.tolist()
