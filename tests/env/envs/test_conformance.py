"""Every interface shows the same game: observations, masks and the rewards of all seats, for the same seed and actions."""

import dataclasses

import numba
import numpy as np
import pytest

from helpers import conformance
from helpers.conformance import write
from helpers.variants import largest_board

# What an interface needs, apart from the project itself.
PACKAGES = {
    "aec": (),
    "gymnasium": (),
    "vector": (),
    "sb3": ("sb3_contrib",),
    "sb3_self_play": ("sb3_contrib",),
    "torchrl": ("torchrl",),
    "rllib": ("ray.rllib",),
    "openspiel": ("pyspiel",),
}
SLOW = bool(numba.config.DISABLE_JIT)
QUICK = {2: ("perfect_recall", "win"), 3: ("screened", "margin"), 4: ("perfect_recall", "rank"), 5: ("screened", "win")}
each_interface = pytest.mark.parametrize("interface", PACKAGES)
# TorchRL was tested with another PettingZoo; this is the test with ours. RLlib's modules use names that others deprecate.
pytestmark = [
    pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using version"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def check(interface, script):
    for package in PACKAGES[interface]:
        pytest.importorskip(package, reason=f"needs {package}; see docs/trainers.md")
    if interface == "openspiel":  # it shows all holdings only
        script = dataclasses.replace(script, mode="perfect_recall")
    if interface == "sb3_self_play" and script.reward == "rank":
        script = dataclasses.replace(script, reward="win")
    wanted, played = conformance.engine(script), getattr(conformance, interface)(script)
    assert played.movers == wanted.movers
    assert all((one == other).all() for one, other in zip(played.masks, wanted.masks, strict=True))
    for mover, shown, views in zip(wanted.movers, played.views, wanted.views, strict=True):
        assert mover in shown
        for seat, view in shown.items():
            assert (view == views[seat]).all()
    assert played.final
    for seat, view in played.final.items():
        assert (view == wanted.final[seat]).all()
    assert np.float32(played.rewards).tolist() == np.float32(wanted.rewards).tolist()
    return played.rewards


@each_interface
@pytest.mark.parametrize("n", [2] if SLOW else QUICK)
def test_an_interface_shows_the_engines_game(interface, n):
    assert np.any(check(interface, write(n, 100 + n, *QUICK[n])))


@each_interface
def test_an_interface_shows_all_actions_of_the_largest_board(interface):
    check(interface, write(2, 1, board=largest_board()))


@pytest.mark.slow
@each_interface
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("reward", ["win", "rank", "margin"])
@pytest.mark.parametrize("mode", ["perfect_recall", "screened"])
def test_an_interface_shows_the_engines_game_in_every_variant(interface, n, reward, mode):
    scripts = [write(n, seed, mode, reward) for seed in (1, 2**63 + n)]
    assert np.any([check(interface, script) for script in scripts])  # one game is a draw
