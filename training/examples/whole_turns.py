"""Self-play by whole turns in plain PyTorch: a net values the outcomes of each turn and learns from the ends of its games.

    python training/examples/whole_turns.py --minutes 3 --players 4

The value of an outcome is the mover's margin in rupees if the game ended there, plus what the net expects to be added to it. A
search of your own calls the same two functions: `turn_outcomes` to expand a node, and `play_turns` to follow an edge.
"""

import time
from collections import deque

import numpy as np
import torch
import typer
from common import Blocks, Minutes, Players, Seed, report
from torch import nn

from bombay_agents import TurnOutcomes, play_turns, turn_outcomes
from bombay_env import Game, Rules

NUM_GAMES, KEPT, BATCH, LEARNING_RATE = 64, 8, 256, 1e-3  # games at once, and how often they are learned from
NOISE = 0.1  # of self-play, in tens of rupees


def margins(game: Game, states: np.ndarray, seats: np.ndarray) -> np.ndarray:
    """Rupees above the mean if the game ended now, in tens, (k,): of a seat in each state."""
    final = game.provisional_results(states)["final"]
    return (final[np.arange(len(states)), seats] - final.mean(axis=1)) / 10


class WholeTurns:
    """An agent that plays for the outcome of its turn that it values most."""

    name = "whole-turns"

    def __init__(self, game: Game) -> None:
        self.net = nn.Sequential(nn.Linear(game.num_features, 128), nn.ReLU(), nn.Linear(128, 1))

    def values(self, game: Game, outcomes: TurnOutcomes, movers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the movers expect of outcomes, (k,), and what they see there, (k, F) float32."""
        seen = game.observe(outcomes.states, seats=movers)
        with torch.inference_mode():
            more = self.net(torch.from_numpy(seen)).squeeze(-1).numpy()
        more[game.is_terminal(outcomes.states)] = 0
        return margins(game, outcomes.states, movers) + more, seen

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The first action to the best outcome, (batch,). Later decisions of the turn find the same outcome again."""
        outcomes = turn_outcomes(game, states)
        values, _ = self.values(game, outcomes, game.current_player(states)[outcomes.lanes])
        return outcomes.actions[outcomes.best(values), 0]


def play(game: Game, agent: WholeTurns, seeds: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Play games to the end. Returns what each mover saw after its turn, and how much its margin grew from there to the end."""
    states = game.new_states(seeds)
    views, grew, seats_of, lanes_of = [], [], [], []
    while len(running := np.flatnonzero(~game.is_terminal(states))):
        now, seats = states[running], game.current_player(states[running])
        outcomes = turn_outcomes(game, now)
        values, seen = agent.values(game, outcomes, seats[outcomes.lanes])
        chosen = outcomes.best(values + rng.gumbel(scale=NOISE, size=len(values)))  # a softmax of the values
        play_turns(game, now, outcomes.actions[chosen])
        states[running] = now
        views.append(seen[chosen])
        grew.append(-margins(game, outcomes.states[chosen], seats))
        seats_of.append(seats)
        lanes_of.append(running)
    final = margins(game, states[np.concatenate(lanes_of)], np.concatenate(seats_of))
    return np.concatenate(views), np.concatenate(grew) + final


def train(num_players: int, seconds: float, seed: int = 0) -> WholeTurns:
    """Learn for some seconds on one thread, from `NUM_GAMES` games at least."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    game, rng, games = Game(Rules.official(num_players)), np.random.default_rng(seed), 0
    end = time.monotonic() + seconds
    agent = WholeTurns(game)
    optimizer, recent = torch.optim.Adam(agent.net.parameters(), LEARNING_RATE), deque(maxlen=KEPT)
    while games == 0 or time.monotonic() < end:
        recent.append(play(game, agent, rng.integers(2**63, size=NUM_GAMES), rng))
        views, grew = (torch.from_numpy(np.concatenate(column)) for column in zip(*recent, strict=True))
        for rows in torch.randperm(len(views)).split(BATCH):
            loss = (agent.net(views[rows]).squeeze(-1) - grew[rows].float()).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        games += NUM_GAMES
    print(f"{games:,} games, ", end="")
    return agent


def main(minutes: Minutes = 3, players: Players = 4, seed: Seed = 0, blocks: Blocks = 250) -> None:
    """Learn by self-play, then play deals from every seat and print the win shares."""
    report(train(players, 60 * minutes, seed), players, blocks=blocks)


if __name__ == "__main__":
    typer.run(main)
