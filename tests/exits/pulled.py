"""Sessions in a Langfuse project in which every place that can hold words holds one that is planted."""

import json
from typing import Any, Self

from assay.testing.langfuse import Reply
from assay.testing.observations import (
    Row,
    build_assistant_message,
    build_call,
    build_generation,
    build_hook_turn,
    build_native_turn,
    build_span,
    build_step,
    build_tool_result,
    build_tool_use,
    build_user_message,
)
from tests.exits.planting import Plant
from tests.langfuse.contract import CheckedServer

ROWS = "".join(f"row_{n} = {n}\n" for n in range(12))


class Langfuse(CheckedServer):
    """The server while it is needed; it remembers all that it was sent."""

    def __init__(self, *rows: Row) -> None:
        super().__init__("4.59.0")
        self.observations = [*rows]
        self.says = ""
        """What it answers every score with, that one at a time."""

    def __enter__(self) -> Self:
        super().__enter__()
        self.env = self.environment()
        return self

    def post_scores(self, body: Any) -> Reply:
        if not self.says:
            return super().post_scores(body)
        return 207, {}, {"accepted": 0, "rejected": len(body), "errors": [{"message": self.says}]}

    @property
    def sent(self) -> str:
        return "\n".join(f"{method} {path} {query} {json.dumps(body)}" for method, path, query, body in self.log)


def hooked(folder: str, plant: Plant, session: str = "lf-hook") -> list[Row]:
    """A session as the hook of Claude Code tells it."""

    def word(place: str) -> str:
        return plant(f"langfuse {place}", named=False)

    def name(place: str) -> str:
        return plant(f"langfuse {place}", named=True)

    path = f"{folder}/src/{name('path')}.py"
    rows = build_hook_turn(
        1,
        f"Please mend the loom with {word('prompt')}, and test it",
        build_step(
            build_call("h1", "Bash", f"1 failed\nE   {word('output')}", command=f"TOKEN={word('command')} pytest -q")
        ),
        build_step(
            build_call("h2", "Edit", "ok", file_path=path, old_string=word("old"), new_string=f"{word('new')}\n{ROWS}")
        ),
        build_step(build_call("h3", f"mcp__loom__{name('tool name')}", word("tool output"), query=word("tool input"))),
        build_step(build_call("h4", "Bash", "3 passed in 0.1s", command="pytest -q"), say=f"Now {word('step')}"),
        reply=f"The loom is mended with {word('reply')}",
        session=session,
    )
    rows += build_hook_turn(
        2, f"no, still wrong: {word('complaint')}", reply=f"Sorry, {word('sorry')}", session=session
    )
    for one in rows:
        one["metadata"] = one["metadata"] | {"cwd": folder, "note": word("metadata"), name("key"): 1}
        one |= {"userId": name("user"), "version": f"2.1.{name('version')}", "statusMessage": word("status message")}
        one |= {"traceName": f"turn of {name('trace name')}", "tags": ["claude-code", name("tag")]}
        if one["type"] == "GENERATION":
            one["model"] = name("model")
    failed = build_generation(
        150, [], {}, level="ERROR", statusMessage=f"overloaded {'x ' * 25}{word('cut status message')}"
    )
    odd = build_generation(160, [], {}) | {"type": f"KIND_{name('type')}", "name": name("name")}
    return [*rows, *(one | {"sessionId": session} for one in (failed, odd))]


def proxied(folder: str, plant: Plant, session: str = "lf-proxy") -> list[Row]:
    """A session as a proxy tells it: requests with all messages so far."""

    def word(place: str) -> str:
        return plant(f"proxy {place}", named=False)

    messages = [
        {"role": "system", "content": f"You are {word('system')}.\nWorking directory: {folder}\n"},
        build_user_message(f"Add {word('prompt')} to the till and test it"),
        build_tool_use("p1", "Bash", command=f"echo {word('command')}; pytest -q"),
        build_tool_result("p1", f"1 failed\n{word('output')}", is_error=True),
        build_assistant_message(f"It fails: {word('reply')}"),
        build_user_message(f"and now? {word('second prompt')}"),
    ]
    rows = [
        build_generation(
            300 + n, messages[:n], messages[n] if n < len(messages) else build_assistant_message(word("last reply"))
        )
        for n in (2, 4, 6)
    ]
    return [one | {"sessionId": session} for one in rows]


def native(plant: Plant, session: str = "lf-native") -> list[Row]:
    """A session in Claude Code's own spans, which don't say where it was run."""

    def word(place: str) -> str:
        return plant(f"native {place}", named=False)

    rows = [
        *build_native_turn(6, f"Weave {word('prompt')} please"),
        *build_native_turn(7, f"again, {word('second prompt')}"),
    ]
    told = {"tool_name": "Bash", "tool_use_id": "x1", "full_command": f"echo {word('command')}"}
    ran = build_span("tool", 605, rows[0], "n6", **told)
    failed = {"tool_use_id": "x1", "success": "false", "error": word("error")}
    asked = build_span("llm_request", 607, rows[0], "n6", success="false", error_class=word("error class"))
    asked["output"] = word("reply")
    rows += [ran, build_span("tool.execution", 606, ran, "n6", **failed), asked]
    return [one | {"sessionId": session} for one in rows]
