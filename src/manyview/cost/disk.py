"""Where the bytes of the views are, and how fast they can be read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from manyview.data.rows import File, Joined, Part, Rows
from manyview.data.tensors import TensorRows
from manyview.data.views import MultiViewData

PROBE_BYTES = 1 << 27  # read to measure the disk


@dataclass(frozen=True)
class Storage:
    """Bytes of the views in memory and on disk, and the files of the latter."""

    in_memory: int
    on_disk: int
    files: tuple[Path, ...]

    @classmethod
    def of(cls, data: MultiViewData) -> Storage:
        """Sizes and files of the views, without reading them."""
        stored = [view for view in data.views if _is_stored(view)]
        held = [view for view in data.views if not _is_stored(view)]
        files = tuple(file for view in stored for file in _files(view))
        return cls(sum(map(_n_bytes, held)), sum(map(_n_bytes, stored)), files)

    def seconds_to_read(self, n_bytes: float) -> float:
        """Seconds to read `n_bytes` from disk, not from the page cache."""
        sizes = {file: file.stat().st_size for file in self.files}
        if not sizes:
            return 0.0
        largest = max(sizes, key=lambda file: sizes[file])
        length = min(PROBE_BYTES, sizes[largest])
        middle = (sizes[largest] - length) // 2
        with largest.open("rb", buffering=0) as file:
            if hasattr(os, "posix_fadvise"):
                os.posix_fadvise(file.fileno(), middle, length, os.POSIX_FADV_DONTNEED)
            file.seek(middle)
            start = time.perf_counter()
            n_read = len(file.read(length))
            seconds = time.perf_counter() - start
        return n_bytes * seconds / max(n_read, 1)


def _is_stored(view: Any) -> bool:
    return isinstance(view, Rows | np.memmap) and not isinstance(view, TensorRows)


def _n_bytes(view: Any) -> int:
    if isinstance(view, sparse.csr_array):
        return int(view.data.nbytes + view.indices.nbytes + view.indptr.nbytes)
    return int(view.nbytes)


def _files(view: Any) -> Iterator[Path]:
    """Files that hold rows."""
    if isinstance(view, Joined):
        for part in view.parts:
            yield from _files(part)
    elif isinstance(view, Part):
        yield from _files(view.source)
    elif isinstance(view, File):
        inside = view.path.rglob("*") if view.path.is_dir() else [view.path]
        yield from (path for path in inside if path.is_file())
    elif getattr(view, "filename", None):
        yield Path(view.filename)
