"""The `bombay` command, run as a user runs it."""

import dataclasses
import json
import re

import numba
import pytest
import typer
from typer.testing import CliRunner

from bombay_training.cli import training
from bombay_training.cli.main import app
from bombay_training.learners.best_response import BestResponseSettings
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.runs import Run, run_files
from bombay_training.learners.train import SETTINGS
from bombay_training.learners.zero import ZeroSettings
from helpers import command
from helpers.compiling import COMPILING
from helpers.nets import HIDDEN

QUICK = bool(numba.config.DISABLE_JIT)

OWN = """
import multiprocessing
import os
import numpy as np

class Careless:
    def act(self, game, states, rng):
        print("a word")
        return np.full(len(states), 0)

class Mute:
    def act(self, game, states, rng):
        return None

class Ends:
    def act(self, game, states, rng):
        os._exit(0)

class Unmade:
    def __init__(self):
        raise SystemExit(0)

class Flaky:
    made = 0

    def __init__(self):
        Flaky.made += 1
        if Flaky.made > 1 and multiprocessing.parent_process():  # a worker makes it for the first match
            raise ValueError("the file of its net is gone")

    def act(self, game, states, rng):
        return game.legal_actions(states).argmax(axis=1)
"""


@pytest.fixture
def output(bombay):
    """What a command prints with --json."""

    def run(*arguments):
        done = bombay(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def mine(tmp_path):
    """A module of agents, and a file of rules for a short game, in the folder of the command."""
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "rules.json").write_text('{"sets": 2, "turns_per_set": 1}')


def assert_one_line(done, *parts):
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith(COMPILING)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("bombay: ")
    assert len(lines[0]) <= len("bombay: ") + 500
    for part in parts:
        assert part in lines[0]


def test_version(bombay):
    assert re.fullmatch(r"bombay \d+\.\d+\.\d+\n", bombay("--version").stdout)


def test_simulate_writes_records_that_replay_accepts(output):
    games = 1 if QUICK else 2
    options = ("--players", "2-5", "--games", games, "--seed", 3, "--out", "g.jsonl")
    data = output("simulate", "greedy", "random", *options)
    assert [row["agent"] for row in data["seats"][:2]] == ["greedy", "random"]
    assert len(data["seats"]) == 2 + 3 + 4 + 5
    for players in (2, 3, 4, 5):
        rows = [row for row in data["seats"] if row["players"] == players]
        assert sum(row["win_share"] for row in rows) == pytest.approx(1.0)
    replayed = output("replay", "g.jsonl")
    assert [row["players"] for row in replayed["records"]] == sorted([2, 3, 4, 5] * games)
    assert replayed["records"][-1]["agents"] == ["greedy", "random", "greedy", "random", "greedy"]


def test_same_seed_gives_the_same_records(output, tmp_path):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        output("simulate", "--players", "3", "--games", 2, "--seed", seed, "--out", name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_without_json_tables_are_printed(bombay):
    done = bombay("simulate", "--players", "2", "--games", 2, "--out", "g.jsonl")
    assert done.returncode == 0
    assert [
        line for line in done.stderr.splitlines() if not line.startswith(COMPILING)
    ] == []  # a pipe shows results only
    assert "\x1b" not in done.stdout
    assert "win share" in done.stdout
    assert "written to" in done.stdout
    shown = bombay("replay", "g.jsonl", "--show", 2)
    assert shown.returncode == 0
    assert "event 0: restock:" in shown.stdout
    assert "game over" in shown.stdout


def test_replay_names_the_event_that_breaks_the_rules(bombay, output, tmp_path):
    output("simulate", "--players", "2", "--games", 2, "--out", "g.jsonl")
    lines = (tmp_path / "g.jsonl").read_text().splitlines()
    record = json.loads(lines[1])
    record["events"][1] = "0 sell:yellow"
    (tmp_path / "bad.jsonl").write_text(lines[0] + "\n" + json.dumps(record) + "\n")
    assert_one_line(bombay("replay", "bad.jsonl"), "record 2", "event 1", "sell:yellow")


def test_arena_plays_every_pair_both_ways(output, monkeypatch):
    command.without_workers(monkeypatch)
    blocks = 1 if QUICK else 10
    matches = output("arena", "greedy", "random", "--players", "2,3", "--blocks", blocks)["matches"]
    meetings = [(match["players"], match["lineup"][0], match["games"]) for match in matches]
    assert meetings == [(n, agent, n * blocks) for n in (2, 3) for agent in ("greedy", "random")]
    share = matches[2]["agents"][0]["win_share"]
    assert share["low"] <= share["mean"] <= share["high"]


@pytest.mark.usefixtures("mine")
def test_matches_before_one_that_cannot_be_played_are_not_lost(bombay):
    options = ("--players", 2, "--blocks", 1, "--processes", 1, "--json")
    done = bombay("arena", "mine:Flaky", "random", *options)
    assert done.returncode == 2
    assert "the file of its net is gone" in done.stderr
    (match,) = json.loads(done.stdout)["matches"]
    assert match["lineup"] == ["mine:Flaky", "random"]


@pytest.mark.usefixtures("mine")
def test_your_own_agent_can_be_played_and_gated(bombay, output, tmp_path, monkeypatch):
    command.without_workers(monkeypatch)
    small = ("--rules", "rules.json")
    data = output("arena", "mine:Mute", "random", *small, "--blocks", 1, "--records", "g.jsonl")
    assert [match["format"] for match in data["matches"]] == ["1vrest"] * 2
    assert data["matches"][0]["agents"][0]["faults"] == 4
    assert data["matches"][0]["agents"][0]["win_share"]["mean"] == 0
    assert len(output("replay", "g.jsonl")["records"]) == 8
    rules = json.loads((tmp_path / "g.jsonl").read_text().splitlines()[0])["rules"]
    assert (rules["sets"], rules["turns_per_set"]) == (2, 1)
    done = bombay("gate", "random", "mine:Mute", *small, "--max-blocks", 1)
    assert done.returncode == 2
    assert "the old agent lost a game by a fault: agent 'mine:Mute'" in done.stderr


@pytest.mark.usefixtures("mine")
def test_your_own_agent_can_be_audited(bombay):
    small = ("--players", 2, "--states", 8, "--rules", "rules.json")
    done = bombay("audit", "mine:Careless", *small, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["verdict"] == "failed"
    assert "a word" in done.stderr
    done = bombay("audit", "mine:Ends", *small)
    assert (done.returncode, done.stdout) == (1, "mine:Ends: failed: its process ended\n")
    assert_one_line(bombay("audit", "mine:Unmade"), "'mine:Unmade' cannot be made: SystemExit: 0")


@pytest.mark.usefixtures("mine")
def test_simulate_reports_faults(bombay, output):
    arguments = ("simulate", "random", "mine:Mute", "--players", 2, "--games", 2, "--rules", "rules.json")
    data = output(*arguments)
    assert [(row["win_share"], row["final"], row["faults"]) for row in data["seats"]] == [(1, None, 0), (0, None, 2)]
    assert len(data["faults"]) == 2
    assert "agent 'mine:Mute' in seat 1 of block 0" in data["faults"][0]
    done = bombay(*arguments)
    assert done.returncode == 0
    assert "mine:Mute lost 2 games by faults; the first: " in done.stderr


def test_the_exit_code_of_gate_says_whether_an_agent_is_replaced(bombay, tmp_path, monkeypatch):
    command.without_workers(monkeypatch)
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 2}')
    small = ("--players", "2,3", "--rules", "rules.json")
    done = bombay("gate", "random", "greedy", *small, "--max-blocks", 2, "--json")
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    assert (data["replaced"], data["decided"], data["blocks"]) == (False, False, 2)
    assert [row["games"] for row in data["counts"]] == [4, 6]
    if not QUICK:
        done = bombay("gate", "greedy", "random", *small)
        assert done.returncode == 0, done.stderr
        assert "replaced after 16 blocks: it is better than par 0.417 (error at most 0.05)" in done.stdout


@pytest.mark.usefixtures("mine")
def test_three_agents_also_meet_in_one_game(bombay, monkeypatch):
    command.without_workers(monkeypatch)
    agents = ("greedy", "random", "mine:Careless")
    small = ("--players", "3", "--blocks", 1, "--rules", "rules.json")
    done = bombay("arena", *agents, *small)
    assert done.returncode == 0, done.stderr
    assert "one against the rest" in done.stdout
    assert "all together" in done.stdout
    assert "greedy, random, mine:Careless" in done.stdout  # not folded: a pipe has no width
    assert "mine:Careless lost" in done.stderr


def finals(data):
    """Mean final rupees of all agents in all matches."""
    return [[row["final"] for row in match["agents"]] for match in data["matches"]]


LEARNERS = {
    "zero": ["zero", "--hidden", HIDDEN],
    "best-response": ["best-response", "--hidden", HIDDEN, "--victim", "greedy", "--start", ""],
    "ppo": ["ppo"],
}
FILES = {
    ".lock",
    "agent.safetensors",
    "checkpoint.safetensors",
    "settings.json",
    "metrics.jsonl",
    "evaluation.json",
    "learning_curve.png",
}


@pytest.mark.skipif(QUICK, reason="learning takes the compiler; the learners have tests of their own without it")
@pytest.mark.parametrize("learner", ["zero", "best-response", pytest.param("ppo", marks=pytest.mark.slow)])
def test_train_ends_with_an_agent_that_plays(learner, output, tmp_path, monkeypatch):
    command.without_workers(monkeypatch)
    if learner == "ppo":
        pytest.importorskip("sb3_contrib", reason="needs the extra `ppo`")
    small = ("--updates", 1, "--players", "2", "--blocks", 1 if learner == "best-response" else 2)
    data = output("train", *LEARNERS[learner], *small, "--out", "run")
    lineups = [("new agent", rival) for rival in ("random", "greedy", "planner-v1")]
    if learner == "best-response":
        lineups = [("new agent", "greedy"), ("new agent, 150 nodes", "greedy")]
    assert [tuple(match["lineup"]) for match in data["matches"]] == lineups
    assert ("victim_games" in data) == (learner == "best-response")
    found = {path.name for path in (tmp_path / "run").iterdir()}
    assert {name for name in found if not name.startswith("events.out.tfevents")} == FILES
    assert json.loads((tmp_path / "run" / "evaluation.json").read_text()) == data
    assert json.loads((tmp_path / "run" / "settings.json").read_text())["settings"]["players"] == [2]
    if learner == "best-response":
        return  # the rest is the same for all learners, and takes time
    output("arena", "net:path=run/agent.safetensors", "random", "--players", "2", "--blocks", 2)
    again = output("train", "resume", "run", "--blocks", 2)  # the run is over: only the table is played
    assert finals(again) == finals(data)


@pytest.mark.parametrize(
    ("victim", "words"),
    [(11, "at least as many as"), (12, "at least as many as"), (13, "FEWER than"), (None, "No file says")],
)
def test_a_response_that_learned_from_fewer_games_than_its_victim_says_so(victim, words):
    assert words in training._budget(12, victim)


@pytest.mark.parametrize(("arguments", "word"), [((), "simulate"), (("train",), "best-response")])
def test_bare_commands_show_their_help(bombay, arguments, word):
    done = bombay(*arguments)
    assert (done.returncode, done.stderr) == (2, "")
    assert word in done.stdout


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["simulate", "--players", "6"], ["--players", "2 to 5"]),
        (["simulate", "--players", "5-2"], ["--players", "5-2"]),
        (["simulate", "--games", "0"], ["--games"]),
        (["simulate", "--seed", str(2**64)], ["--seed"]),
        (["simulate", "nobody"], ["nobody", "greedy", "random"]),
        (["simulate", "a" * 2000], ["aaa"]),
        (["simulate", "greedy:depth=3"], ["depth"]),
        (["simulate", "--board", "nowhere.toml"], ["nowhere.toml"]),
        (["simulate", "--rules", "nowhere.json"], ["nowhere.json"]),
        (["simulate", "--out", "nowhere/games.jsonl"], ["nowhere"]),
        (["simulate", "--nonsense"], ["--nonsense"]),
        (["replay", "nowhere.jsonl"], ["nowhere.jsonl"]),
        (["replay", "x.jsonl", "--gif", "x.out", "--html", "x.out"], ["--gif and --html both name x.out"]),
        (["arena", "greedy"], ["two agents"]),
        (["arena", "greedy", "greedy"], ["twice"]),
        (["arena", "greedy", "random", "--format", "2v2", "--players", "3-4"], ["2v2 is for 4 players", "3-4"]),
        (["arena", "greedy", "random", "--turn-limit", "nan"], ["--turn-limit", "86400"]),
        (["arena", "greedy", "nowhere:Agent"], ["nowhere:Agent", "cannot be imported"]),
        (["arena", "greedy", "net:path=nowhere.safetensors"], ["nowhere.safetensors"]),
        (["gate", "greedy", "greedy"], ["the same", "greedy"]),
        (["gate", "greedy", "random", "--delta", "0.8"], ["delta is 0.8", "below 0.75"]),
        (["audit", "nobody"], ["nobody", "greedy", "module:object"]),
        (["train", "zero", "--minutes", "0"], ["minutes is 0.0", "above 0"]),
        (["train", "zero", "--hidden", "6"], ["hidden is 6", "a multiple of 4"]),
        (["train", "zero", "--hidden", "wide"], ["--hidden"]),
        (["train", "ppo", "--trunk", "0"], ["trunk is (0,); it must be a list of at most 16 widths from 1 to 4096"]),
        (["train", "ppo", "--trunk", "wide"], ["--trunk", "wide"]),
        (["train", "ppo", "--activation", "sine"], ["--activation", "sine", "relu", "tanh"]),
        (["train", "zero", "--players", "1"], ["--players"]),
        (["train", "zero", "--out", "."], ["exists"]),
        (["train", "zero", "--out", "a,b"], ["a,b", "comma", "spec"]),
        (["train", "sarsa"], ["sarsa"]),
        (["train", "best-response"], ["--victim"]),
        (["train", "best-response", "--victim", "nobody"], ["nobody", "greedy"]),
        (["train", "best-response", "--victim", "flat-mc"], ["flat-mc", "by the clock"]),
        (["train", "best-response", "--victim", "random", "--start", "greedy"], ["start is 'greedy'", "a value net"]),
        (["train", "resume", "nowhere"], ["nowhere", "settings.json"]),
        (["train", "resume", "nowhere", "--minutes", "9"], ["--minutes"]),
        (["balance", "--tier", "random", "--vary", "tolls=1", "--out", "study"], ["--vary", "unknown field 'tolls'"]),
        (["simulate", "--out", "g", "--reward", "rank"], ["are for datasets"]),
        (["simulate", "--format", "parquet"], ["--format parquet needs --out"]),
        (["simulate", "--format", "csv"], ["'csv' is not one of"]),
        (["simulate", "--format", "minari", "--out", "games"], ["cannot be named 'games'", "a name and a version"]),
        (["simulate", "--format", "minari", "--out", "g-v0", "--players", "2-3"], ["one number of players"]),
        (["simulate", "--format", "parquet", "--out", "g", "--reward", "gold"], ["--reward is 'gold'"]),
        (["simulate", "--format", "parquet", "--out", "g", "--observation-mode", "x"], ["--observation-mode is 'x'"]),
        (["track", "rules-2M", "zero"], ["there is no track 'rules-2M'; the tracks are rules-1M"]),
        (["track", "rules-1M"], ["takes a learner, or agents"]),
        (["track", "rules-1M", "--agent", "5=random"], ["name one with --out"]),
        (["track", "rules-1M", "zero", "--agent", "5=random"], ["takes a learner, or agents"]),
        (["track", "rules-1M", "--agent", "5=random", "--out", "x", "--seeds", "2"], ["are of one run"]),
        (["track", "rules-1M", "best-response"], ["there is no learner 'best-response' for tracks"]),
        (["track", "rules-1M", "--agent", "random", "--out", "x"], ["DECISIONS=SPEC"]),
        (["dance"], ["dance"]),
    ],
)
def test_bad_arguments_end_in_one_line_and_exit_code_2(arguments, parts, tmp_path, bombay):
    if "--format" in arguments or "track" in arguments:
        pytest.importorskip("minari", reason="needs the extra `data`")
    assert_one_line(bombay(*arguments), *parts)
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path, bombay):
    (tmp_path / "g.jsonl").write_text("mine")
    assert_one_line(bombay("simulate", "--games", 1, "--out", "g.jsonl"), "exists")
    assert (tmp_path / "g.jsonl").read_text() == "mine"


def commands(group, *names):
    """Every command under a group, with the words that call it."""
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, *names, name)
        else:
            yield (*names, name), found


COMMANDS = dict(commands(typer.main.get_command(app)))
WITHOUT_JSON = {("play",), ("watch",), ("mcp",), ("board", "draw"), ("board", "new")}


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_json(names):
    done = CliRunner().invoke(app, [*names, "--help"])
    assert done.exit_code == 0
    assert ("--json" in done.stdout) == (names not in WITHOUT_JSON)
    assert all(parameter.help for parameter in COMMANDS[names].params)


@pytest.mark.parametrize("settings_class", [ZeroSettings, BestResponseSettings, PPOSettings])
def test_every_setting_of_a_learner_is_an_option_of_its_command(settings_class):
    options = {name for parameter in COMMANDS["train", settings_class.learner].params for name in parameter.opts}
    assert {f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(settings_class)} <= options


@pytest.fixture
def settings_of(bombay, tmp_path, monkeypatch):
    """The settings that a command leaves in the folder of its run, which does not learn."""

    def stop(run, *_):
        run.close()
        raise KeyboardInterrupt

    def train(*arguments):
        folder = f"run{len(list(tmp_path.iterdir()))}"
        assert bombay("train", *arguments, "--out", folder).returncode == 130
        kind = SETTINGS[run_files.learner_of(tmp_path / folder)]
        return run_files.read_settings(tmp_path / folder, kind)

    monkeypatch.setattr(Run, "loop", stop)
    return train


RESPONSE = ("best-response", "--victim", "random", "--start", "")


@pytest.mark.parametrize("arguments", [("zero",), RESPONSE])
def test_options_reach_the_settings_of_a_run(arguments, settings_of):
    values = {"learning_rate": 0.01, "td_lambda": 0.5, "final_td_lambda": 0.9, "epsilon": 0.2, "batch_size": 64}
    options = [text for name, value in values.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    settings = settings_of(*arguments, "--updates", "1", *options)
    assert {name: getattr(settings, name) for name in values} == values
    expected = type(settings)(updates=1, **values, **({"victim": "random"} if arguments == RESPONSE else {}))
    assert settings == expected, "what is not given has the default"


def test_only_options_that_are_given_replace_what_follows_from_the_start(settings_of):
    assert settings_of(*RESPONSE).learning_rate == ZeroSettings.learning_rate
    default = BestResponseSettings.learning_rate
    assert settings_of(*RESPONSE, "--learning-rate", default).learning_rate == default
