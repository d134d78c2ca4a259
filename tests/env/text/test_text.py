"""The game in words: positions, what actions do, results, and whole games by text alone; `test_answers` has the answers.

Figures in words are compared with RULES.md by hand, in positions built for it, and with the engine in random games.
"""

import random
import re

import numpy as np
import pytest

from bombay_env import Game, Rules, text
from bombay_env.state import state_to_dict
from helpers.position import official, play, position, random_play, variant
from helpers.variants import random_game


def random_state(game: Game, seed: int, steps: int) -> np.ndarray:
    """A random game after so many decisions, or at its end."""
    states = game.new_states([seed])
    game.rollout(states, [seed], max_decisions=steps)
    return states


def words_of(game: Game, states: np.ndarray, name: str) -> str:
    """What is told of one legal action."""
    (found,) = [effect.words for effect in text.action_effects(game, states) if effect.name == name]
    return found


# --- positions ---


@pytest.mark.parametrize(("supply", "line"), [(0, "bank      0 Clients"), (1, "bank      1 Client"), (None, None)])
def test_the_bank_shows_also_when_it_is_empty(supply: int | None, line: str | None) -> None:
    game = Game(Rules(2, client_supply=supply))
    lines = text.describe_position(game, position(game)).splitlines()
    assert [words for words in lines if words.startswith("bank")] == ([line] if line else [])


def test_tables_tell_what_stands_on_every_site() -> None:
    """All that a drawing shows of the board: prices, demand, tokens, posts, palaces, elephants and trails."""
    states = position(player=1, at="E2", palaces={"G1": 0, "B": 1}, markets=[{"blue": 1}, {}, {}])
    markets, cities, sites = text.describe_tables(official(2), states)
    assert markets.rows == [
        ["left market", "1 rupee, 1 action", "1 blue"],
        ["centre market", "1 rupee, 2 actions", "empty"],
        ["right market", "2 rupees, 2 actions", "empty"],
        ["bag", "", "3 yellow, 4 purple, 4 blue, 5 orange"],
        ["bank", "", "16 Clients"],
    ]
    assert cities.columns == ("city", "top", "middle", "bottom", "City tokens")
    assert cities.rows[1] == ["Indore", "purple 4 + 1 Client", "orange 3", "yellow 2 + 1 Client", "1 City token left"]
    told = {name: (what, elephants, trails) for name, what, elephants, trails in sites.rows}
    assert told["E2"] == ("a purple post (closed)", "seat 1", "B: 2, G4: 1, G6: 1, H2: 1")
    assert told["E3"][0] == "a blue post (left market: 1 rupee, 1 action)"
    assert told["E4"][0] == "an orange post (closed)"
    assert told["A"][:2] == ("a hilltop without a building", "seat 0")
    assert told["B"][0] == "a palace of seat 1 on a hilltop"
    assert told["G1"][0] == "a palace of seat 0"
    assert told["G2"][0] == "a site without a building, with the palace token `city`"
    assert told["Bombay"][0] == "a city that wants blue, purple, orange"
    assert told["H1"][0] == "a site without a building"


def test_text_of_a_position() -> None:
    states = position(
        player=1,
        actions_left=2,
        at="E2",
        basket=["blue"],
        rupees=[4, 5],
        palaces={"G1": 0},
        markets=[{"blue": 1}, {}, {}],
    )
    assert text.describe_position(official(2), states).splitlines() == [
        "set 1 of 4, turn 1 of 4: seat 1 has 2 actions left",
        "",
        "markets   left    1 rupee, 1 action    1 blue",
        "          centre  1 rupee, 2 actions   empty",
        "          right   2 rupees, 2 actions  empty",
        "bag       3 yellow, 4 purple, 3 blue, 5 orange",
        "bank      16 Clients",
        "cities    Bombay     blue 4, purple 3 + 1 Client, orange 1 + 1 Client",
        "          Indore     purple 4 + 1 Client, orange 3, yellow 2 + 1 Client",
        "          Nagpur     orange 4, yellow 4, blue 1 + 1 Client",
        "          Hyderabad  yellow 5, blue 3, purple 1 + 2 Clients",
        "piles     City tokens left: Bombay 1, Indore 1, Nagpur 1, Hyderabad 1",
        "posts     E1 yellow (closed), E2 purple (closed), E3 blue, E4 orange (closed)",
        "tokens    G2 city, G3 rupees, G4 bale, G5 client, G6 city, G7 rupees, G8 bale",
        "palaces   G1 seat 0",
        "",
        "        at  rupees  Clients  palaces left  bales   City tokens",
        "seat 0  A        4        1             4  empty   0",
        "seat 1  E2       5        0             5  1 blue  0",
        "",
        "to sell   blue  Nagpur 2 actions away: 1 rupee + 1 Client; Hyderabad 2 actions away: 3 rupees; "
        "Bombay 6 actions away: 4 rupees",
    ]


def test_text_tells_how_far_each_sale_is() -> None:
    """The distances are counted along the trails of the board: a move onto a hilltop costs two actions."""
    states = position(player=1, at="H2", basket=["yellow", "orange"])
    assert [line for line in text.describe_position(official(2), states).splitlines() if "away" in line] == [
        "to sell   yellow  Indore 1 action away: 2 rupees + 1 Client; Nagpur 1 action away: 4 rupees; "
        "Hyderabad 3 actions away: 5 rupees",
        "          orange  Indore 1 action away: 3 rupees; Nagpur 1 action away: 4 rupees; "
        "Bombay 5 actions away: 1 rupee + 1 Client",
    ]
    at_home = text.describe_position(official(2), position(at="Nagpur", basket=["blue"]))
    assert "to sell   blue  Nagpur here: 1 rupee + 1 Client; Hyderabad 4 actions away: 3 rupees; Bombay " in at_home
    assert "to sell" not in text.describe_position(official(2), position(player=1, baskets={0: ["blue"]}))
    nobody = variant(demand_columns=(("blue", "purple", "yellow"),) * 4)
    assert "to sell   orange  no city wants it" in text.describe_position(nobody, position(nobody, basket=["orange"]))


def test_text_tells_what_seats_hold_and_hides_what_is_behind_screens() -> None:
    game = official(3)
    states = position(
        game, rupees=[71, 72, 73], clients=[0, 0, 4], city_tokens={0: ["Bombay"], 2: ["Nagpur", "Indore"]}
    )
    shown = ["A 71 0 5 empty 1 (Bombay)", "A 72 0 5 empty 0", "A 73 4 5 empty 2 (Indore, Nagpur)"]
    hidden = ["A ? ? 5 empty ?"] * 2
    for viewer, told in ((None, shown), (2, [*hidden, shown[2]])):
        lines = text.describe_position(game, states, viewer).splitlines()[-3:]
        assert [" ".join(line.split()[2:]) for line in lines] == told


# --- what actions do ---


@pytest.mark.parametrize(
    ("facts", "name", "words"),
    [
        ({"at": "E1"}, "move:H1", "go from E1 to H1, a site without a building, for 1 action"),
        ({"at": "E1"}, "move:A", "go from E1 to A, a hilltop without a building, for 2 actions"),
        (
            {"at": "E1", "palaces": {"H1": 1}, "actions_left": 1},
            "move:H1",
            "go from E1 to H1, a palace of seat 1, for 1 action; seat 1 takes 1 rupee of toll from the bank; your turn ends",
        ),
        ({"at": "E1", "palaces": {"H1": 0}}, "move:H1", "go from E1 to H1, your own palace, for 1 action"),
        ({"at": "G5"}, "move:Bombay", "go from G5 to Bombay, a city that wants blue, purple, orange, for 1 action"),
        ({"at": "E3"}, "buy", "buy 1 blue bale from the left market for 1 rupee and 1 action"),
        (
            {"at": "E1"},
            "buy",
            "buy 1 yellow bale from the right market for 2 rupees and 2 actions; it is the last yellow bale there, so yellow "
            "posts close; the right market is then empty",
        ),
        (
            {"at": "Bombay", "basket": ["blue"]},
            "sell:blue",
            "sell 1 blue bale at the top of Bombay for 1 action; gain 4 rupees; take a City token of Bombay; Bombay then "
            "wants purple, orange, blue",
        ),
        (
            {"at": "Hyderabad", "basket": ["purple"], "city_tokens": {0: ["Hyderabad"]}},
            "sell:purple",
            "sell 1 purple bale at the bottom of Hyderabad for 1 action; gain 1 rupee and 2 Clients",
        ),
        (
            {"at": "Hyderabad", "basket": ["purple"], "clients": [8, 7], "city_tokens": {1: ["Hyderabad"]}},
            "sell:purple",
            "sell 1 purple bale at the bottom of Hyderabad for 1 action; gain 1 rupee and 1 Client of the 2 due, as the bank "
            "has no more",
        ),
        (
            {"at": "H1", "basket": ["blue"]},
            "build:blue",
            "build a palace on H1 for 1 blue bale, which goes back to the bag, and 1 action",
        ),
        *(
            (
                {"at": site, "basket": ["blue"], "markets": markets},
                "build:blue",
                f"build a palace on {site} for 1 blue bale, which goes back to the bag, and 1 action; the palace token "
                f"{gain}",
            )
            for site, markets, gain in (
                ("G1", None, "`client` counts as 1 Client at the end"),
                ("G2", None, "`city` counts as 1 City token at the end"),
                ("G3", None, "`rupees` gives 2 rupees"),
                ("G4", [{}, {"orange": 1}, {}], "`bale` gives 1 bale of your choice from the centre market"),
                ("G4", [{}, {}, {}], "`bale` gives nothing, as the markets are empty"),
            )
        ),
        ({}, "consolidate", "gain 1 rupee for all 3 actions of the turn; your turn ends"),
        ({"actions_left": 2}, "end_turn", "give up the 2 actions left; your turn ends"),
        ({"turn": 3, "player": 1}, "end_turn", "give up the 3 actions left; your turn and the set end"),
        ({"set": 3, "turn": 3, "player": 0}, "end_turn", "give up the 3 actions left; the game ends"),
        (
            {"at": "E1", "turn": 3, "player": 1, "actions_left": 2},
            "buy",
            "buy 1 yellow bale from the right market for 2 rupees and 2 actions; your turn and the set end",
        ),
    ],
)
def test_words_of_an_action(facts: dict, name: str, words: str) -> None:
    game = official(2)
    assert words_of(game, position(game, **facts), name) == words


def test_words_of_a_take() -> None:
    game = official(2)
    states = play(game, position(game, at="G4", basket=["blue"], actions_left=1), "build:blue")
    assert text.describe_position(game, states).startswith("set 1 of 4, turn 1 of 4: seat 0 must take a bale")
    assert words_of(game, states, "take:blue") == "load 1 blue bale from the left market at no cost; your turn ends"


def test_figures_are_those_of_the_variant() -> None:
    prices = {"market_rupees": (5, 1, 2), "market_actions": (3, 2, 2)}
    game = variant(2, toll=3, move_cost=2, sale_rupees=(9, 3, 1), colour_rupees=(0, 0, 5, 0), sell_cost=2, **prices)
    states = position(game, at="G5", palaces={"F1": 1})
    assert "for 2 actions; seat 1 takes 3 rupees of toll" in words_of(game, states, "move:F1")
    states = position(game, at="Bombay", basket=["blue"])
    assert "for 2 actions; gain 14 rupees;" in words_of(game, states, "sell:blue")
    told = text.describe_position(game, states)
    assert "left    5 rupees, 3 actions" in told
    assert "Bombay     blue 14, purple 3 + 1 Client," in told


@pytest.mark.parametrize("seed", range(4))
def test_words_of_all_legal_actions_fit_what_the_engine_does(seed: int) -> None:
    game = random_game(random.Random(seed), 2 + seed % 4)
    for states in list(random_play(game, lanes=1, seed=seed))[:: 6 - seed % 3]:
        before, effects = states.tobytes(), text.action_effects(game, states)
        assert [effect.action for effect in effects] == np.flatnonzero(game.legal_actions(states)[0]).tolist()
        for effect in effects:
            assert effect.name == game.action_name(effect.action)
            assert 0 <= effect.cost <= game.rules.actions_per_turn
            assert len(effect.words.splitlines()) == 1
            if effect.name.startswith("sell:"):
                after = play(game, states, effect.name)
                seat = states.current_player[0]
                gained = after.rupees[0, seat] - states.rupees[0, seat]
                assert f"gain {gained} rupee" in effect.words
        assert states.tobytes() == before
        # The seed decides the next restock, which nobody may know.
        assert text.action_effects(game, game.scrub(states, [7])) == effects


@pytest.mark.parametrize("viewer", [-2, 4, True])
def test_a_viewer_must_be_a_seat(viewer: object) -> None:
    game = official(4)
    for show in (text.describe_position, text.action_effects):
        with pytest.raises(ValueError, match=r"^viewer is .*; it must be a whole number from -1 to 3$"):
            show(game, game.new_states([1]), viewer)


def test_screens_hide_what_others_can_do() -> None:
    """What is legal tells about rupees behind a screen."""
    game = official(3)
    states = position(game, player=1)
    assert text.action_effects(game, states, viewer=1) == text.action_effects(game, states) != []
    assert text.action_effects(game, states, viewer=0) == []
    assert text.describe_actions(game, states, viewer=2) == ""


@pytest.mark.parametrize("seed", range(4))
def test_no_word_depends_on_what_screens_hide(seed: int) -> None:
    game = official(2 + seed)
    for states in list(random_play(game, lanes=1, seed=seed))[:-1:9]:
        mover = int(states.current_player[0])
        changed = states.copy()
        for seat in set(range(game.num_players)) - {mover}:
            changed.rupees[0, seat] += 5
            changed.city_palace_tokens[0, seat] = changed.client_palace_tokens[0, seat]
            changed.client_palace_tokens[0, seat] = states.city_palace_tokens[0, seat]
        for tell in (text.describe_position, text.describe_actions):
            assert tell(game, states, mover) == tell(game, changed, mover)


def test_actions_are_listed_with_numbers_and_names() -> None:
    game = official(2)
    lines = text.describe_actions(game, position(game, at="Nagpur")).splitlines()
    assert lines[-1] == f"{game.num_actions - 1} end_turn: give up the 3 actions left; your turn ends"


# --- the board and the result ---


def test_the_board_in_words_has_every_trail_twice() -> None:
    game = official(2)
    lines = text.describe_board(game).splitlines()
    assert len(lines) == game.board.num_sites
    near = {
        line.split()[0]: set(line.partition("trails to ")[2].replace(" (2 actions)", "").split(", ")) for line in lines
    }
    assert sum(map(len, near.values())) == 2 * len(game.board.trails)
    assert all(b in near[a] and a in near[b] for a, b in game.board.trails)
    assert " ".join(lines[0].split()) == "A start hill trails to E1, E3, E4, G3, H1"
    assert " ".join(lines[9].split()) == "E4 inner post trails to A (2 actions), B (2 actions), G8"
    told = {" ".join(text.describe_board(official(n)).splitlines()[10].split()) for n in (3, 4)}
    assert told == {"F1 open site trails to G1, G5", "F1 outer post trails to G1, G5"}
    assert "(2 actions)" not in text.describe_board(variant(hill_cost=1))


def test_each_site_is_explained_with_prices_gains_and_distances() -> None:
    states = position(official(2), player=1, at="E2", palaces={"G1": 0}, markets=[{"blue": 1}, {}, {}])
    told = text.explain_sites(official(2), states, 1, ("you", "greedy"))
    assert list(told) == [site.name for site in official(2).board.sites]
    assert told["E2"] == [
        "a purple post (closed)",
        "no market has purple bales; the next set may bring some",
        "elephants: greedy",
        "actions to its neighbours: B 2, G4 1, G6 1, H2 1",
        "actions from greedy: 0; to the cities: Bombay 6, Indore 2, Nagpur 2, Hyderabad 2",
    ]
    assert told["G1"][:2] == [
        "a palace of you",
        "whenever another elephant enters, you take 1 rupee of toll from the bank",
    ]
    assert told["E3"][0] == "a blue post (left market: 1 rupee, 1 action)"
    assert told["G2"][1].endswith("its builder gets the token, which counts as a City token at the end")
    city = told["Bombay"]
    demand = state_to_dict(states[0], official(2).rules, official(2).board)["demand"]["Bombay"]
    assert city[0] == f"a city that wants {', '.join(demand)}"
    assert re.fullmatch(
        rf"a sale pays in rupees: {demand[0]} [45].*, {demand[1]} [34].*, {demand[2]} [12] \+ [12] Clients?", city[1]
    )
    assert city[2] == "City tokens left: 1; the first sale of each player here gives one"


def test_the_explanations_have_the_numbers_of_the_variant() -> None:
    game = Game(
        Rules(2, toll=7, build_cost=2, palace_token_rupees=9, hill_cost=3, sale_rupees=(8, 3, 1)), official(2).board
    )
    states = position(game, palaces={"G1": 0})
    told = text.explain_sites(game, states, 0)
    assert "seat 0 takes 7 rupees of toll" in told["G1"][1]
    assert "for 1 bale and 2 actions" in told["H1"][1]
    assert " 8" in told["Bombay"][1]
    assert "A 3" in told["H1"][-2]
    tokens = state_to_dict(states[0], game.rules, game.board)["palace_tokens"]
    assert "pays 9 rupees at once" in told[next(site for site, kind in tokens.items() if kind == "rupees")][1]


def test_the_result_accounts_for_every_rupee() -> None:
    game = official(3)
    states = position(
        game, rupees=[9, 4, 2], clients=[2, 0, 0], palaces={"G1": 1, "H1": 1}, city_tokens={1: ["Bombay", "Nagpur", "Indore"]},
        set=2, turn=4, player=1, markets=[{}, {}, {}],
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"^the game is not over: set 3 of 3, turn 5 of 5: seat 1 has 3 actions left$"):
        text.describe_result(game, states)
    assert text.describe_result(game, play(game, states, "end_turn")).splitlines() == [
        "game over after 3 sets: seat 1 wins with 14 rupees",
        "seat 0: 11 rupees = 9 in hand + 2 for an empire of 2 (0 palaces, 2 Clients) + 0 for 0 City tokens",
        "seat 1: 14 rupees = 4 in hand + 6 for an empire of 3 (2 palaces, 1 Client) + 4 for 3 City tokens",
        "seat 2: 2 rupees = 2 in hand + 0 for an empire of 0 (0 palaces, 0 Clients) + 0 for 0 City tokens",
    ]


def test_a_shared_win_names_all_winners() -> None:
    game = official(3)
    states = play(game, position(game, rupees=[9, 9, 9], turn=4, set=2, player=1, markets=[{}, {}, {}]), "end_turn")
    shown = text.describe_position(game, states)
    assert shown.startswith("game over after 3 sets: seats 0, 1 and 2 share the win with 11 rupees\n")


# --- whole games by text alone ---


FORMS = ("{name}", "{number}", "I think that is best.\nAnswer: {plain}", '```json\n{{"action": "{name}"}}\n```')


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_whole_games_are_played_by_text_alone(players: int) -> None:
    """Nothing but words goes in or out. Every seventh answer is wrong, and the error says how to go on."""
    game, rng = official(players), random.Random(players)
    states, number = game.new_states([players]), 0
    while not game.is_terminal(states)[0]:
        listed = [line.partition(": ")[0].split() for line in text.describe_actions(game, states).splitlines()]
        names = [name for _, name in listed]
        if number % 7 == 0:
            before = states.tobytes()
            with pytest.raises(text.AnswerError, match="'sell gold' is no action") as refused:
                text.parse_answer(game, states, "sell gold, then fly away")
            assert states.tobytes() == before
            assert str(refused.value).rpartition("legal are ")[2].split(", ") == names
        action, name = rng.choice(listed)
        answer = rng.choice(FORMS).format(name=name, number=action, plain=name.replace("_", " ").replace(":", " "))
        assert text.parse_answer(game, states, answer) == [int(action)]
        game.step(states, [int(action)])
        number += 1
    told = text.describe_result(game, states).splitlines()
    assert told[0].startswith("game over after")
    finals = game.results(states)["final"][0, :players].tolist()
    assert [int(line.partition(": ")[2].split()[0]) for line in told[1:]] == finals
    shown = text.describe_position(game, states).splitlines()
    assert shown[0] == told[0]
    assert [int(line.split()[-1]) for line in shown[-players:]] == finals
    assert text.describe_actions(game, states) == ""
    with pytest.raises(text.AnswerError, match=r"^buy is illegal; the game is over$"):
        text.parse_answer(game, states, "buy")
