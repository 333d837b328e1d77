"""
Comparing methods
=================

Every method of the package has the interface of OMVCDR, and ``known_methods`` lists them by name,
so that one loop runs them all. Six hundred digits are enough to see how the methods differ, and few
enough for the slower ones.
"""

import time

import pandas as pd

from manyview.datasets import load_digits_views
from manyview.metrics import evaluate
from manyview.study import known_methods

data, digits = load_digits_views(return_X_y=True)
data, digits = data[:600], digits[:600]

rows = {}
for name, method in known_methods().items():
    method.make(n_clusters=2).fit(data[:60])  # compilation, for methods that need it
    model = method.make(n_clusters=10, random_state=0)
    start = time.perf_counter()
    model.fit(data)
    seconds = time.perf_counter() - start
    rows[name] = {"seconds": seconds, **evaluate(digits, model.labels_)}
table = pd.DataFrame(rows).T.sort_values("nmi")
print(table[["acc", "nmi", "ari", "seconds"]].iloc[::-1].round(3))

# %%
# One data set and one seed prove little. For a reliable comparison, run ``manyview benchmark`` on
# many data sets with many seeds; ``compare_methods`` then tests which differences are significant.

import matplotlib.pyplot as plt

colors = ["tab:orange" if name == "omvcdr" else "tab:blue" for name in table.index]
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained", sharey=True)
left.barh(table.index, table["nmi"], color=colors)
left.set(xlabel="NMI with the digits", xlim=(0, 1))
right.scatter(table["seconds"], table.index, color=colors)
right.set(xlabel="seconds", xscale="log")
right.grid(axis="y", color="0.9")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
plt.show()
