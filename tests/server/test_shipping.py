"""`assay ship`: what machines have read is on the server once, as they tell it, whatever happens on the way."""

import gzip
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from assay.config import Config, Ship, Tenant, pick_zone
from assay.errors import BadInput
from assay.http import RetryPolicy, ServiceUnreachable
from assay.pipeline import shipping
from assay.pipeline.score import open_run, read_transcripts, score_run
from assay.pipeline.scoring_run import Selection
from assay.pipeline.shipping import Sender, Shipping, ShipReport, find_person, name_machine, open_client, ship_sessions
from assay.reports.json import encode_document
from assay.resources import EXAMPLES
from assay.scores.breakdown import Slice
from assay.sessions.redaction import Redactor
from assay.stores import open_store, to_tenant_url
from assay.testing.claude_code import build_prompt, build_reply
from tests.conftest import command, environment
from tests.postgres import start_server
from tests.server.serving import RunningServer, add_key, build_logs, place_store, run_server, tighten

AS_OF = "2026-11-18"
API = "/api/v1"
EVERY = tighten(key_rate=1e9, key_burst=1e9)
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def watch_nothing(*_: object) -> None:
    pass


class MachineHere:
    """A machine with transcripts of its own, and a person who works there."""

    def __init__(self, place: Path, name: str, person: str, sources: list[Path]) -> None:
        self.name, self.person = name, person
        self.transcripts, self.store = place / name / "in", f"sqlite:///{place / name / 'assay.db'}"
        for n, one in enumerate(sources):
            shutil.copytree(one, self.transcripts / str(n))
        self.transcripts.mkdir(parents=True, exist_ok=True)
        self.config = Config(store=self.store, paths=(str(self.transcripts),), as_of=AS_OF, timezone="UTC")

    def ship(self, to: str, key: str, *, since: str = "", is_dry: bool = False, **chosen: Any) -> ShipReport:
        """Ship what is here, in this process."""
        config = replace(self.config, ship=Ship(to=to, person=self.person, machine=self.name, **chosen))
        with (
            read_transcripts(None, config, 1, may_be_empty=True) as found,
            open_run(found.store, config, found.changes.roots, selection=Selection(since=since), jobs=1) as run,
        ):
            machine = name_machine(config, found.store)
            client = open_client(config, machine, key, Redactor())
            client.http.policy = RetryPolicy(tries=1)
            sender = Sender(machine=machine, person=find_person(config), words=config.ship.words)
            with closing(client.http):
                one = Shipping(found.store, config, sender, client)
                return ship_sessions(one, run, pick_zone(config), watch_nothing, is_dry=is_dry)

    def report(self) -> dict[str, Any]:
        """What `assay score --json` says here."""
        return read_report(self.config)

    def grow(self, words: str = "and now weave the hem, too") -> Path:
        """Let a conversation go on."""
        path = min(one for one in self.transcripts.rglob("*.jsonl") if "subagents" not in str(one))
        lines = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
        last = next(one for one in reversed(lines) if one.get("sessionId"))
        more = {"sessionId": last["sessionId"], "cwd": last["cwd"], "parentUuid": last.get("uuid")}
        prompt = build_prompt(0, words) | more | {"timestamp": "2026-11-16T10:00:00.000Z", "uuid": "grown-1"}
        reply = build_reply(1, "Woven.") | more | {"timestamp": "2026-11-16T10:01:00.000Z", "uuid": "grown-2"}
        with path.open("ab") as file:
            file.write(msgspec.json.encode(prompt) + b"\n" + msgspec.json.encode(reply) + b"\n")
        return path


def read_report(config: Config) -> dict[str, Any]:
    with (
        read_transcripts(None, config, 1, may_be_empty=True) as found,
        open_run(found.store, config, found.changes.roots, jobs=1) as run,
    ):
        return dict(msgspec.json.decode(b"".join(encode_document(score_run(run).report))))


class Team:
    """A server with a tenant, and keys to it."""

    def __init__(self, running: RunningServer, url: str, tenant: str) -> None:
        self.running, self.url, self.tenant = running, url, tenant
        self.reader = add_key(url, tenant, "admin")
        self.keys: dict[str, str] = {}

    def ship(self, machine: MachineHere, **more: Any) -> ShipReport:
        if machine.name not in self.keys:
            self.keys[machine.name] = add_key(self.url, self.tenant)
        return machine.ship(self.running.address, self.keys[machine.name], **more)

    def ask(self, path: str, method: str = "GET", **more: Any) -> Any:
        headers = {"authorization": f"Bearer {self.reader}"}
        reply = httpx.request(method, f"{self.running.address}{API}{path}", headers=headers, timeout=60, **more)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def read_slices(self) -> dict[str, list[Slice]]:
        """All slices, as whoever has the store may see them."""
        hall = self.running.server.hall
        store = hall.stores.find(self.tenant)
        assert store
        return hall.reports.read_report(self.tenant, store, Selection()).slices

    def sessions(self) -> list[dict[str, Any]]:
        found, cursor = [], ""
        while True:
            page = self.ask("/sessions", params={"limit": 7, **({"cursor": cursor} if cursor else {})})
            found += page["sessions"]
            if not page["next"]:
                return sorted(found, key=lambda one: (one["started_at"], one["id"]))
            cursor = page["next"]


Serve = Callable[..., Team]


@pytest.fixture(params=["sqlite", "postgresql"])
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server with a tenant of its own, on either kind of store."""
    mark = blake2b(str(tmp_path).encode(), digest_size=5).hexdigest()
    url = place_store(tmp_path) if request.param == "sqlite" else start_server().url(f"home-{mark}")
    tenant = f"team-{mark}"
    opened = []

    def start(**allowed: Any) -> Team:
        own = {tenant: Tenant(**{"people": True, **allowed})}
        config = Config(as_of=AS_OF, timezone="UTC", tenants=own)
        running = run_server(url, EVERY, config=config, own_tenants=own, asks_here=True)
        opened.append(running)
        return Team(running.__enter__(), url, tenant)

    yield start
    for one in opened:
        one.__exit__(None, None, None)


@pytest.fixture
def serve_here(tmp_path: Path) -> Iterator[Serve]:
    """The same on SQLite alone, for what has nothing to do with the store."""
    opened = []

    def start(**allowed: Any) -> Team:
        config = Config(as_of=AS_OF, timezone="UTC", tenants={"team": Tenant(**{"people": True, **allowed})})
        url = place_store(tmp_path)
        running = run_server(url, EVERY, config=config, own_tenants=config.tenants, asks_here=True)
        opened.append(running)
        return Team(running.__enter__(), url, "team")

    yield start
    for one in opened:
        one.__exit__(None, None, None)


def make_two(place: Path) -> tuple[MachineHere, MachineHere]:
    """Two machines of two people, each with other conversations."""
    claude = sorted((EXAMPLES / "claude-code").iterdir())
    return MachineHere(place, "loom", "ada", claude[:1]), MachineHere(
        place, "mill", "bob", [*claude[1:], EXAMPLES / "codex"]
    )


def make_both(place: Path) -> MachineHere:
    """One machine that holds what the two have."""
    return MachineHere(place, "both", "eve", [*sorted((EXAMPLES / "claude-code").iterdir()), EXAMPLES / "codex"])


SAME = ("score", "waterfall", "exclusions", "measures", "obstacles", "survival", "small", "grade", "by_judge")


def place_sessions(machine: MachineHere, team: Team, *, words: bool = False) -> list[dict[str, Any]]:
    """The sessions of a machine as the server should tell them."""
    return [
        one | {"person": machine.person, "machine": machine.name, "tenant": team.tenant}
        if words
        else strip(one) | {"person": machine.person, "machine": machine.name, "tenant": team.tenant}
        for one in machine.report()["sessions"]
    ]


def strip(one: dict[str, Any]) -> dict[str, Any]:
    """A session without words, told again in the test's own words."""
    facts = one["facts"] | {"files": [], "lines_by_file": {}, "pull_requests": []}
    facts["failure_signals"] = [signal | {"quote": ""} for signal in facts["failure_signals"]]
    facts["rework"] = facts["rework"] | {"by": None}
    return one | {
        "title": "", "summary": "", "citations": [], "facts": facts,
        "boundary": one["boundary"] | {"evidence": ""},
        "merged_from": [join | {"evidence": ""} for join in one["merged_from"]],
        "reasons": [reason | {"quote": ""} for reason in one["reasons"]],
        "intent_reasons": [reason | {"quote": ""} for reason in one["intent_reasons"]],
    }  # fmt: skip


def list_expected(team: Team, *machines: MachineHere, words: bool = False) -> list[dict[str, Any]]:
    every = [one for machine in machines for one in place_sessions(machine, team, words=words)]
    return sorted(every, key=lambda one: (one["started_at"], one["id"]))


# --- the sum of all machines --------------------------------------------------------------------


def test_a_server_tells_of_two_machines_what_both_tell_together(serve: Serve, tmp_path: Path):
    team, (loom, mill), both = serve(), make_two(tmp_path), make_both(tmp_path)
    first, second = team.ship(loom), team.ship(mill)
    assert (first.new, first.words, second.new) == (
        len(loom.report()["sessions"]),
        False,
        len(mill.report()["sessions"]),
    )
    assert team.sessions() == list_expected(team, loom, mill)
    score, expected = team.ask("/score", params={"by": ["person", "machine", "tenant", "project"]}), both.report()
    assert {name: score[name] for name in SAME if name != "waterfall"} == {
        name: expected[name] for name in SAME if name != "waterfall"
    }
    assert score["waterfall"]["sessions"] == expected["waterfall"]["sessions"]
    assert score["slices"]["project"] == expected["slices"]["project"]
    assert (score["slices"]["person"], score["slices"]["machine"]) == ([], [])  # two are no group
    slices = team.read_slices()
    people = {one.name: one.score.counted for one in slices["person"]}
    assert people == {"ada": loom.report()["score"]["counted"], "bob": mill.report()["score"]["counted"]}
    assert [one["name"] for one in score["slices"]["tenant"]] == [team.tenant]
    assert {one.name for one in slices["machine"]} == {"loom", "mill"}
    trend = team.ask("/trend")
    assert (trend["points"], trend["trend"]) == (expected["slices"]["week"], expected["trends"]["week"])
    ledger = team.ask("/ledger", params={"limit": 200})["ledger"]
    assert len(ledger) == len(expected["ledger"])
    assert {one["evidence"] for one in ledger} == {""}
    assert [one["name"] for one in team.ask("/machines")["machines"]] == ["loom", "mill"]


def test_what_is_there_is_not_sent_again(serve: Serve, tmp_path: Path):
    team, (loom, _) = serve(), make_two(tmp_path)
    team.ship(loom)
    before = team.sessions()
    again = team.ship(loom)
    assert (again.new, again.changed, again.withdrawn, again.bytes) == (0, 0, 0, 0)
    assert team.sessions() == before


def test_a_session_that_grew_takes_the_place_of_what_it_was(serve: Serve, tmp_path: Path):
    team, (loom, mill) = serve(), make_two(tmp_path)
    team.ship(loom)
    team.ship(mill)
    team.sessions()
    loom.grow()
    grown = team.ship(loom)
    assert 0 < grown.new + grown.changed < grown.sessions
    assert team.sessions() == list_expected(team, loom, mill)


def test_what_is_gone_is_withdrawn(serve: Serve, tmp_path: Path):
    team, (loom, mill) = serve(), make_two(tmp_path)
    team.ship(loom)
    team.ship(mill)
    folder = next(iter(loom.report()["sessions"]))["project"]
    loom.config = replace(loom.config, tenants={"private": Tenant(projects=(folder,), opt_out=True)})
    out = team.ship(loom)
    assert out.withdrawn == out.opted_out > 0
    assert team.sessions() == list_expected(team, mill)
    loom.config = replace(loom.config, tenants={})
    assert team.ship(loom).new == out.withdrawn


def test_only_the_last_days_can_be_shipped_and_leave_the_others_alone(serve_here: Serve, tmp_path: Path):
    team, both = serve_here(), make_both(tmp_path)
    ends = sorted(one["ended_at"] for one in both.report()["sessions"])
    late = team.ship(both, since=ends[-3])
    assert late.sessions == late.new == 3
    assert team.ship(both).new == len(ends) - 3
    assert team.ship(both, since=ends[-3]).withdrawn == 0
    assert len(team.sessions()) == len(ends)


# --- words --------------------------------------------------------------------------------------


def test_words_go_only_where_both_ends_want_it(serve: Serve, tmp_path: Path):
    team, (loom, _) = serve(words=True), make_two(tmp_path)
    assert team.ship(loom).words is False
    assert team.sessions() == list_expected(team, loom)
    spoken = team.ship(loom, words=True)
    assert (spoken.words, spoken.changed) == (True, spoken.sessions)
    assert team.sessions() == list_expected(team, loom, words=True)
    one = next(one for one in team.sessions() if one["title"])
    shown = team.ask(f"/sessions/{one['id']}")
    assert len(shown["turns"]) == one["facts"]["turns"]
    assert shown["turns"][0]["prompt"]["text"]
    assert team.ship(loom, words=True).changed == 0
    assert team.ship(loom).changed == spoken.sessions
    assert team.sessions() == list_expected(team, loom)
    assert team.ask(f"/sessions/{one['id']}")["turns"] == []


def test_words_that_are_not_allowed_are_not_even_sent(
    serve_here: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    sent: list[Any] = []
    hand_in = shipping.ShipClient.send
    monkeypatch.setattr(shipping.ShipClient, "send", lambda *of: (sent.append(of[1]), hand_in(*of))[1])
    assert team.ship(loom, words=True).words is False
    every = b"".join(bytes(one) for shipment in sent for one in shipment.sessions)
    assert every
    assert not [one for one in loom.report()["sessions"] if one["title"] and one["title"].encode() in every]


def test_words_that_come_though_they_may_not_are_dropped_and_that_is_said(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    fetch = shipping.ShipClient.fetch_known
    try:
        shipping.ShipClient.fetch_known = lambda client: (True, fetch(client)[1])  # type: ignore[method-assign]
        found = team.ship(loom, words=True)
    finally:
        shipping.ShipClient.fetch_known = fetch  # type: ignore[method-assign]
    assert found.words_dropped == found.sessions > 0
    assert team.sessions() == list_expected(team, loom)
    assert team.ship(loom).changed == 0


def test_words_that_were_deleted_at_the_server_do_not_come_back(serve: Serve, tmp_path: Path):
    team, (loom, _) = serve(words=True), make_two(tmp_path)
    team.ship(loom, words=True)
    one = next(one for one in team.sessions() if one["title"])
    assert team.ask(f"/sessions/{one['id']}/words", "DELETE")["conversations"] >= 1
    for _ in range(2):
        assert team.ask(f"/sessions/{one['id']}")["session"]["title"] == ""
        assert team.ask(f"/sessions/{one['id']}")["turns"] == []
        team.ship(loom, words=True)
    assert team.ship(loom, words=True).changed == 0
    with closing(open_store(to_tenant_url(team.url, team.tenant))) as store:
        assert one["title"].encode() not in b"".join(
            row.body for _, row in store.shipped.find_relatives([(one["agent"], one["id"])])
        )
    assert "words_deleted" in [deed["kind"] for deed in team.ask("/log")["deeds"]]


def test_words_older_than_the_tenant_keeps_them_are_dropped(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(words=True, retention_days=1), make_two(tmp_path)
    assert team.ship(loom, words=True).words_dropped == len(loom.report()["sessions"])
    assert not [one for one in team.sessions() if one["title"]]


def test_a_tenant_that_opted_out_is_sent_nothing(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(opt_out=True), make_two(tmp_path)
    with pytest.raises(BadInput, match="opted out"):
        team.ship(loom)


# --- one conversation from several places -------------------------------------------------------


def test_a_conversation_of_two_machines_is_told_once(serve: Serve, tmp_path: Path):
    team, both = serve(), make_both(tmp_path)
    loom, mill = make_two(tmp_path)
    team.ship(both)
    for machine in (loom, mill):
        team.ship(machine)
    told = team.sessions()
    assert [one["id"] for one in told] == [one["id"] for one in list_expected(team, both)]
    assert team.ask("/score")["score"] == both.report()["score"]
    assert team.ask("/machines/both", "DELETE")["sessions"] == len(told)
    assert team.sessions() == list_expected(team, loom, mill)


def test_the_machine_that_knows_more_of_a_conversation_tells_it(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    other = MachineHere(tmp_path, "attic", "ada", [loom.transcripts / "0"])
    team.ship(other)
    team.ship(loom)
    team.sessions()
    loom.grow()
    team.ship(loom)
    grown = {one["id"]: one for one in loom.report()["sessions"]}
    for one in team.sessions():
        assert one["ended_at"] == grown[one["id"]]["ended_at"]
    assert {one["machine"] for one in team.sessions()} == {"attic", "loom"}


def test_what_telemetry_told_of_a_shipped_conversation_is_not_added(serve: Serve, tmp_path: Path):
    team, (loom, _) = serve(), make_two(tmp_path)
    stream = loom.report()["sessions"][0]["streams"][0]
    body = build_logs("user_prompt", "user_prompt", session=stream)
    key = add_key(team.url, team.tenant)
    headers = {"authorization": f"Bearer {key}"}
    assert httpx.post(f"{team.running.address}/v1/logs", json=body, headers=headers).status_code == 200
    assert [one["agent"] for one in team.sessions()] == ["otel"]
    team.ship(loom)
    assert team.sessions() == list_expected(team, loom)
    assert team.ask("/machines/loom", "DELETE")
    assert [one["agent"] for one in team.sessions()] == ["otel"]


def test_a_transcript_that_is_read_here_is_told_instead_of_what_was_shipped(tmp_path: Path):
    loom, _ = make_two(tmp_path)
    url = place_store(tmp_path)
    with run_server(url, EVERY, config=Config(as_of=AS_OF, timezone="UTC")) as running:
        loom.ship(running.address, "")
        config = replace(loom.config, store=url)
        assert {one["machine"] for one in httpx.get(f"{running.address}{API}/sessions").json()["sessions"]} == {"loom"}
        read_report(config)
        found = httpx.get(f"{running.address}{API}/sessions", params={"limit": 200}).json()["sessions"]
    assert {one["machine"] for one in found} == {None}
    assert len(found) == len(loom.report()["sessions"])


# --- a person's word ----------------------------------------------------------------------------


def test_a_shipped_session_is_marked_at_the_server_and_stays_so(serve: Serve, tmp_path: Path):
    team, (loom, _) = serve(), make_two(tmp_path)
    team.ship(loom)
    one = next(one for one in team.sessions() if one["crushed"])
    marked = team.ask(f"/sessions/{one['id']}/mark", "PUT", json={"verdict": "not", "why": "the hem is open"})
    assert marked["session"]["crushed"] is False
    assert team.ask("/score")["score"]["crushed"] == loom.report()["score"]["crushed"] - 1
    assert [row["id"] for row in team.ask("/marks")["sessions"]] == [one["id"]]
    loom.grow()
    team.ship(loom)
    assert team.ask(f"/sessions/{one['id']}")["session"]["crushed"] is False
    assert team.ask(f"/sessions/{one['id']}/mark", "DELETE")["session"]["marked"] is None


# --- on the way ---------------------------------------------------------------------------------


def test_a_shipping_that_broke_off_goes_on(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    team, both = serve(), make_both(tmp_path)
    monkeypatch.setattr(shipping, "AT_ONCE", 3)
    hand_in, left = shipping.ShipClient.send, [2]

    def break_off(client: shipping.ShipClient, shipment: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ServiceUnreachable("cut")
        return hand_in(client, shipment)

    monkeypatch.setattr(shipping.ShipClient, "send", break_off)
    with pytest.raises(ServiceUnreachable):
        team.ship(both)
    assert len(team.sessions()) == 6
    left[0] = 999
    assert team.ship(both).new == len(both.report()["sessions"]) - 6
    assert team.sessions() == list_expected(team, both)


def test_an_answer_that_was_lost_has_nothing_stored_twice(
    serve_here: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    team, both = serve_here(), make_both(tmp_path)
    hand_in = shipping.ShipClient.send

    def lose(client: shipping.ShipClient, shipment: Any) -> Any:
        hand_in(client, shipment)
        raise ServiceUnreachable("the line went dead")

    monkeypatch.setattr(shipping.ShipClient, "send", lose)
    with pytest.raises(ServiceUnreachable):
        team.ship(both)
    monkeypatch.setattr(shipping.ShipClient, "send", hand_in)
    assert team.ship(both).new == 0
    assert team.sessions() == list_expected(team, both)


def test_a_killed_ship_is_whole_after_the_next(serve_here: Serve, tmp_path: Path):
    team, both = serve_here(), make_both(tmp_path)
    key = add_key(team.url, team.tenant)
    env = environment(
        ASSAY_KEY=key, ASSAY_STORE=both.store, ASSAY_PATHS=str(both.transcripts), ASSAY_AS_OF=AS_OF, HOME=str(tmp_path),
        TZ="UTC",
    )  # fmt: skip
    words = command("ship", "--to", team.running.address, "--machine", "both", "--person", "ada", "--json")
    for wait_s in (0.6, 1.2, 1.8):
        process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(wait_s)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(words, env=env, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert key.encode() not in done.stdout + done.stderr
    both.person = "ada"
    assert team.sessions() == list_expected(team, both)


def test_what_the_server_can_not_take_is_left_out_and_said(
    serve_here: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    team, both = serve_here(), make_both(tmp_path)
    chosen = both.report()["sessions"][4]["id"]
    encode = shipping.ENCODE
    broken = b'"turns":"many"'

    def spoil(one: Any) -> bytes:
        said = encode(one)
        return said.replace(b'"turns":%d' % one.session.facts["turns"], broken) if one.session.id == chosen else said

    monkeypatch.setattr(shipping, "ENCODE", spoil)
    found = team.ship(both)
    assert list(found.refused.values()) == [1]
    assert chosen not in [one["id"] for one in team.sessions()]
    assert len(team.sessions()) == len(both.report()["sessions"]) - 1


def test_a_dry_run_sends_nothing(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    found = team.ship(loom, is_dry=True)
    assert found.new == len(found.documents) == len(loom.report()["sessions"])
    assert team.sessions() == []
    assert team.ask("/machines")["machines"] == []


# --- who may ------------------------------------------------------------------------------------


def post(team: Team, key: str, body: bytes, machine: str = "loom", **headers: str) -> httpx.Response:
    named = {"content-type": "application/json", **headers, **({"authorization": f"Bearer {key}"} if key else {})}
    return httpx.post(f"{team.running.address}{API}/machines/{machine}/sessions", content=body, headers=named)


def test_keys_open_what_they_are_for(serve_here: Serve, tmp_path: Path):
    stranger = add_key(place_store(tmp_path), "strangers")
    team, (loom, _) = serve_here(), make_two(tmp_path)
    team.ship(loom)
    read, other = add_key(team.url, team.tenant, "read"), add_key(team.url, team.tenant)
    empty = b'{"sessions":[],"withdrawn":[]}'
    assert [post(team, one, empty).status_code for one in ("", read, team.reader, other)] == [401, 403, 403, 403]
    assert post(team, stranger, b'{"withdrawn":[["claude-code","x"]]}').json()["withdrawn"] == 0
    assert post(team, team.keys["loom"], empty).status_code == 200
    ours = f"{team.running.address}{API}/machines/loom/sessions"
    asked = httpx.get(ours, headers={"authorization": f"Bearer {other}"})
    assert asked.status_code == 403
    assert httpx.get(ours, headers={"authorization": f"Bearer {stranger}"}).json()["sessions"] == []
    assert len(team.sessions()) == len(loom.report()["sessions"])


def test_a_machine_goes_on_with_another_key_when_its_own_was_revoked(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    team.ship(loom)
    (own,) = [one["id"] for one in team.ask("/keys")["tenants"][0]["keys"] if one["scope"] == "ingest"]
    old = team.keys.pop("loom")
    with pytest.raises(BadInput, match="another key"):
        team.ship(loom)
    team.ask(f"/keys/{own}", "DELETE")
    assert team.ship(loom).new == 0
    with pytest.raises(BadInput, match="ASSAY_KEY"):
        loom.ship(team.running.address, old)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400), (b"{", 400), (b"[]", 400), (b'{"sessions":[1]}', 400), (b'{"sessions":[{}]}', 400),
        (b'{"person":"a\\u001bb"}', 400), (b'{"person":"' + b"a" * 81 + b'"}', 400), (b'{"surprise":1}', 400),
        (b'{"sessions":' + b"[" * 50_000 + b"]" * 50_000 + b"}", 400), (b'{"withdrawn":[["a"]]}', 400),
        (b"\xff\xfe", 400), (b'{"withdrawn":[["a","b\\u0000"]]}', 200),
    ],
)  # fmt: skip
def test_what_is_no_shipment_is_refused(serve_here: Serve, body: bytes, status: int):
    team = serve_here()
    key = add_key(team.url, team.tenant)
    assert post(team, key, body).status_code == status
    assert team.sessions() == []


@pytest.mark.parametrize("name", ["a%20b", "..", "%2e%2e%2fx", "a" * 41, "%00", "a%2fb"])
def test_a_machine_can_not_be_called_anything(serve_here: Serve, name: str):
    team = serve_here()
    assert post(team, add_key(team.url, team.tenant), b"{}", machine=name).status_code in (400, 403, 404, 405)


def test_a_body_that_unpacks_to_too_much_is_refused(serve_here: Serve):
    team = serve_here()
    bomb = gzip.compress(b'{"person":"' + b" " * (40 << 20))
    reply = post(team, add_key(team.url, team.tenant), bomb, **{"content-encoding": "gzip"})
    assert reply.status_code == 413


def change(document: dict[str, Any], path: str, value: Any) -> bytes:
    at = document
    *way, last = path.split(".")
    for name in way:
        at = at[name]
    at[last] = value
    return msgspec.json.encode({"sessions": [document]})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("session.id", "../../x"), ("session.id", ""), ("session.streams", []), ("session.streams", ["a\x1b[2J"]),
        ("session.agent", "a" * 400), ("session.started_at", "soon"), ("session.facts.turns", 10**15),
        ("session.facts.cost_usd", "much"), ("session.facts", {}), ("session.judge_status", "splendid"),
        ("session.facts.tokens", {"input": -(10**16)}), ("session.project", "x\x00y"), ("ages", [[1.0, True, 10**13]]),
        ("session.intent", "world peace"), ("session.facts.rework", {"state": "maybe"}), ("ledger", [{}]),
    ],
)  # fmt: skip
def test_a_session_that_no_report_could_work_with_is_refused(serve_here: Serve, tmp_path: Path, path: str, value: Any):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    document = msgspec.to_builtins(team.ship(loom, is_dry=True).documents[0])
    key = add_key(team.url, team.tenant)
    assert post(team, key, change(document, path, value), "mill").status_code == 400
    assert team.ask("/score")["waterfall"]["sessions"] == 0


def test_secrets_that_another_machine_let_pass_are_redacted(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(words=True), make_two(tmp_path)
    document = msgspec.to_builtins(team.ship(loom, is_dry=True, words=True).documents[0])
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    document["session"]["title"] = document["session"]["summary"] = f"use {secret}"
    document["turns"][0]["prompt"]["text"] = f"use {secret}"
    assert post(team, add_key(team.url, team.tenant), msgspec.json.encode({"sessions": [document]})).status_code == 200
    shown = httpx.get(
        f"{team.running.address}{API}/sessions/{document['session']['id']}",
        headers={"authorization": f"Bearer {team.reader}"},
    )
    assert shown.status_code == 200
    assert secret not in shown.text
    assert "redacted:" in shown.json()["session"]["title"]


def test_two_sessions_may_tell_of_the_same_boundary(serve_here: Serve, tmp_path: Path):
    team, (loom, _) = serve_here(), make_two(tmp_path)
    documents = [msgspec.to_builtins(one) for one in team.ship(loom, is_dry=True).documents[:2]]
    documents[1]["ledger"] = documents[0]["ledger"]
    key = add_key(team.url, team.tenant)
    assert post(team, key, msgspec.json.encode({"sessions": documents})).status_code == 200
    assert len(team.sessions()) == 2


# --- what people see ----------------------------------------------------------------------------


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
@pytest.mark.long
def test_the_corpus_of_two_machines_is_told_as_by_one(serve: Serve, tmp_path: Path):
    team = serve()
    parts = sorted(one for kind in CORPUS.iterdir() if kind.is_dir() for one in kind.iterdir() if one.is_dir())
    loom = MachineHere(tmp_path, "loom", "ada", parts[::2])
    mill = MachineHere(tmp_path, "mill", "bob", parts[1::2])
    for one in (loom, mill):
        assert not team.ship(one).refused
    assert team.sessions() == list_expected(team, loom, mill)
    assert [team.ship(one).new for one in (loom, mill)] == [0, 0]
