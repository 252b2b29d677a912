"""A PostgreSQL server whose disk is full: what was stored is kept, a line says so, and with space it goes on."""

import os
import pwd
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from assay.stores import open_store
from assay.testing.claude_code import write_folder
from assay.types import PersonCorrection
from tests.conftest import Ran, is_one_line, run
from tests.postgres import NOBODY, USER, PostgresServer

pytestmark = pytest.mark.long
SAID = PersonCorrection(kind="rename", turn="a" * 12, title="kept", at="2026-11-09T09:00:00+00:00")


@contextmanager
def mount_disk(size: str) -> Iterator[Path]:
    """A disk of this size, for the user that a server runs as."""
    with tempfile.TemporaryDirectory(prefix="assay-disk-") as made:
        disk = Path(made) / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "assay-test", str(disk)]
        if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("only root can mount a tiny disk")
        try:
            Path(made).chmod(0o755)
            os.chown(disk, pwd.getpwnam(NOBODY).pw_uid, -1)
            yield disk
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> None:
    """Leave room for some rows, and not for all."""
    free = os.statvfs(disk)
    (disk / "filling").write_bytes(bytes(free.f_bavail * free.f_frsize - (600 << 10)))


def enlarge(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=600m", str(disk)], check=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Transcripts of some megabytes."""
    return write_folder(tmp_path_factory.mktemp("in"), files=60, turns=30, padding=1_000)


def score(folder: Path, store: object) -> Ran:
    return run("score", folder, "--json", "--store", store, "--as-of", "2026-04-01", "--jobs", 1)


def check_kept_and_going_on(folder: Path, url: str, fresh: Path) -> None:
    """Nothing that was stored is lost, and the next run ends where one that was never stopped does."""
    with closing(open_store(url)) as store:
        assert store.corrections.load_corrections() == [SAID]
        assert store.check() == []
    with closing(open_store(f"sqlite:///{fresh}")) as store:
        store.corrections.save_correction(SAID)
    whole = score(folder, url)
    assert whole.json == score(folder, fresh).json
    assert whole.json["sessions"]


def test_tables_on_a_full_disk_are_told_and_the_score_goes_on_with_space(folder: Path, tmp_path: Path):
    with mount_disk("40m") as disk, closing(PostgresServer()) as server:
        url = server.url("full").replace("/test", "/small")
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE tiny LOCATION '{disk}'")
            connection.execute("CREATE DATABASE small TABLESPACE tiny")
        with closing(open_store(url)) as store:
            store.corrections.save_correction(SAID)
        fill(disk)
        for _ in range(2):
            ran = score(folder, url)
            assert (ran.code, ran.out) == (2, ""), ran.err
            assert is_one_line(ran.err), ran.err
            assert "no space left" in ran.err
            assert "run again when there is some" in ran.err
        with closing(open_store(url)) as store:
            assert len(store.transcripts.list_streams(None)) < 60
        enlarge(disk)
        check_kept_and_going_on(folder, url, tmp_path / "fresh.db")


def test_a_server_that_its_full_disk_brings_down_loses_nothing(folder: Path, tmp_path: Path):
    """Where its log can't be written, PostgreSQL ends; whoever waits is told in a line, and nothing else is said."""
    with mount_disk("64m") as disk, closing(PostgresServer(disk, "--wal-segsize=1")) as server:
        url = server.url("full")
        with closing(open_store(url)) as store:
            store.corrections.save_correction(SAID)
        fill(disk)
        ran = score(folder, url)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert is_one_line(ran.err), ran.err
        assert any(word in ran.err for word in ("no space left", "lost its connection", "can't be reached")), ran.err
        enlarge(disk)
        wait_for(server)
        check_kept_and_going_on(folder, url, tmp_path / "fresh.db")


def wait_for(server: PostgresServer) -> None:
    """Have a server run again: it comes back by itself, or is started as its owner would."""
    for _ in range(40):
        try:
            psycopg.connect(server.url(), user=USER, connect_timeout=2).close()
        except psycopg.OperationalError:
            time.sleep(0.25)
        else:
            return
    server.start()
