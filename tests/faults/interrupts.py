"""Ctrl-C and SIGTERM at random moments of fresh processes, from the first import on.

    cd tests && python -m faults.interrupts --interrupts 100

Every command must end with the exit code of the signal and one sentence, and leave nothing.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from faults.children import catches
from faults.scenarios import TABLES, left_behind, write_views

SENTENCES = {
    signal.SIGINT: "manyview: stopped by Ctrl-C; no incomplete file was left.\n",
    signal.SIGTERM: "manyview: stopped by SIGTERM; no incomplete file was left.\n",
}


def hear_signals() -> None:
    """A shell starts what runs in the background deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def interrupt(folder: Path, number: int, seconds: float) -> str:
    """Start a fit, send a signal after some seconds, and check how it ends."""
    command = [sys.executable, "-m", "manyview", *map(str, TABLES), "--starts", "100000"]
    running = subprocess.Popen(
        [*command, "--out", "run"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_signals,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    while not catches(running.pid, signal.SIGTERM):  # it has one from its first line on
        time.sleep(0.001)
    time.sleep(seconds)
    running.send_signal(number)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 128 + number, (running.returncode, err)
    assert err == SENTENCES[signal.Signals(number)], err
    assert not (folder / "run").exists(), left_behind(folder)
    return signal.Signals(number).name


def main() -> int:
    """Run the cases, print a table, and return the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interrupts", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=5.0, help="latest moment")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        write_views(Path(name))
        for _ in range(arguments.interrupts):
            number, seconds = rng.choice(list(SENTENCES)), rng.uniform(0, arguments.seconds)
            try:
                counts[interrupt(Path(name), number, seconds)] += 1
            except AssertionError as error:
                counts["FAILED"] += 1
                print(f"{number} after {seconds:.3f} s: {error}", flush=True)
    print(dict(counts), f"seed {arguments.seed}")
    return counts["FAILED"]


if __name__ == "__main__":
    sys.exit(min(main(), 1))
