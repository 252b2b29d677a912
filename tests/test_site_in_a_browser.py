"""The documentation's site in a real browser, opened from the disk: it is searched, on a desktop and a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from scripts.site_pages.build import build_site
from tests.web.browsing import DESKTOP, LOOKS, PHONE, open_browser, visit

pytestmark = [pytest.mark.outside]
ROOT = Path(__file__).parents[1]
PAGES = ["/index.html", "/tutorial.html", "/reference/commands/score.html", "/reference/http.html", "/benchmarks.html"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> str:
    top = tmp_path_factory.mktemp("site")
    build_site(ROOT, top / "site", top / "work")
    return (top / "site").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as one:
        yield one


@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=lambda one: one if isinstance(one, str) else str(one[0]))
def test_pages_open_and_fit_the_screen(site: str, browser: Browser, size: tuple[int, int], theme: str):
    with visit(browser, site, size, theme) as look:
        for path in PAGES:
            page = look.open(path)
            assert page.locator("article h1").count() == 1
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, (path, look.find_wide())
        assert (look.complaints, look.strangers) == ([], [])
        scheme = page.evaluate("document.body.dataset.mdColorScheme")
        assert scheme == {"light": "default", "dark": "slate"}[theme]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_words_are_found_without_a_server(site: str, browser: Browser, size: tuple[int, int]):
    with visit(browser, site, size) as look:
        page = look.open("/index.html")
        page.locator(".md-search__button, label[for=__search]").locator("visible=true").first.click()
        page.get_by_role("combobox", name="Search").fill("assay score max-cost")
        page.locator('ol[aria-label="Search results"] a[href*="commands/score"]').first.click()
        page.wait_for_url("**/reference/commands/score.html*")
        assert (look.complaints, look.strangers) == ([], [])
