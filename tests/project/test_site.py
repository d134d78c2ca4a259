"""The documentation site: every page is in its navigation, it builds without a warning and loads nothing from a network."""

import importlib
import operator
import os.path
import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from bombay_env import bombay_v0
from helpers import ROOT

# What `make docs` runs, with folders of its own.
OPTIONS = ("--quiet", "--fail-on-warning", "--keep-going", "--fresh-env", "--conf-dir")
PATTERNS = ("docs/**/*.md", "docs/api/*.rst", "agents/bombay_agents/weights/*.md", "bombay_env/*.md", "notebooks/*.*")
PAGES = {path.relative_to(ROOT).with_suffix("").as_posix() for pattern in PATTERNS for path in ROOT.glob(pattern)}


class Links(HTMLParser):
    """The links of a page, and what it loads."""

    def __init__(self, page):
        super().__init__()
        self.links = []
        self.loaded = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "href" and tag == "a":
                self.links.append(value or "")
            elif name == "src" or (name == "href" and tag == "link"):
                self.loaded.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    pytest.importorskip("furo", reason="needs the extra `docs`")
    folder = tmp_path_factory.mktemp("site")
    folders = [ROOT / "docs", "--doctree-dir", folder / "doctrees", ROOT, folder / "html"]
    done = subprocess.run([sys.executable, "-m", "sphinx", *OPTIONS, *folders], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


# --- without Sphinx ---


def test_every_page_is_in_the_navigation():
    listed = set()
    for name in ("docs/index.md", "docs/api/index.rst"):
        page = ROOT / name
        trees = re.findall(r"toctree(?:\}|::)\n(.*?)(?:```|\Z)", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        entries = [
            line.strip() for tree in trees for line in tree.splitlines() if line.strip() and line.strip()[0] != ":"
        ]
        for entry in entries:
            target = entry.partition("<")[2].rstrip(">") or entry
            found = list(page.parent.glob(f"{target}.*")) or [page.parent / target]
            listed |= {os.path.relpath(path, ROOT).rpartition(".")[0] or target for path in found}
    assert listed == PAGES - {"docs/index"}


def test_names_of_the_api_reference_exist():
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "api").glob("*.rst")]
    names = re.findall(r"^\.\. auto(?:class|exception|function):: (\S+)", "\n".join(pages), flags=re.MULTILINE)
    assert len(names) > 25
    for name in names:
        package, _, path = name.partition(".")
        operator.attrgetter(path)(importlib.import_module(package))


def test_make_docs_is_what_is_tested():
    (line,) = re.findall(r"^docs: .*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert line.split()[1:-4] == [*OPTIONS, "docs"]


def test_the_table_of_the_environment_says_what_it_is():
    text = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (\w[\w ]*) \| (.*) \|$", text.partition("##")[0], flags=re.MULTILINE))
    env = bombay_v0.env()
    seen, actions = env.observation_space("player_0")["observation"], env.action_space("player_0")
    agents = str(env.possible_agents).replace("'", '"')
    assert table["Import"] == "`from bombay_env import bombay_v0`"
    assert table["Agents"] == f"`agents = {agents}`"
    assert table["Number of agents"] == f"{env.max_num_agents} (2 to 5)"
    assert table["Action values"] == str(actions)
    assert table["Observation shape"] == str(seen.shape)
    assert table["Observation values"].startswith(f"{seen.dtype} in [{seen.low.min():.0f}, {seen.high.max():.0f}]")
    assert table["Parallel API"].startswith("No") != env.metadata["is_parallelizable"]


# --- built ---


@pytest.mark.slow
def test_every_page_is_built(site):
    assert {page for page in PAGES if not (site / f"{page}.html").is_file()} == set()


@pytest.mark.slow
def test_links_lead_to_files_and_nothing_is_loaded_from_a_network(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for path in pages:
        page = Links(path)
        for link in {*page.links, *page.loaded}:
            file = link.partition("#")[0].partition("?")[0]
            if file and not (link in page.links and re.match("https?:", link)) and not link.startswith("data:"):
                assert (path.parent / file).exists(), f"{path.relative_to(site)}: {link}"


@pytest.mark.slow
def test_a_link_to_a_source_file_opens_a_page_that_shows_it(site):
    assert "../source/bombay_env/engine.py.html" in Links(site / "docs" / "architecture.html").links
    shown = re.sub("<[^>]*>", "", (site / "source" / "bombay_env" / "engine.py.html").read_text(encoding="utf-8"))
    assert "def legal_moves(" in shown
    assert not list(site.glob("_downloads/*/*.py"))
