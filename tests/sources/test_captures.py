"""What is read of captures, against what was scripted when they were made and what plain JSON tells of them.

Each capture is a real client's, run against a server of ours that always has the same said and done: a module is
written, checked in vain, read, mended and checked again, and the person says thanks.
"""

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.pipeline.inputs import find_files
from assay.pipeline.read_file import FileContent, read_file
from assay.pipeline.scan import to_part
from assay.plugins import load_module
from assay.types import Usage
from tests.conftest import run
from tests.sources.captures import FIXTURES, HERE, write_capture
from tests.tables import each_row

PATIENT = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
PROMPTS = ["repair calc.add, please: it must add", "Thank you. Anything else?"]
REPLIES = [
    "I'll write the module first.",
    "Let me check it.",
    "It fails; reading it.",
    "Fixing the sign.",
    "calc.add adds now, and the check passes.",
    "You are welcome: nothing else was changed.",
]
CALLS = [("edit", "ok"), ("shell", "error"), ("read", "ok"), ("edit", "ok"), ("shell", "ok"), ("shell", "ok")]
LINES = [(2, 0), (1, 1)]
"""Added and removed by each edit."""


def read_parts(path: Path) -> list[FileContent]:
    """A file, or all conversations in it."""
    with tempfile.TemporaryDirectory() as folder:
        files = find_files([write_capture(path, Path(folder))]).files
        return [read_file(Path(file.path), None, to_part(file)) for file in files]


def read_capture(path: Path) -> FileContent:
    """A file, or the one conversation in it."""
    [found] = read_parts(path)
    return found


def list_objects(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- tokens, counted without any of our code ------------------------------------------------


def count_gemini(path: Path) -> Iterable[dict[str, int]]:
    last = {one["id"]: one["tokens"] for one in list_objects(path) if "tokens" in one}
    for one in last.values():
        yield {
            "input": one["input"] - one["cached"],
            "output": one["output"] + one["thoughts"],
            "cache_read": one["cached"],
        }


def count_qwen(path: Path) -> Iterable[dict[str, int]]:
    for one in list_objects(path):
        if found := one.get("usageMetadata"):
            cached = found["cachedContentTokenCount"]
            yield {
                "input": found["promptTokenCount"] - cached,
                "output": found["candidatesTokenCount"],
                "cache_read": cached,
            }


def count_pi(path: Path) -> Iterable[dict[str, int]]:
    for one in list_objects(path):
        if found := one.get("message", {}).get("usage"):
            yield {
                "input": found["input"],
                "output": found["output"],
                "cache_read": found["cacheRead"],
                "cache_write": found["cacheWrite"],
            }


def count_opencode(path: Path) -> Iterable[dict[str, int]]:
    database = sqlite3.connect(":memory:")
    database.executescript(path.read_text())
    rows = database.execute(
        "SELECT tokens_input, tokens_output, tokens_cache_read, tokens_cache_write FROM session"
    ).fetchall()
    database.close()
    return [dict(zip(("input", "output", "cache_read", "cache_write"), row, strict=True)) for row in rows]


def count_exported(path: Path) -> Iterable[dict[str, int]]:
    total = json.loads(path.read_text())["info"]["tokens"]
    yield {
        "input": total["input"],
        "output": total["output"],
        "cache_read": total["cache"]["read"],
        "cache_write": total["cache"]["write"],
    }


def count_copilot(path: Path) -> Iterable[dict[str, int]]:
    last = [one["data"] for one in list_objects(path) if one["type"] == "session.shutdown"][-1]
    for model in last["accountingSnapshot"]["modelMetrics"].values():
        told = model["usage"]
        yield {
            "input": told["inputTokens"] - told["cacheReadTokens"],
            "output": told["outputTokens"],
            "cache_read": told["cacheReadTokens"],
        }


def count_cline(path: Path) -> Iterable[dict[str, int]]:
    told = json.loads((path.parent / "beside" / "repair.json").read_text())["metadata"]["usage"]
    yield {
        "input": told["inputTokens"] - told["cacheReadTokens"],
        "output": told["outputTokens"],
        "cache_read": told["cacheReadTokens"],
    }


def count_seen(path: Path) -> Iterable[dict[str, int]]:
    for one in json.loads(path.read_text()):
        if one.get("say") == "api_req_started":
            told = json.loads(one["text"])
            yield {
                "input": told["tokensIn"],
                "output": told["tokensOut"],
                "cache_read": told["cacheReads"],
                "cache_write": told["cacheWrites"],
            }


def count_atif(path: Path) -> Iterable[dict[str, int]]:
    told = json.loads(path.read_text())["final_metrics"]
    yield {
        "input": told["total_prompt_tokens"] - told["total_cached_tokens"],
        "output": told["total_completion_tokens"],
        "cache_read": told["total_cached_tokens"],
    }


def count_aider(path: Path) -> Iterable[dict[str, int]]:
    for sent, received in re.findall(r"Tokens: ([\d.]+)k sent, (\d+) received", path.read_text()):
        yield {"input": round(float(sent) * 1000), "output": int(received)}


def count_inspect(path: Path) -> Iterable[dict[str, int]]:
    for sample in json.loads(path.read_text())["samples"]:
        for told in sample["model_usage"].values():
            yield {
                "input": told["input_tokens"],
                "output": told["output_tokens"],
                "cache_read": told["input_tokens_cache_read"],
            }


def count_swe_agent(path: Path) -> Iterable[dict[str, int]]:
    told = json.loads(path.read_text())["info"]["model_stats"]
    yield {"input": told["tokens_sent"], "output": told["tokens_received"]}


def count_cursor(path: Path) -> Iterable[dict[str, int]]:
    found = re.findall(r'"inputTokens": (\d+), "outputTokens": (\d+)', path.read_text())
    return [{"input": int(sent), "output": int(received)} for sent, received in found]


REPAIRS: dict[str, Callable[[Path], Iterable[dict[str, int]]]] = {
    "gemini_cli/repair.jsonl": count_gemini,
    "qwen_code/repair.jsonl": count_qwen,
    "pi/repair.jsonl": count_pi,
    "opencode/repair.sql": count_opencode,
    "opencode/exported.json": count_exported,
    "copilot_cli/repair.jsonl": count_copilot,
    "cursor/repair.sql": count_cursor,
}
"""The whole script, of clients that tell all of it."""
OTHERS: dict[str, Callable[[Path], Iterable[dict[str, int]]]] = {
    "cline/repair.messages.json": count_cline,
    "cline/seen.json": count_seen,
    "atif/trajectory.json": count_atif,
    "aider/history.md": count_aider,
    "inspect_log/document.json": count_inspect,
    "swe_agent/full.traj": count_swe_agent,
}
COUNTS = REPAIRS | OTHERS


@each_row("name", REPAIRS)
def test_what_was_said_and_done_is_read(name: str) -> None:
    turns = read_capture(HERE / name).turns
    calls = [call for turn in turns for call in turn.calls]
    assert [turn.prompt.text.strip('"') for turn in turns if turn.prompt] == PROMPTS
    assert [reply.text for turn in turns for reply in turn.replies] == REPLIES
    assert [(call.kind, call.status) for call in calls] == CALLS
    assert [call.exit_code for call in calls if call.kind == "shell"] == [1, 0, 0]
    assert [(edit.added, edit.removed) for call in calls for edit in call.edits] == LINES
    assert {edit.path for call in calls for edit in call.edits} == {"/home/ada/till/calc.py"}


@each_row("name", COUNTS)
def test_tokens_are_those_of_plain_json(name: str) -> None:
    turns = [turn for part in read_parts(HERE / name) for turn in part.turns]
    spends = [spend.usage for turn in turns for spend in turn.spends]
    told = list(COUNTS[name](HERE / name))
    kinds = ("input", "output", "cache_read", "cache_write")
    assert {kind: sum(getattr(one, kind) for one in spends) for kind in kinds} == {
        kind: sum(one.get(kind, 0) for one in told) for kind in kinds
    }
    assert all(one != Usage() for one in spends)


@each_row("name", REPAIRS)
def test_a_capture_says_where_it_was_made(name: str) -> None:
    part = read_capture(HERE / name).state.part
    assert part is not None
    assert part.cwd == "/home/ada/till"
    assert part.stream


@each_row("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_record_is_read_or_skipped(path: Path) -> None:
    states = [part.state for part in read_parts(path)]
    assert [state.lines_skipped for state in states] == [0] * len(states)
    if path.parent.name != "codex":  # two of them hold records that nobody knows
        assert [state.unknown for state in states] == [{}] * len(states)
    if path.suffix == ".jsonl":
        assert states[0].lines_read == len(path.read_bytes().splitlines())


WITHOUT_EXITS = ("cline/seen.json", "atif/trajectory.json")
"""Those that tell the whole script but no exit codes."""


@each_row("name", WITHOUT_EXITS)
def test_what_has_no_exit_code_is_read_all_the_same(name: str) -> None:
    turns = read_capture(HERE / name).turns
    calls = [call for turn in turns for call in turn.calls if call.status != "rejected"]
    assert [turn.prompt.text for turn in turns if turn.prompt][:2] == PROMPTS
    assert [reply.text for turn in turns for reply in turn.replies] == REPLIES
    assert [call.kind for call in calls] == [kind for kind, _ in CALLS]
    assert {call.exit_code for call in calls} == {None}
    assert [(edit.added, edit.removed) for call in calls for edit in call.edits] == LINES


def test_what_a_person_refused_in_cline_was_not_done() -> None:
    turns = read_capture(HERE / "cline" / "seen.json").turns
    assert [(call.command, call.status) for turn in turns for call in turn.calls][-1] == ("rm -rf build", "rejected")


def test_the_commits_of_aider_are_known() -> None:
    turns = read_capture(HERE / "aider" / "history.md").turns
    assert [call.commits for turn in turns for call in turn.calls] == [("525d79a",), ("8a30c06",)]
    assert [(edit.added, edit.removed) for turn in turns for call in turn.calls for edit in call.edits] == LINES


def test_an_archive_and_a_document_of_inspect_tell_the_same() -> None:
    told = [read_parts(HERE / "inspect_log" / name) for name in ("archive.eval", "document.json")]
    said = [[[reply.text for turn in part.turns for reply in turn.replies] for part in parts] for parts in told]
    assert said[0] == said[1]
    assert len(said[0]) == 2


def test_the_older_files_of_gemini_cli_tell_the_same(tmp_path: Path) -> None:
    lines = list_objects(HERE / "gemini_cli" / "repair.jsonl")
    messages = {one["id"]: one for one in lines if "id" in one}
    whole = {**lines[0], "messages": [*lines[1]["$set"]["messages"], *messages.values()]}
    path = tmp_path / "session-2026-11-18T02-21-422c943d.json"
    path.write_text(json.dumps(whole, indent=2))
    assert [file.path for file in find_files([tmp_path]).files] == [str(path)]
    assert read_file(path).turns == read_capture(HERE / "gemini_cli" / "repair.jsonl").turns


def test_the_older_storage_of_opencode_tells_the_same(tmp_path: Path) -> None:
    exported = json.loads((HERE / "opencode" / "exported.json").read_text())
    session = exported["info"]["id"]
    head = {"id": session, **exported["info"]}
    write_json(tmp_path / "storage" / "session" / "p1" / f"{session}.json", head)
    for number, one in enumerate(exported["messages"]):
        name = f"msg_{number:03}"
        write_json(tmp_path / "storage" / "message" / session / f"{name}.json", one["info"])
        for n, part in enumerate(one["parts"]):
            write_json(tmp_path / "storage" / "part" / name / f"prt_{n:03}.json", part)
    [file] = find_files([tmp_path]).files
    found = read_file(Path(file.path))
    assert found.turns == read_capture(HERE / "opencode" / "exported.json").turns
    write_json(tmp_path / "storage" / "part" / "msg_001" / "prt_001.json", "no part")
    assert read_file(Path(file.path)).state.lines_skipped == 0
    (tmp_path / "storage" / "part" / "msg_001" / "prt_001.json").write_text('{"half')
    assert read_file(Path(file.path)).state.lines_skipped == 1


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_a_bare_rollout_of_codex_is_read_in_its_order() -> None:
    found = read_capture(HERE / "codex_bare" / "bare.jsonl")
    part = found.state.part
    assert part is not None
    assert (part.agent, part.cwd, part.branch) == ("codex", "/home/ada/till", "main")
    assert [turn.prompt.text for turn in found.turns if turn.prompt] == [PROMPTS[0], "Yes, mend it"]
    calls = [call for turn in found.turns for call in turn.calls]
    assert [(call.kind, call.status, call.exit_code) for call in calls] == [("edit", "ok", None), ("shell", "error", 1)]
    assert [(edit.path, edit.added) for call in calls for edit in call.edits] == [("calc.py", 2)]
    assert not [spend for turn in found.turns for spend in turn.spends]
    times = [turn.at for turn in found.turns] + [found.turns[-1].ended_at]
    assert times == sorted(times)
    assert times[0].startswith("2025-07-01T09:00:00")


def test_a_folder_of_all_agents_is_told_apart_scored_and_sliced(tmp_path: Path) -> None:
    for path in FIXTURES:
        folder = tmp_path / "in" / path.parent.name / path.stem
        folder.mkdir(parents=True)
        made = write_capture(path, folder)
        name = NAMED.get(path.parent.name, f"{path.stem}{made.suffix}")
        target = folder / name.format(stem=path.stem.split(".")[0], suffix=made.suffix)
        if target != made:
            shutil.copy(made, target)
    ran = run("score", tmp_path / "in", "--store", tmp_path / "store.db", "--json", "--by", "agent")
    assert ran.code == 0, ran.err
    sessions = json.loads(ran.out)["sessions"]
    listed = json.loads(run("streams", tmp_path / "in", "--store", tmp_path / "store.db", "--json").out)["streams"]
    agents = {load_module("sources", path.parent.name).AGENT for path in FIXTURES}
    assert {one["agent"] for one in listed} == agents
    assert len(agents) >= 13
    # What several agents did to the same file soon after each other is one session, and the first agent's.
    assert {stream for one in sessions for stream in one["streams"]} >= {
        one["id"] for one in listed if one["agent"] != "codex"
    }
    assert {one["agent"] for one in sessions} <= agents
    assert len({one["agent"] for one in sessions}) >= 10


NAMED = {
    "aider": ".aider.chat.history.md",
    "atif": "trajectory.json",
    "cline": "{stem}.messages.json",
    "cursor": "state.vscdb",
    "inspect_log": "2026-11-18T02-55-00_{stem}.json",
    "opencode": "opencode-{stem}{suffix}",
}
"""What agents call their files, where the name of a fixture is another."""


# --- damage ---------------------------------------------------------------------------------


@PATIENT
@given(path=st.sampled_from(FIXTURES), draws=st.data())
def test_a_damaged_transcript_never_breaks_anything(path: Path, draws: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = write_capture(path, Path(folder))
        if made.is_dir():
            return
        data = bytearray(made.read_bytes())
        for _ in range(draws.draw(st.integers(0, 6))):
            at = draws.draw(st.integers(0, len(data) - 1))
            data[at : at + draws.draw(st.integers(0, 40))] = draws.draw(st.binary(max_size=20))
        damaged = Path(folder) / f"damaged-{made.name}"
        damaged.write_bytes(data[: draws.draw(st.integers(0, len(data)))])
        found = read_file(damaged)
        if found.state.source and path.suffix == ".jsonl":
            lines = damaged.read_bytes()
            counted = lines.count(b"\n") + bool(lines and not lines.endswith(b"\n"))
            assert found.state.lines_read + found.state.lines_skipped == counted


@PATIENT
@given(path=st.sampled_from([one for one in FIXTURES if one.suffix == ".jsonl"]), draws=st.data())
def test_a_file_that_grows_is_read_as_if_at_once(path: Path, draws: st.DataObject) -> None:
    data = path.read_bytes()
    cuts = sorted(draws.draw(st.sets(st.integers(0, len(data)), max_size=4)))
    with tempfile.TemporaryDirectory() as folder:
        grown = Path(folder) / path.name
        before: FileContent | None = None
        for cut in [*cuts, len(data)]:
            grown.write_bytes(data[:cut])
            before = read_file(grown, before)
        whole = read_file(grown)
    assert before is not None
    assert (before.turns, before.state.lines_read, before.state.part) == (
        whole.turns,
        whole.state.lines_read,
        whole.state.part,
    )


@PATIENT
@given(draws=st.data())
def test_lines_of_all_agents_mixed_never_break_a_reader(draws: st.DataObject) -> None:
    lines = [line for path in FIXTURES if path.suffix == ".jsonl" for line in path.read_bytes().splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        mixed = Path(folder) / "mixed.jsonl"
        mixed.write_bytes(b"\n".join(draws.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=30))) + b"\n")
        state = read_file(mixed).state
        assert state.lines_read + state.lines_skipped == mixed.read_bytes().count(b"\n")
