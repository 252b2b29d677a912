"""Files of a repository as they were, through one `git cat-file --batch`."""

from collections.abc import Callable

from assay.git import Stream

LARGEST = 8 << 20
PORTION = 1 << 20
LONGEST_NAME = 8 << 10
"""Bytes; what a pipe takes at once, so nobody waits for a git that does not read."""


class Blobs:
    """Asks a process that is started when it is first needed, and again when it died."""

    def __init__(self, start: Callable[[], Stream]) -> None:
        self.start = start
        self.stream: Stream | None = None

    def read(self, name: str) -> bytes | None:
        """What git calls by this name, if it is a file that can be read and is not too large."""
        asked = name.encode("utf-8", "surrogateescape")
        if b"\n" in asked or len(asked) > LONGEST_NAME:
            return None
        self.stream = self.stream or self.start()
        answers = self.stream.out
        try:
            self.stream.write(asked + b"\n")
            head = answers.readline().split()
        except OSError:
            head = []
        if not head:  # it died of a broken object
            self.close()
            return None
        if head[-1] in (b"missing", b"ambiguous") or not head[-1].isdigit():
            return None
        size = int(head[-1])
        if size > LARGEST or head[-2] != b"blob":
            self.skip(size + 1)
            return None
        found = answers.read(size + 1)
        if len(found) <= size:
            self.close()
            return None
        return found[:-1]

    def skip(self, size: int) -> None:
        """Pass over an answer."""
        while size > 0 and self.stream:
            got = len(self.stream.out.read(min(size, PORTION)))
            size = size - got if got else 0

    def close(self) -> None:
        """End the process."""
        stream, self.stream = self.stream, None
        if stream:
            stream.close()
