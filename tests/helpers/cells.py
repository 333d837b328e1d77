"""Files of cells, written as the programs of others do, without those programs."""

import gzip
import io

import numpy as np
import pandas as pd
from scipy import io as scipy_io
from scipy import sparse

KINDS = {"rna": "Gene Expression", "prot": "Antibody Capture", "atac": "Peaks"}


def counts_of(n=12, sizes=(4, 3), seed=0):
    """Counts of cells by kind of feature, with names of cells and features."""
    rng = np.random.default_rng(seed)
    kinds = dict(zip(KINDS, sizes, strict=False))
    views = {view: rng.poisson(4, (n, size)) for view, size in kinds.items()}
    barcodes = [f"AAAC{i:03d}-1" for i in range(n)]
    return views, barcodes


def write_tenx_h5(file, views, barcodes, names=None):
    """Version 3 of the HDF5 layout, into an open file."""
    joined = sparse.csr_array(np.hstack(list(views.values())))
    group = file.create_group("matrix")
    group["barcodes"] = np.array(barcodes, dtype="S")
    for part in ("data", "indices", "indptr"):
        values = getattr(joined, part)
        group[part] = values if part == "data" else values.astype(np.int64)  # as 10x writes them
    group["shape"] = np.array(joined.shape[::-1], dtype=np.int32)
    kinds = [KINDS[view] for view, of in views.items() for _ in range(of.shape[1])]
    features = group.create_group("features")
    features["id"] = np.array([f"ENSG{j}" for j in range(len(kinds))], dtype="S")
    features["name"] = np.array(names or [f"g{j}" for j in range(len(kinds))], dtype="S")
    features["feature_type"] = np.array(kinds, dtype="S")


def mtx_files(views, barcodes, *, is_packed=True, version=3):
    """Names and contents of the files of a folder."""
    joined = np.hstack(list(views.values())).T
    content = io.BytesIO()
    scipy_io.mmwrite(content, sparse.coo_array(joined))
    kinds = [KINDS[view] for view, of in views.items() for _ in range(of.shape[1])]
    lines = [
        f"ENSG{j}\tg{j}" + (f"\t{kind}" if version == 3 else "") for j, kind in enumerate(kinds)
    ]
    files = {
        "matrix.mtx": content.getvalue(),
        "barcodes.tsv": "\n".join([*barcodes, ""]).encode(),
        "features.tsv" if version == 3 else "genes.tsv": "\n".join([*lines, ""]).encode(),
    }
    if not is_packed:
        return files
    return {f"{name}.gz": gzip.compress(part, mtime=0) for name, part in files.items()}


def write_loom(file, counts, barcodes, about=None):
    """Features by cells, into an open file."""
    file.create_dataset("matrix", data=counts.T, chunks=True, compression="gzip")
    file["row_attrs/Gene"] = np.array([f"g{j}" for j in range(counts.shape[1])], dtype="S")
    file["row_attrs/Length"] = np.arange(counts.shape[1])
    file["col_attrs/CellID"] = np.array(barcodes, dtype="S")
    for name, values in (about or {}).items():
        file[f"col_attrs/{name}"] = values


def write_obs(group, columns, names):
    """The obs of AnnData as its library writes it."""
    obs = group.require_group("obs")
    obs.attrs["_index"], obs.attrs["column-order"] = "_index", np.array(list(columns), dtype="S")
    obs["_index"] = np.array(names, dtype=object)
    for name, values in columns.items():
        if isinstance(values, pd.Categorical):
            obs[f"{name}/codes"], obs[f"{name}/categories"] = values.codes, list(values.categories)
        elif isinstance(values, tuple):  # values and mask
            obs[f"{name}/values"], obs[f"{name}/mask"] = values
        else:
            obs[name] = values


def write_annotated(group, values, names, features, columns):
    group["X"] = values
    write_obs(group, columns, names)
    group.create_group("var").attrs["_index"] = "_index"
    group["var/_index"] = np.array(features, dtype=object)
