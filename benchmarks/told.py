"""The sessions of a made-up history as assay meets them: as transcripts of Claude Code, or as targets to follow."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.sessions.rework.history import LineTarget
from assay.types import FileLines
from assay.types.lines import hash_lines
from benchmarks.chronicle import History, Session
from benchmarks.history import MINUTE

SHORT = 9


def target(history: History, session: Session) -> LineTarget:
    """What the transcript of a session tells: files, lines, commits as it saw them, and when."""
    written = [
        FileLines(path=path, lines=hash_lines(lines.values())) for path, lines in sorted(session.lines.items()) if lines
    ]
    return LineTarget(
        id=session.id,
        written=tuple(written),
        commits=tuple(history.ids[mark][:SHORT] for mark in session.noted),
        pulls=(session.pull,) if session.pull else (),
        started=session.began,
        ended=session.ended or session.began + MINUTE,
    )


def transcribe(history: History, out: Path, cwd: str) -> int:
    """Write a transcript for each session; returns their bytes."""
    out.mkdir(parents=True, exist_ok=True)
    return sum(transcript(history, session, out, cwd) for session in history.sessions)


def transcript(history: History, session: Session, out: Path, cwd: str) -> int:
    lines = (json.dumps(record).encode() + b"\n" for record in records(history, session, cwd))
    return (out / f"{session.id}.jsonl").write_bytes(b"".join(lines))


def records(history: History, session: Session, cwd: str) -> Iterator[dict[str, Any]]:
    """A prompt, an edit of each file, the commits, an answer."""
    calls = [*edits(session, cwd), *commits(history, session)]
    ended = session.ended or session.began + MINUTE
    step = (ended - session.began) / (len(calls) + 2)

    def record(kind: str, number: int, **more: Any) -> dict[str, Any]:
        at = datetime.fromtimestamp(session.began + number * step / 2, UTC)
        stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        place = {"cwd": cwd, "gitBranch": "main", "version": "2.1.300", "isSidechain": False}
        ids = {"sessionId": session.id, "uuid": f"{session.id}/{number}", "timestamp": stamp}
        return {"type": kind, **ids, **place, **more}

    yield record("user", 0, message={"role": "user", "content": f"Please add what {session.id[:8]} needs, with tests."})
    for number, (name, given, said, outcome) in enumerate(calls, 1):
        call = f"{session.id[:8]}-{number}"
        use = {"type": "tool_use", "id": call, "name": name, "input": given}
        done = {"type": "tool_result", "tool_use_id": call, "content": said}
        yield record("assistant", 2 * number, message=spoken(call, use))
        yield record("user", 2 * number + 1, message={"role": "user", "content": [done]}, toolUseResult=outcome)
    text = {"type": "text", "text": "All of it is in, and the tests pass."}
    yield record("assistant", 2 * len(calls) + 2, message=spoken(f"{session.id[:8]}-end", text))


def spoken(id: str, block: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 900, "output_tokens": 120}
    return {"id": f"m{id}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block], "usage": usage}


Call = tuple[str, dict[str, Any], str, dict[str, Any]]


def edits(session: Session, cwd: str) -> Iterator[Call]:
    for path, lines in sorted(session.lines.items()):
        if lines:
            file, texts = f"{cwd}/{path}", list(lines.values())
            hunk = {"oldStart": 1, "oldLines": 0, "newStart": 1, "newLines": len(texts)}
            patch = [{**hunk, "lines": [f"+{text}" for text in texts]}]
            given = {"file_path": file, "old_string": "", "new_string": "\n".join(texts)}
            result = {"filePath": file, "oldString": "", "newString": given["new_string"], "structuredPatch": patch}
            yield "Edit", given, f"The file {file} has been updated.", result


def commits(history: History, session: Session) -> Iterator[Call]:
    branch = "main" if session.landing == "direct" else f"agent/{session.id[:6]}"
    for mark in session.noted:
        said = f"[{branch} {history.ids[mark][:SHORT]}] Add it\n 2 files changed, 40 insertions(+)"
        yield "Bash", {"command": "git add -A && git commit -m 'Add it'"}, said, {"stdout": said, "stderr": ""}
    if session.pull:
        url = f"https://github.com/example/{session.id[:6]}/pull/{session.pull}"
        yield "Bash", {"command": "gh pr create --fill"}, url, {"stdout": url, "stderr": ""}
