"""Lines come whole, whatever the pieces in which a file hands them out."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.pipeline.records import BUFFER, LONGEST_LINE, LineReader
from tests.tables import each_row


class Dripping(io.RawIOBase):
    """A file that hands out its bytes in pieces of given sizes, over and over."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self.content, self.sizes, self.at, self.turn = content, sizes, 0, 0

    def readinto(self, into) -> int:  # type: ignore[no-untyped-def, override]
        size = min(self.sizes[self.turn % len(self.sizes)], len(into))
        self.turn += 1
        piece = self.content[self.at : self.at + size]
        into[: len(piece)] = piece
        self.at += len(piece)
        return len(piece)


def taken(lines: LineReader) -> list[bytes]:
    return [b"(too long)" if lines.is_too_long else bytes(line) for line in lines]


@each_row(
    ("content", "whole", "rest"),
    [
        (b"", [], b""),
        (b"\n", [b""], b""),
        (b"one", [], b"one"),
        (b"one\n", [b"one"], b""),
        (b"one\n\ntwo", [b"one", b""], b"two"),
        (b"one\r\ntwo\r\n", [b"one\r", b"two\r"], b""),
        (b"\x00\xff\n\x00", [b"\x00\xff"], b"\x00"),
        (b"\xe2\x80\xa8\x0b\x0c\x1c\n", [b"\xe2\x80\xa8\x0b\x0c\x1c"], b""),
    ],
)
def test_only_a_newline_ends_a_line(content: bytes, whole: list[bytes], rest: bytes):
    lines = LineReader(io.BytesIO(content))
    assert taken(lines) == whole
    assert bytes(lines.rest) == rest
    assert (lines.consumed, lines.rest_length) == (len(content) - len(rest), len(rest))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.binary(max_size=40), max_size=12).map(b"\n".join),
    st.lists(st.integers(1, 17), min_size=1, max_size=5),
)
def test_the_pieces_in_which_a_file_arrives_do_not_matter(content: bytes, sizes: list[int]):
    lines = LineReader(Dripping(content, sizes))
    *whole, rest = content.split(b"\n")
    assert taken(lines) == whole
    assert bytes(lines.rest) == rest
    assert lines.consumed == len(content) - len(rest)


@pytest.mark.parametrize("length", [BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER + 7])
def test_a_line_may_be_longer_than_the_buffer(length: int):
    long = b"x" * length
    lines = LineReader(io.BytesIO(b"before\n" + long + b"\nafter\nrest"))
    assert taken(lines) == [b"before", long, b"after"]
    assert bytes(lines.rest) == b"rest"


def test_a_line_that_is_too_long_is_told_and_passed_over():
    content = b"before\n" + b"x" * (LONGEST_LINE + BUFFER) + b"\nafter\nrest"
    lines = LineReader(io.BytesIO(content))
    assert taken(lines) == [b"before", b"(too long)", b"after"]
    assert bytes(lines.rest) == b"rest"
    assert lines.consumed == len(content) - len(b"rest")


def test_a_last_line_that_is_too_long_is_not_consumed():
    content = b"before\n" + b"x" * (2 * LONGEST_LINE + 5)
    lines = LineReader(io.BytesIO(content))
    assert taken(lines) == [b"before"]
    assert lines.is_too_long
    assert (lines.consumed, lines.rest_length) == (len(b"before\n"), len(content) - len(b"before\n"))
