"""`manyview fit` on a cluster: its workers, the sample that is described, labels in parts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from manyview.cli.inputs import Inputs, names_of
from manyview.cluster.sample import with_sample
from manyview.engines.cluster import is_cluster, open_client
from manyview.omvcdr import OMVCDR


@contextmanager
def workers_of(model: OMVCDR, console: Console) -> Iterator[None]:
    """Connect an estimator to its cluster, if it has one, and print where to watch it."""
    if not is_cluster(model.engine):
        yield
        return
    with open_client(model.engine, model.n_jobs) as (client, _), client.as_current():
        model.engine = client
        n_workers = len(client.scheduler_info()["workers"])
        console.print(f"{n_workers} workers; dashboard: {client.dashboard_link}", highlight=False)
        yield


def looked_at(model: OMVCDR, inputs: Inputs) -> tuple[OMVCDR, Inputs]:
    """What is described: the fit, or a sample of it where the rows are on a cluster."""
    own = with_sample(model)
    if own is model:
        return model, inputs
    sample = vars(model)["_sample"]
    rows, n_samples = sample.rows, inputs.views.data.n_samples
    data = replace(sample.data, sample_names=names_of(inputs.views)[rows])
    note = f"The report and labels.csv have {len(rows)} of {n_samples} samples, drawn at random."
    views = replace(inputs.views, data=data)
    meta, truth = inputs.meta, inputs.truth
    if meta is not None:
        meta = replace(meta, table=meta.table.iloc[rows])
    if truth is not None:
        truth = truth.iloc[rows]
    notes = (*inputs.notes, *([note] if len(rows) < n_samples else []))
    return own, replace(inputs, views=views, meta=meta, truth=truth, notes=notes)


def write_parts(path: Path, labels: Any, names: pd.Index) -> None:
    """Write labels that are on a cluster as parts of a Parquet folder, one after the other."""
    if isinstance(labels, np.ndarray):
        return
    path.unlink()  # that of the sample
    path.mkdir()
    start = 0
    for number, block in enumerate(labels.blocks):
        own = np.asarray(block.compute())
        sample = names[start : start + len(own)]
        start += len(own)
        table = pd.DataFrame({"sample": sample, "cluster": own})
        table.to_parquet(path / f"part-{number:05d}.parquet", index=False)
