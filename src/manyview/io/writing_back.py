"""Results of a fit in a copy of the `.h5ad` or `.h5mu` file that its views came from.

The slots are those of `manyview.io.anndata`; anndata and mudata, which would hold the whole file in
memory, are not needed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.data.views import MultiViewData
from manyview.exceptions import ViewError
from manyview.io._formats.annotated import names_of, text_of
from manyview.omvcdr import OMVCDR
from manyview.utils.optional import needed

ENDINGS = (".h5ad", ".h5mu")
LIBRARIES = ("manyview", "numpy", "scikit-learn")


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Find the files that can take results.

    Parameters
    ----------
    paths : sequence of paths
        Files and folders, as for `read_views`.

    Returns
    -------
    list of Path
        At least one.
    """
    inside = [
        file
        for path in map(Path, paths)
        for file in (sorted(path.iterdir()) if path.is_dir() else [path])
    ]
    found = [file for file in inside if file.suffix.lower() in ENDINGS]
    if not found:
        msg = (
            "--write-back writes into copies of .h5ad and .h5mu files; received none. Remove it: "
            "labels.csv has the labels of any files."
        )
        raise ViewError(msg)
    return found


def write_back(
    files: Sequence[Path], folder: Path, model: OMVCDR, data: MultiViewData, key: str = "manyview"
) -> list[str]:
    """Copy files, and add the results of a fit to the copies.

    Parameters
    ----------
    files : sequence of paths
        `.h5ad` and `.h5mu` files.
    folder : path
        Where to; created. The copies have the names of the files.
    model : OMVCDR
        A fitted estimator.
    data : MultiViewData
        The samples of the fit, with names.
    key : str, default="manyview"
        Name of what is added: `obs[key]`, `obs[key + "_confidence"]`, `obs[key +
        "_outlier_score"]`, `obsm["X_" + key]` and `uns[key]`.

    Returns
    -------
    list of str
        Notes on samples that got no label.
    """
    h5py = needed("h5py", "--write-back")
    assert data.sample_names is not None  # views from such files have names
    folder.mkdir()
    embedding = np.asarray(model.transform(data))
    notes = []
    for number, path in enumerate(files):
        is_taken = path.name in [other.name for other in files[:number]]
        copy = folder / (f"{path.stem}_{number + 1}{path.suffix}" if is_taken else path.name)
        shutil.copyfile(path, copy)
        with h5py.File(copy, "r+") as file:
            names = names_of(file["obs"][text_of(file["obs"].attrs["_index"])])
            rows = data.sample_names.get_indexer(names)
            _write(file, rows, model, embedding, key)
        if n_others := int((rows < 0).sum()):
            notes.append(
                f"{copy.name}: {n_others} of its {len(rows)} samples are not in the fit, and have "
                "no label."
            )
    return notes


def _write(file: Any, rows: Any, model: OMVCDR, embedding: Any, key: str) -> None:
    """Add the results; NaN for samples that are not in the fit."""
    is_in = rows >= 0
    labels = as_categories(model.labels_)
    codes = np.where(is_in, labels.codes[rows], -1).astype(labels.codes.dtype)
    categories = _fresh_group(file["obs"], key, "categorical", "0.2.0")
    categories.attrs["ordered"] = False
    _put(categories, "codes", codes)
    _put(categories, "categories", list(labels.categories))
    for name, values in (
        ("confidence", model.confidence_),
        ("outlier_score", model.outlier_score_),
    ):
        _put(file["obs"], f"{key}_{name}", np.where(is_in, values[rows], np.nan))
    added = [key, f"{key}_confidence", f"{key}_outlier_score"]
    before = [text_of(name) for name in file["obs"].attrs.get("column-order", ())]
    order = [*(name for name in before if name not in added), *added]
    file["obs"].attrs["column-order"] = np.array(order, dtype=object)
    for slot in ("obsm", "uns"):
        if slot not in file:
            _fresh_group(file, slot, "dict", "0.1.0")
    spread = np.where(is_in[:, None], embedding[rows], np.nan).astype(embedding.dtype)
    _put(file["obsm"], f"X_{key}", spread)
    _put(file["uns"], key, about_fit(model))


def _put(group: Any, name: str, value: Any) -> None:
    """Write an entry in the encoding of anndata, in place of one with its name."""
    if isinstance(value, Mapping):
        inside = _fresh_group(group, name, "dict", "0.1.0")
        for key, one in value.items():
            _put(inside, key, one)
        return
    if name in group:
        del group[name]
    encodings = {np.ndarray: "array", list: "string-array", str: "string"}
    item = group.create_dataset(name, data=value)  # text of any length
    item.attrs["encoding-type"] = encodings.get(type(value), "numeric-scalar")
    item.attrs["encoding-version"] = "0.2.0"


def _fresh_group(group: Any, name: str, kind: str, version: str) -> Any:
    """An empty group in place of an entry with its name."""
    if name in group:
        del group[name]
    made = group.create_group(name)
    made.attrs["encoding-type"], made.attrs["encoding-version"] = kind, version
    return made


def as_categories(labels: NDArray[Any]) -> pd.Categorical[str]:
    """Convert labels to categories of text, "0" for cluster 0.

    Parameters
    ----------
    labels : array of int of shape (n_samples,)
        Clusters.

    Returns
    -------
    pandas.Categorical
    """
    categories = [str(c) for c in range(labels.max() + 1)]
    return pd.Categorical(labels.astype(str), categories=categories)


def about_fit(model: OMVCDR) -> dict[str, Any]:
    """Collect what is stored about a fit: parameters, view weights, stability, versions.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.

    Returns
    -------
    dict
        Text, numbers and dicts of these.
    """
    return {
        "params": {name: _storable(value) for name, value in model.get_params().items()},
        "view_weights": dict(zip(model.view_names_, model.view_weights_.tolist(), strict=True)),
        "stability": model.stability_,
        "versions": {library: version(library) for library in LIBRARIES},
    }


def _storable(value: object) -> bool | int | float | str:
    """A value that AnnData files can store; None and lists become text."""
    return value if isinstance(value, bool | int | float | str) else str(value)
