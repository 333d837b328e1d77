"""
Sparse views
============

Words in texts and items in baskets make wide tables of counts that are nearly all zero. Such views
go in as SciPy's CSR matrices, stay sparse, and may stand beside dense ones.

Here 1500 articles of five topics are drawn. Each topic prefers a hundred of 3000 words, and fifty
of 1000 readers.
"""

import numpy as np
from scipy import sparse

from manyview import OMVCDR
from manyview.metrics import evaluate

rng = np.random.default_rng(0)
topics = rng.integers(5, size=1500)


def draw_counts(n_features, n_own, n_drawn):
    """Counts of features; those that the topic prefers are drawn ten times as often."""
    weights = 1 / np.arange(1, n_features + 1)  # some words are in every text
    chances = np.tile(weights, (5, 1))
    own = rng.permutation(n_features)[: 5 * n_own].reshape(5, -1)
    chances[np.arange(5)[:, None], own] *= 10
    chances /= chances.sum(axis=1, keepdims=True)
    return sparse.csr_matrix(rng.multinomial(n_drawn, chances[topics]))


data = {"words": draw_counts(3000, 100, 80), "readers": draw_counts(1000, 50, 20)}
for name, view in data.items():
    print(
        f"{name}: {view.shape[0]} x {view.shape[1]}, {view.nnz / np.prod(view.shape):.1%} not zero"
    )

model = OMVCDR(n_clusters=5, random_state=0).fit(data)
print({name: round(score, 3) for name, score in evaluate(topics, model.labels_).items()})
print("weights of the views:", model.view_weights_.round(2))

# %%
# ``cluster_centers_`` are mean rows in the user's own units: counts. The words that a cluster uses
# most beyond the mean of all describe it.

import matplotlib.pyplot as plt

words = model.cluster_centers_[0]  # (5, 3000)
excess = words - words.mean(axis=0)
top = np.argsort(-excess, axis=1)[:, :6].ravel()
fig, ax = plt.subplots(figsize=(9, 3), layout="constrained")
image = ax.imshow(excess[:, top], cmap="RdBu_r", vmin=-0.6, vmax=0.6, aspect="auto")
ax.set(xlabel="number of the word: six for each cluster", ylabel="cluster", yticks=range(5))
ax.set_xticks(range(len(top)), top, rotation=90, fontsize=8)
fig.colorbar(image, label="mentions an article,\nbeyond the mean")
plt.show()
