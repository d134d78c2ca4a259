"""Which starting rupees would make the game fair: at most so many vectors are tried, and the choice is confirmed on other deals.

A vector says how many rupees more or less each seat starts with. First every change of one seat is played. Their effects are
added up to predict the others, and the most promising of these are played too. The choice is the vector whose largest deviation
from par, over seats and agents, is smallest; among vectors within one standard error of it the one with the least change.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from bombay_env import Game, Rules
from bombay_training.matches.study import games_with
from bombay_training.reports.balance.plan import Play, Repair, Study, lineup_of
from bombay_training.reports.balance.report import Row, share_intervals
from bombay_training.reports.balance.verdicts import decide, deviations

STEPS: Final = (-1, 0, 1, 2)  # rupees more that a seat may start with

Vector = tuple[int, ...]
Tried = Mapping[Vector, Sequence[np.ndarray]]  # win shares (G, n) of each agent


def play_repair(study: Study, games: Sequence[Game], play: Play, seed: int) -> list[Row]:
    """The starting rupees that are fairest on development deals, and what the deals of `seed` say of them."""
    assert study.repair is not None
    part, rows, wanted = study.repair, list[Row](), []
    for game in games:
        tried = _try_vectors(study, part, game, play)
        found = {
            vector: {
                "starting_rupees": list(changed(game.rules, vector).starting_rupees),
                "deviation": largest(shares),
                "win_shares": [one.mean(axis=0).tolist() for one in shares],
            }
            for vector, shares in sorted(tried.items(), key=lambda item: largest(item[1]))
        }
        chosen, official = choose(tried), found[(0,) * game.num_players]
        about = {"players": game.num_players, "official": official["starting_rupees"], "games": part.games}
        about |= {"official_deviation": official["deviation"], "vectors": list(found.values())}
        rows.append(about | {"chosen": found[chosen], "confirmed": []})
        repaired, deals = Game(changed(game.rules, chosen)), games_with(part.confirm, game.num_players)
        wanted += [lineup_of(repaired, study.elsewhere(name), deals, seed, accounts=True) for name in part.agents]
    matches = play("repair, confirmation", wanted)
    verdicts = decide([match.win_share for match in matches])
    for (row, agent), match, verdict in zip(itertools.product(rows, part.agents), matches, verdicts, strict=True):
        seats = [{"seat": seat} | one.to_dict() for seat, one in enumerate(share_intervals(match.win_share))]
        row["confirmed"].append({"agent": agent, "games": match.num_games, "seats": seats, "verdict": verdict})
    for row in rows:
        row["exists"] = all(one["verdict"]["word"] in ("fair", "nearly fair") for one in row["confirmed"])
    return rows


def _try_vectors(study: Study, part: Repair, game: Game, play: Play) -> Tried:
    """The results of the vectors that are played on development deals for one number of players."""
    seed, tried = study.seed("balance development"), dict[Vector, Sequence[np.ndarray]]()
    for _ in ("single changes", "the most promising ones"):
        vectors = next_vectors(game.rules, tried, part.vectors)
        wanted = [
            lineup_of(Game(changed(game.rules, vector)), study.elsewhere(agent), part.games, seed)
            for vector, agent in itertools.product(vectors, part.agents)
        ]
        matches = iter(play("repair", wanted))
        tried |= {vector: [next(matches).win_share for _ in part.agents] for vector in vectors}
    return tried


def all_vectors(rules: Rules) -> list[Vector]:
    """All vectors under which no seat starts with less than nothing; the first one changes nothing."""
    steps = [[step for step in STEPS if rupees + step >= 0] for rupees in rules.starting_rupees]
    return sorted(itertools.product(*steps), key=lambda vector: (size(vector), vector))


def size(vector: Vector) -> int:
    """How much a vector changes."""
    return sum(map(abs, vector))


def changed(rules: Rules, vector: Vector) -> Rules:
    """The rules under a vector."""
    rupees = tuple(rupee + step for rupee, step in zip(rules.starting_rupees, vector, strict=True))
    return dataclasses.replace(rules, starting_rupees=rupees)


def next_vectors(rules: Rules, played: Tried, most: int) -> list[Vector]:
    """First those that change one seat at most, then those that are expected to be fairest if the effects of these add up.

    Args:
        rules: without a change.
        played: the results of the first ones; none if they are not played yet.
        most: how many vectors are played in all.
    """
    none, vectors = (0,) * rules.num_players, all_vectors(rules)
    if not played:
        return [vector for vector in vectors if sum(map(bool, vector)) <= 1]
    off = {vector: np.array([deviations(shares) for shares in results]) for vector, results in played.items()}

    def expected(vector: Vector) -> float:
        single = [(*none[:seat], step, *none[seat + 1 :]) for seat, step in enumerate(vector) if step]
        return float(np.abs(off[none] + sum(off[one] - off[none] for one in single)).max())

    return sorted((vector for vector in vectors if vector not in played), key=expected)[: max(0, most - len(played))]


def largest(results: Sequence[np.ndarray]) -> float:
    """The largest deviation from par of any seat for any agent."""
    return max(float(np.abs(deviations(shares)).max()) for shares in results)


def choose(played: Tried) -> Vector:
    """The fairest vector, and among those within a standard error of it the one with the least change."""
    found = {vector: largest(results) for vector, results in played.items()}
    fairest = min(found, key=found.__getitem__)
    error = max(float((shares.std(axis=0) / len(shares) ** 0.5).max() * shares.shape[1]) for shares in played[fairest])
    near = [vector for vector, deviation in found.items() if deviation <= found[fairest] + error]
    return min(near, key=lambda vector: (size(vector), found[vector]))
