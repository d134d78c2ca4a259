"""Tables of strength, made from the files of results in `docs/`.

The files hold what a command printed with `--json`, or the part of it that a table shows, with the command and its date.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bombay_env.files import json_text
from bombay_training.docs import agents, markdown, targets
from bombay_training.evaluation import ladder
from bombay_training.evaluation.ladder import COUNTS
from bombay_training.learners import study
from bombay_training.matches.intervals import Estimate
from bombay_training.rich_tables import format_ms, interval

MAX_BYTES = 1 << 20  # of a file of results
SHARE = "{:.3f}"
README_RIVALS = ("greedy", "planner-v1", "td", "zero")
README_AGENTS = (
    "planner-v1",
    "ppo",
    "td",
    "zero:rounds=0",
    "zero",
    ladder.ZERO_5,
    ladder.FLAT_100,
    ladder.TD_SEARCH_100,
    ladder.CHAMPION_100,
)
REDUCED = {  # victims of best responses in place of agents that are too slow to train against
    ladder.CHAMPION_100: "champion:nodes=50",
}
RESPONSES = {  # how best responses play
    study.POLICY: "with a round of lookahead",
    study.LOOKING_AHEAD: "with a tree of 150 nodes",
}
PLAYS = {  # how the agents of a study play
    study.AT_ONCE: "without lookahead",
    study.LOOKING_AHEAD: "with a tree of 150 nodes",
    study.POLICY: "most likely action",
}


class Results:
    """The saved results in a folder.

    Args:
        folder: the project's `docs`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> Any:
        """The content of a JSON file in `data`. Raises ValueError if it cannot be read or is not strict JSON."""
        return json_text.read(self.folder / "data" / f"{name}.json", MAX_BYTES)

    @functools.cached_property
    def ladder_rows(self) -> list[dict[str, Any]]:
        """The whole ladder, as `ladder.summary` gives it.

        A row comes from `ladder.jsonl` if all its blocks are there, else from `data/ladder.json`, which holds printed rows of
        earlier runs. A row that was never played is left out. Times come from `data/turn_times.jsonl` if the row is there: two
        deals on idle cores.
        """
        saved = ladder.read_parts(self.folder / "ladder.jsonl")
        timed = ladder.read_parts(self.folder / "data" / "turn_times.jsonl")
        printed = {_key(row): row for row in self.read("ladder")["rows"]}
        found = []
        for row in ladder.rows(COUNTS):
            parts = ladder.parts_of(row, saved)
            result = ladder.summary(row, parts) if parts else None
            whole = sum(part["kept"]["blocks"] for part in parts) >= row.blocks
            best = result if whole else printed.get((row.players, row.agent, row.rest, row.format), result)
            if best is not None:
                found.append(best | _times(row, ladder.parts_of(row, timed)))
        return found

    @functools.cached_property
    def learning_rows(self) -> list[dict[str, Any]]:
        """The matches of all studies (`bombay study`)."""
        return study.read(self.folder / "data" / "learning.jsonl")

    @functools.cached_property
    def response_rows(self) -> list[dict[str, Any]]:
        """The matches of best responses at 4 players against three of their victims."""
        return list(self.read("best_responses")["rows"])

    def _ladder_row(self, *key: Any) -> dict[str, Any] | None:
        """The row of the ladder with this number of players, agent, others and format; None if it was not played."""
        return next((row for row in self.ladder_rows if _key(row) == key), None)

    # Tables, by block

    def strength(self) -> str:
        """What an agent takes at 4 players from three of each of some others, a row for each agent; for the README."""
        rows = []
        for agent in README_AGENTS:
            found = {rest: self._ladder_row(4, agent, rest, "1vrest") for rest in README_RIVALS}
            played = [row for row in found.values() if row]
            if played:
                cells = [interval(row["win_share"], SHARE) if row else "–" for row in found.values()]
                cells.append(self._best_response(agent))
                ms = min(row["ms_per_turn"] for row in played)  # least disturbed by other work on the machine
                rows.append([f"`{agent}`", agents.knowledge(agent), *cells, format_ms(ms)])
        rivals = (f"3 × `{rival}`" for rival in README_RIVALS)
        columns = ["agent", "scripted knowledge", *rivals, "best response", "ms/turn"]
        return markdown.table(columns, rows, left=columns[:2])

    def _best_response(self, agent: str) -> str:
        """What the best of the responses takes from three of an agent, or of the same with a smaller budget, which is named."""
        victim = REDUCED.get(agent, agent)
        shares = [row["win_share"] for row in self.response_rows if row["victim"] == victim]
        if not shares:
            return "–"
        budget = f" ({victim.partition(':')[2]})" if victim != agent else ""
        return interval(max(shares, key=lambda share: share["mean"]), SHARE) + budget

    def ladder(self) -> str:
        """Every row of the ladder."""
        rows = []
        for result in self.ladder_rows:
            players, agent, against, *figures = ladder.cells(result)
            count, _, rest = against.partition(" × ")
            rows.append([players, f"`{agent}`", f"{count} × `{rest}`", *figures])
        return markdown.table(ladder.COLUMNS, rows, left=("agent", "against"))

    def selection(self) -> str:
        """The matches that `champion` was chosen by: a row for each opponent, a column for each candidate, and the means."""
        saved = ladder.read_parts(self.folder / "data" / "selection.jsonl")
        played = {
            (row.players, row.rest, row.agent): ladder.parts_of(row, saved) for row in ladder.selection_rows(COUNTS)
        }
        found = {match: ladder.estimate(parts, "share") for match, parts in played.items() if parts}
        rows = []
        for players in dict.fromkeys(count for count, _, _ in found):
            for rest in ladder.PANEL:
                shares = (found.get((players, rest, agent)) for agent in ladder.CANDIDATES)
                cells = ("–" if share is None else interval(share.to_dict(), SHARE) for share in shares)
                rows.append([str(players), f"`{rest}`", *cells])
            rows.append([str(players), "mean", *_means(found, [players])])
        rows.append(["all", "mean", *_means(found, COUNTS)])
        columns = ["players", "against all", *(f"`{agent}`" for agent in ladder.CANDIDATES)]
        return markdown.table(columns, rows, left=columns[1:2])

    def card(self, *names: str) -> str:
        """What the agents of these names take from others, a row for each agent and number of players; for the card of a net."""
        found = [
            row for row in self.ladder_rows if row["agent"].partition(":")[0] in names and row["format"] == "1vrest"
        ]
        rivals = list(dict.fromkeys(row["rest"] for row in found))
        shares = {_key(row)[:3]: interval(row["win_share"], SHARE) for row in found}
        rows = []
        for players, agent in sorted({(row["players"], row["agent"]) for row in found}):
            cells = (shares.get((players, agent, rival), "–") for rival in rivals)
            rows.append([str(players), f"`{agent}`", *cells, f"{1 / players:.2f}"])
        columns = ["players", "agent", *(f"against all `{rival}`" for rival in rivals), "par"]
        return markdown.table(columns, rows, left=columns[1:2])

    def training_zero(self) -> str:
        """The closing table of three minutes of `zero`."""
        return _closing_table(self.read("train_zero"))

    def training_td(self) -> str:
        """The closing table of three minutes of TD."""
        return _closing_table(self.read("train_td"))

    def training_ppo(self) -> str:
        """The closing table of three minutes of PPO."""
        return _closing_table(self.read("train_ppo"))

    def training_time(self) -> str:
        """What TD gains by learning longer."""
        data = self.read("learning_time")
        seeds = sorted({row["seed"] for row in data["rows"]})
        shares = {(row["minutes"], row["seed"]): interval(row["win_share"], SHARE) for row in data["rows"]}
        rows = [
            [minutes, *(shares[int(minutes), seed] for seed in seeds), f"{target:.2f}"]
            for minutes, target in data["targets"].items()
        ]
        return markdown.table(["minutes", *(f"seed {seed}" for seed in seeds), "target"], rows)

    def learning(self, learner: str, counts: Sequence[int] = COUNTS) -> str:
        """What a learner reaches in a given time, a row for each run and number of players (`bombay study`)."""
        found = [row for row in self.learning_rows if row["learner"] == learner]
        matches = [(agent, rest) for agent, rest, _ in study.SUBJECTS[learner].matches]
        shares = {(*_run(row), row["agent"], row["rest"]): interval(row["win_share"], SHARE) for row in found}
        rows = []
        for players, minutes, seed in sorted({_run(row) for row in found if row["players"] in counts}):
            cells = (shares.get((players, minutes, seed, *match), "–") for match in matches)
            rows.append([str(players), f"{minutes:g}", str(seed), *cells])
        plays = (f"{PLAYS[agent]}, against `{rest}`" for agent, rest in matches)
        return markdown.table(["players", "minutes", "seed", *plays], rows)

    def matches(self, name: str) -> str:
        """The matches at 4 players in a file of `data`."""
        rows = [
            [row["agent"], f"3 × {row['rest']}", f"{row['games']:,}", interval(row["win_share"], SHARE)]
            for row in self.read(name)["rows"]
        ]
        columns = ["agent", "against", "games", "win share [95 %]"]
        return markdown.table(columns, rows, left=columns[:2])

    def exploration(self) -> str:
        """What more exploration gains `zero-search` at 4 players."""
        names = ("nodes", "exploration", "temperature")
        rows = [
            [
                *(f"{row[name]:,}" for name in names),
                f"3 × `{row['rest']}`",
                str(row["seed"]),
                f"{row['games']:,}",
                interval(row["win_share"], SHARE),
            ]
            for row in self.read("champion_exploration")["rows"]
        ]
        return markdown.table([*names, "against", "deals", "games", "win share [95 %]"], rows, left=("against",))

    def changes(self, name: str, what: str) -> str:
        """What changes of the champion gain at 4 players, from a file of `data`; `what` is the head of the first column."""
        rows = [
            [
                row["change"],
                f"3 × `{row['rest']}`",
                str(row["seed"]),
                f"{row['games']:,}",
                interval(row["win_share"], SHARE),
            ]
            for row in self.read(name)["rows"]
        ]
        columns = [what, "against", "deals", "games", "win share [95 %]"]
        return markdown.table(columns, rows, left=columns[:2])

    def raw_settings(self) -> str:
        """What PPO from the rules alone reaches with other settings in 12 minutes of one thread, at 4 players."""
        data = self.read("ppo_raw_settings")
        rows = [
            [
                row["setting"],
                f"{row['decisions'] / 1e6:.1f}",
                *(SHARE.format(row["win_share"][rest]) for rest in data["against"]),
                SHARE.format(sum(row["win_share"].values()) / len(row["win_share"])),
            ]
            for row in data["rows"]
        ]
        columns = ["setting", "million decisions", *(f"3 × `{rest}`" for rest in data["against"]), "mean"]
        return markdown.table(columns, rows, left=("setting",))

    def convergence(self) -> str:
        """What turns found by small searches lose, by the values of large ones."""
        rows = [
            [f"`{row['agent']}`", f"{row['positions']:,}", interval(row["lost"], SHARE)]
            for row in self.read("champion_convergence")["rows"]
        ]
        return markdown.table(["agent", "positions", "lost a turn [95 %]"], rows, left=("agent",))

    def best_responses(self) -> str:
        """What best responses take from three of their victims, a row for each response."""
        found = self.response_rows
        shares = {(row["victim"], row["seed"], row["agent"]): interval(row["win_share"], SHARE) for row in found}
        learned = {(row["victim"], row["seed"]): row["learned_games"] for row in found}
        rows = [
            [f"`{victim}`", f"{games:,}", str(seed), *(shares.get((victim, seed, agent), "–") for agent in RESPONSES)]
            for (victim, seed), games in learned.items()
        ]
        return markdown.table(["victim", "learned from games", "seed", *RESPONSES.values()], rows, left=("victim",))

    def lookahead(self) -> str:
        """How far `td` should look ahead: its win share against several opponents."""
        data = self.read("lookahead")
        found = {(row["agent"], row["rest"]): row["win_share"] for row in data["rows"]}
        rivals = list(dict.fromkeys(rest for _, rest in found))
        rows = []
        for agent in dict.fromkeys(agent for agent, _ in found):
            shares = (found.get((agent, rest)) for rest in rivals)
            cells = ("–" if share is None else f"{share['mean']:.3f} ± {share['half_width']:.3f}" for share in shares)
            rows.append([f"`{agent}`" if agent.startswith("td:") else agent, *cells])
        return markdown.table(["agent", *(f"3 × `{rest}`" for rest in rivals)], rows, left=("agent",))

    def regret(self) -> str:
        """What agents lose in the last round."""
        rows = [
            [
                f"`{row['agent']}`",
                interval(row["win_share"], SHARE),
                interval(row["rupees"], "{:.2f}"),
                f"{row['best']:.0%}",
            ]
            for row in self.read("regret")["agents"]
        ]
        return markdown.table(["agent", "win share lost", "rupees lost", "best turns"], rows, left=("agent",))

    def fairness(self) -> str:
        """Win share by seat."""
        tables = self.read("balance")["tables"]
        seats = range(max(len(table["seats"]) for table in tables))
        rows = []
        for table in tables:
            shares = [interval(seat["win_share"], SHARE) for seat in table["seats"]]
            shares += [""] * (len(seats) - len(shares))
            rows.append([str(table["players"]), f"`{table['agent']}`", f"{table['games']:,}", *shares])
        columns = ["players", "every seat played by", "games", *(f"seat {seat}" for seat in seats)]
        return markdown.table(columns, rows, left=columns[1:2])

    def third_rupee(self) -> str:
        """What the third rupee of the fifth seat is worth."""
        tables = [table for table in self.read("balance")["tables"] if table["what_ifs"]]
        three = [interval(table["seats"][-1]["win_share"], SHARE) for table in tables]
        changed = [table["what_ifs"][0]["seats"][-1] for table in tables]
        rows = [
            ["3 rupees", *three],
            ["2 rupees, same deals", *(f"{seat['win_share']['mean']:.3f}" for seat in changed)],
            ["difference within deals", *(interval(seat["win_share_change"], "{:+.3f}") for seat in changed)],
        ]
        return markdown.table(["seat 4 starts with", *(f"`{table['agent']}`" for table in tables)], rows)

    def strength_targets(self) -> str:
        """Targets of strength at 4 players."""
        found = [*self.ladder_rows, *self.learning_rows, *self.response_rows]
        return targets.table(self.read("targets")["strength"], found)


def _closing_table(data: dict[str, Any]) -> str:
    """The table that ends a training run, a row for each number of players."""
    matches = data["matches"]
    rivals = list(dict.fromkeys(match["lineup"][1] for match in matches))
    shares = {(match["players"], match["lineup"][1]): match["agents"][0]["win_share"] for match in matches}
    rows = []
    for players in dict.fromkeys(match["players"] for match in matches):
        games = next(match["games"] for match in matches if match["players"] == players)
        cells = (interval(shares[players, rival], SHARE) for rival in rivals)
        rows.append([str(players), f"{games:,}", *cells, f"{1 / players:.2f}"])
    return markdown.table(["players", "games", *(f"against all `{rival}`" for rival in rivals), "par"], rows)


def _means(found: Mapping[tuple[int, str, str], Estimate], counts: Sequence[int]) -> list[str]:
    """Each candidate's mean win share over the panel at these numbers of players; – if a match is missing."""
    cells = []
    for agent in ladder.CANDIDATES:
        shares = [found.get((players, rest, agent)) for players in counts for rest in ladder.PANEL]
        means = [share.mean for share in shares if share is not None]
        cells.append(SHARE.format(np.mean(means)) if len(means) == len(shares) else "–")
    return cells


def _run(row: dict[str, Any]) -> tuple[int, float, int]:
    """Number of players of a match of a study, and minutes and seed of its run."""
    return row["players"], row["minutes"], row["seed"]


def _times(row: ladder.Row, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The times of a row measured apart; none if there are no parts."""
    timed = ladder.summary(row, parts) if parts else {}
    return {name: timed[name] for name in ("ms_per_turn", "rest_ms_per_turn") if name in timed}


def _key(row: dict[str, Any]) -> tuple[int, str, str, str]:
    return row["players"], row["agent"], row["rest"], row["format"]
