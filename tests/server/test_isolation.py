"""Two tenants on one server, on either kind of store: neither reads, changes or learns anything of the other's."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from typing import Any, NamedTuple

import pytest
from sqlalchemy import text

from assay.config import Config
from assay.pipeline.score import read_transcripts
from assay.resources import EXAMPLES
from assay.stores import list_tenants, open_store, to_tenant_url
from tests.postgres import start_server
from tests.server.serving import ELSEWHERE, Asked, add_key, build_logs, place_store, serve, tighten

API = "/api/v1"
AS_OF = "2026-11-01"
SCOPES = ("ingest", "read", "admin")


class Pair(NamedTuple):
    """A server, and the keys of two tenants by scope; only the first one has sessions of its own."""

    asked: Asked
    url: str
    names: tuple[str, str]
    mill: dict[str, str]
    loom: dict[str, str]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    mark = blake2b(str(folder).encode(), digest_size=5).hexdigest()
    url = place_store(folder) if request.param == "sqlite" else start_server().url(f"home-{mark}")
    names = f"mill-{mark}", f"loom-{mark}"
    for tenant, part in zip(names, ("claude-code", "codex"), strict=True):
        with read_transcripts([EXAMPLES / part], Config(store=to_tenant_url(url, tenant)), 1):
            pass
    mill, loom = ({scope: add_key(url, name, scope) for scope in SCOPES} for name in names)  # type: ignore[misc]
    limits = tighten(key_rate=1e6, key_burst=1e6, failure_rate=1e6, failure_burst=1e6)
    config = Config(as_of=AS_OF)
    with serve(url, address=ELSEWHERE, host="0.0.0.0", config=config, limits=limits) as asked:
        yield Pair(asked, url, names, mill, loom)


def read(pair: Pair, key: str, path: str, **params: Any) -> Any:
    reply = pair.asked.get(f"{API}{path}", key, params=params)
    assert reply.status_code == 200, reply.text
    return reply.json()


def list_ids(pair: Pair, key: str) -> set[str]:
    return {one["id"] for one in read(pair, key, "/sessions", limit=200)["sessions"]}


READS = ["/score", "/trend", "/sessions", "/ledger", "/marks", "/audit", "/keys", "/log", "/evaluations", "/sources"]


def test_each_sees_sessions_of_its_own_alone(pair: Pair):
    mill, loom = list_ids(pair, pair.mill["read"]), list_ids(pair, pair.loom["read"])
    assert mill
    assert loom
    assert not mill & loom


def test_the_ids_of_another_are_nobodys(pair: Pair):
    session = min(list_ids(pair, pair.mill["read"]))
    key = read(pair, pair.mill["admin"], "/keys")["tenants"][0]["keys"][0]["id"]
    tries = [
        ("GET", f"/sessions/{session}", None),
        ("GET", f"/quality/{session}", None),
        ("PUT", f"/sessions/{session}/mark", {"verdict": "not"}),
        ("DELETE", f"/sessions/{session}/mark", None),
        ("DELETE", f"/sessions/{session}/words", None),
        ("POST", "/audit/answers", {"session": session, "verdict": "not"}),
        ("DELETE", f"/audit/answers/{session}", None),
        ("DELETE", f"/keys/{key}", None),
    ]
    for method, path, body in tries:
        reply = pair.asked.ask(method, f"{API}{path}", pair.loom["admin"], json=body)
        assert reply.status_code == 404, (method, path, reply.text)
    assert read(pair, pair.mill["read"], f"/sessions/{session}")["session"]["marked"] is None
    assert {one["kind"] for one in read(pair, pair.mill["admin"], "/log")["deeds"]} == {"key_made"}


@pytest.mark.parametrize("path", ["/sessions", "/ledger"])
def test_a_cursor_of_another_tenant_or_of_another_list_or_changed_is_refused(pair: Pair, path: str):
    cursor = read(pair, pair.mill["read"], path, limit=1)["next"]
    assert pair.asked.get(f"{API}{path}", pair.mill["read"], params={"cursor": cursor}).status_code == 200
    assert pair.asked.get(f"{API}{path}", pair.loom["read"], params={"cursor": cursor}).status_code == 400
    packed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    place = json.loads(packed[16:])
    forged = packed[:16] + json.dumps([place[0], "9999", *place[2:]]).encode()
    tries = {
        "another place": forged,
        "another seal": bytes(16) + packed[16:],
        "no seal": packed[16:],
        "one bit": bytes([packed[0] ^ 1]) + packed[1:],
        "nothing": b"",
    }
    for name, content in tries.items():
        said = urlsafe_b64encode(content).decode() or "="
        reply = pair.asked.get(f"{API}{path}", pair.mill["read"], params={"cursor": said})
        assert reply.status_code == 400, name
    other = "/ledger" if path == "/sessions" else "/sessions"
    for elsewhere, params in ((other, {}), (path, {"since": "2020-01-01"})):
        reply = pair.asked.get(f"{API}{elsewhere}", pair.mill["read"], params={"cursor": cursor, **params})
        assert reply.status_code == 400


@pytest.mark.parametrize("path", ["/marks", "/evaluations", "/score?until=2001-01-01", "/sessions?until=2001-01-01"])
def test_a_tag_of_another_tenant_matches_nothing_though_the_answers_are_the_same(pair: Pair, path: str):
    mill, loom = (pair.asked.get(f"{API}{path}", keys["admin"]) for keys in (pair.mill, pair.loom))
    assert mill.content == loom.content
    assert mill.headers["etag"] != loom.headers["etag"]
    crossed = pair.asked.get(f"{API}{path}", pair.loom["admin"], headers={"if-none-match": mill.headers["etag"]})
    assert crossed.status_code == 200


def test_what_one_sends_is_in_no_other_store(pair: Pair):
    def count(tenant: str) -> int:
        with closing(open_store(to_tenant_url(pair.url, tenant))) as store:
            return len(store.telemetry.list_conversations())

    before = count(pair.names[1])
    body = build_logs("user_prompt", session="of-the-mill", assay_tenant=pair.names[1], tenant=pair.names[1])
    headers = {"x_tenant": pair.names[1], "x_scope_orgid": pair.names[1]}
    assert pair.asked.send(body, pair.mill["ingest"], **headers).status_code == 200
    assert (count(pair.names[0]), count(pair.names[1])) == (1, before)


# --- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_opens_what_its_scope_says_and_nothing_else(pair: Pair, scope: str):
    key = pair.loom[scope]
    assert pair.asked.send({}, key).status_code == (200 if scope == "ingest" else 403)
    for path in READS:
        may = scope == "admin" or (scope == "read" and path not in ("/keys", "/log"))
        assert pair.asked.get(f"{API}{path}", key).status_code == (200 if may else 403), path
    may = scope == "admin"
    reply = pair.asked.ask("POST", f"{API}/audit", key, json={"wanted": 1})
    assert reply.status_code == (200 if may else 403)


def test_what_is_no_key_of_theirs_opens_nothing(pair: Pair):
    mill, loom = pair.mill["admin"], pair.loom["admin"]
    secret = mill.rpartition(".")[2]
    tries = [
        f"assay-key.{pair.names[1]}.{secret}",
        f"assay-key.own.{secret}",
        f"assay-key.nobody-here.{secret}",
        f"assay-key.../../{pair.names[0]}.{secret}",
        f"assay-key.{pair.names[0]}'--.{secret}",
        f"assay-key.{pair.names[0]}.{secret[::-1]}",
        mill.upper(), f"{mill} {loom}", f"{mill}, {loom}", mill[:-1], mill + "a", secret, "", "null", "x" * 5_000,
    ]  # fmt: skip
    before = list_tenants(pair.url)
    for token in tries:
        reply = pair.asked.get(f"{API}/score", headers={"authorization": f"Bearer {token}"})
        assert reply.status_code in (400, 401), token
        assert reply.headers.get("www-authenticate", "").startswith("Bearer") or reply.status_code == 400
    for headers in ({"authorization": f"Basic {mill}"}, {"authorization": mill}, {"x-api-key": mill}, {"cookie": mill}):
        assert pair.asked.get(f"{API}/score", headers=headers).status_code == 401
    both = [("authorization", f"Bearer {mill}"), ("authorization", f"Bearer {loom}")]
    assert pair.asked.client.get(f"{API}/score", headers=both).status_code in (400, 401)
    assert list_tenants(pair.url) == before


def test_a_key_that_was_revoked_elsewhere_opens_nothing_within_seconds(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    from assay.server import access
    from assay.server.keys import hash_token, revoke_key

    key = add_key(pair.url, pair.names[1], "read")
    assert pair.asked.get(f"{API}/log", pair.loom["admin"]).status_code == 200
    assert pair.asked.get(f"{API}/score", key).status_code == 200
    with closing(open_store(to_tenant_url(pair.url, pair.names[1]))) as store:
        revoke_key(store, hash_token(key)[:12], "ada")
    assert access.KNOWN_S <= 2
    known = pair.asked.server.hall.access.known
    known[hash_token(key)] = (0.0, known[hash_token(key)][1])  # as if these seconds had passed
    assert pair.asked.get(f"{API}/score", key).status_code == 401


def test_row_level_security_shows_a_tenant_that_did_not_say_who_it_is_nothing(pair: Pair):
    if not pair.url.startswith("postgresql"):
        pytest.skip("SQLite has no row-level security: its tenants are files")
    server = start_server()
    with closing(open_store(to_tenant_url(pair.url, pair.names[0]))) as store:
        database = store.database  # type: ignore[attr-defined]
        role = f"plain_{pair.names[0].replace('-', '_')}"
        schema = f'"assay_{pair.names[0]}"'
        with database.engine.begin() as connection:
            connection.execute(text(f"CREATE ROLE {role} LOGIN"))
            connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {role}"))
            connection.execute(text(f"GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA {schema} TO {role}"))
    import psycopg

    for tenant, rows in ((pair.names[1], 0), ("", 0), (pair.names[0], 3)):
        with psycopg.connect(server.url(user=role), autocommit=True) as other:
            other.execute("SELECT set_config('assay.tenant', %s, false)", (tenant,))
            found = other.execute(f"SELECT count(*) FROM {schema}.access_keys").fetchone()
            assert found
            assert (found[0] > 0) is (rows > 0), tenant
            if not rows:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    other.execute(f"INSERT INTO {schema}.deeds VALUES (9999, 'a', 'b', 'c', 'd', 1)")


# --- words that are more than words -------------------------------------------------------------

HOSTILE = [
    "' OR '1'='1", "'; DROP TABLE access_keys; --", '" OR 1=1 --', "%' OR '%'='", "\\", "%00", "a\0b", "\r\nX-Evil: 1",
    "%0d%0aX-Evil:%201", "../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "....//....//etc/passwd", "/etc/passwd",
    "file:///etc/passwd", "<script>alert(1)</script>", "{{7*7}}", "${jndi:ldap://x}", "\u202e", "\ud7ff", "a" * 3_000,
    "-1", "NaN", "1e999", "[]", "true", "null", "*", "_", "%", "?", "#",
]  # fmt: skip


@pytest.mark.parametrize(
    "place", ["project", "since", "cursor", "intent", "profile", "session", "evaluation", "key", "header", "path"]
)
def test_hostile_words_find_nothing_break_nothing_and_come_back_nowhere(pair: Pair, place: str):
    key = pair.mill["admin"]
    whole = len(list_ids(pair, key))
    session = min(list_ids(pair, key))
    for word in HOSTILE:
        tries: dict[str, tuple[str, dict[str, Any]]] = {
            "project": ("/sessions", {"params": {"project": word}}),
            "since": ("/score", {"params": {"since": word}}),
            "cursor": ("/ledger", {"params": {"cursor": word}}),
            "intent": ("/sessions", {"params": {"intent": word}}),
            "profile": (f"/quality/{session}", {"params": {"profile": word}}),
            "session": (f"/sessions/{quote(word)}", {}),
            "evaluation": (f"/evaluations/{quote(word)}", {}),
            "key": (f"/keys/{quote(word)}", {}),
            "header": ("/score", {"headers": {"if-none-match": word.encode("ascii", "ignore").strip() or b"x"}}),
            "path": (f"/{quote(word)}", {}),
        }
        path, more = tries[place]
        if place == "header" and set(word) & set("\r\n\0"):
            continue  # no client can send these; the parser's own tests are in test_running
        method = "DELETE" if place == "key" else "GET"
        reply = pair.asked.ask(method, f"{API}{path}", key, **more)
        assert reply.status_code < 500, (place, word, reply.text)
        assert "x-evil" not in reply.headers
        assert "root:" not in reply.text
        assert reply.status_code == 304 or reply.headers["content-type"].startswith("application/json")
        if place == "project" and reply.status_code == 200:
            assert len(reply.json()["sessions"]) < whole or word in ("-1", "_", "%", "?", "*", "#", "[]", "\\")
        if len(word) > 6:
            assert word not in reply.text
    assert len(list_ids(pair, key)) == whole


def quote(word: str) -> str:
    from urllib.parse import quote as quote_all

    return quote_all(word, safe="")
