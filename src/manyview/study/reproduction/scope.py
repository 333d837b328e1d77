"""The scope of the study: data sets, methods, seeds and grid points, full or quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from manyview.datasets.benchmark_sets import benchmark_files, benchmark_folder, load_benchmark
from manyview.datasets.registry import DERIVED_SETS, PAPER_SETS, STAND_INS, PaperSet
from manyview.exceptions import ViewError
from manyview.study.execution import versions
from manyview.study.grids import program_grid
from manyview.study.methods import Method, find_method, known_methods

PUBLISHED = "published_omvcdr"
ENDS_IN_KMEANS = ("awmvc", "fmr", "fpmvs", "lmvsc", "smvsc")  # by the paper's observation 2
POWERS = tuple(range(-5, 6))  # of λ = 2^power
RIVALS = ("fmr", "sfmc", "smvsc", "opmc", "fpmvs", "lmvsc", "awmvc")  # in the paper's table
PAPER_ITERATIONS = 40  # by which OMVCDR converges, according to the paper
QUICK_SAMPLES = 3000  # largest data set of a quick study
QUICK_SETS = 2
QUICK_SECONDS = 135.0  # no run starts later; the last runs and the plots take longer
QUICK_LIMIT = 60.0  # seconds of a run
QUICK_TRACED = 10_000  # samples of the largest set of the paper that one fit is traced on
MEMORY_LIMIT = 8 * 10**9  # bytes per run


@dataclass(frozen=True)
class ReproduceRequest:
    """What the user asked for; empty sets or methods mean all."""

    quick: bool = False
    n_jobs: int = 1
    time_limit: float | None = None  # seconds per run; None: the default of the scope
    sets: Sequence[str] = ()
    methods: Sequence[str] = ()
    only: Literal["", "times", "report"] = ""  # "times": running time; "report": start no run


DERIVED_TITLES = {
    file: one.name for file, of in DERIVED_SETS.items() for one in PAPER_SETS if one.file == of
}


@dataclass(frozen=True)
class FoundSet:
    """A data set in the data folder, and the data set of the paper that it is, if any."""

    file: str
    n_samples: int
    n_features: tuple[int, ...]
    n_classes: int
    paper: PaperSet | None = None
    is_derived: bool = False  # other features of the samples of a set of the paper

    @property
    def title(self) -> str:
        """Name in the paper, or else the name of the file."""
        if self.is_derived:
            return f"{DERIVED_TITLES[self.file]} (derived features)"
        return self.paper.name if self.paper else self.file


@dataclass(frozen=True)
class Scope:
    """What a study covers."""

    sets: tuple[FoundSet, ...]
    methods: tuple[Method, ...]
    powers: tuple[int, ...]
    grids: Mapping[str, Sequence[Mapping[str, Any]]]
    n_seeds: int  # of the label-free protocol
    n_shuffles: int  # of the rows, for the published algorithm
    n_variant_shuffles: int  # of the rows, for the variants of the ablation
    n_kmeans: int  # runs on one embedding
    time_limit: float
    memory_limit: int
    seconds: float | None  # after which no run starts; None: no limit
    traced: tuple[FoundSet, ...]  # of a quick study, beside its sets: one fit each
    is_quick: bool

    @property
    def titles(self) -> dict[str, str]:
        """Names of the data sets by file."""
        return {one.file: one.title for one in (*self.sets, *self.traced)}

    @property
    def paper_sets(self) -> list[FoundSet]:
        """The data sets of the paper, then those derived from them; all if there are none."""
        paper = [one for one in self.sets if one.paper]
        return [*paper, *(one for one in self.sets if one.is_derived)] or list(self.sets)

    def facts(self, rows: Mapping[str, pd.DataFrame], out: Path) -> dict[str, Any]:
        """How the study was run: sizes, numbers of runs, command and versions."""
        status = pd.concat([frame["status"] for stage, frame in rows.items() if stage != "times"])
        options = " --quick" if self.is_quick else ""
        left_out = ("methods", "grids", "traced")
        amounts = {key: one for key, one in vars(self).items() if key not in left_out}
        return {
            **amounts,
            "sets": [one.title for one in self.sets],
            "n_runs": len(status),
            "n_done": int((status == "done").sum()),
            "n_waiting": int((status == "not run").sum()),
            "command": f"manyview reproduce{options} --out {out} --time-limit {self.time_limit:g}",
            "paper_iterations": PAPER_ITERATIONS,
            "versions": versions(),
        }


def find_sets(wanted: Sequence[str] = ()) -> list[FoundSet]:
    """Data sets with labels: first those of the paper, in its order, then the others by size.

    Beside sets of the paper, only what is derived from them, stand-ins and named files are read.
    """
    by_file = {one.file: one for one in PAPER_SETS}
    files = benchmark_files()
    known = {*by_file, *DERIVED_SETS, *STAND_INS, *wanted}
    has_paper = bool(by_file.keys() & files.keys())
    found = []
    for name in files:
        if has_paper and name not in known:
            continue
        data, target = load_benchmark(name, return_X_y=True)
        if target is not None:
            sizes = (data.n_samples, data.n_features, len(np.unique(target)))
            is_derived = DERIVED_SETS.get(name, name) not in files
            found.append(FoundSet(name, *sizes, by_file.get(name), is_derived))
    names = [*by_file, *DERIVED_SETS, *STAND_INS]
    order = {name: i for i, name in enumerate(names)}
    return sorted(found, key=lambda one: (order.get(one.file, len(order)), one.n_samples))


def set_scope(request: ReproduceRequest, found: Sequence[FoundSet]) -> Scope:
    """Scope of a request, given the data sets that were found."""
    sets = _chosen_sets(request, found)
    methods = tuple(find_method(name) for name in request.methods or known_methods())
    return Scope(
        sets=sets,
        methods=methods,
        powers=POWERS,
        grids=_grids(methods),
        n_seeds=1 if request.quick else 3,
        n_shuffles=2 if request.quick else 5,
        n_variant_shuffles=0 if request.quick else 1,
        n_kmeans=50,
        time_limit=request.time_limit or (QUICK_LIMIT if request.quick else 600.0),
        memory_limit=MEMORY_LIMIT,
        seconds=QUICK_SECONDS if request.quick else None,
        traced=_traced_sets(found, sets) if request.quick and not request.sets else (),
        is_quick=request.quick,
    )


def _chosen_sets(request: ReproduceRequest, found: Sequence[FoundSet]) -> tuple[FoundSet, ...]:
    """The named data sets; else those of the paper and stand-ins, a few small ones if quick."""
    sets = [one for one in found if not request.sets or one.file in request.sets]
    if not request.sets:
        known = [one for one in sets if one.paper or one.is_derived or one.file in STAND_INS]
        sets = known if any(one.paper for one in sets) else sets
        if request.quick:
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


def _traced_sets(found: Sequence[FoundSet], sets: Sequence[FoundSet]) -> tuple[FoundSet, ...]:
    """The sets of the paper that a single fit takes little time on, beside those of the study."""
    small = (one for one in found if one.paper and one.n_samples <= QUICK_TRACED)
    return tuple(one for one in small if one not in sets)


def _grids(methods: Sequence[Method]) -> dict[str, list[dict[str, Any]]]:
    """Grids of the programs; methods that end in k-means make one run of it in the fit."""
    published = {PUBLISHED: [{"lam": 2.0**power} for power in POWERS]}
    return published | {
        method.name: program_grid(method.name, n_init=1 if method.name in ENDS_IN_KMEANS else None)
        for method in methods
        if method.name != PUBLISHED
    }
