"""The notebooks run from top to bottom, and are committed small, as they ran, and without errors."""

import ast
import json
from itertools import groupby

import numba
import pytest

from helpers import ROOT

FOLDER = ROOT / "notebooks"
LARGEST = 200_000  # bytes, outputs included
SHORTER = {  # what a quick run puts after the cell of parameters
    "1_first_game": "AGENTS = ['planner-v1', 'greedy', 'greedy', 'random']",
    "2_environments": "GAMES = 5",
    "3_train": "UPDATES, BLOCKS = 1, 1",
    "4_compare": "BLOCKS, CANDIDATES, MAX_BLOCKS = 4, 2, 2",
    "5_fairness": "GAMES = 20",
    "6_variants": "GAMES = 4",
    "7_your_own_agent": "BLOCKS, SEARCH_BLOCKS, ROLLOUTS, GAMES, TREE_BLOCKS, NODES = 1, 1, 1, 5, 1, 2",
}
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
needs_jit = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="matches and learning take the compiler")
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source(cell):
    return "".join(cell["source"])


@each_notebook
def test_what_is_committed_is_small_whole_and_of_one_run(path):
    code = code_cells(path)
    for cell in code:
        ast.parse(source(cell))
        for output in cell["outputs"]:
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr"
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert any(cell["outputs"] for cell in code)
    assert path.stat().st_size <= LARGEST


@needs_jit
@each_notebook
def test_a_shorter_form_runs_from_top_to_bottom(path, tmp_path, monkeypatch, capsys):
    """In this process, which has its kernels already."""
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra `analysis`")
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "notebook"}
    for cell in code_cells(path):
        exec(compile(source(cell), str(path), "exec"), names)
        if "parameters" in cell["metadata"].get("tags", ()):
            exec(SHORTER[path.stem], names)
    assert capsys.readouterr().out.count("\n") >= 5


@needs_jit
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of what runs notebooks
@each_notebook
def test_it_runs_as_committed(path, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs the extra `dev`")
    pytest.importorskip("matplotlib", reason="needs the extra `analysis`")
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    cells = nbclient.NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    ran = [cell for cell in cells.cells if cell.cell_type == "code"]
    for cell, committed in zip(ran, code_cells(path), strict=True):
        assert kinds(cell["outputs"]) == kinds(committed["outputs"])


def kinds(outputs):
    """What a cell shows. Text that is printed slowly comes in several pieces, which count as one."""
    return [kind for kind, _ in groupby(output["output_type"] for output in outputs if output.get("name") != "stderr")]
