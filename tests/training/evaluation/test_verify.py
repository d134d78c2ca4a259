"""`bombay verify`: games are played again, and every change of a store or of a net is found."""

import json

import numpy as np
import pytest

from bombay_agents import make
from bombay_env import Game, Rules
from bombay_training.evaluation.verify import _sample, verify
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.play import Here
from bombay_training.matches.run import run
from bombay_training.matches.store import LEAGUE, PROVENANCE, Store
from helpers.command import without_workers
from helpers.refusal import refusal

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `data`")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `data`")

TINY = Game(Rules(3, sets=1, turns_per_set=2))


def test_the_published_games_repeat():
    """A changed net, deal or number would show: see the other tests. `bombay verify` plays more of them again."""
    found = verify(LEAGUE, games=24)
    assert (found.games, found.differences, found.left_out) == (24, [], [])


class Draws:
    """Draws from the generator of its chunk itself, so that a game of it alone takes another course."""

    def act(self, game, states, rng):
        masks = game.legal_actions(states)
        return (rng.random(masks.shape) * masks).argmax(axis=1)


@pytest.fixture
def folder(tmp_path):
    lineups = [("random", "greedy", "random-turn"), ("greedy", "helpers.failing_agents:Raises", "random")]
    lineups += [("test_verify:Draws", "random", "random")]
    with Store(tmp_path / "s") as store:
        run([Lineup(TINY, lineup, 20, 3, Seating.ROTATE, chunk_games=None) for lineup in lineups], store)
    return tmp_path / "s"


def test_the_games_of_a_store_repeat(folder):
    found = verify(folder, games=60)
    assert (found.games, found.differences) == (60, [])
    assert verify(folder, games=7).games == 7


def test_the_complete_deals_of_a_store_that_was_interrupted_are_compared(tmp_path):
    lineup = Lineup(TINY, ("test_verify:Draws", "random", "random"), 100, 3)
    (chunk, *_) = lineup.chunks([make(player) for player in lineup.players])
    assert chunk.count % 3, "the last deal is not complete"
    with Store(tmp_path / "s") as store:
        store.check([lineup], None, None)
        store.add(lineup, Here().play_chunk(lineup, chunk))
    found = verify(tmp_path / "s", games=40)
    assert (found.games, found.differences) == (40, [])


def test_a_sample_has_a_game_of_every_line_up(folder):
    for seed in range(20):
        chosen = _sample([500, 1, 3], 3, np.random.default_rng(seed))
        assert chosen[:, 0].tolist() == [0, 1, 2]
        assert (chosen[:, 1] < [500, 1, 3]).all()
    assert len(_sample([500, 1, 3], 2, np.random.default_rng(0))) == 2
    every = [[group, game] for group, size in enumerate([5, 1, 3]) for game in range(size)]
    assert _sample([5, 1, 3], 100, np.random.default_rng(0)).tolist() == every


@pytest.mark.parametrize("column", ["place", "win_share", "clients"])  # finals would contradict margins
def test_a_changed_number_is_found(folder, column):
    before, part = verify(folder, games=1).digest, folder / "rows" / "000001.parquet"
    table = parquet.read_table(part)
    place = table.column_names.index(column)
    values = table.column(column).to_pylist()
    values[7] += 1
    changed = pyarrow.array(values, table.schema.field(column).type)
    parquet.write_table(table.set_column(place, column, changed), part)
    found = verify(folder, games=60)
    assert [line.startswith("game 2 of random, greedy, random-turn") for line in found.differences] == [True]
    assert found.digest != before


def test_a_store_without_games_is_refused(folder):
    for part in (folder / "rows").iterdir():
        part.unlink()
    refusal(lambda: verify(folder), "has no games to play again")


def test_agents_that_think_by_the_clock_are_left_out(tmp_path):
    with Store(tmp_path / "s") as store:
        run([Lineup(TINY, ("flat-mc:ms=1", "random", "random"), 1), Lineup(TINY, ("random",) * 3, 1)], store)
    found = verify(tmp_path / "s")
    assert (found.games, found.left_out, found.differences) == (3, ["flat-mc:ms=1"], [])


def test_the_command_ends_with_the_verdict(bombay, folder, tmp_path, monkeypatch):
    done = bombay("verify", folder, "--games", 5, "--processes", 1)
    assert (done.returncode, "5 games played again: all are the same" in done.stdout) == (0, True)
    kept = json.loads((folder / PROVENANCE).read_text())
    (folder / PROVENANCE).write_text(json.dumps(kept | {"agents": dict.fromkeys(kept["agents"], "0" * 16)}))
    without_workers(monkeypatch)
    done = bombay("verify", folder, "--games", 5, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["passed"] is False
    done = bombay("verify", tmp_path)
    assert (done.returncode, "not a store of games" in done.stderr) == (2, True)
