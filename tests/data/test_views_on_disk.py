"""Views on disk go through everything as arrays do."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone

from manyview import OMVCDR, MultiViewData, open_rows
from manyview.baselines import ConcatKMeans
from manyview.data.rows import Rows
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.model_selection import choose


@pytest.fixture
def arrays():
    data = make_multiview_blobs(120, n_clusters=3, random_state=0).data
    return [np.asarray(view, dtype=np.float32) for view in data.views]


@pytest.fixture
def paths(arrays, tmp_path):
    """Each view as the pattern of its shards."""
    for v, X in enumerate(arrays):
        for p, part in enumerate(np.array_split(X, 3)):
            np.save(tmp_path / f"view{v}_{p}.npy", part)
    return [f"{tmp_path}/view{v}_*.npy" for v in range(len(arrays))]


@pytest.fixture
def stored(paths):
    return [open_rows(path) for path in paths]


def test_rows_paths_and_arrays_are_views_side_by_side(arrays, paths, stored):
    data = MultiViewData.of({"file": paths[0], "rows": stored[1], "array": arrays[0]})
    assert [isinstance(view, Rows) for view in data.views] == [True, True, False]
    widths = (arrays[0].shape[1], arrays[1].shape[1], arrays[0].shape[1])
    assert (data.n_samples, data.n_features, data.dtype) == (120, widths, np.float32)
    assert data.present is None
    for view, X in zip(data.in_memory().views, [*arrays[:2], arrays[0]], strict=True):
        assert isinstance(view, np.ndarray)
        np.testing.assert_array_equal(view, X)


@pytest.mark.parametrize(
    ("rows", "stays"),
    [
        (slice(10, 50), True),
        (np.ones(120, bool), True),
        (np.arange(120) % 2 == 0, False),
        ([5, 3, 70], False),
        (slice(None, None, 3), False),
    ],
)
def test_samples_are_chosen_and_stay_on_disk_where_they_can(arrays, stored, rows, stays):
    part = MultiViewData.of(stored)[rows]
    assert all(isinstance(view, Rows) == stays for view in part.views)
    for view, X in zip(part.views, arrays, strict=True):
        np.testing.assert_array_equal(np.asarray(view), X[rows])


def test_what_is_missing_or_broken_is_found_on_disk(tmp_path, monkeypatch):
    X = np.ones((50, 3))
    X[41] = np.nan
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr("manyview.data.conversion.CHECKED_BYTES", 7 * X[0].nbytes)
    data = MultiViewData.of([str(tmp_path / "x.npy"), np.ones((50, 2))])
    assert data.present[:, 0].tolist() == [i != 41 for i in range(50)]
    X[20, 1] = np.inf
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ViewError, match="contains inf in row 20"):
        MultiViewData.of([tmp_path / "x.npy", np.ones((50, 2))])


def test_assume_finite_spares_the_pass(stored, monkeypatch):
    monkeypatch.setattr(Rows, "read", None)
    with config_context(assume_finite=True):
        assert MultiViewData.of(stored).n_samples == 120


def test_shapes_are_checked_without_reading(stored, tmp_path):
    with pytest.raises(ViewError, match="'view_1' has 100 rows"):
        MultiViewData.of([stored[0], stored[1][:100]])
    with pytest.raises(ViewError, match="found 0 sample"):
        MultiViewData.of([stored[0][:0]])
    with pytest.raises(ViewError, match="There is no file"):
        MultiViewData.of([tmp_path / "nothing.npy"])
    with pytest.raises(ViewError, match="view_sizes splits arrays in memory"):
        MultiViewData.of(stored[0], view_sizes=[1, stored[0].shape[1] - 1])


@pytest.fixture
def model():
    return OMVCDR(n_clusters=3, random_state=0, n_init=2)


def test_a_fit_of_files_is_the_fit_of_the_arrays(model, arrays, paths, stored):
    expected = model.fit(arrays)
    for given in (paths, stored, MultiViewData.of(stored), [stored[0], arrays[1]]):
        fitted = clone(model).fit(given)
        np.testing.assert_array_equal(fitted.labels_, expected.labels_)
        np.testing.assert_array_equal(fitted.predict(given), expected.predict(arrays))
        np.testing.assert_array_equal(fitted.transform(paths), expected.transform(arrays))
        assert fitted.objective_ == expected.objective_


def test_one_file_is_one_view(model, arrays, paths, stored):
    expected = model.fit(arrays[0]).labels_
    for given in (paths[0], stored[0]):
        fitted = clone(model).fit(given)
        np.testing.assert_array_equal(fitted.labels_, expected)
        np.testing.assert_array_equal(fitted.predict(given), expected)
        assert fitted.n_features_in_ == arrays[0].shape[1]


def test_weights_of_zero_leave_rows_out(model, arrays, paths):
    weights = (np.arange(120) % 5 > 0).astype(float)
    expected = clone(model).fit(arrays, sample_weight=weights).labels_
    fitted = model.fit(paths, sample_weight=weights)
    np.testing.assert_array_equal(fitted.labels_, expected)


def test_an_explanation_reads_what_it_needs(model, arrays, paths):
    expected = clone(model).fit(arrays).explain()
    told = model.fit(paths).explain()
    for name in ("features", "heatmap", "confidence", "map", "exemplars"):
        assert getattr(told, name).equals(getattr(expected, name))
    assert told.view_maps["view_0"].equals(expected.view_maps["view_0"])


def test_a_report_is_written(model, paths, tmp_path):
    model.fit(paths).report(tmp_path / "report.html")
    assert "view_1" in (tmp_path / "report.html").read_text()


def test_the_number_of_clusters_is_chosen_from_a_sample(arrays, paths):
    expected = choose(arrays, range(2, 6), max_samples=80, random_state=0)
    assert choose(paths, range(2, 6), max_samples=80, random_state=0).table.equals(expected.table)


def test_a_baseline_reads_all(arrays, paths):
    method = ConcatKMeans(n_clusters=3, random_state=0)
    np.testing.assert_array_equal(method.fit(paths).labels_, clone(method).fit(arrays).labels_)
