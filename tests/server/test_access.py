"""Who is let in: this machine without a key, others with one; by the server's own name, from no other site's page."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.server.access import check_host, check_origin
from assay.server.guard import HEADERS
from assay.server.keys import TOKEN, hash_token, read_tenant
from assay.server.pages.refusals import PAGE_HEADERS
from assay.server.replies import Refusal
from assay.server.settings import ServerSettings, is_loopback
from tests.server.serving import ELSEWHERE, HERE, Asked, add_key, place_store, serve, tighten


@pytest.fixture
def url(tmp_path: Path) -> str:
    return place_store(tmp_path)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with serve(place_store(tmp_path_factory.mktemp("access"))) as found:
        yield found


# --- this machine -------------------------------------------------------------------------------

COMING = {
    "from this machine": (HERE, "127.0.0.1", False, {}, 200),
    "from this machine, by IPv6": ("::1", "127.0.0.1", False, {}, 200),
    "from this machine, where all need a key": (HERE, "127.0.0.1", True, {}, 401),
    "from this machine, to a server for all": (HERE, "0.0.0.0", False, {}, 401),
    "from elsewhere": (ELSEWHERE, "127.0.0.1", False, {}, 401),
    "through a proxy here": (HERE, "127.0.0.1", False, {"x-forwarded-for": ELSEWHERE}, 401),
    "through another proxy here": (HERE, "127.0.0.1", False, {"forwarded": "for=1"}, 401),
    "through an old proxy here": (HERE, "127.0.0.1", False, {"via": "1.1 x"}, 401),
}


@pytest.mark.parametrize("name", COMING)
def test_only_this_machine_needs_no_key(url: str, name: str):
    address, host, asks_here, headers, status = COMING[name]
    with serve(url, address=address, host=host, asks_here=asks_here) as asked:
        for path in ("/metrics", "/api/v1/log", "/api/v1/openapi/openapi.json", "/api/v1/none", "/"):
            reply = asked.get(path, headers=headers)
            assert (reply.status_code == 401) is (status == 401), path
        assert asked.get("/healthz", headers=headers).status_code == 200
        assert asked.send({}, **{one.replace("-", "_"): said for one, said in headers.items()}).status_code == status


def test_whoever_tries_many_keys_has_to_wait_and_others_do_not(url: str):
    key = add_key(url)
    with serve(url, address=ELSEWHERE, host="0.0.0.0", limits=tighten(failure_burst=3, failure_rate=0.01)) as asked:
        tries = [asked.send({}, f"{key[:-4]}zz{n:02}").status_code for n in range(5)]
        assert tries == [401, 401, 401, 429, 429]
        assert asked.send({}, key).status_code == 200  # others come from the same address, behind a proxy
        asked.placed.address = "198.51.100.8"
        assert asked.send({}, f"{key[:-4]}zzzz").status_code == 401


def test_a_flood_of_unknown_keys_is_not_looked_up_and_not_in_the_way_of_known_ones(url: str):
    key = add_key(url)
    limits = tighten(stranger_rate=0.01, stranger_burst=5)
    with serve(url, address=ELSEWHERE, host="0.0.0.0", limits=limits) as asked:
        assert asked.send({}, key).status_code == 200
        looked: list[str] = []
        look_up = asked.server.hall.access.look_up
        asked.server.hall.access.look_up = lambda tenant, hashed: (looked.append(hashed), look_up(tenant, hashed))[1]  # type: ignore
        for n in range(30):
            assert asked.send({}, f"{key[:-2]}{n:02}").status_code in (401, 429)
        assert len(looked) <= 5
        asked.server.hall.access.forget()
        assert asked.send({}, key).status_code == 200


def test_asking_for_tenants_that_are_not_there_makes_none(url: str, tmp_path: Path):
    with serve(url, address=ELSEWHERE, host="0.0.0.0", limits=tighten(failure_burst=1e6)) as asked:
        for n in range(50):
            assert asked.send({}, f"assay-key.t{n}.{'a' * 43}").status_code == 401
    assert sorted(path.name for path in tmp_path.iterdir() if "tenants" in path.name) == []


# --- names and pages ----------------------------------------------------------------------------

HOSTS = {
    "127.0.0.1": True, "127.0.0.1:4318": True, "localhost": True, "localhost:99": True, "[::1]:4318": True,
    "LOCALHOST": True, "127.0.0.1.": True,
    "evil.example": False, "127.0.0.1.evil.example": False, "localhost.evil.example": False, "": False,
    "evil.example@127.0.0.1": False, "127.0.0.1/evil": False, "127.0.0.1:4318:1": False, " 127.0.0.1": False,
    "127.0.0.1, evil.example": False, "0.0.0.0": False, "198.51.100.7": False, "[::1": False, "127.0.0.1\n": False,
}  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_server_of_this_machine_is_called_by_no_other_name(host: str):
    settings = ServerSettings(store="")
    if HOSTS[host]:
        check_host(host, settings)
    else:
        with pytest.raises(Refusal) as refused:
            check_host(host, settings)
        assert refused.value.status == 403


def test_a_server_for_all_is_called_as_it_is_allowed_to_be():
    settings = ServerSettings(store="", host="0.0.0.0", hosts=("assay.example",))
    for name in ("assay.example", "ASSAY.example:443", "198.51.100.7", "[2001:db8::1]:4318", "localhost"):
        check_host(name, settings)
    with pytest.raises(Refusal):
        check_host("other.example", settings)


@given(st.text(max_size=40))
def test_whatever_somebody_calls_the_server_is_its_name_or_refused(host: str):
    try:
        check_host(host, ServerSettings(store=""))
    except Refusal:
        return
    name = host.rsplit(":", 1)[0] if not host.endswith("]") and ":" in host else host
    assert is_loopback(name.lower().rstrip(".").strip("[]"))


@pytest.mark.parametrize(
    ("headers", "is_ours"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:4318"}, True),
        ({"origin": "http://127.0.0.1:4318", "sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"origin": "https://evil.example"}, False),
        ({"origin": "http://127.0.0.1:8080"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "http://[::"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
    ],
)
def test_pages_of_other_sites_are_refused(asked: Asked, headers: dict[str, str], is_ours: bool):
    for method, path in (("POST", "/v1/logs"), ("GET", "/api/v1/log"), ("GET", "/healthz"), ("OPTIONS", "/v1/logs")):
        reply = asked.ask(method, path, content=b"{}", headers={"content-type": "application/json", **headers})
        assert (reply.status_code == 403) is not is_ours, (method, path)
        assert "access-control-allow-origin" not in reply.headers
    if is_ours:
        check_origin({"host": "127.0.0.1:4318", **headers})


def test_a_form_of_a_page_can_send_nothing(asked: Asked):
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain"):
        reply = asked.ask("POST", "/v1/logs", content=b"{}", headers={"content-type": kind})
        assert reply.status_code == 415


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/healthz"), ("GET", "/"), ("GET", "/api/v1/log"), ("GET", "/metrics"), ("POST", "/v1/logs"),
     ("PUT", "/api/v1/log"), ("TRACE", "/"), ("GET", "/api/v1/sessions?limit=x")],
)  # fmt: skip
def test_every_answer_has_the_strict_headers(asked: Asked, method: str, path: str):
    reply = asked.ask(method, path)
    own = PAGE_HEADERS if reply.headers.get("content-type", "").startswith("text/html") else {}
    for name, value in HEADERS:
        assert own.get(name.decode(), value.decode()) in reply.headers[name.decode()]
    assert reply.headers["cache-control"] in ("no-store", "private, no-cache")
    assert "set-cookie" not in reply.headers
    assert reply.status_code < 500


# --- keys ---------------------------------------------------------------------------------------


@given(st.text(max_size=80))
def test_what_is_no_key_names_no_tenant(said: str):
    assert (read_tenant(said) is None) is (TOKEN.fullmatch(said) is None)
    assert len(hash_token("assay-key.own." + "a" * 43)) == 64
