"""`assay serve` as a process of its own, for benchmarks that ask it over HTTP."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serve(store: str, *words: str) -> Iterator[tuple[str, int]]:
    """A server on a store, on a free port: its address and the id of its process; stopped at the end."""
    command = [sys.executable, "-m", "assay", "serve", "--port", "0", "--store", store, *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr
    try:
        said = ""
        while "listening on " not in said:  # on PostgreSQL it says first that workers are needed
            said = process.stderr.readline()
            assert said, "the server ended"
        address = said.partition("listening on ")[2].split(": ")[0].split()[0].rstrip(":")
        threading.Thread(target=lambda: [None for _ in process.stderr or ()], daemon=True).start()
        yield address, process.pid
    finally:
        process.terminate()
        process.wait(60)
