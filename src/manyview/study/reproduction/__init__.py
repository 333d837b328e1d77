"""Reproduces the experiments of the paper, with tables, figures and one page as the result."""

from manyview.study.reproduction.scope import ReproduceRequest
from manyview.study.reproduction.session import reproduce

__all__ = ["ReproduceRequest", "reproduce"]
