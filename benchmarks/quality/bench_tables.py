"""What estimated missing values and encoded categories are worth: docs/quality.md.

    python -m benchmarks.quality.bench_tables                       # sets of MANYVIEW_DATA
    python -m benchmarks.quality.bench_tables --also scmt_nan.npz   # and a set with NaN of its own
    python -m benchmarks.quality.bench_tables --quick               # a small set; no page

Single values of each set are removed at random, and filled by the mean or median of the feature, or
estimated as `--nan estimate` does; the labels of a default fit are compared with the classes. The
categories are simulated: four groups in eight numbers and six columns of text, beside columns of
text that say nothing.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.page import markdown, write_section
from manyview import OMVCDR
from manyview.datasets.benchmark_sets import benchmark_files
from manyview.io._completion import complete
from manyview.metrics import evaluate

SETS = ("synthetic3d", "msrcv1_5v", "yaleA_3v", "brca_jive", "handwritten_6v", "nutrimouse")
REMOVED = (0.0, 0.2, 0.5, 0.8)
MOST = 300  # samples of a set
N_DRAWS = 2
N_CATEGORY_DRAWS = 10
INFORMATIVE, NOISY = (2, 2, 3, 3, 5, 5), ((), (2, 10, 20), (10, 20, 30))
FILLS = ("mean", "median", "estimate")
ENCODINGS = ("indicators", "by root of share", "by root of categories", "by deviation")


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small set; no page")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="sets with NaN")
    parser.add_argument("--out", type=Path, default=Path("docs/results/tables.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/quality.md"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = pd.DataFrame([*missing(options.quick, options.also), *categories(options.quick)])
    text = summary(rows)
    print(text)
    if not options.quick:
        rows.to_csv(options.out, index=False, float_format="%.4f")
        write_section(options.page, "tables", text)


def missing(is_quick: bool, also: list[Path]) -> Iterator[dict[str, Any]]:
    """One row per set, share, draw and way to fill."""
    files = benchmark_files()
    for name in SETS[:1] if is_quick else SETS:
        views, target = load_some(files[name])
        for share in REMOVED[1:2] if is_quick else REMOVED:
            for draw in range(1 if is_quick or share == 0 else N_DRAWS):
                rng = np.random.default_rng(draw)
                holes = [np.where(rng.random(x.shape) < share, np.nan, x) for x in views]
                yield from fits(holes, target, draw, {"set": name, "removed": share})
    for path in also:
        views, target = load_some(path)
        for draw in range(N_DRAWS):
            yield from fits(views, target, draw, {"set": path.stem, "removed": np.nan})


def load_some(path: Path) -> tuple[list[Any], Any]:
    """Dense views and classes of at most `MOST` samples; NaN as they are."""
    with np.load(path, allow_pickle=False) as file:
        views = [
            file[f"view_{v}"].astype(float)
            for v in range(sum("view_" in key for key in file))
            if f"view_{v}" in file
        ]
        target = file["y"]
    rows = np.random.default_rng(0).permutation(len(target))[:MOST]
    return [view[rows] for view in views], target[rows]


def fits(
    holes: list[Any], target: Any, draw: int, known: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """A fit after each way to fill."""
    kept = [x[:, ~np.isnan(x).all(axis=0)] for x in holes]
    for fill in FILLS if any(np.isnan(x).any() for x in kept) else ("complete",):
        if fill == "estimate":
            views = [one.values for one in complete(kept)]
        else:
            middle = np.nanmedian if fill == "median" else np.nanmean
            views = [np.where(np.isnan(x), middle(x, axis=0), x) for x in kept]
        yield {"kind": "missing", **known, "draw": draw, "how": fill, **score(views, target, draw)}


def score(views: Any, target: Any, seed: int) -> dict[str, float]:
    """ACC, NMI and ARI of a default fit."""
    model = OMVCDR(len(np.unique(target)), random_state=seed, check_structure=False, n_jobs=1)
    found = evaluate(target, model.fit_predict(views))
    return {name: found[name] for name in ("acc", "nmi", "ari")}


def categories(is_quick: bool) -> Iterator[dict[str, Any]]:
    """One row per draw, number of columns that say nothing, and encoding."""
    for noisy in NOISY[:1] if is_quick else NOISY:
        for draw in range(1 if is_quick else N_CATEGORY_DRAWS):
            numbers, columns, target = draw_mixed(draw, noisy)
            for how in ENCODINGS:
                views = [numbers, encode(columns, how)]
                known = {"set": f"{len(noisy)} to {max(noisy, default=0)}", "draw": draw}
                yield {"kind": "categories", **known, "how": how, **score(views, target, draw)}


def draw_mixed(seed: int, noisy: tuple[int, ...], n: int = 400) -> tuple[Any, list[Any], Any]:
    """Numbers, codes of categories, and groups; two groups differ in categories alone."""
    rng = np.random.default_rng(seed)
    target = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    columns = []
    for n_kinds in INFORMATIVE:
        shares = rng.dirichlet(np.full(n_kinds, 1 / 3), 4)
        columns.append(np.array([rng.choice(n_kinds, p=shares[c]) for c in target]))
    columns += [rng.choice(k, n, p=rng.dirichlet(np.ones(k))) for k in noisy]
    centers = 1.5 * rng.normal(size=(4, 8))
    centers[1] = centers[0]
    return centers[target] + rng.normal(size=(n, 8)), columns, target


def encode(columns: list[Any], how: str) -> Any:
    """Indicators, as they are or divided."""
    parts = []
    for codes in columns:
        indicators = (codes[:, None] == np.unique(codes)).astype(float)
        shares, n_kinds = indicators.mean(axis=0), indicators.shape[1]
        divisor: Any = 1.0
        if how == "by root of share":
            divisor = np.sqrt(shares)
        elif how == "by root of categories":
            divisor = np.sqrt(shares * max(n_kinds - 1, 1))
        elif how == "by deviation":
            divisor = np.sqrt(np.sum(shares * (1 - shares)))
        parts.append(indicators / divisor)
    return np.hstack(parts)


def summary(rows: pd.DataFrame) -> str:
    """The tables of the page."""
    lines = []
    parts = rows[rows["kind"] == "missing"].groupby(["set", "removed"], sort=False, dropna=False)
    for (name, share), part in parts:
        means = part.groupby("how")[["acc", "nmi", "ari"]].mean()
        cells = [
            " / ".join(f"{value:.3f}" for value in means.loc[how]) if how in means.index else "–"
            for how in ("complete", *FILLS)
        ]
        lines.append([f"`{name}`", "its own" if np.isnan(share) else f"{share:.0%}", *cells])
    filled = markdown(["data", "removed", "complete", *FILLS], lines)
    of = rows[rows["kind"] == "categories"].groupby(["how", "set"], sort=False)["ari"].mean()
    table = of.unstack("set")
    lines = [
        [how, *(f"{ari:.3f}" for ari in line), f"{line.mean():.3f}"]
        for how, line in table.iterrows()
    ]
    coded = markdown(["divided", *table.columns, "mean"], lines)
    return (
        f"ACC / NMI / ARI, means of {N_DRAWS} draws, at most {MOST} samples:\n\n{filled}\n\n"
        f"ARI of mixed tables, means of {N_CATEGORY_DRAWS} draws; the columns name how many "
        "columns of text say nothing, and the most categories of one of them:\n\n"
        f"{coded}"
    )


if __name__ == "__main__":
    main()
