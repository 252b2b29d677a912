"""What hooks kept is taken in once: an end beside a transcript, a whole conversation where there is none."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.config import Config
from assay.pipeline.inputs import TELEMETRY_ROOT, FoundFiles, find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.spool import drop_events, parse_payload, read_spool, take_spool
from assay.stores import Store, open_store
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from tests.agent.hooks import keep, keep_all, list_kept, say, spool_of
from tests.conftest import run

WRITE = {"tool_name": "Write", "tool_input": {"file_path": "/home/ada/loom/hat.py", "content": "a = 1\nb = 2\n"}}
ASKED = {"tool_name": "Bash", "tool_input": {"command": "rm -r yarn", "description": "Tidy up"}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def take(store: Store, home: Path, *folders: Path) -> tuple[int, int, int]:
    found = find_files([Path(TELEMETRY_ROOT), *folders])
    taken = take_spool(store, found, {"HOME": str(home)})
    scan(store, found, 1, ignore_progress)
    return taken.kept, taken.told, taken.unreadable


def list_streams(store: Store) -> list[str]:
    return [one.id for one in store.transcripts.list_streams(None)]


def tell_two_conversations(home: Path) -> None:
    """A file is written, /clear, and on with the same file; a command is refused."""
    patch = {"type": "create", "filePath": "/home/ada/loom/hat.py", "content": "a = 1\nb = 2\n", "structuredPatch": []}
    keep_all(
        home,
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "Knit the hat", "prompt_id": "p1"}),
        ("PostToolUse", {**WRITE, "tool_response": patch, "tool_use_id": "t1"}),
        ("PostToolUseFailure", {"tool_name": "Bash", "tool_input": {"command": "pytest"}, "error": "Exit code 1\nbad",
                                "tool_use_id": "t2"}),
        ("Stop", {"last_assistant_message": "It is knitted."}),
        ("SessionEnd", {"reason": "clear"}),
    )  # fmt: skip
    keep_all(
        home,
        ("SessionStart", {"source": "clear"}),
        ("UserPromptSubmit", {"prompt": "Now the brim of the hat", "prompt_id": "p2"}),
        ("PostToolUse", {**WRITE, "tool_use_id": "t3"}),
        ("PermissionRequest", ASKED),
        ("SessionStart", {"source": "compact"}),
        ("UserPromptSubmit", {"prompt": "<task-notification>done</task-notification>"}),
        ("SessionEnd", {"reason": "prompt_input_exit"}),
        session="c-2",
    )


def test_conversations_without_a_transcript_are_told_by_their_events(store: Store, tmp_path: Path):
    tell_two_conversations(tmp_path)
    assert take(store, tmp_path) == (13, 0, 0)
    assert list_streams(store) == ["c-1@claude-code", "c-2@claude-code"]
    late = Config(as_of=(datetime.now(UTC) + timedelta(hours=1)).isoformat())
    with open_run(store, late, None, jobs=1) as running:
        report = score_run(running, remembers=False).report
    assert [(one.boundary.signal, one.facts.get("lines_added")) for one in report.sessions] == [("conversation", 4)]
    (whole,) = report.sessions
    assert len(whole.merged_from) == 1
    assert (whole.facts["rejections"], whole.facts["compactions"], whole.facts["tool_calls"]) == (1, 1, 4)
    second = {(one.signal, one.effect) for one in report.ledger if one.stream == "c-2@claude-code"}
    assert second == {("clear", "began"), ("merge", "joined")}


def test_events_are_taken_once(store: Store, tmp_path: Path):
    tell_two_conversations(tmp_path)
    events = list(read_spool(spool_of(tmp_path)))
    copies = {one.path: (one.path.read_bytes(), one.path.stat()) for one in events}
    assert take(store, tmp_path)[0] == 13
    assert list_kept(tmp_path) == []
    assert take(store, tmp_path) == (0, 0, 0)
    for path, (content, stat) in copies.items():  # as if it had been killed before they were deleted
        path.write_bytes(content)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    take(store, tmp_path)
    assert sum(one.records for one in store.telemetry.list_conversations()) == 13


def test_of_a_conversation_with_a_transcript_nothing_is_told_twice(store: Store, tmp_path: Path):
    path = write_lines(tmp_path / "in" / "c-1.jsonl", build_prompt(0, stream="c-1"), build_reply(1, stream="c-1"))
    for name in ("SessionStart", "UserPromptSubmit", "SessionEnd"):
        keep(tmp_path, name, say(name, transcript_path=str(path), prompt="weave the blue scarf"))
    assert take(store, tmp_path, tmp_path / "in") == (0, 3, 0)
    assert store.telemetry.list_conversations() == []
    path.unlink()
    keep(tmp_path, "SessionStart", say("SessionStart", transcript_path=str(path)))
    assert take(store, tmp_path, tmp_path / "in") == (0, 1, 0)


def test_what_is_no_event_is_dropped_and_counted(store: Store, tmp_path: Path):
    for told in (b"{", b"[]", b"\xff\xfe", b'{"session_id": 3}', b'{"session_id": "%s"}' % (b"x" * 500), b"{" * 9000):
        keep(tmp_path, "Stop", told)
    assert take(store, tmp_path) == (0, 0, 6)
    assert list_kept(tmp_path) == []


def test_a_spool_that_was_full_takes_events_again(store: Store, tmp_path: Path):
    keep(tmp_path, "Stop", say("Stop"))
    (spool_of(tmp_path) / "full").touch()
    keep(tmp_path, "Stop", say("Stop"))
    assert take(store, tmp_path)[0] == 1
    keep(tmp_path, "Stop", say("Stop"))
    assert list_kept(tmp_path) == ["Stop"]


def test_events_for_a_server_are_left_to_it(store: Store, tmp_path: Path):
    keep(tmp_path, "SessionEnd", say("SessionEnd"))
    (spool_of(tmp_path).parent / "server.json").write_text("{}")
    assert take(store, tmp_path) == (0, 0, 0)
    assert list_kept(tmp_path) == ["SessionEnd"]


def test_without_a_spool_nothing_happens(store: Store, tmp_path: Path):
    assert take_spool(store, FoundFiles(roots=()), {"HOME": str(tmp_path)}).kept == 0
    drop_events([tmp_path / "gone"])


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=6), st.floats(0, 1), st.booleans())
def test_of_an_event_that_was_cut_off_every_whole_field_is_read(told: dict[str, Any], share: float, is_ascii: bool):
    whole = json.dumps(told, ensure_ascii=is_ascii).encode("utf-8", "replace")
    found = parse_payload(whole[: int(len(whole) * share)])
    assert found.items() <= json.loads(whole).items() if not any(map(is_deep, told.values())) else True
    assert [*found] == [*json.loads(whole)][: len(found)]
    assert all(json.loads(whole)[name] == value for name, value in found.items())
    assert parse_payload(whole) == json.loads(whole)


def is_deep(value: Any) -> bool:
    return isinstance(value, dict | list)


# --- a session that was left is over -------------------------------------------------------------


def write_fresh(home: Path, stream: str = "c-9") -> Path:
    """A conversation of this very minute."""
    now = datetime.now(UTC)

    def stamp(record: dict[str, Any], ago: float) -> dict[str, Any]:
        return record | {"timestamp": (now - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"}

    records = [stamp(build_prompt(0, f"Knit hat {n}", stream), 30 - n) for n in range(3)]
    return write_lines(
        home / ".claude/projects/loom" / f"{stream}.jsonl", *records, stamp(build_reply(1, "done", stream), 5)
    )


def list_states(home: Path) -> list[str]:
    ran = run("sessions", "--json", env={"HOME": str(home), "ASSAY_STORE": str(home / "s.db")})
    return [one["judge_status"] for one in ran.json["sessions"]]


def test_a_session_that_was_left_is_not_in_progress_any_more(tmp_path: Path):
    path = write_fresh(tmp_path)
    assert list_states(tmp_path) == ["in_progress"]
    assert list_states(tmp_path) == ["in_progress"]
    keep(tmp_path, "SessionEnd", say("SessionEnd", "c-9", transcript_path=str(path), reason="prompt_input_exit"))
    assert list_states(tmp_path) != ["in_progress"]
    assert list_states(tmp_path) != ["in_progress"]


def test_one_that_is_gone_on_with_is_in_progress_again(tmp_path: Path):
    path = write_fresh(tmp_path)
    keep(tmp_path, "SessionEnd", say("SessionEnd", "c-9", transcript_path=str(path)))
    assert list_states(tmp_path) != ["in_progress"]
    soon = (datetime.now(UTC) + timedelta(seconds=10)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    with path.open("a") as file:
        file.write(json.dumps(build_prompt(9, "and the brim", "c-9") | {"timestamp": soon}) + "\n")
    assert list_states(tmp_path) == ["in_progress"]
