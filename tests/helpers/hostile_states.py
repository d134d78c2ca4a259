"""States that no game reaches, passed to every method of `Game` that takes states. For a process of its own, which may die:

    python -m helpers.hostile_states COUNT SEED KIND …

COUNT is the number of records of each KIND: one of `KINDS`; `agents`, sound states for the project's agents; `lanes`, games with
autoreset; or `bounds`, which fails unless Numba checks indices. Prints for each the kind, the records tried, and the sound ones.
"""

import contextlib
import random
import sys

import numba
import numpy as np

from bombay_env import Board, Game, IllegalActionError, Rules, batch, registry
from bombay_env.envs.autoreset_games import AutoresetGames
from bombay_env.jit.kernels import kernel
from bombay_env.state import MAX_HOLDING, NOBODY, rows
from helpers.variants import random_rules

QUICK = bool(numba.config.DISABLE_JIT)
BATCH = 10 if QUICK else 500
LARGE = Rules(
    5,
    sets=4,
    turns_per_set=4,
    actions_per_turn=9,
    starting_rupees=(1000, 0, 0, 0, 0),
    bales=(30, 30, 30, 30),
    restock_draw=120,
    basket=9,
    buys_per_turn=9,
    market_rupees=(100, 100, 100),
    sale_rupees=(100, 100, 100),
    sale_clients=(100, 100, 100),
    colour_rupees=(100, 100, 100, 100),
    colour_clients=(100, 100, 100, 100),
    palaces=60,
    palace_tokens=(0, 8, 0, 0),
    city_tokens=100,
    client_supply=10_000,
    majority=(1000, 0, 0, 0, 0),
    fame=(0, 0, 1000),
)
VARIANTS = (
    *map(Rules.official, (2, 3, 4, 5)),
    LARGE,
    Rules(2, client_supply=None, palace_tokens=(0, 0, 0, 8), palaces=0, buys_per_turn=0),
    *(random_rules(random.Random(seed), n) for seed, n in enumerate((2, 3, 4, 5))),
)
AGENTS = (
    *("random", "random-turn", "greedy", "planner-v1", "seller", "ppo", "zero"),
    *("zero-search:nodes=3", "search:nodes=3", "flat-mc:rollouts=8", "champion:nodes=3"),
)


# --- what is allowed, field by field ---


def limits(game):
    """The lowest and the highest value of each field, in the shape of the field or less."""
    rules, kinds = game.rules, np.array([site.kind.name for site in game.board.sites])
    playing = np.arange(5) < rules.num_players
    by_colour = playing[:, None] * np.minimum(rules.bales, rules.basket)
    supply = rules.client_supply
    highest = {
        "seed": 2**64 - 1,
        "num_players": rules.num_players,
        "current_player": rules.num_players - 1,
        "first_player": rules.num_players - 1,
        "set": rules.sets,
        "turn": rules.turns_per_set - 1,
        "actions_left": rules.actions_per_turn,
        "buys": rules.buys_per_turn,
        "take_pending": 1,
        "client_supply": -1 if supply is None else supply if supply < 256 else (supply // 256 + 1) * 256 - 1,
        "city_piles": rules.city_tokens,
        "demand": 3,
        "market": rules.bales,
        "post": 4 * np.isin(kinds, ["INNER_POST", "OUTER_POST"]),
        "palace_token": 4 * (kinds == "PALACE_SITE"),
        "palace": rules.num_players * (kinds != "CITY"),
        "position": (game.board.num_sites - 1) * playing,
        "rupees": MAX_HOLDING * playing,
        "basket": by_colour,
        "palaces_left": rules.palaces * playing,
        "clients": MAX_HOLDING * playing,
        "client_palace_tokens": 8 * playing,
        "city_tokens": playing[:, None],
        "city_palace_tokens": 8 * playing,
    }
    lowest = {"num_players": rules.num_players, "current_player": NOBODY, "client_supply": -1 if supply is None else 0}
    return {name: (lowest.get(name, 0), highest[name]) for name in game.state_dtype.names}


def are_sound(game, states):
    """Whether each state is inside the limits and has a bale to take while a `take` is pending, (batch,) bool."""
    sound = ~((states["take_pending"] != 0) & ~states["market"].any(axis=(1, 2)))
    for name, (low, high) in limits(game).items():
        fits = (states[name] >= low) & (states[name] <= high)
        sound &= fits.reshape(len(states), -1).all(axis=1)
    return sound


# --- records ---


def played(game, rng):
    """States of games just dealt, running, and over."""
    states = game.new_states(rng.integers(2**63, size=BATCH))
    parts = np.split(states, [BATCH // 5, BATCH // 2, BATCH * 4 // 5])
    for part, decisions in zip(parts[1:], (15, 60, None), strict=True):
        game.rollout(part, rng.integers(2**63, size=len(part)), max_decisions=decisions)
    return np.asarray(states)


def with_random_bytes(game, rng):
    """Every byte is random."""
    return rng.integers(256, size=(BATCH, game.state_dtype.itemsize), dtype=np.uint8)


def with_changed_entries(game, rng):
    """States of games with one random entry of one field changed."""
    states = played(game, rng)
    for lane in range(BATCH):
        name = rng.choice(game.state_dtype.names)
        entries = states[lane : lane + 1][name].reshape(-1)
        value = np.frombuffer(rng.bytes(entries.itemsize), entries.dtype)[0]
        states[name].reshape(BATCH, -1)[lane, rng.integers(entries.size)] = value
    return as_bytes(states)


def inside_limits(game, rng):
    """Each entry is random inside its limits, or at one of them, or as it was in a game."""
    states = played(game, rng)
    usual, extreme = rng.choice([0, 0.5, 0.9], BATCH), rng.choice([0, 0.3, 1], BATCH)
    for name, (low, high) in limits(game).items():
        shape = states[name].shape
        kept, edge = (rng.random(shape) < share.reshape(-1, *[1] * (len(shape) - 1)) for share in (usual, extreme))
        low, high = (np.broadcast_to(np.array(bound, states[name].dtype), shape) for bound in (low, high))
        found = rng.integers(low, high, dtype=states[name].dtype, endpoint=True)
        found = np.where(edge, np.where(rng.random(shape) < 0.5, low, high), found)
        states[name] = np.where(kept, states[name], found)
    return as_bytes(states)


KINDS = {
    "bytes": with_random_bytes,
    "entries": with_changed_entries,
    "inside": inside_limits,
}


def as_bytes(states):
    return rows(np.ascontiguousarray(states)).view(np.uint8).reshape(len(states), -1)


# --- calls ---


def calls(game, states, rng):
    """Every method that takes states, by name, as a function without arguments; none changes `states`."""
    count = len(states)
    keys = rng.integers(2**64, size=count, dtype=np.uint64)
    actions, seats = rng.integers(game.num_actions, size=count), rng.integers(game.num_players, size=count)
    draws = rng.multinomial(game.rules.restock_draw, [0.25] * 4, size=count)
    some = states[: 1 + count // 100]

    def step():
        after, masks = states.copy(), game.legal_actions(states)
        game.step(after, (rng.random(masks.shape) * masks).argmax(axis=1))

    def rollout():
        after = states.copy()
        game.rollout(after, keys)
        assert (after["current_player"] == NOBODY).all()

    def restock_outcomes():
        for lane in range(len(some)):
            game.restock_outcomes(some[lane : lane + 1])

    return {
        "legal_actions": lambda: game.legal_actions(states),
        "legal_words": lambda: game.legal_words(states),
        "step": step,
        "step, any action": lambda: game.step(states.copy(), actions),
        "step, restocks": lambda: game.step(states.copy(), game.legal_actions(states).argmax(axis=1), draws),
        "check_states": lambda: game.check_states(states),
        "check_actions": lambda: game.check_actions(states, actions),
        "sample_actions": lambda: game.sample_actions(states, keys),
        "rollout": rollout,
        "rollout, some": lambda: game.rollout(states.copy(), keys, max_decisions=7),
        "current_player": lambda: game.current_player(states),
        "is_terminal": lambda: game.is_terminal(states),
        "results": lambda: game.results(states),
        "provisional_results": lambda: game.provisional_results(states),
        "observe": lambda: game.observe(states),
        "observe, screened": lambda: game.observe(states, seats, screened=True),
        "scrub": lambda: game.scrub(states, keys),
        "restock_outcomes": restock_outcomes,
        "as_record": lambda: [game.as_record(states[lane : lane + 1]) for lane in range(len(some))],
    }


ONE_STATE = ("restock_outcomes", "as_record")  # called on the first few states only
MAY_REFUSE = {  # what these methods may say of sound states
    "step, any action": "is illegal",
    "check_actions": "is illegal",
    "step, restocks": "bales",
    "restock_outcomes": "basket",
}


def error_of(call):
    """The ValueError that a call raises, or None. Any other exception ends the process."""
    try:
        call()
    except ValueError as error:
        return error
    return None


def check_refusal(game, states, sound, rng):
    """Every method refuses a batch with an unsound state, names the first one and changes nothing."""
    before, first = states.tobytes(), int(np.flatnonzero(~sound)[0])
    masks = np.ones((len(states), game.num_actions), np.bool_)
    attempts = {**calls(game, states, rng), "out": lambda: game.legal_actions(states, out=masks)}
    for name, call in attempts.items():
        if name in ONE_STATE and first > len(states) // 100:
            continue
        error = error_of(call)
        message, lane = str(error), 0 if name in ONE_STATE else first
        assert isinstance(error, ValueError), (name, first, states[first])
        assert not isinstance(error, IllegalActionError), (name, message)
        assert message.startswith(f"states, lane {lane}: "), (name, first, message)
        assert "; it must be " in message, (name, message)
        assert "\n" not in message, (name, message)
        assert len(message) < 200, (name, message)
    assert states.tobytes() == before
    assert masks.all()


def check_play(game, states, rng):
    """Every method takes sound states."""
    before = states.tobytes()
    for name, call in calls(game, states, rng).items():
        error = error_of(call)
        assert error is None or MAY_REFUSE.get(name, "nothing") in str(error), (name, str(error))
    assert states.tobytes() == before


def main(kind, count, seed):
    """Try `count` records of one kind; returns how many records there were and how many are sound."""
    rng = np.random.default_rng(seed)
    games = [Game(rules) for rules in VARIANTS]
    tried = accepted = 0
    while tried < count:
        for game in games:
            states = np.ascontiguousarray(KINDS[kind](game, rng)).view(game.state_dtype).reshape(-1)
            sound = are_sound(game, states)
            assert batch.count_unsound(states, game._ranges) == (~sound).sum()
            if not sound.all():
                check_refusal(game, states, sound, rng)
            if sound.any():
                check_play(game, np.ascontiguousarray(states[sound]), rng)
            tried, accepted = tried + len(states), accepted + int(sound.sum())
            if tried >= count:
                break
    return tried, accepted


def try_agents(count, seed):
    """Let agents choose in at least `count` sound states; returns how many there were, twice, as `main` does."""
    rng = np.random.default_rng(seed)
    tried = 0
    while tried < count:
        for n in (2, 3, 4, 5):
            game = Game(Rules.official(n))
            states = inside_limits(game, rng).view(game.state_dtype).reshape(-1)
            states = states[are_sound(game, states) & (states["current_player"] != NOBODY)]
            for agent in map(registry.make, AGENTS):
                for lane in range(len(states)):
                    with contextlib.suppress(OverflowError):  # a turn with too many outcomes
                        state = states[lane : lane + 1]
                        game.check_actions(state, agent.act(game, state, rng))
                tried += len(states)
    return tried, tried


def try_lanes(count, seed):
    """Play at least `count` games with autoreset; returns how many there were, twice, as `main` does."""
    tried = 0
    while tried < count:
        for rules in VARIANTS:
            game = Game(rules, Board.random(seed))
            lanes = AutoresetGames(game, BATCH, seed)
            lanes.rollout(200, seed)
            observations = np.empty((9, BATCH, game.num_features), np.float32)
            lanes.collect(seed, 200, observations, np.empty((9, BATCH, game.num_actions), bool))
            lanes.step(game.sample_actions(lanes.states, lanes.seeds))
            lanes.reset()
            tried += BATCH
    return tried, tried


@kernel
def element(array, index):
    return array[index]


def try_bounds(count, seed):
    """Index 3 of a view of three must be an error, as it is if NUMBA_BOUNDSCHECK is set."""
    try:
        element(np.arange(4)[:3], 3)
    except IndexError:
        return 1, 1
    raise SystemExit("bounds are not checked")


OTHERS = {"agents": try_agents, "lanes": try_lanes, "bounds": try_bounds}

if __name__ == "__main__":
    count, seed = map(int, sys.argv[1:3])
    for kind in sys.argv[3:]:
        print(kind, *(OTHERS[kind](count, seed) if kind in OTHERS else main(kind, count, seed)), flush=True)
