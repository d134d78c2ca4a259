"""Curves of tracks: what they are the mean of, how wide their intervals are, and what is no entry."""

import json

import numpy as np
import pytest

from bombay_training.reports import charts, tracks
from helpers.refusal import refusal

TASKS = [(players, opponent) for players in (2, 4) for opponent in ("greedy", "ppo")]


def entry(shares, seed=0, half=0.02, decisions=(20_000, 100_000), **changed):
    """An entry as `bombay track` writes it, with these win shares (points, tasks) and intervals of this half width."""
    points = [
        {
            "decisions": number,
            "score": 0.0,
            "matches": [
                {
                    "players": players,
                    "opponent": opponent,
                    "games": 400,
                    "win_share": {"mean": share, "low": share - half, "high": share + half},
                    "faults": 0,
                }
                for (players, opponent), share in zip(TASKS, row, strict=True)
            ],
        }
        for number, row in zip(decisions, shares, strict=True)
    ]
    about = {"command": "track", "track": "rules-1M", "learner": "zero", "seed": seed, "learning": "steps only"}
    return {**about, "outcomes": None, "final": 0.0, "area": 0.0, "points": points, **changed}


@pytest.fixture
def read(tmp_path):
    """Entries through their files."""

    def through(*entries):
        paths = []
        for number, data in enumerate(entries):
            (tmp_path / f"{number}").mkdir(exist_ok=True)
            (tmp_path / f"{number}" / "track.json").write_text(json.dumps(data))
            paths.append(tmp_path / f"{number}")
        return tracks.read_entries(paths)

    return through


def summary(entries):
    """The curves, with fewer resamples than a report has."""
    return tracks.summary(entries, resamples=200)


def test_a_curve_is_the_interquartile_mean_of_the_scores(read):
    (curve,) = summary(read(entry([[0.5, 0.5, 0.25, 0.25], [1.0, 0.75, 0.4, 0.25]])))
    assert [point["decisions"] for point in curve["points"]] == [20_000, 50_000, 100_000]
    assert curve["points"][0]["mean"] == 0
    assert curve["final"]["mean"] == pytest.approx((0.5 + 0.2) / 2)  # of scores 1, .5, .2 and 0
    part = np.log(50 / 20) / np.log(100 / 20)
    assert curve["points"][1]["mean"] == pytest.approx(part * (0.5 + 0.2) / 2)  # between snapshots in log decisions
    assert curve["area"]["mean"] == pytest.approx((0.5 + 0.2) / 4)


def test_a_curve_begins_with_the_first_snapshot_and_ends_with_the_last_of_each_seed(read):
    late = entry([[0.5, 0.5, 0.25, 0.25], [1.0, 1.0, 1.0, 1.0]], decisions=(500_000, 1_000_000))
    (curve,) = summary(read(late))
    assert [point["decisions"] for point in curve["points"]] == [500_000, 1_000_000]
    assert curve["area"]["mean"] == pytest.approx(0.5)
    slow = entry([[0.5, 0.5, 0.25, 0.25], [1.0, 1.0, 1.0, 1.0]], seed=1, decisions=(500_000, 600_000))
    (curve,) = summary(read(late, slow))
    assert curve["final"]["mean"] == 1  # both at their ends
    (alone,) = summary(read(entry([[0.5, 0.5, 0.25, 0.25]], decisions=(500_000,))))
    assert (alone["final"]["mean"], alone["area"]["mean"]) == (0, 0)


def test_intervals_have_the_width_of_deals_and_of_seeds(read):
    shares = [[0.5, 0.5, 0.5, 0.5]] * 2
    (sure,) = summary(read(entry(shares, half=0.0)))
    assert sure["final"]["low"] == sure["final"]["high"]
    (deals,) = summary(read(entry([[0.5, 0.5, 0.25, 0.25]] * 2, half=0.04)))
    width = deals["final"]["high"] - deals["final"]["low"]
    assert 0.04 < width < 0.14  # one task of 2 players alone has ± .08
    better = [[share + 0.2 for share in row] for row in shares]
    (seeds,) = summary(read(entry(shares, half=0.0), entry(better, seed=1, half=0.0)))
    assert seeds["seeds"] == [0, 1]
    (alone,) = summary(read(entry(better, half=0.0)))
    bounds = (seeds["final"]["low"], seeds["final"]["high"])
    assert bounds == pytest.approx((sure["final"]["mean"], alone["final"]["mean"]))  # a resample may have one seed only


def test_each_learner_of_each_track_has_its_curve(read):
    shares = [[0.5] * 4] * 2
    others = [entry(shares, learner="ppo"), entry(shares, track="rules-10M"), entry(shares, learning="uses the model")]
    curves = summary(read(entry(shares), *others, entry(shares, seed=3, outcomes=7)))
    assert [(curve["track"], curve["learner"], curve["learning"], curve["seeds"]) for curve in curves] == [
        ("rules-1M", "ppo", "steps only", [0]),
        ("rules-1M", "zero", "steps only", [0, 3]),
        ("rules-1M", "zero", "uses the model", [0]),
        ("rules-10M", "zero", "steps only", [0]),
    ]
    assert [curve["outcomes"] for curve in curves] == [None, 7, None, None]
    assert len(tracks.table(curves).splitlines()) == 6
    assert len(charts.curves(curves).axes) == 2


def test_what_is_no_entry_is_refused(read, tmp_path):
    shares = [[0.5] * 4] * 2
    refusal(lambda: read(entry(shares), entry(shares)), "seed 0 of zero a second time")
    refusal(lambda: read(entry(shares, points=[])), "has no points")
    refusal(lambda: read(entry(shares, seed="x")), "seed is 'x'")
    refusal(lambda: read(entry(shares, track="rules-2M")), "track is 'rules-2M'")
    fewer = entry(shares, seed=1)
    for point in fewer["points"]:
        point["matches"] = point["matches"][:2]
    refusal(lambda: summary(read(entry(shares), fewer)), "met different opponents")
    refusal(lambda: tracks.read_entries([tmp_path]), "track.json: cannot be read")


def test_the_command_prints_the_table_and_draws(bombay, read, tmp_path):
    read(entry([[0.5] * 4] * 2))
    done = bombay("tracks", tmp_path / "0", "--out", tmp_path / "curves.png")
    assert (done.returncode, "| rules-1M | `zero` | steps only | 1 | +0.167 [" in done.stdout) == (0, True)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    done = bombay("tracks", tmp_path / "0", "--json")
    assert json.loads(done.stdout)["curves"][0]["seeds"] == [0]
    done = bombay("tracks", tmp_path / "nothing")
    assert (done.returncode, done.stdout) == (2, "")
