"""Other environments under random legal play, with which `python -m benchmarks` compares this one.

Only decisions of players count: no chance nodes, no steps with None of finished agents, no games without a decision to make.
Each peer runs in the fastest form we found. Its row says what a decision includes: the random policy, the legal actions (mask),
the mover's observation, the deal of the next game (autoreset).

`aec_loop` plays any PettingZoo environment, so this project's environment and its peers are measured by the same code. JAX
chooses its number of threads when it starts, and they do not survive a fork, so each peer runs in a process of its own.
"""

import functools
import itertools
import multiprocessing
import os
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

import numpy as np

from benchmarks.measuring import Case, Job, Play, Row, Run, add_to, clock, row

OPENSPIEL: Final = "OpenSpiel crazy_eights, 5 players"
PGX_BATCH: Final = 4096
PEERS: Final[list[Case]] = []
peer = functools.partial(add_to, PEERS)


def measure(number: int, threads: int | None, repeats: int, seconds: float) -> Row:
    """A peer in a process of its own, on so many processors; None for all. Raises what the peer raises."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _limit_threads, (threads,)) as pool:
        return row(PEERS[number], threads, pool.submit(run, number, repeats, seconds).result())


def run(number: int, repeats: int, seconds: float) -> list[Run]:
    """Runs of a peer in this process; before them, one compiles."""
    play = PEERS[number].play()
    return [clock(play, seconds * bool(number)) for number in range(1 + repeats)][1:]


def _limit_threads(threads: int | None) -> None:
    """Restrict this process to this many processors, before any library starts its threads."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if threads:
        os.environ["NPROC"] = str(threads)  # the size of XLA's pool
        if hasattr(os, "sched_setaffinity"):  # elsewhere only XLA keeps to it
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def jobs(_game: Any, repeats: int, seconds: float) -> Iterator[Job]:
    """Every peer on one processor; those that use all also on all, which can be slower on a shared machine."""
    for number, peer in enumerate(PEERS):
        for threads in (1, None) if peer.threaded else (1,):
            yield peer.name, functools.partial(measure, number, threads, repeats, seconds)


def aec_loop(env: Any, rng: np.random.Generator) -> Play:
    """Play a PettingZoo AEC environment at random, game after game, with the loop of its documentation."""
    env.reset(seed=int(rng.integers(2**31)))
    while True:
        made = 0
        for _ in env.agent_iter():
            observation, _reward, terminated, truncated, _info = env.last()
            if terminated or truncated:
                env.step(None)
            else:
                env.step(rng.choice(np.flatnonzero(observation["action_mask"])))
                made += 1
        yield made
        env.reset()


@peer("PettingZoo connect_four, AEC loop", "policy, mask, observation, reset, from Python")
def _connect_four() -> Play:
    # The function of `pettingzoo.classic.connect_four_v3`, whose import gives a deprecation warning.
    from pettingzoo.classic.connect_four.connect_four import env

    return aec_loop(env(), np.random.default_rng(0))


@peer(f"{OPENSPIEL}, C++ random bots", "policy, legal actions, chance, new game; no observation")
def openspiel_bots() -> Play:
    """A game after the other; players' actions, without chance, are counted in its history."""
    import pyspiel

    game, chance = pyspiel.load_game("crazy_eights(players=5)"), random.Random(0)
    bots = [pyspiel.make_uniform_random_bot(seat, seat) for seat in range(game.num_players())]
    while True:
        state = game.new_initial_state()
        pyspiel.evaluate_bots(state, bots, chance.getrandbits(31))
        yield lambda state=state: sum(action.player >= 0 for action in state.full_history())


@peer(f"{OPENSPIEL}, from Python", "policy, legal actions, observation, chance, new game, from Python")
def openspiel_python() -> Play:
    """A game after the other, with the mover's observation tensor before each decision."""
    import pyspiel

    game, rng = pyspiel.load_game("crazy_eights(players=5)"), random.Random(0)  # faster than NumPy's generator here
    while True:
        state, made = game.new_initial_state(), 0
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, weights)[0])
                continue
            legal = state.legal_actions()
            state.observation_tensor()
            state.apply_action(rng.choice(legal))
            made += 1
        yield made


def _pgx(game: str, steps: int) -> Play:
    """A batch of Pgx games with policy, mask, observation and autoreset compiled into one function.

    Scans of one step and of eight are tried, and the faster one is used; which that is depends on the game and the number of
    processors. Observation and mask are fields of the state that every step returns, so the compiler cannot drop them, and
    nothing extra slows the peer down. The program waits for the results after so many steps.
    """
    import jax
    import pgx
    from jax import numpy as jnp
    from pgx.experimental.wrappers import auto_reset

    env = pgx.make(game)
    step_batch = jax.vmap(auto_reset(env.step, env.init))

    def step(carry: Any, _: Any) -> tuple[Any, Any]:
        state, key = carry
        key, policy_key, step_key = jax.random.split(key, 3)
        mask = state.legal_action_mask
        # The largest uniform number at a legal action: a uniform choice, without the logarithms of the Gumbel trick.
        action = jnp.argmax(jnp.where(mask, jax.random.uniform(policy_key, mask.shape), -1), axis=1)
        state = step_batch(state, action, jax.random.split(step_key, PGX_BATCH))
        return (state, key), mask.any(axis=1).sum()  # games with a decision to make

    def play(length: int) -> Play:
        advance = jax.jit(lambda carry: jax.lax.scan(step, carry, length=length), donate_argnums=0)
        start, key = jax.random.split(jax.random.key(0))
        carry = jax.jit(jax.vmap(env.init))(jax.random.split(start, PGX_BATCH)), key
        while True:
            deciding = []
            for _ in range(steps // length):
                carry, lanes = advance(carry)
                deciding.append(lanes)
            jax.block_until_ready(carry)
            yield lambda deciding=deciding: sum(int(lanes.sum()) for lanes in deciding)

    plays = {length: play(length) for length in (1, 8)}
    trials = [(clock(plays[length], 0.3 * bool(trial)), length) for trial, length in itertools.product(range(4), plays)]
    return plays[max(trials[2:], key=lambda trial: trial[0].decisions / trial[0].seconds)[1]]


for _game, _steps in (("connect_four", 64), ("sparrow_mahjong", 8)):
    _name, _play = f"Pgx {_game}, batch {PGX_BATCH}, CPU", functools.partial(_pgx, _game, _steps)
    PEERS.append(Case(_name, "policy, mask, observation, autoreset", _play, threaded=True))
