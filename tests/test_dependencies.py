"""Dependencies: each has a reason, a minimum that is tried, and is there because it is imported."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import manyview

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
OF_USERS = ("plots", "files", "fetch", "dask", "omics")
FOR_USERS = [*PROJECT["dependencies"], *(one for extra in OF_USERS for one in EXTRAS[extra])]
TRIED = [*PROJECT["dependencies"], *(one for extra in ("plots", "files", "fetch", "test")
         for one in EXTRAS[extra] if not one.startswith("manyview["))]  # fmt: skip
IMPORTED_AS = {"scikit-learn": "sklearn"}


def constraints():
    """Versions of `constraints/oldest.txt` by name."""
    text = (ROOT / "constraints" / "oldest.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w-]+)==([\w.]+)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("dependency", FOR_USERS)
def test_a_dependency_has_a_reason(dependency):
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    reasons = dict(re.findall(r"^\| `([\w-]+)`[^|]*\| ([^|]+) \|", page, flags=re.MULTILINE))
    assert reasons.get(Requirement(dependency).name)


@pytest.mark.parametrize("dependency", TRIED)
def test_the_minimum_is_the_version_that_is_tried(dependency):
    required = Requirement(dependency)
    (minimum,) = required.specifier
    assert minimum.operator == ">="
    assert Version(constraints()[required.name]) == Version(minimum.version)


def test_what_is_imported_at_the_top_of_a_module_is_a_dependency():
    names = {Requirement(one).name for one in PROJECT["dependencies"]}
    allowed = {IMPORTED_AS.get(name, name) for name in names} | {"manyview"}
    for path in Path(manyview.__file__).parent.rglob("*.py"):
        own = {"torch", "triton"} if path.parent.name == "gpu" else set()  # imported when asked for
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) else []
            tops = {module.partition(".")[0] for module in modules} - sys.stdlib_module_names
            assert tops <= allowed | own, path
