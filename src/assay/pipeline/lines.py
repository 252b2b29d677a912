"""Lines of a file that may be huge, half-written or not text at all.

One buffer is filled again and again and lines are handed out as views of it: copying lines and
touching fresh pages costs more than decoding them (see docs/decisions/0002).
"""

from collections.abc import Iterator
from io import FileIO

BUFFER = 1 << 17
"""Small enough to stay in the processor's cache: 1 MB took 7 % more, 4 MB a quarter more."""
LONGEST_LINE = 64 << 20


class Lines:
    """The lines from a file's position to its end, each a view that holds until the next one.

    A line that is too long comes as `None`. When all are taken, `consumed` tells how far they reach
    and `rest` holds what follows the last newline; `is_too_long` speaks of that rest.
    """

    def __init__(self, file: FileIO) -> None:
        self.file = file
        self.consumed = 0
        self.rest = memoryview(b"")
        self.rest_length = 0
        self.is_too_long = False

    def __iter__(self) -> Iterator[memoryview | None]:
        readinto = self.file.readinto
        buffer = bytearray(BUFFER)
        view = memoryview(buffer)
        held = 0
        while True:
            if held == len(buffer):
                if len(buffer) < LONGEST_LINE:
                    buffer, view = grown(buffer)
                else:
                    self.rest_length, held = self.rest_length + held, 0
                    self.is_too_long = True
            got = readinto(view[held:])
            if not got:
                break
            end, start, search, find = held + got, 0, held, buffer.find
            newline = find(b"\n", search, end)
            if newline >= 0 and self.is_too_long:
                yield None
                self.is_too_long = False
                start = newline + 1
                newline = find(b"\n", start, end)
            while newline >= 0:
                yield view[start:newline]
                start = newline + 1
                newline = find(b"\n", start, end)
            if start:
                self.consumed += start + self.rest_length
                self.rest_length = 0
            held = end - start
            if start and held:
                buffer[:held] = buffer[start:end]
        self.rest = view[:held]
        self.rest_length += held


def grown(buffer: bytearray) -> tuple[bytearray, memoryview]:
    """A buffer twice as large with the same beginning."""
    larger = bytearray(len(buffer) * 2)
    larger[: len(buffer)] = buffer
    return larger, memoryview(larger)
