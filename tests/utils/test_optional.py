import re
import sys
import tomllib
from pathlib import Path

import pytest

import manyview
from manyview.exceptions import EngineUnavailableError
from manyview.utils.optional import EXTRAS, needed

NAMES = {"PIL": "pillow"}  # of a library that is imported under another
PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.parametrize("library", EXTRAS)
def test_a_missing_library_is_named_with_the_extra_that_installs_it(monkeypatch, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        EngineUnavailableError,
        match=rf"A file needs {library}, which is not installed: pip install 'manyview\[\w+\]'",
    ):
        needed(library, "A file")


def test_the_extras_are_those_of_the_project():
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    for library, extra in EXTRAS.items():
        if library == "requests":  # pooch needs it for downloads
            continue
        listed = [re.split(r"[<>=\[]", one)[0] for one in extras["optional-dependencies"][extra]]
        assert NAMES.get(library, library) in listed


def test_no_message_asks_for_a_library_by_its_own_name():
    """The extra has the versions that are tested; `optional.py` is the one place that says so."""
    source = Path(manyview.__file__).parent
    for path in source.rglob("*.py"):
        found = re.findall(r"pip install (?!'manyview\[)\S*", path.read_text(encoding="utf-8"))
        assert found == [], path
