"""Of the house: what is public is listed, documented, and found where the design says."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from numpydoc.validate import validate

import manyview

SOURCE = Path(manyview.__file__).parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(manyview.__path__, "manyview.")
    if not module.name.split(".")[-1].startswith("_")
)


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_and_class_of_a_module_is_in_its_all(name):
    module = importlib.import_module(name)
    listed = set(getattr(module, "__all__", []))
    assert all(hasattr(module, member) for member in listed)
    own = {
        member
        for member, value in vars(module).items()
        if (inspect.isfunction(value) or inspect.isclass(value))
        and value.__module__ == name
        and not member.startswith("_")
    }
    assert own <= listed


@pytest.mark.parametrize(
    "names",
    [
        ("manyview", "OMVCDR MultiViewData estimate_cost open_rows"),
        ("manyview.data", "MultiViewData Rows open_rows"),
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
        ("manyview.io", "read_views read_new_samples read_meta open_views LoadedViews"),
        ("manyview.inspection", "associate Associations Explanation"),
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
    "manyview.model_selection.choose",
    "manyview.datasets.load_benchmark",
    "manyview.datasets.load_digits_views",
    "manyview.datasets.make_multiview_blobs",
]
# what numpydoc asks for beyond our style: extended summaries, See Also, an example in every
# method, a text after each return type, and verbs in the infinitive
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
    "PR06",
    "SS06",
    "PR01",
    "PR02",
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_docstrings_follow_numpydoc(name):
    errors = [(code, text) for code, text in validate(name)["errors"] if code not in WAIVED]
    assert errors == []
