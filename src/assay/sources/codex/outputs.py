"""What a tool's output says: how it ended, what still runs, and the text without the client's header."""

import re
from typing import Any

from msgspec import Struct

from assay.sources.codex.records import list_texts, parse_json, to_id, to_integer
from assay.types import CallStatus
from assay.types.value import to_table, to_text

_HEADER = re.compile(
    r"(?:Chunk ID: [^\n]*\n)?(?:Exit code: (?P<code>-?\d+)\n)?Wall time:? [^\n]*\n"
    r"(?:Process exited with code (?P<exited>-?\d+)\n|Process running with session ID (?P<session>\S+)\n"
    r"|Original token count: \d+\n|Total output lines: \d+\n)*Output:\n?"
)
_SCRIPT = re.compile(
    r"Script (?P<how>completed|failed|terminated|running with cell ID (?P<cell>\S+))\nWall time[^\n]*\n"
)
_REJECTED = re.compile(
    r"(?:rejected|denied|declined) by (?:the )?user|\buser (?:has )?(?:denied|rejected|declined)\b|\Adenied\b",
    re.IGNORECASE,
)
_INTERRUPTED = re.compile(r"aborted by (?:the )?user|^aborted\b", re.IGNORECASE)
_FAILED = re.compile(
    r"(?:apply_patch verification failed|(?:failed|unable|could not|cannot) |execution error|invalid patch"
    r"|(?:exec_command|write_stdin|shell|collab \S+) failed|error\b|unsupported |unknown (?:process|session|tool)"
    r"|script error|(?:\S+ )?missing field|`[^`]*` (?:is not|failed))",
    re.IGNORECASE,
)
_CODE = re.compile(r"^\W*(?:\d+\W+)?exit(?:[_ ]?code)?\s*[=:]\s*(-?\d+)\W*$", re.IGNORECASE)
_SESSION = re.compile(r"^\W*session(?:[_ ]?id)?\s*[=:]\s*(\d+)\W*$", re.IGNORECASE)
_MARK_LENGTH = 60


class CommandOutput(Struct):
    """What one command inside a script printed."""

    text: str = ""
    exit_code: int | None = None
    session: str = ""


class ToolOutput(Struct):
    """A tool's output, and how the call ended."""

    status: CallStatus = "ok"
    text: str = ""
    exit_code: int | None = None
    session: str = ""
    """Session under which the command still runs."""
    cell: str = ""
    """Cell in which the script still runs."""
    blocks: list[str] = []
    """What a script printed, print by print."""


def to_status(exit_code: int | None) -> CallStatus:
    """The status that an exit code tells."""
    return "error" if exit_code else "ok"


def parse_output(output: Any) -> ToolOutput:
    """Read an output in any of its forms."""
    if isinstance(output, list):
        return _parse_blocks(list_texts(output))
    if isinstance(output, dict):
        text = to_text(output.get("content")) or to_text(output.get("output"))
        found = _parse_text(text) if text else _parse_blocks(list_texts(output.get("content")))
        if output.get("success") is False and found.status == "ok":
            found.status = "error"
        return found
    return _parse_text(to_text(output))


def _parse_blocks(blocks: list[str]) -> ToolOutput:
    if not blocks:
        return ToolOutput()
    if _SCRIPT.match(blocks[0]) is None:
        return _parse_text("\n".join(blocks))
    found = _parse_text(blocks[0])
    found.blocks = [*found.blocks, *blocks[1:]]
    found.text = "\n".join(found.blocks)
    return found


def _parse_text(text: str) -> ToolOutput:
    if script := _SCRIPT.match(text):
        rest = text[script.end() :].removeprefix("Output:\n")
        status: CallStatus = "error" if script["how"] in ("failed", "terminated") else "ok"
        return ToolOutput(status=status, text=rest, cell=script["cell"] or "", blocks=[rest] if rest else [])
    header = _HEADER.search(text) if text.startswith("Command: ") else _HEADER.match(text)
    if header is not None:
        return _parse_header(text, header)
    if text.startswith('{"output"'):
        wrapped = to_table(parse_json(text))
        code = to_integer(to_table(wrapped.get("metadata")).get("exit_code"))
        return ToolOutput(status=to_status(code), text=to_text(wrapped.get("output")) or text, exit_code=code)
    return ToolOutput(status=_guess_status(text[:400]), text=text)


def _parse_header(text: str, header: re.Match[str]) -> ToolOutput:
    code = header["exited"] or header["code"]
    rest = text[header.end() :]
    # A patch caught on its way to the shell has a second header below the first.
    if code is None and not header["session"] and (inner := _HEADER.match(rest)) and inner["code"]:
        code, rest = inner["code"], rest[inner.end() :]
    exit_code = int(code) if code is not None and len(code) < 12 else None
    status = to_status(exit_code)
    if exit_code is None and not header["session"]:
        status = _guess_status(rest[:400])
    return ToolOutput(status=status, text=rest, exit_code=exit_code, session=header["session"] or "")


def _guess_status(text: str) -> CallStatus:
    if _INTERRUPTED.search(text):
        return "interrupted"
    if _REJECTED.search(text):
        return "rejected"
    return "error" if _FAILED.match(text) else "ok"


def split_results(blocks: list[str]) -> list[CommandOutput]:
    """The results that a script printed: as JSON, or as text with a line like `EXIT=0` before or after it."""
    found: list[CommandOutput] = []
    for block in blocks:
        results = _parse_results(block)
        if results:
            found += results
            continue
        short = len(block) <= _MARK_LENGTH
        if short and (session := _SESSION.match(block.strip())):
            if not found:  # nothing was printed yet, so its block is missing
                found.append(CommandOutput(text=""))
            found[-1].session = session[1]
        elif short and found and (code := _CODE.match(block.strip())):
            found[-1].exit_code = _parse_code(code[1])
        else:
            head, _, rest = block.lstrip("\n").partition("\n")
            code = _CODE.match(head) if len(head) <= _MARK_LENGTH else None
            found.append(
                CommandOutput(text=rest, exit_code=_parse_code(code[1])) if code else CommandOutput(text=block)
            )
    return found


def _parse_code(digits: str) -> int | None:
    return int(digits) if len(digits) < 12 else None


def _parse_results(block: str) -> list[CommandOutput]:
    if not block.startswith(("{", "[")) or not ("exit_code" in block or "session_id" in block or "chunk_id" in block):
        return []
    value = parse_json(block)
    results = [to_table(one) for one in (value if isinstance(value, list) else [value])]
    if not all(result.keys() & {"exit_code", "session_id", "chunk_id"} for result in results):
        return []
    return [
        CommandOutput(
            text=to_text(result.get("output")),
            exit_code=to_integer(result.get("exit_code")),
            session=to_id(result.get("session_id")),
        )
        for result in results
    ]
