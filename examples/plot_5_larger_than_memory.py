"""
Larger than memory
==================

Embeddings are often stored as shards: files that together are one view. ``engine="stream"`` reads
them block by block in each pass (out-of-core), within ``memory_limit``. Here the files are small.
"""

import tempfile
import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

from manyview import OMVCDR, estimate_cost, open_rows
from manyview.datasets import make_multiview_blobs

folder = tempfile.TemporaryDirectory()
blobs = make_multiview_blobs(60_000, (192, 256), n_clusters=5, dtype=np.float32, random_state=0)
for name, view in zip(["image", "text"], blobs.data.views, strict=True):
    for shard, rows in enumerate(np.array_split(view, 6)):
        np.save(f"{folder.name}/{name}_{shard}.npy", rows)
views = {name: open_rows(f"{folder.name}/{name}_*.npy") for name in ("image", "text")}

# %%
# Time and memory of the fit can be estimated from a fit of a subset.

settings = {"scale": None, "n_init": 1, "random_state": 0, "memory_limit": 50e6}
print(estimate_cost(views, n_clusters=5, engine="stream", **settings))

# %%
# With a ``checkpoint``, an interrupted fit can be resumed. We interrupt one after 20 steps.

model = OMVCDR(n_clusters=5, engine="stream", **settings)
passes, steps = f"{folder.name}/passes", iter(range(20))
try:
    model.fit(views, checkpoint=passes, callback=lambda _: next(steps))
except StopIteration:
    labels = model.fit_predict(views, checkpoint=passes)
print("same labels as without interruption:", np.array_equal(labels, model.fit_predict(views)))

# %%
# Memory does not grow with the size of the files: what exceeds the limit goes to scratch files.

sizes, taken = [15_000, 30_000, 45_000, 60_000], []
for n in sizes:
    tracemalloc.start()
    model.fit({name: view[:n] for name, view in views.items()})
    taken.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
_, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
on_disk = [sum(view[:n].nbytes for view in views.values()) / 1e6 for n in sizes]
ax.plot(sizes, on_disk, "s--", color="0.5", label="views, on disk")
ax.plot(sizes, taken, "o-", lw=2.5, label="fit, in memory")
ax.set(xlabel="samples", ylabel="MB", xlim=(0, None), ylim=(0, None))
ax.legend(frameon=False)
plt.show()
folder.cleanup()
