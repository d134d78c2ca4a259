"""Generated documents say what the program and the saved results say."""

import inspect
import json
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bombay_env.registry import GROUP
from bombay_training.cli.main import app
from bombay_training.docs import agents, markdown, pages, targets
from bombay_training.docs.results import Results
from bombay_training.docs.speed import Speed
from bombay_training.evaluation import ladder

DOCS = Path(__file__).parent.parent / "docs"


def test_generated_documents_are_up_to_date():
    """To bring them up to date: `bombay docs`, in the checkout."""
    assert sorted(pages.outdated(DOCS, typer.main.get_command(app))) == []


def test_the_readme_and_five_pages_are_generated_at_least_in_part():
    names = {page.name for page in pages.generated(DOCS, typer.main.get_command(app))}
    assert {"README.md", "spaces.md", "cli.md", "agents.md", "results.md", "fairness.md"} <= names


def test_no_match_of_a_study_is_in_the_documents_twice():
    """A table and its target would show different ones."""
    keys = ("learner", "minutes", "seed", "players", "agent", "rest")
    rows = [tuple(row[key] for key in keys) for row in Results(DOCS).learning_rows]
    assert len(rows) == len(set(rows)) > 0


def test_the_command_writes_what_is_out_of_date(tmp_path):
    for file in (DOCS / "ladder.jsonl", *DOCS.glob("data/*.json")):
        copy = tmp_path / "docs" / file.relative_to(DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    page = tmp_path / "docs" / "page.md"
    page.write_text("before\n<!-- generated: regret -->\nold\n<!-- end -->\nafter\n")

    def run(*options):
        done = CliRunner().invoke(app, ["docs", "--out", str(tmp_path / "docs"), "--json", *options])
        return done.exit_code, [
            Path(name).name for name in json.loads(done.stdout)["outdated" if options else "written"]
        ]

    assert run("--check") == (1, ["spaces.md", "cli.md", "board.svg", "page.md"])
    assert "old" in page.read_text()
    assert run() == (0, ["spaces.md", "cli.md", "board.svg", "page.md"])
    assert page.read_text().startswith("before\n<!-- generated: regret -->\n| agent | win share lost |")
    assert page.read_text().endswith("|\n<!-- end -->\nafter\n")
    assert run("--check") == (0, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<!-- generated: b -->\n<!-- end -->\n", "page has a generated block 'b'; there are a"),
        ("<!-- generated: a -->\n", "page has a generated block that does not end"),
    ],
)
def test_a_block_that_cannot_be_made_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        markdown.fill(text, {"a": lambda: "x"}, "page")


def test_a_table_keeps_bars_in_cells():
    assert markdown.table(["a", "b"], [["x|y", "1"]], left=("a",)) == "| a | b |\n| :-- | --: |\n| x\\|y | 1 |"


def test_every_agent_of_the_project_and_each_of_its_options_is_explained():
    own = {entry.name for entry in entry_points(group=GROUP) if entry.value.startswith("bombay_agents.")}
    assert own == set(agents.KNOWLEDGE)
    for name, factory in agents.factories().items():
        assert set(agents.option_meanings(factory)) == set(inspect.signature(factory).parameters), name
        assert inspect.getdoc(factory), name


def test_every_command_is_on_the_page():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    for name in ("simulate", "ladder", "train best-response", "docs"):
        assert f"`bombay {name}`\n" in page
    assert "--victim" in page


def test_a_match_of_the_selection_that_was_not_played_is_a_dash_and_leaves_no_mean(tmp_path):
    (tmp_path / "data").mkdir()
    candidate, opponent = ladder.CANDIDATES[0], ladder.PANEL[0]
    lines = (DOCS / "data" / "selection.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [json.loads(line)["row"] for line in lines]
    missing = [(row["players"], row["agent"], row["rest"]) == (4, candidate, opponent) for row in rows]
    assert any(missing)
    kept = [line for line, gone in zip(lines, missing, strict=True) if not gone]
    (tmp_path / "data" / "selection.jsonl").write_text("".join(kept), encoding="utf-8")
    cells = {tuple(line.split(" | ")[:2]): line.split(" | ")[2:] for line in Results(tmp_path).selection().splitlines()}
    dashes = {head: [cell.strip(" |") == "–" for cell in row] for head, row in cells.items() if "–" in "".join(row)}
    first_only = [True] + [False] * (len(ladder.CANDIDATES) - 1)
    assert dashes == dict.fromkeys([("| 4", f"`{opponent}`"), ("| 4", "mean"), ("| all", "mean")], first_only)


def test_rows_of_the_ladder_come_from_its_file_where_they_are_whole():
    results = Results(DOCS)
    rows = {(row["agent"], row["rest"], row["players"]): row for row in results.ladder_rows}
    wanted = [(row.agent, row.rest, row.players) for row in ladder.rows((2, 3, 4, 5))]
    assert set(rows) == set(wanted)
    assert min(row["games"] for row in rows.values()) >= ladder.MIN_GAMES, "a row is not whole"
    lines = ladder.read_parts(DOCS / "ladder.jsonl")
    (part,) = (
        line
        for line in lines
        if (line["row"]["agent"], line["row"]["rest"], line["row"]["players"]) == ("td", "ppo", 4)
    )
    share = rows["td", "ppo", 4]["win_share"]["mean"]
    assert share == pytest.approx(part["kept"]["share"][0] / part["kept"]["share"][2])
    assert rows["td", "ppo", 4]["games"] == 4000


def share(mean, low, high, **entries):
    return {**entries, "win_share": {"mean": mean, "low": low, "high": high}}


@pytest.mark.parametrize(
    ("limit", "cells"),
    [
        ({"low": 0.4}, "at least 0.40 | 0.450 [0.400, 0.500], worst of 2 seeds | pass"),
        ({"low": 0.401}, "at least 0.401 | 0.450 [0.400, 0.500], worst of 2 seeds | **miss**"),
        ({"low": 0.4, "over": "agents"}, "at least 0.40 | 0.450 [0.400, 0.500], worst of 2 agents | pass"),
        ({"high": 0.6}, "at most 0.60 | 0.500 [0.450, 0.550], worst of 2 seeds | pass"),
        ({"high": 0.5}, "at most 0.50 | 0.500 [0.450, 0.550], worst of 2 seeds | **miss**"),
    ],
)
def test_a_target_is_judged_by_the_worst_seed_and_the_unfavourable_end_of_its_interval(limit, cells):
    results = [
        share(0.5, 0.45, 0.55, agent="a", seed=0),
        share(0.45, 0.4, 0.5, agent="a", seed=1),
        share(0.1, 0.0, 0.9, agent="b", seed=0),
    ]
    table = targets.table([{"what": "goal", "match": {"agent": "a"}, **limit}], results)
    assert table.splitlines()[-1] == f"| goal | {cells} |"


def test_a_target_that_was_not_measured_has_dashes():
    stated = {"what": "speed", "target": "20,000", "measured": None, "passed": None}
    compared = {"what": "strength", "low": 0.5, "match": {"agent": "c"}}
    lines = targets.table([stated, compared]).splitlines()[2:]
    assert lines == ["| speed | 20,000 | – | – |", "| strength | at least 0.50 | – | – |"]


def test_the_cold_start_of_training_is_compared_with_that_of_the_same_learner(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("cold_start", "cold_start_before"):
        (tmp_path / "data" / f"{name}.json").write_bytes((DOCS / "data" / f"{name}.json").read_bytes())
    tables, file = Speed(Results(tmp_path)), tmp_path / "data" / "cold_start.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    for learner, before in (("td", "120.0"), ("zero", "–")):
        file.write_text(json.dumps(data | {"learner": learner, "train": {"first update": 30.0}}), encoding="utf-8")
        row = f"| bombay train {learner}, until its first update | {before} | 30.0 | 45 |"
        assert tables.cold_start().splitlines()[-1] == row
        assert f"function of an update of `{learner}`" in tables.slowest_kernels()
