"""Every page in a real browser: on a desktop and a phone, light and dark."""

import httpx
import pytest
from playwright.sync_api import Browser

from assay.server.turns import TurnsReader
from tests.server.serving import RunningServer, add_key, run_server
from tests.web.browsing import DESKTOP, LOOKS, visit

pytestmark = [pytest.mark.outside]
PATHS = [
    "/",
    "/sessions",
    "/sessions?crushed=no",
    "/sessions?sort=cost",
    "/sessions/cda1140a4bde",
    "/sessions/edde032e781d",
    "/live",
    "/audit",
    "/advise",
    "/quality",
    "/quality?sort=tool_efficiency",
    "/rework",
    "/compare",
    "/compare?a=agent:claude-code&b=agent:codex",
    "/compare?a=nobody&b=agent:codex",
    "/evaluations",
    "/team",
    "/judges",
    "/privacy",
    "/nothing",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=lambda one: one if isinstance(one, str) else str(one[0]))
def test_a_page_opens_without_a_complaint(
    served: RunningServer, browser: Browser, path: str, size: tuple[int, int], theme: str
):
    with visit(browser, served.address, size, theme) as look:
        page = look.open(path)
        assert page.locator("main h1").count() == 1
        look.check(len(look.complaints) if path == "/nothing" else 0)


def test_the_theme_is_switched_and_stays(served: RunningServer, browser: Browser):
    with visit(browser, served.address, DESKTOP, "light") as look:
        page = look.open("/")
        before = page.evaluate("getComputedStyle(document.body).color")
        page.keyboard.press("t")
        dark = page.evaluate("getComputedStyle(document.body).color")
        assert dark != before
        look.open("/")
        assert page.evaluate("getComputedStyle(document.body).color") == dark
        look.check()


def test_the_keys_are_shown(served: RunningServer, browser: Browser):
    with visit(browser, served.address) as look:
        page = look.open("/")
        page.keyboard.press("?")
        assert page.locator("dialog#keys").is_visible()
        look.check()


def test_a_page_is_whole_without_script(served: RunningServer, browser: Browser):
    with visit(browser, served.address, java_script_enabled=False) as look:
        page = look.open("/")
        assert page.get_by_text("PRISM Score").is_visible()
        assert not page.locator("[data-do=theme]").is_visible()


def test_evidence_jumps_to_its_turn_and_the_quote_is_lit(served: RunningServer, browser: Browser):
    with visit(browser, served.address) as look:
        page = look.open("/sessions/cda1140a4bde")
        page.locator(".evidence a", has_text="turn 3").first.click()
        assert page.url.endswith("#turn-3")
        assert page.locator("#turn-3 mark").first.is_visible()
        look.check()


def test_the_turns_of_a_long_session_come_behind_the_rest(
    served: RunningServer, browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.server.pages.session.LONG", 2)
    monkeypatch.setattr(TurnsReader, "has", lambda *_: False)
    with visit(browser, served.address) as look:
        page = look.open("/sessions/cda1140a4bde#turn-3")
        page.locator("#turn-3:target").wait_for(state="visible")
        assert page.get_by_role("button", name="Fold or unfold all calls").is_visible()
        look.check()
    with visit(browser, served.address, java_script_enabled=False) as look:
        page = look.open("/sessions/cda1140a4bde")
        page.get_by_role("link", name="Show the conversation").click()
        assert page.locator("#turn-3").is_visible()


def test_rows_and_turns_are_walked_by_keys(served: RunningServer, browser: Browser):
    with visit(browser, served.address) as look:
        page = look.open("/sessions")
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        page.wait_for_url("**/sessions/*")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.id") == "turn-1"
        page.keyboard.press("e")
        assert page.locator("details.call[open]").count() == page.locator("details.call").count()
        page.keyboard.press("/")
        page.wait_for_url("**/sessions#by-search")
        assert page.evaluate("document.activeElement.id") == "by-search"
        look.check()


def test_a_session_is_marked_in_a_browser_and_the_mark_is_taken_back(own_examples: str, browser: Browser):
    with run_server(own_examples) as served, visit(browser, served.address) as look:
        page = look.open("/sessions/cda1140a4bde")
        page.get_by_label("Why, in your words").fill("it works")
        page.get_by_role("button", name="It landed").click()
        assert page.get_by_text("you: landed").first.is_visible()
        look.check()
        page.get_by_role("button", name="Take your word back").click()
        assert page.get_by_text("given up").first.is_visible()
        look.check()


def test_a_session_is_split_renamed_and_put_together_in_a_browser(own_examples: str, browser: Browser):
    with run_server(own_examples) as served, visit(browser, served.address) as look:
        page = look.open("/sessions/cda1140a4bde")
        page.get_by_role("button", name="Split here").first.click()
        page.get_by_text("Rename, merge").click()
        page.get_by_label("New title").fill("The second half")
        page.get_by_role("button", name="Rename", exact=True).click()
        assert page.locator("h1").inner_text() == "The second half"
        page.get_by_text("Rename, merge").click()
        page.get_by_role("button", name="Undo the split").click()
        page.get_by_text("3 turns;").wait_for(state="visible")
        assert page.url.endswith("/sessions/cda1140a4bde")
        look.check()


def test_what_changes_meanwhile_is_told_and_live_shows_it(own_examples: str, browser: Browser):
    with run_server(own_examples) as served, visit(browser, served.address) as look:
        page = look.open("/")
        page.wait_for_timeout(1500)
        assert not page.locator("#news").is_visible()
        session = f"{served.address}/api/v1/sessions/cda1140a4bde/mark"
        assert httpx.put(session, json={"verdict": "landed"}).status_code == 200
        page.locator("#news").wait_for(state="visible", timeout=10_000)
        page.get_by_role("button", name="Show it").click()
        look.check()


def test_whoever_needs_a_key_logs_in_and_out(own_examples: str, browser: Browser):
    key = add_key(own_examples, "own", "read")
    with run_server(own_examples, asks_here=True) as served, visit(browser, served.address) as look:
        page = look.open("/live")
        page.get_by_label("Key", exact=True).fill(key)
        page.get_by_role("button", name="Log in").click()
        assert page.locator("h1").inner_text() == "Live"
        assert page.get_by_role("button", name="It landed").count() == 0
        page.get_by_role("button", name="Log out").click()
        assert page.locator("h1").inner_text() == "Log in"
        look.check(1)  # the first page was refused, which a browser tells its console
