"""Reports of many clusters: short, searched, sorted; and the dendrogram."""

import json
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR
from manyview.datasets import make_multiview_blobs
from manyview.report import describe_fit, render_fit
from manyview.report.dendrogram import MOST_LEAVES, draw_hierarchy
from manyview.report.svg import svg_file
from tools import browser

K = 120


@pytest.fixture(scope="module")
def result():
    """A fit of few clusters, told as one of many."""
    blobs = make_multiview_blobs(150, (6, 5), n_clusters=4, separation=5.0, random_state=0)
    model = OMVCDR(n_clusters=4, random_state=0).fit(blobs.data)
    found = describe_fit(model, blobs.data, truth=blobs.target)
    rng = np.random.default_rng(0)
    first = found["clusters"]
    found["clusters"] = [
        {**first[c % 4], "cluster": c, "size": int(rng.integers(5, 500))} for c in range(K)
    ]
    found["data"]["n_clusters"] = K
    sizes = [row["size"] for row in found["clusters"]]
    linkage = [[0, 1, 0.01, 2], *([K + i, i + 2, 0.01 * (i + 2), i + 3] for i in range(K - 2))]
    pair = {"cluster": 3, "other": 8, "n": 40, "share": 0.5, "confidence": 0.1, "cost": 0.02}
    found["hierarchy"] = {"linkage": linkage, "sizes": sizes, "proposed": [pair]}
    return json.loads(json.dumps(found))


def test_a_dendrogram_is_a_file_with_each_cluster_or_the_groups_that_are_drawn(result):
    drawing = ElementTree.fromstring(svg_file(draw_hierarchy(result["hierarchy"])))
    texts = [part.text for part in drawing.iter() if part.tag.endswith("text")]
    assert f"0, 1, 2 + {K - MOST_LEAVES - 2}" in texts
    assert str(K - 1) in texts
    small = {
        "linkage": [[1, 2, 0.1, 2], [0, 3, 0.4, 3]],
        "sizes": [5, 1234, 7],
        "proposed": [],
    }
    drawing = ElementTree.fromstring(svg_file(draw_hierarchy(small)))
    texts = [part.text for part in drawing.iter() if part.tag.endswith("text")]
    assert texts[-6:] == ["0", "5", "1", "1,234", "2", "7"]
    assert "40.00%" in texts


def test_the_page_says_which_clusters_could_be_one(result):
    page = render_fit(result)
    assert "Clusters that could be one, with little between them: 3 and 8." in page
    without = {**result, "hierarchy": {**result["hierarchy"], "proposed": []}}
    assert "No two clusters are proposed as one." in render_fit(without)


@pytest.mark.browser
@pytest.mark.skipif(browser.why_not() is not None, reason=str(browser.why_not()))
def test_many_clusters_are_found_and_sorted_on_a_short_page(result, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_fit(result), encoding="utf-8")
    with browser.browser() as chromium:
        page = chromium.new_page(viewport={"width": 1000, "height": 900})
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollHeight") < 12_000
        rows = page.locator("#clusters tbody tr")
        assert rows.count() == K
        page.locator("#clusters .sort", has_text="samples").click()
        largest = max(row["size"] for row in result["clusters"])
        assert page.locator("#clusters tbody tr").first.locator("td").nth(1).inner_text() == str(
            largest
        )
        page.fill("#clusters .find input", "17")
        assert page.locator("#clusters tbody tr:visible").count() == 1
        assert page.locator("#clusters tbody tr:visible .chip").inner_text() == "17"
        assert page.text_content("#clusters .find [role=status]") == f"1 of {K}"
        page.fill("#clusters .find input", "no such word")
        assert page.locator("#clusters tbody tr:visible").count() == 0


def test_few_clusters_are_all_open():
    blobs = make_multiview_blobs(60, (5, 4), random_state=0)
    model = OMVCDR(n_clusters=3, random_state=0).fit(blobs.data)
    page = render_fit(describe_fit(model, blobs.data, meta=pd.DataFrame({"a": range(60)})))
    assert 'class="overview"' not in page
