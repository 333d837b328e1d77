"""The code of docs/ecosystem.md runs as it stands, section by section."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "ecosystem.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)
OPTIONAL = ("polars", "anndata", "mudata", "scanpy", "sklearn.callback")


def code_of(text):
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of anndata and mudata on themselves
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_the_code_of_a_section_runs(section):
    code = code_of(section)
    assert code
    for module in OPTIONAL:
        if re.search(rf"(import|from) {module}\b", code):
            pytest.importorskip(module)
    exec(compile(code_of(HEAD) + code, "docs/ecosystem.md", "exec"), {})
