"""A store made from transcripts whose every field is hostile."""

import json
from pathlib import Path
from typing import Any

from assay import score

MARK = "zqx"
"""Stands in every hostile word: a page that shows it anywhere must show it as text."""
WORDS = [
    f"<script>window.hit='{MARK}'</script>",
    f'"><img src=x onerror="window.hit=\'{MARK}\'">',
    f"'><svg/onload=window.hit='{MARK}'>",
    f"javascript:window.hit='{MARK}'",
    f"[{MARK}](javascript:window.hit=1) ![x](https://evil.example/{MARK}.png)",
    f"</title></textarea></style></script><script>window.hit='{MARK}'</script>",
    f"\x1b[2J\x1b]8;;https://evil.example\x07{MARK}\x1b]8;;\x07\x9b31m",
    f"\u202e{MARK}\u2066\u200f\ufeff\u2028",
    f"{{{{7*7}}}} ${{7*7}} <%= 7*7 %> {MARK}",
    f"{MARK}" * 400,
]
AT = "2026-11-0{}T1{}:00:{:02}.000Z"


def write_transcripts(folder: Path, sessions: int = 24) -> None:
    """Conversations of Claude Code in which whatever somebody can write is hostile."""
    for n in range(sessions):
        word, other = WORDS[n % len(WORDS)], WORDS[(n + 3) % len(WORDS)]
        home = folder / f"-home-{n % 5}"
        home.mkdir(parents=True, exist_ok=True)
        lines = [*build_turns(n, word, other)]
        (home / f"0000000{n % 10}-0000-4000-8000-0000000000{n:02}.jsonl").write_text(
            "\n".join(json.dumps(line) for line in lines) + "\n", "utf-8"
        )


def build_turns(n: int, word: str, other: str) -> list[dict[str, Any]]:
    """A conversation of two prompts, with a call that fails or edits a file."""
    common = {
        "sessionId": f"s-{n}", "version": "2.0.0", "cwd": f"/home/{other[:60]}/{n % 5}", "gitBranch": word[:80],
        "userType": "external", "isSidechain": False,
    }  # fmt: skip

    def at(second: int) -> str:
        return AT.format(1 + n % 9, n // 9, second)

    def ask(second: int, text: str) -> dict[str, Any]:
        message = {"role": "user", "content": text}
        return common | {"type": "user", "uuid": f"u{n}-{second}", "timestamp": at(second), "message": message}

    def reply(second: int, *content: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        named = {"id": f"m{n}-{second}", "role": "assistant", "model": WORDS[n % 2][:60]}
        message = named | {"content": [*content], "usage": usage}
        return common | {
            "type": "assistant", "uuid": f"a{n}-{second}", "requestId": f"r{n}-{second}", "timestamp": at(second),
            "message": message,
        }  # fmt: skip

    call = {
        "type": "tool_use", "id": f"t{n}", "name": "Edit",
        "input": {"file_path": f"/home/{other[:60]}/{word[:40]}.py", "old_string": other, "new_string": word},
    }  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": word, "is_error": n % 2 == 0}
    return [
        {"type": "summary", "summary": word, "leafUuid": f"a{n}-9"},
        ask(0, f"Please fix {word} in {other} and run the tests"),
        reply(1, {"type": "text", "text": f"I will. {other}"}, call),
        ask(2, "") | {"message": {"role": "user", "content": [result]}, "toolUseResult": word},
        reply(3, {"type": "text", "text": f"Done: {word}. All tests pass."}),
        ask(4, f"No, that is wrong. {word}" if n % 3 == 0 else f"Thanks, that works. {other}"),
        reply(5, {"type": "text", "text": f"You are welcome. {word}"}),
    ]


LINE = 5_000_000
"""Characters of a line that is longer than anything people write."""


def make_long_store(folder: Path) -> str:
    """The URL of a store that has read lines of 5 MB, in every field that somebody can write."""
    for n, unit in enumerate((f"<script>window.hit='{MARK}'</script> ", MARK)):
        word = unit * (LINE // len(unit))
        lines = build_turns(n, unit, unit)
        _, replied, called, closed, answered, thanked = lines[1:]
        answered["message"]["content"] = f"No, that is wrong. {word}"
        replied["gitBranch"] = word
        called["message"]["content"][0]["content"] = word
        closed["message"]["content"][0]["text"] = f"Done. {word}"
        thanked["message"]["model"] = word
        lines.append({"type": "summary", "summary": word, "leafUuid": f"a{n}-5"})
        home = folder / "transcripts" / f"-home-{n}"
        home.mkdir(parents=True)
        text = "\n".join(json.dumps(line) for line in lines)
        (home / f"0000000{n}-0000-4000-8000-00000000000{n}.jsonl").write_text(f"{text}\n", "utf-8")
    score(str(folder / "transcripts"), store=folder / "assay.db", jobs=1, timezone="UTC")
    return f"sqlite:///{folder / 'assay.db'}"


def make_hostile_store(folder: Path) -> str:
    """The URL of a store that has read them."""
    write_transcripts(folder / "transcripts")
    score(str(folder / "transcripts"), store=folder / "assay.db", jobs=1, timezone="UTC")
    return f"sqlite:///{folder / 'assay.db'}"
