"""The claims of the paper that can be tested, with a verdict computed from the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from manyview.datasets.registry import PAPER_SETS
from manyview.study.reproduction import judges
from manyview.study.reproduction.judges import ANCHORED, RIVALS, Judge, Study, ahead
from manyview.study.reproduction.tables import METHOD_TITLES, records
from manyview.study.reproduction.wording import listed
from manyview.utils.pages import page_environment

VERDICTS = (judges.HOLDS, judges.ONLY_SORTED, judges.FAILS, judges.UNCHECKED)
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
ORDINARY = 10_000  # samples; the paper does not say which of its sets are "regular"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, its section, and the judge."""

    text: str
    section: str
    judge: Judge


CLAIMS = (
    Claim("One step is better than learning a representation and then running k-means.",
          "abstract; introduction; ablation", ahead(["two_step"])),
    Claim("Several latent spaces are better than one of fixed dimension.",
          "abstract; introduction; ablation, 1", ahead(["omvc"])),
    Claim("The weights pick a suitable latent space by themselves.",
          "introduction; results, observation 3", judges.weights_choose),
    Claim("Time grows linearly with the number of samples.",
          "introduction; time complexity", judges.grows_linearly),
    Claim("Memory grows linearly with the number of samples.",
          "space complexity", judges.not_here(
              "Most sets are too small: a fit fits into memory that the process holds already.")),
    Claim("The objective falls monotonically.", "convergence, proof and experiment",
          judges.never_rises),
    Claim("Anchor learning is a special case, with bases as anchors and representations as graph.",
          "connection with anchor learning", judges.not_here(
              "A way to read the model, not a result. The constraints differ: bases are "
              "orthonormal and representations free, where anchors are points of the data and "
              "the rows of an anchor graph are weights that sum to one.")),
    Claim("The idea can choose the number of anchors.",
          "connection with anchor learning; conclusion", judges.not_here(
              "The paper has no experiment on it, and this study has none either.")),
    Claim("HandWritten is UCI Multiple Features.", "data sets, footnote",
          judges.handwritten_is_uci),
    Claim("OMVCDR reaches the values of the table of results.", "results", judges.values_met),
    Claim("OMVCDR is the best of the eight by ACC on every set.", "results, observation 1",
          ahead(RIVALS)),
    *(Claim(f"On {name}, its ACC is {gain:.2f} % above the second best.", "results, observation 1",
            ahead(RIVALS, only=[FILES[name]], percent=gain))
      for name, gain in CLAIMED_GAINS.items()),
    Claim("By the other metrics its performance is comparable.", "results, observation 1",
          judges.comparable_scores),
    Claim("Its variance is zero: results are stable.", "results, observation 2",
          judges.unchanged_by_shuffling),
    *(Claim(f"OMVCDR is better than {METHOD_TITLES[rival]}.",
            PLACES.get(rival, "results, last paragraph"), ahead([rival]))
      for rival in RIVALS),
    Claim(f"On sets of ordinary size (below {ORDINARY} samples) it is better than anchor methods.",
          "results, observation 4",
          ahead(ANCHORED, only=[one.file for one in PAPER_SETS if one.n_samples < ORDINARY])),
    Claim("FMR takes the most time of the eight where it runs at all.", "running time, 1",
          judges.fmr_is_slowest),
    Claim("OPMC and LMVSC take less time than OMVCDR.", "running time, 2",
          judges.takes_less_time(["opmc", "lmvsc"])),
    Claim("Its time is comparable with that of the others.", "running time, 2",
          judges.comparable_time),
    Claim("One space is worse than two.", "ablation, 1", ahead(["omvc"], "omvcdr_2")),
    Claim("Learned weights of the spaces are better than equal ones.", "ablation, 2",
          ahead(["omvcdr_alpha"])),
    Claim("Results decline whenever a part of the method is left out.", "ablation, last paragraph",
          ahead(["omvc", "omvcdr_2", "omvcdr_alpha", "two_step"])),
    Claim(f"It converges in less than {judges.PAPER_ITERATIONS} iterations.",
          "convergence, experiment", judges.converges_soon),
    Claim("With growing λ, performance first rises and then remains stable.",
          "parameter sensitivity", judges.rises_then_stays),
    Claim("It is insensitive to λ.", "parameter sensitivity", judges.insensitive),
)  # fmt: skip


def judge_claims(tables: Mapping[str, pd.DataFrame], titles: Mapping[str, str]) -> pd.DataFrame:
    """Verdict and evidence for each claim, in the paper's order.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By name: sets, oracle, order, ablation, ablation_order, time, objective, weights,
        sensitivity.
    titles : mapping of str to str
        Names of the data sets by file.

    Returns
    -------
    DataFrame
        claim, section, verdict, evidence.
    """
    study = Study(tables, titles)
    rows = [(claim.text, claim.section, *claim.judge(study)) for claim in CLAIMS]
    return pd.DataFrame(rows, columns=["claim", "section", "verdict", "evidence"])


def to_markdown(table: pd.DataFrame, facts: Mapping[str, Any]) -> str:
    """Render the judged claims as Markdown.

    Parameters
    ----------
    table : DataFrame
        As `judge_claims` returns it.
    facts : mapping
        How the study was run: is_quick, sets, n_done, n_runs, time_limit.

    Returns
    -------
    str
    """
    counts = table["verdict"].value_counts().reindex(VERDICTS, fill_value=0)
    template = page_environment("manyview.study.reproduction").get_template("claims.md")
    return template.render(
        facts=facts, sets=listed(facts["sets"]), counts=counts.to_dict(), rows=records(table)
    )
