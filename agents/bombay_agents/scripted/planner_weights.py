"""The weights of the planner's value: `PlannerWeights`, those of `planner-v1`, and the files that hold tuned ones.

The value itself stands in `planner_survey.py` and `planner_value.py`; `bombay_training/learners/tune.py` tunes weights.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bombay_env import checks
from bombay_env.files import json_form, json_text

MAX_BYTES: Final = 1 << 16  # of a file of weights
MAX_WEIGHT: Final = 1e6  # rupees or turns, either sign
WEIGHT: Final = json_form.number(-MAX_WEIGHT, MAX_WEIGHT)


class PlannerWeights(NamedTuple):
    """The numbers in the planner's value that do not follow from the rules; they are tuned by self-play."""

    action: float  # rupees that an action is worth early in the game
    idle: float  # so many actions at the end of the game are worth nothing unless a plan needs them
    doubt: float  # uncertainty of empire totals in the last turn, in tokens
    doubt_per_turn: float  # added for each turn to come
    fame: float  # discount of a fame award for each City token still missing
    traffic: float  # share of its tolls that a palace really earns; the others can go round it
    rivals: float  # weight of the others' mean rupees, which count against the player
    crowd: float  # probability that a rival who can be there first sells the same colour
    second: float  # discount of what the second bale of a plan brings
    unknown: float  # rupees that silk of later restocks costs more than in the centre market
    scarce: float  # rupees off the worth of buying the last bale of a colour; half of it for one of two


WEIGHTS_V1: Final[Mapping[int, PlannerWeights]] = {  # of `planner-v1`, by number of players; they never change
    2: PlannerWeights(
        action=0.584,
        idle=3.604,
        doubt=0.585,
        doubt_per_turn=0.16,
        fame=0.627,
        traffic=0.636,
        rivals=0.324,
        crowd=0.324,
        second=0.838,
        unknown=-0.37,
        scarce=0.356,
    ),
    3: PlannerWeights(
        action=0.566,
        idle=2.199,
        doubt=0.929,
        doubt_per_turn=0.255,
        fame=0.65,
        traffic=0.391,
        rivals=0.146,
        crowd=0.351,
        second=0.936,
        unknown=0.321,
        scarce=0.616,
    ),
    4: PlannerWeights(
        action=0.658,
        idle=2.813,
        doubt=0.814,
        doubt_per_turn=0.281,
        fame=0.659,
        traffic=0.568,
        rivals=0.187,
        crowd=0.597,
        second=0.974,
        unknown=0.015,
        scarce=0.606,
    ),
    5: PlannerWeights(
        action=0.711,
        idle=3.618,
        doubt=0.496,
        doubt_per_turn=0.245,
        fame=0.659,
        traffic=0.476,
        rivals=0.291,
        crowd=0.191,
        second=0.84,
        unknown=0.143,
        scarce=1.277,
    ),
}


def read_weights(path: Path) -> dict[int, PlannerWeights]:
    """Read the weights in a JSON file, by number of players.

    Raises:
        ValueError: the file cannot be read, or does not hold exactly the fields of `PlannerWeights` for 2 to 5 players, each a
            number of at most `MAX_WEIGHT`. The message is one line.
    """
    try:
        found = json_text.read(path, MAX_BYTES)
    except ValueError as error:
        raise ValueError(f"planner: {error}") from None
    where, names = f"planner: {checks.shown_path(path)}", PlannerWeights._fields
    if not isinstance(found, dict) or set(found) != set(map(str, WEIGHTS_V1)):
        raise ValueError(f"{where} must be an object with the keys {', '.join(map(str, WEIGHTS_V1))}: players")
    for count, weights in found.items():
        if not isinstance(weights, dict) or set(weights) != set(names):
            raise ValueError(f"{where}: {count} must be an object with exactly the keys {', '.join(names)}")
    try:
        json_form.check(found, dict.fromkeys(found, dict.fromkeys(names, WEIGHT)), "weights")
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    return {
        int(count): PlannerWeights(**{key: float(weights[key]) for key in names}) for count, weights in found.items()
    }
