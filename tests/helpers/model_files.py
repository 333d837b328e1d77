"""Model files taken apart and put together again, with or without care."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
import zipfile

import numpy as np


def take_apart(path):
    """Members of a model file by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put_together(path, members, *, compression=zipfile.ZIP_STORED, spoil=None):
    """A sealed model file of (name, content) pairs; `spoil` may change the directory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        with zipfile.ZipFile(path, "w", compression) as archive:
            for name, content in members:
                archive.writestr(name, content)
            archive.comment = bytes(64)
            if spoil is not None:
                spoil(archive.filelist)
    seal(path)


def seal(path):
    """Make the last 64 bytes the SHA-256 of those before them."""
    content = path.read_bytes()[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def as_npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def edit(path, change):
    """Change the manifest and the arrays of a model file so that all checksums are right.

    `change(manifest, arrays)` works in place; `arrays` is a list of ndarrays.
    """
    members = take_apart(path)
    manifest = json.loads(members.pop("manifest.json"))
    arrays = [np.load(io.BytesIO(content)) for content in members.values()]
    change(manifest, arrays)
    contents = [as_npy(array) for array in arrays]
    manifest["arrays"] = [
        {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for array, content in zip(arrays, contents, strict=True)
    ]
    names = [f"arrays/{i}.npy" for i in range(len(arrays))]
    put_together(
        path, [*zip(names, contents, strict=True), ("manifest.json", json.dumps(manifest))]
    )
