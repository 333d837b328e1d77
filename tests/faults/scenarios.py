"""Commands whose processes are killed, and what must hold afterwards."""

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from faults.children import Ended, run, run_program
from manyview import OMVCDR
from manyview.cli.folder import FILES, PASSES
from manyview.datasets import make_multiview_blobs
from manyview.solver import alternation, fitting

MINE = "notes of the user.txt"  # beside the output, never to be touched


def few_rows() -> None:
    """Starts on a subset and refinement on all rows, which is recorded, for small data too."""
    fitting.SAMPLE_ROWS, alternation.BOUND_ROWS = 100, 1


def write_views(folder: Path, n_samples: int = 300) -> None:
    """Two views as tables, as shards and as single arrays; new samples; a file of the user."""
    data = make_multiview_blobs(n_samples, (8, 12), n_clusters=3, cluster_std=2.0, random_state=0)
    names = [f"s{i}" for i in range(n_samples)]
    for name, view in zip("ab", data.data.views, strict=True):
        table = pd.DataFrame(view, index=pd.Index(names, name="sample")).add_prefix(name)
        table.to_csv(folder / f"{name}.csv")
        table.iloc[:20].to_csv(folder / f"new_{name}.csv")
        for part, rows in enumerate(np.array_split(np.asarray(view), 3)):
            np.save(folder / f"{name}-{part}.npy", rows)
    (folder / MINE).write_text("mine")


@dataclass(frozen=True)
class Scenario:
    """A command that is killed and run again."""

    name: str
    arguments: tuple[object, ...]
    out: str  # file or folder that it writes
    prepare: Callable[[Path], None] = field(default=lambda folder: None)
    is_command: ClassVar[bool] = True

    def code(self, number: int) -> int:
        """How it ends by a signal."""
        return -number if number == signal.SIGKILL else 128 + number

    def run(self, folder: Path, before: Callable[[], None] | None = None) -> Ended:
        """Run it in a folder."""
        return run(folder, *self.arguments, before=before)

    def results(self, folder: Path) -> dict[str, object]:
        """What it has written, without the times of the run."""
        path = folder / self.out
        files = [path] if path.is_file() else sorted(path.iterdir()) if path.exists() else []
        return {file.name: read_result(file) for file in files if not file.name.startswith(".")}


def read_result(file: Path) -> object:
    """Content of a result file; fails if it is not complete."""
    if file.name == "result.json":
        result = json.loads(file.read_text(encoding="utf-8"))
        return result["data"]["n_clusters"], [row["size"] for row in result["clusters"]]
    if file.suffix in (".html", ".svg"):
        text = file.read_text(encoding="utf-8")
        assert text.rstrip().endswith(f"</{file.suffix[1:]}>"), file
        return "whole"
    if file.suffix == ".jsonl":
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return [{name: row[name] for name in row if name != "seconds"} for row in rows]
    if file.suffix == ".json":
        return sorted(json.loads(file.read_text(encoding="utf-8")))
    if file.suffix == ".mv":
        return OMVCDR.load(file).labels_.tobytes()
    if file.suffix == ".parquet":
        return pd.read_parquet(file).to_csv()
    return file.read_bytes()


def _save(folder: Path) -> None:
    model = OMVCDR.load(folder / "fitted" / "model.mv")
    model.save(folder / "copy.mv")


@dataclass(frozen=True)
class Saving(Scenario):
    """`model.save` in a program of the user, which leaves signals to Python."""

    is_command: ClassVar[bool] = False

    def code(self, number: int) -> int:
        """How it ends by a signal: Python handles Ctrl-C alone."""
        return 128 + number if number == signal.SIGINT else -number

    def run(self, folder: Path, before: Callable[[], None] | None = None) -> Ended:
        """Save a model over an old file."""
        return run_program(folder, lambda: _save(folder), before)


QUICK = ("--starts", 1, "--max-iter", 4)
STREAM = ("fit", "a-*.npy", "b-*.npy", "--engine", "stream", "--clusters", 3, *QUICK)
TABLES = ("fit", "a.csv", "b.csv", "--clusters", 3, *QUICK)


def _old_run(folder: Path) -> None:
    """The results of another run: two clusters."""
    done = run(folder, "fit", "a.csv", "--clusters", 2, *QUICK, "--out", "run")
    assert done.code == 0, done.err


def _fitted(folder: Path) -> None:
    done = run(folder, *TABLES, "--out", "fitted")
    assert done.code == 0, done.err


def _fitted_and_copied(folder: Path) -> None:
    _fitted(folder)
    shutil.copy(folder / "fitted" / "model.mv", folder / "copy.mv")


SCENARIOS = (
    Scenario("stream", (*STREAM, "--out", "run"), "run"),
    Scenario("stream, as given", (*STREAM, "--scale", "none", "--out", "run"), "run"),
    Scenario("stream over an old run", (*STREAM, "--out", "run"), "run", _old_run),
    Scenario("memory", (*TABLES, "--out", "deep/run"), "deep/run"),
    Scenario("memory over an old run", (*TABLES, "--out", "run"), "run", _old_run),
    Scenario(
        "predict",
        ("predict", "--model", "fitted", "new_a.csv", "new_b.csv", "--out", "new.csv"),
        "new.csv",
        _fitted,
    ),
    Scenario("report", ("report", "fitted"), "fitted/report.html", _fitted),
    Scenario("choose", ("choose", "a.csv", "b.csv", "--out", "chosen"), "chosen"),
    Scenario("demo", ("demo", "--out", "demo"), "demo"),
    Saving("save", (), "copy.mv", _fitted_and_copied),
)


def left_behind(folder: Path) -> list[str]:
    """Hidden files and folders below a folder."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob(".*")
        if PASSES not in path.relative_to(folder).parts[:-1]
    )


def is_mixed(results: dict[str, object], new: dict[str, object], old: dict[str, object]) -> bool:
    """Whether the files of two runs stand beside each other."""
    told = [name for name in results if name in FILES and new.get(name) != old.get(name)]
    kinds = {results[name] == new[name] for name in told}
    others = [name for name in results if not name.endswith(".jsonl")]  # a log grows
    known = all(results[name] in (new.get(name), old.get(name)) for name in others)
    return len(kinds) > 1 or not known
