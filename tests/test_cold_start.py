"""The measure of a first use with nothing compiled; with the compiler off, so that it is quick."""

import pytest

from benchmarks import cold_start


@pytest.mark.parametrize("name", cold_start.ENVIRONMENTS)
def test_each_program_tells_seconds_of_a_first_use(name, monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    seconds = cold_start._environment(cold_start.ENVIRONMENTS[name])
    assert all(value > 0 for value in seconds.values())
    assert seconds["first use"] == seconds["reset"] + seconds["step"]
