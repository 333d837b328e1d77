"""Archives: what comes back, and the many ways in which a file is refused."""

import hashlib
import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.model_files import as_npy, edit, put_together, seal, take_apart
from manyview.exceptions import ModelFileError
from manyview.persistence.archive import DTYPES, read_archive, write_archive

MANIFEST = {"estimator": "Nobody", "text": "é\ud800", "tree": [1, None, {"a": 0.1}]}


@pytest.fixture
def path(tmp_path):
    """A small archive of two arrays."""
    path = tmp_path / "small.mv"
    write_archive(path, MANIFEST, [np.arange(6.0).reshape(2, 3), np.array([True, False])])
    return path


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "small.mv"
    write_archive(path, MANIFEST, [np.arange(6.0).reshape(2, 3), np.array([True, False])])
    return path.read_bytes()


def refusal(path):
    with pytest.raises(ModelFileError) as caught:
        read_archive(path)
    return str(caught.value)


def test_arrays_of_every_type_order_and_shape_come_back_as_they_were(tmp_path):
    values = np.arange(24).reshape(2, 3, 4)
    arrays = [values.astype(dtype) for dtype in DTYPES]
    arrays += [np.asfortranarray(values), values[:, ::2], np.array(0.5), np.empty((0, 3)), -values]
    write_archive(tmp_path / "a.mv", MANIFEST, arrays)
    manifest, loaded = read_archive(tmp_path / "a.mv")
    assert {name: manifest[name] for name in MANIFEST} == MANIFEST
    for before, after in zip(arrays, loaded, strict=True):
        assert after.dtype == before.dtype
        assert after.flags.f_contiguous or not before.flags.f_contiguous
        assert after.flags.writeable
        np.testing.assert_array_equal(after, before)


def test_values_of_another_byte_order_are_read_as_native_ones(tmp_path):
    write_archive(tmp_path / "a.mv", {}, [np.array([1, 2], dtype=">i4")])
    _, [array] = read_archive(tmp_path / "a.mv")
    assert array.dtype == np.int32
    assert array.tolist() == [1, 2]


def test_another_program_can_read_the_file_as_the_page_says(path):
    content = path.read_bytes()
    assert hashlib.sha256(content[:-64]).hexdigest().encode() == content[-64:]
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        assert (manifest["format"], manifest["version"]) == ("manyview model", 3)
        for i, entry in enumerate(manifest["arrays"]):
            member = archive.read(f"arrays/{i}.npy")
            array = np.load(io.BytesIO(member))
            assert list(array.shape) == entry["shape"]
            assert array.dtype.str == entry["dtype"]
            assert hashlib.sha256(member).hexdigest() == entry["sha256"]


def test_equal_content_gives_equal_bytes(path, content):
    assert path.read_bytes() == content


def test_a_change_of_any_byte_is_found(path, content):
    for i in range(len(content)):
        path.write_bytes(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :])
        refusal(path)


def test_a_file_cut_off_anywhere_or_with_more_at_its_end_is_refused(path, content):
    for size in range(len(content)):
        path.write_bytes(content[:size])
        refusal(path)
    path.write_bytes(content + b"\n")
    refusal(path)


@given(position=st.floats(0, 1, exclude_max=True), mask=st.integers(1, 255))
def test_a_changed_byte_under_a_right_checksum_is_harmless_or_refused(
    tmp_path_factory, content, position, mask
):
    path = tmp_path_factory.mktemp("flip") / "flipped.mv"
    i = int(position * (len(content) - 64))
    path.write_bytes(content[:i] + bytes([content[i] ^ mask]) + content[i + 1 :])
    seal(path)
    try:
        manifest, arrays = read_archive(path)
    except ModelFileError:
        return
    assert manifest["tree"] == MANIFEST["tree"]
    assert [array.tolist() for array in arrays] == [[[0, 1, 2], [3, 4, 5]], [True, False]]


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"no zip " * 100, bytes(86), b"\x80\x04."])
def test_what_is_no_archive_is_refused_in_one_sentence_that_says_what_to_do(tmp_path, content):
    path = tmp_path / "other.mv"
    path.write_bytes(content)
    assert "is not a complete manyview model; expected a file written by `save`" in refusal(path)


def test_a_zip_bomb_is_refused_sealed_or_not(tmp_path):
    path = tmp_path / "bomb.mv"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(10**7))
    assert "not a complete manyview model" in refusal(path)
    put_together(path, [("manifest.json", bytes(10**7))], compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 10**5
    assert "manifest.json is compressed" in refusal(path)


def test_a_compressed_array_is_refused(path):
    def compress(directory):
        directory[0].compress_type = zipfile.ZIP_DEFLATED

    put_together(path, take_apart(path).items(), spoil=compress)
    assert "arrays/0.npy is compressed" in refusal(path)


@pytest.mark.parametrize("version", [0, 1, 99, None, "2", [2]])
def test_another_version_is_named_with_the_program_that_wrote_it(path, version):
    edit(path, lambda manifest, arrays: manifest.update(version=version, manyview="7.5"))
    message = refusal(path)
    assert f"version {version!r}, written by manyview 7.5" in message
    assert "Load it with the manyview that wrote it, or fit again." in message


def test_a_later_version_may_change_everything_but_the_manifest_and_is_still_named(path):
    manifest = json.dumps({"format": "manyview model", "version": 4, "manyview": "9.0"})
    put_together(path, [("manifest.json", manifest), ("data.parquet", b"?")])
    assert "version 4, written by manyview 9.0" in refusal(path)


def without(members, name):
    return [(key, value) for key, value in members if key != name]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda members: without(members, "arrays/1.npy"), "arrays/1.npy"),
        (lambda members: without(members, "manifest.json"), "manifest.json"),
        (lambda members: [*members, ("more.txt", b"")], "more.txt"),
        (lambda members: [("../../evil.npy", b""), *members], "evil.npy"),
        (lambda members: [members[0], *members], "moved: []"),
        (lambda members: [*members, members[-1]], "moved: []"),
        (lambda members: [members[1], members[0], members[2]], "moved: []"),
    ],
)
def test_members_missing_added_repeated_or_moved_are_refused(path, change, words):
    put_together(path, change(list(take_apart(path).items())))
    assert words in refusal(path)


def test_members_that_overlap_or_are_encrypted_are_refused(path):
    def overlap(directory):
        directory[1].header_offset = directory[0].header_offset

    def encrypt(directory):
        directory[0].flag_bits |= 1

    members = take_apart(path).items()
    put_together(path, members, spoil=overlap)
    assert "arrays/1.npy overlaps another member" in refusal(path)
    put_together(path, members, spoil=encrypt)
    assert "encrypted" in refusal(path)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"shape": [10**15]}, "too few for the shape"),
        ({"shape": [0, 10**30]}, "differs from"),
        ({"shape": [3, 2]}, "differs from"),
        ({"shape": [-1, -6]}, "has shape"),
        ({"shape": [2.0, 3]}, "has shape"),
        ({"shape": None}, "is inconsistent"),
        ({"dtype": "<i8"}, "differs from"),
        ({"dtype": "|O"}, "dtype '|O'"),
        ({"dtype": "<f8,<f8"}, "dtype"),
        ({"sha256": "0" * 64}, "another SHA-256"),
    ],
)
def test_an_array_that_is_not_as_the_manifest_says_is_refused(path, entry, words):
    members = take_apart(path)
    manifest = json.loads(members["manifest.json"])
    manifest["arrays"][0].update(entry)
    members["manifest.json"] = json.dumps(manifest)
    put_together(path, members.items())
    assert words in refusal(path)


def with_array(path, content, **entry):
    """Put other bytes in the place of the first array, checksums and all."""
    members = take_apart(path)
    manifest = json.loads(members["manifest.json"])
    manifest["arrays"][0].update(entry, sha256=hashlib.sha256(content).hexdigest())
    members.update({"arrays/0.npy": content, "manifest.json": json.dumps(manifest)})
    put_together(path, members.items())


def test_an_array_longer_or_shorter_than_its_header_says_is_refused(path):
    content = as_npy(np.arange(6.0).reshape(2, 3))
    with_array(path, content + bytes(8))
    assert "56 bytes of values, not 48" in refusal(path)
    with_array(path, content[:-8])
    assert "40 bytes of values, not 48" in refusal(path)


def test_no_memory_is_taken_for_a_header_that_claims_too_much(path):
    content = as_npy(np.arange(6.0).reshape(2, 3)).replace(b"(2, 3), }      ", b"(2, 3000000), }")
    with_array(path, content, shape=[2, 3_000_000])
    assert "too few for the shape" in refusal(path)
    with_array(path, content, shape=[2, 3])
    assert "differs from manifest.json" in refusal(path)


class Bait:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("dtype", ["|O", "<f8"])
def test_a_pickle_in_the_place_of_an_array_is_not_opened(path, tmp_path, dtype):
    trap = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Bait(trap)))
    assert trap.exists()
    trap.unlink()
    with_array(path, as_npy(np.array([Bait(trap)], dtype=object)), shape=[1], dtype=dtype)
    refusal(path)
    assert not trap.exists()


@pytest.mark.parametrize(
    "manifest",
    [
        *(b"", b"\xff", b"[]", b"1", b"{}", b"[" * 10**5),
        b'{"format": "manyview model", "version": 2}',
        b'{"format": "manyview model", "version": 2, "arrays": 7}',
        b'{"format": "manyview model", "version": 2, "arrays": {"0": 1, "1": 2}}',
        b'{"format": "manyview model", "version": 2, "arrays": [7, 8]}',
        b'{"format": "manyview model", "version": 2, "arrays": [{}, {}]}',
    ],
)
def test_a_manifest_of_another_kind_is_refused(path, manifest):
    members = take_apart(path) | {"manifest.json": manifest}
    put_together(path, members.items())
    refusal(path)


def test_a_manifest_too_long_to_be_one_is_not_parsed(path, monkeypatch):
    monkeypatch.setattr("manyview.persistence.archive.MOST_MANIFEST_BYTES", 100)
    assert "manifest.json is too long" in refusal(path)


def test_a_file_that_is_not_there_says_so_itself(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.mv"):
        read_archive(tmp_path / "none.mv")
