"""Whose words a turn's are, where a conversation moves, and how telemetry tells."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from assay.config import Tenant
from assay.pipeline.privacy import find_named_tenant, find_tenant
from assay.testing.claude_code import build_prompt, build_reply, build_result, build_shell_call, write_lines
from assay.testing.models import ModelServer
from assay.types.value import sign_attribute, sign_key
from tests.exits.leaving import Place, reply
from tests.exits.pulled import Langfuse, native

TENANTS = """
[tenants.acme]
projects = ["/work/acme"]
opt_out = true

[tenants.open]
projects = ["/work/open"]
judges = ["openai", "offline"]
"""
OPEN, ACME, FREE = "/work/open/loom", "/work/acme/till", "/srv/free"


def moved(top: Path, stream: str, *places: tuple[str, str]) -> None:
    """A conversation of some turns, each in its folder with its word."""
    records = []
    for n, (folder, word) in enumerate(places):
        at = n * 100.0
        records += [
            build_prompt(at, f"Please mend the {word} in the loom and test it", stream, cwd=folder),
            build_shell_call(at + 1, f"pytest -q {word}.py > {word}.log", stream, cwd=folder),
            build_result(at + 2, at + 1, f"1 failed\nE   {word} is broken", stream) | {"cwd": folder},
            build_reply(at + 3, f"The {word} is mended", stream, cwd=folder),
        ]
    records.append({"type": "custom-title", "customTitle": "quokka of the wombats", "sessionId": stream})
    write_lines(top / f"{stream}.jsonl", *records)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    top = tmp_path_factory.mktemp("mixed")
    moved(top / "in", "into", (OPEN, "wombat"), (ACME, "quokka"), (OPEN, "wombat"))
    moved(top / "in", "out", (ACME, "quokka"), (FREE, "numbat"))
    moved(top / "in", "in", (ACME, "quokka"), (f"{ACME}/deeper", "quokka"))
    write_lines(
        top / "in" / "x.jsonl", build_prompt(0, "why?", "loom-1", cwd=FREE), build_reply(1, "so", "loom-1", cwd=FREE)
    )
    write_lines(
        top / "in" / "y.jsonl", build_prompt(0, "how?", "loom-1b", cwd=FREE), build_reply(1, "so", "loom-1b", cwd=FREE)
    )
    (top / "assay.toml").write_text(TENANTS)
    with Langfuse() as server:
        yield Place(top, server=server)


@pytest.mark.long
def test_only_turns_in_an_opted_out_folder_are_silent_at_every_exit(mixed: Place):
    said = mixed.everything()
    assert not {name: text for name, text in said.items() if "quokka" in "".join(text.split()).lower()}
    told = "".join(text for name, text in said.items() if name.startswith("show"))
    assert "wombat" in told
    assert "numbat" in told


def test_a_stream_that_left_an_opted_out_folder_is_judged_by_what_follows(mixed: Place):
    sessions = {one["streams"][0]: one for one in mixed.found("sessions")}
    assert sessions["in"]["judge_status"] in ("opted_out", "trivial")
    assert sessions["in"]["tenant"] == "acme"
    heard = [one for one in mixed.found("sessions") if one["streams"][0] == "out" and one["title"]]
    assert heard
    assert all("numbat" in one["title"] for one in heard)


def test_no_model_is_sent_a_word_of_a_silent_turn(mixed: Place):
    with ModelServer(reply) as service:
        env = {"ASSAY_STORE": str(mixed.top / "asked.db"), "ASSAY_MODEL_URL": f"{service.url}/v1"}
        place = Place(mixed.top, env)
        ran = place.run("score", mixed.top / "in", "--judge", "openai", "--model", "x", "--yes", "--json")
        judged = place.run("quality", mixed.top / "in", "--judge", "openai", "--model", "x", "--yes", "--json")
    sent = "".join(str(one.body) for one in service.requests)
    assert (ran.code, judged.code) == (0, 0)
    assert "wombat" in sent
    assert "numbat" in sent
    assert "quokka" not in sent + ran.out + judged.out


def test_a_model_that_one_of_the_tenants_forbids_is_asked_nothing_of_the_stream(mixed: Place):
    with ModelServer(reply) as service:
        env = {"ASSAY_STORE": str(mixed.top / "forbidden.db"), "ASSAY_MODEL_URL": service.url}
        Place(mixed.top, env).run("score", mixed.top / "in", "--judge", "anthropic", "--yes", "--json")
    sent = "".join(str(one.body) for one in service.requests)
    assert "wombat" not in sent
    assert "numbat" in sent


# --- by what a tenant is known ----------------------------------------------------------------

KEY = sha256(b"pk-1").hexdigest()
KNOWN = {
    "mill": Tenant(attributes={"team": "mill", "site": "north"}),
    "keyed": Tenant(keys=(KEY,)),
    "here": Tenant(projects=("/work",)),
}


@pytest.mark.parametrize(
    ("folder", "signs", "tenant"),
    [
        ("/work/x", [], "here"),
        ("/srv", [sign_attribute("team", "mill"), sign_attribute("site", "north")], "mill"),
        ("/srv", [sign_attribute("team", "mill")], None),
        ("", [sign_key(KEY.upper())], "keyed"),
        ("/work/x", [sign_key(KEY)], "keyed"),
        ("", [], None),
    ],
)
def test_the_first_tenant_that_fits_is_the_one(folder: str, signs: list[str], tenant: str | None):
    assert find_tenant(KNOWN, folder, signs) == tenant


def test_of_several_tenants_whatever_one_forbids_is_forbidden():
    some = {"a": Tenant(retention_days=9, judges=("openai", "x")), "b": Tenant(retention_days=3, judges=("openai",))}
    both = find_named_tenant(some, "a + b")
    assert both is not None
    assert (both.opt_out, both.retention_days, both.judges) == (False, 3, ("openai",))
    assert find_named_tenant(some, "a") == some["a"]
    assert find_named_tenant(some, None) is None


BY_TEAM = 'attributes = {team = "mill"}'


def plainly(place: str, *, named: bool) -> str:
    return "plain" if named else "the quokka of the quokkas is quick"


@pytest.mark.parametrize("way", ["nested", "flat", "user", "key"])
def test_a_session_from_langfuse_without_a_folder_has_a_tenant(tmp_path: Path, way: str):
    rows = native(plainly)
    for row in rows:
        if way == "nested":
            row["metadata"] = row["metadata"] | {"resourceAttributes": {"team": "mill", "service.name": "x"}}
        elif way == "flat":
            row["metadata"] = row["metadata"] | {"resourceAttributes.team": "mill"}
        elif way == "user":
            row["userId"] = "mill@acme.io"
    with Langfuse(*rows) as server:
        known = {"user": 'attributes = {"user.id" = "mill@acme.io"}', "key": f'keys = ["{public(server)}"]'}
        (tmp_path / "assay.toml").write_text(f"[tenants.mill]\nopt_out = true\n{known.get(way, BY_TEAM)}\n")
        place = Place(tmp_path, server=server)
        assert place.pull().code == 0
        found = place.found("sessions")
        shown = place.run("show", found[0]["id"], "--json")
        listed = place.run("streams", tmp_path / "in", "--json")
    assert {one["tenant"] for one in found} == {"mill"}
    assert "quokka" not in shown.out + listed.out + str(found)
    assert "mill@acme.io" not in shown.out + listed.out


def public(server: Langfuse) -> str:
    return sha256(server.env["LANGFUSE_PUBLIC_KEY"].encode()).hexdigest()


def test_a_folder_is_a_tenants_by_whatever_way_one_gets_there(tmp_path: Path):
    (tmp_path / "secret" / "sub").mkdir(parents=True)
    (tmp_path / "pub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    ways = [
        "secret",
        "secret/sub",
        "link",
        "link/sub",
        "pub/../secret",
        "./secret",
        "/secret",
        "secret/",
        "link/../secret",
    ]
    for place in ("secret", "link", "pub/../secret", "secret/"):
        tenants = {"quiet": Tenant(projects=(f"{tmp_path}/{place}",), opt_out=True)}
        assert [way for way in ways if find_tenant(tenants, f"{tmp_path}/{way}") != "quiet"] == []
        assert find_tenant(tenants, f"/{tmp_path}/secret") == "quiet"
        assert find_tenant(tenants, f"{tmp_path}/secrets") is None
        assert find_tenant(tenants, f"{tmp_path}/pub") is None
