"""Hostile words in every field of every page: they are shown as text, nothing runs, nobody else is asked."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser

from assay.reports.json import encode_json
from assay.web.pages.evaluation import render_evaluation_file
from tests.reports.test_evaluation import HOSTILE, with_words
from tests.server.serving import Asked, RunningServer, run_server, serve
from tests.server.test_pages import FORM, HTML
from tests.web.browsing import DESKTOP, PHONE, visit
from tests.web.hostile import LINE, MARK, WORDS, make_hostile_store, make_long_store

WORD = quote(WORDS[1])
PLACES = [
    "/", "/sessions", "/sessions?sort=doubt", "/live", "/audit", "/advise", "/quality",
    "/quality?sort=goal_achievement", "/rework", "/compare", "/compare?at=2026-11-04",
    "/compare?a=agent:claude-code&b=2026-11", "/evaluations", "/team", "/judges", "/privacy",
]  # fmt: skip
PAGES = [
    *PLACES, f"/compare?a={WORD}&b={WORD}", f"/compare?at={WORD}",
    f"/quality?project={WORD}&sort={WORD}&band={WORD[:2]}", f"/team?project={WORD}", f"/rework?project={WORD}",
    f"/advise?project={WORD}", f"/evaluations/{WORD}", f"/sessions?search={WORD}", f"/sessions?side=model:{WORD}",
    f"/sessions?side={WORD}&sort={WORD}",
]  # fmt: skip
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029\ufeff]")


class Elements(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def list_faults(text: str) -> list[str]:
    """What in a page could run, or ask somebody else."""
    page = Elements()
    page.feed(text)
    faults = [f"a control: {one!r}" for one in CONTROLS.findall(text)]
    for tag, attributes in page.found:
        if tag == "script" and not (attributes.get("src") or "").startswith("/assets/"):
            faults.append("a script")
        if tag in ("img", "iframe", "object", "embed", "base", "foreignobject", "use"):
            faults.append(f"<{tag}>")
        for name, value in attributes.items():
            said = value or ""
            if name.startswith("on") or name == "style" or name == "srcdoc":
                faults.append(f"{tag} {name}")
            is_place = name in ("href", "src", "action", "formaction")
            if is_place and not (said.startswith(("/", "#")) and not said.startswith(("//", "/\\"))):
                faults.append(f"{tag} {name}={said[:60]}")
    return faults


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_hostile_store(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def asked(url: str) -> Iterator[Asked]:
    with serve(url) as found:
        found.ask("POST", "/audit/draw", data={"wanted": "20"}, headers=FORM)
        waiting = found.get("/api/v1/audit").json()["waiting"]
        for one in waiting[:6]:
            found.ask("POST", "/audit/answers", data={"session": one, "verdict": "landed"}, headers=FORM)
        yield found


@pytest.mark.parametrize("path", PAGES)
def test_nothing_of_a_page_could_run(asked: Asked, path: str):
    reply = asked.get(path, headers=HTML)
    assert reply.status_code in (200, 400, 404)
    assert list_faults(reply.text) == []


def test_the_words_are_there_as_text(asked: Asked):
    for path in ("/sessions", "/audit", "/quality", "/team"):
        assert MARK in asked.get(path, headers=HTML).text, path


def test_every_session_and_its_words_are_harmless(asked: Asked):
    for one in asked.get("/api/v1/sessions").json()["sessions"]:
        reply = asked.get(f"/sessions/{one['id']}", headers=HTML)
        assert reply.status_code == 200
        assert list_faults(reply.text) == []


# --- lines of 5 MB --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_long_store(tmp_path_factory.mktemp("endless"))


@pytest.mark.long
def test_lines_of_5_mb_in_every_field_are_cut_on_every_page(endless: str):
    with serve(endless) as asked:
        shown = [f"/sessions/{one['id']}" for one in asked.get("/api/v1/sessions").json()["sessions"]]
        assert len(shown) == 2
        for path in (*PLACES, *shown):
            reply = asked.get(path, headers=HTML)
            assert reply.status_code == 200, path
            assert list_faults(reply.text) == []
            assert len(reply.text) < LINE / 20, path


def test_faults_are_found():
    assert list_faults("<script>1</script><a href='javascript:1' onclick=x>x</a><img src=//e>\u202e") == [
        "a control: '\\u202e'", "a script", "a href=javascript:1", "a onclick", "<img>", "img src=//e",
    ]  # fmt: skip


# --- in a browser -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(url: str) -> Iterator[RunningServer]:
    with run_server(url) as running:
        yield running


@pytest.mark.outside
@pytest.mark.parametrize("path", PAGES)
def test_in_a_browser_nothing_runs_and_the_layout_holds(hostile: RunningServer, browser: Browser, path: str):
    for size in (DESKTOP, PHONE):
        with visit(browser, hostile.address, size) as look:
            page = look.open(path)
            assert page.evaluate("window.hit") is None
            assert look.strangers == []
            assert [one for one in look.complaints if "404" not in one and "400" not in one] == []
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, look.find_wide()


@pytest.mark.outside
def test_in_a_browser_lines_of_5_mb_do_not_break_the_layout(endless: str, browser: Browser):
    with run_server(endless) as served, visit(browser, served.address, PHONE) as look:
        shown = httpx.get(f"{served.address}/api/v1/sessions").json()["sessions"]
        for path in ("/", "/sessions", "/audit", "/team", *(f"/sessions/{one['id']}" for one in shown)):
            page = look.open(path)
            assert page.evaluate("window.hit") is None
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, (path, look.find_wide())
        assert look.complaints == []


@pytest.mark.outside
@pytest.mark.parametrize("n", range(len(HOSTILE)))
def test_an_evaluation_in_a_file_runs_nothing(tmp_path: Path, browser: Browser, n: int):
    found = with_words(HOSTILE[n])
    assert encode_json(found)
    (tmp_path / "x.html").write_bytes(render_evaluation_file(found, tmp_path))
    with visit(browser, f"file://{tmp_path}") as look:
        page = look.open("/x.html")
        assert page.evaluate("window.hit") is None
        look.check()
