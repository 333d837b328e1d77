"""Typical and doubtful samples with their texts or pictures, and the words of each cluster."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from manyview.exceptions import ViewError
from manyview.inspection import Explanation
from manyview.utils.optional import needed

KINDS = ("text", "image")
N_TYPICAL, N_DOUBTFUL = 6, 3  # of a cluster
MOST_PICTURES = 1200  # of a page, about 4 kB each
MOST_LETTERS = 160  # of a text
N_WORDS = 8  # of a cluster
LEAST_LIFT = 1.5  # of a word: its share of the words of the cluster over that of all words
LEAST_TEXTS = 2  # that hold it
PIXELS, QUALITY = 96, 70  # of a thumbnail
MOST_PIXELS = 50_000_000  # of a picture that is opened


def describe_shown(
    explanation: Explanation, labels: Any, show: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Collect what is shown of typical and doubtful samples.

    Parameters
    ----------
    explanation : Explanation
        That of the fit.
    labels : array of shape (n_samples,)
        Cluster of each sample.
    show : mapping, optional
        "text": a text of each sample; "image": a path, bytes or None of each sample.

    Returns
    -------
    dict or None
        `clusters`: for each cluster its words, and texts and pictures of samples; `notes`.
    """
    if not show:
        return None
    given = {kind: _as_column(kind, values, len(labels)) for kind, values in show.items()}
    texts, paths = given.get("text"), given.get("image")
    words = {} if texts is None else top_words(texts, labels)
    clusters = explanation.clusters.index[explanation.clusters["size"] > 0]
    n_most = max(1, MOST_PICTURES // (2 * max(len(clusters), 1)))
    thumbnails = _Thumbnails()
    parts = {}
    for c in map(int, clusters):
        rows = {
            "typical": _positions(explanation.exemplars, c, N_TYPICAL),
            "doubtful": _positions(explanation.doubtful, c, N_DOUBTFUL),
        }
        parts[str(c)] = {"words": words.get(c, [])} | {
            kind: [
                {
                    "text": None if texts is None else _cut(texts.iloc[row]),
                    "image": None
                    if paths is None or number >= n_most
                    else thumbnails.of(paths.iloc[row]),
                }
                for number, row in enumerate(positions)
            ]
            for kind, positions in rows.items()
        }
    return {
        "has_text": texts is not None,
        "has_image": paths is not None,
        "clusters": parts,
        "notes": thumbnails.notes,
    }


def top_words(texts: pd.Series, labels: Any) -> dict[int, list[str]]:
    """Words that distinguish each cluster, by class-based tf-idf.

    Parameters
    ----------
    texts : pandas.Series
        A text of each sample, or NaN.
    labels : array of shape (n_samples,)
        Cluster of each sample.

    Returns
    -------
    dict
        The words of each cluster, the strongest first: t_wc / n_c · log(1 + A / t_w), with t_wc
        how often the word is in the texts of the cluster, n_c the words of the cluster, t_w how
        often it is in all texts, and A the mean of n_c; words that are as frequent elsewhere, such
        as articles, are left out.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    known = texts.notna().to_numpy()
    labels = np.asarray(labels)[known]
    counter = CountVectorizer(min_df=LEAST_TEXTS, token_pattern=r"(?u)\b[^\W\d_]\w+\b")
    try:
        counts = counter.fit_transform(texts[known].astype(str))
    except ValueError:  # no text has a word that another has
        return {}
    names = counter.get_feature_names_out()
    n_clusters = int(labels.max()) + 1
    members = sparse.csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels))
    )
    of_cluster = sparse.csr_array(members @ counts)  # (k, words)
    lengths, totals = of_cluster.sum(axis=1), of_cluster.sum(axis=0)
    idf = np.log1p(lengths.sum() / np.count_nonzero(lengths) / totals)
    found = {}
    for c in np.flatnonzero(lengths):
        row = of_cluster[[c]].tocsr()
        share = row.data / lengths[c]
        lift = share / (totals[row.indices] / lengths.sum())
        score = share * idf[row.indices] * (lift >= LEAST_LIFT)
        order = np.argsort(-score, kind="stable")[:N_WORDS]
        found[int(c)] = [str(names[row.indices[j]]) for j in order if score[j] > 0]
    return found


def _as_column(kind: str, values: Any, n_samples: int) -> pd.Series:
    """What is shown of each sample, by position."""
    if kind not in KINDS:
        msg = f"show has {kind!r}; expected {' or '.join(KINDS)}."
        raise ViewError(msg)
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != n_samples:
        msg = f"show has {len(column)} values of {kind}; expected one per sample, {n_samples}."
        raise ViewError(msg)
    return column


def _positions(table: pd.DataFrame, cluster: int, most: int) -> Sequence[int]:
    rows = table.loc[table["cluster"] == cluster, "position"].head(most)
    return [int(row) for row in rows]


def _cut(text: Any) -> str | None:
    """A text on one line, not too long."""
    if pd.isna(text):
        return None
    plain = " ".join(str(text).split())
    return plain if len(plain) <= MOST_LETTERS else plain[: MOST_LETTERS - 1] + "…"


class _Thumbnails:
    """Pictures as small JPEG in data URIs; what cannot be read is counted."""

    def __init__(self) -> None:
        self.n_failed, self.first = 0, ""

    def of(self, source: Any) -> str | None:
        """The thumbnail of a file or of bytes; None if there is none."""
        if source is None or (isinstance(source, float) and np.isnan(source)):
            return None
        image = needed("PIL.Image", "A thumbnail")
        try:
            with image.open(
                BytesIO(source) if isinstance(source, bytes) else Path(source)
            ) as opened:
                if opened.width * opened.height > MOST_PIXELS:
                    msg = f"it has {opened.width} × {opened.height} pixels"
                    raise ValueError(msg)
                opened.draft("RGB", (PIXELS, PIXELS))
                small = opened.convert("RGB")
                small.thumbnail((PIXELS, PIXELS))
        except Exception as error:  # a damaged picture fails anywhere in its decoder
            name = "bytes" if isinstance(source, bytes) else str(source)
            self.first = self.first or f"{name}: {str(error)[:100]}"
            self.n_failed += 1
            return None
        buffer = BytesIO()
        small.save(buffer, "JPEG", quality=QUALITY)
        return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"

    @property
    def notes(self) -> list[str]:
        """How many pictures could not be read."""
        if not self.n_failed:
            return []
        many = f"{self.n_failed} pictures" if self.n_failed > 1 else "1 picture"
        return [f"{many} could not be read, the first is {self.first}."]


def paths_beside(values: pd.Series, folder: Path) -> pd.Series:
    """Paths of pictures, those that are relative as seen from a folder.

    Parameters
    ----------
    values : pandas.Series
        Paths, bytes or NaN.
    folder : path
        The folder of the table that names them.

    Returns
    -------
    pandas.Series
    """
    seen = [str(folder / value) if isinstance(value, str) else value for value in values]
    return pd.Series(seen, index=values.index, dtype=object)
