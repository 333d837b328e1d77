"""The claims of the paper that can be tested, with a verdict computed from the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from manyview.datasets.registry import DERIVED_SETS, PAPER_SETS
from manyview.study.reproduction import evidence, judges, timing
from manyview.study.reproduction.coverage import TRACE, Needs
from manyview.study.reproduction.judges import ANCHORED, Judge, Judgement, Study
from manyview.study.reproduction.runs import ABLATION
from manyview.study.reproduction.scope import PAPER_ITERATIONS, PUBLISHED, RIVALS
from manyview.study.reproduction.tables import METHOD_TITLES, records
from manyview.study.reproduction.wording import count, listed
from manyview.utils.pages import page_environment

VERDICTS = (judges.HOLDS, judges.ONLY_SORTED, judges.FAILS, judges.NOT_EMPIRICAL, judges.UNCHECKED)
CLAIMED_GAINS = {  # percent of ACC over the second best, by the paper's observation 1
    "Flower17": 6.95,
    "HandWritten": 9.60,
    "BDGP": 12.13,
    "Hdigit": 4.21,
    "AWA": 1.49,
    "YTF-10": 3.53,
    "YTF-20": 8.55,
}
FILES = {one.name: one.file for one in PAPER_SETS}
PLACES = {  # where the paper discusses a compared method, in addition to its table of results
    "sfmc": "results, observation 3",
    "opmc": "results, observation 3; running time, 2",
    "lmvsc": "results, last paragraph; running time, 2",
    "awmvc": "introduction; results, last paragraph; ablation, 3",
}
COLUMNS = ["claim", "section", "verdict", "evidence", "n_done", "n_needed"]
ORDINARY = 10_000  # samples; the paper does not say which of its sets are "regular"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, its section, the judge, and the runs that it needs."""

    text: str
    section: str
    judge: Judge
    needs: Needs = field(default_factory=lambda: Needs({}))
    final: Sequence[str] = ()  # verdicts that no further run can change


ENOUGH = (judges.FAILS,)  # one data set on which it fails is enough


def _ahead(
    text: str,
    section: str,
    rivals: Sequence[str],
    ours: str = PUBLISHED,
    *,
    only: Sequence[str] = (),
    percent: float = 0.0,
) -> Claim:
    """A claim that a method is ahead of others: their grids, in file order and shuffled."""
    methods = [*rivals, ours]
    variants = [name for name in methods if name in ABLATION]
    runs = {
        "oracle": [name for name in methods if name in METHOD_TITLES],
        "order": [name for name in methods if name == PUBLISHED],
        "ablation": variants,
        "ablation-shuffled": variants,
        TRACE: [name for name in methods if name == "two_step"],
    }
    judge = judges.ahead(rivals, ours, only=only, percent=percent)
    sets = [*only, *(file for file, of in DERIVED_SETS.items() if of in only)]
    return Claim(text, section, judge, Needs(runs, sets), ENOUGH)


GRID = Needs({"oracle": [PUBLISHED]})
FITS = Needs({TRACE: [PUBLISHED]})
CLAIMS = (
    _ahead("One step is better than learning a representation and then running k-means.",
           "abstract; introduction; ablation", ["two_step"]),
    _ahead("Several latent spaces are better than one of fixed dimension.",
           "abstract; introduction; ablation, 1", ["omvc"]),
    Claim("The weights pick a suitable latent space by themselves.",
          "introduction; results, observation 3", judges.weights_choose, FITS),
    Claim("Time grows linearly with the number of samples.",
          "introduction; time complexity", evidence.grows_linearly("time")),
    Claim("Memory grows linearly with the number of samples.",
          "space complexity", evidence.grows_linearly("memory")),
    Claim("The objective falls monotonically.", "convergence, proof and experiment",
          judges.never_rises, FITS, ENOUGH),
    Claim("Anchor learning is a special case, with bases as anchors and representations as graph.",
          "connection with anchor learning", evidence.reads_as_anchors),
    Claim("The idea can choose the number of anchors.",
          "connection with anchor learning; conclusion", evidence.chooses_anchors),
    Claim("HandWritten is UCI Multiple Features.", "data sets, footnote",
          judges.handwritten_is_uci, Needs({"oracle": [PUBLISHED]}, [judges.HANDWRITTEN])),
    Claim("OMVCDR reaches the values of the table of results.", "results", judges.values_met,
          GRID, ENOUGH),
    _ahead("OMVCDR is the best of the eight by ACC on every set.", "results, observation 1",
           RIVALS),
    *(_ahead(f"On {name}, its ACC is {gain:.2f} % above the second best.",
             "results, observation 1", RIVALS, only=[FILES[name]], percent=gain)
      for name, gain in CLAIMED_GAINS.items()),
    Claim("By the other metrics its performance is comparable.", "results, observation 1",
          judges.comparable_scores,
          Needs({"oracle": [*RIVALS, PUBLISHED], "order": [PUBLISHED]}), ENOUGH),
    Claim("Its variance is zero: results are stable.", "results, observation 2",
          judges.unchanged_by_shuffling, Needs({"order": [PUBLISHED]}), [judges.ONLY_SORTED]),
    *(_ahead(f"OMVCDR is better than {METHOD_TITLES[rival]}.",
             PLACES.get(rival, "results, last paragraph"), [rival])
      for rival in RIVALS),
    _ahead(f"On sets of ordinary size (below {ORDINARY} samples) it is better than anchor methods.",
           "results, observation 4", ANCHORED,
           only=[one.file for one in PAPER_SETS if one.n_samples < ORDINARY]),
    Claim("FMR takes the most time of the eight where it runs at all.", "running time, 1",
          timing.fmr_is_slowest),
    Claim("OPMC and LMVSC take less time than OMVCDR.", "running time, 2",
          timing.takes_less_time(["opmc", "lmvsc"])),
    Claim("Its time is comparable with that of the others.", "running time, 2",
          timing.comparable_time),
    _ahead("One space is worse than two.", "ablation, 1", ["omvc"], "omvcdr_2"),
    _ahead("Learned weights of the spaces are better than equal ones.", "ablation, 2",
           ["omvcdr_alpha"]),
    _ahead("Results decline whenever a part of the method is left out.", "ablation, last paragraph",
           ["omvc", "omvcdr_2", "omvcdr_alpha", "two_step"]),
    Claim(f"It converges in less than {PAPER_ITERATIONS} iterations.",
          "convergence, experiment", judges.converges_soon, FITS, ENOUGH),
    Claim("With growing λ, performance first rises and then remains stable.",
          "parameter sensitivity", judges.rises_then_stays, GRID, ENOUGH),
    Claim("It is insensitive to λ.", "parameter sensitivity", judges.insensitive, GRID, ENOUGH),
)  # fmt: skip


def judge_claims(tables: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> pd.DataFrame:
    """Verdict and evidence for each claim, in the paper's order.

    A claim whose runs are not all there has no verdict, unless no further run can change it: a
    claim about all data sets fails with one of them.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name: sets, oracle, order, ablation, ablation_order, time, objective, weights,
        sensitivity, coverage.
    titles : mapping of str to str
        Names of the data sets by file.

    Returns
    -------
    DataFrame
        claim, section, verdict, evidence, n_done, n_needed (runs).
    """
    study = Study(tables, titles)
    sets = list(FILES.values())
    rows = []
    for claim in CLAIMS:
        n_done, n_needed = claim.needs.count(tables["coverage"], sets)
        judged = claim.judge(study)
        if n_done < n_needed and judged.verdict not in claim.final:
            reason = f"Not decided: {n_done} of {count(n_needed, 'run')} were done."
            judged = Judgement(judges.UNCHECKED, f"{reason} So far: {judged.evidence}")
        rows.append((claim.text, claim.section, *judged, n_done, n_needed))
    return pd.DataFrame(rows, columns=COLUMNS)


def tell_undecided(table: pd.DataFrame, coverage: pd.DataFrame) -> str:
    """How many claims wait for runs, in a sentence; empty if none does.

    Parameters
    ----------
    table : DataFrame
        As `judge_claims` returns it.
    coverage : DataFrame
        As `coverage_table` returns it.

    Returns
    -------
    str
    """
    is_open = (table["n_done"] < table["n_needed"]) & (table["verdict"] == judges.UNCHECKED)
    n_open = int(is_open.sum())
    if n_open == 0:
        return ""
    done, needed = coverage["n_done"].sum(), coverage["n_needed"].sum()
    waits = "waits" if n_open == 1 else "wait"
    return (
        f"{count(n_open, 'claim')} {waits} for runs: {done:,} of the {needed:,} runs of the whole "
        "study were done."
    )


def to_markdown(table: pd.DataFrame, facts: Mapping[str, Any], undecided: str = "") -> str:
    """Render the judged claims as Markdown.

    Parameters
    ----------
    table : DataFrame
        As `judge_claims` returns it.
    facts : mapping
        How the study was run: is_quick, sets, n_done, n_runs, time_limit.
    undecided : str, default=""
        As `tell_undecided` returns it.

    Returns
    -------
    str
    """
    counts = table["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
    template = page_environment("manyview.study.reproduction").get_template("claims.md")
    return template.render(
        facts=facts,
        sets=listed(facts["sets"]),
        counts=counts.to_dict(),
        rows=records(table),
        undecided=undecided,
    )
