"""What holds for every source and judge, as checks; and a plugin that is there while a test runs."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, cast

import msgspec

from assay import plugins
from assay.pipeline import judgement
from assay.pipeline.packed_files import PackedFiles
from assay.pipeline.read_file import HEAD, is_packed, pack_lines
from assay.sessions.turns import TurnBuilder
from assay.sources import Source
from assay.types import Event, Part, Stream, Turn

JOBS = frozenset({"topic", "language", "rubric", "outcome"})


def read_events(source: ModuleType, path: Path) -> list[Event]:
    """The events that a source makes of a file."""
    reader, events = source.Reader(), list[Event]()
    for record in _read_records(source, path):
        reader.take(record, events.append)
    return events


def read_turns(source: ModuleType, path: Path) -> tuple[Turn, ...]:
    """The turns of a file: what judges and facts are given of it."""
    builder = TurnBuilder()
    for event in read_events(source, path):
        builder.take(event)
    return builder.turns()


def check_source(source: ModuleType, path: Path) -> None:
    """Check a source against a file of its format; raises `AssertionError` where it breaks the contract.

    It must claim the file, find turns in it, and read the same when it stops after any line and goes on elsewhere.
    """
    contract = cast(Source, source)
    assert contract.AGENT, "AGENT must name the agent"
    assert isinstance(contract.VERSION, int), "VERSION must be a whole number"
    assert contract.claims(path.read_bytes()[: 64 << 10]), f"claims() does not know {path}"
    assert not contract.claims(b"words that are no transcript\n"), "claims() takes a file that is no transcript"
    assert read_turns(source, path), f"no turn in {path}"
    records, whole = list(_read_records(source, path)), read_events(source, path)
    for stop in range(len(records)):
        reader, events = source.Reader(), list[Event]()
        for record in records[:stop]:
            reader.take(record, events.append)
        again = msgspec.msgpack.decode(msgspec.msgpack.encode(reader), type=source.Reader)
        for record in records[stop:]:
            again.take(record, events.append)
        assert events == whole, f"it reads otherwise when it stops before record {stop + 1} and goes on"


def check_judge(judge: ModuleType, turns: Sequence[Turn]) -> None:
    """Check a judge on the turns of a session; raises `AssertionError` where it breaks the contract."""
    assert judge.versions().keys() >= JOBS, f"versions() must name {', '.join(sorted(JOBS))}"
    about = Part(agent="claude-code", stream="s1")
    gaps = judge.topic(Stream(id="s1", agent="claude-code", files=(), about=about, turns=tuple(turns)))
    steps = [n for n, turn in enumerate(turns) if turn.prompt][1:]
    assert [gap.turn for gap in gaps] == steps, f"topic() must give a gap for each of the turns {steps}"
    judge.language(turns)
    rubric = judge.rubric(turns)
    outcome = judge.outcome(turns, rubric.intent or "small_change", (), None)
    assert outcome.confidence is None or 0 <= outcome.confidence <= 1, "confidence must be between 0 and 1"
    for citation in outcome.citations:
        assert 1 <= citation.turn <= len(turns), f"a citation names turn {citation.turn} of {len(turns)}"
        words = msgspec.json.encode(turns[citation.turn - 1]).decode()
        assert msgspec.json.encode(citation.quote).decode()[1:-1] in words, f"nobody said {citation.quote!r} there"


@contextmanager
def install_plugin(kind: str, name: str, module: str) -> Iterator[None]:
    """Let `module` be found as `name` among the `sources`, `facts`, `judges` or `llm`, as if it were installed.

    Processes that the test starts do not see it, unless `PYTHONPATH` has the first entry of `sys.path`.
    """
    with TemporaryDirectory() as folder:
        about = Path(folder) / "assay_plugin-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-plugin\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[assay.{kind}]\n{name} = {module}\n")
        sys.path.insert(0, folder)
        _forget_plugins()
        try:
            yield
        finally:
            sys.path.remove(folder)
            _forget_plugins()


def _forget_plugins() -> None:
    plugins.forget_plugins()
    for cached in (judgement.find_judge, judgement.list_model_backends):
        cached.cache_clear()


def _read_records(source: ModuleType, path: Path) -> Iterator[Any]:
    decode = msgspec.json.Decoder(source.Record).decode
    data = path.read_bytes()
    if is_packed(data[:HEAD], path.name, cast(Source, source)):
        with PackedFiles() as packed:
            data = pack_lines(cast(Source, source), packed, path, "")
    return (decode(line) for line in data.splitlines() if line.strip())
