"""Learning curves: what is read from a run's folder, and what is drawn."""

import json
import sys

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra `analysis`")

from bombay_training.cli import training
from bombay_training.learners import curve
from bombay_training.learners.runs import run_files
from docs.generate import picture


def made(folder, updates=6, matches=(2, 6), players=(2, 4), **figures):
    """A run's folder with evaluations in some updates, and an incomplete last line, as after a kill."""
    folder.mkdir()
    (folder / run_files.SETTINGS).write_text(json.dumps({"settings": {"players": players}}), encoding="utf-8")
    with (folder / run_files.METRICS).open("w", encoding="utf-8") as metrics:
        for update in range(1, updates + 1):
            line = {"update": update, "seconds": 60.0 * update, "margin_loss": 1 / update, "unheard_of": 3, **figures}
            if update in matches:
                line |= {f"{run_files.AGAINST}greedy": update / 10, f"{run_files.AGAINST}planner-v1": update / 20}
            metrics.write(json.dumps(line) + "\n")
        metrics.write('{"update": 7, "sec')
    return folder


def legend(panel):
    return [text.get_text() for text in panel.get_legend().get_texts()]


def test_a_run_is_read_up_to_its_incomplete_line(tmp_path):
    run = curve.read_run(made(tmp_path / "run"))
    minutes, shares = run.points(f"{run_files.AGAINST}planner-v1")
    assert (minutes.tolist(), shares.tolist()) == ([2.0, 6.0], [0.1, 0.3])
    assert run.par == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_the_figure_of_one_run_has_a_colour_per_reference_and_a_panel_per_metric(tmp_path):
    figure = curve.figure_of([curve.read_run(made(tmp_path / "run", entropy=0.5))])
    above, *below = figure.axes
    assert legend(above) == ["against greedy", "against planner-v1", "par 0.38"]
    greedy, planner, par = above.get_lines()
    assert greedy.get_xydata().tolist() == [[2, 0.2], [6, 0.6]]
    assert above.get_xscale() == "log"
    assert greedy.get_color() != planner.get_color()
    assert par.get_ydata()[0] == 0.375
    assert [panel.get_title() for panel in below] == [curve.METRICS["margin_loss"], curve.METRICS["entropy"]]
    assert {panel.get_xlabel() for panel in figure.axes} == {"minutes of learning"}


def test_quick_matches_close_to_each_other_in_the_logarithm_of_time_are_averaged():
    minutes, values = np.array([0.01, 1.0, 2.0, 99.0, 100.1, 101.0, 150.0]), np.arange(7.0)
    times, means = curve.log_time_means(minutes, values, start=0.1)
    assert times == pytest.approx([1, 2, 99, 100.55, 150])
    assert means == pytest.approx([1, 2, 3, 4.5, 6])
    assert [len(found) for found in curve.log_time_means(minutes, values, start=200)] == [0, 0]


def test_several_runs_are_named_by_their_folders_and_have_a_colour_each_unless_only_their_seed_differs(tmp_path):
    found = [curve.read_run(made(tmp_path / name)) for name in ("zero-seed0", "zero-seed1", "ppo-seed0")]
    figure = curve.figure_of(found)
    assert legend(figure.axes[0])[:4] == ["zero, 2 seeds", "ppo", "against greedy", "against planner-v1"]
    colours = [line.get_color() for line in figure.axes[0].get_lines()[:6]]
    assert colours == [curve.COLOURS[0]] * 4 + [curve.COLOURS[1]] * 2
    assert len(figure.axes[1].get_lines()) == 3
    assert len(curve.figure_of(found, metrics=False).axes) == 1


def test_the_readme_shows_the_run_of_the_shipped_net_and_those_of_a_folder():
    figure = picture.learning(picture.LONG_RUN.parent)
    assert legend(figure.axes[0])[:3] == ["zero-long", "zero, 3 seeds", "ppo"]
    assert len(figure.axes) == 1


def test_unusual_runs_are_drawn(tmp_path):
    """One without evaluations and settings, one of a single update that takes no learning time, and one with names of TeX."""
    bare, once = made(tmp_path / "a", matches=()), made(tmp_path / "b", updates=1, matches=(1,), seconds=0.0)
    dollars = made(tmp_path / "c$b^$", **{f"{run_files.AGAINST}net:path=$\\x$": 0.5})
    (bare / run_files.SETTINGS).write_text("nonsense", encoding="utf-8")
    (once / run_files.SETTINGS).write_text('{"settings": {}}', encoding="utf-8")
    for folder, par in ((bare, None), (once, None), (dollars, 0.375)):
        run = curve.read_run(folder)
        assert run.par == par
        curve.draw([run], tmp_path / "picture.png")
        assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
        (tmp_path / "picture.png").unlink()
    figure = curve.figure_of([curve.read_run(dollars)] * 2)
    assert any("net:path=" in text for text in legend(figure.axes[0]))


@pytest.mark.parametrize("content", [None, "torn", '{"update": 1}'])
def test_a_folder_without_metrics_is_an_error(content, tmp_path):
    if content is not None:
        (tmp_path / run_files.METRICS).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"metrics.jsonl (cannot be read|holds no complete update)"):
        curve.read_run(tmp_path)


def test_a_run_ends_normally_if_its_curve_cannot_be_drawn(tmp_path, monkeypatch):
    folder = made(tmp_path / "run")
    assert training.draw_curve(folder).endswith("run/learning_curve.png")
    assert (folder / run_files.CURVE).exists()
    assert training.draw_curve(tmp_path).startswith("No learning curve: ")
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    monkeypatch.delitem(sys.modules, "bombay_training.learners.curve")  # as in a new process
    line = training.draw_curve(folder)
    assert line.startswith("No learning curve: this needs the extra `analysis`")
    assert "\n" not in line


def test_the_bar_keeps_the_last_win_shares_and_fits_a_narrow_terminal():
    bar = training.TrainingProgress()
    bar.update(0.5, {"decisions": 1_234_567, "seconds": 90, f"{run_files.AGAINST}planner-v1": 0.41})
    bar.update(0.6, {"decisions": 2_000_000, "seconds": 99, f"{run_files.AGAINST}greedy": 0.933})
    text = bar.bar.tasks[0].description
    assert text == "2,000,000 decisions, wins: 0.41 planner-v1, 0.93 greedy"
    assert len(text) + len("━" * 16 + " 0:01:12 ") <= 80
    assert bar.summary == "1.6 min, 2,000,000 decisions"
