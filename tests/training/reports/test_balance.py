"""`bombay balance`: the accounts, the pairing of changed rules, the intervals, and the command."""

import dataclasses
import functools
import json
import random
import re
import tomllib

import numba
import numpy as np
import pytest

from bombay_env import Board, Game, Rules
from bombay_training.cli.reports import own_study
from bombay_training.evaluation.arena import run_fixed_seats
from bombay_training.matches.accounts import SOURCES, SPENDING, USES, Accountant
from bombay_training.matches.lineup import Lineup
from bombay_training.matches.run import run
from bombay_training.matches.table import LostGame, blank_rows
from bombay_training.reports.balance import plan as plans
from bombay_training.reports.balance.plan import Setting, Tier, parse_changes
from helpers.failing_agents import First
from helpers.matches import edited
from helpers.position import official, position, variant
from helpers.variants import larger_board, random_board, random_game

reports = pytest.importorskip("bombay_training.reports.balance.report", reason="needs the extra `analysis`")
pages = pytest.importorskip("bombay_training.reports.balance.page", reason="needs the extra `analysis`")

QUICK = bool(numba.config.DISABLE_JIT)
SHORT = {"sets": 1, "turns_per_set": 2}


@pytest.fixture
def balance(bombay):
    return functools.partial(bombay, "balance")


def setting(game, agent, games, change=""):
    return Setting(game, Tier(agent=agent, games=games), games, change)


def planned(games, tiers, *vary):
    study, _ = own_study(games, tiers, 1, vary)
    return plans.plan(study, games)


def written(game, states, *names):
    """The accounts (n,) of one game played from `states` (1,) with these actions, and the state after them."""
    rows, states = blank_rows(1, game.num_players, accounts=True), states.copy()
    accountant = Accountant(game, rows)
    for name in names:
        action = np.array([game.action_index(name)])
        accountant.before_step(np.zeros(1, np.int64), states, action)
        game.step(states, action)
    return rows[0], states


def entries(page, names):
    """The entries of an account that are not zero, by name and seat."""
    return {(names[kind], seat): int(page[seat, kind]) for seat, kind in np.argwhere(page)}


# --- the books ---


def test_a_game_made_by_hand():
    """Seat 0 sells in Bombay (blue, purple, orange) and moves through its palace; seat 1 buys, builds and pays the toll.

    seat 0   Bombay, with blue and orange    palace of seat 0 on G6, rupees token on G4
    seat 1   E2, a purple post; purple lies in the centre market
    """
    game = variant(2, **SHORT, colour_rupees=(1, 0, 2, 0))
    start = position(
        game,
        elephants={0: "Bombay", 1: "E2"},
        baskets={0: ["blue", "orange"]},
        palaces={"G6": 0},
        tokens={"G4": "rupees"},
    )
    actions = ["sell:blue", "sell:orange", "move:H1"]  # orange is in the middle by then
    actions += ["buy", "move:G4"]
    actions += ["consolidate"]
    actions += ["build:purple", "move:E2", "move:G6"]
    accounts, states = written(game, start, *actions)
    assert game.is_terminal(states).all()
    assert entries(accounts["rupees"], SOURCES) == {
        ("start", 0): 2,
        ("sales_top", 0): 4,
        ("colour_bonus", 0): 2,
        ("sales_middle", 0): 3,
        ("consolidation", 0): 1,
        ("tolls", 0): 1,
        ("start", 1): 2,
        ("purchases", 1): -1,
        ("palace_tokens", 1): 2,
    }
    assert entries(accounts["uses"], USES) == {
        ("move", 0): 1,
        ("sell_top", 0): 1,
        ("sell_middle", 0): 1,
        ("consolidate", 0): 1,
        ("move", 1): 3,
        ("buy_centre", 1): 1,
        ("build", 1): 1,
    }
    assert entries(accounts["spent"], SPENDING) == {
        ("sell", 0): 2,
        ("move", 0): 1,
        ("consolidate", 0): 3,
        ("buy", 1): 2,
        ("move", 1): 3,
        ("build", 1): 1,
    }
    assert (accounts["rupees"].sum(axis=1) == states[0].rupees[:2]).all()


def test_actions_left_at_the_end_of_a_turn_are_wasted_and_a_take_is_free():
    game = official(2)
    accounts, _ = written(game, position(at="G8", basket=["blue"]), "build:blue", "take:orange", "end_turn")
    assert entries(accounts["spent"], SPENDING) == {("build", 0): 1, ("wasted", 0): 2}
    assert entries(accounts["uses"], USES) == {("build", 0): 1, ("take", 0): 1, ("end_turn", 0): 1}
    accounts, _ = written(game, position(at="Bombay", basket=["orange"]), "sell:orange", "end_turn")
    assert entries(accounts["rupees"], SOURCES) == {("start", 0): 2, ("start", 1): 2, ("sales_bottom", 0): 1}
    assert entries(accounts["uses"], USES) == {("sell_bottom", 0): 1, ("end_turn", 0): 1}


@pytest.mark.parametrize("n", [2, 5])
def test_accounts_add_up_in_random_games_of_variants(n):
    """Every match checks that; see the test of its error below."""
    rng = random.Random(n)
    for _ in range(1 if QUICK else 6):
        run([Lineup(random_game(rng, n), ("random",) * n, 2 if QUICK else 40, n, accounts=True)])


def test_the_error_names_a_game_whose_accounts_do_not_add_up():
    game, deals = variant(3, **SHORT), np.arange(7, 10, dtype=np.uint64)
    states = game.new_states(deals)
    rows = blank_rows(3, 3, accounts=True)
    rows["deal"] = deals[:, None]
    accountant = Accountant(game, rows)
    while not game.is_terminal(states).all():
        actions = game.legal_actions(states).argmax(axis=1)
        accountant.before_step(np.arange(3), states, actions)
        game.step(states, actions)
    results = game.results(states)
    accountant.after_end(np.arange(3), results)
    rows["rupees"][1, 2, SOURCES.index("tolls")] += 1
    with pytest.raises(RuntimeError, match="seat 2 in the game with seed 8"):
        accountant.after_end(np.arange(3), results)
    rows["rupees"][1, 2, SOURCES.index("tolls")] -= 1
    rows["spent"][0, 1, 0] -= 1
    with pytest.raises(RuntimeError, match="seat 1 in the game with seed 7"):
        accountant.after_end(np.arange(3), results)


# --- changed rules ---


def test_changed_rules_are_played_on_the_same_deals():
    """A random player ignores awards, so without them the same games end with fewer rupees."""
    base = Game(Rules(3, **SHORT))
    tables, notes = planned([base], ["random@20"], "fame=[0,0,0,4,8],[0]", "majority.0=6,106")
    assert [table.change for table in tables] == ["", "fame=[0]", "majority.0=106"]
    assert len(notes) == 2
    assert all("the rules have this value already" in note for note in notes)
    usual, without, more = run(plans.lineups(tables, 3))
    assert (usual.deal == without.deal).all()
    assert (usual.final - without.final == usual.accounts["rupees"][:, :, SOURCES.index("fame")]).all()
    assert (more.final.sum(axis=1) >= usual.final.sum(axis=1) + 100).all()
    assert (more.accounts["uses"] == usual.accounts["uses"]).all()
    data = reports.make_report(tables, [usual, without, more], 3, notes)
    without_fame, _ = data["tables"][0]["what_ifs"]
    for row in without_fame["seats"]:
        change = row["win_share_change"]
        assert change["mean"] == 0
        assert change["low"] == pytest.approx(-change["high"])
        assert change["high"] > 0.1  # twenty equal games do not show that all are
    assert without_fame["nothing_changes"]["win_share"] == pytest.approx(1)


def test_a_change_is_compared_with_the_table_of_the_same_rules_board_and_agent():
    """The given rules and board are not the official ones, and each of two agents has its own table."""
    game = Game(Rules(3, **SHORT, starting_rupees=(9, 2, 4)), random_board(1))
    settings, _ = planned([game], ["random@20", "random-turn@5"], "starting_rupees.0=1")
    changed = dataclasses.replace(game.rules, starting_rupees=(1, 2, 4))
    assert [setting.game.rules for setting in settings] == [game.rules, changed] * 2
    assert {setting.game.board for setting in settings} == {game.board}
    tables = reports.make_report(settings, run(plans.lineups(settings, 3)), 3, [])["tables"]
    assert [(table["agent"], table["board"]) for table in tables] == [
        (agent, game.board.name) for agent in ("random", "random-turn")
    ]
    for table in tables:
        (tried,) = table["what_ifs"]
        for before, after in zip(table["seats"], tried["seats"], strict=True):
            for name in ("win_share", "margin", "final"):
                difference = after[name]["mean"] - before[name]["mean"]
                assert after[f"{name}_change"]["mean"] == pytest.approx(difference)
        assert tried["seats"][0]["final_change"]["mean"] < -4


@pytest.mark.parametrize(
    ("text", "rules", "changes"),
    [
        ("client_supply=null", Rules.official(4), {"client_supply": None}),
        ("client_supply=5", Rules.official(4), {"client_supply": 5}),
        ("starting_rupees.last=4;toll=0", Rules(2), {"starting_rupees": (2, 4), "toll": 0}),
        ("starting_rupees.last=4;toll=0", Rules(5), {"starting_rupees": (2, 2, 2, 2, 4), "toll": 0}),
        ("starting_rupees.last+2", Rules(4), {"starting_rupees": (2, 2, 2, 4)}),
        ("toll-1", Rules(5, toll=3), {"toll": 2}),
        ("toll=0;sets+1", Rules(5, toll=3), {"toll": 0, "sets": 6}),
    ],
)
def test_a_change_of_the_given_rules(text, rules, changes):
    (change,) = parse_changes(text)
    assert change.label == text
    assert change.applied(rules) == dataclasses.replace(rules, **changes)


def test_each_of_several_values_is_a_change():
    for start, values in (("client_supply=", "null,5"), ("starting_rupees.last+", "1,2"), ("toll-", "1,2")):
        assert [change.label for change in parse_changes(start + values)] == [start + one for one in values.split(",")]


def test_an_entry_of_an_entry_is_changed():
    (column,) = parse_changes('demand_columns.0.2="yellow"')
    assert column.applied(Rules.official(4)).demand_columns[0] == ("blue", "purple", "yellow")


def test_missing_entries_and_equal_changes_are_left_out_with_a_note():
    games = [Game(Rules.official(4)), Game(Rules.official(5))]
    tables, notes = planned(games, ["random"], "starting_rupees.4=2,3")
    assert [(table.game.num_players, table.change) for table in tables] == [
        (4, ""),
        (5, ""),
        (5, "starting_rupees.4=2"),
    ]
    assert tables[2].game.rules.starting_rupees == (2, 2, 2, 2, 2)
    assert [note.split()[0] for note in notes] == ["starting_rupees.4=2", "starting_rupees.4=3", "starting_rupees.4=3"]
    _, notes = planned(games[:1], ["random"], "toll=0", "toll-1")
    assert notes == ["toll-1 with 4 players is left out: it is the same as toll=0"]


def test_a_strong_agent_is_among_the_default_ones_where_it_can_play():
    study, notes = own_study([Game(Rules(2, toll=5))], [], 7, [])
    assert [(tier.agent, tier.games["2"], tier.strong) for tier in study.tiers] == [
        ("greedy", 7, False),
        ("planner-v1", 7, False),
        ("zero:rounds=0,force=true", 7, True),
    ]
    assert not notes
    larger = tomllib.loads(larger_board())
    study, notes = own_study([Game(Rules(2), Board.from_dict(larger))], [], 7, [])
    assert [tier.agent for tier in study.tiers] == ["greedy", "planner-v1"]
    assert len(notes) == 1
    assert notes[0].startswith("zero:rounds=0,force=true is left out: ")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("toll", "FIELD=V1,V2"),
        ("toll.x=1", "FIELD.INDEX"),
        ("tolls=1", "unknown field 'tolls' of rules; the fields are sets"),
        ("num_players=3", "unknown field 'num_players'"),
        ("toll=", "must be JSON"),
        ("toll=-1", "toll=-1 with 4 players: toll is -1; it must be a whole number from 0 to 100"),
        ("toll=null", "only client_supply may be"),
        ("toll.0=1", "toll has no entry"),
        ("starting_rupees.4=2", "there is no such entry with 4 players"),
        ("toll=0;toll=2", "toll: this entry is changed twice"),
        ("starting_rupees.3=1;starting_rupees.last=2", "starting_rupees.last: this entry is changed twice"),
        ("starting_rupees=[1,2,2,2];starting_rupees.0+1", "starting_rupees.0: this entry is changed twice"),
        ("starting_rupees.last+0.5", "the values after + are '0.5'; they must be whole numbers"),
        ("toll-2", "toll is -1"),
        ("starting_rupees+1", "starting_rupees is [2, 2, 2, 2]; only a whole number can be added to"),
        ("rotate_first_player+1", "rotate_first_player is True; only a whole number can be added to"),
    ],
)
def test_an_invalid_change_is_refused(text, part):
    with pytest.raises(ValueError, match=r"^--vary") as refused:
        own_study([official(4)], ["random"], 1, [text])
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)


def test_tiers_are_specs_with_an_optional_number_of_games():
    study, _ = own_study([official(2)], ["random", "greedy@40"], 100, [])
    assert [tier.games["2"] for tier in study.tiers] == [100, 40]
    for text, part in (
        ("random@0", "from 1 to 1000000"),
        ("random@5000000", "from 1 to 1000000"),
        ("nobody@5", "nobody"),
    ):
        with pytest.raises(ValueError, match=part):
            own_study([official(2)], [text], 100, [])


def test_deals_are_the_arenas():
    game = Game(Rules(2, **SHORT))
    (match,) = run(plans.lineups([setting(game, "random", 70)], 9))
    assert (match.deal == run_fixed_seats(game, [First()] * 2, 70, seed=9).deal).all()
    assert len(set(match.deal.tolist())) == 70


# --- estimates ---


def test_intervals_equal_scipys_at_bonferronis_level():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(5)
    values = rng.normal([0.0, 1.0, 2.0], size=(50, 3))
    for found, column in zip(reports.intervals("final", values), values.T, strict=True):
        low, high = stats.ttest_1samp(column, 0).confidence_interval(1 - 0.05 / 3)
        assert (found.low, found.high) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))
    wins = np.eye(4)[rng.integers(4, size=200)]
    for found, column in zip(reports.share_intervals(wins), wins.T, strict=True):
        exact = stats.binomtest(int(column.sum()), 200).proportion_ci(1 - 0.05 / 4, method="exact")
        assert (found.low, found.high) == (pytest.approx(exact.low, abs=4e-3), pytest.approx(exact.high, abs=4e-3))
    two = np.stack([values[:, 0], -values[:, 0]], axis=1)
    assert reports.equality_test(two) == pytest.approx(stats.ttest_1samp(values[:, 0], 0).pvalue)


@functools.cache
def one_game(players):
    (match,) = run(plans.lineups([setting(official(players), "random", 1)]))
    return match


def made_match(game, games, shares, faults=0):
    """The match of a setting without any play: these are the win shares (G, n). The last games are lost by faults."""
    match = one_game(game.num_players).take(np.zeros(games, np.int64))
    lost = tuple(LostGame(0, "faulty", 1, game, game, 0, "none", "no idea") for game in range(games - faults, games))
    numbers = np.arange(games)
    return edited(match, faults=lost, game=numbers, block=numbers, final=10 * shares, win_share=shares)


# --- the verdicts on the changed games ---


def test_a_bias_of_the_changed_game_alone_is_in_its_own_verdict(balance, tmp_path):
    """Seat 0 starts with a hundred rupees more, and cannot lose. The rules of the file are the unchanged ones."""
    (tmp_path / "rules.json").write_text('{"starting_rupees.last": 3}')
    options = ["--players", 3, "--tier", "random@60", "--rules", "rules.json", "--vary", "starting_rupees.0+100"]
    options += ["--seed", 9]
    done = balance(*options, "--processes", 1, "--json")
    assert done.returncode == 0, done.stderr
    data, given = json.loads(done.stdout), Game(Rules(3, starting_rupees=(2, 2, 3)))
    settings, notes = planned([given], ["random@60"], "starting_rupees.0+100")
    assert data == reports.make_report(settings, run(plans.lineups(settings, 9)), 9, notes)
    (table,), (changed,) = data["tables"], data["tables"][0]["what_ifs"]
    assert [row["rules"]["starting_rupees"] for row in (table, changed)] == [[2, 2, 3], [102, 2, 3]]
    assert [row["verdict"]["word"] for row in (table, changed)] == ["undecided", "biased"]
    assert [(line["change"], line["headline"]) for line in data["headlines"]] == [
        ("", "undecided"),
        ("starting_rupees.0+100", "biased towards seat 0 and against seats 1, 2"),
    ]
    for row, start in ((table, 2), (changed, 102)):
        assert row["seats"][0]["rupees"]["start"] == start
        assert sum(row["seats"][0]["rupees"].values()) == pytest.approx(row["seats"][0]["final"]["mean"])
        assert 0 <= row["largest_deviation"]["low"] <= row["verdict"]["deviation"] <= row["largest_deviation"]["high"]
    assert table["largest_deviation"]["high"] < changed["largest_deviation"]["low"] > 1.5
    assert changed["largest_deviation"]["mean"] == changed["deviation_after"] == 2

    shown = balance(*options, "--processes", 1, "--out", "study").stdout
    page = (tmp_path / "study" / "report.md").read_text()
    assert json.loads((tmp_path / "study" / "report.json").read_text()) == data
    for text in (shown, page):
        lines = [
            line for line in text.splitlines() if "starting_rupees.0+100" in line and "biased towards seat 0" in line
        ]
        assert len(lines) == 2  # the headline and the table of verdicts
        assert any("unchanged" in line and "undecided" in line for line in text.splitlines())
        assert '"starting_rupees": [2, 2, 3]' in text
    cells = re.findall(r"<td[^>]*>(.*?)</td>", (tmp_path / "study" / "report.html").read_text())
    for rules, start in (("unchanged", "2.00"), ("starting_rupees.0+100", "102.00")):
        row = f"3 | {rules} | random | start | {start} | 2.00 | 3.00"
        assert row in " | ".join(cells)
        assert (f"| {row} |" in page) == (rules == "unchanged")


def test_the_verdicts_of_changed_games_are_corrected_apart_from_those_of_the_unchanged_game():
    """Among so many, a game that is surely biased by itself is undecided; the unchanged game's verdict stays."""
    wins = np.repeat(np.eye(2), (580, 420), axis=0)
    match = made_match(official(2), 1000, wins)
    words = []
    for changes in (1, 40):
        settings = [setting(official(2), "agent", 1000, label) for label in ("", *map(str, range(changes)))]
        (table,) = reports.make_report(settings, [match] * len(settings), 0, [])["tables"]
        words.append((table["verdict"]["word"], *{one["verdict"]["word"] for one in table["what_ifs"]}))
    assert words == [("biased", "biased"), ("biased", "undecided")]


def test_the_interval_of_the_largest_deviation_covers_it():
    rng, hits = np.random.default_rng(11), 0
    for share in [[0.25] * 4, [0.35, 0.25, 0.2, 0.2], [0.9, 0.04, 0.03, 0.03], [0.1, 0.3, 0.3, 0.3]] * 50:
        found = reports.largest_deviation(reports.share_intervals(np.eye(4)[rng.choice(4, size=500, p=share)]))
        hits += found.low <= 4 * max(abs(one - 0.25) for one in share) <= found.high
    assert hits >= 185
    assert 0.4 < found.low < found.high < 0.8  # that of the last ones, of a seat below par, is .6


# --- faults ---


def test_games_lost_by_faults_are_counted_and_left_out():
    wins = np.repeat(np.eye(2), (100, 100), axis=0)  # of the last hundred games, two are lost by seat 1
    match = made_match(official(2), 200, wins, faults=2)
    settings = [setting(official(2), "faulty", 200, label) for label in ("", "toll=2")]
    (table,) = reports.make_report(settings, [match, made_match(official(2), 200, wins)], 0, [])["tables"]
    (changed,) = table["what_ifs"]
    assert [(row["games"], row["faults"]) for row in (table, changed)] == [(200, 2), (200, 0)]
    assert table["seats"][0]["win_share"]["mean"] == 100 / 198
    assert changed["seats"][0]["win_share"]["mean"] == 0.5
    assert changed["deals_compared"] == 198
    assert changed["seats"][0]["win_share_change"]["mean"] == 0


@pytest.mark.parametrize("faulty", ["unchanged", "changed"])
def test_an_agent_that_lost_more_than_a_percent_by_faults_has_no_verdict(faulty):
    wins = np.repeat(np.eye(2), (150, 50), axis=0)
    good, bad = made_match(official(2), 200, wins), made_match(official(2), 200, wins, faults=3)
    settings = [setting(official(2), name, 200, label) for name in ("good", "bad") for label in ("", "toll=2")]
    data = reports.make_report(settings, [good, good, *([bad, good] if faulty == "unchanged" else [good, bad])], 0, [])
    without = [(row["agent"], row["change"], row["faults"]) for row in data["excluded"]]
    assert without == ([("bad", "", 3), ("bad", "toll=2", 0)] if faulty == "unchanged" else [("bad", "toll=2", 3)])
    page = pages.markdown(data)
    (headline,) = [line for line in page.splitlines() if "toll=2 |" in line and "all agents:" in line]
    reason = "none: too many faults" + " by the unchanged rules" * (faulty == "unchanged")
    assert f"not shared by bad ({reason})" in headline
    (row,) = [line for line in page.splitlines() if "toll=2 | bad " in line]
    assert f" {reason} |" in row
    assert json.loads(json.dumps(data)) == data
    pages.html(data)


def test_too_few_or_equal_games_give_no_estimate():
    assert reports.equality_test(np.array([[1.0, -1.0]])) is None
    assert reports.equality_test(np.zeros((10, 3))) is None
    (only, _) = reports.intervals("final", np.array([[1.0, -1.0]]))
    assert only.to_dict() == {"mean": 1.0, "low": None, "high": None}
    won = reports.share_intervals(np.tile([1.0, 0.0], (20, 1)))
    assert won[0].low < 0.9
    assert won[1].high > 0.1
    for seat in reports.intervals("final", np.zeros((10, 2))):
        assert seat.to_dict() == {"mean": 0.0, "low": None, "high": None}


# --- changes ---


def test_the_change_of_a_rule_has_the_p_value_of_its_own_test():
    """Both variants are unfair by as much, so the seats are not equal and nothing changes."""
    rng = np.random.default_rng(6)
    wins = np.eye(2)[rng.choice(2, size=300, p=[0.8, 0.2])]
    match, turned = made_match(official(2), 300, wins), made_match(official(2), 300, 1 - wins)
    settings = [setting(official(2), "greedy", 300, label) for label in ("", "toll=2", "toll=3")]
    data = reports.make_report(settings, [match, match, turned], 0, [])
    same, other = data["tables"][0]["what_ifs"]
    for tried, small in ((same, False), (other, True)):
        for quantity in ("win_share", "margin"):
            assert (tried["nothing_changes"][quantity] < 0.0001) == small
    assert same["all_seats_equal"]["win_share"] < 0.0001
    assert other["q"] == pytest.approx(2 * other["nothing_changes"]["win_share"])  # the smaller of two
    assert same["pairing_gain"] is None
    assert other["pairing_gain"] == pytest.approx(0.5, rel=0.05)  # turned shares: pairing doubles the variance


def test_p_values_of_changes_agree_with_their_intervals(monkeypatch):
    rng = np.random.default_rng(6)
    before = np.eye(4)[rng.integers(4, size=400)]
    after = np.where(rng.random((400, 1)) < 0.2, np.eye(4)[rng.choice(4, size=400, p=[0.55, 0.15, 0.15, 0.15])], before)
    for quantity in ("win_share", "final"):
        p = reports.changes(quantity, before, after)[1]
        assert 1e-6 < p < 0.1
        for error, excluded in ((p * 1.01, True), (p / 1.01, False)):
            monkeypatch.setattr(reports, "CONFIDENCE", 1 - error)
            found = reports.changes(quantity, before, after)[0]
            assert any(not seat.low <= 0 <= seat.high for seat in found) == excluded


# --- the command ---


def test_a_study_of_an_agent_that_fails_says_so(balance):
    faulty = "helpers.failing_agents:Raises"
    done = balance("--tier", faulty, "--players", 2, "--games", 1, "--vary", "toll=2", "--processes", 1)
    assert done.returncode == 0, done.stderr
    assert f"{faulty} lost 2 games by faults" in done.stderr
    assert "it raised ValueError: never" in done.stderr.splitlines()[-1]
    assert done.stdout.count("no agent: no agent has a verdict, because of games lost by faults") == 2
