"""What the paper reports, as data: its tables, and how to cite the methods.

Source of `results.csv` and `ablation.csv`: X. Wan et al., "One-step Multi-view Clustering with
Diverse Representation", IEEE Transactions on Neural Networks and Learning Systems, 2024, its tables
of results and of the ablation. An empty mean is the paper's '-': the method could not be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

from manyview.exceptions import ViewError

__all__ = [
    "CITATIONS",
    "Citation",
    "cite",
    "paper_ablation",
    "paper_results",
]


def paper_results() -> pd.DataFrame:
    """Results of the paper: columns data, method, metric, mean, std.

    Returns
    -------
    DataFrame
    """
    return _table("results.csv")


def paper_ablation() -> pd.DataFrame:
    """Ablation of the paper: columns data, method, metric, mean, std (empty).

    Returns
    -------
    DataFrame
    """
    return _table("ablation.csv")


def _table(name: str) -> pd.DataFrame:
    with files(__name__).joinpath(name).open() as file:
        return pd.read_csv(file)


@dataclass(frozen=True)
class Citation:
    """One publication."""

    key: str
    authors: str
    title: str
    venue: str
    year: int
    kind: str = "article"

    def bibtex(self) -> str:
        """The entry for a BibTeX file."""
        field = "journal" if self.kind == "article" else "booktitle"
        return (
            f"@{self.kind}{{{self.key},\n"
            f"  author = {{{self.authors}}},\n"
            f"  title = {{{{{self.title}}}}},\n"
            f"  {field} = {{{self.venue}}},\n"
            f"  year = {{{self.year}}},\n"
            "}"
        )


OMVCDR = Citation(
    "wan2024omvcdr",
    "Wan, Xinhang and Liu, Jiyuan and Liu, Xinwang and Wang, Siwei and Wen, Yi and Wan, Tianjiao "
    "and Shen, Li and Zhu, En",
    "One-step Multi-view Clustering with Diverse Representation",
    "IEEE Transactions on Neural Networks and Learning Systems",
    2024,
)
CITATIONS = {
    "omvcdr": OMVCDR,
    "published_omvcdr": OMVCDR,
    "awmvc": Citation(
        "wan2023awmvc",
        "Wan, Xinhang and Liu, Xinwang and Liu, Jiyuan and others",
        "Auto-weighted Multi-view Clustering for Large-scale Data",
        "Proceedings of the AAAI Conference on Artificial Intelligence",
        2023,
        "inproceedings",
    ),
    "fmr": Citation(
        "li2019fmr",
        "Li, Ruihuang and Zhang, Changqing and Hu, Qinghua and Zhu, Pengfei and Wang, Zheng",
        "Flexible Multi-View Representation Learning for Subspace Clustering",
        "Proceedings of the International Joint Conference on Artificial Intelligence",
        2019,
        "inproceedings",
    ),
    "fpmvs": Citation(
        "wang2022fpmvs",
        "Wang, Siwei and Liu, Xinwang and Zhu, Xinzhong and others",
        "Fast Parameter-Free Multi-View Subspace Clustering With Consensus Anchor Guidance",
        "IEEE Transactions on Image Processing",
        2022,
    ),
    "lmvsc": Citation(
        "kang2020lmvsc",
        "Kang, Zhao and Zhou, Wangtao and Zhao, Zhitong and Shao, Junming and Han, Meng and "
        "Xu, Zenglin",
        "Large-scale Multi-view Subspace Clustering in Linear Time",
        "Proceedings of the AAAI Conference on Artificial Intelligence",
        2020,
        "inproceedings",
    ),
    "opmc": Citation(
        "liu2021opmc",
        "Liu, Jiyuan and Liu, Xinwang and Yang, Yuexiang and others",
        "One-pass Multi-view Clustering for Large-scale Data",
        "Proceedings of the IEEE/CVF International Conference on Computer Vision",
        2021,
        "inproceedings",
    ),
    "sfmc": Citation(
        "li2022sfmc",
        "Li, Xuelong and Zhang, Han and Wang, Rong and Nie, Feiping",
        "Multiview Clustering: A Scalable and Parameter-Free Bipartite Graph Fusion Method",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence",
        2022,
    ),
    "smvsc": Citation(
        "sun2021smvsc",
        "Sun, Mengjing and Zhang, Pei and Wang, Siwei and others",
        "Scalable Multi-view Subspace Clustering with Unified Anchors",
        "Proceedings of the ACM International Conference on Multimedia",
        2021,
        "inproceedings",
    ),
    "ksums": Citation(
        "pei2023centerless",
        "Pei, Shenfei and Chen, Huimin and Nie, Feiping and Wang, Rong and Li, Xuelong",
        "Centerless Clustering",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence",
        2023,
    ),
}


def cite(method: str) -> str:
    """BibTeX entry of a method.

    Parameters
    ----------
    method : str
        A name, such as "omvcdr" or "lmvsc".

    Returns
    -------
    str
    """
    if method not in CITATIONS:
        known = ", ".join(sorted(CITATIONS))
        msg = f"There is no citation for {method!r}; expected one of {known}."
        raise ViewError(msg)
    return CITATIONS[method].bibtex()
