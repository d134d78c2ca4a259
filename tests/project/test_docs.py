"""Generated documents say what the program and the saved results say."""

import inspect

from bombay_training.rich_tables import markdown_table
from docs.generate import agents, pages
from helpers import ROOT

DOCS = ROOT / "docs"


def test_generated_documents_are_up_to_date():
    """To bring them up to date: `python -m docs.generate`, in the checkout."""
    assert sorted(pages.outdated(DOCS)) == []
    names = {page.name for page in pages.generated(DOCS)}
    assert {"README.md", "rules.md", "spaces.md", "cli.md", "agents.md", "performance.md", "leaderboard.md"} <= names


def test_what_is_out_of_date_is_found(tmp_path):
    for file in DOCS.glob("data/*.json"):
        copy = tmp_path / "docs" / file.relative_to(DOCS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    page = tmp_path / "docs" / "page.md"
    page.write_text("before\n<!-- generated: cold-start -->\nold\n<!-- end -->\nafter\n")

    written = pages.outdated(tmp_path / "docs")
    assert [path.name for path in written] == ["rules.md", "spaces.md", "leaderboard.md", "board.svg", "page.md"]
    assert written[page].startswith("before\n<!-- generated: cold-start -->\nMeasured on ")
    assert written[page].endswith("|\n<!-- end -->\nafter\n")
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    assert pages.outdated(tmp_path / "docs") == {}


def test_a_table_keeps_bars_in_cells():
    assert markdown_table(["a", "b"], [["x|y", "1"]], left=("a",)) == "| a | b |\n| :-- | --: |\n| x\\|y | 1 |"


def test_every_agent_of_the_project_and_each_of_its_options_is_explained():
    assert len(agents.factories()) > 10
    for name, factory in agents.factories().items():
        assert set(agents.option_meanings(factory)) == set(inspect.signature(factory).parameters), name
        assert inspect.getdoc(factory), name
