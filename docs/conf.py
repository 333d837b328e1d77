"""The site: pages of this folder, the gallery of ../examples, and the reference."""

from __future__ import annotations

from typing import Any

from manyview import __version__

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
exclude_patterns = ["images", "gallery/*.ipynb", "gallery/*.py"]
default_role = "code"

myst_enable_extensions = ["colon_fence"]
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
html_extra_path = ["scoreboard.html"]
html_copy_source = False
html_show_sphinx = False

sphinx_gallery_conf: dict[str, Any] = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "thumbnail_size": (400, 280),
    "remove_config_comments": True,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
}
