"""Evidence from the benchmarks of the repository, whose results come with the package."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from manyview.study.reproduction.judges import FAILS, HOLDS, NOT_EMPIRICAL, Judge, Judgement, Study
from manyview.study.reproduction.scope import PUBLISHED
from manyview.study.reproduction.tables import records

FOLDER = files("manyview.study.reproduction").joinpath("measured")
LINEAR = 0.25  # an exponent up to 1 and this counts as linear
SIGNIFICANT = 0.05


def measured(name: str) -> pd.DataFrame:
    """Table of a benchmark: growth, anchors or times.

    Parameters
    ----------
    name : str
        Name of the table.

    Returns
    -------
    DataFrame
    """
    with FOLDER.joinpath(f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def grows_linearly(quantity: str) -> Judge:
    """Judge whether the time or memory of a fit grows no faster than the number of samples."""

    def judge(_: Study) -> Judgement:
        table = measured("growth").query("axis == 'n'").set_index("method")
        own, ours = (float(table[quantity][name]) for name in (PUBLISHED, "omvcdr"))
        sizes = f"{table['smallest'].min():,} to {table['largest'].max():,}"
        text = (
            f"Measured by `bench_growth` on blobs of {sizes} samples with a fixed number of "
            f"iterations: the {quantity} of a fit is ~ n^{own:.2f}, and n^{ours:.2f} for "
            f"manyview's OMVCDR. Up to n^{1 + LINEAR:.2f} counts as linear."
        )
        return Judgement(HOLDS if own <= 1 + LINEAR else FAILS, text)

    return judge


def chooses_anchors(_: Study) -> Judgement:
    """Judge whether the space weights choose the number of anchors of other methods."""
    table = measured("anchors")
    n_better = int(((table["p_holm"] < SIGNIFICANT) & (table["gain"] > 0)).sum())
    one = records(table)[0]
    text = (
        f"The paper has no experiment. In `bench_anchors`, the weights choose the number of "
        f"anchors of LMVSC and SMVSC on {one.n_sets} sets: {n_better} of {len(table)} tests "
        f"against the default and against any number are significantly better. The largest weight "
        f"was that of the smallest space in {one.n_smallest} of {one.n_fits} fits, so it "
        f"chooses nothing."
    )
    return Judgement(HOLDS if n_better else FAILS, text)


def reads_as_anchors(_: Study) -> Judgement:
    """Say why the connection with anchor learning has no verdict."""
    text = (
        "A way to read the model, not a result. The identity behind it, that the objective is the "
        "loss of the anchor graph Z with the bases H as anchors, is checked by a test "
        "(`test_the_objective_is_that_of_an_anchor_graph`). The constraints differ: bases are "
        "orthonormal and representations free, where anchors are points of the data and the rows "
        "of an anchor graph are weights that sum to one."
    )
    return Judgement(NOT_EMPIRICAL, text)
