"""The measure of a first use with nothing compiled: here one with the compiler off, and the others with what is compiled."""

import json

import pytest

from benchmarks import cold_start


def test_a_program_of_its_own_tells_seconds_of_a_first_use(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    seconds = cold_start._environment(cold_start.PETTINGZOO)
    assert all(value > 0 for value in seconds.values())
    assert seconds["first use"] == seconds["reset"] + seconds["step"]


@pytest.mark.parametrize("program", [cold_start.GYMNASIUM, cold_start.VECTOR])
def test_the_other_programs_run(program, capsys):
    exec(program, {})
    assert json.loads(capsys.readouterr().out)["step"] > 0
