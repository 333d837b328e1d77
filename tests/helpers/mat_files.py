"""Files as MATLAB writes them, of version 5 and 7.3."""

import numpy as np
import pytest
from scipy import io, sparse


def save_mat5(path, cell_name, matrices, label_name, labels, column=True):
    cell = np.empty((len(matrices), 1) if column else (1, len(matrices)), dtype=object)
    cell.ravel()[:] = matrices
    variables = {} if labels is None else {label_name: labels}
    io.savemat(path, {cell_name: cell, "note": "text", "n_clusters": 3.0, **variables})


def save_mat73(path, cell_name, matrices, label_name, labels, column=True):
    """Write what MATLAB writes: 512 bytes before, transposed arrays, cells of references."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        references = [_save_item(file, f"#refs#/{v}", m).ref for v, m in enumerate(matrices)]
        shape = (1, len(matrices)) if column else (len(matrices), 1)
        cell = file.create_dataset(cell_name, shape, dtype=h5py.ref_dtype)
        cell[...] = np.array(references, dtype=h5py.ref_dtype).reshape(shape)
        cell.attrs["MATLAB_class"] = np.bytes_("cell")
        file["n_clusters"] = np.full((1, 1), 3.0)
        file["note"] = np.array([[ord(letter)] for letter in "text"], dtype=np.uint16)
        file["note"].attrs["MATLAB_class"] = np.bytes_("char")
        file.create_group("options").attrs["MATLAB_class"] = np.bytes_("struct")
        if labels is not None:
            file[label_name] = np.asarray(labels, dtype=float).T
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")


def _save_item(file, name, matrix):
    if not sparse.issparse(matrix):
        file[name] = matrix.T
        return file[name]
    matrix = sparse.csc_array(matrix)
    group = file.create_group(name)
    group.attrs["MATLAB_sparse"] = np.uint64(matrix.shape[0])
    group["jc"] = matrix.indptr.astype(np.uint64)
    if matrix.nnz:  # MATLAB leaves out what is empty
        group["ir"] = matrix.indices.astype(np.uint64)
        group["data"] = matrix.data
    return group
