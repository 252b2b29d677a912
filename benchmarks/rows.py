"""The rows that run inside Python, each in a process of its own: `python -m benchmarks.rows NAME DIR`."""

import sys
from collections.abc import Callable
from pathlib import Path

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
    """Every file through assay's reader: decoded, folded and free of repeats, in one process and no store."""
    from assay.pipeline.digest import digest

    for path in paths:
        digest(path)
    return len(paths)


ROWS: dict[str, Callable[[list[Path]], int]] = {"read": read_row, "orjson": orjson_row, "decode": decode_row}


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
