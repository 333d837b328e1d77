"""Variants compared with the figures of the paper: default, published grid, explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from manyview.study.grids import published_grids


@dataclass(frozen=True)
class Variant:
    """A method with some parameters; of several points the best counts, for each metric."""

    method: str
    name: str
    points: Sequence[Mapping[str, Any]] = ({},)
    rows: str = "shuffled"  # or "file"
    n_seeds: int = 3
    preparation: str | None = None  # of `prepared.PREPARATIONS`

    @property
    def paper_method(self) -> str:
        """Name in the tables of the paper."""
        return self.method.removeprefix("published_")

    def once(self) -> Variant:
        """The same with one seed."""
        return replace(self, n_seeds=1)


def _single(method: str) -> list[dict[str, Any]]:
    """The published grid, with one final k-means run per point, as in the papers."""
    return [{**point, "n_init": 1} for point in published_grids().get(method, [{}])]


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
    Variant("fmr", "`epsilon=1e6`", [{"epsilon": 1e6}]),
    Variant("fmr", "`epsilon=1e4`", [{"epsilon": 1e4}]),
    Variant("fmr", "`epsilon=100`", [{"epsilon": 100.0}]),
    Variant("fmr", "`epsilon=100, lam2=1e-8`", [{"epsilon": 100.0, "lam2": 1e-8}]),
    Variant("fmr", "`epsilon=1e12, lam2=1e-8`", [{"epsilon": 1e12, "lam2": 1e-8}]),
    Variant("fmr", "`epsilon=2, lam2=1e-8`", [{"epsilon": 2.0, "lam2": 1e-8}]),
    Variant(
        "fmr", "`epsilon=100, lam2=1e-8`, z-scores",
        [{"epsilon": 100.0, "lam2": 1e-8}], preparation="z-scores",
    ),
    Variant(
        "fmr", "`epsilon=100, lam2=1e-8`, min-max",
        [{"epsilon": 100.0, "lam2": 1e-8}], preparation="min-max",
    ),
    Variant("fmr", "`quirks=True`", [{"quirks": True}]),
]  # fmt: skip

SFMC = [  # deterministic, so most lines are one run
    Variant("sfmc", "default"),
    Variant("sfmc", "the program, rows in file order", [{"quirks": True}], rows="file", n_seeds=1),
    Variant("sfmc", "views with noise of 1e-6 (other anchors)", preparation="noise"),
    Variant(
        "sfmc",
        "a tenth of the samples as anchors (`anchor_rate=0.1`)",
        [{"anchor_rate": 0.1}],
        n_seeds=1,
    ),
    Variant(
        "sfmc",
        "a fifth of the samples as anchors (`anchor_rate=0.2`)",
        [{"anchor_rate": 0.2}],
        n_seeds=1,
    ),
    *(Variant("sfmc", f"{m} anchors", [{"n_anchors": m}]) for m in (50, 60, 80, 100, 120, 150)),
    Variant("sfmc", "100 anchors, noise of 1e-6", [{"n_anchors": 100}], preparation="noise"),
    Variant("sfmc", "50 anchors, noise of 1e-6", [{"n_anchors": 50}], preparation="noise"),
    Variant("sfmc", "5 neighbors", [{"n_neighbors": 5}], n_seeds=1),
    Variant("sfmc", "weights updated once (`max_iter=1`)", [{"max_iter": 1}], n_seeds=1),
    Variant("sfmc", "unit rows", n_seeds=1, preparation="unit rows"),
    Variant("sfmc", "z-scores", n_seeds=1, preparation="z-scores"),
    Variant("sfmc", "min-max", n_seeds=1, preparation="min-max"),
    Variant("sfmc", "X / max X rounded to integers", n_seeds=1, preparation="rounded"),
]

SMVSC = [
    Variant("smvsc", "default"),
    Variant("smvsc", "published grid", _single("smvsc")),
    Variant("smvsc", "the program, k anchors", [{"quirks": True, "n_init": 1}]),
    Variant(
        "smvsc", "the program, published grid",
        [{**point, "quirks": True} for point in _single("smvsc")],
    ),
    Variant(
        "smvsc", "the program, k anchors, rows in file order",
        [{"quirks": True, "n_init": 1}], rows="file",
    ),
    Variant(
        "smvsc", "the program, published grid, rows in file order",
        [{**point, "quirks": True} for point in _single("smvsc")], rows="file",
    ),
    Variant(
        "smvsc", "the program, k anchors, views as given",
        [{"quirks": True, "n_init": 1, "scale": None}],
    ),
]  # fmt: skip

OPMC = [
    Variant("opmc", "default"),
    Variant("opmc", "equal weights", [{"weighting": "equal"}]),
    Variant(
        "opmc", "equal weights, 30 starts, empty clusters stay",
        [{"weighting": "equal", "n_init": 30, "fill_empty": False}],
    ),
    Variant("opmc", "equal weights, each sample standardized (`scale=\"row-z\"`)",
            [{"weighting": "equal", "scale": "row-z"}]),
    Variant("opmc", "equal weights, views as given", [{"weighting": "equal", "scale": None}]),
    Variant("opmc", "equal weights, unit rows", [{"weighting": "equal", "scale": "l2"}]),
    Variant("opmc", "learned weights, unit rows", [{"scale": "l2"}]),
    Variant("opmc", "learned weights, views as given", [{"scale": None}]),
    Variant("opmc", "equal weights, z-scores with unit rows",
            [{"weighting": "equal", "scale": "z-l2"}]),
    Variant("opmc", "equal weights, one start", [{"weighting": "equal", "n_init": 1}]),
    Variant("opmc", "equal weights, min-max", [{"weighting": "equal", "scale": None}],
            preparation="min-max"),
]  # fmt: skip

FPMVS = [
    Variant("fpmvs", "default"),
    Variant("fpmvs", "the program (`quirks=True`)", [{"quirks": True, "n_init": 1}]),
    Variant(
        "fpmvs", "the program, rows in file order",
        [{"quirks": True, "n_init": 1}], rows="file",
    ),
    Variant("fpmvs", "the program, views as given",
            [{"quirks": True, "n_init": 1, "scale": None}]),
]  # fmt: skip

LMVSC = [
    Variant("lmvsc", "default"),
    Variant("lmvsc", "published grid", _single("lmvsc")),
    Variant(
        "lmvsc", "the program (`quirks=True`), published grid",
        [{**point, "quirks": True} for point in _single("lmvsc")],
    ),
    Variant("lmvsc", "z-scores", [{"scale": "z"}]),
]  # fmt: skip

AWMVC = [
    Variant("awmvc", "default"),
    Variant("awmvc", "one k-means run", [{"n_init": 1}]),
    Variant(
        "awmvc", "the program: rows in file order, `weight_power=0.5`, one k-means run",
        [{"weight_power": 0.5, "n_init": 1}], rows="file",
    ),
    *(
        Variant("awmvc", f"the same, {n} iterations",
                [{"weight_power": 0.5, "n_init": 1, "max_iter": n}], rows="file")
        for n in (2, 3, 5, 10)
    ),
    Variant("awmvc", "random start", [{"init": "random", "n_init": 1}]),
    Variant("awmvc", "rows in file order, `tol=0.01`", [{"tol": 0.01, "n_init": 1}], rows="file"),
    Variant("awmvc", "one space", [{"n_spaces": 1, "n_init": 1}]),
    Variant("awmvc", "two spaces", [{"n_spaces": 2, "n_init": 1}]),
    Variant("awmvc", "views as given", [{"scale": None, "n_init": 1}]),
    Variant("awmvc", "unit rows", [{"scale": "l2", "n_init": 1}]),
    Variant("awmvc", "z-scores with unit rows", [{"scale": "z-l2", "n_init": 1}]),
    Variant("awmvc", "each sample standardized", [{"scale": None, "n_init": 1}],
            preparation="standardized samples"),
    Variant("awmvc", "min-max", [{"scale": None, "n_init": 1}], preparation="min-max"),
    Variant("awmvc", "first view alone", [{"n_init": 1}], preparation="first view"),
    Variant("awmvc", "second view alone", [{"n_init": 1}], preparation="second view"),
]  # fmt: skip

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
