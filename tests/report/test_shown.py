"""Typical samples with their texts and pictures, and the words of a cluster."""

import base64
import json
from io import BytesIO

import numpy as np
import pandas as pd
import pytest

from helpers.commands import manyview
from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.exceptions import ViewError
from manyview.report import describe_fit, render_fit
from manyview.report.shown import top_words

Image = pytest.importorskip("PIL.Image")
THINGS = np.array(["cat", "boat", "tree"])
N = 90


@pytest.fixture(scope="module")
def blobs():
    return make_multiview_blobs(N, (6, 5), n_clusters=3, separation=6.0, random_state=0)


@pytest.fixture(scope="module")
def texts(blobs):
    return [f"the picture of a {THINGS[c]} no{i} <b>" for i, c in enumerate(blobs.target)]


@pytest.fixture(scope="module")
def model(blobs):
    return OMVCDR(n_clusters=3, random_state=0).fit(blobs.data)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory, blobs):
    """A folder with a picture of each sample in the color of its group, and a damaged one."""
    folder = tmp_path_factory.mktemp("pictures")
    for i, c in enumerate(blobs.target):
        color = [(250, 0, 0), (0, 250, 0), (0, 0, 250)][c]
        Image.new("RGB", (300, 200), color).save(folder / f"{i}.png")
    return folder


def test_words_distinguish_a_cluster_and_articles_do_not(texts, blobs):
    words = top_words(pd.Series(texts), blobs.target)
    for c in range(3):
        assert words[c] == [THINGS[c]]


def test_words_are_ranked_by_class_based_tf_idf():
    texts = pd.Series(["red red fox", "red fox", "blue sky", "blue sky sky", None, "red sky"])
    words = top_words(texts, np.array([0, 0, 1, 1, 1, 1]))
    count = {"red": (3, 4), "fox": (2, 2)}  # in cluster 0, in all; 5 words of 12 are in it
    score = {word: t / 5 * np.log1p(6 / n) for word, (t, n) in count.items()}
    assert words[0] == sorted(score, key=score.get, reverse=True)
    assert set(words[1]) == {"sky", "blue"}
    assert top_words(pd.Series(["a", "b", None]), np.array([0, 1, 1])) == {}


def test_texts_of_typical_samples_are_shown_as_text(model, blobs, texts):
    result = describe_fit(model, blobs.data, show={"text": texts})
    for c in range(3):
        part = result["shown"]["clusters"][str(c)]
        typical = model.explain().exemplars.query("cluster == @c")["position"]
        assert [one["text"] for one in part["typical"]] == [texts[i] for i in typical[:6]]
    page = render_fit(json.loads(json.dumps(result)))
    assert "&lt;b&gt;" in page
    assert "<b>\n" not in page
    assert 'class="words">' in page


def test_pictures_are_small_and_what_cannot_be_read_is_told(model, blobs, pictures):
    first = int(model.explain().exemplars["position"].iloc[0])
    paths = [str(pictures / f"{i}.png") for i in range(N)]
    paths[first] = str(pictures / "gone.png")
    result = describe_fit(model, blobs.data, show={"image": paths})
    for c in range(3):
        main = np.bincount(blobs.target[model.labels_ == c]).argmax()
        uris = [one["image"] for one in result["shown"]["clusters"][str(c)]["typical"]]
        shown = [uri for uri in uris if uri]
        assert len(shown) >= 5
        opened = Image.open(BytesIO(base64.b64decode(shown[-1].partition(",")[2])))
        assert opened.size == (96, 64)
        assert np.argmax(opened.getpixel((5, 5))) == main
    assert result["notes"][-1].startswith("1 picture could not be read, the first is")
    assert "gone.png" in result["notes"][-1]
    assert render_fit(result).count('class="thumbnail"') >= 17


@pytest.mark.parametrize(
    ("show", "said"),
    [
        ({"sound": ["a"] * N}, "expected text or image"),
        ({"text": ["a"]}, f"expected one per sample, {N}"),
    ],
)
def test_what_cannot_be_shown_is_refused(model, blobs, show, said):
    with pytest.raises(ViewError, match=said):
        describe_fit(model, blobs.data, show=show)


def test_the_command_shows_columns_of_files_and_repeats_it(tmp_path, blobs, texts, pictures):
    names = [f"s{i}" for i in range(N)]
    pd.DataFrame(blobs.data.views[0], index=names).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"id": names, "caption": texts}).to_parquet(tmp_path / "captions.parquet")
    paths = pd.DataFrame({"id": names[::-1], "path": [f"{i}.png" for i in range(N)][::-1]})
    paths.to_csv(pictures / "paths.csv", index=False)
    wrong = manyview("fit", "a.csv", "-k", "3", "--show", "text=captions.parquet", cwd=tmp_path)
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "expected text=FILE::COLUMN" in wrong.stderr
    out = tmp_path / "run"
    given = ["--show", f"text={tmp_path}/captions.parquet::caption"]
    given += ["--show", f"image={pictures}/paths.csv::path"]
    made = manyview("fit", "a.csv", "--clusters", "3", "--out", "run", *given, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    result = json.loads((out / "result.json").read_text())
    assert result["shown"]["clusters"]["0"]["typical"][0]["image"].startswith("data:image/jpeg")
    assert result["shown"]["clusters"]["0"]["words"][0] in THINGS
    again = ("fit", "--config", "run/run.toml", "--out", "again")
    assert manyview(*again, cwd=tmp_path).returncode == 0
    again = json.loads((tmp_path / "again" / "result.json").read_text())
    assert again["shown"] == result["shown"]
