"""The paper's study in one command: from a folder of data to tables, figures and one page."""

from manyview.study.reproduction.scope import ReproduceRequest
from manyview.study.reproduction.session import reproduce

__all__ = ["ReproduceRequest", "reproduce"]
