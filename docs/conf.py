"""Settings of the documentation site, which `make docs` builds into docs/_build/html.

The source folder is the whole checkout, so that links between pages, to the rules and to the cards of nets are the same on the
site and in the repository.
"""

import sys
from pathlib import Path

from bombay_env import __version__

sys.path.insert(0, str(Path(__file__).parent))  # for `source_pages`

project = "bombay_env"
author = "The bombay_env developers"
project_copyright = author
version = release = __version__

extensions = [
    "myst_nb",  # MyST Markdown, and notebooks as they were run
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "source_pages",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "bombay_env/RULES.md", "agents/bombay_agents/weights/*.md", "notebooks/*"]
# The folders without pages, so that they are not searched.
exclude_patterns = [".*", "docs/_*", "**/__pycache__", "dist", "runs", "tests", "training"]
templates_path = ["_templates"]

# Every reference must be found, except those to other projects: their lists of names are not at hand without a network.
nitpicky = True
OTHERS = "collections|contextlib|enum|gymnasium|nn|np|numba|numpy|os|pathlib|pettingzoo|random|torch|typing"
# Made once and passed on, so that nobody calls their methods; or on their packages' pages by shorter names.
UNLISTED = (
    "TurnWorkspace|Workspace|WorkerPool|ValueNet|LastAction|RunSettings|LostGame|"
    "HasEvaluator|PythonEvaluator|Match|Progress|Estimate|Times|Store|Engine|Seating|FaultCount|Model|LaneGenerator"
)
nitpick_ignore_regex = [
    ("py:.*", rf"({OTHERS})\b.*"),
    ("py:exc", "ResetNeeded|DependencyNotInstalled"),  # Gymnasium's
    ("py:class", rf".*\.({UNLISTED})"),
    ("py:class", r"[a-z]\w*"),  # words in the descriptions of attributes, taken for their types
]

nb_execution_mode = "off"  # their outputs are kept
myst_heading_anchors = 4  # the anchors that the repository's own view has

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_mock_imports = ["torch"]  # of an extra that the site does not need
highlight_language = "text"  # of blocks that name no language
default_role = "literal"  # `name` in docstrings is code, as in Markdown

html_theme = "furo"
html_title = "bombay_env"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "redirect.html"}  # the pages are in docs/
html_show_sphinx = False
html_copy_source = False
