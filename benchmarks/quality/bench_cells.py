"""Simulated CITE-seq beside WNN and Leiden: the table of docs/ecosystem.md.

    pip install scanpy muon igraph
    python -m benchmarks.quality.bench_cells --draws 1

Prints the number of clusters and the ARI of each method and resolution.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from manyview.datasets import make_citeseq
from manyview.io.anndata import cluster_mudata

N_CELLS = 1000
RESOLUTIONS = (0.5, 1.0, 1.5, 2.0)


def main() -> None:
    """Run, and print one line per result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=1)
    warnings.simplefilter("ignore")
    for draw in range(parser.parse_args().draws):
        for method, n_clusters, ari in measure(draw):
            print(f"draw {draw}  {method:20} {n_clusters:3} clusters  ARI {ari:.3f}")


def measure(draw: int) -> list[tuple[str, int, float]]:
    """Method, number of clusters and ARI."""
    import muon
    import scanpy

    counts, types = make_citeseq(N_CELLS, random_state=draw, return_X_y=True)
    mdata = as_mudata(counts)
    rows = []
    for k in (8, "auto"):
        labels = cluster_mudata(mdata, k, random_state=0).labels_
        rows.append((f"manyview {k}", len(set(labels)), adjusted_rand_score(types, labels)))
    rna, protein = mdata["rna"], mdata["prot"]
    scanpy.pp.normalize_total(rna)
    scanpy.pp.log1p(rna)
    muon.prot.pp.clr(protein)
    for part, n_components in ((rna, 30), (protein, 15)):
        scanpy.pp.pca(part, n_comps=n_components)
        scanpy.pp.neighbors(part)
    muon.pp.neighbors(mdata, key_added="wnn")
    parts = {"rna": (rna, None), "protein": (protein, None), "wnn": (mdata, "wnn")}
    for resolution in RESOLUTIONS:
        for name, (part, key) in parts.items():
            scanpy.tl.leiden(
                part,
                resolution=resolution,
                flavor="igraph",
                n_iterations=2,
                directed=False,
                random_state=0,
                key_added="leiden",
                neighbors_key=key,
            )
            labels = part.obs["leiden"]
            ari = adjusted_rand_score(types, labels)
            rows.append((f"{name} {resolution}", labels.nunique(), ari))
    return rows


def as_mudata(counts: Any) -> Any:
    """The counts of both modalities."""
    import anndata
    import mudata

    cells = pd.DataFrame(index=[f"cell{i}" for i in range(N_CELLS)])
    parts = {}
    for name, view in zip(("rna", "prot"), counts.views, strict=True):
        values = sparse.csr_matrix(view) if sparse.issparse(view) else np.asarray(view)
        features = pd.DataFrame(index=[f"{name}{j}" for j in range(view.shape[1])])
        parts[name] = anndata.AnnData(values.astype(np.float32), obs=cells.copy(), var=features)
    return mudata.MuData(parts)


if __name__ == "__main__":
    main()
