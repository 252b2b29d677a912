"""Notices when hidden files are opened while an agent runs: for plain directories, where nothing keeps it from them.

Times of access are set back, so that the next opening shows even where they are kept lazily (`relatime`). We
ourselves read nothing hidden after that. Trials that run at the same time share the blame: nobody can tell them apart.
"""

import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

LONG_AGO_NS = 86_400_000_000_000


class Hidden:
    """Files that nobody should open, and when somebody did."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = list(files)
        self.lock = threading.Lock()
        self.armed: dict[Path, int] = {}
        self.opened: list[tuple[int, Path]] = []
        for file in self.files:
            self.arm(file)

    def arm(self, file: Path) -> None:
        """Set a file's time of access back."""
        now = file.stat()
        try:
            os.utime(file, ns=(LONG_AGO_NS, now.st_mtime_ns))
            self.armed[file] = file.stat().st_atime_ns
        except PermissionError:  # somebody else's file, or a file system that is read only
            self.armed[file] = now.st_atime_ns

    def look(self) -> None:
        """Take down what was opened since."""
        for file in self.files:
            try:
                at = file.stat().st_atime_ns
            except OSError:
                self.opened.append((time.time_ns(), file))
                continue
            if at != self.armed.get(file):
                self.opened.append((at, file))
                self.arm(file)

    def opened_since(self, began_ns: int) -> list[Path]:
        """Hidden files that were opened after a moment."""
        with self.lock:
            self.look()
            return sorted({file for at, file in self.opened if at >= began_ns})
