"""The measure of a first use with nothing compiled; with the compiler off, so that it is quick."""

import pytest

from benchmarks import cold_start


@pytest.mark.parametrize("name", cold_start.ENVIRONMENTS)
def test_each_program_tells_seconds_of_a_first_use(name, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    seconds = cold_start._environment(cold_start.ENVIRONMENTS[name])
    assert all(value > 0 for value in seconds.values())
    assert seconds["first use"] == seconds["reset"] + seconds["step"]


def test_the_start_of_training_is_measured_until_its_first_update(monkeypatch):
    monkeypatch.setattr(cold_start, "TIMEOUT", 0.0)
    with pytest.raises(RuntimeError, match="first update"):
        cold_start._train()


def test_the_tables_show_every_figure():
    use = {"import": 0.5, "reset": 2.0, "step": 1.5, "first use": 3.5, "first use, compiled": 0.25, "processor": 3.75}
    data = {
        "environments": dict.fromkeys(cold_start.ENVIRONMENTS, use),
        "learner": "zero",
        "train": {"first update": 30.0},
        "kernels": [["a.kernel", 1.25, 2.5]],
        "compiled": 80,
        "compile_seconds": 4.8,
    }
    first, slowest = cold_start.tables(data)
    assert first.row_count == len(cold_start.ENVIRONMENTS) + 1
    assert list(first.columns[4].cells) == ["3.5"] * len(cold_start.ENVIRONMENTS) + ["30.0"]
    assert list(first.columns[0].cells)[-1] == "bombay train zero, until its first update"
    assert [next(iter(column.cells)) for column in slowest.columns[1:]] == ["1.25", "2.50"]
    assert str(slowest.title) == "slowest functions of an update of zero; 80 compiled in 4.8 s"
