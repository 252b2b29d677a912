"""The documentation as a site: every link leads somewhere, nothing is fetched, and it says what the code does."""

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pymdownx.slugs import slugify

from assay.cli.program import COMMANDS, load_command
from scripts.site_pages.build import build_site, order_pages
from scripts.site_pages.gather import find_target, gather, list_pages
from scripts.site_pages.links import FENCE, is_elsewhere, lead_links, list_links
from tests.tables import each_row

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *list_pages(ROOT)]
UNNAMED = ("files/", "reference/schemas/")
"""Pages that others lead to, and no navigation lists."""
FETCHES = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
"""What a browser loads by itself."""


@cache
def gather_pages() -> dict[str, str | bytes]:
    return gather(ROOT)


def list_anchors(text: str) -> set[str]:
    """The names of a page's headings, as hosts of code and the site make them."""
    prose = "".join(FENCE.split(text)[::2])
    name = slugify(case="lower")
    seen: Counter[str] = Counter()
    for title in re.findall(r"^#+ +(.+?)\s*$", prose, re.MULTILINE):
        seen[name(re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", title), "-")] += 1
    return {f"{one}-{n}" if n else one for one, times in seen.items() for n in range(times)}


# --- links of the repository ------------------------------------------------------------------


@each_row("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str):
    broken = []
    for link in list_links((ROOT / page).read_text("utf-8")):
        if is_elsewhere(link):
            parts = urlsplit(link)  # nobody is asked: there may be no network
            if parts.scheme != "https" or "." not in parts.netloc or not parts.netloc.isascii():
                broken.append(link)
            continue
        target = ROOT / (find_target(page, link) if not link.startswith("#") else page)
        anchor = link.partition("#")[2]
        if not target.exists() or (anchor and anchor not in list_anchors(target.read_text("utf-8"))):
            broken.append(link)
    assert broken == []


def test_links_are_led_to_where_the_site_has_what_they_mean():
    text = (
        "[a](../../SECURITY.md) [b](score.md#x) [c](https://e.example) [`d`](../../src/d.toml)\n```\n[e](e.md)\n```\n"
    )
    places = {"SECURITY.md": "reporting.md", "docs/concepts/score.md": "concepts/score.md", "src/d.toml": "files/d.md"}
    led = lead_links(text, "docs/concepts/one.md", "concepts/one.md", places.__getitem__)
    assert (
        led == "[a](../reporting.md) [b](score.md#x) [c](https://e.example) [`d`](../files/d.md)\n```\n[e](e.md)\n```\n"
    )


@each_row("page", PAGES)
def test_a_page_reads_the_same_in_both_kinds_of_markdown(page: str):
    """The site's Markdown wants a blank line before a list, and four spaces before what belongs to an item."""
    prose = "".join(FENCE.split((ROOT / page).read_text("utf-8"))[::2])
    lines = prose.splitlines()
    glued = [
        line for before, line in pairwise(lines) if re.match(r"(-|\d+\.) ", line) and re.match(r"[^\s\-\d|]", before)
    ]
    assert glued == []
    assert re.findall(r"^ {1,3}(?:```|- |\d+\. ).*", (ROOT / page).read_text("utf-8"), re.MULTILINE) == []


# --- the reference is what the code says ------------------------------------------------------


@each_row("name", sorted(COMMANDS))
def test_the_page_of_a_command_has_every_option_and_its_help(name: str):
    command, page = load_command(name), gather_pages()[f"reference/commands/{name}.md"]
    assert isinstance(page, str)
    ends = [one for one in getattr(command, "commands", {}).values() if not one.hidden] or [command]
    for one in ends:
        for param in one.params:
            wanted = [option for option in param.opts if option.startswith("--") and not param.hidden]
            assert not [option for option in wanted if f"<code>{option}</code>" not in page]
    assert command.help.split(".")[0].replace("`", "")[:40] in page.replace("`", "")


def test_every_schema_every_address_and_every_name_has_its_place():
    pages = gather_pages()
    for schema in (ROOT / "docs/reference/schemas").glob("*.json"):
        assert f"reference/schemas/{schema.stem}.md" in pages
    described = json.loads(pages["reference/openapi.json"])
    http, python = pages["reference/http.md"], pages["reference/python.md"]
    assert isinstance(http, str)
    assert isinstance(python, str)
    assert len(described["paths"]) > 15
    assert not [path for path in described["paths"] if f" {path} {{#" not in http]
    import assay
    from assay import testing

    names = [*(f"assay.{name}" for name in assay.__all__), *(f"assay.testing.{name}" for name in testing.__all__)]
    assert not [name for name in names if f"### {name} {{#" not in python]
    assert "max_cost: float | None = None" in python


def test_the_navigation_has_every_page_once():
    def list_inside(part: object) -> list[str]:
        if isinstance(part, str):
            return [part]
        inside = part.values() if isinstance(part, dict) else part
        assert not isinstance(inside, (int, float))
        return [path for one in inside for path in list_inside(one)]

    pages = [page for page in gather_pages() if page.endswith(".md") and not page.startswith(UNNAMED)]
    named = list_inside(order_pages(gather_pages()))
    assert Counter(named) == Counter([*pages, "reference/schemas/index.md"])


# --- the site ---------------------------------------------------------------------------------


class Links(HTMLParser):
    """What a page of the site names, leads to and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.leads: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = dict(attrs)
        self.names |= {held[name] or "" for name in ("id", "name") if name in held}
        for name in ("href", "src"):
            if held.get(name) and held.get("rel") not in ("canonical", "prev", "next"):
                (self.loads if (tag, name) in FETCHES else self.leads).append(held[name] or "")


def test_the_site_is_whole_and_fetches_nothing(tmp_path: Path):
    build_site(ROOT, tmp_path / "site", tmp_path / "work")
    site = tmp_path / "site"
    pages = {page: Links(page.read_text("utf-8")) for page in sorted(site.rglob("*.html"))}
    assert len(pages) > 150
    broken = []
    for page, links in pages.items():
        if page.name == "404.html":
            continue  # its addresses are those of a server, for it stands in for any page
        assert not [one for one in links.loads if urlsplit(one).scheme not in ("", "data")], page
        for link in [*links.leads, *links.loads]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].names):
                broken.append((page.relative_to(site).as_posix(), link))
    assert broken == []
    styles = "".join(sheet.read_text("utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"url\([\"']?https?:[^)]*\)|@import[^;]*https?:[^;]*", styles) == []
    found = json.loads((site / "search.json").read_text("utf-8"))
    assert any("--max-cost" in one.get("text", "") for one in found["items"] if "commands/score" in one["location"])
