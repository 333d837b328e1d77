"""Write the figures of lifelines that tests compare with: tests/inspection/lifelines.json.

Needs lifelines, which is no dependency: pip install lifelines, in an environment of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lifelines
import numpy as np
from lifelines import KaplanMeierFitter
from lifelines.statistics import multivariate_logrank_test, pairwise_logrank_test

FIGURES = Path(__file__).parents[1] / "tests" / "inspection" / "lifelines.json"
N_SETS = 20


def main() -> None:
    """Draw the sets, and write times, events, groups and what lifelines makes of them."""
    figures = {"lifelines": lifelines.__version__, "sets": [draw(seed) for seed in range(N_SETS)]}
    text = json.dumps(shortened(figures), separators=(",", ":"))
    FIGURES.write_text(text, encoding="utf-8")
    print(f"{FIGURES}: {len(text) / 1000:.0f} kB")


def draw(seed: int) -> dict[str, Any]:
    """One set of two to five groups; every other one has ties."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(15, 60)), int(rng.integers(2, 6))
    group = rng.integers(k, size=n)
    time = rng.exponential(100 * (1 + group * rng.random()))
    if seed % 2:
        time = np.ceil(time / 20) * 20
    time, event = np.round(time, 1), rng.random(n) < rng.uniform(0.3, 1)
    test = multivariate_logrank_test(time, group, event)
    pairs = pairwise_logrank_test(time, group, event).summary.iterrows() if k > 2 else ()
    return {
        "time": time.tolist(),
        "event": event.astype(int).tolist(),
        "group": group.tolist(),
        "statistic": float(test.test_statistic),
        "p": float(test.p_value),
        "curves": {str(c): curve(time[group == c], event[group == c]) for c in np.unique(group)},
        "pairs": [[int(a), int(b), row["test_statistic"], row["p"]] for (a, b), row in pairs],
    }


def curve(time: Any, event: Any) -> dict[str, Any]:
    """Kaplan-Meier of one group, without the moment zero."""
    fitted = KaplanMeierFitter().fit(time, event)
    bounds, median = fitted.confidence_interval_, fitted.median_survival_time_
    return {
        "time": fitted.survival_function_.index[1:].tolist(),
        "survival": fitted.survival_function_.iloc[1:, 0].tolist(),
        "low": bounds.iloc[1:, 0].tolist(),
        "high": bounds.iloc[1:, 1].tolist(),
        "at_risk": fitted.event_table["at_risk"].astype(int).tolist()[1:],
        "median": None if np.isinf(median) else float(median),
    }


def shortened(value: Any) -> Any:
    """Numbers with nine digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, list):
        return [shortened(item) for item in value]
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    return value


if __name__ == "__main__":
    main()
