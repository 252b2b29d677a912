"""What a store holds and must be able to do; all that the rest of the project knows of one.

A store has twelve parts, each with its own methods; `told` has that of sessions as they were told, `live` and `shipped`
those that a server fills, `work` that of workers, `promotions` that of changes that went in, `fates` that of what
became of lines, `addresses` says where a store is. What holds for all of them:

- A method that saves does so in one transaction: after it, all is there, and after a crash or an error, nothing.
  What several processes do at the same time ends as if they had taken turns.
- What goes wrong with the store itself (no permission, no space, a newer version) is raised as `StoreError`, with
  what to do about it.
- Bytes and texts come back exactly as they were given; a store does not look into what is called `bytes` here.
- `roots` are absolute paths: a file is meant if it lies at or below one of them. `None` means all files, an empty
  sequence none.
- `since` and `until` are ISO 8601 times, `project` an absolute folder or a word in its path; empty means any.
- The generation of a store is a number that grows whenever a file is saved: what was worked out from older files is
  refused, and worked out again.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from assay.llm.contract import ModelCall, QuestionResult
from assay.stores.contract.fates import ReworkStore
from assay.stores.contract.live import KeyStore, TelemetryStore
from assay.stores.contract.promotions import PromotionStore
from assay.stores.contract.shipped import ShippedStore
from assay.stores.contract.told import StreamName, ToldStore
from assay.stores.contract.work import WorkStore
from assay.types import (
    AuditDraw,
    FileState,
    KnownFile,
    Part,
    PersonCorrection,
    PersonVerdict,
    Segment,
    StoreFigures,
    StreamSummary,
)


class StreamFiles(Struct, frozen=True, kw_only=True):
    """The files of a stream, and whether it must be joined from them."""

    agent: str
    id: str
    file_ids: tuple[int, ...]
    shares: bool
    """Some of its keys stand in files of other streams too."""
    generation: int = 0
    """Of the store when this was gathered."""
    size: int = 0
    """Bytes of its files."""

    @property
    def is_simple(self) -> bool:
        """The facts of its only file are its facts."""
        return len(self.file_ids) == 1 and not self.shares


class StreamPieces(Struct, frozen=True, kw_only=True):
    """What is stored of a stream's files, and what in them belongs to another stream."""

    pieces: tuple[tuple[str, Part, tuple[bytes, ...]], ...]
    """Of each file its path, what it says of the stream, and its encoded turns in order."""
    elsewhere: frozenset[int]
    """Keys that a file of another stream owns.

    The owner of a key is the file in which it is most complete, among equals the one that comes first by
    `assay.sessions.streams.rank_file`. So it depends only on which files there are, not on the order of reading.
    """


class SettledStream(Struct, frozen=True, kw_only=True):
    """A stream with its facts; without any, those of its only file hold."""

    stream: StreamFiles
    facts: bytes | None = None
    prompts_at: tuple[str, ...] | None = None
    asked: str | None = None
    """What its first own prompt begins with."""


class FileTally(Struct, frozen=True, kw_only=True):
    """What reading one file gave, in numbers."""

    path: str
    source: str
    """Empty for a file that is no transcript."""
    agent: str
    lines_read: int
    lines_skipped: int
    part: Part | None
    unknown: dict[str, int]
    """How many records of each unknown kind stand in it."""
    mtime_ns: int
    is_gone: bool


class StoredSegment(Struct, frozen=True, kw_only=True):
    """A segment of a stream and what was judged of it."""

    segment: Segment
    n: int
    input: str
    """Hash of all that was looked at; empty for what should be judged again."""
    turns: tuple[str, ...] = ()
    """Ids of its turns, 12 hexadecimal digits each."""
    judged: bytes = b""
    """JSON; empty for what is stored already under the same input."""
    branch: str = ""


class CutStream(Struct, frozen=True, kw_only=True):
    """A stream with the segments it was cut into."""

    agent: str
    stream: str
    generation: int
    """Of the stream when its turns were read."""
    version: str
    """Of all that decides where it is cut and what is judged; empty for what should be judged again."""
    branch: str
    segments: tuple[StoredSegment, ...]

    @property
    def name(self) -> StreamName:
        return self.agent, self.stream


class JoinedSession(Struct, frozen=True, kw_only=True):
    """A session of several segments, judged as one."""

    agent: str
    id: str
    input: str
    judged: bytes


class QuestionBatch(Struct, frozen=True, kw_only=True):
    """Questions that were handed over together and are answered in time."""

    id: str
    backend: str
    at: str
    keys: tuple[str, ...]


UPLOADED = "upload"
"""The family of traces that were sent."""


class RemoteProject(Struct, frozen=True, kw_only=True):
    """A project on a server: many projects share a host."""

    host: str
    project: str


class WrittenTally(Struct, frozen=True, kw_only=True):
    """How many scores were written to a project, and when the last of them."""

    scores: int
    last_at: str


class TableRows(Struct, frozen=True, kw_only=True):
    """A table of a store as another one takes it in: its rows in portions, each a value for every column."""

    name: str
    columns: tuple[str, ...]
    portions: Iterable[Sequence[tuple[object, ...]]]


class WrittenRow(Struct, frozen=True, kw_only=True):
    """A score, or a trace, that is known to stand in a project."""

    id: str
    digest: str
    """Changes with what it says."""
    session: str = ""
    """The server's id of the session it is about; empty for what an earlier version wrote."""
    subject: str = ""
    """Our id of the session."""
    name: str = ""
    family: str = ""
    """What was written with it, such as the scores of one profile."""
    environment: str = ""


class TranscriptStore(Protocol):
    """Files that were read, their turns, and the streams they make."""

    def find_files(self, roots: Sequence[str]) -> dict[str, KnownFile]:
        """Files that were read before, by path; those that are gone too."""

    def find_in_folders(self, folders: Collection[str]) -> dict[str, KnownFile]:
        """The same of files in folders, not of those below."""

    def load_listed(self) -> dict[str, bytes] | None:
        """Every folder of which a file was saved, with what was noted of it; empty since anything in it was saved.

        `None` where not all folders are known, as in a store that an earlier version made.
        """

    def note_listed(
        self, hashes: Mapping[str, bytes], check: Callable[[dict[str, KnownFile]], Collection[str]]
    ) -> None:
        """Note something of folders: of those that `check` names, who sees what is known of their files just then."""

    def load_file(self, known: KnownFile, path: str) -> FileState:
        """All that is stored of a file, to go on reading it."""

    def save_file(self, found: FileState, before: KnownFile | None) -> bool:
        """Save what was read of a file: all of it, or what is new where the reading `is_continued`.

        `before` is what the reading began with. `False`, and nothing saved, where somebody else saved a reading of
        the same file meanwhile.
        """

    def mark_gone(self, ids: Iterable[int], gone: bool) -> None:
        """Note that files vanished, or are back; what was read of them stays."""

    def list_tallies(self, roots: Sequence[str]) -> list[FileTally]:
        """Lines read and skipped, versions and unknown records of each file, by path."""

    def count_skipped_lines(self, roots: Sequence[str]) -> int:
        """How many lines were skipped in files that are there."""

    def list_skips(self, roots: Sequence[str]) -> list[tuple[str, int, str]]:
        """Path, line and reason of every skip in files that are there; line 0 is the whole file."""

    def list_unsettled(self) -> list[StreamFiles]:
        """Streams whose files changed since they were settled, or that share keys with such a file.

        Files of sub-agents of sub-agents belong to the stream at the root.
        """

    def save_streams(self, settled: Sequence[SettledStream]) -> bool:
        """Settle streams that `list_unsettled` named; `False`, and nothing saved, where a file was saved since."""

    def load_pieces(self, streams: Sequence[StreamFiles]) -> list[StreamPieces]:
        """The turns of each of these streams."""

    def load_stream(self, agent: str, id: str) -> StreamPieces:
        """The turns of one stream, by its name."""

    def list_ended(self, before: str) -> list[tuple[StreamFiles, tuple[Part, ...]]]:
        """Streams that ended before a time and whose words are still here, with what their files say of them."""

    def forget_words(self, stream: StreamFiles, silent: StreamPieces) -> bool:
        """Save files of a stream without their words, and drop what was made of these, so that no byte of them is left.

        `False`, and nothing saved, where the stream changed since it was gathered.
        """

    def list_stream_files(self, names: Iterable[StreamName]) -> list[StreamFiles]:
        """The files of those streams that are there and settled, by name."""

    def list_twins(self, names: Iterable[StreamName]) -> list[StreamName]:
        """All streams that tell of the same conversations as these, by name: transcripts, telemetry, Langfuse."""

    def list_without_facts(self, roots: Sequence[str] | None, prefix: str = "") -> list[StreamName]:
        """Streams whose facts nobody asked for yet; with a prefix, those whose id begins so."""

    def save_facts(self, established: Sequence[tuple[StreamName, bytes]]) -> None:
        """Save the facts of streams that have none."""

    def list_streams(
        self, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = "", prefix: str = ""
    ) -> list[StreamSummary]:
        """Streams, oldest first; of a conversation that several sources tell of, the one that tells most.

        These are transcripts, then telemetry with words, then what was pulled from Langfuse, then telemetry without.
        """

    def list_conversations(self, roots: Sequence[str] | None) -> list[tuple[StreamSummary, ...]]:
        """Conversations that telemetry or Langfuse tells of, oldest first: all streams of each, the best first."""

    def count_streams(self, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = "") -> int:
        """How many streams `list_streams` would list."""


class SessionStore(Protocol):
    """How streams are cut, and what was judged of their segments."""

    def list_uncut(
        self, version: str, roots: Sequence[str] | None, since: str = "", until: str = "", project: str = ""
    ) -> list[StreamFiles]:
        """Streams that are not cut in this version, or changed since.

        A cut of this version that another one took the place of last is brought back, if its stream is what it was.
        """

    def note_cut(self, version: str) -> None:
        """Note that all streams are cut in this version, if they are, so that the next who asks is answered at once."""

    def load_inputs(self, names: Iterable[StreamName]) -> dict[StreamName, frozenset[str]]:
        """The inputs under which judgements are stored, by stream."""

    def save_cuts(self, cuts: Sequence[CutStream]) -> set[StreamName]:
        """Save how streams are cut, in place of how they were; gives the names of those that were saved.

        Left out are streams that changed since their turns were read (another `generation`), and those with a
        segment that has no judgement of its own and none stored under its input.
        """

    def list_segments(
        self, roots: Sequence[str] | None, names: Sequence[StreamName] | None = None
    ) -> list[StoredSegment]:
        """The segments of all streams below the paths, or of those of these names, by stream and number."""

    def find_segments(self, ids: Iterable[str]) -> list[Segment]:
        """The segments with these ids, in order of time."""

    def load_joined(self, names: Iterable[StreamName]) -> dict[StreamName, JoinedSession]:
        """Those sessions of several segments that are stored, by name."""

    def save_joined(self, sessions: Sequence[JoinedSession]) -> None:
        """Save sessions of several segments, in place of those that began with the same one."""

    def save_last_report(self, how: bytes) -> None:
        """Save how a report was made, in place of the one before."""

    def load_last_report(self) -> bytes:
        """How the last report was made; empty where there is none."""


class CorrectionStore(Protocol):
    """What people said of sessions: only ever added to, and never dropped."""

    def load_corrections(self) -> list[PersonCorrection]:
        """All corrections, in the order in which they were made."""

    def save_correction(self, correction: PersonCorrection, stream: StreamName | None = None) -> None:
        """Add a correction; the stream in which it splits a segment must be cut anew."""

    def load_verdicts(self) -> list[PersonVerdict]:
        """All verdicts, those that were taken back too: by their time, those of one second as they were saved."""

    def save_verdicts(self, verdicts: Sequence[PersonVerdict]) -> None:
        """Add verdicts to what was said before."""

    def load_draw(self) -> AuditDraw | None:
        """How sessions are drawn for audits, if any were."""

    def save_draw(self, draw: AuditDraw) -> AuditDraw:
        """Keep how sessions are drawn, and give what holds: a seed that is there stays, `wanted` is replaced."""


class AnswerStore(Protocol):
    """What models answered and what it cost: saved at once, so that nothing is paid for twice."""

    def load_answers(self, keys: Iterable[str]) -> dict[str, QuestionResult]:
        """What became of these questions, as far as they were answered, or never will be; without their calls."""

    def save_answer(self, asked: QuestionResult, backend: str) -> None:
        """Save an answer with the calls it took; of a question that may be answered later, the calls alone."""

    def drop_answers(self, before: str) -> int:
        """Drop what models said before a time; what it cost stays. Gives how many answers that were."""

    def list_calls(self) -> list[ModelCall]:
        """Every call that was ever made, in order."""

    def list_batches(self, backend: str) -> list[QuestionBatch]:
        """Batches of a backend that were handed over and not yet collected."""

    def save_batch(self, batch: QuestionBatch) -> None:
        """Note a batch before anybody waits for it."""

    def drop_batches(self, ids: Sequence[str]) -> None:
        """Forget batches whose answers are saved, or lost."""


class WrittenStore(Protocol):
    """Scores that were seen on a server: saved as soon as each is read back, so that none is sent twice."""

    def load_digests(self, project: RemoteProject, ids: Iterable[str]) -> dict[str, str]:
        """Digests of those scores that are known to be there, by their ids."""

    def save_row(self, project: RemoteProject, row: WrittenRow, at: str) -> None:
        """Note that a score is there as its digest says, in place of what was noted of it before."""

    def list_rows(self, project: RemoteProject, sessions: Iterable[str] | None = None) -> list[WrittenRow]:
        """All that is known to be there, or what is about these sessions; by id."""

    def forget_rows(self, project: RemoteProject, ids: Iterable[str]) -> None:
        """Note that these are there no longer."""

    def count_scores(self, project: RemoteProject) -> WrittenTally:
        """How many scores are known to be there; what is of the family `UPLOADED` is none."""


class Store(Protocol):
    """An open store: its parts, each for one kind of record."""

    @property
    def where(self) -> str:
        """What people call the place it is kept in, such as a path."""

    @property
    def transcripts(self) -> TranscriptStore: ...
    @property
    def sessions(self) -> SessionStore: ...
    @property
    def corrections(self) -> CorrectionStore: ...
    @property
    def rework(self) -> ReworkStore: ...
    @property
    def answers(self) -> AnswerStore: ...
    @property
    def written(self) -> WrittenStore: ...
    @property
    def keys(self) -> KeyStore: ...
    @property
    def telemetry(self) -> TelemetryStore: ...
    @property
    def told(self) -> ToldStore: ...
    @property
    def work(self) -> WorkStore: ...
    @property
    def shipped(self) -> ShippedStore: ...
    @property
    def promotions(self) -> PromotionStore: ...

    def count_bytes(self) -> int:
        """How much room it takes, as far as that is known."""

    def measure(self) -> StoreFigures:
        """How much of what it holds."""

    def check(self) -> list[str]:
        """What is wrong with it, a line each; nothing where it is sound."""

    def dump_tables(self) -> Iterator[TableRows]:
        """All that it holds at one moment, for another store; each table is to be read before the next."""

    def load_tables(self, tables: Iterable[TableRows]) -> int:
        """Take in all that another store holds, or nothing; refused where it holds something already."""

    def holding(self) -> AbstractContextManager[None]:
        """While it is held, all that this thread reads is as it was at one moment, whatever anybody saves meanwhile."""

    def read_state(self) -> str:
        """Another text as soon as anything was saved by which a report could say something else."""

    def save_printed(self, id: str, body: bytes) -> str:
        """Keep what a command printed until anything is saved here; the file that it is in, empty if it is not kept.

        Nothing is kept where anybody else saved something since the store was opened.
        """

    def flush(self) -> None:
        """Return once all that was saved would outlast a loss of power."""

    def shrink(self) -> None:
        """Give back the room that it no longer needs."""

    def close(self) -> None:
        """Let go of it; nothing else may be called after."""


class StoreModule(Protocol):
    """What a module or package in this room offers."""

    SCHEMES: tuple[str, ...]
    """The beginnings of URLs, up to `://`, that name a store of this kind."""

    def open_store(self, url: str) -> Store:
        """The store at a URL, made or brought up to date where needed."""

    def has_store(self, url: str) -> bool:
        """Whether there is a store at a URL; looking makes none."""
