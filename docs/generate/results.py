"""Tables of strength, made from the files of results in `docs/`.

The files hold what a command printed with `--json`, or the part of it that a table shows, with the command and its date.
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bombay_env.files.reading import read_json
from bombay_training.evaluation import ladder
from bombay_training.evaluation.ladder import COUNTS
from bombay_training.learners import study
from bombay_training.rich_tables import format_ms, interval
from docs.generate import agents, markdown

SHARE = "{:.3f}"
README_RIVALS = ("greedy", "planner-v1", "zero")
README_AGENTS = (
    "planner-v1",
    "ppo",
    "zero:rounds=0",
    "zero",
    ladder.ZERO_5,
    ladder.FLAT_100,
    ladder.SEARCH_10,
    ladder.CHAMPION_50,
)
RESPONSES = {  # how best responses play
    study.POLICY: "with a round of lookahead",
    study.LOOKING_AHEAD: "with a tree of 150 nodes",
}
PLAYS = {  # how the agents of a study play
    study.AT_ONCE: "without lookahead",
    study.LOOKING_AHEAD: "with a tree of 150 nodes",
}


class Results:
    """The saved results in a folder.

    Args:
        folder: the project's `docs`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> Any:
        """The content of a JSON file in `data`. Raises ValueError if it cannot be read or is not JSON."""
        return read_json(self.folder / "data" / f"{name}.json")

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
                ms = min(row["ms_per_turn"] for row in played)  # least disturbed by other work on the machine
                rows.append([f"`{agent}`", agents.knowledge(agent), *cells, format_ms(ms)])
        rivals = (f"3 × `{rival}`" for rival in README_RIVALS)
        columns = ["agent", "scripted knowledge", *rivals, "ms/turn"]
        return markdown.table(columns, rows, left=columns[:2])

    def ladder(self) -> str:
        """Every row of the ladder."""
        rows = []
        for result in self.ladder_rows:
            players, agent, against, *figures = ladder.cells(result)
            count, _, rest = against.partition(" × ")
            rows.append([players, f"`{agent}`", f"{count} × `{rest}`", *figures])
        return markdown.table(ladder.COLUMNS, rows, left=("agent", "against"))

    def card(self, *names: str) -> str:
        """What the agents of these names take from others, a row for each agent and number of players; for the card of a net."""
        found = [
            row for row in self.ladder_rows if row["agent"].partition(":")[0] in names and row["format"] == "1vrest"
        ]
        if not found:
            return "These matches are being played anew."
        rivals = list(dict.fromkeys(row["rest"] for row in found))
        shares = {_key(row)[:3]: interval(row["win_share"], SHARE) for row in found}
        rows = []
        for players, agent in sorted({(row["players"], row["agent"]) for row in found}):
            cells = (shares.get((players, agent, rival), "–") for rival in rivals)
            rows.append([str(players), f"`{agent}`", *cells, f"{1 / players:.2f}"])
        columns = ["players", "agent", *(f"against all `{rival}`" for rival in rivals), "par"]
        return markdown.table(columns, rows, left=columns[1:2])

    def training_zero(self) -> str:
        """The table that ends three minutes of `zero`, a row for each number of players."""
        matches = self.read("train_zero")["matches"]
        rivals = list(dict.fromkeys(match["lineup"][1] for match in matches))
        shares = {(match["players"], match["lineup"][1]): match["agents"][0]["win_share"] for match in matches}
        rows = []
        for players in dict.fromkeys(match["players"] for match in matches):
            games = next(match["games"] for match in matches if match["players"] == players)
            cells = (interval(shares[players, rival], SHARE) for rival in rivals)
            rows.append([str(players), f"{games:,}", *cells, f"{1 / players:.2f}"])
        return markdown.table(["players", "games", *(f"against all `{rival}`" for rival in rivals), "par"], rows)

    def learning(self, counts: Sequence[int]) -> str:
        """What `zero` reaches in a given time, a row for each run and number of players (`bombay study`)."""
        found = [row for row in self.learning_rows if row["players"] in counts]
        matches = [(agent, rest) for agent, rest, _ in study.SUBJECTS["zero"].matches]
        shares = {(*_run(row), row["agent"], row["rest"]): interval(row["win_share"], SHARE) for row in found}
        rows = []
        for players, minutes, seed in sorted({_run(row) for row in found}):
            cells = (shares.get((players, minutes, seed, *match), "–") for match in matches)
            rows.append([str(players), f"{minutes:g}", str(seed), *cells])
        plays = (f"{PLAYS[agent]}, against `{rest}`" for agent, rest in matches)
        return markdown.table(["players", "minutes", "seed", *plays], rows)

    def best_responses(self) -> str:
        """What best responses take from three of their victims, a row for each response."""
        found = self.read("best_responses")["rows"]
        shares = {(row["victim"], row["seed"], row["agent"]): interval(row["win_share"], SHARE) for row in found}
        learned = {(row["victim"], row["seed"]): row["learned_games"] for row in found}
        rows = [
            [f"`{victim}`", f"{games:,}", str(seed), *(shares.get((victim, seed, agent), "–") for agent in RESPONSES)]
            for (victim, seed), games in learned.items()
        ]
        return markdown.table(["victim", "learned from games", "seed", *RESPONSES.values()], rows, left=("victim",))

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


def _run(row: dict[str, Any]) -> tuple[int, float, int]:
    """Number of players of a match of a study, and minutes and seed of its run."""
    return row["players"], row["minutes"], row["seed"]


def _times(row: ladder.Row, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The times of a row measured apart; none if there are no parts."""
    timed = ladder.summary(row, parts) if parts else {}
    return {name: timed[name] for name in ("ms_per_turn", "rest_ms_per_turn") if name in timed}


def _key(row: dict[str, Any]) -> tuple[int, str, str, str]:
    return row["players"], row["agent"], row["rest"], row["format"]
