"""Fits of views wider than samples: the row space is exact, and everything is as without it."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from manyview import OMVCDR
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.engines import choose_engine
from manyview.kernels import products, row_space
from manyview.kernels.row_space import Lift, is_wide
from manyview.solver import fitting
from manyview.solver.initialization import coordinates_of_grams, leading_coordinates
from manyview.solver.problem import Settings, build_problem
from manyview.solver.scaled_rows import find_row_spaces

NEVER = 10**9
WIDTHS = (150, 30, 260)


@pytest.fixture
def narrowed(monkeypatch):
    """Views of any width count as wide; the list gets what each fit was narrowed to."""
    monkeypatch.setattr(row_space, "FEWEST_FEATURES", 1)
    monkeypatch.setattr(products, "PIECE_BYTES", 1)
    monkeypatch.setattr(products, "FEWEST_COLUMNS", 16)
    made, original = [], fitting.narrow_rows

    def recorded(*arguments):
        made.append(original(*arguments))
        return made[-1]

    monkeypatch.setattr(fitting, "narrow_rows", recorded)
    return made


def blobs(n=60, dtype=np.float64, missing=0.0):
    made = make_multiview_blobs(
        n, WIDTHS, n_clusters=3, separation=2.0, dtype=dtype, missing_rate=missing, random_state=1
    )
    return made.data


def fit_plainly(monkeypatch, model, data, **given):
    """The fit without row spaces."""
    with monkeypatch.context() as patched:
        patched.setattr(row_space, "FEWEST_FEATURES", NEVER)
        return model.fit(data, **given)


def scaled_engine(data, scale="auto"):
    engine = choose_engine("memory", "cpu", data)
    engine.load(data, None)
    settings = Settings(3, 1.0, 2, None, scale, 2.0)
    return engine, build_problem(engine, settings, data.view_names)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [None, "l2", "z-l2"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_coordinates_and_their_lift_give_back_the_rows(dtype, scale, missing):
    engine, _ = scaled_engine(blobs(dtype=dtype, missing=missing), scale)
    blocks = engine.sample(60, np.random.default_rng(0))
    spaces = find_row_spaces(engine, (True, False, True))
    assert spaces[1] is None
    for v in (0, 2):
        space, view = spaces[v], blocks[0].views[v]
        L = space.lift(np.eye(space.rank))
        X = products.scaled_rows(view).astype(np.float64)
        if view.absent is not None:
            assert_array_equal(space.coordinates[view.absent], 0)
        tolerance = 1e-9 if dtype == np.float64 else 1e-4
        assert_allclose(L.T @ L, np.eye(space.rank), atol=1e-7)
        assert_allclose(space.coordinates @ L.T, X, atol=tolerance * np.abs(X).max())
        Q = np.random.default_rng(2).standard_normal((X.shape[1], 4))
        assert_allclose(space.lower(Q), L.T @ Q, atol=1e4 * tolerance)


def test_a_view_of_zeros_has_no_row_space_and_equal_rows_count_once(rng):
    X = np.repeat(rng.standard_normal((10, 90)), 4, axis=0)
    engine, _ = scaled_engine(blobs(40), None)
    engine.load(engine._data.__class__.of([X, np.zeros((40, 90))]), None)
    spaces = find_row_spaces(engine, (True, True))
    assert spaces[0].rank == 10
    assert spaces[1] is None


CASES = {
    "default": {},
    "as given": {"scale": None},
    "z-scores": {"scale": "z"},
    "smoothed z-scores": {"scale": "z", "smooth": True},
    "components": {"scale": ["pca-l2", "sqrt-l2"]},
    "unsmoothed": {"smooth": False},
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_is_as_without_row_spaces(monkeypatch, narrowed, case, missing, dtype):
    data = blobs(dtype=dtype, missing=missing)
    model = OMVCDR(3, random_state=0, **CASES[case]).fit(data)
    assert narrowed[0].engine.n_samples == 60
    assert any(space is not None for space in narrowed[0].spaces)
    plain = fit_plainly(monkeypatch, OMVCDR(3, random_state=0, **CASES[case]), data)
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    assert_array_equal(model.labels_, plain.labels_)
    assert model.objective_ == pytest.approx(plain.objective_, rel=tolerance)
    assert_allclose(model.view_weights_, plain.view_weights_, atol=tolerance)
    assert_allclose(model.space_weights_, plain.space_weights_, atol=tolerance)
    assert_allclose(model.outlier_score_, plain.outlier_score_, atol=10 * tolerance)
    assert_allclose(model.confidence_, plain.confidence_, atol=10 * tolerance)
    assert model.scalings_ == plain.scalings_
    for ours, theirs in zip(model.cluster_centers_, plain.cluster_centers_, strict=True):
        assert_array_equal(ours, theirs)
    for ours, theirs in zip(model.bases_, plain.bases_, strict=True):
        for H, other in zip(ours, theirs, strict=True):
            assert_allclose(H.T @ H, np.eye(H.shape[1]), atol=1e-9)
            assert_allclose(H @ H.T, other @ other.T, atol=10 * tolerance)


@pytest.mark.parametrize("case", CASES)
def test_samples_of_a_fit_get_their_labels_and_new_ones_those_of_a_plain_fit(
    monkeypatch, narrowed, case
):
    data, new = blobs(80)[:60], blobs(80)[60:]
    model = OMVCDR(3, random_state=0, **CASES[case]).fit(data)
    plain = fit_plainly(monkeypatch, OMVCDR(3, random_state=0, **CASES[case]), data)
    assert_array_equal(model.predict(data), model.labels_)
    assert_array_equal(model.predict(new), plain.predict(new))
    assert_allclose(np.abs(model.transform(new)), np.abs(plain.transform(new)), atol=1e-8)
    assert_allclose(model.score_samples(new), plain.score_samples(new), atol=1e-7)
    tables = model.explain(), plain.explain()
    assert_allclose(tables[0].view_weights, tables[1].view_weights, atol=1e-9)


@pytest.mark.parametrize("scale", ["auto", None])
def test_weights_count_as_without_row_spaces(monkeypatch, narrowed, scale):
    data, weights = blobs(), np.random.default_rng(0).integers(0, 4, 60)
    model = OMVCDR(3, scale=scale, random_state=0).fit(data, sample_weight=weights)
    assert narrowed[0] is not None
    plain = OMVCDR(3, scale=scale, random_state=0)
    fit_plainly(monkeypatch, plain, data, sample_weight=weights)
    assert_array_equal(model.labels_, plain.labels_)
    assert_allclose(model.outlier_score_, plain.outlier_score_, atol=1e-7)


@pytest.mark.parametrize("scale", ["auto", None, "z"])
def test_sparse_views_are_as_dense_ones(monkeypatch, narrowed, scale):
    rng = np.random.default_rng(0)
    views = [
        sparse.random_array((60, d), density=0.6, format="csr", rng=rng) for d in (120, 200)
    ]  # fmt: skip
    model = OMVCDR(3, scale=scale, random_state=0).fit(views)
    assert all(space is not None for space in narrowed[0].spaces[:2])
    plain = fit_plainly(monkeypatch, OMVCDR(3, scale=scale, random_state=0), views)
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.predict(views), model.labels_)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-9)


def test_views_on_disk_are_as_views_in_memory(narrowed, tmp_path):
    data = blobs()
    files = [tmp_path / f"{v}.npy" for v in range(3)]
    for file, view in zip(files, data.views, strict=True):
        np.save(file, view)
    streamed = OMVCDR(3, engine="stream", random_state=0).fit([str(file) for file in files])
    held = OMVCDR(3, random_state=0).fit(data)
    assert len(narrowed) == 2
    assert None not in narrowed
    assert_array_equal(streamed.labels_, held.labels_)
    lifts = streamed._fitted.anchor_graph.lifts
    assert all(isinstance(L, np.ndarray) for L in lifts)  # the files may be gone later


def test_a_fit_with_a_checkpoint_is_the_same(narrowed, tmp_path):
    data = blobs()
    held = OMVCDR(3, random_state=0).fit(data)
    resumed = OMVCDR(3, random_state=0).fit(data, checkpoint=tmp_path / "passes")
    assert_array_equal(resumed.labels_, held.labels_)


def test_lifts_are_made_when_they_are_needed(monkeypatch, narrowed, tmp_path):
    data = blobs()
    model = OMVCDR(3, random_state=0).fit(data)
    plain = fit_plainly(monkeypatch, OMVCDR(3, random_state=0), data)
    lifts = model._fitted.anchor_graph.lifts
    later = [L for L in lifts if isinstance(L, Lift)]
    assert len(later) == 2  # of views of 150 and 260 features
    assert all(L._made is None for L in later)
    ours, theirs = model._fitted.anchor_graph, plain._fitted.anchor_graph
    for v in (0, 2):  # the same mean rows around anchors
        rows = ours.tables[v] @ np.asarray(lifts[v]).T
        assert len(lifts[v]) == rows.shape[1] == WIDTHS[v]
        assert_allclose(rows, theirs.tables[v] @ theirs.lifts[v].T, atol=1e-9)
    assert not hasattr(later[0], "_space")  # refers to no samples any more
    model.save(tmp_path / "model.mv")
    for copy in (OMVCDR.load(tmp_path / "model.mv"), pickle.loads(pickle.dumps(model))):
        assert all(type(L) is np.ndarray for L in copy._fitted.anchor_graph.lifts)
        assert_array_equal(copy.predict(data), model.labels_)


@pytest.mark.parametrize("smooth", [True, False])
def test_batches_go_on_as_without_row_spaces(monkeypatch, narrowed, smooth):
    data, new = blobs(100)[:60], blobs(100)[60:]
    model = OMVCDR(3, smooth=smooth, random_state=0).fit(data)
    plain = fit_plainly(monkeypatch, OMVCDR(3, smooth=smooth, random_state=0), data)
    for batch in (new[:20], new[20:]):
        model.partial_fit(batch)
        plain.partial_fit(batch)
        assert_array_equal(model.labels_, plain.labels_)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    for ours, theirs in zip(model.bases_, plain.bases_, strict=True):
        for H, other in zip(ours, theirs, strict=True):
            assert_allclose(H @ H.T, other @ other.T, atol=1e-7)


def test_views_far_from_the_origin_or_of_low_rank_keep_their_columns(monkeypatch, narrowed):
    data = blobs()
    far = [data.views[0] + 1e4, data.views[1], data.views[2]]
    thin = np.outer(np.arange(60.0) % 3 + 1, np.linspace(1, 2, 100))
    model = OMVCDR(3, scale=None, random_state=0).fit([*far, thin])
    is_kept = [space is None for space in narrowed[0].spaces]
    assert is_kept == [True, True, False, True]
    plain = fit_plainly(monkeypatch, OMVCDR(3, scale=None, random_state=0), [*far, thin])
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.predict([*far, thin]), model.labels_)


def test_clusters_of_any_size_are_as_without_row_spaces(monkeypatch, narrowed):
    for name, value in {"UNEVEN": 2.0, "CLEARLY": -2.0, "SLIGHTLY": -2.0}.items():
        monkeypatch.setattr(fitting, name, value)  # the competitor is tried, and taken
    data = blobs(missing=0.2)
    model = OMVCDR(3, random_state=0).fit(data)
    assert model._fitted.model.size_weight > 0
    assert narrowed[0] is not None
    plain = fit_plainly(monkeypatch, OMVCDR(3, random_state=0), data)
    assert_array_equal(model.labels_, plain.labels_)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-9)
    assert_array_equal(model.predict(data), model.labels_)


@pytest.mark.parametrize("scale", ["auto", None])
def test_equal_samples_have_equal_coordinates(monkeypatch, narrowed, scale):
    data = blobs()[np.r_[0:50, 0:10]]
    model = OMVCDR(3, scale=scale, random_state=0).fit(data)
    for space in narrowed[0].spaces:
        if space is not None:
            assert_array_equal(space.coordinates[50:], space.coordinates[:10])
    plain = fit_plainly(monkeypatch, OMVCDR(3, scale=scale, random_state=0), data)
    assert_array_equal(model.labels_, plain.labels_)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_coordinates_of_gram_matrices_are_those_of_the_rows(missing):
    data = blobs(missing=missing)
    engine, problem = scaled_engine(data, "l2")
    blocks = engine.sample(60, np.random.default_rng(0))
    expected = leading_coordinates(blocks, engine.kernels, problem, np.random.default_rng(5))
    n_columns = max(problem.dims)
    absent = row_space.rows_absent(blocks).T
    found = coordinates_of_grams(
        [engine.gram(v) for v in range(3)], absent, np.ones(60), n_columns, np.random.default_rng(5)
    )
    signs = np.sign(np.sum(found * expected, axis=0))
    assert_allclose(found * signs, expected, atol=1e-9)


def test_gram_matrices_are_made_once_for_rows_scaled_alike(monkeypatch):
    engine, _ = scaled_engine(blobs(), "l2")
    first = engine.gram(0)
    monkeypatch.setattr(engine, "kernels", None)  # none is called
    assert_array_equal(engine.gram(0), first)


def test_many_or_narrow_rows_are_left_alone():
    assert not is_wide(500, 999)
    assert is_wide(500, 1000)
    assert not is_wide(1000, 1000)
    assert not is_wide(row_space.MOST_ROWS + 1, 10**6)


@pytest.mark.parametrize("name", ["tcga_breast", "brca_jive", "bbcsport", "nutrimouse"])
def test_real_wide_sets_have_the_labels_of_a_plain_fit(monkeypatch, narrowed, data_home, name):
    data, target = load_benchmark(name, data_home=data_home, return_X_y=True)
    k = len(np.unique(target))
    model = OMVCDR(k, random_state=0).fit(data)
    assert narrowed[0] is not None
    plain = fit_plainly(monkeypatch, OMVCDR(k, random_state=0), data)
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.predict(data), model.labels_)
