"""What is kept of a stream, as it may be seen, and as its files can be found again."""

from datetime import UTC, datetime

import pytest

from assay.config import Config, Redaction, Tenant
from assay.pipeline.privacy import build_rules, redact_stream
from assay.pipeline.scan_worker import ENCODE
from assay.stores import StreamPieces
from assay.types import Call, Edit, Part, Prompt, Turn

HOME = "/home/hazel/loom"
NOW = datetime(2026, 3, 2, tzinfo=UTC)


def kept(text: str = "mend it, mail hazel@loom-mill.net") -> StreamPieces:
    edit = Call(id="1", at="", name="Edit", kind="edit", edits=(Edit(path=f"{HOME}/a.py", added=1),), status="ok")
    turn = Turn(at="2026-03-01T09:00:00Z", prompt=Prompt(at="", text=text, key=1), calls=(edit,))
    part = Part(agent="claude-code", stream="s", cwd=HOME, ended_at="2026-03-01T09:00:00Z")
    return StreamPieces(pieces=(("s.jsonl", part, (ENCODE(turn),)),), elsewhere=frozenset())


def test_a_redacted_home_is_still_found_again():
    found = redact_stream(kept(), build_rules(Config(redaction=Redaction(home=True, email=True)), NOW))
    assert "hazel" not in repr(found.stream)
    assert found.placed.about.cwd == HOME
    assert found.placed.turns[0].calls[0].edits[0].path == f"{HOME}/a.py"


def test_without_options_only_secrets_go():
    secret = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    found = redact_stream(kept(f"use {secret}"), build_rules(Config(), NOW))
    assert found.stream is found.placed
    assert found.stream.turns[0].prompt
    assert found.stream.turns[0].prompt.text == "use [redacted:github-token]"
    assert found.stream.about.cwd == HOME


@pytest.mark.parametrize(
    ("tenant", "why"),
    [
        (Tenant(projects=("/home/hazel",), opt_out=True), "opted out"),
        (Tenant(projects=("/home/hazel",), retention_days=0.5), "kept no longer than its tenant allows"),
        (Tenant(projects=("/home/hazel",), retention_days=2), ""),
        (Tenant(projects=("/home/haze",), opt_out=True), ""),
    ],
)
def test_a_tenants_words_are_withheld_by_folder_and_age(tenant: Tenant, why: str):
    found = redact_stream(kept(), build_rules(Config(tenants={"mill": tenant}), NOW))
    assert found.withheld == why
    assert ("mend" in repr(found.stream)) is not bool(why)
