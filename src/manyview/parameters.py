"""What the parameters of OMVCDR may be."""

from __future__ import annotations

from collections.abc import Sequence

from manyview.base import check_parameter, is_count, is_number
from manyview.model_selection.auto import CountsClusters
from manyview.readings import SCALINGS, is_scale

__all__ = ["CheckedParameters"]


class CheckedParameters(CountsClusters):
    """Refuses what makes no sense, before any work."""

    lam: float
    n_spaces: int
    latent_dims: Sequence[int] | None
    smooth: bool | str
    weight_exponent: float
    init: str
    n_init: int
    max_iter: int
    tol: float
    memory_limit: float | None

    def _check_parameters(self) -> None:
        self._check_n_clusters()
        check_parameter("lam", self.lam, is_number(self.lam) and self.lam > 0, "a number > 0")
        check_parameter("n_spaces", self.n_spaces, is_count(self.n_spaces), "an integer >= 1")
        dims = self.latent_dims
        fits = dims is None or (len(dims) > 0 and all(map(is_count, dims)))
        check_parameter("latent_dims", dims, fits, "None or a sequence of integers >= 1")
        gamma = self.weight_exponent
        check_parameter("weight_exponent", gamma, is_number(gamma) and gamma > 1, "a number > 1")
        expected = f"None, 'auto', one of {SCALINGS} or a list of those"
        check_parameter("scale", self.scale, is_scale(self.scale), expected)
        smooth = self.smooth
        is_flag = isinstance(smooth, bool) or smooth == "auto"
        check_parameter("smooth", smooth, is_flag, "True, False or 'auto'")
        check_parameter(
            "init", self.init, self.init in ("k-means++", "random"), "'k-means++' or 'random'"
        )
        check_parameter("n_init", self.n_init, is_count(self.n_init), "an integer >= 1")
        check_parameter("max_iter", self.max_iter, is_count(self.max_iter), "an integer >= 1")
        check_parameter("tol", self.tol, is_number(self.tol) and self.tol >= 0, "a number >= 0")
        limit = self.memory_limit
        is_limit = limit is None or (is_number(limit) and limit > 0)
        check_parameter("memory_limit", limit, is_limit, "None or a number of bytes")
        jobs = self.n_jobs
        check_parameter("n_jobs", jobs, jobs is None or is_count(jobs), "None or an integer >= 1")
