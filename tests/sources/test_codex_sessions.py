"""Commands that a script leaves running are ended by what a later script reads of them."""

import json
from typing import Any

import msgspec
import pytest

from assay.sources import codex
from assay.types import Call, Event, Mark, Result

DECODER = msgspec.json.Decoder(codex.Record)
START = 'const r = await tools.exec_command({cmd: "CMD"}); text(r.output); text("SESSION_ID=" + r.session_id)'
POLL = 'const r = await tools.write_stdin({session_id: 771, chars: ""}); text(r.output)'
DONE = "Script completed\nWall time 1.0 seconds\nOutput:\n"


def script(call_id: str, code: str, *printed: str) -> list[dict[str, Any]]:
    blocks = [{"type": "input_text", "text": text} for text in (DONE, *printed)]
    return [
        {"type": "custom_tool_call", "name": "exec", "call_id": call_id, "input": code},
        {"type": "custom_tool_call_output", "call_id": call_id, "output": blocks},
    ]


def events_of(*payloads: dict[str, Any]) -> list[Event]:
    reader, events = codex.Reader(), list[Event]()
    for n, payload in enumerate([{"id": "t", "type": None}, *payloads]):
        kind = "response_item" if n else "session_meta"
        line = {
            "timestamp": f"2026-03-02T09:00:{n:02}Z",
            "type": kind,
            "payload": {k: v for k, v in payload.items() if v},
        }
        reader.take(DECODER.decode(json.dumps(line).encode()), events.append)
    return events


@pytest.mark.parametrize("first", [[""], [], ["one moment"]], ids=["an empty block", "no block", "some words"])
def test_what_a_command_says_later_is_its_own_whatever_it_said_first(first: list[str]):
    command = START.replace("CMD", "gh pr create --fill")
    events = events_of(
        *script("a", command, *first, "SESSION_ID=771"), *script("b", POLL, "https://github.com/loom/warp/pull/12\n")
    )
    assert [event.command for event in events if isinstance(event, Call) and event.command] == ["gh pr create --fill"]
    last = [event for event in events if isinstance(event, Result) and event.id == "a"][-1]
    assert last.output.endswith("https://github.com/loom/warp/pull/12\n")
    assert [event.detail for event in events if isinstance(event, Mark)] == ["https://github.com/loom/warp/pull/12"]


def test_the_scripts_own_line_about_the_session_is_not_glued_to_the_commands_words():
    command = START.replace("CMD", "git commit -m warp")
    said = "[loom 1a2b3c4] warp\n 1 file changed\n"
    events = events_of(*script("a", command, "", "SESSION_ID=771"), *script("b", POLL, said))
    last = [event for event in events if isinstance(event, Result) and event.id == "a"][-1]
    assert last.output.splitlines()[-2:] == said.splitlines()
