"""The distributions: they are built, installed into an empty environment, and played outside the checkout."""

import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from bombay_training.play.web import page_files
from helpers import ROOT

pytestmark = pytest.mark.package

SHORT_GAME = """
import numpy as np, bombay_env, bombay_agents, bombay_training
from pathlib import Path
assert "site-packages" in bombay_env.__file__, bombay_env.__file__
package = Path(bombay_env.__file__).parent
assert (package / "RULES.md").is_file() and (package / "py.typed").is_file()
from bombay_env import bombay_v0
env = bombay_v0.env(num_players=3)
env.reset(seed=1)
rng = np.random.default_rng(1)
for agent in env.agent_iter():
    observation, reward, terminated, truncated, info = env.last()
    env.step(None if terminated else rng.choice(np.flatnonzero(observation["action_mask"])))
print(env.unwrapped.record()["result"]["winners"])
import gymnasium
learner = gymnasium.make("bombay/Bombay-v0", num_players=3).unwrapped
learner.reset(seed=1)
learner.step(learner.action_masks().argmax())
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel and the source distribution, built from a copy of the checkout."""
    source, folder = tmp_path_factory.mktemp("source") / "bombay", tmp_path_factory.mktemp("dist")
    skip = shutil.ignore_patterns(".venv", ".git", "dist", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(
        ROOT, source, ignore=lambda folder, names: skip(folder, names) | ({"runs"} if Path(folder) == ROOT else set())
    )
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return folder


def test_archives_contain_exactly_the_three_packages(built):
    (wheel,), (archive,) = built.glob("*.whl"), built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"bombay_env", "bombay_agents", "bombay_training"}
    assert not [name for name in names if name.endswith(".ipynb")]
    drawing = {
        f"bombay_env/render/{name}" for name in ("fonts/DejaVuSans.ttf", "fonts/DejaVuSans-Bold.ttf", "fonts/LICENSE")
    }
    page = {f"bombay_training/play/web/page/{name}" for name in page_files.texts()}
    data = {"bombay_env/data/reconstruction.toml", "bombay_env/RULES.md", "bombay_env/py.typed"}
    assert drawing | page | data <= set(names)
    with tarfile.open(archive) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    project = {"pyproject.toml", "README.md", "LICENSE", "Makefile"}
    assert project | {"tests/naive.py", "notebooks/1_first_game.ipynb"} <= held


def test_the_package_index_would_accept_the_distributions(built):
    command = [sys.executable, "-m", "twine", "check", "--strict", *built.iterdir()]
    subprocess.run(command, check=True, capture_output=True, text=True)


def test_short_game_from_an_empty_environment(built, tmp_path):
    """With the wheel, which was built from the source distribution."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-compile", "-c", ROOT / "constraints.txt", wheel], check=True, cwd=tmp_path)
    played = subprocess.run([python, "-c", SHORT_GAME], check=True, cwd=tmp_path, capture_output=True, text=True)
    assert played.stdout.startswith("[")
    command = [tmp_path / "env" / "bin" / "bombay", "simulate", "ppo", "random", "--players", "2", "--games", "2"]
    shown = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    assert "ppo" in shown.stdout
