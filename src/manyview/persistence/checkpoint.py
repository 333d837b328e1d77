"""Checkpoint of a fit: the results of its passes, in a folder, until it is done."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from manyview._version import __version__
from manyview.data.rows import Rows
from manyview.data.views import MultiViewData
from manyview.exceptions import CheckpointError
from manyview.persistence import atomic as durable
from manyview.persistence.archive import read_archive, write_archive
from manyview.persistence.encoding import decode, encode
from manyview.utils.types import FloatArray

LOOKED_AT = 1000  # rows of an array in its digest


class Checkpoint:
    """The journal of one fit: one file per pass, and the labels after the last.

    Parameters
    ----------
    folder : str or path
        Created if missing. A folder with the passes of another fit is refused.
    parameters : mapping
        Parameters of the fit.
    data, weights
        Data and weights of the fit.
    rng : Generator
        Set to its state at the beginning of the fit.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        parameters: Mapping[str, object],
        data: MultiViewData,
        weights: FloatArray | None,
        rng: Generator,
    ) -> None:
        self._folder = Path(folder)
        self._folder.mkdir(parents=True, exist_ok=True)
        asked = {name: repr(value) for name, value in sorted(parameters.items())}
        run = {"manyview": __version__, "data": _fingerprint(data, weights), **asked}
        self._page = self._folder / "run.json"
        if self._page.exists():
            before = json.loads(self._page.read_text(encoding="utf-8"))
            self._refuse_other(before["run"], run)
            rng.bit_generator.state = before["random"]
        else:
            start = {"run": run, "random": rng.bit_generator.state}
            durable.write_text(self._page, json.dumps(start, indent=1))
        self._n_passes = 0
        while self._pass(self._n_passes).exists():
            self._n_passes += 1

    def replay(self, number: int) -> tuple[Any, bool] | None:
        """Result of a pass, and whether it changed more than labels; None after the last."""
        if number >= self._n_passes:
            return None
        manifest, arrays = read_archive(self._pass(number))
        return decode(manifest["result"], arrays), bool(manifest["is_remade"])

    def write(
        self, number: int, result: object, is_remade: bool, labels: NDArray[np.int32] | None
    ) -> None:
        """Record a pass; labels first, so that those of the last pass always exist."""
        if labels is not None:
            with durable.atomic_path(self._folder / f"labels-{number:06d}.npy") as path:
                np.save(path, labels)
        arrays: list[NDArray[Any]] = []
        manifest = {"result": encode(result, arrays), "is_remade": is_remade}
        write_archive(self._pass(number), manifest, arrays)
        self._n_passes = number + 1
        for old in self._labels()[:-1]:
            old.unlink()

    def labels(self) -> NDArray[np.int32] | None:
        """The labels after the last pass; None if no pass has changed them."""
        files = self._labels()
        return np.load(files[-1]) if files else None

    def clear(self) -> None:
        """Remove everything: the fit is done."""
        for pattern in ("labels-*.npy", "pass-*.mv", "run.json"):
            # a kill while writing leaves a temporary file
            for path in (*self._folder.glob(pattern), *self._folder.glob(f".*-{pattern}")):
                path.unlink()
        if not any(self._folder.iterdir()):
            self._folder.rmdir()

    def _pass(self, number: int) -> Path:
        return self._folder / f"pass-{number:06d}.mv"

    def _labels(self) -> list[Path]:
        """Files of labels after recorded passes, oldest first."""
        end = f"labels-{self._n_passes:06d}.npy"
        return sorted(path for path in self._folder.glob("labels-*.npy") if path.name < end)

    def _refuse_other(self, before: Mapping[str, str], run: Mapping[str, str]) -> None:
        different = [name for name in {**before, **run} if before.get(name) != run.get(name)]
        if different:
            name = different[0]
            msg = (
                f"{self._folder} holds the passes of another fit: there {name} was "
                f"{before.get(name)}, now it is {run.get(name)}. Resume with the same data and "
                "parameters, pass another folder, or remove this one."
            )
            raise CheckpointError(msg)


def _fingerprint(data: MultiViewData, weights: FloatArray | None) -> str:
    """Digest of the data; of arrays in memory, only some rows are used."""
    digest = hashlib.sha256(repr((data.view_names, data.shape)).encode())
    for view in data.views:
        digest.update(_about(view))
    for array in (data.present, weights):
        digest.update(b"" if array is None else np.ascontiguousarray(array).data)
    return digest.hexdigest()[:16]


def _about(view: Any) -> bytes:
    if isinstance(view, Rows):
        return view.fingerprint().encode()
    rows = np.linspace(0, view.shape[0] - 1, LOOKED_AT).astype(np.intp)
    some = view[np.unique(rows)]
    dense = some.toarray() if isinstance(some, sparse.csr_array) else np.asarray(some)
    return repr((view.shape, view.dtype)).encode() + dense.tobytes()
