"""Checkpoint of a fit: the results of its passes, in a folder, until it is done.

The folder has `journal.mv` (what is fitted, written first), `pass-000000.mv` and so on, and the
labels after the last pass that changed them. A fit that is done renames `journal.mv` to
`retired.mv`, in one step; what is left after that is removed by whoever comes next. All files have
checksums.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import sparse

from manyview._version import __version__
from manyview.data.rows import Rows
from manyview.data.views import MultiViewData
from manyview.engines.replay import Record
from manyview.exceptions import CheckpointError, MemoryLimitError, ModelFileError
from manyview.persistence.archive import read_archive, write_archive
from manyview.persistence.atomic import atomic_path, only_process, sync_folder, temporary_names
from manyview.persistence.encoding import decode, encode
from manyview.utils.types import FloatArray

JOURNAL, RETIRED, LOCK = "journal.mv", "retired.mv", "lock"
PASS, LABELS = r"pass-(\d{6,})\.mv", r"labels-(\d{6,})\.npy"
LOOKED_AT = 1000  # rows of an array in its digest
RESOURCES = ("n_jobs", "memory_limit", "verbose")  # parameters that are no part of what is fitted
DAMAGE = (ModelFileError, OSError, ValueError, TypeError, KeyError)
BEGIN_ANEW = "To begin anew, remove the folder or pass another one."


class Checkpoint:
    """The journal of one fit: one file per pass, and the labels after the last.

    Made by `open_checkpoint`.
    """

    def __init__(self, folder: Path, n_clusters: int) -> None:
        self._folder, self._n_clusters = folder, n_clusters
        found = sorted(_numbers(folder, PASS))
        if found != list(range(len(found))):
            what = f"{len(found)} passes up to number {found[-1]}"
            raise self._refusal(what, "some are missing")
        self.n_passes = len(found)

    def replay(self, number: int) -> Record | None:
        """A pass; None after the last."""
        if number >= self.n_passes:
            return None
        result, is_remade, digest = self._read(number)
        return Record(result, is_remade, digest is not None)

    def write(
        self, number: int, result: object, is_remade: bool, labels: NDArray[np.int32] | None
    ) -> None:
        """Record a pass; labels first, so that those of the last pass always exist."""
        if labels is not None:
            with atomic_path(self._label_file(number)) as path:
                np.save(path, labels)
        arrays: list[NDArray[Any]] = []
        manifest = {
            "result": encode(result, arrays),
            "is_remade": is_remade,
            "labels": None if labels is None else _digest(labels),
        }
        write_archive(self._pass(number), manifest, arrays)
        self.n_passes = number + 1
        if labels is not None:
            for old in _numbers(self._folder, LABELS):
                if old < number:
                    self._label_file(old).unlink()

    def labels(self) -> NDArray[np.int32] | None:
        """The labels after the last pass; None if no pass has changed them."""
        for number in reversed(range(self.n_passes)):
            digest = self._read(number)[2]
            if digest is not None:
                return self._read_labels(number, digest)
        return None

    def _read(self, number: int) -> tuple[Any, bool, str | None]:
        """Result of a pass, whether it changed more than labels, and the digest of new labels."""
        path = self._pass(number)
        try:
            manifest, arrays = read_archive(path)
            result = decode(manifest["result"], arrays)
            return result, bool(manifest["is_remade"]), manifest["labels"]
        except DAMAGE as error:
            raise self._refusal(path.name, f"it is damaged ({error})") from error

    def _read_labels(self, number: int, digest: str) -> NDArray[np.int32]:
        path = self._label_file(number)
        try:
            labels: NDArray[np.int32] = np.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise self._refusal(path.name, f"it cannot be read ({error})") from error
        is_whole = labels.dtype == np.int32 and labels.ndim == 1 and _digest(labels) == digest
        if not is_whole or labels.min(initial=0) < 0 or labels.max(initial=0) >= self._n_clusters:
            raise self._refusal(path.name, "it is damaged")
        return labels

    def _refusal(self, what: str, why: str) -> CheckpointError:
        msg = (
            f"The fit in {self._folder} cannot be resumed: it has {what}, and {why}; expected the "
            f"complete files of a stopped fit. {BEGIN_ANEW}"
        )
        return CheckpointError(msg)

    def _pass(self, number: int) -> Path:
        return self._folder / f"pass-{number:06d}.mv"

    def _label_file(self, number: int) -> Path:
        return self._folder / f"labels-{number:06d}.npy"


@contextmanager
def open_checkpoint(
    folder: str | os.PathLike[str],
    parameters: Mapping[str, object],
    data: MultiViewData,
    weights: FloatArray | None,
    rng: Generator,
) -> Iterator[Checkpoint]:
    """The journal of a fit, for one process at a time.

    Parameters
    ----------
    folder : str or path
        Created if missing. A folder with other files, or with the passes of another fit, is
        refused, and nothing in it is touched.
    parameters : mapping
        Parameters of the fit.
    data, weights
        Data and weights of the fit.
    rng : Generator
        Set to its state at the beginning of the fit.

    Yields
    ------
    Checkpoint
        It stays at the end, and if the block fails, unless no fit could go on with it: none was
        begun, or the data are no longer the same. `remove_checkpoint` removes it.
    """
    folder = Path(folder)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    taken = f"{folder} is in use by another fit that runs now. Wait for it, or pass another folder."
    journal = None
    try:
        _refuse_foreign(folder)
        with only_process(folder / LOCK, taken):
            _clean(folder)
            _begin(folder, _identity(parameters, data, weights), rng)
            journal = Checkpoint(folder, int(str(parameters["n_clusters"])))
            yield journal
    except BaseException as error:
        is_begun = journal is not None and journal.n_passes > 0
        is_of_use = is_begun and not isinstance(error, MemoryLimitError) and data.is_unchanged()
        if journal is not None and not is_of_use:
            remove_checkpoint(folder)
        elif is_new and not any(folder.iterdir()):
            folder.rmdir()
        raise


def is_checkpoint(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has the journal of a fit that can be resumed.

    Parameters
    ----------
    folder : str or path
        The folder; it may be missing.

    Returns
    -------
    bool
    """
    return (Path(folder) / JOURNAL).exists()


def remove_checkpoint(folder: str | os.PathLike[str]) -> None:
    """Remove the journal of a fit, and the folder if nothing else is in it.

    Parameters
    ----------
    folder : str or path
        The folder; nothing happens if it holds no journal. Only files of the journal are removed.
    """
    folder = Path(folder)
    if is_checkpoint(folder):
        (folder / JOURNAL).replace(folder / RETIRED)  # from here on there is no journal
        sync_folder(folder)
    if (folder / RETIRED).exists():
        _clean(folder)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _clean(folder: Path) -> None:
    """Remove what a kill left: of a fit that is done, all; of another, its temporary files."""
    patterns = [temporary_names(name) for name in (re.escape(JOURNAL), PASS, LABELS)]
    is_retired = (folder / RETIRED).exists() and not is_checkpoint(folder)
    pattern = "|".join([*patterns, PASS, LABELS] if is_retired else patterns)
    for path in list(folder.iterdir()):
        if re.fullmatch(pattern, path.name):
            path.unlink()
    if is_retired:
        (folder / RETIRED).unlink()


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that is neither empty nor that of a journal."""
    ours = f"{LOCK}|{temporary_names(re.escape(JOURNAL))}"
    names = sorted(path.name for path in folder.iterdir())
    others = [name for name in names if not re.fullmatch(ours, name)]
    if others and JOURNAL not in others and RETIRED not in others:
        msg = (
            f"{folder} holds {', '.join(others[:3])}{' …' if len(others) > 3 else ''}; expected a "
            "new or empty folder, or that of a stopped fit. Pass another one."
        )
        raise CheckpointError(msg)


def _begin(folder: Path, run: Mapping[str, str], rng: Generator) -> None:
    """Begin a journal, or check that the one in the folder is of the same fit."""
    path = folder / JOURNAL
    if not path.exists():
        write_archive(path, {"run": dict(run), "random": rng.bit_generator.state}, [])
        return
    try:
        manifest = read_archive(path)[0]
        before, state = dict(manifest["run"]), manifest["random"]
        rng.bit_generator.state = state
    except DAMAGE as error:
        msg = f"{path} is no journal of a stopped fit, or damaged ({error}). {BEGIN_ANEW}"
        raise CheckpointError(msg) from error
    different = [name for name in {**before, **run} if before.get(name) != run.get(name)]
    if different:
        name = different[0]
        msg = (
            f"{folder} holds the passes of another fit: there {name} was {before.get(name)}, now "
            f"it is {run.get(name)}. Resume with the same data and parameters, or remove the "
            "folder or pass another one."
        )
        raise CheckpointError(msg)


def _numbers(folder: Path, pattern: str) -> list[int]:
    """Numbers of the files whose names match."""
    found = (re.fullmatch(pattern, path.name) for path in folder.iterdir())
    return [int(match[1]) for match in found if match]


def _identity(
    parameters: Mapping[str, object], data: MultiViewData, weights: FloatArray | None
) -> dict[str, str]:
    """What makes two fits the same."""
    asked = {
        name: type(value).__name__ if isinstance(value, np.random.RandomState) else repr(value)
        for name, value in sorted(parameters.items())
        if name not in RESOURCES
    }
    return {"manyview": __version__, "data": _fingerprint(data, weights), **asked}


def _digest(labels: NDArray[np.int32]) -> str:
    return hashlib.sha256(np.ascontiguousarray(labels).data).hexdigest()


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
