"""Judges of the paper's claims: each maps the tables to a verdict with its evidence.

"Ahead" means a higher ACC under the oracle protocol, rounded to four digits as in the paper. A
claim about data sets is judged on those of the paper that were found, and must hold on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from manyview.datasets.registry import DERIVED_SETS, PAPER_SETS
from manyview.study.paper import SHIFTED, paper_ablation, paper_results
from manyview.study.reproduction.findings import SAME
from manyview.study.reproduction.runs import ABLATION
from manyview.study.reproduction.scope import ENDS_IN_KMEANS, PAPER_ITERATIONS, PUBLISHED, RIVALS
from manyview.study.reproduction.tables import METRICS, complete, has_risen, records
from manyview.study.reproduction.wording import count, listed, method_title

HOLDS = "holds"
ONLY_SORTED = "holds only on sorted rows"
FAILS = "does not hold"
UNCHECKED = "could not be checked"
NOT_EMPIRICAL = "not empirical"
ANCHORED = ("sfmc", "smvsc", "fpmvs", "lmvsc")
HANDWRITTEN = "handwritten_2v"
UCI_WIDTHS = ("240", "76", "216", "47", "64", "6")
COLLAPSED = 0.95  # one space with a larger weight dominates the others
INSENSITIVE = 0.05  # largest range of ACC over λ that counts as insensitive
FALLS = 0.005  # smallest decrease of ACC from one λ to the next that counts


class Judgement(NamedTuple):
    """A verdict and its evidence."""

    verdict: str
    evidence: str


@dataclass(frozen=True)
class Study:
    """The tables, and derived tables that several judges need."""

    tables: Mapping[str, pd.DataFrame]
    titles: Mapping[str, str]  # of data sets, by file

    @cached_property
    def sets(self) -> list[str]:
        """Files of the paper's data sets in the study, in its order."""
        return [one.file for one in PAPER_SETS if one.file in self.titles]

    @cached_property
    def derived(self) -> list[str]:
        """Files with other features of the samples of a set of the paper that was not found."""
        return [
            file
            for file, of in DERIVED_SETS.items()
            if file in self.titles and of not in self.titles
        ]

    @cached_property
    def board(self) -> pd.DataFrame:
        """Scores by (metric, data, method): `file` and `shuffled`; complete grids only.

        Compared methods are run in file order only, and have the same value in both columns.
        """
        key = ["metric", "data", "method"]
        cells = complete(self._joined("oracle", "ablation"))
        board = cells.set_index(key)["mean"].astype(float).to_frame("file")
        order = self._joined("order", "ablation_order")
        order = order[order["is_complete"].astype(bool)]
        shuffled = order.set_index(key)["shuffled"].astype(float).reindex(board.index)
        is_swept = board.index.get_level_values("method").isin([PUBLISHED, *ABLATION])
        return board.assign(shuffled=shuffled.where(is_swept, board["file"])).round(4)

    def scores(self, data: str, methods: Sequence[str], metric: str = "acc") -> pd.DataFrame:
        """Rows of the board on one data set, by method, without missing values."""
        return (
            self.board.reindex([(metric, data, one) for one in methods])
            .droplevel([0, 1])
            .dropna(subset="file")
        )

    def is_whole(self, data: str, methods: Sequence[str]) -> bool:
        """Whether each method has a value on a data set, or cannot have one."""
        there = self.scores(data, methods).index
        return all(one in there or (data, one) in self.gone for one in methods)

    @cached_property
    def gone(self) -> set[tuple[str, str]]:
        """Pairs (data, method) that declined or failed."""
        cells = self._joined("oracle", "ablation")
        cells = cells[cells["status"].isin(["declined", "failed"])]
        return set(zip(cells["data"], cells["method"], strict=True))

    def _joined(self, first: str, second: str) -> pd.DataFrame:
        """Rows of two tables; an empty one has no say in the types of the columns."""
        tables = [self.tables[name] for name in (first, second)]
        return pd.concat([table for table in tables if len(table)] or tables[:1])

    def on_sets(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of a table for the paper's data sets."""
        return table[table["data"].isin(self.sets)]


Judge = Callable[[Study], Judgement]
Outcome = bool | None  # of a claim on one data set; None is undecided


def to_verdict(file: Sequence[Outcome], shuffled: Sequence[Outcome] | None = None) -> str:
    """Verdict of a claim from its outcomes on each data set, by order of the rows."""
    shuffled = file if shuffled is None else shuffled
    if any(one is False for one in file):
        return FAILS
    if not file or None in file:
        return UNCHECKED
    if any(one is False for one in shuffled):
        return ONLY_SORTED
    return UNCHECKED if None in shuffled else HOLDS


def judged(
    found: Sequence[tuple[Outcome, str]],
    evidence: str,
    nothing: str,
    join: Callable[[Sequence[str]], str] = "; ".join,
) -> Judgement:
    """Judge by the outcome on each data set; the evidence lists all data sets."""
    if not found:
        return Judgement(UNCHECKED, nothing)
    text = evidence.format(join([text for _, text in found]))
    return Judgement(to_verdict([outcome for outcome, _ in found]), text)


def waits_for(file: str) -> str:
    """What would decide a claim about a set of the paper that was not found."""
    one = next(one for one in PAPER_SETS if one.file == file)
    return (
        f"{one.name} was not found or not chosen. A file {one.files} with its views and labels "
        f"decides it: `manyview reproduce --data FOLDER`, where FOLDER has it."
    )


def ahead(
    rivals: Sequence[str], ours: str = PUBLISHED, *, only: Sequence[str] = (), percent: float = 0.0
) -> Judge:
    """Judge whether a method is ahead of the best of some others on the paper's data sets.

    Parameters
    ----------
    rivals : sequence of str
        Methods or variants.
    ours : str, default=PUBLISHED
        The method that the claim is about.
    only : sequence of str, optional
        Files of the data sets that the claim is about, if not all.
    percent : float, default=0.0
        Smallest margin, in percent of the best compared method.

    Returns
    -------
    function of Study
    """

    def judge(study: Study) -> Judgement:
        sets = [data for data in study.sets if not only or data in only]
        sets = sets or [data for data in study.derived if DERIVED_SETS[data] in only]
        if not sets:
            return Judgement(UNCHECKED, waits_for(only[0]) if only else "No set was found.")
        duels = [_Duel(study, data, rivals, ours) for data in sets]
        duels = [one for one in duels if len(one.rivals) or not one.is_whole]
        if not any(len(one.rivals) for one in duels):
            return Judgement(UNCHECKED, "There is no result to compare with.")
        orders = [[one.outcome(name, percent) for one in duels] for name in ("file", "shuffled")]
        text = "; ".join(one.text(len(rivals) > 1) for one in duels)
        if not only:
            text += "." + _further(study, rivals, ours) + _in_paper(rivals, ours)
        if set(sets) & set(study.derived):
            text = f"On derived features, which are not the paper's. {text}"
        return Judgement(to_verdict(*orders), text.removesuffix(".") + ".")

    return judge


class _Duel:
    """ACC of a method and of compared methods on a data set, by order of the rows."""

    def __init__(self, study: Study, data: str, rivals: Sequence[str], ours: str) -> None:
        self.title = study.titles[data]
        self.ours = study.scores(data, [ours]).max(skipna=False)  # NaN without a score
        self.rivals = study.scores(data, rivals)
        self.best = self.rivals.max(skipna=False)
        self.is_whole = study.is_whole(data, rivals)

    def outcome(self, order: str, percent: float = 0.0) -> Outcome:
        """Whether ours is ahead by `percent`."""
        ours, best = self.ours[order], self.best[order]
        if np.isnan(ours) or np.isnan(best):
            return None
        is_ahead = bool(ours > best and round(100 * (ours / best - 1), 2) >= percent)
        return is_ahead if self.is_whole or not is_ahead else None

    def text(self, has_names: bool) -> str:
        """Scores of both, optionally the name of the best compared method, and remarks."""
        ours, best = self.ours, self.best
        if np.isnan(ours["file"]) or self.rivals.empty:
            return f"{self.title}: not run yet"
        text = f"{self.title}: {ours['file']:.4f} in file order"
        if not np.isnan(ours["shuffled"]):
            text += f", {ours['shuffled']:.4f} shuffled"
        first = self.rivals["file"].idxmax()
        text += f", against {best['file']:.4f}"
        text += f" of {method_title(str(first))}" if has_names else ""
        if not np.isnan(best["shuffled"]) and best["shuffled"] != best["file"]:
            other = self.rivals["shuffled"].idxmax()
            text += f" and {best['shuffled']:.4f}"
            text += f" of {method_title(str(other))}" if other != first else ""
        remarks = [f"{100 * (ours['file'] / best['file'] - 1):+.2f} %"]
        is_open = np.isnan([ours["shuffled"], best["shuffled"]]).any()
        remarks += ["not all shuffled"] if is_open else []
        remarks += [] if self.is_whole else ["not all have run"]
        return f"{text} ({', '.join(remarks)})"


def _further(study: Study, rivals: Sequence[str], ours: str) -> str:
    """The outcome on data sets that are not in the paper, if any."""
    others = [data for data in study.titles if data not in study.sets]
    outcomes = {
        study.titles[data]: _Duel(study, data, rivals, ours).outcome("file") for data in others
    }
    won = [title for title, is_ahead in outcomes.items() if is_ahead]
    lost = [title for title, is_ahead in outcomes.items() if is_ahead is False]
    parts = [f"ahead on {listed(won)}"] if won else []
    parts += [f"behind on {listed(lost)}"] if lost else []
    return f" In file order, without a say: {'; '.join(parts)}." if parts else ""


def _in_paper(rivals: Sequence[str], ours: str) -> str:
    """On how many data sets the paper's own tables agree."""
    if set(rivals) <= set(SHIFTED):
        return " The paper has no ACC of it: its row has other metrics under the heads."
    results = paper_results().replace({"method": {"omvcdr": PUBLISHED}})
    both = pd.concat([results, paper_ablation().query("method != 'omvcdr'")])
    both = both[both["metric"] == "acc"]
    wide = both.pivot(index="data", columns="method", values="mean")
    theirs = wide.reindex(columns=list(rivals)).max(axis=1)
    gap = (wide[ours] - theirs).dropna()
    if gap.empty:
        return " The paper has no such values."
    return f" In the paper's tables: ahead on {(gap > 0).sum()} of {len(gap)} sets."


def values_met(study: Study) -> Judgement:
    """Judge whether the published program gives the paper's values."""
    own = _gaps(study, "oracle", [PUBLISHED])[PUBLISHED].to_dict()
    variants = _gaps(study, "ablation", list(ABLATION))
    found: list[tuple[Outcome, str]] = []
    for data in study.sets:
        gap = float(own[data])
        is_met = None if np.isnan(gap) else bool(gap < SAME)
        met = f"all {len(METRICS)} values to four digits"
        text = {None: "not run yet", True: met, False: f"off by up to {gap:.4f}"}[is_met]
        if is_met is False and (variants.loc[data] < SAME).all():
            n = len(METRICS) * variants.shape[1]
            text += f", although all {n} values of the ablation come out to four digits"
        found.append((is_met, f"{study.titles[data]}: {text}"))
    evidence = f"{{}}; {count(len(PAPER_SETS) - len(own), 'set')} not here."
    return judged(found, evidence, "No set of the paper was found.")


def _gaps(study: Study, table: str, methods: Sequence[str]) -> pd.DataFrame:
    """Largest difference from the paper over the metrics: data sets × methods; NaN: not run."""
    own = complete(study.tables[table])
    gaps = own.assign(gap=own["difference"].abs()).dropna(subset="gap")
    wide = gaps.pivot_table(index="data", columns="method", values="gap", aggfunc="max")
    return wide.reindex(index=study.sets, columns=list(methods))


def handwritten_is_uci(study: Study) -> Judgement:
    """Judge whether the data set that gives the paper's values is UCI Multiple Features."""
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
    outcomes: dict[str, list[Outcome]] = {"file": [], "shuffled": []}
    for data in study.sets:
        is_whole = study.is_whole(data, RIVALS)
        for metric in (name for name in METRICS if name != "acc"):
            own, others = (study.scores(data, one, metric) for one in ([PUBLISHED], RIVALS))
            if own.empty or others.empty:
                continue
            place = (1 + (others > own.iloc[0]).sum()).where(own.iloc[0].notna())
            for order, judged in outcomes.items():
                is_near = None if np.isnan(place[order]) else bool(place[order] <= 2)
                judged.append(is_near if is_whole or is_near is False else None)
            shown = "not run" if np.isnan(place["shuffled"]) else f"{place['shuffled']:g}"
            title = f"{study.titles[data]} {METRICS[metric]}"
            parts.append(f"{title} {place['file']:g} ({shown})")
    if not parts:
        return Judgement(UNCHECKED, "No set of the paper has been run.")
    text = f"Read as first or second of the eight. Place in file order (shuffled): {listed(parts)}."
    return Judgement(to_verdict(outcomes["file"], outcomes["shuffled"]), text)


def unchanged_by_shuffling(study: Study) -> Judgement:
    """Judge whether the order of the rows has no influence on the results."""
    own = study.on_sets(study.tables["order"])
    own = own[(own["metric"] == "acc") & (own["n_shuffles"] > 1)]
    if own.empty:
        return Judgement(UNCHECKED, "The rows have not been shuffled yet.")
    oracle = study.on_sets(study.tables["oracle"])
    rivals = oracle[oracle["method"].isin(ENDS_IN_KMEANS) & (oracle["metric"] == "acc")]
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
    """Judge whether the space weights depend on the data."""
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


def _histories(study: Study) -> dict[str, pd.Series[float]]:
    """Objective of the published program on each of the paper's data sets, by title."""
    own = study.on_sets(study.tables["objective"])
    own = own[own["method"] == PUBLISHED]
    return {
        study.titles[str(d)]: group["objective"] for d, group in own.groupby("data", sort=False)
    }


def never_rises(study: Study) -> Judgement:
    """Judge whether the objective decreases monotonically."""
    histories = _histories(study)
    risen = [title for title, values in histories.items() if has_risen(values)]
    if risen:
        return Judgement(FAILS, f"The published program's objective rises on {listed(risen)}.")
    found = [(True, title) for title in histories]
    evidence = "The published program's objective never rises: {}."
    return judged(found, evidence, "No objective was traced.", listed)


def converges_soon(study: Study) -> Judgement:
    """Judge whether the published program converges within the paper's number of iterations."""
    found = [
        (len(values) < PAPER_ITERATIONS, f"{len(values)} iterations on {title}")
        for title, values in _histories(study).items()
    ]
    evidence = "By its own criterion, the published program ends after {}."
    return judged(found, evidence, "No objective was traced.", listed)


def _curves(study: Study) -> dict[str, pd.Series[float]]:
    """ACC by increasing λ on each of the paper's data sets with a complete grid, by title."""
    own = study.on_sets(study.tables["sensitivity"]).sort_values("lam")
    curves = dict(iter(own.groupby("data")["acc"]))
    whole = [data for data in study.sets if len(study.scores(data, [PUBLISHED]))]
    return {study.titles[data]: curves[data] for data in whole if len(curves[data]) > 1}


def insensitive(study: Study) -> Judgement:
    """Judge whether λ has little influence on ACC."""
    reach = {title: float(acc.max() - acc.min()) for title, acc in _curves(study).items()}
    found = [(value < INSENSITIVE, f"{value:.4f} on {title}") for title, value in reach.items()]
    evidence = f"Over λ, ACC ranges by {{}}; up to {INSENSITIVE:g} would be insensitive."
    return judged(found, evidence, "Two values of λ at least are needed.", listed)


def rises_then_stays(study: Study) -> Judgement:
    """Judge whether ACC increases with λ up to its maximum, and stays close to it."""
    found: list[tuple[Outcome, str]] = []
    for title, acc in _curves(study).items():
        values = acc.to_numpy(float)
        best = int(values.argmax())
        fall = max(0.0, -float(np.diff(values[: best + 1]).min(initial=0.0)))
        loss = float(values[best] - values[best:].min())
        text = (
            f"{title}: before its best value it falls by up to {fall:.4f} from one λ to the next, "
            f"after it by {loss:.4f} in all"
        )
        found.append((fall < FALLS and loss < INSENSITIVE, text))
    return judged(found, "{}.", "Two values of λ at least are needed.")
