"""
Confidence of the labels
========================

``confidence_`` is, for each sample, the relative margin between its cluster and the second-best
one: 0 on the border, 1 if no other cluster is near. ``stability_`` is, for the whole fit, the
agreement of the labels with those of the other starts; 1 if all starts found the same clusters.
"""

from manyview import OMVCDR
from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
model = OMVCDR(n_clusters=10, random_state=0).fit(data)
print(f"stability {model.stability_:.2f}, mean confidence {model.confidence_.mean():.2f}")

# %%
# Are confident labels more accurate? We sort the samples by confidence, keep the most confident
# ones, and compare them with the digits, which the model has not seen.

import matplotlib.pyplot as plt
import numpy as np

from manyview.inspection.plots import confidence_curve

fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
confidence_curve(digits, model.labels_, model.confidence_, ax=ax)
plt.show()

# %%
# Confidence does not detect every error: two digits that share one cluster can both have confident
# labels. But samples with low confidence are worth inspecting. The figure shows one row per
# cluster: the four samples with the highest confidence, and the four with the lowest.

images = data.views[0].reshape(-1, 8, 8)
fig, axes = plt.subplots(10, 8, figsize=(5.5, 7), layout="constrained")
for cluster, row in enumerate(axes):
    members = np.flatnonzero(model.labels_ == cluster)
    ranked = members[np.argsort(-model.confidence_[members])]
    for ax, sample in zip(row, [*ranked[:4], *ranked[-4:]], strict=True):
        ax.imshow(images[sample], cmap="gray_r")
        ax.set(xticks=[], yticks=[])
axes[0, 1].set_title("highest", loc="left")
axes[0, 5].set_title("lowest", loc="left")
plt.show()
