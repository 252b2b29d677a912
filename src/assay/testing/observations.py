"""Rows of observations as Langfuse keeps them, in the shapes in which Claude Code arrives."""

import json
import random
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

START = datetime(2026, 11, 10, 9, tzinfo=UTC)
MODEL = "claude-sonnet-4-5"
Row = dict[str, Any]
_numbers = count()


def format_time(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def encode_text(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def build_row(type: str, name: str, second: float, **more: Any) -> Row:
    """One row with all its fields; the texts are raw, as v4 gives them."""
    made: Row = {
        "id": f"o{next(_numbers):06}",
        "traceId": "t0",
        "startTime": format_time(second),
        "endTime": format_time(second + 1),
        "projectId": "proj1",
        "parentObservationId": None,
        "type": type,
        "name": name,
        "level": "DEFAULT",
        "statusMessage": "",
        "version": "",
        "environment": "default",
        "bookmarked": False,
        "public": False,
        "userId": "",
        "sessionId": "s1",
        "isRootObservation": not more.get("parentObservationId"),
        "completionStartTime": None,
        "createdAt": format_time(second + 2),
        "updatedAt": format_time(second + 2),
        "metadata": {"scope.name": "langfuse-sdk", "resourceAttributes.service.name": "hook"},
        "model": "",
        "internalModelId": "",
        "modelParameters": {},
        "usageDetails": {},
        "costDetails": {},
        "totalCost": 0,
        "tags": [],
        "release": "",
        "traceName": "",
    }
    made |= more
    made["metadata"] = made["metadata"] | more.get("metadata", {})
    return made | {"input": encode_text(more.get("input")), "output": encode_text(more.get("output"))}


def build_usage(input: int = 10, output: int = 5, **more: int) -> dict[str, int]:
    return {"input": input, "output": output, **more}


# --- the hook: a trace for each turn ----------------------------------------------------------------


def build_hook_turn(n: int, prompt: str, *steps: Row, reply: str = "", session: str = "s1", **more: Any) -> list[Row]:
    """A turn as the hook tells it: its root, a generation for each step, a tool for each call."""
    second = more.pop("second", n * 100)
    trace: Row = {"traceId": f"{session}-turn{n}", "sessionId": session, "tags": ["claude-code"]}
    trace["traceName"] = f"Claude Code - Turn {n}"
    about = {"source": "claude-code", "session_id": session, "turn_number": n}
    said = {"role": "assistant", "content": reply}
    root = build_row(
        "SPAN",
        trace["traceName"],
        second,
        input={"role": "user", "content": prompt},
        output=said,
        metadata=about,
        **trace,
    )
    root["endTime"] = format_time(second + 90)
    found, given = [root], dict[str, Any](role="user", content=prompt)
    for k, step in enumerate([*steps, {"say": reply}], 1):
        calls = [{"id": one["id"], "name": one["name"], "input": one["input"]} for one in step.get("calls", ())]
        answer: Row = {"role": "assistant"} | ({"content": step["say"]} if step.get("say") else {})
        answer |= {"tool_calls": calls} if calls else {}
        spent = step.get("usage") or build_usage(cache_read_input_tokens=3, cache_creation_input_tokens=2)
        generation = build_row(
            "GENERATION", f"Claude Generation {k}", second + k, input=given, output=answer, model=MODEL
        )
        generation |= trace | {"parentObservationId": root["id"], "usageDetails": spent, "isRootObservation": False}
        found.append(generation)
        results = []
        for one in step.get("calls", ()):
            about = {"tool_name": one["name"], "tool_id": one["id"]}
            tool = build_row("TOOL", f"Tool: {one['name']}", second + k, input=one["input"], output=one.get("output"))
            tool["metadata"] = tool["metadata"] | about
            found.append(tool | trace | {"parentObservationId": generation["id"], "isRootObservation": False})
            results.append({"tool_use_id": one["id"], "tool_name": one["name"], "output": one.get("output")})
        given = {"role": "tool", "tool_results": results}
    return found


def build_step(*calls: Row, say: str = "", spent: dict[str, int] | None = None) -> Row:
    return {"calls": list(calls), "say": say, "usage": spent}


def build_call(id: str, name: str, output: str | None, **input: Any) -> Row:
    return {"id": id, "name": name, "input": input, "output": output}


# --- whole sessions of the hook ---------------------------------------------------------------------

WORDS = "weft warp loom shuttle heddle reed selvedge bobbin treadle pick shed beam thread yarn dye knot".split()


def build_bug_fix(session: str = "a", first: int = 1, **about: str) -> list[Row]:
    """A bug, found, mended, tested, and thanked for, in two traces."""
    ask = f"Why does test_selvedge in tests/test_{session}.py fail? Fix it."
    rows = build_hook_turn(
        first,
        ask,
        build_step(build_call(f"{session}1", "Bash", "FAILED test_selvedge\n1 failed in 0.1s", command="pytest -q")),
        build_step(build_call(f"{session}2", "Read", "width = 9", file_path=f"/loom/{session}.py")),
        build_step(
            build_call(f"{session}3", "Edit", "ok", file_path=f"/loom/{session}.py", old_string="9", new_string="10")
        ),
        build_step(build_call(f"{session}4", "Bash", "3 passed in 0.1s", command="pytest -q")),
        reply="The selvedge was one thread short; all three tests pass now.",
        session=session,
    )
    rows += build_hook_turn(first + 1, "Perfect, that works, thanks", reply="You are welcome.", session=session)
    for one in rows:
        one["metadata"] = one["metadata"] | about
    return rows


def build_long_port(session: str = "long", traces: int = 110, letters: int = 13_000) -> list[Row]:
    """A port, row by row, a trace each; prompts quote long logs, of which the store keeps 20,000 letters at most."""
    dice, rows = random.Random(session), list[Row]()  # noqa: S311  the same for the same session
    for n in range(1, traces + 1):
        log = " ".join(dice.choice(WORDS) for _ in range(letters // 6))
        file = {"file_path": "/loom/port.py", "old_string": f"row {n - 1}", "new_string": f"row {n}"}
        rows += build_hook_turn(
            n,
            f"Port row {n} of the loom as well; the log of the old one says: {log}",
            build_step(build_call(f"e{n}", "Edit", "ok", **file)),
            build_step(build_call(f"t{n}", "Bash", f"{n} passed in 0.1s", command="pytest -q tests/test_port.py")),
            reply=f"Row {n} is ported and its test passes.",
            session=session,
        )
    return rows


def build_wordless(session: str = "mute", turns: int = 4) -> list[Row]:
    """Spans with names and sizes, and not a word of anybody's."""
    return [row | {"sessionId": session} for n in range(1, turns + 1) for row in build_native_turn(n, None, text=False)]


# --- Claude Code's own spans --------------------------------------------------------------------------


def build_span(kind: str, second: float, parent: Row | None = None, trace: str = "n1", **attributes: Any) -> Row:
    """A native span; its attributes stand spelled out in the metadata."""
    told = {f"attributes.{name}": value for name, value in attributes.items()}
    model = attributes.get("gen_ai.request.model", "")
    type_ = {"llm_request": "GENERATION", "tool": "TOOL", "interaction": "AGENT"}.get(kind, "SPAN")
    return build_row(
        type_,
        f"claude_code.{kind}",
        second,
        traceId=trace,
        metadata=told,
        model=model,
        parentObservationId=parent["id"] if parent else None,
    )


def build_native_turn(n: int, prompt: str | None, text: bool = True) -> list[Row]:
    """A prompt, a failing test run and an edit; without text only sizes and names come along."""
    trace, second = f"n{n}", n * 100
    told = {"user_prompt": prompt} if text else {"user_prompt": "<REDACTED>"}
    root = build_span("interaction", second, trace=trace, **told, user_prompt_length=len(prompt or ""))
    spent = {"input_tokens": 137, "output_tokens": 62, "cache_read_tokens": 10796, "cache_creation_tokens": 120}
    asked = build_span(
        "llm_request",
        second + 1,
        root,
        trace,
        **spent,
        request_id=f"req_{n}",
        success="true",
        attempt=2,
        **{"gen_ai.request.model": MODEL},
    )
    command = {"full_command": "pytest -q"} if text else {}
    ran = build_span("tool", second + 2, root, trace, tool_name="Bash", tool_use_id=f"toolu_{n}a", **command)
    failed = build_span(
        "tool.execution",
        second + 3,
        ran,
        trace,
        tool_use_id=f"toolu_{n}a",
        success="false",
        error="Shell command failed",
    )
    edit = build_span(
        "tool", second + 4, root, trace, tool_name="Edit", tool_use_id=f"toolu_{n}b", file_path="/loom/warp.py"
    )
    blocked = build_span("tool.blocked_on_user", second + 5, edit, trace, decision="reject", source="user_reject")
    return [root, asked, ran, failed, edit, blocked]


# --- a proxy: every request with all messages so far --------------------------------------------------


def build_user_message(text: str) -> Row:
    return {"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}


def build_tool_use(id: str, name: str, **input: Any) -> Row:
    block = {"type": "tool_use", "id": id, "name": name, "input": input}
    return {"role": "assistant", "content": [{"type": "text", "text": f"I use {name}"}, block]}


def build_tool_result(id: str, text: str, is_error: bool = False) -> Row:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": is_error}],
    }


def build_assistant_message(text: str) -> Row:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def build_generation(second: float, messages: list[Row], answer: Row, **more: Any) -> Row:
    spent = more.pop("usageDetails", build_usage(100, 20, total=120))
    name = {"traceId": f"p{second}", "model": MODEL, "usageDetails": spent}
    return build_row("GENERATION", "litellm-anthropic_messages", second, input=messages, output=answer, **name | more)


def read_spans(body: dict[str, Any]) -> list[Row]:
    """Rows that a server makes of spans sent by OTLP."""
    scopes = [scope for resource in body["resourceSpans"] for scope in resource["scopeSpans"]]
    return [read_span(span) for scope in scopes for span in scope["spans"]]


def read_span(span: Row) -> Row:
    told = {one["key"]: read_value(one["value"]) for one in span["attributes"]}
    of, kept = "langfuse.observation.", "langfuse.observation.metadata."
    more = {
        "id": span["spanId"],
        "traceId": span["traceId"],
        "parentObservationId": span.get("parentSpanId") or None,
        "startTime": read_nanoseconds(span["startTimeUnixNano"]),
        "endTime": read_nanoseconds(span["endTimeUnixNano"]),
        "level": told.get(f"{of}level", "DEFAULT"),
        "statusMessage": told.get(f"{of}status_message", ""),
        "environment": told.get("langfuse.environment", "default"),
        "sessionId": told.get("session.id", ""),
        "userId": told.get("user.id", ""),
        "tags": told.get("langfuse.trace.tags", []),
        "traceName": told.get("langfuse.trace.name", ""),
        "version": told.get("langfuse.version", ""),
        "model": told.get(f"{of}model.name", ""),
        "usageDetails": json.loads(told.get(f"{of}usage_details", "{}")),
        "input": told.get(f"{of}input"),
        "output": told.get(f"{of}output"),
        "metadata": {key.removeprefix(kept): value for key, value in told.items() if key.startswith(kept)},
    }
    return build_row(told.get(f"{of}type", "span").upper(), span["name"], 0, **more)


def read_value(value: Row) -> Any:
    [(kind, found)] = value.items()
    if kind == "arrayValue":
        return [read_value(one) for one in found["values"]]
    return int(found) if kind == "intValue" else found


def read_nanoseconds(value: str) -> str:
    at = datetime.fromtimestamp(int(value) / 1e9, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def build_trace(rows: list[Row], **more: Any) -> Row:
    """The trace of some rows as v3 keeps it beside them."""
    first = min(rows, key=lambda one: one["startTime"])
    found = {"id": first["traceId"], "timestamp": first["startTime"], "name": first["traceName"], "tags": first["tags"]}
    found |= {"sessionId": first["sessionId"], "release": None, "version": None, "userId": None, "public": False}
    return found | {"environment": first["environment"], "input": None, "output": None, "metadata": {}} | more
