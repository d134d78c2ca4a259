"""Links to source files open a page of the site that shows the file. Sphinx would offer it for download."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx

LANGUAGES: Final = {".py": "python", ".js": "javascript", ".toml": "toml"}
FOLDER: Final = "source"
BEFORE_DOWNLOADS: Final = 100  # a priority; files to download are copied at 500


def link_sources(app: Sphinx, doctree: nodes.document) -> None:
    """Replace downloads of source files in a page by links to their pages."""
    page = app.env.docname
    for node in list(doctree.findall(download_reference)):
        file, _ = app.env.relfn2path(node["reftarget"], page)
        if Path(file).suffix in LANGUAGES:
            app.env.source_files.add(file)
            uri = f"{'../' * page.count('/')}{FOLDER}/{file}.html"
            node.replace_self(nodes.reference("", "", *node.children, refuri=uri, internal=True))


def write_sources(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The pages of all linked files: name, what the template needs, template."""
    for file in sorted(app.env.source_files):
        text = (app.srcdir / file).read_text(encoding="utf-8")
        shown = app.builder.highlighter.highlight_block(text, LANGUAGES[Path(file).suffix])
        yield f"{FOLDER}/{file}", {"title": file, "body": f"<h1><code>{file}</code></h1>{shown}"}, "page.html"


def start(app: Sphinx) -> None:
    """Begin with no files."""
    app.env.source_files = set()


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""
    app.connect("builder-inited", start)
    app.connect("doctree-read", link_sources, priority=BEFORE_DOWNLOADS)
    app.connect("html-collect-pages", write_sources)
    return {"parallel_read_safe": False}
