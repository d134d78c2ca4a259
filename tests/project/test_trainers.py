"""Other people's trainers and tools, each in an environment of its own: `make trainers`. Their table is in docs/trainers.md.

A file in tests/trainers names its packages in its header (PEP 723), runs another project's code on Bombay, checks what came out
and prints one line. What a user has to write or change for Bombay stands between `# glue` and `# end of glue`.
"""

import json
import os
import subprocess
import time

import pytest

from docs.generate import trainers

RESULTS = trainers.RESULTS
NAMES = sorted(trainers.scripts())


@pytest.mark.parametrize("name", NAMES)
def test_the_glue_has_at_most_ten_lines(name):
    assert trainers.scripts()[name].glue <= 10


@pytest.mark.trainers
@pytest.mark.parametrize("name", NAMES)
def test_it_runs(name, tmp_path):
    script = trainers.FOLDER / f"{name}.py"
    start = time.monotonic()
    command = ["uv", "run", "--quiet", "--no-project", "--script", str(script)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    result = done.stdout.strip().splitlines()[-1]
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known[name] = {"result": result, "date": time.strftime("%Y-%m-%d"), "seconds": round(time.monotonic() - start)}
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
