"""Bad input, met as a person meets it: nothing crashes, nothing is lost in silence."""

import gzip
import json
import os
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.testing.claude_code import (
    build_conversation,
    build_prompt,
    build_reply,
    encode_lines,
    write_folder,
    write_lines,
)
from tests.conftest import adds_up, bound_by_permissions, is_one_line, run, settled, spawn, start, streams

MB = 1_000_000
MOST_RSS = 200 * MB
DEEP = b'{"type":"user","sessionId":"s1","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}"


def long_line(length: int, second: float = 5) -> bytes:
    return json.dumps(build_prompt(second, "yarn" * (length // 4))).encode()


def packed(*records: Any) -> bytes:
    return gzip.compress(encode_lines(records))


# --- paths ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["nowhere.jsonl"], "nowhere.jsonl"),
        (["there.jsonl", "nowhere"], "nowhere"),
        (["there.jsonl", "there.jsonl", "nowhere"], "nowhere"),
        (["there.jsonl/below"], "there.jsonl/below"),
        (["~nobody-of-that-name/x"], "~nobody-of-that-name/x"),
        (["loop.jsonl"], "loop.jsonl"),
        (["x" * 300], "x" * 300),
    ],
)
def test_a_path_that_is_not_there_is_told_in_one_line(tmp_path: Path, given: list[str], named: str):
    write_lines(tmp_path / "there.jsonl", build_prompt(1))
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    ran = run("streams", *given, "--store", tmp_path / "s.db", "--json", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert ran.err.startswith(f"assay: {named}: ")
    assert "give" in ran.err


def test_something_that_is_no_file_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    scan = start("streams", tmp_path / "pipe.jsonl", "--store", tmp_path / "s.db", "--json")
    try:
        out, err = scan.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        scan.kill()
        scan.communicate()
        pytest.fail("it waits for somebody to write into the pipe")
    assert scan.returncode in (0, 2), err
    assert b"pipe.jsonl" in out + err


def test_links_that_lead_nowhere_do_not_hide_their_neighbours(tmp_path: Path):
    folder = write_folder(tmp_path / "in", 3)
    (folder / "p0" / "loop.jsonl").symlink_to("loop.jsonl")
    (folder / "p0" / "dangling.jsonl").symlink_to("nowhere")
    (folder / "p0" / "up").symlink_to("..")
    os.mkfifo(folder / "p0" / "pipe.jsonl")
    listed = run("streams", folder, "--store", tmp_path / "s.db", "--json").json
    assert len(listed["streams"]) == 3


def test_a_name_that_is_no_utf_8_is_a_name_like_others(tmp_path: Path):
    path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), b"in", b"w\xf6lle.jsonl")))
    write_lines(path, build_prompt(1))
    for given in (tmp_path / "in", path):
        listed = run("streams", given, "--store", tmp_path / "a.db", "--json").json
        assert [one["id"] for one in listed["streams"]] == ["s1"]
        assert adds_up(listed, path)
    for command in ("streams", "doctor"):
        assert run(command, tmp_path / "in", "--store", tmp_path / "a.db").code == 0


def test_a_folder_without_transcripts_is_no_error(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    ran = run("streams", tmp_path / "empty", "--store", tmp_path / "s.db", "--json")
    assert ran.json["streams"] == []
    assert ran.json["lines"] == {"total": 0, "read": 0, "skipped": 0}
    shown = run("streams", tmp_path / "empty", "--store", tmp_path / "s.db")
    assert shown.code == 0
    assert "assay doctor" in shown.out


# --- files ------------------------------------------------------------------------------------

# What the file holds, which line is skipped (None: the whole file), a word of why, and prompts that are read.
FILES: dict[str, tuple[bytes, int | None, str, int]] = {
    "empty": (b"", None, "empty", 0),
    "binary": (bytes(range(256)) * 40, None, "binary", 0),
    "gzip": (packed(*build_conversation("zipped")), None, "gzip", 0),
    "truncated gzip": (packed(*build_conversation("zipped"))[:-20], None, "gzip", 0),
    "zip": (b"PK\x03\x04" + bytes(99), None, "archive", 0),
    "prose": (b"Dear diary,\ntoday I wove.\n", None, "not a transcript", 0),
    "other JSON": (b'{"colour":"blue"}\n{"colour":"red"}\n', None, "not a transcript", 0),
    "JSON array line": (encode_lines([build_prompt(1), b'[{"type":"user"}]', build_prompt(2)]), 2, "object", 2),
    "NUL bytes in a line": (encode_lines([build_prompt(1), b"\x00" * 500, build_prompt(2)]), 2, "NUL", 2),
    "NUL bytes at the end": (encode_lines([build_prompt(1), build_prompt(2)]) + b"\x00" * 4096, 3, "NUL", 2),
    "deep nesting": (encode_lines([build_prompt(1), DEEP, build_prompt(2)]), 2, "nested", 2),
    "text between": (encode_lines([build_prompt(1), b"Killed", build_prompt(2)]), 2, "not JSON", 2),
    "half a line between": (
        encode_lines([build_prompt(1), encode_lines([build_prompt(3)])[:60], build_prompt(2)]),
        2,
        "not JSON",
        2,
    ),
    "half a last line": (
        encode_lines([build_prompt(1), build_prompt(2)]) + encode_lines([build_prompt(3)])[:60],
        3,
        "unfinished",
        2,
    ),
    "half a first line": (
        encode_lines([encode_lines([build_prompt(3)])[60:-1], build_prompt(1), build_prompt(2)]),
        1,
        "not JSON",
        2,
    ),
    "a wrong type": (encode_lines([build_prompt(1), b'{"type":5,"sessionId":"s1"}', build_prompt(2)]), 2, "type", 2),
}
READ: dict[str, tuple[bytes, list[str]]] = {
    "invalid UTF-8": (
        encode_lines([build_prompt(1)]) + encode_lines([build_prompt(2, "caf?")]).replace(b"?", b"\xe9"),
        ["caf\ufffd"],
    ),
    "glued objects": (
        encode_lines([encode_lines([build_prompt(1, "left")])[:-1] + encode_lines([build_prompt(2, "right")])[:-1]]),
        ["left", "right"],
    ),
    "lone surrogate": (encode_lines([json.dumps(build_prompt(1, "cut \ud83d"))]), ["cut \ufffd"]),
    "control characters": (
        encode_lines([build_prompt(1), encode_lines([build_prompt(2, "a?b")])[:-1].replace(b"?", b"\x01")]),
        ["a\x01b"],
    ),
    "byte order mark": (b"\xef\xbb\xbf" + encode_lines([build_prompt(1, "marked")]), ["marked"]),
    "carriage returns": (encode_lines([build_prompt(1, "left")]).replace(b"\n", b"\r\n"), ["left"]),
    "no last newline": (encode_lines([build_prompt(1), build_prompt(2, "last words")])[:-1], ["last words"]),
    "empty lines": (b"\n\n" + encode_lines([build_prompt(1, "left")]) + b"\n \n", ["left"]),
    "fields of other types": (
        encode_lines([build_prompt(1, "left", cwd=7, gitBranch=["x"], version={}, isMeta="no")]),
        ["left"],
    ),
    "null fields": (
        encode_lines([build_prompt(1, "left", cwd=None, gitBranch=None, version=None, entrypoint=None)]),
        ["left"],
    ),
    "a 10 MB line": (encode_lines([build_prompt(1), long_line(10 * MB), build_prompt(9, "after it")]), ["after it"]),
}


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """All bad files at once, each with its own stream, as `assay streams` lists them."""
    folder = tmp_path_factory.mktemp("bad")
    for n, (name, content) in enumerate(
        [*((name, case[0]) for name, case in FILES.items()), *((name, case[0]) for name, case in READ.items())]
    ):
        (folder / f"{name}.jsonl").write_bytes(
            content.replace(b'"s1"', f'"s{n}"'.encode()).replace(b'"s1/', f'"{n}/'.encode())
        )
    listed = run("streams", folder, "--store", tmp_path_factory.mktemp("store") / "s.db", "--json").json
    return folder, listed


def of_file(listed: dict[str, Any], path: Path) -> tuple[list[dict[str, Any]], int]:
    """Skips of a file, and prompts that were read in it."""
    skips = [skip for skip in listed["skipped"] if skip["file"] == str(path)]
    return skips, sum(len(one["prompts_at"]) for one in listed["streams"] if one["file"] == str(path))


def test_lines_of_bad_files_add_up(bad: tuple[Path, dict[str, Any]]):
    folder, listed = bad
    assert adds_up(listed, folder)
    assert listed["files"] == len(FILES) + len(READ)


@pytest.mark.parametrize("name", FILES)
def test_what_cannot_be_read_is_told_with_its_line(bad: tuple[Path, dict[str, Any]], name: str):
    folder, listed = bad
    _, line, why, prompts = FILES[name]
    skips, asked = of_file(listed, folder / f"{name}.jsonl")
    assert [skip["line"] for skip in skips] == [line]
    assert why in skips[0]["why"]
    assert asked == prompts


@pytest.mark.parametrize("name", READ)
def test_what_looks_bad_but_can_be_read_is_read(bad: tuple[Path, dict[str, Any]], name: str, tmp_path: Path):
    folder, listed = bad
    _, words = READ[name]
    skips, asked = of_file(listed, folder / f"{name}.jsonl")
    assert skips == []
    assert asked >= len(words)
    stream = next(one["id"] for one in listed["streams"] if one["file"].endswith(f"/{name}.jsonl"))
    streams(folder / f"{name}.jsonl", "--store", tmp_path / "s.db")
    shown = run("show", stream, "--store", tmp_path / "s.db", "--json").json
    said_ = [turn["prompt"]["text"] for turn in shown["turns"]]
    assert said_[-len(words) :] == words


@pytest.mark.parametrize("ending", [b"\n", b""], ids=["whole", "still being written"])
def test_a_line_of_70_mb_is_skipped_and_the_next_one_read(tmp_path: Path, ending: bytes):
    path = tmp_path / "a.jsonl"
    lines = [
        encode_lines([build_prompt(1)]),
        long_line(70 * MB) + (ending and b"\n"),
        ending and encode_lines([build_prompt(9), build_reply(10)]),
    ]
    path.write_bytes(b"".join(lines))
    listed = run("streams", path, "--store", tmp_path / "s.db", "--json").json
    assert adds_up(listed, path)
    assert [(skip["line"], "64 MB" in skip["why"]) for skip in listed["skipped"]] == [(2, True)]
    assert listed["lines"]["read"] == (3 if ending else 1)
    assert len(listed["streams"][0]["prompts_at"]) == (2 if ending else 1)


def test_thousands_of_bad_lines_are_all_counted(tmp_path: Path):
    path = write_lines(tmp_path / "a.jsonl", build_prompt(1), *[b"broken"] * 3_000, build_prompt(2))
    listed = streams(path, "--store", tmp_path / "s.db")
    assert adds_up(listed, path)
    assert listed["lines"]["skipped"] == 3_000
    with path.open("ab") as file:
        file.write(b"broken")
    for ending in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(ending)
        assert adds_up(streams(path, "--store", tmp_path / "s.db"), path)


def peak_rss(process: subprocess.Popen[bytes]) -> int:
    """The most memory that a process and its children held at one time, looked at often."""
    most = 0
    parent = psutil.Process(process.pid)
    while process.poll() is None:
        held = 0
        for one in (parent, *parent.children(recursive=True)):
            try:
                held += one.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        most = max(most, held)
        time.sleep(0.01)
    return most


@pytest.mark.long
@pytest.mark.last
def test_a_file_of_300_mb_is_read_in_little_memory(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    block = encode_lines(build_conversation("s1", 10, 100_000))
    with path.open("wb") as file:
        for n in range(300):
            file.write(block.replace(b"/s1", f"/{n}".encode()).replace(b'"s1/', f'"{n}/'.encode()))
    assert path.stat().st_size > 300 * MB
    with (tmp_path / "out").open("wb") as out:
        scan = start("streams", path, "--store", tmp_path / "s.db", "--json", stdout=out)
        most = peak_rss(scan)
        _, err = scan.communicate()
    listed = json.loads((tmp_path / "out").read_bytes())
    path_lines = 300 * block.count(b"\n")
    path.unlink()
    assert err == b""
    assert listed["lines"] == {"total": path_lines, "read": path_lines, "skipped": 0}
    assert listed["streams"][0]["turns"] == 3_000
    assert most <= MOST_RSS, f"{most / MB:.0f} MB"


# --- permissions ------------------------------------------------------------------------------


def test_what_may_not_be_opened_is_told_and_the_rest_is_read(tmp_path: Path):
    folder = write_folder(tmp_path / "in", 8)
    closed_file, closed_folder = folder / "p1" / "0001.jsonl", folder / "p2"
    closed_file.chmod(0)
    closed_folder.chmod(0)
    ran = spawn("streams", folder, "--store", tmp_path / "s.db", "--json", preexec_fn=bound_by_permissions)
    closed_folder.chmod(0o700)
    closed_file.chmod(0o600)
    told = {skip["file"]: (skip["line"], skip["why"]) for skip in ran.json["skipped"]}
    assert told == {str(closed_file): (None, "Permission denied"), str(closed_folder): (None, "Permission denied")}
    assert len(ran.json["streams"]) == 6


def test_files_in_a_folder_that_was_closed_are_not_taken_for_deleted(tmp_path: Path):
    folder, store = write_folder(tmp_path / "in", 8), tmp_path / "s.db"
    first = spawn("streams", folder, "--store", store, "--json", preexec_fn=bound_by_permissions).json
    (folder / "p2").chmod(0)
    write_lines(folder / "p22" / "x.jsonl", build_prompt(1)).parent.chmod(0o755)
    spawn("streams", folder, "--store", store, "--json", preexec_fn=bound_by_permissions)
    (folder / "p22" / "x.jsonl").unlink()
    closed = spawn("streams", folder, "--store", store, "--json", preexec_fn=bound_by_permissions).json
    (folder / "p2").chmod(0o755)
    assert {one["id"]: one["is_gone"] for one in closed["streams"]} == {
        **{one["id"]: False for one in first["streams"]},
        "s1": True,
    }


@pytest.mark.parametrize("mode", [0o400, 0], ids=["read-only", "closed"])
def test_a_store_that_may_not_be_written_is_told(tmp_path: Path, mode: int):
    folder, store = write_folder(tmp_path / "in", 2), tmp_path / "s.db"
    assert spawn("streams", folder, "--store", store, "--json", preexec_fn=bound_by_permissions).code == 0
    store.chmod(mode)
    ran = spawn("streams", folder, "--store", store, "--json", preexec_fn=bound_by_permissions)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert str(store) in ran.err
    assert "--store" in ran.err


def test_a_folder_in_which_no_store_can_be_made_is_told(tmp_path: Path):
    folder = write_folder(tmp_path / "in", 2)
    (tmp_path / "closed").mkdir(mode=0o500)
    ran = spawn(
        "streams", folder, "--store", tmp_path / "closed" / "sub" / "s.db", "--json", preexec_fn=bound_by_permissions
    )
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "Permission denied" in ran.err


# --- stores -----------------------------------------------------------------------------------


def newer(path: Path) -> None:
    assert run("streams", path.parent, "--store", path, "--json").code == 0
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (newer, "newer Assay"),
        (lambda path: path.mkdir(), "folder"),
        (lambda path: path.write_bytes(b"yarn" * 9_999), "not an Assay store"),
    ],
    ids=["newer", "folder", "no database"],
)
@pytest.mark.parametrize("args", [("streams", "."), ("doctor", "."), ("show", "s1")], ids=lambda args: args[0])
def test_a_store_that_cannot_be_used_is_told_by_every_command(
    tmp_path: Path, spoil: Callable[[Path], None], word: str, args: tuple[str, ...]
):
    store = tmp_path / "s.db"
    spoil(store)
    ran = run(*args, "--store", store, "--json", cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert word in ran.err
    assert str(store) in ran.err


def limited(size: int) -> Callable[[], None]:
    """No file may grow beyond a size, as on a disk that is nearly full."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.long
@pytest.mark.parametrize("size", [0, 40_000, 400_000])
def test_a_store_that_finds_no_space_says_so_and_goes_on_later(tmp_path: Path, size: int):
    folder, store = write_folder(tmp_path / "in", 120, 3), tmp_path / "s.db"
    args = ("streams", folder, "--store", store, "--json")
    ran = spawn(*args, preexec_fn=limited(size))
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert is_one_line(ran.err)
    assert str(store) in ran.err
    assert "space" in ran.err or "--store" in ran.err
    after = run(*args).json
    assert settled(after) == settled(streams(folder, "--store", tmp_path / "fresh.db"))
    assert adds_up(after, folder)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own that is soon full."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "assay-test", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a tiny disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_is_told_and_once_there_is_space_the_scan_goes_on(tmp_path: Path, tiny_disk: Path):
    folder, store = write_folder(tmp_path / "in", 120, 3), tiny_disk / "s.db"
    args = ("streams", folder, "--store", store, "--json")
    ran = run(*args)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert is_one_line(ran.err)
    assert "space" in ran.err
    assert str(store) in ran.err
    subprocess.run(["mount", "-o", "remount,size=40m", str(tiny_disk)], check=True)
    assert settled(run(*args).json) == settled(streams(folder, "--store", tmp_path / "fresh.db"))
