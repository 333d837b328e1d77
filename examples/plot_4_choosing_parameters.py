"""
Choosing parameters
===================

``choose`` recommends a number of clusters without labels, with a confidence. It looks for clusters
that are clearer than those found in a single blob of the same shape, and that are stable over
halves of the samples. It then compares scalings and values of the coupling λ, and keeps the
defaults unless another setting is clearly better. Here two views have six slightly overlapping
clusters.
"""

from manyview.datasets import make_multiview_blobs
from manyview.model_selection import choose

data, truth = make_multiview_blobs(
    800, (20, 30), n_clusters=6, separation=4, random_state=1, return_X_y=True
)
choice = choose(data, range(2, 16), random_state=0)
print(choice.sentence)
print(choice.advice)

# %%
# ``OMVCDR(n_clusters="auto")`` calls it before the fit. For data without clusters, it reports that
# there is no clear structure and recommends a single cluster.

noise = make_multiview_blobs(800, (20, 30), n_clusters=1, random_state=1).data
nothing = choose(noise, range(2, 16), random_state=0)
print(nothing.sentence)

# %%
# Look at the curves, too: six clusters on the left, noise on the right. A single clear peak is
# conclusive; several peaks indicate structure at several scales, and the application has to decide.

import matplotlib.pyplot as plt

from manyview.inspection.plots import choice_curve

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
choice_curve(choice, ax=left)
choice_curve(nothing, ax=right)
plt.show()

# %%
# The coupling ``lam`` matters much less: it is unit-free, and from 0.05 to 5 little changes.

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from manyview import OMVCDR

lams = np.geomspace(0.05, 5, 7)
models = [OMVCDR(6, lam=lam, random_state=0).fit(data) for lam in lams]

fig, ax = plt.subplots(figsize=(5, 2.8), layout="constrained")
ax.semilogx(lams, [normalized_mutual_info_score(truth, model.labels_) for model in models], "o-")
ax.axvline(OMVCDR().lam, color="0.6", lw=1, ls="--")
ax.text(OMVCDR().lam, 0.5, " default", color="0.4")
ax.set(xlabel="lam", ylabel="NMI with the true labels", ylim=(0, 1.04))
plt.show()
