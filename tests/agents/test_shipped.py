"""The shipped players: small files with cards, fit for every player count."""

import hashlib
from pathlib import Path

import numba
import numpy as np
import pytest

from bombay_agents import make, shipped
from bombay_agents.nets import files
from bombay_agents.nets.policy.net import PolicyNet
from bombay_agents.nets.value.net import ValueNet
from helpers.position import official

FILES = sorted(shipped.WEIGHTS.glob("*.safetensors"))
LARGEST = 8_000_000  # bytes of all together


def test_the_nets_are_small_and_each_has_a_card():
    assert 0 < sum(path.stat().st_size for path in FILES) < LARGEST
    for path in FILES:
        card = path.with_suffix(".md").read_text(encoding="utf-8")
        for heading in ("How it was trained", "How strong it is", "What is known to beat it"):
            assert f"## {heading}" in card, (path.name, heading)


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((Path(file).stem, ValueNet) for file in shipped.ZERO_NETS), ("ppo", PolicyNet)],
)
def test_the_nets_were_trained_on_official_games_of_every_player_count(name, kind):
    net = kind.load(shipped.WEIGHTS / f"{name}.safetensors")
    card = (shipped.WEIGHTS / f"{name}.md").read_text(encoding="utf-8")
    for count in {"updates", "games", "decisions"} & set(net.about["training"]):
        assert f"{net.about['training'][count]:,}" in card, "the card is of this very net"
    for n in (2, 3, 4, 5):
        files.check_trained_on(name, net.about, official(n))


def test_the_nets_of_zero_are_of_different_seeds():
    seeds = [make(f"zero:seed={seed}").net.about["training"]["seed"] for seed in range(len(shipped.ZERO_NETS))]
    assert seeds == list(range(len(seeds)))


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="slow without the compiler; test_value_net has short games")
@pytest.mark.parametrize("spec", ["zero", "champion:nodes=8", "ppo"])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_nets_decide_legally_with_every_player_count(n, spec):
    game = official(n)
    states = game.new_states(range(8))
    legal = game.legal_actions(states)
    actions = make(spec).act(game, states, np.random.default_rng(0))
    assert legal[np.arange(8), actions].all()


@pytest.mark.parametrize(
    "spec",
    [
        "zero:rounds=0,seed=1,force=true",
        "zero-search:ms=5,k=4,exploration=0.3",
        "flat-mc:ms=0.5,k=3",
        "ppo:sample=true,force=true",
        "champion",
        "champion:nodes=20,value=[zero:seed=1],temperature=0.2",
    ],
)
def test_their_names_are_their_specs(spec):
    assert make(spec).name == spec


def test_the_champion_thinks_for_a_tenth_of_a_second():
    champion = make("champion")
    assert (champion.ms, champion.nodes) == (100, None)
    assert champion.value.net.about == make("zero").net.about


def test_the_opponent_of_learning_tracks_never_changes():
    digest = "94f0257b42c31eb9a04b2d7da52b0754cd7883ad609e2886e1ce3b817fdf17b0"
    assert hashlib.sha256((shipped.WEIGHTS / "zero-seed1.safetensors").read_bytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("zero:seed=2", "seed is 2; it must be a whole number from 0 to 1"),
        (
            "champion:force=true,value=[zero]",
            "champion takes force or value, not both; give force to the agent in brackets",
        ),
    ],
)
def test_nets_that_are_not_there_are_refused(spec, reason):
    with pytest.raises(ValueError, match=f"^{reason}$"):
        make(spec)
