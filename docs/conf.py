"""Settings of the documentation site: `make docs` builds it into docs/_build/html.

The source folder is the whole checkout, so links between pages, to the rules and to the cards of nets are the same on the site and in the
repository.
"""

from bombay_env import __version__

project = "bombay_env"
author = "The bombay_env developers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "bombay_env/RULES.md", "agents/bombay_agents/weights/*.md"]
exclude_patterns = [
    ".*",
    "docs/_build",
    "docs/_templates",
    "**/__pycache__",
    "dist",
    "notebooks",
    "runs",
    "tests",
    "training",
]
templates_path = ["_templates"]
nitpicky = True
# Other projects' objects: their pages are not at hand where the site is built without a network.
nitpick_ignore_regex = [
    ("py:.*", r"(collections|contextlib|enum|gymnasium|np|numba|numpy|os|pathlib|pettingzoo|random|typing)\b.*"),
    ("py:exc", "ResetNeeded|DependencyNotInstalled"),  # Gymnasium's
    (
        "py:class",
        r".*\.(TurnWorkspace|EndgameWorkspace|WorkerPool)",
    ),  # memory and processes to use again, explained where they are used
]

myst_heading_anchors = 4  # as in the repository's own view
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
default_role = "literal"  # `name` in docstrings is code, as in Markdown

html_theme = "furo"
html_title = "bombay_env"
html_additional_pages = {"index": "redirect.html"}
html_show_sphinx = False
html_copy_source = False
