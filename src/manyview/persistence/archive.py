"""A manifest and arrays in one file: a zip archive that is verified before use.

The members are `arrays/0.npy`, `arrays/1.npy` and so on, and `manifest.json` as the last; none is
compressed. The comment of the archive, its last 64 bytes, is the SHA-256 of all bytes before it.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from manyview._version import __version__
from manyview.data.readable import reason_of
from manyview.exceptions import ModelFileError
from manyview.persistence.atomic import atomic_path

FORMAT = "manyview model"
VERSION = 3
DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")
MANIFEST = "manifest.json"
MOST_MANIFEST_BYTES = 1 << 26
DIGEST_BYTES = 64
PIECE_BYTES = 1 << 20
LOCAL_HEADER_BYTES = 30  # of a zip member, before its name
END = struct.Struct("<4s16sH")  # of a zip archive, before its comment


def write_archive(
    path: str | os.PathLike[str],
    manifest: Mapping[str, object],
    arrays: Sequence[NDArray[Any]],
) -> None:
    """Create or replace a file atomically; equal content gives equal bytes.

    Parameters
    ----------
    path : str or path
        The file.
    manifest : mapping of str to JSON values
        Its content; format, versions and a list of the arrays are added.
    arrays : sequence of ndarray
        Of the types in `DTYPES`, in any byte order.
    """
    head = {"format": FORMAT, "version": VERSION, "manyview": __version__}
    with atomic_path(path) as temporary:
        with zipfile.ZipFile(temporary, "w") as archive:
            archive.comment = bytes(DIGEST_BYTES)
            entries = [_write_array(archive, i, array) for i, array in enumerate(arrays)]
            whole = {**head, **manifest, "arrays": entries}
            archive.writestr(_member(MANIFEST), json.dumps(whole, indent=1, allow_nan=False))
        with temporary.open("r+b") as file:
            digest = _digest(file)
            file.write(digest)  # replaces the zeros of the comment


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[NDArray[Any]]]:
    """Read a file written by `write_archive`; nothing in it is executed.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    manifest : dict
    arrays : list of ndarray

    Raises
    ------
    ModelFileError
        If the file is incomplete, of another format or version, or inconsistent.
    """
    path = Path(path)
    with path.open("rb") as file:
        _check_frame(file, path)
        try:
            with zipfile.ZipFile(file) as archive:
                manifest = _read_manifest(archive, path)
                entries = manifest["arrays"]
                _check_members(archive.infolist(), len(entries))
                return manifest, [_read_array(archive, i, e) for i, e in enumerate(entries)]
        except ModelFileError:
            raise
        except Exception as error:  # zipfile, json and numpy raise all kinds of errors
            msg = (
                f"{path} is inconsistent ({reason_of(error)}); expected a model written by `save`. "
                "Do not trust it; save the model again."
            )
            raise ModelFileError(msg) from error


def _member(name: str) -> zipfile.ZipInfo:
    """A member without time and platform, for reproducible bytes."""
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.create_system = 3
    member.external_attr = 0o644 << 16
    return member


def _array_name(i: int) -> str:
    return f"arrays/{i}.npy"


def _write_array(archive: zipfile.ZipFile, i: int, array: NDArray[Any]) -> dict[str, object]:
    """Add one array, and return its entry in the manifest."""
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    content = io.BytesIO()
    np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
    archive.writestr(_member(_array_name(i)), content.getbuffer())
    digest = hashlib.sha256(content.getbuffer()).hexdigest()
    return {"shape": list(array.shape), "dtype": array.dtype.str, "sha256": digest}


def _digest(file: BinaryIO) -> bytes:
    """SHA-256 of all bytes but the last 64; the file position is then there."""
    left = file.seek(0, os.SEEK_END) - DIGEST_BYTES
    file.seek(0)
    sha256 = hashlib.sha256()
    while left > 0:
        piece = file.read(min(PIECE_BYTES, left))
        if not piece:
            break  # the file was truncated meanwhile: the digest will not match
        sha256.update(piece)
        left -= len(piece)
    return sha256.hexdigest().encode()


def _check_frame(file: BinaryIO, path: Path) -> None:
    """Refuse files that are not such an archive, truncated, or changed in any byte."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - END.size - DIGEST_BYTES))
    tail = file.read(END.size)
    if len(tail) < END.size or END.unpack(tail)[::2] != (b"PK\x05\x06", DIGEST_BYTES):
        msg = (
            f"{path} ({size} bytes) is not a complete manyview model; expected a file written by "
            "`save`. It is truncated or something else: copy it again, or save the model again."
        )
        raise ModelFileError(msg)
    computed, stated = _digest(file), file.read()
    if computed != stated:
        msg = (
            f"{path} is damaged: its SHA-256 is {computed.decode()[:12]}…, and it states "
            f"{stated.decode('ascii', 'replace')[:12]}…. Copy it again, or save the model again."
        )
        raise ModelFileError(msg)


def _read_manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """The manifest, if its format and version are supported."""
    member = archive.getinfo(MANIFEST)
    _check_stored(member)
    _require(member.file_size <= MOST_MANIFEST_BYTES, f"{MANIFEST} is too long")
    manifest: dict[str, Any] = json.loads(archive.read(member))
    _require(isinstance(manifest, dict), f"{MANIFEST} is not an object")
    if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
        msg = (
            f"{path} has format {manifest.get('format')!r}, version {manifest.get('version')!r}, "
            f"written by manyview {manifest.get('manyview')}; manyview {__version__} "
            f"reads {FORMAT!r}, version {VERSION}. Load it with the manyview that wrote it, or fit "
            "again."
        )
        raise ModelFileError(msg)
    return manifest


def _check_members(members: Sequence[zipfile.ZipInfo], n_arrays: int) -> None:
    """Check that the members are complete, without others, unique and contiguous."""
    wanted = [*map(_array_name, range(n_arrays)), MANIFEST]
    found = [member.filename for member in members]
    strange = sorted(set(found) ^ set(wanted))
    _require(found == wanted, f"members missing, not expected, repeated or moved: {strange[:3]}")
    end = 0
    for member in members:
        _check_stored(member)
        _require(member.header_offset >= end, f"{member.filename} overlaps another member")
        end = member.header_offset + LOCAL_HEADER_BYTES + len(member.filename) + member.file_size


def _check_stored(member: zipfile.ZipInfo) -> None:
    """Read a member; without compression it is not longer than the file."""
    is_stored = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits
    is_plain = is_stored and member.compress_size == member.file_size
    _require(is_plain, f"{member.filename} is compressed or encrypted")


def _read_array(archive: zipfile.ZipFile, i: int, entry: Mapping[str, Any]) -> NDArray[Any]:
    """One array, checked against the manifest before memory is allocated."""
    name, shape, dtype = _array_name(i), entry["shape"], entry["dtype"]
    _require(dtype in DTYPES, f"{name} has dtype {dtype!r}")
    _require(all(type(n) is int and n >= 0 for n in shape), f"{name} has shape {shape!r}")
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    size = archive.getinfo(name).file_size
    _require(n_bytes <= size, f"{name} has {size} bytes, too few for the shape {shape}")
    content = archive.read(name)
    digest = hashlib.sha256(content).hexdigest()
    _require(digest == entry["sha256"], f"{name} has another SHA-256 than {MANIFEST} states")
    stream = io.BytesIO(content)
    _require(np.lib.format.read_magic(stream) == (1, 0), f"{name} is not .npy version 1.0")
    found = np.lib.format.read_array_header_1_0(stream)  # shape, Fortran order, dtype
    _require((list(found[0]), found[2].str) == (shape, dtype), f"{name} differs from {MANIFEST}")
    values = memoryview(content)[stream.tell() :]
    _require(len(values) == n_bytes, f"{name} has {len(values)} bytes of values, not {n_bytes}")
    array: NDArray[Any] = np.ndarray(shape, dtype, values, order="F" if found[1] else "C")
    return array.astype(array.dtype.newbyteorder("="), order="K")  # a writable copy


def _require(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise ValueError(otherwise)
