"""The report in a real browser: it draws, answers the pointer, and asks nobody for anything."""

import base64
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from manyview import OMVCDR, MultiViewData
from manyview.datasets import make_multiview_blobs
from manyview.report import describe_fit, render_fit
from tools import browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(browser.why_not() is not None, reason=str(browser.why_not())),
]

N = 150
DESK = {"width": 1000, "height": 900}
PHONE = {"width": 360, "height": 740}
EVIL = '<img src="http://example.org/x.png" onerror="document.title=1">'

CUT = EVIL[:39] + "…"  # as the map has long names


@pytest.fixture(scope="module")
def result():
    blobs = make_multiview_blobs(N, (6, 9), n_clusters=4, separation=4.0, random_state=0).data
    names = [EVIL, *(f"sample-{i}" for i in range(1, N))]
    features = [f"a gene with a rather long name {j}" for j in range(6)]
    table = pd.DataFrame(blobs.views[0], index=names, columns=features)
    present = np.ones((N, 2), dtype=bool)
    present[::9, 1] = False
    data = MultiViewData.of({"rna": table, "protein": blobs.views[1]}, present=present)
    model = OMVCDR(n_clusters=4, random_state=0).fit(data)
    classes = pd.Series(np.array([EVIL, "b", "c"])[np.arange(N) % 3], name="kind")
    classes[5:9] = None
    command = "manyview fit " + "a-long-file-name.csv " * 9
    meta = pd.DataFrame({"stage": np.array(["I", EVIL])[np.arange(N) % 2], "age": np.arange(N) / 7})
    meta["days"], meta["dead"] = np.arange(N) % 40 + 1.0, np.arange(N) % 3 > 0
    meta.loc[3, "age"] = np.nan
    survival = {"meta": meta, "time": "days", "event": "dead"}
    return describe_fit(model, data, command=command, truth=classes, **survival)


@pytest.fixture(scope="module")
def chromium():
    with browser.browser() as opened:
        yield opened


@pytest.fixture
def load(chromium, tmp_path):
    """Open a page of a dict; at the end nothing was said on the console, and nobody was asked."""
    said, asked, contexts = [], [], []

    def open_page(result, **options):
        path = tmp_path / "report.html"
        path.write_text(render_fit(result), encoding="utf-8")
        context = chromium.new_context(**{"viewport": DESK, **options})
        contexts.append(context)
        context.route("**/*", lambda route: (asked.append(route.request.url), route.continue_()))
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(set(asked)) == 1


def picture(page):
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("document.querySelector('canvas').toDataURL()")


def n_colored(page):
    """Pixels of the map that are neither paper nor ink."""
    return page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas");
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          let count = 0;
          for (let at = 0; at < data.length; at += 4) {
            const part = data.subarray(at, at + 3);
            count += Math.max(...part) - Math.min(...part) > 40;
          }
          return count;
        }"""
    )


def status(page):
    return page.text_content("[role=status]")


def test_the_map_draws_a_dot_a_sample(load, result):
    page = load(result)
    assert N < n_colored(page) < 40 * N
    assert status(page) == f"{N} of {N} samples shown"
    assert page.title() == f"manyview: {N} samples in 4 clear clusters"


def test_clusters_can_be_chosen(load, result):
    page = load(result)
    whole = picture(page)
    sizes = [part["size"] for part in result["clusters"]]
    page.click(".legend button[value='0']")
    assert status(page) == f"{sizes[0]} of {N} samples shown"
    one = picture(page)
    page.click(".legend button[value='2']")
    assert status(page) == f"{sizes[0] + sizes[2]} of {N} samples shown"
    assert len({whole, one, picture(page)}) == 3
    assert page.get_attribute(".legend button[value='2']", "aria-pressed") == "true"
    page.click(".legend button[value='0']")
    page.click(".legend button[value='2']")
    assert picture(page) == whole


def test_confidence_can_be_bounded(load, result):
    page = load(result)
    whole = picture(page)
    confidence = np.frombuffer(base64.b64decode(result["map"]["confidence"]), dtype=np.uint8)
    page.fill("[name=low]", "50")
    assert status(page) == f"{(confidence >= 127).sum()} of {N} samples shown"
    page.fill("[name=low]", "0")
    page.fill("[name=high]", "50")
    assert status(page) == f"{(confidence <= 128).sum()} of {N} samples shown"
    assert page.text_content("output") == "0 to 0.5"
    assert picture(page) != whole


def test_colors_and_places_can_be_chosen(load, result):
    page = load(result)
    seen = {picture(page)}
    for label in ("confidence", "has protein"):
        page.select_option("[name=color]", label=label)
        seen.add(picture(page))
    assert "lacks it" in page.text_content(".key")
    for label in ("rna", "protein"):
        page.select_option("[name=layout]", label=label)
        seen.add(picture(page))
    page.select_option("[name=color]", label="known kind")
    seen.add(picture(page))
    assert page.locator(".key .chip").all_inner_texts() == [CUT, "b", "c", "not known"]
    assert len(seen) == 6
    n_present = result["data"]["views"][1]["n_present"]
    assert status(page) == f"{n_present} of {N} samples shown"


def test_the_map_is_colored_by_any_column_or_feature(load, result):
    page = load(result)
    seen = {picture(page)}
    for label in ("stage", "age"):
        page.select_option("[name=color]", label=label)
        seen.add(picture(page))
    assert page.text_content(".key").startswith("age: ")
    for typed, found in (("a gene with a rather long name 4", "(rna)"), ("STAG", "stage")):
        page.fill("[name=coloring]", typed)
        seen.add(picture(page))
        chosen = page.eval_on_selector("[name=color]", "it => it.selectedOptions[0].text")
        assert found in chosen
    assert page.locator(".key .chip").all_inner_texts() == sorted([CUT, "I"])
    assert len(seen) == 4  # before, by stage, by age, by a gene
    before = picture(page)
    page.fill("[name=coloring]", "no such thing")
    assert picture(page) == before


def saved(page, tmp_path, button):
    with page.expect_download() as waiting:
        button.click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_tables_labels_and_pictures_are_saved_from_the_page(load, result, tmp_path):
    page = load(result, accept_downloads=True)
    path = saved(page, tmp_path, page.locator("#clusters caption .save"))
    table = pd.read_csv(path)
    assert table["samples"].tolist() == [row["size"] for row in result["clusters"]]
    labels = pd.read_csv(saved(page, tmp_path, page.locator(".save", has_text="labels")))
    cluster = np.frombuffer(base64.b64decode(result["map"]["cluster"]), "<u4")
    assert labels["cluster"].tolist() == cluster.tolist()
    assert labels["sample"].tolist() == result["map"]["names"]
    for part, name in (("#map", "map.png"), ("#survival", "survival.png")):
        path = saved(page, tmp_path, page.locator(f"{part} .save", has_text="PNG"))
        assert path.name == name
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_plots_that_the_page_draws_itself_are_saved_as_svg_and_png(load, result, tmp_path):
    page = load(result, accept_downloads=True)
    for part, shapes in (("confidence", 20), ("silhouettes", 4), ("objective", 1), ("weights", 2)):
        path = saved(page, tmp_path, page.locator(f"#{part} .save", has_text="SVG").first)
        drawing = ElementTree.fromstring(path.read_text("utf-8"))
        kinds = [one.tag.rpartition("}")[2] for one in drawing.iter()]
        assert kinds.count("rect") + kinds.count("path") >= shapes, part
        assert "foreignObject" not in kinds
        assert "text" in kinds
        path = saved(page, tmp_path, page.locator(f"#{part} .save", has_text="PNG").first)
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_pointer_finds_a_sample_and_leaves_it(load, result):
    page = load(result)
    tip = page.locator(".tip")
    page.fill("[name=find]", "sample-7")
    assert tip.is_visible()
    found = tip.inner_text()
    assert found.startswith("sample-7")
    assert "confidence 0." in found or "confidence 1." in found
    place = tip.evaluate("(tip) => [parseFloat(tip.style.left), parseFloat(tip.style.top)]")
    page.fill("[name=find]", "")
    assert tip.is_hidden()
    page.hover("canvas", position={"x": place[0] + 1, "y": place[1] + 1})
    assert tip.is_visible()
    assert "cluster" in tip.inner_text()
    page.mouse.move(2, 2)
    assert tip.is_hidden()


def test_a_name_is_text_wherever_it_is_shown(load, result):
    page = load(result)
    page.fill("[name=find]", EVIL[:20])
    assert page.locator(".tip").inner_text().startswith("<img src=")
    assert f"kind: {CUT}" in page.locator(".tip").inner_text()
    assert page.locator(".tip img").count() == 0
    page.fill("[name=find]", "sample-5")
    assert "kind: not known" in page.locator(".tip").inner_text()
    assert page.title().startswith("manyview")


def test_zoom_by_keyboard_wheel_and_button_and_back(load, result):
    page = load(result)
    whole = picture(page)
    page.focus("canvas")
    page.keyboard.press("+")
    closer = picture(page)
    page.keyboard.press("ArrowLeft")
    moved = picture(page)
    page.keyboard.press("0")
    assert picture(page) == whole
    page.hover("canvas", position={"x": 200, "y": 200})
    page.mouse.wheel(0, -300)
    wheeled = picture(page)
    page.mouse.down()
    page.mouse.move(400, 400)
    page.mouse.up()
    dragged = picture(page)
    assert len({whole, closer, moved, wheeled, dragged}) == 5
    page.click("[name=reset]")
    page.mouse.move(2, 2)
    page.evaluate("document.activeElement.blur()")
    assert picture(page) == whole


def corner(page):
    """Color of the paper of the map."""
    picture(page)
    at = "document.querySelector('canvas').getContext('2d').getImageData(3, 3, 1, 1).data"
    return page.evaluate(f"[...{at}]")[:3]


def test_dark_readers_get_a_dark_page_and_map(load, result):
    light, dark = load(result), load(result, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    assert light.evaluate(paper) != dark.evaluate(paper)
    assert corner(light) == [255, 255, 255]
    assert max(corner(dark)) < 60


def test_a_map_follows_when_the_scheme_changes(load, result):
    page = load(result)
    before = picture(page)
    page.emulate_media(color_scheme="dark")
    assert picture(page) != before


@pytest.mark.parametrize("width", [320, 360, 600])
def test_a_phone_does_not_scroll_sideways(load, result, width):
    page = load(result, viewport={"width": width, "height": 740}, has_touch=True, is_mobile=True)
    for part in page.locator("summary").all():
        part.evaluate("(summary) => { summary.parentElement.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("canvas").bounding_box()["width"] > 0.8 * (width - 60)


def test_a_tap_shows_a_sample(load, result):
    page = load(result, viewport=PHONE, has_touch=True)
    page.fill("[name=find]", "sample-7")
    tip = page.locator(".tip")
    place = tip.evaluate("(tip) => [parseFloat(tip.style.left), parseFloat(tip.style.top)]")
    page.fill("[name=find]", "")
    page.tap("canvas", position={"x": place[0] + 1, "y": place[1] + 1})
    assert tip.is_visible()
    assert "cluster" in tip.inner_text()


def test_printed_it_is_whole_and_light(load, result):
    page = load(result, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.pdf().startswith(b"%PDF")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert corner(page) == [255, 255, 255]
    assert page.locator(".controls").is_hidden()
    assert page.locator("canvas").is_visible()
    assert page.locator("details:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_without_scripts_all_but_the_map_can_be_read(load, result):
    page = load(result, java_script_enabled=False)
    text = page.inner_text("main")
    for heading in ("How reliable are the labels?", "Did the fit converge?", "How to repeat it"):
        assert heading in text
    assert "The map needs JavaScript" in text


def many(result, n):
    """The same fit with a map of n random samples."""
    rng = np.random.default_rng(0)

    def pack(values, dtype):
        return base64.b64encode(np.asarray(values, dtype=dtype).tobytes()).decode()

    labels = rng.integers(4, size=n)
    middles = rng.integers(15_000, 50_000, size=(4, 2))
    xy = np.clip(middles[labels] + 4000 * rng.normal(size=(n, 2)), 0, 65_534)
    part = {
        **result["map"],
        "n_drawn": n,
        "cluster": pack(labels, "<u4"),
        "confidence": pack(rng.integers(256, size=n), "u1"),
        "position": pack(np.arange(n), "<u4"),
        "layouts": [{"name": "all views", "xy": pack(xy, "<u2")}] * 9,
        "present": [],
        "classes": None,
        "names": [f"a sample with a name of some length {i}"[-40:] for i in range(n)],
    }
    return {**result, "map": part}


def test_100_000_samples_are_drawn_and_redrawn(load, result, tmp_path):
    page = load(many(result, 100_000))
    assert n_colored(page) > 10_000
    assert (tmp_path / "report.html").stat().st_size < 15e6
    whole = picture(page)
    page.focus("canvas")
    page.keyboard.press("+")
    assert picture(page) != whole
    page.keyboard.press("0")
    assert picture(page) == whole


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The best of 1 starts")
def test_the_page_of_a_fit_of_20_000_samples_opens_and_is_small(load, tmp_path):
    data, truth = make_multiview_blobs(20_000, n_clusters=5, random_state=0, return_X_y=True)
    model = OMVCDR(n_clusters=5, n_init=1, max_iter=1, random_state=0).fit(data)
    page = load(describe_fit(model, data, truth=truth))
    assert n_colored(page) > 10_000
    assert status(page) == "20,000 of 20,000 samples shown"
    assert page.locator("#truth").is_visible()
    assert (tmp_path / "report.html").stat().st_size < 5e6
