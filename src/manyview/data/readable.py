"""Errors of the libraries that read files, as one sentence that names the file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from manyview.data.rows import File
from manyview.exceptions import EngineUnavailableError, ViewError
from manyview.utils.types import IntArray

REASON_LENGTH = 160  # some libraries tell the whole content of a file


@contextmanager
def readable(path: Path, ending: str) -> Iterator[None]:
    """Turn any error of a reader into one sentence: damaged files raise all kinds of errors."""
    try:
        yield
    except (EngineUnavailableError, ViewError):
        raise
    except Exception as error:
        msg = (
            f"{path} cannot be read as a {ending} file ({reason_of(error)}). It may be damaged, "
            "cut short or of another kind; get or save it again."
        )
        raise ViewError(msg) from None


def reason_of(error: Exception) -> str:
    """Kind and text of an error, in one short line of printable characters."""
    line = " ".join(f"{type(error).__name__}: {error}"[: 10 * REASON_LENGTH].split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= REASON_LENGTH else f"{line[: REASON_LENGTH - 1]}…"


class ReadableFile(File):
    """Rows of one file; whatever goes wrong in a read is a ViewError that names the file."""

    @abstractmethod
    def _fill_rows(self, start: int, out: NDArray[Any]) -> None:
        """Read rows from `start` on into `out`."""

    @abstractmethod
    def _take_rows(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows, sorted."""

    def _read_names(self, name: str) -> Any:
        """Read a column or array beside the vectors."""
        raise KeyError(name)

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        with readable(self.path, self.path.suffix):
            self._fill_rows(start, out)

    def take(self, rows: IntArray) -> NDArray[Any]:
        """Read some rows, with few others."""
        with readable(self.path, self.path.suffix):
            return self._take_rows(rows)

    def read_side(self, name: str) -> Any:
        """One of the columns or arrays of `side_names`, read whole."""
        with readable(self.path, self.path.suffix):
            return self._read_names(name)
