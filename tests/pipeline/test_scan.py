"""A scan reads only what is new, and always ends where a fresh one would."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.pipeline import scan as scanning
from assay.pipeline.inputs import find_files
from assay.pipeline.read_file import read_file
from assay.stores import open_store
from assay.testing.claude_code import (
    build_conversation,
    build_prompt,
    build_reply,
    build_result,
    build_shell_call,
    encode_lines,
    write_folder,
    write_lines,
)
from tests.conftest import adds_up, is_one_line, run, settled, start, streams

BIG = {"files": 220, "turns": 2, "padding": 14_000}
"""About 9 MB, so that several processes read it."""
SETTLED_WITHIN_S = 5


def fresh(tmp_path: Path, *paths: Path) -> dict[str, Any]:
    """What a scan finds that knows nothing yet."""
    store = tmp_path / f"fresh-{time.monotonic_ns()}.db"
    return settled(streams(*paths, "--store", store, "--jobs", 1))


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("big") / "in", **BIG)


@pytest.fixture(scope="module")
def big_found(big: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an undisturbed scan finds in it."""
    return fresh(tmp_path_factory.mktemp("undisturbed"), big)


def ids(listed: dict[str, Any]) -> list[str]:
    return [one["id"] for one in listed["streams"]]


# --- only what is new -------------------------------------------------------------------------


def test_an_unchanged_folder_is_not_read_again(tmp_path: Path):
    folder = write_folder(tmp_path / "in", 12)
    first = streams(folder, "--store", tmp_path / "s.db")
    second = streams(folder, "--store", tmp_path / "s.db")
    assert first["scan"]["new"] == 12
    assert {**second["scan"], "seconds": 0} == {"seconds": 0, "bytes_read": 0, "new": 0, "changed": 0, "gone": 0}
    assert settled(first) == settled(second)
    assert adds_up(second, folder)


def test_of_a_file_that_grew_only_the_new_bytes_are_read(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("grows", 240, 100_000))
    assert 23e6 < path.stat().st_size < 26e6
    streams(path, "--store", tmp_path / "s.db", "--jobs", 1)
    with path.open("ab") as file:
        file.write(encode_lines(build_conversation("grows", 10, 100_000, start=9_000)))
    listed = streams(path, "--store", tmp_path / "s.db", "--jobs", 1)
    assert 0.9e6 < listed["scan"]["bytes_read"] < 1.2e6
    assert listed["scan"]["changed"] == 1
    assert settled(listed) == fresh(tmp_path, path)
    assert adds_up(listed, path)


HALVES = [
    build_prompt(0, "card the wool"),
    build_shell_call(1),
    b"not json at all",
    b'{"type":"user","uuid":"glued","sessionId":"s1","message":{"content":"half"}}{"type":"ai-title","aiTitle":"Spin"}',
    b"",
    '{"type":"user","uuid":"é","sessionId":"s1","message":{"content":"cut \\ud83d, 🧶"}}',
    build_result(4, 1),
    b'["a list"]',
    build_reply(5),
    build_prompt(6, "spin it"),
    b"\x00\x00\x00",
]


def view(path: Path, before: Any = None) -> tuple[Any, ...]:
    found = read_file(path, before)
    state = found.state
    counts = state.lines_read, state.lines_skipped
    return found, (counts, state.skips, state.tail, state.part, found.turns, state.unknown, state.place.offset)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b""], ids=["newline", "crlf", "no newline"])
def test_a_file_may_be_read_in_two_goes_that_meet_at_any_byte(tmp_path: Path, ending: bytes):
    lines = encode_lines(HALVES)[:-1].split(b"\n")
    content = (ending or b"\n").join(lines) + ending
    whole, path = tmp_path / "whole.jsonl", tmp_path / "a.jsonl"
    whole.write_bytes(content)
    _, wanted = view(whole)
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        before, _ = view(path)
        with path.open("ab") as file:
            file.write(content[cut:])
        _, seen = view(path, before)
        assert seen == wanted, (cut, content[max(0, cut - 30) : cut])
        assert sum(seen[0]) == len(lines)


def test_a_file_may_be_read_in_many_goes(tmp_path: Path):
    dice = random.Random(7)
    content = encode_lines([*HALVES, *build_conversation("s1", 3, start=50), *HALVES])
    whole, path = tmp_path / "whole.jsonl", tmp_path / "a.jsonl"
    whole.write_bytes(content)
    _, wanted = view(whole)
    for _ in range(40):
        path.unlink(missing_ok=True)
        found, at = None, 0
        while at < len(content):
            size = dice.choice((1, 7, 40, 300))
            with path.open("ab") as file:
                file.write(content[at : at + size])
            at += size
            found, seen = view(path, found)
        assert seen == wanted


def test_what_is_read_while_a_file_grows_is_what_it_held(tmp_path: Path):
    path = tmp_path / "in" / "a.jsonl"
    write_lines(path, build_prompt(0))
    pieces = encode_lines(build_conversation("s1", 300, 2_000, start=10))

    def grow() -> None:
        with path.open("ab", buffering=0) as file:
            for at in range(0, len(pieces), 3_333):
                file.write(pieces[at : at + 3_333])

    writer = threading.Thread(target=grow)
    writer.start()
    rounds = 0
    while writer.is_alive() or rounds == 0:
        seen = streams(path, "--store", tmp_path / "s.db")
        assert seen["lines"]["read"] + seen["lines"]["skipped"] == seen["lines"]["total"]
        assert all("unfinished" in skip["why"] for skip in seen["skipped"])
        rounds += 1
    writer.join()
    last = streams(path, "--store", tmp_path / "s.db")
    assert settled(last) == fresh(tmp_path, path)
    assert adds_up(last, path)
    assert last["lines"]["skipped"] == 0


# --- what happens to files --------------------------------------------------------------------


def finish_line(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'04Z","message":{"content":"now it is whole"}}\n')


def rewrite_middle(path: Path) -> None:
    content = path.read_bytes()
    middle = content[4_000:-8_000].replace(b'"output_tokens": 5', b'"output_tokens": 9')
    path.write_bytes(content[:4_000] + middle + content[-8_000:])


HALF = b'{"type":"user","uuid":"h","sessionId":"changes","timestamp":"2026-03-02T10:00:'
CHANGES: dict[str, tuple[bytes, Callable[[Path], object]]] = {
    "a half-written last line is finished": (HALF, finish_line),
    "it is replaced by a shorter one": (b"", lambda path: write_lines(path, *build_conversation("changes", 1))),
    "it is replaced by another file": (
        b"", lambda path: os.replace(write_lines(path.with_suffix(".x"), build_prompt(1)), path)
    ),
    "it is emptied": (b"", lambda path: path.write_bytes(b"")),
    "it becomes something else": (b"", lambda path: path.write_bytes(b"\x1f\x8b" + bytes(200_000))),
    "it is rewritten with the same size": (
        b"", lambda path: path.write_bytes(path.read_bytes().replace(b"weave", b"unpick"[:5]))
    ),
    "only its middle is rewritten": (b"", rewrite_middle),
    "it is rewritten and grows": (
        b"", lambda path: write_lines(path, *build_conversation("changes", 60, 900, start=7))
    ),
    "it is touched": (b"", lambda path: os.utime(path)),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_file_is_seen_as_it_is_now_when(tmp_path: Path, change: str):
    tail, act = CHANGES[change]
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("changes", 20, 500))
    write_lines(tmp_path / "in" / "b.jsonl", *build_conversation("stays"))
    path.write_bytes(path.read_bytes() + tail)
    os.utime(path, ns=(1, 1))
    first = streams(tmp_path / "in", "--store", tmp_path / "s.db")
    assert adds_up(first, tmp_path / "in")
    act(path)
    second = streams(tmp_path / "in", "--store", tmp_path / "s.db")
    assert adds_up(second, tmp_path / "in")
    assert settled(second) == fresh(tmp_path, tmp_path / "in")
    assert second["scan"]["changed"] == 1


def test_a_deleted_file_leaves_its_stream_and_may_come_back(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("leaves"))
    write_lines(tmp_path / "in" / "b.jsonl", *build_conversation("stays"))
    content = path.read_bytes()
    first = streams(tmp_path / "in", "--store", tmp_path / "s.db")
    path.unlink()
    for gone in (1, 0):
        without = streams(tmp_path / "in", "--store", tmp_path / "s.db")
        assert without["scan"]["gone"] == gone
        assert without["files"] == 1
        assert adds_up(without, tmp_path / "in")
        assert {one["id"]: one["is_gone"] for one in without["streams"]} == {"leaves": True, "stays": False}
        assert [one["facts"] for one in without["streams"]] == [one["facts"] for one in first["streams"]]
    path.write_bytes(content)
    again = streams(tmp_path / "in", "--store", tmp_path / "s.db")
    assert settled(again) == settled(first)
    assert adds_up(again, tmp_path / "in")


def test_a_renamed_file_takes_its_stream_along(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("moves"))
    before = streams(tmp_path / "in", "--store", tmp_path / "s.db")["streams"][0]
    later = path.rename(tmp_path / "in" / "z.jsonl")
    listed = streams(tmp_path / "in", "--store", tmp_path / "s.db")
    (after,) = listed["streams"]
    assert (after["file"], after["is_gone"], after["facts"]) == (str(later), False, before["facts"])
    assert adds_up(listed, tmp_path / "in")


def test_a_file_that_vanishes_before_it_is_read_is_told(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", build_prompt(1))
    write_lines(tmp_path / "in" / "b.jsonl", build_prompt(1, stream="s2"))
    found = find_files([tmp_path / "in"])
    path.unlink()
    store = open_store(f"sqlite:///{tmp_path / 's.db'}")
    outcome = scanning.scan(store, found, 1, lambda done, total: None)
    assert outcome.unreadable == ((str(path), "No such file or directory"),)
    assert [one.id for one in store.transcripts.list_streams(outcome.roots)] == ["s2"]
    store.close()


def test_a_stream_is_listed_for_every_folder_that_holds_one_of_its_files(tmp_path: Path):
    write_lines(tmp_path / "a" / "x.jsonl", *build_conversation("shared", 1))
    write_lines(tmp_path / "b" / "y.jsonl", *build_conversation("shared", 1, start=500))
    streams(tmp_path, "--store", tmp_path / "s.db")
    assert ids(streams(tmp_path / "a", "--store", tmp_path / "s.db")) == ["shared"]
    assert ids(streams(tmp_path / "b", "--store", tmp_path / "s.db")) == ["shared"]


def test_a_file_leaves_the_stream_it_no_longer_belongs_to(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("old name"))
    streams(tmp_path / "in", "--store", tmp_path / "s.db")
    write_lines(path, *build_conversation("new name"))
    listed = streams(tmp_path / "in", "--store", tmp_path / "s.db")
    assert ids(listed) == ["new name"]
    assert settled(listed) == fresh(tmp_path, tmp_path / "in")


# --- the same, however it was come by ---------------------------------------------------------


def test_order_of_paths_number_of_processes_and_stores_do_not_matter(
    tmp_path: Path, big: Path, big_found: dict[str, Any]
):
    folders = sorted(big.iterdir())
    ways = [(folders, 1), (folders[::-1], 4), ([folders[3], big, folders[0]], 2)]
    for n, (paths, jobs) in enumerate(ways):
        assert (
            settled(run("streams", *paths, "--json", "--store", tmp_path / f"{n}.db", "--jobs", jobs).json) == big_found
        )
    assert adds_up(big_found, big)


def test_files_that_share_records_are_settled_alike_in_any_order(tmp_path: Path):
    base = build_conversation("origin", 3)
    copies = {
        "a": [*base, *build_conversation("origin", 1, start=200)],
        "b": [{**one, "sessionId": "fork"} for one in base] + build_conversation("fork", 2, start=300),
        "c": build_conversation("origin", 2, start=400),
    }
    paths = [write_lines(tmp_path / name / "x.jsonl", *records) for name, records in copies.items()]
    wanted = fresh(tmp_path, *paths)["streams"]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)):
        store = tmp_path / f"{order}.db"
        for n in order:
            streams(paths[n], "--store", store)
        assert streams(*paths, "--store", store)["streams"] == wanted


@pytest.mark.parametrize("now", [[b"no transcript"], build_conversation("origin", 1, start=900)], ids=["junk", "other"])
def test_what_a_file_holds_no_longer_belongs_to_its_copy(tmp_path: Path, now: list[Any]):
    base = build_conversation("origin", 3)
    old = write_lines(tmp_path / "in" / "old.jsonl", *base)
    copied = [{**one, "sessionId": "past"} for one in base] + build_conversation("past", 2, start=300)
    write_lines(tmp_path / "in" / "past.jsonl", *copied)
    streams(tmp_path / "in", "--store", tmp_path / "s.db")
    write_lines(old, *now)
    assert settled(streams(tmp_path / "in", "--store", tmp_path / "s.db")) == fresh(tmp_path, tmp_path / "in")
    write_lines(tmp_path / "in" / "quite.jsonl", *({**one, "sessionId": "quite"} for one in base))
    assert settled(streams(tmp_path / "in", "--store", tmp_path / "s.db")) == fresh(tmp_path, tmp_path / "in")


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.long
def test_two_scans_at_once_find_every_stream_once(tmp_path: Path, big: Path, big_found: dict[str, Any], jobs: int):
    args = ("streams", big, "--json", "--store", tmp_path / "s.db", "--jobs", jobs)
    both = [start(*args), start(*args)]
    ends = [one.communicate(timeout=60) for one in both]
    assert [one.returncode for one in both] == [0, 0], ends
    assert [err for _, err in ends] == [b"", b""]
    last = streams(big, "--store", tmp_path / "s.db")
    assert settled(last) == big_found
    assert last["scan"]["bytes_read"] == 0


# --- being stopped ----------------------------------------------------------------------------


def leftovers(store: Path) -> list[psutil.Process]:
    """Processes that still work on a store."""
    named = [one for one in psutil.process_iter(["cmdline"]) if str(store) in " ".join(one.info["cmdline"] or ())]
    return [one for one in named if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def all_gone(store: Path) -> bool:
    until = time.monotonic() + SETTLED_WITHIN_S
    while leftovers(store) and time.monotonic() < until:
        time.sleep(0.05)
    return not leftovers(store)


def kept(store: Path) -> int:
    """Files that a store knows by now."""
    if not store.exists():
        return 0
    with closing(sqlite3.connect(store, timeout=5)) as opened:
        try:
            found: int = opened.execute("SELECT count(*) FROM files").fetchone()[0]
        except sqlite3.OperationalError:  # its tables are not made yet
            return 0
    return found


def kill_after(scan: subprocess.Popen[bytes], store: Path, more: int, delay: float) -> None:
    """Kill a scan some time after it kept so many more files, or all there are."""
    wanted = min(kept(store) + more, BIG["files"])
    while kept(store) < wanted and scan.poll() is None:
        time.sleep(0.002)
    time.sleep(delay)
    scan.kill()
    scan.communicate()


@pytest.mark.long
def test_a_killed_scan_goes_on_where_it_was_and_leaves_nobody_behind(
    tmp_path: Path, big: Path, big_found: dict[str, Any]
):
    dice, store, seen = random.Random(11), tmp_path / "s.db", []
    kills = [(0, 0.02), (0, dice.uniform(0.2, 0.6)), (1, 0), *((20, dice.uniform(0, 0.02)) for _ in range(3)), (1, 0.1)]
    for more, delay in kills:
        kill_after(start("streams", big, "--json", "--store", store, "--jobs", 2), store, more, delay)
        assert all_gone(store), (more, delay)
        seen.append(kept(store))
    assert len({count for count in seen if 0 < count < BIG["files"]}) >= 2, f"hardly a kill met a scan at work: {seen}"
    last = run("streams", big, "--json", "--store", store, "--jobs", 2).json
    assert settled(last) == big_found
    assert streams(big, "--store", store)["scan"]["bytes_read"] == 0


@pytest.mark.parametrize("to_group", [False, True], ids=["it alone", "all of them, as a terminal does"])
@pytest.mark.long
def test_ctrl_c_keeps_what_was_read_and_says_how_to_go_on(
    tmp_path: Path, big: Path, big_found: dict[str, Any], to_group: bool
):
    store = tmp_path / "s.db"
    scan = start("streams", big, "--json", "--store", store, "--jobs", 2, start_new_session=True)
    while not Path(f"{store}-wal").exists() or Path(f"{store}-wal").stat().st_size < 400_000:
        assert scan.poll() is None, "it was through before it could be stopped"
        time.sleep(0.005)
    (os.killpg if to_group else os.kill)(scan.pid, signal.SIGINT)
    out, err = scan.communicate(timeout=60)
    assert (scan.returncode, out) == (130, b""), err
    assert err.decode().startswith("assay: stopped")
    assert "again" in err.decode()
    assert err.count(b"\n") == 1
    assert all_gone(store)
    assert settled(streams(big, "--store", store)) == big_found


def test_ctrl_c_while_the_store_is_made_is_told_as_well(tmp_path: Path, big: Path):
    store = tmp_path / "s.db"
    scan = start("streams", big, "--json", "--store", store)
    while not store.exists():
        time.sleep(0.002)
    scan.send_signal(signal.SIGINT)
    out, err = scan.communicate(timeout=60)
    assert (scan.returncode, out) == (130, b""), err
    assert is_one_line(err.decode())


@pytest.mark.parametrize("delay", [0.3, 0.7, 1.0])
def test_ctrl_c_at_any_moment_is_no_bug(tmp_path: Path, big: Path, delay: float):
    scan = start("streams", big, "--json", "--store", tmp_path / "s.db", "--jobs", 2)
    time.sleep(delay)
    scan.send_signal(signal.SIGINT)
    _, err = scan.communicate(timeout=60)
    assert scan.returncode in (0, 130, -signal.SIGINT), err
    # While it is being imported, nothing of ours can answer yet.
    assert b"Traceback" not in err or b"cli/main.py" not in err or b"import " in err


@pytest.mark.long
def test_a_worker_that_is_killed_is_told_plainly_and_nothing_is_lost(
    tmp_path: Path, big: Path, big_found: dict[str, Any]
):
    store = tmp_path / "s.db"
    scan = start("streams", big, "--json", "--store", store, "--jobs", 2)
    while not (children := psutil.Process(scan.pid).children()):
        assert scan.poll() is None, "no worker was started"
        time.sleep(0.005)
    children[0].kill()
    _, err = scan.communicate(timeout=60)
    assert b"Traceback" not in err
    assert scan.returncode in (0, 2), err
    assert all_gone(store)
    assert settled(streams(big, "--store", store)) == big_found


def test_of_two_copies_the_whole_one_counts_whoever_began_first(tmp_path: Path):
    def answer(stream: str, output: int) -> dict:
        usage = {"input_tokens": 1, "output_tokens": output}
        message = {
            "id": "m1",
            "model": "claude-opus-4-5",
            "content": [{"type": "text", "text": "warp"}],
            "usage": usage,
        }
        return said("assistant", stream, message)

    def said(kind: str, stream: str, message: dict) -> dict:
        return {
            "type": kind,
            "uuid": f"u-{kind}",
            "sessionId": stream,
            "timestamp": "2026-03-02T09:00:00Z",
            "message": message,
        }

    for stream, output in (("a-cut-off", 3), ("b-whole", 30)):
        records = [said("user", stream, {"role": "user", "content": "weave"}), answer(stream, output)]
        (tmp_path / f"{stream}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    store = open_store(f"sqlite:///{tmp_path / 'assay.db'}")
    scanning.scan(store, find_files([tmp_path]), 1, lambda *_: None)
    tokens = [json.loads(one.facts)["tokens"] for one in store.transcripts.list_streams(None)]
    store.close()
    assert [one["output"] for one in tokens if one] == [30]


def test_what_a_plugin_read_that_is_gone_stays_as_it_is(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 2))
    with closing(open_store(f"sqlite:///{tmp_path / 'assay.db'}")) as store:
        scanning.scan(store, find_files([path]), 1, lambda *_: None)
        before = store.transcripts.list_streams(None)
        with store.database.writing() as connection:
            connection.exec_driver_sql("UPDATE files SET source = 'aider', version = 'aider@1'")
        os.utime(path)
        scanning.scan(store, find_files([path]), 1, lambda *_: None)
        assert store.transcripts.list_streams(None) == before


def test_a_stream_lasts_from_its_first_to_its_last_word(tmp_path: Path):
    early = {
        "type": "system",
        "subtype": "informational",
        "uuid": "h",
        "sessionId": "one",
        "timestamp": "2020-01-01T00:00:00Z",
    }
    path = write_lines(tmp_path / "in" / "a.jsonl", early, *build_conversation("one", 3))
    with closing(open_store(f"sqlite:///{tmp_path / 'assay.db'}")) as store:
        scanning.scan(store, find_files([path]), 1, lambda *_: None)
        [stream] = store.transcripts.list_streams(None)
    lasted = datetime.fromisoformat(stream.ended_at) - datetime.fromisoformat(stream.began_at)
    assert stream.began_at == json.loads(stream.prompts_at)[0]
    assert lasted.total_seconds() == json.loads(stream.facts)["wall_s"]


def test_a_fork_is_called_by_what_was_first_said_in_it(tmp_path: Path):
    past = build_conversation("old", 2)
    copied = [record | {"sessionId": "new"} for record in past]
    opened = {
        "type": "queue-operation",
        "operation": "dequeue",
        "sessionId": "new",
        "timestamp": "2026-12-01T00:00:00Z",
    }
    own = [record | {"sessionId": "new"} for record in build_conversation("new", 1, start=500)]
    write_lines(tmp_path / "in" / "old.jsonl", *past)
    write_lines(tmp_path / "in" / "new.jsonl", opened, *copied, *own)
    with closing(open_store(f"sqlite:///{tmp_path / 'assay.db'}")) as store:
        scanning.scan(store, find_files([tmp_path / "in"]), 1, lambda *_: None)
        titles = {one.id: one.title for one in store.transcripts.list_streams(None)}
    assert titles["new"] != titles["old"]
    assert "new" in titles["new"]
