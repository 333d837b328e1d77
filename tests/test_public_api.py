"""Of the house: what is public is listed, documented, and found where the design says."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from numpydoc.validate import validate

import manyview

SOURCE = Path(manyview.__file__).parent
ROOT = Path(__file__).parents[1]
MODULES = re.findall(
    r"^   (manyview[\w.]*)$", (ROOT / "docs" / "api.rst").read_text(), re.MULTILINE
)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_the_reference_lists_all_that_is_public_in_it(name):
    module = importlib.import_module(name)
    listed = set(module.__all__)
    assert all(hasattr(module, member) for member in listed)
    own = {
        member
        for member, value in vars(module).items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == name
        and not member.startswith("_")
    }
    assert own <= listed


def test_names_are_listed_where_they_are_public_and_nowhere_else():
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        is_listed = any(line.startswith("__all__") for line in path.read_text("utf-8").splitlines())
        is_public = path.name == "__init__.py" or ".".join(parts) in MODULES
        assert is_public or not is_listed, path


@pytest.mark.parametrize(
    "names",
    [
        ("manyview", "OMVCDR MultiViewData estimate_cost open_rows remove_checkpoint"),
        ("manyview.data", "Rows open_rows"),
        ("manyview.baselines", "PublishedOMVCDR BASELINES"),
        (
            "manyview.metrics",
            "clustering_accuracy purity pairwise_f_score evaluate selective_accuracy",
        ),
        (
            "manyview.datasets",
            "load_digits_views load_file load_benchmark make_multiview_blobs",
        ),
        ("manyview.io.anndata", "cluster_anndata cluster_mudata"),
        (
            "manyview.io",
            "read_views read_new_samples read_meta open_views write_labels LoadedViews",
        ),
        ("manyview.inspection", "associate Associations Explanation compare_survival log_rank"),
        ("manyview.report", "describe_fit render_fit"),
        (
            "manyview.inspection.plots",
            "objective_curve cluster_sizes view_weights cluster_view_weights cluster_confidence "
            "feature_heatmap sample_map",
        ),
        ("manyview.model_selection", "choose Choice"),
    ],
)
def test_the_names_of_the_design_are_there(names):
    module, members = names
    for member in members.split():
        assert hasattr(importlib.import_module(module), member)


DOCUMENTED = [
    "manyview.OMVCDR",
    "manyview.OMVCDR.fit",
    "manyview.OMVCDR.partial_fit",
    "manyview.OMVCDR.predict",
    "manyview.OMVCDR.transform",
    "manyview.OMVCDR.score",
    "manyview.OMVCDR.anchor_graph",
    "manyview.OMVCDR.save",
    "manyview.OMVCDR.load",
    "manyview.OMVCDR.explain",
    "manyview.OMVCDR.assign",
    "manyview.OMVCDR.rank_features",
    "manyview.OMVCDR.report",
    "manyview.report.describe_fit",
    "manyview.report.render_fit",
    "manyview.MultiViewData.of",
    "manyview.MultiViewData.align",
    "manyview.open_rows",
    "manyview.estimate_cost",
    "manyview.data.Rows.read",
    "manyview.data.Rows.take",
    "manyview.baselines.PublishedOMVCDR",
    "manyview.metrics.clustering_accuracy",
    "manyview.metrics.evaluate",
    "manyview.datasets.load_file",
    "manyview.io.anndata.cluster_anndata",
    "manyview.io.anndata.cluster_mudata",
    "manyview.io.read_views",
    "manyview.io.read_new_samples",
    "manyview.io.open_views",
    "manyview.io.read_meta",
    "manyview.inspection.associate",
    "manyview.inspection.compare_survival",
    "manyview.inspection.log_rank",
    "manyview.model_selection.choose",
    "manyview.datasets.load_benchmark",
    "manyview.datasets.load_digits_views",
    "manyview.datasets.make_multiview_blobs",
]
# what numpydoc asks for beyond our style: extended summaries, See Also, an example in every
# method, a text after each return type, verbs in the infinitive, and keywords in the order of the
# signature, where those that all methods share come first
WAIVED = {
    "ES01",
    "SA01",
    "EX01",
    "RT03",
    "SS05",
    "SS03",
    "GL08",
    "PR09",
    "RT05",
    "PR03",
    "PR06",
    "SS06",
    "PR01",
    "PR02",
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_docstrings_follow_numpydoc(name):
    errors = [(code, text) for code, text in validate(name)["errors"] if code not in WAIVED]
    assert errors == []
