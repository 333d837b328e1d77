"""
Missing views
=============

Not every patient has every test, and not every product has a picture. A sample that lacks views is
clustered by the views that it has. Mark missing views with ``present`` or with rows of NaN, or let
``MultiViewData.align(tables, how="outer")`` find them from the sample names.

Here a growing share of the rows of all views is removed at random; each sample keeps at least one
view. The baseline is the common alternative: mean imputation, followed by k-means.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import scale

from manyview import OMVCDR
from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
n, n_views = len(data), data.n_views
rng = np.random.default_rng(0)
kept = rng.integers(n_views, size=(n, 1)) == np.arange(n_views)  # one view of each sample

rows = []
for rate in [0, 0.2, 0.4, 0.6, 0.8]:
    present = (rng.random((n, n_views)) >= rate) | kept
    ours = OMVCDR(n_clusters=10, n_init=2, random_state=0).fit(data, present=present)
    # z-scores, with missing rows imputed by zero, the mean
    filled = [scale(view) * here[:, None] for view, here in zip(data.views, present.T, strict=True)]
    theirs = KMeans(10, n_init=5, random_state=0).fit_predict(np.hstack(filled))
    complete = present.all(axis=1).mean()
    scores = [normalized_mutual_info_score(digits, found) for found in (ours.labels_, theirs)]
    rows.append([1 - present.mean(), complete, *scores])

# %%
# All samples get a label, whichever views they lack. Dropping incomplete samples would leave few:
# the gray bars.

import matplotlib.pyplot as plt

missing, complete, ours, theirs = np.transpose(rows)
fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.bar(100 * missing, complete, width=4, color="0.85", label="share of samples with all views")
ax.plot(100 * missing, ours, "o-", lw=2.5, label="OMVCDR: NMI, all samples")
ax.plot(100 * missing, theirs, "s--", label="mean imputation and k-means: NMI, all samples")
ax.set(xlabel="rows missing (%)", ylim=(0, 1.3), yticks=np.arange(0, 1.1, 0.2))
ax.legend(loc="upper right", frameon=False)
plt.show()
