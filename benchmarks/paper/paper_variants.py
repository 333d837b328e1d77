"""Variants compared with the figures of the paper: defaults, programs, published grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from manyview.study.grids import program_grid, published_grids

SINGLE_RUNS = 50  # of k-means on one embedding, as in the papers


@dataclass(frozen=True)
class Variant:
    """A method with some parameters; of several points the best counts, for each metric."""

    method: str
    name: str
    points: Sequence[Mapping[str, Any]] = ({},)
    rows: str = "shuffled"  # or "file"
    n_seeds: int = 3
    n_kmeans: int = 0  # if not 0: means over so many single k-means runs of the embedding

    @property
    def paper_method(self) -> str:
        """Name in the tables of the paper."""
        return self.method.removeprefix("published_")

    def once(self) -> Variant:
        """The same with one seed."""
        return replace(self, n_seeds=1)


def _program(method: str, name: str, points: Sequence[Mapping[str, Any]] = ({},)) -> Variant:
    """A program by the paper's protocol: rows in file order, single k-means runs."""
    once = [{**point, "n_init": 1} for point in points]
    return Variant(method, name, once, rows="file", n_seeds=1, n_kmeans=SINGLE_RUNS)


OMVCDR = [
    Variant("omvcdr", "default"),
    Variant("omvcdr", "rows in file order", rows="file"),
    Variant("omvcdr", "without smoothing (`smooth=False`)", [{"smooth": False}]),
    Variant("omvcdr", "views as given (`scale=None`)", [{"scale": None}]),
    Variant("omvcdr", "one space (`n_spaces=1`)", [{"n_spaces": 1}]),
]

PUBLISHED_OMVCDR = [
    Variant("published_omvcdr", "default"),
    Variant(
        "published_omvcdr", "published grid, rows in file order",
        published_grids()["published_omvcdr"], rows="file", n_seeds=1,
    ),
    Variant(
        "published_omvcdr", "`lam` 4, 8, 16, the best of each metric",
        [{"lam": lam} for lam in (4.0, 8.0, 16.0)],
    ),
    Variant(
        "published_omvcdr", "as printed (`variant=\"paper\"`, `lam=72`), rows in file order",
        [{"variant": "paper", "lam": 72.0}], rows="file", n_seeds=1,
    ),
]  # fmt: skip

FMR = [
    Variant("fmr", "default"),
    _program("fmr", "as its program (`quirks=True`)", program_grid("fmr")),
    _program("fmr", "`epsilon=100, lam2=1e-8`", [{"epsilon": 100.0, "lam2": 1e-8}]),
    _program("fmr", "`epsilon=1e12, lam2=1e-8`", [{"epsilon": 1e12, "lam2": 1e-8}]),
]

SFMC = [  # deterministic, so most lines are one run
    Variant("sfmc", "default"),
    Variant("sfmc", "as its program (`quirks=True`)", [{"quirks": True}], rows="file", n_seeds=1),
]

SMVSC = [
    Variant("smvsc", "default"),
    *(
        _program("smvsc", f"as its program, {times} anchors", [{"n_anchors": times}])
        for times in ("1k", "2k", "3k")
    ),
    _program(
        "smvsc", "as its first release (`weight_power=0.5`), 3k anchors",
        [{"n_anchors": "3k", "weight_power": 0.5}],
    ),
    _program("smvsc", "the objective minimized (`quirks=False`)", [{"quirks": False}]),
]  # fmt: skip

OPMC = [
    Variant("opmc", "default"),
    Variant("opmc", "as its program: the lowest of 100 starts", [{"n_init": 100}], rows="file",
            n_seeds=1),
    Variant("opmc", "one start", [{"n_init": 1}], rows="file", n_seeds=20),
    Variant(
        "opmc", "learned weights", [{"weighting": "learned"}], rows="file", n_seeds=1
    ),
]  # fmt: skip

FPMVS = [
    Variant("fpmvs", "default"),
    _program("fpmvs", "as its program"),
    _program("fpmvs", "the objective minimized (`quirks=False`)", [{"quirks": False}]),
]

LMVSC = [
    Variant("lmvsc", "default"),
    _program("lmvsc", "as its program, 50 anchors, `alpha=1`", [{"quirks": True}]),
    _program("lmvsc", "as its program, published grid", program_grid("lmvsc")),
    _program("lmvsc", "the paper's formula, published grid", published_grids()["lmvsc"]),
]

AWMVC = [
    Variant("awmvc", "default"),
    _program("awmvc", "as its present program"),
    _program("awmvc", 'as its first release (`weighting="learned"`)', program_grid("awmvc")),
    _program("awmvc", "the minimizing weights (`weight_power=1`)", [{"weight_power": 1.0}]),
]

OTHERS = [
    Variant("ksums", "default"),
    Variant("ksums", "z-scores", [{"scale": "z"}]),
    Variant("matrix_factorization", "default"),
    Variant("matrix_factorization", "z-scores", [{"scale": "z"}]),
    Variant("concat_kmeans", "default"),
    Variant("concat_kmeans", "views as given", [{"scale": None}]),
    Variant("concat_spectral", "default"),
    Variant("concat_spectral", "views as given", [{"scale": None}]),
    Variant("best_single_view", "default"),
    Variant("best_single_view", "views as given", [{"scale": None}]),
]

VARIANTS = [
    *OMVCDR, *PUBLISHED_OMVCDR, *FMR, *SFMC, *SMVSC, *OPMC, *FPMVS, *LMVSC, *AWMVC, *OTHERS,
]  # fmt: skip
