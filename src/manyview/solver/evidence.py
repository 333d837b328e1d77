"""What a fit knows about itself: records for model files, made in `reliability`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manyview.utils.types import FloatArray

VERDICTS = ("clear", "weak", "none", "unknown")
TIE_SHARE = 0.02  # of a confidence that is the margin itself, so that equal ones keep their order


@dataclass(frozen=True)
class Structure:
    """Whether the clusters are more than a partition of one blob.

    Attributes
    ----------
    verdict : {"clear", "weak", "none", "unknown"}
        What was found; unknown if there are too few samples, one cluster, or more than 1000.
    excess : float
        How far neighbors agree in their cluster beyond what one blob with the same mean and
        covariance gives, as a share of full agreement: 0 is one blob, 1 clusters that share no
        neighbors. The agreement is the assortativity of the labels in the neighbor graph.
    p_value : float
        Chance that one blob gives such an agreement: the tail of Student's t, fitted to a few
        blobs.
    stability : float
        Adjusted Rand index between the labels and those of a fit to a random half of the subset.
    n_samples : int
        Size of the subset.
    n_references : int
        Number of blobs.
    """

    verdict: str
    excess: float = float("nan")
    p_value: float = float("nan")
    stability: float = float("nan")
    n_samples: int = 0
    n_references: int = 0

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.verdict == "unknown":
            return (
                "Whether there is any structure is unknown: to tell takes 2 to 1000 clusters, and "
                "enough samples that differ."
            )
        p = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.2g}"
        figures = (
            f"excess over one blob {max(self.excess, 0):.0%}, {p}, stability {self.stability:.2f}"
        )
        return {
            "clear": f"The clusters are clear ({figures}).",
            "weak": (
                "The clusters are weak: there is structure, but they blend into each other "
                f"({figures})."
            ),
            "none": (
                "No cluster structure was found: one shapeless blob of samples would be divided "
                f"as well, so these clusters should not be interpreted ({figures})."
            ),
        }[self.verdict]


@dataclass(frozen=True)
class Calibration:
    """A rising function from the margin of a label to its confidence, linear between knots."""

    margins: FloatArray  # (K,), rising
    confidence: FloatArray  # (K,), rising, in [0, 1]

    def apply(self, margins: FloatArray) -> FloatArray:
        """Confidence of labels; equal confidences keep the order of their margins."""
        found = np.interp(margins, self.margins, self.confidence)
        return np.asarray((1 - TIE_SHARE) * found + TIE_SHARE * margins)
