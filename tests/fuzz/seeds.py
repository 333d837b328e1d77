"""Small valid files of every kind that the command reads, and the commands that read them."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, ipc
from scipy import io as scipy_io
from scipy import sparse

from fuzz.signing import sign_model
from helpers.cells import counts_of, mtx_files, write_loom, write_tenx_h5
from manyview.cli import main

N, D = 12, 4
NAMES = [f"s{i}" for i in range(N)]
FIT = ("--clusters", "1", "--starts", "1", "--max-iter", "2", "--jobs", "1", "--quiet")
MEMORY = ("fit", "{file}", "{other}", *FIT, "--out", "{out}")
STREAM = ("fit", "{file}", "{other}", *FIT, "--out", "{out}", "--engine", "stream")
PREDICT = ("predict", "{file}", "--model", "{model}", "--quiet", "--out", "{out}.csv")


@dataclass(frozen=True)
class Seed:
    """A valid file, or a folder of files, and the commands that read it.

    `finish` is applied to the changed content, such as a new digest; `other` is the second view.
    `is_trusted` is said in docs/files.md of formats whose library may loop or crash on some files.
    """

    name: str
    files: Mapping[str, bytes]
    commands: tuple[tuple[str, ...], ...]
    other: str = ""
    finish: Callable[[bytes], bytes] = bytes
    is_trusted: bool = False


def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(N, D)).round(3)


def frame() -> pd.DataFrame:
    table = pd.DataFrame(values(), columns=[f"f{j}" for j in range(D)])
    table.insert(0, "sample", NAMES)
    return table


def make_seeds(folder: Path) -> dict[str, Seed]:
    """All seeds; what the commands need beside them is written into a folder."""
    os.chdir(folder)
    other = frame().rename(columns=lambda name: name.replace("f", "g"))
    other.to_csv("named.csv", index=False)
    np.save("nameless.npy", values()[:, ::-1])
    frame()[[f"f{j}" for j in range(D)]].to_csv("plain.csv", index=False)
    frame().to_csv("x.csv", index=False)
    with patch.object(sys, "argv", ["manyview", "fit", "x.csv", *FIT, "--out", "run"]):
        try:
            main()
        except SystemExit as done:
            assert done.code == 0  # noqa: PT017
    seeds = [*_tables(), *_columns(), *_arrays(), *_hdf5(), *_zarr(), *_cells(), *_runs(folder)]
    return {seed.name: seed for seed in seeds}


def _tables():
    both = (MEMORY, PREDICT)
    for ending, separator in (("csv", ","), ("tsv", "\t"), ("txt", ";")):
        text = frame().to_csv(None, index=False, sep=separator).encode()
        yield Seed(ending, {f"x.{ending}": text}, both, "named.csv")
    packed = frame().to_csv(None, index=False).encode()
    yield Seed("csv.gz", {"x.csv.gz": gzip.compress(packed, mtime=0)}, both, "named.csv")
    yield Seed("csv.gz inside", {"x.csv.gz": packed}, both, "named.csv", finish=_packed)
    try:
        content = io.BytesIO()
        frame().to_excel(content, index=False)
        yield Seed("xlsx", {"x.xlsx": content.getvalue()}, both, "named.csv")
    except ImportError:
        pass
    meta = frame()[["sample"]].assign(age=np.arange(N), site=["a", "b"] * (N // 2))
    command = ("fit", "x.csv", "named.csv", *FIT, "--out", "{out}", "--meta", "{file}")
    yield Seed("meta", {"m.csv": meta.to_csv(None, index=False).encode()}, (command,))
    labels = frame()[["sample"]].assign(cluster=0, confidence=0.5, outlier_score=1.0)
    labels.loc[0, "sample"] = "'=s0"
    yield Seed("labels", {"m.csv": labels.to_csv(None, index=False).encode()}, (command,))
    names = ("fit", "nameless.npy", *FIT, "--out", "{out}", "--names", "{file}")
    yield Seed("names csv", {"n.csv": ("sample\n" + "\n".join(NAMES)).encode()}, (names,))
    yield Seed("names npy", {"n.npy": _npy(np.array(NAMES))}, (names,))


def _columns():
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    lists = pa.table({"sample": NAMES, "vector": pa.array(values().tolist())})
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(values().ravel()), D)
    fixed = pa.table({"vector": fixed})
    for name, ending, compression in (
        ("parquet", "parquet", "snappy"),
        ("feather", "feather", "lz4"),
        ("feather uncompressed", "feather", "uncompressed"),
    ):
        content = io.BytesIO()
        if ending == "parquet":
            frame().to_parquet(content, index=False, compression=compression)
        else:
            feather.write_feather(table, content, compression)
        yield Seed(name, {f"x.{ending}": content.getvalue()}, (MEMORY, PREDICT), "named.csv")
    numbers = table.drop_columns("sample")
    for name, given in (("columns", numbers), ("lists", lists), ("fixed lists", fixed)):
        key = "" if name == "columns" else "::vector"
        stream = tuple(part.replace("{file}", "{file}" + key) for part in STREAM)
        stream = (*stream, "--by-position")
        for kind, content in _arrow(given).items():
            yield Seed(f"{kind} {name}", content, (stream,), "nameless.npy")


def _arrow(table):
    from pyarrow import parquet

    file, stream, pages = io.BytesIO(), io.BytesIO(), io.BytesIO()
    feather.write_feather(table, file, "uncompressed", chunksize=5)
    with ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    parquet.write_table(table, pages, row_group_size=5)
    return {
        "streamed feather": {"x.feather": file.getvalue()},
        "streamed arrow": {"x.arrow": stream.getvalue()},
        "streamed parquet": {"x.parquet": pages.getvalue()},
    }


def _npy(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def _arrays():
    yield Seed("npy", {"x.npy": _npy(values())}, (MEMORY, STREAM, PREDICT), "nameless.npy")
    content = io.BytesIO()
    np.savez_compressed(content, view_0=values(), view_1=values(), y=np.arange(N) % 2)
    alone = tuple(part for part in MEMORY if part != "{other}")
    yield Seed("npz", {"x.npz": content.getvalue()}, (alone,))
    cell = np.empty((1, 2), dtype=object)
    cell[0, :] = [values(), sparse.csc_array(values() * (values() > 0))]
    for compressed in (False, True):
        content = io.BytesIO()
        scipy_io.savemat(
            content, {"X": cell, "Y": np.arange(N)[:, None] % 2}, do_compression=compressed
        )
        name = "mat compressed" if compressed else "mat"
        yield Seed(name, {"x.mat": content.getvalue()}, (alone,))


def _cells():
    """Counts of 10x as a folder of text files."""
    for name in ("mtx", "mtx.gz"):
        files = mtx_files(counts_of(N)[0], NAMES, is_packed=name != "mtx")
        files = {f"x/{member}": content for member, content in files.items()}
        yield Seed(name, files, (MEMORY,), "named.csv")


def _packed(content):
    return gzip.compress(content, mtime=0)


def _hdf5():
    try:
        import h5py
    except ImportError:
        return

    def content(write):
        buffer = io.BytesIO()
        with h5py.File(buffer, "w") as file:
            write(file)
        return buffer.getvalue()

    def annotated(group):
        group["X"] = values()
        for side, names in (("obs", NAMES), ("var", [f"f{j}" for j in range(D)])):
            index = group.create_group(side)
            index.attrs["_index"] = "_index"
            index["_index"] = names

    def with_obs(group):
        annotated(group)
        group["obs/depth"] = np.arange(N)
        group["obs/type/codes"], group["obs/type/categories"] = np.arange(N) % 2, ["b", "t"]
        group["obs/age/values"], group["obs/age/mask"] = np.arange(N), np.arange(N) > 3

    def multimodal(file):
        for name in ("a", "b"):
            annotated(file.create_group(f"mod/{name}"))

    def matlab(file):
        cell = [file.create_dataset(f"#refs#/{v}", data=values().T).ref for v in range(2)]
        file.create_dataset("X", data=np.array([cell], dtype=h5py.ref_dtype))
        file["Y"] = (np.arange(N) % 2)[None, :]

    chunks = {"chunks": (5, D), "compression": "gzip", "shuffle": True}
    stream = (*STREAM, "--by-position")
    alone = tuple(part for part in MEMORY if part != "{other}")
    counts = counts_of(N)[0]
    tenx = content(lambda file: write_tenx_h5(file, counts, NAMES))
    loom = content(lambda file: write_loom(file, counts["rna"], NAMES))
    plain = content(lambda file: file.update({"x": values()}))
    chunked = content(lambda file: file.create_dataset("x", data=values(), **chunks))
    for name, file, commands, other in (
        ("h5", {"x.h5": plain}, (stream,), "nameless.npy"),
        ("h5 chunked", {"x.h5": chunked}, (stream,), "nameless.npy"),
        ("h5ad", {"x.h5ad": content(with_obs)}, (MEMORY, PREDICT), "named.csv"),
        ("h5ad back", {"x.h5ad": content(with_obs)}, ((*MEMORY, "--write-back"),), "named.csv"),
        ("h5 10x", {"x.h5": tenx}, (MEMORY,), "named.csv"),
        ("loom", {"x.loom": loom}, (MEMORY,), "named.csv"),
        ("h5mu", {"x.h5mu": content(multimodal)}, (alone,), ""),
        ("mat 7.3", {"x.mat": content(matlab)}, (alone,), ""),
    ):
        yield Seed(name, file, commands, other, is_trusted=True)


def _zarr():
    try:
        import zarr
    except ImportError:
        return
    both = ((*MEMORY, "--by-position"), (*STREAM, "--by-position"))
    for version in (2, 3):
        path = Path(f"seed{version}.zarr")
        zarr.create_array(str(path), data=values(), chunks=(5, D), zarr_format=version)
        files = {
            f"x.zarr/{file.relative_to(path)}": file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
        yield Seed(f"zarr {version}", files, both, "nameless.npy")
    store = zarr.storage.ZipStore("x.zarr.zip", mode="w")
    zarr.create_array(store, data=values(), chunks=(5, D))
    store.close()
    content = Path("x.zarr.zip").read_bytes()
    yield Seed("zarr.zip", {"x.zarr.zip": content}, (both[0],), "nameless.npy")


def _runs(folder):
    predict = ("predict", "x.csv", "--model", "{file}", "--quiet", "--out", "{out}.csv")
    model = (folder / "run" / "model.mv").read_bytes()
    yield Seed("model", {"m.mv": model}, (predict,))
    yield Seed("model signed", {"m.mv": model}, (predict,), finish=sign_model)
    result = (folder / "run" / "result.json").read_bytes()
    yield Seed("result", {"run/result.json": result}, (("report", "{folder}"),))
    small = json.dumps(json.loads(result)).encode()
    yield Seed("result small", {"run/result.json": small}, (("report", "{folder}"),))
