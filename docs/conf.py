"""Sphinx builds the documentation from this folder: ``make docs``."""

import re
from pathlib import Path

import shap_asv

project = "shap_asv"
author = "The shap_asv developers"
copyright = author
version = release = shap_asv.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give the types
autodoc_preserve_defaults = True  # link=shap.links.identity, not what it prints
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [(name, "params_style") for name in ("What is explained", "Distribution", "Order", "Budget")]

html_theme = "furo"
html_title = f"shap_asv {release}"
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["wide.css"]

# Pages of this folder that stand in the menu by themselves; all others are listed under Explanation.
PLACED = {"index", "quickstart", "gallery", "architecture", "changelog"}


def list_further_pages(app, docname, source):
    """Notes and generated reports need no entry by hand: a page that is there is in the menu."""
    if docname == "explanation/index":
        further = sorted(page.stem for page in Path(app.srcdir).glob("*.md") if page.stem not in PLACED)
        source[0] = source[0].replace("FURTHER-PAGES", "\n".join(f"/{name}" for name in further))


def escape_bars(app, what, name, obj, options, lines):
    """``|value|`` is an absolute value in our docstrings, not a substitution."""
    lines[:] = [re.sub(r"(?<!`)\|(\w+)\|", r"\|\1\|", line) for line in lines]


def setup(app):
    app.connect("source-read", list_further_pages)
    app.connect("autodoc-process-docstring", escape_bars)
