"""A report as one file: every number leads to what it counts, inside the file, and nothing in it runs."""

import re
from datetime import UTC
from html import unescape
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser

from assay.resources import EXAMPLES
from assay.scores.comparison import compare_groups
from assay.types import Citation, Reason
from assay.web.report import MOST_ROWS, render_report
from tests.conftest import run
from tests.make_report import report_of, some_sessions
from tests.make_sessions import missed, session_of
from tests.web.browsing import DESKTOP, LOOKS, visit
from tests.web.test_html import HOSTILE, Elements, list_elements

TEXTS = [one for one in HOSTILE if "\ud800" not in one]
"""Halves of characters are no text that a store could hold."""


def write_page(sessions: list[object] | None = None) -> str:
    return render_report(report_of(sessions or some_sessions()), UTC).decode()  # type: ignore[arg-type]


def test_every_link_of_the_file_leads_to_a_place_in_it():
    page = write_page()
    wanted = set(re.findall(r'href="#([^"]+)"', page))
    assert wanted
    assert wanted <= set(re.findall(r' id="([^"]+)"', page))


def test_the_file_asks_nobody_for_anything():
    page = write_page()
    assert not re.search(r'(?:src|href|action)="(?!#|data:)', page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_each_of_the_commonest_reasons_leads_to_its_sessions_and_these_say_why():
    report = report_of(some_sessions())
    page = render_report(report, UTC).decode()
    for one in report.obstacles:
        assert one.advice.split("`")[0][:40] in page
        assert all(f"assay show {name} --full" in page for name in one.sessions)


def test_evidence_is_told_in_plain_words_and_quoted_once():
    words = "rm -r loom && make the whole cloth anew from the first thread on"
    signal = {"kind": "scope_abandoned", "turn": 2, "quote": f"{words}, warp and weft"}
    one = missed(
        evidence="failure",
        facts={"failure_signals": [signal]},
        reasons=[Reason("interrupted", 2, words, -2.5)],
        citations=[Citation(2, words[:60])],
    )
    page = unescape(write_page([one]))
    assert "the person stopped the agent while it was at this, and nothing followed" in page
    assert page.count("rm -r loom") == 1


def test_what_is_uncertain_looks_uncertain_in_a_list():
    page = write_page([session_of(evidence="silent", confidence=0.7), missed(confidence=0.4), session_of()])
    assert page.count('class="chip good doubtful"') >= 1
    assert "; 40 % that it landed" in page
    assert 'class="chip good"' in page


def test_a_long_list_says_what_it_leaves_out():
    many = [session_of(day=n % 28, id=f"many{n:04}") for n in range(MOST_ROWS + 40)]
    assert f"the newest {MOST_ROWS} are shown" in write_page(many)


def test_two_sides_stand_in_the_file():
    some = some_sessions()
    found = replace(report_of(some), comparison=compare_groups(("then", some[:3]), ("now", some[3:]), UTC))
    page = render_report(found, UTC).decode()
    assert "Two sides compared" in page
    assert ">then<" in page


@pytest.mark.parametrize("words", TEXTS)
def test_hostile_words_in_every_field_are_shown_as_text(words: str):
    fields = ("title", "summary", "branch", "project", "models", "judge")

    def list_found(words: str) -> Elements:
        told = {name: [words] if name == "models" else words for name in fields}
        some = [
            replace(one, **told, citations=[Citation(1, words)], language=words, streams=[words])
            for one in (session_of(day=1), session_of(day=2, crushed=False))
        ]
        return list_elements(render_report(report_of(some), UTC))

    found = list_found(words)
    assert set(found.found) - {"code"} == set(list_found("plain words").found) - {"code"}
    assert not {name for name in found.attributes if name.startswith("on") or name == "style"}


def test_the_command_writes_it_and_so_does_score(tmp_path: Path):
    environ = {"HOME": str(tmp_path), "ASSAY_STORE": str(tmp_path / "assay.db")}
    for command in ("report", "score"):
        target = tmp_path / f"{command}.html"
        ran = run(command, str(EXAMPLES), "-o", str(target), env=environ)
        assert ran.code == 0, ran.err
        assert "17 counted sessions</a> crushed" in target.read_text()
    assert (tmp_path / "report.html").stat().st_size < 1_500_000


@pytest.mark.outside
@pytest.mark.parametrize(("size", "theme"), LOOKS, ids=lambda one: one if isinstance(one, str) else str(one[0]))
def test_the_file_opens_in_a_browser_and_leads_from_a_reason_to_a_session(
    tmp_path: Path, browser: Browser, size: tuple[int, int], theme: str
):
    file = tmp_path / "report.html"
    file.write_text(write_page())
    with visit(browser, file.as_uri().removesuffix("/report.html"), size, theme) as look:
        page = look.open("/report.html")
        assert page.locator("main .leaf:visible").count() == 1
        page.locator(".reasons .count a").first.click()
        assert page.locator(".leaf:visible h1").inner_text().startswith("Sessions: ")
        page.locator(".leaf:visible table a").first.click()
        assert page.get_by_text("What would have made it crush").locator("visible=true").count() == 1
        look.check()
        page.go_back()
        page.go_back()
        assert page.get_by_text("Where sessions stay behind").is_visible()


@pytest.mark.outside
def test_a_list_of_the_file_is_searched_without_a_server(tmp_path: Path, browser: Browser):
    many = [session_of(day=n % 28, id=f"many{n:04}", title=f"Weave <b>cloth</b> no{n:03}") for n in range(30)]
    file = tmp_path / "report.html"
    file.write_text(write_page(many))
    with visit(browser, file.as_uri().removesuffix("/report.html")) as look:
        page = look.open("/report.html#sessions")
        page.keyboard.press("/")
        page.keyboard.type("weave no017")
        assert page.locator("#sessions tbody tr:visible").all_inner_texts()[0].startswith("Weave <b>cloth</b> no017")
        assert page.locator("#sessions tbody tr:visible").count() == 1
        assert page.locator("#sessions [role=status]").inner_text() == "1 of 30 rows"
        look.check()
        page.locator("#sessions input[type=search]").fill("")
        assert page.locator("#sessions tbody tr:visible").count() == 30


@pytest.mark.outside
def test_the_file_is_whole_without_script(tmp_path: Path, browser: Browser):
    file = tmp_path / "report.html"
    file.write_text(write_page())
    with visit(browser, file.as_uri().removesuffix("/report.html"), DESKTOP, java_script_enabled=False) as look:
        page = look.open("/report.html")
        assert page.get_by_text("Where sessions stay behind").is_visible()
        assert page.locator("input:visible").count() == 0
