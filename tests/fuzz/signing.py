"""Digests of a changed model file: made anew, so that what is behind them is tested."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import zipfile


def sign_model(content: bytes) -> bytes:
    """A model file with the digest of its content; the digests of members are made anew, too."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {item.filename: _raw(content, item) for item in archive.infolist()}
    except Exception:  # no archive any more: the digest of the whole is all there is
        return content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode()
    return sealed_model(members)


def sealed_model(members: dict[str, bytes]) -> bytes:
    """A model file of these members, with all digests made anew; the manifest is the last."""
    arrays = {name: content for name, content in members.items() if name != "manifest.json"}
    manifest = members.get("manifest.json", b"")
    with contextlib.suppress(Exception):  # the manifest may be what was changed
        entries = json.loads(manifest)
        for entry, content in zip(entries["arrays"], arrays.values(), strict=False):
            entry["sha256"] = hashlib.sha256(content).hexdigest()
        manifest = json.dumps(entries).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = bytes(64)
        for name, content in {**arrays, "manifest.json": manifest}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    whole = buffer.getvalue()[:-64]
    return whole + hashlib.sha256(whole).hexdigest().encode()


def _raw(content: bytes, item: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, whose checksum may be wrong."""
    start = item.header_offset + 30 + len(item.filename.encode())
    return content[start : start + item.file_size]
