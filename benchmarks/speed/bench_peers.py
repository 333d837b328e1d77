"""Whole fits compared with k-means, faiss and other packages: time, memory and quality.

All get the same float32 views, on as many threads as the environment allows; methods for a single
array get the views concatenated before the clock starts. Each fit has a process of its own, a
limit of time and one of memory; loading and compilation are not timed. Sets grow: a method that a
limit stops on one set is not tried on larger ones. See `peers.py` for what to install; a package
that is missing is listed with its error.

    python -m benchmarks.speed.bench_peers [--quick] [--sets hdigit] [--seconds 60]
        [--gigabytes 12] [--out FILE]
"""

from __future__ import annotations

import resource
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import apart, end_after, machine, peak_of, version_of
from benchmarks.page import keep_rows, parser_for, results_file
from benchmarks.speed.peers import PEERS, Peer
from manyview import OMVCDR
from manyview.datasets import load_benchmark, make_multiview_blobs
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.metrics import evaluate

BLOBS = {
    "blobs 2000 × (30, 50)": (2000, (30, 50)),
    "blobs 200000 × (300, 500)": (200_000, (300, 500)),
}
SMALL, LARGE = BLOBS
SETS = ("handwritten_6v", "hdigit", "mnist70k_4v", LARGE)  # smallest first
SEPARATION = 4.0  # of the blobs: not all methods find all of them
REFERENCE = "KMeans(n_init=1)"
OURS = ("OMVCDR(scale=None, n_init=1)", "OMVCDR()")
AS_GOOD = 0.01  # tolerance in NMI
N_SEEDS = 3
LIMITED = ("stopped", "out of memory")


def write_sets(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Views of each set as a file that is quick to read; real ones if their files exist."""
    for name in names:
        if name in BLOBS:
            yield _write(folder / f"{name}.npz", *_draw(*BLOBS[name]))
        elif name in benchmark_files():
            yield _write(folder / f"{name}.npz", *load_benchmark(name, return_X_y=True))
        else:
            print(f"{name}: no file; set MANYVIEW_DATA to the folder of the benchmark files")


def _draw(n: int, widths: tuple[int, int]) -> tuple[Any, Any]:
    return make_multiview_blobs(
        n,
        widths,
        n_clusters=10,
        separation=SEPARATION,
        dtype=np.float32,
        random_state=0,
        return_X_y=True,
    )


def _write(path: Path, data: Any, target: Any) -> Path:
    views = {f"view_{v}": np.asarray(X, dtype=np.float32) for v, X in enumerate(data.views)}
    np.savez(path, target=target, **views)
    return path


def fit_once(peer: Peer, path: Path, seed: int, seconds: float, n_bytes: float) -> dict[str, Any]:
    """Time, memory and quality of one fit."""
    warnings.simplefilter("ignore")
    with np.load(path) as file:
        target = file["target"]
        views = [file[name] for name in file.files if name != "target"]
    if peer.package == "manyview":
        OMVCDR(2, random_state=0, **peer.parameters).fit([X[:100] for X in views])  # compile
    fit = peer.fitter(views, len(np.unique(target)), seed)
    resource.setrlimit(resource.RLIMIT_DATA, (int(n_bytes),) * 2)
    end_after(seconds)
    try:
        labels, cost = peak_of(fit)
    except MemoryError:
        reason = f"needs more than {n_bytes / 1e9:g} GB"
        return {"status": "out of memory", "reason": reason}
    end_after(0)
    scores = evaluate(target, labels)
    view_bytes = sum(X.nbytes for X in views)
    return {**cost, "view_bytes": view_bytes, "acc": scores["acc"], "nmi": scores["nmi"]}


def run(
    folder: Path, sets: Sequence[str], n_seeds: int, seconds: float, n_bytes: float
) -> Iterator[dict[str, Any]]:
    """Rows of all sets, peers and seeds, slow peers with fewer seeds."""
    too_large: dict[str, str] = {}
    for path in write_sets(folder, sets):
        for peer in PEERS:
            known = {"data": path.stem, "method": peer.name, "package": peer.package}
            known["version"] = version_of(peer.package)
            if peer.name in too_large:
                yield {**known, "status": "not tried", "reason": too_large[peer.name], **machine()}
                continue
            used = 0.0
            for seed in range(n_seeds):
                row = apart(fit_once, peer, path, seed, seconds, n_bytes)
                if row["status"] == "stopped":
                    row["reason"] = f"not finished within {seconds:g} s"
                yield {**known, "seed": seed, "limit_s": seconds, **row, **machine()}
                if row["status"] in LIMITED:
                    too_large[peer.name] = f"{row['status']} on {path.stem}"
                used += row.get("seconds", np.inf)
                if used > seconds / 3:
                    break
        path.unlink()


def summary(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Medians of each method that finished on a set, and time relative to one k-means."""
    done = rows[(rows["data"] == name) & (rows["status"] == "done")]
    columns = ["seconds", "acc", "nmi", "peak_bytes", "view_bytes"]
    table = done.groupby("method", sort=False)[columns].median()
    reference = table["seconds"].get(REFERENCE, np.nan)
    return table.assign(
        ratio=table["seconds"] / reference, memory=table["peak_bytes"] / table["view_bytes"]
    )


def verdict(table: pd.DataFrame, ours: str) -> str:
    """Which methods are as good as ours, and the fastest of them."""
    if ours not in table.index:
        return f"{ours} did not finish."
    others = table.drop(index=[name for name in OURS if name in table.index])
    equal = others[others["nmi"] >= table.loc[ours, "nmi"] - AS_GOOD].sort_values("seconds")
    asked = f"the NMI of {ours} (minus {AS_GOOD:g})"
    if equal.empty:
        return f"None of {len(others)} other methods reaches {asked}."
    best = equal.iloc[0]
    share = table.loc[ours, "seconds"] / best["seconds"]
    return (
        f"{len(equal)} of {len(others)} other methods reach {asked}; the fastest is "
        f"{equal.index[0]} with {best['seconds']:.2f} s: ours takes {share:.2f} ×."
    )


def show(rows: pd.DataFrame) -> None:
    """Print a table and a verdict for each set, and which methods did not finish and why."""
    for name, group in rows.groupby("data", sort=False):
        table = summary(rows, name)
        shown = table[["seconds", "ratio", "acc", "nmi", "memory"]]
        print(f"\n{name}; ratio to {REFERENCE}, memory to the size of the views")
        print(shown.to_string(float_format="{:.3f}".format))
        for ours in OURS:
            print(verdict(table, ours))
        for row in group[group["status"] != "done"].itertuples():
            print(f"{row.method}: {row.status}: {row.reason}")


def main() -> None:
    """Run, print the tables, and keep the rows."""
    parser = parser_for(__doc__, "small blobs, one seed")
    parser.add_argument("--sets", nargs="+", default=SETS, help="names, smallest first")
    parser.add_argument("--seconds", type=float, help="limit of one fit (full: 60, quick: 5)")
    parser.add_argument("--gigabytes", type=float, default=12, help="limit of memory of one fit")
    arguments = parser.parse_args()
    n_seeds, seconds = (1, 5) if arguments.quick else (N_SEEDS, 60)
    limits = (arguments.seconds or seconds, 1e9 * arguments.gigabytes)
    sets = [SMALL] if arguments.quick else arguments.sets
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for row in run(Path(folder), sets, n_seeds, *limits):
            rows.append(row)
            print(f"{row['data']}, {row['method']}: {row['status']}", flush=True)
    table = pd.DataFrame(rows)
    show(table)
    keep_rows(results_file("bench_peers", arguments), table)


if __name__ == "__main__":
    main()
