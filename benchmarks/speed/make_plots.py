"""Draw the plots of docs/speed.md and write its tables, from the files of the benchmarks.

The section of a benchmark without a file is left unchanged.

    python -m benchmarks.speed.make_plots [--results benchmarks/results] [--page docs/speed.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.measuring import exponent
from benchmarks.page import markdown, write_section
from benchmarks.speed import (
    bench_engines,
    bench_estimate,
    bench_large_k,
    bench_memory,
    bench_peers,
    bench_scaling,
)
from manyview.inspection.plots import COLORS
from manyview.persistence.atomic import atomic_path

DPI = 100
MARKERS = "osD^v<>pP*Xh"
TIMES = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)  # seconds
PACKAGES = ("manyview", "scikit-learn", "faiss-cpu", "mvlearn", "polyview", "imml")
SETS_ON_GPU = {"default": "blobs", "digits": "digits"}
METHODS_ON_GPU = {"OMVCDR(scale='auto')": "OMVCDR", "OMVCDR(scale=None)": "OMVCDR, scale=None"}
SAMPLES, FEATURES = "samples", "features"
AXES = {"n": SAMPLES, "d": FEATURES, "k": "clusters", "V": "views of 64 features"}


def conditions(rows: pd.DataFrame) -> str:
    """Machine, threads, load and versions of a measurement."""
    first = rows.iloc[0]
    threads = "one thread" if first["threads"] == 1 else f"{first['threads']} threads"
    load = f"load {first['load']:g} at the start"
    return f"Measured on {first['machine']}, {threads}, {load}: {first['versions']}."


def new_figure(width: float, height: float) -> Figure:
    """An empty figure."""
    return Figure(figsize=(width, height), layout="constrained")


def short(number: float) -> str:
    """A number in few characters, such as 316k."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            share = number / unit
            return f"{share:.0f}{letter}" if share >= 10 else f"{share:.2g}{letter}"
    return f"{number:.3g}"


def mark(axis: Any, values: Any) -> None:
    """Ticks of a logarithmic axis at these values and nowhere else."""
    axis.set_ticks(values, [short(value) for value in values])
    axis.set_ticks([], minor=True)


def tidy(ax: Any) -> None:
    """Remove the upper and the right spine."""
    ax.spines[["top", "right"]].set_visible(False)


def draw_kernels(rows: pd.DataFrame) -> Figure:
    """Left: time relative to the bounds. Right: relative to the two products of an iteration."""
    figure = new_figure(9, 4.2)
    cases = list(rows.groupby(["dtype", "k"], sort=False))
    names = list(rows["kernel"].unique())
    titles = {"ratio": "time / bound of the kernel", "of_products": "time / both matrix products"}
    for ax, (column, title) in zip(figure.subplots(1, 2, sharey=True), titles.items(), strict=True):
        for i, ((dtype, k), group) in enumerate(cases):
            places = np.arange(len(names)) + 0.2 * (i - 1.5)
            values = group.set_index("kernel")[column][names]
            ax.barh(places, values, 0.18, color=COLORS[i], label=f"{dtype}, k = {k}")
        ax.set_yticks(range(len(names)), names)
        ax.set(xlabel=title)
        tidy(ax)
    left, right = figure.axes
    left.set_xscale("log")
    mark(left.xaxis, [1, 3, 10, 30, 100])
    left.axvline(1, color="0.4", lw=0.8)
    left.invert_yaxis()
    handles, names = right.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return figure


def draw_scaling(rows: pd.DataFrame) -> Figure:
    """Time of an iteration against each size, with the fitted line."""
    figure = new_figure(10, 3)
    slopes = bench_scaling.exponents(rows)
    axes = figure.subplots(1, len(slopes))
    for ax, (axis, slope) in zip(axes, slopes.items(), strict=True):
        group = rows[rows["axis"] == axis]
        x, y = group[axis].to_numpy(), group["iteration_s"].to_numpy()
        middle = np.exp(np.mean(np.log(y)) + slope * (np.log(x) - np.mean(np.log(x))))
        ax.loglog(x, middle, color="0.6", lw=1)
        ax.loglog(x, y, "o", color=COLORS[0])
        mark(ax.xaxis, x)
        mark(ax.yaxis, y)
        ax.set_title(f"exponent {slope:.2f}", fontsize=10)
        ax.set(xlabel=AXES[axis])
        tidy(ax)
    axes[0].set(ylabel="seconds per iteration")
    return figure


def draw_memory(rows: pd.DataFrame) -> Figure:
    """Peak memory of a fit relative to the views, against n and d."""
    done = rows[rows["status"] == "done"]
    figure = new_figure(8, 3.2)
    for ax, axis in zip(figure.subplots(1, 2, sharey=True), ("n", "d"), strict=True):
        groups = done[done["axis"] == axis].groupby("method", sort=False)
        for i, (method, group) in enumerate(groups):
            ax.semilogx(group[axis], group["ratio"], "o-", color=COLORS[i], label=method)
        mark(ax.xaxis, sorted(done.loc[done["axis"] == axis, axis].unique()))
        ax.set(xlabel=AXES[axis], ylim=(0, None))
        tidy(ax)
    figure.axes[0].set(ylabel="peak / size of the views")
    figure.axes[1].legend(frameon=False)
    return figure


def draw_peers(rows: pd.DataFrame) -> Figure:
    """NMI against time, one panel per set; the upper left is best."""
    sets = list(rows["data"].unique())
    figure = new_figure(9, 1.2 + 3 * -(-len(sets) // 2))
    axes = figure.subplots(-(-len(sets) // 2), 2, squeeze=False).ravel()
    done = rows[rows["status"] == "done"]
    kinds = done.drop_duplicates("method").set_index("method")["package"]
    for ax, name in zip(axes, sets, strict=False):
        table = bench_peers.summary(rows, name)
        for method, package in kinds.items():
            within = list(kinds.index[kinds == package]).index(method)
            style = {"color": COLORS[PACKAGES.index(package)], "marker": MARKERS[within]}
            place = table[["seconds", "nmi"]].reindex([method])
            ax.plot(*place.T.to_numpy(), ls="", ms=7, label=method, **style)
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        mark(ax.xaxis, [time for time in TIMES if low <= time <= high])
        ax.set_title(name, fontsize=10)
        ax.set(xlabel="seconds per fit", ylabel="NMI")
        tidy(ax)
    for ax in axes[len(sets) :]:
        ax.set_axis_off()
    handles, names = axes[0].get_legend_handles_labels()
    style = {"loc": "outside lower center", "ncols": 3, "frameon": False, "fontsize": 9}
    figure.legend(handles, names, **style)
    return figure


def draw_engines(rows: pd.DataFrame) -> Figure:
    """Rows per second of streaming and of its bounds."""
    reading = rows[rows["what"] == "raw read"]["bytes_per_s"].max()
    row_bytes = 4 * bench_engines.WIDTH
    done = rows[rows["status"] == "done"]
    part = done[(done["what"] == "part") & (done["engine"] == "memory")]
    bars = {
        "reading the file once": reading / row_bytes,
        "computing in memory": (part["rows"] / part["iteration_s"]).max(),
    }
    for row in done[done["what"] == "whole"].itertuples():
        bars[f"engine: {row.engine}, from disk"] = row.rows / row.iteration_s
    figure = new_figure(7, 0.7 + 0.45 * len(bars))
    ax = figure.subplots()
    colors = ["0.7"] * 2 + [COLORS[0]] * (len(bars) - 2)
    ax.barh(list(bars), [value / 1e6 for value in bars.values()], color=colors)
    ax.invert_yaxis()
    ax.set(xlabel="million rows per second, in an iteration")
    tidy(ax)
    return figure


def tell_kernels(rows: pd.DataFrame) -> str:
    """The rates of the machine, and the ratios."""
    rates = rows.drop_duplicates("dtype").itertuples()
    sentences = [
        f"* {row.dtype}: a product runs at {row.product_gflops:.0f} · 10⁹ operations/s, a "
        f"copy at {row.copy_gb_s:.0f} GB/s, a triad at {row.triad_gb_s:.0f} GB/s."
        for row in rates
    ]
    sizes = rows.drop_duplicates(["dtype", "rows"]).itertuples()
    blocks = ", ".join(f"{row.rows} rows in {row.dtype}" for row in sizes)
    sentences.append(f"* A block: {blocks}.")
    header = ["kernel", "bound"]
    cases = list(rows.groupby(["dtype", "k"], sort=False))
    header += [f"{dtype}, k = {k}" for (dtype, k), _ in cases]
    lines = []
    for (kernel, bound), _ in rows.groupby(["kernel", "bound"], sort=False):
        cells = [group.set_index("kernel").loc[kernel] for _, group in cases]
        texts = [f"{cell['ratio']:.2f} ({cell['of_products']:.2f})" for cell in cells]
        lines.append([f"`{kernel}`", bound, *texts])
    return "\n".join(sentences) + "\n\n" + markdown(header, lines)


def tell_scaling(rows: pd.DataFrame) -> str:
    """The exponents and their targets."""
    lines = []
    for axis, slope in bench_scaling.exponents(rows).items():
        sizes = rows.loc[rows["axis"] == axis, axis]
        limit = bench_scaling.LIMITS.get(axis)
        target = "" if limit is None else f"at most {limit:g}"
        lines.append([AXES[axis], f"{sizes.min()} to {sizes.max()}", f"{slope:.2f}", target])
    return markdown(["size", "range", "exponent", "target"], lines)


def tell_memory(rows: pd.DataFrame) -> str:
    """Exponents, and the peaks at the largest sizes."""
    done = rows[rows["status"] == "done"]
    header, columns = ["method"], []
    for axis, group in done.groupby("axis", sort=False):
        by_method = group.groupby("method", sort=False)
        last = by_method.last()
        sizes = "{:.0f} MB ({:.2f} × the views)".format
        peaks = [sizes(row.peak_bytes / 1e6, row.ratio) for row in last.itertuples()]
        if axis in AXES:
            slopes = [exponent(part[axis], part["peak_bytes"]) for _, part in by_method]
            header += [f"exponent in {axis}", f"peak at {group[axis].max()} {AXES[axis]}"]
            columns += [[f"{slope:.2f}" for slope in slopes], peaks]
        else:
            header.append(f"peak on `{axis}`")
            columns.append(peaks)
    methods = list(done["method"].unique())
    target = f"Target on `{bench_memory.REAL}`, `scale=None`: at most {bench_memory.LIMIT:g}."
    return markdown(header, list(zip(methods, *columns, strict=True))) + "\n\n" + target


def tell_peers(rows: pd.DataFrame) -> str:
    """For each set: a table, which methods are as good as ours, and which did not finish."""
    parts = []
    for name, group in rows.groupby("data", sort=False):
        table = bench_peers.summary(rows, name)
        lines = [
            [
                method,
                f"{row['seconds']:.2f}",
                f"{row['ratio']:.2f}",
                f"{row['acc']:.3f}",
                f"{row['nmi']:.3f}",
                f"{row['memory']:.1f}",
            ]
            for method, row in table.iterrows()
        ]
        header = ["method", "seconds", "/ KMeans(n_init=1)", "ACC", "NMI", "memory / views"]
        parts += [f"### {name}", markdown(header, lines)]
        parts += [bench_peers.verdict(table, ours) for ours in bench_peers.OURS]
        others = group[group["status"] != "done"].itertuples()
        lost = [f"* {row.method}: {row.status}: {row.reason}" for row in others]
        parts += ["Without a result:", "\n".join(lost)] if lost else []
    versions = rows.drop_duplicates("package").itertuples()
    packages = ", ".join(f"{row.package} {row.version}" for row in versions)
    return "\n\n".join([*parts, f"Packages: {packages}."])


def tell_engines(rows: pd.DataFrame) -> str:
    """The measurements, and what follows from them."""
    lines = []
    for row in rows[rows["status"] == "done"].to_dict("records"):
        size = f"{row['rows']:,}".replace(",", " ")
        if row["what"] == "raw read":
            rate = f"{row['bytes_per_s'] / 1e9:.2f} GB/s"
            lines.append(["raw read", size, "", rate, ""])
        elif np.isfinite(row["iteration_s"]):
            rate = f"{row['rows'] / row['iteration_s'] / 1e6:.3f} million rows/s"
            anon = f"{row['peak_anon'] / 1e9:.2f} GB"
            name = f"engine: {row['engine']}"
            lines.append([name, size, f"{row['iteration_s']:.2f}", rate, anon])
    header = ["measurement", "rows", "seconds per iteration", "rate", "anonymous memory"]
    verdicts = [f"* {line}." for line in bench_engines.verdicts(rows)]
    return markdown(header, lines) + "\n\n" + "\n".join(verdicts)


def draw_gpu(rows: pd.DataFrame) -> Figure:
    """Left: an iteration beside its products. Right: whole fits beside k-means."""
    figure = new_figure(10, 3.4)
    left, right = figure.subplots(1, 2)
    iterations = rows[rows["part"] == "iteration"]
    names = ["TF32" if tf32 else "float32" for tf32 in iterations["tf32"]]
    for i, (column, label) in enumerate(
        {"bare_s": "its two matrix products", "iteration_s": "an iteration"}.items()
    ):
        places = np.arange(len(names)) + 0.4 * (i - 0.5)
        left.barh(places, 1000 * iterations[column], 0.36, color=COLORS[1 - i], label=label)
    left.set_yticks(range(len(names)), names)
    left.set(xlabel="milliseconds")
    handles, of_bars = left.get_legend_handles_labels()
    figure.legend(handles, of_bars, loc="outside upper left", ncols=2, frameon=False)
    fits = rows[rows["part"].isin(["default", "digits"])]
    names = [
        f"{SETS_ON_GPU[row.part]}: {METHODS_ON_GPU.get(row.method, row.method)}"
        for row in fits.itertuples()
    ]
    is_own = fits["method"].str.startswith("OMVCDR")
    right.barh(range(len(fits)), fits["fit_s"], 0.6, color=np.where(is_own, COLORS[0], COLORS[1]))
    for place, row in enumerate(fits.itertuples()):
        right.text(row.fit_s, place, f" NMI {row.nmi:.2f}", va="center")
    right.set_yticks(range(len(fits)), names)
    right.set(xlabel="seconds of a fit", xlim=(0, 1.3 * fits["fit_s"].max()))
    for ax in (left, right):
        ax.invert_yaxis()
        tidy(ax)
    return figure


def tell_gpu(rows: pd.DataFrame) -> str:
    """Each measurement in a line, with what it is compared with."""
    lines = []
    for row in rows.to_dict("records"):
        size, precision = f"{row['n']:,}".replace(",", " "), "TF32" if row["tf32"] else "float32"
        ms, other = f"{1000 * row['iteration_s']:.1f} ms", f"NMI {row['nmi']:.3f}"
        if row["part"] == "iteration":
            other = f"{row['iteration / bare']:.2f} of its two products"
            lines.append([f"iteration, {precision}", size, ms, other])
        elif row["part"] == "fit":
            lines.append([f"fit, {precision}", size, f"{row['fit_s']:.2f} s", other])
        elif row["part"] in ("default", "digits"):
            what = f"{row['part']}: {row['method']}"
            lines.append([what, size, f"{row['fit_s']:.2f} s", other])
        elif row["part"] == "stream":
            other = f"{row['rate / copies']:.2f} of the rate of pinned copies"
            lines.append(["streamed iteration", size, f"{row['iteration_s']:.2f} s", other])
        elif row["part"] == "predict":
            other = f"{row['rows_per_s'] / 1e6:.2f} million rows/s"
            lines.append(["predict", size, f"{row['predict_s']:.2f} s", other])
        elif row["part"] == "equal":
            other = f"{row['share as on cpu']:.4f} of the labels as on the CPU"
            lines.append(
                [f"20 fits, {row['scale']}", size, f"{row['equal of 20']:.0f} equal", other]
            )
    return markdown(["measurement", "samples", "", ""], lines)


def tell_fit(rows: pd.DataFrame) -> str:
    """Iterations relative to their products, then whole fits: medians and ranges."""
    lines = []
    iterations = rows.dropna(subset=["iteration / bare"])
    sets = iterations.groupby(["data", "dtype", "k"], sort=False)
    for (data, dtype, k), group in sets:
        low, middle, high = group["iteration / bare"].quantile([0, 0.5, 1])
        lines.append([f"`{data}`", dtype, str(k), f"{middle:.2f}", f"{low:.2f} to {high:.2f}"])
    header = ["data", "type", "k", "iteration / matrix products", "range over repeats"]
    fits = rows.dropna(subset=["fit / KMeans"])
    targets = {"fit / KMeans": 0.33, "default fit / KMeans": 1.0, "share of decrease": 0.995}
    whole = [
        [
            data,
            name,
            f"{found[name].median():.3f}",
            f"{found[name].min():.3f} to {found[name].max():.3f}",
            f"{limit:g}",
        ]
        for data, found in fits.groupby("data", sort=False)
        for name, limit in targets.items()
    ]
    whole += [
        [of_set["data"], name, f"{of_set[name]:.2f}", "", "0.6"]
        for of_set in rows.dropna(subset=["memory / views"]).to_dict("records")
        for name in ("memory / views", "memory / views, default")
    ]
    names = ["whole fits of", "", "median", "range over seeds", "target"]
    return markdown(header, lines) + "\n\n" + markdown(names, whole)


def tell_large_k(rows: pd.DataFrame) -> str:
    """Time of iterations, of new samples and of whole fits."""
    header = ["measurement", "samples", "k", "seconds", "remark"]
    lines = []
    for row in rows.to_dict("records"):
        what, remark = row["what"], ""
        if what == "predict":
            remark = f"{row['bare_s'] / row['seconds']:.2f} of the rate of the matrix products"
        if what == "fit":
            what = f"fit, {row['engine']}"
            made = 4e-6 * row["n"] * row["k"]
            remark = (
                f"{row['clusters']:.0f} clusters, {row['bytes'] / 1e6:.0f} MB (samples × clusters: "
                f"{made:.0f} MB)"
            )
            if row["engine"] != "memory":
                remark += f", {row['same']:.4f} of the labels equal those of the memory engine"
        size = f"{row['n']:,}".replace(",", " ")
        lines.append([what, size, str(row["k"]), f"{row['seconds']:.2f}", remark])
    grown = bench_large_k.growth_told(rows)
    return f"{grown[0].upper()}{grown[1:]}.\n\n{markdown(header, lines)}"


def tell_wide(rows: pd.DataFrame) -> str:
    """Fits of wide views beside their Gram matrices."""
    lines = [
        [
            str(row.case),
            "all" if row.n_jobs == 0 else str(row.n_jobs),
            f"{row.gram_matrices:d}",
            f"{row.bound_seconds:.2f}",
            f"{row.fit_seconds:.2f}",
            f"{row.ratio:.1f}",
            f"{row.plain_ratio:.1f}",
            f"{row.ari:.3f}",
        ]
        for row in rows.itertuples()
    ]
    header = ["views", "threads", "Gram matrices", "they and eigenvectors, s", "fit, s", "ratio"]
    header += ["ratio on all features", "ARI with that"]
    return markdown(header, lines)


def tell_estimate(rows: pd.DataFrame) -> str:
    """Estimated and measured time and memory."""
    lines = [
        [
            row["engine"],
            f"{row['n']:,}".replace(",", " "),
            str(row["k"]),
            f"{row['told_s']:.1f}",
            f"{row['fit_s']:.1f}",
            f"{row['time_ratio']:.2f}",
            f"{row['told_bytes'] / 1e6:.0f}",
            f"{row['fit_bytes'] / 1e6:.0f}",
            f"{row['memory_ratio']:.2f}",
        ]
        for row in rows.to_dict("records")
    ]
    then = ["measured", "ratio"]
    header = ["engine", "samples", "k", "seconds estimated", *then, "MB estimated", *then]
    return markdown(header, lines) + "\n\n" + bench_estimate.findings(rows).replace("\n", ". ")


Draw = Callable[[pd.DataFrame], Figure]
Tell = Callable[[pd.DataFrame], str]
PARTS: dict[str, tuple[Draw, Tell, str]] = {
    "kernels": (draw_kernels, tell_kernels, "Kernels relative to their bounds"),
    "scaling": (draw_scaling, tell_scaling, "Time of an iteration against each size"),
    "peers": (draw_peers, tell_peers, "NMI against time, one panel per data set"),
    "memory": (draw_memory, tell_memory, "Peak memory of a fit relative to the size of the views"),
    "engines": (draw_engines, tell_engines, "Rows per second, from disk and in memory"),
    "gpu": (draw_gpu, tell_gpu, "Iterations and fits on a GPU, beside matrix products and k-means"),
}

TABLES: dict[str, Tell] = {  # without a plot
    "fit": tell_fit,
    "large_k": tell_large_k,
    "estimate": tell_estimate,
    "wide": tell_wide,
}


def write_part(name: str, rows: pd.DataFrame, page: Path) -> None:
    """One plot, and one section of the page."""
    draw, tell, title = PARTS[name]
    image = page.parent / "images" / f"bench_{name}.png"
    image.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(image) as temporary:
        draw(rows).savefig(temporary, dpi=DPI, metadata={"Software": None})
    picture = f"![{title}](images/{image.name})"
    write_section(page, name, "\n\n".join([picture, tell(rows), conditions(rows)]))


def main() -> None:
    """Write the sections whose files exist."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--page", type=Path, default=Path("docs/speed.md"))
    arguments = parser.parse_args()
    for name in (*PARTS, *TABLES):
        path = arguments.results / f"bench_{name}.csv"
        if path.exists() and name in PARTS:
            write_part(name, pd.read_csv(path), arguments.page)
        elif path.exists():
            rows = pd.read_csv(path)
            told = [conditions(rows)] if "versions" in rows else []
            write_section(arguments.page, name, "\n\n".join([TABLES[name](rows), *told]))
        else:
            print(f"{path}: no such file; run python -m benchmarks.speed.bench_{name}")


if __name__ == "__main__":
    main()
