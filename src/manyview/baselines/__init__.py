"""Methods to compare with, on the same interface; `BASELINES` maps their names to the classes."""

from manyview.base import MultiViewClusterer
from manyview.baselines.published_omvcdr import PublishedOMVCDR

__all__ = ["BASELINES", "PublishedOMVCDR"]

BASELINES: dict[str, type[MultiViewClusterer]] = {"published_omvcdr": PublishedOMVCDR}
