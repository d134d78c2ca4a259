"""The streams of keyed chance of all three packages, each named once. To change a number is to change what seeds mean.

`chance.random_word(key, stream, index)` draws from them. The keys of the game's own streams are the seeds of games; all others
have keys of their own, so that no draw elsewhere reveals what a game will draw.
"""

from typing import Final

import numpy as np

# The game, keyed by the seed of the game.
DEMAND: Final = np.uint64(1)
POSTS: Final = np.uint64(2)
PALACE_TOKENS: Final = np.uint64(3)
RESTOCK: Final = np.uint64(4)

# Environments and policies of `bombay_env`.
EPISODE: Final = np.uint64(5)  # seeds of the next games in an environment
SEAT: Final = np.uint64(6)  # the learner's seat in an environment with built-in opponents
SCRUB: Final = np.uint64(7)  # seeds of the copies that those opponents get, by number of their moves
OPPONENTS: Final = np.uint64(8)  # seeds of those opponents' random generator
CHOICES: Final = np.uint64(11)  # keys of those opponents' random choices, by number of their moves
LANE_GAMES: Final = np.uint64(12)  # numbers that tell those opponents' games apart
POLICY: Final = np.uint64(9)  # decisions of a random policy
ILLEGAL: Final = np.uint64(10)  # legal actions in place of the learner's illegal ones, by number of these

# Matches.
DEALS: Final = np.uint64(1001)  # of the arena
GAMES: Final = np.uint64(1002)  # keys of the agents' randomness in a game, by deal and seating
MATCH_SCRUBS: Final = np.uint64(1003)  # seeds of the copies that agents get, by number of the decision
MATCH_CHOICES: Final = np.uint64(1004)  # keys of the agents' random choices, by number of the decision
MATCH_GAMES: Final = np.uint64(1005)  # numbers that tell the games of a match apart
REDRAWN_DEALS: Final = np.uint64(1006)  # of games that redraw their set-up or their restocks
REDRAWN_GAMES: Final = np.uint64(1007)  # keys of the agents' randomness in games that redraw it
SEATINGS: Final = np.uint64(1008)  # circular orders of a line-up, by deal

# Games with people and language models, keyed by the seed of the game.
TABLE: Final = np.uint64(1201)  # seeds of the generators of the agents, and of the copies that they get

# Players.
SAMPLED_ACTIONS: Final = np.uint64(2001)  # of a policy net
EPSILON: Final = np.uint64(2007)  # of `greedy` with epsilon: whether a turn is random, and ties in its decisions

# Searches.
ROLLOUT_CHOICES: Final = np.uint64(2002)  # outcomes that seats take in a rollout
ROLLOUT_KEYS: Final = np.uint64(2003)  # keys of rollouts
LOOKAHEAD: Final = np.uint64(2005)  # restocks while looking ahead
TREE_RESTOCKS: Final = np.uint64(2006)  # restocks in a tree

# Learners.
LANES: Final = np.uint64(3001)  # keys of the environments that play at once
RESPONSE_DEALS: Final = np.uint64(3003)  # games against a victim
SELF_PLAY_DEALS: Final = np.uint64(3100)
EXPLORES: Final = np.uint64(3101)  # whether a turn of self-play explores
EXPLORED: Final = np.uint64(3102)  # the outcome that it then takes
