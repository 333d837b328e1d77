"""Many fits leave nothing behind, and fits at once have the labels of fits one by one."""

import pytest

from benchmarks import load


@pytest.mark.slow
@pytest.mark.parametrize("case", [load.ONE_AFTER_THE_OTHER, *load.AT_ONCE])
def test_fits_are_right_however_they_are_run(case):
    row = load.run_apart(case, quick=True)
    assert row["is_right"], row["finding"]


def test_a_case_that_ends_with_an_error_is_a_row(monkeypatch):
    monkeypatch.setitem(load.AT_ONCE, "nowhere", load.in_joblib("no such backend"))
    row = load.run_apart("nowhere", quick=True)
    assert not row["is_right"]
    assert "invalid choice: 'nowhere'" in row["finding"]
    assert "**no**" in load.table(load.pd.DataFrame([row]))
