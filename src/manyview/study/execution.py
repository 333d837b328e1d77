"""One run: load, remove view rows, shuffle, fit, measure. Failures give a row, too."""

from __future__ import annotations

import hashlib
import json
import platform
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from manyview._version import __version__
from manyview.baselines._finish import unit_rows
from manyview.data.views import MultiViewData
from manyview.datasets import load_benchmark
from manyview.exceptions import DeclinedError, ViewError
from manyview.metrics import evaluate
from manyview.study.grids import resolved
from manyview.study.methods import Method
from manyview.utils.memory import peak_memory, start_peak
from manyview.utils.threads import limit_threads

WARM_UP_ROWS = 64


@dataclass(frozen=True)
class Run:
    """One run of a benchmark: a method on a data set with one seed."""

    data: str
    method: Method
    seed: int
    version: str
    rows: str = "shuffled"  # or "file"
    missing_rate: float = 0.0
    time_limit: float | None = None
    memory_limit: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)  # a point of the method's grid
    content: str | None = None  # digest of the data set
    n_kmeans: int = 0  # if not 0: the scores are means over so many k-means runs of the embedding

    @property
    def identity(self) -> dict[str, Any]:
        """Cache key of a row, without the limits."""
        return {
            "data": self.data,
            "content": self.content,
            "method": self.method.name,
            "version": self.version,
            "parameters": {**self.method.parameters, **self.parameters},
            "seed": self.seed,
            "rows": self.rows,
            "missing_rate": self.missing_rate,
            **({"n_kmeans": self.n_kmeans} if self.n_kmeans else {}),
        }

    @property
    def key(self) -> str:
        """Digest of the identity; also the name of the file with the labels."""
        return key_of(self.identity)

    @property
    def key_by_name(self) -> str:
        """The key in rows that know their data set by its name alone."""
        return key_of({name: value for name, value in self.identity.items() if name != "content"})

    @property
    def header(self) -> dict[str, Any]:
        """First columns of the row of this run, whatever its status."""
        return {**self.identity, "key": self.key, **self.limits}

    @property
    def limits(self) -> dict[str, float | None]:
        """Limits of time and memory."""
        return {"time_limit": self.time_limit, "memory_limit": self.memory_limit}


def key_of(identity: Mapping[str, Any]) -> str:
    """Digest of what tells a row from all others."""
    text = json.dumps(identity, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def execute(
    run: Run, data_home: Path | None, on_fit: Callable[[], None]
) -> tuple[dict[str, Any], NDArray[np.int32] | None]:
    """Row of a run, and its labels in file order; failures give a row, too.

    `on_fit` is called when all is loaded and compiled, right before the fit.
    """
    row = {**run.header, "versions": versions()}
    try:
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measured, labels = _measure(run, data_home, on_fit)
    except (DeclinedError, ViewError, MemoryError) as error:
        return {**row, "status": "declined", "reason": _sentence(error)}, None
    except Exception as error:  # methods of users may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        reason = (
            f"{type(error).__name__}: {_sentence(error)} ({Path(last.filename).name}:{last.lineno})"
        )
        return {**row, "status": "failed", "reason": reason}, None
    return {**row, "status": "done", "reason": "", **measured}, labels


def _measure(
    run: Run, data_home: Path | None, on_fit: Callable[[], None]
) -> tuple[dict[str, Any], NDArray[np.int32]]:
    """Fit and measure; compilation and loading are not timed."""
    data, target = _load(run.data, data_home)
    n_clusters = len(np.unique(target))
    order = np.arange(len(target))
    rng = np.random.default_rng(run.seed)
    if run.rows == "shuffled":
        order = rng.permutation(len(target))
    views = _hide(data[order], run.missing_rate, rng)
    given = {"n_clusters": n_clusters, "random_state": run.seed, **run.limits}
    model = run.method.make(**given, **resolved(run.parameters, n_clusters))
    is_ours = run.method.target.startswith("manyview.")
    _warm_up(run, views)
    on_fit()
    before = start_peak()
    start = time.perf_counter()
    shuffled = np.asarray(model.fit_predict(views if is_ours else list(views.views)))
    seconds = time.perf_counter() - start
    labels = np.empty(len(order), dtype=np.int32)
    labels[order] = np.unique(shuffled, return_inverse=True)[1]
    return {
        **evaluate(target, labels),
        **(kmeans_scores(model.embedding_, target[order], run.n_kmeans) if run.n_kmeans else {}),
        "n_samples": len(target),
        "n_clusters_found": len(np.unique(labels)),
        "seconds": seconds,
        "peak_memory": max(peak_memory() - before, 0),
        "n_iter": _last(model, "n_iter_"),
        "objective": _last(model, "objective_history_", "inertia_"),
        "scaling": scaling_of(model),
    }, labels


def kmeans_scores(
    embedding: NDArray[Any], target: NDArray[np.int64], n_runs: int
) -> dict[str, float]:
    """Mean and standard deviation of the scores of single k-means runs, as in the papers.

    Runs start from random rows of the embedding, whose rows are scaled to norm one.

    Parameters
    ----------
    embedding : array of shape (n_samples, n_dims)
        What a method clusters at its end.
    target : array of shape (n_samples,)
        Known classes.
    n_runs : int
        Number of runs.

    Returns
    -------
    dict of str to float
        Means by the names of `evaluate`, deviations with ``_std`` after it.
    """
    rows, k = unit_rows(embedding), len(np.unique(target))
    runs = (
        KMeans(k, init="random", n_init=1, max_iter=100, random_state=seed).fit_predict(rows)
        for seed in range(n_runs)
    )
    scores = pd.DataFrame([evaluate(target, labels) for labels in runs])
    spread = scores.std(ddof=0).add_suffix("_std")
    return {str(name): float(value) for name, value in [*scores.mean().items(), *spread.items()]}


def scaling_of(model: Any) -> str:
    """How a method has scaled the views: as found in a fit, else as asked for."""
    fitted = getattr(model, "scalings_", None)
    if fitted is not None:
        names = [scaling or "none" for _, scaling in fitted]
        return ", ".join(dict.fromkeys(names))
    if not hasattr(model, "scale"):
        return "its own"
    scale = model.scale
    return ", ".join(scale) if isinstance(scale, list | tuple) else scale or "none"


@lru_cache(maxsize=1)
def _load(name: str, data_home: Path | None) -> tuple[MultiViewData, NDArray[np.int64]]:
    data, target = load_benchmark(name, data_home=data_home, return_X_y=True)
    if target is None:
        msg = f"The data set {name!r} has no labels; expected some to score against. Leave it out."
        raise ViewError(msg)
    return data, target


def _hide(data: MultiViewData, rate: float, rng: np.random.Generator) -> MultiViewData:
    """Remove view rows at random; each sample keeps at least one."""
    if rate == 0:
        return data
    present = rng.random((data.n_samples, data.n_views)) >= rate
    lost = np.flatnonzero(~present.any(axis=1))
    present[lost, rng.integers(data.n_views, size=len(lost))] = True
    return MultiViewData.of(data, present=present)


_warmed: set[tuple[str, str]] = set()


def _warm_up(run: Run, data: MultiViewData) -> None:
    """Compile the kernels of the method, once per process and dtype."""
    key = (run.method.target, str(data.dtype))
    if key in _warmed or not run.method.target.startswith("manyview."):
        return
    _warmed.add(key)
    few = data[: min(WARM_UP_ROWS, data.n_samples)]
    try:
        run.method.make(n_clusters=2, random_state=0, time_limit=5.0).fit_predict(few)
    except Exception:
        return  # the run itself will report the error


def _last(model: Any, *names: str) -> float | None:
    """Last value of the first of these attributes that is not empty."""
    found = [np.ravel(one) for name in names if (one := getattr(model, name, None)) is not None]
    return next((float(values[-1]) for values in found if len(values)), None)


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries."""
    return {
        "manyview": __version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
