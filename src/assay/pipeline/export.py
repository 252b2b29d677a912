"""A store's sessions as a lake: told as reports tell them, month by month, and only where something changed.

What is told of a month is known by its digests, without reading it; the rows of months that differ are streamed from
the store into files. Where the store changed meanwhile, it is gone through once more.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import tzinfo
from functools import partial
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from assay.config import Config
from assay.config.zones import find_zone
from assay.errors import BadInput
from assay.lake.partitions import (
    Form,
    Manifest,
    NewPartition,
    Partition,
    commit_lake,
    find_month,
    find_span,
    open_lake,
    stage_partition,
)
from assay.lake.rows import RowContext, build_judgement, build_quality, build_session, build_turns
from assay.lake.tables import (
    JudgementColumns,
    LedgerColumns,
    QualityColumns,
    SessionColumns,
    StreamColumns,
    TurnColumns,
)
from assay.pipeline.judgement import hash_values
from assay.pipeline.kept_report import AGES, LINE, SESSION, open_kept
from assay.pipeline.lookup import list_placed_turns, read_turns
from assay.pipeline.models import ModelAccess
from assay.pipeline.pool import Progress
from assay.pipeline.quality import Subject, judge_quality
from assay.pipeline.scan import count_skips
from assay.pipeline.scoring_run import ScoringRun
from assay.scores.report import JudgeInfo, Skips
from assay.sessions.redaction import Redactor
from assay.stores import Store, ToldRow
from assay.types import Document, Session
from assay.types.quality import Profile

VERSION = 1
"""Raised when rows are made otherwise of what is told: all parts are then written anew."""
PORTION = 100
MOST_ROUNDS = 3
Source = Callable[[str], Iterator[Struct]]


class LakeHeader(Struct, frozen=True, kw_only=True):
    """What a report says beside what is counted of its sessions."""

    judge: JudgeInfo
    """As it is told where nothing is counted."""
    skipped: Skips
    seed: str
    """Of audits; empty where nothing was drawn."""


class ExportChoice(Struct, frozen=True, kw_only=True):
    """What a lake shall hold."""

    form: Form = "parquet"
    turns: bool = True
    words: bool = False
    """Of turns, what was said too."""
    profile: Profile | None = None
    """By which quality is judged; `None`: not at all."""
    others: Sequence[NewPartition] = ()
    """Parts that somebody else knows the rows of."""


class ExportReport(Document, frozen=True, kw_only=True, tag="export"):
    """`assay export --json`: what a lake holds by now, and what was written to it."""

    folder: str
    form: Form
    words: bool
    sessions: int
    rows: dict[str, int]
    """Rows by table."""
    parts: int
    """Parts of all tables together."""
    changed: list[str]
    """Parts that were written or dropped."""


def export_lake(
    run: ScoringRun,
    folder: Path,
    choice: ExportChoice,
    zone: tzinfo,
    unreadable: Sequence[tuple[str, str]],
    progress: Progress,
) -> ExportReport:
    """Bring a lake up to date with all sessions of a run, which must be told already."""
    with open_lake(folder, choice.form) as known:
        exporter = Exporter(run, choice, zone)
        for _ in range(MOST_ROUNDS):
            state = run.store.read_state()
            tables = exporter.stage(folder, known, progress)
            header = exporter.describe(unreadable)
            if run.store.read_state() == state:
                break
        else:
            raise BadInput("the store changed all the while; export again when nothing is read or judged meanwhile")
        new = Manifest(
            assay=version("assay"),
            form=choice.form,
            zone=str(zone) if find_zone(str(zone)) else "",
            words=choice.words,
            report=Raw(msgspec.json.encode(header)),
            tables=tables,
        )
        changed = commit_lake(folder, known, new)
    rows = {table: sum(part.rows for part in parts.values()) for table, parts in tables.items()}
    return ExportReport(
        folder=str(folder),
        form=choice.form,
        words=choice.words,
        sessions=rows.get("sessions", 0),
        rows=rows,
        parts=sum(map(len, tables.values())),
        changed=changed,
    )


def tell_sessions(run: ScoringRun, zone: tzinfo, progress: Progress) -> None:
    """Have all sessions judged and told, and kept as they were told."""
    run.judge_streams(progress)
    teller = open_kept(run, zone, may_begin=True)
    if teller is None:
        raise BadInput(
            "what is kept in this store was told of more transcripts, or by other settings; run `assay score` with "
            "those first, or give --store with another file"
        )
    teller.update()


class Exporter:
    """Makes parts of what a store holds."""

    def __init__(self, run: ScoringRun, choice: ExportChoice, zone: tzinfo) -> None:
        self.run = run
        self.store: Store = run.store
        self.config: Config = run.config
        self.choice = choice
        self.zone = zone

    def describe(self, unreadable: Sequence[tuple[str, str]]) -> LakeHeader:
        draw = self.store.corrections.load_draw()
        return LakeHeader(
            judge=self.run.describe_judge(()),
            skipped=count_skips(self.store, self.run.roots or (), unreadable),
            seed=draw.seed if draw else "",
        )

    def stage(self, folder: Path, known: Manifest, progress: Progress) -> dict[str, dict[str, Partition]]:
        """Write all parts that differ beside the lake; gives what there will be."""
        wanted = [*self.list_partitions(), *self.choice.others]
        found: dict[str, dict[str, Partition]] = {}
        for done, one in enumerate(wanted):
            progress(done, len(wanted))
            found.setdefault(one.table, {})[one.name] = stage_partition(folder, known, one)
        progress(len(wanted), len(wanted))
        return found

    def list_partitions(self) -> Iterator[NewPartition]:
        """All parts as they shall be, their digests known, their rows to be read yet."""
        zone = [str(self.zone), self.choice.form, hash_values(self.store.told.load_view())]
        told = digest_months(self.store.told.list_digests(), "sessions", zone)
        yield from self.build_partitions("sessions", told, self.list_sessions)
        yield from self.build_partitions("judgements", told, self.list_judgements)
        lines = ((one.at, f"{one.agent} {one.id} {one.n} {one.line.hex()}") for one in self.store.told.list_lines())
        yield from self.build_partitions("ledger", digest_months(lines, "ledger", zone), self.list_ledger)
        streams = self.store.told.list_counted_streams(self.run.roots)
        counted = ((one.began_at, repr(one)) for one in streams)
        yield from self.build_partitions("streams", digest_months(counted, "streams", zone), self.list_streams)
        terms = [self.choice.words, msgspec.to_builtins(self.run.terms.privacy.version)]
        if self.choice.turns:
            yield from self.build_partitions("turns", add_terms(told, terms), self.list_turns)
        if self.choice.profile:
            asked = [*terms, msgspec.to_builtins(self.choice.profile), self.config.judge]
            yield from self.build_partitions("quality", add_terms(told, asked), self.list_quality)

    def build_partitions(self, table: str, digests: dict[str, str], source: Source) -> Iterator[NewPartition]:
        for name, digest in sorted(digests.items()):
            mixed = hash_values(VERSION, table, digest)
            yield NewPartition(table=table, name=name, digest=mixed, list_rows=partial(source, name))

    # --- rows of a month --------------------------------------------------------------------------

    def list_told(self, name: str) -> Iterator[tuple[ToldRow, int, Session]]:
        """The sessions of a month."""
        for row, went_on in self.store.told.list_rows(*find_span(name)):
            if find_month(row.began_at) == name:
                yield row, went_on, SESSION(row.body)

    def list_sessions(self, name: str) -> Iterator[SessionColumns]:
        for row, went_on, session in self.list_told(name):
            beside = RowContext(
                folder=self.redact(row.folder),
                began_at=row.began_at,
                ended_at=row.ended_at,
                is_lost=row.is_news and row.crushed is False,
                went_on=went_on,
                ages=AGES(row.ages) if row.ages else [],
                body=row.body,
            )
            yield build_session(session, beside, self.zone)

    def list_judgements(self, name: str) -> Iterator[JudgementColumns]:
        return (build_judgement(session) for _, _, session in self.list_told(name))

    def list_ledger(self, name: str) -> Iterator[LedgerColumns]:
        for one in self.store.told.list_lines(*find_span(name)):
            if find_month(one.at) == name:
                line = LINE(one.line)
                yield LedgerColumns(
                    at=one.at,
                    session=one.session,
                    effect=one.effect,
                    stream=one.stream,
                    n=one.n,
                    agent=one.agent,
                    of=one.id,
                    signal=line.signal,
                    confidence=line.confidence,
                    evidence=line.evidence,
                    line=one.line.decode(),
                )

    def redact(self, text: str) -> str:
        """A text that stands in no session, as it may be seen."""
        return Redactor(self.run.terms.privacy.options).text(text)

    def list_streams(self, name: str) -> Iterator[StreamColumns]:
        for one in self.store.told.list_counted_streams(self.run.roots):
            if find_month(one.began_at) == name:
                found = msgspec.structs.asdict(one)
                yield StreamColumns(
                    **found | {name: self.redact(text) for name, text in found.items() if isinstance(text, str)}
                )

    def list_turns(self, name: str) -> Iterator[TurnColumns]:
        sessions = (session for _, _, session in self.list_told(name))
        while some := list(islice(sessions, PORTION)):
            for session, placed in zip(some, list_placed_turns(self.store, self.run.terms.privacy, some), strict=True):
                yield from build_turns(session, [turn for _, _, turn in placed], words=self.choice.words)

    def list_quality(self, name: str) -> Iterator[QualityColumns]:
        assert self.choice.profile
        for _, _, session in self.list_told(name):
            subject = Subject(session=session, read=partial(read_turns, self.store, self.config, session))
            for found in judge_quality([subject], self.choice.profile, self.config, ModelAccess()):
                yield from build_quality(session, found, words=self.choice.words)


def digest_months(rows: Iterable[tuple[str, str]], table: str, terms: Sequence[str]) -> dict[str, str]:
    """What tells the rows of each month from any others, by their times and what tells each of them."""
    found: dict[str, blake2b] = {}
    for at, text in rows:
        name = find_month(at)
        if name not in found:
            found[name] = blake2b(repr((table, *terms)).encode(), digest_size=16)
        found[name].update(f"{at} {text}\n".encode("utf-8", "surrogatepass"))
    return {name: one.hexdigest() for name, one in found.items()}


def add_terms(digests: dict[str, str], terms: Sequence[object]) -> dict[str, str]:
    """The same where it depends on more than the rows."""
    return {name: hash_values(digest, *terms) for name, digest in digests.items()}
