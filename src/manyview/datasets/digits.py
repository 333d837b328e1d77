"""The digits of scikit-learn with five views."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.utils import Bunch

from manyview.datasets._bundle import bundle

FloatArray = NDArray[np.floating[Any]]

DESCRIPTION = """Handwritten digits as 8 × 8 images of 17 gray levels: the test set of "Optical
Recognition of Handwritten Digits" (E. Alpaydin, C. Kaynak; UCI, CC BY 4.0), which scikit-learn
brings along.
The views are computed from the images:
pixels     gray levels, 0 to 16
fourier    magnitudes of the Fourier transform; they hardly change when a digit moves
gradients  histograms of edge directions in nine overlapping cells; rows of norm 1
profiles   sums over rows, columns and both diagonals
outlines   way from each of the four sides to the ink"""


def load_digits_views(*, return_X_y: bool = False) -> Bunch:
    """Load 1797 handwritten digits with five views; no download needed.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return `(data, target)` instead of a Bunch.

    Returns
    -------
    Bunch or (MultiViewData, array of shape (1797,))
        `data` (views of 64, 39, 72, 46 and 32 features, float64), `target` (0 to 9),
        `view_names` and `DESCR`.

    Examples
    --------
    >>> from manyview.datasets import load_digits_views
    >>> load_digits_views().view_names
    ('pixels', 'fourier', 'gradients', 'profiles', 'outlines')
    """
    digits = load_digits()
    images = np.ascontiguousarray(digits.images)  # (n, 8, 8)
    features = {
        "pixels": images,
        "fourier": _fourier(images),
        "gradients": _gradients(images),
        "profiles": _profiles(images),
        "outlines": _outlines(images),
    }
    views = {name: view.reshape(len(images), -1) for name, view in features.items()}
    return bundle(views, digits.target.astype(np.int64), DESCRIPTION, as_pair=return_X_y)


def _fourier(images: FloatArray) -> FloatArray:
    """|FFT| of one half-plane, without the constant term."""
    magnitudes = np.abs(np.fft.rfft2(images, norm="ortho"))  # (n, 8, 5)
    return magnitudes.reshape(len(images), -1)[:, 1:].copy()


def _gradients(images: FloatArray, n_directions: int = 8) -> FloatArray:
    """Histograms of gradient directions in 4 × 4 cells that overlap by half."""
    down, right = np.gradient(images, axis=(1, 2))
    turn = np.arctan2(down, right) / (2 * np.pi) * n_directions % n_directions  # in bins
    distance = np.abs(turn[..., None] - np.arange(n_directions))  # (n, 8, 8, n_directions)
    distance = np.minimum(distance, n_directions - distance)
    # A direction between two bins counts for both, for robustness against small rotations.
    votes = np.hypot(down, right)[..., None] * np.maximum(0, 1 - distance)
    cells = np.lib.stride_tricks.sliding_window_view(votes, (4, 4), axis=(1, 2))[:, ::2, ::2]
    histograms: FloatArray = cells.sum(axis=(-2, -1)).reshape(len(images), -1)
    histograms /= np.linalg.norm(histograms, axis=1, keepdims=True)
    return histograms


def _profiles(images: FloatArray) -> FloatArray:
    """Sum the images along four directions."""
    size = images.shape[1]
    diagonals = [
        np.trace(flipped, offset, axis1=1, axis2=2)
        for flipped in (images, images[:, :, ::-1])
        for offset in range(1 - size, size)
    ]
    return np.hstack([images.sum(axis=2), images.sum(axis=1), np.stack(diagonals, axis=1)])


def _outlines(images: FloatArray) -> FloatArray:
    """Distance from each side to the ink, for each row and column, weighted by its darkness."""
    passed = 1 - images / 16
    turned = (passed, passed[:, :, ::-1], passed.mT, passed.mT[:, :, ::-1])
    return np.hstack([np.cumprod(side, axis=2).sum(axis=2) for side in turned])
