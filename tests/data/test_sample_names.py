"""Headers of sample names, and spellings of one name."""

import numpy as np
import pandas as pd
import pytest

from manyview.data.sample_names import counts_rows, folded, is_id_title, is_whole, without_ending

NAMES = "patient_id, id, ID, PatientID, sampleid, sample, Barcode, product nr, mrn, Unnamed: 0"


@pytest.mark.parametrize("title", [*NAMES.split(", "), "id_number", "case no."])
def test_headers_of_names(title):
    assert is_id_title(title)


@pytest.mark.parametrize("title", ["", "age", "rank", "sample_weight", "width", "patient_age"])
def test_headers_of_measurements(title):
    assert not is_id_title(title)


@pytest.mark.parametrize(
    ("one", "other"),
    [("S1 ", "s1"), ("007", "7"), ("12.0", "12"), ("TCGA-A1", "TCGA.A1"), ("a  b", "A_b")],
)
def test_spellings_of_one_name(one, other):
    assert list(folded([one])) == list(folded([other]))


def test_names_that_stay_different():
    assert folded(["S1", "S10", "S1-1", "70", "7"]).is_unique


def test_endings():
    assert list(without_ending(folded(["S1-1", "S2.01A", "S3", "a-bcdefgh"]))) == [
        *["s1", "s2", "s3", "a-bcdefgh"]
    ]


def test_whole_numbers_and_counting():
    assert is_whole(pd.Series([1.0, np.nan, 3.0]))
    assert not is_whole(pd.Series([1.5, 2.0]))
    assert not is_whole(pd.Series(["1", "2"]))
    assert counts_rows([1, 2, 3])
    assert counts_rows(np.arange(4))
    assert not counts_rows([2, 1, 3])
