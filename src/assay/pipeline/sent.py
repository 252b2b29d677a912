"""A session on its way from one machine to a server: as a document, with its words or without, and checked on arrival.

Both ends use the same functions, so that a digest of what was sent says whether the other side has it already.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, get_type_hints

import msgspec
from msgspec.structs import replace

from assay.clock import parse_time
from assay.errors import BadInput
from assay.facts import load_facts
from assay.types import Reason, Session
from assay.types.shipping import SentSession

ENCODE = msgspec.json.Encoder().encode
DECODE = msgspec.json.Decoder(SentSession).decode
MOST_STREAMS, MOST_LINES, LONGEST_NAME, LONGEST_PATH = 500, 5_000, 300, 4_096
MOST = 10**12
"""No count of a session is larger: sums of a million of them stay numbers that JSON can hold."""
WORDY_FACTS: dict[str, object] = {"files": [], "lines_by_file": {}, "pull_requests": []}


def digest_sent(document: bytes) -> str:
    """What tells a document from any other."""
    return blake2b(document, digest_size=16).hexdigest()


# --- words --------------------------------------------------------------------------------------


def strip_words(sent: SentSession) -> SentSession:
    """A session without what anybody said or called something: facts and judgements alone.

    Its project and branch stay, by which scores are sliced, and so do the kinds of evidence behind its judgement.
    """
    return replace(
        sent,
        session=strip_session(sent.session),
        ledger=[replace(one, evidence="") for one in sent.ledger],
        turns=None,
    )


def strip_session(one: Session) -> Session:
    """What is told of a session, without words."""
    signals = [signal | {"quote": ""} for signal in one.facts.get("failure_signals", ())]
    facts = one.facts | {name: value for name, value in WORDY_FACTS.items() if name in one.facts}
    return replace(
        one,
        boundary=replace(one.boundary, evidence=""),
        merged_from=[replace(join, evidence="") for join in one.merged_from],
        facts=facts | {"failure_signals": signals, "rework": one.facts["rework"] | {"by": None}},
        citations=[],
        reasons=strip_reasons(one.reasons),
        intent_reasons=strip_reasons(one.intent_reasons),
        title="",
        summary="",
        marked=one.marked and replace(one.marked, why=""),
    )


def strip_reasons(reasons: Sequence[Reason]) -> list[Reason]:
    return [replace(reason, quote="") for reason in reasons]


# --- what arrives -------------------------------------------------------------------------------


def read_sent(document: bytes) -> SentSession:
    """A session that somebody sent, if everything in it is what a report can work with."""
    try:
        sent = DECODE(document)
        check_facts(sent.session.facts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"a session is not as this version knows it: {str(error)[:200]}") from None
    if why := next(list_faults(sent), None):
        raise BadInput(f"a session can't be taken: {why}")
    return sent


def check_facts(facts: dict[str, Any]) -> None:
    """Refuse facts of which one is missing or of another kind."""
    for _, module in load_facts():
        msgspec.convert(facts, get_type_hints(module.fact)["return"])


def list_faults(sent: SentSession) -> Iterator[str]:
    """What is wrong with a session of the right form."""
    one = sent.session
    names = [one.agent, *one.streams, *(line.stream for line in sent.ledger), *(line.agent for line in sent.ledger)]
    if not (4 <= len(one.id) <= 64 and one.id.isascii() and one.id.isalnum()):
        yield "its id"
    if not one.streams or len(one.streams) > MOST_STREAMS or not all(map(is_name, names)):
        yield "its agent or its streams"
    if len(one.project) > LONGEST_PATH or len(one.branch) > LONGEST_PATH or "\0" in one.project:
        yield "its project or branch"
    if len(sent.ledger) > MOST_LINES or len(one.merged_from) > MOST_LINES:
        yield "its lines of the ledger"
    if not all(is_time(at) for at in (one.started_at, one.ended_at, *(line.at for line in sent.ledger))):
        yield "its times"
    if not all(map(is_small, (one.facts, sent.ages, one.confidence, one.intent_chance))):
        yield "its numbers"


def is_name(text: str) -> bool:
    """Whether a text can be the name of an agent or a stream."""
    return 0 < len(text) <= LONGEST_NAME and text.isprintable()


def is_time(at: str) -> bool:
    return not at or (len(at) <= 40 and parse_time(at) is not None)


def is_small(value: Any) -> bool:
    """Whether all numbers in a value are such as sessions have."""
    if isinstance(value, dict):
        return all(is_small(one) for one in value.values())
    if isinstance(value, list | tuple):
        return all(is_small(one) for one in value)
    return not isinstance(value, int | float) or abs(value) <= MOST
