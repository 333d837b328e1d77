"""The rows of the study as two compact tables in docs/results, and back.

`manyview reproduce --out FOLDER` keeps every run in FOLDER/runs. The tables have what its page is
made of, so that a study can be reported or resumed in another place:

    python -m benchmarks.paper.study_rows save FOLDER      # FOLDER/runs into docs/results
    python -m benchmarks.paper.study_rows restore FOLDER   # docs/results into FOLDER/runs
    manyview reproduce --report --out FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

from manyview.persistence.atomic import write_text
from manyview.study.reproduction.tables import METRICS

RESULTS = Path(__file__).parents[2] / "docs" / "results"
RUNS, TRACES = "study_runs.csv", "study_traces.csv"
IDENTITY = ("data", "content", "method", "version", "seed", "rows", "missing_rate", "n_kmeans")
SCORES = (*METRICS, *(f"{metric}_std" for metric in METRICS))
COLUMNS = (
    *("folder", "key", *IDENTITY, "parameters", "time_limit", "memory_limit", "status", "reason"),
    *(*SCORES, "seconds", "n_iter"),
)
NESTED = {"parameters", "result"}
DIGITS = 6  # of a value


def save(folder: Path) -> None:
    """Write the tables from the logs of a study."""
    runs = folder / "runs"
    rows = [
        {"folder": log.parent.relative_to(runs).as_posix(), **row}
        for log in sorted(runs.rglob("rows.jsonl"))
        for row in last_by_key(log).values()
    ]
    _write(RUNS, pd.DataFrame(rows).reindex(columns=COLUMNS))
    _write(TRACES, pd.DataFrame(list(last_by_key(runs / "traces.jsonl").values())))


def last_by_key(log: Path) -> dict[str, dict[str, Any]]:
    """Rows of a log by key; a line that a kill has torn is left out."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    return {row["key"]: row for row in rows}


def _write(name: str, table: pd.DataFrame) -> None:
    """Write a table with few digits; nested values as JSON."""
    for column in NESTED & set(table):
        table[column] = table[column].map(lambda value: json.dumps(_rounded(value)))
    text = table.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
    write_text(RESULTS / name, text)
    print(f"{name}: {len(table)} rows")


def _rounded(value: Any) -> Any:
    """A nested value with few digits."""
    if isinstance(value, float):
        return float(f"{value:.{2 * DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list) else value


def restore(folder: Path) -> None:
    """Write the logs of a study from the tables."""
    runs = pd.read_csv(RESULTS / RUNS, dtype={"version": str})
    for name, group in runs.groupby("folder", sort=False):
        _log(folder / "runs" / str(name) / "rows.jsonl", group.drop(columns="folder"))
    _log(folder / "runs" / "traces.jsonl", pd.read_csv(RESULTS / TRACES, dtype={"version": str}))


def _log(path: Path, table: pd.DataFrame) -> None:
    """Write rows as lines of JSON, without values that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for row in table.to_dict("records"):
        own = {str(name): value for name, value in row.items() if not pd.isna(value)}
        own |= {name: json.loads(own[name]) for name in NESTED & set(own)}
        lines.append(json.dumps({"reason": "", **own}) + "\n")
    write_text(path, "".join(lines))


def main() -> None:
    """Save or restore."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("save", "restore"))
    parser.add_argument("folder", type=Path, help="the folder of `manyview reproduce --out`")
    arguments = parser.parse_args()
    (save if arguments.action == "save" else restore)(arguments.folder)


if __name__ == "__main__":
    main()
