"""`assay keys`: made once, shown once, revoked for good, and all of it told by the audit log."""

from pathlib import Path

import pytest

from tests.conftest import is_one_line, run


def make(store: Path, *words: str) -> dict[str, object]:
    made: dict[str, object] = run("keys", "add", "loom", *words, "--store", store, "--json").json
    return made


def test_a_key_is_shown_once_and_stands_nowhere_in_the_store(tmp_path: Path):
    store = tmp_path / "s.db"
    token = str(make(store)["token"])
    assert token.startswith("assay-key.own.")
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*"))
    assert token.rpartition(".")[2].encode() not in kept
    assert token not in run("keys", "list", "--store", store, "--json").out


def test_keys_of_every_tenant_are_listed_and_one_is_revoked_by_its_id(tmp_path: Path):
    store = tmp_path / "s.db"
    for tenant in ("own", "mill"):
        make(store, "--tenant", tenant, "--scope", "read")
    listed = run("keys", "list", "--store", store, "--json").json["tenants"]
    assert [one["tenant"] for one in listed] == ["mill", "own"]
    key_id = listed[0]["keys"][0]["id"]
    revoked = run("keys", "revoke", key_id, "--store", store, "--json").json["tenants"]
    assert [(one["tenant"], bool(one["keys"][0]["revoked_at"])) for one in revoked] == [("mill", True)]
    again = run("keys", "revoke", key_id, "--store", store)
    assert again.code == 2
    assert is_one_line(again.err)
    told = run("keys", "log", "--tenant", "mill", "--store", store, "--json").json["deeds"]
    assert [(one["kind"], one["about"]) for one in told] == [("key_made", key_id), ("key_revoked", key_id)]
    assert run("keys", "log", "--store", store, "--json").json["deeds"][0]["about"] != key_id


@pytest.mark.parametrize(
    "words",
    [
        ("add", "x", "--scope", "root"), ("add", " "), ("add", "x" * 61), ("add", "x", "--tenant", "../x"),
        ("revoke", "nobody"), ("revoke", "' OR 1=1 --"), ("list", "--tenant", "A/B"),
    ],
)  # fmt: skip
def test_what_can_be_no_key_is_refused_in_one_line(tmp_path: Path, words: tuple[str, ...]):
    ran = run("keys", *words, "--store", tmp_path / "s.db")
    assert ran.code == 2
    assert is_one_line(ran.err)
