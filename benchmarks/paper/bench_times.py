"""Running time of the eight methods of the paper on its sets, for the claims about it.

Every fit has one thread and one start, and nothing else runs: five of each, in file order. The
median and range go into the package, where `manyview reproduce` judges claims by them unless its
folder has times of its own (`manyview reproduce --times`). Let nothing else run on the machine.

    python -m benchmarks.paper.bench_times           # resumes
    python -m benchmarks.paper.bench_times --again   # the table from the rows so far
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.page import PACKAGED, keep_rows
from manyview.study.reproduction import ReproduceRequest
from manyview.study.reproduction.runs import Clock, run_stages
from manyview.study.reproduction.scope import find_sets, set_scope
from manyview.study.reproduction.timing import time_table, times_part


def main() -> None:
    """Run what has no row yet, and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true", help="only write the table")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/times"))
    arguments = parser.parse_args()
    part = times_part(set_scope(ReproduceRequest(), find_sets()))
    clock = Clock(-1.0 if arguments.again else None)
    rows = run_stages([part], arguments.out, clock)["times"]
    table = time_table(rows).drop(columns="relative").round(3)
    keep_rows(PACKAGED / "times.csv", table)
    print(table.to_string())


if __name__ == "__main__":
    main()
