"""
On a cluster
============

``engine="dask"`` runs a fit on the workers of a Dask cluster; rows are never gathered. Here the
workers are two processes of this machine.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs

found = make_multiview_blobs(30_000, (24, 32), n_clusters=5, random_state=0)
names, arrays = ("image", "text"), found.data.views
views = {name: da.from_array(X, chunks=(8_000, -1)) for name, X in zip(names, arrays, strict=True)}

# %%
# Labels are a Dask array, as are the results of ``predict``, ``transform`` and ``score_samples``.

if __name__ == "__main__":  # processes import this file
    settings = {"n_clusters": 5, "n_init": 1, "random_state": 0}
    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster):
        model = OMVCDR(engine="dask", **settings).fit(views)
        labels = model.labels_.compute()
        scores = model.score_samples(views).compute()
    print(model.structure_.sentence)

    # %%
    # Rows in memory get the same labels by the same label step.

    here = OMVCDR(label_step="sharded", **settings).fit(dict(zip(names, arrays, strict=True)))
    print("same labels as in memory:", np.array_equal(labels, here.labels_))

    _, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    ax.hist([-scores[labels == c] for c in range(5)], bins=30, stacked=True)
    ax.axvline(model.outlier_threshold_, color="0.3", ls="--", label="threshold")
    ax.set(xlabel="outlier score", ylabel="samples")
    ax.legend(frameon=False)
    plt.show()
