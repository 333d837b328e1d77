"""Which fixed scaling suits each other method best, over all data sets.

    python -m benchmarks.quality.bench_rivals            # all sets of MANYVIEW_DATA; resumes

Every baseline is run under every scaling of OMVCDR on at most 1000 samples of each set, one seed;
its scaling of highest mean NMI is the one that the scoreboard shows it with, beside its default.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from manyview.baselines import BASELINES
from manyview.data.scaling import SCALINGS
from manyview.data.views import MultiViewData
from manyview.datasets.benchmark_sets import benchmark_files, load_benchmark
from manyview.exceptions import DeclinedError, ViewError
from manyview.metrics import evaluate
from manyview.study.prescaled import Prescaled
from manyview.utils.threads import limit_threads

TABLE = Path(__file__).parents[2] / "docs" / "results" / "rival_scalings.csv"
ROWS = 1000
SCALES = (None, *SCALINGS)
LARGE = "mnist70k_4v"  # not in the scoreboard


def main() -> None:
    """Run what is not in the table yet."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of one run")
    options = parser.parse_args()
    rows = pd.read_csv(TABLE, keep_default_na=False).to_dict("records") if TABLE.exists() else []
    known = {(row["data"], row["method"], row["scale"]) for row in rows}
    for data in sorted(set(benchmark_files()) - {LARGE}):
        for method in BASELINES:
            for scale in SCALES:
                if (data, method, str(scale)) not in known:
                    rows.append(measure(data, method, scale, options.seconds))
        TABLE.parent.mkdir(exist_ok=True)
        pd.DataFrame(rows).to_csv(TABLE, index=False, float_format="%.5g")
        print(data, flush=True)


def measure(data: str, method: str, scale: str | None, seconds: float) -> dict[str, object]:
    """One row: a method under a scaling, on some rows of a set."""
    views, target = load_some(data)
    row: dict[str, object] = {"data": data, "method": method, "scale": str(scale)}
    model = Prescaled(
        len(np.unique(target)), method=method, scale=scale, random_state=0, time_limit=seconds
    )
    start = time.perf_counter()
    try:
        with limit_threads(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = evaluate(target, model.fit_predict(views))
    except (DeclinedError, ViewError, MemoryError, ValueError, np.linalg.LinAlgError) as error:
        return {**row, "acc": "", "nmi": "", "seconds": "", "reason": type(error).__name__}
    taken = time.perf_counter() - start
    return {**row, "acc": found["acc"], "nmi": found["nmi"], "seconds": taken, "reason": ""}


def load_some(data: str) -> tuple[MultiViewData, NDArray[Any]]:
    """At most `ROWS` samples of a benchmark set, and their classes."""
    views, target = load_benchmark(data, return_X_y=True)
    chosen = np.random.default_rng(0).permutation(len(target))[:ROWS]
    return views[chosen], target[chosen]


def best_scalings(table: pd.DataFrame) -> dict[str, str | None]:
    """The scaling of highest mean NMI of each method; a failed run counts as zero."""
    scores = table.assign(nmi=pd.to_numeric(table["nmi"], errors="coerce").fillna(0))
    means = scores.groupby(["method", "scale"])["nmi"].mean().unstack()
    return {str(m): None if s == "None" else str(s) for m, s in means.idxmax(axis=1).items()}


if __name__ == "__main__":
    main()
