"""Transfers against a real server: whole, broken, resumed, and from servers that misbehave."""

import hashlib
import subprocess
import sys
import time

import pytest

from helpers.servers import Site, serving
from manyview.datasets import download
from manyview.datasets.download import Downloads
from manyview.exceptions import FetchError

CONTENT = bytes(range(256)) * 1000  # more than one chunk
CUT = 100_000


@pytest.fixture
def site():
    with serving(Site({"a.zip": CONTENT})) as site:
        yield site


@pytest.fixture
def downloads(tmp_path):
    return Downloads(tmp_path, "mine")


def break_off(site, downloads):
    """Receive the first CUT bytes, and return the message."""
    site.cut_after = CUT
    with pytest.raises(FetchError) as caught:
        downloads.get(site.url("a.zip"))
    return str(caught.value)


def test_a_file_arrives_whole_and_tells_its_progress(site, tmp_path):
    seen = []
    downloads = Downloads(tmp_path, "mine", lambda *step: seen.append(step))
    assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    counts = [n for _, n, _ in seen]
    assert counts == sorted(set(counts))
    assert counts[-1] == len(CONTENT)
    assert len(counts) > 1
    assert {(file, n_all) for file, _, n_all in seen} == {("a.zip", len(CONTENT))}
    downloads.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_broken_transfer_goes_on_where_it_stopped(site, tmp_path):
    seen = []
    downloads = Downloads(tmp_path, "mine", lambda *step: seen.append(step))
    message = break_off(site, downloads)
    assert f"broke off after {CUT} of {len(CONTENT)} bytes" in message
    assert "expected the whole file. Run the command again; it goes on from there." in message
    (part,) = tmp_path.glob("*.part")
    assert part.read_bytes() == CONTENT[:CUT]
    del seen[:]
    assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    assert site.ranges == [None, f"bytes={CUT}-"]
    assert site.n_sent == len(CONTENT)
    assert seen[0][1] > CUT
    assert seen[-1] == ("a.zip", len(CONTENT), len(CONTENT))


def test_a_killed_program_leaves_a_part_to_go_on_with(site, downloads, tmp_path):
    site.cut_after, site.stalls = CUT, True
    code = (
        "import sys, pathlib; from manyview.datasets.download import Downloads; "
        "Downloads(pathlib.Path(sys.argv[1]), 'mine').get(sys.argv[2])"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path, site.url("a.zip")]) as process:
        deadline = time.monotonic() + 60
        while sum(path.stat().st_size for path in tmp_path.glob("*.part")) == 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.kill()
    site.stalls = False
    (part,) = tmp_path.glob("*.part")
    n_kept = part.stat().st_size
    assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    assert site.ranges == [None, f"bytes={n_kept}-"]


@pytest.mark.parametrize(
    "change",
    [
        {"knows_ranges": False},
        {"shift": 7},
        {"etag": '"2"'},
        {"files": {"a.zip": CONTENT[: CUT // 2]}},  # shorter than what is kept
    ],
    ids=["no ranges", "another range", "another version", "shorter"],
)
def test_a_rest_that_does_not_fit_starts_the_file_again(site, downloads, change):
    break_off(site, downloads)
    if "etag" in change:
        change = {**change, "files": {"a.zip": CONTENT[::-1]}}
    vars(site).update(change)
    assert downloads.get(site.url("a.zip")).read_bytes() == site.files["a.zip"]
    assert site.ranges[1] == f"bytes={CUT}-"


@pytest.mark.parametrize("etag", [None, 'W/"1"'])
def test_without_an_exact_version_nothing_is_continued(site, downloads, etag):
    site.etag = etag
    assert break_off(site, downloads).endswith("Run the command again.")
    assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    assert site.ranges == [None, None]


def test_a_date_is_a_version_too(site, downloads):
    site.etag, site.modified = None, "Sun, 01 Jan 2023 00:00:00 GMT"
    break_off(site, downloads)
    assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    assert site.n_sent == len(CONTENT)


def test_a_file_that_is_here_is_not_sent_again(site, downloads):
    for _ in range(2):
        assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    assert site.n_sent == len(CONTENT)


@pytest.mark.parametrize("length", ["untold", "chunked"])
def test_a_file_of_unknown_length_arrives(tmp_path, length):
    seen = []
    downloads = Downloads(tmp_path, "mine", lambda *step: seen.append(step))
    with serving(Site({"a.zip": CONTENT}, length=length)) as site:
        assert downloads.get(site.url("a.zip")).read_bytes() == CONTENT
    assert seen[-1] == ("a.zip", len(CONTENT), None)


def test_a_break_is_noticed_without_a_length(downloads):
    with serving(Site({"a.zip": CONTENT}, length="chunked")) as site:
        site.cut_after = CUT
        with pytest.raises(FetchError, match="of unknown bytes"):
            downloads.get(site.url("a.zip"))


def test_a_checksum_that_differs_drops_the_file(site, downloads, tmp_path):
    right, wrong = (hashlib.md5(text).hexdigest() for text in (CONTENT, b""))
    with pytest.raises(FetchError, match=f"checksum {right}; expected {wrong}"):
        downloads.get(site.url("a.zip"), md5=wrong)
    assert list(tmp_path.glob("*.part")) == []
    assert downloads.get(site.url("a.zip"), md5=right).read_bytes() == CONTENT


def test_a_server_that_stalls_is_given_up(site, downloads, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    site.stalls = True
    assert "timed out" in break_off(site, downloads)


def test_a_missing_file_and_a_missing_server_are_one_sentence(site, downloads, tmp_path):
    with pytest.raises(FetchError, match=r"b\.zip answered 404 \(Not Found\); expected the file"):
        downloads.get(site.url("b.zip"))
    with pytest.raises(FetchError, match="cannot be reached"):
        downloads.get("http://127.0.0.1:1/a.zip")
    assert list(tmp_path.iterdir()) == []


def test_two_files_do_not_mix(site, downloads):
    site.files["b.zip"] = b"other"
    first, second = (downloads.get(site.url(name)) for name in ("a.zip", "b.zip"))
    assert (first.read_bytes(), second.read_bytes()) == (CONTENT, b"other")
