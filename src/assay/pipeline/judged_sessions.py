"""Sessions made of what was judged of them and of where they stand."""

import re

import msgspec
from msgspec.structs import asdict, replace

from assay.judges.criteria import SHOWS, is_goal_complete
from assay.pipeline.judgement import SessionJudgement
from assay.pipeline.rework import list_pulls
from assay.sessions.links import LinkedSession
from assay.types import EvidenceKind, Failure, Session

JUDGED = msgspec.json.Decoder(SessionJudgement).decode
MAY_NAME_PULL = re.compile(rb"/(?:pulls?|merge_requests)/\d")


def find_end(linked: LinkedSession) -> str:
    return max(one.ended_at for one in linked.segments)


def find_pulls(judged: bytes) -> tuple[int, ...]:
    """The pull requests of a session, which few have: only what may name one is decoded."""
    return list_pulls(JUDGED(judged).facts) if MAY_NAME_PULL.search(judged) else ()


def build_session(linked: LinkedSession, judged: SessionJudgement, branch: str, title: str | None) -> Session:
    """What was judged, put in its place; a title that a person gave wins, an empty one is taken back."""
    first = linked.segments[0]
    fields = asdict(judged)
    fields["title"] = title or judged.title
    return Session(
        id=first.id,
        agent=first.agent,
        project=first.project,
        branch=branch,
        streams=list(dict.fromkeys(one.stream for one in linked.segments)),
        started_at=first.began_at,
        ended_at=find_end(linked),
        boundary=first.boundary,
        merged_from=list(linked.joins),
        **fields,
    )


def apply_floors(session: Session) -> Session:
    """The published formula on what the judge found: a floor for each intent, no unclear, and signals that decide."""
    if session.judge_status not in ("ok", "unclear") or session.intent is None or session.confidence is None:
        return session
    failures = [Failure(**one) for one in session.facts.get("failure_signals", ())]
    is_shown = any(reason.kind in SHOWS and reason.quote for reason in session.reasons)
    evidence: EvidenceKind = "failure" if failures else "explicit" if is_shown else session.evidence or "silent"
    complete = is_goal_complete(session.intent, evidence, session.confidence, failures)
    return replace(session, judge_status="ok", goal_complete=complete, evidence=evidence)


def hold_judgement(session: Session) -> Session:
    """A session that is still going on: nothing is said of how it ended."""
    if session.judge_status == "opted_out":
        return session
    return replace(
        session,
        judge_status="in_progress",
        ungraded_reason=None,
        goal_complete=None,
        confidence=None,
        evidence=None,
        citations=[],
        reasons=[],
        crushed=None,
    )
