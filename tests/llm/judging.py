"""Transcripts worth asking a model about, and a model that answers whatever judges ask."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from assay.testing.claude_code import build_prompt, build_reply, build_result, build_shell_call, write_lines
from assay.testing.models import ModelRequest, ModelServer

CHECKS = (
    "goal_explicit scope_bounded references_concrete context_sufficient verification_requested "
    "root_cause_oriented plan_first"
)
REPLIES: dict[str, dict[str, Any]] = {
    "topic": {"gaps": [{"turn": 2, "p": 0.05, "reason": ""}]},
    "session": {
        "rationale": "A counter is asked for. The tests passed behind the change.",
        "intent": "feature",
        "second_intent": "none",
        "checks": dict.fromkeys(CHECKS.split(), True),
        "title": "Count reeds",
        "summary": "A counter was added and tested.",
        "state": "done_shown",
        "p": 0.9,
        "basis": "check",
        "citations": [{"turn": 1, "quote": "3 passed in 0.1s"}],
    },
}
FAILED = REPLIES["session"] | {
    "rationale": "Nothing shows it.",
    "state": "not_done",
    "p": 0.2,
    "basis": "none",
    "citations": [],
}
JOBS = ("topic", "session")
ASKED_TURNS = re.compile(r"^Judge each of these turns: ([\d, -]+)$", re.MULTILINE)


def list_asked(text: str) -> list[int]:
    """The turns that a topic question asks about."""
    runs = [[int(end) for end in run.split("-")] for run in ASKED_TURNS.findall(text)[-1].split(", ")]
    return [turn for run in runs for turn in range(run[0], run[-1] + 1)]


def agreeable(job: str, text: str) -> dict[str, Any]:
    """A model that sees what the offline judge sees."""
    if job == "topic":
        return {"gaps": [{"turn": turn, "p": 0.05, "reason": ""} for turn in list_asked(text)]}
    return REPLIES[job]


def talk(stream: str, start: float = 0, cwd: str = "/home/ada/loom", wish: str = "") -> list[dict[str, Any]]:
    """A feature asked for, written, tested and thanked for: topics and a session to ask for."""
    asked = wish or f"Add a reed counter to {stream}.py and run the tests"
    found = [
        build_prompt(start, asked, stream),
        build_shell_call(start + 1, f"cat > {stream}.py <<'END'\nx = 1\ny = count(x)\nEND", stream),
        build_result(start + 2, start + 1, "", stream),
        build_shell_call(start + 3, "pytest -q", stream),
        build_result(start + 4, start + 3, "3 passed in 0.1s", stream),
        build_reply(start + 5, "The counter is in and the tests pass.", stream),
        build_prompt(start + 60, "thanks, that works", stream),
        build_reply(start + 61, "Glad to hear.", stream),
    ]
    return [{**one, "cwd": cwd} for one in found]


def talks(folder: Path, count: int, **more: Any) -> Path:
    """A folder with such a conversation in each file."""
    for n in range(count):
        write_lines(folder / f"s{n}.jsonl", *talk(f"loom{n}", **more))
    return folder


def words(request: ModelRequest) -> tuple[str, ...]:
    """What tells one question from another: the judge, the vote, and every word."""
    system = request.body["system"]
    told = system if isinstance(system, str) else "".join(block["text"] for block in system)
    return request.job, str(request.body.get("temperature")), told, request.text


def asked(service: ModelServer) -> Counter[tuple[str, ...]]:
    """How often each question arrived."""
    return Counter(map(words, service.calls))


def sent(service: ModelServer) -> str:
    """All that ever arrived."""
    return "\n".join(json.dumps(one.body, ensure_ascii=False) for one in service.requests)


def jobs(calls: Iterable[ModelRequest]) -> Counter[str]:
    return Counter(one.job for one in calls)


def instead(job: str, reply: Any, when: Callable[[str], bool] = lambda _: True) -> Callable[[str, str], Any]:
    """The agreeable model, apart from one judge."""
    return lambda asking, text: reply if asking == job and when(text) else agreeable(asking, text)
