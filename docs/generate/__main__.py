"""Writes the generated pages, and the generated tables in the other pages and the README; a test checks that they are up to date.

python -m docs.generate                    in the checkout
python -m docs.generate --animation        writes only the README's moving picture, which takes a minute
python -m docs.generate --learning RUNS    writes only the README's learning curves; RUNS is a folder such as docs/data/curves
python -m docs.generate --publish LEAGUE TIMES MACHINE
                                           makes a finished league the published one, with the times of another store of its study
"""

import sys
from pathlib import Path

from bombay_training import figures
from bombay_training.matches import store
from docs.generate import pages, picture

DOCS = Path(__file__).parents[1]

if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--animation"]:
            (DOCS / "game.gif").write_bytes(picture.animation())
        case ["--learning", runs]:
            figures.save_png(picture.learning(Path(runs)), DOCS / "learning.png")
        case ["--publish", league, times, machine]:
            store.publish(Path(league), store.LEAGUE, machine, Path(times))
        case []:
            for page, text in pages.outdated(DOCS).items():
                page.write_text(text, encoding="utf-8")
                print(page, "is written")
        case _:
            sys.exit("python -m docs.generate [--animation | --learning RUNS | --publish LEAGUE TIMES MACHINE]")
