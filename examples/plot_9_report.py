"""
Reading the report
==================

``report`` writes what a fit found as one page for the browser; nothing else is needed to open it,
no network either. It answers in this order: how many clusters there are and how big; how sure they
are; which views drove them; what sets each apart; which samples are typical and which doubtful;
whether the fit came to rest; what the data were, and how to repeat the run.
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
# ``explain`` gives the tables that the page is made of. The map shows samples between the places of
# their clusters. Dark dots, between two of them, are doubtful; they can go either way.

import matplotlib.pyplot as plt

from manyview.inspection import plots

explanation = model.explain()
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
plots.sample_map(explanation, ax=left)
plots.sample_map(explanation, color="confidence", ax=right)
plt.show()

print(explanation.doubtful.head().to_string(index=False))

# %%
# A view can drive one cluster and say little about another: a row is a cluster, and sums to one.
# What sets a cluster apart is told feature by feature. ``effect`` is the distance between the mean
# of the cluster and that of all others, in standard deviations.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
plots.cluster_view_weights(model, ax=left)
plots.feature_heatmap(explanation, "profiles", ax=right)
plt.show()

columns = ["cluster", "view", "feature", "direction", "effect"]
strongest = explanation.features.sort_values("effect", key=abs, ascending=False)
print(strongest[columns].head(8).round(1).to_string(index=False))
