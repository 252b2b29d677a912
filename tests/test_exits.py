"""Nothing leaves unredacted: no exit is reachable but through one step, and none lets a planted word through."""

import ast
import os
import stat
from pathlib import Path

import msgspec
import pytest

import assay
from assay.cli.saving import FORMATS
from assay.scores.slices import WAYS
from tests.conftest import environment, replied, said, write
from tests.exits.leaving import EXITS, Place, claude_program, commands, crash, reply
from tests.exits.planting import Secrets, claude_code, codex, forms, leaks
from tests.exits.structure import RULES, SRC, allowed, broken
from tests.llm.standin import Standin

TREES = {file.relative_to(SRC).as_posix(): ast.parse(file.read_text("utf-8")) for file in sorted(SRC.rglob("*.py"))}

# --- no exit is reachable but through one step ------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_only_few_files_may(name: str):
    rule = RULES[name]
    assert not {
        path: found for path, tree in TREES.items() if not allowed(rule, path) and (found := broken(rule, tree))
    }


@pytest.mark.parametrize("name", RULES)
def test_every_file_that_may_does(name: str):
    rule, later = RULES[name], {"http.py", "langfuse"}
    does = [path for path, tree in TREES.items() if broken(rule, tree)]
    assert not [
        one for one in rule.allowed.keys() - later if not any(p == one or p.startswith(f"{one}/") for p in does)
    ]


PLANTED = {
    "kept turns are decoded": [
        "turns = msgspec.msgpack.Decoder(Turn).decode", "msgspec.msgpack.decode(body, type=Turn)",
        "msgspec.msgpack.decode(body, type=tuple[Turn, ...])", "from assay.pipeline.work import DECODE",
        "from assay.pipeline.work import Joining, pieces_of",
    ],
    "kept summaries, pieces and skips are fetched": [
        "titles = [one.title for one in store.streams(roots)]", "found.store.find(prefix)",
        "self.store.pieces_of(agent, id)", "opened.skipped(roots)",
    ],
    "words are declared clean": ["Clean(prompt.text)", "types.Clean(text)", "map(str, [Clean(x)])"],
    "the network is used": [
        "import httpx", "from urllib.request import urlopen", "import urllib.request as u", "import socket, os",
        "importlib.import_module('requests')", "__import__('smtplib')", "from http import client",
        "def f():\n    import ssl",
    ],
    "modules are imported by a name that is not written there": ["importlib.import_module(name)"],
    "programs are started": [
        "import subprocess", "from subprocess import run", "os.system('curl')", "os.popen('x')",
        "await asyncio.create_subprocess_exec('x')", "os.execve(p, a, e)",
    ],
    "something is printed or logged": [
        "print(turn)", "import logging", "from logging import getLogger", "import warnings", "sys.stderr.write(x)",
        "from rich.console import Console",
    ],
    "files are written": [
        "Path(x).write_text(words)", "open(x, 'w')", "path.open('ab')", "open(x, mode='x')", "os.open(x, flags)",
        "tempfile.mkstemp()", "io.open(p, 'r+')",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "source"), [(name, one) for name, some in PLANTED.items() for one in some])
def test_a_rule_finds_what_breaks_it(name: str, source: str):
    assert broken(RULES[name], ast.parse(source))
    assert PLANTED.keys() == RULES.keys()


@pytest.mark.parametrize(
    "source",
    [
        "import urllib.parse", "text.find('x')", "open(path, 'rb')", "path.open('rb', buffering=0)",
        "path.read_text('utf-8')", "ENCODE = msgspec.msgpack.Encoder().encode", "def show(turn: Turn): ...",
        "importlib.import_module('assay.llm')", "importlib.import_module(f'assay.{kind}')",
    ],
)  # fmt: skip
def test_a_rule_finds_nothing_else(source: str):
    assert not [name for name, rule in RULES.items() if broken(rule, ast.parse(source))]


def test_the_table_of_exits_is_whole():
    there = dict(commands())
    assert there.keys() == EXITS.keys()
    told = {name: {word for words in some for word in words.split()} for name, some in EXITS.items()}
    assert not {name: flags - told[name] for name, flags in there.items() if flags - told[name]}
    assert {f"{{top}}/out{ending}" for ending in FORMATS} | set(WAYS) <= told["score"]


# --- secrets ----------------------------------------------------------------------------------


class Planted:
    """Transcripts with a secret in every place."""

    def __init__(self, top: Path) -> None:
        self.secrets = Secrets()
        self.folder = f"/home/ada/{self.secrets('folder', named=True)}/loom"
        claude_code(top / "in" / "a", self.folder, self.secrets)
        codex(top / "in" / "b", self.folder, self.secrets)
        write(top / "in" / f"{self.secrets('no transcript', named=True)}.jsonl", "nothing that anybody reads")
        self.place = Place(top)
        self.pieces = self.secrets.pieces()


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return Planted(tmp_path_factory.mktemp("exits"))


@pytest.fixture(scope="module")
def exits(planted: Planted) -> dict[str, str]:
    return planted.place.everything(secret=planted.secrets("new title", named=True))


def test_many_kinds_stand_in_many_places(planted: Planted):
    found = planted.secrets.planted
    assert len({one.kind for one in found.values()}) >= 15
    assert len(found) >= 85


def test_a_leak_would_be_seen(planted: Planted):
    for place, secret in planted.secrets.planted.items():
        cut = secret.value[: -len(secret.value) // 3] if len(secret.value) > 60 else secret.value
        for text in forms(cut):
            assert place in leaks(f"it says {text} there", planted.pieces), text


def test_no_exit_lets_a_secret_through(planted: Planted, exits: dict[str, str]):
    assert len(exits) > 40
    assert not {
        name: found for name, text in exits.items() if (found := leaks(text, planted.pieces | new_pieces(planted)))
    }


def new_pieces(planted: Planted) -> dict[str, str]:
    """With those that were planted since: the title that a person gave."""
    return planted.secrets.pieces()


@pytest.mark.parametrize(
    "name",
    ["score", "score --json", "score --by branch", "sessions --json", "streams --json", "doctor", "doctor --json",
     "out.json", "out.md", "out.csv", "show", "session rename", "egress --words", "egress --json"],
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
    said = crash("scoring", "report", message, words, env, place.top)
    assert not leaks(said, planted.pieces)
    assert "KeyError" in said
    assert "[redacted:" in said


def test_a_store_that_fails_says_no_secret(planted: Planted):
    path = planted.place.top / f"{planted.secrets('store', named=True)}.db"
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


def sent(service: Standin) -> str:
    return "\n".join(
        f"{one.method} {one.path} {one.headers} {msgspec.json.encode(one.body).decode()}" for one in service.requests
    )


@pytest.mark.parametrize(("judge", "path"), [("anthropic", ""), ("openai", "/v1")])
def test_no_model_is_sent_a_secret(planted: Planted, judge: str, path: str):
    top = planted.place.top
    with Standin(reply) as service:
        place = Place(top, {"ASSAY_STORE": str(top / f"{judge}.db"), "ASSAY_MODEL_URL": f"{service.url}{path}"})
        shown = place.run("egress", top / "in", "--judge", judge, "--json").json
        assert len(service.calls) == 0
        ran = place.run("score", top / "in", "--judge", judge, "--yes", "--json")
        listed = place.run("sessions", top / "in", "--json")
        first = place.run("show", ran.json["sessions"][0]["id"])
    assert len(service.calls) >= 6
    assert {one["judge"] for one in ran.json["sessions"]} >= {judge}
    text = sent(service)
    assert not leaks(text, planted.pieces)
    assert text.count("[redacted:") > 20
    assert not leaks("".join([ran.out, ran.err, listed.out, first.out]), planted.pieces)
    assert "[redacted:" in ran.out
    # What is sent was shown before; all but topics depends on how a stream is cut.
    topics = {one["material"] for one in shown["requests"] if one["job"] == "topic"}
    assert topics
    assert not [one for one in topics if not any(one in call.text for call in service.calls)]


def test_claude_is_given_no_secret(planted: Planted):
    top = planted.place.top
    program, notes = claude_program(top / "bin"), top / "notes"
    notes.mkdir()
    env = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "NOTES": str(notes)}
    place = Place(top, {"ASSAY_STORE": str(top / "cli.db"), **env})
    ran = place.run("score", top / "in", "--judge", "claude-cli", "--yes", "--json")
    assert {one["judge"] for one in ran.json["sessions"]} >= {"claude-cli"}
    given = {path.name: path.read_text("utf-8") for path in notes.iterdir()}
    assert len(given) >= 18
    assert not {name: found for name, text in given.items() if (found := leaks(text, planted.pieces))}
    assert any("[redacted:" in text for name, text in given.items() if name.endswith(".stdin"))


def test_a_model_that_fails_with_the_words_it_was_sent_is_not_quoted(planted: Planted):
    from tests.llm.standin import Status

    top = planted.place.top
    with Standin(lambda _, text: Status(400, f"can't read {text[200:600]}")) as service:
        place = Place(top, {"ASSAY_STORE": str(top / "fails.db"), "ASSAY_MODEL_URL": service.url})
        ran = place.run("score", top / "in", "--judge", "anthropic", "--yes", "--json")
    assert not leaks(ran.out + ran.err, planted.pieces)


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
def silent(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Two tenants whose words nobody may see, one of them since a while, beside one without such a wish."""
    top = tmp_path_factory.mktemp("silent")
    words = Words()
    claude_code(top / "in" / "a", "/work/acme/loom", words)
    codex(top / "in" / "b", "/work/acme/till", words)
    claude_code(top / "in" / "c", "/work/past/loom", words, "past-1")
    claude_code(top / "in" / "d", "/work/open/loom", lambda place, *, named: "wombat", "open-1")
    place = Place(top)
    (top / "assay.toml").write_text(TENANTS)
    then = place.run("score", top / "in", "--as-of", "2026-03-02T12:00:00Z", "--json")
    assert WORD in then.out  # judged, and too old only later
    return place


@pytest.fixture(scope="module")
def silent_exits(silent: Place) -> dict[str, str]:
    return silent.everything(most=6)


def said_of(text: str) -> int:
    return "".join(text.split()).lower().count(WORD)


def test_no_exit_says_a_word_of_somebody_who_opted_out(silent_exits: dict[str, str]):
    assert len(silent_exits) > 40
    assert not {name: text for name, text in silent_exits.items() if said_of(text)}


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
    with Standin(reply) as service:
        env = {"ASSAY_STORE": str(silent.top / "asked.db"), "ASSAY_MODEL_URL": service.url}
        place = Place(silent.top, env)
        shown = place.run("egress", silent.top / "in", "--judge", "anthropic", "--json")
        ran = place.run("score", silent.top / "in", "--judge", "anthropic", "--yes", "--json")
    assert ran.code == 0
    assert service.calls
    assert "wombat" in sent(service)
    assert not said_of(sent(service) + shown.out + ran.out + ran.err)


def test_a_bug_of_ours_quotes_nobody_who_opted_out(silent: Place):
    env = {"HOME": str(silent.top / "home"), "ASSAY_STORE": str(silent.top / "s.db")}
    text = crash("scoring", "report", f"{WORD} of acme", ["score", str(silent.top / "in")], env, silent.top)
    assert "scoring.py" in text
    assert "KeyError" in text
    assert not said_of(text)


# --- what else may be wished ------------------------------------------------------------------


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Somebody who wants no address, home or host told."""
    top = tmp_path_factory.mktemp("private")
    address, home, host = "office@hopperette.io", "/home/hopperette/loom", "https://hopper-server.internal/x"

    def plant(place: str, *, named: bool) -> str:
        return "plain" if named else f"write to {address}, at {host}, in {home}/a.py"

    claude_code(top / "in" / "a", home, plant)
    codex(top / "in" / "b", home, plant)
    write(top / "in" / "-home-hopperette-loom" / "x.jsonl", said(0, stream="z1", cwd=home), replied(1, stream="z1"))
    on = "email = true\nhome = true\nhosts = true\n"
    tenant = '[tenants.hers]\nprojects = ["/home/hopperette"]\nretention_days = 36500\n'
    (top / "assay.toml").write_text(f"[redaction]\n{on}{tenant}")
    return Place(top)


def test_options_hold_at_every_exit(private: Place):
    said = private.everything(most=2)
    assert not {
        name: text for name, text in said.items() if "hopper" in "".join(text.split()) and name != "names of files"
    }
    assert "[redacted:" in said["streams --json"]


def test_a_redacted_home_still_has_its_tenant(private: Place):
    assert {one["tenant"] for one in private.found("sessions")} == {"hers"}
