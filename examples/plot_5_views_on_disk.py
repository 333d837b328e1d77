"""
Views on disk
=============

Views may stay in files. ``numpy.load(..., mmap_mode="r")`` gives an array whose rows are read when
they are needed; a fit goes through it block by block and scales on the way. What it keeps of each
sample is small: the place in the latent spaces, whatever the number of features.
"""

import tempfile
import tracemalloc

import numpy as np

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs

folder = tempfile.TemporaryDirectory()
files = [f"{folder.name}/wide.npy", f"{folder.name}/wider.npy"]
blobs = make_multiview_blobs(30_000, (200, 300), n_clusters=5, random_state=0)
for file, view in zip(files, blobs.data.views, strict=True):
    np.save(file, view)
del blobs, view
views = [np.load(file, mmap_mode="r") for file in files]

# %%
# We let the number of samples grow, and note the memory that each fit takes at its peak.

model = OMVCDR(n_clusters=5, n_init=2, random_state=0).fit([X[:200] for X in views])  # compiles
sizes = [5_000, 10_000, 20_000, 30_000]
taken = []
for n in sizes:
    tracemalloc.start()
    model.fit([X[:n] for X in views])
    taken.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()

# %%
# Beyond 10 000 samples, a copy of so many tells what is near. From there on the files grow much
# faster than the fit.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
on_disk = [sum(X[:n].nbytes for X in views) / 1e6 for n in sizes]
ax.plot(sizes, on_disk, "s--", color="0.5", label="views, on disk")
ax.plot(sizes, taken, "o-", lw=2.5, label="fit, in memory")
ax.set(xlabel="samples", ylabel="MB", xlim=(0, None), ylim=(0, None))
ax.legend(frameon=False)
plt.show()

# %%
# ``memory_limit`` refuses a fit that would take too much, before it starts.

try:
    OMVCDR(n_clusters=5, memory_limit=5e6).fit(views)
except MemoryError as error:
    print(error)
folder.cleanup()
