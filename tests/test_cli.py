"""The `bombay` command, run as a user runs it."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numba
import pytest
import typer
from typer.testing import CliRunner

from bombay_training.cli import errors
from bombay_training.cli.main import app, main
from bombay_training.learners.best_response import BestResponseSettings
from bombay_training.learners.ppo.settings import PPOSettings
from bombay_training.learners.runs import Run, RunSettings
from bombay_training.learners.train import saved_settings
from bombay_training.learners.zero import ZeroSettings
from helpers.compiling import COMPILING
from helpers.nets import HIDDEN

QUICK = bool(numba.config.DISABLE_JIT)
COMMAND = (sys.executable, "-m", "bombay_training.cli")


def bombay(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def bombay_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`bombay` in an empty folder, within this process, which saves the imports of a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["bombay", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return subprocess.CompletedProcess(arguments, cast(int, end.value.code), *capsys.readouterr())

    return run


def output(*arguments: object, cwd: Path | None = None) -> dict:
    """What a command prints with --json."""
    done = bombay(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_simulate_writes_records_that_replay_accepts(tmp_path: Path) -> None:
    games = 1 if QUICK else 2
    data = output(
        "simulate", "greedy", "random", "--players", "2-5", "--games", games, "--seed", 3, "--out", tmp_path / "g.jsonl"
    )
    assert [row["agent"] for row in data["seats"][:2]] == ["greedy", "random"]
    assert len(data["seats"]) == 2 + 3 + 4 + 5
    for players in (2, 3, 4, 5):
        rows = [row for row in data["seats"] if row["players"] == players]
        assert sum(row["win_share"] for row in rows) == pytest.approx(1.0)
    replayed = output("replay", tmp_path / "g.jsonl")
    assert [row["players"] for row in replayed["records"]] == sorted([2, 3, 4, 5] * games)
    assert replayed["records"][-1]["agents"] == ["greedy", "random", "greedy", "random", "greedy"]


def test_same_seed_gives_the_same_records(tmp_path: Path) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        output("simulate", "--players", "3", "--games", 2, "--seed", seed, "--out", tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() != (tmp_path / "c").read_bytes()


def test_without_json_tables_are_printed(tmp_path: Path) -> None:
    done = bombay("simulate", "--players", "2", "--games", 2, "--out", tmp_path / "g.jsonl")
    assert done.returncode == 0
    assert "win share" in done.stdout
    assert "written to" in done.stdout
    shown = bombay("replay", tmp_path / "g.jsonl", "--show", 2)
    assert shown.returncode == 0
    assert "event 0: restock:" in shown.stdout
    assert "game over" in shown.stdout


def test_replay_names_the_event_that_breaks_the_rules(tmp_path: Path) -> None:
    output("simulate", "--players", "2", "--games", 2, "--out", tmp_path / "g.jsonl")
    lines = (tmp_path / "g.jsonl").read_text().splitlines()
    record = json.loads(lines[1])
    record["events"][1] = "0 sell:yellow"
    (tmp_path / "bad.jsonl").write_text(lines[0] + "\n" + json.dumps(record) + "\n")
    done = bombay("replay", tmp_path / "bad.jsonl")
    assert_one_line(done, "record 2", "event 1", "sell:yellow")


def test_arena_plays_every_pair_both_ways() -> None:
    blocks = 1 if QUICK else 10
    data = output("arena", "greedy", "random", "--players", "2,3", "--blocks", blocks)
    assert [(match["players"], match["lineup"][0]) for match in data["matches"]] == [
        (2, "greedy"),
        (2, "random"),
        (3, "greedy"),
        (3, "random"),
    ]
    assert [match["games"] for match in data["matches"]] == [2 * blocks] * 2 + [3 * blocks] * 2
    share = data["matches"][2]["agents"][0]["win_share"]
    assert share["low"] <= share["mean"] <= share["high"]


FLAKY = """
class Flaky:
    made = 0
    name = "flaky"

    def __init__(self):
        Flaky.made += 1
        if Flaky.made > 2:  # once to check the arguments, once for the first match
            raise ValueError("the file of its net is gone")

    def act(self, game, states, rng):
        return game.legal_actions(states).argmax(axis=1)
"""


def test_matches_before_one_that_cannot_be_played_are_not_lost(tmp_path: Path) -> None:
    (tmp_path / "flaky.py").write_text(FLAKY)
    done = bombay(
        "arena", "flaky:Flaky", "random", "--players", 2, "--blocks", 1, "--processes", 1, "--json", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "the file of its net is gone" in done.stderr
    (match,) = json.loads(done.stdout)["matches"]
    assert match["lineup"] == ["flaky:Flaky", "random"]


OWN = """
import numpy as np

class Careless:
    def act(self, game, states, rng):
        print("a word")
        return np.full(len(states), 0)

class Mute:
    def act(self, game, states, rng):
        return None

class Seeing:
    def act(self, game, states, rng):
        legal = game.legal_actions(states)
        return np.array([np.flatnonzero(row)[seed % 2] for row, seed in zip(legal, states["seed"].tolist())])
"""


def test_your_own_agent_can_be_played_gated_and_audited(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "rules.json").write_text('{"sets": 2, "turns_per_set": 1}')
    small = ("--rules", "rules.json", "--blocks", 1, "--processes", 1)
    data = output("arena", "mine:Careless", "random", *small, "--out", "g.jsonl", cwd=tmp_path)
    assert [match["format"] for match in data["matches"]] == ["1vrest"] * 2
    assert data["matches"][0]["agents"][0]["faults"] == 4
    assert data["matches"][0]["agents"][0]["win_share"]["mean"] == 0
    assert len(output("replay", "g.jsonl", cwd=tmp_path)["records"]) == 8
    done = bombay("gate", "random", "mine:Careless", "--max-blocks", 1, *small[:2], *small[4:], cwd=tmp_path)
    assert done.returncode == 2
    assert "the old agent lost a game by a fault: agent 'mine:Careless'" in done.stderr
    small = ("--players", 2, "--states", 8, "--rules", "rules.json")
    done = bombay("audit", "mine:Seeing", *small, cwd=tmp_path)
    assert done.returncode == 1
    assert "mine:Seeing: failed: 2 players, state" in done.stdout
    assert done.stdout.count("\n") == 1
    done = bombay("audit", "mine:Careless", *small, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["verdict"] == "failed"
    assert "a word" in done.stderr


def test_an_agent_that_exits_does_not_pass_the_audit(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys\n\nclass Leaves:\n    def __init__(self):\n        sys.exit(0)\n")
    assert_one_line(bombay("audit", "mine:Leaves", cwd=tmp_path), "'mine:Leaves' cannot be made: SystemExit: 0")
    leaving = (
        "import os\n\nclass Leaves:\n    name = 'leaves'\n    def act(self, game, states, rng):\n        os._exit(0)\n"
    )
    (tmp_path / "mine.py").write_text(leaving)
    done = bombay("audit", "mine:Leaves", "--players", 2, "--states", 4, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == "mine:Leaves: failed: its process ended\n"
    (tmp_path / "mine.py").write_text("raise SystemExit")
    assert_one_line(bombay("audit", "mine:Leaves", cwd=tmp_path), "'mine:Leaves' cannot be imported: SystemExit")


def test_simulate_reports_faults(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 1}')
    arguments = ("simulate", "random", "mine:Mute", "--players", 2, "--games", 2, "--rules", "rules.json")
    data = output(*arguments, cwd=tmp_path)
    assert [(row["win_share"], row["final"], row["faults"]) for row in data["seats"]] == [(1, None, 0), (0, None, 2)]
    assert len(data["faults"]) == 2
    assert "agent 'mine:Mute' in seat 1 of block 0" in data["faults"][0]
    done = bombay(*arguments, cwd=tmp_path)
    assert done.returncode == 0
    assert "mine:Mute lost 2 games by faults; the first: " in done.stderr


def test_the_exit_code_of_gate_says_whether_an_agent_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 2}')
    small = ("--players", "2,3", "--rules", "rules.json", "--processes", 1)
    done = bombay("gate", "random", "greedy", *small, "--max-blocks", 2, "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    data = json.loads(done.stdout)
    assert (data["replaced"], data["decided"], data["blocks"]) == (False, False, 2)
    assert [row["games"] for row in data["counts"]] == [4, 6]
    if not QUICK:
        done = bombay("gate", "greedy", "random", *small, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "replaced after 16 blocks: it is better than par 0.417 (error at most 0.05)" in done.stdout


def test_three_agents_also_meet_in_one_game(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 1}')
    (tmp_path / "mine.py").write_text(OWN)
    agents = ("greedy", "random", "mine:Careless")
    done = bombay("arena", *agents, "--players", "3", "--blocks", 1, "--rules", "rules.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "one against the rest" in done.stdout
    assert "all together" in done.stdout
    assert "greedy, random, mine:Careless" in done.stdout  # not folded: a pipe has no width
    assert "mine:Careless lost" in done.stderr


def test_rules_file_changes_the_game(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 1}')
    output(
        "simulate", "--players", "3", "--games", 1, "--rules", tmp_path / "rules.json", "--out", tmp_path / "g.jsonl"
    )
    record = json.loads((tmp_path / "g.jsonl").read_text())
    assert record["rules"]["sets"] == 1
    assert {event.split()[0] for event in record["events"][1:]} == {"0", "1", "2"}


def finals(data: dict[str, Any]) -> list[Any]:
    """Mean final rupees of all agents in all matches."""
    return [[row["final"] for row in match["agents"]] for match in data["matches"]]


LEARNERS = {
    "zero": ["zero", "--hidden", HIDDEN],
    "best-response": ["best-response", "--victim", "greedy", "--start", ""],
    "ppo": ["ppo"],
}
OPPONENTS = {"best-response": ["greedy"]}  # of the periodic matches
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
def test_train_ends_with_an_agent_that_plays(learner: str, tmp_path: Path) -> None:
    small = ("--updates", 1, "--players", "2", "--blocks", 2)
    if learner == "ppo":
        pytest.importorskip("sb3_contrib", reason="needs the extra `ppo`")
    data = output("train", *LEARNERS[learner], *small, "--out", "run", cwd=tmp_path)
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
    output("arena", "net:path=run/agent.safetensors", "random", "--players", "2", "--blocks", 2, cwd=tmp_path)
    again = output("train", "resume", "run", "--blocks", 2, cwd=tmp_path)  # the run is over: only the table is played
    assert finals(again) == finals(data)
    (row,) = output("curve", "run", cwd=tmp_path)["runs"]
    met = OPPONENTS.get(learner, ["greedy", "planner-v1"])
    assert (row["run"], row["updates"], list(row["win_shares"])) == ("run", 1, met)


def test_a_run_of_an_unknown_learner_is_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"learner": "sarsa"}')
    assert_one_line(bombay("train", "resume", ".", cwd=tmp_path), "sarsa", "zero, ppo, best-response")


def test_bare_commands_show_their_help() -> None:
    for arguments, word in (((), "simulate"), (("train",), "best-response")):
        done = bombay(*arguments)
        assert done.returncode == 2
        assert word in done.stdout
        assert done.stderr == ""


def assert_one_line(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith(COMPILING)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("bombay: ")
    for part in parts:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["simulate", "--players", "6"], ["--players", "2 to 5"]),
        (["simulate", "--players", "four"], ["--players", "four"]),
        (["simulate", "--players", "5-2"], ["--players", "5-2"]),
        (["simulate", "--games", "0"], ["--games"]),
        (["simulate", "--seed", "-1"], ["--seed"]),
        (["simulate", "--seed", str(2**64)], ["--seed"]),
        (["simulate", "nobody"], ["nobody", "greedy", "random"]),
        (["simulate", "greedy:depth=3"], ["depth"]),
        (["simulate", "--board", "nowhere.toml"], ["nowhere.toml"]),
        (["simulate", "--rules", "nowhere.json"], ["nowhere.json"]),
        (["simulate", "--out", "nowhere/games.jsonl"], ["nowhere"]),
        (["simulate", "--nonsense"], ["--nonsense"]),
        (["replay", "nowhere.jsonl"], ["nowhere.jsonl"]),
        (["replay", "."], ["."]),
        (["replay", "x.jsonl", "--gif", "x.out", "--html", "x.out"], ["--gif and --html both name x.out"]),
        (["arena", "greedy"], ["two agents"]),
        (["arena", "greedy", "greedy"], ["twice"]),
        (["arena", "greedy", "random", "--format", "2v2", "--players", "3-4"], ["2v2 is for 4 players", "3-4"]),
        (["arena", "greedy", "random", "--turn-limit", "0"], ["--turn-limit"]),
        (["arena", "greedy", "random", "--turn-limit", "inf"], ["--turn-limit", "86400"]),
        (["arena", "greedy", "random", "--turn-limit", "1e12"], ["--turn-limit", "86400"]),
        (["arena", "greedy", "random", "--turn-limit", "nan"], ["--turn-limit", "86400"]),
        (["arena", "greedy", "random", "--out", "nowhere/games.jsonl"], ["nowhere"]),
        (["arena", "greedy", "nowhere:Agent"], ["nowhere:Agent", "cannot be imported"]),
        (["gate", "greedy", "greedy"], ["the same", "greedy"]),
        (["gate", "greedy", "random", "--delta", "0.8"], ["delta is 0.8", "below 0.75"]),
        (["gate", "greedy", "nobody"], ["nobody"]),
        (["audit", "nobody"], ["nobody", "greedy", "module:object"]),
        (["arena", "greedy", "net:path=nowhere.safetensors"], ["nowhere.safetensors"]),
        (["train", "zero", "--minutes", "0"], ["minutes is 0.0", "above 0"]),
        (["train", "zero", "--hidden", "6"], ["hidden is 6", "a multiple of 4"]),
        (["train", "zero", "--hidden", "0"], ["hidden is 0", "a whole number from 4 to 1024"]),
        (["train", "zero", "--hidden", "wide"], ["--hidden"]),
        (["train", "zero", "--learning-rate", "3"], ["learning_rate is 3.0; it must be above 0, at most 1"]),
        (["train", "ppo", "--trunk", "0"], ["trunk is (0,); it must be a list of at most 16 widths from 1 to 4096"]),
        (["train", "ppo", "--trunk", "wide"], ["--trunk", "wide"]),
        (["train", "ppo", "--activation", "sine"], ["--activation", "sine", "relu", "tanh"]),
        (["train", "zero", "--games", "2"], ["games is 2; it must be at least 4, one for each number of players"]),
        (["train", "zero", "--features", "raw"], ["--features"]),
        (["train", "zero", "--players", "1"], ["--players"]),
        (["train", "zero", "--out", "."], ["exists"]),
        (["train", "sarsa"], ["sarsa"]),
        (["train", "zero", "--out", "a,b"], ["a,b", "comma", "spec"]),
        (["train", "ppo", "--hidden", "8"], ["--hidden"]),
        (["train", "best-response"], ["--victim"]),
        (["train", "best-response", "--victim", "nobody"], ["nobody", "greedy"]),
        (["train", "best-response", "--victim", "greedy", "--epsilon", "2"], ["epsilon is 2.0", "from 0 to 1"]),
        (["train", "best-response", "--victim", "flat-mc"], ["flat-mc", "by the clock"]),
        (["train", "zero", "--victim", "greedy"], ["--victim"]),
        (["train", "zero", "--rollouts", "8"], ["--rollouts"]),
        (["train", "best-response", "--victim", "random", "--start", "greedy"], ["start is 'greedy'", "a value net"]),
        (["train", "td"], ["td"]),
        (["train", "resume", "nowhere"], ["nowhere", "settings.json"]),
        (["train", "resume", "nowhere", "--out", "new"], ["--out"]),
        (["train", "resume", "nowhere", "--minutes", "9"], ["--minutes"]),
        (["ladder", "--only", "nobody"], ["--only: no row has the agent 'nobody'", "random-turn"]),
        (
            ["ladder", "--only", "ppo", "--against", "nobody"],
            ["--against: no row of these agents is against 'nobody'", "greedy, planner-v1"],
        ),
        (["ladder", "--out", "."], ["--out", "."]),
        (["regret", "nobody"], ["nobody", "greedy"]),
        (["study", "sarsa"], ["there is no study of 'sarsa'", "zero, ppo"]),
        (["study", "--minutes", "soon"], ["--minutes is 'soon'", "numbers of 0 or more, separated by commas"]),
        (["study", "--minutes", "0"], ["minutes is 0"]),
        (["study", "--seeds", "-1"], ["--seeds is '-1'"]),
        (["study", "--players", "1"], ["--players"]),
        (["curve", "nowhere"], ["nowhere", "metrics.jsonl"]),
        (["curve", "one", "two"], ["--out", ".png"]),
        (["curve", "one", "--out", "curve.pdf"], ["curve.pdf", ".png"]),
        (["dance"], ["dance"]),
    ],
)
def test_bad_arguments_end_in_one_line_and_exit_code_2(
    arguments: list[str],
    parts: list[str],
    tmp_path: Path,
    bombay_here: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert_one_line(bombay_here(*arguments), *parts)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ('{"toll": -1}', "toll"),
        ('{"tolls": 1}', "tolls"),
        ('{"num_players": 3}', "num_players"),
        ("[" * 50_000, "not JSON"),
    ],
)
def test_bad_rules_files_are_refused(
    content: str, part: str, tmp_path: Path, bombay_here: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (tmp_path / "rules.json").write_text(content)
    assert_one_line(bombay_here("simulate", "--rules", "rules.json"), part)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text("mine")
    assert_one_line(bombay("simulate", "--games", 1, "--out", "g.jsonl", cwd=tmp_path), "exists")
    assert (tmp_path / "g.jsonl").read_text() == "mine"


def commands(group: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command under a group, with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *names, name)
        else:
            yield (*names, name), command


COMMANDS = dict(commands(typer.main.get_command(app)))
WITHOUT_JSON = {
    ("play",),
    ("watch",),
    ("mcp",),
    ("board", "draw"),
    ("board", "new"),
}  # pages, dialogues, and one writes a file
SPELLINGS = {"json", "seed", "players", "board", "rules", "processes", "out", "blocks", "threads"}


def test_version() -> None:
    assert re.fullmatch(r"bombay \d+\.\d+\.\d+\n", bombay("--version").stdout)


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_json(names: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*names, "--help"])
    assert done.exit_code == 0
    assert ("--json" in done.stdout) == (names not in WITHOUT_JSON)
    assert all(parameter.help for parameter in COMMANDS[names].params)


def test_options_that_commands_share_are_spelled_the_same() -> None:
    """No second name for what `--processes`, `--out` and the like are called elsewhere."""
    options = {name for command in COMMANDS.values() for parameter in command.params for name in parameter.opts}
    assert {name.removeprefix("--") for name in options} >= SPELLINGS
    assert not options & {"--workers", "--records", "--resume", "--save", "--output", "--jobs"}


@pytest.mark.parametrize("settings_class", [ZeroSettings, BestResponseSettings, PPOSettings])
def test_every_setting_of_a_learner_is_an_option_of_its_command(settings_class: type[RunSettings]) -> None:
    options = {name for parameter in COMMANDS["train", settings_class.learner].params for name in parameter.opts}
    assert {f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(settings_class)} <= options


@pytest.fixture
def settings_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bombay_here: Callable[..., subprocess.CompletedProcess[str]]
) -> Callable[..., RunSettings]:
    """The settings that a command leaves in the folder of its run, which does not learn."""

    def stop(run: Run, *_: object) -> None:
        run.close()
        raise KeyboardInterrupt

    def train(learner: str, *arguments: str) -> RunSettings:
        folder = f"run{len(list(tmp_path.iterdir()))}"
        assert bombay_here("train", learner, *arguments, "--out", folder).returncode == 130
        return saved_settings(tmp_path / folder)

    monkeypatch.setattr(Run, "loop", stop)
    return train


@pytest.mark.parametrize("command", [["zero"], ["best-response", "--victim", "random", "--start", ""]])
def test_options_reach_the_settings_of_a_run(command: list[str], settings_of: Callable[..., RunSettings]) -> None:
    values = {"learning_rate": 0.01, "td_lambda": 0.5, "final_td_lambda": 0.9, "epsilon": 0.2, "batch_size": 64}
    options = [text for name, value in values.items() for text in (f"--{name.replace('_', '-')}", str(value))]
    settings = settings_of(*command, "--updates", "1", *options)
    assert {name: getattr(settings, name) for name in values} == values
    expected = type(settings)(updates=1, **values, **({"victim": "random"} if command[1:] else {}))
    assert settings == expected, "what is not given has the default"


def test_only_options_that_are_given_replace_what_follows_from_the_start(
    settings_of: Callable[..., RunSettings],
) -> None:
    command = ("best-response", "--victim", "random", "--start", "")
    assert settings_of(*command).learning_rate == ZeroSettings.learning_rate
    default = str(BestResponseSettings.learning_rate)
    assert settings_of(*command, "--learning-rate", default).learning_rate == BestResponseSettings.learning_rate


def test_messages_are_one_line_of_at_most_500_characters() -> None:
    assert errors.message_of(FileNotFoundError(2, "No such file", "a.json")) == "a.json: No such file"
    done = bombay("simulate", "a" * 2000)
    assert_one_line(done, "aaa")
    assert len(done.stderr.strip()) <= len("bombay: ") + 500
