"""
First clustering
================

A sample is often described by several sets of features: an image by its pixels and by its outline,
a cell by its RNA and by its proteins. Each set is a *view*, a table with one row per sample. OMVCDR
uses all views jointly to find clusters that they share, and needs no labels.

Here the samples are 1797 handwritten digits, and the views are five sets of image features.
"""

from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
print(dict(zip(data.view_names, data.n_features, strict=True)))

# %%
# One call clusters them. We choose the number of clusters; a seed makes the result reproducible.

from manyview import OMVCDR

model = OMVCDR(n_clusters=10, random_state=0)
labels = model.fit_predict(data)
print(labels[:10])

# %%
# We know which digit each image shows. The model has not seen these labels, so the test is fair.
# Clusters have no names: accuracy (``acc``) uses the best one-to-one matching with the digits.

import pandas as pd

from manyview.metrics import evaluate

print(pd.Series(evaluate(digits, labels)).round(3).to_string())

# %%
# ``transform`` embeds the samples in the latent spaces in which the clusters were found. A t-SNE
# plot of the embedding, with the mean image of each cluster on top, shows what was learned, and
# what was not: a digit that is written in two ways can be split into two clusters, and digits that
# look alike can share one.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.manifold import TSNE

points = TSNE(max_iter=500, random_state=0).fit_transform(model.transform(data))
pixels = model.cluster_centers_[0].reshape(-1, 8, 8)

fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
ax.scatter(*points.T, c=labels, cmap="tab10", s=6)
for cluster, image in enumerate(pixels):
    middle = np.median(points[labels == cluster], axis=0)
    box = AnnotationBbox(OffsetImage(image, zoom=2.5, cmap="gray_r"), middle, pad=0.2)
    box.patch.set(edgecolor=plt.get_cmap("tab10")(cluster), linewidth=2)
    ax.add_artist(box)
ax.set(xticks=[], yticks=[], title="1797 digits, and the mean image of each cluster")
plt.show()
