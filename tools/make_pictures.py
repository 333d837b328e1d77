"""Write the pictures of pages in docs/images, as the report and the demo look today."""

from __future__ import annotations

import tempfile
from pathlib import Path

from manyview import OMVCDR
from manyview.cli.demo import run_demo
from manyview.datasets import load_digits_views
from manyview.persistence.atomic import write_bytes
from tools.browser import browser, why_not

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH = 860


def main() -> None:
    """Fit the bundled digits, and take pictures of both pages."""
    if reason := why_not():
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        OMVCDR(n_clusters=10, random_state=0).fit(load_digits_views().data).report(
            folder / "report.html"
        )
        run_demo(folder / "demo")
        take(folder / "report.html", IMAGES / "report.png", 2060)
        take(folder / "report.html", IMAGES / "map.png", 2060, "section:has(canvas)")
        take(folder / "demo" / "report.html", IMAGES / "demo.png", 780)


def take(page: Path, picture: Path, height: int, part: str | None = None) -> None:
    """Take a picture of the top of a page, or of a part of it."""
    with browser() as opened:
        sheet = opened.new_page(viewport={"width": WIDTH, "height": height})
        sheet.goto(page.as_uri())
        sheet.wait_for_timeout(500)
        shown = sheet if part is None else sheet.locator(part)
        write_bytes(picture, shown.screenshot())
    print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
