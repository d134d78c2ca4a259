"""Datasets: what they hold is what the environments show, and a failure leaves nothing behind."""

import functools
import json

import numba
import numpy as np
import pytest

from bombay_env import Game, Rules, bombay_v0
from bombay_env.record import Record
from bombay_training.datasets.decisions import View, all_decisions, decisions
from bombay_training.evaluation import arena
from helpers.variants import largest_board

pa = pytest.importorskip("pyarrow", reason="needs the extra `data`")
library = pytest.importorskip("minari", reason="needs the extra `data`")

import pyarrow.parquet as pq  # noqa: E402 - after the check above

from bombay_training.datasets import minari, parquet  # noqa: E402

needs_jit = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="matches take the compiler")
VIEWS = [View("perfect_recall", "win"), View("screened", "margin")]


def play(n, seed, view, board=None):
    """A random game in the PettingZoo environment: what it showed at each decision, what it paid, its last views, its record."""
    env = bombay_v0.env(num_players=n, board=board, observation_mode=view.observation_mode, reward=view.reward)
    env.reset(seed=seed)
    rng, shown = np.random.default_rng(seed), []
    while not env.terminations[env.agent_selection]:
        seat, seen = env.possible_agents.index(env.agent_selection), env.observe(env.agent_selection)
        action = rng.choice(np.flatnonzero(seen["action_mask"]))
        shown.append((seat, seen["observation"], seen["action_mask"], action))
        env.step(action)
    final = np.array([env.observe(agent)["observation"] for agent in env.possible_agents])
    paid = [env.rewards[agent] for agent in env.possible_agents]
    return shown, paid, final, Record.from_dict(env.unwrapped.record())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("n", "board"), [(2, None), (5, None), (2, largest_board())])
def test_decisions_are_those_that_the_environment_shows(n, board, view):
    shown, paid, final, record = play(n, 10 + n, view, board)
    found = decisions(record, view)
    seats, observations, masks, actions = (np.array(column) for column in zip(*shown, strict=True))
    assert (found.seats == seats).all()
    assert (found.observations == observations).all()
    assert (found.masks == masks).all()
    assert (found.actions == actions).all()
    assert (found.final == final).all()
    for seat in range(n):
        mine = np.flatnonzero(seats == seat)
        assert np.flatnonzero(found.last & (seats == seat)).tolist() == [mine[-1]]
        assert found.rewards[mine].tolist() == [0] * (len(mine) - 1) + [np.float32(paid[seat])]


def games(count, n=3, spec="greedy"):
    """Records of some games."""
    records = []
    arena.run_fixed_seats(Game(Rules.official(n)), [spec, *["random"] * (n - 1)], count, seed=3, records=records)
    return records


@needs_jit
def test_a_parquet_file_holds_all_decisions_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "GROUP_ROWS", 100)
    records, variants = [*games(3), *games(2, n=2)], [Game(Rules.official(n)) for n in (3, 2)]
    count = parquet.write(tmp_path / "games.parquet", records, variants, View())
    file = pq.ParquetFile(tmp_path / "games.parquet")
    assert file.metadata.num_row_groups > 1
    about = json.loads(file.schema_arrow.metadata[b"bombay"])
    assert (about["format"], about["reward"]) == ("bombay-decisions/1", "win")
    assert [Rules.from_dict(rules) for rules in about["rules"]] == [game.rules for game in variants]
    rows, found = file.read().to_pylist(), [decisions(record, View()) for record in records]
    assert len(rows) == count == sum(len(each.seats) for each in found)
    expected = [(number, place, each) for number, each in enumerate(found) for place in range(len(each.seats))]
    for row, (number, place, each) in zip(rows, expected, strict=True):
        seat = each.seats[place]
        assert (row["game"], row["players"], row["decision"]) == (number, each.record.game.num_players, place)
        assert (row["seat"], row["agent"]) == (seat, each.record.agents[seat])
        assert row["observation"] == each.observations[place].tolist()
        assert row["action_mask"] == each.masks[place].tolist()
        assert (row["action"], row["reward"], row["terminated"]) == (
            each.actions[place],
            each.rewards[place],
            each.last[place],
        )


@needs_jit
def test_a_minari_dataset_has_an_episode_for_each_seat(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    records, view = games(3), View("screened", "margin")
    assert minari.write(tmp_path / "greedy-v0", records, [records[0].game], view) == 9
    dataset = library.load_dataset("greedy-v0")
    assert (dataset.total_episodes, dataset.spec.dataset_id) == (9, "greedy-v0")
    about = list(dataset.storage.get_episode_metadata(range(9)))
    for episode, facts in zip(dataset.iterate_episodes(), about, strict=True):
        number, seat = divmod(int(episode.id), 3)
        each = decisions(records[number], view)
        mine = each.seats == seat
        assert (facts["game"], facts["seat"], facts["agent"]) == (number, seat, records[number].agents[seat])
        assert (episode.observations == [*each.observations[mine], each.final[seat]]).all()
        assert (episode.infos["action_mask"][:-1] == each.masks[mine]).all()
        assert not episode.infos["action_mask"][-1].any()
        assert (episode.actions == each.actions[mine]).all()
        assert (episode.rewards == each.rewards[mine]).all()
        assert (episode.terminations == each.last[mine]).all()
        assert not episode.truncations.any()
    env = dataset.recover_environment()
    assert env.unwrapped.game == records[0].game
    assert (env.unwrapped.observation_mode, env.spec.kwargs["reward"]) == ("screened", "margin")
    assert env.spec.max_episode_steps >= max(len(episode.actions) for episode in dataset.iterate_episodes())
    assert env.observation_space == dataset.observation_space
    card = (tmp_path / "greedy-v0" / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\npretty_name: greedy-v0\n")
    for said in ("3 games of Bombay for 3 players", "9 episodes", "`greedy`", "`screened`", "`margin`"):
        assert said in card
    assert "rules | official" in card


def test_the_environment_of_a_minari_dataset_has_the_board_of_its_games(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    *_, record = play(2, 3, View(), largest_board())
    minari.write(tmp_path / "other-v0", [record], [record.game], View())
    env = library.load_dataset("other-v0").recover_environment()
    assert env.unwrapped.game == record.game
    assert not env.unwrapped.game.board.is_packaged


def test_a_game_without_a_result_is_left_out():
    *_, record = play(2, 5, View())
    unfinished = Record.from_dict({**record.to_dict(), "events": list(record.events[:10]), "result": None})
    with pytest.raises(ValueError, match="no result"):
        decisions(unfinished, View())
    assert [each.number for each in all_decisions([unfinished, record], View())] == [1]


@pytest.mark.parametrize("write", [parquet.write, minari.write])
def test_a_failure_leaves_nothing(write, tmp_path):
    *_, record = play(2, 5, View())

    def broken():
        yield record
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "games-v0", broken(), [record.game], View())
    assert not list(tmp_path.iterdir())


@pytest.fixture
def simulate(bombay):
    return functools.partial(bombay, "simulate", "--games", 2, "--players", 2)


@needs_jit
@pytest.mark.parametrize(
    ("form", "name", "said"), [("parquet", "games.parquet", "decisions"), ("minari", "games-v0", "4 episodes")]
)
def test_the_command_writes_datasets(form, name, said, simulate, tmp_path):
    done = simulate("--format", form, "--out", name, "--reward", "margin")
    assert done.returncode == 0, done.stderr
    assert f"written to {name}: " in done.stdout
    assert said in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == [name]


@needs_jit
def test_the_example_imitates_the_agent_that_is_named(tmp_path):
    example = pytest.importorskip("behaviour_cloning", reason="needs the extra `ppo`")
    records = games(5)
    parquet.write(tmp_path / "g", records, [records[0].game], View())
    observations, masks, actions = example.load(tmp_path / "g", "greedy")
    own = [decisions(record, View()) for record in records]
    assert len(actions) == len(masks) == len(observations) == sum(int((each.seats == 0).sum()) for each in own)
    policy = example.train(tmp_path / "g", "greedy", seconds=0)
    seen = own[0]
    chosen = policy(seen.observations, seen.masks)
    assert seen.masks[np.arange(len(chosen)), chosen].all()
    with pytest.raises(ValueError, match="no decisions of champion"):
        example.load(tmp_path / "g", "champion")


@needs_jit
@pytest.mark.slow
def test_the_example_beats_random(tmp_path):
    from common import evaluate

    example = pytest.importorskip("behaviour_cloning", reason="needs the extra `ppo`")
    records = []
    arena.run_fixed_seats(Game(Rules.official(4)), ["planner-v1"] * 4, 500, seed=3, records=records)
    parquet.write(tmp_path / "g", records, [records[0].game], View())
    assert evaluate(example.train(tmp_path / "g", "planner-v1", seconds=30), 4).low > 0.25
