"""Notices when hidden files are opened while an agent runs: for plain directories, where nothing keeps it from them.

Times of access are set back, so that the next opening shows even where they are kept lazily (`relatime`). We
ourselves read nothing hidden after that, and no two trials of one task run at the same time: whoever runs has done it.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

LONG_AGO_NS = 86_400_000_000_000
UNNOTICED = "whether hidden files are opened can't be noticed on this file system"


class Hidden:
    """Files of tasks that nobody should open, and when somebody did."""

    def __init__(self, files: Mapping[str, Sequence[Path]]) -> None:
        self.files = files
        self.lock = threading.Lock()
        self.armed: dict[Path, int] = {}
        every = [file for several in files.values() for file in several]
        for file in every:
            self.arm(file)
        self.says = "" if all(self.notices(file) for file in every[:1]) else UNNOTICED

    def notices(self, file: Path) -> bool:
        """Whether opening a file shows."""
        file.read_bytes()
        shows = file.stat().st_atime_ns != self.armed[file]
        self.arm(file)
        return shows

    def arm(self, file: Path) -> None:
        """Set a file's time of access back."""
        now = file.stat()
        try:
            os.utime(file, ns=(LONG_AGO_NS, now.st_mtime_ns))
            self.armed[file] = file.stat().st_atime_ns
        except OSError:  # somebody else's file, or a file system that is read only
            self.armed[file] = now.st_atime_ns

    def opened(self, task: str) -> list[Path]:
        """Hidden files of a task that were opened, or went away, since this was last asked."""
        with self.lock:
            found = [file for file in self.files.get(task, ()) if self.is_opened(file)]
            for file in found:
                if file.exists():
                    self.arm(file)
            return found

    def is_opened(self, file: Path) -> bool:
        try:
            return file.stat().st_atime_ns != self.armed.get(file)
        except OSError:
            return True
