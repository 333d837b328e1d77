"""
How sure a label is
===================

``confidence_`` tells for each sample how much cheaper its cluster is than the next one: 0 on the
border, 1 where no other cluster is near. ``stability_`` tells for the whole fit how far the labels
agree with those of the other starts; 1 means that all starts found the same clusters.
"""

from manyview import OMVCDR
from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
model = OMVCDR(n_clusters=10, random_state=0).fit(data)
print(f"stability {model.stability_:.2f}, mean confidence {model.confidence_.mean():.2f}")

# %%
# Are the confident labels the right ones? Sort the samples by confidence, keep the surest part, and
# compare with the digits, which the model has not seen.

import matplotlib.pyplot as plt
import numpy as np

from manyview.inspection.plots import confidence_curve

fig, ax = plt.subplots(figsize=(5.5, 3.5), layout="constrained")
confidence_curve(digits, model.labels_, model.confidence_, ax=ax)
plt.show()

# %%
# Confidence cannot see everything: two digits that share a cluster from the start look sure and are
# wrong. But what it marks as doubtful is worth a look. Below, one row a cluster: the four samples
# that are most typical, and the four that are least sure.

images = data.views[0].reshape(-1, 8, 8)
fig, axes = plt.subplots(10, 8, figsize=(5.5, 7), layout="constrained")
for cluster, row in enumerate(axes):
    members = np.flatnonzero(model.labels_ == cluster)
    ranked = members[np.argsort(-model.confidence_[members])]
    for ax, sample in zip(row, [*ranked[:4], *ranked[-4:]], strict=True):
        ax.imshow(images[sample], cmap="gray_r")
        ax.set(xticks=[], yticks=[])
axes[0, 1].set_title("surest", loc="left")
axes[0, 5].set_title("least sure", loc="left")
plt.show()
