"""What a notebook shows: the parameters, then views and clusters; nothing that needs a network."""

import re

import numpy as np
import pytest
import sklearn

from manyview import OMVCDR
from manyview.baselines import ConcatKMeans
from manyview.datasets import make_multiview_blobs
from manyview.utils.notebook import N_SHOWN, result_of


@pytest.fixture(scope="module")
def blobs():
    data, _ = make_multiview_blobs(
        90, (6, 5), n_clusters=3, missing_rate=0.2, random_state=0, return_X_y=True
    )
    return data


@pytest.fixture(scope="module")
def model(blobs):
    return OMVCDR(3, random_state=0, n_init=2, lam=0.25).fit(
        {"rna": blobs.views[0], "<script>": blobs.views[1]}, present=blobs.present
    )


def own_part(html):
    """What follows the box of scikit-learn."""
    return html[html.index(".manyview {") :] if ".manyview {" in html else ""


def test_before_fit_it_is_the_box_of_scikit_learn():
    html = OMVCDR(3, lam=0.25)._repr_html_()
    assert "OMVCDR" in html
    assert "lam" in html
    assert own_part(html) == ""


def test_the_result_is_that_of_the_fit(model, blobs):
    result = result_of(model)
    assert (result["n_samples"], result["n_clusters"], result["n_hidden"]) == (90, 3, 0)
    assert [view["n_samples"] for view in result["views"]] == list(blobs.present.sum(axis=0))
    assert [view["n_features"] for view in result["views"]] == [6, 5]
    assert [view["weight"] for view in result["views"]] == list(model.view_weights_)
    for part in result["clusters"]:
        members = model.labels_ == part["cluster"]
        assert part["size"] == members.sum()
        assert part["share"] == pytest.approx(members.mean())
        assert part["confidence"] == np.median(model.confidence_[members])
    assert max(part["bar"] for part in result["clusters"]) == 1
    assert result["stability"] == model.stability_
    assert result["confidence"] == np.median(model.confidence_)


def test_the_page_shows_it_without_scripts_or_addresses(model):
    html = model._repr_html_()
    own = own_part(html)
    assert "90 samples in 3 clusters" in own
    assert f"Stability {model.stability_:.2f}" in own
    assert "&lt;script&gt;" in own
    assert re.search(r"<script|https?:|url\(", own) is None
    bundle = model._repr_mimebundle_()
    assert own_part(bundle["text/html"]) == own
    assert bundle["text/plain"] == repr(model)


def test_of_many_clusters_the_largest_are_shown(rng):
    views = [rng.standard_normal((80, 3)), rng.standard_normal((80, 2))]
    model = ConcatKMeans(30, random_state=0).fit(views)
    result = result_of(model)
    assert (len(result["clusters"]), result["n_hidden"]) == (N_SHOWN, 10)
    sizes = np.bincount(model.labels_)
    assert sorted(part["size"] for part in result["clusters"]) == sorted(sizes)[-N_SHOWN:]
    assert result["confidence"] is None
    own = own_part(model._repr_html_())
    assert "and 10 more, none larger" in own
    assert "confidence" not in own[own.index("<div") :]


def test_text_display_is_respected(model):
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


def test_a_loaded_model_shows_the_same(model, tmp_path):
    model.save(tmp_path / "model.mv")
    assert result_of(OMVCDR.load(tmp_path / "model.mv")) == result_of(model)
