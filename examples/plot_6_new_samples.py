"""
New samples and model files
===========================

A fitted model predicts the clusters of new samples. It can be saved to one file, which contains no
code and is validated when it is loaded, and used elsewhere.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from manyview import OMVCDR
from manyview.datasets import load_digits_views
from manyview.metrics import clustering_accuracy

# a MultiViewData is split over samples, as an array is
data, digits = load_digits_views(return_X_y=True)
old, new, _, new_digits = train_test_split(data, digits, test_size=0.4, random_state=0)

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "digits.mv"
    OMVCDR(n_clusters=10, random_state=0).fit(old).save(file)
    print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
    model = OMVCDR.load(file)

print(model.predict(new)[:10])

# %%
# New samples may lack views, even all but one. The loss depends on which views are left.

scores = {"all views": clustering_accuracy(new_digits, model.predict(new))}
for v, name in enumerate(data.view_names):
    only = np.zeros((len(new), data.n_views), dtype=bool)
    only[:, v] = True
    scores[f"{name} alone"] = clustering_accuracy(new_digits, model.predict(new, present=only))
    scores[f"without {name}"] = clustering_accuracy(new_digits, model.predict(new, present=~only))

import matplotlib.pyplot as plt

names = sorted(scores, key=scores.__getitem__)
colors = ["tab:orange" if name.endswith("alone") else "tab:blue" for name in names]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
bars = ax.barh(names, [scores[name] for name in names], color=colors)
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.set(xlabel=f"accuracy on {len(new)} new samples", xlim=(0, 1))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
