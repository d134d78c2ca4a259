"""Writes the generated pages, and the generated tables in the other pages and the README.

python -m docs.generate                in the checkout
python -m docs.generate --check        writes nothing; exit code 1 if a page is out of date
python -m docs.generate --animation    writes only the README's moving picture, which takes a minute
"""

import sys
from pathlib import Path

from docs.generate import pages, picture

DOCS = Path(__file__).parents[1]

if __name__ == "__main__":
    check, animation = ([option] == sys.argv[1:] for option in ("--check", "--animation"))
    if sys.argv[1:] and not (check or animation):
        sys.exit("python -m docs.generate [--check | --animation]")
    if animation:
        (DOCS / "game.gif").write_bytes(picture.animation())
        sys.exit()
    found = pages.outdated(DOCS)
    for page, text in found.items():
        print(page, "is out of date" if check else "is written")
        if not check:
            page.write_text(text, encoding="utf-8")
    sys.exit(check and bool(found))
