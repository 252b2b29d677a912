"""Pages: who may see them, what they are sent with, and that no other site can act through them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.server.keys import ID_LENGTH, hash_token
from assay.web.assets import SERVED_POLICY, load_assets
from tests.server.serving import ELSEWHERE, Asked, add_key, place_store, serve, tighten

HTML = {"accept": "text/html,application/xhtml+xml"}
FORM = {"content-type": "application/x-www-form-urlencoded", **HTML}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return place_store(tmp_path)


@pytest.fixture
def far(url: str) -> Iterator[Asked]:
    """A server for all, asked from elsewhere: everybody needs a key."""
    add_key(url, "own", "read")
    with serve(url, address=ELSEWHERE, host="0.0.0.0", limits=tighten(failure_burst=5, failure_rate=0.01)) as asked:
        asked.client.follow_redirects = False
        yield asked


def log_in(asked: Asked, key: str, next: str = "/") -> object:
    return asked.ask("POST", "/login", data={"key": key, "next": next}, headers=FORM)


def test_pages_open_on_this_machine_without_a_key(url: str):
    with serve(url) as asked:
        reply = asked.get("/", headers=HTML)
        assert reply.status_code == 200
        assert "No sessions yet" in reply.text
        assert reply.headers["content-security-policy"] == SERVED_POLICY
        assert reply.headers["cache-control"] == "private, no-cache"
        assert asked.get("/", headers={**HTML, "if-none-match": reply.headers["etag"]}).status_code == 304


def test_the_policy_allows_nothing_that_stands_in_a_page():
    assert "unsafe" not in SERVED_POLICY
    assert SERVED_POLICY.startswith("default-src 'none'")


def test_style_and_script_are_kept_for_good_under_a_name_that_changes_with_them(far: Asked):
    for name, asset in load_assets().items():
        reply = far.get(f"/assets/{name}")
        assert reply.status_code == 200
        assert reply.content == asset.body
        assert "immutable" in reply.headers["cache-control"]
        assert far.get(f"/assets/{name}", headers={"if-none-match": reply.headers["etag"]}).status_code == 304
    assert far.get("/assets/nothing.css").status_code == 404
    assert far.get("/assets/..%2f..%2fapp.py").status_code == 404


def test_elsewhere_a_page_asks_for_a_key_and_goes_on_to_what_was_wanted(far: Asked, url: str):
    asked_for = far.get("/", headers=HTML)
    assert asked_for.status_code == 401
    assert 'action="/login"' in asked_for.text
    assert "www-authenticate" not in asked_for.headers
    reply = log_in(far, add_key(url, "own", "read"), "/?since=7d")
    assert (reply.status_code, reply.headers["location"]) == (303, "/?since=7d")
    cookie = reply.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {*cookie.split("; ")}
    assert far.get("/", headers=HTML).status_code == 200
    assert "Log out" in far.get("/", headers=HTML).text


def test_whoever_logs_out_is_asked_again(far: Asked, url: str):
    log_in(far, add_key(url, "own", "read"))
    reply = far.ask("POST", "/logout", headers=FORM)
    assert reply.headers["location"] == "/login"
    assert far.get("/", headers=HTML).status_code == 401


@pytest.mark.parametrize(
    "next", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\nb", "javascript:x"]
)
def test_after_the_login_nobody_is_led_away(far: Asked, url: str, next: str):
    assert log_in(far, add_key(url, "own", "read"), next).headers["location"] == "/"


def test_a_wrong_key_is_told_and_guessing_is_slow(far: Asked):
    tries = [log_in(far, f"assay-key.own.{'x' * 43}").status_code for _ in range(7)]
    assert tries[:4] == [401] * 4
    assert tries[-1] == 429


def test_a_key_for_telemetry_alone_opens_no_page(far: Asked, url: str):
    reply = log_in(far, add_key(url, "own", "ingest"))
    assert reply.status_code == 403
    assert "set-cookie" not in reply.headers


def test_a_login_opens_pages_and_not_the_api(far: Asked, url: str):
    log_in(far, add_key(url, "own", "admin"))
    assert far.get("/", headers=HTML).status_code == 200
    assert far.get("/api/v1/score").status_code == 401
    assert far.ask("POST", "/api/v1/audit", json={"wanted": 1}).status_code == 401


def test_a_revoked_key_logs_nobody_in_any_more(far: Asked, url: str):
    key = add_key(url, "own", "admin")
    log_in(far, key)
    assert far.get("/", headers=HTML).status_code == 200
    assert far.ask("DELETE", f"/api/v1/keys/{hash_token(key)[:ID_LENGTH]}", key).status_code < 300
    assert far.get("/", headers=HTML).status_code == 401


# --- other sites --------------------------------------------------------------------------------

FOREIGN = {
    "a form of another site": {"origin": "https://evil.example"},
    "a form without an origin": {"origin": "null"},
    "a page of another site": {
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
    },
    "a sister site": {"sec-fetch-site": "same-site"},
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_no_other_site_can_act(url: str, name: str, path: str):
    with serve(url) as asked:
        reply = asked.ask("POST", path, data={"key": "x"}, headers={**FORM, **FOREIGN[name]})
        assert reply.status_code == 403


def test_a_link_from_another_site_may_be_followed_and_nothing_else_of_it(url: str):
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    with serve(url) as asked:
        assert asked.get("/", headers={**HTML, **followed}).status_code == 200
        assert asked.get("/", headers={**HTML, **followed, "sec-fetch-dest": "iframe"}).status_code == 403
        assert asked.get("/", headers={**HTML, **followed, "sec-fetch-mode": "no-cors"}).status_code == 403
        assert asked.get("/api/v1/score", headers=followed).status_code == 403


# --- refusals -----------------------------------------------------------------------------------


def test_a_page_that_there_is_not_says_so_as_a_page_and_to_programs_as_json(url: str):
    with serve(url) as asked:
        shown = asked.get("/nothing", headers=HTML)
        assert shown.status_code == 404
        assert "<h1>Not found</h1>" in shown.text
        assert asked.get("/nothing").json()["status"] == 404
        assert asked.get("/api/v1/nothing", headers=HTML).json()["status"] == 404


def test_a_wrong_window_is_told_as_a_page(url: str):
    with serve(url) as asked:
        shown = asked.get("/?since=yesterdayish", headers=HTML)
        assert shown.status_code == 400
        assert re.search("since and until take a day", shown.text, re.IGNORECASE)
