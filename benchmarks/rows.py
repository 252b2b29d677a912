"""The rows that run inside Python, each in a process of its own: `python -m benchmarks.rows NAME DIR`."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEAD = 64 << 10
NOT_AVAILABLE = 69  # EX_UNAVAILABLE in sysexits.h


def read_row(paths: list[Path]) -> int:
    """Every byte into one reused buffer: what the machine allows at most."""
    buffer, total = bytearray(4 << 20), 0
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                total += count
    return total


def orjson_row(paths: list[Path]) -> int:
    """Every line through `orjson.loads`, the result dropped: what a plain reader pays before it does anything."""
    import orjson

    lines = 0
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                orjson.loads(line)
                lines += 1
    return lines


def decode_row(paths: list[Path]) -> int:
    """Every line through assay's own lines and typed decoder; the last usage of each response over all files."""
    import msgspec

    from assay.pipeline.records import LineReader
    from assay.sources import load_sources

    known = [(one, msgspec.json.Decoder(one.Record).decode) for one in load_sources().values()]
    usage: dict[object, object] = {}
    for path in paths:
        with path.open("rb", buffering=0) as file:
            head = file.read(HEAD)
            file.seek(0)
            source, decode = next(pair for pair in known if pair[0].claims(head))
            last = claude_usage if source.AGENT == "claude-code" else codex_usage
            last(LineReader(file), decode, usage)
    return len(usage)


def claude_usage(lines: Any, decode: Any, usage: dict[object, object]) -> None:
    """The last usage reported for a message wins."""
    for line in lines:
        message = decode(line).message
        if message is not None and message.usage is not None:
            usage[message.id] = message.usage


def codex_usage(lines: Any, decode: Any, usage: dict[object, object]) -> None:
    """A running total that repeats is one report."""
    for line in lines:
        payload = decode(line).payload
        if payload is not None and payload.info is not None:
            usage[repr(payload.info.total_token_usage)] = payload.info


def digest_row(paths: list[Path]) -> int:
    """Every file folded into turns, shell commands parsed, and all facts established, in one process and no store."""
    from assay.pipeline.scan_worker import ReadTask, read_task

    for path in paths:
        read_task(ReadTask(path=str(path), name=str(path)))
    return len(paths)


ROWS: dict[str, Callable[[list[Path]], int]] = {
    "read": read_row,
    "orjson": orjson_row,
    "decode": decode_row,
    "digest": digest_row,
}


def main() -> int:
    name, root = sys.argv[1], Path(sys.argv[2])
    try:
        print(ROWS[name](sorted(root.rglob("*.jsonl"))))
    except ImportError as error:
        print(f"not available: {error}", file=sys.stderr)
        return NOT_AVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
