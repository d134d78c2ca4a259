"""Studies as files: what they play, and what is refused."""

import json

import pytest

from bombay_env import Rules
from bombay_training.matches.lineup import Seating
from bombay_training.matches.study import Study, lineups, read_toml
from helpers.command import without_workers
from helpers.refusal import refusal

HEAD = "seed = 9\ndeals = 3\nplayers = [3, 4]\n"


@pytest.fixture
def planned(tmp_path):
    """The line-ups of a study with this text after `HEAD`."""

    def plan(text, deals=None, head=HEAD):
        path = tmp_path / "study.toml"
        path.write_text(head + text)
        study, kept = read_toml(Study, path)
        assert kept == head + text
        return lineups(study, tmp_path, deals)

    return plan


def played(found):
    return [(lineup.game.num_players, lineup.format, lineup.agents) for lineup in found]


def test_one_against_the_rest_for_every_number_of_players(planned):
    found = planned('[[lineups]]\nagent = ["a", "b"]\nagainst = ["c", "d"]\n')
    assert played(found) == [
        (count, "1vrest", (one, *[other] * (count - 1))) for count in (3, 4) for one in "ab" for other in "cd"
    ]
    assert {(lineup.seed, lineup.deals, lineup.seating) for lineup in found} == {(9, 3, Seating.ALL)}


def test_every_selection_pairs_and_given_seats(planned):
    found = planned('[[lineups]]\nmixed = ["a", "b", "c", "d"]\n[[lineups]]\npairs = ["a", "b"]\nplayers = [4]\n')
    three = [(3, "mixed", tuple(chosen)) for chosen in ("abc", "abd", "acd", "bcd")]
    assert played(found) == [*three, (4, "mixed", tuple("abcd")), (4, "2v2", tuple("aabb"))]
    assert found[-1].seating is Seating.PAIRS
    (lineup,) = planned('[[lineups]]\nseats = ["a", "b", "a"]\nseating = "fixed"\ndeals = 5\naccounts = true\n')
    assert (lineup.agents, lineup.seating, lineup.deals, lineup.accounts) == (("a", "b", "a"), Seating.FIXED, 5, True)


def test_one_agent_among_selections_and_line_ups_with_copies(planned):
    found = planned('[[lineups]]\nagent = ["a", "b"]\namong = ["c", "d", "e"]\ndeals = { 3 = 6, 4 = 8 }\n')
    three = [(3, "mixed", (one, *others)) for one in "ab" for others in ("cd", "ce", "de")]
    assert played(found) == [*three, *[(4, "mixed", (one, *"cde")) for one in "ab"]]
    assert [lineup.deals for lineup in found] == [6] * 6 + [8] * 2
    found = planned('[[lineups]]\nmixed = ["a", "b"]\ncopies = true\nplayers = [3]\n')
    assert [lineup.agents for lineup in found] == [tuple(chosen) for chosen in ("aaa", "aab", "abb", "bbb")]


def test_seeds_follow_from_the_release_and_from_line_ups_with_deals_of_their_own(planned):
    text, head = '[[lineups]]\nmixed = ["a", "b", "c", "d"]\nplayers = [3]\n', 'deals = 3\nrelease = "{}"\n'
    seeds = [{lineup.seed for lineup in planned(text, head=head.format(release))} for release in ("1.0", "1.1", "1.0")]
    assert [len(each) for each in seeds] == [1, 1, 1]
    assert seeds[0] == seeds[2] != seeds[1]
    own = [lineup.seed for lineup in planned(text + "own_deals = true\n", head=head.format("1.0"))]
    assert len({*own, *seeds[0]}) == 5
    assert own == [lineup.seed for lineup in planned(text + "own_deals = true\n", head=head.format("1.0"))]


def test_the_number_of_deals_can_be_given_and_changes_no_line_up(planned):
    text = '[[lineups]]\nagent = "a"\nagainst = ["b"]\n'
    few, more = planned(text), planned(text, deals=50)
    assert [lineup.id for lineup in few] == [lineup.id for lineup in more]
    assert {lineup.deals for lineup in more} == {50}


def test_every_other_fact_of_a_study_makes_other_line_ups(planned):
    text = '[[lineups]]\nagent = "a"\nagainst = ["b"]\nplayers = [3]\n'
    found = [planned(text), planned(text.replace('"a"', '"c"')), planned(text + "accounts = true\n")]
    found += [planned(text, head=HEAD + more) for more in ('seating = "rotate"\n', "rules = { toll = 2 }\n")]
    found += [planned(text, head=HEAD.replace("9", "8"))]
    assert len({lineup.id for (lineup,) in found}) == len(found)


def test_rules_and_boards_are_read_beside_the_study(planned, tmp_path):
    (tmp_path / "rules.json").write_text('{"toll": 2}')
    text = '[[lineups]]\nagent = "a"\nagainst = ["b"]\n'
    for given in ('rules = "rules.json"\n', "rules = { toll = 2 }\n"):
        assert [lineup.game.rules for lineup in planned(text, head=HEAD + given)] == [
            Rules(3, toll=2),
            Rules(4, toll=2),
        ]
    refusal(lambda: planned(text, head=HEAD + 'board = "mine.toml"\n'), "mine.toml")


def test_line_ups_are_played_once(planned):
    twice = '[[lineups]]\nagent = "a"\nagainst = ["b"]\n'
    refusal(lambda: planned(twice + twice), "lineups[1] has no line-up with 3, 4 players that is new")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("deals =", ["is not TOML"]),
        ("colour = 1\n[[lineups]]\nmixed = ['a']", ["colour is an unknown key"]),
        ("", ["lineups is missing"]),
        ("[[lineups]]\nagent = 'a'", ["lineups[0] must have `agent` with `against` or `among`"]),
        ("[[lineups]]\nmixed = ['a']\namong = ['b']", ["lineups[0] must have"]),
        ("[[lineups]]\npairs = ['a', 'b']\ncopies = true", ["`copies`, which is for `mixed` and `among`"]),
        ("release = '1'\n[[lineups]]\nmixed = ['a']", ["either `seed` or `release`"]),
        ("[[lineups]]\nagent = 'a'\nagainst = ['b']\nmixed = ['c']", ["lineups[0] must have"]),
        ("[[lineups]]\npairs = ['a', 'b', 'c']", ["pairs", "at most 2"]),
        ("[[lineups]]\nseats = ['a', 'b']", ["no line-up with 3, 4 players"]),
        ("[[lineups]]\nmixed = ['a']\nplayers = [6]", ["players", "is 6"]),
        ("[[lineups]]\nmixed = ['a']\nseating = 'some'", ["seating is 'some'", "'all', 'rotate' or 'fixed'"]),
        ("[[lineups]]\nmixed = ['a']\ndeals = 0", ["deals['2'] is 0"]),
        ("[[lineups]]\nmixed = ['a']\ndeals = 'x'", ["deals is 'x'", "a whole number, or a table"]),
        ("[[lineups]]\nmixed = ['a']\ndeals = { 3 = 4 }", ["lineups[0] has no number of deals for 4 players"]),
    ],
)
def test_what_is_no_study_is_refused_in_one_line(planned, text, parts):
    refusal(lambda: planned(text), *parts)


def test_the_command_plays_a_study_and_continues_it(bombay, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="needs the extra `data`")
    without_workers(monkeypatch)
    rules = "rules = { sets = 1, turns_per_set = 1 }\n"
    (tmp_path / "s.toml").write_text(HEAD + rules + '[[lineups]]\nagent = "greedy"\nagainst = ["random"]\n')
    found = []
    for options in (("--out", "kept"), ("--out", "kept", "--deals", 5), ("--deals", 5)):
        done = bombay("run", "s.toml", "--json", *options)
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    few, more, at_once = (data["digest"] for data in found)
    assert few != more == at_once
    assert [match["games"] for match in found[2]["matches"]] == [15, 20]
    done = bombay("run", "s.toml", "--out", "kept", "--deals", 5)
    assert f"digest {more}" in done.stdout
    assert "greedy" in done.stdout
    (tmp_path / "s.toml").write_text(HEAD + '[[lineups]]\nagent = "nobody"\nagainst = ["random"]\n')
    done = bombay("run", "s.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nobody" in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--address", "auto"), "--address is for --engine ray"),
        (("--engine", "ray", "--turn-limit", "1"), "--turn-limit is for --engine local"),
        (("--engine", "ray", "--address", "auto", "--processes", "2"), "--processes is for this machine"),
    ],
)
def test_options_of_the_other_engine_are_refused(bombay, tmp_path, options, told):
    (tmp_path / "study.toml").write_text(HEAD + '[[lineups]]\nmixed = ["random", "greedy"]\n')
    done = bombay("run", "study.toml", "--out", "results", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
