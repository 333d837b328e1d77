"""Write the pictures of pages in docs/images, as the report looks today."""

from __future__ import annotations

import tempfile
from pathlib import Path

from manyview.cli.demo import run_demo
from manyview.persistence.atomic import write_bytes
from tools.browser import browser, why_not

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WIDTH = 860
HEIGHT = 1560  # of the top of the page


def main() -> None:
    """Run the demo, and take pictures of its report."""
    if reason := why_not():
        raise SystemExit(reason)
    with tempfile.TemporaryDirectory() as name:
        run_demo(Path(name) / "demo")
        page = Path(name) / "demo" / "report.html"
        take(page, IMAGES / "report.png")
        take(page, IMAGES / "map.png", "section:has(canvas)")


def take(page: Path, picture: Path, part: str | None = None) -> None:
    """Take a picture of the top of a page, or of a part of it."""
    with browser() as opened:
        sheet = opened.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        sheet.goto(page.as_uri())
        sheet.wait_for_timeout(500)
        shown = sheet if part is None else sheet.locator(part)
        write_bytes(picture, shown.screenshot())
    print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
