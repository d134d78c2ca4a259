"""Other environments under random legal play, with which `python -m benchmarks` compares this one.

Only decisions of players count: no chance nodes, no steps with None of finished agents, no games without a decision to make.
Each peer runs in the fastest form we found. Its row says what a decision includes: the random policy, the legal actions (mask),
the mover's observation, the deal of the next game (autoreset).

This module knows nothing of Bombay; `aec_loop` plays any PettingZoo environment, so the same code plays ours and theirs. The
extra `peers` installs the libraries, and each is imported only where it is used. JAX chooses its number of threads when it
starts, and they do not survive a fork. So `measure` runs each peer in a process of its own, and JAX must never be imported in a
process that forks later.
"""

import dataclasses
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

ROOT: Final = Path(__file__).parents[1]
OPENSPIEL_GAME: Final = "crazy_eights(players=5)"
OPENSPIEL_GAME_DECISIONS: Final = 80  # of players in a game, approximately
PGX_BATCH: Final = 4096
PGX_SCAN: Final = 8  # steps in one call of a compiled scan
PGX_TRIAL_STEPS: Final = {"connect_four": 160, "sparrow_mahjong": 8}  # a quarter to half a second
CALIBRATION_SECONDS: Final = 0.2

# Plays about this many decisions. It returns a function that counts them, to be called after the clock has stopped, because
# counting can take as long as playing.
Play = Callable[[int], Callable[[], int]]


class PeerError(RuntimeError):
    """A peer could not be measured; the message is one line."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """An environment to compare with, and how it is played.

    Args:
        key: its short name, by which the process that measures it finds it.
        name: its name in the report.
        includes: what the time of a decision covers.
        packages: the distributions it needs.
        threads: how many it uses; None if the library uses as many as the process has processors.
        make: takes a seed, sets everything up, compiles and warms up, and returns a function that plays.
    """

    key: str
    name: str
    includes: str
    packages: tuple[str, ...]
    threads: int | None
    make: Callable[[int], Play]


@dataclasses.dataclass(frozen=True)
class Clocked:
    """One timed run.

    Attributes:
        decisions: of players.
        seconds: wall time.
        cpu_seconds: of all threads of the process.
    """

    decisions: int
    seconds: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Decisions per second."""
        return self.decisions / self.seconds

    @property
    def cores(self) -> float:
        """Mean number of busy processors."""
        return self.cpu_seconds / self.seconds


def available() -> list[tuple[Peer, str | None]]:
    """Every peer, with the reason in one line why it cannot be measured here, or None. Imports none of them."""
    return [(peer, missing(peer)) for peer in PEERS]


def missing(peer: Peer) -> str | None:
    """The reason in one line why a peer cannot be measured here; None if its packages are installed."""
    absent = [package for package in peer.packages if _version(package) is None]
    return f"not installed: {', '.join(absent)} (extra `peers`)" if absent else None


def versions(peer: Peer) -> dict[str, str | None]:
    """The installed versions of the packages that a peer needs."""
    return {package: _version(package) for package in peer.packages}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


# --- measuring ---


def clock(play: Play, decisions: int) -> Clocked:
    """Play about this many decisions and measure the time, without the time to count them."""
    cpu, wall = time.process_time(), time.perf_counter()
    count = play(decisions)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    return Clocked(count(), seconds, cpu_seconds)


def repeat(play: Play, repeats: int, seconds: float) -> list[Clocked]:
    """Measured runs of about this many seconds each, all with the same number of decisions."""
    decisions = decisions_in(play, seconds)
    return [clock(play, decisions) for _ in range(repeats)]


def decisions_in(play: Play, seconds: float) -> int:
    """The number of decisions that take about this long. Afterwards `play` is warm."""
    decisions = 1
    while (trial := clock(play, decisions)).seconds < min(seconds, CALIBRATION_SECONDS):
        decisions = 2 * max(decisions, trial.decisions)
    return max(1, round(trial.rate * seconds))


def measure(
    peer: Peer,
    repeats: int = 5,
    seconds: float = 1.0,
    threads: int | None = None,
    seed: int = 0,
    timeout: float = 600.0,
) -> list[Clocked]:
    """Measure a peer in a process of its own.

    Args:
        peer: one of `PEERS`.
        repeats: how many runs.
        seconds: approximate length of a run.
        threads: how many processors it may use; None for all. Linux enforces it; on other systems only XLA does.
        seed: of the random play.
        timeout: seconds for everything, including compilation.

    Raises:
        PeerError: it is not installed, failed, or exceeded the timeout.
    """
    if reason := missing(peer):
        raise PeerError(f"{peer.name}: {reason}")
    command = [sys.executable, "-m", "benchmarks.peers", peer.key, str(repeats), str(seconds), str(seed)]
    try:
        done = subprocess.run(
            [*command, str(threads or 0)], cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise PeerError(f"{peer.name}: took longer than {timeout:.0f} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise PeerError(f"{peer.name}: {last}")
    return [Clocked(**run) for run in json.loads(done.stdout.splitlines()[-1])]


def main() -> None:
    """The program that `measure` starts: takes key, repeats, seconds, seed and threads (0 for all), prints the runs as JSON."""
    key, repeats, seconds, seed, threads = sys.argv[1:]
    _limit_threads(int(threads))
    peer = {peer.key: peer for peer in PEERS}[key]
    runs = repeat(peer.make(int(seed)), int(repeats), float(seconds))
    print(json.dumps([dataclasses.asdict(run) for run in runs]))


def _limit_threads(threads: int) -> None:
    """Restrict this process to this many processors (0 for all). Called before any library starts its threads."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if not threads:
        return
    os.environ["NPROC"] = str(threads)  # the size of XLA's pool
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


# --- PettingZoo ---


def aec_loop(env: Any, rng: np.random.Generator, decisions: int) -> int:
    """Play a PettingZoo AEC environment at random, game after game, with the loop of its documentation.

    Args:
        env: observations are {"observation", "action_mask"}. It is reset with a seed first, then without.
        rng: chooses, and gives the seed.
        decisions: when this many have been made, play stops, even in the middle of a game.

    Returns:
        the number of decisions: actions other than the None of finished agents.
    """
    made = 0
    env.reset(seed=int(rng.integers(2**31)))
    while made < decisions:
        for _ in env.agent_iter():
            observation, _reward, terminated, truncated, _info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            env.step(rng.choice(np.flatnonzero(observation["action_mask"])))
            made += 1
            if made == decisions:
                return made
        env.reset()
    return made


def _pettingzoo_connect_four(seed: int) -> Play:
    # The function of `pettingzoo.classic.connect_four_v3`, whose import gives a deprecation warning.
    from pettingzoo.classic.connect_four.connect_four import env as make_env

    env, rng = make_env(), np.random.default_rng(seed)

    def play(decisions: int) -> Callable[[], int]:
        made = aec_loop(env, rng, decisions)
        return lambda: made

    play(100)
    return play


# --- OpenSpiel ---


def player_actions(state: Any) -> int:
    """The number of players' actions, without chance, in the history of an OpenSpiel state."""
    return sum(action.player >= 0 for action in state.full_history())


def _openspiel_bots(seed: int) -> Play:
    import pyspiel

    game = pyspiel.load_game(OPENSPIEL_GAME)
    bots = [pyspiel.make_uniform_random_bot(seat, seed + seat) for seat in range(game.num_players())]
    chance = random.Random(seed)

    def play(decisions: int) -> Callable[[], int]:
        states = [game.new_initial_state() for _ in range(max(1, decisions // OPENSPIEL_GAME_DECISIONS))]
        for state in states:
            pyspiel.evaluate_bots(state, bots, chance.getrandbits(31))
        return lambda: sum(map(player_actions, states))

    play(1000)
    return play


def _openspiel_python(seed: int) -> Play:
    import pyspiel

    game = pyspiel.load_game(OPENSPIEL_GAME)
    rng = random.Random(seed)  # the loop is 2 to 3 times as fast as with NumPy's generator

    def play(decisions: int) -> Callable[[], int]:
        made = 0
        while made < decisions:
            made += openspiel_game(game.new_initial_state(), rng)
        return lambda: made

    play(100)
    return play


def openspiel_game(state: Any, rng: random.Random) -> int:
    """Play an OpenSpiel state to its end from Python, with the mover's observation tensor before each decision.

    Returns:
        the number of players' decisions.
    """
    made = 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, weights = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, weights)[0])
            continue
        legal = state.legal_actions()
        state.observation_tensor()
        state.apply_action(rng.choice(legal))
        made += 1
    return made


# --- Pgx ---


def _pgx(game: str, seed: int) -> Play:
    """A batch of Pgx games with policy, mask, observation and autoreset compiled into one function.

    Both a compiled step called from Python and a compiled `lax.scan` of steps are tried, and the faster one is used; which that
    is depends on the game and the number of processors. Observation and mask are fields of the state that every step returns,
    so the compiler cannot drop them, and nothing extra slows the peer down.
    """
    import jax

    jax.config.update("jax_platforms", "cpu")
    import pgx
    from jax import numpy as jnp
    from pgx.experimental.wrappers import auto_reset

    env = pgx.make(game)
    step_batch = jax.vmap(auto_reset(env.step, env.init))

    def step(carry: Any, _: Any = None) -> tuple[Any, Any]:
        state, key = carry
        key, policy_key, step_key = jax.random.split(key, 3)
        mask = state.legal_action_mask
        # The largest uniform number at a legal action: a uniform choice, without the logarithms of the Gumbel trick.
        action = jnp.argmax(jnp.where(mask, jax.random.uniform(policy_key, mask.shape), -1), axis=1)
        state = step_batch(state, action, jax.random.split(step_key, PGX_BATCH))
        return (state, key), mask.any(axis=1).sum()  # games with a decision to make

    def scan(carry: Any) -> tuple[Any, Any]:
        return jax.lax.scan(step, carry, length=PGX_SCAN)

    def player(advance: Any, steps: int) -> Play:
        start, key = jax.random.split(jax.random.key(seed))
        carry = jax.jit(jax.vmap(env.init))(jax.random.split(start, PGX_BATCH)), key

        def play(decisions: int) -> Callable[[], int]:
            nonlocal carry
            deciding = []
            for _ in range(-(-decisions // (PGX_BATCH * steps))):
                carry, lanes = advance(carry)
                deciding.append(lanes)
            jax.block_until_ready((carry, deciding))
            return lambda: sum(int(lanes.sum()) for lanes in deciding)

        play(1)
        return play

    players = player(jax.jit(step, donate_argnums=0), 1), player(jax.jit(scan, donate_argnums=0), PGX_SCAN)
    return _faster(players, PGX_TRIAL_STEPS[game] * PGX_BATCH)


def _faster(players: tuple[Play, ...], decisions: int) -> Play:
    """The player with the best of three trials each; the players take turns."""
    rates = [[clock(play, decisions).rate for play in players] for _ in range(3)]
    return players[int(np.argmax(np.max(rates, axis=0)))]


def _pgx_connect_four(seed: int) -> Play:
    return _pgx("connect_four", seed)


def _pgx_sparrow_mahjong(seed: int) -> Play:
    return _pgx("sparrow_mahjong", seed)


PEERS: Final = (
    Peer(
        "pettingzoo-connect-four",
        "PettingZoo connect_four, AEC loop",
        "policy, mask, observation, reset, from Python",
        ("pettingzoo", "pygame-ce"),
        1,
        _pettingzoo_connect_four,
    ),
    Peer(
        "openspiel-bots",
        "OpenSpiel crazy_eights, 5 players, C++ random bots",
        "policy, legal actions, chance, new game; no observation",
        ("open_spiel",),
        1,
        _openspiel_bots,
    ),
    Peer(
        "openspiel-python",
        "OpenSpiel crazy_eights, 5 players, from Python",
        "policy, legal actions, observation, chance, new game, from Python",
        ("open_spiel",),
        1,
        _openspiel_python,
    ),
    Peer(
        "pgx-connect-four",
        f"Pgx connect_four, batch {PGX_BATCH}, CPU",
        "policy, mask, observation, autoreset",
        ("pgx", "jax", "jaxlib"),
        None,
        _pgx_connect_four,
    ),
    Peer(
        "pgx-sparrow-mahjong",
        f"Pgx sparrow_mahjong, batch {PGX_BATCH}, CPU",
        "policy, mask, observation, autoreset",
        ("pgx", "jax", "jaxlib"),
        None,
        _pgx_sparrow_mahjong,
    ),
)


if __name__ == "__main__":
    main()
