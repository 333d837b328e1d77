"""AnnData and MuData: read as views, and given the result. Tested where both are installed."""

import importlib.metadata
import json
import sys
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import cross_validate

from manyview import OMVCDR, MultiViewData
from manyview.cli import main
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.io.anndata import cluster_anndata, cluster_mudata
from manyview.metrics import clustering_accuracy

pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # of anndata and mudata on themselves
    pytest.mark.filterwarnings("ignore::UserWarning:anndata"),
]
anndata = pytest.importorskip("anndata", reason="needs the extra omics")
mudata = pytest.importorskip("mudata", reason="needs the extra omics")

QUICK = {"n_init": 1, "random_state": 0}


@pytest.fixture
def cells():
    """Two modalities of 120 cells: the first lacks ten, the second is in another order."""
    data, truth = make_multiview_blobs(120, (9, 6), n_clusters=3, random_state=0, return_X_y=True)
    names = pd.Index([f"cell{i}" for i in range(120)])
    rna, protein = (
        anndata.AnnData(
            X=view,
            obs=pd.DataFrame(index=names),
            var=pd.DataFrame(index=[f"{kind}{j}" for j in range(view.shape[1])]),
        )
        for kind, view in zip(("gene", "protein"), data.views, strict=True)
    )
    return rna[10:].copy(), protein[::-1].copy(), pd.Series(truth, index=names)


def test_a_MuData_is_read_as_its_modalities(cells):
    rna, protein, truth = cells
    mdata = mudata.MuData({"rna": rna, "protein": protein})
    data = MultiViewData.of(mdata)
    assert data.view_names == ("rna", "protein")
    assert list(data.sample_names) == list(mdata.obs_names)
    assert data.view_rows == (110, 120)
    assert list(data.feature_names[1]) == list(protein.var_names)
    for v, part in enumerate((rna, protein)):
        at = data.sample_names.get_indexer(part.obs_names)
        np.testing.assert_array_equal(data.views[v][at], part.X)
    model = OMVCDR(3, **QUICK).fit(mdata)
    assert clustering_accuracy(truth[mdata.obs_names], model.labels_) == 1
    np.testing.assert_array_equal(model.predict(mdata), model.labels_)


def test_sparse_X_stays_sparse(cells):
    rna, protein, _ = cells
    rna.X = sparse.csr_matrix(rna.X)
    protein.X = sparse.csc_matrix(protein.X)
    data = MultiViewData.of(mudata.MuData({"rna": rna, "protein": protein}))
    assert all(isinstance(view, sparse.csr_array) for view in data.views)
    at = data.sample_names.get_indexer(rna.obs_names)
    np.testing.assert_array_equal(data.views[0][at].toarray(), rna.X.toarray())
    assert data.views[0].nnz == rna.X.nnz


def test_AnnData_in_a_dict_must_name_the_same_samples(cells):
    rna, protein, _ = cells
    with pytest.raises(ViewError, match=r"MultiViewData\.align"):
        MultiViewData.of({"rna": rna, "protein": protein})
    same = MultiViewData.of([rna, protein[rna.obs_names]])
    assert list(same.sample_names) == list(rna.obs_names)
    outer = MultiViewData.align({"rna": rna, "protein": protein}, how="outer")
    assert outer.view_rows == (110, 120)
    np.testing.assert_array_equal(outer.views[1][:110], protein[rna.obs_names].X)


def test_one_AnnData_is_one_view(cells):
    rna, _, truth = cells
    model = OMVCDR(3, **QUICK).fit(rna)
    assert model.n_features_in_ == rna.n_vars
    assert clustering_accuracy(truth[rna.obs_names], model.predict(rna)) > 0.95


def test_splitters_cut_the_samples_of_a_MuData(cells):
    mdata = mudata.MuData({"rna": cells[0], "protein": cells[1]})
    scores = cross_validate(OMVCDR(3, **QUICK), mdata, cv=3, error_score="raise")["test_score"]
    data = MultiViewData.of(mdata)
    expected = cross_validate(OMVCDR(3, **QUICK), data, cv=3, error_score="raise")["test_score"]
    np.testing.assert_allclose(scores, expected)


def test_the_frame_of_transform_has_the_names_of_the_cells(cells):
    mdata = mudata.MuData({"rna": cells[0], "protein": cells[1]})
    frame = OMVCDR(3, **QUICK).set_output(transform="pandas").fit_transform(mdata)
    assert list(frame.index) == list(mdata.obs_names)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_AnnData_backed_by_a_file_is_read(cells, tmp_path, form):
    rna, _, _ = cells
    expected = np.asarray(rna.X)
    rna.X = expected if form == "dense" else sparse.csr_matrix(expected)
    rna.write_h5ad(tmp_path / "rna.h5ad")
    backed = anndata.read_h5ad(tmp_path / "rna.h5ad", backed="r")
    (view,) = MultiViewData.of(backed).views
    assert sparse.issparse(view) == (form == "sparse")
    np.testing.assert_array_equal(view.toarray() if sparse.issparse(view) else view, expected)


def test_cluster_mudata_writes_its_result(cells, tmp_path):
    rna, protein, truth = cells
    mdata = mudata.MuData({"rna": rna, "protein": protein})
    model = cluster_mudata(mdata, 3, **QUICK)
    labels = mdata.obs["manyview"]
    assert list(labels.cat.categories) == ["0", "1", "2"]
    assert clustering_accuracy(truth[mdata.obs_names], labels.astype(int)) == 1
    assert labels["cell3"] == labels[truth.index[truth == truth["cell3"]][-1]]  # lacks its rna
    np.testing.assert_array_equal(mdata.obs["manyview_confidence"], model.confidence_)
    assert mdata.obsm["X_manyview"].shape == (120, len(model.get_feature_names_out()))
    about = mdata.uns["manyview"]
    assert about["params"]["n_clusters"] == 3
    assert about["view_weights"] == dict(zip(("rna", "protein"), model.view_weights_, strict=True))
    assert about["versions"]["manyview"] == importlib.metadata.version("manyview")
    mdata.write_h5mu(tmp_path / "cells.h5mu")
    again = mudata.read_h5mu(tmp_path / "cells.h5mu")
    assert list(again.obs["manyview"]) == list(labels)
    assert again.uns["manyview"]["params"]["lam"] == model.lam


def test_cluster_mudata_reads_what_it_is_told_to(cells):
    rna, protein, _ = cells
    rna.obsm["X_pca"] = np.asarray(rna.X)[:, :4]
    protein.layers["clr"] = np.log1p(np.abs(protein.X))
    mdata = mudata.MuData({"rna": rna, "protein": protein})
    model = cluster_mudata(
        mdata, 3, "both", use_rep={"rna": "X_pca"}, layer={"protein": "clr"}, **QUICK
    )
    direct = MultiViewData.align(
        {
            "rna": pd.DataFrame(rna.obsm["X_pca"], rna.obs_names),
            "protein": pd.DataFrame(protein.layers["clr"], protein.obs_names),
        },
        how="outer",
    )
    at = direct.sample_names.get_indexer(mdata.obs_names)
    np.testing.assert_array_equal(model.predict(direct[at]), mdata.obs["both"].astype(int))
    assert model.view_sizes_ == (4, protein.n_vars)


def test_cluster_anndata_takes_entries_as_views(cells, tmp_path):
    rna, protein, truth = cells
    rna.obsm["protein"] = protein[rna.obs_names].to_df()
    rna.layers["counts"] = np.round(rna.X)
    model = cluster_anndata(rna, 3, views={"rna": "X", "adt": "protein", "n": "counts"}, **QUICK)
    assert model.view_names_ == ("rna", "adt", "n")
    assert clustering_accuracy(truth[rna.obs_names], rna.obs["manyview"].astype(int)) == 1
    assert rna.obsm["X_manyview"].shape[0] == rna.n_obs
    rna.write_h5ad(tmp_path / "rna.h5ad")
    assert anndata.read_h5ad(tmp_path / "rna.h5ad").uns["manyview"]["params"]["n_clusters"] == 3


def test_a_row_of_NaN_in_obsm_is_a_missing_view(cells):
    rna, protein, truth = cells
    values = np.array(protein[rna.obs_names].X)
    rna.obsm["protein"] = values
    assert cluster_anndata(rna, 3, views="protein", **QUICK).view_names_ == ("protein",)
    values[:7] = np.nan
    rna.obsm["protein"] = values
    model = cluster_anndata(rna, 3, "joint", views=["X", "protein"], **QUICK)
    assert model.view_counts_ == (110, 103)
    assert clustering_accuracy(truth[rna.obs_names], rna.obs["joint"].astype(int)) > 0.95


def refusals(rna, protein):
    mdata = mudata.MuData({"rna": rna, "protein": protein})
    twice = anndata.AnnData(np.ones((3, 2)), obs=pd.DataFrame(index=["a", "b", "a"]))
    features = mudata.MuData({"a": rna.copy(), "b": rna[:50].copy()}, axis=1)
    return {
        "expects a MuData; received a AnnData": lambda: cluster_mudata(rna),
        "expects an AnnData; received a MuData": lambda: cluster_anndata(mdata, views=["X"]),
        "the modalities \\['rna', 'protein'\\]": lambda: cluster_mudata(mdata, layer={"x": "y"}),
        "are both given for \\['rna'\\]": lambda: cluster_mudata(
            mdata, use_rep={"rna": "X_pca"}, layer="clr"
        ),
        "View 'rna' should be 'X_pca'": lambda: cluster_mudata(mdata, use_rep="X_pca"),
        "should be 'umap'; expected X": lambda: cluster_anndata(rna, views=["umap"]),
        "has sample 'a' twice": lambda: MultiViewData.align([twice, twice]),
        "axis=1; expected 0": lambda: MultiViewData.of(features),
        "without X": lambda: MultiViewData.of(anndata.AnnData(obs=pd.DataFrame(index=["a"]))),
    }


@pytest.mark.filterwarnings("ignore::UserWarning")  # names that are there twice
def test_what_cannot_be_read_gets_one_sentence(cells):
    for sentence, call in refusals(*cells[:2]).items():
        with pytest.raises(ViewError, match=sentence) as caught:
            call()
        assert "\n" not in str(caught.value)


def test_results_are_written_back_into_a_copy(cells, tmp_path):
    """By `manyview fit`, and read by the libraries themselves."""
    rna, protein, truth = cells
    rna.obs["type"] = pd.Categorical(truth[rna.obs_names].astype(str))
    mdata = mudata.MuData({"rna": rna, "protein": protein})
    mdata.write_h5mu(tmp_path / "cells.h5mu")
    protein[:100].copy().write_h5ad(tmp_path / "few.h5ad")
    before = (tmp_path / "cells.h5mu").read_bytes()
    main_of("fit", tmp_path / "cells.h5mu", "-k", 3, "--write-back", "--out", tmp_path / "run")
    again = mudata.read_h5mu(tmp_path / "run" / "annotated" / "cells.h5mu")
    labels = pd.read_csv(tmp_path / "run" / "labels.csv", index_col="sample")
    assert (tmp_path / "cells.h5mu").read_bytes() == before
    assert list(again.obs["manyview"].astype(int)) == list(labels.loc[again.obs_names, "cluster"])
    np.testing.assert_allclose(
        again.obs["manyview_confidence"], labels.loc[again.obs_names, "confidence"], rtol=1e-5
    )
    assert again.obsm["X_manyview"].shape[0] == 120
    about = again.uns["manyview"]
    model = OMVCDR.load(tmp_path / "run" / "model.mv")
    assert about["view_weights"] == pytest.approx(
        dict(zip(("rna", "protein"), model.view_weights_, strict=True))
    )
    assert about["params"]["n_clusters"] == 3
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert any(row["column"] == "rna:type" for row in result["meta"])
    # once more into the copy, and into a file of AnnData whose cells are not all in the fit
    copy = tmp_path / "run" / "annotated" / "cells.h5mu"
    main_of("fit", copy, "-k", 2, "--views", "protein", "--write-back", "--out", tmp_path / "two")
    again = mudata.read_h5mu(tmp_path / "two" / "annotated" / "cells.h5mu")
    assert list(again.obs["manyview"].cat.categories) == ["0", "1"]
    assert list(again.obs.columns).count("manyview") == 1
    few = tmp_path / "few.h5ad"
    rna.write_h5ad(tmp_path / "rna.h5ad")
    options = ("--missing", "drop", "-k", 2, "--write-back", "--out", tmp_path / "drop")
    main_of("fit", few, tmp_path / "rna.h5ad", *options)
    again = anndata.read_h5ad(tmp_path / "drop" / "annotated" / "few.h5ad")
    assert again.n_obs == 100
    is_in = again.obs_names.isin(rna.obs_names)
    assert (again.obs["manyview"].notna() == is_in).all()
    assert (np.isnan(again.obsm["X_manyview"]).all(axis=1) == ~is_in).all()


def main_of(*arguments):
    """The command, in this process."""
    with patch.object(sys, "argv", ["manyview", *map(str, arguments), "--quiet"]):
        with pytest.raises(SystemExit) as done:
            main()
        assert done.value.code == 0
