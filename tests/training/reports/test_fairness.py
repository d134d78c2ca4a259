"""Verdicts on fairness, boards, other starting rupees and the page of a study of balance. The slow tests are the self-test of
`make balance-check`: 2,000 simulated cells of each kind, and planted biases at the games of the project's study.
"""

import base64
import dataclasses
import functools
import json
import random
import re
import time

import numpy as np
import pytest

from bombay_env import Game, Rules
from bombay_env.agent import AgentFault
from bombay_training.matches.run import run
from bombay_training.matches.table import LostGame
from helpers.command import python, started
from helpers.matches import edited

pytest.importorskip("bombay_training.reports.balance.report", reason="needs the extra `analysis`")

from bombay_training.reports.balance import page, plan, report, retraining, study
from bombay_training.reports.balance.report import share_changes, share_intervals
from helpers import ROOT

SHIPPED = {2: 8_100, 3: 20_400, 4: 32_200, 5: 44_500}  # games of a tier in studies/balance.toml
SIMULATED = pytest.param(2000, marks=pytest.mark.slow)


def wins(rng, games, shares, ties=0.0):
    """Win shares (G, n): a winner for each game, and in a part of them a second one."""
    n = len(shares)
    first, second = rng.choice(n, size=games, p=shares), rng.choice(n, size=games, p=shares)
    tied = (rng.random(games) < ties) & (first != second)
    won = np.zeros((games, n))
    np.add.at(won, (np.arange(games), first), np.where(tied, 0.5, 1.0))
    np.add.at(won, (np.arange(games)[tied], second[tied]), 0.5)
    return won


def at_margin(n, margin):
    """Win shares of which the first is above par by this margin, relative, and the others are equal."""
    return np.array([(1 + margin) / n, *[(1 - (1 + margin) / n) / (n - 1)] * (n - 1)])


# --- verdicts ---


@pytest.mark.parametrize(
    ("shares", "word"),
    [
        ([0.5, 0.5], "fair"),
        ([0.53, 0.47], "nearly fair"),
        ([0.6, 0.4], "biased"),
        ([0.55, 0.45], "undecided"),
        ([0.2] * 5, "fair"),
        ([0.3, 0.175, 0.175, 0.175, 0.175], "biased"),
        ([0.2, 0.2, 0.2, 0.23, 0.17], "biased"),
    ],
)
def test_a_verdict_says_how_far_seats_surely_are_from_par(shares, word):
    (verdict,) = report.decide([wins(np.random.default_rng(1), 40_000, shares)])
    assert verdict["word"] == word
    assert verdict["deviation"] == pytest.approx(np.abs(np.array(shares) * len(shares) - 1).max(), abs=0.03)
    assert (verdict["games_needed"] is not None) <= (word == "undecided")
    assert verdict["reading"].startswith(word)
    assert (0 in verdict["above"]) == (shares in ([0.6, 0.4], [0.3, 0.175, 0.175, 0.175, 0.175]))
    assert (4 in verdict["below"]) == (word == "biased" and len(shares) == 5 and shares[4] < 0.18)


def test_the_games_needed_decide_with_the_power_they_promise():
    rng, shares = np.random.default_rng(3), np.array([0.29, 0.25, 0.23, 0.23])
    needed = report.games_needed(np.repeat(np.eye(4), (290, 250, 230, 230), axis=0), 0.05)
    decided = [report.test_cell(wins(rng, needed, shares))["biased"] <= 0.05 for _ in range(200)]
    assert 0.85 <= np.mean(decided) <= 0.97  # .9, and a little more since the tests are one-sided at 5 % in all
    needed = report.games_needed(np.tile(np.eye(5), (1000, 1)), 0.05)  # all five seats must pass
    passed = [report.test_cell(wins(rng, needed, [0.2] * 5))["nearly_fair"] <= 0.05 for _ in range(80)]
    assert 0.82 <= np.mean(passed) <= 0.98


def test_many_cells_are_corrected():
    """A cell that would be fair by itself is not, among eleven that are not."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        cell = wins(rng, 8_100, [0.5, 0.5])
        if 0.05 / 12 < report.test_cell(cell)["fair"] < 0.05:
            break
    others = [wins(rng, 1_000, [0.52, 0.48]) for _ in range(11)]
    assert report.decide([cell])[0]["word"] == "fair"
    assert report.decide([cell, *others])[0]["word"] != "fair"


@pytest.mark.parametrize(
    ("n", "cells"), [(2, 100), (5, 50), *(pytest.param(n, 2000, marks=pytest.mark.slow) for n in SHIPPED)]
)
def test_a_fair_cell_is_called_fair_at_the_shipped_games_and_one_at_the_margin_seldom(n, cells):
    """Of those at the margin at most 5 %, with three standard errors of the simulation: 123 of 2,000."""
    rng, called = np.random.default_rng(n), []
    for shares in (at_margin(n, 0.04), [1 / n] * n):
        found = [report.test_cell(wins(rng, SHIPPED[n], shares))["fair"] <= 0.05 for _ in range(cells)]
        called.append(sum(found))
    assert called[0] <= {50: 7, 100: 12, 2000: 123}[cells]
    assert called[1] >= 0.9 * cells - (2 if cells <= 100 else 0)


@pytest.mark.parametrize("studies", [20, SIMULATED])
def test_a_study_calls_no_cell_fair_or_biased_at_its_margin_more_often_than_promised(studies):
    """Four fair cells take the correction away from those at a margin, which is where Holm errs most."""
    rng, wrong = np.random.default_rng(70), {"fair": 0, "biased": 0}
    for word, margin in (("fair", report.FAIR), ("biased", report.NEARLY_FAIR)):
        for _ in range(studies):
            sure = [[0.5, 0.5] if word == "fair" else [0.8, 0.2]] * 4
            decided = report.decide([wins(rng, 4_000, shares) for shares in [*sure, *[at_margin(2, margin)] * 4]])
            wrong[word] += any(verdict["word"] == word for verdict in decided[4:])
    assert max(wrong.values()) <= {20: 5, 2000: 123}[studies]


def test_the_shipped_study_has_the_games_that_these_tests_prove():
    """Also the small one is a study, and both have the agents of the issue of strength."""
    standard, quick = plan.read_study(plan.STANDARD), plan.read_study(plan.QUICK)
    assert [tier.games for tier in standard.tiers if "search" not in tier.agent] == [
        {str(n): games for n, games in SHIPPED.items()}
    ] * 3
    assert standard.players == quick.players == [2, 3, 4, 5]


def test_agents_together_have_a_headline_with_a_label():
    def found(*words):
        made = [{"word": word, "above": above, "below": below} for word, above, below in words]
        return report.label(made, [False, True, True][: len(made)])

    biased, other, fair, unknown = (
        ("biased", (0,), (2,)),
        ("biased", (0, 1), ()),
        ("fair", (), ()),
        ("undecided", (), ()),
    )
    assert found(biased, biased, biased) == ("biased towards seat 0 and against seat 2", "all agents")
    assert found(other, biased, other) == ("biased towards seat 0", "all agents")
    assert found(unknown, other, other) == ("biased towards seats 0, 1", "strong agents")
    assert found(biased, ("biased", (1,), ()), ("biased", (), (2, 3))) == ("biased", "all agents")
    assert found(unknown, fair, fair) == ("fair", "strong agents")
    assert found(fair, fair, biased) == ("no single verdict", "depends on the agent")
    assert found(biased, biased, unknown) == ("undecided", "undecided")
    assert found(unknown, unknown, unknown) == ("undecided", "undecided")


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0, 0.05])
@pytest.mark.parametrize("shares", [[0.001, 0.999], [0.02, 0.98], [0.5, 0.5], [0.36, 0.22, 0.22, 0.2], [0.2] * 5])
@pytest.mark.parametrize("games", [200, 4000])
def test_simultaneous_intervals_cover_in_every_cell(games, shares, ties):
    rng, hits = np.random.default_rng(20), 0
    other = np.array(shares)
    truth = wins(np.random.default_rng(0), 4_000_000, shares, ties).mean(axis=0) if ties else other
    for _ in range(2000):
        found = share_intervals(wins(rng, games, shares, ties))
        hits += all(one.low <= true <= one.high for one, true in zip(found, truth, strict=True))
    assert hits >= 0.935 * 2000


@pytest.mark.parametrize("studies", [100, SIMULATED])
@pytest.mark.parametrize("changed", [0.002, 0.2])
def test_changes_without_effect_are_rejected_as_often_as_promised(changed, studies):
    """A part of the games has another winner, as likely one as the other."""
    rng, rejected = np.random.default_rng(30), 0
    for _ in range(studies):
        before = wins(rng, 4000, [0.25] * 4)
        after = np.where(rng.random((4000, 1)) < changed, wins(rng, 4000, [0.25] * 4), before)
        rejected += share_changes(before, after)[1] <= 0.05
    assert rejected <= {100: 12, 2000: 123}[studies]


# --- boards and starting rupees ---


def test_the_spread_between_boards_has_no_noise_of_games():
    rng = np.random.default_rng(40)
    true = rng.normal(0.4, 0.03, size=400)
    many = [wins(rng, 500, [share, 1 - share]) for share in true]
    (first, second) = study.spread(many, wins(rng, 100_000, [0.43, 0.57]))
    assert first["sd"] == pytest.approx(0.03, abs=0.005)
    assert first["mean_low"] < 0.4 < first["mean_high"]
    inside = (true > first["new_low"]) & (true < first["new_high"])
    assert 0.85 < inside.mean() < 0.95
    assert first["percentile"] == pytest.approx(84, abs=6)
    assert second["mean"] == pytest.approx(1 - first["mean"])
    hidden = [np.repeat(np.eye(2), (count, 200 - count), axis=0) for count in (74, 86)] * 10
    (first, _) = study.spread(
        hidden, hidden[0]
    )  # the noise of games is more than the spread, which may be .02 all the same
    assert first["sd"] == 0
    assert 0.02 < first["new_high"] - first["mean"] < 0.04
    (alike, _) = study.spread([np.tile([1.0, 0.0], (10, 1))] * 5, np.tile([1.0, 0.0], (10, 1)))
    assert (alike["sd"], alike["percentile"]) == (0, None)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0, 0.005, 0.03, 0.08])
def test_the_interval_for_a_new_board_covers_it(sd):
    """Of 2,000 studies with 100 boards and 500 games each, and a new board for each."""
    rng, hits = np.random.default_rng(41), 0
    for _ in range(2000):
        true = rng.normal(0.25, sd, size=101).clip(0.01, 0.99)
        won = rng.binomial(500, true[1:])
        found = [np.repeat(np.eye(2), (count, 500 - count), axis=0) for count in won]
        first, _ = study.spread(found, found[0])
        hits += first["new_low"] < true[0] < first["new_high"]
    assert hits >= 0.88 * 2000  # three standard errors below .9


def test_one_board_with_two_best_seats_counts_half_for_each():
    means = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.1 + 0.2, 0.3, 0.4]])
    assert study.times_best(means[:, None]) == [1.5, 0.5, 1]
    rounded = np.array([[[0.1 + 0.2, 0.3, 0.3, 0.1]]])
    assert study.times_best(rounded) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])


def test_the_page_in_prose_has_the_figures_of_the_report():
    docs = ROOT / "docs"
    data = json.loads((docs / "balance/report.json").read_text())
    text = " ".join((docs / "fairness.md").read_text().split())
    many = [table for table in data["tables"] if table["players"] > 3 and table["agent"] != "greedy"]
    tolls = [
        table["seats"][0]["rupees"]["tolls"] - np.mean([seat["rupees"]["tolls"] for seat in table["seats"]])
        for table in many
    ]
    assert f"the first seat takes {min(tolls):.1f} to {max(tolls):.1f} rupees a game more in tolls" in text
    ahead = {
        table["players"]: table["players"] * change["seats"][0]["win_share"]["mean"] - 1
        for table in data["tables"]
        for change in table["what_ifs"]
        if table["agent"] == "planner-v1" and change["change"] == "toll=0"
    }
    assert f"by {100 * ahead[4]:.0f} % at 4 and {100 * ahead[5]:.0f} % at 5 players" in text
    left = [
        max(abs(part["players"] * seat["mean"] - 1) for row in part["confirmed"] for seat in row["seats"])
        for part in data["repair"]
        if part["players"] > 2
    ]
    assert f"leave a largest deviation of {100 * min(left):.0f} to {100 * max(left):.0f} %" in text


def test_vectors_are_at_most_two_rupees_and_never_below_nothing():
    found = study.all_vectors(Rules.official(3))
    assert found[0] == (0, 0, 0)
    assert len(found) == len(set(found)) == 4**3
    assert len(study.next_vectors(Rules.official(5), {}, 40)) == 16
    poor = dataclasses.replace(Rules.official(2), starting_rupees=(0, 2))
    assert min(vector[0] for vector in study.all_vectors(poor)) == 0


def test_the_fairest_vector_is_found_and_the_least_change_among_equals():
    """Each rupee moves a seat's deviation by .1; the first seat has .2 too much, the second too little."""
    rules = Rules.official(2)

    def results(vector):
        share = 0.5 * (1 + 0.2 + 0.05 * (vector[0] - vector[1]))
        return [np.repeat([[1.0, 0.0], [0.0, 1.0]], (round(10_000 * share), 10_000 - round(10_000 * share)), axis=0)]

    played = {vector: results(vector) for vector in study.next_vectors(rules, {}, 40)}
    further = study.next_vectors(rules, played, 12)
    assert further[0] == (-1, 2)  # the effects of single changes add up
    assert len(further) == 12 - len(played)
    assert not set(further) & set(played)
    played |= {vector: results(vector) for vector in further}
    assert study.choose(played) == (-1, 2)
    flat = {vector: [np.tile(np.eye(2), (500, 1))] for vector in study.all_vectors(rules)}
    assert study.choose(flat) == (0, 0)


# --- the study and its page ---

TINY = """
release = "0.1.0"
players = [3]

[[tiers]]
agent = "random-turn"
games = 40

[[tiers]]
agent = "greedy"
elsewhere = "greedy"
games = 20
strong = true

[what_ifs]
agents = ["greedy"]
games = 10
changes = ["toll=0"]

[boards]
agents = ["random-turn"]
boards = 2
games = 5

[repair]
agents = ["greedy"]
games = 4
vectors = 16
confirm = 20

[luck]
agents = ["random-turn"]
games = 4

[[recorded]]
agents = ["greedy"]
games = 6
"""
GAMES = [Game(Rules.official(3))]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The data of a small study, and how many games each part played."""
    path, parts = tmp_path_factory.mktemp("tiny") / "study.toml", []
    path.write_text(TINY)

    def play(part, lineups):
        parts.append((part, sum(lineup.num_games for lineup in lineups)))
        return run(lineups)

    return study.play_study(plan.read_study(path), GAMES, play), parts


def test_a_study_plays_its_parts(tiny):
    data, parts = tiny
    assert parts[0] == ("verdicts", 40 + 20 + 10)
    assert parts[1] == ("boards", 2 * 5 + 40)  # the games on the packaged board are those of the verdict
    assert parts[2:5] == [("repair", 10 * 4), ("repair", 6 * 4), ("repair, confirmation", 20)]
    assert parts[5:] == [("luck", 7 * 4), ("recorded games", 6)]
    (table, greedy) = data["tables"]
    assert [row["change"] for row in greedy["what_ifs"]] == ["toll=0"]
    assert not table["what_ifs"]
    assert greedy["what_ifs"][0]["games"] == 10
    assert [(line["change"], line["label"]) for line in data["headlines"]] == [
        ("", "undecided"),
        ("toll=0", "undecided"),
    ]
    (fixed,) = data["repair"]
    assert fixed["chosen"] in fixed["vectors"]
    assert len(fixed["vectors"]) == 16
    assert json.loads(json.dumps(data)) == data
    again = (
        40 + 6 + 20 * (fixed["chosen"]["starting_rupees"] == fixed["official"])
    )  # games that a verdict is about, too
    assert data["games"] == sum(count for _, count in parts) - again


def test_an_agent_of_other_parts_of_a_study_may_not_lose_a_game_by_a_fault(tmp_path):
    (tmp_path / "study.toml").write_text(TINY)
    parts = []

    def play(part, lineups):
        parts.append(part)
        lost = LostGame(0, "random-turn", 0, 0, 0, 0, "none", "no idea")
        return [edited(match, faults=(lost,)) for match in run(lineups)]

    with pytest.raises(AgentFault, match=r"'random-turn' with 3 players.*no idea"):
        study.play_study(plan.read_study(tmp_path / "study.toml"), GAMES, play)
    assert parts == ["verdicts"]


def test_the_page_needs_nothing_else_and_has_a_picture_for_every_chart(tiny):
    data, _ = tiny
    text = page.html(data)
    pictures = re.findall(r'<img alt="([^"]+)" src="data:image/svg\+xml;base64,([^"]+)"', text)
    assert [words.split(":")[0] for words, _ in pictures] == ["3 players"] * len(pictures)
    drawn = [base64.b64decode(picture).decode() for _, picture in pictures]
    assert "random-turn, seat 2" in drawn[0]
    assert f"{3 * data['tables'][0]['seats'][0]['win_share']['mean'] - 1:+.1%}" in drawn[0]
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    titles = ["Summary", "Verdicts", "Other boards", "Other starting rupees", "What if a rule changes?"]
    titles += ["Luck", "Tension", "Kingmaking"]
    words = page.markdown(data)
    assert re.findall(r"^## (.+)$", words, re.MULTILINE) == re.findall(r">([^<]+)</h2>", text) == titles
    assert "<img" not in words


def test_names_from_elsewhere_are_words_and_no_markup(tiny):
    data = json.loads(json.dumps(tiny[0]).replace("random-turn", "<b>random-turn"))
    assert "<b>random" not in page.html(data)


@pytest.fixture
def balance(bombay):
    return functools.partial(bombay, "balance")


def test_the_command_plays_a_study_from_a_file_and_continues_it(balance, tmp_path):
    (tmp_path / "study.toml").write_text(TINY)
    done = balance("study.toml", "--out", "out", "--processes", 1)
    assert done.returncode == 0, done.stderr
    assert "Verdicts by agent" in done.stdout
    first = {name: (tmp_path / "out" / f"report.{name}").read_bytes() for name in ("json", "html", "md")}
    rows = sorted((tmp_path / "out" / "rows").iterdir())
    assert balance("study.toml", "--out", "out", "--processes", 1).returncode == 0
    assert sorted((tmp_path / "out" / "rows").iterdir()) == rows
    assert {name: (tmp_path / "out" / f"report.{name}").read_bytes() for name in first} == first


@pytest.mark.parametrize(
    ("options", "change", "part"),
    [
        (["study.toml", "--quick"], None, "--quick is a study"),
        (["--quick", "--tier", "random"], None, "--quick and the file of a study are not for --tier"),
        (["none.toml"], None, "none.toml"),
        (["study.toml", "--seed", "1"], None, "--seed is for a study of your own"),
        (["study.toml", "--players", 2], None, "--players is 2; the study has 3 players"),
        (["study.toml"], ('["random-turn"]\nboards', '["zero"]\nboards'), "has 'zero', which is none of the tiers"),
        (["study.toml"], ("games = 40", "games = { 2 = 40 }"), "no number of games for 3 players"),
        (["study.toml"], ("confirm = 20", "confirm = { 2 = 20 }"), "no number of games for 3 players"),
        (["study.toml"], ('elsewhere = "greedy"', 'elsewhere = "nobody"'), "no agent is named 'nobody'"),
        (["study.toml"], ('agent = "random-turn"', 'agent = "greedy"'), "two tiers have the same agent"),
        (["study.toml"], ("toll=0", "starting_rupees.4=3"), "there is no such entry with 3 players"),
    ],
)
def test_a_wrong_study_is_refused_in_one_line(balance, tmp_path, options, change, part):
    (tmp_path / "study.toml").write_text(TINY.replace(*change) if change else TINY)
    done = balance(*options, "--processes", 1)
    assert done.returncode == 2
    assert "games count" not in done.stderr  # none was played
    assert part in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_killed_at_ten_moments_and_continued_the_report_is_the_same(engine, tmp_path):
    """With one process and with two."""
    if engine == "ray":
        pytest.importorskip("ray", reason="needs the extra `ray`")
    (tmp_path / "study.toml").write_text(
        TINY.replace("games = 40", "games = 4000").replace("games = 20", "games = 2000")
    )
    command, rng = ("-m", "bombay_training.cli", "balance", "study.toml", "--out"), random.Random(engine)
    assert python(*command, "whole", cwd=tmp_path).returncode == 0
    for moment in range(10):
        options = ("--engine", engine, "--processes", 1 + moment % 2)
        with started(*command, "killed", *options, cwd=tmp_path) as process:
            time.sleep(rng.uniform(1, 12))
            process.kill()
    assert python(*command, "killed", cwd=tmp_path).returncode == 0
    for name in ("report.json", "report.html", "report.md"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("a rupee for one seat", {"starting_rupees": (3, 2, 2, 2)}),
        ("toll", {"toll": 2}),
        ("bag", {"bales": (1, 2, 7, 7)}),
    ],
)
def test_planted_changes_are_found_at_the_shipped_games(name, change):
    """In at least 90 of 100 studies with the games of the project's study. Resampled from 20,000 deals.

    A smaller change of the bag, (2, 3, 6, 6), changes shares by .03 at most: 49 of 100 studies found it.
    """
    what_ifs = plan.read_study(plan.STANDARD).what_ifs
    assert what_ifs is not None
    games = [Game(Rules.official(4)), Game(Rules(4, **change))]
    lineups = [plan.lineup_of(game, "planner-v1", 20_000, 7) for game in games]
    before, after = (match.win_share for match in run(lineups))
    rng = np.random.default_rng(50)
    found = 0
    for _ in range(100):
        deals = rng.integers(20_000, size=what_ifs.games)
        found += share_changes(before[deals], after[deals])[1] <= 0.05
    assert found >= 90, name


# --- nets that learn a changed rule ---


def test_the_effect_of_a_rule_is_judged_by_how_much_nets_of_the_same_rules_differ():
    scipy_stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(60)
    given, changed = rng.normal(0.55, 0.02, 5), rng.normal(0.50, 0.02, 5)
    row = retraining.compare(np.column_stack([given, 1 - given]), np.column_stack([changed, 1 - changed]))
    expected = scipy_stats.ttest_ind(changed, given, equal_var=False)
    assert row["p"] == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    first, second = (seat["change"] for seat in row["seats"])
    assert first == {
        "mean": pytest.approx(changed.mean() - given.mean()),
        "low": pytest.approx(low),
        "high": pytest.approx(high),
    }
    assert second["mean"] == pytest.approx(-first["mean"])


def test_nets_learn_the_rules_that_they_play_and_a_second_command_learns_nothing(balance, tmp_path, monkeypatch):
    monkeypatch.setattr(retraining, "SEEDS", 2)
    monkeypatch.setattr(retraining, "MINUTES", 0.001)
    (tmp_path / "rules.json").write_text('{"sets": 1, "turns_per_set": 1}')
    options = ["--tier", "random@4", "--players", 2, "--rules", "rules.json", "--vary", "toll=3", "--processes", 1]
    done = balance(*options, "--retrain", "--out", "o,ut", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["retrained"]
    assert (row["change"], row["nets"], row["games"]) == ("toll=3", 2, 4)
    folders = sorted((tmp_path / "o,ut" / "retrained").iterdir())
    tolls = [json.loads((folder / "rules.json").read_text())["toll"] for folder in folders]
    assert sorted(tolls) == [1, 3]
    nets = {path: path.read_bytes() for path in (tmp_path / "o,ut").rglob("agent.safetensors")}
    assert len(nets) == 4
    again = balance(*options, "--retrain", "--out", "o,ut", "--json")
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert {path: path.read_bytes() for path in nets} == nets
    refused = balance(*options, "--retrain")
    assert "--retrain is for --vary, and needs a folder" in refused.stderr
