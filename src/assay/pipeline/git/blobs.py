"""Files of a repository as they were, through one `git cat-file --batch`."""

import subprocess
from collections.abc import Callable

LARGEST = 8 << 20
PORTION = 1 << 20


class Blobs:
    """Asks a process that is started when it is first needed, and again when it died."""

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.start = start
        self.process: subprocess.Popen[bytes] | None = None

    def read(self, name: str) -> bytes | None:
        """What git calls by this name, if it is a file that can be read and is not too large."""
        if "\n" in name:
            return None
        self.process = self.process or self.start()
        asked, answers = self.process.stdin, self.process.stdout
        assert asked
        assert answers
        try:
            asked.write(name.encode("utf-8", "surrogateescape") + b"\n")
            asked.flush()
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
        while size > 0 and self.process and self.process.stdout:
            got = len(self.process.stdout.read(min(size, PORTION)))
            size = size - got if got else 0

    def close(self) -> None:
        """End the process."""
        process, self.process = self.process, None
        if not process:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:
                    continue
        process.wait()
