"""The scope of the study: data sets, methods, seeds and grid points, full or quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from manyview.datasets.benchmark_sets import benchmark_files, benchmark_folder, load_benchmark
from manyview.datasets.registry import PAPER_SETS, PaperSet
from manyview.exceptions import ViewError
from manyview.study.execution import versions
from manyview.study.grids import published_grids
from manyview.study.methods import Method, find_method, known_methods

PUBLISHED = "published_omvcdr"
ENDS_IN_KMEANS = ("awmvc", "fmr", "fpmvs", "lmvsc", "smvsc")  # by the paper's observation 2
POWERS = tuple(range(-5, 6))  # of λ = 2^power
QUICK_POWERS = (-5, 0, 3)
QUICK_SAMPLES = 3000  # largest data set of a quick study
QUICK_SETS = 2
QUICK_POINTS = 2  # of the grid of any other method
QUICK_SECONDS = 145.0  # no run starts later; the last runs and the plots take longer
MEMORY_LIMIT = 8 * 10**9  # bytes per run


@dataclass(frozen=True)
class ReproduceRequest:
    """What the user asked for; empty sets or methods mean all."""

    quick: bool = False
    n_jobs: int = 1
    time_limit: float | None = None  # seconds per run; None: the default of the scope
    sets: Sequence[str] = ()
    methods: Sequence[str] = ()


@dataclass(frozen=True)
class FoundSet:
    """A data set in the data folder, and the data set of the paper that it is, if any."""

    file: str
    n_samples: int
    n_features: tuple[int, ...]
    n_classes: int
    paper: PaperSet | None = None

    @property
    def title(self) -> str:
        """Name in the paper, or else the name of the file."""
        return self.paper.name if self.paper else self.file


@dataclass(frozen=True)
class Scope:
    """What a study covers."""

    sets: tuple[FoundSet, ...]
    methods: tuple[Method, ...]
    powers: tuple[int, ...]
    grids: Mapping[str, Sequence[Mapping[str, Any]]]
    n_seeds: int
    n_seeds_oracle: int
    n_seeds_elsewhere: int  # on data sets that are not in the paper
    n_shuffles: int  # of the rows, for the published algorithm
    n_kmeans: int  # of the two-step row
    time_limit: float
    memory_limit: int
    seconds: float | None  # after which no run starts; None: no limit
    is_quick: bool

    @property
    def paper_sets(self) -> list[FoundSet]:
        """The data sets of the paper, or all if there are none."""
        return [one for one in self.sets if one.paper] or list(self.sets)

    def facts(self, rows: Mapping[str, pd.DataFrame], out: Path) -> dict[str, Any]:
        """How the study was run: sizes, numbers of runs, command and versions."""
        status = pd.concat([frame["status"] for frame in rows.values()])
        options = " --quick" if self.is_quick else ""
        amounts = {key: one for key, one in vars(self).items() if key not in ("methods", "grids")}
        return {
            **amounts,
            "sets": [one.title for one in self.sets],
            "n_powers": len(POWERS),
            "n_points": QUICK_POINTS,
            "n_runs": len(status),
            "n_done": int((status == "done").sum()),
            "n_waiting": int((status == "not run").sum()),
            "command": f"manyview reproduce{options} --out {out} --time-limit {self.time_limit:g}",
            "versions": versions(),
        }


def find_sets() -> list[FoundSet]:
    """Data sets with labels: first those of the paper, in its order, then the others by size."""
    by_file = {one.file: one for one in PAPER_SETS}
    found = []
    for name in benchmark_files():
        data, target = load_benchmark(name, return_X_y=True)
        if target is not None:
            sizes = (data.n_samples, data.n_features, len(np.unique(target)))
            found.append(FoundSet(name, *sizes, by_file.get(name)))
    order = {name: i for i, name in enumerate(by_file)}
    return sorted(found, key=lambda one: (order.get(one.file, len(order)), one.n_samples))


def set_scope(request: ReproduceRequest, found: Sequence[FoundSet]) -> Scope:
    """Scope of a request, given the data sets that were found."""
    sets = _chosen_sets(request, found)
    methods = tuple(find_method(name) for name in request.methods or known_methods())
    powers = QUICK_POWERS if request.quick else POWERS
    return Scope(
        sets=sets,
        methods=methods,
        powers=powers,
        grids=_grids(methods, powers, request.quick),
        n_seeds=2 if request.quick else 10,
        n_seeds_oracle=1 if request.quick else 10,
        n_seeds_elsewhere=2 if request.quick else 3,
        n_shuffles=3 if request.quick else 5,
        n_kmeans=50,
        time_limit=request.time_limit or (15.0 if request.quick else 600.0),
        memory_limit=MEMORY_LIMIT,
        seconds=QUICK_SECONDS if request.quick else None,
        is_quick=request.quick,
    )


def _chosen_sets(request: ReproduceRequest, found: Sequence[FoundSet]) -> tuple[FoundSet, ...]:
    """The named data sets; else all, or a few small ones in a quick study."""
    sets = [one for one in found if not request.sets or one.file in request.sets]
    if request.quick and not request.sets:
        small = [one for one in sets if one.n_samples <= QUICK_SAMPLES]
        sets = ([one for one in small if one.paper] or small)[:QUICK_SETS]
    if not sets:
        wanted = " and ".join(map(repr, request.sets)) or "with labels"
        msg = (
            f"There is no benchmark set {wanted} in {benchmark_folder()}; expected .npz or .mat "
            "files. Set MANYVIEW_DATA to the folder with your files."
        )
        raise ViewError(msg)
    return tuple(sets)


def _grids(
    methods: Sequence[Method], powers: Sequence[int], is_quick: bool
) -> dict[str, list[dict[str, Any]]]:
    """Grids of the oracle protocol; methods that end in k-means use a single start of it."""
    published = published_grids() | {PUBLISHED: [{"lam": 2.0**power} for power in powers]}
    grids = {}
    for method in methods:
        points = published.get(method.name, [{}])
        if is_quick and method.name != PUBLISHED and len(points) > QUICK_POINTS:
            ends = np.linspace(0, len(points) - 1, QUICK_POINTS).round().astype(int)
            points = [points[i] for i in ends]
        more = {"n_init": 1} if method.name in ENDS_IN_KMEANS else {}
        grids[method.name] = [{**point, **more} for point in points]
    return grids
