"""Files from the network: a broken transfer goes on where it stopped, and only whole files count.

What has arrived lies in a `.part` file. Beside it lies the version that the server named (its ETag
or date), by which the server tells on the next request whether the rest still belongs to it; if
not, or if the server cannot send parts, the file is sent again from the start.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from manyview.exceptions import FetchError

__all__ = ["Downloads", "OnProgress", "ignore_progress"]

OnProgress = Callable[[str, int, int | None], None]  # file, bytes here, bytes in all if known

CHUNK_BYTES = 1 << 16
TIMEOUT = 30.0  # seconds without a byte
PARTIAL, NOT_SATISFIABLE = 206, 416  # answers of HTTP to a request for the rest


def ignore_progress(file: str, n_bytes: int, n_bytes_all: int | None) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Downloads:
    """The files of one data set, kept in a folder until they have been read.

    Parameters
    ----------
    folder : path
        Where they are kept; it must exist.
    name : str
        Of the data set.
    on_progress : callable
        Called with the name of the file, its bytes that are here, and all its bytes or None.
    """

    folder: Path
    name: str
    on_progress: OnProgress = ignore_progress

    def get(self, url: str, *, md5: str | None = None) -> Path:
        """Bring a file here, or the rest of it.

        Parameters
        ----------
        url : str
            Address of the file.
        md5 : str, optional
            Its published checksum.

        Returns
        -------
        pathlib.Path
            The whole file.
        """
        part = self.folder / f"{self.name}-{hashlib.sha256(url.encode()).hexdigest()[:8]}.part"
        _receive(url, part, self.on_progress)
        if md5 is not None:
            received = hashlib.md5(part.read_bytes(), usedforsecurity=False).hexdigest()
            if received != md5:
                part.unlink()
                msg = f"{url} has the MD5 checksum {received}; expected {md5}. Fetch it again."
                raise FetchError(msg)
        return part

    def clear(self) -> None:
        """Remove all files of the set, whole or not."""
        for path in self.folder.glob(f"{self.name}-*.part*"):
            path.unlink()


def _receive(url: str, part: Path, on_progress: OnProgress) -> None:
    """Append the rest of a file to its part, or all of it where there is no part to go on with."""
    version = _version_of(part)
    n_kept = part.stat().st_size if part.exists() and version.exists() else 0
    headers = {"User-Agent": "manyview", "Accept-Encoding": "identity"}
    if n_kept:
        headers |= {"Range": f"bytes={n_kept}-", "If-Range": version.read_text()}
    try:
        response: HTTPResponse = urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == NOT_SATISFIABLE and n_kept:
            if error.headers["Content-Range"] != f"bytes */{n_kept}":  # else it was whole
                part.unlink()
                _receive(url, part, on_progress)
            return
        msg = f"{url} answered {error.code} ({error.reason}); expected the file. Try it later."
        raise FetchError(msg) from None
    except (URLError, OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        msg = f"{url} cannot be reached ({reason}); expected the file. Check the network."
        raise FetchError(msg) from None
    with response:
        is_rest = n_kept > 0 and response.status == PARTIAL
        if is_rest and not (response.headers["Content-Range"] or "").startswith(f"bytes {n_kept}-"):
            part.unlink()
            _receive(url, part, on_progress)
            return
        if not is_rest:
            _start_anew(response, part)
        _append(response, url, part, on_progress)


def _version_of(part: Path) -> Path:
    return part.with_name(f"{part.name}-version")


def _start_anew(response: HTTPResponse, part: Path) -> None:
    """Drop what was kept, and note which version of the file is coming."""
    part.unlink(missing_ok=True)  # first: a version must never name the bytes of another
    tag = response.headers["ETag"] or ""
    is_exact = tag.startswith('"')  # a weak tag, W/"…", allows other bytes
    name = tag if is_exact else response.headers["Last-Modified"]
    version = _version_of(part)
    version.unlink(missing_ok=True)
    if name:
        version.write_text(name)


def _append(response: HTTPResponse, url: str, part: Path, on_progress: OnProgress) -> None:
    """Write what the server sends behind what is kept."""
    length = response.headers["Content-Length"]
    file = PurePosixPath(urlsplit(url).path).name
    with part.open("ab") as out:
        n_all = None if length is None else out.tell() + int(length)
        try:
            for chunk in _chunks(response, n_bytes=int(length or 0)):
                out.write(chunk)
                on_progress(file, out.tell(), n_all)
        except _BrokenError as error:
            arrived = f"{out.tell()} of {'unknown' if n_all is None else n_all} bytes"
            remedy = "; it goes on from there" if _version_of(part).exists() else ""
            msg = (
                f"{url} broke off after {arrived} ({error}); expected the whole file. "
                f"Run the command again{remedy}."
            )
            raise FetchError(msg) from None


class _BrokenError(Exception):
    """The connection failed, as distinct from the disk."""


def _chunks(response: HTTPResponse, n_bytes: int) -> Iterator[bytes]:
    """Read the body piece by piece, at least n_bytes in all."""
    try:
        while chunk := response.read(CHUNK_BYTES):
            n_bytes -= len(chunk)
            yield chunk
    except (OSError, HTTPException) as error:
        raise _BrokenError(error) from None
    if n_bytes > 0:
        msg = "the connection was closed"
        raise _BrokenError(msg)
