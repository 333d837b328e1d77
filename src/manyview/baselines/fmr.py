"""FMR: low-rank self-expression of a latent representation that depends on all views.

R. Li et al., "Flexible Multi-View Representation Learning for Subspace Clustering", International
Joint Conference on Artificial Intelligence, 2019.

Objective, over a representation H (K, n), coefficients Z (n, n) and errors E (K, n); the kernel
𝒦 = Σ_v L X_v X_vᵀ L joins the views, whose rows have norm one, and L centers::

    min λ₁ ‖Z‖_* + λ₂ ‖E‖_{2,1} − tr(𝒦 HᵀH)/(n − 1)²   with H = HZ + E

Spectral clustering of |Z| + |Z|ᵀ gives the labels.

The last term, HSIC, has no lower bound in H: the program takes gradient steps until the value of
the augmented Lagrangian is below a large negative ε, chosen for each data set, and so do we, with ε
in units of the HSIC of the random start. Two facts then avoid the published
O(n³) per iteration:

* In the first iteration Z = E = 0: the steps scale H by powers along the eigenvectors of 𝒦, so t
  of them cost as much as one. Afterwards H is constant. The E step keeps the columns of the
  multiplier within λ₂, so all terms except HSIC are below 5nλ₂²/μ; we stop that much below ε,
  and later iterations take no steps.
* With constant H = U S Wᵀ, Z and its multiplier never leave the span of W. Z = WC has a (K, n)
  matrix C, and the iterations solve min λ₁‖C‖_* + λ₂‖S(Wᵀ − C)‖_{2,1}.

Complexity: O(n K²) per iteration, after O(n Σd min(n, Σd)) for the kernel; the final affinities
take O(n² K) time and O(n²) memory.

Differences from the published program:

1. ε is relative, and has one default: it was −5e10 for Yale and −5e5 for Notting-Hill. On our files
   the published ε are 1.2e9 (MSRC-v1, λ₂ = 1e-6), 2e10 (ORL, 1e-8) and 4e12 (Yale, 1e-8).
2. The value that stops the steps has (μ/2)‖·‖ for the penalty, not squared. The default follows
   the formula, ``quirks=True`` the program.
3. The program iterates on n × n matrices and runs an SVD of one in each; see above.
4. It adds 1e-8 I to what it thresholds; we do not.
5. Both stop once all row sums of |H − HZ − E| and |Z − J| are below 1e-4. We look at the n × n one
   only where it can be, so a fit may take a few iterations more. At the published ε the program
   runs to its cap, since the matrix that it inverts is ill-conditioned; ours is diagonal.
6. Where no direction can grow (2𝒦/(n − 1)² below μ, for n of many thousands) its H decays to zero;
   we keep the random start, and warn.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from manyview.base import COUNT, FLAG, generator, number, param
from manyview.baselines._base import Baseline, Budget
from manyview.baselines._finish import best_kmeans
from manyview.baselines._low_rank import RowSums, State, iterate, largest_norm
from manyview.baselines._spectral import kernel_spectrum, spectral_rows
from manyview.data.views import MultiViewData
from manyview.exceptions import ConvergenceWarning
from manyview.utils.types import FloatArray

_FIRST_MU, _LAST_MU, _MU_GROWTH = 1e-5, 1e10, 1.1
_MAX_STEPS = 20_000


@dataclass(eq=False, repr=False, kw_only=True)
class FMR(Baseline):
    """Flexible multi-view representation learning for subspace clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k.
    lam1 : float, default=1e-4
        Weight of the nuclear norm of Z, λ₁.
    lam2 : float, default=1e-6
        Weight of the errors, λ₂. Published: 1e-6 (MSRC-v1, BBCSport), 1e-7 and 1e-8.
    n_latent : int, default=200
        Number of rows of H, K. Published: 200 to 800.
    epsilon : float, default=1e9
        The gradient steps in H stop at this multiple of the HSIC of the random start. With a larger
        value, fewer directions of the kernel dominate H.
    step : float, default=100.0
        Length of a gradient step in H. Published: 100 or 10.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-4
        Stop once all row sums of the absolute values of both residuals are below this.
    n_init : int, default=20
        Number of k-means runs on the spectral embedding; the one with the lowest inertia is kept.
    quirks : bool, default=False
        Follow the program where it deviates from its formulas; see difference 2 of the module.
    random_state : int, RandomState or None, default=None
        Seed of H and of the final k-means.
    time_limit : float, optional
        Seconds; a fit that takes longer raises DeclinedError.
    memory_limit : float, optional
        Bytes in addition to the views; a fit that needs more raises DeclinedError.
    view_sizes : sequence of int, optional
        Number of features of each view, if X is one 2-D array of concatenated views.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each sample.
    dependence_ : float
        Final HSIC of H, as a multiple of that of the random start.
    n_steps_ : int
        Number of gradient steps in H.
    objective_history_ : array of shape (n_iter,)
        λ₁‖J‖_* + λ₂‖E‖_{2,1} after each iteration, J being the low-rank copy of Z.
    embedding_ : array of shape (n_samples, n_clusters)
        Rows clustered by the final k-means.
    residual_history_ : array of shape (n_iter,)
        Largest norm of a column of H − HZ − E and of Z − J.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features of all views.

    References
    ----------
    R. Li et al., "Flexible Multi-View Representation Learning for Subspace Clustering",
    International Joint Conference on Artificial Intelligence, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.fmr import FMR
    >>> noise = np.random.default_rng(0).normal(size=(2, 18, 5))
    >>> classes = np.repeat(9 * np.eye(3, 5), 6, axis=0)
    >>> labels = FMR(n_clusters=3, random_state=0).fit_predict(list(classes + noise))
    >>> [len(set(labels[i : i + 6])) for i in (0, 6, 12)], len(set(labels))
    ([1, 1, 1], 3)
    """

    lam1: float = param(1e-4, number(above=0))
    lam2: float = param(1e-6, number(above=0))
    n_latent: int = param(200, COUNT)
    epsilon: float = param(1e9, number(above=0))
    step: float = param(100.0, number(above=0))
    max_iter: int = param(500, COUNT)
    tol: float = param(1e-4, number(above=0))
    n_init: int = param(20, COUNT)
    quirks: bool = param(False, FLAG)
    random_state: int | np.random.RandomState | None = None

    def _cluster(self, data: MultiViewData, budget: Budget) -> None:
        n = data.n_samples
        budget.need(32.0 * n * n + 64.0 * n * self.n_latent, f"affinities of {n} x {n}")
        rng = generator(self.random_state)
        H = rng.random((self.n_latent, n))
        kernel = kernel_spectrum(data.arrays, budget)
        budget.tick("the kernel is done")
        H = self._grow(H, kernel.values / max(n - 1, 1) ** 2, kernel.vectors)
        U, s, Wt = linalg.svd(H, full_matrices=False)
        C = self._express(s[:, None], Wt, RowSums(U, Wt.T), budget)
        self.embedding_ = spectral_rows(Wt.T @ C, self.n_clusters, rng, budget)
        runs = self.n_init
        self.labels_ = best_kmeans(self.embedding_, self.n_clusters, runs, rng, budget).labels_

    def _grow(self, H: FloatArray, kappa: FloatArray, vectors: FloatArray) -> FloatArray:
        """H ← H + step (2 H𝒦/(n−1)² − μH), until the value is low enough, by powers."""
        inside = H @ vectors  # (K, r)
        sum_squares = np.sum(inside**2, axis=0)
        rest = max(float(np.sum(H**2) - sum_squares.sum()), 0.0)  # outside of the kernel's range
        start = float(kappa @ sum_squares)
        distance_bounds = (
            5 * H.shape[1] * self.lam2**2 / _FIRST_MU
        )  # so that H stays constant afterwards
        lowest = -self.epsilon * start - distance_bounds
        decay = 1 - self.step * _FIRST_MU
        growth = decay + 2 * self.step * kappa
        self.n_steps_ = 0
        if growth.max(initial=0.0) <= 1:
            msg = "No direction of the kernel outgrows the penalty, so H remains the random start."
            warnings.warn(msg, ConvergenceWarning, stacklevel=5)
            growth, lowest = np.ones_like(growth), np.inf
        gain, loss = np.ones_like(growth), 1.0
        while self._value(kappa, sum_squares * gain**2, rest * loss**2) >= lowest:
            if self.n_steps_ == _MAX_STEPS:
                break
            gain *= growth
            loss *= decay
            self.n_steps_ += 1
        self.dependence_ = float(kappa @ (sum_squares * gain**2)) / start if start > 0 else 1.0
        return np.asarray(loss * H + (inside * (gain - loss)) @ vectors.T)

    def _value(self, kappa: FloatArray, sum_squares: FloatArray, rest: float) -> float:
        """−tr(𝒦 HᵀH)/(n−1)² + μ/2 ‖H‖², the Lagrangian at Z = E = 0; the program has ‖H‖."""
        sqnorm = float(sum_squares.sum()) + rest
        penalty = np.sqrt(sqnorm) if self.quirks else sqnorm
        return float(_FIRST_MU / 2 * penalty - kappa @ sum_squares)

    def _express(
        self, s: FloatArray, A: FloatArray, row_sums: RowSums, budget: Budget
    ) -> FloatArray:
        """min λ₁‖C‖_* + λ₂‖s(A − C)‖_{2,1} by the inexact augmented Lagrangian."""
        state = State(*(np.zeros_like(A) for _ in range(4)))
        mu = _FIRST_MU
        objectives: list[float] = []
        residuals: list[float] = []
        for n_done in range(self.max_iter):
            budget.tick(f"{n_done} iterations done")
            state, objective, rests = iterate(state, s, A, mu, (self.lam1, self.lam2))
            objectives.append(objective)
            residuals.append(largest_norm(rests))
            mu = min(_MU_GROWTH * mu, _LAST_MU)
            if row_sums.are_below(rests, self.tol):
                break
        else:
            msg = (
                f"The row sums of the residuals are not below tol={self.tol:g} after max_iter="
                f"{self.max_iter} iterations; their columns have norms up to {residuals[-1]:.1e}. "
                "Raise max_iter."
            )
            warnings.warn(msg, ConvergenceWarning, stacklevel=5)
        self.n_iter_ = len(residuals)
        self.objective_history_ = np.array(objectives)
        self.residual_history_ = np.array(residuals)
        return state.C
