"""Multi-view data to try things on: bundled, generated, from files, and the benchmark sets.

The registry of the paper's data sets is here as well; what the paper reports is in `study.paper`.
Files of users are read by `io`.
"""

from manyview.datasets.benchmark_sets import load_benchmark
from manyview.datasets.blobs import make_multiview_blobs
from manyview.datasets.citeseq import make_citeseq
from manyview.datasets.digits import load_digits_views
from manyview.datasets.files import load_file

__all__ = [
    "load_benchmark",
    "load_digits_views",
    "load_file",
    "make_citeseq",
    "make_multiview_blobs",
]
