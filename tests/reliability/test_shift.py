"""Moved views: another unit, a missing logarithm, constant features."""

import numpy as np
import pytest
from scipy import sparse

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs


@pytest.fixture(scope="module")
def counts():
    """Positive values with clusters in both views."""
    data = make_multiview_blobs(240, n_features=(20, 12), random_state=0).data
    return [np.exp2(np.asarray(view) / 4 + 5) for view in data.views]


@pytest.fixture(scope="module")
def model(counts):
    logs = {"rna": np.log2(counts[0][:180]), "meth": counts[1][:180]}
    return OMVCDR(n_clusters=3, n_init=1, random_state=0).fit(logs)


def new_samples(counts):
    return {"rna": np.log2(counts[0][180:]), "meth": counts[1][180:]}


def kinds(shifts):
    return [(shift.view, shift.kind) for shift in shifts]


def test_samples_like_those_of_the_fit_raise_no_alarm(model, counts):
    new = new_samples(counts)
    assert model.find_shifts(new) == []
    labels = model.predict(new)
    for c in range(3):  # not even those of one cluster, or one sample
        assert model.find_shifts({name: view[labels == c] for name, view in new.items()}) == []
    assert model.find_shifts({name: view[:1] for name, view in new.items()}) == []


def test_a_missing_logarithm_and_another_unit_are_named(model, counts):
    new = new_samples(counts)
    [shift] = model.find_shifts({**new, "rna": counts[0][180:]})
    assert (shift.view, shift.kind) == ("rna", "level")
    assert "times that of the fit; perhaps another unit, or not log-transformed" in shift.sentence
    [shift] = model.find_shifts({**new, "meth": new["meth"] / 1000})
    assert (shift.view, shift.kind) == ("meth", "level")
    assert shift.value == pytest.approx(1e-3, rel=0.2)


def test_values_of_both_signs_are_compared_by_spread_and_location(rng):
    model = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(rng.standard_normal((100, 8)))
    new = rng.standard_normal((30, 8))
    assert model.find_shifts(new) == []
    assert kinds(model.find_shifts(new * 50)) == [("view_0", "spread")]
    assert kinds(model.find_shifts(new + 6)) == [("view_0", "location")]


def test_negative_values_where_there_were_none(model, counts):
    new = new_samples(counts)
    moved = new["meth"].copy()
    moved[3, 2] = -1.0
    assert kinds(model.find_shifts({**new, "meth": moved})) == [("meth", "negative")]


def test_features_that_became_constant_are_counted_and_named(model, counts):
    new = new_samples(counts)
    flat = new["rna"].copy()
    flat[:, [2, 5]] = flat.mean()
    [shift] = model.find_shifts({**new, "rna": flat})
    assert (shift.kind, shift.value) == ("constant", 2)
    assert "2 features are constant, which were not in the fit: 2, 5." in shift.sentence


def test_rare_features_may_be_constant_by_chance(rng):
    words = (rng.random((400, 60)) < np.repeat([0.4, 0.02], 30)).astype(np.float64)
    model = OMVCDR(n_clusters=2, n_init=1, random_state=0).fit(sparse.csr_array(words[:300]))
    assert model.find_shifts(words[300:320]) == []
    flat = words[300:].copy()
    flat[:, 3] = 0
    assert kinds(model.find_shifts(flat)) == [("view_0", "constant")]


def test_a_view_that_all_new_samples_lack_is_not_compared(model, counts):
    new = new_samples(counts)
    lacking = {**new, "meth": np.full_like(new["meth"], np.nan)}
    assert model.find_shifts(lacking) == []
