"""Judges of the claims that are about time, memory, iterations and λ; see `judges` for the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from manyview.study.reproduction.judges import (
    FAILS,
    HOLDS,
    RIVALS,
    UNCHECKED,
    Judge,
    Judgement,
    Study,
    to_verdict,
)
from manyview.study.reproduction.scope import PUBLISHED
from manyview.study.reproduction.tables import has_risen
from manyview.study.reproduction.wording import count, listed, method_title

__all__ = [
    "comparable_time",
    "converges_soon",
    "fmr_is_slowest",
    "grows_linearly",
    "insensitive",
    "never_rises",
    "not_here",
    "rises_then_stays",
    "takes_less_time",
]

PAPER_ITERATIONS = 40
INSENSITIVE = 0.05  # a range of ACC over λ that may be called so
FALLS = 0.005  # a fall of ACC from one λ to the next below this is none
COMPARABLE = 10.0  # times the median of the rivals
CLOSE = 2.0  # times within this factor are not told apart: the machine may be shared
TOO_CLOSE = f"Times within a factor of {CLOSE:g} are not told apart."
SURE = 0.25  # an exponent with a standard error beyond this says little
MANY = 8  # sets that a fit of exponents needs


def not_here(why: str) -> Judge:
    """Judge nothing: say why the study cannot."""
    return lambda _: Judgement(UNCHECKED, why)


def _times(study: Study) -> pd.DataFrame:
    """Seconds: the paper's sets × the eight methods; NaN where there is none."""
    own = study.on_sets(study.tables["time"])
    wide = own.pivot(index="data", columns="method", values="seconds").astype(float)
    return wide.reindex(index=study.sets, columns=[*RIVALS, PUBLISHED])


def _is_less(one: float, other: float) -> bool | None:
    """Whether a time is less than another; None where they are too close."""
    if max(one, other) <= CLOSE * min(one, other):
        return None
    return bool(one < other)


def fmr_is_slowest(study: Study) -> Judgement:
    """Judge whether FMR takes the most time where it runs, and gives up on the larger sets."""
    parts, outcomes = [], []
    for data, row in _times(study).iterrows():
        title, others = study.titles[str(data)], row.drop("fmr").dropna()
        if (str(data), "fmr") in study.gone:
            parts.append(f"{title}: declined")
        elif not np.isnan(row["fmr"]) and len(others):
            outcomes.append(_is_less(others.max(), row["fmr"]))
            parts.append(
                f"{title}: {row['fmr']:.2f} s, {method_title(str(others.idxmax()))} "
                f"{others.max():.2f} s"
            )
    if not outcomes:
        return Judgement(UNCHECKED, "FMR has not run on a set of the paper.")
    text = f"FMR and the slowest other, {'; '.join(parts)}. {TOO_CLOSE}"
    return Judgement(to_verdict(outcomes, outcomes), text)


def takes_less_time(rivals: Sequence[str]) -> Judge:
    """Judge whether each of some rivals needs less time than OMVCDR on every set of the paper."""

    def judge(study: Study) -> Judgement:
        times = _times(study).dropna(subset=[PUBLISHED, *rivals])
        if times.empty:
            return Judgement(UNCHECKED, "No set of the paper has all of these times.")
        outcomes = [
            _is_less(row[one], row[PUBLISHED]) for _, row in times.iterrows() for one in rivals
        ]
        parts = [
            f"{study.titles[str(data)]}: "
            + ", ".join(f"{method_title(one)} {row[one]:.2f} s" for one in (*rivals, PUBLISHED))
            for data, row in times.iterrows()
        ]
        return Judgement(to_verdict(outcomes, outcomes), f"{'; '.join(parts)}. {TOO_CLOSE}")

    return judge


def comparable_time(study: Study) -> Judgement:
    """Judge whether OMVCDR takes no more than ten times the median of its rivals."""
    times = _times(study).dropna(subset=PUBLISHED)
    ratio = (times[PUBLISHED] / times[list(RIVALS)].median(axis=1)).dropna()
    if ratio.empty:
        return Judgement(UNCHECKED, "No set of the paper has times of rivals.")
    parts = [f"{value:.1f} on {study.titles[str(data)]}" for data, value in ratio.items()]
    text = f"Read as at most {COMPARABLE:g} times the median of the rivals; it is {listed(parts)}."
    return Judgement(HOLDS if (ratio <= COMPARABLE).all() else FAILS, text)


def grows_linearly(study: Study) -> Judgement:
    """Judge whether the time of an iteration grows no faster than the number of samples."""
    own = study.tables["time"]
    own = own[(own["method"] == PUBLISHED) & own["seconds"].notna()]
    if len(own) < MANY:
        return Judgement(UNCHECKED, f"{count(len(own), 'set')}; {MANY} are needed.")
    sizes = study.tables["sets"].set_index("file").reindex(own["data"])
    d = np.array([sum(map(int, text.split(", "))) for text in sizes["features"]])
    n, k = (sizes[name].to_numpy(float) for name in ("samples", "classes"))
    seconds = (own["seconds"] / own["n_iter"]).to_numpy(float)
    slope, error = _exponent(seconds, n, d * k)
    text = (
        f"Over {len(own)} sets of {n.min():.0f} to {n.max():.0f} samples, an iteration takes time "
        f"~ n^{slope:.2f} (± {error:.2f}) at equal d·k."
    )
    if error > SURE:
        return Judgement(UNCHECKED, f"{text} That is too vague.")
    return Judgement(HOLDS if slope - 2 * error <= 1 else FAILS, text)


def _exponent(cost: np.ndarray, n: np.ndarray, width: np.ndarray) -> tuple[float, float]:
    """Exponent of n in cost ~ n^a · width^b by least squares of logarithms; its standard error."""
    design = np.column_stack([np.ones(len(n)), np.log(n), np.log(width)])
    target = np.log(cost)
    solution = np.linalg.lstsq(design, target)[0]
    left = target - design @ solution
    variance = left @ left / (len(n) - 3) * np.linalg.inv(design.T @ design)[1, 1]
    return float(solution[1]), float(np.sqrt(variance))


def _histories(study: Study) -> dict[str, pd.Series[float]]:
    """Objective of the published program on each of the paper's sets, by title."""
    own = study.on_sets(study.tables["objective"])
    own = own[own["method"] == PUBLISHED]
    return {
        study.titles[str(d)]: group["objective"] for d, group in own.groupby("data", sort=False)
    }


def never_rises(study: Study) -> Judgement:
    """Judge whether the objective falls monotonically."""
    histories = _histories(study)
    if not histories:
        return Judgement(UNCHECKED, "No objective was traced.")
    risen = [title for title, values in histories.items() if has_risen(values)]
    if risen:
        return Judgement(FAILS, f"The published program's objective rises on {listed(risen)}.")
    return Judgement(HOLDS, f"The published program's objective never rises: {listed(histories)}.")


def converges_soon(study: Study) -> Judgement:
    """Judge whether the published program ends, by its own criterion, within the paper's number."""
    histories = _histories(study)
    if not histories:
        return Judgement(UNCHECKED, "No objective was traced.")
    ends = [f"{len(values)} iterations on {title}" for title, values in histories.items()]
    is_soon = all(len(values) < PAPER_ITERATIONS for values in histories.values())
    text = f"By its own criterion, the published program ends after {listed(ends)}."
    return Judgement(HOLDS if is_soon else FAILS, text)


def _curves(study: Study) -> dict[str, pd.Series[float]]:
    """ACC over growing λ on each of the paper's sets where the grid has no gap, by title."""
    own = study.on_sets(study.tables["sensitivity"]).sort_values("lam")
    curves = dict(iter(own.groupby("data")["acc"]))
    whole = [data for data in study.sets if len(study.scores(data, [PUBLISHED]))]
    return {study.titles[data]: curves[data] for data in whole if len(curves[data]) > 1}


def insensitive(study: Study) -> Judgement:
    """Judge whether λ hardly matters."""
    reach = {title: float(acc.max() - acc.min()) for title, acc in _curves(study).items()}
    if not reach:
        return Judgement(UNCHECKED, "Two values of λ at least are needed.")
    parts = [f"{value:.4f} on {title}" for title, value in reach.items()]
    text = f"Over λ, ACC ranges by {listed(parts)}; up to {INSENSITIVE:g} would be insensitive."
    return Judgement(HOLDS if max(reach.values()) < INSENSITIVE else FAILS, text)


def rises_then_stays(study: Study) -> Judgement:
    """Judge whether ACC rises with λ up to its best, and stays near it from there on."""
    parts, outcomes = [], []
    for title, acc in _curves(study).items():
        values = acc.to_numpy(float)
        best = int(values.argmax())
        fall = float(max(0.0, -np.diff(values[: best + 1]).min(initial=0.0)))
        loss = float(values[best] - values[best:].min())
        outcomes.append(fall < FALLS and loss < INSENSITIVE)
        parts.append(
            f"{title}: before its best value it falls by up to {fall:.4f} from one λ to the next, "
            f"after it by {loss:.4f} in all"
        )
    if not parts:
        return Judgement(UNCHECKED, "Two values of λ at least are needed.")
    return Judgement(to_verdict(outcomes, outcomes), f"{'; '.join(parts)}.")
