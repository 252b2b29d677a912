"""How HTML leaves: escaped, and without a character that a browser or an editor would obey."""

import re
import unicodedata
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from assay.reports.format import HIDDEN, JOINERS, KEPT
from assay.web.context import PageContext
from assay.web.frame import Page, render_page
from assay.web.html import encode_html, h, say
from assay.web.links import FileLinks, ServedLinks, to_page, to_session, to_sessions
from assay.web.marks import render_chip, render_diff, render_empty, render_quote
from assay.web.single import Place, render_file

HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)",
    "</style><svg onload=alert(1)>",
    "\x1b[31mred\x1b[0m", "\u202eevil\u202c", "a\x00b", "\ud800half", "`code` <b>x</b>", "</title><script>x</script>",
]  # fmt: skip


class Elements(HTMLParser):
    """Which elements a page has, and which attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes |= {name for name, _ in attrs}


def list_elements(page: bytes) -> Elements:
    found = Elements()
    found.feed(page.decode())
    return found


def build_page(text: str, context: PageContext | None = None) -> Page:
    context = context or PageContext()
    body = [
        say(text), render_chip("bad", text, title=text), render_quote(text, context, to_session(text, 3), text),
        render_empty(text, text), render_diff(text), context.link(to_sessions(search=text), text),
    ]  # fmt: skip
    return Page(name="", title=text, lead=text, body=body)


@settings(deadline=None)
@given(st.one_of(st.text(), st.sampled_from(HOSTILE), st.text(alphabet="<>&\"'`\u202e\x1b\x00\r\n ")))
def test_no_text_adds_an_element_or_is_obeyed(text: str):
    shown = render_page(build_page(text), PageContext())
    found, plain = list_elements(shown), list_elements(render_page(build_page("x"), PageContext()))
    code = [one for one in found.found if one == "code"]
    lines = [one for one in found.found if one == "span"]
    assert {*found.found} <= {*plain.found, "code", "a"}
    assert found.found.count("script") == plain.found.count("script") == 1
    assert found.attributes <= {*plain.attributes, "href"}
    assert len(code) <= text.count("`")
    assert lines
    said = shown.decode()
    assert not [one for one in set(said) if unicodedata.category(one) in HIDDEN and one not in KEPT | JOINERS]


def test_surrogates_and_line_ends_leave_as_something_that_can_be_shown():
    assert encode_html(h.p["a\r\nb\ud800\u202ec"]) == "<p>a\nb\ufffd\ufffdc</p>".encode()


def test_what_stands_in_backticks_is_something_to_type():
    assert str(h.p[say("run `assay score` or `x")]) == "<p>run <code>assay score</code> or `x</p>"


def test_a_page_has_nothing_that_its_policy_forbids():
    shown = render_page(build_page("x"), PageContext())
    assert "style" not in list_elements(shown).attributes
    assert b"<style" not in shown
    assert re.findall(rb"<script[^>]*>", shown) == re.findall(rb'<script src="/assets/page-[0-9a-f]{12}\.js">', shown)
    assert not re.search(rb"https?://", shown)


def test_one_file_holds_all_it_needs_and_names_it_by_hash():
    context = PageContext(is_file=True, links=FileLinks({"/": "overview"}))
    shown = render_file("Report", [Place(id="overview", page=build_page("x", context))], context)
    assert shown.count(b"sha256-") == 2
    assert b"unsafe" not in shown
    assert b"src=" not in shown
    assert not re.search(rb'(href|action)="(?!#|data:|/logout)', shown)


# --- where things are found ---------------------------------------------------------------------


def test_a_served_link_carries_the_window_along():
    links = ServedLinks({"since": "7d", "project": "a b"})
    assert links.find(to_page("overview")) == "/?since=7d&project=a+b"
    assert links.find(to_page("overview", since="30d")) == "/?since=30d&project=a+b"


def test_a_page_that_there_is_not_is_linked_nowhere():
    assert ServedLinks().find("/nothing") is None
    assert str(PageContext().link("/nothing", "x")) == "<span>x</span>"


def test_inside_a_file_only_its_own_places_are_linked():
    links = FileLinks({"/sessions/ab": "session-ab"})
    assert links.find(to_session("ab", 7)) == "#session-ab"
    assert links.find(to_session("cd")) is None


def test_a_turn_is_found_on_its_own_page_of_a_session():
    assert to_session("ab", 1) == "/sessions/ab#turn-1"
    assert to_session("ab", 41) == "/sessions/ab?page=2#turn-41"
    assert to_session("a/b") == "/sessions/a%2Fb"
