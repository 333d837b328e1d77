"""Fetching a set, from the server to `load_benchmark`, by the function and by the command."""

import hashlib
import io
import json
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from helpers.servers import Site, serving
from manyview import cli
from manyview.datasets import fetching, load_benchmark
from manyview.datasets.fetching import PUBLIC_SETS, checksum, fetch_benchmark
from manyview.exceptions import FetchError, ViewError

NAME = "handwritten_6v"
DIGITS = PUBLIC_SETS[NAME]
WIDTHS = {"pix": 240, "fou": 76, "fac": 216, "zer": 47, "kar": 64, "mor": 6}
SMALL = (2, 2, 1)  # samples of each class


def as_text(view, separator=" "):
    return "\n".join(separator.join(map(repr, row)) for row in view.tolist())


def as_zip(views, folder=""):
    """The file of UCI; the order of its members is another one than ours."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(f"{folder}mfeat.info", "about")
        for name in sorted(views):
            archive.writestr(f"{folder}mfeat-{name}", as_text(views[name]))
    return file.getvalue()


def add_openml(site, views):
    """The descriptions and files of OpenML; one file has quotes, comments and small letters."""
    for name, number in fetching.OPENML_DIGITS.items():
        labels = np.arange(len(views[name]))[:, None]
        rows = as_text(np.hstack([views[name], labels]), ",")
        marker = "@DATA" if name == "pix" else "@data"
        text = f"% about\n@RELATION mfeat\n@ATTRIBUTE 'att1' REAL\n{marker}\n{rows}\n%\n"
        site.files[f"{number}.arff"] = text.encode()
        about = {
            "url": site.url(f"{number}.arff"),
            "md5_checksum": hashlib.md5(text.encode()).hexdigest(),
        }
        answer = {"data_set_description": about}
        site.files[f"json/{number}"] = json.dumps(answer).encode()


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=(5, d)).astype(np.float32) for name, d in WIDTHS.items()}


@pytest.fixture
def site(monkeypatch, tmp_path, views):
    """Both sources, with five samples in place of 2000; the folder of the user is tmp_path."""
    checksums = {name: checksum(views[name]) for name in DIGITS.checksums}
    small = replace(DIGITS, class_sizes=SMALL, checksums=checksums)
    monkeypatch.setitem(PUBLIC_SETS, NAME, small)
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path / "data"))
    with serving(Site({"digits.zip": as_zip(views)})) as site:
        add_openml(site, views)
        monkeypatch.setattr(fetching, "UCI_DIGITS", site.url("digits.zip"))
        monkeypatch.setattr(fetching, "OPENML", site.url("json/{}"))
        yield site


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line here, where the sources are replaced; return code, output, errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["manyview", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return caught.value.code, *capsys.readouterr()

    return run


def here(tmp_path):
    return sorted(path.name for path in (tmp_path / "data").iterdir())


@pytest.mark.parametrize("source", [None, "uci", "openml"])
def test_a_set_that_was_fetched_can_be_loaded(site, tmp_path, views, source):
    path = fetch_benchmark(NAME, source=source)
    assert here(tmp_path) == [path.name] == [f"{NAME}.npz"]
    loaded = load_benchmark(NAME)
    assert loaded.view_names == ("pix", "fou", "fac", "zer", "kar", "mor")
    assert loaded.target.tolist() == [0, 0, 1, 1, 2]
    for name, view in zip(loaded.view_names, loaded.data.views, strict=True):
        assert np.array_equal(view, views[name])


def test_the_members_of_the_archive_may_lie_in_a_folder(site, views):
    site.files["digits.zip"] = as_zip(views, folder="mfeat/")
    assert fetch_benchmark(NAME).exists()


def test_a_set_that_is_here_is_fetched_again_only_by_force(site, tmp_path):
    (tmp_path / "data").mkdir()
    old = tmp_path / "data" / f"{NAME}.mat"  # of the user
    old.write_bytes(b"mine")
    assert fetch_benchmark(NAME) == old
    assert site.ranges == []
    assert fetch_benchmark(NAME, force=True) == old.with_suffix(".npz")
    assert old.read_bytes() == b"mine"


@pytest.mark.parametrize("source", ["uci", "openml"])
def test_a_broken_transfer_keeps_the_old_file_and_goes_on(site, tmp_path, source):
    path = fetch_benchmark(NAME)
    path.write_bytes(b"old")
    del site.ranges[:]
    site.cut_after = 100
    with pytest.raises(FetchError, match="goes on from there. The sources are uci and openml"):
        fetch_benchmark(NAME, source=source, force=True)
    assert path.read_bytes() == b"old"
    fetch_benchmark(NAME, source=source, force=True)
    assert site.ranges[:2] == [None, "bytes=100-"]
    assert here(tmp_path) == [path.name]
    assert load_benchmark(NAME).data.n_samples == 5


def swap_rows(views):
    for view in views.values():
        view[[0, 1]] = view[[1, 0]]


def change_one_value(views):
    views["mor"][3, 2] += 1


def hide_one_value(views):
    views["mor"][3, 2] = np.nan


def lose_a_view(views):
    del views["kar"]


@pytest.mark.parametrize("damage", [swap_rows, change_one_value, hide_one_value, lose_a_view])
def test_wrong_content_keeps_the_old_file_and_leaves_nothing(site, tmp_path, views, damage):
    path = fetch_benchmark(NAME)
    path.write_bytes(b"old")
    damage(views)
    site.files["digits.zip"] = as_zip(views)
    site.etag = '"2"'
    with pytest.raises(FetchError, match="is not handwritten_6v .* Run the command again") as error:
        fetch_benchmark(NAME, force=True)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == b"old"
    assert here(tmp_path) == [path.name]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.999])
def test_damaged_bytes_are_noticed(site, tmp_path, share):
    content = bytearray(site.files["digits.zip"])
    content[int(share * len(content))] ^= 255
    site.files["digits.zip"] = bytes(content)
    with pytest.raises(FetchError, match="What was sent"):
        fetch_benchmark(NAME)
    assert here(tmp_path) == []


def test_a_wrong_md5_of_openml_is_noticed(site, tmp_path):
    site.files["16.arff"] = site.files["16.arff"].replace(b"% about", b"% other")
    with pytest.raises(FetchError, match="MD5"):
        fetch_benchmark(NAME, source="openml")
    assert not (tmp_path / "data" / f"{NAME}.npz").exists()


def test_an_unknown_set_or_source_lists_what_there_is(site):
    with pytest.raises(
        ViewError, match=r"no set 'bdgp' to fetch; expected one of handwritten_6v\."
    ):
        fetch_benchmark("bdgp")
    with pytest.raises(
        ViewError, match=r"no source 'nasa' to fetch; expected one of uci, openml\."
    ):
        fetch_benchmark(NAME, source="nasa")
    assert site.ranges == []


def test_the_checksum_by_hand():
    """(1·cos 0·cos 0 − 3·cos 1·cos 1) / (1 + 3)."""
    assert checksum(np.array([[1, 0], [0, -3]])) == pytest.approx((1 - 3 * np.cos(1) ** 2) / 4)


@pytest.mark.data
def test_the_published_set_passes_and_is_written_as_it_was(data_home, monkeypatch, tmp_path):
    original = load_benchmark(NAME, data_home=data_home)
    views = dict(zip(original.view_names, original.data.views, strict=True))
    assert list(DIGITS.checksums) == list(views)
    with serving(Site({"digits.zip": as_zip(views)})) as site:
        monkeypatch.setattr(fetching, "UCI_DIGITS", site.url("digits.zip"))
        fetch_benchmark(NAME, data_home=tmp_path)
    fetched = load_benchmark(NAME, data_home=tmp_path)
    assert np.array_equal(fetched.target, original.target)
    for ours, theirs in zip(fetched.data.views, original.data.views, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.data
def test_the_checksum_forgives_rounding_but_no_change(data_home):
    original = load_benchmark(NAME, data_home=data_home)
    for name, view in zip(original.view_names, original.data.views, strict=True):
        swapped, changed = view.copy(), view.copy()
        swapped[[3, 4]] = swapped[[4, 3]]
        changed[3, 0] += np.abs(view).mean()
        rounded = np.nextafter(view, np.float32(0))
        errors = [abs(checksum(v) - DIGITS.checksums[name]) for v in (rounded, swapped, changed)]
        assert errors[0] < fetching.CHECKSUM_TOLERANCE / 5
        assert min(errors[1:]) > fetching.CHECKSUM_TOLERANCE * 2


def test_the_command_fetches_lists_and_does_not_fetch_twice(site, command, tmp_path):
    path = tmp_path / "data" / f"{NAME}.npz"
    code, out, err = command("datasets")
    assert (code, err) == (0, "")
    assert "There are no sets" in out
    assert f"{NAME} (uci or openml)" in out
    code, out, err = command("datasets", "fetch", NAME)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"Written: {path}"
    assert "UCI Multiple Features" in out
    assert "License: CC BY 4.0" in out
    n_requests = len(site.ranges)
    code, out, _ = command("datasets", "fetch", NAME)
    assert code == 0
    assert out.startswith(f"Here already; --force fetches it again: {path}\n")
    assert len(site.ranges) == n_requests
    code, out, _ = command("datasets", "fetch", NAME, "--force", "--source", "openml")
    assert code == 0
    assert out.startswith(f"Written: {path}\n")
    assert len(site.ranges) > n_requests
    listed = command("datasets", "list")
    assert listed == command("datasets")
    assert NAME in listed[1]
    assert "CC BY" in listed[1]


def test_a_mistake_is_one_sentence_and_code_2(site, command):
    site.files.clear()
    for arguments, words in (((NAME,), "404"), (("bdgp",), f"expected one of {NAME}")):
        code, out, err = command("datasets", "fetch", *arguments)
        assert (code, out) == (2, "")
        assert err.startswith("manyview: ")
        assert words in err
        assert len(err.splitlines()) == 1


def test_the_bar_shows_size_and_time_left(site, tmp_path):
    from rich.console import Console

    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)
    fetching.fetch_session(NAME, None, False, terminal)
    shown = terminal.file.getvalue()
    size = len(site.files["digits.zip"])
    assert "digits.zip" in shown
    assert f"{size / 1000:.1f}/{size / 1000:.1f} kB" in shown
    assert "0:00:00" in shown
