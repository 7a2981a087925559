"""The documentation site: `make docs`. Sources are the Markdown pages where they are, and docstrings."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "extensions")]

import pritchel

project = "Pritchel"
author = "the Pritchel authors"
version = release = pritchel.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "numpydoc",
    "docstrings",
    "front_page",
    "mathml",
    "reference",
]
# The source folder is the repository: a link from one page to another is right here and on a code host.
root_doc = "README"
include_patterns = ["*.md", "docs/**", "results/*.md", "benchmarks/**.md"]
exclude_patterns = [".*", "docs/_build"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]

numpydoc_show_class_members = False
autosummary_generate = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 100
default_role = "code"
nitpicky = True

html_theme = "furo"
html_title = f"Pritchel {release}"
html_math_renderer = "mathml"
html_static_path = ["style"]
html_css_files = ["pritchel.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
