"""The pages of sessions: every number leads to what it counts, and what a person says there holds."""

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import msgspec
import pytest

from assay import score
from assay.server import looking
from assay.server.reading import SESSION
from assay.server.turns import TurnsReader
from assay.testing.claude_code import ClaudeTranscript
from assay.web.pages.sessions import SORTS
from tests.server.serving import Asked, serve

encode = msgspec.json.encode
HTML = {"accept": "text/html"}
ROW = re.compile(r'<th scope="row" class="main"><a href="/sessions/([0-9a-f]{12})"')


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    score(Path(score.__code__.co_filename).parents[1] / "examples", store=folder / "assay.db", jobs=1, timezone="UTC")
    return folder


@pytest.fixture(scope="module")
def asked(examples: Path) -> Iterator[Asked]:
    with serve(f"sqlite:///{examples / 'assay.db'}") as found:
        yield found


@pytest.fixture
def mine(examples: Path, tmp_path: Path) -> Iterator[Asked]:
    """A server on a copy of the store, which may be changed."""
    shutil.copytree(examples, tmp_path / "store")
    with serve(f"sqlite:///{tmp_path / 'store' / 'assay.db'}") as found:
        found.client.follow_redirects = False
        yield found


def show(asked: Asked, path: str) -> str:
    reply = asked.get(path, headers=HTML)
    assert reply.status_code == 200, (path, reply.text[:400])
    return reply.text


def act(asked: Asked, path: str, **values: str) -> str:
    """Send a form of a page; gives where it leads."""
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": "http://127.0.0.1:4318", **HTML}
    reply = asked.ask("POST", path, data=values, headers=headers)
    assert reply.status_code == 303, reply.text[:400]
    return str(reply.headers["location"])


# --- numbers ------------------------------------------------------------------------------------


def test_every_number_of_the_overview_leads_to_as_many_sessions(asked: Asked):
    shown = show(asked, "/")
    found = [(unescape(link), int(n.replace(",", ""))) for link, n in COUNTED.findall(shown)]
    found += [(unescape(link), int(n)) for link, n in LOST.findall(shown)]
    found += [(unescape(link), int(n)) for link, n in SHARES.findall(shown)]
    assert len(found) > 20
    for link, n in found:
        assert len(ROW.findall(show(asked, link))) == n, link


COUNTED = re.compile(r'<a href="(/sessions[^"]*)">([\d,]+)</a>')
LOST = re.compile(r'<a href="(/sessions\?lost=[^"]*)">−(\d+) ')
SHARES = re.compile(r'<a href="(/sessions\?by_[^"]*)">\d+(?:/| of )(\d+)')


def test_a_list_is_searched_by_words_and_says_where_none_is_found(asked: Asked):
    assert len(ROW.findall(show(asked, "/sessions?search=OAuth"))) == 1
    assert len(ROW.findall(show(asked, '/sessions?search="admin+page"'))) == 1
    assert "No session is like that" in show(asked, "/sessions?search=zeppelin")
    assert asked.get('/sessions?search="open', headers=HTML).status_code == 400


def test_pages_of_a_list_hold_each_session_once(asked: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.server.pages.sessions.ROWS", 5)
    seen: list[str] = []
    path = "/sessions?left=judged"
    while path:
        shown = show(asked, path)
        seen += ROW.findall(shown)
        onward = re.search(r'<a href="(/sessions[^"]*cursor=[^"]*)" rel="next">', shown)
        path = unescape(onward[1]) if onward else ""
    assert len(seen) == len(set(seen)) == 17


def test_a_list_that_takes_long_says_how_far_it_looked(asked: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(looking, "LOOKING_S", -1.0)
    monkeypatch.setattr(looking, "PORTION", 4)
    shown = show(asked, "/sessions?obstacle=&by_agent=codex&crushed=no")
    assert "Nothing found so far" in shown
    assert "looked through" in shown
    assert 'rel="next"' in shown


@pytest.mark.parametrize("sort", ["cost", "turns", "lines", "work", "doubt"])
def test_a_list_is_sorted_by_its_address_over_all_its_pages(asked: Asked, monkeypatch: pytest.MonkeyPatch, sort: str):
    monkeypatch.setattr("assay.server.pages.sessions.ROWS", 5)
    told = {one["id"]: SESSION(encode(one)) for one in asked.get("/api/v1/sessions?limit=200").json()["sessions"]}
    seen: list[str] = []
    path = f"/sessions?left=judged&sort={sort}"
    while path:
        shown = show(asked, path)
        assert re.search(r'<th aria-sort="descending" scope="col"[^>]*><a href="/sessions[^"]*">', shown)
        seen += ROW.findall(shown)
        onward = re.search(r'<a href="(/sessions[^"]*page=[^"]*)" rel="next">', shown)
        path = unescape(onward[1]) if onward else ""
    assert len(seen) == len(set(seen)) == 17
    values = [SORTS[sort](told[one]) for one in seen]
    known = [one for one in values if one is not None]
    assert known == sorted(known, reverse=True)
    assert values[: len(known)] == known


def test_of_a_long_list_the_newest_are_sorted_and_that_is_said(asked: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.server.pages.sessions.MOST_SORTED", 4)
    shown = show(asked, "/sessions?sort=cost")
    assert len(ROW.findall(shown)) == 4
    assert "of the newest 4 that were put into order" in shown


@pytest.mark.parametrize("query", ["a=agent:claude-code&b=agent:codex", "a=model:opus&b=agent:codex", "at=2026-11-04"])
def test_every_number_of_a_comparison_leads_to_as_many_sessions(asked: Asked, query: str):
    shown = show(asked, f"/compare?{query}")
    found = [(link, n) for link, n in COUNTED.findall(shown) if "left=" not in link]
    found += [(link, n) for link, n in re.findall(r'<a href="(/sessions[^"]*)">\d+ of (\d+)</a>', shown)]
    assert len(found) >= 4
    for link, n in found:
        assert len(ROW.findall(show(asked, unescape(link)))) == int(n), link


def test_of_two_spans_of_days_both_are_read_however_long_the_later_one_is(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.server.pages.compare.MOST", 6)
    shown = show(asked, "/compare?a=2026-11-02..2026-11-03&b=2026-11-04..2026-11-09")
    assert [int(n) for n in re.findall(r'<a href="/sessions\?side=[^"&]*&amp;beside=[^"&]*">(\d+)</a>', shown)] == [
        3,
        3,
    ]
    assert "the newest 6 sessions were compared" in shown


def test_a_side_that_there_can_not_be_is_refused_as_a_page(asked: Asked):
    for word in ("before=whenever", "shoe:12", "agent:"):
        assert asked.get(f"/sessions?side={word}", headers=HTML).status_code == 400


def test_a_cursor_of_another_list_is_refused(asked: Asked, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("assay.server.pages.sessions.ROWS", 5)
    onward = re.search(r'cursor=([^"&]*)" rel="next"', show(asked, "/sessions"))
    assert onward
    assert asked.get(f"/sessions?crushed=no&cursor={onward[1]}", headers=HTML).status_code == 400


# --- one session --------------------------------------------------------------------------------


def find(asked: Asked, words: str) -> str:
    (found,) = ROW.findall(show(asked, f'/sessions?search="{words}"'))
    return str(found)


def test_evidence_leads_to_its_turn_and_its_words_are_marked_there(asked: Asked):
    one = find(asked, "OAuth login")
    shown = show(asked, f"/sessions/{one}")
    assert f'href="/sessions/{one}#turn-3"' in shown
    assert 'id="turn-3"' in shown
    assert "<mark>ok, a user table" in shown


def test_a_part_of_a_session_leads_to_the_whole(asked: Asked):
    whole = find(asked, "Add a --currency option")
    joined = re.search(r'<dt>joined</dt><dd><a href="/sessions/([0-9a-f]{12})"', show(asked, f"/sessions/{whole}"))
    assert joined
    asked.client.follow_redirects = False
    assert asked.get(f"/sessions/{joined[1]}", headers=HTML).headers["location"] == f"/sessions/{whole}"


def test_a_long_session_does_not_wait_for_its_turns_and_shows_them_where_it_says(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
):
    one = find(asked, "OAuth login")
    whole = show(asked, f"/sessions/{one}?turns=now")
    monkeypatch.setattr("assay.server.pages.session.LONG", 2)
    monkeypatch.setattr(TurnsReader, "has", lambda *_: False)
    monkeypatch.setattr(TurnsReader, "read", refuse)
    shown = show(asked, f"/sessions/{one}")
    assert "Read the conversation" in shown
    assert f'href="/sessions/{one}#turn-3"' in shown
    assert 'id="turn-3"' not in shown
    (later,) = re.findall(r'data-load="([^"]+)"', shown)
    monkeypatch.undo()
    assert show(asked, unescape(later)) == whole


def refuse(*_: object) -> None:
    raise AssertionError("nobody waits for this")


def test_quality_is_judged_when_it_is_asked_for(asked: Asked):
    one = find(asked, "OAuth login")
    assert "Judge how well it was run" in show(asked, f"/sessions/{one}")
    assert "process adherence" in show(asked, f"/sessions/{one}?quality=enhanced")
    assert asked.get(f"/sessions/{one}?quality=nothing", headers=HTML).status_code == 404


@pytest.mark.parametrize("path", ["/sessions/nothing", "/sessions/0000deadbeef", "/sessions/..%2f", "/sessions/a b"])
def test_a_session_that_there_is_not_is_told(asked: Asked, path: str):
    reply = asked.get(path, headers=HTML)
    assert reply.status_code == 404
    assert "<h1>Not found</h1>" in reply.text


def test_a_long_session_is_shown_a_page_of_turns_at_a_time(tmp_path: Path):
    long = ClaudeTranscript("long")
    for n in range(95):
        long.add_prompt("go on" if n else "weave the blue scarf row by row").add_reply(f"row {n} is woven")
    for n in range(300):
        long.add_shell(f"echo {n}", f"thread {n}")
    long.write(tmp_path / "in")
    score(tmp_path / "in", store=tmp_path / "assay.db", jobs=1, timezone="UTC")
    with serve(f"sqlite:///{tmp_path / 'assay.db'}") as asked:
        (one,) = ROW.findall(show(asked, "/sessions"))
        shown = show(asked, f"/sessions/{one}")
        assert shown.count('<article class="turn"') == 40
        assert 'id="turn-41"' in show(asked, f"/sessions/{one}?page=2")
        last = show(asked, f"/sessions/{one}?page=999")
        assert "turns 81 to 95 of 95" in last
        assert last.count('<details class="call') == 120
        assert "180 more calls in between" in last
        assert show(asked, f"/sessions/{one}?only=95").count('<details class="call') == 300
        assert asked.get(f"/sessions/{one}?page=x", headers=HTML).status_code == 400


# --- what a person says -------------------------------------------------------------------------


def test_a_mark_holds_and_is_taken_back(mine: Asked):
    one = find(mine, "OAuth login")
    assert act(mine, f"/sessions/{one}/mark", verdict="landed", why="done elsewhere") == f"/sessions/{one}"
    shown = show(mine, f"/sessions/{one}")
    assert "you: landed" in shown
    assert "done elsewhere" in shown
    assert one in ROW.findall(show(mine, "/sessions?marked=yes"))
    act(mine, f"/sessions/{one}/unmark")
    assert "you: landed" not in show(mine, f"/sessions/{one}")


def test_a_title_is_given_and_taken_back(mine: Asked):
    one = find(mine, "OAuth login")
    act(mine, f"/sessions/{one}/rename", title="The <b>login</b>")
    assert "<h1>The &lt;b&gt;login&lt;/b&gt;</h1>" in show(mine, f"/sessions/{one}")
    act(mine, f"/sessions/{one}/unname")
    assert "<h1>Add OAuth login to the web view</h1>" in show(mine, f"/sessions/{one}")


def test_a_split_makes_two_sessions_and_is_undone(mine: Asked):
    one = find(mine, "OAuth login")
    new = act(mine, f"/sessions/{one}/split", turn="2").removeprefix("/sessions/")
    shown = show(mine, f"/sessions/{new}")
    assert f"Undo the split from {one}" in shown
    assert "1 turn;" in show(mine, f"/sessions/{one}")
    assert act(mine, f"/sessions/{one}/merge", other=new) == f"/sessions/{one}"
    assert "3 turns;" in show(mine, f"/sessions/{one}")


def test_two_sessions_are_merged_and_split_again(mine: Asked):
    one, other = find(mine, "OAuth login"), find(mine, "crashes on an empty")
    whole = act(mine, f"/sessions/{one}/merge", other=other).removeprefix("/sessions/")
    shown = show(mine, f"/sessions/{whole}")
    split = re.search(
        r'action="(/sessions/[0-9a-f]+/split)"><input type="hidden" name="turn" value="([0-9a-f]{12})">', shown
    )
    assert split
    act(mine, split[1], turn=split[2])
    assert find(mine, "OAuth login") != find(mine, "crashes on an empty")


def test_what_can_not_be_done_is_told(mine: Asked):
    one = find(mine, "OAuth login")
    headers = {"content-type": "application/x-www-form-urlencoded", **HTML}
    for path, values in {
        "split": {"turn": "99"},
        "merge": {"other": "nothing"},
        "mark": {"verdict": "splendid"},
        "rename": {"title": " "},
        "unmark": {},
        "unname": {},
    }.items():
        reply = mine.ask("POST", f"/sessions/{one}/{path}", data=values, headers=headers)
        assert reply.status_code == 400, path
        assert "<h1>" in reply.text


DEEDS = ["mark", "unmark", "rename", "unname", "split", "merge"]


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_no_other_site_can_say_anything_of_a_session(mine: Asked, deed: str, origin: str):
    one = find(mine, "OAuth login")
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": origin, **HTML}
    reply = mine.ask("POST", f"/sessions/{one}/{deed}", data={"verdict": "landed"}, headers=headers)
    assert reply.status_code == 403
    assert mine.get(f"/sessions/{one}/{deed}", headers=HTML).status_code in (404, 405)


# --- live ---------------------------------------------------------------------------------------


def test_live_says_what_to_do_where_nothing_goes_on(asked: Asked):
    shown = show(asked, "/live")
    assert "Nothing goes on right now" in shown
    assert 'data-events="reload"' in shown
