"""The notebooks run from top to bottom, and are committed small, as they ran, and without errors."""

import ast
import json
from pathlib import Path

import numba
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 150_000  # bytes, outputs included


def test_there_is_one():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_committed_is_small_whole_and_of_one_run(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        ast.parse("".join(cell["source"]))
        assert not [out for out in cell["outputs"] if out["output_type"] == "error"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any(cell["outputs"] for cell in code)
    assert path.stat().st_size <= LARGEST


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of what runs notebooks
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="it learns, which takes the compiler")
def test_train_and_play_runs_from_top_to_bottom(tmp_path):
    """In a shorter form: other numbers in the cell that holds them."""
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `dev`")
    pytest.importorskip("matplotlib", reason="needs the extra `analysis`")
    import nbformat

    notebook = nbformat.read(FOLDER / "train_and_play.ipynb", as_version=4)
    (numbers,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    numbers.source += "\nUPDATES, BLOCKS = 2, 4"
    client = nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}})
    outputs = [out for cell in client.execute().cells for out in cell.get("outputs", ())]
    shown = "".join(out.text for out in outputs if out.output_type == "stream" and out.name == "stdout")
    assert "256 games of self-play" in shown
    assert "seats that won" in shown
    assert "16 games against three planner-v1: win share" in shown
    kinds = [kind for out in outputs if out.output_type == "display_data" for kind in out.data]
    assert (kinds.count("image/png"), kinds.count("image/svg+xml")) == (1, 3)
