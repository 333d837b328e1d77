"""Results reported in the paper, and citations of the methods.

Source of `results.csv` and `ablation.csv`: X. Wan et al., "One-step Multi-view Clustering with
Diverse Representation", IEEE Transactions on Neural Networks and Learning Systems, 2024, its tables
of results and of the ablation. An empty mean is a '-' in the paper: the method could not be run.
"""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from manyview._version import __version__
from manyview.exceptions import ViewError
from manyview.utils.near import did_you_mean

__all__ = ["CITATIONS", "cite", "paper_ablation", "paper_results"]

FOLDER = files(__name__)
# Under the heads ACC, NMI, purity and F-score, the row of SMVSC has other metrics: its "ACC" is
# 2PR/(P + R) of its "NMI" and "purity" on all sets, and its program gives these values so.
SHIFTED = {"smvsc": {"acc": "fscore", "nmi": "precision", "purity": "recall", "fscore": "nmi"}}
KEYS = {  # of the entries in `methods.bib`
    "omvcdr": "wan2024omvcdr",
    "published_omvcdr": "wan2024omvcdr",
    "awmvc": "wan2023awmvc",
    "fmr": "li2019fmr",
    "fpmvs": "wang2022fpmvs",
    "lmvsc": "kang2020lmvsc",
    "opmc": "liu2021opmc",
    "sfmc": "li2022sfmc",
    "smvsc": "sun2021smvsc",
    "ksums": "pei2023centerless",
}


def _citations() -> dict[str, str]:
    """BibTeX entry of each method; the entries of the file are separated by an empty line."""
    text = FOLDER.joinpath("methods.bib").read_text(encoding="utf-8")
    entries = {one.partition("{")[2].partition(",")[0]: one for one in text.strip().split("\n\n")}
    return {method: entries[key] for method, key in KEYS.items()}


CITATIONS = _citations()
OURS = f"""@software{{manyview,
  author = {{{{The manyview developers}}}},
  title = {{{{manyview: multi-view clustering in linear time}}}},
  version = {{{__version__}}},
  note = {{Python package; please cite the paper of the method as well}},
}}"""


def paper_results() -> pd.DataFrame:
    """Results of the paper: columns data, method, metric, mean, std.

    The values of SMVSC stand under the metrics that they are, not under the heads of the paper: it
    has no ACC and no purity.

    Returns
    -------
    DataFrame
    """
    table = _table("results.csv")
    for method, names in SHIFTED.items():
        own = table["method"] == method
        table.loc[own, "metric"] = table.loc[own, "metric"].map(names)
    return table


def paper_ablation() -> pd.DataFrame:
    """Ablation of the paper: columns data, method, metric, mean, std (empty).

    Returns
    -------
    DataFrame
    """
    return _table("ablation.csv")


def _table(name: str) -> pd.DataFrame:
    with FOLDER.joinpath(name).open() as file:
        return pd.read_csv(file)


def cite(method: str) -> str:
    """BibTeX entry of a method, or of manyview.

    Parameters
    ----------
    method : str
        A name, such as "omvcdr" or "lmvsc"; "manyview" for the package.

    Returns
    -------
    str
    """
    if method == "manyview":
        return OURS
    if method not in CITATIONS:
        known = ["manyview", *sorted(CITATIONS)]
        names, near = ", ".join(known), did_you_mean(method, known)
        msg = f"There is no citation for {method!r}.{near} Expected one of {names}."
        raise ViewError(msg)
    return CITATIONS[method]
