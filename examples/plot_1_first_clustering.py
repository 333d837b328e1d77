"""
First clustering
================

A sample is often described in several ways: an image by its pixels and by its outline, a cell by
its RNA and by its proteins. Each way is a *view*, a table with one row a sample. OMVCDR reads all
views at once, finds clusters that they share, and needs no labels.

Here the samples are 1797 handwritten digits, and the views are five ways to describe an image.
"""

from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
print(dict(zip(data.view_names, data.n_features, strict=True)))

# %%
# One call clusters them. The number of clusters is ours to choose; a seed makes the run repeatable.

from manyview import OMVCDR

model = OMVCDR(n_clusters=10, random_state=0)
labels = model.fit_predict(data)
print(labels[:10])

# %%
# We happen to know which digit each image shows. The model has not seen that, so it is a fair test.
# Clusters have no names: accuracy (``acc``) pairs them with the digits in the best way.

import pandas as pd

from manyview.metrics import evaluate

print(pd.Series(evaluate(digits, labels)).round(3).to_string())

# %%
# ``transform`` gives the samples in the latent spaces in which the clusters were found. Drawn in
# two dimensions by t-SNE, with the mean image of each cluster on top, they show what was learnt,
# and what was not: a digit that is written in two ways can take two clusters, and digits that look
# alike can share one.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.manifold import TSNE

places = TSNE(max_iter=500, random_state=0).fit_transform(model.transform(data))
pixels = model.cluster_centers_[0].reshape(-1, 8, 8)

fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
ax.scatter(*places.T, c=labels, cmap="tab10", s=6)
for cluster, image in enumerate(pixels):
    middle = np.median(places[labels == cluster], axis=0)
    box = AnnotationBbox(OffsetImage(image, zoom=2.5, cmap="gray_r"), middle, pad=0.2)
    box.patch.set(edgecolor=plt.get_cmap("tab10")(cluster), linewidth=2)
    ax.add_artist(box)
ax.set(xticks=[], yticks=[], title="1797 digits, and the mean image of each cluster")
plt.show()
