"""Fuzzing of our own parsers by atheris, which keeps inputs that reach new branches.

    cd tests && python -m fuzz.coverage_guided manifest 180

An input fails on an exception that its parser must not raise; atheris writes it to build/fuzz.
`manifest` and `array` are members of a model file behind right digests, `mat5` MATLAB files, `text`
tables. Manifests are changed as trees, so that they stay JSON.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["manyview"]):
    from manyview.datasets._mat5 import read_mat5
    from manyview.exceptions import ModelFileError, ViewError
    from manyview.io import read_views
    from manyview.omvcdr import OMVCDR

from fuzz.seeds import make_seeds, values
from fuzz.signing import sealed_model
from helpers.model_files import take_apart

X = {"x": values()}

HERE = Path(tempfile.mkdtemp())
KEPT = Path(__file__).parents[2] / "build" / "fuzz"
MOST_BYTES = 1 << 16
VALUES = (None, True, -1, 0, 1, 10**6, 10**400, 1.5, "", "nan", [], {}, [0], {"array": 0}, [[]])
MANIFEST, ARRAY = "manifest.json", "arrays/0.npy"


def read_model(content: bytes, member: str) -> None:
    """Load a model file whose digests are right, with another member."""
    members = take_apart(HERE / "run" / "model.mv")
    members[member] = content
    path = HERE / "m.mv"
    path.write_bytes(sealed_model(members))
    try:
        model = OMVCDR.load(path)
    except ModelFileError as error:
        _check_sentence(str(error))
        return
    with contextlib.suppress(ValueError):
        model.predict(X)


def change_tree(content: bytes, most: int, seed: int) -> bytes:
    """Put another value, or a copy of another branch, somewhere into a manifest."""
    rng = random.Random(seed)
    try:
        tree = json.loads(content)
        places = list(_places(tree))
    except (ValueError, TypeError, RecursionError):
        places = []
    if not places or rng.random() < 0.1:
        return atheris.Mutate(content, most)
    holder, key = rng.choice(places)
    other, name = rng.choice(places)
    holder[key] = rng.choice([other[name], *VALUES]) if rng.random() < 0.9 else [holder[key]]
    try:
        return json.dumps(tree).encode()[:most]
    except (ValueError, RecursionError):  # a branch that contains itself
        return content


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry, as its container and its key."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


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
    "manifest": (partial(read_model, member=MANIFEST), ()),
    "array": (partial(read_model, member=ARRAY), ()),
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
    if not readers:
        member = {"manifest": MANIFEST, "array": ARRAY}[name]
        (corpus / "0").write_bytes(take_apart(HERE / "run" / "model.mv")[member])
    mutator = {"custom_mutator": change_tree} if name == "manifest" else {}
    KEPT.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    options = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=4096"]
    options += [f"-max_len={MOST_BYTES}", f"-artifact_prefix={KEPT}/{name}-", str(corpus)]
    atheris.Setup([sys.argv[0], *options], target, **mutator)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
