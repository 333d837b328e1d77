"""The code of docs/recipes.md runs as it stands, where the libraries are installed."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
OPTIONAL = ("bertopic", "faiss", "lancedb", "cleanlab", "dask", "distributed")


def code_of(text):
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of these libraries
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_the_code_of_a_recipe_runs(section):
    code = code_of(section)
    assert code
    for module in OPTIONAL:
        if re.search(rf"(import|from) {module}\b", code):
            pytest.importorskip(module, reason=f"make recipes installs {module}")
    exec(compile(code_of(HEAD) + code, "docs/recipes.md", "exec"), {"__name__": "recipes"})
