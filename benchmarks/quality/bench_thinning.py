"""Near-duplicates that were planted: what `thin` finds, beside the idea of SemDeDup.

Rows of two views (512 and 384 features, float32, in .npy files): a tenth are copies of others with
noise of 5 % of the norm in each view, of which a tenth lie half-way between two groups; another
tenth copy a row in the first view only, so they are no duplicates by all views. `thin` gets the
files; SemDeDup (Abbas et al. 2023) all rows in memory: k-means, and in each cluster a row is
dropped if its cosine to an earlier one is at least the threshold; on both views side by side, and
on the first. Recall: copies of which one of the pair is dropped; precision: dropped rows that are
of such a pair.

    python -m benchmarks.quality.bench_thinning [--quick] [--rows 100000]
        [--out docs/results/thinning.csv] [--page docs/curation.md]

The full run also writes the table into the page. Its time is that of the processor, of all threads.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from benchmarks.page import keep_rows, markdown, write_section
from manyview import MultiViewData, open_rows
from manyview.curation import thin
from manyview.utils.memory import peak_memory, start_peak

DIMS = (512, 384)
NOISE, THRESHOLD = 0.05, 0.99
PER_GROUP = 5000
BLOCK = 20_000


@dataclass(frozen=True)
class Planted:
    """Files of the views, and the pairs of rows that are alike in all of them."""

    paths: list[Path]
    pairs: np.ndarray  # (n, 2)


def plant(folder: Path, n: int, rng: np.random.Generator) -> Planted:
    """Write the views; copies stand anywhere."""
    n_copies = n // 10
    n_own, k = n - 2 * n_copies, max(10, n // PER_GROUP)
    group = rng.integers(k, size=n_own)
    source = rng.permutation(n_own)[: 2 * n_copies] if 2 * n_copies <= n_own else None
    assert source is not None
    place = rng.permutation(n)
    paths = []
    for v, d in enumerate(DIMS):
        paths.append(folder / f"view_{v}.npy")
        out = np.lib.format.open_memmap(paths[-1], "w+", np.float32, (n, d))
        centers = rng.normal(size=(k, d)).astype(np.float32)
        is_between = np.zeros(n_own, dtype=bool)
        is_between[source[: n_copies // 10]] = True
        for start in range(0, n_own, BLOCK):
            some = slice(start, min(start + BLOCK, n_own))
            other = np.where(is_between[some], (group[some] + 1) % k, group[some])
            middle = (centers[group[some]] + centers[other]) / 2
            noise = rng.standard_normal(middle.shape, dtype=np.float32)
            out[place[some]] = middle + noise
        for start in range(0, n_copies, BLOCK):
            some = slice(start, min(start + BLOCK, n_copies))
            out[place[n_own:][some]] = _noisy(out[place[source[some]]], rng)
            others = slice(n_copies + some.start, n_copies + some.stop)
            if v == 0:
                values = _noisy(out[place[source[others]]], rng)
            else:
                elsewhere = rng.integers(k, size=others.stop - others.start)
                values = centers[elsewhere] + rng.standard_normal(
                    (len(elsewhere), d), dtype=np.float32
                )
            out[place[n_own:][others]] = values
        out.flush()
    return Planted(paths, np.column_stack([place[source[:n_copies]], place[n_own:][:n_copies]]))


def _noisy(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows with noise of a share of their norm."""
    noise = rng.standard_normal(rows.shape, dtype=np.float32)
    size = np.linalg.norm(rows, axis=1) / np.linalg.norm(noise, axis=1)
    return rows + NOISE * size[:, None] * noise


def semdedup(X: np.ndarray, seed: int) -> np.ndarray:
    """Rows that the idea of SemDeDup drops."""
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    k = max(10, len(X) // PER_GROUP)
    some = np.random.default_rng(seed).permutation(len(X))[:BLOCK]
    model = KMeans(k, n_init=1, max_iter=10, init="random", random_state=seed).fit(X[some])
    labels, dropped = model.predict(X), np.zeros(len(X), dtype=bool)
    for c in range(k):
        rows = np.flatnonzero(labels == c)
        own = X[rows]
        order = np.argsort(own @ model.cluster_centers_[c])  # the farthest is kept
        own = own[order]
        for start in range(0, len(rows), 1000):
            cosine = own[: start + 1000] @ own[start : start + 1000].T
            is_earlier = np.arange(len(cosine))[:, None] < np.arange(start, start + cosine.shape[1])
            found = ((cosine >= THRESHOLD) & is_earlier).any(axis=0)
            dropped[rows[order[start : start + 1000]][found]] = True
    return dropped


def judge(dropped: np.ndarray, planted: Planted) -> dict[str, float]:
    """Recall and precision."""
    of_pairs = np.zeros(len(dropped), dtype=bool)
    of_pairs[planted.pairs] = True
    recall = dropped[planted.pairs].any(axis=1).mean()
    return {"recall": float(recall), "precision": float(of_pairs[dropped].mean())}


def run(n: int, seed: int) -> Iterator[dict[str, Any]]:
    """A row of each method."""
    with tempfile.TemporaryDirectory() as folder:
        planted = plant(Path(folder), n, np.random.default_rng(seed))
        data = MultiViewData.of([open_rows(path) for path in planted.paths])

        def joined() -> np.ndarray:
            views = [np.asarray(view) for view in data.views]
            return np.hstack([X / np.linalg.norm(X, axis=1, keepdims=True) for X in views])

        methods = {
            "thin": lambda: ~thin(data, scratch=folder).table["kept"].to_numpy(),
            "SemDeDup, views side by side": lambda: semdedup(joined(), seed),
            "SemDeDup, first view": lambda: semdedup(np.asarray(data.views[0]), seed),
        }
        for name, method in methods.items():
            start_peak()
            clock, cpu = time.perf_counter(), time.process_time()
            dropped = method()
            cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
            found = judge(dropped, planted)
            rate = {"seconds": clock, "cpu_seconds": cpu, "rows_per_cpu_second": n / cpu}
            yield {"method": name, "n": n, **found, **rate, "peak_mb": peak_memory() / 1e6}


def table(rows: pd.DataFrame) -> str:
    """The figures as a table."""
    lines = [
        [
            str(row["method"]),
            f"{row['n']:,}",
            f"{row['recall']:.4f}",
            f"{row['precision']:.4f}",
            f"{row['rows_per_cpu_second']:,.0f}",
        ]
        for _, row in rows.iterrows()
    ]
    return markdown(["method", "rows", "recall", "precision", "rows per second of CPU"], lines)


def main() -> None:
    """Run, keep the rows, print the figures, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5000 rows; no page")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("docs/results/thinning.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/curation.md"))
    arguments = parser.parse_args()
    rows = pd.DataFrame(run(5000 if arguments.quick else arguments.rows, 0)).round(4)
    text = table(rows)
    print(text)
    print(rows.to_string())
    if arguments.quick:
        return
    keep_rows(arguments.out, rows)
    write_section(arguments.page, "thinning", text)


if __name__ == "__main__":
    main()
