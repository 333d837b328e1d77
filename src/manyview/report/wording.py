"""Findings in words until the report of a fit is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["tell_confidence", "tell_stability", "tell_views"]


def tell_confidence(confidence: Mapping[str, Any], n_samples: int) -> str:
    """Say how sure the samples are."""
    return f"{confidence['n_doubtful']} of {n_samples} samples are doubtful."


def tell_stability(confidence: Mapping[str, Any]) -> str:
    """Say how well the starts agree."""
    return f"The {confidence['n_starts']} starts agree by {confidence['stability']}."


def tell_views(views: Sequence[Mapping[str, Any]]) -> str:
    """Say which views drove the clusters."""
    return ", ".join(f"{view['name']} {view['weight']:.0%}" for view in views)
