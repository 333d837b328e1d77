"""
Choosing parameters
===================

``choose`` recommends a number of clusters without labels, and says how sure it is. It looks for
clusters that stand out from what one blob of the same shape would fall into, and that halves of the
samples agree on. It then compares scalings and pulls, and keeps the defaults unless others clearly
do better. Here two views show six clusters that overlap a little.
"""

from manyview.datasets import make_multiview_blobs
from manyview.model_selection import choose

data, truth = make_multiview_blobs(
    800, (20, 30), n_clusters=6, separation=4, random_state=1, return_X_y=True
)
choice = choose(data, range(2, 16), random_state=0)
print(choice.sentence)
print(choice.advice)

# %%
# ``OMVCDR(n_clusters="auto")`` asks it before the fit. Data without clusters are told from others:
# there it recommends one, which is to say none.

noise = make_multiview_blobs(800, (20, 30), n_clusters=1, random_state=1).data
nothing = choose(noise, range(2, 16), random_state=0)
print(nothing.sentence)

# %%
# Look at the curves, too: six clusters on the left, noise on the right. A clear peak is an answer;
# several peaks mean that there is structure at several scales, and that the question decides.

import matplotlib.pyplot as plt

from manyview.inspection.plots import choice_curve

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
choice_curve(choice, ax=left)
choice_curve(nothing, ax=right)
plt.show()

# %%
# The pull ``lam`` matters much less: it has no units, and from 0.05 to 5 little changes.

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

from manyview import OMVCDR

pulls = np.geomspace(0.05, 5, 7)
models = [OMVCDR(6, lam=lam, random_state=0).fit(data) for lam in pulls]

fig, ax = plt.subplots(figsize=(5, 2.8), layout="constrained")
ax.semilogx(pulls, [normalized_mutual_info_score(truth, model.labels_) for model in models], "o-")
ax.axvline(OMVCDR().lam, color="0.6", lw=1, ls="--")
ax.text(OMVCDR().lam, 0.5, " default", color="0.4")
ax.set(xlabel="lam", ylabel="NMI with the truth", ylim=(0, 1.04))
plt.show()
