"""The leaderboard, cards and the published league: what the games show, and what a store must have to be published."""

import dataclasses
import itertools
import json

import numpy as np
import pytest

from bombay_env import Game, Rules
from bombay_env.registry import knowledge
from bombay_training.evaluation import card
from bombay_training.evaluation.audit import AuditReport
from bombay_training.evaluation.ratings import rate
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.run import run
from bombay_training.matches.store import MACHINE, Store, digest, publish, read_matches, study_of
from bombay_training.matches.study import Study, lineups, read_toml
from bombay_training.matches.table import LostGame
from bombay_training.reports import charts, leaderboard
from helpers.command import without_workers
from helpers.matches import edited, made_match
from helpers.refusal import refusal

pytest.importorskip("pyarrow", reason="needs the extra `data`")

STUDY = """
release = "test"
seating = "rotate"
deals = 6
players = [3]
rules = { sets = 1, turns_per_set = 1 }

[[lineups]]
mixed = ["random", "greedy", "planner-v1"]
copies = true

[[lineups]]
agent = "seller"
among = ["random", "greedy", "planner-v1"]
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store in which the study was played, after a line-up of another study."""
    folder = tmp_path_factory.mktemp("league")
    (folder / "study.toml").write_text(STUDY)
    study, text = read_toml(Study, folder / "study.toml")
    other = lineups(study.model_copy(update={"release": "other"}), folder)
    with Store(folder / "store", text) as kept:
        run(other[:1], kept)
        run(lineups(study, folder), kept)
    return folder / "store"


# --- leaderboard ---


def of_zero(count):
    """How many agents are the zero of ratings, and the sum of their ratings."""
    ratings = [row["rating"]["mean"] for row in count["agents"] if row["agent"] in count["zero"]]
    return len(ratings), sum(ratings)


@pytest.fixture
def league(store, tmp_path):
    """The finished study, published with its times."""
    publish(store, tmp_path / "league", "one core, today")
    return tmp_path / "league"


def test_the_leaderboard_has_every_agent_and_what_it_says_adds_up(league):
    data = leaderboard.league_data(league)
    (count,) = data["counts"]
    assert count["games"] == 6 * (1 + 3)  # at tables without copies
    assert not data["standard"]
    means = [row["rating"]["mean"] for row in count["agents"]]
    assert [row["rank"] for row in count["agents"]] == [1 + sum(other > mine for other in means) for mine in means]
    assert means == sorted(means, reverse=True)
    assert of_zero(count) == (3, pytest.approx(0))
    assert {row["agent"]: row["knowledge"] for row in count["agents"]} == {
        "random": "none", "greedy": "all", "planner-v1": "all", "seller": "all"
    }  # fmt: skip
    ahead = {(part["agent"], part["other"]): part["ahead"] for part in count["ahead"]}
    assert len(ahead) == 12
    assert all(abs(part + ahead[other, one] - 1) < 1e-12 for (one, other), part in ahead.items())
    text = leaderboard.page(data, league, "chart.png")
    assert "Times were measured on one core, today." in text
    for row in count["agents"]:
        assert f"| {row['rank']} | `{row['agent']}` | {row['rating']['mean']:+.2f} [" in text
    figure = charts.ratings(json.loads(json.dumps(data["counts"])))
    names = {text.get_text() for text in figure.axes[0].texts}
    assert names <= {"random", "greedy", "planner-v1", "seller"}
    assert "seller" in names


def test_games_of_other_studies_and_times_of_games_played_together_are_left_out(store, league):
    """The store has a match that is not of its study. In one call for many games, agents need less time for each."""
    data = leaderboard.league_data(store)
    others = data["other_games"]
    assert others == read_matches(store)[0].num_games
    assert data["games"] + others == sum(match.num_games for match in read_matches(store))
    assert {row["ms"] for row in data["counts"][0]["agents"]} == {None}
    text = leaderboard.page(data, store, "chart.png")
    assert "Times are missing" in text
    assert f"without {others} games in the store that are not of its study" in text
    with Store(league) as kept:  # more games, with times of their own
        run([Lineup(read_matches(store)[0].game, ("random", "random", "greedy"), 1)], kept)
    assert {row["ms"] for row in leaderboard.league_data(league)["counts"][0]["agents"]} == {None}


def test_a_time_limit_holds_for_times_as_the_page_prints_them(league, monkeypatch):
    times = {"planner-v1": 20.4, "seller": 20.6, "greedy": 5.04, "random": 1.04}
    monkeypatch.setattr(leaderboard, "_times", lambda matches: times)
    data = leaderboard.league_data(league)
    (count,) = data["counts"]
    within = {part["ms"]: part for part in count["within"]}
    allowed = {1: ["random"], 5: ["random", "greedy"], 20: ["random", "greedy", "planner-v1"], 100: list(times)}
    by_rank = [row["agent"] for row in count["agents"]]
    for limit, names in allowed.items():
        assert [within[limit]["agent"], within[limit]["next"]] == [*sorted(names, key=by_rank.index), None][:2]
    text = leaderboard.page(data, league, "chart.png")
    assert "| 20 |" in text
    assert "| 21 |" in text


def test_who_finished_ahead_of_whom_counts_ties_as_half_and_leaves_faults_out():
    seats = np.array([[0, 1, 2], [1, 2, 0]])
    place = np.array([[1, 1, 3], [2, 1, 3]], np.int8)
    match = made_match(Game(Rules(3)), "abc", seats, np.arange(2), place=place)
    ahead = leaderboard._ahead([match])
    assert {pair: ahead[pair] for pair in (("a", "b"), ("b", "a"), ("b", "c"))} == {
        ("a", "b"): (2, 0.25), ("b", "a"): (2, 0.75), ("b", "c"): (2, 0.5)
    }  # fmt: skip
    lost = LostGame(0, "a", 0, 1, 1, 0, "none", "it raised")
    assert leaderboard._ahead([edited(match, faults=(lost,))])["b", "c"] == (1, 1.0)


def test_knowledge_is_that_of_the_agent_or_of_its_evaluator():
    specs = ["zero", "greedy", "search:nodes=10", "search:nodes=10,value=[zero:seed=1]", "mine:Agent"]
    assert [knowledge(spec) for spec in specs] == ["none", "all", "all", "none", "unknown"]
    assert knowledge("search:nodes=10, value = [zero]") == "none"
    assert knowledge("mine:Agent:value=[random]") == "unknown"  # it may use anything


# --- publishing ---


def seconds(matches):
    return [[times.seconds for times in match.timings] for match in matches]


def test_a_finished_study_is_published_alone_and_in_one_part(store, tmp_path):
    publish(store, tmp_path / "new", "one core, today", times=store)
    matches, _ = read_matches(tmp_path / "new"), read_toml(Study, tmp_path / "new" / "study.toml")
    assert len(matches) == len(read_matches(store)) - 1
    assert digest(matches) == digest(read_matches(store)[1:])
    assert seconds(matches) == seconds(read_matches(store)[1:])
    assert len(list((tmp_path / "new" / "rows").iterdir())) == 1
    assert (tmp_path / "new" / MACHINE).read_text() == "one core, today\n"
    refusal(lambda: publish(store, tmp_path / "new", ""), "exists already")


def test_times_of_another_study_are_refused(store, tmp_path):
    study = study_of(store).model_copy(update={"release": "other"})
    with Store(tmp_path / "times", STUDY) as kept:
        run(lineups(study, store)[:1], kept)
    refusal(lambda: publish(store, tmp_path / "new", "", tmp_path / "times"), "has no times of 13 line-ups")


def test_a_study_with_games_missing_is_not_published(store, tmp_path):
    with Store(tmp_path / "part", STUDY) as kept:
        run(lineups(study_of(store), store)[:3], kept)
    refusal(lambda: publish(tmp_path / "part", tmp_path / "new", ""), "lacks 60 games of its study")
    (tmp_path / "part" / "study.toml").unlink()
    refusal(lambda: publish(tmp_path / "part", tmp_path / "new", ""), "its games are of no study")


# --- cards ---


def test_a_card_rates_an_agent_at_the_tables_of_the_league(store):
    study = study_of(store)
    played = card.card_lineups(study, store, "builder", [3])
    assert [lineup.agents for lineup in played] == [
        ("builder", *pair) for pair in itertools.combinations(("random", "greedy", "planner-v1"), 2)
    ]
    assert {lineup.seed for lineup in played} == {lineups(study, store)[-1].seed}
    matches = run(played)
    audits = {"builder": AuditReport("passed", 400)}
    data = card.card_data(["builder"], read_matches(store), matches, audits, study.anchors)
    (count,) = data["counts"]
    (row,) = count["rows"]
    assert (row["games"], count["agents"], row["faults"]) == (18, 5, 0)
    assert set(count["zero"]) <= set(study.anchors)
    assert all(0 <= one["probability"] <= 1 for one in row["better_than"])
    distinct = [match for match in read_matches(store) if len(match.agents) == 3]
    ranked = rate([*distinct, *matches], reference=study.anchors).to_dict()["agents"]
    (rated,) = (one for one in ranked if one["agent"] == "builder")
    assert all(row[name] == rated[name] for name in ("rank", "rating", "share"))
    near = {one["agent"] for one in ranked if abs(one["rank"] - row["rank"]) <= 2}
    assert {one["agent"] for one in row["better_than"]} == near - {"builder"}
    text = card.card_page(data, "the league")
    assert "- Audit of `builder`: passed in 400 states" in text
    assert f"| 3 | `builder` | {row['rank']} of 5 |" in text


def test_several_agents_have_one_card_that_compares_them_and_rates_none_that_fails(store):
    study, failing = study_of(store), "helpers.failing_agents:Raises"
    agents = ["builder", "random-turn", failing]
    played = run([lineup for agent in agents for lineup in card.card_lineups(study, store, agent, [3])])
    audits = {agent: AuditReport("passed", 4) for agent in agents}
    (count,) = card.card_data(agents, read_matches(store), played, audits, study.anchors)["counts"]
    rows = {row["agent"]: row for row in count["rows"]}
    chances = {
        agent: {one["agent"]: one["probability"] for one in rows[agent]["better_than"]}[other]
        for agent, other in (("builder", "random-turn"), ("random-turn", "builder"))
    }
    assert sum(chances.values()) == pytest.approx(1)
    assert (chances["builder"] > 0.5) == (rows["builder"]["rank"] < rows["random-turn"]["rank"])
    assert (rows[failing]["rank"], rows[failing]["faults"] > 0) == (None, True)
    without = run([lineup for agent in agents[:2] for lineup in card.card_lineups(study, store, agent, [3])])
    (same,) = card.card_data(agents[:2], read_matches(store), without, audits, study.anchors)["counts"]
    assert [row["rating"] for row in same["rows"]] == [row["rating"] for row in count["rows"][:2]]
    text = card.card_page({"agents": [{"agent": a, "knowledge": "", "audit": dataclasses.asdict(audits[a])} for a in agents],
                           "counts": [count]}, "the league")  # fmt: skip
    assert "not rated" in text
    assert f"`{failing}` at 3 players ({rows[failing]['faults']} of 18) lost more than 1 % of the games" in text


def test_anchors_and_leagues_without_them_have_no_cards(store):
    study = study_of(store)
    refusal(lambda: card.card_lineups(study, store, "greedy", [3]), "greedy is an anchor of the league")
    alone = study.model_copy(update={"lineups": study.lineups[:1]})
    refusal(lambda: card.card_lineups(alone, store, "builder", [3]), "there are no anchors")
    refusal(lambda: card.card_lineups(study, store, "builder", [2, 4]), "no line-ups with anchors at 2, 4 players")
    twice = study.model_copy(update={"lineups": [*study.lineups, study.lineups[1]]})
    assert len(card.card_lineups(twice, store, "builder", [2, 3])) == 3


def test_a_card_has_the_tables_of_weak_agents_too_and_the_first_ones_are_the_anchors(store):
    study = study_of(store)
    weak = study.lineups[1].model_copy(update={"among": ["random-turn", "hoarder", "random"]})
    both = study.model_copy(update={"lineups": [*study.lineups, weak]})
    assert both.anchors == study.anchors == ["random", "greedy", "planner-v1"]
    assert {lineup.agents[1:] for lineup in card.card_lineups(both, store, "builder", [3])} == {
        *itertools.combinations(study.anchors, 2), *itertools.combinations(weak.among, 2)
    }  # fmt: skip
    assert {lineup.agents[1:] for lineup in card.card_lineups(both, store, "hoarder", [3])} == {
        *itertools.combinations(study.anchors, 2)
    }


def test_the_commands_write_a_page_and_a_card(bombay, store, tmp_path, monkeypatch):
    without_workers(monkeypatch)
    publish(store, tmp_path / "new", "here")
    done = bombay("leaderboard", "new", "--out", "page.md")
    assert (done.returncode, (tmp_path / "page.png").exists()) == (0, True)
    assert "Times were measured on here." in (tmp_path / "page.md").read_text()
    for command in ("leaderboard", "ratings"):
        (count,) = json.loads(bombay(command, "new", "--json").stdout)["counts"]
        assert of_zero(count) == (3, pytest.approx(0))
        assert "seller" not in count["zero"]
    (count,) = json.loads(bombay("ratings", "new", "--model", "orders", "--json").stdout)["counts"]
    assert 0 < count["one_rating_explains_all"]["p"] <= 1
    assert (count["players"], count["games"], count["deals"]) == (3, 78, 6)
    shown = bombay("ratings", "new").stdout
    assert "3 players, 78 games of 6 deals" in shown
    assert "one rating per agent explains all line-ups: p = " in shown
    done = bombay("ratings", tmp_path)
    assert (done.returncode, "not a store of games" in done.stderr) == (2, True)
    options = ("--league", "new", "--players", 3, "--states", 4)
    done = bombay("card", "random-turn", *options, "--out", "card")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "card" / "card.md").read_text() in done.stdout
    before = (tmp_path / "card" / "card.md").read_bytes()
    for agent, more, words in (
        ("seller", (), "is the card of other agents"),
        ("random-turn", ("--best-response", 1), "--best-response is for the official rules"),
    ):
        done = bombay("card", agent, *options, "--out", "card", *more)
        assert (done.returncode, words in done.stderr) == (2, True)
        assert (tmp_path / "card" / "card.md").read_bytes() == before
    done = bombay("leaderboard", store, "--out", "page.png")
    assert (done.returncode, "must end with .md" in done.stderr) == (2, True)
    done = bombay("card", "seller", "random-turn", *options, "--best-response", 1)
    assert (done.returncode, "--best-response is for a single agent" in done.stderr) == (2, True)
    done = bombay("card", "random-turn", *options, "--json")
    assert json.loads(done.stdout)["command"] == "card"
    done = bombay("card", "greedy", *options)
    assert (done.returncode, "greedy is an anchor" in done.stderr) == (2, True)
