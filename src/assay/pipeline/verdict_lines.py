"""Marks and audits as lines of JSON: to hand them on, and to take them in on another machine.

A verdict on a session that is not here is kept, and holds once that turns up. What was drawn elsewhere by another seed
is no sample here: it is kept as a mark.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from assay.config import Config
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import ScoringRun
from assay.pipeline.verdicts import pick_standing
from assay.reports.json import encode_json
from assay.sessions.redaction import Redactor
from assay.stores import Store
from assay.types import AuditDraw, PersonVerdict, VerdictKind

LONGEST_LINE = 16_384


class VerdictLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One verdict, as it is handed on."""

    kind: Literal["mark", "audit"]
    session: Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
    verdict: Literal["landed", "not", "exclude", "unclear"]
    at: Annotated[str, Meta(max_length=40)]
    why: Annotated[str, Meta(max_length=500)] = ""
    turns: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    seed: Annotated[str, Meta(pattern="^[0-9a-z]{0,64}$")] = ""
    """Of an audit: by which order it was drawn."""


class ImportTally(Struct, frozen=True, kw_only=True):
    """What became of the lines of a file."""

    added: int
    known: int
    as_marks: int
    """Of those added, answers to an audit with another seed."""
    skipped: tuple[tuple[int, str], ...]
    """Numbers of lines that could not be used, and why."""


DECODE = msgspec.json.Decoder(VerdictLine).decode
NO_MARK: tuple[VerdictKind, ...] = ("unclear",)
"""Answers that are no mark: nobody marks what they can't tell."""
NAMED = re.compile(r"(?:at `\$\.|field `)(\w+)`")
"""How a decoder names the field that is wrong."""
EXPECTED = {
    "kind": "`mark` or `audit`",
    "session": "the id of a session, 12 hexadecimal digits",
    "verdict": "`landed`, `not`, `exclude` or `unclear`",
    "at": "a time with its zone, such as 2026-11-16T11:43:02+00:00",
    "why": "text of at most 500 characters",
    "turns": "a number of turns",
    "seed": "at most 64 letters and digits",
}


# --- out ----------------------------------------------------------------------------------------


def encode_verdicts(store: Store, config: Config) -> bytes:
    """Every verdict that holds, a line each, by time; words redacted, those of withheld sessions left out."""
    draw = store.corrections.load_draw()
    seed = draw.seed if draw else ""
    return b"".join(
        encode_json(
            VerdictLine(
                kind="audit" if one.is_sampled else "mark",
                session=one.turn,
                verdict=one.verdict,
                at=one.at,
                why=one.why,
                turns=one.turns,
                seed=seed if one.is_sampled else "",
            )
        )
        + b"\n"
        for one in list_tellable(store, config)
        if one.verdict != "none" and (one.is_sampled or one.verdict not in NO_MARK)
    )


def list_tellable(store: Store, config: Config) -> list[PersonVerdict]:
    """The verdicts that hold, as they may be told."""
    rules = privacy.build_rules(config, pick_report_time(config))
    with open_run(store, config) as run:
        run.judge_streams()
        heard = list_heard(run)
    is_open = not any(one.opt_out or one.retention_days is not None for one in rules.tenants.values())
    clean = Redactor(rules.options).text
    return [
        replace(one, why=clean(one.why)[:500] if heard.get(one.turn, is_open) else "")
        for one in pick_standing(store.corrections.load_verdicts())
    ]


def list_heard(run: ScoringRun) -> dict[str, bool]:
    """Whether words on a session may be told, by the turns that verdicts are about."""
    linked = [one for one in run.link_all() if any(part.id in run.placed_verdicts for part in one.segments)]
    told = [privacy.redact_session(one, run.terms.privacy) for one in run.build_sessions(linked)]
    return {
        verdict.turn: session.marked is not None
        for one, session in zip(linked, told, strict=True)
        for part in one.segments
        for verdict in run.placed_verdicts.get(part.id, ())
    }


# --- in -----------------------------------------------------------------------------------------


def import_verdicts(store: Store, lines: Sequence[bytes], now: datetime) -> ImportTally:
    """Take in the verdicts of a file that are not here yet; lines that can't be used are told."""
    found: dict[int, VerdictLine] = {}
    skipped: list[tuple[int, str]] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found[number] = read_line(line, now)
            except ValueError as error:
                skipped.append((number, str(error)))
    seed = adopt_seed(store, [*found.values()])
    here = {identify_verdict(one) for one in store.corrections.load_verdicts()}
    new: dict[tuple[object, ...], PersonVerdict] = {}
    known = as_marks = 0
    for number, one in found.items():
        verdict = to_verdict(one, seed)
        if one.verdict in NO_MARK and not verdict.is_sampled:
            skipped.append((number, f"an answer `{one.verdict}` that was drawn elsewhere says nothing here"))
            continue
        if identify_verdict(verdict) in here or identify_verdict(verdict) in new:
            known += 1
            continue
        new[identify_verdict(verdict)] = verdict
        as_marks += one.kind == "audit" and not verdict.is_sampled
    store.corrections.save_verdicts([*new.values()])
    return ImportTally(added=len(new), known=known, as_marks=as_marks, skipped=tuple(sorted(skipped)))


def read_line(line: bytes, now: datetime) -> VerdictLine:
    """One line as a verdict; raises what is wrong with it."""
    if len(line) > LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE:,} bytes")
    found = decode_line(line)
    at = parse_moment(found.at)
    if at.tzinfo is None:
        raise ValueError("its time names no zone")
    if at > now:
        raise ValueError("its time lies in the future")
    if found.kind == "audit" and found.verdict == "exclude":
        raise ValueError("an audit has no answer `exclude`")
    if found.kind == "mark" and found.verdict in NO_MARK:
        raise ValueError("a mark is `landed`, `not` or `exclude`")
    return replace(found, at=at.isoformat(timespec="seconds"), why=" ".join(found.why.split()))


def decode_line(line: bytes) -> VerdictLine:
    """A line as it is written; raises what is wrong in words of ours."""
    try:
        return DECODE(line)
    except msgspec.ValidationError as error:
        name = match[1] if (match := NAMED.search(str(error))) else ""
        if name not in EXPECTED:
            raise ValueError("it is no verdict, but some other JSON") from None
        has = "has no" if "missing" in str(error) else "has a wrong"
        raise ValueError(f"it {has} `{name}`; give {EXPECTED[name]}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("it is no JSON") from None


def parse_moment(text: str) -> datetime:
    """A time as it is written, in UTC where it names a zone."""
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else at
    except (ValueError, OverflowError):
        raise ValueError(f"it has a wrong `at`; give {EXPECTED['at']}") from None


def adopt_seed(store: Store, found: Sequence[VerdictLine]) -> str:
    """The seed of this store's audits; where it has none, that of the first audit in the file."""
    draw = store.corrections.load_draw()
    first = next((one.seed for one in found if one.kind == "audit" and one.seed), "")
    if draw is None and first:
        draw = store.corrections.save_draw(AuditDraw(seed=first))
    return draw.seed if draw else ""


def to_verdict(line: VerdictLine, seed: str) -> PersonVerdict:
    """A line as a store keeps it; an answer that another seed drew is a mark."""
    return PersonVerdict(
        turn=line.session,
        verdict=line.verdict,
        why=line.why,
        at=line.at,
        is_sampled=line.kind == "audit" and line.seed == seed != "",
        turns=line.turns,
    )


def identify_verdict(one: PersonVerdict) -> tuple[object, ...]:
    """What tells a verdict from others; its words may have been redacted on the way."""
    return one.turn, one.verdict, one.at, one.is_sampled
