"""Generated documents say what the program and the saved results say."""

import inspect
from pathlib import Path

import pytest

from bombay_training.evaluation import ladder
from docs.generate import agents, markdown, pages
from docs.generate.results import Results

DOCS = Path(__file__).parent.parent / "docs"


def test_generated_documents_are_up_to_date():
    """To bring them up to date: `python -m docs.generate`, in the checkout."""
    assert sorted(pages.outdated(DOCS)) == []
    names = {page.name for page in pages.generated(DOCS)}
    assert {"README.md", "spaces.md", "cli.md", "agents.md", "results.md", "fairness.md"} <= names


def test_no_match_of_a_study_is_in_the_documents_twice():
    """A table would show one of them."""
    keys = ("learner", "minutes", "seed", "players", "agent", "rest")
    rows = [tuple(row[key] for key in keys) for row in Results(DOCS).learning_rows]
    assert len(rows) == len(set(rows)) > 0


def test_what_is_out_of_date_is_found(tmp_path):
    for file in (DOCS / "ladder.jsonl", *DOCS.glob("data/*.json")):
        copy = tmp_path / "docs" / file.relative_to(DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    page = tmp_path / "docs" / "page.md"
    page.write_text("before\n<!-- generated: regret -->\nold\n<!-- end -->\nafter\n")

    written = pages.outdated(tmp_path / "docs")
    assert [path.name for path in written] == ["spaces.md", "cli.md", "board.svg", "page.md"]
    assert written[page].startswith("before\n<!-- generated: regret -->\n| agent | win share lost |")
    assert written[page].endswith("|\n<!-- end -->\nafter\n")
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    assert pages.outdated(tmp_path / "docs") == {}


def test_a_table_keeps_bars_in_cells():
    assert markdown.table(["a", "b"], [["x|y", "1"]], left=("a",)) == "| a | b |\n| :-- | --: |\n| x\\|y | 1 |"


def test_every_agent_of_the_project_and_each_of_its_options_is_explained():
    assert len(agents.factories()) > 10
    for name, factory in agents.factories().items():
        assert set(agents.option_meanings(factory)) == set(inspect.signature(factory).parameters), name
        assert inspect.getdoc(factory), name


def test_rows_of_the_ladder_come_from_its_file_where_they_are_whole():
    results = Results(DOCS)
    rows = {(row["agent"], row["rest"], row["players"]): row for row in results.ladder_rows}
    listed = [(row.agent, row.rest, row.players) for row in ladder.rows((2, 3, 4, 5))]
    assert set(rows) <= set(listed)
    assert min(row["games"] for row in rows.values()) >= ladder.MIN_GAMES, "a row is not whole"
    match = ("zero", "planner-v1", 4)
    lines = ladder.read_parts(DOCS / "ladder.jsonl")
    (part,) = (line for line in lines if tuple(line["row"][key] for key in ("agent", "rest", "players")) == match)
    assert rows[match]["win_share"]["mean"] == pytest.approx(part["kept"]["share"][0] / part["kept"]["share"][2])
    assert rows[match]["games"] == 4000


def test_every_match_in_the_data_is_still_on_the_ladder():
    """A match of an agent that is gone, or plays otherwise now, leaves the files with it."""
    listed = {(row.agent, row.rest, row.players, row.format) for row in ladder.rows((2, 3, 4, 5))}
    for file in (DOCS / "ladder.jsonl", DOCS / "data" / "turn_times.jsonl"):
        rows = [line["row"] for line in ladder.read_parts(file)]
        assert {(row["agent"], row["rest"], row["players"], row["format"]) for row in rows} <= listed
