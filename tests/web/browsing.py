"""A real browser on a real server: pages are opened as people open them, and nothing may go wrong on the way.

Chromium is the system's (Debian's `chromium`), driven by Playwright; axe-core comes from npm. Both are fetched where CI
or `-m outside` runs, like everything that pip does not bring.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.llm.real import fetched, missing, run

AXE = "axe-core@4.11.0"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--force-color-profile=srgb",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DESKTOP, PHONE = (1280, 900), (390, 844)
LOOKS = [(size, theme) for size in (DESKTOP, PHONE) for theme in ("light", "dark")]
SERIOUS = ("serious", "critical")


def find_chromium() -> str:
    """Where the system's browser is; installed where tests may fetch things."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and (os.environ.get("CI") or os.environ.get("ASSAY_TEST_FETCH")):
        if shutil.which("apt-get") is None or os.geteuid():
            missing("chromium is not installed")
        run("apt-get", "update", "-q")
        run("apt-get", "install", "-qy", "--no-install-recommends", "chromium", "fonts-dejavu-core")
        found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("chromium is not installed; `python -m pytest -m outside` fetches it")
    return found


@cache
def load_axe() -> str:
    """The script of axe-core."""

    def fetch(folder: Path) -> None:
        if shutil.which("npm") is None:
            run("apt-get", "install", "-qy", "--no-install-recommends", "nodejs", "npm")
        run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), AXE)

    folder = fetched(AXE.replace("@", "-"), fetch)
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


@contextmanager
def open_browser() -> Iterator[Browser]:
    """The browser, which is gone afterwards."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, headless=True)
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One look at pages of a server: what a browser complained of, and whom it asked."""

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self.see)

    def hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def see(self, request: Any) -> None:
        wanted, own = urlsplit(request.url), urlsplit(self.address)
        if wanted.scheme not in ("data", "blob", "about") and (wanted.scheme, wanted.netloc) != (
            own.scheme,
            own.netloc,
        ):
            self.strangers.append(request.url)

    def open(self, path: str) -> Page:
        """Open a page of the server."""
        self.page.goto(self.address + path, wait_until="load")
        return self.page

    def check(self, expected: int = 0) -> None:
        """No complaint but those expected, nobody else asked, nothing wider than the screen, nothing that axe finds."""
        assert len(self.complaints) == expected, self.complaints
        assert self.strangers == []
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{wide} pixels wider than the screen: {self.find_wide()}"
        assert self.list_barriers() == []

    def find_wide(self) -> list[str]:
        """What sticks out of the screen."""
        found: list[str] = self.page.evaluate(
            """[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 &&
            !e.closest('.wide, pre')).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""
        )
        return found

    def list_barriers(self) -> list[str]:
        """What axe calls serious or critical."""
        self.page.evaluate(load_axe())  # through the debugger, which no policy holds back
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in found["violations"]
            if one["impact"] in SERIOUS
        ]


@contextmanager
def visit(
    browser: Browser, address: str, size: tuple[int, int] = DESKTOP, theme: Any = "light", **more: Any
) -> Iterator[Visit]:
    """Look at a server's pages, on a screen of a size, in a theme."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce", **more
    )
    try:
        yield Visit(context.new_page(), address)
    finally:
        context.close()
