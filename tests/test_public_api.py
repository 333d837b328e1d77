"""Of the house: what is public is listed, documented, and found where the design says."""

import ast
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
        ("manyview", "OMVCDR MultiViewData estimate open_rows"),
        ("manyview.data", "Rows open_rows"),
        ("manyview.baselines", "PublishedOMVCDR BASELINES"),
        (
            "manyview.metrics",
            "clustering_accuracy normalized_mutual_info purity pairwise_f_score evaluate",
        ),
        (
            "manyview.datasets",
            "load_digits_views load_file load_benchmark make_multiview_blobs",
        ),
        ("manyview.io.anndata", "cluster_anndata cluster_mudata"),
        ("manyview.io", "read_views read_known read_meta open_views Intake"),
        ("manyview.inspection.association", "associate Associations"),
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
    "manyview.OMVCDR.next_clusters",
    "manyview.OMVCDR.report",
    "manyview.report.describe_fit",
    "manyview.report.render_fit",
    "manyview.MultiViewData.of",
    "manyview.MultiViewData.align",
    "manyview.open_rows",
    "manyview.estimate",
    "manyview.data.Rows.read",
    "manyview.data.Rows.take",
    "manyview.baselines.PublishedOMVCDR",
    "manyview.metrics.clustering_accuracy",
    "manyview.metrics.normalized_mutual_info",
    "manyview.metrics.evaluate",
    "manyview.datasets.load_file",
    "manyview.io.anndata.cluster_anndata",
    "manyview.io.anndata.cluster_mudata",
    "manyview.io.read_views",
    "manyview.io.read_known",
    "manyview.io.open_views",
    "manyview.io.read_meta",
    "manyview.inspection.association.associate",
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


# what each part may import: only what stands below it
LAYERS = {
    "errors": set(),
    "durable": set(),
    "pages": set(),
    "threads": set(),
    "memory": set(),
    "contingency": {"errors"},
    "metrics": {"contingency", "errors"},
    "blocks": {"errors"},
    "sources": {"blocks", "errors"},
    "_sheets": {"sources", "errors"},
    "_intake": {"_sheets", "sources", "errors"},
    "views": {"_intake", "_sheets", "sources", "errors"},
    "readings": {"blocks"},
    "kernels": {"blocks", "errors"},
    "engines": {
        "blocks",
        "views",
        "readings",
        "sources",
        "kernels",
        "memory",
        "threads",
        "errors",
    },
    "solver": {
        "blocks",
        "contingency",
        "views",
        "readings",
        "kernels",
        "engines",
        "errors",
        "threads",
    },
    "display": {"pages"},
    "base": {"display", "views", "errors"},
    "archive": {"durable", "errors"},
    "records": {"archive", "blocks", "readings", "solver"},
    "storage": {"archive", "blocks", "records", "solver", "errors"},
    "checkpoint": {"archive", "blocks", "durable", "records", "sources", "views", "errors"},
    "callbacks": {"solver"},
    "output": {"views"},
    "explanation": {"_intake", "blocks", "views", "errors"},
    "reported": {"explanation", "report", "storage"},
    "model_selection": {
        "base",
        "blocks",
        "contingency",
        "engines",
        "errors",
        "kernels",
        "readings",
        "solver",
        "threads",
        "views",
    },
    "batches": {"base", "solver", "views"},
    "parameters": {"base", "model_selection", "readings"},
    "estimator": {
        "base",
        "batches",
        "checkpoint",
        "parameters",
        "blocks",
        "callbacks",
        "output",
        "reported",
        "views",
        "engines",
        "solver",
        "errors",
        "threads",
    },
    "estimation": {
        "blocks",
        "datasets",
        "engines",
        "errors",
        "estimator",
        "memory",
        "readings",
        "solver",
        "sources",
        "threads",
        "views",
    },
    "omics": {"_sheets", "views", "estimator", "errors"},
    "baselines": {"base", "blocks", "readings", "kernels", "views", "errors", "threads"},
    "datasets": {"views", "errors", "durable", "paper"},
    "plots": {"benchmark", "explanation", "metrics", "model_selection", "readings", "errors"},
    "tables": {"_intake", "_sheets", "views", "datasets", "sources", "errors"},
    "association": {"errors"},
    "progress": {"solver"},
    "benchmark": {
        "readings",
        "estimator",
        "baselines",
        "datasets",
        "metrics",
        "durable",
        "views",
        "threads",
        "errors",
        "pages",
        "plots",
        "memory",
    },
    "report": {"blocks", "explanation", "metrics", "durable", "memory", "views", "pages"},
    "demo": {
        "estimator",
        "threads",
        "metrics",
        "durable",
        "datasets",
        "progress",
        "report",
        "views",
        "errors",
    },
    "paper": {"errors"},
    "reproduce": {
        "baselines",
        "pages",
        "benchmark",
        "blocks",
        "datasets",
        "durable",
        "errors",
        "estimator",
        "metrics",
        "paper",
        "report",
        "threads",
        "views",
    },
    "runs": {
        "association",
        "durable",
        "errors",
        "estimation",
        "estimator",
        "progress",
        "report",
        "sources",
        "tables",
    },
    "file_commands": {"choosing", "runs"},
    "choosing": {
        "benchmark",
        "durable",
        "errors",
        "model_selection",
        "plots",
        "readings",
        "tables",
        "views",
    },
    "cli": {
        "demo",
        "file_commands",
        "benchmark",
        "datasets",
        "paper",
        "report",
        "reproduce",
        "errors",
    },
}


def imports_of(path):
    """Parts of manyview that a file imports, at the top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "manyview" and len(parts) > 1 and parts[1] in LAYERS:
                yield parts[1]


def test_imports_only_point_downwards():
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        above = set(imports_of(path)) - LAYERS[part] - {part}
        assert above == set(), f"{path.name} imports {above}"


def test_the_solver_imports_the_protocol_of_engines_never_an_engine():
    for path in (SOURCE / "solver").glob("*.py"):
        assert "engines.in_memory" not in path.read_text()


def test_modules_and_functions_stay_small():
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert len(text.splitlines()) <= 400, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
                assert lines <= 40, f"{path.name}: {node.name} has {lines} lines"
