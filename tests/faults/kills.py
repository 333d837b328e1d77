"""Kill the commands, at every operation on files and at random moments, and run them again.

    cd tests && python -m faults.kills --kills 1000

After each kill no file may be half-written, the files of two runs must not be mixed, and files of
the user must be as they were. The same command, run again, must end with the results of a run that
was never killed, and leave nothing else behind. With SIGTERM and SIGINT the command itself must
clean up and end with one sentence.
"""

import argparse
import itertools
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from faults.children import Ended, at_operation, catches, send
from faults.scenarios import (
    MINE,
    SCENARIOS,
    Scenario,
    few_rows,
    is_mixed,
    left_behind,
    write_views,
)
from manyview.cli.folder import COMPLETE, PASSES

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass(frozen=True)
class Reference:
    """A scenario, the folder as it is before, and its results before and after."""

    scenario: Scenario
    start: Path
    old: dict[str, object]
    new: dict[str, object]
    operations: int
    seconds: float


def prepare(scenario: Scenario, base: Path) -> Reference:
    """Make the folder of a scenario, and run the command once without a kill."""
    start = base / f"{scenario.name}.start"
    start.mkdir()
    write_views(start)
    scenario.prepare(start)
    whole = base / f"{scenario.name}.whole"
    shutil.copytree(start, whole)
    began = time.perf_counter()
    done = scenario.run(whole)
    seconds = time.perf_counter() - began
    assert done.code == 0, (scenario.name, done.err)
    assert left_behind(whole) == [], scenario.name
    new = scenario.results(whole)
    return Reference(scenario, start, scenario.results(start), new, done.operations, seconds)


def kill_once(reference: Reference, number: int, where: Callable[[], None], base: Path) -> str:
    """Kill a command, check what it left, and run it again; the outcome, or AssertionError."""
    scenario = reference.scenario
    folder = base / "case"
    shutil.copytree(reference.start, folder)
    try:
        killed = scenario.run(folder, before=where)
        assert killed.code in (0, scenario.code(number)), killed
        _check_files(reference, folder)
        if killed.code > 0:
            assert killed.is_sentence or not scenario.is_command, killed.err
            _check_clean(folder)
        again = scenario.run(folder)
        assert again.code == 0, again.err
        assert "Traceback" not in killed.err + again.err, killed.err + again.err
        results = scenario.results(folder)
        assert results == reference.new, [n for n in results if results[n] != reference.new.get(n)]
        assert left_behind(folder) == []
        _check_files(reference, folder)
        return _outcome(killed, again)
    finally:
        shutil.rmtree(folder)


def _check_files(reference: Reference, folder: Path) -> None:
    """Files are whole and of one run, and those of the user are as they were."""
    assert (folder / MINE).read_text() == "mine"
    for path in reference.start.glob("*.*"):
        if path.is_file() and path.name != reference.scenario.out:
            assert (folder / path.name).read_bytes() == path.read_bytes(), path
    results = reference.scenario.results(folder)
    assert not is_mixed(results, reference.new, reference.old), sorted(results)


def _check_clean(folder: Path) -> None:
    """A command that could clean up has left nothing but a journal, or complete results."""
    allowed = {PASSES, COMPLETE}
    assert {Path(name).name for name in left_behind(folder)} <= allowed, left_behind(folder)


def _outcome(killed: Ended, again: Ended) -> str:
    if killed.code == 0:
        return "done before"
    return "resumed" if "Resuming" in again.out else "run again"


def plan(references: list[Reference], n: int, rng: random.Random) -> Iterator[tuple]:
    """SIGKILL at every operation of every scenario; each fourth time any signal at any moment."""
    everywhere = [
        (reference, at) for reference in references for at in range(1, reference.operations + 1)
    ]
    rng.shuffle(everywhere)
    signals = itertools.cycle(SIGNALS)
    for case in range(n):
        if case % 4 < 3 and everywhere:
            (reference, at), number = everywhere.pop(), signal.SIGKILL
        else:
            reference, number = rng.choice(references), next(signals)
            at = rng.randint(1, reference.operations) if rng.random() < 0.5 else 0
        if at:
            yield reference, number, f"operation {at}", at_operation(at, send(number))
        else:
            seconds = rng.uniform(0, 1.1 * reference.seconds)
            is_handled = reference.scenario.is_command and number != signal.SIGKILL
            yield reference, number, f"{seconds:.3f} s", after(seconds, number, is_handled)


def after(seconds: float, number: int, is_handled: bool) -> Callable[[], None]:
    """For `before`: a signal after some seconds, or when it is handled, from another process."""

    def install() -> None:
        victim = os.getpid()
        if os.fork() == 0:
            os.close(1)
            os.close(2)
            time.sleep(seconds)
            while is_handled and os.getppid() == victim and not catches(victim, signal.SIGTERM):
                time.sleep(0.001)  # a command has its handlers from its first line on
            if os.getppid() == victim:
                os.kill(victim, number)
            os._exit(0)

    return install


def main() -> int:
    """Run the cases, print a table, and return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="name of one scenario")
    arguments = parser.parse_args()
    few_rows()
    rng = random.Random(arguments.seed)
    failures: list[str] = []
    counts: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        chosen = [s for s in SCENARIOS if arguments.only in (None, s.name)]
        references = [prepare(scenario, base) for scenario in chosen]
        for reference, number, where, before in plan(references, arguments.kills, rng):
            signal_name = signal.Signals(number).name
            try:
                outcome = kill_once(reference, number, before, base)
            except AssertionError as error:
                outcome = "FAILED"
                failures.append(f"{reference.scenario.name}, {signal_name}, {where}: {error}")
                print(failures[-1], flush=True)
            counts[reference.scenario.name, signal_name, outcome] += 1
    operations = {r.scenario.name: r.operations for r in references}
    for (scenario, signal_name, outcome), n in sorted(counts.items()):
        print(
            f"{scenario:24} {signal_name:8} {outcome:12} {n:5}   of {operations[scenario]} places"
        )
    print(f"{sum(counts.values())} kills, {len(failures)} failures, seed {arguments.seed}")
    return len(failures)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
