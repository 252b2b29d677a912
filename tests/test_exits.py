"""Nothing leaves unredacted: no exit lets a planted word through."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import assay
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from assay.testing.models import ErrorStatus, ModelServer
from tests.conftest import environment
from tests.exits.leaving import Place, claude_program, crash, reply
from tests.exits.planting import Secrets, claude_code, codex, forms, leaks
from tests.exits.pulled import Langfuse, hooked, native, proxied
from tests.tables import each_row

pytestmark = [pytest.mark.first, pytest.mark.long]
ELSEWHERE = "--since 2026-01-01 --into {top}/elsewhere"

# --- secrets ----------------------------------------------------------------------------------


class Planted:
    """Transcripts with a secret in every place."""

    def __init__(self, top: Path, server: Langfuse) -> None:
        self.secrets = Secrets()
        self.folder = f"/home/ada/{self.secrets('folder', named=True)}/loom"
        claude_code(top / "in" / "a", self.folder, self.secrets)
        codex(top / "in" / "b", self.folder, self.secrets)
        write_lines(top / "in" / f"{self.secrets('no transcript', named=True)}.jsonl", "nothing that anybody reads")
        server.observations = hooked(self.folder, self.secrets) + proxied(self.folder, self.secrets)
        server.observations += native(self.secrets)
        self.rows = server.observations
        self.place = Place(top, server=server)
        self.pulled = self.place.pull()
        self.pieces = self.secrets.pieces()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    with Langfuse() as server:
        yield Planted(tmp_path_factory.mktemp("exits"), server)


@pytest.fixture(scope="module")
def exits(planted: Planted) -> dict[str, str]:
    return planted.place.everything(secret=planted.secrets("new title", named=True))


def test_many_kinds_stand_in_many_places(planted: Planted):
    found = planted.secrets.planted
    assert len({one.kind for one in found.values()}) >= 15
    assert len(found) >= 115


def test_a_leak_would_be_seen(planted: Planted):
    pieces = planted.secrets.pieces()
    for place, secret in planted.secrets.planted.items():
        cut = secret.value[: -len(secret.value) // 3] if len(secret.value) > 60 else secret.value
        for text in forms(cut):
            assert place in leaks(f"it says {text} there", pieces), text


def test_no_exit_lets_a_secret_through(planted: Planted, exits: dict[str, str]):
    assert len(exits) > 40
    assert not {
        name: found for name, text in exits.items() if (found := leaks(text, planted.pieces | new_pieces(planted)))
    }


def new_pieces(planted: Planted) -> dict[str, str]:
    """With those that were planted since: the title that a person gave."""
    return planted.secrets.pieces()


@each_row(
    "name",
    ["score", "score --json", "score --by branch", "sessions --json", "streams --json", "doctor", "doctor --json",
     "out.json", "out.md", "out.csv", "show", "session rename", "egress --words", "egress --json", "quality --json",
     "quality --details", "quality --dry-run", "out-quality.json", "out-quality.md", "langfuse score", "langfuse push",
     "what Langfuse is sent"],
)  # fmt: skip
def test_markers_stand_in_their_place(exits: dict[str, str], name: str):
    said = [text for known, text in exits.items() if known.startswith(name)]
    assert any("[redacted:" in "".join(text.split()) for text in said)


def test_nothing_else_was_lost(exits: dict[str, str]):
    assert exits["score"].startswith("0\n")
    assert "no session or stream begins with 'nobody'" in exits["show nobody"]
    assert "streams begin with" in exits["show loom-"]
    assert "there is no turn 99" in next(text for name, text in exits.items() if name.endswith(" 99"))


def test_a_bug_of_ours_says_no_secret(planted: Planted):
    place, message = planted.place, planted.secrets("claude prompt", named=False)
    words = ["score", str(place.top / "in")]
    env = {"HOME": str(place.top / "home"), "ASSAY_STORE": str(place.top / "other.db")}
    said = crash("score", "build_report", message, words, env, place.top)
    assert not leaks(said, planted.pieces)
    assert "KeyError" in said
    assert "[redacted:" in said


def test_a_store_that_fails_says_no_secret(planted: Planted, tmp_path: Path):
    path = tmp_path / f"{planted.secrets('store', named=True)}.db"
    path.write_bytes(b"no store at all" * 100)
    ran = planted.place.run("score", planted.place.top / "in", "--store", path)
    assert ran.code == 2
    assert "is not an Assay store" in ran.err
    assert not leaks(ran.err + ran.out, planted.secrets.pieces())


def test_an_address_is_told_without_its_password(planted: Planted):
    word = planted.secrets("address", named=True)
    given = ["--judge", "anthropic", "--model-url", f"http://ada:{word}@127.0.0.1:9/x"]
    place = Place(planted.place.top, {"ASSAY_STORE": str(planted.place.top / "address.db")})
    for words in (["egress", "--json"], ["egress"], ["score"], ["score", "--yes"], ["score", "--yes", "--json"]):
        ran = place.run(words[0], place.top / "in", *words[1:], *given)
        assert "127.0.0.1:9/x" in ran.out + ran.err
        assert not leaks(ran.out + ran.err, planted.secrets.pieces())


def test_the_store_is_its_owners_alone(planted: Planted, exits: dict[str, str]):
    files = list(planted.place.top.glob("s.db*"))
    assert files
    assert not [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_python_gets_no_secret(planted: Planted, monkeypatch: pytest.MonkeyPatch):
    for name, value in environment(HOME=str(planted.place.top / "home")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(planted.place.top)
    report = assay.score(planted.place.top / "in", store=planted.place.top / "python.db", jobs=1)
    assert report.sessions
    assert not leaks(repr(report) + msgspec.json.encode(report).decode(), planted.pieces)


# --- what models are sent ---------------------------------------------------------------------


def sent(service: ModelServer) -> str:
    return "\n".join(
        f"{one.method} {one.path} {one.headers} {msgspec.json.encode(one.body).decode()}" for one in service.requests
    )


@pytest.mark.parametrize(("judge", "path"), [("anthropic", ""), ("openai", "/v1")])
def test_no_model_is_sent_a_secret(planted: Planted, judge: str, path: str):
    top = planted.place.top
    with ModelServer(reply) as service:
        place = Place(top, {"ASSAY_STORE": str(top / f"{judge}.db"), "ASSAY_MODEL_URL": f"{service.url}{path}"})
        shown = place.run("egress", top / "in", "--judge", judge, "--json").json
        assert len(service.calls) == 0
        ran = place.run("score", top / "in", "--judge", judge, "--yes", "--json")
        listed = place.run("sessions", top / "in", "--json")
        first = place.run("show", ran.json["sessions"][0]["id"])
        judged = place.run("quality", top / "in", "--judge", judge, "--yes", "--json")
        told = place.run("quality", top / "in", "--judge", judge, "--yes", "--details")
    assert len(service.calls) >= 6
    assert {one["judge"] for one in ran.json["sessions"]} >= {judge}
    assert {one["judge"] for one in judged.json["qualities"]} >= {judge}
    assert {one.job for one in service.calls} == {"topic", "session", "quality"}
    text = sent(service)
    assert not leaks(text, planted.pieces)
    assert text.count("[redacted:") > 20
    assert not leaks("".join(one.out + one.err for one in (ran, listed, first, judged, told)), planted.pieces)
    assert not [one for one in (ran, judged, told) if "[redacted:" not in one.out]
    # What is sent was shown before; all but topics depends on how a stream is cut.
    topics = {one["material"] for one in shown["requests"] if one["job"] == "topic"}
    assert topics
    assert not [one for one in topics if not any(one in call.text for call in service.calls)]


def test_no_word_of_a_model_reaches_langfuse_with_a_secret(planted: Planted):
    top, secret = planted.place.top, planted.secrets("claude prompt", named=False)

    def careless(job: str, text: str) -> dict[str, Any]:
        """Says what it was never told."""
        said = reply(job, text)
        return {name: one | {"rationale": secret} for name, one in said.items()} if job == "quality" else said

    with ModelServer(careless) as service, Langfuse(*planted.rows) as server:
        env = {"ASSAY_STORE": str(top / "careless.db"), "ASSAY_MODEL_URL": service.url, **server.env}
        place = Place(top, env)
        ran = place.run("langfuse", "score", *place.words(ELSEWHERE), "--judge", "anthropic", "--yes", "--json")
        told = place.run("quality", top / "elsewhere", "--judge", "anthropic", "--details")
    assert ran.code == 0, ran.err
    assert not leaks(sent(service), planted.pieces)
    assert {one["metadata"]["judge"] for _, _, _, body in server.log if isinstance(body, list) for one in body} == {
        "anthropic"
    }
    for text in (server.sent, ran.out + ran.err, told.out + told.err):
        assert not leaks(text, planted.pieces)
        assert "[redacted:" in text


def test_claude_is_given_no_secret(planted: Planted):
    top = planted.place.top
    program, notes = claude_program(top / "bin"), top / "notes"
    notes.mkdir()
    env = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "NOTES": str(notes)}
    place = Place(top, {"ASSAY_STORE": str(top / "cli.db"), **env})
    ran = place.run("score", top / "in", "--judge", "claude-cli", "--yes", "--json")
    assert {one["judge"] for one in ran.json["sessions"]} >= {"claude-cli"}
    judged = place.run("quality", top / "in", "--judge", "claude-cli", "--yes", "--json")
    assert {one["judge"] for one in judged.json["qualities"]} >= {"claude-cli"}
    given = {path.name: path.read_text("utf-8") for path in notes.iterdir()}
    assert len(given) >= 18
    assert not {name: found for name, text in given.items() if (found := leaks(text, planted.pieces))}
    assert any("[redacted:" in text for name, text in given.items() if name.endswith(".stdin"))


def test_a_model_that_fails_with_the_words_it_was_sent_is_not_quoted(planted: Planted):

    top = planted.place.top
    with ModelServer(lambda _, text: ErrorStatus(400, f"can't read {text[200:600]}")) as service:
        place = Place(top, {"ASSAY_STORE": str(top / "fails.db"), "ASSAY_MODEL_URL": service.url})
        ran = place.run("score", top / "in", "--judge", "anthropic", "--yes", "--json")
    assert not leaks(ran.out + ran.err, planted.pieces)


# --- Langfuse ---------------------------------------------------------------------------------


def test_what_is_pulled_is_its_owners_alone(planted: Planted):
    files = list((planted.place.top / "in" / "pulled").rglob("*.jsonl"))
    assert len(files) == 3
    assert not [path for path in files if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert not leaks(planted.pulled.out + planted.pulled.err, planted.pieces)


def test_scores_and_their_grounds_arrive_without_secrets(exits: dict[str, str]):
    text = exits["what Langfuse is sent"]
    assert {name for name in ("lf-hook", "lf-proxy", "loom-1", "t-kiosk") if f'"sessionId": "{name}"' in text} == {
        "lf-hook", "lf-proxy", "loom-1", "t-kiosk"
    }  # fmt: skip
    assert "assay_crushed" in text
    assert "overall_quality" in text
    assert '"quote": "' in text


@pytest.mark.parametrize("words", ["", "--json"])
def test_what_a_langfuse_server_says_is_redacted(planted: Planted, words: str):
    """In an error, of a score, in the names of things; also where what it says is cut."""
    key = planted.secrets("langfuse server", named=True)
    errors = [f"can't read {key}", f"{'so ' * 95}{key}", f"no password={key} at all"]
    pieces, told = planted.secrets.pieces(), []
    for n, error in enumerate(errors):
        with Langfuse(*planted.rows) as server:
            place = Place(planted.place.top, {"ASSAY_STORE": str(planted.place.top / f"said{n}.db"), **server.env})
            server.says = error
            told.append(place.run("langfuse", "score", *place.words(ELSEWHERE), "--wait", "0", *words.split()))
            server.list_observations = lambda _, error=error: (400, {}, {"message": error})  # type: ignore[method-assign,misc]
            told.append(place.run("langfuse", "pull", "lf-hook", "--into", place.top / "no", *words.split()))
            told.append(place.run("langfuse", "push", place.top / "in", *words.split()))
            server.list_projects = lambda error=error: (500, {}, {"message": error})  # type: ignore[method-assign,misc]
            told.append(place.run("langfuse", "setup", *words.split()))
    assert {one.code for one in told} == {0, 2}
    assert sum("[redacted:" in one.out for one in told) >= 6
    assert not [one for one in told if leaks(one.out + one.err, pieces)]


def test_names_in_a_langfuse_project_are_redacted(planted: Planted):
    key = planted.secrets("langfuse names", named=True)
    with Langfuse() as server:
        server.list_projects = lambda: (200, {}, {"data": [{"id": key, "name": key}]})  # type: ignore[method-assign]
        server.create_config({"name": "overall_quality", "dataType": "CATEGORICAL", "categories": [
            {"label": key, "value": 0}]})  # fmt: skip
        place = Place(planted.place.top, {"ASSAY_STORE": str(planted.place.top / "names.db"), **server.env})
        told = [place.run("langfuse", name, *more) for name in ("status", "setup") for more in ([], ["--json"])]
        told.append(place.run("langfuse", "pull", key))
    assert [one.code for one in told] == [0, 0, 2, 2, 0]
    assert not [one for one in told if leaks(one.out + one.err, planted.secrets.pieces())]
    assert not [one for one in told if "[redacted:" not in one.out]


# --- somebody who opted out -------------------------------------------------------------------

WORD = "quokka"


class Words:
    """Plants a word nobody else says in every place."""

    def __init__(self) -> None:
        self.places: list[str] = []

    def __call__(self, place: str, *, named: bool) -> str:
        if place.endswith((" transcript", " model", " agent id")):
            return "plain"  # where it is kept, and what it was paid for, is told
        self.places.append(place)
        number = f"{len(self.places):03}"
        return f"{WORD}{number}" if named else f"the {WORD}{number} of the {WORD}s is quick"


TENANTS = """
[tenants.acme]
projects = ["/work/acme"]
opt_out = true

[tenants.past]
projects = ["/work/past"]
retention_days = 1

[tenants.open]
projects = ["/work/open"]
"""


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two tenants whose words nobody may see, one of them since a while, beside one without such a wish."""
    top = tmp_path_factory.mktemp("silent")
    words = Words()
    claude_code(top / "in" / "a", "/work/acme/loom", words)
    codex(top / "in" / "b", "/work/acme/till", words)
    claude_code(top / "in" / "c", "/work/past/loom", words, "past-1")
    claude_code(top / "in" / "d", "/work/open/loom", lambda place, *, named: "wombat", "open-1")
    known = hooked("/work/open/loom", lambda place, *, named: "wombat", "lf-open")
    with Langfuse(*hooked("/work/acme/loom", words), *proxied("/work/acme/till", words), *known) as server:
        place = Place(top, server=server)
        place.pull()
        (top / "assay.toml").write_text(TENANTS)
        then = place.run("score", top / "in", "--as-of", "2026-03-02T12:00:00Z", "--json")
        assert WORD in then.out  # judged, and too old only later
        yield place


@pytest.fixture(scope="module")
def silent_exits(silent: Place) -> dict[str, str]:
    return silent.everything(most=6)


def said_of(text: str) -> int:
    return "".join(text.split()).lower().count(WORD)


def test_no_exit_says_a_word_of_somebody_who_opted_out(silent_exits: dict[str, str]):
    assert len(silent_exits) > 40
    assert not {name: text for name, text in silent_exits.items() if said_of(text)}
    assert "wombat" in silent_exits["what Langfuse is sent"]


def test_facts_in_numbers_are_still_there_and_nothing_counts(silent: Place):
    sessions = silent.found("sessions")
    mine = [one for one in sessions if one["project"].startswith(("/work/acme", "/work/past"))]
    others = [one for one in sessions if one["project"].startswith("/work/open")]
    assert {one["tenant"] for one in mine} == {"acme", "past"}
    assert {one["judge_status"] for one in mine} <= {"opted_out", "trivial"}
    assert sum(one["judge_status"] == "opted_out" for one in mine) >= 3
    assert {(one["crushed"], one["goal_complete"], one["intent"], one["title"]) for one in mine} == {
        (None, None, None, "")
    }
    assert sum(one["facts"]["lines_added"] for one in mine) > 20
    assert sum(one["facts"]["tool_calls"] for one in mine) > 10
    assert all(one["facts"]["tokens"]["output"] for one in mine if one["facts"]["tool_calls"])
    assert {one["judge_status"] for one in others} & {"ok", "no_goal"}
    assert "wombat" in msgspec.json.encode(others).decode()
    score = silent.run("score", silent.top / "in", "--json").json
    assert score["score"]["counted"] == sum(one["judge_status"] == "ok" for one in others)


def test_no_model_is_sent_a_word_of_somebody_who_opted_out(silent: Place):
    with ModelServer(reply) as service:
        env = {"ASSAY_STORE": str(silent.top / "asked.db"), "ASSAY_MODEL_URL": service.url}
        place = Place(silent.top, env)
        shown = place.run("egress", silent.top / "in", "--judge", "anthropic", "--json")
        ran = place.run("score", silent.top / "in", "--judge", "anthropic", "--yes", "--json")
        judged = place.run("quality", silent.top / "in", "--judge", "anthropic", "--yes", "--json")
    assert (ran.code, judged.code) == (0, 0)
    assert {one.job for one in service.calls} >= {"session", "quality"}
    assert "wombat" in sent(service)
    assert not said_of(sent(service) + shown.out + ran.out + ran.err + judged.out + judged.err)


def test_a_bug_of_ours_quotes_nobody_who_opted_out(silent: Place):
    env = {"HOME": str(silent.top / "home"), "ASSAY_STORE": str(silent.top / "s.db")}
    text = crash("score", "sign_listing", f"{WORD} of acme", ["score", str(silent.top / "in")], env, silent.top)
    assert "score.py" in text
    assert "KeyError" in text
    assert not said_of(text)


# --- what else may be wished ------------------------------------------------------------------


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Somebody who wants no address, home or host told."""
    top = tmp_path_factory.mktemp("private")
    address, home, host = "office@hopperette.io", "/home/hopperette/loom", "https://hopper-server.internal/x"

    def plant(place: str, *, named: bool) -> str:
        return "plain" if named else f"write to {address}, at {host}, in {home}/a.py"

    claude_code(top / "in" / "a", home, plant)
    codex(top / "in" / "b", home, plant)
    rows = hooked(home, plant) + proxied(home, plant) + native(plant)
    write_lines(
        top / "in" / "-home-hopperette-loom" / "x.jsonl",
        build_prompt(0, stream="z1", cwd=home),
        build_reply(1, stream="z1"),
    )
    on = "email = true\nhome = true\nhosts = true\n"
    tenant = '[tenants.hers]\nprojects = ["/home/hopperette"]\nretention_days = 36500\n'
    (top / "assay.toml").write_text(f"[redaction]\n{on}{tenant}")
    with Langfuse(*rows) as server:
        place = Place(top, server=server)
        place.pull()
        yield place


def test_options_hold_at_every_exit(private: Place):
    said = private.everything(most=2)
    assert not {
        name: text for name, text in said.items() if "hopper" in "".join(text.split()) and name != "names of files"
    }
    assert "[redacted:" in said["streams --json"]


def test_a_redacted_home_still_has_its_tenant(private: Place):
    known = [
        one for one in private.found("sessions") if not one["streams"][0].startswith("lf-native@")
    ]  # that one has no folder
    assert {one["tenant"] for one in known} == {"hers"}


# --- what a terminal would obey ---------------------------------------------------------------

OBEYED = "\x7f\x85\x9b\x9d\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u2028\u2029"


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Words full of controls, marks of direction and ends of lines."""
    top = tmp_path_factory.mktemp("wild")

    def plant(place: str, *, named: bool) -> str:
        if place.endswith((" transcript", " agent id")):
            return "plain"
        return f"wild{OBEYED}" if named else f"say \x9b31m{OBEYED} and wild"

    claude_code(top / "in" / "a", "/work/loom", plant)
    codex(top / "in" / "b", f"/work/till{OBEYED}", plant)
    with Langfuse(*hooked("/work/loom", plant), *proxied("/work/loom", plant), *native(plant)) as server:
        place = Place(top, server=server)
        place.pull()
        yield place


def test_no_exit_says_what_a_terminal_would_obey(wild: Place):
    said = wild.everything(most=2)
    assert len(said) > 40
    assert not {name: found for name, text in said.items() if (found := set(OBEYED) & set(text))}
    for name in ("sessions --json", "streams --json", "score --json", "out.json", "quality --json"):
        assert "\\u202e" in next(text for known, text in said.items() if known.startswith(name)), name
