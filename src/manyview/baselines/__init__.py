"""Baselines with the interface of OMVCDR; `BASELINES` maps their names to classes.

One file and one dataclass per method; shared code is in modules with an underscore (`*_kernels.py`
are compiled loops of single methods). For clarity, they do not use engines. OMVCDR itself is in
`manyview.omvcdr`.
"""

from manyview.base import MultiViewClusterer
from manyview.baselines.awmvc import AWMVC
from manyview.baselines.best_single_view import BestSingleView
from manyview.baselines.concat_kmeans import ConcatKMeans
from manyview.baselines.concat_spectral import ConcatSpectral
from manyview.baselines.fmr import FMR
from manyview.baselines.fpmvs import FPMVS
from manyview.baselines.ksums import KSums
from manyview.baselines.lmvsc import LMVSC
from manyview.baselines.matrix_factorization import MatrixFactorizationClustering
from manyview.baselines.opmc import OPMC
from manyview.baselines.published_omvcdr import PublishedOMVCDR
from manyview.baselines.sfmc import SFMC
from manyview.baselines.smvsc import SMVSC

__all__ = [
    "AWMVC",
    "BASELINES",
    "FMR",
    "FPMVS",
    "LMVSC",
    "OPMC",
    "SFMC",
    "SMVSC",
    "BestSingleView",
    "ConcatKMeans",
    "ConcatSpectral",
    "KSums",
    "MatrixFactorizationClustering",
    "PublishedOMVCDR",
]

BASELINES: dict[str, type[MultiViewClusterer]] = {
    "published_omvcdr": PublishedOMVCDR,
    "fmr": FMR,
    "sfmc": SFMC,
    "smvsc": SMVSC,
    "opmc": OPMC,
    "fpmvs": FPMVS,
    "lmvsc": LMVSC,
    "awmvc": AWMVC,
    "ksums": KSums,
    "matrix_factorization": MatrixFactorizationClustering,
    "concat_kmeans": ConcatKMeans,
    "concat_spectral": ConcatSpectral,
    "best_single_view": BestSingleView,
}
