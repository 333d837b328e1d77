"""What Windows and macOS lack, taken away here: modules, the count of cores, UTF-8 in streams."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import manyview

SOURCE = Path(manyview.__file__).parent
# of the standard library, but not on every system: to be imported where they are used, with a way
# around them
SOMEWHERE = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "termios", "winreg"}
WITHOUT_THEM = """
import os, sys, types, warnings
import joblib, pandas, psutil, pyarrow, rich.console, sklearn.cluster, typer  # may use them
if hasattr(os, "sched_getaffinity"):
    del os.sched_getaffinity
for name in ("fcntl", "resource"):
    sys.modules[name] = None
warnings.filterwarnings("error", category=EncodingWarning, module="manyview")

import manyview.cli
import manyview.study
from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.persistence.atomic import RowLog

locks = []
windows = types.SimpleNamespace(LK_NBLCK=2, LK_UNLCK=0, locking=lambda *call: locks.append(call[1]))
sys.modules["msvcrt"] = windows
data = make_multiview_blobs(60, (5, 8), n_clusters=3, random_state=0).data
model = OMVCDR(3, random_state=0).fit(data)
model.save("model.mv")
assert (OMVCDR.load("model.mv").predict(data) == model.labels_).all()

locks.clear()
log = RowLog("rows.jsonl")
log.append({"i": 0})
log.append({"i": 1})
assert log.read() == [{"i": 0}, {"i": 1}]
assert locks == [2, 0, 2, 0]
"""


def imports_at_the_top(path):
    """Modules that a file imports when it is imported itself."""
    waiting = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]
        elif not isinstance(node, ast.FunctionDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def test_no_module_imports_at_the_top_what_some_systems_lack():
    faults = [
        (path.name, name)
        for path in SOURCE.rglob("*.py")
        for name in SOMEWHERE.intersection(imports_at_the_top(path))
    ]
    assert faults == []


@pytest.mark.skipif(sys.platform == "win32", reason="they are not there anyway")
def test_a_fit_and_a_log_need_nothing_of_unix(tmp_path):
    command = [sys.executable, "-X", "warn_default_encoding", "-c", WITHOUT_THEM]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_letter_that_a_stream_lacks_does_not_end_a_command(tmp_path, encoding):
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "manyview", "choose", "--help"],  # it speaks of λ
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"--no-tune" in done.stdout
