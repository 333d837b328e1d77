"""
Confidence of the labels
========================

A clustering always returns clusters. ``structure_`` says whether they are more than a partition of
one shapeless blob of samples: clear, weak or none. ``confidence_`` is, for each label, how much
rarer labels as distinct would be in such a blob: 0 as common, 1 never. ``stability_`` is, for the
whole fit, the agreement of the labels with those of the other starts.
"""

from manyview import OMVCDR
from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
model = OMVCDR(n_clusters=10, random_state=0).fit(data)
print(model.structure_.sentence)
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

# %%
# The same number of clusters in noise: nothing is found, and no label has any confidence.

rng = np.random.default_rng(0)
noise = OMVCDR(n_clusters=10, random_state=0).fit([rng.normal(size=(1797, d)) for d in (64, 40)])
print(noise.structure_.sentence)
print(f"largest confidence {noise.confidence_.max():.2f}")
