"""Multi-view data sets: bundled, simulated, from files, and benchmarks."""

from manyview.datasets.benchmark_sets import load_benchmark
from manyview.datasets.blobs import make_multiview_blobs
from manyview.datasets.digits import load_digits_views
from manyview.datasets.files import load_file

__all__ = ["load_benchmark", "load_digits_views", "load_file", "make_multiview_blobs"]
