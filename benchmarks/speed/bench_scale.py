"""What would a very large fit cost? A cost model for two views, calibrated on a small fit.

Views of 512 and 768 features, as of embeddings of images and their texts, in float32 and float16,
streamed from files with `scale=None, n_init=1`. A fit of some 40 000 samples gives the seconds that
do not depend on the number of samples, the seconds that grow with it, and the number of reads of
all rows; the disk is timed separately. From these, for n samples:

    seconds = fixed + n · max(computing, reads · bytes of a sample / rate of reading)

    python -m benchmarks.speed.bench_scale [--quick] [--again]
        [--out benchmarks/results/bench_scale.csv] [--page docs/scale.md]

The full run also writes its table into the page.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.page import keep_rows, markdown, write_section
from manyview import OMVCDR, MultiViewData, open_rows
from manyview.cost.calibration import calibrate, count_rows, some_rows
from manyview.cost.disk import Storage
from manyview.cost.estimate import STREAM_BLOCKS
from manyview.datasets import make_multiview_blobs
from manyview.engines.streaming import Plan
from manyview.solver.fitting import count_subset

WIDTHS = (512, 768)
SEPARATION = 3.0
CASES = [("float32", 100), ("float16", 100), ("float32", 1000)]
SAMPLES = {10**6: "10⁶", 10**7: "10⁷", 10**8: "10⁸", 10**9: "10⁹"}
STATE_BYTES = 20  # weight, group and label of a sample
MEMORY_LIMIT = 32e9


def measure(dtype: str, k: int, widths: tuple[int, ...], n: int) -> dict[str, Any]:
    """Coefficients of the cost model."""
    n_some = count_rows(n, sum(widths) * 4, k)
    blobs = make_multiview_blobs(
        n_some, widths, n_clusters=k, separation=SEPARATION, dtype=np.float32, random_state=0
    ).data
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{v}.npy" for v in range(len(widths))]
        for X, file in zip(blobs.views, files, strict=True):
            np.save(file, X.astype(dtype))
        data = MultiViewData.of([open_rows(file) for file in files])
        model = OMVCDR(k, scale=None, n_init=1, random_state=0)
        trial = calibrate(model, "stream", some_rows(data, n_some), n, is_checked=False)
        seconds_a_gb = Storage.of(data).seconds_to_read(1e9)
    fixed, growing = trial.seconds_for(10**6)
    plan = Plan.of(10**9, sum(widths) * 4, MEMORY_LIMIT)
    whole = replace(trial.footprint, n_samples=10**9, n_subset=count_subset(10**9, k))
    return {
        "dtype": dtype,
        "k": k,
        "features": sum(widths),
        "calibrated_on": n_some,
        "fixed_s": fixed,
        "computing_s_a_million": growing,
        "reads": trial.n_reads,
        "sample_bytes": sum(widths) * np.dtype(dtype).itemsize,
        "gb_a_second": 1 / seconds_a_gb,
        "memory_bytes_1e9": whole.bytes_held(plan.block_rows, STREAM_BLOCKS, plan.room),
        "scratch_bytes_a_sample": whole.made_row,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
    }


def run(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Rows of all cases."""
    cases = [("float32", 5)] if quick else CASES
    for dtype, k in cases:
        yield measure(dtype, k, (16, 24) if quick else WIDTHS, 20_000 if quick else 10**9)


def cost(row: dict[str, Any], n: int, gb_a_second: float) -> tuple[float, float]:
    """Seconds of computing and of reading, for n samples."""
    computing = row["fixed_s"] + row["computing_s_a_million"] * n / 1e6
    return computing, row["reads"] * row["sample_bytes"] * n / 1e9 / gb_a_second


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them."""
    for name, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {name}"
    return f"{seconds:.0f} s"


def table(rows: pd.DataFrame) -> str:
    """Cost of each case and number of samples."""
    lines = []
    for row in rows.to_dict("records"):
        for n in SAMPLES:
            computing, reading = cost(row, n, row["gb_a_second"])
            lines.append(
                [
                    SAMPLES[n],
                    row["dtype"],
                    str(row["k"]),
                    f"{row['sample_bytes'] * n / 1e9:,.0f} GB",
                    duration(reading),
                    duration(computing),
                    f"**{duration(max(reading, computing))}**",
                ]
            )
    header = ["samples", "type", "clusters", "views", "reading", "computing", "total"]
    return markdown(header, lines)


def findings(rows: pd.DataFrame) -> str:
    """The assumptions, and the table."""
    first = rows.iloc[0]
    rates = rows["gb_a_second"].median()
    few, most = rows["reads"].min(), rows["reads"].max()
    return "\n\n".join(
        [
            f"Measured on {first['calibrated_on']:,} samples ({first['machine']}, load "
            f"{rows['load'].max():g}): the views are read {few:.0f} to {most:.0f} times, the disk "
            f"delivers {rates:.2f} GB/s, and reading overlaps with computing.",
            table(rows),
            f"Memory at 10⁹ samples: {first['memory_bytes_1e9'] / 1e9:.0f} GB of the "
            f"{MEMORY_LIMIT / 1e9:.0f} GB allowed; {STATE_BYTES} bytes per sample for its weight, "
            f"group and label are {STATE_BYTES:.0f} GB of it. Projections take "
            f"{first['scratch_bytes_a_sample'] / 1e3:.1f} kB per sample; what does not fit goes to "
            f"scratch files of up to {first['scratch_bytes_a_sample']:,.0f} GB. Reading and "
            "writing those is not counted above; smaller `latent_dims` make them smaller.",
        ]
    )


def main() -> None:
    """Run, keep the rows, print the costs, and write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="narrow views; no page")
    parser.add_argument("--again", action="store_true", help="use the rows of the last run")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/bench_scale.csv"))
    parser.add_argument("--page", type=Path, default=Path("docs/scale.md"))
    arguments = parser.parse_args()
    if arguments.again:
        rows = pd.read_csv(arguments.out)
    else:
        rows = pd.DataFrame(run(quick=arguments.quick))
        keep_rows(arguments.out, rows)
    text = findings(rows)
    print(text)
    if not arguments.quick:
        write_section(arguments.page, "cost", text)


if __name__ == "__main__":
    main()
