"""Judges of the paper's claims: each reads the tables and gives a verdict with its evidence.

"Ahead" is by the oracle's ACC at the four digits that the paper prints. A claim about sets is
judged on those of the paper that were found, and holds where it holds on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd

from manyview.datasets.registry import PAPER_SETS
from manyview.study.paper import paper_ablation, paper_results
from manyview.study.reproduction.findings import SAME
from manyview.study.reproduction.runs import ABLATION
from manyview.study.reproduction.scope import PUBLISHED
from manyview.study.reproduction.tables import METRICS, complete, records
from manyview.study.reproduction.wording import count, listed, method_title

__all__ = [
    "ANCHORED",
    "FAILS",
    "HOLDS",
    "ONLY_SORTED",
    "RIVALS",
    "TWO_STEP",
    "UNCHECKED",
    "Judge",
    "Judgement",
    "Study",
    "ahead",
    "comparable_scores",
    "handwritten_is_uci",
    "to_verdict",
    "unchanged_by_shuffling",
    "values_met",
    "weights_choose",
]

HOLDS = "holds"
ONLY_SORTED = "holds only on sorted rows"
FAILS = "does not hold"
UNCHECKED = "could not be checked"
RIVALS = ("fmr", "sfmc", "smvsc", "opmc", "fpmvs", "lmvsc", "awmvc")
TWO_STEP = ("fmr", "smvsc", "fpmvs", "lmvsc", "awmvc")  # by the paper's observation 2
ANCHORED = ("sfmc", "smvsc", "fpmvs", "lmvsc")
HANDWRITTEN = "handwritten_2v"
UCI_WIDTHS = ("240", "76", "216", "47", "64", "6")
COLLAPSED = 0.95  # a weight of one space beyond this leaves nothing to the others


@dataclass(frozen=True)
class Judgement:
    """A verdict, and the sentence that it rests on."""

    verdict: str
    evidence: str


@dataclass(frozen=True)
class Study:
    """The tables, and views of them that several judges need."""

    tables: Mapping[str, pd.DataFrame]
    titles: Mapping[str, str]  # of data sets, by file

    @cached_property
    def sets(self) -> list[str]:
        """Files of the paper's sets that were studied, in its order."""
        return [one.file for one in PAPER_SETS if one.file in self.titles]

    @cached_property
    def board(self) -> pd.DataFrame:
        """Scores by (metric, data, method): `file` and `shuffled`; only grids without a gap.

        Rivals are run in file order alone, and stand with the same value in both columns.
        """
        key = ["metric", "data", "method"]
        cells = complete(pd.concat([self.tables["oracle"], self.tables["ablation"]]))
        board = cells.set_index(key)["mean"].astype(float).to_frame("file")
        order = pd.concat([self.tables["order"], self.tables["ablation_order"]])
        order = order[order["is_complete"].astype(bool)]
        shuffled = order.set_index(key)["shuffled"].astype(float).reindex(board.index)
        is_swept = board.index.get_level_values("method").isin([PUBLISHED, *ABLATION])
        return board.assign(shuffled=shuffled.where(is_swept, board["file"])).round(4)

    def scores(self, data: str, methods: Sequence[str], metric: str = "acc") -> pd.DataFrame:
        """Rows of the board on one set, by method; those without a value are left out."""
        return (
            self.board.reindex([(metric, data, one) for one in methods])
            .droplevel([0, 1])
            .dropna(subset="file")
        )

    def is_whole(self, data: str, methods: Sequence[str]) -> bool:
        """Whether each method has its value on a set, or will have none."""
        there = self.scores(data, methods).index
        return all(one in there or (data, one) in self.gone for one in methods)

    @cached_property
    def gone(self) -> set[tuple[str, str]]:
        """(data, method) without any result, and not for want of time."""
        cells = pd.concat([self.tables["oracle"], self.tables["ablation"]])
        cells = cells[cells["status"].isin(["declined", "failed"])]
        return set(zip(cells["data"], cells["method"], strict=True))

    def on_sets(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of a table that are about the paper's sets."""
        return table[table["data"].isin(self.sets)]


Judge = Callable[[Study], Judgement]


def to_verdict(file: Sequence[bool | None], shuffled: Sequence[bool | None]) -> str:
    """Verdict of a claim that is true, false or unknown on each set, by the order of the rows."""
    if any(one is False for one in file):
        return FAILS
    if not file or None in file:
        return UNCHECKED
    if any(one is False for one in shuffled):
        return ONLY_SORTED
    return UNCHECKED if None in shuffled else HOLDS


def ahead(
    rivals: Sequence[str], ours: str = PUBLISHED, *, only: Sequence[str] = (), percent: float = 0.0
) -> Judge:
    """Judge whether a method is ahead of the best of some others on the paper's sets.

    Parameters
    ----------
    rivals : sequence of str
        Methods or variants.
    ours : str, default=PUBLISHED
        The method of which it is claimed.
    only : sequence of str, optional
        Files of the sets that the claim is about, where these are not all.
    percent : float, default=0.0
        By how much at least, in percent of the best rival.

    Returns
    -------
    function of Study
    """
    return partial(_ahead, rivals=rivals, ours=ours, only=only, percent=percent)


def _ahead(
    study: Study, *, rivals: Sequence[str], ours: str, only: Sequence[str], percent: float
) -> Judgement:
    sets = [data for data in study.sets if not only or data in only]
    if not sets:
        return Judgement(UNCHECKED, "The set was not found or not chosen.")
    pairs = [_pair(study, data, rivals, ours) for data in sets]
    pairs = [one for one in pairs if one.best or not one.is_whole]  # else nobody to compare with
    if not any(one.best for one in pairs):
        return Judgement(UNCHECKED, "There is no result to compare with.")
    verdict = to_verdict(
        [one.outcome("file", percent) for one in pairs],
        [one.outcome("shuffled", percent) for one in pairs],
    )
    text = "; ".join(_told(one, study.titles, len(rivals)) for one in pairs)
    if not only:
        text += "." + _further(study, rivals, ours) + _in_paper(rivals, ours)
    return Judgement(verdict, text.removesuffix(".") + ".")


@dataclass(frozen=True)
class _Pair:
    """ACC of a method and of the best of its rivals on a set; by order of the rows."""

    data: str
    ours: Mapping[str, float]
    best: Mapping[str, float]  # empty where no rival has a result
    names: Mapping[str, str]  # of the best rival
    is_whole: bool  # every rival has a result, or will have none

    def outcome(self, order: str, percent: float) -> bool | None:
        """Whether ours is ahead by so many percent; None is not known."""
        ours, best = self.ours.get(order, np.nan), self.best.get(order, np.nan)
        if np.isnan(ours) or np.isnan(best):
            return None
        is_ahead = bool(ours > best and round(100 * (ours / best - 1), 2) >= percent)
        return is_ahead if self.is_whole or not is_ahead else None


def _pair(study: Study, data: str, rivals: Sequence[str], ours: str) -> _Pair:
    mine, others = study.scores(data, [ours]), study.scores(data, rivals)
    return _Pair(
        data=data,
        ours={} if mine.empty else dict(mine.iloc[0]),
        best={} if others.empty else dict(others.max(skipna=False)),
        names={
            str(order): str(column.idxmax())
            for order, column in others.items()
            if len(column) and column.notna().all()
        },
        is_whole=study.is_whole(data, rivals),
    )


def _told(pair: _Pair, titles: Mapping[str, str], n_rivals: int) -> str:
    title = titles[pair.data]
    if not pair.ours or not pair.best:
        return f"{title}: not run yet"
    ours, best = pair.ours, pair.best
    remarks = [f"{100 * (ours['file'] / best['file'] - 1):+.2f} %"]
    text = f"{title}: {ours['file']:.4f} in file order"
    if not np.isnan(ours["shuffled"]):
        text += f", {ours['shuffled']:.4f} shuffled"
    source = {order: f" of {method_title(name)}" for order, name in pair.names.items()}
    text += f", against {best['file']:.4f}{source['file'] if n_rivals > 1 else ''}"
    if not np.isnan(best["shuffled"]) and best["shuffled"] != best["file"]:
        is_other = pair.names["shuffled"] != pair.names["file"]
        text += f" and {best['shuffled']:.4f}{source['shuffled'] if is_other else ''}"
    remarks += ["not all shuffled"] if np.isnan([ours["shuffled"], best["shuffled"]]).any() else []
    remarks += [] if pair.is_whole else ["not all have run"]
    return f"{text} ({', '.join(remarks)})"


def _further(study: Study, rivals: Sequence[str], ours: str) -> str:
    """How it went on sets that are not the paper's, where there are any."""
    pairs = [_pair(study, data, rivals, ours) for data in study.titles if data not in study.sets]
    known = [one.outcome("file", 0.0) for one in pairs]
    n_known = sum(one is not None for one in known)
    if not n_known:
        return ""
    return f" Ahead on {sum(map(bool, known))} of {count(n_known, 'further set')} in file order."


def _in_paper(rivals: Sequence[str], ours: str) -> str:
    """On how many sets the paper's own tables say so."""
    full = {"omvcdr": PUBLISHED}
    both = pd.concat([paper_results().replace({"method": full}), paper_ablation()])
    wide = both[(both["metric"] == "acc") & (both["method"] != "omvcdr")].pivot(
        index="data", columns="method", values="mean"
    )
    theirs = wide.reindex(columns=list(rivals)).max(axis=1)
    gap = (wide[ours] - theirs).dropna()
    if gap.empty:
        return " The paper has no such values."
    return f" In the paper's tables: ahead on {(gap > 0).sum()} of {len(gap)} sets."


def values_met(study: Study) -> Judgement:
    """Judge whether the published program gives the paper's row of its table of results."""
    own = complete(study.tables["oracle"])
    own = own[(own["method"] == PUBLISHED) & own["difference"].notna()]
    worst = own["difference"].abs().groupby(own["data"]).max().reindex(study.sets)
    parts = []
    for data, gap in worst.items():
        text = (
            f"all {len(METRICS)} values to four digits" if gap < SAME else f"off by up to {gap:.4f}"
        )
        parts.append(f"{study.titles[str(data)]}: {'not run yet' if np.isnan(gap) else text}")
    if not parts:
        return Judgement(UNCHECKED, "No set of the paper was found.")
    outcomes = [None if np.isnan(gap) else bool(gap < SAME) for gap in worst]
    n_lost = len(PAPER_SETS) - len(worst)
    text = f"{'; '.join(parts)}; {count(n_lost, 'set')} not here."
    return Judgement(to_verdict(outcomes, outcomes), text)


def handwritten_is_uci(study: Study) -> Judgement:
    """Judge whether the set on which the paper's values come out is UCI Multiple Features."""
    own = complete(study.tables["oracle"])
    own = own[(own["method"] == PUBLISHED) & (own["data"] == HANDWRITTEN)]
    if own.empty or not (own["difference"].abs() < SAME).all():
        return Judgement(UNCHECKED, "The paper's values did not come out, so its file is unknown.")
    widths = study.tables["sets"].set_index("file")["features"][HANDWRITTEN]
    is_uci = set(widths.split(", ")) <= set(UCI_WIDTHS)
    text = (
        f"The paper's values come out to four digits on views of {widths} features; those of UCI "
        f"Multiple Features have {listed(UCI_WIDTHS)}."
    )
    return Judgement(HOLDS if is_uci else FAILS, text)


def comparable_scores(study: Study) -> Judgement:
    """Judge whether OMVCDR is first or second among the eight by the other three metrics."""
    parts: list[str] = []
    outcomes: dict[str, list[bool | None]] = {"file": [], "shuffled": []}
    for data in study.sets:
        is_whole = study.is_whole(data, RIVALS)
        for metric in (name for name in METRICS if name != "acc"):
            own, others = (study.scores(data, one, metric) for one in ([PUBLISHED], RIVALS))
            if own.empty or others.empty:
                continue
            place = (1 + (others > own.iloc[0]).sum()).where(own.iloc[0].notna())
            for order, known in outcomes.items():
                is_near = None if np.isnan(place[order]) else bool(place[order] <= 2)
                known.append(is_near if is_whole or is_near is False else None)
            shown = "not run" if np.isnan(place["shuffled"]) else f"{place['shuffled']:g}"
            title = f"{study.titles[data]} {METRICS[metric]}"
            parts.append(f"{title} {place['file']:g} ({shown})")
    if not parts:
        return Judgement(UNCHECKED, "No set of the paper has been run.")
    text = f"Read as first or second of the eight. Place in file order (shuffled): {listed(parts)}."
    return Judgement(to_verdict(outcomes["file"], outcomes["shuffled"]), text)


def unchanged_by_shuffling(study: Study) -> Judgement:
    """Judge whether results vary as little as claimed: not at all, whatever the order of rows."""
    own = study.on_sets(study.tables["order"])
    own = own[(own["metric"] == "acc") & (own["n_shuffles"] > 1)]
    if own.empty:
        return Judgement(UNCHECKED, "The rows have not been shuffled yet.")
    oracle = study.on_sets(study.tables["oracle"])
    rivals = oracle[oracle["method"].isin(TWO_STEP) & (oracle["metric"] == "acc")]
    spread = rivals.loc[rivals["n_runs"] > 1, "std"].astype(float)
    parts = [
        f"{study.titles[row.data]} ±{row.shuffled_std:.4f} over {count(row.n_shuffles, 'shuffle')}"
        for row in records(own)
    ]
    text = (
        "The program draws nothing at random, so one order of the rows gives one result. Another "
        f"order gives another: {listed(parts)}."
    )
    if len(spread):
        text += f" The two-step rivals: ±{spread.min():.4f} to ±{spread.max():.4f} over seeds."
    verdict = ONLY_SORTED if (own["shuffled_std"] >= SAME).any() else HOLDS
    return Judgement(verdict, text)


def weights_choose(study: Study) -> Judgement:
    """Judge whether the weights choose among the spaces by the data."""
    table = study.on_sets(study.tables["weights"])
    if table["data"].nunique() < 2:
        return Judgement(UNCHECKED, "Weights of two sets at least are needed.")
    largest = table.loc[table.groupby("data", sort=False)["weight"].idxmax()]
    parts = [
        f"{study.titles[row.data]}: {row.weight:.4f} on space {row.space}"
        for row in records(largest)
    ]
    is_same = bool((largest["space"] == 1).all() and (largest["weight"] > COLLAPSED).all())
    text = f"Largest weight at the end, {'; '.join(parts)}."
    if is_same:
        text += " It is always the smallest space, and the others are left with nothing."
    return Judgement(FAILS if is_same else HOLDS, text)
