"""The site: pages of this folder, the gallery of ../examples, and the reference."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

from manyview._version import __version__

project = "manyview"
author = "The manyview developers"
copyright = f"2026, {author}"
release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
default_role = "code"

myst_heading_anchors = 3

autodoc_typehints = "none"
maximum_signature_line_length = 88
autosummary_ignore_module_all = False
autosummary_imported_members = True
numpydoc_show_class_members = False
templates_path = ["_templates"]

html_theme = "furo"
html_title = "manyview"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["results/scoreboard.html"]
html_copy_source = False  # the Markdown is in the repository
html_show_sphinx = False

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "thumbnail_size": (400, 280),
    "show_signature": False,
    "write_computation_times": False,  # a page that nobody asked for, with scripts of others
}

# links that hold in the repository, and the pages of the site that they lead to
LINKS = {
    r"results/scoreboard\.html": "scoreboard.html",
    r"\(\.\./examples/(\w+)\.py\)": r"(/gallery/\1)",
    r"\(\.\./CONTRIBUTING\.md\)": "(/contributing)",
}


def setup(app: Sphinx) -> None:
    """Let links lead to pages of the site."""
    app.connect("source-read", _lead_links)


def _lead_links(app: Sphinx, page: str, source: list[str]) -> None:
    for link, target in LINKS.items():
        source[0] = re.sub(link, target, source[0])
