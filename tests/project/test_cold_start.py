"""The measure of a first use with nothing compiled: here with what is compiled."""

import pytest

from benchmarks import cold_start


@pytest.mark.parametrize("how", cold_start.ENVIRONMENTS.values())
def test_a_program_tells_the_seconds_of_a_first_use(how, capsys):
    exec(cold_start.PROGRAM.format(how=how), {})
    assert float(capsys.readouterr().out) > 0
