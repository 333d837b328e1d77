"""Fuzzing of our own parsers by atheris, which keeps inputs that reach new branches.

    cd tests && python -m fuzz.coverage_guided model 180

An input fails on an exception that its parser must not raise; atheris writes it to build/fuzz.
`model` reads manifests and arrays behind right digests, `mat5` MATLAB files, `text` tables.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["manyview"]):
    from manyview.datasets._mat5 import read_mat5
    from manyview.exceptions import ModelFileError, ViewError
    from manyview.io import read_views
    from manyview.omvcdr import OMVCDR

from fuzz.seeds import make_seeds
from fuzz.signing import sign_model

HERE = Path(tempfile.mkdtemp())
KEPT = Path(__file__).parents[2] / "build" / "fuzz"
MOST_BYTES = 1 << 14


def read_model(content: bytes) -> None:
    """Load a model file whose digests are right, whatever is behind them."""
    path = HERE / "m.mv"
    path.write_bytes(sign_model(content))
    try:
        OMVCDR.load(path)
    except ModelFileError as error:
        _check_sentence(str(error))


def read_matlab(content: bytes) -> None:
    """Read a MATLAB file; `load_file` makes a sentence of these exceptions and of no crash."""
    try:
        read_mat5(content)
    except Exception as error:
        if isinstance(error, MemoryError):
            raise


def read_table(content: bytes) -> None:
    """Read a text table as a user does."""
    path = HERE / "x.csv"
    path.write_bytes(content)
    try:
        read_views(path)
    except ViewError as error:
        _check_sentence(str(error))


def _check_sentence(said: str) -> None:
    if len(said) > 1000:
        msg = f"a sentence of {len(said)} characters"
        raise AssertionError(msg)


TARGETS = {
    "model": (read_model, ("model",)),
    "mat5": (read_matlab, ("mat", "mat compressed")),
    "text": (read_table, ("csv", "tsv", "txt", "labels")),
}


def main() -> None:
    """Fuzz one target for some seconds, from the valid files as a start."""
    name, seconds = sys.argv[1], sys.argv[2]
    target, readers = TARGETS[name]
    seeds = make_seeds(HERE)
    corpus = HERE / "corpus"
    corpus.mkdir()
    for i, reader in enumerate(readers):
        (corpus / str(i)).write_bytes(next(iter(seeds[reader].files.values())))
    KEPT.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=4096"]
    options += [f"-max_len={MOST_BYTES}", f"-artifact_prefix={KEPT}/{name}-", str(corpus)]
    atheris.Setup([sys.argv[0], *options], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
