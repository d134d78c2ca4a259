# /// script
# requires-python = ">=3.11"
# dependencies = ["open_spiel==2.0.2", "bombay-env", "chex", "flax", "jax", "optax", "orbax-checkpoint"]
# [tool.uv.sources]
# bombay-env = { path = "../..", editable = true }
# ///
"""OpenSpiel's own example `alpha_zero.py` (JAX), unchanged: two players, a tiny net, two training steps."""

import json
import math
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pyspiel

# glue
from bombay_training import openspiel  # noqa: F401 -- registers the game

NAME = "python_bombay(players=2)"
# end of glue
RUN = Path("run").absolute()
SIZES = {"nn_width": 32, "nn_depth": 2, "max_simulations": 4, "train_batch_size": 16, "replay_buffer_size": 128}
LENGTH = {"max_steps": 2, "checkpoint_freq": 1, "actors": 1, "evaluators": 0}


def main() -> None:
    """Train, then look at the log of the learner, at the games, and at the net that was saved last."""
    flags = {"game": NAME, "path": RUN, "nn_model": "mlp", "nn_api": "nnx"} | SIZES | LENGTH
    sys.argv += [f"--{flag}={value}" for flag, value in flags.items()]
    try:
        runpy.run_module("open_spiel.python.examples.alpha_zero", run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    steps = [json.loads(line) for line in (RUN / "learner.jsonl").read_text().splitlines()]
    losses = [step["loss"]["sum"] for step in steps]
    if len(losses) != 2 or not all(0 < loss < 10 for loss in losses):
        raise SystemExit(f"the losses of two steps are {losses}")
    games = re.findall(r"Returns: (\S+) (\S+); Actions: (.*)", (RUN / "log-actor-0.txt").read_text())
    if len(games) < 2 or any(float(first) + float(second) or "move:" not in moves for first, second, moves in games):
        raise SystemExit(f"the games are {games}")

    from open_spiel.python.algorithms.alpha_zero import evaluator, model_nnx

    game = pyspiel.load_game(NAME)
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.chance_outcomes()[0][0])
    sizes = (game.observation_tensor_shape(), game.num_distinct_actions(), SIZES["nn_width"], SIZES["nn_depth"])
    values = []
    for step in (0, 2):
        model = model_nnx.Model.build_model("mlp", *sizes, 1e-4, 1e-3, str(RUN))
        model.load_checkpoint(step)
        player = evaluator.AlphaZeroEvaluator(game, model)
        values.append(float(np.ravel(player.evaluate(state))[0]))
        actions, chances = zip(*player.prior(state), strict=True)
        if list(actions) != state.legal_actions() or not math.isclose(sum(map(float, chances)), 1, abs_tol=1e-4):
            raise SystemExit(f"the prior of legal actions is {chances}")
    if values[0] == values[1]:
        raise SystemExit("the saved net did not change")
    count = steps[-1]["total_trajectories"]
    print(f"two training steps on {count} games, loss {losses[0]:.2f}, then {losses[1]:.2f}; the saved net loads")


if __name__ == "__main__":  # the processes of the example import this file
    main()
