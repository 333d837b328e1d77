"""`manyview demo`: runs `manyview fit` on the digits of scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from rich.console import Console

from manyview.cli.fit import fit_run
from manyview.cli.inputs import FitRequest, Inputs
from manyview.cli.options import AsJson, Quiet, Seed, out_folder, print_json
from manyview.datasets import load_digits_views
from manyview.io import LoadedViews
from manyview.omvcdr import OMVCDR
from manyview.utils.threads import limit_threads

IMAGE_SHAPE = (8, 8)
MATCHING = "The views are features of the same images, in the same order."


def run_demo(out: Path, seed: int = 0, console: Console | None = None) -> dict[str, Any]:
    """Cluster the bundled digits, and compare the clusters with the true digits.

    Parameters
    ----------
    out : path
        Folder for the results; created if it does not exist.
    seed : int, default=0
        Seed of all random numbers.
    console : rich.console.Console, optional
        Shows progress and tables; None shows nothing.

    Returns
    -------
    dict
        Summary, as returned by `fit_run`.
    """
    command = f"manyview demo --seed {seed}"
    request = FitRequest(paths=(), clusters="10", seed=seed, jobs=1, command=command)
    with limit_threads(1):  # a second thread gains nothing on so few samples
        return fit_run(request, out, console or Console(quiet=True), _read_digits)


def _read_digits(request: FitRequest) -> Inputs:
    """The bundled digits; compiles the kernels first, so that the fit is timed without."""
    digits = load_digits_views()
    n = len(digits.data)
    data = replace(digits.data, sample_names=pd.RangeIndex(n))
    OMVCDR(n_clusters=2, n_init=1, tol=1.0, random_state=0).fit(data[:64])
    found = {
        "view": data.view_names,
        "file": "scikit-learn",
        "samples": n,
        "features": data.n_features,
        "orientation": "rows",
        "matched": n,
        **dict.fromkeys(("missing", "dropped", "nan"), 0),
        "set_aside": "",
    }
    return Inputs(
        LoadedViews(data, pd.DataFrame(found), (), matching=MATCHING),
        truth=pd.Series(digits.target, name="digit"),
        images=data.views[0].reshape(-1, *IMAGE_SHAPE),
    )


def command(
    out: Annotated[Path, out_folder()] = Path("manyview-demo"),
    seed: Seed = 0,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Cluster the bundled digits, and write the results of manyview fit."""
    print_json(run_demo(out, seed, Console(quiet=quiet, stderr=json)), json)
