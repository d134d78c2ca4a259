"""The documentation site is built without a warning, holds every page and loads nothing from a network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bombay_env import bombay_v0

ROOT = Path(__file__).parent.parent
# What `make docs` runs, with folders of its own.
OPTIONS = ("--quiet", "--fail-on-warning", "--keep-going", "--fresh-env", "--conf-dir")
PAGES = {
    *(f"docs/{page.stem}" for page in (ROOT / "docs").glob("*.md")),
    *(f"docs/api/{page.stem}" for page in (ROOT / "docs" / "api").glob("*.rst")),
    *(f"agents/bombay_agents/weights/{name}" for name in ("zero", "td", "ppo")),
    "bombay_env/RULES",
}


class Links(HTMLParser):
    """The links of a page, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            elif name == "src" or (name == "href" and tag == "link"):
                self.loaded.append(value or "")


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a folder whose settings are in docs/."""
    command = [
        sys.executable,
        "-m",
        "sphinx",
        *OPTIONS,
        source / "docs",
        "--doctree-dir",
        f"{out}-doctrees",
        source,
        out,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    pytest.importorskip("furo", reason="needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site") / "html"
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_built_and_in_the_navigation(site: Path) -> None:
    start = site / "docs" / "index.html"
    linked = {(start.parent / link.partition("#")[0]).resolve() for link in Links(start).links}
    for page in PAGES - {"docs/index"}:
        path = site / f"{page}.html"
        assert path.is_file(), page
        assert path.resolve() in linked or page.startswith("docs/api/"), page


def test_links_lead_to_files_and_nothing_is_loaded_from_a_network(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for path in pages:
        page = Links(path)
        for link in {*page.links, *page.loaded}:
            file = link.partition("#")[0].partition("?")[0]
            if not file or (link in page.links and re.match("https?:", link)):
                continue
            assert (path.parent / file).exists(), f"{path.relative_to(site)}: {link}"


def test_a_link_to_a_source_file_opens_a_page_that_shows_it(site: Path) -> None:
    assert "../source/bombay_env/engine.py.html" in Links(site / "docs" / "architecture.html").links
    shown = re.sub("<[^>]*>", "", (site / "source" / "bombay_env" / "engine.py.html").read_text(encoding="utf-8"))
    assert "def legal_moves(" in shown
    assert not list(site.glob("_downloads/*/*.py"))


def test_make_docs_is_what_is_tested() -> None:
    (line,) = re.findall(r"^docs: .*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert line.split()[1:-4] == [*OPTIONS, "docs"]


BROKEN = """# Title

[A page](other.md) and [a heading](#nowhere)

```{eval-rst}
.. autofunction:: bombay_env.no_function
```
"""


def test_broken_links_are_errors(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="needs the extra `docs`")
    for name in ("conf.py", "source_pages.py", "_templates/redirect.html", "_static/site.css"):
        copy = tmp_path / "docs" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / "docs" / name).read_bytes())
    (tmp_path / "docs" / "index.md").write_text(BROKEN, encoding="utf-8")
    done = build(tmp_path, tmp_path / "html")
    assert done.returncode != 0
    for words in ("not found: 'other.md'", "not found: 'nowhere'", "no_function"):
        assert words in done.stderr


def test_the_table_of_the_environment_says_what_it_is() -> None:
    text = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", text.partition("##")[0], flags=re.MULTILINE))
    env = bombay_v0.env()
    seen, actions = env.observation_space("player_0")["observation"], env.action_space("player_0")
    agents = str(env.possible_agents).replace("'", '"')
    assert table["Import"] == "`from bombay_env import bombay_v0`"
    assert table["Agents"] == f"`agents = {agents}`"
    assert table["Number of agents"] == f"{env.max_num_agents}; 2 to 5"
    assert table["Action values"] == str(actions)
    assert table["Observation shape"] == str(seen.shape)
    assert table["Observation values"].startswith(f"{seen.dtype} in [{seen.low.min():.0f}, {seen.high.max():.0f}]")
    assert table["Parallel API"].startswith("No") != env.metadata["is_parallelizable"]
