"""
What the weights mean
=====================

``view_weights_`` is the contribution of each view to the separation of the clusters; the weights
sum to one. They are learned: a view gets a large weight if it agrees with the others.

To see this, we corrupt one view step by step. In a growing share of the samples, the pixels are
permuted among samples: the view keeps its values, but describes the wrong digits.
"""

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from manyview import OMVCDR
from manyview.datasets import load_digits_views

data, digits = load_digits_views(return_X_y=True)
views = dict(zip(data.view_names, data.views, strict=True))
rng = np.random.default_rng(0)

shares = [0, 0.25, 0.5, 0.75, 1]
weights, scores = [], []
for share in shares:
    chosen = rng.random(len(data)) < share
    pixels = views["pixels"].copy()
    pixels[chosen] = rng.permutation(pixels[chosen])
    model = OMVCDR(n_clusters=10, n_init=2, random_state=0).fit({**views, "pixels": pixels})
    weights.append(model.view_weights_)
    scores.append(normalized_mutual_info_score(digits, model.labels_))

# %%
# The corrupted view had the largest weight, and ends with the smallest. The clusters stay as good
# as they were, because four intact views are left.

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for name, line in zip(data.view_names, np.transpose(weights), strict=True):
    left.plot(shares, line, "o-", lw=3 if name == "pixels" else 1.5, label=name)
left.set(xlabel="share of samples with wrong pixels", ylabel="weight of the view", ylim=(0, None))
left.legend(ncols=2, fontsize="small", frameon=False)
right.plot(shares, scores, "o-", color="black")
right.set(xlabel="share of samples with wrong pixels", ylabel="NMI with the digits", ylim=(0, 1))
plt.show()

# %%
# ``space_weights_`` are different: they are the weights of the latent spaces, of 10, 20 and 30
# dimensions here. The space in which the clusters are most compact has the largest weight.

print(model.space_weights_.round(2))
