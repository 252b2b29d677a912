"""A file that grows is read as if it had been read at once; one that is damaged is read or skipped, line by line."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.pipeline.read_file import FileContent, read_file
from assay.pipeline.scan_worker import DECODE, ReadTask, UnreadableFile, read_task
from assay.types import FileState
from tests.make import Record, answer, assistant, calling, conversations, failure, jsonl, queue, stamped, usage, user
from tests.tables import each_row

PATIENT = settings(max_examples=60, deadline=None)


@contextmanager
def growing() -> Iterator[Path]:
    """A file that is there and empty."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s1.jsonl"
        path.touch()
        yield path


def append(path: Path, more: bytes) -> None:
    with path.open("ab") as file:
        file.write(more)


def lines_in(data: bytes) -> int:
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


def told(found: FileContent) -> dict[str, Any]:
    """All that must not depend on how a file was read."""
    return {
        "source": found.state.source,
        "read": found.state.lines_read,
        "skipped": found.state.lines_skipped,
        "skips": found.state.skips,
        "tail": found.state.tail,
        "part": found.state.part,
        "turns": found.turns,
        "unknown": found.state.unknown,
    }


def kept(before: FileState | None, found: FileState) -> FileState:
    """What a store has after keeping a reading: turns in place of those of the same number."""
    if before is None or not found.is_continued:
        return found
    bodies = {n: (n, at, body) for n, at, body in (*before.bodies, *found.bodies)}
    return replace(found, bodies=tuple(bodies[n] for n in sorted(bodies)))


def told_of_kept(found: FileState) -> dict[str, Any]:
    left_out = {"place", "bytes_read", "is_continued", "state", "bodies", "path"}
    fields = {name: getattr(found, name) for name in found.__struct_fields__ if name not in left_out}
    return fields | {"bodies": [(n, at, DECODE(body)) for n, at, body in found.bodies]}


def read_as_scan(path: Path, before: FileState | None = None) -> FileState:
    """As the scan reads: what was kept is handed in only where reading can go on from it."""
    grew = before is not None and before.source and before.place.offset
    found = read_task(ReadTask(path=str(path), name=path.name, before=before if grew else None))
    assert not isinstance(found, UnreadableFile)
    return found


def check_any_cut(data: bytes, cuts: list[int]) -> None:
    """Reading up to each cut in turn gives what reading all at once gives."""
    with growing() as path:
        last = 0
        digested: FileContent | None = None
        held: FileState | None = None
        for cut in [*sorted({min(cut, len(data)) for cut in cuts}), len(data)]:
            append(path, data[last:cut])
            last = cut
            digested = read_file(path, digested)
            held = kept(held, read_as_scan(path, held))
            assert digested.state.lines_read + digested.state.lines_skipped == lines_in(data[:cut])
        assert digested is not None
        assert held is not None
        assert told(digested) == told(read_file(path))
        assert told_of_kept(held) == told_of_kept(read_as_scan(path))


@st.composite
def transcripts(draw: st.DrawFn) -> bytes:
    """A valid file: objects glued together, blank lines, a byte order mark, another stream's records."""
    written = b""
    for record in draw(conversations()):
        record["sessionId"] = draw(st.sampled_from(["s1", "s1", "s0"]))
        written += json.dumps(record, ensure_ascii=draw(st.booleans())).encode()
        written += draw(st.sampled_from([b"\n", b"\n", b"\n", b"\n", b"\n", b"", b" ", b"\r\n", b"\n\n", b"\n \t\n"]))
    if draw(st.booleans()):
        written = written.rstrip()
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + written


@PATIENT
@given(data=transcripts(), draws=st.data())
def test_a_file_read_as_it_grows_is_the_file_read_at_once(data: bytes, draws: st.DataObject) -> None:
    check_any_cut(data, draws.draw(st.lists(st.integers(0, len(data)), max_size=6)))


@PATIENT
@given(data=transcripts(), draws=st.data())
def test_a_cut_at_the_end_of_a_line_or_record_is_as_good_as_any(data: bytes, draws: st.DataObject) -> None:
    ends = [n + shift for n, byte in enumerate(data) if byte in b"\n}" for shift in (0, 1, 2)]
    check_any_cut(data, draws.draw(st.lists(st.sampled_from(ends), min_size=1, max_size=5)))


SHORT = jsonl(
    stamped(
        user("为什么 🧾?"),
        assistant(calling("t1", "Bash", command="pytest -q")),
        failure("t1", "Exit code 1\n1 failed in 0.1s"),
    )
)


@pytest.mark.long
def test_a_short_file_may_be_cut_at_every_byte() -> None:
    for cut in range(len(SHORT)):
        check_any_cut(SHORT, [cut])


def test_a_short_file_may_be_read_byte_by_byte() -> None:
    glued = SHORT.replace(b"}\n{", b"}{").rstrip()
    check_any_cut(glued, list(range(0, len(glued), 7)))


def test_the_stream_that_most_of_a_file_came_under_names_it_however_it_grew() -> None:
    old = jsonl(stamped(user("One"), assistant("1"), stream="old"))
    new = jsonl(stamped(user("Two"), *(assistant(f"{n}", id=f"m{n}") for n in range(2, 9)), stream="new", start=9))
    for cut in (len(old), len(old) + len(new) // 2, len(old + new) - 1):
        check_any_cut(old + new, [cut])
    check_any_cut(old + new, list(range(0, len(old + new), 50)))


def test_lines_may_be_longer_than_what_is_read_at_once() -> None:
    sizes = [10, 1 << 20, 300_000, 1_600_000, 5]
    data = jsonl(stamped(*(user(f"{n}" * size) for n, size in enumerate(sizes, 1))))
    check_any_cut(data, [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20])


def test_more_skips_than_are_listed_are_still_counted() -> None:
    data = SHORT + b"{bad\n" * 1_005 + SHORT + b"{worse"
    check_any_cut(data, [len(SHORT) + 4_999, len(SHORT) + 5_003, len(data) - 2])


def test_reading_again_what_has_not_grown_changes_nothing_and_reads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(SHORT)
    first = read_file(path)
    again = read_file(path, first)
    assert told(again) == told(first)
    assert (first.state.bytes_read, again.state.bytes_read, again.changed) == (len(SHORT), 0, frozenset())


def test_only_new_bytes_are_read_and_only_their_turns_changed(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(SHORT + jsonl(stamped(user("Two"), start=10)))
    first = read_file(path)
    more = jsonl(stamped(user("Three"), start=20))
    append(path, more)
    again = read_file(path, first)
    assert (again.state.bytes_read, again.changed, len(again.turns)) == (len(more), frozenset({2}), 3)


@pytest.mark.parametrize(
    "now",
    [
        SHORT[: len(SHORT) // 2],
        SHORT.replace("为什么".encode(), b"why is it"),
        jsonl(stamped(user("Another"), stream="s2")) + SHORT,
        b"",
        b"not a transcript\n" * 200,
    ],
)
def test_a_file_that_was_rewritten_is_read_anew(tmp_path: Path, now: bytes) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(SHORT)
    before = read_file(path)
    path.write_bytes(now)
    again = read_file(path, before)
    assert told(again) == told(read_file(path))
    assert again.state.bytes_read == len(now)


@given(st.integers(0, 200_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_an_edit_anywhere_in_a_file_that_also_grew_is_seen(at: int, grows: bool) -> None:
    words = [f"Add the {n}th till, with its own drawer and its own key" for n in range(300)]
    text = jsonl(stamped(*map(user, words)))
    more = jsonl(stamped(user("And one more"), start=5000)) if grows else b"\n"
    with growing() as path:
        path.write_bytes(text)
        before = read_file(path)
        place = at % len(text)
        path.write_bytes(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :] + more)
        again = read_file(path, before)
        assert again.state.bytes_read == len(text) + len(more)
        assert told(again) == told(read_file(path))


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path, other = tmp_path / "s1.jsonl", tmp_path / "other"
    path.write_bytes(SHORT)
    before = read_file(path)
    other.write_bytes(SHORT)
    os.replace(other, path)
    assert read_file(path, before).state.bytes_read == len(SHORT)


# --- damage -------------------------------------------------------------------------------------

NUMBERS = [None, True, 0, -7, 2.5, 1e300, 10**18, 2**63, 10**30, -(10**30)]
TEXTS = ["", "x", "\x00", "\ud83e", "Exit code " + "9" * 5000, "0001-01-01T00:00:00+23:59", "<system-reminder>" * 50]
SHAPES = [[], {}, [[]], [None], {"type": "text"}, [{"type": "tool_result"}], [{"type": "tool_use", "input": []}]]
ODD = st.sampled_from([*NUMBERS, *TEXTS, *SHAPES])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every key and index of a JSON value, with what holds it."""
    names: list[Any] = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    return [(value, one) for one in names] + [place for one in names for place in places(value[one])]


@st.composite
def misshapen(draw: st.DrawFn) -> bytes:
    """A file of well-formed JSON in which keys are missing and values of other types."""
    records: list[Any] = json.loads(json.dumps(draw(conversations(most=6))))
    for _ in range(draw(st.integers(1, 6))):
        holder, name = draw(st.sampled_from(places(records)))
        if isinstance(holder, dict) and draw(st.booleans()):
            holder.pop(name, None)
        elif isinstance(holder, dict) or name < len(holder):
            holder[name] = json.loads(json.dumps(draw(ODD)))
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file in which bytes are other than they were, missing, or too many."""
    data = bytearray(draw(transcripts()))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        how = draw(st.sampled_from(["flip", "drop", "insert", "cut"]))
        if how == "flip" and data:
            data[at] = draw(st.integers(0, 255))
        elif how == "drop":
            del data[at : at + draw(st.integers(1, 40))]
        elif how == "insert":
            data[at:at] = draw(
                st.sampled_from([b"\n", b"\x00\x00", b"\xff\xfe", b"{", b'"', b"}{", b"[" * 3000, b"\\ud83e"])
            )
        elif draw(st.booleans()):
            del data[at:]
    return bytes(data)


def check_all_lines_are_told(data: bytes) -> None:
    with growing() as path:
        append(path, data)
        found = read_as_scan(path)
        assert found.lines_read + found.lines_skipped == lines_in(data)
        assert len(found.skips) + (found.tail is not None) >= min(1, found.lines_skipped)
        msgspec.json.decode(found.facts)
        msgspec.msgpack.encode(found)


@settings(PATIENT, max_examples=150)
@given(data=misshapen())
def test_a_record_of_another_shape_is_read_or_skipped(data: bytes) -> None:
    check_all_lines_are_told(data)


@settings(PATIENT, max_examples=150)
@given(data=damaged())
def test_a_damaged_line_is_read_or_skipped(data: bytes) -> None:
    check_all_lines_are_told(data)


@PATIENT
@given(data=st.one_of(damaged(), misshapen()), draws=st.data())
def test_a_damaged_file_may_grow_too(data: bytes, draws: st.DataObject) -> None:
    check_any_cut(data, draws.draw(st.lists(st.integers(0, len(data)), max_size=5)))


@given(data=st.binary(max_size=300))
@example(data=b"\x1f\x8b\x08\x00")
@example(data=b"\n\n\n")
@settings(PATIENT)
def test_what_is_no_transcript_is_skipped_line_by_line(data: bytes) -> None:
    check_all_lines_are_told(data)


def odd_record(**more: Any) -> Record:
    return stamped(user("Go") | more)[0]


HUGE: dict[str, list[Record]] = {
    "tokens": stamped(user("Go"), assistant("a", spent=usage(10**30, 10**30))),
    "negative tokens": stamped(user("Go"), assistant("a", spent=usage(-(10**30), 1))),
    "exit code": stamped(
        user("Go"), assistant(calling("t1", "Bash", command="x")), failure("t1", "Exit code " + "9" * 30)
    ),
    "exit code of many digits": stamped(
        user("Go"), assistant(calling("t1", "Bash", command="x")), failure("t1", "Exit code " + "9" * 5000)
    ),
    "another exit code type": stamped(user("Go"), answer("t1", ["not", "blocks"])),
    "a time out of time": [odd_record(timestamp="0001-01-01T00:00:00+23:59")],
    "half an emoji": [odd_record(uuid="\ud83e"), *stamped(queue("enqueue", "\ud83e"), queue("remove"))],
    "deep nesting": [odd_record(toolUseResult=json.loads("[" * 900 + "]" * 900))],
}


@each_row("records", HUGE.values(), ids=[name.replace(" ", "-") for name in HUGE])
@each_row("newline", ["\n", ""])
def test_an_absurd_value_breaks_nothing(records: list[Record], newline: str) -> None:
    data = "\n".join(json.dumps(one) for one in records) + newline
    check_all_lines_are_told(data.encode())
    check_any_cut(data.encode(), [len(data) // 2, len(data) - 1])


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"type":"user",', "not JSON"),
        (b"[1, 2]", "not a JSON object"),
        (b"\x00\x00\x00", "NUL bytes"),
        (b'{"type":"system"} and more', "a record with something behind it"),
        (b'{"type":"user","message":7}', "Expected"),
    ],
    ids=["deep", "cut", "list", "nul", "behind", "type"],
)
def test_a_skipped_line_is_told_with_its_number_and_reason(tmp_path: Path, line: bytes, why: str) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(SHORT + line + b"\n" + SHORT)
    found = read_file(path)
    [skip] = found.state.skips
    assert (skip.line, found.state.lines_read, found.state.lines_skipped) == (4, 6, 1)
    assert why in skip.why


def test_a_line_that_is_still_being_written_is_told_and_read_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    path.write_bytes(SHORT[:-20])
    half = read_file(path)
    assert half.state.tail is not None
    assert (half.state.tail.line, half.state.lines_read, half.state.lines_skipped, half.state.skips) == (3, 2, 1, ())
    append(path, SHORT[-20:])
    assert (read_file(path, half).state.lines_skipped, read_file(path, half).state.tail) == (0, None)
