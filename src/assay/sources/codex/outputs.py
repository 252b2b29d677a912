"""What a tool's output says: how it ended, what still runs, and the text without the client's header."""

import re
from typing import Any

from msgspec import Struct

from assay.sources.codex.records import decoded, number_text, table, texts, whole, word
from assay.types import CallStatus

_HEADER = re.compile(
    r"(?:Chunk ID: [^\n]*\n)?(?:Exit code: (?P<code>-?\d+)\n)?Wall time:? [^\n]*\n"
    r"(?:Process exited with code (?P<exited>-?\d+)\n|Process running with session ID (?P<session>\S+)\n"
    r"|Original token count: \d+\n|Total output lines: \d+\n)*Output:\n?"
)
_SCRIPT = re.compile(
    r"Script (?P<how>completed|failed|terminated|running with cell ID (?P<cell>\S+))\nWall time[^\n]*\n"
)
_REJECTED = re.compile(r"rejected by (?:the )?user|\bdenied\b|declined by (?:the )?user", re.IGNORECASE)
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


class Piece(Struct):
    """What one command inside a script gave."""

    text: str = ""
    exit_code: int | None = None
    session: str = ""


class Outcome(Struct):
    """How a call ended."""

    status: CallStatus = "ok"
    text: str = ""
    exit_code: int | None = None
    session: str = ""
    """Session under which the command still runs."""
    cell: str = ""
    """Cell in which the script still runs."""
    blocks: list[str] = []
    """What a script printed, print by print."""


def status_of(exit_code: int | None) -> CallStatus:
    """A command's status as its exit code tells it."""
    return "error" if exit_code else "ok"


def outcome(output: Any) -> Outcome:
    """Read an output in any of its forms."""
    if isinstance(output, list):
        return _of_blocks(texts(output))
    if isinstance(output, dict):
        text = word(output.get("content")) or word(output.get("output"))
        found = _of_text(text) if text else _of_blocks(texts(output.get("content")))
        if output.get("success") is False and found.status == "ok":
            found.status = "error"
        return found
    return _of_text(word(output))


def _of_blocks(blocks: list[str]) -> Outcome:
    if not blocks:
        return Outcome()
    if _SCRIPT.match(blocks[0]) is None:
        return _of_text("\n".join(blocks))
    found = _of_text(blocks[0])
    found.blocks = [*found.blocks, *blocks[1:]]
    found.text = "\n".join(found.blocks)
    return found


def _of_text(text: str) -> Outcome:
    if script := _SCRIPT.match(text):
        rest = text[script.end() :].removeprefix("Output:\n")
        status: CallStatus = "error" if script["how"] in ("failed", "terminated") else "ok"
        return Outcome(status=status, text=rest, cell=script["cell"] or "", blocks=[rest] if rest else [])
    header = _HEADER.search(text) if text.startswith("Command: ") else _HEADER.match(text)
    if header is not None:
        return _of_header(text, header)
    if text.startswith('{"output"'):
        wrapped = table(decoded(text))
        code = whole(table(wrapped.get("metadata")).get("exit_code"))
        return Outcome(status=status_of(code), text=word(wrapped.get("output")) or text, exit_code=code)
    return Outcome(status=_told_status(text[:400]), text=text)


def _of_header(text: str, header: re.Match[str]) -> Outcome:
    code = header["exited"] or header["code"]
    rest = text[header.end() :]
    # A patch caught on its way to the shell has a second header below the first.
    if code is None and not header["session"] and (inner := _HEADER.match(rest)) and inner["code"]:
        code, rest = inner["code"], rest[inner.end() :]
    exit_code = int(code) if code is not None and len(code) < 12 else None
    status = status_of(exit_code)
    if exit_code is None and not header["session"]:
        status = _told_status(rest[:400])
    return Outcome(status=status, text=rest, exit_code=exit_code, session=header["session"] or "")


def _told_status(text: str) -> CallStatus:
    if _INTERRUPTED.search(text):
        return "interrupted"
    if _REJECTED.search(text):
        return "rejected"
    return "error" if _FAILED.match(text) else "ok"


def pieces(blocks: list[str]) -> list[Piece]:
    """Results that a script printed: as JSON, or as text with a line like `EXIT=0` before or after it."""
    found: list[Piece] = []
    for block in blocks:
        results = _printed_results(block)
        if results:
            found += results
            continue
        short = len(block) <= _MARK_LENGTH
        if short and (session := _SESSION.match(block.strip())):
            if not found:  # nothing was printed yet, so its block is missing
                found.append(Piece(text=""))
            found[-1].session = session[1]
        elif short and found and (code := _CODE.match(block.strip())):
            found[-1].exit_code = _number(code[1])
        else:
            head, _, rest = block.lstrip("\n").partition("\n")
            code = _CODE.match(head) if len(head) <= _MARK_LENGTH else None
            found.append(Piece(text=rest, exit_code=_number(code[1])) if code else Piece(text=block))
    return found


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) < 12 else None


def _printed_results(block: str) -> list[Piece]:
    if not block.startswith(("{", "[")) or not ("exit_code" in block or "session_id" in block or "chunk_id" in block):
        return []
    value = decoded(block)
    results = [table(one) for one in (value if isinstance(value, list) else [value])]
    if not all(result.keys() & {"exit_code", "session_id", "chunk_id"} for result in results):
        return []
    return [
        Piece(
            text=word(result.get("output")),
            exit_code=whole(result.get("exit_code")),
            session=number_text(result.get("session_id")),
        )
        for result in results
    ]
