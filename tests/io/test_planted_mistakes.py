"""Pairs of files with planted mistakes: matched rightly, or stopped with a sentence.

Row by row, the first feature of either view tells which sample the row belongs to, so that a wrong
pairing cannot hide.
"""

import zlib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from manyview.cli.inputs import FitRequest, read_files
from manyview.exceptions import ViewError

N = 40
MATCH, STOP = "match", "stop"
CASES = {}
TEXT = np.array([f"Case {chr(65 + i % 26)}{i:03d}" for i in range(N)], dtype=object)
NUMBERS = np.random.default_rng(5).choice(np.arange(10_000, 90_000), N, replace=False)
RANKS = np.arange(N) + 1


def case(expected, **options):
    """Add a function that writes two files of the samples `a` and `b` and returns their paths."""

    def add(function):
        CASES[function.__name__] = (function, expected, options)
        return function

    return add


def variants(expected, arguments, **options):
    """Add a function once for each argument."""

    def add(function):
        for argument in arguments:

            def run(folder, a, b, argument=argument):
                return function(folder, a, b, argument)

            CASES[f"{function.__name__}[{argument}]"] = (run, expected, options)
        return function

    return add


def view(samples, letter, width=3):
    """Features of some samples; the first tells the sample."""
    rng = np.random.default_rng(len(letter) + ord(letter))
    values = rng.normal(size=(N, width))[samples]
    values[:, 0] = samples + 0.25
    return pd.DataFrame(values, columns=[f"{letter}{j}" for j in range(width)])


def array(samples, letter):
    return np.ascontiguousarray(view(samples, letter).to_numpy())


def table(samples, letter, **columns):
    """Features with other columns before them, given by sample."""
    frame = view(samples, letter)
    for j, (name, values) in enumerate(columns.items()):
        frame.insert(j, name, np.asarray(values)[samples])
    return frame


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.reset_index(drop=True).to_feather(path),
}


def write(folder, one, two, form="csv"):
    paths = [folder / f"one.{form}", folder / f"two.{form}"]
    for frame, path in zip((one, two), paths, strict=True):
        WRITERS[form](frame, path)
    return paths


def vectors(folder, name, samples, form="parquet", **columns):
    """A file of vectors in one column, with others beside it."""
    values = view(samples, name[0]).to_numpy(np.float32)
    parts = {key: np.asarray(column)[samples] for key, column in columns.items()}
    content = pa.table({**parts, "vector": list(values)})
    path = folder / f"{name}.{form}"
    (parquet.write_table if form == "parquet" else feather.write_feather)(content, path)
    return f"{path}::vector"


@variants(MATCH, WRITERS)
def text_in_another_order(folder, a, b, form):
    return write(folder, table(a, "x", name=TEXT), table(b, "y", name=TEXT), form)


@variants(MATCH, WRITERS)
def numbers_in_another_order(folder, a, b, form):
    one, two = table(a, "x", patient_id=NUMBERS), table(b, "y", patient_id=NUMBERS)
    return write(folder, one, two, form)


@variants(MATCH, ["patient_id", "Patient", "productID", "sample nr", "barcode", "z"])
def numbers_under_any_header_at_the_end(folder, a, b, title):
    one, two = table(a, "x", id=NUMBERS), table(b, "y", id=NUMBERS)
    order = [*one.columns[1:], "id"]
    return write(
        folder,
        one[order].rename(columns={"id": title}),
        two[[*two.columns[1:], "id"]].rename(columns={"id": title}),
    )


@case(MATCH)
def numbers_that_count_in_one_file(folder, a, b):
    ordered = np.arange(N)
    return write(folder, table(ordered, "x", id=RANKS), table(b, "y", id=RANKS))


@case(MATCH)
def small_numbers_in_another_order(folder, a, b):
    return write(folder, table(a, "x", patient_id=RANKS), table(b, "y", patient_id=RANKS))


@variants(STOP, [0, 1])
def text_in_one_file_alone(folder, a, b, which):
    tables = [view(a, "x"), view(b, "y")]
    tables[which].insert(0, "name", TEXT[a if which == 0 else b])
    return write(folder, *tables)


@variants(STOP, [0, 1])
def numbers_in_one_file_alone(folder, a, b, which):
    tables = [view(a, "x"), view(b, "y")]
    tables[which].insert(2, "patient_id", NUMBERS[a if which == 0 else b])
    return write(folder, *tables)


@variants(STOP, ["text", "numbers"])
def repeated_in_one_file(folder, a, b, kind):
    names = TEXT if kind == "text" else NUMBERS
    two = table(b, "y", patient_id=names)
    two.loc[3, "patient_id"] = two.loc[4, "patient_id"]
    return write(folder, table(a, "x", patient_id=names), two)


@variants(STOP, ["text", "numbers"])
def repeated_in_both_files(folder, a, b, kind):
    names = (TEXT if kind == "text" else NUMBERS)[np.arange(N) // 2]
    return write(folder, table(a, "x", patient_id=names), table(b, "y", patient_id=names))


SPELLINGS = {
    "lower": str.lower,
    "upper": str.upper,
    "blanks around": lambda name: f"  {name} ",
    "two blanks": lambda name: name.replace(" ", "  "),
    "separators": lambda name: name.replace(" ", "."),
    "some lower": lambda name: name.lower() if int(name[-1]) % 2 else name,
}


@variants(MATCH, SPELLINGS)
def spelled_otherwise(folder, a, b, how):
    other = np.array([SPELLINGS[how](name) for name in TEXT], dtype=object)
    return write(folder, table(a, "x", name=TEXT), table(b, "y", name=other))


AFFIXES = {
    "-1": lambda name: f"{name}-1",
    ".1": lambda name: f"{name}.1",
    "some -1": lambda name: f"{name}-1" if int(name[-1]) % 3 else name,
    "X": lambda name: f"X{name}",
}


@variants(STOP, AFFIXES)
def with_endings_or_prefix(folder, a, b, how):
    other = np.array([AFFIXES[how](name) for name in TEXT], dtype=object)
    return write(folder, table(a, "x", name=TEXT), table(b, "y", name=other))


@case(STOP)
def with_two_endings(folder, a, b):
    one, two = (np.array([f"{name}-{end}" for name in TEXT]) for end in ("01", "11"))
    return write(folder, table(a, "x", name=one), table(b, "y", name=two))


@variants(MATCH, ["text", "numbers"])
def subset(folder, a, b, kind):
    names = TEXT if kind == "text" else NUMBERS
    return write(folder, table(a, "x", patient_id=names), table(b[:15], "y", patient_id=names))


@variants(MATCH, ["text", "numbers"])
def cohorts_that_overlap(folder, a, b, kind):
    names = TEXT if kind == "text" else NUMBERS
    a, b = a[a < 30], b[b >= 10]
    return write(folder, table(a, "x", patient_id=names), table(b, "y", patient_id=names))


@case(MATCH)
def columns_in_another_order(folder, a, b):
    two = table(b, "y", patient_id=NUMBERS, age=RANKS % 7)
    return write(folder, table(a, "x", patient_id=NUMBERS), two[two.columns[::-1]])


@case(MATCH)
def comments_beside_numbers(folder, a, b):
    one = table(a, "x", comment=[f"seen {i}" for i in range(N)], patient_id=NUMBERS)
    two = table(b, "y", remark=[f"scan {i}" for i in range(N)], patient_id=NUMBERS)
    return write(folder, one, two)


@case(STOP)
def wells_beside_names(folder, a, b):
    wells = np.array([f"{'ABCDE'[i // 8]}{i % 8}" for i in range(N)])
    one = table(a, "x", name=TEXT, well=wells)
    return write(folder, one, table(b, "y", name=TEXT, well=wells[::-1]))


@variants(STOP, ["name", "z"])
def wells_beside_numbers(folder, a, b, title):
    wells = np.array([f"{'ABCDE'[i // 8]}{i % 8}" for i in range(N)])
    one = table(a, "x", well=wells, **{title: RANKS})
    return write(folder, one, table(b, "y", well=wells[::-1], **{title: RANKS}))


@case(STOP)
def wells_and_names_in_one_file(folder, a, b):
    wells = np.array([f"{'ABCDE'[i // 8]}{i % 8}" for i in range(N)])
    one = table(a, "x", well=wells, patient_id=NUMBERS)
    return write(folder, one, table(b, "y", well=wells[::-1]))


@case(MATCH)
def position_in_one_file(folder, a, b):
    one = table(a, "x", position=NUMBERS[::-1] * 3, patient_id=NUMBERS)
    return write(folder, one, table(b, "y", patient_id=NUMBERS))


@case(MATCH)
def ranks_in_both_files(folder, a, b):
    one = table(a, "x", rank=RANKS, patient_id=NUMBERS)
    return write(folder, one, table(b, "y", rank=RANKS[::-1], patient_id=NUMBERS))


@case(STOP)
def ranks_alone(folder, a, b):
    return write(folder, table(a, "x", rank=RANKS), table(b, "y", rank=RANKS[::-1]))


@variants(MATCH, ["parquet", "arrow"])
def vectors_with_numbers(folder, a, b, form):
    return [
        vectors(folder, "x", a, form, product_id=NUMBERS),
        vectors(folder, "y", b, form, product_id=NUMBERS),
    ]


@case(MATCH, id="product_id")
def vectors_with_the_column_given(folder, a, b):
    columns = {"product_id": NUMBERS, "shelf": TEXT}
    return [vectors(folder, "x", a, **columns), vectors(folder, "y", b, **columns)]


@case(MATCH)
def vectors_with_text_and_fewer_rows(folder, a, b):
    return [vectors(folder, "x", a, title=TEXT), vectors(folder, "y", b[:12], title=TEXT)]


@case(STOP)
def vectors_with_numbers_in_one_file(folder, a, b):
    return [vectors(folder, "x", a, product_id=NUMBERS), vectors(folder, "y", b)]


@case(STOP)
def vectors_with_two_columns_that_disagree(folder, a, b):
    one = vectors(folder, "x", a, product_id=NUMBERS, code=TEXT)
    return [one, vectors(folder, "y", b, product_id=NUMBERS, code=TEXT[::-1])]


@case(STOP)
def vectors_beside_an_array(folder, a, b):
    np.save(folder / "y.npy", array(b, "y"))
    return [vectors(folder, "x", a, title=TEXT), f"{folder}/y.np*"]


@case(MATCH, engine="stream")
def streams_of_columns(folder, a, b):
    one, two = table(a, "x", patient_id=NUMBERS), table(b, "y", patient_id=NUMBERS)
    return write(folder, one, two, "parquet")


@case(MATCH, engine="stream", id="name")
def streams_of_columns_with_text(folder, a, b):
    return write(folder, table(a, "x", name=TEXT), table(b, "y", name=TEXT), "parquet")


@case(MATCH)
def datasets_with_names_beside_them(folder, a, b):
    h5py = pytest.importorskip("h5py")
    for name, samples in (("x", a), ("y", b)):
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file["vectors"] = view(samples, name).to_numpy()
            file["ids"] = TEXT[samples]
    return [f"{folder}/x.h5::vectors", f"{folder}/y.h5::vectors"]


@case(MATCH)
def shards_in_the_same_order(folder, a, b):
    for p, part in enumerate(np.array_split(a, 3)):
        np.save(folder / f"x_{p}.npy", array(part, "x"))
    np.save(folder / "y.npy", array(a, "y"))
    return [f"{folder}/x_*.npy", folder / "y.npy"]


@case(MATCH)
def arrays_in_the_same_order(folder, a, b):
    np.save(folder / "x.npy", array(a, "x"))
    np.save(folder / "y.npy", array(a, "y"))
    return [folder / "x.npy", folder / "y.npy"]


@case(STOP)
def an_array_and_a_table_with_names(folder, a, b):
    np.save(folder / "x.npy", array(a, "x"))
    table(b, "y", name=TEXT).to_csv(folder / "y.csv", index=False)
    return [folder / "x.npy", folder / "y.csv"]


@case(MATCH)
def zeros_before_numbers_in_one_file(folder, a, b):
    padded = np.array([f"{number:07d}" for number in NUMBERS], dtype=object)
    table(a, "x", patient_id=padded).to_parquet(folder / "one.parquet", index=False)
    table(b, "y", patient_id=NUMBERS).to_csv(folder / "two.csv", index=False)
    return [folder / "one.parquet", folder / "two.csv"]


@case(MATCH, id="patient_id")
def zeros_before_numbers_with_the_column_given(folder, a, b):
    padded = np.array([f"{number:03d}" for number in RANKS], dtype=object)
    return write(folder, table(a, "x", patient_id=padded), table(b, "y", patient_id=RANKS))


@case(STOP)
def a_number_is_missing_in_one_file(folder, a, b):
    two = table(b, "y", patient_id=NUMBERS.astype(float))
    two.loc[7, "patient_id"] = np.nan
    return write(folder, table(a, "x", patient_id=NUMBERS), two)


@case(STOP)
def a_name_is_missing_in_one_file(folder, a, b):
    two = table(b, "y", name=TEXT)
    two.loc[7, "name"] = None
    return write(folder, table(a, "x", name=TEXT), two)


@case(MATCH)
def numbers_with_a_decimal_point_in_one_file(folder, a, b):
    one = table(a, "x", patient_id=NUMBERS)
    return write(folder, one, table(b, "y", patient_id=NUMBERS.astype(float)))


@variants(MATCH, ["text", "numbers"])
def other_headers(folder, a, b, kind):
    names = TEXT if kind == "text" else NUMBERS
    return write(folder, table(a, "x", patient=names), table(b, "y", subject_id=names))


@case(STOP)
def other_headers_and_small_numbers(folder, a, b):
    return write(folder, table(a, "x", patient_id=RANKS), table(b, "y", sample_id=RANKS[::-1]))


@variants(MATCH, ["", "Unnamed: 0"])
def an_index_that_counts_beside_numbers(folder, a, b, title):
    paths = [folder / "one.csv", folder / "two.csv"]
    for path, samples, letter in zip(paths, (a, b), "xy", strict=True):
        table(samples, letter, patient_id=NUMBERS).to_csv(path, index_label=title)
    return paths


@case(MATCH)
def an_index_that_pandas_kept(folder, a, b):
    paths = [folder / "one.csv", folder / "two.csv"]
    for path, samples, letter in zip(paths, (a, b), "xy", strict=True):
        view(samples, letter).set_axis(samples).to_csv(path)
    return paths


@case(MATCH)
def two_columns_that_agree(folder, a, b):
    columns = {"patient_id": NUMBERS, "sample": TEXT}
    return write(folder, table(a, "x", **columns), table(b, "y", **columns))


@case(STOP)
def two_columns_that_disagree(folder, a, b):
    one = table(a, "x", patient_id=NUMBERS, visit_id=NUMBERS + 7)
    return write(folder, one, table(b, "y", patient_id=NUMBERS, visit_id=NUMBERS[::-1] + 7))


@case(MATCH)
def samples_in_the_columns_of_one_file(folder, a, b):
    table(a, "x", name=TEXT).to_csv(folder / "one.csv", index=False)
    view(b, "y", 5).set_axis(TEXT[b]).T.to_csv(folder / "two.csv", index_label="gene")
    return [folder / "one.csv", folder / "two.csv"]


@case(MATCH)
def no_names_in_the_same_order(folder, a, b):
    return write(folder, view(a, "x"), view(a, "y"))


@case(STOP, id="patient_id")
def the_column_given_is_in_one_file(folder, a, b):
    return write(folder, table(a, "x", patient_id=NUMBERS), view(b, "y"))


@case(MATCH)
def very_large_numbers(folder, a, b):
    numbers = NUMBERS.astype(np.int64) + 9_007_199_254_740_992
    return write(folder, table(a, "x", user_id=numbers), table(b, "y", user_id=numbers))


@case(STOP)
def the_same_title_with_other_numbers(folder, a, b):
    one = table(a, "x", patient_id=NUMBERS)
    return write(folder, one, table(b, "y", patient_id=NUMBERS + 100_000))


@case(STOP)
def visits_of_a_few_patients(folder, a, b):
    columns = {"patient": RANKS // 8, "site": TEXT[np.arange(N) // 7]}
    return write(folder, table(a, "x", **columns), table(b, "y", **columns))


@case(STOP)
def an_age_in_both_files(folder, a, b):
    ages = np.round(30 + 40 * np.random.default_rng(0).random(N), 1)
    return write(folder, table(a, "x", age=ages), table(b, "y", age=ages))


@case(MATCH)
def dates_as_names(folder, a, b):
    dates = pd.date_range("2020-01-01", periods=N).to_numpy()
    return write(folder, table(a, "x", seen=dates), table(b, "y", seen=dates), "parquet")


@case(MATCH)
def numbers_in_a_column_and_in_a_header(folder, a, b):
    table(a, "x", patient_id=NUMBERS).to_csv(folder / "one.csv", index=False)
    view(b, "y", 5).set_axis(NUMBERS[b]).T.to_csv(folder / "two.csv", index_label="gene")
    return [folder / "one.csv", folder / "two.csv"]


@case(STOP)
def first_columns_of_numbers_under_other_headers(folder, a, b):
    return write(folder, table(a, "x", dose=NUMBERS), table(b, "y", price=NUMBERS[::-1]))


@case(MATCH, engine="stream")
def streams_of_columns_under_any_header(folder, a, b):
    return write(folder, table(a, "x", z=NUMBERS), table(b, "y", z=NUMBERS), "parquet")


@case(STOP)
def vectors_with_a_category_in_another_order(folder, a, b):
    categories = TEXT[np.arange(N) // 6]
    return [vectors(folder, "x", a, shelf=categories), vectors(folder, "y", b, shelf=categories)]


@case(STOP)
def names_and_a_number_with_a_letter(folder, a, b):
    names = np.array([f"P{number}" for number in NUMBERS])
    return write(folder, table(a, "x", patient_id=names), table(b, "y", patient_id=NUMBERS))


def samples_of(view_, features):
    """The sample of each row, as its first feature tells."""
    names = [] if features is None else list(features)
    first = next((j for j, name in enumerate(names) if name in ("x0", "y0")), 0)
    return np.asarray(view_)[:, first] - 0.25


def test_there_are_enough():
    assert len(CASES) >= 60


@pytest.mark.parametrize("name", CASES)
def test_samples_are_matched_rightly_or_the_command_stops(name, tmp_path):
    make, expected, options = CASES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    paths = make(tmp_path, rng.permutation(N), rng.permutation(N))
    request = FitRequest(paths=paths, clusters="2", **options)
    if expected == STOP:
        with pytest.raises(ViewError, match=r"--id|--by-position|make the sample names|name every"):
            read_files(request)
        return
    loaded = read_files(request)
    data = loaded.data
    present = np.ones((len(data), 2), dtype=bool) if data.present is None else data.present
    one, two = map(samples_of, data.views, data.feature_names)
    is_complete = present.all(axis=1)
    np.testing.assert_array_equal(one[is_complete], two[is_complete])
    assert is_complete.sum() == len(set(one[present[:, 0]]) & set(two[present[:, 1]])) > 0
    names = [str(name) for of in data.feature_names if of is not None for name in of]
    assert not {"patient_id", "id", "user_id", "visit_id", "Unnamed: 0"} & set(names)
    assert loaded.matching.startswith("Samples were matched by ")
