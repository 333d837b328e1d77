"""The paper's study in one command: from a folder of data to tables, figures and one page."""

from manyview.reproduce.scope import Request
from manyview.reproduce.session import reproduce

__all__ = ["Request", "reproduce"]
