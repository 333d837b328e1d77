"""explain(): the tables of a fit, with and without its views at hand."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import DataWarning, ViewError


@pytest.fixture(scope="module")
def named():
    """120 samples with names, one view sparse, one missing for a tenth."""
    blobs = make_multiview_blobs(120, (6, 9), n_clusters=3, separation=2.0, random_state=0).data
    first = pd.DataFrame(
        blobs.views[0],
        index=[f"s{i}" for i in range(120)],
        columns=[f"g{j}" for j in range(6)],
    )
    present = np.ones((120, 2), dtype=bool)
    present[::10, 1] = False
    views = {"rna": first, "text": sparse.csr_array(blobs.views[1])}
    return MultiViewData.of(views, present=present)


@pytest.fixture(scope="module")
def model(named):
    return OMVCDR(n_clusters=3, random_state=0).fit(named)


@pytest.fixture(scope="module")
def explanation(model):
    return model.explain()


def test_the_tables_speak_of_the_users_names(explanation, model):
    assert explanation.view_weights.columns.tolist() == ["rna", "text"]
    assert explanation.confidence.index[1] == "s1"
    assert set(explanation.exemplars["sample"]) <= set(explanation.confidence.index)
    features = explanation.features
    assert set(features.loc[features["view"] == "rna", "feature"]) <= {f"g{j}" for j in range(6)}
    np.testing.assert_array_equal(explanation.confidence["confidence"], model.confidence_)


def test_view_weights_of_clusters_sum_to_one_and_mean_to_those_of_the_fit(explanation, model):
    np.testing.assert_allclose(explanation.view_weights.sum(axis="columns"), 1)
    low, high = explanation.view_weights.min(), explanation.view_weights.max()
    assert (low <= model.view_weights_ + 1e-9).all()
    assert (model.view_weights_ <= high + 1e-9).all()


def test_its_text_names_the_tables_and_fits_a_screen(explanation):
    text = repr(explanation)
    assert len(text.splitlines()) <= 13
    assert f".features: {len(explanation.features):,} × 9" in text


def test_a_view_that_alone_holds_a_cluster_has_its_weight():
    """Cluster 0 differs in the first view only, the others in the second only."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 60)
    first = rng.normal(size=(180, 5)) + 8 * (truth == 0)[:, None]
    second = rng.normal(size=(180, 5)) + np.outer(8 * (truth == 2) - 8 * (truth == 1), np.ones(5))
    model = OMVCDR(n_clusters=3, scale="z", random_state=0).fit({"a": first, "b": second})
    c = np.bincount(model.labels_[truth == 0]).argmax()
    weights = model.explain().view_weights
    assert weights.loc[c, "a"] > 0.8
    assert (weights.drop(index=c)["b"] > 0.5).all()


def test_exemplars_are_nearest_to_their_mean(explanation, model, named):
    z = np.asarray(model.transform(named))
    for c, table in explanation.exemplars.groupby("cluster"):
        members = np.flatnonzero(model.labels_ == c)
        distance = np.linalg.norm(z[members] - z[members].mean(axis=0), axis=1)
        nearest = members[np.argsort(distance)[: len(table)]]
        assert table["position"].tolist() == nearest.tolist()


def test_doubtful_samples_are_the_least_sure_with_their_next_cluster(rng):
    """Between two clusters of three, the next is the other of the two."""
    truth = np.repeat([0, 1, 2], 50)
    means = np.array([[0.0, 0], [6, 0], [0, 40]])
    X = np.repeat(means[truth], 3, axis=1) + 0.3 * rng.normal(size=(150, 6))
    X[0] = np.repeat([2.9, 0], 3)
    model = OMVCDR(n_clusters=3, scale=None, n_spaces=1, random_state=0).fit([X, X[:, ::-1]])
    doubtful = model.explain().doubtful
    assert doubtful["position"].iloc[0] == 0
    assert doubtful["confidence"].is_monotonic_increasing
    assert (doubtful["confidence"] < 0.5).all()
    expected = {model.labels_[1], model.labels_[51]}
    assert {doubtful["cluster"].iloc[0], doubtful["next_cluster"].iloc[0]} == expected


def test_the_map_tells_where_each_sample_is(explanation, named):
    assert explanation.map["position"].tolist() == list(range(120))
    assert np.isfinite(explanation.map[["x", "y"]]).all(axis=None)
    is_nowhere = explanation.view_maps["text"]["x"].isna()
    np.testing.assert_array_equal(is_nowhere, ~named.present[:, 1])


@pytest.mark.parametrize(
    "pass_on", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_a_copy_has_no_views_and_asks_for_them(model, named, explanation, pass_on):
    other = pass_on(model)
    assert not any(value is named for value in vars(other).values())
    with pytest.raises(ViewError, match="Pass the samples of the fit"):
        other.explain()
    pd.testing.assert_frame_equal(other.explain(named).features, explanation.features)
    assert model.explain().features.equals(explanation.features)


def test_a_loaded_model_explains_the_same(model, named, explanation, tmp_path):
    model.save(tmp_path / "model.mv")
    loaded = OMVCDR.load(tmp_path / "model.mv").explain(named)
    for field in ("view_weights", "features", "heatmap", "exemplars", "doubtful", "map"):
        pd.testing.assert_frame_equal(getattr(loaded, field), getattr(explanation, field))


def test_other_samples_are_refused(model, named):
    with pytest.raises(ViewError, match="X has 100 samples; the fit had 120"):
        model.explain(named[:100])
    with pytest.raises(NotFittedError):
        OMVCDR().explain()


def test_one_cluster_is_explained_too():
    model = OMVCDR(n_clusters=1, random_state=0).fit(make_multiview_blobs(30, random_state=0).data)
    explanation = model.explain()
    assert explanation.features.empty
    assert explanation.doubtful.empty
    assert len(explanation.map) == 30


def test_names_of_several_levels_and_equal_names_are_kept():
    blobs = make_multiview_blobs(30, random_state=0).data
    index = pd.MultiIndex.from_product([["a", "b"], range(15)])
    tables = {f"v{v}": pd.DataFrame(view, index=index) for v, view in enumerate(blobs.views)}
    explanation = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(tables).explain()
    assert explanation.confidence.index[1] == ("a", 1)
    twins = tables["v0"].set_axis(["x"] * 30)
    with pytest.warns(DataWarning, match="has sample 'x' twice"):
        explanation = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(twins).explain()
    assert len(explanation.map) == 30


def test_a_limit_of_memory_bounds_the_map_and_the_embedding(rng):
    n, k = 9000, 12
    views = [rng.normal(size=(n, 30)).astype(np.float32) for _ in range(2)]
    model = OMVCDR(n_clusters=k, n_init=1, max_iter=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(views)
    model.memory_limit = 6e6
    widths = []
    transform = model.transform
    model.transform = lambda X: widths.append(len(X)) or transform(X)
    explanation = model.explain()
    assert len(explanation.map) == 2000  # 6 MB / 2 / 1500 B
    assert max(widths) <= 8192 < n
    assert explanation.exemplars["cluster"].nunique() == k
