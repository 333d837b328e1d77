"""
The report
==========

``report`` writes the results of a fit as one HTML page that needs no network. It shows, in this
order: the clusters and their sizes; the confidence of the labels; the weights of the views; the
features that distinguish each cluster; typical and doubtful samples; whether the fit converged;
the data, and how to repeat the run.
"""

import tempfile
from pathlib import Path

from manyview import OMVCDR
from manyview.datasets import load_digits_views

model = OMVCDR(n_clusters=10, random_state=0).fit(load_digits_views().data)
with tempfile.TemporaryDirectory() as folder:
    model.report(Path(folder) / "report.html")
    for file in sorted(Path(folder).iterdir()):
        print(file.name, f"{file.stat().st_size / 1e3:.0f} kB")

# %%
# ``explain`` returns the tables that the page is made of. The map places similar samples
# together and knows nothing of the clusters, which only color it. Doubtful samples, the dark dots
# on the right, mostly lie where clusters touch.

import matplotlib.pyplot as plt

from manyview.inspection import plots

explanation = model.explain()
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
plots.sample_map(explanation, ax=left)
plots.sample_map(explanation, color="confidence", ax=right)
plt.show()

print(explanation.doubtful.head().to_string(index=False))

# %%
# A view can determine one cluster and contribute little to another: each row is a cluster, and sums
# to one. The features that distinguish a cluster are ranked by ``effect``, the difference between
# the mean of the cluster and that of all other samples, in standard deviations.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
plots.cluster_view_weights(model, ax=left)
plots.feature_heatmap(explanation, "profiles", ax=right)
plt.show()

columns = ["cluster", "view", "feature", "direction", "effect"]
strongest = explanation.features.sort_values("effect", key=abs, ascending=False)
print(strongest[columns].head(8).round(1).to_string(index=False))
