"""The data sets of the paper (its table I), and the usual names of their files."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class PaperSet:
    """A data set of the paper (its table I), its benchmark file, and aliases."""

    name: str
    file: str
    n_samples: int
    n_views: int
    n_classes: int
    remark: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def files(self) -> str:
        """The usual names of its file, in words."""
        *first, last = (f"{self.file}.npz", *(f"{alias}.mat" for alias in self.aliases))
        return f"{', '.join(first)} or {last}" if first else last

    def difference(self, n_samples: int, n_views: int, n_classes: int) -> str:
        """Differences between the sizes of a file and table I; empty if there are none."""
        ours = {"samples": n_samples, "views": n_views, "classes": n_classes}
        theirs = (self.n_samples, self.n_views, self.n_classes)
        pairs = zip(ours.items(), theirs, strict=True)
        return ", ".join(f"{n} {what}, not {m}" for (what, n), m in pairs if n != m)


PAPER_SETS = (
    PaperSet(
        *("Flower17", "flower17", 1360, 7, 17),
        "kernels, read as features; flower17_derived_7v is not the same",
        ("flower17_Kmatrix",),
    ),
    PaperSet(
        *("HandWritten", "handwritten_2v", 2000, 2, 10),
        "pixels, not UCI Multiple Features",
        ("HandWritten", "HandWritten_2Views", "HW_2Views"),
    ),
    PaperSet("BDGP", "bdgp", 2500, 3, 5, "", ("BDGP_fea", "BDGP_3Views")),
    PaperSet(
        *("Hdigit", "hdigit", 10000, 2, 10),
        "a public file; the paper's ablation comes out on it to four digits",
        ("Hdigit_fea", "Hdigit_2Views"),
    ),
    PaperSet("AWA", "awa", 30475, 6, 50, "", ("AwA_fea", "AwA_6Views")),
    PaperSet(
        *("YTF-10", "ytf10", 38654, 4, 10, ""),
        ("YTF10_4", "YTF10_4Views", "YouTubeFace10", "YouTubeFace10_4Views"),
    ),
    PaperSet(
        *("YTF-20", "ytf20", 63896, 4, 20, ""),
        ("YTF20_4", "YTF20_4Views", "YouTubeFace20", "YouTubeFace20_4Views"),
    ),
)


DERIVED_SETS = {"flower17_derived_7v": "flower17"}  # of other features than the paper's
STAND_INS = ("scene15", "ccv", "mnist70k_4v")  # of the size or kind of AWA, YTF-10 and YTF-20


def find_paper_set(name: str) -> PaperSet | None:
    """Find the data set that a file of this name usually holds; case, - and _ are ignored.

    Parameters
    ----------
    name : str
        Name of a file, without its suffix.

    Returns
    -------
    PaperSet or None
    """
    for one in PAPER_SETS:
        if _plain(name) in map(_plain, (one.file, *one.aliases)):
            return one
    return None


def _plain(name: str) -> str:
    return re.sub("[-_]", "", name.lower())
