"""Disks that fill up, and data that change under a fit: a sentence each, never a wrong result.

    cd tests && python -m faults.files --faults 200

* Full disk: the command runs on a small file system (tmpfs, so it needs to be root), whose size is
  between nothing and what it needs; scratch files on another. The command must end with a sentence,
  leave what was there, and finish when there is room.
* Data: right before the n-th pass is recorded, a file of the data is removed, truncated, replaced
  or changed in place. The command must end with a sentence that names the file, and no result.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import zarr

from faults import children
from faults.children import run
from faults.scenarios import MINE, QUICK, STREAM, few_rows, left_behind, read_result, write_views
from manyview.cli.folder import FILES

N_SAMPLES = 3000  # more than one block, so that files are read in every pass


def write_formats(folder: Path) -> None:
    """The views in all formats that stay on disk."""
    write_views(folder, N_SAMPLES)
    for name in "ab":
        rows = np.concatenate([np.load(folder / f"{name}-{part}.npy") for part in range(3)])
        np.save(folder / f"{name}.npy", rows)
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("x", data=rows, chunks=(256, rows.shape[1]))
        stored = zarr.create_array(
            folder / f"{name}.zarr", shape=rows.shape, dtype=rows.dtype, chunks=(256, rows.shape[1])
        )
        stored[:] = rows
        table = pd.DataFrame(rows).add_prefix("f")
        table.to_parquet(folder / f"{name}.parquet", row_group_size=256)
        table.to_feather(folder / f"{name}.feather", chunksize=256)


def victim_of(folder: Path, kind: str, rng: random.Random) -> Path:
    """The file to harm: of a Zarr array one of its chunks."""
    path = folder / f"a.{kind}"
    if path.is_dir():
        chunks = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix != ".json")
        return rng.choice(chunks)
    return path


def remove(path: Path) -> None:
    """The file is gone."""
    path.unlink()


def truncate(path: Path) -> None:
    """Its second half is gone."""
    os.truncate(path, path.stat().st_size // 2)


def replace(path: Path) -> None:
    """Another file of the same size takes its place."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[::-1])
    other.replace(path)


def change(path: Path) -> None:
    """Some bytes in the middle are others."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(bytes(200))


HARMS: tuple[Callable[[Path], None], ...] = (remove, truncate, replace, change)
KINDS = ("npy", "h5", "zarr", "parquet", "feather")


def before_pass(number: int, action: Callable[[], None]) -> Callable[[], None]:
    """For `before`: do something right before the n-th pass is recorded."""
    state = {"passes": 0}

    def watch(n, event, arguments):
        name = Path(os.fsdecode(arguments[0])).name
        if event == "os.rename" and "-pass-" in name:
            state["passes"] += 1
            if state["passes"] == number:
                action()

    return lambda: children._watchers.append(watch)


def harm_data(base: Path, rng: random.Random, n_passes: int) -> str:
    """One case of changed data."""
    kind, harm, number = rng.choice(KINDS), rng.choice(HARMS), rng.randint(1, n_passes)
    folder = base / "case"
    shutil.copytree(base / "data", folder)
    try:
        victim = victim_of(folder, kind, rng)
        hook = before_pass(number, lambda: harm(victim))
        arguments = ("fit", f"a.{kind}", f"b.{kind}", *STREAM[3:], "--out", "run")
        done = run(folder, *arguments, before=hook)
        where = f"{harm.__name__} {kind} before pass {number}"
        assert done.code == 2, f"{where}: exit code {done.code}: {done.err[-300:]}"
        assert done.is_sentence, f"{where}: {done.err[-600:]}"
        assert f"a.{kind}" in done.err, f"{where}: {done.err}"
        assert not any((folder / "run" / name).exists() for name in FILES), where
        assert (folder / MINE).read_text() == "mine"
        return f"{harm.__name__} {kind}"
    finally:
        shutil.rmtree(folder)


@contextmanager
def small_disk(path: Path, n_bytes: int) -> Iterator[None]:
    """A file system of some bytes."""
    path.mkdir(exist_ok=True)
    options = f"size={max(4096, n_bytes)}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill_disk(base: Path, rng: random.Random, expected: dict[str, object]) -> str:
    """One case of a disk that fills up; then there is room."""
    kind = rng.choice(["results", "over old results", "scratch"])
    folder, disk = base / "case", base / "disk"
    shutil.copytree(base / "data", folder)
    arguments = [*STREAM, "--out", "run"]
    try:
        n_bytes = int(2 ** rng.uniform(12, 21))
        with small_disk(disk, n_bytes if kind != "over old results" else n_bytes + (1 << 20)):
            if kind == "scratch":
                arguments += ["--memory", "3MB"]
                limited = run(folder, *arguments, before=lambda: scratch_on(disk))
            else:
                (folder / "run").symlink_to(disk, target_is_directory=True)
                if kind == "over old results":
                    old = run(folder, "fit", "a.csv", "--clusters", 2, *QUICK, "--out", "run")
                    assert old.code == 0, old.err
                before = {p.name: p.read_bytes() for p in disk.iterdir()}
                limited = run(folder, *arguments)
                if limited.code:
                    now = {p.name: p.read_bytes() for p in disk.iterdir() if p.is_file()}
                    assert now == before, f"{kind} {n_bytes}: {sorted(now)}"
            assert limited.code in (0, 2), f"{kind} {n_bytes}: {limited}"
            if limited.code == 2:
                assert limited.is_sentence, f"{kind} {n_bytes}: {limited.err[-600:]}"
                assert "room" in limited.err or "space" in limited.err, limited.err
            if kind != "scratch":
                subprocess.run(["mount", "-o", "remount,size=1G", disk], check=True)
            again = run(folder, *arguments)
            assert again.code == 0, f"{kind} {n_bytes}: {again.err[-600:]}"
            names = ("labels.csv", "model.mv")
            found = {name: read_result(folder / "run" / name) for name in names}
            assert found == expected, f"{kind} {n_bytes}"
            assert left_behind(folder / "run") == [], left_behind(folder / "run")
        return f"full disk: {kind}, {'refused' if limited.code else 'enough room'}"
    finally:
        shutil.rmtree(folder)


def scratch_on(disk: Path) -> None:
    """Scratch files of this process go to a small disk."""
    tempfile.tempdir = str(disk)


def main() -> int:
    """Run the cases, print a table, and return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    few_rows()
    rng = random.Random(arguments.seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        (base / "data").mkdir()
        write_formats(base / "data")
        shutil.copytree(base / "data", base / "whole")
        n_passes = count_passes(base / "whole")
        names = ("labels.csv", "model.mv")
        expected = {name: read_result(base / "whole" / "run" / name) for name in names}
        cases = [lambda: harm_data(base, rng, n_passes)]
        if os.geteuid() == 0:
            cases.append(lambda: fill_disk(base, rng, expected))
        for case in range(arguments.faults):
            try:
                counts[cases[case % len(cases)]()] += 1
            except AssertionError as error:
                counts["FAILED"] += 1
                print(f"case {case}: {error}", flush=True)
    for kind, n in sorted(counts.items()):
        print(f"{kind:44} {n:5}")
    print(f"{sum(counts.values())} faults, {counts['FAILED']} failures, seed {arguments.seed}")
    return counts["FAILED"]


def count_passes(folder: Path) -> int:
    """Run the command without a fault; the number of passes that it records."""
    count = folder.parent / "passes"

    def watch(n, event, arguments):
        name = Path(os.fsdecode(arguments[0])).name
        if event == "os.rename" and "-pass-" in name:
            count.write_text(count.read_text() + "." if count.exists() else ".")

    done = run(folder, *STREAM, "--out", "run", before=lambda: children._watchers.append(watch))
    assert done.code == 0, done.err
    return len(count.read_text())


if __name__ == "__main__":
    sys.exit(min(main(), 1))
