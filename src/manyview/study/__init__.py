"""Comparing methods: data sets × methods × seeds → rows, scoreboards, tests, the paper's claims.

A stopped benchmark can be resumed. Only `cli` may import this package.
"""

from manyview.study.methods import Method, find_method, known_methods
from manyview.study.runner import Conditions, run_benchmark
from manyview.study.statistics import compare_methods, friedman_ranks, wilcoxon_holm
from manyview.study.tables import to_latex, to_markdown

__all__ = [
    "Conditions",
    "Method",
    "compare_methods",
    "find_method",
    "friedman_ranks",
    "known_methods",
    "run_benchmark",
    "to_latex",
    "to_markdown",
    "wilcoxon_holm",
]
