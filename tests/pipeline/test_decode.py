"""What the patient way makes of lines that the fast one refused."""

from typing import Any

import msgspec
import pytest

from assay.pipeline.records import MalformedLine, decode_patiently
from tests.tables import each_row


class Note(msgspec.Struct):
    """A record like those of the sources, small."""

    type: str = ""
    text: str | None = None
    count: int | None = None
    payload: dict[str, int] | None = None


DECODER = msgspec.json.Decoder(Note)


def read(line: bytes) -> list[Any]:
    return decode_patiently(memoryview(line), DECODER)


@each_row(
    ("line", "records"),
    [
        (b"", []),
        (b" \t\r", []),
        (b'\xef\xbb\xbf{"text":"byte order mark"}', [Note(text="byte order mark")]),
        (b'{"text":"a"}{"text":"b"}', [Note(text="a"), Note(text="b")]),
        (b'{"text":"a"} \t {"text":"b"}\r', [Note(text="a"), Note(text="b")]),
        (b'{"text":"cut \\ud83d"}', [Note(text="cut \ufffd")]),
        (b'{"text":"\\ude00 low"}', [Note(text="\ufffd low")]),
        (b'{"text":"\\ud83e\\uddf6 wool"}', [Note(text="\U0001f9f6 wool")]),
        (b'{"text":"\xff\xfe"}', [Note(text="\ufffd\ufffd")]),
        (b'{"text":"raw \x01\ttab"}', [Note(text="raw \x01\ttab")]),
        (b'{"text":"nul \x00 in it"}', [Note(text="nul \x00 in it")]),
        (b'{"text":5,"count":3}', [Note(count=3)]),
        (b'{"text":{"a":[1]},"count":"three","type":"note"}', [Note(type="note")]),
        (b'{"count":NaN}', [Note()]),
        (b'{"type":"note","other":Infinity}', [Note(type="note")]),
        (b'{"text":"first","text":"second"}', [Note(text="second")]),
        (b'{"te\\ud800xt":1,"count":2}', [Note(count=2)]),
    ],
)
def test_a_line_gives_all_its_records(line: bytes, records: list[Note]):
    assert read(line) == records


@each_row(
    ("line", "why", "records"),
    [
        (b"knit one, purl two", "not JSON", []),
        (b'{"text":"half', "not JSON", []),
        (b"\x00" * 40, "NUL bytes", []),
        (b'[{"text":"in a list"}]', "not a JSON object", []),
        (b'"text"', "not a JSON object", []),
        (b"null", "not a JSON object", []),
        (b'{"text":"a"} and more', "something behind it", [Note(text="a")]),
        (b'{"text":"a"}[1]', "not a JSON object", [Note(text="a")]),
        (b'{"text":"a"}\x00\x00', "something behind it", [Note(text="a")]),
        (b'{"type":7}', "type", []),
        (b'{"payload":"text"}', "payload", []),
        (b'{"payload":{"a":"b"}}', "payload", []),
        (b'{"text":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply", []),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply", []),
        (b'{"count":' + b"9" * 10_000 + b"}", "", []),
    ],
)
def test_a_line_that_goes_wrong_says_why_and_keeps_what_came_before(line: bytes, why: str, records: list[Note]):
    with pytest.raises(MalformedLine) as raised:
        read(line)
    assert why in str(raised.value)
    assert 0 < len(str(raised.value)) <= 160
    assert "\n" not in str(raised.value)
    assert raised.value.records == records


def test_a_lone_surrogate_beside_deep_nesting_is_refused_not_fatal():
    with pytest.raises(MalformedLine, match=r"nested|recursion|deep"):
        read(b'{"text":"\\ud800","other":' + b"[" * 900 + b"]" * 900 + b"}")
