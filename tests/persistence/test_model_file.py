"""Saved models: what is loaded behaves as what was saved, or is refused."""

import json
import os
import signal
import subprocess
import sys
import time
from copy import deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from helpers.model_files import edit, take_apart
from manyview import OMVCDR, MultiViewData
from manyview._version import __version__
from manyview.exceptions import ModelFileError, NotFittedError
from manyview.persistence.encoding import RECORDS

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
KINDS = [
    *("smooth", "plain", "unscaled", "one start", "missing", "weights"),
    *("float32", "sparse", "table", "seed", "far"),
]
SAVER = """
import sys
from manyview import OMVCDR
model = OMVCDR.load(sys.argv[1])
while True:
    model.save(sys.argv[2])
"""
SAVER_WITHOUT_ROOM = """
import resource, sys
from pathlib import Path
from manyview import OMVCDR
model = OMVCDR.load(sys.argv[1])
size = Path(sys.argv[1]).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))
try:
    model.save(sys.argv[2])
except OSError as error:
    print("refused:", error.strerror)
"""


def fit(kind="smooth"):
    """A small model of some kind, and views to try it on."""
    rng = np.random.default_rng(5)
    truth = rng.integers(3, size=60)
    views = [4 * rng.standard_normal((3, d))[truth] + rng.random((60, d)) for d in (4, 3)]
    X, parameters, options = views, {"n_init": 2, "random_state": 0}, {}
    if kind in ("plain", "far"):
        parameters |= {"smooth": False, "scale": ["unit", "z"], "latent_dims": [2, 5]}
    if kind == "unscaled":
        parameters |= {"scale": None, "lam": np.float64(0.3), "latent_dims": np.array([2, 3])}
    if kind == "one start":
        parameters |= {"n_init": 1}
    if kind == "seed":
        parameters |= {"random_state": np.random.RandomState(0)}
    if kind == "missing":
        views[0][:9] = views[1][9:20] = np.nan
    if kind == "weights":
        options = {"sample_weight": rng.integers(3, size=60)}
    if kind == "float32":
        X = {"é": views[0].astype(np.float32), "b": views[1].astype(np.float32)}
    if kind == "sparse":
        X = [sparse.csr_array(views[0] * (views[0] > 0)), views[1]]
    if kind == "far":
        X = [views[0] + 1e6, views[1]]
    if kind == "table":
        X = pd.DataFrame(np.hstack(views), columns=list("abcdefg"))
        parameters |= {"view_sizes": (4, 3)}
    return OMVCDR(3, **parameters).fit(X, **options), X


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A saved model that has all parts."""
    path = tmp_path_factory.mktemp("storage") / "model.mv"
    fit()[0].save(path)
    return path


@pytest.fixture
def path(original, tmp_path):
    """A copy of it, to be spoilt."""
    copy = tmp_path / "model.mv"
    copy.write_bytes(original.read_bytes())
    return copy


def refusal(path):
    with pytest.raises(ModelFileError) as caught:
        OMVCDR.load(path)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_does_bit_for_bit_what_the_saved_one_does(tmp_path, kind):
    model, X = fit(kind)
    model.save(tmp_path / "a.mv")
    loaded = OMVCDR.load(tmp_path / "a.mv")
    rows = X if isinstance(X, pd.DataFrame) else MultiViewData.of(X)
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
    assert loaded.transform(rows).dtype == model.transform(rows).dtype
    assert loaded.score(rows) == model.score(rows)
    for after, before in zip(loaded.anchor_graph(rows), model.anchor_graph(rows), strict=True):
        np.testing.assert_array_equal(after, before)
    assert list(loaded.get_feature_names_out()) == list(model.get_feature_names_out())


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_a_fit_leaves_is_there_after_loading(tmp_path, kind):
    model, _ = fit(kind)
    model.save(tmp_path / "a.mv")
    loaded = OMVCDR.load(tmp_path / "a.mv")
    left = {"_data", "_weights", "_fixed"}  # what belongs to the samples stays behind
    assert vars(loaded).keys() == vars(model).keys() - left
    for name, value in vars(model).items():
        if name.endswith("_"):
            assert isinstance(vars(loaded)[name], type(value)), name
            np.testing.assert_equal(vars(loaded)[name], value)
    loaded.save(tmp_path / "b.mv")
    assert (tmp_path / "b.mv").read_bytes() == (tmp_path / "a.mv").read_bytes()


def test_equal_fits_give_equal_files(original, tmp_path):
    fit()[0].save(tmp_path / "again.mv")
    assert (tmp_path / "again.mv").read_bytes() == original.read_bytes()


def test_the_program_of_the_page_reads_the_labels_and_the_page_names_all_records(
    original, monkeypatch
):
    page = PAGE.read_text(encoding="utf-8")
    program = page.split("```python\n")[-1].removesuffix("```\n")
    monkeypatch.chdir(original.parent)
    found = {}
    exec(program, found)
    np.testing.assert_array_equal(found["labels"], OMVCDR.load(original).labels_)
    assert all(f"`{name}`" in page or f'"{name}"' in page for name in RECORDS)


def test_a_clone_of_a_loaded_model_fits_as_the_original(original):
    model, X = fit()
    loaded = OMVCDR.load(original)
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(clone(loaded).fit_predict(X), model.labels_)


def test_a_generator_is_stored_as_none_and_stays_with_the_saved_model(tmp_path):
    model, _ = fit("seed")
    model.save(tmp_path / "a.mv")
    assert OMVCDR.load(tmp_path / "a.mv").random_state is None
    assert isinstance(model.random_state, np.random.RandomState)


def test_the_output_that_was_set_survives(tmp_path):
    model, X = fit("table")
    model.set_output(transform="pandas").save(tmp_path / "a.mv")
    loaded = OMVCDR.load(tmp_path / "a.mv")
    pd.testing.assert_frame_equal(loaded.transform(X), model.transform(X))


def test_a_model_that_is_not_fitted_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet. Call 'fit'"):
        OMVCDR().save(tmp_path / "a.mv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [range(2, 4), {1: 2}, np.array(["a"]), np.array([1j]), object()])
def test_a_parameter_that_cannot_be_saved_is_named_and_nothing_is_written(path, tmp_path, value):
    before = path.read_bytes()
    model = OMVCDR.load(path).set_params(latent_dims=value)
    with pytest.raises(ModelFileError, match=r"latent_dims holds an? .*; expected .* save again\."):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@given(position=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_a_model_with_one_byte_changed_is_refused(original, position, mask):
    content = bytearray(original.read_bytes())
    content[int(position * len(content))] ^= mask
    changed = original.with_name("changed.mv")
    changed.write_bytes(content)
    assert len(refusal(changed)) < 500


def without(tree, name):
    del tree[name]


def record(manifest, *names):
    """The fields of a record inside the fit of a manifest."""
    tree = manifest["attributes"]["_fitted"]["Fitted"]
    for name in names:
        [tree] = tree[name].values()
    return tree


def name_features(manifest, names):
    """Give all views the same feature names."""
    attributes = manifest["attributes"]
    n_views = len(attributes["view_names_"]["tuple"])
    attributes["view_features_"] = {"tuple": [{"names": names}] * n_views}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.update(estimator="KMeans"), "not a model of OMVCDR"),
        (lambda m: without(m, "estimator"), "estimator"),
        (lambda m: without(m, "parameters"), "parameters"),
        (lambda m: m["parameters"].update(n_clusters=-1), "n_clusters=-1 is not usable"),
        (lambda m: m["parameters"].update(lam=10**400), "not usable"),
        (lambda m: m["parameters"].update(speed=1), "speed"),
        (lambda m: m["attributes"].update(predict=1), "it holds 'predict'"),
        (lambda m: without(m["attributes"], "confidence_"), "it lacks ['confidence_']"),
        (lambda m: m["attributes"].update(labels_=[0, 1]), "labels_ has another type"),
        (lambda m: m["attributes"].update(labels_={"array": 10**9}), "an array is not there"),
        (lambda m: m["attributes"].update(labels_={"array": -1}), "an array is not there"),
        (lambda m: m["attributes"].update(stability_={"float": "1e5"}), "a number is not one"),
        (lambda m: m["attributes"].update(stability_={"os.system": ["ls"]}), "'os.system'"),
        (lambda m: m["attributes"].update(stability_={}), "not one key"),
        (lambda m: m["attributes"].update(_fitted=None), "_fitted has another type"),
        (lambda m: m["attributes"].update(view_names_={"tuple": ["a"]}), "shapes do not agree"),
        (lambda m: m["attributes"].update(view_features_={"tuple": []}), "shapes do not agree"),
        (lambda m: name_features(m, ["a"]), "shapes do not agree"),
        (lambda m: without(record(m, "model"), "alpha"), "Model lacks or should not have"),
        (lambda m: record(m, "model").update(beta=1), "Model lacks or should not have ['beta']"),
        (lambda m: record(m, "model", "problem").update(lam="1"), "Problem.lam has another type"),
        (lambda m: record(m).update(first=None), "shapes do not agree"),
        (
            lambda m: record(m).update(first=deepcopy(m["attributes"]["_fitted"])),
            "shapes do not agree",
        ),
        (lambda m: record(m, "model", "problem").update(n_clusters=10**15), "shapes do not agree"),
    ],
)
def test_a_manifest_that_this_version_would_not_write_is_refused(path, change, words):
    edit(path, lambda manifest, arrays: change(manifest))
    message = refusal(path)
    assert words in message
    assert f"written by manyview {__version__}" in message
    assert message.endswith("Load it with the manyview that wrote it, or fit again.")


def arrays_of(tree):
    """Indices of the arrays in a part of a manifest."""
    if isinstance(tree, list):
        return [i for item in tree for i in arrays_of(item)]
    if not isinstance(tree, dict):
        return []
    return [tree["array"]] if "array" in tree else arrays_of(list(tree.values()))


@pytest.mark.parametrize("label", [-1, 10**6])
def test_a_label_of_no_cluster_is_refused(path, label):
    manifest = json.loads(take_apart(path)["manifest.json"])
    (i,) = arrays_of(manifest["attributes"]["labels_"])

    def relabel(_, arrays):
        arrays[i][0] = label

    edit(path, relabel)
    assert "shapes do not agree" in refusal(path)


@pytest.mark.parametrize("name", ["confidence_", "cluster_centers_", "view_weights_"])
def test_results_of_other_samples_clusters_or_views_are_refused(path, name):
    manifest = json.loads(take_apart(path)["manifest.json"])
    i = arrays_of(manifest["attributes"][name])[0]

    def lengthen(_, arrays):
        arrays[i] = np.concatenate([arrays[i], arrays[i][:1]])

    edit(path, lengthen)
    assert "shapes do not agree" in refusal(path)


@pytest.mark.parametrize("axis", [0, -1])
def test_no_array_of_a_fit_may_be_longer_or_wider(original, tmp_path, axis):
    manifest = json.loads(take_apart(original)["manifest.json"])
    inside = arrays_of(manifest["attributes"]["_fitted"])
    assert len(inside) > 40
    for i in inside:
        path = tmp_path / f"{i}.mv"
        path.write_bytes(original.read_bytes())

        def lengthen(_, arrays, i=i):
            arrays[i] = np.concatenate([arrays[i], arrays[i].take([0], axis)], axis)

        edit(path, lengthen)
        assert "shapes do not agree" in refusal(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda fit: fit["problem"].update(is_far={"tuple": []}),
        lambda fit: fit["problem"]["scalings"]["tuple"][0]["ViewScaling"].update(view=2),
        lambda fit: fit["problem"]["scalings"]["tuple"][0]["ViewScaling"].update(view=-1),
        lambda fit: fit["problem"].update(n_present=fit["moments"]["count"]),
        lambda fit: fit["anchor_graph"]["tables"]["tuple"].pop(),
        lambda fit: fit["anchor_graph"]["lifts"]["tuple"].pop(),
    ],
)
def test_no_part_of_a_fit_may_be_missing_or_point_elsewhere(path, change):
    def spoil(manifest, _):
        parts = {name: record(manifest, name) for name in ("moments", "anchor_graph")}
        change({"problem": record(manifest, "model", "problem"), **parts})

    edit(path, spoil)
    assert "shapes do not agree" in refusal(path)


def test_the_columns_of_a_space_must_lie_inside_the_bases(path):
    def move(manifest, arrays):
        i = record(manifest, "moments")["starts"]["array"]
        arrays[i] = arrays[i] + 10**6

    edit(path, move)
    assert "shapes do not agree" in refusal(path)


def nodes(tree):
    """All places in a tree of JSON: (container, key)."""
    keys = tree if isinstance(tree, dict) else range(len(tree) if isinstance(tree, list) else 0)
    for key in keys:
        yield tree, key
        yield from nodes(tree[key])


@given(
    where=st.floats(0, 1, exclude_max=True),
    junk=st.sampled_from([None, -1, 2**80, 0.5, "x", [], {}, {"array": 0}, {"tuple": 3}, [[{}]]]),
)
def test_junk_anywhere_in_the_manifest_is_refused_or_leaves_a_whole_model(original, where, junk):
    path = original.with_name("junk.mv")
    path.write_bytes(original.read_bytes())

    def spoil(manifest, arrays):
        places = list(nodes(manifest["attributes"]))
        container, key = places[int(where * len(places))]
        container[key] = junk

    edit(path, spoil)
    try:
        model = OMVCDR.load(path)
    except ModelFileError:
        return
    assert vars(model).keys() == vars(OMVCDR.load(original)).keys()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_process_killed_while_saving_leaves_the_old_file(original, path, tmp_path):
    child = subprocess.Popen([sys.executable, "-c", SAVER, original, path])
    before, deadline = path.stat().st_ino, time.monotonic() + 600
    while path.stat().st_ino == before or len(list(tmp_path.iterdir())) < 2:
        assert child.poll() is None
        assert time.monotonic() < deadline
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert path.read_bytes() == original.read_bytes()
    assert OMVCDR.load(path).n_clusters == 3


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files here")
def test_a_disk_without_room_leaves_the_old_file_and_nothing_else(original, path, tmp_path):
    path.write_bytes(b"the old file")
    command = [sys.executable, "-c", SAVER_WITHOUT_ROOM, original, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "refused: File too large\n"
    assert done.stderr == ""
    assert path.read_bytes() == b"the old file"
    assert list(tmp_path.iterdir()) == [path]
