"""From files to the time and memory that their fit will take."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from manyview.estimation import estimate
from manyview.runs.fit import FitRequest, read_files
from manyview.runs.terminal import show_found, show_notes

__all__ = ["estimate_run"]


def estimate_run(request: FitRequest, console: Console) -> dict[str, Any]:
    """Read or open the views, fit some of their samples, and tell what all will take.

    Parameters
    ----------
    request : FitRequest
        Files and settings of the fit.
    console : rich.console.Console
        Where it is told.

    Returns
    -------
    dict
        The estimate as plain values, and in words.
    """
    model = request.estimator()
    with console.status("reading"):
        intake = read_files(request)
    show_found(intake.found, console)
    show_notes(intake.notes, console)
    with console.status("fitting some of the samples"):
        told = estimate(intake.data, **model.get_params(deep=False))
    console.print(str(told), highlight=False)
    return {**asdict(told), "sentence": str(told)}
