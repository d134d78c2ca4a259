"""Stores: what a folder keeps, what a kill leaves, and the digest of all results."""

import dataclasses
import json
import random
import time

import numba
import numpy as np
import psutil
import pytest

from bombay_env import Game, Rules
from bombay_training.matches import store as stores
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.lineup import Lineup, Seating
from bombay_training.matches.play import Here
from bombay_training.matches.run import run
from bombay_training.matches.store import Store, digest, read_matches
from bombay_training.matches.study import Study, read_toml
from bombay_training.matches.study import lineups as lineups_of
from bombay_training.matches.table import ACCOUNTS
from helpers.command import ended, python, started
from helpers.failing_agents import First
from helpers.matches import edited
from helpers.refusal import refusal
from helpers.variants import random_board

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra `data`")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra `data`")

TINY = Game(Rules(3, sets=1, turns_per_set=2))  # a short game
needs_jit = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="hundreds of games take minutes with the compiler off")


def lineups(deals=7):
    """Line-ups of several kinds: agents that draw, one that fails, accounts, another board."""
    failing, own = "helpers.failing_agents:Raises", Game(Rules(2, sets=1, turns_per_set=1), random_board(3))
    return [
        Lineup(TINY, ("random", "greedy", "random-turn"), deals, 5),
        Lineup(TINY, ("greedy", "random", "random"), deals, 5, Seating.ROTATE, "1vrest", accounts=True, chunk_games=4),
        Lineup(TINY, ("random", failing, "greedy"), deals, 5, Seating.FIXED),
        Lineup(own, ("random", "greedy"), deals, 5),
    ]


def same(one, other):
    """Check that two matches are equal in all that a store keeps, times included."""
    assert one.plan.identity == other.plan.identity
    assert one.rows.dtype == other.rows.dtype
    assert (one.rows == other.rows).all()
    assert one.faults == other.faults


def test_what_is_read_is_what_was_written(tmp_path):
    with Store(tmp_path / "s", "seed = 5") as store:
        written = run(lineups(), store)
    read = read_matches(tmp_path / "s")
    for one, other in zip(written, read, strict=True):
        same(one, other)
    assert digest(read) == digest(reversed(written)) == digest(run(lineups()))
    assert (tmp_path / "s" / "study.toml").read_text() == "seed = 5"
    with Store(tmp_path / "s") as store:  # and what is there is not played again
        for one, other in zip(run(lineups(), store), written, strict=True):
            same(one, other)


def test_rows_hold_what_the_data_dictionary_says(tmp_path):
    with Store(tmp_path / "s") as store:
        matches = run(lineups(), store)
    table = parquet.read_table(tmp_path / "s" / "rows")
    assert table.column_names == list(stores.FILE_COLUMNS)
    for name, (kind, _) in stores.FILE_COLUMNS.items():
        shape, _, base = kind.rpartition(")")
        found = {"float64": "double", "float32": "float"}.get(base, base)
        if name in ACCOUNTS:
            found = f"fixed_size_list<element: {found}>[{shape.strip('(,')}]"
        assert str(table.schema.field(name).type) == ("string" if name == "agent" else found)
    rows = table.to_pylist()
    assert len(rows) == sum(match.final.size for match in matches)
    json_lineups = json.loads((tmp_path / "s" / "lineups.json").read_text())
    for row in rows:
        game = [other for other in rows if (other["lineup"], other["game"]) == (row["lineup"], row["game"])]
        assert row["agent"] in json_lineups[row["lineup"]]["lineup"]
        assert (row["rupees"] is None) == (json_lineups[row["lineup"]]["accounts"] is False)
        assert row["rupees"] is None or sum(row["rupees"]) == row["final"]
        assert row["decisions"] >= row["turns"] >= 0 <= row["seconds"]
        faulty = any(other["fault"] for other in game)
        ahead = sum((o["final"], o["clients"]) > (row["final"], row["clients"]) for o in game)
        assert row["place"] == (0 if faulty else 1 + ahead)
        assert sum(other["win_share"] for other in game) == pytest.approx(1)
    faults = [row for row in rows if row["fault"]]
    assert {row["agent"] for row in faults} == {"helpers.failing_agents:Raises"}
    assert {(row["action"], row["win_share"]) for row in faults} == {("none", 0.0)}


def test_more_deals_continue_a_study_as_if_it_had_been_played_at_once(tmp_path):
    with Store(tmp_path / "s") as store:
        run(lineups(3), store)
    with Store(tmp_path / "s") as store:
        known = sum(store.known(lineup).sum() for lineup in lineups(9))
        assert known == sum(lineup.num_games for lineup in lineups(3))
        continued = run(lineups(9), store)
    assert digest(continued) == digest(run(lineups(9))) == digest(read_matches(tmp_path / "s"))
    rows = parquet.read_table(tmp_path / "s" / "rows").to_pylist()
    assert len({(row["lineup"], row["game"], row["seat"]) for row in rows}) == len(rows)


def test_records_of_games_that_are_there_are_made_by_playing_them_again(tmp_path):
    lineup = Lineup(TINY, ("random", "greedy", "random"), 4, 5, chunk_games=5)
    wanted, moved = dataclasses.replace(lineup, records=True), []
    with Store(tmp_path / "s") as store:
        (plain,) = run([lineup], store)
        assert plain.records == ()
        assert not store.known(wanted).any()
        store.add(wanted, Here().play_chunk(wanted, wanted.chunks([])[0]))  # and then it is stopped
        match = store.match(wanted)
        assert (match.num_games, len(match.records)) == (3, 3), "the complete deals that have records"
        (match,) = run([wanted], store, progress=moved.append)
        assert sum(moved) == 12 - 5
        assert match.records == run([wanted])[0].records
        assert (match.final == plain.final).all()
        again, _ = run([wanted, lineup], store, progress=moved.append)
        assert (sum(moved), again.records) == (12 - 5, match.records)
    rows = parquet.read_table(tmp_path / "s" / "rows")
    assert len(rows) == 12 * 3, "each game is kept once"


def test_the_digest_changes_with_every_kind_of_result():
    (match,) = run([Lineup(TINY, ("random", "greedy", "random"), 2, 5)])
    found = {digest([match])}
    for field in ("final", "win_share", "place", "clients", "deal", "seating", "seats"):
        changed = getattr(match, field).copy()
        changed[-1] += 1
        found.add(digest([edited(match, **{field: changed})]))
    found.add(digest([edited(match, lineup=("random", "greedy", "greedy"))]))
    assert len(found) == 9


def test_a_second_process_is_refused_while_one_writes(tmp_path):
    with Store(tmp_path / "s"):
        refusal(lambda: Store(tmp_path / "s"), "in use by another process")
    with Store(tmp_path / "s"):
        pass


def test_folders_of_something_else_are_refused_and_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("all of it")
    (tmp_path / "file").write_text("")
    refusal(lambda: Store(tmp_path / "mine"), "holds something else")
    (tmp_path / "mine" / ".lock").touch()  # as in the folder of a run
    refusal(lambda: Store(tmp_path / "mine"), "holds something else")
    (tmp_path / "mine" / ".lock").unlink()
    refusal(lambda: Store(tmp_path / "file"), "is a file")
    refusal(lambda: read_matches(tmp_path / "mine"), "not a store of games")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_what_a_kill_leaves_is_swept_when_the_folder_is_opened(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / ".bombay-0123456789abcdef.tmp").write_bytes(b"half a file")  # of the first write
    with Store(folder) as store:
        wanted = digest(run(lineups(), store))
    (folder / "rows" / ".bombay-0123456789abcdef.tmp").write_bytes(b"half a part")
    with Store(folder) as store:
        assert digest(run(lineups(), store)) == wanted
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {
        "lineups.json",
        "provenance.json",
        "000001.parquet",
        ".lock",
    }


def test_damaged_stores_are_refused_in_one_line(tmp_path):
    folder = tmp_path / "s"
    with Store(folder) as store:
        run(lineups(), store)
    part = folder / "rows" / "000001.parquet"
    table = parquet.read_table(part)
    for damaged, message in (
        (table.drop_columns(["final"]), "its rows lack final"),
        (table.drop_columns(["turns"]), "its rows lack turns"),
        (table.drop_columns(["fault"]), "its rows lack fault"),
        (table.drop_columns(["uses"]), "its rows lack accounts"),
        (table.set_column(2, "block", [np.arange(len(table), dtype=np.int32)]), "its rows do not fit"),
        (table.set_column(3, "deal", [[1] * len(table)]), "its rows do not fit"),
        (table.set_column(6, "agent", [["random"] * len(table)]), "its rows do not fit"),
        (table.slice(1), "its rows do not fit"),
        (pyarrow.concat_tables([table, table]), "its rows do not fit"),
    ):
        parquet.write_table(damaged, part)
        refusal(lambda: read_matches(folder), message)
    part.write_bytes(b"PAR1")
    refusal(lambda: read_matches(folder), "cannot be read")
    (folder / "lineups.json").write_text('{"x": {}}')
    refusal(lambda: read_matches(folder), "rules is missing")


def test_a_reason_that_no_file_takes_is_written_with_escapes(tmp_path):
    lineup = Lineup(TINY, ("test_store:Surrogate", "random", "random"), 1)
    with Store(tmp_path / "s") as store:
        (match,) = run([lineup], store)
    assert "\\udc80" in match.faults[0].reason
    assert read_matches(tmp_path / "s")[0].faults == match.faults


class Surrogate:
    def act(self, game, states, rng):
        raise ValueError("\udc80")


def test_a_study_keeps_the_larger_number_of_deals_of_a_line_up(tmp_path):
    text = 'seed = 1\ndeals = 2\nplayers = [2]\n[[lineups]]\nagent = "random"\nagainst = ["greedy"]\n'
    (tmp_path / "s.toml").write_text(
        text + '[[lineups]]\nagent = ["random", "greedy"]\nagainst = ["greedy", "random"]\ndeals = 5\n'
    )
    study, _ = read_toml(Study, tmp_path / "s.toml")
    assert [lineup.deals for lineup in lineups_of(study, tmp_path)] == [5] * 4


def test_agents_that_are_objects_play_into_memory():
    agent = First("mine")
    lineup = Lineup(TINY, (agent, "random", "random"), 2)
    assert run([lineup], Store())[0].agents == ("mine", "random")
    with WorkerPool(1) as pool:
        refusal(lambda: run([lineup], engine=pool), "'mine' is an object")


# --- killed runs ---

STUDY = """
seed = 5
deals = 400
players = [2, 3]
seating = "rotate"
rules = { sets = 1, turns_per_set = 2 }
[[lineups]]
agent = ["greedy", "random-turn"]
against = ["random"]
[[lineups]]
mixed = ["greedy", "random", "random-turn"]
accounts = true
"""


COMMAND = ("-m", "bombay_training.cli", "run", "study.toml", "--out", "s", "--json")


@needs_jit
@pytest.mark.parametrize("moments", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments_and_continued_a_study_has_the_same_digest(moments, tmp_path):
    """The command is killed, or one of its workers; no worker outlives it."""
    (tmp_path / "study.toml").write_text(STUDY)
    study, _ = read_toml(Study, tmp_path / "study.toml")
    whole, rng = digest(run(lineups_of(study, tmp_path))), random.Random(moments)
    for moment in range(moments):
        with started(*COMMAND, "--processes", 1 + moment % 3, cwd=tmp_path) as process:
            time.sleep(rng.uniform(0.5, 4.0))
            children = psutil.Process(process.pid).children()
            if moment % 2 and children:
                rng.choice(children).kill()
                time.sleep(0.2)
            process.kill()
            process.communicate(timeout=60)
        until = time.monotonic() + 20
        while not all(map(ended, children)) and time.monotonic() < until:
            time.sleep(0.05)
        assert all(map(ended, children))
    done = python(*COMMAND, cwd=tmp_path)
    assert json.loads(done.stdout)["digest"] == whole == digest(read_matches(tmp_path / "s")), done.stderr
    assert not list((tmp_path / "s").rglob("*.tmp"))


def chunk_of(lineup, first, count):
    rows = lineup.rows(np.arange(first, first + count))
    rows["win_share"] = 1 / rows.shape[1]
    return rows


def test_games_that_cannot_be_written_are_forgotten_and_those_of_a_stopped_write_are_not(tmp_path, monkeypatch):
    lineup, write = Lineup(TINY, ("random", "greedy", "random"), 4), stores.atomic.write_bytes

    def failing(error, when):
        def write_bytes(path, data):
            if path.suffix != ".parquet":
                return write(path, data)
            if when == "after":
                write(path, data)
            raise error

        return write_bytes

    with Store(tmp_path / "s") as store:
        store.add(lineup, chunk_of(lineup, 0, 3))
        store.flush()
        for number, (error, when) in enumerate([(OSError("full"), "before"), (KeyboardInterrupt(), "after")]):
            store.add(lineup, chunk_of(lineup, 3 + 3 * number, 3))
            monkeypatch.setattr(stores.atomic, "write_bytes", failing(error, when))
            with pytest.raises(type(error)):
                store.flush()
            monkeypatch.undo()
            assert store.known(lineup).nonzero()[0].tolist() == [[0, 1, 2], [0, 1, 2, 6, 7, 8]][number]
        store.add(lineup, chunk_of(lineup, 3, 3))  # as after the next play
    assert read_matches(tmp_path / "s")[0].num_games == 9
