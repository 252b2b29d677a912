"""What a command writes to stdout, noted on its way."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

MOST_BYTES = 256 * 1024
"""Of a longer answer nothing is noted."""


class Recording(io.BufferedIOBase):
    """A stream that hands on what is written to it, and knows what that was."""

    def __init__(self, inner: BinaryIO) -> None:
        self.inner = inner
        self.parts: list[bytes] = []
        self.size = 0
        self.is_whole = True
        """Whether nothing was left out, nor written elsewhere."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self.size += len(part)
        if self.size > MOST_BYTES:
            self.spoil()
        elif self.is_whole:
            self.parts.append(part)
        self.inner.write(part)
        return len(part)

    def spoil(self) -> None:
        """Note that this is not all that a person sees."""
        self.is_whole = False
        self.parts.clear()

    def flush(self) -> None:
        self.inner.flush()

    def fileno(self) -> int:
        return self.inner.fileno()

    def isatty(self) -> bool:
        return self.inner.isatty()


current: list[Recording] = []
"""The recording that is made now, if any."""


@contextmanager
def record_output() -> Iterator[Recording]:
    """Note what is written to stdout meanwhile."""
    usual = sys.stdout
    usual.flush()
    recording = Recording(usual.buffer)
    sys.stdout = io.TextIOWrapper(
        recording, encoding=usual.encoding, errors=usual.errors, line_buffering=usual.isatty(), newline=""
    )
    current.append(recording)
    try:
        yield recording
    finally:
        current.remove(recording)
        sys.stdout.flush()
        sys.stdout.detach()
        sys.stdout = usual


def spoil_recording() -> None:
    """Note that something is shown otherwise than by writing to stdout."""
    for one in current:
        one.spoil()
