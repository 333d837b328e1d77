"""Columns of text, and of yes and no, as a view of categories; new samples in the same way."""

import numpy as np
import pandas as pd
import pytest

from manyview.exceptions import ViewError
from manyview.io import FittedView, read_new_samples, read_views

N = 24


@pytest.fixture
def clinic():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient": [f"P{i:02d}" for i in range(N)],
            "age": rng.integers(20, 80, N).astype(float),
            "stage": np.array(["I", "II", "III=b"])[np.arange(N) % 3],
            "smoker": np.array(["yes", "no"])[np.arange(N) % 2],
            "remark": [f"text {i}" for i in range(N)],
            "country": "CH",
        }
    )


@pytest.fixture
def files(clinic, tmp_path):
    clinic.to_csv(tmp_path / "clinic.csv", index=False)
    rng = np.random.default_rng(1)
    rna = pd.DataFrame(rng.normal(size=(N, 3)), columns=["g1", "g2", "g3"])
    rna.insert(0, "patient", clinic["patient"])
    rna.iloc[::-1].to_csv(tmp_path / "rna.csv", index=False)
    return [tmp_path / "rna.csv", tmp_path / "clinic.csv"]


def fitted(loaded):
    pairs = zip(loaded.data.view_names, loaded.data.feature_names, loaded.data.views, strict=True)
    return [FittedView(name, np.mean(view, axis=0), features) for name, features, view in pairs]


FEATURES = ["stage=I", "stage=II", "stage=III=b", "smoker=no", "smoker=yes"]


def test_categories_are_a_view_of_indicators(files, clinic):
    loaded = read_views(files, categorical="keep")
    assert loaded.data.view_names == ("rna", "clinic", "clinic_categories")
    assert list(loaded.data.feature_names[1]) == ["age"]
    assert list(loaded.data.feature_names[2]) == FEATURES
    rows = loaded.data.sample_names.get_indexer(clinic["patient"])
    indicators = loaded.data.views[2][rows]
    np.testing.assert_array_equal(indicators[:, 1], clinic["stage"] == "II")
    np.testing.assert_array_equal(indicators[:, 4], clinic["smoker"] == "yes")
    assert (indicators.sum(axis=1) == 2).all()
    (note,) = loaded.notes
    assert "not used as categories" in note
    assert note.endswith(": remark, country.")


def test_without_it_text_is_left_out_and_yes_is_one(files):
    loaded = read_views(files)
    assert loaded.data.view_names == ("rna", "clinic")
    assert list(loaded.data.feature_names[1]) == ["age", "smoker"]


def test_a_table_of_text_alone_is_a_view_and_is_refused_without_it(clinic, files, tmp_path):
    clinic[["patient", "stage"]].to_csv(tmp_path / "text.csv", index=False)
    loaded = read_views([files[0], tmp_path / "text.csv"], categorical="keep")
    assert loaded.data.view_names == ("rna", "text_categories")
    with pytest.raises(ViewError, match="has no column of numbers"):
        read_views([files[0], tmp_path / "text.csv"])
    clinic[["patient", "remark"]].to_csv(tmp_path / "text.csv", index=False)
    with pytest.raises(ViewError, match="has no column of numbers"):
        read_views([files[0], tmp_path / "text.csv"], categorical="keep")


def test_known_classes_are_no_categories(files):
    loaded = read_views(files, categorical="keep", set_aside=["stage"])
    assert list(loaded.data.feature_names[2]) == FEATURES[3:]
    assert "stage" in loaded.set_aside


def test_gaps_have_no_category_and_a_row_of_gaps_lacks_the_view(clinic, files):
    clinic.loc[3, "stage"] = None
    clinic.loc[5, ["stage", "smoker"]] = None
    clinic.to_csv(files[1], index=False)
    data = read_views(files, categorical="keep").data
    row, empty = data.sample_names.get_indexer(["P03", "P05"])
    assert data.views[2][row].tolist() == [0, 0, 0, 1, 0]
    assert data.present[empty].tolist() == [True, True, False]


def test_new_samples_have_the_categories_of_the_fit(files, clinic, tmp_path):
    views = fitted(read_views(files, categorical="keep"))
    new = clinic.iloc[:6].assign(stage=["II", "I", "IV", None, "II", "I"], smoker="no")
    new.drop(columns=["remark"]).to_csv(tmp_path / "new_patients.csv", index=False)
    loaded = read_new_samples(tmp_path / "new_patients.csv", views, view_names=["clinic"])
    indicators = loaded.data.views[2]
    assert indicators[:, :3].tolist() == [
        [0, 1, 0],
        [1, 0, 0],
        [0] * 3,
        [0] * 3,
        [0, 1, 0],
        [1, 0, 0],
    ]
    assert (indicators[:, 3] == 1).all()
    assert loaded.data.views[1].ravel().tolist() == clinic["age"].iloc[:6].tolist()
    assert any("the fit had no stage=IV; samples with these have none" in n for n in loaded.notes)


def test_a_column_of_the_fit_that_is_not_there_is_refused_or_filled(files, clinic, tmp_path):
    views = fitted(read_views(files, categorical="keep"))
    clinic.iloc[:6].drop(columns="smoker").to_csv(tmp_path / "clinic.csv", index=False)
    with pytest.raises(ViewError, match="lacks 2 of 5 features of 'clinic_categories': smoker=no"):
        read_new_samples(tmp_path / "clinic.csv", views)
    loaded = read_new_samples(tmp_path / "clinic.csv", views, nan="feature-mean")
    np.testing.assert_allclose(loaded.data.views[2][:, 3:], 0.5)
