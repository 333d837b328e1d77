"""Fetching a set, from the server to `load_benchmark`, by the function and by the command."""

import hashlib
import sys
from dataclasses import replace

import numpy as np
import pytest

from helpers.servers import Site, serving
from manyview import cli
from manyview.datasets import fetching, load_benchmark
from manyview.datasets.fetching import PUBLIC_SETS, checksum, fetch_benchmark
from manyview.exceptions import EngineUnavailableError, FetchError, ViewError

NAME = "handwritten_6v"
DIGITS = PUBLIC_SETS[NAME]
WIDTHS = {"pix": 240, "fou": 76, "fac": 216, "zer": 47, "kar": 64, "mor": 6}


def as_text(view):
    return "\n".join(" ".join(map(repr, row)) for row in view.tolist()).encode()


def publish(monkeypatch, site, views, **changes):
    """Let a server on this machine stand in for the public one."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    site.files = {f"mfeat-{name}": as_text(view) for name, view in views.items()}
    hashes = {name: hashlib.sha256(as_text(view)).hexdigest() for name, view in views.items()}
    url = f"{site.address}/mfeat-{{}}"
    monkeypatch.setitem(PUBLIC_SETS, NAME, replace(DIGITS, url=url, sha256=hashes, **changes))


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=(5, d)).astype(np.float32) for name, d in WIDTHS.items()}


@pytest.fixture
def site(monkeypatch, tmp_path, views):
    """The set with five samples in place of 2000; the folder of the user is tmp_path / data."""
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path / "data"))
    with serving(Site()) as site:
        checksums = {name: checksum(view) for name, view in views.items()}
        publish(monkeypatch, site, views, class_sizes=(2, 2, 1), checksums=checksums)
        yield site


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line here, where the server is replaced; return code, output, errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["manyview", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        return caught.value.code, *capsys.readouterr()

    return run


def test_a_set_that_was_fetched_can_be_loaded(site, tmp_path, views):
    path = fetch_benchmark(NAME)
    assert list((tmp_path / "data").iterdir()) == [path]
    loaded = load_benchmark(NAME)
    assert loaded.view_names == tuple(WIDTHS) == tuple(DIGITS.checksums)
    assert loaded.target.tolist() == [0, 0, 1, 1, 2]
    for name, view in zip(loaded.view_names, loaded.data.views, strict=True):
        assert np.array_equal(view, views[name])


def test_a_set_that_is_here_is_fetched_again_only_by_force(site, tmp_path):
    (tmp_path / "data").mkdir()
    old = tmp_path / "data" / f"{NAME}.mat"  # of the user
    old.write_bytes(b"mine")
    assert fetch_benchmark(NAME) == old
    assert site.requests == []
    assert fetch_benchmark(NAME, force=True) == old.with_suffix(".npz")
    assert old.read_bytes() == b"mine"


def send_other_bytes(site, monkeypatch):
    site.files["mfeat-mor"] = site.files["mfeat-mor"].replace(b"1", b"2", 1)


def break_off(site, monkeypatch):
    site.cut_after = 100


def lose_a_file(site, monkeypatch):
    del site.files["mfeat-mor"]


def lose_the_network(site, monkeypatch):
    with serving(Site()) as gone:
        url = f"{gone.address}/mfeat-{{}}"
    monkeypatch.setitem(PUBLIC_SETS, NAME, replace(PUBLIC_SETS[NAME], url=url))


def expect_other_values(site, monkeypatch):
    checksums = dict(PUBLIC_SETS[NAME].checksums, mor=0.5)
    monkeypatch.setitem(PUBLIC_SETS, NAME, replace(PUBLIC_SETS[NAME], checksums=checksums))


def send_what_is_no_number(site, monkeypatch):
    views = {name: np.full((5, d), np.nan) for name, d in WIDTHS.items()}
    publish(monkeypatch, site, views, class_sizes=(2, 2, 1), checksums=PUBLIC_SETS[NAME].checksums)


@pytest.mark.parametrize(
    ("fail", "words"),
    [
        (send_other_bytes, r"mfeat-mor could not be .* SHA256 .* expected \w{64} but got \w{64};"),
        (break_off, r"mfeat-pix could not be downloaded: the connection failed or broke off"),
        (lose_a_file, r"mfeat-mor could not be downloaded: 404 Client Error: Not Found; expected"),
        (lose_the_network, r"the connection failed or broke off \(ConnectionError\)"),
        (expect_other_values, r"mfeat-mor have the checksum .*; expected 0\.500000000\. Please"),
        (send_what_is_no_number, r"mfeat-pix have the checksum nan; expected"),
    ],
)
def test_a_failure_is_one_sentence_and_changes_no_file(
    site, command, monkeypatch, tmp_path, fail, words
):
    fail(site, monkeypatch)
    with pytest.raises(FetchError, match=words):
        fetch_benchmark(NAME)
    assert not (tmp_path / "data").exists()
    (tmp_path / "data").mkdir()
    old = tmp_path / "data" / f"{NAME}.npz"
    old.write_bytes(b"old")
    code, out, err = command("datasets", "fetch", NAME, "--force")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith("manyview: ")
    assert list((tmp_path / "data").iterdir()) == [old]
    assert old.read_bytes() == b"old"


def test_an_unknown_set_lists_what_there_is(site):
    with pytest.raises(ViewError, match=r"no set 'bdgp' to fetch; expected one of handwritten_6v"):
        fetch_benchmark("bdgp")
    assert site.requests == []


def test_without_pooch_the_extra_is_named(site, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(EngineUnavailableError, match=r"pip install 'manyview\[fetch\]'"):
        fetch_benchmark(NAME)


def test_the_checksum_by_hand():
    """(1·cos 0·cos 0 − 3·cos 1·cos 1) / (1 + 3)."""
    assert checksum(np.array([[1, 0], [0, -3]])) == pytest.approx((1 - 3 * np.cos(1) ** 2) / 4)


@pytest.mark.data
def test_the_published_set_passes_and_is_written_as_it_was(data_home, monkeypatch, tmp_path):
    original = load_benchmark(NAME, data_home=data_home)
    views = dict(zip(original.view_names, original.data.views, strict=True))
    assert list(DIGITS.checksums) == list(views)
    with serving(Site()) as site:
        publish(monkeypatch, site, views)
        fetch_benchmark(NAME, data_home=tmp_path)
    fetched = load_benchmark(NAME, data_home=tmp_path)
    assert np.array_equal(fetched.target, original.target)
    for ours, theirs in zip(fetched.data.views, original.data.views, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.data
@pytest.mark.parametrize(("name", "width"), [("pix", 3), ("fac", 5)])
def test_the_published_hashes_are_of_these_values(data_home, name, width):
    """These two files hold whole numbers in columns, and can be written anew byte for byte."""
    original = load_benchmark(NAME, data_home=data_home)
    view = original.data.views[original.view_names.index(name)]
    text = "".join("".join(f"{x:{width}.0f}" for x in row) + "\n" for row in view.tolist())
    assert hashlib.sha256(text.encode()).hexdigest() == DIGITS.sha256[name]


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
    assert "There are no data sets" in out
    assert f"downloads: {NAME}." in out
    code, out, err = command("datasets", "fetch", NAME)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"Written: {path}"
    assert "UCI Multiple Features" in out
    assert "License: CC BY 4.0" in out
    assert len(site.requests) == 6
    code, out, _ = command("datasets", "fetch", NAME)
    assert code == 0
    assert out.startswith(f"Already present; --force downloads it again: {path}\n")
    assert len(site.requests) == 6
    code, out, _ = command("datasets", "fetch", NAME, "--force")
    assert code == 0
    assert out.startswith(f"Written: {path}\n")
    assert len(site.requests) == 12
    listed = command("datasets", "list")
    assert listed == command("datasets")
    assert NAME in listed[1]
    assert "CC BY" in listed[1]
