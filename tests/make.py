"""Claude Code records, made small: each function gives the body of one, `stamped` its envelope."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from assay.sessions.turns import TurnBuilder
from assay.sources import claude_code
from assay.types import Event, Part, Turn

Record = dict[str, Any]
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MODEL = "claude-opus-4-5-20251101"
ENVELOPED = frozenset({"user", "assistant", "system", "attachment", "progress"})
TIMED = ENVELOPED | {"queue-operation", "pr-link"}
DECODER = msgspec.json.Decoder(claude_code.Record)


def moment(seconds: float) -> str:
    """A timestamp so many seconds into the story."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def user(content: Any, **more: Any) -> Record:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def image() -> Record:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def command(name: str, args: str = "") -> str:
    """The text of a slash command as the client writes it."""
    return (
        f"<command-name>{name}</command-name>\n            <command-message>{name.lstrip('/')}</command-message>\n"
        f"            <command-args>{args}</command-args>"
    )


def usage(input: int = 0, output: int = 0, read: int = 0, write: int = 0, hour: int = 0) -> Record:
    return {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {"ephemeral_5m_input_tokens": write - hour, "ephemeral_1h_input_tokens": hour},
        "service_tier": "standard",
    }


def assistant(*blocks: Record | str, id: str = "m1", spent: Record | None = None, **more: Any) -> Record:
    """One record of a model's message; a plain string is a text block."""
    content = [text(block) if isinstance(block, str) else block for block in blocks]
    message = {"id": id, "role": "assistant", "model": MODEL, "content": content, "usage": spent or usage(10, 5)}
    return {"type": "assistant", "message": message | more.pop("message", {}), **more}


def calling(id: str, name: str, **input: Any) -> Record:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def answer(id: str, content: Any = "", outcome: Any = None, is_error: bool | None = None, **more: Any) -> Record:
    """The record that answers a call; `outcome` is what the client notes beside the text."""
    block = {"type": "tool_result", "tool_use_id": id, "content": content}
    block |= {} if is_error is None else {"is_error": is_error}
    return user([block], **({} if outcome is None else {"toolUseResult": outcome}), **more)


def failure(id: str, content: str, **more: Any) -> Record:
    return answer(id, content, f"Error: {content}", is_error=True, **more)


def patch(path: str, *lines: str) -> Record:
    """What the client notes of an edit."""
    hunk = {"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3, "lines": list(lines)}
    return {"filePath": path, "oldString": "a", "newString": "b", "structuredPatch": [hunk], "userModified": False}


def written(path: str, content: str, *lines: str) -> Record:
    """What the client notes of a written file: with patch lines where it was there before."""
    noted = patch(path, *lines) if lines else {"filePath": path, "structuredPatch": []}
    return noted | {"type": "update" if lines else "create", "content": content}


def queue(operation: str, content: str | None = None) -> Record:
    return {"type": "queue-operation", "operation": operation} | ({} if content is None else {"content": content})


def attachment(type: str, **more: Any) -> Record:
    return {"type": "attachment", "attachment": {"type": type, **more}}


def system(subtype: str, **more: Any) -> Record:
    return {"type": "system", "subtype": subtype, **more}


def boundary(trigger: str = "auto") -> Record:
    return system("compact_boundary", content="Compacted", compactMetadata={"trigger": trigger, "preTokens": 90_000})


def summary_of_before() -> Record:
    words = "This session goes on from an earlier one. The till was rebuilt."
    return user(words, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def echo(agent: str, record: Record) -> Record:
    """A sub-agent's record as its parent repeats it in a progress record."""
    return {
        "type": "progress",
        "data": {"type": "agent_progress", "agentId": agent, "prompt": "Look", "message": record},
    }


def aside(agent: str, *records: Record) -> list[Record]:
    """Records as a sub-agent writes them."""
    return [record | {"isSidechain": True} | ({"agentId": agent} if agent else {}) for record in records]


def api_error(kind: str = "rate_limit") -> Record:
    message = {"id": "e1", "model": "<synthetic>", "usage": usage()}
    return assistant("API Error", message=message, isApiErrorMessage=True, error=kind)


def stamped(*records: Record, stream: str = "s1", start: float = 0, step: float = 1, **envelope: Any) -> list[Record]:
    """The records with uuid, time and place where they have none: one each `step` seconds."""
    return list(_stamped(records, stream, start, step, envelope))


def _stamped(records: Iterable[Record], stream: str, start: float, step: float, envelope: Record) -> Iterator[Record]:
    place = {"cwd": "/home/ada/till", "gitBranch": "main", "version": "2.1.60", "isSidechain": False} | envelope
    for n, record in enumerate(records):
        filled: Record = {"sessionId": stream}
        if record["type"] in TIMED:
            filled |= {"timestamp": moment(start + n * step)}
        if record["type"] in ENVELOPED:
            filled |= {"uuid": f"{stream}-{start}-{n}", **place}
        yield filled | record


def jsonl(records: Iterable[Record]) -> bytes:
    return b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in records)


def write(path: Path, *records: Record) -> Path:
    path.write_bytes(jsonl(records))
    return path


def events(*records: Record, **envelope: Any) -> list[Event]:
    """What the reader makes of a file of these records."""
    reader, found = claude_code.Reader(), list[Event]()
    for line in jsonl(stamped(*records, **envelope)).splitlines():
        reader.take(DECODER.decode(line), found.append)
    return found


def built(*records: Record, **envelope: Any) -> tuple[Part, tuple[Turn, ...]]:
    """What a file of these records holds."""
    builder = TurnBuilder()
    for event in events(*records, **envelope):
        builder.take(event)
    return builder.part(claude_code.AGENT), builder.turns()


def turns(*records: Record, **envelope: Any) -> tuple[Turn, ...]:
    return built(*records, **envelope)[1]


# --- conversations of any shape -------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "go on",
        "mend the till",
        "为什么收银台很慢?",
        "🧾🧾 sum",
        "é\u0301\u2028end",
        "a\nb\n",
        "</x> <y>",
        '"quoted" \\ {}',
        "x" * 300,
    ]
)


def exchange(kind: str, n: int, words: str) -> list[Record]:
    """A few records that belong together; `n` makes their ids unlike those of other exchanges."""
    bash = assistant(calling(f"t{n}", "Bash", command="pytest -q"), id=f"m{n}", spent=usage(3, 1, 2, 2, 1))
    edit = assistant(calling(f"t{n}", "Edit", file_path="/till/价.py", old_string="a", new_string=words), id=f"m{n}")
    look = [assistant(calling(f"u{n}", "Grep", pattern=words), id=f"w{n}"), answer(f"u{n}", words)]
    return {
        "prompt": [user(words)],
        "blocks": [user([image(), text(words)])],
        "said": [assistant(words, id=f"m{n}", spent=usage(5, 1)), assistant(words, id=f"m{n}", spent=usage(5, n + 2))],
        "passed": [bash, answer(f"t{n}", f"{words}\n2 passed in 0.1s", {"stdout": words, "interrupted": False})],
        "failed": [bash, failure(f"t{n}", f"Exit code 1\n{words}\n1 failed in 0.1s")],
        "edited": [edit, answer(f"t{n}", "ok", patch("/till/价.py", "-a", "+b", f"+{words}"))],
        "refused": [edit, failure(f"t{n}", f"The user doesn't want to proceed. the user said:\n{words} {n}")],
        "open": [bash],
        "late": [bash, user(f"{words} {n}"), answer(f"t{n}", "3 passed")],
        "aside": aside("", user(words), *look),
        "echo": [echo(f"a{n}", one | {"uuid": f"e{n}{k}", "timestamp": moment(n)}) for k, one in enumerate(look)],
        "steered": [queue("enqueue", f"{words} {n}"), queue("remove")],
        "queued": [queue("enqueue", words), queue("dequeue"), user(words)],
        "waiting": [queue("enqueue", f"{words} {n}")],
        "compact": [boundary(), summary_of_before()],
        "cut": [user([text("[Request interrupted by user]")])],
        "clear": [user(command("/clear"))],
        "busy": [system("api_error"), api_error()],
        "title": [{"type": "ai-title", "aiTitle": words}],
        "quiet": [{"type": "file-history-snapshot", "messageId": f"q{n}", "snapshot": {"files": {}}}],
        "novel": [{"type": "wholly-new", "what": words}],
        "moved": [user(words, gitBranch=f"b{n}", version=f"2.{n}")],
        "pr": [{"type": "pr-link", "prUrl": f"https://example.org/o/r/pull/{n}"}],
    }[kind]


KINDS = tuple(
    """prompt blocks said passed failed edited refused open late aside echo steered queued waiting compact cut clear
    busy title quiet novel moved pr""".split()
)


@st.composite
def conversations(draw: st.DrawFn, stream: str = "s1", most: int = 10) -> list[Record]:
    """The records of one file, beginning with a prompt."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(KINDS), WORDS), max_size=most))
    records = [one for n, (kind, words) in enumerate(chosen) for one in exchange(kind, n, words)]
    return stamped(user("Begin"), *records, stream=stream)
