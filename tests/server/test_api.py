"""The API tells what the commands print, page by page, and takes a person's word."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.config import Config
from assay.pipeline.score import read_transcripts
from assay.resources import EXAMPLES
from assay.server.reading import page_rows
from tests.conftest import here
from tests.documents import SCHEMAS
from tests.server.serving import Asked, add_key, place_store, run_server, serve, tighten

AS_OF = "2026-11-01"
API = "/api/v1"


def fill_store(url: str) -> None:
    """Have the bundled examples in a store."""
    with read_transcripts([EXAMPLES], Config(store=url), 1):
        pass


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    found = place_store(tmp_path_factory.mktemp("api"))
    fill_store(found)
    return found


@pytest.fixture(scope="module")
def asked(url: str) -> Iterator[Asked]:
    with serve(url, config=Config(store=url, as_of=AS_OF), limits=tighten(key_rate=1e6, key_burst=1e6)) as found:
        yield found


@pytest.fixture(scope="module")
def report(url: str) -> Any:
    path = url.removeprefix("sqlite:///")
    return json.loads(here("score", EXAMPLES, "--as-of", AS_OF, "--store", path, "--json"))


def check_document(document: dict[str, Any]) -> dict[str, Any]:
    """A document, if it is as its published schema says."""
    schema = json.loads((SCHEMAS / f"{document['kind']}.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    return document


def read(asked: Asked, path: str, **params: Any) -> dict[str, Any]:
    reply = asked.get(f"{API}{path}", params=params)
    assert reply.status_code == 200, reply.text
    return check_document(reply.json())


def test_the_score_is_that_of_the_command(asked: Asked, report: Any):
    told = read(asked, "/score", by=["project", "week"])
    for name in ("score", "waterfall", "judge", "measures", "exclusions", "obstacles", "grade", "no_grade"):
        assert told[name] == report[name], name
    assert told["slices"] == {name: report["slices"][name] for name in ("project", "week")}
    assert "sessions" not in told


def test_the_trend_is_that_of_the_command(asked: Asked, report: Any):
    told = read(asked, "/trend", by="week")
    assert told["points"] == report["slices"]["week"]
    assert (told["trend"], told["windows"]) == (report["trends"]["week"], report["windows"])


@pytest.mark.parametrize(("path", "name"), [("/sessions", "sessions"), ("/ledger", "ledger")])
@pytest.mark.parametrize("limit", [1, 3, 200])
def test_pages_hold_every_row_of_the_command_once_the_newest_first(
    asked: Asked, report: Any, path: str, name: str, limit: int
):
    rows: list[Any] = []
    cursor = ""
    while cursor is not None:
        page = read(asked, path, limit=limit, cursor=cursor)
        assert 0 < len(page[name]) <= limit
        rows += page[name]
        cursor = page["next"]
    assert sorted(map(json.dumps, rows)) == sorted(map(json.dumps, report[name]))
    times = [one.get("started_at") or one["at"] for one in rows]
    assert times == sorted(times, reverse=True)


def test_sessions_are_selected_as_by_the_command(asked: Asked, report: Any):
    told = read(asked, "/sessions", crushed="true", limit=200)["sessions"]
    assert {one["id"] for one in told} == {one["id"] for one in report["sessions"] if one["crushed"]}
    assert read(asked, "/sessions", until="2020-01-01")["sessions"] == []
    project = report["sessions"][0]["project"]
    told = read(asked, "/sessions", project=project, limit=200)["sessions"]
    assert {one["project"] for one in told} == {project}


def test_a_session_is_that_of_the_command(asked: Asked, url: str, report: Any):
    for one in report["sessions"][:3]:
        shown = here("show", one["id"], "--as-of", AS_OF, "--store", url.removeprefix("sqlite:///"), "--json")
        assert read(asked, f"/sessions/{one['id']}") == json.loads(shown)


def test_quality_is_that_of_the_command(asked: Asked, url: str, report: Any):
    one = report["sessions"][0]["id"]
    path = url.removeprefix("sqlite:///")
    said = json.loads(here("quality", one, "--profile", "revised", "--store", path, "--json"))
    assert read(asked, f"/quality/{one}", profile="revised")["qualities"] == said["qualities"]


def test_nothing_is_told_of_what_is_not_there(asked: Asked):
    for path in ("/sessions/0000", "/sessions/" + "a" * 64, "/quality/0000", "/evaluations/none", "/none"):
        reply = asked.get(f"{API}{path}")
        assert reply.status_code == 404
        check_document(reply.json())


WRONG = {
    "since": ("/score", {"since": "tomorrow"}),
    "a slice": ("/score", {"by": "nobody"}),
    "a period": ("/trend", {"by": "year"}),
    "a limit": ("/sessions", {"limit": "0"}),
    "a large limit": ("/sessions", {"limit": "100000"}),
    "no number": ("/sessions", {"limit": "x"}),
    "no truth": ("/sessions", {"crushed": "perhaps"}),
    "a cursor": ("/sessions", {"cursor": "abc"}),
    "another cursor": ("/sessions", {"cursor": "é"}),
    "a NUL": ("/sessions", {"project": "a\0b"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_can_not_be_meant_is_refused_without_its_own_words(asked: Asked, name: str):
    path, params = WRONG[name]
    reply = asked.get(f"{API}{path}", params=params)
    assert reply.status_code == 400, reply.text
    check_document(reply.json())
    assert not [one for one in params.values() if len(one) > 3 and one in reply.text]


# --- tags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/score", "/trend", "/sessions", "/ledger", "/marks", "/audit", "/keys", "/log"])
def test_what_somebody_has_already_is_not_sent_again(asked: Asked, path: str):
    first = asked.get(f"{API}{path}")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, no-cache"
    for condition in (tag, f'"x", W/{tag}', "*"):
        again = asked.get(f"{API}{path}", headers={"if-none-match": condition})
        assert (again.status_code, again.content) == (304, b"")
    assert asked.get(f"{API}{path}", headers={"if-none-match": '"0"'}).status_code == 200


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99)), unique=True), st.integers(1, 5))
def test_pages_hold_each_row_once_however_many_come_in_meanwhile(rows: list[tuple[int, int]], most: int):
    def place(row: tuple[int, int]) -> tuple[str, str]:
        return f"{row[0]:03}", f"{row[1]:03}"

    seen: list[tuple[int, int]] = []
    after: tuple[str, ...] = ()
    there = list(rows)
    while True:
        found = page_rows(there, place, after, most)
        seen += [row for _, row in found[:most]]
        if len(found) <= most:
            break
        after = found[most - 1][0]
        there.append((100 + len(there), 0))
    assert seen == sorted(rows, reverse=True)


# --- a person's word ----------------------------------------------------------------------------


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Asked]:
    """A server on a store of its own, to be written to."""
    found = place_store(tmp_path)
    fill_store(found)
    with serve(found, config=Config(store=found, as_of=AS_OF)) as server:
        yield server


def test_a_mark_wins_is_listed_logged_and_taken_back(mine: Asked):
    session = read(mine, "/sessions", crushed="true", limit=1)["sessions"][0]["id"]
    before = read(mine, "/score")["score"]["crushed"]
    path = f"{API}/sessions/{session}/mark"
    marked = mine.ask("PUT", path, json={"verdict": "not", "why": "the export is empty"})
    assert check_document(marked.json())["session"]["crushed"] is False
    assert [one["id"] for one in read(mine, "/marks")["sessions"]] == [session]
    assert read(mine, "/score")["score"]["crushed"] == before - 1
    assert mine.ask("DELETE", path).status_code == 200
    assert mine.ask("DELETE", path).status_code == 400
    assert read(mine, "/score")["score"]["crushed"] == before
    assert [one["kind"] for one in read(mine, "/log")["deeds"]] == ["session_marked"] * 2


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"verdict": "perhaps"}', b'{"verdict": "not", "who": "me"}',
        json.dumps({"verdict": "not", "why": "x" * 501}).encode(), b'{"verdict":' + b"[" * 30_000,
        b'{"verdict": "not", "why": "' + b"x" * 100_000 + b'"}',
    ],
)  # fmt: skip
def test_a_mark_that_can_not_be_meant_is_refused(asked: Asked, report: Any, content: bytes):
    path = f"{API}/sessions/{report['sessions'][0]['id']}/mark"
    reply = asked.ask("PUT", path, content=content, headers={"content-type": "application/json"})
    assert reply.status_code in (400, 413), reply.text
    check_document(reply.json())


def test_an_audit_is_drawn_answered_and_goes_on(mine: Asked):
    assert read(mine, "/audit")["wanted"] == 0
    drawn = check_document(mine.ask("POST", f"{API}/audit", json={"wanted": 2}).json())
    first, second = drawn["waiting"]
    answer = {"session": first, "verdict": "landed"}
    assert mine.ask("POST", f"{API}/audit/answers", json=answer).json()["waiting"] == [second]
    assert read(mine, "/audit")["audit"]["answered"] == 1
    assert mine.ask("DELETE", f"{API}/audit/answers/{first}").json()["waiting"] == [first, second]
    assert mine.ask("POST", f"{API}/audit/answers", json={**answer, "session": "0000"}).status_code == 404


def test_an_audit_takes_answers_only_about_what_was_drawn(mine: Asked):
    every = [one["id"] for one in read(mine, "/sessions", limit=200)["sessions"]]
    answer = {"session": every[0], "verdict": "landed"}
    assert mine.ask("POST", f"{API}/audit/answers", json=answer).status_code == 400  # nothing was
    (drawn,) = mine.ask("POST", f"{API}/audit", json={"wanted": 1}).json()["waiting"]
    other = next(one for one in every if one != drawn)
    refused = mine.ask("POST", f"{API}/audit/answers", json={"session": other, "verdict": "landed"})
    assert refused.status_code == 400
    assert "not drawn" in check_document(refused.json())["error"]
    assert mine.ask("DELETE", f"{API}/audit/answers/{drawn}").status_code == 400  # nobody answered
    assert read(mine, "/audit")["audit"] is None
    for verdict in ("landed", "not"):  # a person may think again
        assert mine.ask("POST", f"{API}/audit/answers", json={"session": drawn, "verdict": verdict}).status_code == 200
    assert [one["kind"] for one in read(mine, "/log")["deeds"]] == ["audit_answered"] * 2


def test_deleted_words_are_gone_and_the_log_says_so(mine: Asked, tmp_path: Path):
    session = read(mine, "/sessions", limit=1)["sessions"][0]["id"]
    said = read(mine, f"/sessions/{session}")["turns"]
    assert any(one["prompt"] and one["prompt"]["text"] for one in said)
    gone = check_document(mine.ask("DELETE", f"{API}/sessions/{session}/words").json())
    assert gone["conversations"] >= 1
    assert [one["kind"] for one in read(mine, "/log")["deeds"]] == ["words_deleted"]
    text = next(one["prompt"]["text"] for one in said if one["prompt"] and one["prompt"]["text"])
    assert text.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("assay.db*"))


def test_keys_are_made_listed_and_revoked_over_http(mine: Asked):
    made = check_document(mine.ask("POST", f"{API}/keys", json={"name": "loom", "scope": "read"}).json())
    token, key = made["token"], made["key"]["id"]
    assert mine.get(f"{API}/score", token).status_code == 200
    assert mine.get(f"{API}/keys", token).status_code == 403
    assert [one["id"] for one in read(mine, "/keys")["tenants"][0]["keys"]] == [key]
    assert mine.ask("DELETE", f"{API}/keys/{key}").status_code == 200
    assert mine.get(f"{API}/score", token).status_code == 401
    assert mine.ask("DELETE", f"{API}/keys/{key}").status_code == 404


# --- what is live -------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["the server leaves", "the key is revoked"])
def test_who_listens_is_told_of_every_change_until_the_end(tmp_path: Path, end: str):
    import httpx

    from tests.server.serving import build_logs

    found = place_store(tmp_path)
    admin = add_key(found, "own", "admin")
    reader = add_key(found, "own", "read")
    with (
        run_server(found, tighten(leave_s=3)) as running,
        httpx.Client(base_url=running.address, timeout=20) as client,
        client.stream("GET", f"{API}/events", headers={"authorization": f"Bearer {reader}"}) as stream,
    ):
        lines = stream.iter_lines()
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert next(lines) == "event: changed"
        client.post("/v1/logs", json=build_logs("a"))
        told = [next(lines) for _ in range(8)]
        assert told.count("event: changed") == 1
        assert "event: live" in told
        if end == "the server leaves":
            running.stop()
        else:
            listed = client.get(f"{API}/keys", headers={"authorization": f"Bearer {admin}"}).json()
            key = next(one["id"] for one in listed["tenants"][0]["keys"] if one["scope"] == "read")
            client.delete(f"{API}/keys/{key}", headers={"authorization": f"Bearer {admin}"})
        assert "event: leaving" in [*lines]


# --- figures ------------------------------------------------------------------------------------


def test_figures_are_such_as_prometheus_reads_and_name_nobody(asked: Asked):
    asked.get(f"{API}/log")
    asked.get(f"{API}/sessions/../../etc/passwd")
    said = asked.get("/metrics").text
    assert "# TYPE assay_http_request_seconds histogram" in said
    for line in said.splitlines():
        assert line.startswith("# ") or line.rpartition(" ")[2].replace(".", "").replace("e+", "").isdigit(), line
    assert "passwd" not in said
    assert 'assay_http_requests_total{method="GET",route="/api/v1/log",status="200"}' in said


def test_ready_means_that_the_store_answers(asked: Asked):
    assert asked.get("/readyz").json()["status"] == "ok"
    asked.server.hall.leaving.set()
    try:
        assert asked.get("/readyz").status_code == 503
        assert asked.get("/healthz").status_code == 200
    finally:
        asked.server.hall.leaving.clear()


def test_no_field_of_a_request_is_called_like_a_part_of_the_server(asked: Asked):
    """The framework takes a wrong value of such a field for a fault of its own, and answers 500."""
    for body in ({"wanted": 10**9}, {"wanted": "x"}, {"hall": 1}, {"visitor": 1}, {"page": 1}):
        assert asked.ask("POST", f"{API}/audit", json=body).status_code == 400


def test_what_grows_old_is_told_at_once_and_made_anew_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from assay.server import reading

    found = place_store(tmp_path)
    with serve(found) as server:
        reports = server.server.hall.reports
        made: list[int] = []
        make = reports.make_report
        monkeypatch.setattr(reports, "make_report", lambda *given: (made.append(1), make(*given))[1])
        for _ in range(3):
            read(server, "/score")
        assert len(made) == 1
        monkeypatch.setattr(reading, "FRESH_S", 0.0)
        read(server, "/score")
        reports.later.submit(lambda: None).result(10)
        assert len(made) == 2
        monkeypatch.setattr(reading, "STALE_S", 0.0)
        read(server, "/score")
        assert len(made) == 3
