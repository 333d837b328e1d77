"""Terminal output of a run, for 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box, markup
from rich.console import Console
from rich.table import Table

from manyview.cli.folder import ALL_FILES
from manyview.engines.cluster import is_cluster, open_client
from manyview.omvcdr import OMVCDR
from manyview.report.truth import MEASURES
from manyview.report.wording import tell_findings, title_of

COLORS = {"clear": "bold green", "weak": "bold yellow", "none": "bold red", "unknown": "bold"}
N_ROWS = 12  # largest number in a table; the files have all
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")  # a name may hold commands of a terminal
COUNTS = ("samples", "features", "matched", "missing", "dropped")


def escape(text: str) -> str:
    """Text that is shown as it is: no markup, and no command of a terminal.

    Parameters
    ----------
    text : str
        Any text, perhaps from a file.

    Returns
    -------
    str
    """
    return markup.escape(CONTROL.sub("\N{REPLACEMENT CHARACTER}", text))


def show_found(found: pd.DataFrame, console: Console) -> None:
    """Print what was found in the files, one row per view.

    Parameters
    ----------
    found : DataFrame
        `found` of `LoadedViews`.
    console : rich.console.Console
        Terminal.
    """
    table = _table("view", "samples in", *COUNTS)
    for row in found.to_dict("records"):
        counts = [f"{row[count]:,}" for count in COUNTS]
        table.add_row(escape(row["view"]), row["orientation"], *counts)
    console.print(table)
    if len(found) > 1:
        console.print("matched: also in another view; missing: only in other views.", style="dim")
    notes = []
    for row in found.to_dict("records"):
        aside = row["set_aside"].split(", ") if row["set_aside"] else []
        if aside:
            shown = ", ".join(aside[:5]) + (" …" if len(aside) > 5 else "")
            columns = "column" if len(aside) == 1 else "columns"
            notes.append(f"{row['view']}: {len(aside)} {columns} ignored: {shown}.")
        if row["nan"]:
            notes.append(f"{row['view']}: {row['nan']:,} values are missing: {row['nan_action']}.")
    show_notes(notes, console)


def show_matching(matching: str, console: Console) -> None:
    """Print by what samples were matched.

    Parameters
    ----------
    matching : str
        `matching` of `LoadedViews`.
    console : rich.console.Console
        Terminal.
    """
    console.print(escape(matching), highlight=False)


def show_notes(notes: Iterable[str], console: Console) -> None:
    """Print notes, without repetitions.

    Parameters
    ----------
    notes : iterable of str
        The notes.
    console : rich.console.Console
        Terminal.
    """
    for note in dict.fromkeys(notes):
        console.print(f"[yellow]note[/]  {escape(note)}")


def show_result(result: Mapping[str, Any], out: Path, console: Console) -> None:
    """Print the result of a fit: sizes, confidence, views, and the path of the files.

    Parameters
    ----------
    result : mapping
        As `describe_fit` returns it.
    out : path
        Output folder of the run.
    console : rich.console.Console
        Terminal.
    """
    findings = tell_findings(result)
    verdict = (result["structure"] or {"verdict": "unknown"})["verdict"]
    console.print(f"\n[{COLORS[verdict]}]{escape(title_of(result))}[/]")
    if structure := findings.pop("structure", ""):
        console.print(escape(structure))
    show_clusters(result["clusters"], console)
    for finding in findings.values():
        if finding:
            console.print(escape(finding))
    batch = result["batch"]["sentence"] if result["batch"] else ""
    show_notes([text for text in (result["sizes"], batch) if text], console)
    if result["truth"]:
        show_truth(result["truth"], console)
    if result["survival"]:
        show_survival(result["survival"], console)
    if result["meta"]:
        show_associations(result["meta"], console)
    console.print(f"Written to {escape(str(out))}: labels, model, result and report.")
    console.print(f"Open [bold]{escape(str(out / 'report.html'))}[/] in a browser to see more.")


def summarize_fit(model: OMVCDR, result: dict[str, Any], out: Path) -> dict[str, Any]:
    """What `--json` prints about a fit.

    Parameters
    ----------
    model : OMVCDR
        A fitted estimator.
    result : dict
        What `describe_fit` returns.
    out : path
        The folder of the run.

    Returns
    -------
    dict
        Plain values.
    """
    sizes = np.bincount(model.labels_, minlength=result["data"]["n_clusters"])
    return {
        "out": str(out),
        "files": [name for name in ALL_FILES if (out / name).exists()],
        "n_samples": result["data"]["n_samples"],
        "n_clusters": result["data"]["n_clusters"],
        "structure": result["structure"],
        "advice_on_sizes": result["sizes"],
        "sizes": sizes.tolist(),
        "cluster_stability": [row["stability"] for row in result["clusters"]],
        "median_confidence": float(np.median(model.confidence_)),
        "stability": result["confidence"]["stability"],
        "view_weights": {row["name"]: row["weight"] for row in result["weights"]["views"]},
        "objective": float(model.objective_),
        "converged": bool(model.converged_),
        "seconds": result["run"]["seconds"],
        "sources": result["sources"],
        "matching": result["matching"],
        "survival": result["survival"],
        "batch": result["batch"],
        "meta": result["meta"],
        "truth": result["truth"],
        "notes": result["notes"],
    }


def show_clusters(clusters: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print size and confidence of the clusters.

    Parameters
    ----------
    clusters : sequence of {cluster, size, share, confidence}, perhaps with stability
        The clusters; of many, only the largest are shown.
    console : rich.console.Console
        Terminal.
    """
    largest = sorted(clusters, key=lambda row: -row["size"])[:N_ROWS]
    has_stability = any(row.get("stability") is not None for row in clusters)
    last = ["comes back"] if has_stability else []
    table = _table("cluster", "samples", "share", "median confidence", *last, n_texts=0)
    for row in clusters if len(clusters) <= N_ROWS else largest:
        share, confidence = f"{row['share']:.0%}", f"{row['confidence']:.2f}"
        table.add_row(
            str(row["cluster"]), f"{row['size']:,}", share, confidence, *_returns(row)[: len(last)]
        )
    console.print(table)
    if len(clusters) > N_ROWS:
        console.print(f"The {N_ROWS} largest are shown; the files have all.")


def _returns(row: Mapping[str, Any]) -> list[str]:
    """The stability of a cluster, red if it does not come back."""
    stability = row.get("stability")
    if stability is None:
        return ["–"]
    return [f"{stability:.2f}" if row["comes_back"] else f"[red]{stability:.2f} no[/]"]


def show_truth(truth: Mapping[str, Any], console: Console) -> None:
    """Print the agreement of the fit, and of k-means, with known classes.

    Parameters
    ----------
    truth : mapping
        The entry "truth" of a described fit.
    console : rich.console.Console
        Terminal.
    """
    methods = truth["methods"]
    best = {key: max(method["metrics"][key] for method in methods) for key in MEASURES}
    table = _table("method", *MEASURES.values(), "seconds", n_texts=1)
    for method in methods[:N_ROWS]:
        values = method["metrics"]
        shown = [
            f"[bold green]{values[key]:.3f}[/]"
            if values[key] == best[key]
            else f"{values[key]:.3f}"
            for key in MEASURES
        ]
        seconds = "–" if method["seconds"] is None else f"{method['seconds']:.2f}"
        table.add_row(escape(method["name"]), *shown, seconds)
    console.print(table)
    without = f", {truth['n_without']:,} have no known class" if truth["n_without"] else ""
    console.print(
        f"Known classes ({escape(truth['name'])}) of {truth['n_samples']:,} samples{without}; "
        "they were not used for clustering."
    )


def show_survival(survival: Mapping[str, Any], console: Console) -> None:
    """Print events and median survival of the clusters.

    Parameters
    ----------
    survival : mapping
        The entry "survival" of a described fit.
    console : rich.console.Console
        Terminal.
    """
    median = f"median {survival['time']}"
    table = _table("cluster", "samples", "events", "expected", median, "95% interval", n_texts=0)
    for part in survival["clusters"][:N_ROWS]:
        ends = [part["median_low"], part["median_high"]]
        interval = " to ".join("…" if end is None else f"{end:.4g}" for end in ends)
        table.add_row(
            str(part["cluster"]),
            f"{part['n']:,}",
            f"{part['n_events']:,}",
            "–" if part["expected"] is None else f"{part['expected']:.1f}",
            "not reached" if part["median"] is None else f"{part['median']:.4g}",
            "–" if ends == [None, None] else interval,
        )
    console.print(table)


def show_associations(meta: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print the columns tested for association with the clusters, the strongest first.

    Parameters
    ----------
    meta : sequence of dict
        As `associate` returns them.
    console : rich.console.Console
        Terminal.
    """
    table = _table("column", "test", "n", "effect size", "adjusted p")
    for row in meta[:N_ROWS]:
        effect = f"{row['effect_name']} {row['effect']:.2f}"
        p = f"{row['p_adjusted']:.2g}" if row["p_adjusted"] > 0 else "<1e-300"
        table.add_row(escape(row["column"]), row["test"], f"{row['n']:,}", effect, p)
    console.print(table)
    if len(meta) > N_ROWS:
        console.print(f"{len(meta) - N_ROWS} more columns are in the report.")


def _table(*titles: str, n_texts: int = 2) -> Table:
    """A table with `n_texts` columns of text, followed by columns of numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for j, title in enumerate(titles):
        table.add_column(
            title, justify="left" if j < n_texts else "right", overflow="fold", no_wrap=j >= n_texts
        )
    return table


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
