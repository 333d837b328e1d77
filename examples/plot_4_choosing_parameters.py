"""
Choosing parameters
===================

Without labels, no score says which parameters are right. But a good number of clusters leaves
traces: different starts find the same clusters (``stability_``), samples are clearly nearer to
their own cluster than to the next (``confidence_``), and clusters are compact beside the gaps
between them (the silhouette of the embedding).

Here two views show six clusters that overlap a little.
"""

import numpy as np
from sklearn.metrics import silhouette_score

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.metrics import normalized_mutual_info

data, truth = make_multiview_blobs(
    800, (20, 30), n_clusters=6, separation=4, random_state=1, return_X_y=True
)
numbers = range(2, 11)
traces = []
for n_clusters in numbers:
    model = OMVCDR(n_clusters, n_init=10, random_state=0).fit(data)
    silhouette = silhouette_score(model.transform(data), model.labels_)
    traces.append([model.stability_, model.confidence_.mean(), silhouette])
best = [numbers[i] for i in np.argmax(traces, axis=0)]
print("best number by stability, confidence, silhouette:", best)

# %%
# The pull ``lam`` matters much less: it has no units, and from 0.05 to 5 little changes.

pulls = np.geomspace(0.05, 5, 7)
models = [OMVCDR(6, lam=lam, random_state=0).fit(data) for lam in pulls]
agreement = [normalized_mutual_info(truth, model.labels_) for model in models]

# %%
# Read the left picture by its peak, not by its height: a start can be stable and wrong, and curves
# without a peak say that the data do not prefer a number.

import matplotlib.pyplot as plt

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
for name, line in zip(["stability", "confidence", "silhouette"], np.transpose(traces), strict=True):
    left.plot(numbers, line, "o-", label=name)
left.axvline(6, color="0.6", lw=1, ls="--", label="truth")
left.set(xlabel="number of clusters", ylabel="score", ylim=(0, 1.04))
left.legend(loc="lower right", ncols=2, fontsize="small")
right.semilogx(pulls, agreement, "o-", color="black")
right.axvline(OMVCDR().lam, color="0.6", lw=1, ls="--")
right.text(OMVCDR().lam, 0.5, " default", color="0.4")
right.set(
    xlabel="lam", title="NMI with the truth, six clusters", xticks=[0.1, 1], xticklabels=[0.1, 1]
)
plt.show()
