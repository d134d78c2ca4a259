"""What the examples share: options, a trained policy as an agent, its win share against another, and entries to tracks."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer

from bombay_env import MAX_PLAYERS, MIN_PLAYERS, Agent, Game, bombay_v0
from bombay_training import arena, statistics

# Options of every example.
Minutes = Annotated[float, typer.Option(help="How long to learn.", min=0)]
Players = Annotated[int, typer.Option(help="Number of players.", min=MIN_PLAYERS, max=MAX_PLAYERS)]
Seed = Annotated[int, typer.Option(help="Of the deals and of all random choices.", min=0, max=2**32 - 1)]
Blocks = Annotated[int, typer.Option(help="Deals to play, each from every seat.", min=2)]
TRACKS = {"rules-1M": 1_000_000, "rules-10M": 10_000_000, "rules-100M": 100_000_000}  # decisions of all seats
TrackName = Annotated[Literal["rules-1M", "rules-10M", "rules-100M"], typer.Argument(help="How much to learn from.")]

# Observations (batch, F) float32 and masks (batch, A) bool → actions (batch,).
Policy = Callable[[np.ndarray, np.ndarray], np.ndarray]


class PolicyAgent:
    """A policy as an agent for the arena, with a name for tables."""

    def __init__(self, policy: Policy, name: str) -> None:
        self.policy, self.name = policy, name

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (batch,) int64 for states (batch,)."""
        return np.asarray(self.policy(game.observe(states), game.legal_actions(states)), np.int64)


def evaluate(
    policy: Policy | Agent, num_players: int, opponent: str = "random", blocks: int = 250
) -> statistics.Estimate:
    """The win share against copies of `opponent`, with a 95 % interval over blocks: deals that are played from each seat."""
    agent = policy if isinstance(policy, Agent) else PolicyAgent(policy, "trained")
    game = bombay_v0.raw_env(num_players).game
    return statistics.share_with_interval(arena.one_vs_rest(game, agent, opponent, blocks, seed=1))


def report(policy: Policy | Agent, num_players: int, blocks: int = 250) -> None:
    """Print the results of `evaluate` against `random`, which even an agent that always consolidates beats, and `greedy`."""
    for opponent in ("random", "greedy"):
        share = evaluate(policy, num_players, opponent, blocks)
        print(f"win share against {opponent}: {share}, par {1 / num_players:.3f}")


class Entry:
    """The nets of one run for a track: kept after 20,000, 50,000, 100,000 … decisions, and scored by `bombay track`.

    Args:
        track: a name of `TRACKS`.
        name: of the learner.
        seed: of the run.
        out: the folder for nets and scores. Default: runs/track-…
    """

    def __init__(self, track: str, name: str, seed: int, out: Path | None) -> None:
        self.track, self.name, self.seed, self.decisions = track, name, seed, TRACKS[track]
        self.out = out or Path("runs") / f"track-{track}-{name}"
        steps = [digit * 10**power for power in range(4, 9) for digit in (1, 2, 5)]
        self.due = [step for step in steps if 20_000 <= step < self.decisions] + [self.decisions]
        self.nets: dict[int, Path] = {}  # by decisions

    def keep(self, decisions: int, net: Callable[[], Any]) -> None:
        """Save `net()`, an object with `save`, if one is due after so many decisions."""
        if self.due and decisions >= self.due[0]:
            self.due = [step for step in self.due if step > decisions]
            self.nets[decisions] = path = self.out / f"seed-{self.seed}" / f"agent-{decisions:011}.safetensors"
            path.parent.mkdir(parents=True, exist_ok=True)
            net().save(path)

    def score(self) -> None:
        """Play the games of the track with all nets, and write the entry."""
        agents = [f"--agent={decisions}=net:path={path}" for decisions, path in self.nets.items()]
        about = [*agents, "--name", self.name, "--seed", str(self.seed), "--out", str(self.out)]
        subprocess.run([sys.executable, "-m", "bombay_training.cli.main", "track", self.track, *about], check=True)
