"""OpenSpiel's own MCTS on Bombay, as an agent of the arena.

    python training/examples/openspiel_mcts.py --simulations 50 --players 4

It needs the extra `trainers`. Nothing is learned: positions are evaluated by random rollouts. The search cannot look into the
bag, because restocks are chance nodes (`bombay_training.openspiel`). The agent `flat-mc` does the like in compiled code.
"""

from typing import Annotated

import numpy as np
import typer
from common import Blocks, Players, evaluate
from open_spiel.python.algorithms import mcts

from bombay_env import Game
from bombay_training import openspiel


class MCTSAgent:
    """OpenSpiel's `MCTSBot` as an agent for the arena, for one number of players; each simulation ends with a random rollout."""

    name = "openspiel-mcts"

    def __init__(self, num_players: int, simulations: int) -> None:
        self.game, self.simulations = openspiel.BombayGame({"players": num_players}), simulations

    def check_game(self, game: Game) -> None:
        """Raise ValueError unless it can play the game, which must have the official rules and the packaged board."""
        if game != self.game.game:
            raise ValueError("openspiel-mcts plays by the official rules, at the number of players it was made for")

    def act(self, game: Game, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Actions (batch,) int64 for states (batch,), one after the other."""
        random = np.random.RandomState(rng.integers(2**32))
        evaluator = mcts.RandomRolloutEvaluator(1, random)
        bot = mcts.MCTSBot(self.game, 2.0, self.simulations, evaluator, random_state=random)
        return np.array([bot.step(self.game.state_at(states[i : i + 1])) for i in range(len(states))], np.int64)


def main(
    simulations: Annotated[int, typer.Option(help="For each decision.", min=1)] = 50,
    players: Players = 4,
    blocks: Blocks = 10,
) -> None:
    """Let OpenSpiel's MCTS play deals from every seat against `random`."""
    share = evaluate(MCTSAgent(players, simulations), players, "random", blocks)
    print(f"win share against random: {share}, par {1 / players:.3f}")


if __name__ == "__main__":
    typer.run(main)
