"""Lines of a file that may be huge, half-written or not text at all.

One buffer is filled again and again and lines are handed out as views of it: copying lines and
touching fresh pages costs more than decoding them (see docs/decisions/0002).
"""

from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

BUFFER = 1 << 20
LONGEST_LINE = 64 << 20


class Line(Struct, gc=False):
    """One line without its newline; `text` is only valid until the next line is asked for."""

    text: memoryview
    is_whole: bool = True
    """A newline follows."""
    length: int = 0
    """Bytes up to the start of the next line."""
    is_too_long: bool = False


def lines(file: BinaryIO) -> Iterator[Line]:
    """The lines from the file's position to its end."""
    buffer = bytearray(BUFFER)
    view = memoryview(buffer)
    held = dropped = 0
    while True:
        if held == len(buffer):
            if len(buffer) < LONGEST_LINE:
                buffer, view = grown(buffer)
            else:
                dropped, held = dropped + held, 0
        got = file.readinto(view[held:]) or 0
        if not got:
            break
        end, start, search = held + got, 0, held
        while (newline := buffer.find(b"\n", search, end)) >= 0:
            yield Line(view[start:newline], True, newline + 1 - start + dropped, dropped > 0)
            start = search = newline + 1
            dropped = 0
        held = end - start
        if start and held:
            buffer[:held] = buffer[start:end]
    if held or dropped:
        yield Line(view[:held], False, held + dropped, dropped > 0)


def grown(buffer: bytearray) -> tuple[bytearray, memoryview]:
    """A buffer twice as large with the same beginning."""
    larger = bytearray(len(buffer) * 2)
    larger[: len(buffer)] = buffer
    return larger, memoryview(larger)
