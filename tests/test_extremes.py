"""Tiny and huge values: a fit with finite numbers, or a sentence that says what to do."""

import re

import numpy as np
import pytest
from scipy import sparse

from manyview import OMVCDR, MultiViewData, open_rows
from manyview.exceptions import ViewError

SCALES = ["auto", None, "unit", "l2", "sqrt-l2", "z", "z-l2", "pca-l2", "log-pca-l2"]
FACTORS = [
    *((np.float32, factor) for factor in (1e-44, 1e-38, 1e-25, 1e17)),
    *((np.float64, factor) for factor in (1e-320, 1e-160, 1e-60, 1e70, 1e150)),
]
pytestmark = pytest.mark.filterwarnings(
    "ignore::manyview.exceptions.DataWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def blobs(rng, d, dtype=np.float64):
    centers = 3 * rng.standard_normal((3, d))
    return (centers[np.arange(40) % 3] + rng.standard_normal((40, d))).astype(dtype)


def fit_or_sentence(views, **parameters):
    """The model, or None after a refusal that names a view, what was found, and a remedy."""
    given = {"n_clusters": 3, "n_init": 2, "random_state": 0, "check_structure": False}
    try:
        model = OMVCDR(**given | parameters).fit(views)
    except ViewError as error:
        refusal = str(error)
    else:
        refusal = None
    if refusal is not None:
        remedy = r"View 'view_\d' (holds .* (Multiply|Divide) the view by \S+\.|contains inf .*)"
        assert re.fullmatch(remedy, refusal)
        return None
    np.testing.assert_array_equal(model.predict(views), model.labels_)
    numbers = (model.objective_, model.transform(views), model.outlier_score_, model.view_weights_)
    assert all(np.isfinite(values).all() for values in numbers)
    model.predict_proba(views)
    return model


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("dtype", "factor"), FACTORS, ids=str)
@pytest.mark.parametrize("where", ["all", "a column", "a row", "an entry", "sparse"])
def test_tiny_and_huge_values_are_clustered_or_refused(rng, dtype, factor, where, scale):
    X, other = np.abs(blobs(rng, 5)), blobs(rng, 7).astype(dtype)
    part = {"a column": np.s_[:, 1], "a row": np.s_[3], "an entry": np.s_[3, 2]}.get(
        where, np.s_[:]
    )
    X[part] *= factor
    X = X.astype(dtype)
    fit_or_sentence([sparse.csr_array(X) if where == "sparse" else X, other], scale=scale)


@pytest.mark.parametrize("scale", ["auto", None])
@pytest.mark.parametrize(("dtype", "factor"), [(np.float32, 1e-25), (np.float64, 1e-160)])
def test_a_view_whose_squares_vanish_is_refused_and_its_remedy_works(rng, dtype, factor, scale):
    X, other = (factor * blobs(rng, 5)).astype(dtype), blobs(rng, 7, dtype)
    with pytest.raises(ViewError, match="View 'small' holds no value above .* Multiply") as caught:
        OMVCDR(3, scale=scale).fit({"small": X, "other": other})
    remedy = float(re.search(r"by (1e\d+)\.$", str(caught.value)).group(1))
    assert fit_or_sentence([X * dtype(remedy), other], scale=scale) is not None


def test_new_samples_may_be_as_small_as_they_like(rng):
    views = [blobs(rng, 5), blobs(rng, 7)]
    model = OMVCDR(3, random_state=0).fit(views)
    assert model.predict([X[:2] * 1e-200 for X in views]).shape == (2,)


def test_new_samples_of_another_unit_are_labelled_or_refused(rng):
    views = [blobs(rng, 5, np.float32), blobs(rng, 7, np.float32)]
    model = OMVCDR(3, random_state=0, scale="z").fit([X * np.float32(1e-12) for X in views])
    labels = model.predict([X * np.float32(1e12) for X in views])
    assert labels.min() >= 0


@pytest.mark.parametrize("lam", [1e-300, 1e-12, 1e12, 1e300])
@pytest.mark.parametrize("scale", ["auto", None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_lambda_gives_a_fit(rng, lam, scale, dtype):
    assert fit_or_sentence([blobs(rng, 5, dtype), blobs(rng, 7, dtype)], lam=lam, scale=scale)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("case", ["all equal", "all zero", "one feature", "one sample has a view"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_views_with_little_in_them_give_a_fit(rng, tmp_path, case, scale, engine, dtype):
    X, other = blobs(rng, 5, dtype), blobs(rng, 7, dtype)
    if case == "one sample has a view":
        X[1:] = np.nan
    elif case == "one feature":
        X, other = X[:, :1], other[:, :1]
    else:
        X, other = (np.full_like(v, case == "all equal") for v in (X, other))
    views = [X, other]
    if engine == "stream":
        for v, view in enumerate(views):
            np.save(tmp_path / f"{v}.npy", view)
        views = [open_rows(tmp_path / f"{v}.npy") for v in range(2)]
    assert fit_or_sentence(views, scale=scale, engine=engine)


def test_a_tiny_row_among_others_is_a_row_of_zeros(rng):
    X = blobs(rng, 5, np.float32)
    X[3] *= np.float32(1e-42)
    zero = X.copy()
    zero[3] = 0
    tiny, none = (
        OMVCDR(3, scale="l2", smooth=False, random_state=0).fit(MultiViewData.of([view]))
        for view in (X, zero)
    )
    np.testing.assert_array_equal(tiny.labels_, none.labels_)


def test_a_column_that_hardly_varies_in_most_samples_does_not_overflow_in_the_others(rng):
    X = np.zeros((12, 2))
    X[:, 0], X[:, 1] = rng.random(12), 1e-160 * rng.random(12)
    X[0, 1] = 1.0
    assert fit_or_sentence([sparse.csr_array(X), blobs(rng, 7)[:12]], scale="pca-l2") is not None
