"""Mutated files of every kind through the command, in a process that is replaced after a crash.

    cd tests && python -m fuzz.run --cases 10000 --seed 0

A case is a reader, a seed and an index: the same three give the same file again. It fails on a
traceback, a crash, an exit code other than 0 and 2, more than 10 seconds, or too much memory. For
HDF5, whose library is trusted, a crash or a loop is counted apart.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np

from fuzz.mutator import mutate
from fuzz.seeds import Seed, make_seeds

MOST_SECONDS = 10.0
MOST_BYTES = 1 << 29  # beyond what the process held before
TESTS = Path(__file__).parents[1]
FOUND = Path(__file__).parent / "found.jsonl"


@dataclass(frozen=True)
class Case:
    """One changed file, and the command that reads it."""

    reader: str
    seed: int
    index: int
    command: tuple[str, ...]
    member: str
    content: bytes = field(repr=False)


@dataclass(frozen=True)
class Outcome:
    """What a command did with a changed file; `failure` is empty unless it must not do so."""

    kind: str
    failure: str = ""
    said: str = ""
    seconds: float = 0.0
    peak: int = 0


def draw_case(seeds: dict[str, Seed], reader: str, seed: int, index: int) -> Case:
    """The case of a reader, a seed and an index."""
    rng = np.random.default_rng([seed, zlib.crc32(reader.encode()), index])
    start = seeds[reader]
    members = sorted(start.files)
    member = members[int(rng.integers(len(members)))]
    others = [content for other in seeds.values() for content in other.files.values()]
    content = start.finish(mutate(start.files[member], rng, others))
    command = start.commands[int(rng.integers(len(start.commands)))]
    return Case(reader, seed, index, command, member, content)


class Worker:
    """A process that runs commands, started again when it died."""

    def __init__(self, program: Sequence[str] = ("-m", "fuzz.worker")) -> None:
        self._program = program
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: Sequence[str], seconds: float = MOST_SECONDS) -> Outcome:
        """The outcome of a command."""
        if self._process is None:
            self._start()
        reply = self._ask({"arguments": list(arguments)}, seconds)
        if isinstance(reply, str):
            return Outcome("died", reply)
        numbers = {"seconds": float(reply["seconds"]), "peak": int(reply["peak"])}
        said = " ".join(str(reply["said"]).split())
        if reply["error"]:
            return Outcome("failed", str(reply["error"]), said, **numbers)
        if reply["code"] not in (0, 2):
            return Outcome("failed", f"exit code {reply['code']}", said, **numbers)
        if numbers["peak"] > MOST_BYTES:
            return Outcome("failed", f"{numbers['peak'] / 1e6:.0f} MB", said, **numbers)
        if reply["code"] == 2 and (not said.startswith("manyview: ") or len(said) > 1000):
            return Outcome("failed", "not one sentence", said, **numbers)
        return Outcome("refused" if reply["code"] else "accepted", "", said, **numbers)

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": _python_path(), "OMP_NUM_THREADS": "1"},
            text=True,
        )
        for command in (
            ("fit", "x.csv", "named.csv", "--clusters", "1", "--quiet", "--out", "warm"),
            ("predict", "x.csv", "--model", "run", "--quiet", "--out", "warm.csv"),
        ):  # imports and compiles
            reply = self._ask({"arguments": command}, 120)
            assert isinstance(reply, dict), reply
            assert reply["code"] == 0, reply
        self._ask({"limit": True}, 120)

    def _ask(self, request: dict[str, object], seconds: float) -> dict[str, object] | str:
        """The reply, or why there is none."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if selector.select(seconds) else None
        if line:
            reply: dict[str, object] = json.loads(line)
            return reply
        if line is None:
            self.stop()
            return f"more than {seconds:.0f} seconds"
        code = process.wait()
        self.stop()
        return f"the process ended with code {code}"


def _python_path() -> str:
    import manyview

    return os.pathsep.join([str(TESTS), str(Path(manyview.__file__).parents[1])])


def run_case(case: Case, seeds: dict[str, Seed], worker: Worker, folder: Path) -> Outcome:
    """Write the file of a case, and let the command read it."""
    here = folder / "case"
    shutil.rmtree(here, ignore_errors=True)
    start = seeds[case.reader]
    for name, content in start.files.items():
        path = here / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(case.content if name == case.member else content)
    top = here / sorted(start.files)[0].split("/")[0]
    words = {
        "file": str(top),
        "folder": str(top),
        "other": start.other,
        "out": str(here / "out"),
        "model": "run",
    }
    outcome = worker.run([part.format(**words) for part in case.command])
    if outcome.kind == "died":
        kind = "trusted" if start.is_trusted else "failed"
        return replace(outcome, kind=kind, failure="" if start.is_trusted else outcome.failure)
    return outcome


def run_cases(
    cases: Iterator[tuple[str, int, int]],
    seeds: dict[str, Seed],
    folder: Path,
    *,
    keep: Path | None = None,
) -> Iterator[tuple[Case, Outcome]]:
    """Cases and outcomes; failed ones are written to `keep`."""
    worker = Worker()
    try:
        for reader, seed, index in cases:
            case = draw_case(seeds, reader, seed, index)
            outcome = run_case(case, seeds, worker, folder)
            if outcome.failure and keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                name = f"{reader.replace(' ', '-')}-{seed}-{index}.json"
                (keep / name).write_text(as_line(case, outcome) + "\n", encoding="utf-8")
            yield case, outcome
    finally:
        worker.stop()


def as_line(case: Case, outcome: Outcome) -> str:
    """A case with its file, as one line of JSON."""
    kept = asdict(case) | {
        "content": base64.b64encode(case.content).decode(),
        "failure": outcome.failure.strip().splitlines()[-1][:200],
    }
    return json.dumps(kept)


def from_line(line: str) -> Case:
    """A case that was kept."""
    kept = json.loads(line)
    kept.pop("failure")
    command = tuple(kept.pop("command"))
    return Case(**kept | {"content": base64.b64decode(kept["content"])}, command=command)


def in_turn(readers: Sequence[str], n_cases: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """As many cases of each reader."""
    for number in range(n_cases):
        yield readers[number % len(readers)], seed, number // len(readers)


def main() -> None:
    """Run cases, and print what became of them by reader."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--reader", help="only this one")
    options.add_argument("--index", type=int, help="only this case of --reader, with its traceback")
    options.add_argument("--keep", type=Path, default=Path("../build/fuzz"))
    given = options.parse_args()
    keep, start = given.keep.resolve(), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = make_seeds(folder)
        readers = [given.reader] if given.reader else list(seeds)
        wanted = in_turn(readers, given.cases, given.seed)
        if given.index is not None:
            wanted = iter([(given.reader, given.seed, given.index)])
        counts: dict[str, Counter[str]] = {reader: Counter() for reader in readers}
        slowest, largest = (0.0, ""), (0, "")
        for case, outcome in run_cases(wanted, seeds, folder, keep=keep):
            which = f"{case.reader!r} --seed {case.seed} --index {case.index}"
            counts[case.reader][outcome.kind] += 1
            counts[case.reader]["milliseconds"] += round(1000 * outcome.seconds)
            slowest = max(slowest, (outcome.seconds, which))
            largest = max(largest, (outcome.peak, which))
            if outcome.failure or given.index is not None:
                print(f"FAILED --reader {which} {case.command}\n{outcome.failure}{outcome.said}")
        os.chdir(TESTS)
    seconds = time.perf_counter() - start
    _tell(counts, seconds, slowest, largest)
    sys.exit(any(count["failed"] for count in counts.values()))


def _tell(counts, seconds, slowest, largest) -> None:
    total: Counter[str] = sum(counts.values(), Counter())
    kinds = ("refused", "accepted", "trusted", "failed")
    print(f"{'reader':32}" + "".join(f"{kind:>9}" for kind in kinds) + f"{'ms':>6}")
    for reader, count in [*counts.items(), ("all", total)]:
        shown = "".join(f"{count[kind]:9}" for kind in kinds)
        n = max(1, sum(count[kind] for kind in kinds))
        print(f"{reader:32}{shown}{count['milliseconds'] // n:6}")
    print(f"{seconds:.0f} s; slowest {slowest[0]:.2f} s ({slowest[1]})")
    print(f"most memory {largest[0] / 1e6:.0f} MB beyond the start ({largest[1]})")


if __name__ == "__main__":
    main()
