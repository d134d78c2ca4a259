"""A store answers only for what played its games: the agents' files, the conditions of play, and the revision of the project."""

import json
from pathlib import Path

import pytest

from bombay_env import Game, Rules
from bombay_training.evaluation import verify as verifying
from bombay_training.evaluation.verify import verify
from bombay_training.matches import provenance
from bombay_training.matches import store as stores
from bombay_training.matches.engines.local import WorkerPool
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.provenance import agent_digest
from bombay_training.matches.run import run
from bombay_training.matches.store import Store, digest, read_matches
from helpers.command import without_workers
from helpers.refusal import refusal

pytest.importorskip("pyarrow", reason="needs the extra `data`")

TINY = Game(Rules(2, sets=1, turns_per_set=1))
AGENT = """
import {imported}

class Agent:
    def __init__(self, path="none"):
        pass

    def act(self, game, states, rng):
        return game.legal_actions(states).argmax(axis=1)
"""


@pytest.fixture
def bombay(bombay, tmp_path, monkeypatch):
    without_workers(monkeypatch)
    (tmp_path / "mine.py").write_text(AGENT.format(imported="mine_too"))
    (tmp_path / "mine_too.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return bombay


def play(folder, *agents, deals=1):
    with Store(folder) as store:
        return run([Lineup(TINY, agents, deals)], store)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("file", ["mine.py", "mine_too.py", "weights.pt"])
def test_an_agent_whose_file_has_changed_is_refused_and_nothing_is_lost(bombay, tmp_path, file):
    (tmp_path / "weights.pt").write_bytes(b"one")
    command = ("arena", "mine:Agent:path=weights.pt", "random", "--players", 2, "--blocks", 2, "--out", "s", "--json")
    first = bombay(*command)
    assert first.returncode == 0, first.stderr
    assert json.loads(bombay(*command).stdout)["matches"] == json.loads(first.stdout)["matches"]
    before = contents(tmp_path / "s")
    with (tmp_path / file).open("a") as changed:
        changed.write("\n# changed\n")
    again = bombay(*command)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.count("\n") == 1
    assert "'mine:Agent:path=weights.pt' has changed since its games in s" in again.stderr
    assert contents(tmp_path / "s") == before
    assert bombay("arena", "greedy", "random", *command[3:]).returncode == 0  # others may still play
    assert "mine:Agent:path=weights.pt has changed since" in bombay("ratings", "s").stderr


def test_a_digest_covers_what_a_spec_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("net.safetensors", "my program.py", "greedy", "helper.py"):
        Path(name).write_text("pass")
    for name in ("bot.py", "net.pt", "lr=0.1/a.pt", "a,b.pt", "checkpoints/1/a.pt", "bare/agent.py", "bare/rules.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("pass")
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "__init__.py").write_text("")
    (tmp_path / "bundle" / "agent.py").write_text("from bundle import rules\nimport helper, bombay_env\n")
    (tmp_path / "bundle" / "rules.py").write_text("")
    specs = {
        "net:path=net.safetensors,rounds=0": ["net.safetensors"],
        "zero-search:nodes=5,value=[net:path=net.safetensors]": ["net.safetensors"],
        "exec:command=[python helper.py --fast=1],seconds=5": ["helper.py"],
        "mine:Agent:path=[my program.py]": ["my program.py"],
        "search:nodes=5,value=[bundle.agent:Value]": ["bundle/__init__.py", "bundle/agent.py", "bundle/rules.py", "helper.py"],
        "exec:command=python bot.py --model=net.pt": ["bot.py", "net.pt"],
        "exec:command=[python 'my program.py']": ["my program.py"],
        "mine:Agent:path=lr=0.1/a.pt": ["lr=0.1/a.pt"],
        "mine:Agent:path=[a,b.pt]": ["a,b.pt"],
        "mine:Agent:path=checkpoints": ["checkpoints/1/a.pt"],
        "bare.agent:Agent": ["bare/agent.py", "bare/rules.py"],
        "greedy": [],
        "zero-search:nodes=5": [],
    }  # fmt: skip
    before = {spec: agent_digest(spec) for spec in specs}
    assert {spec for spec, found in before.items() if not found} == {"greedy", "zero-search:nodes=5"}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            old = path.read_bytes()
            path.write_bytes(b"0")
            changed = {spec for spec in specs if agent_digest(spec) != before[spec]}
            path.write_bytes(old)
            name = path.relative_to(tmp_path).as_posix()
            assert changed == {spec for spec, files in specs.items() if name in files}, name
    assert {spec: agent_digest(spec) for spec in specs} == before


def test_a_refused_study_does_not_replace_that_of_the_store(bombay, tmp_path):
    study = 'seed = 1\ndeals = {}\nplayers = [2]\n[[lineups]]\nagent = "mine:Agent"\nagainst = ["random"]\n'
    for name, deals in (("a", 2), ("b", 3)):
        (tmp_path / f"{name}.toml").write_text(study.format(deals))
    assert bombay("run", "a.toml", "--out", "s", "--json").returncode == 0
    (tmp_path / "mine.py").write_text(AGENT.format(imported="json"))
    before = contents(tmp_path / "s")
    assert bombay("run", "b.toml", "--out", "s", "--json").returncode == 2
    assert contents(tmp_path / "s") == before


def test_games_of_an_agent_that_changes_while_it_plays_are_not_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net").write_text("one")

    class Changing:
        name = "exec:command=[python net]"  # so that it has a file

        def act(self, game, states, rng):
            Path("net").write_text("another")
            return game.legal_actions(states).argmax(axis=1)

    with pytest.raises(ValueError, match="has changed while it played"):
        play(tmp_path / "s", Changing(), "random")
    assert not list((tmp_path / "s" / "rows").iterdir())


def test_games_under_another_time_limit_are_refused(tmp_path):
    with WorkerPool(1, turn_limit=50) as pool, Store(tmp_path / "s") as store:
        run([Lineup(TINY, ("random", "greedy"), 1)], store, pool)
    refusal(lambda: play(tmp_path / "s", "random", "greedy"), "has games played with --turn-limit 50.0")
    play(tmp_path / "t", "random", "greedy")
    with WorkerPool(1, turn_limit=50) as pool, Store(tmp_path / "t") as store:
        refusal(lambda: run([Lineup(TINY, ("random", "greedy"), 1)], store, pool), "games played without --turn-limit")


def test_the_number_of_processes_counts_only_for_agents_that_think_by_the_clock(tmp_path):
    play(tmp_path / "s", "flat-mc:ms=1", "random")
    with WorkerPool(2) as pool, Store(tmp_path / "s") as store:
        run([Lineup(TINY, ("greedy", "random"), 1)], store, pool)
        refusal(
            lambda: run([Lineup(TINY, ("flat-mc:ms=1", "random"), 2)], store, pool), "games played with --processes 1"
        )


def test_another_revision_is_refused_unless_it_plays_alike(tmp_path, monkeypatch):
    folder, names = tmp_path / "s", ("random", "greedy")
    wanted = digest(play(folder, *names, deals=3))
    for module in (stores, verifying):
        monkeypatch.setattr(module, "revision", lambda: "9.9+later")
    assert digest(read_matches(folder)) == wanted  # they may be read
    refusal(lambda: play(folder, *names), "has games of revision", "this is 9.9+later")
    assert not verify(folder, games=6).differences
    with monkeypatch.context() as otherwise:
        otherwise.setattr(verifying, "_equal", lambda *_: False)
        assert verify(folder, accept=True).differences
    refusal(lambda: play(folder, *names), "has games of revision")
    assert verify(folder, games=6, accept=True).revision == "9.9+later"
    assert digest(play(folder, *names, deals=3)) == wanted


def test_the_revision_changes_with_rules_agents_nets_and_the_board(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance.bombay_env, "__path__", [str(tmp_path)])
    for name in ("engine.py", "data/board.toml", "weights/zero.safetensors"):
        provenance.revision.cache_clear()
        before = provenance.revision()
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("new")
        provenance.revision.cache_clear()
        assert provenance.revision() != before
    provenance.revision.cache_clear()


def test_a_store_of_an_earlier_version_is_refused(tmp_path):
    play(tmp_path / "s", "random", "greedy")
    provenance = tmp_path / "s" / "provenance.json"
    kept = provenance.read_text()
    provenance.unlink()
    for use in (Store, verify):
        refusal(lambda use=use: use(tmp_path / "s"), "provenance.json: cannot be read")
    (tmp_path / "s" / "lineups.json").rename(tmp_path / "s" / "cells.json")
    for use in (read_matches, Store, verify):
        refusal(lambda use=use: use(tmp_path / "s"), "provenance.json: cannot be read")
    provenance.write_text(json.dumps(json.loads(kept) | {"revisions": ["0.0+first", "0.0+last"]}))
    before = contents(tmp_path / "s")
    for use in (read_matches, Store, verify):
        refusal(lambda use=use: use(tmp_path / "s"), "was written by revision 0.0+last", "again in a new folder")
    assert contents(tmp_path / "s") == before


def test_parts_of_any_number_are_read_and_followed(tmp_path):
    play(tmp_path / "s", "random", "greedy", deals=2)
    part = tmp_path / "s" / "rows" / "000001.parquet"
    part.rename(part.with_name("1000000.parquet"))
    played = play(tmp_path / "s", "random", "greedy", deals=5)
    assert sorted(path.name for path in (tmp_path / "s" / "rows").iterdir()) == ["1000000.parquet", "1000001.parquet"]
    assert (
        digest(read_matches(tmp_path / "s")) == digest(played) == digest(run([Lineup(TINY, ("random", "greedy"), 5)]))
    )
