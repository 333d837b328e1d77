"""What holds for a fit of any views: shapes, dtypes, layouts, weights, missing views, k and λ."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.strategies import LAYOUTS, ROUND_THE_SAME, problems, uneven_weights
from manyview import OMVCDR, MultiViewData
from manyview.exceptions import ViewError

SCALES = ["auto", None, "unit", "l2", "sqrt-l2", "z", "z-l2", "pca-l2", "log-pca-l2"]
pytestmark = pytest.mark.filterwarnings(
    "ignore::manyview.exceptions.DataWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
settings_of_fits = st.fixed_dictionaries(
    {
        "scale": st.sampled_from(SCALES),
        "smooth": st.sampled_from(["auto", True, False]),
        "lam": st.sampled_from([1e-12, 0.1, 2.0, 1e3, 1e12]),
    }
)


def fit(data, k, weights=None, **parameters):
    model = OMVCDR(k, n_init=2, random_state=0, check_structure=False, **parameters)
    return model.fit(data, sample_weight=weights)


def assert_sound(model, data):
    np.testing.assert_array_equal(model.predict(data), model.labels_)
    assert model.labels_.dtype == np.int32
    assert 0 <= model.labels_.min() <= model.labels_.max() < model.n_clusters_
    shares = model.predict_proba(data)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for numbers in (model.objective_, model.transform(data), model.outlier_score_, shares):
        assert np.all(np.isfinite(numbers))


def stored(data, layout, dtype):
    views = [LAYOUTS[layout](X.astype(dtype)) for X in data.views]
    return MultiViewData.of(views, present=data.present)


@given(problems(), st.sampled_from(sorted(LAYOUTS)), settings_of_fits, st.booleans())
def test_any_layout_and_dtype_gives_a_sound_fit(case, layout, settings, is_single):
    data, k, weights = case
    given_views = stored(data, layout, np.float32 if is_single else np.float64)
    assert_sound(fit(given_views, k, weights, **settings), given_views)


@given(problems(), st.sampled_from(ROUND_THE_SAME), settings_of_fits)
def test_how_values_are_stored_does_not_matter(case, layout, settings):
    data, k, weights = case
    labels = [
        fit(stored(data, how, np.float64), k, weights, **settings).labels_
        for how in ("contiguous", layout)
    ]
    np.testing.assert_array_equal(*labels)


@given(problems(), settings_of_fits, st.data())
def test_the_unit_of_the_weights_does_not_matter(case, settings, draw):
    data, k, _ = case
    weights = draw.draw(uneven_weights(len(data), n_positive=k))
    model = fit(data, k, weights, **settings)
    assert_sound(model, data)
    np.testing.assert_array_equal(fit(data, k, 1000 * weights, **settings).labels_, model.labels_)


@given(problems(missing=False), settings_of_fits, st.sampled_from([1, "n"]))
def test_one_cluster_and_as_many_as_samples_are_possible(case, settings, k):
    data, _, weights = case
    assert_sound(fit(data, len(data) if k == "n" else k, weights, **settings), data)


@given(problems(missing=False), st.integers(0, 2**32 - 1))
def test_rows_of_nan_are_missing_views_and_other_nan_are_refused(case, seed):
    data, k, weights = case
    rng = np.random.default_rng(seed)
    present = rng.random((len(data), data.n_views)) < 0.6
    present[np.arange(len(data)), rng.integers(data.n_views, size=len(data))] = True
    masked = [np.where(present[:, [v]], X, np.nan) for v, X in enumerate(data.views)]
    by_rows = fit(MultiViewData.of(masked), k, weights)
    by_mask = fit(MultiViewData.of(data.views, present=present), k, weights)
    np.testing.assert_array_equal(by_rows.labels_, by_mask.labels_)
    broken = np.column_stack([data.views[0], rng.random(len(data))])
    broken[rng.integers(len(data)), 0] = np.nan
    with pytest.raises(ViewError, match="NaN in part of row"):
        fit(MultiViewData.of([broken]), k)
