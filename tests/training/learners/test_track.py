"""Learning tracks: snapshots on the way, scores, and agents from elsewhere."""

import json

import numba
import numpy as np
import pytest
from test_runs import WalkRun, WalkSettings

from bombay_env import streams
from bombay_env.chance import lane_words
from bombay_training.learners import track as tracks
from bombay_training.learners.runs import run as runs
from bombay_training.learners.track import Snapshots, Track, area, check_agents, entry, lineups, score
from helpers.command import without_workers
from helpers.matches import made_match
from helpers.refusal import refusal


def test_points_are_equally_spaced_by_the_logarithm_and_end_with_the_budget():
    assert Track(decisions=1_000_000).points() == [20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000]
    assert Track(minutes=10).points()[-2:] == [200_000_000, 500_000_000]
    assert {track.decisions for track in tracks.TRACKS.values()} == {10**6, 10**7, 10**8, None}


def test_agents_are_kept_where_their_numbers_of_decisions_are_reached(tmp_path):
    walk = WalkRun(WalkSettings(decisions=300, players=(2,)))  # 30 in an update
    walk.start(tmp_path, Snapshots(walk, tmp_path, [50, 100, 110, 300]))
    kept = tracks.snapshots(tmp_path, "net:path={},rounds=0")
    assert list(kept) == [60, 120, 300]  # 100 and 110 are reached by the same update
    assert kept[60] == f"net:path={tmp_path}/agent-00000000060.safetensors,rounds=0"
    assert (tmp_path / "agent-00000000300.safetensors").read_bytes() == (tmp_path / "agent.safetensors").read_bytes()
    tracks.drop_later(tmp_path, 120)
    assert list(tracks.snapshots(tmp_path, "")) == [60, 120]


def test_a_run_by_the_clock_is_scored_at_its_end(tmp_path):
    walk = WalkRun(WalkSettings(updates=4, players=(2,)))
    walk.start(tmp_path, Snapshots(walk, tmp_path, [50]))
    assert list(tracks.snapshots(tmp_path, "")) == [60, 120]


def made(share_of):
    """The matches of a snapshot whose win share is this function of par, one for each opponent and number of players."""
    matches = []
    for lineup in lineups({1: "new"}, games=1):
        others = lineup.game.num_players - 1
        share = share_of(1 / (1 + others))
        names, wins = ("new", *["old"] * others), [[share, *[(1 - share) / others] * others]]
        matches.append(made_match(lineup.game, names, [[0, *[1] * others]], [0], win_share=np.array(wins)))
    return matches


def test_the_score_is_zero_at_par_and_one_for_winning_everything():
    best, par = made(lambda par: 1.0), made(lambda par: par)
    assert score(best) == pytest.approx(1)
    assert score(par) == pytest.approx(0)
    found = entry({1000: "a", 8000: "b"}, [*par, *best])
    assert (found["final"], found["area"]) == (pytest.approx(1), pytest.approx(0.5))
    assert [row["decisions"] for row in found["points"]] == [1000, 8000]
    assert len(found["points"][0]["matches"]) == len(tracks.PLAYERS) * len(tracks.OPPONENTS)


def test_every_agent_meets_every_opponent_on_the_same_deals_in_every_seat():
    """The deals are those of the arena with the track's own seed; no other evaluation or league has it."""
    played = lineups({1: "a", 2: "b"}, games=60)
    assert {(lineup.agents[0], len(lineup.agents), *set(lineup.agents[1:])) for lineup in played} == {
        (agent, players, opponent) for agent in "ab" for players in (2, 3, 4, 5) for opponent in tracks.OPPONENTS
    }
    said = lane_words(np.full(60, 7001, np.uint64), streams.DEALS, np.arange(60, dtype=np.uint64)).tolist()
    for lineup in played:
        rows = lineup.rows(np.arange(60))
        assert rows["deal"][:, 0].tolist() == said
        assert np.bincount(np.argmin(rows["agent"], axis=1), minlength=len(lineup.agents)).min() >= 5
    assert runs.DEALS != tracks.SEED == 7001


def test_the_area_is_the_mean_over_the_logarithm_of_decisions():
    assert area([10, 100, 10_000], [0.0, 1.0, 1.0]) == pytest.approx((0.5 * 1 + 1 * 2) / 3)
    assert area([7], [0.25]) == 0.25


def test_agents_from_elsewhere_are_sorted_by_their_decisions():
    track = Track(decisions=1000)
    given = ["1000=random", "20=exec:command=a --b=c"]
    assert check_agents(given, track) == {20: "exec:command=a --b=c", 1000: "random"}
    refusal(lambda: check_agents(["1001=random"], track), "this track ends after 1,000 decisions")
    assert check_agents(["1001=random"], Track(minutes=1))
    for wrong in ("random", "=random", "0=random", "many=random", "10="):
        refusal(lambda wrong=wrong: check_agents([wrong], track), "DECISIONS=SPEC")
    refusal(lambda: check_agents(["5=random", "5=greedy"], track), "twice")


@pytest.fixture
def bombay(bombay, monkeypatch):
    pytest.importorskip("pyarrow", reason="needs the extra `data`")
    without_workers(monkeypatch)
    return bombay


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="learning takes minutes with the compiler off")
def test_a_track_is_learned_and_scored_and_the_same_command_repeats_nothing(bombay, tmp_path, monkeypatch):
    monkeypatch.setitem(tracks.TRACKS, "rules-1M", Track(decisions=21_000))
    monkeypatch.setattr(tracks, "PLAYERS", (2,))
    monkeypatch.setattr(tracks, "OPPONENTS", ("greedy",))
    found = []
    for _ in range(2):
        done = bombay("track", "rules-1M", "zero", "--out", "a", "--games", 4, "--seeds", 2, "--json")
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout)["entries"])
    assert found[0] == found[1]
    assert [entry["seed"] for entry in found[0]] == [0, 1]
    first, second = found[0]
    assert first["points"] != second["points"]
    assert (first["learning"], first["outcomes"] > 21_000) == ("uses the model", True)
    decisions = [row["decisions"] for row in first["points"]]
    assert decisions[0] >= 20_000
    assert 21_000 <= decisions[-1] < 60_000
    assert json.loads((tmp_path / "a" / "seed-0" / "track.json").read_text()) == {"command": "track", **first}
    monkeypatch.setitem(tracks.TRACKS, "rules-1M", Track(decisions=22_000))
    done = bombay("track", "rules-1M", "zero", "--out", "a")
    assert (done.returncode, "holds another run" in done.stderr) == (2, True)


def test_a_run_made_elsewhere_is_the_run_made_here(tmp_path):
    settings, points = WalkSettings(decisions=300, players=(2,)), [50, 100]
    files = tracks.train_elsewhere((settings, points))
    assert list(files)[-1] == "settings.json"
    run = WalkRun(settings)
    run.create(tmp_path)
    run.loop(Snapshots(run, tmp_path, points))
    nets = {path.name for path in tmp_path.glob("agent*")}
    assert nets == {name for name in files if name.startswith("agent")}
    assert len(nets) == 4
    assert all(files[name] == (tmp_path / name).read_bytes() for name in nets)


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="learning takes minutes with the compiler off")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_runs_are_trained_on_a_cluster(bombay, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="needs the extra `ray`")
    monkeypatch.setattr(tracks, "PLAYERS", (2,))
    monkeypatch.setattr(tracks, "OPPONENTS", ("greedy",))
    monkeypatch.setitem(tracks.TRACKS, "rules-1M", Track(decisions=25_000))
    command = ("track", "rules-1M", "zero", "--seeds", 2, "--games", 4, "--json")
    found = []
    for name, options in (("cluster", ("--engine", "ray", "--processes", 2)), ("here", ())):
        done = bombay(*command, "--out", name, *options)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    assert found[0] == found[1]
    for seed in ("seed-0", "seed-1"):
        nets = [(tmp_path / name / seed / "agent.safetensors").read_bytes() for name in ("cluster", "here")]
        assert nets[0] == nets[1]


def test_other_trainers_agents_are_scored(bombay, tmp_path, monkeypatch):
    monkeypatch.setattr(tracks, "PLAYERS", (2,))
    monkeypatch.setattr(tracks, "OPPONENTS", ("random",))
    agents = ("--agent", "100000=greedy", "--agent", "1000=random")
    done = bombay("track", "rules-1M", *agents, "--out", "mine", "--games", 10, "--json")
    assert done.returncode == 0, done.stderr
    (data,) = json.loads(done.stdout)["entries"]
    assert [row["decisions"] for row in data["points"]] == [1000, 100_000]
    assert (data["learning"], data["outcomes"]) == ("steps only", None)
    assert data["final"] > 0.8 > data["points"][0]["score"]


def test_files_from_elsewhere_replace_those_of_a_command_that_was_killed(tmp_path):
    tracks.snapshot(tmp_path, 70).write_bytes(b"old")
    tracks.write_files({"agent-00000000060.safetensors": b"new", "settings.json": b"{}"}, tmp_path)
    assert list(tracks.snapshots(tmp_path, "")) == [60]
