"""HTML pages from templates: escaped, with undefined names as errors."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def page_environment(*packages: str) -> Environment:
    """Environment with the templates of the packages; the first that has one is used.

    Parameters
    ----------
    *packages : str
        Packages with a folder `templates`.

    Returns
    -------
    jinja2.Environment
    """
    return Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
