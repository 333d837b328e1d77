"""States the content of the tables in sentences. Claims are judged in `judges`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd
from scipy import stats

from manyview.study.reproduction.scope import PUBLISHED
from manyview.study.reproduction.tables import METRICS, complete, has_risen, records
from manyview.study.reproduction.wording import count, listed, method_title, places, verb
from manyview.study.statistics import friedman_ranks

SAME = 5e-5  # half of the last digit printed in the paper
APART = 0.03  # tolerance of differences, in addition to the paper's standard deviation
CLEAR = 0.005  # smallest difference of ACC that counts

Tables = Mapping[str, pd.DataFrame]
Titles = Mapping[str, str]  # of data sets, by file


def find(tables: Tables, titles: Titles) -> dict[str, list[str]]:
    """Sentences on each table.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name: sets, oracle, label_free, order, ablation, time, objective, sensitivity.
    titles : mapping of str to str
        Names of the data sets by file.

    Returns
    -------
    dict of str to list of str
    """
    sayings: dict[str, Callable[[pd.DataFrame, Titles], list[str]]] = {
        "sets": _on_sets,
        "oracle": _on_oracle,
        "label_free": _on_label_free,
        "order": _on_order,
        "ablation": _on_ablation,
        "time": _on_time,
        "objective": _on_objective,
        "sensitivity": _on_sensitivity,
    }
    return {name: say(tables[name], titles) for name, say in sayings.items() if name in tables}


def _on_sets(table: pd.DataFrame, titles: Titles) -> list[str]:
    paper = table[table["set"] != ""]
    found, lost = paper[paper["is_found"]], paper.loc[~paper["is_found"], "set"]
    names = f": {listed(found['set'])}." if len(found) else "."
    missing = f" {listed(lost)} {verb(lost, 'is', 'are')} missing." if len(lost) else ""
    text = [f"{len(found)} of the paper's {len(paper)} sets were found{names}{missing}"]
    other = found.loc[~found["is_same"], "set"]
    if len(other):
        text.append(f"{listed(other)} {verb(other, 'has', 'have')} other sizes than in the paper.")
    elif len(found):
        text.append("Samples, views and classes are as the paper states them.")
    return text


def _on_oracle(table: pd.DataFrame, titles: Titles) -> list[str]:
    both = complete(table[table["difference"].notna()])
    text = []
    for data, group in both[both["method"] == PUBLISHED].groupby("data", sort=False):
        worst = group.sort_values("difference", key=abs).iloc[-1]
        lead = f"{titles[str(data)]}: the published program"
        differs = f"{METRICS[worst['metric']]} differs most, by {worst['difference']:+.4f}"
        is_same = abs(worst["difference"]) < SAME
        text.append(
            f"{lead} gives the paper's {len(group)} values to four digits."
            if is_same
            else f"{lead} does not give the paper's values; {differs}."
        )
    rest = both[both["method"] != PUBLISHED]
    if len(rest):
        far = rest[rest["difference"].abs() > rest["paper_std"].fillna(0) + APART]
        text.append(
            f"Of the {len(rest)} values of other methods, {len(far)} differ from the paper's by "
            f"more than its standard deviation plus {APART:g}"
            + (f": {places(far, titles)}." if len(far) else ".")
        )
    return text + _best(table, titles)


def _on_label_free(table: pd.DataFrame, titles: Titles) -> list[str]:
    scores = _scores(table)
    text = []
    if scores.shape[1] > 1 and not (table["status"] == "not run").any():
        ranks = friedman_ranks(scores)
        names = [method_title(str(name)) for name in ranks.index[ranks == ranks.min()]]
        second = f", before {method_title(str(ranks.index[1]))} ({ranks.iloc[1]:.2f})"
        best = f"{listed(names)} {verb(names, 'has', 'have')} the best mean rank"
        text.append(
            f"With defaults and shuffled rows, {best} by ACC ({ranks.min():.2f} over "
            f"{count(len(scores), 'set')}){second if len(names) == 1 else ''}."
        )
    if {"omvcdr", PUBLISHED} <= set(scores):
        gap = (scores["omvcdr"] - scores[PUBLISHED]).dropna()
        if len(gap):
            text.append(
                f"Our OMVCDR is ahead of the published program on {(gap > 0).sum()} of "
                f"{count(len(gap), 'set')} by ACC; the mean difference is {gap.mean():+.4f}."
            )
    return text + _best(table, titles)


def _best(table: pd.DataFrame, titles: Titles) -> list[str]:
    """The best method by ACC on each data set, and methods without a result."""
    own = table[table["metric"] == "acc"]
    first, gone = own[own["place"] == 1], own[own["status"].isin(["declined", "failed"])]
    sentences = [f"Best by ACC: {places(first, titles)}."] if len(first) else []
    for status, group in gone.groupby("status", sort=False):
        sentences.append(f"No result ({status}): {places(group, titles)}.")
    n_waiting = int((own["status"] == "not run").sum())
    if n_waiting:
        sentences.append(f"Not run yet: {n_waiting} of {len(own)} pairs of a method and a set.")
    own = own[own["n_points"] < own["n_planned"]]
    parts = [
        f"{method_title(row.method)} on {titles[row.data]} ({row.n_points:g} of {row.n_planned})"
        for row in records(own)
    ]
    if parts:
        sentences.append(f"Not all points of the grid have a result: {listed(parts)}.")
    return sentences


def _on_order(table: pd.DataFrame, titles: Titles) -> list[str]:
    own = table[(table["metric"] == "acc") & table["is_complete"] & table["gain"].notna()]
    text, gains = [], 0
    for row in records(own):
        is_clear = abs(row.gain) > _usual_gap(row.shuffled_std, row.n_shuffles)
        gains += is_clear and row.gain > 0
        effect = "sorted rows help" if row.gain > 0 else "sorted rows hurt"
        verdict = effect if is_clear else "no clear difference"
        text.append(
            f"{titles[row.data]}: ACC {row.file:.4f} in file order, {row.shuffled:.4f} ± "
            f"{row.shuffled_std:.4f} over {count(row.n_shuffles, 'shuffle')} "
            f"({row.gain:+.4f}): {verdict}."
        )
    if len(own):
        lead = f"The published program gains from sorted rows on {gains} of {len(own)} sets."
        if gains:
            lead += " There, its value in the paper depends in part on the order of the file."
        text.insert(0, lead)
    return text


def _usual_gap(std: float, n: int) -> float:
    """95 % prediction interval (half width) of one more shuffle, from n shuffles."""
    if n < 2:
        return float("inf")
    spread = std * (n / (n - 1)) ** 0.5
    reach = stats.t.ppf(0.975, n - 1) * spread * (1 + 1 / n) ** 0.5
    return max(float(reach), CLEAR)


def _on_ablation(table: pd.DataFrame, titles: Titles) -> list[str]:
    own = complete(table[table["metric"] == "acc"])
    ours, paper = _scores(own), _scores(own, "paper_mean")
    text = _met(table, titles)
    if "full" not in ours:
        return text
    for variant in ours.columns.drop("full"):
        gap = (ours["full"] - ours[variant]).dropna()
        if gap.empty:
            continue
        theirs = (paper["full"] - paper[variant]).reindex(gap.index).dropna()
        paper_text = f"; the paper: {(theirs > 0).sum()} of {len(theirs)}" if len(theirs) else ""
        text.append(
            f"The full method is ahead of {method_title(variant)} on {(gap > 0).sum()} of "
            f"{count(len(gap), 'set')} by ACC ({gap.mean():+.4f} on average{paper_text})."
        )
    return text


def _met(table: pd.DataFrame, titles: Titles) -> list[str]:
    """The variants that match all of the paper's values to the printed digits."""
    both = complete(table[table["difference"].notna()])
    is_same = both["difference"].abs() < SAME
    met = both[is_same.groupby([both["data"], both["method"]]).transform("all").astype(bool)]
    if met.empty:
        return []
    return [f"The paper's values to four digits: {places(met, titles)}."]


def _on_time(table: pd.DataFrame, titles: Titles) -> list[str]:
    done = table[table["relative"].notna()]
    text = []
    for data, group in done.groupby("data", sort=False):
        ranked = group.sort_values("seconds")
        fast, slow = ranked.iloc[0], ranked.iloc[-1]
        text.append(
            f"{titles[str(data)]}: {method_title(fast['method'])} is the fastest "
            f"({fast['seconds']:.2f} s), {method_title(slow['method'])} the slowest "
            f"({slow['seconds']:.2f} s); the published OMVCDR ranks "
            f"{ranked['method'].tolist().index(PUBLISHED) + 1} of {len(ranked)}."
        )
    gone = table[(table["status"] == "declined")].drop_duplicates("method")
    text += [
        f"{method_title(row.method)} declined on {titles[row.data]}: {row.reason}"
        for row in records(gone)
    ]
    return text


def _on_objective(table: pd.DataFrame, titles: Titles) -> list[str]:
    text = []
    for (data, method), group in table.groupby(["data", "method"], sort=False):
        values = group["objective"]
        path = "increases at times" if has_risen(values) else "never increases"
        text.append(
            f"{titles[str(data)]}, {method_title(str(method))}: the objective {path}, and the fit "
            f"ends after {len(values) - (method != PUBLISHED)} iterations."
        )
    return text


def _on_sensitivity(table: pd.DataFrame, titles: Titles) -> list[str]:
    text = []
    for data, group in table.groupby("data", sort=False):
        if len(group) < 2:
            continue
        (worst, low), *_, (best, high) = group.sort_values("acc")[["acc", "lam"]].to_numpy()
        text.append(
            f"{titles[str(data)]}: ACC ranges from {worst:.4f} (λ = {low:g}) to {best:.4f} "
            f"(λ = {high:g}), a difference of {best - worst:.4f}."
        )
    return text


def _scores(table: pd.DataFrame, column: str = "mean") -> pd.DataFrame:
    """ACC: data sets × methods."""
    own = table[table["metric"] == "acc"]
    wide = own.pivot(index="data", columns="method", values=column).astype(float)
    return wide.reindex(columns=pd.unique(own["method"]))
