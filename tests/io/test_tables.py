"""Samples are found, turned, matched by name and checked; what was decided is told."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.io import read_views
from manyview.io._keys import is_numbering
from manyview.io._missing_values import fill
from manyview.io._table import Table

SAMPLES = ["TCGA-A1", "TCGA-B7", "TCGA-C3", "TCGA-D9", "TCGA-E5"]


def table(samples, features, seed=0):
    values = np.random.default_rng(seed).normal(size=(len(samples), len(features))).round(6)
    return pd.DataFrame(values, index=pd.Index(samples, name="sample"), columns=features)


RNA = table(SAMPLES, ["TP53", "BRCA1", "EGFR"], 1)
MIRNA = table(SAMPLES, ["mir-21", "mir-155"], 2)


def write(folder, **tables):
    """Write tables, or text, to CSV files; return their paths."""
    paths = []
    for name, content in tables.items():
        paths.append(folder / f"{name}.csv")
        if isinstance(content, str):
            paths[-1].write_text(content)
        else:
            content.to_csv(paths[-1])
    return paths


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_order_gaps_and_turned_files_do_not_change_the_rows_of_a_sample(data, tmp_path):
    written, turned = {}, []
    for name, content in (("rna", RNA), ("mirna", MIRNA)):
        kept = data.draw(st.permutations(SAMPLES))[: data.draw(st.integers(3, 5))]
        turned.append(data.draw(st.booleans()))
        part = content.loc[kept]
        written[name] = (part, part.T if turned[-1] else part)
    paths = write(tmp_path, **{name: file for name, (_, file) in written.items()})
    loaded = read_views(paths)
    assert set(loaded.data.sample_names) == set(written["rna"][0].index) | set(
        written["mirna"][0].index
    )
    assert list(loaded.found["orientation"]) == [["rows", "columns"][side] for side in turned]
    for v, (part, _) in enumerate(written.values()):
        for i, name in enumerate(loaded.data.sample_names):
            is_there = loaded.data.present is None or loaded.data.present[i, v]
            assert is_there == (name in part.index)
            if is_there:
                np.testing.assert_allclose(loaded.data.views[v][i], part.loc[name])


def test_found_counts_what_was_matched_missing_and_dropped(tmp_path):
    paths = write(tmp_path, rna=RNA.iloc[:4], mirna=MIRNA.iloc[2:])
    columns = ["samples", "matched", "missing", "dropped"]
    kept = read_views(paths)
    assert kept.found[columns].to_numpy().tolist() == [[4, 2, 1, 0], [3, 2, 2, 0]]
    assert kept.data.n_samples == 5
    complete = read_views(paths, missing="drop")
    assert complete.found[columns].to_numpy().tolist() == [[4, 2, 0, 2], [3, 2, 0, 1]]
    assert list(complete.data.sample_names) == SAMPLES[2:4]
    assert complete.data.present is None


def test_no_complete_sample_is_one_sentence(tmp_path):
    third = table(SAMPLES[4:], ["x", "y"])
    paths = write(tmp_path, rna=RNA.iloc[:3], mirna=MIRNA.iloc[2:], third=third)
    with pytest.raises(ViewError, match="No sample is in all views .* --missing keep"):
        read_views(paths, missing="drop")
    assert read_views(paths).data.n_samples == 5


def test_a_view_without_a_common_name_is_one_sentence(tmp_path):
    paths = write(tmp_path, rna=RNA, mirna=MIRNA.rename(index=lambda name: f"x{name}"))
    with pytest.raises(ViewError, match="rna.csv shares no sample name .* xTCGA-A1.*--id.*--samp"):
        read_views(paths)


def test_files_turned_alike_are_both_turned(tmp_path):
    loaded = read_views(write(tmp_path, rna=RNA.T, mirna=MIRNA.T))
    assert list(loaded.data.sample_names) == SAMPLES
    assert sum("samples are in the columns" in note for note in loaded.notes) == 2


def test_names_on_both_sides_mean_rows_and_a_note(tmp_path):
    unsaid = RNA.rename_axis("who")
    paths = write(tmp_path, one=unsaid, two=unsaid + 1)
    loaded = read_views(paths)
    assert list(loaded.found["orientation"]) == ["rows", "rows"]
    assert "share names in rows and in columns" in loaded.notes[0]
    assert ", ".join(SAMPLES[:3]) in loaded.notes[0]
    turned = read_views(paths, samples="columns")
    assert list(turned.data.sample_names) == list(RNA.columns)
    np.testing.assert_array_equal(turned.data.views[0], RNA.to_numpy().T)


GENES = ["TP53", "BRCA1", "EGFR", "MYC", "KRAS", "PTEN", "ATM"]


@pytest.mark.parametrize("is_turned", [(False, False), (False, True), (True, False), (True, True)])
def test_the_header_tells_samples_from_genes_that_the_tables_share_too(tmp_path, is_turned):
    parts = [table(SAMPLES[:4], GENES), table(SAMPLES[1:], GENES)]
    paths = []
    for v, (part, turn) in enumerate(zip(parts, is_turned, strict=True)):
        paths.append(tmp_path / f"{v}.csv")
        (part.T if turn else part).to_csv(paths[-1], index_label="Gene" if turn else "patient")
    loaded = read_views(paths)
    assert list(loaded.found["orientation"]) == [
        "columns" if turn else "rows" for turn in is_turned
    ]
    assert sorted(loaded.data.sample_names) == SAMPLES
    assert not any("both sides" in note for note in loaded.notes)


def test_genes_that_all_tables_share_do_not_outweigh_samples_that_some_lack(tmp_path):
    one = table(SAMPLES, GENES).rename_axis(None)
    loaded = read_views(write(tmp_path, one=one, two=one.rename({SAMPLES[4]: "new"})))
    assert list(loaded.found["orientation"]) == ["rows", "rows"]
    assert "share names in rows and in columns" in loaded.notes[0]


def test_one_table_of_genes_is_turned(tmp_path):
    path = tmp_path / "rna.csv"
    table(SAMPLES, GENES).T.to_csv(path, index_label="gene_symbol")
    loaded = read_views(path)
    assert list(loaded.data.sample_names) == SAMPLES
    assert loaded.notes == (
        f"{path}: the samples are in the columns, since the rows are named by gene_symbol.",
    )


def test_features_that_are_counted_do_not_outweigh_the_names_of_samples(tmp_path):
    one, two = table(SAMPLES[:4], ["f0", "f1", "f2"]), table(SAMPLES[2:], ["f0", "f1", "f2"])
    loaded = read_views(write(tmp_path, one=one, two=two))
    assert list(loaded.found["orientation"]) == ["rows", "rows"]
    assert loaded.data.n_samples == 5


def test_samples_rows_leaves_files_as_they_are(tmp_path):
    loaded = read_views(write(tmp_path, rna=RNA.T), samples="rows")
    assert list(loaded.data.sample_names) == list(RNA.columns)


def test_one_file_says_that_rows_were_taken(tmp_path):
    loaded = read_views(write(tmp_path, rna=RNA.rename_axis("who")))
    assert "rows were assumed" in loaded.notes[0]


def test_the_column_of_names_can_be_chosen_and_keeps_its_zeros(tmp_path):
    paths = write(tmp_path, a="label,nr,x\np,007,1\nq,010,2\n", b="nr,y\n010,3\n007,4\n")
    loaded = read_views(paths, id="nr")
    assert list(loaded.data.sample_names) == ["007", "010"]
    np.testing.assert_array_equal(np.column_stack(loaded.data.views), [[1, 4], [2, 3]])
    assert list(loaded.found["set_aside"]) == ["label", ""]


def test_a_sample_without_a_name_is_one_sentence(tmp_path):
    with pytest.raises(ViewError, match="a.csv has no name in row 2"):
        read_views(write(tmp_path, a="sample,x\np,1\n,2\nq,3\n"), id="sample")


def test_a_file_without_the_chosen_column_is_told(tmp_path):
    paths = write(tmp_path, rna=RNA, mirna=MIRNA.rename_axis("probe"), turned=RNA.T + 1)
    loaded = read_views(paths, id="sample")
    told = [note for note in loaded.notes if "no column 'sample'" in note]
    assert len(told) == 1
    assert "mirna.csv" in told[0]
    assert list(loaded.found["orientation"]) == ["rows", "rows", "columns"]


def test_chosen_names_may_count(tmp_path):
    paths = write(tmp_path, a="nr,x\n1,1\n2,2\n3,3\n", b="nr,y\n1,5\n2,6\n")
    data = read_views(paths, id="nr").data
    np.testing.assert_array_equal(data.present, [[True, True], [True, True], [True, False]])


def test_a_column_of_names_that_no_file_has_is_one_sentence(tmp_path):
    with pytest.raises(ViewError, match="No file has a column 'probe'.*TP53"):
        read_views(write(tmp_path, rna=RNA), id="probe")


def test_whole_numbers_in_excel_and_text_are_the_same_names(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"nr": [1.0, 7.0], "x": [1, 2]}).to_excel(tmp_path / "a.xlsx", index=False)
    (paths,) = write(tmp_path, b="nr,y\n7,3\n1,4\n")
    data = read_views([tmp_path / "a.xlsx", paths], id="nr").data
    assert list(data.sample_names) == ["1", "7"]
    np.testing.assert_array_equal(data.views[1], [[4], [3]])


def test_numbers_of_rows_are_no_names(tmp_path):
    plain = RNA.reset_index(drop=True)
    paths = write(tmp_path, one=plain, two=plain.iloc[:4])
    with pytest.raises(ViewError, match="has no sample names and 5 rows.*--id"):
        read_views(paths)
    loaded = read_views(write(tmp_path, one=plain, two=plain + 1))
    assert loaded.matching == "Samples were matched by position: no view has sample names."
    assert list(loaded.data.sample_names) == [0, 1, 2, 3, 4]


def test_numbers_of_rows_are_names_where_another_file_keeps_some_of_them(tmp_path):
    plain = RNA.reset_index(drop=True)
    data = read_views(write(tmp_path, one=plain, two=plain.iloc[[4, 1]])).data
    np.testing.assert_array_equal(data.present[:, 1], [False, True, False, False, True])
    np.testing.assert_array_equal(data.views[1][1], RNA.to_numpy()[1])


def test_names_that_disagree_cannot_be_lent_to_a_file_without(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((5, 2)))
    paths = write(tmp_path, rna=RNA, mirna=MIRNA.iloc[::-1])
    with pytest.raises(ViewError, match="rna.csv has sample names.*x.npy has none.*another order"):
        read_views([tmp_path / "x.npy", *paths])


def test_a_column_of_different_whole_numbers_is_pointed_out(tmp_path):
    loaded = read_views(write(tmp_path, a="patient,x\n101,1.5\n205,2\n33,1\n"))
    assert any("--id patient" in note for note in loaded.notes)


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("kind", ["sample", "feature"])
def test_repeated_names_are_one_sentence(kind, is_turned, tmp_path):
    twice = RNA.rename(index={"TCGA-B7": "TCGA-A1"}, columns={"EGFR": "TP53"})
    rna = twice.set_axis(RNA.columns, axis=1) if kind == "sample" else twice.set_axis(RNA.index)
    name = "TCGA-A1" if kind == "sample" else "TP53"
    paths = write(tmp_path, rna=rna.T if is_turned else rna, mirna=MIRNA)
    with pytest.raises(ViewError, match=f"rna.csv has {kind} '{name}' twice"):
        read_views(paths)


def test_columns_that_are_not_numbers_are_set_aside_and_told(tmp_path):
    text = "sample,sex,x,smokes,date,y,z\n" + "".join(
        f"{name},{'mf'[i % 2]},{i},{bool(i % 2)},2020-01-0{i + 1},{i % 2},{'?' if i else 1.5}\n"
        for i, name in enumerate(SAMPLES)
    )
    loaded = read_views(write(tmp_path, a=text))
    assert list(loaded.data.feature_names[0]) == ["x", "smokes", "y"]
    np.testing.assert_array_equal(loaded.data.views[0][:, 1], [0, 1, 0, 1, 0])
    assert loaded.found.loc[0, "set_aside"] == "sex, date, z"


def test_empty_columns_are_set_aside(tmp_path):
    loaded = read_views(write(tmp_path, a="sample,x,later,\na,1,,\nb,2,,\n"))
    assert list(loaded.data.feature_names[0]) == ["x"]
    assert loaded.found.loc[0, "set_aside"] == "later (empty)"


def test_a_column_that_a_few_values_spoil_is_pointed_out(tmp_path):
    (path,) = write(tmp_path, a="sample,x,z\na,1,1\nb,2,2\nc,3,unknown\n")
    assert "2 of its 3 values are numbers; these are not: 'unknown'" in read_views(path).notes[0]


def test_numbers_that_are_kept_as_text_are_pointed_out(tmp_path):
    frame = pd.DataFrame({"sample": list("abc"), "x": ["1", "2", "2"], "y": [1.0, 2.0, 3.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    loaded = read_views(tmp_path / "a.parquet")
    assert loaded.data.n_features == (1,)
    assert "stored as text" in loaded.notes[0]


def test_yes_and_no_with_a_gap_are_numbers(tmp_path):
    frame = pd.DataFrame({"sample": SAMPLES, "x": 1.0, "smokes": [True, None, False, True, True]})
    frame.to_parquet(tmp_path / "a.parquet")
    data = read_views(tmp_path / "a.parquet", nan="feature-mean").data
    np.testing.assert_array_equal(data.views[0][:, 1], [1, 0.75, 0, 1, 1])


@pytest.mark.parametrize("words", [("yes", "no"), ("Y", "N"), ("True ", "false")])
def test_yes_and_no_as_text_are_numbers(tmp_path, words):
    yes, no = words
    text = f"sample,x,smokes\na,1.5,{yes}\nb,2,{no}\nc,3,\nd,1,{yes}\n"
    (path,) = write(tmp_path, a=text)
    loaded = read_views(path, nan="feature-mean")
    np.testing.assert_allclose(loaded.data.views[0][:, 1], [1, 0, 2 / 3, 1])
    assert loaded.found.loc[0, "set_aside"] == ""
    aside = read_views(path, set_aside=["smokes"]).set_aside["smokes"]
    assert aside.tolist()[:2] == [yes, no]  # known classes keep their words


def test_a_spelling_that_differs_is_told(tmp_path):
    other = MIRNA.rename(index=str.lower)
    loaded = read_views(write(tmp_path, rna=RNA, mirna=other))
    assert list(loaded.data.sample_names) == SAMPLES
    assert loaded.data.present is None
    assert "'tcga-a1' for 'TCGA-A1'" in loaded.notes[0]


def test_an_ending_that_differs_is_named(tmp_path):
    with pytest.raises(ViewError, match="differ by an ending alone, such as 'TCGA-A1-01' and 'TCG"):
        read_views(write(tmp_path, rna=RNA, mirna=MIRNA.rename(index=lambda name: f"{name}-01")))


def test_names_are_taken_as_they_are_where_their_column_is_given(tmp_path):
    other = MIRNA.rename(index={SAMPLES[0]: f"{SAMPLES[0]}-01"})
    paths = write(tmp_path, rna=RNA, mirna=other)
    with pytest.raises(ViewError, match="1 sample names .* differ by an ending"):
        read_views(paths)
    loaded = read_views(paths, id="sample")
    assert loaded.data.n_samples == 6
    assert "taken for different samples" in loaded.notes[0]


def test_by_position_says_where_names_differ(tmp_path):
    paths = write(tmp_path, rna=RNA, mirna=MIRNA.iloc[::-1])
    loaded = read_views(paths, by_position=True)
    np.testing.assert_array_equal(loaded.data.views[1], MIRNA.to_numpy()[::-1])
    assert list(loaded.data.sample_names) == SAMPLES
    assert "name 4 of 5 rows differently, such as row 1: 'TCGA-A1' and 'TCGA-E5'" in loaded.notes[0]


def test_a_column_that_contradicts_the_names_is_told(tmp_path):
    ages = [40.5, 31, 66, 57, 49]
    paths = write(tmp_path, rna=RNA.assign(age=ages), mirna=MIRNA.assign(age=ages[::-1]))
    assert any(
        "'age' of" in note and "for other samples" in note for note in read_views(paths).notes
    )
    paths = write(tmp_path, rna=RNA.assign(age=ages), mirna=MIRNA.assign(age=ages).iloc[::-1])
    assert read_views(paths).notes == ()


def test_few_names_in_common_are_told(tmp_path):
    other = MIRNA.rename(index={name: f"other{i}" for i, name in enumerate(SAMPLES[1:])})
    loaded = read_views(write(tmp_path, rna=RNA, mirna=other))
    assert any("Only 1 of 5 samples" in note for note in loaded.notes)


def test_a_column_that_merely_numbers_the_rows_is_no_feature(tmp_path):
    paths = write(tmp_path, a="nr,x\n1,1.5\n2,2\n3,0\n", b="nr,y\n1,5\n2,6.5\n3,1\n")
    loaded = read_views(paths)
    assert loaded.data.n_features == (1, 1)
    assert "the column 'nr' numbers the rows and was not used as a feature" in loaded.notes[0]
    assert "by position" in loaded.matching


def test_a_table_of_counts_has_no_names_among_its_columns(tmp_path):
    rng = np.random.default_rng(0)
    one, two = (pd.DataFrame(rng.integers(0, 10**6, size=(30, 80))) for _ in range(2))
    one, two = one.add_prefix("a").set_index("a0"), two.add_prefix("b").set_index("b0")
    assert "no view has sample names" in read_views(write(tmp_path, a=one, b=two)).matching


def with_gaps():
    rna = RNA.copy()
    rna.iloc[3] = np.nan
    rna.iloc[[0, 2], 1] = np.nan
    return rna


def test_scattered_nan_are_refused_with_counts_and_the_flag(tmp_path):
    message = "lacks 2 of 12 values, in 1 of 3 features, .*'BRCA1'.*--nan feature-mean"
    with pytest.raises(ViewError, match=message):
        read_views(write(tmp_path, rna=with_gaps(), mirna=MIRNA))


def test_nan_are_filled_with_the_mean_of_the_feature(tmp_path):
    loaded = read_views(write(tmp_path, rna=with_gaps(), mirna=MIRNA), nan="feature-mean")
    mean = RNA["BRCA1"].iloc[[1, 4]].mean()
    rows = {name: loaded.data.views[0][i] for i, name in enumerate(loaded.data.sample_names)}
    assert rows["TCGA-A1"][1] == pytest.approx(mean)
    assert rows["TCGA-E5"][1] == RNA.loc["TCGA-E5", "BRCA1"]
    assert loaded.found.loc[0, ["nan", "nan_action"]].tolist() == [
        2,
        "2 filled with the feature's mean",
    ]


def test_a_row_of_nothing_but_nan_lacks_the_view(tmp_path):
    loaded = read_views(write(tmp_path, rna=with_gaps(), mirna=MIRNA), nan="drop-features")
    assert loaded.data.n_features == (2, 2)
    assert list(loaded.data.feature_names[0]) == ["TP53", "EGFR"]
    present = dict(zip(loaded.data.sample_names, loaded.data.present[:, 0], strict=True))
    assert present == {name: name != "TCGA-D9" for name in SAMPLES}
    assert loaded.found.loc[0, ["nan", "nan_action"]].tolist() == [2, "1 features left out"]


def test_dropping_all_features_is_one_sentence(tmp_path):
    rna = RNA.copy()
    for j in range(3):
        rna.iloc[j, j] = np.nan
    with pytest.raises(ViewError, match="lacks values in all of its 3 features"):
        read_views(write(tmp_path, rna=rna), nan="drop-features")


@pytest.mark.parametrize("nan", ["feature-mean", "drop-features"])
def test_gaps_of_sparse_and_dense_tables_are_filled_alike(nan):
    values = np.array([[0.0, np.nan, 2.0], [3.0, 1.0, 0.0], [0.0, 0.0, np.nan], [1.0, 5.0, 4.0]])
    names = pd.Index(list("abcd")), pd.Index(list("xyz"))
    dense = fill(Table("v", "f", "csv", values, *names), nan)
    compressed = fill(Table("v", "f", "csv", sparse.csr_array(values), *names), nan)
    np.testing.assert_allclose(compressed.table.values.toarray(), dense.table.values)
    assert compressed.n_nan == dense.n_nan == 2
    assert compressed.action == dense.action


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_infinite_values_are_refused_by_name(convert):
    values = convert(np.array([[1.0, 0.0], [2.0, -np.inf], [np.nan, 3.0]]))
    infinite = Table("v", "f.csv", "csv", values, pd.Index(list("abc")), pd.Index(["x", "y"]))
    with pytest.raises(ViewError, match="1 infinite value.*sample 'b', feature 'y'"):
        fill(infinite, "feature-mean")


def test_views_are_named_by_files_or_by_the_caller(tmp_path):
    (tmp_path / "b").mkdir()
    paths = write(tmp_path, rna=RNA) + write(tmp_path / "b", rna=RNA + 1)
    assert read_views(paths).data.view_names == ("rna", "rna_2")
    assert read_views(paths, view_names=["one", "two"]).data.view_names == ("one", "two")
    with pytest.raises(ViewError, match="expected 2 different names"):
        read_views(paths, view_names=["one", "one"])


@pytest.mark.parametrize("option", ["samples", "missing", "nan"])
def test_unknown_options_are_one_sentence(option, tmp_path):
    with pytest.raises(ViewError, match=f"{option}='maybe' is unknown; expected one of '"):
        read_views(write(tmp_path, rna=RNA), **{option: "maybe"})


@pytest.mark.parametrize(
    ("names", "expected"),
    [("f0 f1 f2", True), ("1 2 3", True), ("f1 f3 f2", False), ("a b", False), ("5 6", False)],
)
def test_names_that_count(names, expected):
    assert is_numbering(pd.Index(names.split())) == expected
