"""Codex threads that start threads are one stream, in whichever order their files are read."""

import json
from itertools import permutations
from pathlib import Path

import pytest

from assay.pipeline.inputs import find_files
from assay.pipeline.scan import scan
from assay.stores import open_store

PARENTS = {"root": "", "child": "root", "grandchild": "child"}


def rollout(folder: Path, name: str) -> Path:
    """A thread that ran one command and spent ten tokens."""
    parent = PARENTS[name]
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent}}} if parent else "cli"
    meta = {"id": name, "cwd": "/home/ada/loom", "cli_version": "0.128.0", "source": source}
    total = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    records = [
        ("session_meta", meta | ({"parent_thread_id": parent} if parent else {})),
        ("event_msg", {"type": "task_started", "turn_id": f"turn-{name}"}),
        ("turn_context", {"turn_id": f"turn-{name}", "model": "gpt-5"}),
        ("event_msg", {"type": "user_message", "message": f"weave as {name}"}),
        (
            "response_item",
            {"type": "function_call", "name": "exec_command", "call_id": f"c-{name}", "arguments": '{"cmd": "ls"}'},
        ),
        ("event_msg", {"type": "token_count", "info": {"total_token_usage": total, "last_token_usage": total}}),
    ]
    lines = [
        json.dumps({"timestamp": f"2026-03-02T09:00:0{n}.000Z", "type": kind, "payload": payload})
        for n, (kind, payload) in enumerate(records)
    ]
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("order", list(permutations(PARENTS)), ids="-".join)
def test_threads_of_threads_belong_to_the_root(tmp_path: Path, order: tuple[str, ...]):
    store = open_store(f"sqlite:///{tmp_path / 'assay.db'}")
    (tmp_path / "in").mkdir()
    for name in order:
        scan(store, find_files([rollout(tmp_path / "in", name)]), 1, lambda *_: None)
    [stream] = store.transcripts.list_streams(None)
    facts = json.loads(stream.facts)
    store.close()
    assert (stream.id, stream.files, stream.turns) == ("root", 3, 1)
    assert (facts["tool_calls"], facts["tokens"]["output"], facts["agents"]) == (3, 9, 2)
