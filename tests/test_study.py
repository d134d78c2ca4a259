"""`bombay study`: runs and matches are done once, and a study that was stopped goes on."""

import dataclasses
import functools
import json

import numba
import pytest

from bombay_env.agent import AgentFault
from bombay_training import rich_tables
from bombay_training.cli.errors import UserError
from bombay_training.cli.learn import study as study_command
from bombay_training.evaluation import ladder
from bombay_training.learners import study
from bombay_training.learners import train as learners
from bombay_training.learners.zero import ZeroSettings

SLOW = numba.config.DISABLE_JIT
needs_jit = pytest.mark.skipif(SLOW, reason="learning takes the compiler")


@pytest.fixture
def tiny(monkeypatch):
    """A study of a net that hardly learns."""
    settings = functools.partial(ZeroSettings, updates=1, games=2)
    monkeypatch.setitem(study.SUBJECTS, "tiny", study.Subject(settings, ((study.AT_ONCE, "random", 0.25),), (2,)))


def train(trial):
    """Train a trial, or what is left of it, as the command does."""
    run = trial.run(trial.settings())
    if run.folder is None:
        run.create(trial.folder, replace=False)
    run.loop(trial.folder)


@pytest.fixture
def trained(tiny, tmp_path):
    """A trial of that study, trained."""
    (trial,) = study.trials("tiny", [1.0], [0], tmp_path)
    train(trial)
    return trial


def lines(out):
    return (out / study.MATCHES).read_text().splitlines()


@needs_jit
def test_the_command_trains_what_is_missing_and_plays_what_is_missing(tiny, tmp_path, capsys, monkeypatch):
    def command(games=16):
        study_command.study(
            "tiny", "1", "3,4", "2", tmp_path, threads=1, games=games, deals=5, processes=1, as_json=True
        )
        return json.loads(capsys.readouterr().out)["rows"]

    with monkeypatch.context() as patch:
        patch.setattr(study, "_play", raiser(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):  # after the first run
            command()
    assert {path.name for path in tmp_path.iterdir()} == {"tiny-1min-seed3", study.MATCHES}
    rows = command()
    assert [(row["seed"], row["players"], row["games"], row["deals"]) for row in rows] == [(3, 2, 4, 5), (4, 2, 4, 5)]
    for row in rows:
        assert row["par"] == 0.5
        assert row["learned_from"].items() >= {"update": 1, "games": 2}.items()
        assert row["learned_from"].keys() == {"update", "games", "positions", "seconds"}
    with monkeypatch.context() as patch:
        patch.setattr(study, "_play", raiser(AssertionError))
        assert command() == rows
    assert [row["games"] for row in command(games=32)] == [8, 8]
    assert learners.saved_settings(tmp_path / "tiny-1min-seed3").threads == 1


def test_results_that_cannot_be_written_are_refused_before_anything_is_learned(tiny, tmp_path):
    (tmp_path / study.MATCHES).mkdir()
    with pytest.raises(UserError, match=study.MATCHES) as refused:
        study_command.study("tiny", "1", "0", "2", tmp_path, threads=1, games=16, deals=5, processes=1, as_json=True)
    assert "\n" not in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == [study.MATCHES]


def raiser(error):
    def fail(*_, **__):
        raise error

    return fail


@needs_jit
def test_an_incomplete_line_is_played_again(trained, tmp_path):
    first = list(study.judge(trained, [2], tmp_path, games=16))
    (tmp_path / study.MATCHES).write_text(lines(tmp_path)[0][:50])
    assert study.read(tmp_path / study.MATCHES) == []
    (again,) = study.judge(trained, [2], tmp_path, games=16)
    assert again["win_share"] == first[0]["win_share"]
    assert len(study.read(tmp_path / study.MATCHES)) == 1


ROW = {
    "learner": "zero", "minutes": 3.0, "seed": 0, "players": 2, "agent": "a", "rest": "b", "blocks": 5, "games": 10, "par": 0.5,
    "win_share": {"mean": 0.5, "low": None, "high": 0.6}, "ms_per_turn": None,
}  # fmt: skip


def test_lines_that_are_no_matches_are_left_out(tmp_path):
    file = tmp_path / study.MATCHES
    lines = ["[" * 100_000, "3", json.dumps(ROW)[:-9], "NaN", '{"learner": "zero"}', json.dumps(ROW)]
    file.write_bytes(b"\xff\n" + "\n".join(lines).encode())
    assert study.read(file) == [ROW]


@needs_jit
def test_another_run_in_the_folder_is_refused(trained, tmp_path):
    trained.folder.rename(tmp_path / "tiny-1min-seed7")
    (other,) = study.trials("tiny", [1.0], [7], tmp_path)
    with pytest.raises(ValueError, match="tiny-1min-seed7' holds another run: its seed is 0, not 7"):
        other.settings()


@needs_jit
def test_a_match_counts_only_for_its_net_its_deals_and_while_the_others_decide_as_they_did(
    trained, tmp_path, monkeypatch
):
    (first,) = study.judge(trained, [2], tmp_path, games=16)
    (elsewhere,) = study.judge(trained, [2], tmp_path, deals=5)
    assert (first["deals"], elsewhere["deals"]) == (2028, 5)
    with monkeypatch.context() as patch:
        make = ladder.make
        patch.setattr(ladder, "make", lambda spec: make("random-turn" if spec == "random" else spec))
        (otherwise,) = study.judge(trained, [2], tmp_path, games=16)
    assert otherwise["net"] == first["net"]
    assert otherwise["digest"] != first["digest"]
    other = dataclasses.replace(trained, seed=1, folder=tmp_path / "tiny-1min-seed1")
    train(other)
    (other.folder / "agent.safetensors").replace(trained.folder / "agent.safetensors")
    (again,) = study.judge(trained, [2], tmp_path, games=16)
    assert again["net"] != first["net"]
    assert len(lines(tmp_path)) == 4


def test_numbers_of_players_that_are_not_learned_are_refused():
    study.check_players("zero", [2, 5])
    with pytest.raises(ValueError, match=r"^--players has 2; ppo learns with 4 players in a study$"):
        study.check_players("ppo", [4, 2])


@needs_jit
def test_a_match_with_a_fault_is_not_a_result(trained, tmp_path):
    with pytest.raises(AgentFault, match=r"^agent .*agent.safetensors,rounds=0'.*: .*was not trained on these"):
        list(study.judge(trained, [3], tmp_path, games=16))
    assert not (tmp_path / study.MATCHES).exists()


def test_the_table_shows_specs_with_brackets_whole():
    table = study_command._table([{**ROW, "agent": study.LOOKING_AHEAD, "rest": "[/b]"}])
    shown = rich_tables.markdown(table)
    assert study.LOOKING_AHEAD in shown
    assert "1 × [/b]" in shown


@pytest.mark.parametrize("name", ["a,b", "a[b", "a]b"])
def test_a_folder_that_no_spec_can_name_is_refused_before_training(tmp_path, name):
    with pytest.raises(ValueError, match="it must have no comma and no bracket in its path"):
        study.trials("zero", [3], [0], tmp_path / name)


@pytest.mark.parametrize(("minutes", "seeds"), [([3, 3], [0]), ([3], [0, 0]), ([0.1234567, 0.1234568], [0])])
def test_runs_with_one_folder_are_refused(tmp_path, minutes, seeds):
    with pytest.raises(ValueError, match=r"^two runs of the study have the same folder; give each"):
        study.trials("zero", minutes, seeds, tmp_path)


def test_settings_are_those_of_the_learner(tmp_path):
    zero, *_ = study.trials("zero", [3, 10], [0, 1], tmp_path)
    assert zero.folder == tmp_path / "zero-3min-seed0"
    assert zero.settings() == ZeroSettings(minutes=3, seed=0, players=(2, 3, 4, 5))
    assert zero.settings(threads=1).threads == 1
