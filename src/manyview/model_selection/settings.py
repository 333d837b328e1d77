"""Choose the scaling and λ: several fits of some rows, scored by the neighbors in single views.

F cannot be compared across scalings, and a stable fit may be a bad one. The neighbor graphs of each
view alone, with two scalings, are the same for all fits. A fit that keeps more of these neighbors
together has found more of what the views share; its modularity in these graphs, averaged, is
`view_modularity`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse

from manyview.data.scaling import scale_name
from manyview.data.views import MultiViewData
from manyview.engines import choose_engine
from manyview.exceptions import DataWarning
from manyview.model_selection.choice import SETTINGS, Choice
from manyview.model_selection.graph import join_neighbors, modularity
from manyview.model_selection.sample import locate
from manyview.solver.alternation import Schedule
from manyview.solver.fitting import fit
from manyview.solver.problem import Settings
from manyview.solver.progress import make_callback
from manyview.utils.types import IntArray

LAMS = (0.1, 5.0)  # tried in addition to the default
SCALES: tuple[str | None, ...] = ("l2", "z", "unit", None)  # tried in addition to the given one
GRAPH_SCALES = ("z", "l2")  # of single views; with z-scores, constant views have no coordinates
MOST_ROWS, ROWS_PER_CLUSTER = 1000, 20
FEWEST_ROWS = 20  # that have a view: fewer are uninformative
SCHEDULE = Schedule(n_init=2, max_iter=100, tol=1e-5)
TINY = float(np.finfo(np.float64).tiny)
CLEARLY = 0.02  # relative gain in view modularity that another setting must have
CLEAR = 0.9  # confidence from which on the settings hardly matter

Row: TypeAlias = dict[str, Any]
OnProgress: TypeAlias = Callable[[Row, int, int], None]
Scale: TypeAlias = str | Sequence[str] | None


@dataclass(frozen=True)
class _Setting:
    """A scaling and a λ."""

    scale: Scale
    lam: float

    @property
    def key(self) -> tuple[str, float]:
        """Identifies it in a table."""
        return scale_name(self.scale), self.lam

    def __str__(self) -> str:
        return f"scale={self.scale!r} and lam={self.lam:g}"


def tune(
    data: MultiViewData,
    choice: Choice,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    n_jobs: int | None,
    on_progress: OnProgress | None,
    rows: Iterable[Mapping[str, Any]],
) -> Choice:
    """The choice, with the scaling and λ of largest view modularity, if clearly larger."""
    current = _Setting(choice.scale, choice.lam)
    if n_clusters == 1:
        reason = "without clear clusters, settings cannot be compared."
        return replace(choice, advice=f"{_keep(current)}: {reason}")
    if choice.has_structure and choice.confidence >= CLEAR:
        reason = "the clusters are so clear that no other setting was tried."
        return replace(choice, advice=f"{_keep(current)}: {reason}")
    settings = [
        current,
        *(_Setting(current.scale, lam) for lam in LAMS),
        *(_Setting(scale, current.lam) for scale in SCALES if scale != current.scale),
    ]
    known = {(row["scale"], row["lam"]): dict(row) for row in rows}
    waiting = [setting for setting in settings if setting.key not in known]
    if waiting:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the user's own fit will warn
            judge = _Judge.of(data, n_clusters, rng)
            runs = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
                delayed(judge.view_modularity)(setting) for setting in waiting
            )
            for setting, found in zip(waiting, runs, strict=True):
                row = dict(zip(SETTINGS, (n_clusters, *setting.key, found), strict=False))
                known[setting.key] = row
                if on_progress is not None:
                    on_progress(row, len(known), len(settings))
    return _pick_setting(
        choice, settings, pd.DataFrame([known[setting.key] for setting in settings])
    )


@dataclass(frozen=True)
class _Judge:
    """Some rows and, for each view, the neighbor graphs of the rows that have it."""

    data: MultiViewData
    n_clusters: int
    graphs: Sequence[tuple[IntArray, sparse.csr_array]]
    seed: int

    @classmethod
    def of(cls, data: MultiViewData, n_clusters: int, rng: np.random.Generator) -> _Judge:
        n_rows = max(MOST_ROWS, ROWS_PER_CLUSTER * n_clusters)
        if data.n_samples > n_rows:
            data = data[np.sort(rng.choice(data.n_samples, n_rows, replace=False))]
        graphs = []
        for v, view in enumerate(data.views):
            present = np.arange(data.n_samples)
            if data.present is not None:
                present = np.flatnonzero(data.present[:, v])
            if len(present) < FEWEST_ROWS:
                continue
            alone = MultiViewData.of([view[present]])
            clouds = [locate(alone, scale, rng).points for scale in GRAPH_SCALES]
            if clouds[0].shape[1] > 0:
                graphs += [(present, join_neighbors(points)) for points in clouds]
        return cls(data, n_clusters, graphs, int(rng.integers(2**31)))

    def view_modularity(self, setting: _Setting) -> float:
        """Mean modularity of the clusters of a fit in the neighbor graphs of single views."""
        engine = choose_engine("memory", "cpu", self.data)
        engine.load(self.data, None)
        settings = settings_of(self.n_clusters, setting.lam, setting.scale)
        rng = np.random.default_rng(self.seed)
        names = self.data.view_names
        fit(engine, settings, SCHEDULE, names, rng, make_callback(None, 0), lambda *_: None)
        labels = engine.gather("labels")
        found = [modularity(graph, labels[rows], self.n_clusters) for rows, graph in self.graphs]
        return float(np.mean(found)) if found else 0.0


def settings_of(n_clusters: int, lam: float, scale: Scale) -> Settings:
    """Settings of OMVCDR with all other parameters at their defaults."""
    return Settings(n_clusters, lam, 3, None, scale, 3.0, smooth=scale == "auto")


def _pick_setting(choice: Choice, settings: Sequence[_Setting], table: pd.DataFrame) -> Choice:
    """Take the best setting if it is clearly better than the first, which is the current one."""
    now = float(table["view_modularity"].iloc[0])
    table["gain"] = (table["view_modularity"] - now) / max(abs(now), TINY)
    best = int(table["gain"].argmax())
    gain = float(table["gain"].iloc[best])
    measure = "keeps the neighbors of single views together"
    if gain <= CLEARLY:
        near = f"; {settings[best]} is {gain:.1%} better" if best else ""
        advice = f"{_keep(settings[0])}: no other setting {measure} clearly better{near}."
        return replace(choice, advice=advice, settings=table)
    chosen = settings[best]
    advice = f"Use {chosen}: the fit {measure} {gain:.0%} better than with {settings[0]}."
    return replace(choice, scale=chosen.scale, lam=chosen.lam, advice=advice, settings=table)


def _keep(setting: _Setting) -> str:
    return f"Keep {'the defaults, ' if setting.scale == 'auto' else ''}{setting}"
