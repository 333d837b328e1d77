"""Random problems of every awkward kind, and what the estimator promises for each of them.

    cd tests && python -m faults.problems --problems 1000 --seed 0

prints how often each promise was checked and kept, and the seed of each problem that broke one.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from manyview import OMVCDR, MultiViewData, open_rows
from manyview.exceptions import ConvergenceWarning, DataWarning, ViewError

SCALES = [
    *("auto", "auto", "auto", None, "unit", "l2", "sqrt-l2", "z", "z-l2", "pca-l2", "log-pca-l2"),
    ["unit", "l2"],
]
KINDS = ["blobs", "blobs", "noise", "counts", "offset", "low rank", "duplicates", "constant"]
UNITS = [1e-300, 1e-160, 1e-42, 1e-20, 1e-9, 1e9, 1e17, 1e30, 1e100, 1e160]
LAMBDAS = [1e-12, 1e-3, 0.1, 2.0, 2.0, 2.0, 10.0, 1e3, 1e12]
MOST_SAMPLES = 3000


@dataclass(frozen=True)
class Case:
    """One problem: views, which of them are missing, weights, and parameters."""

    views: list[Any]
    present: np.ndarray | None
    weights: np.ndarray | None
    parameters: dict[str, Any]

    @property
    def is_stored_dense(self) -> bool:
        """Whether the views can be written to .npy files."""
        return not any(sparse.issparse(view) for view in self.views)

    @property
    def is_float64(self) -> bool:
        return all(np.dtype(view.dtype) == np.float64 for view in self.views)

    def fit(self, *, views: Any = None, weights: Any = None, **parameters: Any) -> OMVCDR:
        """A fit, with some of the views, weights or parameters replaced."""
        model = OMVCDR(**{**self.parameters, "n_jobs": 1, **parameters})
        own = self.weights if weights is None else weights
        return model.fit(self.data(views), sample_weight=own)

    def data(self, views: Any = None) -> MultiViewData:
        return MultiViewData.of(self.views if views is None else views, present=self.present)


@dataclass
class Tally:
    """How often each promise was checked and kept; which problems broke it."""

    checked: Counter[str] = field(default_factory=Counter)
    broken: dict[str, list[int]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)

    def note(self, promise: str, is_kept: bool, seed: int) -> None:
        self.checked[promise] += 1
        if not is_kept:
            self.broken.setdefault(promise, []).append(seed)

    def lines(self) -> Iterator[str]:
        for promise, n in self.checked.items():
            seeds = self.broken.get(promise, [])
            yield f"{promise}: {n - len(seeds)} of {n}" + (f"; broken by {seeds}" if seeds else "")
        for sentence, n in self.refused.items():
            yield f"refused {n}: {sentence}"


def draw_case(seed: int) -> Case:
    """The problem of a seed."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(6), np.log(MOST_SAMPLES))))
    k = int(rng.choice([1, n])) if rng.random() < 0.05 and n < 40 else 1 + int(rng.integers(8))
    k, kind = min(k, n), str(rng.choice(KINDS))
    truth = rng.integers(k, size=n)
    widths = [int(np.exp(rng.uniform(0, np.log(60)))) for _ in range(rng.integers(1, 5))]
    views = [_draw_view(rng, kind, truth, k, d) for d in widths]
    views = [_stored(rng, _in_some_unit(rng, X)) for X in views]
    parameters = {
        "n_clusters": k,
        "lam": float(rng.choice(LAMBDAS)),
        "scale": SCALES[rng.integers(len(SCALES))],
        "smooth": ["auto", True, False][rng.integers(3)],
        "n_init": int(rng.integers(1, 4)),
        "check_structure": bool(rng.random() < 0.1),
        "random_state": int(rng.integers(1000)),
    }
    return Case(views, _draw_presence(rng, n, len(views)), _draw_weights(rng, n), parameters)


def _draw_view(rng: np.random.Generator, kind: str, truth: Any, k: int, d: int) -> np.ndarray:
    n = len(truth)
    X = 3 * rng.standard_normal((k, d))[truth] + rng.standard_normal((n, d))
    if kind == "noise":
        X = rng.standard_normal((n, d))
    elif kind == "counts":
        X = rng.poisson(rng.gamma(0.5, rng.choice([1, 40]), size=(k, d))[truth]).astype(float)
    elif kind == "offset":
        X = X + 10.0 ** rng.integers(2, 9) * rng.standard_normal(d)
    elif kind == "low rank":
        X = np.outer(rng.standard_normal(n), rng.standard_normal(d))
    elif kind == "duplicates":
        X = X[rng.integers(max(n // 3, 1), size=n)]
    elif kind == "constant":
        X[:, rng.random(d) < 0.5] = rng.choice([0.0, 1.0, 1e9])
    return X


def _in_some_unit(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Mostly as it is; sometimes all of it, a column or a row is tiny or huge."""
    unit, what = UNITS[rng.integers(len(UNITS))], rng.random()
    if what < 0.05:
        return X * unit
    X = X.copy()
    if what < 0.1:
        X[:, rng.integers(X.shape[1])] *= unit
    elif what < 0.15:
        X[rng.integers(len(X))] *= unit
    return X


def _stored(rng: np.random.Generator, X: np.ndarray) -> Any:
    """The view in some dtype and layout, dense or sparse."""
    what = rng.random()
    with np.errstate(over="ignore"):
        if what < 0.25:
            return X.astype(np.float32)
    if what < 0.3:
        return X.astype(">f8")
    if what < 0.35:
        return np.asfortranarray(X)
    if what < 0.4:
        return np.ascontiguousarray(X[::-1])[::-1]
    if what < 0.5:
        return sparse.csr_array(np.where(rng.random(X.shape) < 0.5, 0, X))
    return X


def _draw_presence(rng: np.random.Generator, n: int, n_views: int) -> np.ndarray | None:
    if n_views == 1 or rng.random() < 0.6:
        return None
    present = rng.random((n, n_views)) < rng.choice([0.3, 0.8])
    present[np.arange(n), rng.integers(n_views, size=n)] = True
    if rng.random() < 0.2:  # one sample has the view
        present[:, 0] = np.arange(n) == rng.integers(n)
        present[:, 1] = True
    return present


def _draw_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    kind = rng.integers(6)
    weights = {
        2: np.full(n, 1 / n),
        3: rng.integers(1, 4, size=n).astype(float),
        4: 10.0 ** rng.uniform(-6, 6, size=n),
        5: 10.0 ** rng.uniform(-2, 2, size=n) * (rng.random(n) < 0.8),
    }.get(int(kind))
    return weights if weights is None or weights.any() else None


def check_case(case: Case, seed: int, folder: Path, tally: Tally) -> None:
    """Check every promise on one problem; a refusal must be a sentence of a ViewError."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for expected in (DataWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", expected)
        try:
            model = case.fit()
        except ViewError as error:
            tally.refused[_without_numbers(error)] += 1
            tally.note("a refusal is one sentence", _is_sentence(error), seed)
            return
        except Exception as error:  # what the user must never see
            tally.note(f"no other error, such as {type(error).__name__}", False, seed)
            return
        for promise, is_kept in promises(case, model, folder):
            try:
                tally.note(promise, is_kept(), seed)
            except Exception as error:
                tally.note(f"{promise}, without {type(error).__name__}", False, seed)


def _without_numbers(error: Exception) -> str:
    """The sentence with … for what differs from problem to problem."""
    return re.sub(r"'\w+'|-?\d[\d.e+-]*\d|\b\d+\b", "…", str(error))


def _is_sentence(error: Exception) -> bool:
    return str(error).endswith(".") and "\n" not in str(error)


def promises(case: Case, model: OMVCDR, folder: Path) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Each promise that applies to a fit, and how it is checked."""
    labels, data = model.labels_, case.data()

    def is_same(found: Any) -> bool:
        return bool(np.array_equal(found, labels))

    yield "predict gives the labels of the fit", lambda: is_same(model.predict(data))
    yield "a second fit gives the same labels", lambda: is_same(case.fit().labels_)
    yield "two threads give the same labels", lambda: is_same(case.fit(n_jobs=2).labels_)
    yield "a saved model predicts the same", lambda: is_same(_reloaded(model, folder).predict(data))
    yield "objective and scores are finite", lambda: _is_finite(model, data)
    if case.weights is not None:
        larger = 1000 * case.weights
        yield (
            "the unit of the weights does not matter",
            lambda: is_same(case.fit(weights=larger).labels_),
        )
    if case.is_stored_dense and case.is_float64:
        yield (
            "rows on disk give the same labels",
            lambda: is_same(_streamed(case, folder).labels_),
        )
    if case.parameters["check_structure"]:
        yield "confidences are shares", lambda: _are_shares(model.confidence_)


def _reloaded(model: OMVCDR, folder: Path) -> OMVCDR:
    model.save(folder / "model.mv")
    return OMVCDR.load(folder / "model.mv")


def _streamed(case: Case, folder: Path) -> OMVCDR:
    files = []
    for v, view in enumerate(case.views):
        np.save(folder / f"{v}.npy", np.ascontiguousarray(view))
        files.append(open_rows(folder / f"{v}.npy"))
    return case.fit(views=files, engine="stream")


def _is_finite(model: OMVCDR, data: MultiViewData) -> bool:
    numbers = (model.objective_, model.outlier_score_, model.view_weights_, model.transform(data))
    return all(bool(np.isfinite(values).all()) for values in numbers)


def _are_shares(values: np.ndarray) -> bool:
    return bool(np.all((values >= 0) & (values <= 1)))


def run(n_problems: int, seed: int = 0, *, tell: Callable[[str], object] | None = None) -> Tally:
    """Check all promises on many problems."""
    tally = Tally()
    for number in range(seed, seed + n_problems):
        with tempfile.TemporaryDirectory() as folder:
            check_case(draw_case(number), number, Path(folder), tally)
        if tell is not None and (number + 1 - seed) % 50 == 0:
            tell(f"{number + 1 - seed} problems; broken: {tally.broken}")
    return tally


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    tally = run(asked.problems, asked.seed, tell=lambda line: print(line, flush=True))
    print(*tally.lines(), sep="\n")
    raise SystemExit(1 if tally.broken else 0)


if __name__ == "__main__":
    main()
