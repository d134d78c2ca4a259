"""`solve` against brute force on hand-made endgames, and on endgames that a person can solve.

The brute force is max^n from RULES 5: every sequence of actions by `Game.step`, scored by the functions of `naive.py`.
A mover maximises its share of the win, then its margin; ties go to the outcome found first.
"""

from fractions import Fraction

import numba
import numpy as np
import pytest

import naive
from bombay_agents import turns
from bombay_agents.search import last_round
from helpers.position import last_turn, official, play, position, variant

SLOW = numba.config.DISABLE_JIT


# --- Brute force ---


def outcomes(game, states):
    """The (1,) states in which the mover's turn can end, each once, in the order of breadth-first search."""
    level, seen, ended = states, set(), []
    while len(level):
        lanes, actions = np.nonzero(game.legal_actions(level))
        after = level[lanes]
        game.step(after, actions)
        going = []
        for lane in range(len(after)):
            record = after[lane : lane + 1]
            if record.tobytes() not in seen:
                seen.add(record.tobytes())
                (going if record["current_player"] == states["current_player"] else ended).append(record)
        level = np.concatenate(going) if going else level[:0]
    return ended


def score(game, state):
    """Shares of the win and final rupees of a game that is over (RULES 5)."""
    seats = range(game.num_players)
    clients = [int(state["clients"][seat] + state["client_palace_tokens"][seat]) for seat in seats]
    empire = [clients[seat] + int((state["palace"] == 1 + seat).sum()) for seat in seats]
    city_tokens = [int(state["city_tokens"][seat].sum() + state["city_palace_tokens"][seat]) for seat in seats]
    majority = naive.majority_awards(empire, game.rules.majority)
    fame = [naive.fame_award(number, game.rules.fame) for number in city_tokens]
    final = [int(state["rupees"][seat]) + majority[seat] + fame[seat] for seat in seats]
    winners = naive.winning_seats(final, clients)
    return [Fraction(int(seat in winners), len(winners)) for seat in seats], final


def brute_force(game, states, known):
    """Shares and finals under best play, and the state after the mover's best turn; `known` caches results."""
    key = states.tobytes()
    if key not in known:
        mover, best = int(states["current_player"][0]), None
        for after in outcomes(game, states):
            over = after["current_player"][0] < 0
            shares, final = score(game, after[0]) if over else brute_force(game, after, known)[:2]
            utility = shares[mover], Fraction(game.num_players * final[mover] - sum(final), game.num_players)
            if best is None or utility > best[0]:
                best = utility, shares, final, after
        known[key] = best[1:]
    return known[key]


def assert_as_brute_force(game, states):
    states = np.asarray(states).view(game.state_dtype, np.ndarray)
    before = states.copy()
    found = last_round.solve(game, states)
    assert (states == before).all()
    shares, final, after = brute_force(game, states, {})
    assert found.final.tolist() == final
    assert found.win_share.tolist() == pytest.approx([float(share) for share in shares])
    assert play(game, states, *map(game.action_name, found.actions)).tobytes() == after.tobytes()


# --- Endgames ---


def endgame_position(game, left, **facts):
    """A position with `left` turns to the end of the game."""
    last = game.rules.sets - 1
    first = last % game.num_players if game.rules.rotate_first_player else 0
    player = (first + game.num_players - left) % game.num_players
    return position(game, set=last, turn=game.rules.turns_per_set - 1, player=player, **facts)


BAZAAR = {  # all can sell, build, or pay a toll
    "elephants": {0: "Bombay", 1: "G5"},
    "baskets": {0: ["blue", "orange"], 1: ["purple"]},
    "rupees": [6, 8],
    "palaces": {"G7": 1, "H1": 0},
}
CROWD = {
    "elephants": {0: "Indore", 1: "G2", 2: "Nagpur"},
    "baskets": {0: ["purple"], 1: ["orange", "yellow"], 2: ["blue"]},
    "rupees": [7, 8, 7],
    "clients": [1, 0, 1],
    "palaces": {"G1": 0, "H2": 2},
}
RACE = {  # for the third City token
    "elephants": {0: "Hyderabad", 1: "Hyderabad", 2: "G8", 3: "B"},
    "baskets": {0: ["yellow"], 1: ["blue", "purple"], 2: ["yellow"], 3: ["orange"]},
    "rupees": [5, 6, 9, 7],
    "clients": [2, 2, 0, 1],
    "city_tokens": {0: ["Bombay", "Indore"], 1: ["Bombay", "Nagpur"], 3: ["Indore"]},
}
QUIET = {"rupees": [3, 3, 3, 3, 4], "clients": [1, 1, 0, 1, 1]}  # five players, tied up to a purchase or a rupee
SHORT = {"actions_per_turn": 1, "buys_per_turn": 1}
ENDGAMES = {
    "2 players, last turn": (official(2), 1, BAZAAR),
    "2 players, two turns": (official(2), 2, BAZAAR | {"actions_left": 1}),
    "2 players, tolls": (official(2), 2, {"elephants": {0: "G5", 1: "E3"}, "palaces": {"H1": 0, "G7": 1}}),
    # Consolidating draws level; Client tokens break the tie, one way or the other.
    **{
        f"2 players, {where}": (official(2), 1, {"at": "A", "rupees": [4, 5], "clients": clients, "palaces": palaces})
        for where, clients, palaces in (("level", [], {}), ("ahead", [1, 0], {"G7": 1}), ("behind", [0, 1], {"G7": 0}))
    },
    "3 players, last turn": (official(3), 1, CROWD),
    "3 players, three short turns": (variant(3, **SHORT), 3, CROWD),
    "4 players, a bale token": (official(4), 1, RACE | {"at": "G4", "basket": ["blue"]}),
    "4 players, no rotation": (variant(4, rotate_first_player=False, **SHORT), 3, RACE),
    "5 players, two short turns": (variant(5, **SHORT), 2, QUIET | {"elephants": {0: "E1", 2: "G8", 4: "Bombay"}}),
}
LONG_ENDGAMES = {
    "2 players, two whole turns": (official(2), 2, BAZAAR),
    "3 players, three turns": (official(3), 3, CROWD | {"actions_left": 1}),
    "4 players, four short turns": (variant(4, **SHORT), 4, RACE),
    "5 players, three turns of two actions": (variant(5, actions_per_turn=2), 3, QUIET),
}
if not SLOW:  # thousands of turns, tens of milliseconds each with the compiler off
    ENDGAMES |= LONG_ENDGAMES


@pytest.mark.parametrize(("game", "left", "facts"), ENDGAMES.values(), ids=ENDGAMES)
def test_solve_agrees_with_brute_force(game, left, facts):
    assert_as_brute_force(game, endgame_position(game, left, **facts))


# --- Endgames that a person can solve ---


def solved(game, states):
    """The turn by names, shares and finals."""
    found = last_round.solve(game, states)
    return [game.action_name(action) for action in found.actions], found.win_share.tolist(), found.final.tolist()


def test_four_rupees_now_would_lose_the_majority():
    #  A sale in Bombay brings 4 for blue, 1 and a Client token for orange. The opponent leads the empire by one, worth 4.
    #  blue:  10 + 4 = 14,      10 + 4 = 14, and the tie goes to the Client token
    #  orange: 10 + 1 + 2 = 13, 10 + 2 = 12
    states = last_turn(at="Bombay", basket=["blue", "orange"], actions_left=1, rupees=[10, 10], clients=[0, 1])
    assert solved(official(2), states) == (["sell:orange"], [1, 0], [13, 12])


def test_four_rupees_now_would_make_the_opponents_sale_better():
    #  Bombay: blue, purple, orange. Seat 1 has one action and both; then seat 0 sells its purple there.
    #  blue:   5 + 4 = 9,   2 + 4 + 4 = 10: purple is then on top, and its Client token leads the empire
    #  purple: 5 + 3 = 8,   2 + 1 + 4 = 7: purple is at the bottom
    game = official(2)
    elephants, baskets = {0: "Bombay", 1: "Bombay"}, {0: ["purple"], 1: ["blue", "purple"]}
    states = endgame_position(game, 2, elephants=elephants, baskets=baskets, actions_left=1, rupees=[2, 5])
    assert solved(game, states) == (["sell:purple"], [0, 1], [7, 8])


def test_a_bale_that_is_taken_is_the_one_that_sells():
    #  G4 ── Nagpur, which buys orange, yellow, blue from the top; the left market holds blue and orange
    game = official(4)
    states = play(game, last_turn(game, at="G4", basket=["yellow"]), "build:yellow")
    assert solved(game, states)[0] == ["take:orange", "move:Nagpur", "sell:orange"]
    # With no action left the choice does not matter and the first is taken; the mover's palace counts already.
    states = play(game, last_turn(game, at="G4", basket=["yellow"], actions_left=1), "build:yellow")
    assert solved(game, states) == (["take:blue"], [0, 0, 1, 0], [4, 4, 10, 4])


# --- What cannot be solved ---


def test_only_the_last_round_is_solved():
    game = official(3)
    over = play(game, last_turn(game), "end_turn")
    early = position(game, set=2, turn=3)
    for states in (over, early, position(game)):
        with pytest.raises(ValueError, match=r"^only positions in the last game turn of the last set can be solved$"):
            last_round.solve(game, states)
    assert turns.distinct_turns(game, over) == []


@pytest.mark.parametrize("function", [last_round.solve, turns.distinct_turns])
def test_only_one_state_of_the_game_is_taken(function):
    game = official(2)
    states = last_turn(game)
    for wrong, complaint in (
        (np.concatenate([states, states]), "^state must be one state, not 2$"),
        (states.tolist(), "^states must be an array of this game's state_dtype, not list$"),
        (last_turn(official(3)), "^states, lane 0: num_players is 3; it must be 2$"),
    ):
        with pytest.raises(ValueError, match=complaint):
            function(game, wrong)


@pytest.mark.parametrize("limit", [0, 2.0, 2**63])
def test_a_limit_out_of_range_is_refused(limit):
    game = official(2)
    with pytest.raises(ValueError, match=rf"^limit is {limit}; it must be a whole number from 1 to \d+$"):
        last_round.solve(game, last_turn(game), limit)


def test_the_limit_counts_ways_to_the_end():
    game = variant(2, **SHORT)
    states = endgame_position(game, 1, **BAZAAR)
    needed = len(last_round.solve(game, states).after)
    assert 1 < needed <= len(turns.distinct_turns(game, states))  # some differ only in what does not matter any more
    last_round.solve(game, states, limit=needed)
    with pytest.raises(last_round.TooLargeError, match=f"limit={needed - 1} ways") as caught:
        last_round.solve(game, states, limit=needed - 1)
    assert "\n" not in str(caught.value)
