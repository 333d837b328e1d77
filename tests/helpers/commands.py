"""The command line, run as a user would."""

import os
import subprocess
import sys


def manyview(*arguments, cwd):
    """Run the command as a user would, on a terminal of 80 columns."""
    return subprocess.run(
        [sys.executable, "-m", "manyview", *arguments],
        cwd=cwd,
        env=os.environ | {"COLUMNS": "80", "PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
