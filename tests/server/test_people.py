"""People are told apart by no answer of a server unless their tenant wants it, and groups of few never are."""

from pathlib import Path
from typing import Any

import pytest

from assay.config import Config, Tenant
from assay.scores.breakdown import Slice
from assay.scores.prism import Counts, score_counts
from assay.server.access import Visitor
from assay.server.people import FEWEST, select_slices
from assay.stores import Machine, open_store
from tests.server.serving import add_key, place_store, run_server, serve
from tests.server.test_shipping import AS_OF, Team, make_two

API = "/api/v1"
HTML = {"accept": "text/html"}
NAMES = ("ada", "bob", "loom-of-ada", "mill-of-bob")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A store into which two people shipped, and keys to read and to look after it."""
    place = tmp_path_factory.mktemp("people")
    url, (one, other) = place_store(place), make_two(place)
    one.name, other.name = "loom-of-ada", "mill-of-bob"
    with run_server(url, config=Config(as_of=AS_OF, timezone="UTC"), asks_here=True) as running:
        team = Team(running, url, "team")
        team.ship(one)
        team.ship(other)
    return url, add_key(url, "team", "read"), team.reader


def ask(url: str, tenants: dict[str, Tenant]) -> Any:
    settings = Config(as_of=AS_OF, timezone="UTC", tenants=tenants)
    return serve(url, config=settings, own_tenants=tenants)


ADDRESSES = [
    *(f"{API}/{path}" for path in ("score?by=project&by=tenant", "trend", "sessions?limit=200", "ledger", "marks")),
    *(f"{API}/{path}" for path in ("live", "sources", "audit")),
    *("/", "/sessions", "/team", "/privacy", "/live", "/rework", "/compare?a=agent:codex&b=agent:claude-code"),
]
REFUSED = [
    *(f"{API}/{path}" for path in ("score?by=person", "score?by=machine&by=week", "machines")),
    *("/sessions?by_person=ada", "/sessions?by_machine=loom-of-ada", "/compare?a=person:ada&b=person:bob"),
    "/compare?a=machine:loom-of-ada&b=agent:codex",
    *("/sessions?side=person:ada", "/sessions?side=machine=loom-of-ada", "/sessions?side=7d&beside=person=ada"),
]


def test_where_nobody_switched_it_on_no_answer_tells_people_apart(shipped: tuple[str, str, str]):
    url, reader, _ = shipped
    with ask(url, {"team": Tenant()}) as asked:
        sessions = asked.get(f"{API}/sessions", reader).json()["sessions"]
        assert {(one["person"], one["machine"]) for one in sessions} == {(None, None)}
        for path in [*ADDRESSES, *(f"{API}/sessions/{one['id']}" for one in sessions)]:
            reply = asked.get(path, reader, headers=HTML)
            assert reply.status_code == 200, path
            assert not [name for name in NAMES if f'"{name}"' in reply.text or f">{name}<" in reply.text], path
        for path in REFUSED:
            reply = asked.get(path, reader, headers=HTML if not path.startswith(API) else {})
            assert reply.status_code == 403, path
            assert "told apart" in reply.text


def test_a_mark_tells_as_little_and_quality_names_no_machine(shipped: tuple[str, str, str]):
    url, _, admin = shipped
    with ask(url, {}) as asked:
        one = asked.get(f"{API}/sessions?limit=1", admin).json()["sessions"][0]["id"]
        marked = asked.ask("PUT", f"{API}/sessions/{one}/mark", admin, json={"verdict": "not"})
        assert (marked.json()["session"]["person"], marked.json()["session"]["machine"]) == (None, None)
        listed = asked.get(f"{API}/marks", admin).json()["sessions"]
        assert [(row["id"], row["person"]) for row in listed] == [(one, None)]
        assert asked.ask("DELETE", f"{API}/sessions/{one}/mark", admin).status_code == 200
        told = asked.get(f"{API}/quality/{one}", admin)
        renamed = asked.ask("POST", f"/sessions/{one}/rename", admin, data={"title": "hem"}, headers=HTML)
        assert (told.status_code, renamed.status_code) == (404, 400)
        assert not [name for name in NAMES if name in told.text + renamed.text]
        assert [row["name"] for row in asked.get(f"{API}/machines", admin).json()["machines"]] == [*NAMES[2:]]


def test_where_it_is_switched_on_sessions_say_whose_they_are_and_two_are_no_group(shipped: tuple[str, str, str]):
    url, reader, _ = shipped
    with ask(url, {"team": Tenant(people=True)}) as asked:
        sessions = asked.get(f"{API}/sessions?limit=200", reader).json()["sessions"]
        assert {one["person"] for one in sessions} == {"ada", "bob"}
        assert asked.get(f"{API}/score?by=person", reader).json()["slices"]["person"] == []
        assert asked.get("/sessions?by_person=ada", reader, headers=HTML).status_code == 200
        compared = asked.get("/compare?a=person:ada&b=person:bob", reader, headers=HTML)
        assert f"only where {FEWEST} of them" in compared.text
        assert asked.get(f"{API}/machines", reader).status_code == 200


def make_slice(name: str, counted: int) -> Slice:
    return Slice(name=name, score=score_counts([Counts(counted=counted, crushed=1)]), p_value=None)


def test_people_with_few_sessions_are_in_no_slice_and_few_people_have_none(tmp_path: Path):
    store = open_store(place_store(tmp_path))
    visitor = Visitor(tenant="team", address="198.51.100.7")
    many = [make_slice(name, FEWEST) for name in "abcd"]
    with_few = [*many, make_slice("e", FEWEST - 1), make_slice("(none)", 9)]
    assert [one.name for one in select_slices("person", with_few, visitor, store)] == [*"abcd"]
    assert select_slices("person", [*many, make_slice("(none)", 9)], visitor, store) == []
    assert select_slices("project", with_few, visitor, store) == with_few
    store.close()


def test_somebody_alone_at_their_own_machine_is_told_everything_until_others_ship_there(tmp_path: Path):
    url = place_store(tmp_path)
    store = open_store(url)
    for n, person in enumerate(["ada", "ada", "bob"]):
        with ask(url, {}) as asked:
            assert asked.get(f"{API}/score?by=person&by=machine").status_code == 200
        machine = Machine(name=f"m{n}", person=person, key="", shipped_at="2026-11-16T10:00:00Z")
        store.shipped.save_sessions(machine, [], [])
    store.close()
    with ask(url, {}) as asked:
        assert asked.get(f"{API}/score?by=person").status_code == 403
