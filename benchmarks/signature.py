"""A digest of the rules that is the same on every machine. It changes only when the rules, chance or actions change."""

import hashlib
import itertools
from typing import Final

import numpy as np

from bombay_env import Game, Rules

GAMES: Final = 10_000


def signature(num_players: int, games: int = GAMES) -> str:
    """A digest of every mask, action and result of seeded random games, 64 hex digits."""
    game, keys = Game(Rules.official(num_players)), np.arange(games, dtype=np.uint64)
    states, digest = game.new_states(keys), hashlib.sha256()
    for index in itertools.count():
        masks = game.legal_actions(states)
        if not masks.any():
            break
        actions = game.sample_actions(states, keys, index)
        digest.update(masks.tobytes())
        digest.update(actions.astype("<i8").tobytes())
        game.step(states, actions)
    results = game.results(states)
    for name in results.dtype.names:
        digest.update(results[name].astype("<f8").tobytes())
    return digest.hexdigest()
