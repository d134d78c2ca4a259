"""The weights of the planner's value: `PlannerWeights`, and those of `planner-v1`.

The value itself is in `planner_survey.py` and `planner_value.py`. The weights were tuned by CMA-ES in games among planners.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


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
