"""The profile solver of OMVCDR: Z eliminated, labels by sweeps on F, H and α in closed form.

Symbols, here and in `kernels`:

=============  ==================  ================================================  ==============
paper          code                meaning                                           shape
=============  ==================  ================================================  ==============
X_v            `views[v]`          rows of scaled view v                             (n, d_v)
H_pv           `bases[v]`          orthonormal bases of scaled view v, concatenated  (d_v, D)
a_i            –                   Σ_v H_vᵀ x_vi over the scaled views present       (D,)
b_i            `projection`        a_i / u_i − shift                                 (n, D)
u_i            `n_present[group]`  number of scaled views present                    scalar
Z_p            `embedding`         all views in the spaces                           (n, D)
y              `labels`            cluster of each sample                            (n,)
α_p            `alpha`             weight of a space, on the simplex                 (m,)
g_p            `coupling`          λ α_p^γ                                           (m,)
n_c, b̄, S      `ClusterMoments`    count, mean, scatter of b in a cluster            (G, k), …
z̄_c            `center`            shrinkage target of the samples of a cluster      (k, D)
=============  ==================  ================================================  ==============

G is the number of distinct u_i: one if no view is missing. The equations are numbered in
`docs/equations.md`.
"""
